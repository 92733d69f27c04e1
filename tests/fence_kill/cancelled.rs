//! Cancelled in the middle of everything that a command can do to stay.

use std::io::Write;
use std::time::{Duration, Instant};

use offshoot::sandbox::Outcome;

use crate::common;
use crate::ground::{PATIENCE, Running, alone, children, closed_again, gone, marked, open_files};

/// What is cancelled, and how long the middle one of many rounds may take on a quiet machine.
struct Scene {
    name: &'static str,
    script: &'static str,
    median: Duration,
}

const fn scene(name: &'static str, median_ms: u64, script: &'static str) -> Scene {
    Scene { name, script, median: Duration::from_millis(median_ms) }
}

/// Asked to end, it ends.
const WILLING: u64 = 15;
/// It has to be killed once the grace is over.
const UNWILLING: u64 = 250;
/// More than one round of killing, or hundreds of processes.
const MANY: u64 = 500;

/// What no round may take longer than, on a quiet machine.
const WORST: Duration = Duration::from_millis(500);

const SCENES: &[Scene] = &[
    scene("sleep", WILLING, "echo ready; exec sleep 600"),
    scene(
        "a shell that ignores TERM",
        UNWILLING,
        "trap '' TERM; echo ready; while :; do sleep 600; done",
    ),
    scene("a sleep in a session of its own", WILLING, "setsid sleep 600 & echo ready; wait"),
    scene(
        "200 sleeps",
        MANY,
        "i=0; while [ $i -lt 200 ]; do sleep 600 & i=$((i+1)); done; echo ready; wait",
    ),
    scene("yes", WILLING, "echo ready; exec yes"),
    scene(
        "the shell has ended, and one that ignores TERM holds the pipe",
        UNWILLING,
        "(trap '' TERM; echo ready; exec sleep 600) & sleep 600",
    ),
    scene(
        "double fork, a session of its own, nohup and deaf to TERM",
        UNWILLING,
        "(setsid nohup sh -c 'trap \"\" TERM; echo ready >&2; sleep 600; sleep 600' >/dev/null &) & \
         sleep 600",
    ),
    scene(
        "a chain that flees from parent to child",
        MANY,
        "cat >chain.sh <<'E'\n[ $1 -gt 0 ] || exec sleep 600\nsh chain.sh $(($1-1)) &\nE\n\
         echo ready; trap '' TERM; sh chain.sh 500; sleep 600",
    ),
    scene(
        "a chain that flees from session to session",
        MANY,
        "cat >chain.sh <<'E'\n[ $1 -gt 0 ] || exec sleep 600\nsetsid sh chain.sh $(($1-1)) &\nE\n\
         echo ready; trap '' TERM; sh chain.sh 300; sleep 600",
    ),
    scene(
        "stopped processes",
        WILLING,
        "sh -c 'kill -STOP $$; sleep 600' & sleep 600 & kill -STOP $!; echo ready; kill -STOP $$",
    ),
    scene(
        "stopped processes that ignore TERM",
        UNWILLING,
        "trap '' TERM; sh -c 'kill -STOP $$; sleep 600' & echo ready; sleep 600; sleep 600",
    ),
    scene(
        "one that keeps having children",
        MANY,
        "trap '' TERM; echo ready; i=0; while [ $i -lt 300 ]; do sleep 600 & i=$((i+1)); done; wait",
    ),
];

#[test]
fn a_cancelled_command_leaves_nothing_whatever_it_does() {
    alone(async |ground| {
        let before = open_files();
        cancel(ground.start("echo ready; sleep 600")).await;
        // The lock of the private folder stays.
        closed_again(before + 1).await;
        let (files, processes) = (open_files(), children());
        for scene in SCENES {
            let mut times = Vec::new();
            for _ in 0..common::rounds(2, 200) {
                times.push(cancel(ground.start(scene.script)).await);
                assert_eq!(children(), processes, "{}: children or zombies", scene.name);
                closed_again(files).await;
            }
            tell(scene, &mut times);
        }
    });
}

/// Lets it get ready, cancels it and tells how long it took until nothing was left.
async fn cancel(mut running: Running) -> Duration {
    running.ready().await;
    let began = Instant::now();
    running.cancel.cancel();
    let mark = running.mark.clone();
    let ended = running.task.await.unwrap().unwrap();
    let took = began.elapsed();
    assert_eq!(marked(&mark), [] as [String; 0], "left of it: {ended:?}");
    assert_eq!(ended.outcome, Outcome::Cancelled);
    assert!(ended.processes_ended > 0, "{ended:?}");
    assert_eq!(ended.not_ended, [] as [String; 0]);
    took
}

/// Figures are for the long test only: a busy machine makes them worthless. Of those only the worst is
/// held to something, the median is for a person to judge.
fn tell(scene: &Scene, times: &mut [Duration]) {
    times.sort();
    let (median, most) = (times[times.len() / 2], *times.last().unwrap());
    if common::soak() {
        let (name, wanted, rounds) = (scene.name, scene.median, times.len());
        let line = format!(
            "{name}: median {median:.1?} (wanted {wanted:.0?}), most {most:.1?}, {rounds} rounds\n"
        );
        let _ = std::io::stderr().write_all(line.as_bytes());
        assert!(most <= WORST, "{line}");
    }
}

#[test]
fn cancelling_one_command_touches_nothing_of_the_other() {
    alone(async |ground| {
        let script = "setsid sleep 600 & sleep 600 & echo ready; wait";
        let (mut one, mut other) = (ground.start(script), ground.start(script));
        one.ready().await;
        other.ready().await;
        let numbers = |mark: &str| -> Vec<String> {
            let number = |process: String| process.split(' ').next().unwrap().to_owned();
            marked(mark).into_iter().map(number).collect()
        };
        // What is just being started has no environment to be read.
        let mut before = numbers(&other.mark);
        let began = Instant::now();
        while before.len() < 3 && began.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(1)).await;
            before = numbers(&other.mark);
        }
        assert_eq!(before.len(), 3, "{before:?}");
        cancel_ready(one).await;
        assert_eq!(numbers(&other.mark), before);
        cancel_ready(other).await;
    });
}

async fn cancel_ready(running: Running) {
    running.cancel.cancel();
    let ended = running.end().await.unwrap();
    assert_eq!((ended.outcome, ended.processes_ended), (Outcome::Cancelled, 3));
}

#[test]
fn a_call_that_is_dropped_ends_its_command() {
    alone(async |ground| {
        let mut running = ground.start("setsid sleep 600 & echo ready; wait");
        running.ready().await;
        running.task.abort();
        gone(&running.mark).await;
        while !children().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
}

#[test]
fn a_call_that_was_cancelled_before_it_began_starts_nothing() {
    alone(async |ground| {
        let (job, _) = ground.job("echo started >file");
        let cancel = tokio_util::sync::CancellationToken::new();
        cancel.cancel();
        let ended = ground.sandbox.run(job, |_| {}, &cancel).await.unwrap();
        assert_eq!(ended.outcome, Outcome::Cancelled);
        assert!(!ground.folder.path().join("file").exists());
    });
}
