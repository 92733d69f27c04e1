//! Floods of output take no memory that grows with them, and no time limit drowns in them. Alone in
//! its binary, so that the process's peak is its own.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

#[path = "common/aloud.rs"]
#[allow(dead_code, reason = "the harness of the other tests uses it")]
mod aloud;
#[path = "commands/bench.rs"]
#[allow(dead_code, reason = "one test needs one part of the harness")]
mod bench;

use bench::{Bench, cases};

/// The most memory that this process has had, in kB.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn floods_take_little_memory_and_end_in_time() {
    let bench = Bench::new();
    bench.bash("true").await;
    let before = peak_kilobytes();
    for case in cases("B059-flood.cmds.json") {
        let output = case.run(&bench).await;
        if case.command == "yes" {
            assert!(output.text.contains("timed out after 2 s"), "{}", output.text);
        } else {
            assert!(output.ok, "{}: {}", case.command, output.text);
        }
        let says = if case.command.contains("/dev/zero") {
            "(binary output, 300000000 bytes, not shown)".to_owned()
        } else {
            format!(" of {} bytes left out here", output.bytes)
        };
        assert!(output.truncated && output.text.contains(&says), "{}", case.command);
    }
    let grown = peak_kilobytes().saturating_sub(before);
    assert!(grown < 64 * 1024, "the peak grew by {grown} kB");
}
