//! Two sentences for a command that seems to have run into the fence: what held it, and which setting
//! would have let it through, if there is one. Pure; it guesses from words, and says so.

use crate::domain::fence::{Fence, FenceLevel};

/// Words of failures, the hint that goes with each, and whether it only fits without a loopback. The
/// first that is found is taken, so the telling ones stand first.
const TABLE: &[(Clue, &[&str])] = &[
    (
        Clue::Network,
        &[
            "network is unreachable",
            "enetunreach",
            "temporary failure in name resolution",
            "could not resolve host",
            "name or service not known",
            "eai_again",
            "getaddrinfo",
            "could not resolve hostname",
            "failed to lookup address information",
            "no such host",
        ],
    ),
    (
        Clue::LocalSocket,
        &[
            "docker.sock",
            "ssh-agent",
            "ssh_auth_sock",
            "gpg-agent",
            "af_unix",
            "unix socket",
            "unix domain socket",
            ".sock:",
            ".sock'",
            ".sock\"",
            ".sock ",
            "multiprocessing/managers",
            "multiprocessing/forkserver",
            "x11",
            "wayland",
            "dbus",
        ],
    ),
    (
        Clue::Loopback,
        &["127.0.0.1", "localhost", "::1", "0.0.0.0", "socket.socket", "bind", "listen e"],
    ),
    (Clue::SharedMemory, &["/dev/shm", "semlock", "shared_memory", "shm_open"]),
    (
        Clue::Write,
        &["cannot create", "cannot remove", "cannot touch", "read-only", "mkdir", "unlink"],
    ),
];

/// What a failure seems to be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clue {
    Network,
    LocalSocket,
    Loopback,
    SharedMemory,
    Write,
    Read,
}

/// Bytes of the end of an output that are looked at: what went wrong is said last.
const LAST: usize = 16 * 1024;

/// What a shell ends with when a file has no right to be run, which no fence takes away.
const NOT_EXECUTABLE: i32 = 126;

/// The hint, if what a failed command wrote looks as if the fence held it back.
///
/// `network` says that the command was allowed to use the network. A command that succeeded, or that
/// had no fence, gets none.
pub fn explain(output: &str, exit_code: i32, fence: &Fence, network: bool) -> Option<String> {
    if exit_code == 0 || fence.level == FenceLevel::Unfenced {
        return None;
    }
    let clue = clue(&end(output).to_lowercase())?;
    if exit_code == NOT_EXECUTABLE && clue == Clue::Read {
        return None;
    }
    let (what, remedy) = words(clue, fence.loopback, network)?;
    Some(format!("This may be the fence, and no fault of the command: {what}. {remedy}."))
}

fn clue(output: &str) -> Option<Clue> {
    let has = |words: &&str| output.contains(*words);
    let (network, rest) = TABLE.split_first()?;
    if network.1.iter().any(has) {
        return Some(network.0);
    }
    let refused =
        ["operation not permitted", "permission denied", "eperm", "eacces", "(os error 13)"];
    // The refusal and what it was about stand on one line, or near each other in a traceback.
    if !refused.iter().any(has) && !output.contains("permissionerror") {
        return None;
    }
    let near: Vec<&str> = lines_around(output, &refused);
    let found = rest
        .iter()
        .find(|(_, words)| words.iter().any(|words| near.iter().any(|line| line.contains(*words))));
    Some(found.map_or(Clue::Read, |(clue, _)| *clue))
}

/// The lines with one of these words, and the few before each.
fn lines_around<'a>(output: &'a str, words: &[&str]) -> Vec<&'a str> {
    const BEFORE: usize = 4;
    let lines: Vec<&str> = output.lines().collect();
    let mut near = Vec::new();
    let mut from = 0;
    for (at, line) in lines.iter().enumerate() {
        if words.iter().any(|words| line.contains(words)) {
            near.extend(&lines[from.max(at.saturating_sub(BEFORE))..=at]);
            from = at + 1;
        }
    }
    near
}

/// What held it, and what the user can do about it, each a sentence without a full stop.
fn words(clue: Clue, loopback: bool, network: bool) -> Option<(&'static str, &'static str)> {
    match clue {
        Clue::Network if network => None,
        Clue::Network => Some((
            "commands have no network",
            "If it is needed, the user can set fence.network, which opens it to the parent's commands \
             and to the user's own, never to those of children",
        )),
        Clue::LocalSocket => Some((
            "commands cannot open local sockets (agents, daemons, display)",
            "There is no setting yet that opens any",
        )),
        Clue::Loopback if loopback || network => Some(READ),
        Clue::Loopback => Some((
            "on this system the fence has no loopback of its own, so servers on 127.0.0.1 are closed \
             too",
            "`offshoot doctor` says what the system lacks; until then the user can set fence.network, \
             for the parent's commands and the user's own, never for those of children",
        )),
        Clue::SharedMemory => Some((
            "/dev/shm is closed, because this system gives commands none of their own",
            "If it is needed, the user can add it to the setting fence.write; `offshoot doctor` says what the system lacks",
        )),
        Clue::Write => Some((
            "only the workspace and TMPDIR can be changed",
            "If it is needed, the user can add the place to the setting fence.write, or with --add-dir",
        )),
        Clue::Read => Some(READ),
    }
}

const READ: (&str, &str) = (
    "outside of the workspace only the system's own places can be read, and only the workspace and \
     TMPDIR be changed",
    "If it is needed, the user can add the place to the setting fence.read or fence.write, or with \
     --add-dir",
);

fn end(output: &str) -> &str {
    let mut from = output.len().saturating_sub(LAST);
    while !output.is_char_boundary(from) {
        from += 1;
    }
    &output[from..]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn fence(level: FenceLevel, loopback: bool) -> Fence {
        Fence { level, loopback, missing: Vec::new(), network_open: false }
    }

    #[test]
    fn a_refusal_names_the_setting_that_would_have_let_it_through_and_no_other() {
        let table: &[(&str, &str)] = &[
            ("cat: /home/u/.ssh/id: Permission denied", "fence.read"),
            ("touch: cannot touch '/etc/x': Permission denied", "fence.write"),
            ("mkdir: cannot create directory '/opt/x': Permission denied", "fence.write"),
            ("curl: (6) Could not resolve host: example.org", "fence.network"),
            ("connect: Network is unreachable", "fence.network"),
            ("Error: getaddrinfo EAI_AGAIN registry.npmjs.org", "fence.network"),
            (
                "dial unix /var/run/docker.sock: socket: operation not permitted",
                "There is no setting",
            ),
            ("Error: listen EPERM: operation not permitted 127.0.0.1", "fence.network"),
            (
                "File \"x/synchronize.py\", in __init__\n  sl = self._semlock = _multiprocessing.SemLock(\n\
                 PermissionError: [Errno 13] Permission denied",
                "fence.write",
            ),
            ("Error: EACCES: permission denied, open '/home/me/.x'", "fence.read"),
        ];
        for (output, setting) in table {
            let hint = explain(output, 1, &fence(FenceLevel::Fenced, false), false).unwrap();
            assert!(hint.contains(setting), "{output}: {hint}");
            assert!(hint.contains("fence"), "{hint}");
            assert!(!hint.contains("fence.unix") && !hint.contains("this call"), "{hint}");
            assert_eq!(hint.contains("fence.network"), hint.contains("children"), "{hint}");
            assert_eq!(hint.matches(". ").count(), 1, "short: {hint}");
        }
    }

    #[test]
    fn nothing_is_explained_that_the_fence_did_not_do() {
        let fenced = fence(FenceLevel::Fenced, true);
        let denied = "Permission denied";
        assert_eq!(explain(denied, 0, &fenced, false), None, "it succeeded");
        assert_eq!(explain("assertion failed: 1 == 2", 101, &fenced, false), None);
        assert_eq!(explain("sh: ./x.sh: Permission denied", 126, &fenced, false), None);
        assert_eq!(explain("", 1, &fenced, false), None);
        assert_eq!(explain(denied, 1, &fence(FenceLevel::Unfenced, false), false), None);
        assert_eq!(explain("Network is unreachable", 1, &fenced, true), None, "it was allowed to");
    }

    #[test]
    fn only_the_end_is_looked_at_and_no_character_is_cut() {
        let long = "子".repeat(20_000);
        let fenced = fence(FenceLevel::Partial, false);
        assert_eq!(explain(&format!("Permission denied\n{long}"), 1, &fenced, false), None);
        assert!(explain(&format!("{long}\nPermission denied"), 1, &fenced, false).is_some());
    }
}
