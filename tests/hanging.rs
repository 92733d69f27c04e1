//! Public faults of children whose commands hang, replayed with the real shell, the real helper of the
//! fence and a real clock: a budget and a cancel reach into a command that runs, and nothing of it is
//! left. Each command sleeps for a time of its own, by which it is found in the system's table.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use common::public_case::{for_role, load};
use common::{Live, Played, Stage, rounds, soak};
use offshoot::domain::command::Command;
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::{By, Exhausted, Status};
use offshoot::domain::role::Permission;
use offshoot::domain::violation::Code;
use serde_json::{Value, json};

const HANDS: [Permission; 5] = [
    Permission::Read,
    Permission::Write,
    Permission::Test,
    Permission::Execute,
    Permission::Delegate,
];

/// Far more than anything here needs, so that a hang is told as one on any machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the reports were about, on a quiet machine.
const AT_ONCE: Duration = Duration::from_millis(500);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// The argument of a sleep that no other process on this machine has.
fn own_time() -> String {
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("600.{:07}{count:03}", std::process::id())
}

/// The processes that sleep for this time. Zombies have no command line.
fn sleeping(time: &str) -> Vec<String> {
    let line = |number: &str| {
        let line = fs::read(format!("/proc/{number}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        (line.contains(time) && !line.starts_with("offshoot ")).then(|| format!("{number} {line}"))
    };
    let entries = fs::read_dir("/proc").unwrap();
    entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|number| line(&number))
        .collect()
}

/// The case with every sleep of a command turned into one of this time, and the commands changed by
/// `more`, where `SLEEP` stands for it.
fn with_sleep(case: &Value, more: &str, time: &str) -> Value {
    let sleep = format!("sleep {time}");
    let command = more.replace("SLEEP", &sleep);
    let text = case
        .to_string()
        .replace("sleep 600", &command)
        .replace("sleep 60\"", &format!("{command}\""));
    serde_json::from_str(&text).unwrap()
}

/// Every `task` of the case, those of children included, goes to a worker.
fn for_workers(case: Value) -> Value {
    let mut case = for_role(case, "worker");
    for child in case["children"].as_array_mut().unwrap() {
        *child = for_role(child.take(), "worker");
    }
    case
}

fn stage(case: &Value) -> Stage {
    Stage::new(case).permissions(&HANDS)
}

/// Everything that a command can do to stay, and what still has to end it.
const COMMANDS: [(&str, &str); 5] = [
    ("a plain one", "SLEEP"),
    ("deaf to TERM", "trap '' TERM; SLEEP; SLEEP"),
    ("in a session of its own", "setsid SLEEP & wait"),
    ("in the background with the output open", "SLEEP & SLEEP"),
    ("stopped", "SLEEP & kill -STOP $!; kill -STOP $$; SLEEP"),
];

/// B033: a command of a child never returned: the parent hung for hours, a stop did nothing, and what
/// a sibling had found was lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_childs_duration_ends_the_command_that_hangs_and_keeps_what_its_sibling_found() {
    let time = own_time();
    let case = with_sleep(&load("B033-child-tool-hangs.model.json"), "SLEEP", &time);
    let began = Instant::now();
    let played = stage(&hanging_worker(case)).play("go").await;
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(3), "the budget of the case is three seconds: {took:?}");
    assert!(took < if soak() { Duration::from_secs(4) } else { PATIENCE }, "{took:?}");
    assert_hung(&played, &time);
}

/// The first task of the case needs hands; the second one does not say, and reads.
fn hanging_worker(mut case: Value) -> Value {
    case["turns"][0]["tool_calls"][0]["arguments"]["role"] = json!("worker");
    case
}

fn assert_hung(played: &Played, time: &str) {
    let (hung, quick) = (played.task_result("c1"), played.task_result("c2"));
    assert_eq!((hung.status, hung.code), (Status::BudgetExhausted, Some(Code::Timeout)));
    assert_eq!((hung.dimension, hung.by), (Some(Exhausted::Duration), None));
    assert!(hung.next.starts_with("Unfinished"), "{}", hung.next);
    assert_eq!((quick.status, quick.summary.as_str()), (Status::Completed, "BETA OK"));
    assert_eq!(played.reply(), "parent done");
    assert_eq!(sleeping(time), [] as [String; 0], "left of it");
    let results: Vec<String> = Played::results_in(played.parent_requests()[1])
        .iter()
        .map(|result| result.call.to_string())
        .collect();
    assert_eq!(results, ["c1", "c2"]);
}

/// The whole kind: whatever the command does to stay, and whichever of the two is asked first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_command_outlives_the_duration_of_its_child() {
    for (name, command) in COMMANDS {
        for last in [false, true] {
            let time = own_time();
            let mut case = with_sleep(&load("B033-child-tool-hangs.model.json"), command, &time);
            case = hanging_worker(case);
            case["turns"][0]["tool_calls"][0]["arguments"]["budget"] = json!({ "duration_s": 1 });
            if last {
                case["turns"][0]["tool_calls"].as_array_mut().unwrap().reverse();
            }
            let played = tokio::time::timeout(PATIENCE, stage(&case).play("go")).await;
            let played = played.unwrap_or_else(|_| panic!("{name} hangs"));
            let hung = played.task_result("c1");
            assert_eq!(hung.code, Some(Code::Timeout), "{name}: {hung:?}");
            assert_eq!(played.task_result("c2").summary, "BETA OK", "{name}");
            assert_eq!(played.reply(), "parent done", "{name}");
            assert_eq!(sleeping(&time), [] as [String; 0], "{name}");
        }
    }
}

/// B033 as well: a key that stops was of no use while the command hung.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_hangs_is_cancelled_alone_and_its_sibling_still_reports() {
    let time = own_time();
    let mut case = with_sleep(&load("B033-child-tool-hangs.model.json"), "SLEEP", &time);
    case = hanging_worker(case);
    case["turns"][0]["tool_calls"][0]["arguments"]["budget"] = json!({ "duration_s": 60 });
    let mut live = stage(&case).start();
    live.send(Command::Submit { text: "go".to_owned() }).await;
    sleeps(&time).await;
    live.send(Command::CancelTask { task: TaskId(1) }).await;
    live.follow(&[]).await;
    let played = live.quit().await;
    let report = played.task_result("c1");
    assert_eq!((report.status, report.by), (Status::Cancelled, Some(By::User)));
    assert_eq!(played.task_result("c2").summary, "BETA OK");
    assert_eq!(played.reply(), "parent done");
    assert_eq!(sleeping(&time), [] as [String; 0]);
}

/// Waits until the command runs.
async fn sleeps(time: &str) {
    let began = Instant::now();
    while !sleeping(time).iter().any(|line| line.contains(" sleep ")) {
        assert!(began.elapsed() < PATIENCE, "it never ran");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// B043: a stop of the parent left the child running to its natural end, and what the child had
/// delegated as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_the_parent_ends_every_level_below_it_and_the_tree_of_the_command() {
    for depth in [1, 2] {
        for (name, command) in COMMANDS {
            for _ in 0..rounds(1, 20) {
                let took = stop(depth, command).await;
                let most = if soak() { AT_ONCE } else { PATIENCE };
                assert!(took < most, "{name} at depth {depth}: {took:?}");
            }
        }
    }
}

/// Stops once the command runs, and gives how long it took until all had ended.
async fn stop(depth: u32, command: &str) -> Duration {
    let time = own_time();
    let mut live = nested(depth, command, &time);
    live.send(Command::Submit { text: "go".to_owned() }).await;
    sleeps(&time).await;
    let began = Instant::now();
    live.send(Command::Stop).await;
    let end = live.follow(&[]).await;
    let took = began.elapsed();
    assert_eq!(sleeping(&time), [] as [String; 0], "{command} at depth {depth}");
    assert_eq!((end.status, end.by), (Status::Cancelled, Some(By::User)));
    let receipt = end.receipt.unwrap();
    assert!(receipt.processes_ended > 0 && receipt.not_ended.is_empty(), "{receipt:?}");
    let asked = live.spy.requests().len();
    assert_eq!(asked, depth as usize + 1, "no request after the cancel");
    // The next message is sent with a history that every provider takes; the harness lints it.
    let end = live.ask("go on", &[]).await;
    assert_eq!(end.reply.as_deref(), Some("parent done"));
    let played = live.quit().await;
    assert_eq!(played.requests.len(), asked + 1, "nothing starts again by itself");
    let ends = played.reports();
    assert_eq!(ends.len(), depth as usize);
    for report in ends {
        assert_eq!((report.status, report.by), (Status::Cancelled, Some(By::User)));
    }
    took
}

/// The public case; at depth 1 its second level is left out and the first one runs the command.
fn nested(depth: u32, command: &str, time: &str) -> Live {
    let mut case = for_workers(load("B043-parent-cancel-leaks.model.json"));
    if depth == 1 {
        case["children"][0]["turns"] = case["children"][1]["turns"].clone();
    }
    let case = with_sleep(&case, command, time);
    let mut stage = stage(&case);
    stage.max_depth = depth;
    stage.start()
}
