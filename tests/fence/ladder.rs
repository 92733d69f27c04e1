//! The steps of the ladder on systems that lack a part: each is made by refusing the calls that the
//! part is built of, and read from what the doctor finds.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is,
    SeccompCondition as Condition, SeccompFilter, SeccompRule,
};

use crate::aloud;
use crate::scene;

/// What the doctor says of the fence if these calls are refused with an error.
fn found_without(refused: &[i64], error: i32) -> Vec<String> {
    let program = (!refused.is_empty()).then(|| {
        let mut rules: BTreeMap<i64, _> = refused.iter().map(|call| (*call, Vec::new())).collect();
        if refused.contains(&libc::SYS_capset) {
            // Dropping from the bounding set, which is another way to drop them.
            let drop = Condition::new(0, Length::Dword, Is::Eq, 24).unwrap();
            rules.insert(libc::SYS_prctl, vec![SeccompRule::new(vec![drop]).unwrap()]);
        }
        let action = SeccompAction::Errno(error.unsigned_abs());
        let architecture = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, architecture);
        BpfProgram::try_from(filter.unwrap()).unwrap()
    });
    let home = scene::folder();
    let doctor = std::thread::spawn(move || {
        // It holds for this thread and for what it starts.
        program.iter().for_each(|program| seccompiler::apply_filter(program).unwrap());
        Command::new(scene::program())
            .arg("doctor")
            .env_clear()
            .env("HOME", home.path())
            .env("OFFSHOOT_PROVIDER", "offline")
            .current_dir(home.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    });
    let page = String::from_utf8(doctor.join().unwrap().stdout).unwrap();
    let lines = page.lines().skip_while(|line| *line != "fence").skip(1);
    lines.take_while(|line| !line.is_empty()).map(|line| line.trim().to_owned()).collect()
}

/// That the last row misses no more than it names shows that offshoot's own environment stays closed
/// even there.
#[test]
fn each_part_that_a_system_lacks_is_missed_and_named() {
    let whole = found_without(&[], 0);
    if !whole[0].contains("loopback of their own") {
        return aloud::skipped(&format!("the ladder: this system is not whole: {whole:?}"));
    }
    let landlock = &[libc::SYS_landlock_create_ruleset];
    let filters = &[libc::SYS_seccomp];
    let all = &[libc::SYS_landlock_create_ruleset, libc::SYS_seccomp, libc::SYS_unshare];
    // Whoever is not root loses them by starting anything.
    let is_root = rustix::process::geteuid().is_root();
    let powers = if is_root { "partial: root's powers not dropped;" } else { "ok    fenced:" };
    let table: &[(&str, &[i64], i32, &str)] = &[
        ("no namespaces", &[libc::SYS_unshare], libc::EPERM, "ok    fenced:"),
        ("namespaces that cannot be furnished", &[libc::SYS_mount], libc::EPERM, "ok    fenced:"),
        (
            "Landlock off",
            landlock,
            libc::EOPNOTSUPP,
            "partial: files not fenced, signals not fenced;",
        ),
        ("no Landlock", landlock, libc::ENOSYS, "partial: files not fenced, signals not fenced;"),
        ("no filters", filters, libc::EINVAL, "partial: local sockets not fenced;"),
        ("capabilities stay", &[libc::SYS_capset], libc::EPERM, powers),
        (
            "nothing",
            all,
            libc::ENOSYS,
            "unfenced: files not fenced, network not fenced, local sockets not fenced, signals not fenced;",
        ),
    ];
    for (what, refused, error, words) in table {
        let found = found_without(refused, *error);
        assert!(found[0].contains(words), "{what}: {found:?}");
        let has_loopback =
            !refused.contains(&libc::SYS_unshare) && !refused.contains(&libc::SYS_mount);
        let misses_loopback = found.iter().any(|line| line.contains("/dev/shm fail inside"));
        assert_eq!(has_loopback || *what == "nothing", !misses_loopback, "{what}: {found:?}");
    }
    scene::again_without_powers("ladder::each_part_that_a_system_lacks_is_missed_and_named");
}
