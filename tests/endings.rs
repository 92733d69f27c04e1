//! Every way a task can end: each code and each status of the contract is reached through the real
//! loop, and the delegations pane has words for it in both languages.
//!
//! A new code or status does not compile here before somebody says how it is reached.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use common::{Played, Stage, one_batch, task_call};
use offshoot::domain::approval::{ApprovePolicy, Asker, Mode};
use offshoot::domain::command::Command;
use offshoot::domain::exit::Exit;
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::{By, Exhausted, Status};
use offshoot::domain::role::Permission;
use offshoot::domain::rules::Rules;
use offshoot::domain::violation::Code;
use offshoot::provider::script::Script;
use offshoot::provider::{ChunkStream, Identity, Provider, Request};
use offshoot::story::{End, Story};
use offshoot::ui::paint::Palette;
use offshoot::ui::screen::Screen;
use offshoot::ui::view::words;
use offshoot::ui::{HeaderFacts, Lang, draw_frame};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const KEY: &str = "correct-horse-battery";

fn call(id: &str, name: &str, arguments: Value) -> Value {
    json!({ "id": id, "name": name, "arguments": arguments })
}

/// The parent asks for one task, with these fields beside the required ones.
fn task(more: Value, child: Value) -> Value {
    let mut task = json!({ "task": "alpha", "expected_output": "answer" });
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    one_batch(
        &json!([call("c1", "task", task)]),
        "parent done",
        &json!([{ "match": "alpha", "turns": child, "repeat_last": true }]),
    )
}

fn stage(more: Value, child: Value) -> Stage {
    Stage::new(&task(more, child))
}

/// How the end is looked at.
enum Look {
    /// The report that this call came to.
    Call(&'static str),
    /// The end of the parent.
    Parent,
}

/// A conversation in which something ends with a code.
struct Scene {
    stage: Stage,
    actions: Vec<(u64, Command)>,
    look: Look,
}

impl Scene {
    fn of(stage: Stage) -> Self {
        Self { stage, actions: Vec::new(), look: Look::Call("c1") }
    }

    fn at(stage: Stage, call: &'static str) -> Self {
        Self { look: Look::Call(call), ..Self::of(stage) }
    }
}

/// A provider that breaks in the middle of a child's request.
struct Breaks(Script);

impl Provider for Breaks {
    fn identity(&self) -> &Identity {
        self.0.identity()
    }

    fn stream(&self, request: Request) -> ChunkStream {
        assert!(request.depth == 0, "on purpose");
        self.0.stream(request)
    }
}

/// How each code is reached.
fn scene(code: Code) -> Scene {
    let says = || json!([{ "text": "A" }]);
    let refused = |more: Value| Scene::of(stage(more, says()));
    match code {
        Code::Cancelled => Scene {
            actions: vec![(500, Command::CancelTask { task: TaskId(1) })],
            ..Scene::of(stage(json!({}), json!([{ "text": "A", "delay_ms": 60_000 }])))
        },
        Code::InvalidTask => refused(json!({ "role": "wizard" })),
        Code::DuplicateTask => {
            let calls = json!([task_call("c1", "alpha"), task_call("c2", "alpha")]);
            let children = json!([{ "match": "alpha", "turns": says() }]);
            Scene::at(Stage::new(&one_batch(&calls, "done", &children)), "c2")
        }
        Code::DepthExceeded => {
            let deeper = json!([{ "tool_calls": [task_call("k1", "beta")] }, { "text": "A" }]);
            Scene::at(stage(json!({}), deeper), "k1")
        }
        Code::DelegationLimit => {
            let calls = json!([task_call("c1", "alpha"), task_call("c2", "alpha too")]);
            let children = json!([{ "match": "alpha", "turns": says() }]);
            let mut stage = Stage::new(&one_batch(&calls, "done", &children));
            stage.limits.totals.delegations = 1;
            Scene::at(stage, "c2")
        }
        Code::ContextNotFound => refused(json!({ "context_keys": ["missing"] })),
        Code::ContextForbidden => {
            let mut stage = stage(json!({ "done_when": format!("you used {KEY}") }), says());
            stage.secrets = vec![KEY.to_owned()];
            Scene::of(stage)
        }
        Code::PermissionEscalation => refused(json!({ "permissions": ["network"] })),
        Code::ToolEscalation => refused(json!({ "allowed_tools": ["write_file"] })),
        Code::PathEscalation => refused(json!({ "allowed_paths": ["../up"] })),
        Code::InvalidBudget => refused(json!({ "budget": { "turns": 0 } })),
        Code::BudgetExhausted => {
            let endless = json!([{ "text": "step {n}", "tool_calls": [
                call("k{n}", "list_files", json!({ "path": "d{n}" })),
            ]}]);
            Scene::of(stage(json!({ "budget": { "turns": 2 } }), endless))
        }
        Code::Timeout => {
            let slow = json!([{ "text": "never", "delay_ms": 60_000 }]);
            Scene::of(stage(json!({ "budget": { "duration_s": 2 } }), slow))
        }
        Code::UsageExceeded => {
            let usage = json!({ "input": 100, "output": 50_000 });
            Scene::of(stage(json!({}), json!([{ "text": "A", "usage": usage }])))
        }
        Code::LoopDetected => {
            let same = json!([{ "tool_calls": [call("k{n}", "list_files", json!({}))] }]);
            Scene::of(stage(json!({}), same))
        }
        Code::Denied => Scene { look: Look::Parent, ..Scene::of(denied()) },
        Code::ProviderError => {
            Scene::of(stage(json!({}), json!([{ "error": { "status": 400, "message": "no" } }])))
        }
        Code::ContextExceeded => {
            let error = json!({ "status": 400, "message": "context_length_exceeded" });
            Scene::of(stage(json!({}), json!([{ "error": error }])))
        }
        Code::Refused => Scene::of(stage(json!({}), json!([{ "text": "no", "stop": "refusal" }]))),
        Code::Internal => {
            let script = Script::from_json(&task(json!({}), says()).to_string()).unwrap();
            Scene::of(Stage::with_provider(Arc::new(Breaks(script))))
        }
        Code::InvalidResult => {
            let foreign = json!({ "summary": "s", "task_id": "t9" }).to_string();
            Scene::of(stage(json!({}), json!([{ "text": foreign }])))
        }
    }
}

/// A parent that nobody watches wants to write.
fn denied() -> Stage {
    let write = call("w1", "write_file", json!({ "path": "x", "content": "y" }));
    let mut stage = Stage::new(&one_batch(&json!([write]), "could not", &json!([])))
        .permissions(&[Permission::Read, Permission::Write, Permission::Delegate]);
    stage.mode = Mode::Ask;
    stage.asker = Asker::Nobody(ApprovePolicy::Never);
    stage
}

/// A code that a run of this status has; none for one that has no code.
fn example(status: Status) -> Option<Code> {
    match status {
        Status::Completed => None,
        Status::BudgetExhausted => Some(Code::BudgetExhausted),
        Status::Cancelled => Some(Code::Cancelled),
        Status::Blocked => Some(Code::InvalidBudget),
        Status::Failed => Some(Code::ProviderError),
        Status::InvalidResult => Some(Code::InvalidResult),
    }
}

/// What the page says of each code.
fn status_of(code: Code) -> Status {
    match code {
        Code::Cancelled => Status::Cancelled,
        Code::InvalidTask
        | Code::DuplicateTask
        | Code::DepthExceeded
        | Code::DelegationLimit
        | Code::ContextNotFound
        | Code::ContextForbidden
        | Code::PermissionEscalation
        | Code::ToolEscalation
        | Code::PathEscalation
        | Code::InvalidBudget
        | Code::Denied => Status::Blocked,
        Code::BudgetExhausted | Code::Timeout | Code::UsageExceeded | Code::LoopDetected => {
            Status::BudgetExhausted
        }
        Code::ProviderError | Code::ContextExceeded | Code::Refused | Code::Internal => {
            Status::Failed
        }
        Code::InvalidResult => Status::InvalidResult,
    }
}

async fn play(scene: Scene) -> (Played, End) {
    let played = scene.stage.play_with("go", &scene.actions).await;
    let end = match scene.look {
        Look::Call(call) => {
            let report = played.task_result(call);
            let (code, dimension, by) = (report.code, report.dimension, report.by);
            End { status: report.status, code, dimension, by }
        }
        Look::Parent => End::from(&played.parent_ends()[0]),
    };
    (played, end)
}

/// What a person sees, without the blanks that stand beside wide characters.
fn screen(played: &Played, lang: Lang) -> String {
    let mut story = Story::default();
    played.events.iter().for_each(|event| story.apply(event));
    let header = HeaderFacts {
        workspace: "~/code/demo".to_owned(),
        branch: None,
        model: "demo-1".to_owned(),
        mode: "ask".to_owned(),
        fence: None,
        context_window: None,
        language_model: true,
        rules: Rules::default(),
    };
    let (width, height) = (200, 40);
    let mut screen = Screen::new(lang, Palette { colour: false }, header, (width, height));
    let mut buffer = Buffer::empty(Rect { x: 0, y: 0, width, height });
    let now = played.events.last().unwrap().ts;
    draw_frame(&story, &mut screen, now, &mut buffer);
    let symbols = buffer
        .content
        .chunks(usize::from(width))
        .map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>());
    symbols.collect::<Vec<_>>().join("\n").replace(' ', "")
}

fn has_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

/// The words of the pane for an end, once they were found on the screen.
fn seen(played: &Played, end: &End, lang: Lang) -> String {
    let (words, _) = words::ended(end, lang);
    let shown = screen(played, lang);
    assert!(shown.contains(&words.replace(' ', "")), "no `{words}` on\n{shown}");
    words
}

/// The names that a closed list of words can be read from.
fn names<T: DeserializeOwned + std::fmt::Debug>() -> BTreeSet<String> {
    let error = serde_json::from_str::<T>("\"?\"").unwrap_err().to_string();
    error.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_lists_of_codes_and_statuses_are_whole() {
    let codes: BTreeSet<String> = Code::ALL.iter().map(|code| code.as_str().to_owned()).collect();
    assert_eq!(codes, names::<Code>());
    let all: BTreeSet<String> = Status::ALL.iter().map(|one| one.as_str().to_owned()).collect();
    assert_eq!(all, names::<Status>());
}

#[tokio::test(start_paused = true)]
async fn every_code_is_reached_and_has_words_of_its_own_in_both_languages() {
    let mut words: BTreeMap<String, Code> = BTreeMap::new();
    for code in Code::ALL {
        let (played, end) = play(scene(code)).await;
        assert_eq!((end.code, end.status), (Some(code), status_of(code)));
        let english = seen(&played, &end, Lang::En);
        let chinese = seen(&played, &end, Lang::Zh);
        assert!(english.is_ascii() && english.chars().any(char::is_alphabetic), "{english}");
        assert!(has_chinese(&chinese), "{chinese}");
        for text in [english, chinese] {
            assert!(!text.contains(code.as_str()), "a code is no word: {text}");
            let other = words.insert(text.clone(), code);
            assert_eq!(other, None, "`{text}` stands for two codes");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_status_is_reached_and_has_its_word() {
    for status in Status::ALL {
        let scene = match example(status) {
            Some(code) => scene(code),
            None => Scene::of(stage(json!({}), json!([{ "text": "A" }]))),
        };
        let (played, end) = play(scene).await;
        assert_eq!((end.status, end.code), (status, example(status)));
        assert_eq!(end.by.is_some(), status == Status::Cancelled);
        assert_eq!(end.dimension.is_some(), status == Status::BudgetExhausted);
        assert!(has_chinese(&seen(&played, &end, Lang::Zh)));
        seen(&played, &end, Lang::En);
    }
}

/// Everything but a completed child says so: in its report, to the model and to the person.
#[tokio::test(start_paused = true)]
async fn no_end_but_completed_reads_as_done() {
    for code in Code::ALL {
        if code == Code::Denied {
            continue;
        }
        let scene = scene(code);
        let Look::Call(call) = scene.look else { panic!("{code} is looked at elsewhere") };
        let played = scene.stage.play_with("go", &scene.actions).await;
        let report = played.task_result(call);
        assert_ne!(report.status, Status::Completed, "{code}");
        assert!(!report.next.starts_with("Done"), "{code}: {}", report.next);
        let told = played.facts().any(|fact| {
            matches!(
                fact,
                offshoot::domain::event::Fact::ToolFinished { call: id, ok: false, .. }
                    if id.as_str() == call
            )
        });
        assert!(told, "{code}: its call went wrong");
    }
}

/// Two tasks at once, and what the first child's request is said to use.
fn two(first: Value, more: Value) -> Stage {
    let second = call("c2", "task", json!({ "task": "beta", "expected_output": "x" }));
    let mut task = json!({ "task": "alpha", "expected_output": "x" });
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let calls = json!([call("c1", "task", task), second]);
    let children = json!([
        { "match": "alpha", "turns": [first] },
        { "match": "beta", "turns": [{ "text": "B", "delay_ms": 60_000 }] },
    ]);
    Stage::new(&one_batch(&calls, "parent done", &children))
}

#[tokio::test(start_paused = true)]
async fn everyone_who_can_cancel_is_named() {
    let slow = || json!({ "text": "A", "delay_ms": 60_000 });
    let mut timed = two(slow(), json!({}));
    timed.timeout = Some(std::time::Duration::from_secs(1));
    let mut queued = two(slow(), json!({}));
    queued.timeout = Some(std::time::Duration::from_secs(1));
    queued.limits.totals.active = 1;
    let stop = || vec![(500, Command::Stop)];
    let table = [
        (two(slow(), json!({})), stop(), By::User, Code::Cancelled),
        (two(slow(), json!({})), vec![(500, Command::Quit)], By::Shutdown, Code::Cancelled),
        (timed, Vec::new(), By::Shutdown, Code::Timeout),
        (queued, Vec::new(), By::Shutdown, Code::Timeout),
    ];
    for (stage, actions, by, code) in table {
        let played = stage.play_with("go", &actions).await;
        let right = (Status::Cancelled, Some(by), Some(code));
        for task in ["c1", "c2"] {
            let report = played.task_result(task);
            assert_eq!((report.status, report.by, report.code), right, "{task}");
        }
        let parent = &played.parent_ends()[0];
        assert_eq!((parent.status, parent.by, parent.code), right);
    }
}

/// One request takes the parent below zero: whoever made it and every sibling end by its budget.
#[tokio::test(start_paused = true)]
async fn a_parent_below_zero_ends_its_children_by_budget() {
    let huge = json!({ "text": "A", "delay_ms": 100, "usage": { "input": 10, "output": 900_000 } });
    let played = two(huge, json!({})).play("go").await;
    let (first, second) = (played.task_result("c1"), played.task_result("c2"));
    assert_eq!((first.status, first.code), (Status::BudgetExhausted, Some(Code::UsageExceeded)));
    assert_eq!((second.status, second.by), (Status::Cancelled, Some(By::Budget)));
    assert_eq!(second.code, Some(Code::Cancelled));
    let parent = &played.parent_ends()[0];
    assert_eq!((parent.status, parent.code), (Status::BudgetExhausted, Some(Code::UsageExceeded)));
    assert_eq!((parent.dimension, parent.by), (Some(Exhausted::OutputTokens), None));
    assert_eq!(Exit::of(parent), Exit::BudgetExhausted);
    assert!(!parent.reply.as_deref().unwrap_or_default().contains("parent done"), "salvaged");
    let end = End { status: second.status, code: second.code, dimension: None, by: second.by };
    seen(&played, &end, Lang::En);
    seen(&played, &end, Lang::Zh);
}

/// Whoever it is, the pane says who.
#[test]
fn each_of_those_who_can_cancel_has_a_word() {
    let mut told = BTreeSet::new();
    for by in [By::User, By::Parent, By::Budget, By::Shutdown] {
        let (status, code) = (Status::Cancelled, Some(Code::Cancelled));
        let end = End { status, code, dimension: None, by: Some(by) };
        assert!(told.insert(words::ended(&end, Lang::En).0), "{by:?}");
        let chinese = words::ended(&end, Lang::Zh).0;
        assert!(has_chinese(&chinese) && told.insert(chinese), "{by:?}");
    }
}

/// How each thing that can run out runs out in a child.
fn runs_out(what: Exhausted) -> Stage {
    let step = json!({ "text": "step {n}", "usage": { "input": 4_000, "output": 40 },
        "tool_calls": [call("k{n}", "list_files", json!({ "path": "d{n}" }))] });
    let endless = |budget: Value| {
        let mut script = task(json!({ "budget": budget }), json!([step]));
        script["prices"] = json!({ "input": 1.0, "output": 10.0 });
        Stage::new(&script)
    };
    match what {
        Exhausted::Turns => endless(json!({ "turns": 2 })),
        Exhausted::InputTokens => endless(json!({ "input_tokens": 20_000 })),
        Exhausted::OutputTokens => {
            stage(json!({}), json!([{ "text": "cut off in the mid", "stop": "max_tokens" }]))
        }
        Exhausted::ToolCalls => endless(json!({ "tool_calls": 2 })),
        Exhausted::CostUsd => endless(json!({ "cost_usd": 0.05 })),
        Exhausted::Duration => scene(Code::Timeout).stage,
        Exhausted::TotalTurns => {
            let two = json!([task_call("c1", "alpha"), task_call("c2", "alpha too")]);
            // One is done with three turns before the other makes its second, and makes none but its
            // first before both have started, in whatever order they do.
            let (mut slow, mut first) = (step.clone(), step.clone());
            slow["delay_ms"] = json!(1_000);
            first["delay_ms"] = json!(500);
            let children = json!([
                { "match": "alpha too", "turns": [first, step, { "text": "A" }] },
                { "match": "alpha", "turns": [slow], "repeat_last": true },
            ]);
            let mut both = Stage::new(&one_batch(&two, "parent done", &children));
            both.limits.totals.turns = 5;
            both
        }
        Exhausted::Repeats => scene(Code::LoopDetected).stage,
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_can_run_out_is_named() {
    let mut told = BTreeSet::new();
    let all = [
        Exhausted::Turns,
        Exhausted::InputTokens,
        Exhausted::OutputTokens,
        Exhausted::ToolCalls,
        Exhausted::CostUsd,
        Exhausted::Duration,
        Exhausted::TotalTurns,
        Exhausted::Repeats,
    ];
    assert_eq!(all.len(), names::<Exhausted>().len());
    for what in all {
        let played = runs_out(what).play("go").await;
        let report = played.task_result("c1");
        assert_eq!(report.status, Status::BudgetExhausted, "{what:?}: {report:?}");
        assert_eq!(report.dimension, Some(what), "{report:?}");
        assert_eq!(played.reply(), "parent done");
        let end = End { dimension: Some(what), status: report.status, code: report.code, by: None };
        for lang in [Lang::En, Lang::Zh] {
            assert!(told.insert(seen(&played, &end, lang)), "{what:?} has no words of its own");
        }
    }
}

/// The other ways to an invalid result that the table names.
#[tokio::test(start_paused = true)]
async fn every_broken_answer_is_an_invalid_result() {
    let table = [
        ("planner", json!({ "summary": "no steps" }).to_string()),
        ("planner", json!({ "summary": "s", "steps": [null] }).to_string()),
        ("researcher", json!({ "summary": "s", "task_id": "t7" }).to_string()),
        ("researcher", "x".repeat(1024 * 1024 + 1)),
    ];
    for (role, answer) in table {
        let played = stage(json!({ "role": role }), json!([{ "text": answer }])).play("go").await;
        let report = played.task_result("c1");
        let right = (Status::InvalidResult, Some(Code::InvalidResult));
        assert_eq!((report.status, report.code), right, "{role}");
        assert!(report.next.contains("not rely"), "{}", report.next);
    }
}
