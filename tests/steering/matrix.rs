//! Each way to steer in each phase.

use offshoot::domain::budget::{Dimension, Preset};
use offshoot::domain::command::{Command, Steer};
use offshoot::domain::event::Fact;
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::Status;
use serde_json::json;

use crate::common::Played;
use crate::ground::{allow, asking, check_books, child, outcome, script, stage, steer, task, tell};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Queued,
    Silent,
    Streaming,
    Tool,
    Asking,
    Retrying,
    Paused,
    WrapUp,
    Ended,
}

use Phase::{Asking, Ended, Paused, Queued, Retrying, Silent, Streaming, Tool, WrapUp};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Pause,
    WrapUp,
    Extend,
    Tell,
    Cancel,
}

impl Phase {
    fn task(self) -> u32 {
        if self == Queued { 2 } else { 1 }
    }

    /// When the phase holds, in ms.
    fn at(self) -> u64 {
        match self {
            Queued | Silent => 500,
            Streaming => 1_700,
            Tool | Asking => 3_000,
            Retrying => 1_200,
            Paused | WrapUp => 5_000,
            Ended => 100_000,
        }
    }

    /// What else a person does.
    fn actions(self) -> Vec<(u64, Command)> {
        match self {
            Asking => vec![(10_000, allow(1, "a1")), (90_000, allow(1, "a2"))],
            Paused => vec![(500, steer(1, Steer::Pause)), (40_000, steer(1, Steer::Pause))],
            WrapUp => vec![(500, steer(1, Steer::WrapUp))],
            Queued | Silent | Streaming | Tool | Retrying | Ended => Vec::new(),
        }
    }
}

async fn play(way: Way, phase: Phase) -> Played {
    let mut turns = child();
    if phase == Retrying {
        let busy = json!({ "status": 429, "message": "busy" });
        turns.insert(0, json!({ "delay_ms": 1_000, "error": busy }));
    }
    let block = json!({ "match": "block", "turns": [{ "text": "ok", "delay_ms": 20_000 }] });
    let alpha = json!({ "match": "alpha", "turns": turns });
    let tasks = match phase {
        Queued => vec![task("c1", "block"), task("c2", "alpha")],
        _ => vec![task("c1", "alpha")],
    };
    let mut stage = stage(&script(&tasks, &json!([block, alpha])));
    stage.limits.totals.active = 1;
    if phase == Asking {
        stage = asking(stage);
    }
    let (at, number) = (phase.at(), phase.task());
    let mut actions = phase.actions();
    match way {
        // Within `Paused` the same key lets it go on; later nothing is to be paused again.
        Way::Pause if phase == Paused => {
            actions.truncate(1);
            actions.push((at, steer(number, Steer::Pause)));
        }
        Way::Pause => {
            actions.push((at, steer(number, Steer::Pause)));
            actions.push((at + 30_000, steer(number, Steer::Pause)));
        }
        Way::WrapUp if phase == Paused => {
            actions.truncate(1);
            actions.push((at, steer(number, Steer::WrapUp)));
        }
        Way::WrapUp => actions.push((at, steer(number, Steer::WrapUp))),
        Way::Extend => actions.push((at, steer(number, Steer::Extend))),
        Way::Tell => actions.push((at, steer(number, tell("look in tests too")))),
        Way::Cancel => {
            actions.truncate(if phase == Paused { 1 } else { 9 });
            actions.push((at, Command::CancelTask { task: TaskId(number) }));
        }
    }
    actions.sort_by_key(|(at, _)| *at);
    let mut live = stage.start();
    let end = live.ask("go", &actions).await;
    assert_eq!(end.status, Status::Completed, "the parent goes on");
    let end = live.ask("and now?", &[]).await;
    assert_eq!(end.status, Status::Completed, "the next question works");
    live.quit().await
}

const COMPLETED: &str = "completed: 3 turns, 2 calls, 8500 ms";
const WRAPPED: &str = "cancelled by User: 2 turns, 1 calls, 5500 ms";

async fn check(way: Way, rows: &[(Phase, &str)]) {
    for (phase, expected) in rows {
        let played = play(way, *phase).await;
        assert_eq!(outcome(&played, phase.task()), *expected, "{way:?} while {phase:?}");
        if !(way == Way::Cancel && *phase == Queued) {
            check_books(&played, phase.task());
        }
    }
    assert_eq!(rows.len(), 9);
}

fn and(first: &str, more: &str) -> String {
    format!("{first}{more}")
}

#[tokio::test(start_paused = true)]
async fn pausing_lets_what_goes_on_end_and_starts_nothing_until_it_goes_on() {
    let paused = and(COMPLETED, ", paused, resumed");
    let retried = "completed: 3 turns, 2 calls, 10000 ms, paused, resumed";
    let rows = [
        (Queued, &*and(COMPLETED, ", no, no")),
        (Silent, &paused),
        (Streaming, &paused),
        (Tool, &paused),
        (Asking, &paused),
        (Retrying, retried),
        (Paused, &paused),
        (WrapUp, &and(WRAPPED, ", wrap-up, no, no")),
        (Ended, &and(COMPLETED, ", no, no")),
    ];
    check(Way::Pause, &rows).await;
}

#[tokio::test(start_paused = true)]
async fn wrapping_up_makes_the_next_turn_the_last_and_keeps_what_it_says() {
    let wrapped = and(WRAPPED, ", wrap-up");
    let rows = [
        (Queued, &*and(COMPLETED, ", no")),
        (Silent, &wrapped),
        (Streaming, &wrapped),
        (Tool, &wrapped),
        (Asking, &wrapped),
        (Retrying, "cancelled by User: 2 turns, 1 calls, 7000 ms, wrap-up"),
        (Paused, &and(WRAPPED, ", paused, wrap-up, resumed")),
        (WrapUp, &and(WRAPPED, ", wrap-up, no")),
        (Ended, &and(COMPLETED, ", no")),
    ];
    check(Way::WrapUp, &rows).await;
    let played = play(Way::WrapUp, Tool).await;
    let report = played.task_result("c1");
    assert!(report.summary.starts_with("so far"), "{}", report.summary);
    assert_eq!(played.result("a2"), "not run: the user asked it to wrap up");
    let last = played.child_requests().last().copied().unwrap().clone();
    assert_eq!(last.tool_choice, offshoot::provider::ToolChoice::None);
    assert!(!last.tools.is_empty(), "the tools stay defined");
}

#[tokio::test(start_paused = true)]
async fn extending_grows_every_dimension_by_half_while_more_turns_may_come() {
    let extended = and(COMPLETED, ", extended");
    let rows = [
        (Queued, &*and(COMPLETED, ", no")),
        (Silent, &extended),
        (Streaming, &extended),
        (Tool, &extended),
        (Asking, &extended),
        (Retrying, "completed: 3 turns, 2 calls, 10000 ms, extended"),
        (Paused, &and(COMPLETED, ", paused, extended, resumed")),
        (WrapUp, &and(WRAPPED, ", wrap-up, no")),
        (Ended, &and(COMPLETED, ", no")),
    ];
    check(Way::Extend, &rows).await;
    let played = play(Way::Extend, Tool).await;
    let limits = played.facts().find_map(|fact| match fact {
        Fact::BudgetExtended { limits, .. } => Some(*limits),
        _ => None,
    });
    let limits = limits.unwrap();
    for dimension in Dimension::ALL.into_iter().filter(|d| *d != Dimension::CostUsd) {
        let before = Preset::Normal.child()[dimension].finite().unwrap();
        assert_eq!(limits[dimension].finite(), Some(before / 2 * 3), "{dimension}");
    }
}

#[tokio::test(start_paused = true)]
async fn words_enter_at_the_next_boundary_and_nowhere_else() {
    let told = and(COMPLETED, ", told");
    let rows = [
        (Queued, &*and(COMPLETED, ", no")),
        (Silent, &told),
        (Streaming, &told),
        (Tool, &told),
        (Asking, &told),
        (Retrying, "completed: 3 turns, 2 calls, 10000 ms, told"),
        (Paused, &and(COMPLETED, ", paused, resumed, told")),
        (WrapUp, &and(WRAPPED, ", wrap-up, no")),
        (Ended, &and(COMPLETED, ", no")),
    ];
    check(Way::Tell, &rows).await;
}

#[tokio::test(start_paused = true)]
async fn cancelling_works_in_every_phase() {
    let cancelled = |turns: u32, calls: u32, ms: u32| {
        format!("cancelled by User: {turns} turns, {calls} calls, {ms} ms, cancel")
    };
    let rows = [
        (Queued, &*cancelled(0, 0, 0)),
        (Silent, &cancelled(1, 0, 500)),
        (Streaming, &cancelled(1, 0, 1_700)),
        (Tool, &cancelled(1, 1, 3_000)),
        (Asking, &and(&cancelled(1, 0, 2_500), "")),
        (Retrying, &cancelled(1, 0, 1_200)),
        (Paused, "cancelled by User: 1 turns, 0 calls, 2500 ms, paused, cancel"),
        (WrapUp, "cancelled by User: 2 turns, 1 calls, 5000 ms, wrap-up, cancel"),
        (Ended, &and(COMPLETED, ", no")),
    ];
    check(Way::Cancel, &rows).await;
}
