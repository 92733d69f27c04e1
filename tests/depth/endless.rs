//! Three levels, and at the bottom a command that never ends, stopped at the top.

use std::path::Path;
use std::time::{Duration, Instant};

use offshoot::domain::command::Command;
use offshoot::domain::event::{Fact, Failure};
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::{By, Status};
use offshoot::domain::role::Permission;
use offshoot::domain::usage::Usage;
use serde_json::{Value, json};

use crate::chain::{chain, task};
use crate::common::call;
use crate::common::public_case::{for_role, load};
use crate::common::{Live, Played, Stage, aloud};

const HANDS: [Permission; 4] =
    [Permission::Read, Permission::Delegate, Permission::Write, Permission::Execute];

/// Leaves the number of its process and its descendants', and never ends.
const ENDLESS: &str = "echo $$ > pid; (trap '' TERM; sleep 600) & echo $! >> pid; sleep 600";

fn stage(script: &Value, depth: u32) -> Stage {
    let mut stage = Stage::new(script).permissions(&HANDS);
    stage.max_depth = depth;
    stage
}

fn endless(levels: usize) -> Value {
    let bash = call("b1", "bash", json!({ "command": ENDLESS, "timeout_s": 600 }));
    let used = json!({ "input": 100, "output": 10 });
    let mut script = chain(
        levels,
        &json!({ "role": "worker" }),
        json!([{ "text": "I begin", "tool_calls": [bash], "usage": used }]),
    );
    for child in script["children"].as_array_mut().unwrap() {
        child["turns"][0]["usage"] = used.clone();
    }
    script["turns"][0]["usage"] = used;
    script
}

/// The processes that the command told of, once both are there.
async fn processes(folder: &Path) -> Vec<u32> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_mins(1) {
        let text = std::fs::read_to_string(folder.join("pid")).unwrap_or_default();
        let found: Vec<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        if found.len() == 2 {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the command did not begin");
}

/// Sleeps of ten minutes whose working folder is this one.
fn sleepers(folder: &Path) -> usize {
    let folder = folder.canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let in_folder = processes.filter(|entry| {
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&folder))
    });
    in_folder.count()
}

/// Plays until the command runs, does something, and plays to the end.
async fn stop(stage: Stage, command: Command) -> (Played, Duration) {
    let mut live: Live = stage.start();
    live.send(Command::Submit { text: "go".to_owned() }).await;
    let folder = live.folder.path().to_owned();
    processes(&folder).await;
    assert!(sleepers(&folder) >= 2, "they run");
    let asked = live.spy.requests().len();
    let began = Instant::now();
    live.send(command.clone()).await;
    live.follow(&[]).await;
    let took = began.elapsed();
    assert_eq!(sleepers(&folder), 0, "when the run has ended, all that it started is gone");
    if command == Command::Stop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(live.spy.requests().len(), asked, "nothing is asked afterwards");
        let again = live.ask("and now?", &[]).await;
        assert_eq!(again.status, Status::Completed, "the next question works");
    }
    (live.quit().await, took)
}

fn check_every_level(played: &Played, levels: u32, by: By) {
    for level in 0..levels {
        let report = played.task_result(&format!("k{level}"));
        assert_eq!((report.status, report.by), (Status::Cancelled, Some(by)), "level {level}");
        assert!(report.next.contains("do not retry"));
        assert!(report.changed_paths == ["pid"] && report.needs_review, "level {level}");
        let below = u64::from(levels - level);
        assert_eq!(report.usage.input_tokens, 100 * below, "its own and those below it");
        assert_eq!(report.usage.output_tokens, 10 * below);
        assert_eq!(report.usage.tool_calls, below);
    }
    let mut ends = 0;
    for event in &played.events {
        let (Fact::RunFinished(end), Some(task)) = (&event.fact, event.origin.task) else {
            continue;
        };
        let receipt = end.receipt.as_ref().unwrap();
        assert!(receipt.processes_ended >= 2, "{task}: {receipt:?}");
        assert!(receipt.not_ended.is_empty() && receipt.connections_closed == 0);
        assert_eq!(receipt.files_touched, ["pid"]);
        assert_eq!((end.usage.input_tokens, end.turns), (100, 1), "{task}");
        ends += 1;
    }
    assert_eq!(ends, levels);
    let bash = played.facts().find_map(|fact| match fact {
        Fact::ToolFinished { call, failure, .. } if call.as_str() == "b1" => Some(*failure),
        _ => None,
    });
    assert_eq!(bash, Some(Some(Failure::Cancelled)));
}

fn check_books(played: &Played) {
    let mut sum = Usage::none();
    for fact in played.facts() {
        if let Fact::Usage { usage, .. } = fact {
            sum += *usage;
        }
    }
    let ends = played.parent_ends();
    let total: u64 = ends.iter().map(|end| end.usage_total.input_tokens).sum();
    assert_eq!(total, sum.input_tokens);
}

/// B043: stopping the parent left what was two levels below it running to its natural end.
#[tokio::test]
async fn stopping_at_the_top_ends_all_levels_and_their_processes() {
    for levels in [1_u32, 3] {
        let (played, took) = stop(stage(&endless(levels as usize), levels), Command::Stop).await;
        assert!(took < Duration::from_secs(20), "it hangs: {took:?}");
        let end = &played.parent_ends()[0];
        assert_eq!((end.status, end.by), (Status::Cancelled, Some(By::User)));
        check_every_level(&played, levels, By::User);
        check_books(&played);
    }
}

#[tokio::test]
async fn cancelling_in_the_middle_ends_what_is_below_and_lets_those_above_go_on() {
    let cancel = Command::CancelTask { task: TaskId(2) };
    let (played, _) = stop(stage(&endless(3), 3), cancel).await;
    assert_eq!(played.task_result("k2").status, Status::Cancelled);
    assert_eq!(played.task_result("k1").status, Status::Cancelled);
    assert_eq!(played.task_result("k0").status, Status::Completed);
    assert_eq!(played.reply(), "parent done");
    check_books(&played);
}

/// The time of the one in the middle is up: what is below it ends by budget, it is exhausted itself,
/// and those above go on.
#[tokio::test]
async fn time_that_is_up_in_the_middle_ends_what_is_below() {
    let mut script = endless(3);
    let middle = &mut script["children"][0]["turns"][0]["tool_calls"][0]["arguments"];
    middle["budget"] = json!({ "duration_s": 2 });
    let played = stage(&script, 3).play("go").await;
    assert_eq!(sleepers(played.folder.path()), 0);
    let (lowest, middle) = (played.task_result("k2"), played.task_result("k1"));
    assert!(matches!(lowest.status, Status::Cancelled | Status::BudgetExhausted));
    assert_eq!(serde_json::to_value(middle.code).unwrap(), "TIMEOUT");
    assert_eq!(middle.status, Status::BudgetExhausted);
    assert_eq!(played.task_result("k0").status, Status::Completed);
    check_books(&played);
}

/// B043 as it was reported.
#[tokio::test]
async fn the_reported_case_ends_at_once() {
    let mut case = for_role(load("B043-parent-cancel-leaks.model.json"), "worker");
    for child in case["children"].as_array_mut().unwrap() {
        for turn in child["turns"].as_array_mut().unwrap() {
            for call in turn["tool_calls"].as_array_mut().unwrap() {
                if call["name"] == "task" {
                    call["arguments"]["role"] = json!("worker");
                } else {
                    call["arguments"]["command"] = json!(ENDLESS);
                }
            }
        }
    }
    let (played, took) = stop(stage(&case, 2), Command::Stop).await;
    if std::env::var_os("OFFSHOOT_SOAK").is_some() {
        aloud::told(&format!("two levels below a stop ended after {took:?}"));
    }
    assert_eq!(played.task_result("c1").status, Status::Cancelled);
    assert_eq!(played.task_result("k1").status, Status::Cancelled);
    assert_eq!(task("k", "x", &json!({}))["name"], "task");
}
