//! Time stands while everything alive waits for a person, and only then.

use std::time::Duration;

use offshoot::domain::approval::{Answer, ApprovePolicy, Asker, Decision, Mode};
use offshoot::domain::budget::{Dimension, Limit};
use offshoot::domain::command::{Command, Steer, Target};
use offshoot::domain::event::{Fact, Timestamp};
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::{By, Exhausted, Status, WarningCode};
use offshoot::domain::rules::Rules;
use offshoot::story::{Story, Verdict};
use offshoot::ui::Lang;
use offshoot::ui::view::words;
use serde_json::{Value, json};

use crate::common::public_case::{for_role, load};
use crate::common::{Played, one_batch, task_call};
use crate::hands::{asked, bash, child, child_run, decide, parent_run, stage, task};

fn duration_of(played: &Played, wanted: &str) -> u64 {
    let found = played.facts().find_map(|fact| match fact {
        Fact::ToolFinished { call, duration_ms, .. } if call.as_str() == wanted => {
            Some(*duration_ms)
        }
        _ => None,
    });
    found.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_child_that_waits_long_for_an_answer_has_not_used_its_duration() {
    let mut call = task("t", "hand", "alpha");
    call["arguments"]["budget"] = json!({ "duration_s": 60 });
    let script = one_batch(
        &json!([call]),
        "done",
        &json!([child("alpha", &[bash("a1", "sleep 20"), bash("a2", "sleep 20")])]),
    );
    let (mut stage, world) = stage(&script);
    stage.limits.parent[Dimension::Duration] = Limit::Of(120_000);
    let actions = [
        (600_000, decide(child_run(1), "a1", Answer::Once)),
        (1_200_000, decide(child_run(1), "a2", Answer::Once)),
    ];
    let played = stage.play_with("go", &actions).await;
    assert_eq!(world.ran(), ["sleep 20", "sleep 20"]);
    let report = &played.reports()[0];
    assert_eq!((report.status, report.usage.duration_ms), (Status::Completed, 40_000));
    assert_eq!(played.parent_ends()[0].status, Status::Completed);
    assert_eq!([duration_of(&played, "a1"), duration_of(&played, "t")], [20_000, 40_000]);
}

#[tokio::test(start_paused = true)]
async fn the_duration_runs_out_where_it_left_off() {
    let script =
        one_batch(&json!([bash("c1", "sleep 40"), bash("c2", "sleep 40")]), "done", &json!([]));
    let (mut stage, world) = stage(&script);
    stage.limits.parent[Dimension::Duration] = Limit::Of(60_000);
    let actions = [
        (600_000, decide(parent_run(), "c1", Answer::Once)),
        (1_200_000, decide(parent_run(), "c2", Answer::Once)),
    ];
    let began = tokio::time::Instant::now();
    let played = stage.play_with("go", &actions).await;
    let end = &played.parent_ends()[0];
    assert_eq!(end.status, Status::BudgetExhausted);
    assert_eq!(end.dimension, Some(Exhausted::Duration));
    assert_eq!(world.ran(), ["sleep 40"]);
    // Twenty seconds after the second answer, the sixtieth of its own.
    assert_eq!(began.elapsed(), Duration::from_secs(1_220));
}

/// One reader that asks, and one whose model takes `slow` to answer; then ten more seconds.
fn one_asks_one_works(slow: Duration) -> Value {
    let read = json!({ "id": "a1", "name": "read_file", "arguments": { "path": "f" } });
    let delay_ms = u64::try_from(slow.as_millis()).unwrap();
    json!({
        "turns": [
            { "text": "", "tool_calls": [task_call("t", "alpha"), task_call("u", "beta")] },
            { "text": "", "tool_calls": [bash("c", "sleep 10")] },
            { "text": "done" },
        ],
        "children": [
            child("alpha", &[read]),
            { "match": "beta", "turns": [{ "text": "found", "delay_ms": delay_ms }] },
        ],
    })
}

#[tokio::test(start_paused = true)]
async fn a_parent_ticks_while_one_child_waits_and_another_works() {
    let script = one_asks_one_works(Duration::from_secs(20));
    for (limit, status) in [(25_000, Status::BudgetExhausted), (35_000, Status::Completed)] {
        let mut stage = stage(&script).0.file("f", "text\n");
        stage.rules = Rules::parse::<&str>(&[], &["read_file"], &[]).unwrap();
        stage.mode = Mode::FullAccess;
        stage.patience = offshoot::provider::retry::Patience {
            headers: Duration::from_secs(1_000),
            ..stage.patience
        };
        stage.limits.parent[Dimension::Duration] = Limit::Of(limit);
        let actions = [(600_000, decide(child_run(1), "a1", Answer::Once))];
        let played = stage.play_with("go", &actions).await;
        // Twenty seconds of the second child's work, none of the first one's waiting after it, ten of
        // its own.
        assert_eq!(played.parent_ends()[0].status, status, "{limit}");
        assert!(played.reports().iter().all(|report| report.status == Status::Completed));
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_a_place_behind_one_that_asks_stands_too() {
    let script = one_asks_one_works(Duration::from_secs(1));
    let mut stage = stage(&script).0.file("f", "text\n");
    stage.rules = Rules::parse::<&str>(&[], &["read_file"], &[]).unwrap();
    stage.mode = Mode::FullAccess;
    stage.limits.totals.active = 1;
    stage.limits.parent[Dimension::Duration] = Limit::Of(30_000);
    let actions = [(600_000, decide(child_run(1), "a1", Answer::Once))];
    let played = stage.play_with("go", &actions).await;
    assert_eq!(played.parent_ends()[0].status, Status::Completed);
    assert!(played.reports().iter().all(|report| report.status == Status::Completed));
}

/// B108: waiting for an answer ate most of a budget, and a question without an answer was filed as a
/// person's denial.
#[tokio::test(start_paused = true)]
async fn waiting_for_a_person_is_no_running_time_and_no_answer_is_no_denial() {
    let case = for_role(load("B108-approval-clock.model.json"), "hand");
    let answer = [(5_000, decide(child_run(1), "k1", Answer::Once))];
    let played = stage(&case).0.play_with("go", &answer).await;
    let report = &played.reports()[0];
    assert_eq!(report.status, Status::Completed);
    assert!(report.usage.duration_ms < 3_000, "{}", report.usage.duration_ms);
    let moments: Vec<u64> = played
        .events
        .iter()
        .filter(|event| {
            matches!(event.fact, Fact::ApprovalRequested { .. } | Fact::ApprovalDecided { .. })
        })
        .map(|event| event.ts.0)
        .collect();
    let waited = moments[1] - moments[0];
    assert!(waited >= 5_000, "{moments:?}");
    // Whoever looks meanwhile sees that it waits and for how long, and that its time stands.
    let mut story = Story::default();
    let asked = |fact: &Fact| matches!(fact, Fact::ApprovalRequested { .. });
    let upto = played.events.iter().position(|event| asked(&event.fact)).unwrap();
    played.events[..=upto].iter().for_each(|event| story.apply(event));
    let node = story.delegations().of_task(TaskId(1)).unwrap();
    let later = Timestamp(moments[0] + 4_000);
    assert!(node.asks() && node.elapsed_ms(later) == node.elapsed_ms(Timestamp(moments[0])));
    let (words, _) = words::doing(node.doing(later), Lang::En, later);
    assert_eq!(words, "waiting for your approval 4 s");

    let (mut alone, world) = stage(&case);
    alone.asker = Asker::Nobody(ApprovePolicy::Never);
    let played = alone.play("go").await;
    assert!(world.ran().is_empty());
    let told = played.result("k1");
    assert!(told.starts_with("bash was not allowed: nobody can be asked"), "{told}");
    assert!(!told.contains("denied"), "{told}");
    let expired = |fact: &&Fact| matches!(fact, Fact::ApprovalDecided { decision, .. } if *decision == Decision::Expired);
    let Some(Fact::ApprovalDecided { decision, by, .. }) = played.facts().find(expired) else {
        panic!("nothing expired");
    };
    let verdict = Verdict { decision: *decision, by: *by, reason: None, amended: None };
    for (lang, denied) in [(Lang::En, "denied"), (Lang::Zh, "否决")] {
        assert!(!words::verdict(&verdict, lang).contains(denied));
    }
}

/// B108, the rest of the kind: a question that nobody answers before the session's time is up, one
/// whose child is cancelled, and one whose child is paused meanwhile.
#[tokio::test(start_paused = true)]
async fn a_question_ends_without_a_denial_whatever_ends_it() {
    let case = for_role(load("B108-approval-clock.model.json"), "hand");
    let mut timed = stage(&case).0;
    timed.timeout = Some(Duration::from_secs(2));
    let cancel = Command::CancelTask { task: TaskId(1) };
    let table = [
        (timed, Vec::new(), By::Shutdown),
        (stage(&case).0, vec![(2_000, cancel)], By::User),
        (stage(&case).0, vec![(2_000, Command::Stop)], By::User),
    ];
    for (stage, actions, by) in table {
        let played = stage.play_with("go", &actions).await;
        let report = &played.reports()[0];
        assert_eq!((report.status, report.by), (Status::Cancelled, Some(by)));
        assert!(report.usage.duration_ms < 1_000, "{}", report.usage.duration_ms);
        assert_eq!(asked(&played), ["asked t1.1 k1", "withdrawn by runtime t1.1 k1"]);
        assert!(!played.result("k1").contains("denied"), "{}", played.result("k1"));
        assert!(report.warnings.iter().all(|warning| warning.code != WarningCode::CallRefused));
    }
    // Paused while it asks, answered while it is paused, let go on: neither wait is running time.
    let pause = |at| (at, Command::Steer { target: Target::Task(TaskId(1)), steer: Steer::Pause });
    let answer = (5_000, decide(child_run(1), "k1", Answer::Once));
    let actions = [pause(1_000), answer, pause(9_000)];
    let played = stage(&case).0.play_with("go", &actions).await;
    let report = &played.reports()[0];
    assert_eq!(report.status, Status::Completed);
    assert!(report.usage.duration_ms < 3_000, "{}", report.usage.duration_ms);
}
