//! A person's answers: what each of them covers, and what the model hears.

use offshoot::domain::approval::{Answer, Mode};
use offshoot::domain::command::Command;
use offshoot::domain::event::{Fact, Failure};
use offshoot::domain::report::{Status, WarningCode};
use offshoot::domain::rules::Rules;
use serde_json::json;

use crate::common::{Played, one_batch, task_call};
use crate::hands::{
    asked, bash, child, child_run, decide, deny, notices, parent_run, stage, task, write,
};

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_its_answer_and_then_does_what_was_shown() {
    let script = one_batch(&json!([write("c1", "a", "new")]), "done", &json!([]));
    let (stage, world) = stage(&script);
    world.files.lock().unwrap().insert("a".to_owned(), "old".to_owned());
    let played = stage.play_with("go", &[(1_000, decide(parent_run(), "c1", Answer::Once))]).await;
    assert_eq!(asked(&played), ["asked r1 c1", "once by user r1 c1"]);
    assert_eq!(world.text("a").as_deref(), Some("new"));
    let Some(Fact::ApprovalRequested { name, summary, diff, prefix, command, fence, .. }) =
        played.facts().find(|fact| matches!(fact, Fact::ApprovalRequested { .. }))
    else {
        panic!("nothing was asked");
    };
    assert_eq!((name.as_str(), summary.as_str()), ("write_file", "write a"));
    assert_eq!((diff.as_deref(), prefix.as_deref()), (Some("-old\n+new\n"), Some("a")));
    assert_eq!((command, fence), (&None, &None));
    let order: Vec<&str> = played
        .facts()
        .filter_map(|fact| match fact {
            Fact::ApprovalRequested { .. } => Some("asked"),
            Fact::ApprovalDecided { .. } => Some("decided"),
            Fact::ToolStarted { .. } => Some("started"),
            Fact::ToolFinished { .. } => Some("finished"),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["asked", "decided", "started", "finished"]);
}

#[tokio::test(start_paused = true)]
async fn a_command_is_asked_about_with_its_folder_and_its_fence() {
    let script = one_batch(&json!([bash("c1", "git push origin")]), "done", &json!([]));
    let (mut stage, _) = stage(&script);
    stage.mode = Mode::FullAccess;
    stage.fence = Some(crate::common::fence(offshoot::domain::fence::FenceLevel::Partial));
    let played = stage.play_with("go", &[(1_000, decide(parent_run(), "c1", Answer::Once))]).await;
    let requested = played.facts().find_map(|fact| match fact {
        Fact::ApprovalRequested { summary, command, folder, fence, prefix, .. } => Some(
            [Some(summary), command.as_ref(), folder.as_ref(), fence.as_ref(), prefix.as_ref()]
                .map(|text| text.unwrap().as_str()),
        ),
        _ => None,
    });
    assert_eq!(
        requested.unwrap(),
        [
            "git push origin · partial (files not fenced)",
            "git push origin",
            ".",
            "partial (files not fenced)",
            "git push",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_no_reaches_the_model_with_its_reason_and_the_run_goes_on() {
    let script = one_batch(&json!([write("c1", "a", "x")]), "then not", &json!([]));
    let (stage, world) = stage(&script);
    let played =
        stage.play_with("go", &[(1_000, decide(parent_run(), "c1", deny("use b instead")))]).await;
    assert_eq!(asked(&played), ["asked r1 c1", "deny by user r1 c1"]);
    assert_eq!(world.text("a"), None);
    let results = Played::results_in(played.parent_requests()[1]);
    assert_eq!(results[0].output, "denied by the user, who says: use b instead");
    assert!(!results[0].ok);
    assert_eq!(failure_of(&played, "c1"), Some(Failure::Denied));
    assert_eq!(played.parent_ends()[0].status, Status::Completed);
    assert_eq!(played.reply(), "then not");
    assert_eq!(notices(&played.events, "CALL_DENIED"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn other_arguments_are_asked_about_again() {
    let script = one_batch(
        &json!([bash("c1", "make a"), bash("c2", "make a"), bash("c3", "make b")]),
        "done",
        &json!([]),
    );
    let answers: Vec<(u64, Command)> = ["c1", "c2", "c3"]
        .iter()
        .zip([1_000, 2_000, 3_000])
        .map(|(call, at)| (at, decide(parent_run(), call, Answer::Once)))
        .collect();
    let (stage, world) = stage(&script);
    let played = stage.play_with("go", &answers).await;
    assert_eq!(
        asked(&played),
        [
            "asked r1 c1",
            "once by user r1 c1",
            "asked r1 c2",
            "once by user r1 c2",
            "asked r1 c3",
            "once by user r1 c3",
        ]
    );
    assert_eq!(world.ran(), ["make a", "make a", "make b"]);
}

/// A role's first child makes `first`; then another one of `role` makes `second`.
async fn after(answer: Answer, role: &str, second: &str) -> Vec<String> {
    let script = json!({
        "turns": [
            { "text": "", "tool_calls": [task("t", "hand", "alpha")] },
            { "text": "", "tool_calls": [task("u", role, "beta")] },
            { "text": "done" },
        ],
        "children": [
            child("alpha", &[bash("a1", "git push one"), bash("a2", "git push two")]),
            child("beta", &[bash("b1", second)]),
        ],
    });
    let (stage, _) = stage(&script);
    let actions = [
        (1_000, decide(child_run(1), "a1", answer)),
        (2_000, decide(child_run(1), "a2", Answer::Once)),
        (3_000, decide(child_run(2), "b1", Answer::Once)),
    ];
    asked(&stage.play_with("go", &actions).await)
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_a_child_covers_its_prefix_and_no_other_child() {
    let all = after(Answer::Child, "hand", "git push three").await;
    assert_eq!(
        all,
        ["asked t1.1 a1", "child by user t1.1 a1", "asked t2.1 b1", "once by user t2.1 b1"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_the_session_covers_all_children_of_the_role() {
    let all = after(Answer::Session, "hand", "git push three").await;
    assert_eq!(all, ["asked t1.1 a1", "session by user t1.1 a1"]);
    for (role, command) in
        [("other", "git push three"), ("hand", "git push; rm x"), ("hand", "git pull")]
    {
        let all = after(Answer::Session, role, command).await;
        assert_eq!(all[2..], ["asked t2.1 b1", "once by user t2.1 b1"], "{role}: {command}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_once_covers_one_call() {
    let all = after(Answer::Once, "hand", "git push one").await;
    assert_eq!(all.len(), 6, "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn the_command_of_the_tests_is_confirmed_once() {
    let tests = |id: &str| json!({ "id": id, "name": "run_tests", "arguments": {} });
    let filtered = json!({ "id": "c3", "name": "run_tests", "arguments": { "filter": "x" } });
    let script = one_batch(&json!([tests("c1"), tests("c2"), filtered]), "done", &json!([]));
    let (stage, world) = stage(&script);
    let actions = [
        (1_000, decide(parent_run(), "c1", Answer::Once)),
        (2_000, decide(parent_run(), "c3", Answer::Once)),
    ];
    let played = stage.play_with("go", &actions).await;
    assert_eq!(
        asked(&played),
        ["asked r1 c1", "once by user r1 c1", "asked r1 c3", "once by user r1 c3"]
    );
    assert_eq!(world.ran(), ["cargo test", "cargo test", "cargo test x"]);
}

/// Two children that each want to read a file, which a rule asks about, side by side.
fn two_readers() -> crate::common::Stage {
    let read = |id: &str| json!({ "id": id, "name": "read_file", "arguments": { "path": "f" } });
    let script = one_batch(
        &json!([task_call("t", "alpha"), task_call("u", "beta")]),
        "done",
        &json!([child("alpha", &[read("a1")]), child("beta", &[read("b1")])]),
    );
    let mut stage = stage(&script).0.file("f", "text\n");
    stage.rules = Rules::parse::<&str>(&[], &["read_file"], &[]).unwrap();
    stage
}

#[tokio::test(start_paused = true)]
async fn two_children_that_ask_at_once_are_answered_in_either_order() {
    for order in [[(1, "a1"), (2, "b1")], [(2, "b1"), (1, "a1")]] {
        let actions: Vec<(u64, Command)> = order
            .iter()
            .zip([1_000, 2_000])
            .map(|((task, call), at)| (at, decide(child_run(*task), call, Answer::Once)))
            .collect();
        let played = two_readers().play_with("go", &actions).await;
        let mut told = asked(&played);
        told[..2].sort();
        let decided = order.map(|(task, call)| format!("once by user t{task}.1 {call}"));
        assert_eq!(told[..2], ["asked t1.1 a1", "asked t2.1 b1"]);
        assert_eq!(told[2..], decided);
        assert!(played.reports().iter().all(|report| report.status == Status::Completed));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_allowed_for_the_session_settles_those_that_already_wait() {
    let played = two_readers()
        .play_with("go", &[(1_000, decide(child_run(2), "b1", Answer::Session))])
        .await;
    // `read_file` shows nothing beforehand, so that exactly these arguments were allowed.
    assert_eq!(asked(&played)[2..], ["session by user t2.1 b1", "once by earlier t1.1 a1"]);
}

#[tokio::test(start_paused = true)]
async fn a_wider_mode_settles_what_it_allows_and_a_stricter_one_denies_it() {
    let script = one_batch(
        &json!([write("c1", "a", "x"), bash("c2", "make"), write("c3", "b", "y")]),
        "done",
        &json!([]),
    );
    let (stage, world) = stage(&script);
    let actions = [
        (1_000, Command::SetMode { mode: Mode::AutoEdit }),
        (2_000, Command::SetMode { mode: Mode::ReadOnly }),
    ];
    let played = stage.play_with("go", &actions).await;
    assert_eq!(
        asked(&played),
        [
            "asked r1 c1",
            "once by mode r1 c1",
            "asked r1 c2",
            "deny by mode r1 c2",
            "deny by mode r1 c3",
        ]
    );
    assert_eq!((world.text("a").as_deref(), world.text("b")), (Some("x"), None));
    assert!(played.result("c2").contains("the permission mode is read-only"));
    assert_eq!(played.parent_ends()[0].status, Status::Completed);
    assert_eq!(notices(&played.events, "CALL_DENIED").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_child_whose_call_was_denied_says_so_in_its_report() {
    let script = one_batch(
        &json!([task("t", "hand", "alpha")]),
        "done",
        &json!([child("alpha", &[bash("a1", "git push origin")])]),
    );
    let (stage, _) = stage(&script);
    let played = stage.play_with("go", &[(1_000, decide(child_run(1), "a1", deny("no")))]).await;
    let report = &played.reports()[0];
    assert_eq!(report.status, Status::Completed);
    let warning = report.warnings.iter().find(|warning| warning.code == WarningCode::CallRefused);
    assert_eq!(warning.unwrap().text, "calls that were not allowed: bash git push origin");
}

#[tokio::test(start_paused = true)]
async fn what_changed_after_it_was_shown_is_not_overwritten() {
    let script = one_batch(&json!([write("c1", "a", "new")]), "done", &json!([]));
    let (stage, world) = stage(&script);
    let files = std::sync::Arc::clone(&world.files);
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        files.lock().unwrap().insert("a".to_owned(), "theirs".to_owned());
    });
    let played = stage.play_with("go", &[(1_000, decide(parent_run(), "c1", Answer::Once))]).await;
    assert_eq!(world.text("a").as_deref(), Some("theirs"));
    assert_eq!(played.result("c1"), "the file changed after it was shown");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_would_fail_anyway_is_nobodys_question() {
    let script = one_batch(&json!([write("c1", "impossible", "x")]), "done", &json!([]));
    let played = stage(&script).0.play("go").await;
    assert_eq!(asked(&played), [""; 0]);
    assert_eq!(played.result("c1"), "nothing can be written there");
    assert_eq!(failure_of(&played, "c1"), Some(Failure::Error));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_is_told_and_changes_nothing() {
    let script =
        one_batch(&json!([write("c1", "a", "x"), bash("c2", "sleep 5")]), "done", &json!([]));
    let (stage, world) = stage(&script);
    let actions = [
        (1_000, decide(parent_run(), "c1", Answer::Once)),
        (1_000, decide(parent_run(), "c1", deny("too late"))),
        (2_000, decide(child_run(9), "c2", Answer::Once)),
        (3_000, decide(parent_run(), "c2", Answer::Once)),
    ];
    let played = stage.play_with("go", &actions).await;
    assert_eq!(asked(&played)[1], "once by user r1 c1");
    assert_eq!(notices(&played.events, "NOTHING_TO_DECIDE").len(), 2);
    assert_eq!(world.ran(), ["sleep 5"]);
}

fn failure_of(played: &Played, wanted: &str) -> Option<Failure> {
    played.facts().find_map(|fact| match fact {
        Fact::ToolFinished { call, failure, .. } if call.as_str() == wanted => *failure,
        _ => None,
    })
}
