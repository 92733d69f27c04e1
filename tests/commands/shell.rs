//! Starting and ending: standard input, folders, time limits, leftovers, the environment.

use std::time::{Duration, Instant};

use offshoot::domain::scope::PathScope;
use offshoot::tool::Progress;
use serde_json::json;

use super::bench::{Bench, cases, processes_with};

#[tokio::test]
async fn a_call_returns_when_its_shell_has_ended_whoever_holds_the_pipe() {
    let bench = Bench::new();
    for case in cases("B054-pipe-held.cmds.json") {
        let output = case.run(&bench).await;
        assert!(output.ok, "{}", output.text);
        assert!(output.effects.processes_ended >= 1, "{}", output.text);
        assert!(output.text.contains("left running in the background"), "{}", output.text);
        assert_eq!(output.effects.not_ended, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_time_limit_ends_the_whole_tree_and_keeps_its_output() {
    let bench = Bench::new();
    for case in cases("B056-tree-kill.cmds.json") {
        let output = case.run(&bench).await;
        assert!(!output.ok && output.text.contains("timed out after 1 s"), "{}", output.text);
        assert!(output.effects.processes_ended >= 1, "{}", case.command);
        if let Some(marker) = &case.marker {
            let left: Vec<String> = processes_with(marker)
                .into_iter()
                .filter(|line| line.trim_end().ends_with(marker.as_str()))
                .collect();
            assert_eq!(left, Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn standard_input_is_at_its_end_at_once() {
    let bench = Bench::new();
    for case in cases("B057-stdin-wait.cmds.json") {
        case.run(&bench).await;
    }
}

#[tokio::test]
async fn every_call_starts_in_the_root_whatever_the_last_one_did() {
    let bench = Bench::new();
    let root = bench.root();
    for case in cases("B061-cwd-gone.cmds.json") {
        let output = case.run(&bench).await;
        if case.command == "pwd" {
            assert!(output.text.starts_with(&format!("{}\n", root.display())), "{}", output.text);
        }
    }
}

#[tokio::test]
async fn a_root_that_is_gone_is_an_error_that_says_so() {
    let bench = Bench::new();
    let moved = bench.root().with_extension("moved");
    std::fs::rename(bench.folder.path(), &moved).unwrap();
    for (tool, arguments) in [
        ("bash", json!({"command": "echo ran"})),
        ("git_diff", json!({})),
        ("run_tests", json!({})),
    ] {
        let output = bench.call(tool, arguments).await;
        assert!(!output.ok && !output.text.contains("ran\n"), "{tool}: {}", output.text);
        assert!(output.text.contains("not run"), "{tool}: {}", output.text);
    }
    let said = bench.bash("echo ran").await.text;
    assert!(said.contains("deleted, renamed or replaced") || said.contains("not there"), "{said}");
    std::fs::rename(&moved, bench.folder.path()).unwrap();
    assert!(bench.bash("echo ran").await.text.starts_with("ran\n"));
}

#[tokio::test]
async fn keys_of_the_environment_do_not_reach_a_command() {
    let secrets = [
        ("ANTHROPIC_API_KEY", "sk-ant-test-123"),
        ("OPENAI_API_KEY", "sk-test-456"),
        ("GITHUB_TOKEN", "ghp_test789"),
        ("AWS_SECRET_ACCESS_KEY", "awstest"),
    ];
    let own = std::env::vars().chain(secrets.map(|(name, key)| (name.to_owned(), key.to_owned())));
    let bench = Bench::with_variables(own);
    for case in cases("B062-env-secrets.cmds.json") {
        let output = case.run(&bench).await;
        for (name, key) in secrets {
            assert!(!output.text.contains(key), "{name}");
        }
        for name in ["PATH=", "HOME=", "LANG=", "TERM="] {
            assert!(output.text.contains(name), "{name} is missing: {}", output.text);
        }
    }
}

#[tokio::test]
async fn how_a_command_ended_is_said_in_words() {
    let bench = Bench::new();
    for (command, ok, right) in [
        ("true", true, "(no output)\n(exit code 0)"),
        ("echo hi", true, "hi\n(exit code 0)"),
        ("printf 'a\\n\\n'; exit 3", false, "a\n\n(exit code 3)"),
        ("kill -9 $$", false, "(ended by signal 9 (SIGKILL))"),
        ("sh -c 'kill -11 $$'", false, "signal 11 (SIGSEGV)"),
        ("no-such-program-here", false, "(exit code 127)"),
    ] {
        let output = bench.bash(command).await;
        assert_eq!(output.ok, ok, "{command}: {}", output.text);
        assert!(output.text.contains(right), "{command}: {}", output.text);
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_its_processes_and_counts_them() {
    let bench = Bench::new();
    let began = Instant::now();
    let cancel = bench.cancel.clone();
    let (progress, mut shown) = Progress::channel();
    let bench = Bench { progress, ..bench };
    let call = bench.bash("trap '' TERM; echo started; sleep 613 & sleep 613; sleep 613");
    let stop = async {
        let piece = shown.recv().await.unwrap();
        assert_eq!(piece, "started\n");
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(call, stop);
    assert!(!output.ok && output.text.starts_with("started\n(cancelled"), "{}", output.text);
    assert!(output.effects.processes_ended >= 2, "{:?}", output.effects);
    let is_left = |line: &String| line.trim_end() == "sleep 613";
    assert!(!processes_with("sleep 613").iter().any(is_left));
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_command_reaches_the_run_s_part_of_the_workspace_only() {
    let mut bench = Bench::new();
    bench.file("src/a.txt", "inside");
    bench.file("docs/b.txt", "outside of the scope");
    bench.scopes = vec![PathScope::parse("src").unwrap()];
    let fenced =
        bench.context().sandbox.fence().await.level == offshoot::domain::fence::FenceLevel::Fenced;
    if !fenced {
        super::aloud::skipped("scopes of commands: nothing fences commands here");
        return;
    }
    let output =
        bench.bash("cat src/a.txt; echo x > src/new; cat docs/b.txt; echo y > docs/new").await;
    assert!(output.text.starts_with("inside"), "{}", output.text);
    assert!(!output.text.contains("outside of the scope"), "{}", output.text);
    assert!(output.text.contains("This may be the fence"), "{}", output.text);
    assert!(bench.root().join("src/new").exists() && !bench.root().join("docs/new").exists());
}

#[tokio::test]
async fn what_the_deny_list_names_does_not_run() {
    let bench = Bench::new();
    let output = bench.bash("touch ran; sudo true").await;
    assert!(!output.ok && output.text.contains("deny-list"), "{}", output.text);
    assert!(!bench.root().join("ran").exists());
}
