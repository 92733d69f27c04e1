//! What a command writes: odd bytes, controls, cuts, and what is seen of it meanwhile.

use offshoot::tool::{Progress, ToolOutput};
use serde_json::json;

use super::bench::{Bench, Case, cases};

fn is_harmless(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control())
}

async fn run(case: &Case) -> (ToolOutput, String) {
    let bench = Bench::new();
    let (progress, mut shown) = Progress::channel();
    let bench = Bench { progress, ..bench };
    let call = case.run(&bench);
    tokio::pin!(call);
    let mut seen = String::new();
    let output = loop {
        tokio::select! {
            output = &mut call => break output,
            Some(piece) = shown.recv() => seen.push_str(&piece),
        }
    };
    while let Ok(piece) = shown.try_recv() {
        seen.push_str(&piece);
    }
    (output, seen)
}

#[tokio::test]
async fn no_control_of_a_command_reaches_a_reader() {
    for case in cases("B060-binary-output.cmds.json") {
        let (output, seen) = run(&case).await;
        assert!(is_harmless(&output.text), "{:?}", output.text);
        assert!(is_harmless(&seen), "{seen:?}");
        let longest = output.text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest < 3_000, "{}: {longest}", case.command);
    }
    let bench = Bench::new();
    let noise = bench.bash("head -c 20000 /dev/urandom").await;
    // Its first or last line may happen to read as text.
    assert!(noise.text.contains("(binary") && noise.text.chars().count() < 400, "{}", noise.text);
    let zeros = bench.bash("head -c 20000 /dev/zero").await;
    assert!(zeros.text.starts_with("(binary output, 20000 bytes"), "{}", zeros.text);
    let escapes = bench.bash("printf 'a\\033[2Jb\\007\\tc\\n'").await;
    assert!(escapes.text.starts_with("a␛[2Jb␇\tc\n"), "{:?}", escapes.text);
}

#[tokio::test]
async fn odd_bytes_are_noted_and_cuts_go_between_characters() {
    for case in cases("B065-bytes-and-cuts.cmds.json") {
        let (output, _) = run(&case).await;
        if case.command.contains("caf") {
            assert!(output.text.starts_with("caf\u{FFFD} \u{FFFD}\u{FFFD}\n"), "{}", output.text);
            assert!(output.text.contains("3 bytes were no UTF-8"), "{}", output.text);
        } else if case.command.contains('子') {
            assert!(output.truncated && !output.text.contains('\u{FFFD}'));
            assert!(output.text.starts_with('子') && output.bytes == 180_000);
        } else {
            assert!(output.text.starts_with("out1\nerr1\nout2\nerr2\n"), "{}", output.text);
        }
    }
}

#[tokio::test]
async fn both_ends_of_a_flood_are_kept_and_the_rest_is_counted() {
    let bench = Bench::new();
    let output = bench.bash("seq 1 200000; echo LASTLINE").await;
    assert!(output.ok && output.truncated, "{}", output.text);
    assert!(output.text.starts_with("1\n2\n3\n"), "{}", output.text);
    assert!(output.text.contains("\nLASTLINE\n(exit code 0)"));
    assert_eq!(output.bytes, 1_288_895 + 9);
    let left_out = format!(" of {} bytes left out here", output.bytes);
    assert!(output.text.contains(&left_out));
}

#[tokio::test]
async fn output_is_seen_while_the_command_runs() {
    let bench = Bench::new();
    let (progress, mut shown) = Progress::channel();
    let bench = Bench { progress, ..bench };
    // The command goes on only once its first words were seen.
    let call = bench.bash("echo first; while [ ! -e go ]; do sleep 0.02; done; echo second");
    let watch = async {
        let piece = shown.recv().await.unwrap();
        assert_eq!(piece, "first\n");
        std::fs::write(bench.root().join("go"), "").unwrap();
    };
    let (output, ()) = tokio::join!(call, watch);
    assert!(output.text.starts_with("first\nsecond\n"), "{}", output.text);
}

#[tokio::test]
async fn a_time_limit_holds_while_output_floods() {
    let bench = Bench::new();
    let output = bench.call("bash", json!({"command": "yes", "timeout_s": 1})).await;
    assert!(output.text.starts_with("y\ny\n"), "{}", output.text);
    assert!(output.text.contains("timed out after 1 s"));
}
