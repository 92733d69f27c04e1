//! Each attempt to get out, and what it has to meet.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use offshoot::domain::fence::FenceLevel;
use offshoot::sandbox::{Outcome, Sandbox};

use crate::aloud;
use crate::scene::{self, Scene};

const ATTEMPTS: &str = include_str!("attempts.py");

/// A Python that the fence lets be run: the system's own.
fn python() -> Option<PathBuf> {
    let own = ["/usr/bin/python3", "/usr/local/bin/python3", "/opt/bin/python3"];
    let works = |path: &str| {
        let tried = Command::new(path).args(["-c", "import ctypes"]).status();
        tried.is_ok_and(|it| it.success())
    };
    own.into_iter().find(|path| works(path)).map(PathBuf::from)
}

/// Errors that mean: it was refused, or there was nothing at the other end.
const REFUSED: [&str; 8] = [
    "EACCES",
    "EPERM",
    "ENOSYS",
    "EXDEV",
    "EISCONN",
    "ECONNREFUSED",
    "ENETUNREACH",
    // A call of another architecture ends the process.
    "signal 31",
];
/// Attempts that may also simply have found nothing.
const MAY_FIND_NOTHING: [&str; 2] = ["create_in_shared_memory", "use_an_inherited_descriptor"];
/// Attempts without which this table would show nothing.
const FEWEST: usize = 110;

/// What came of each attempt.
fn results(text: &str) -> Vec<(&str, &str)> {
    text.lines().map(|line| line.split_once('\t').unwrap_or((line, "not a result"))).collect()
}

fn is_stopped((name, came_of_it): &(&str, &str)) -> bool {
    REFUSED.contains(came_of_it)
        || (*came_of_it == "nothing" && MAY_FIND_NOTHING.contains(name))
        || came_of_it.starts_with("skipped: ")
        // A number of nothing, in a namespace of its own.
        || (*name == "attach_shared_memory_by_number" && *came_of_it == "EINVAL")
}

async fn attempts_meet_a_fence(sandbox: Sandbox) {
    let Some(python) = python() else { return aloud::skipped("ways out: there is no Python") };
    let fence = sandbox.fence().await;
    if fence.level != FenceLevel::Fenced {
        return aloud::skipped(&format!("ways out: commands are {fence} here"));
    }
    let mut scene = Scene::set();
    scene.tell("own_shared_memory", fence.loopback);
    let command = [python.to_str().unwrap(), "-c", ATTEMPTS, &scene.given()];
    let ran = scene::run(&sandbox, scene::job(&scene.work(), &command)).await;
    assert_eq!(ran.outcome, Outcome::Exited(0), "{}", ran.text);
    let results = results(&ran.text);
    for (name, why) in results.iter().filter(|(_, it)| it.starts_with("skipped: ")) {
        aloud::skipped(&format!("{name}: {why}"));
    }
    let open: Vec<_> = results.iter().filter(|result| !is_stopped(result)).collect();
    assert!(open.is_empty(), "these got out, with {fence}: {open:?}");
    assert!(results.len() >= FEWEST, "only {} attempts", results.len());
    scene.assert_untouched();
}

#[tokio::test]
async fn no_attempt_gets_out() {
    attempts_meet_a_fence(scene::sandbox()).await;
    scene::again_without_powers("escapes::no_attempt_gets_out");
}

#[tokio::test]
async fn no_attempt_gets_out_where_there_are_no_namespaces() {
    attempts_meet_a_fence(scene::sandbox().without_namespaces()).await;
    scene::again_without_powers("escapes::no_attempt_gets_out_where_there_are_no_namespaces");
}

/// Attempts that would leave something behind where nothing stops them.
const NOT_WITHOUT_A_FENCE: [&str; 4] =
    ["create_in_tmp", "create_in_shared_memory", "write_to_etc", "write_a_kernel_setting"];

/// Attempts that get out everywhere, whoever makes them, if there is no fence.
const WAYS_OUT: [&str; 31] = [
    "read_a_file",
    "read_with_dots",
    "read_through_a_chain_of_links",
    "read_through_the_root_in_proc",
    "list_a_linked_folder",
    "write_a_file",
    "truncate_a_file",
    "create_a_fifo",
    "remove_a_folder",
    "rename_outside",
    "move_something_in",
    "move_something_out",
    "hard_link_something_in",
    "hard_link_something_out",
    "run_a_program",
    "reach_a_server",
    "reach_a_server_by_datagram",
    "open_netlink_for_devices",
    "reach_a_local_socket_outside",
    "reach_a_local_datagram_socket",
    "reach_an_abstract_socket",
    "send_from_a_pair_of_datagrams",
    "connect_a_pair_of_raw_sockets",
    "signal_offshoot",
    "signal_a_thread_of_offshoot",
    "signal_by_thread",
    "kill_a_stranger",
    "signal_as_owner_of_a_descriptor",
    "set_the_limits_of_offshoot",
    "attach_shared_memory_by_number",
    "gain_privileges_by_running_something",
];

#[test]
fn without_a_fence_there_are_ways_out() {
    let Some(python) = python() else { return aloud::skipped("ways out: there is no Python") };
    let mut scene = Scene::set();
    scene.tell("control", true);
    scene.tell("not", NOT_WITHOUT_A_FENCE.as_slice());
    let ran = Command::new(python)
        .args(["-c", ATTEMPTS, &scene.given()])
        .current_dir(scene.work())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let results = results(&text);
    for name in WAYS_OUT {
        assert!(results.contains(&(name, "reached")), "{name} shows nothing: {text}");
    }
    scene::again_without_powers("escapes::without_a_fence_there_are_ways_out");
}
