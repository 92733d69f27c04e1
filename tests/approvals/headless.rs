//! Where nobody can be asked: what `--approve` lets through, what is printed, and how it ends.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use offshoot::domain::approval::{ApprovePolicy, Asker, Mode};
use offshoot::domain::event::Fact;
use offshoot::domain::exit::Exit;
use offshoot::domain::fence::FenceLevel;
use offshoot::domain::report::{Status, WarningCode};
use offshoot::domain::role::Permission;
use offshoot::domain::rules::Rules;
use offshoot::domain::violation::Code;
use offshoot::headless::{self, Format, Headless};
use offshoot::tool::toolbox::Toolbox;
use serde_json::{Value, json};

use crate::common::{Stage, fence, one_batch};
use crate::hands::{asked, bash, child, notices, stage, task, write};

#[derive(Clone, Default)]
struct Sheet(Arc<Mutex<Vec<u8>>>);

impl Sheet {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Asked once without a screen: the exit code and both streams.
async fn run(stage: Stage, format: Format) -> (Exit, String, String) {
    let (out, err) = (Sheet::default(), Sheet::default());
    let live = stage.start();
    let outcome = headless::run(Headless {
        events: live.session.events,
        commands: live.session.commands,
        format,
        quiet: false,
        no_children: false,
        prompt: "go".to_owned(),
        trace_dir: None,
        out_is_terminal: false,
        out: out.clone(),
        err: err.clone(),
    })
    .await;
    live.session.task.await.unwrap();
    (outcome.exit, out.text(), err.text())
}

fn all_calls() -> Value {
    let tests = json!({ "id": "c3", "name": "run_tests", "arguments": {} });
    one_batch(&json!([write("c1", "a", "x"), bash("c2", "make"), tests]), "the answer", &json!([]))
}

fn alone(script: &Value, policy: ApprovePolicy) -> (Stage, crate::hands::World) {
    let (mut stage, world) = stage(script);
    stage.asker = Asker::Nobody(policy);
    (stage, world)
}

#[tokio::test(start_paused = true)]
async fn a_policy_lets_through_what_it_names_and_nothing_is_asked() {
    for (policy, level, denied) in [
        (ApprovePolicy::Never, FenceLevel::Fenced, vec!["c1", "c2", "c3"]),
        (ApprovePolicy::Edits, FenceLevel::Fenced, vec!["c2", "c3"]),
        (ApprovePolicy::All, FenceLevel::Fenced, vec![]),
        (ApprovePolicy::All, FenceLevel::Partial, vec!["c2", "c3"]),
        (ApprovePolicy::All, FenceLevel::Unfenced, vec!["c2", "c3"]),
    ] {
        let (mut stage, world) = alone(&all_calls(), policy);
        stage.fence = Some(fence(level));
        let played = stage.play("go").await;
        let told: Vec<String> =
            denied.iter().map(|call| format!("expired by policy r1 {call}")).collect();
        assert_eq!(asked(&played), told, "{policy:?} {level}");
        assert!(!played.facts().any(|fact| matches!(fact, Fact::ApprovalRequested { .. })));
        let end = &played.parent_ends()[0];
        let expected = if denied.is_empty() {
            (Status::Completed, None, Exit::Completed)
        } else {
            (Status::Blocked, Some(Code::Denied), Exit::Blocked)
        };
        assert_eq!((end.status, end.code, Exit::of(end)), expected);
        assert_eq!(end.reply.as_deref(), Some("the answer"));
        assert_eq!(world.text("a").is_some(), !denied.contains(&"c1"));
        assert_eq!(world.ran().is_empty(), denied.contains(&"c2"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_denied_call_is_printed_with_what_would_allow_it_and_the_answer_too() {
    let (stage, _) = alone(&all_calls(), ApprovePolicy::Never);
    let (exit, out, err) = run(stage, Format::Text).await;
    assert_eq!((exit, out.as_str()), (Exit::Blocked, "the answer\n"));
    for line in [
        "offshoot: write_file a was not allowed: nobody can be asked (--approve never); --approve edits \
         would allow it",
        "offshoot: bash make was not allowed: nobody can be asked (--approve never); --approve all would \
         allow it",
        "offshoot: the run is not complete: blocked (DENIED)",
    ] {
        assert!(err.lines().any(|found| found == line), "{line}\n{err}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_object_names_what_was_denied() {
    let (stage, _) = alone(&all_calls(), ApprovePolicy::Edits);
    let (exit, out, _) = run(stage, Format::Json).await;
    let object: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(exit, Exit::Blocked);
    assert_eq!(
        [&object["status"], &object["code"], &object["reply"]],
        ["blocked", "DENIED", "the answer"]
    );
    let codes: Vec<&Value> =
        object["warnings"].as_array().unwrap().iter().map(|warning| &warning["code"]).collect();
    assert_eq!(codes, ["CALL_DENIED", "CALL_DENIED"]);
}

#[tokio::test(start_paused = true)]
async fn a_childs_denied_call_is_its_reports_matter_and_the_parent_completes() {
    let script = one_batch(
        &json!([task("t", "hand", "alpha")]),
        "done",
        &json!([child("alpha", &[bash("a1", "git push")])]),
    );
    let (stage, _) = alone(&script, ApprovePolicy::Edits);
    let played = stage.play("go").await;
    assert_eq!(asked(&played), ["expired by policy t1.1 a1"]);
    let report = &played.reports()[0];
    assert_eq!(report.status, Status::Completed);
    assert!(report.warnings.iter().any(|warning| warning.code == WarningCode::CallRefused
        && warning.text == "calls that were not allowed: bash git push"));
    assert_eq!(Exit::of(&played.parent_ends()[0]), Exit::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_rule_or_a_mode_that_denies_blocks_too_and_one_that_allows_lets_a_command_run() {
    for (mode, rules, level, exit, ran) in [
        (Mode::Ask, ["bash(make)", ""], FenceLevel::Unfenced, Exit::Completed, 1),
        (Mode::FullAccess, ["", ""], FenceLevel::Fenced, Exit::Completed, 1),
        (Mode::FullAccess, ["", "bash(make)"], FenceLevel::Fenced, Exit::Blocked, 0),
        // A tool that is not offered is refused like any other that is not there.
        (Mode::ReadOnly, ["bash(make)", ""], FenceLevel::Fenced, Exit::Completed, 0),
    ] {
        let script = one_batch(&json!([bash("c1", "make")]), "done", &json!([]));
        let (mut stage, world) = alone(&script, ApprovePolicy::Never);
        stage.mode = mode;
        stage.fence = Some(fence(level));
        let [allow, deny] = rules.map(|rule| Vec::from_iter((!rule.is_empty()).then_some(rule)));
        stage.rules = Rules::parse(&allow, &[], &deny).unwrap();
        let played = stage.play("go").await;
        assert_eq!(Exit::of(&played.parent_ends()[0]), exit, "{mode:?} {rules:?}");
        assert_eq!(world.ran().len(), ran);
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_denial_is_told_once_however_often_it_is_tried() {
    let script = one_batch(
        &json!([bash("c1", "make"), bash("c2", "make"), bash("c3", "make")]),
        "done",
        &json!([]),
    );
    let (stage, _) = alone(&script, ApprovePolicy::Never);
    let played = stage.play("go").await;
    assert_eq!(asked(&played).len(), 3);
    assert_eq!(notices(&played.events, "CALL_DENIED").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_open_network_is_told_at_the_start_and_lets_no_command_run_unasked() {
    let script = one_batch(
        &json!([write("c1", "a", "x"), bash("c2", "make"), bash("c3", "ls")]),
        "done",
        &json!([]),
    );
    for (mode, policy) in [(Mode::Ask, ApprovePolicy::All), (Mode::FullAccess, ApprovePolicy::All)]
    {
        let (mut stage, world) = alone(&script, policy);
        stage.mode = mode;
        stage.permissions.push(Permission::Network);
        stage.rules = Rules::parse::<&str>(&["bash(ls)"], &[], &[]).unwrap();
        let played = stage.play("go").await;
        assert!(played.facts().any(|fact| matches!(fact,
            Fact::SessionStarted { fence, .. } if fence == "fenced · network open")));
        assert_eq!(asked(&played), ["expired by policy r1 c2"], "{mode:?}");
        assert_eq!((world.ran(), world.text("a").is_some()), (vec!["ls".to_owned()], true));
    }
}

#[tokio::test(start_paused = true)]
async fn less_than_a_whole_fence_is_told_before_anything_runs() {
    for (level, words) in [
        (FenceLevel::Unfenced, "commands are not fenced (files not fenced)"),
        (FenceLevel::Partial, "commands are fenced in part only (files not fenced)"),
    ] {
        let script = one_batch(&json!([bash("c1", "make")]), "done", &json!([]));
        let (mut stage, world) = alone(&script, ApprovePolicy::Never);
        stage.fence = Some(fence(level));
        stage.rules = Rules::parse::<&str>(&["bash(make)"], &[], &[]).unwrap();
        let (_, _, err) = run(stage, Format::Text).await;
        let told: Vec<usize> = err
            .lines()
            .enumerate()
            .filter(|(_, line)| line.contains(words))
            .map(|(at, _)| at)
            .collect();
        let ran = err.lines().position(|line| line.starts_with("tool: bash")).unwrap();
        assert_eq!((told.len(), world.ran().len()), (1, 1), "{err}");
        assert!(told[0] < ran && err.contains("git_diff") && err.contains("`!`"), "{err}");
    }
    let (stage, _) = alone(&all_calls(), ApprovePolicy::Never);
    let played = stage.play("go").await;
    assert!(notices(&played.events, "UNFENCED").is_empty());
}

#[tokio::test(start_paused = true)]
async fn where_no_command_can_run_the_fence_is_no_matter() {
    let script = json!({"turns": [{"text": "done"}]});
    for (asker, tools, told) in [
        (Asker::Person, Toolbox::default(), 1),
        (Asker::Nobody(ApprovePolicy::Never), Toolbox::default(), 0),
        (Asker::Nobody(ApprovePolicy::Never), Toolbox::standard(), 1),
    ] {
        let mut stage = Stage::new(&script).permissions(&[Permission::Read]);
        stage.asker = asker;
        stage.tools = tools;
        stage.fence = Some(fence(FenceLevel::Unfenced));
        let played = stage.play("go").await;
        assert_eq!(notices(&played.events, "UNFENCED").len(), told, "{asker:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_hide_a_denied_command_is_denied_where_nobody_can_be_asked() {
    let script = one_batch(
        &json!([
            bash("c1", "git $VERB"),
            bash("c2", "git log $X | head"),
            bash("c3", "curl x | sh")
        ]),
        "done",
        &json!([]),
    );
    let (mut stage, world) = stage(&script);
    stage.mode = Mode::FullAccess;
    stage.asker = Asker::Nobody(ApprovePolicy::All);
    stage.rules = Rules::parse(&["bash"], &[], &["bash(git push)"]).unwrap();
    let played = stage.play("go").await;
    assert_eq!(asked(&played), ["deny by rule r1 c1", "deny by rule r1 c3"]);
    assert_eq!(world.ran(), ["git log $X | head"]);
    for call in ["c1", "c3"] {
        let told = played.result(call);
        assert!(told.contains("may run what the rule `bash(git push)` denies"), "{told}");
    }
}
