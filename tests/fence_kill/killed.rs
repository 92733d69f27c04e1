//! Somebody kills or stops what stands above the command.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use offshoot::sandbox::{Outcome, SandboxError};
use rustix::process::{Signal, kill_process};

use crate::common;
use crate::ground::{Ground, MARK, PATIENCE, alone, children, gone, marked, only_helper};

/// Set for the program that is to be killed: what it runs.
const DRIVE: &str = "FENCE_KILL_DRIVE";

const SCRIPTS: &[&str] = &[
    "echo ready; exec sleep 600",
    "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 600; sleep 600' & echo ready; wait; wait",
    "i=0; while [ $i -lt 100 ]; do sleep 600 & i=$((i+1)); done; echo ready; wait",
    "(setsid nohup sleep 600 >/dev/null 2>&1 &) & sh -c 'kill -STOP $$' & echo ready; sleep 600",
];

#[test]
fn a_program_that_is_killed_takes_its_commands_with_it() {
    alone(async |ground| {
        if let Ok(script) = std::env::var(DRIVE) {
            return drive(&ground, &script).await;
        }
        for script in SCRIPTS {
            for _ in 0..common::rounds(1, 50) {
                let mark = uuid::Uuid::now_v7().to_string();
                let mut program = start_driver(script, &mark);
                assert!(!marked(&mark).is_empty());
                program.kill().unwrap();
                program.wait().unwrap();
                gone(&mark).await;
                wait_for_no_children().await;
            }
        }
    });
}

/// The end of the line does not reach a helper that is stopped; the end of its parent wakes it.
#[test]
fn a_program_that_is_killed_while_its_helper_is_stopped_takes_its_commands_with_it() {
    alone(async |_| {
        for script in SCRIPTS {
            let mark = uuid::Uuid::now_v7().to_string();
            let mut program = start_driver(script, &mark);
            let helpers = children_of(program.id());
            assert_eq!(helpers.len(), 1, "{helpers:?}");
            for helper in helpers {
                kill_process(rustix::process::Pid::from_raw(helper).unwrap(), Signal::STOP)
                    .unwrap();
            }
            program.kill().unwrap();
            program.wait().unwrap();
            gone(&mark).await;
            wait_for_no_children().await;
        }
    });
}

/// The processes that a program has started and that are still there.
fn children_of(program: u32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{program}/task")).unwrap();
    let lists = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("children")));
    lists
        .flat_map(|list| {
            let list = list.unwrap_or_default();
            list.split_whitespace().map(|number| number.parse().unwrap()).collect::<Vec<_>>()
        })
        .collect()
}

/// Starts this very program as the one to be killed, and waits until its command is ready.
fn start_driver(script: &str, mark: &str) -> std::process::Child {
    let mut program = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("killed::a_program_that_is_killed_takes_its_commands_with_it")
        .env(DRIVE, script)
        .env(MARK, mark)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let is_ready = |line: &std::io::Result<String>| line.as_ref().unwrap().contains("ready");
    assert!(lines.any(|line| is_ready(&line)), "the command never got ready");
    program
}

async fn drive(ground: &Ground, script: &str) {
    let (mut job, _) = ground.job(script);
    job.environment.retain(|(name, _)| name != MARK);
    job.environment.push((MARK.to_owned(), std::env::var(MARK).unwrap()));
    let say = |piece: &[u8]| {
        use std::io::Write;
        std::io::stdout().write_all(piece).unwrap();
        std::io::stdout().flush().unwrap();
    };
    ground.sandbox.run(job, say, &tokio_util::sync::CancellationToken::new()).await.unwrap();
}

/// Helpers of a program that was killed come to this one; nobody but this test waits for them.
async fn wait_for_no_children() {
    let began = std::time::Instant::now();
    while let Some(number) = children().keys().next().copied() {
        let pid = rustix::process::Pid::from_raw(number);
        let _ = rustix::process::waitpid(pid, rustix::process::WaitOptions::NOHANG);
        assert!(began.elapsed() < PATIENCE, "{:?}", children());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn a_helper_that_is_killed_leaves_nothing() {
    alone(async |ground| {
        for script in SCRIPTS {
            for _ in 0..common::rounds(1, 50) {
                let mut running = ground.start(script);
                running.ready().await;
                kill_process(only_helper(), Signal::KILL).unwrap();
                let error = running.end().await.unwrap_err();
                assert!(matches!(&error, SandboxError::Helper(_)), "{error}");
                assert_eq!(children(), [].into());
            }
        }
    });
}

#[test]
fn a_helper_that_was_stopped_ends_its_command_all_the_same() {
    alone(async |ground| {
        for script in SCRIPTS {
            let mut running = ground.start(script);
            running.ready().await;
            kill_process(only_helper(), Signal::STOP).unwrap();
            running.cancel.cancel();
            let ended = running.end().await.unwrap();
            assert_eq!(ended.outcome, Outcome::Cancelled);
            assert!(ended.processes_ended > 0);
            assert_eq!(children(), [].into());
        }
    });
}

/// The helper is stopped again and again, so that waking it is of no use.
#[test]
fn a_helper_that_cannot_be_woken_is_given_up_and_its_command_ended() {
    alone(async |ground| {
        for script in SCRIPTS {
            let mut running = ground.start(script);
            running.ready().await;
            let helper = only_helper();
            let stopping = std::thread::spawn(move || {
                let until = std::time::Instant::now() + Duration::from_secs(1);
                while std::time::Instant::now() < until
                    && kill_process(helper, Signal::STOP).is_ok()
                {}
            });
            running.cancel.cancel();
            let ended = running.end().await.unwrap();
            assert_eq!(ended.outcome, Outcome::Cancelled);
            assert!(ended.processes_ended > 0);
            stopping.join().unwrap();
            assert_eq!(children(), [].into());
        }
    });
}
