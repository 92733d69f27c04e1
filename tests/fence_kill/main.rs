//! Nothing of a command is left when it is over, however it is over.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use offshoot::sandbox::{Ground, Job, Outcome, Sandbox, SandboxSettings};
use tokio_util::sync::CancellationToken;

fn job(script: &str) -> Job {
    Job {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        folder: std::env::temp_dir(),
        ground: Ground::default(),
        environment: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
        network: false,
        time_limit: Duration::from_secs(60),
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_runs_and_its_output_comes_in_the_order_it_was_written() {
    let sandbox = Sandbox::new(SandboxSettings::bare(env!("CARGO_BIN_EXE_offshoot")));
    let mut text = Vec::new();
    let script = "echo one; echo two >&2; echo three; exit 7";
    let ended = sandbox
        .run(job(script), |piece| text.extend_from_slice(piece), &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), "one\ntwo\nthree\n");
    assert_eq!(ended.outcome, Outcome::Exited(7));
    assert_eq!(ended.processes_ended, 0);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_takes_too_long_is_ended() {
    let sandbox = Sandbox::new(SandboxSettings::bare(env!("CARGO_BIN_EXE_offshoot")));
    let limited = Job { time_limit: Duration::from_millis(100), ..job("sleep 600 & sleep 600") };
    let ended = sandbox.run(limited, |_| {}, &CancellationToken::new()).await.unwrap();
    assert_eq!(ended.outcome, Outcome::TimedOut);
    assert!(ended.processes_ended >= 2, "{ended:?}");
}
