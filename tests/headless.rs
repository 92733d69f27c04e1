//! The front end without a screen, fed with events: what lands on which stream, and the exit code.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use offshoot::domain::budget::Preset;
use offshoot::domain::command::Command;
use offshoot::domain::event::{
    ContractView, Event, Fact, Failure, Level, Line, MessageFact, Origin, RunFinished, Timestamp,
};
use offshoot::domain::exit::Exit;
use offshoot::domain::hash::Sha;
use offshoot::domain::ids::{CallId, RunId, SessionId, TaskId};
use offshoot::domain::report::{By, Exhausted, Report, Spent, Status, Warning, WarningCode};
use offshoot::domain::usage::{MicroUsd, Usage};
use offshoot::domain::violation::Code;
use offshoot::headless::{Format, Headless, Outcome, failure, run};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

/// A stream that can be read back, or fails in a given way.
#[derive(Clone, Default)]
struct Sheet {
    bytes: Arc<Mutex<Vec<u8>>>,
    fails: Option<io::ErrorKind>,
}

impl Sheet {
    fn text(&self) -> String {
        String::from_utf8(self.bytes.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(kind) = self.fails {
            return Err(kind.into());
        }
        self.bytes.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How a test asks.
#[derive(Clone, Copy)]
struct Ask {
    format: Format,
    quiet: bool,
    no_children: bool,
    terminal: bool,
    out_fails: Option<io::ErrorKind>,
}

impl Ask {
    fn new(format: Format) -> Self {
        Self { format, quiet: false, no_children: false, terminal: false, out_fails: None }
    }
}

struct Seen {
    outcome: Outcome,
    out: String,
    err: String,
    commands: Vec<Command>,
}

/// Feeds the events, with the ids that a hub would give them, and reads everything back.
async fn show(ask: Ask, facts: Vec<(Origin, Fact)>) -> Seen {
    let (events, inbox) = mpsc::channel(4);
    let (commands, mut asked) = mpsc::channel(16);
    let (out, err) = (Sheet { fails: ask.out_fails, ..Sheet::default() }, Sheet::default());
    let input = Headless {
        events: inbox,
        commands,
        format: ask.format,
        quiet: ask.quiet,
        no_children: ask.no_children,
        prompt: "which tests?".to_owned(),
        trace_dir: Some(PathBuf::from("/state/traces")),
        out_is_terminal: ask.terminal,
        out: out.clone(),
        err: err.clone(),
    };
    let running = tokio::spawn(run(input));
    for (id, (origin, fact)) in (1..).zip(facts) {
        let event = Event { id, ts: Timestamp(1_700_000_000_000 + id), origin, fact };
        if events.send(Arc::new(event)).await.is_err() {
            break;
        }
    }
    drop(events);
    let outcome = running.await.unwrap();
    let mut commands = Vec::new();
    while let Some(command) = asked.recv().await {
        commands.push(command);
    }
    Seen { outcome, out: out.text(), err: err.text(), commands }
}

fn parent() -> Origin {
    Origin::parent(RunId::parent(1))
}

fn child() -> Origin {
    Origin::child(RunId::child(TaskId(1), 1), RunId::parent(1), TaskId(1), 1)
}

fn session_started() -> (Origin, Fact) {
    let fact = Fact::SessionStarted {
        session: SessionId(Uuid::from_u128(7)),
        version: "0.1.0".to_owned(),
        workspace: "/w".to_owned(),
        provider: "script".to_owned(),
        model: "m".to_owned(),
        permission_mode: "read-only".to_owned(),
        fence: "unfenced".to_owned(),
        budget: Preset::Normal.parent(),
    };
    (Origin::session(), fact)
}

fn session_finished() -> (Origin, Fact) {
    (Origin::session(), Fact::SessionFinished { reason: "done".to_owned() })
}

fn run_started(role: &str, depth: u32) -> Fact {
    Fact::RunStarted {
        call: (depth > 0).then(|| CallId::from("c1")),
        role: role.to_owned(),
        description: Some("find the tests".to_owned()),
        depth,
        contract: ContractView {
            prompt: "which tests?".to_owned(),
            expected_output: "an answer".to_owned(),
            done_when: None,
            must_not: None,
            rules: false,
            context: Vec::new(),
            permissions: BTreeSet::new(),
            paths: Vec::new(),
            tools: Vec::new(),
            budget: Preset::Normal.child(),
            share: None,
            provider: "script".to_owned(),
            model: "m".to_owned(),
            goes_to: None,
        },
        totals: None,
    }
}

fn end(status: Status, reply: Option<&str>) -> RunFinished {
    let total = Usage {
        input_tokens: 500,
        output_tokens: 50,
        cost_usd: Some(MicroUsd(20)),
        ..Usage::none()
    };
    RunFinished {
        status,
        code: None,
        dimension: None,
        by: None,
        turns: 2,
        usage: Usage::none(),
        usage_total: total,
        reply: reply.map(str::to_owned),
        report: None,
        changed: Vec::new(),
        contract_sha256: Sha::of("contract"),
        report_sha256: None,
        receipt: None,
        account: None,
    }
}

fn report() -> Report {
    Report {
        task_id: Some(TaskId(1)),
        attempt: Some(1),
        status: Status::Completed,
        code: None,
        dimension: None,
        by: None,
        summary: "pytest".to_owned(),
        evidence: Vec::new(),
        fields: serde_json::Map::new(),
        warnings: Vec::new(),
        violations: Vec::new(),
        changed_paths: Vec::new(),
        needs_review: false,
        turns: 2,
        usage: Spent::default(),
        next: "Done.".to_owned(),
        trace: Some(RunId::child(TaskId(1), 1)),
    }
}

fn started(call: &str, name: &str, arguments: Value) -> Fact {
    Fact::ToolStarted { call: CallId::from(call), name: name.to_owned(), arguments }
}

fn finished(call: &str, name: &str, output: &str, failure: Option<Failure>) -> Fact {
    Fact::ToolFinished {
        call: CallId::from(call),
        name: name.to_owned(),
        ok: failure.is_none(),
        raw: None,
        output: output.to_owned(),
        bytes: output.len() as u64,
        truncated: false,
        duration_ms: 1,
        failure,
    }
}

/// One delegation and an answer; `last` is the end of the parent run.
fn story(last: RunFinished) -> Vec<(Origin, Fact)> {
    let mut child_end = end(Status::Completed, None);
    child_end.report = Some(report());
    let task =
        json!({ "task": "find the tests", "expected_output": "names", "role": "researcher" });
    vec![
        session_started(),
        (parent(), run_started("parent", 0)),
        (parent(), Fact::Message(MessageFact::user("which tests?"))),
        (parent(), Fact::TextDelta { text: "I'll ask.".to_owned() }),
        (parent(), started("c1", "task", task)),
        (child(), run_started("researcher", 1)),
        (child(), started("c2", "read_file", json!({ "path": "a b.toml", "limit": 5 }))),
        (child(), finished("c2", "read_file", "text", None)),
        (child(), started("c3", "search", json!({ "pattern": "py\u{1b}[31mtest\u{9b}2J\nx" }))),
        (child(), finished("c3", "search", "no such folder\nmore", Some(Failure::Error))),
        (child(), Fact::RunFinished(Box::new(child_end))),
        (parent(), finished("c1", "task", "{}", None)),
        (parent(), Fact::notice(Level::Warning, "UNFINISHED", "look\u{7} twice")),
        (parent(), Fact::RunFinished(Box::new(last))),
        session_finished(),
    ]
}

fn answer(reply: &str) -> Vec<(Origin, Fact)> {
    story(end(Status::Completed, Some(reply)))
}

#[tokio::test(start_paused = true)]
async fn text_puts_the_answer_on_one_stream_and_the_calls_on_the_other() {
    let seen = show(Ask::new(Format::Text), answer("It is pytest.")).await;
    assert_eq!(seen.out, "It is pytest.\n");
    let expected = "\
tool: task researcher \"find the tests\"
  [子] read_file path=\"a b.toml\" limit=5
  [子] search pattern=\"py␛[31mtest\u{fffd}2J↵x\"
  [子] search failed: no such folder
  #1 completed after 2 turns
offshoot: look␇ twice
";
    assert_eq!(seen.err, expected);
    assert_eq!(seen.outcome.exit, Exit::Completed);
    let submit = Command::Submit { text: "which tests?".to_owned() };
    assert_eq!(seen.commands, [submit, Command::Quit]);
}

#[tokio::test(start_paused = true)]
async fn quiet_keeps_standard_error_for_failures() {
    let quiet = Ask { quiet: true, ..Ask::new(Format::Text) };
    assert_eq!(show(quiet, answer("yes")).await.err, "");
    let mut last = end(Status::Failed, None);
    last.code = Some(Code::ProviderError);
    let mut facts = story(last);
    facts.insert(5, (parent(), Fact::notice(Level::Error, "PROVIDER_ERROR", "no connection")));
    let seen = show(quiet, facts).await;
    assert_eq!(
        seen.err,
        "offshoot: no connection\noffshoot: the run is not complete: failed (PROVIDER_ERROR)\n"
    );
    assert_eq!((seen.out.as_str(), seen.outcome.exit.code()), ("", 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_raw_in_a_pipe_and_clean_on_a_terminal() {
    let reply = "a\u{1b}]0;title\u{7}b\tc\n";
    let piped = show(Ask::new(Format::Text), answer(reply)).await;
    assert_eq!(piped.out, reply);
    let terminal = Ask { terminal: true, ..Ask::new(Format::Text) };
    assert_eq!(show(terminal, answer(reply)).await.out, "a␛]0;title␇b    c\n");
    for format in [Format::Json, Format::StreamJson] {
        let reply = "a\u{9b}31m\u{202e}b";
        let seen = show(Ask { terminal: true, ..Ask::new(format) }, answer(reply)).await;
        assert!(!seen.out.contains(['\u{9b}', '\u{202e}', '\u{1b}']), "{}", seen.out);
        assert!(seen.out.contains("a\\u009b31m\\u202eb"), "{}", seen.out);
        assert!(seen.out.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    }
}

#[tokio::test(start_paused = true)]
async fn the_exit_code_is_that_of_the_parents_end() {
    let ended = |status, code, by| RunFinished { code, by, ..end(status, Some("so far")) };
    let cases = [
        (ended(Status::Completed, None, None), 0),
        (ended(Status::Failed, Some(Code::ProviderError), None), 1),
        (ended(Status::InvalidResult, Some(Code::InvalidResult), None), 1),
        (ended(Status::BudgetExhausted, Some(Code::BudgetExhausted), None), 3),
        (ended(Status::BudgetExhausted, Some(Code::Timeout), None), 3),
        (ended(Status::Blocked, Some(Code::Denied), None), 4),
        (ended(Status::Cancelled, Some(Code::Timeout), Some(By::Shutdown)), 124),
        (ended(Status::Cancelled, Some(Code::Cancelled), Some(By::User)), 130),
    ];
    for (last, code) in cases {
        let status = last.status;
        for format in [Format::Text, Format::Json, Format::StreamJson] {
            let seen = show(Ask::new(format), story(last.clone())).await;
            assert_eq!(seen.outcome.exit.code(), code, "{status:?} {format:?}");
            assert!(seen.out.contains("so far"), "{status:?} {format:?}: {}", seen.out);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_run_says_what_ran_out() {
    let mut last = end(Status::BudgetExhausted, Some("half"));
    (last.code, last.dimension) = (Some(Code::BudgetExhausted), Some(Exhausted::InputTokens));
    let seen = show(Ask::new(Format::Text), story(last)).await;
    assert!(seen.err.ends_with("the run is not complete: budget_exhausted (input_tokens)\n"));
}

#[tokio::test(start_paused = true)]
async fn json_is_one_object_with_everything() {
    let seen = show(Ask::new(Format::Json), answer("It is pytest.")).await;
    assert_eq!(seen.err, "");
    assert_eq!(seen.out.lines().count(), 1);
    let object: Value = serde_json::from_str(&seen.out).unwrap();
    let fields: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "session",
        "status",
        "code",
        "reply",
        "usage",
        "context_kept_out",
        "delegation",
        "children",
        "warnings",
        "trace_dir",
    ];
    assert_eq!(fields, expected);
    assert_eq!(object["session"], "00000000-0000-0000-0000-000000000007");
    assert_eq!((&object["status"], &object["code"]), (&json!("completed"), &Value::Null));
    assert_eq!(object["reply"], "It is pytest.");
    assert_eq!(object["usage"]["input_tokens"], 500);
    assert_eq!(object["usage"]["cost_usd"], 0.000_02);
    assert_eq!(object["children"], json!([serde_json::to_value(report()).unwrap()]));
    assert_eq!(object["warnings"], json!([{ "code": "UNFINISHED", "text": "look\u{7} twice" }]));
    assert_eq!(object["trace_dir"], "/state/traces");
}

#[tokio::test(start_paused = true)]
async fn json_is_one_object_when_everything_breaks_off() {
    for facts in [vec![], vec![session_started()], vec![session_started(), session_finished()]] {
        let seen = show(Ask::new(Format::Json), facts).await;
        let object: Value = serde_json::from_str(&seen.out).unwrap();
        assert_eq!((&object["status"], &object["code"]), (&json!("failed"), &json!("INTERNAL")));
        assert_eq!(seen.outcome.exit.code(), 1);
    }
    let page = failure(Format::Json, Exit::Usage, "no key", Timestamp(7));
    assert_eq!(page.lines().count(), 1);
    let object: Value = serde_json::from_str(&page).unwrap();
    assert_eq!(object["status"], "failed");
    assert_eq!(object["warnings"], json!([{ "code": "USAGE", "text": "no key" }]));
}

fn lines(out: &str) -> Vec<Line> {
    let lines: Vec<Line> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seqs: Vec<u64> = lines.iter().map(|line| line.seq).collect();
    assert_eq!(seqs, (1..=lines.len() as u64).collect::<Vec<_>>());
    assert!(lines.windows(2).all(|pair| pair[0].event.id < pair[1].event.id));
    lines
}

#[tokio::test(start_paused = true)]
async fn stream_json_is_every_event() {
    let facts = answer("It is pytest.");
    let seen = show(Ask::new(Format::StreamJson), facts.clone()).await;
    assert_eq!(seen.err, "");
    let told: Vec<(Origin, Fact)> =
        lines(&seen.out).into_iter().map(|line| (line.event.origin, line.event.fact)).collect();
    assert_eq!(told, facts);
}

#[tokio::test(start_paused = true)]
async fn stream_json_without_children_has_no_gap_in_seq() {
    let ask = Ask { no_children: true, ..Ask::new(Format::StreamJson) };
    let lines = lines(&show(ask, answer("It is pytest.")).await.out);
    assert_eq!(lines.len(), 9);
    assert!(lines.iter().all(|line| line.event.origin.parent_run.is_none()));
}

#[tokio::test(start_paused = true)]
async fn stream_json_always_ends_with_the_run_and_the_session() {
    let whole = answer("It is pytest.");
    for length in 0..=whole.len() {
        for session_end in [false, true] {
            let mut facts = whole[..length].to_vec();
            if session_end && length < whole.len() {
                facts.push(session_finished());
            }
            let seen = show(Ask::new(Format::StreamJson), facts).await;
            let lines = lines(&seen.out);
            let [.., run_end, last] = lines.as_slice() else { panic!("{}", seen.out) };
            assert!(matches!(last.event.fact, Fact::SessionFinished { .. }), "{length}");
            let Fact::RunFinished(finished) = &run_end.event.fact else { panic!("{length}") };
            assert_eq!(run_end.event.origin, parent());
            let complete = length >= whole.len() - 1;
            assert_eq!(finished.status == Status::Completed, complete, "{length}");
            assert_eq!(seen.outcome.exit.code() == 0, complete, "{length}");
        }
    }
}

#[test]
fn a_session_that_never_began_is_two_lines_of_a_stream_and_nothing_for_people() {
    let page = failure(Format::StreamJson, Exit::Usage, "no key", Timestamp(7));
    let lines = lines(&page);
    let facts: Vec<&Fact> = lines.iter().map(|line| &line.event.fact).collect();
    let [notice, Fact::SessionFinished { .. }] = facts.as_slice() else { panic!("{page}") };
    assert_eq!(**notice, Fact::notice(Level::Error, "USAGE", "no key"));
    assert!(lines.iter().all(|line| line.event.origin == Origin::session()));
    assert_eq!(failure(Format::Text, Exit::Usage, "no key", Timestamp(7)), "");
}

#[tokio::test(start_paused = true)]
async fn a_closed_pipe_ends_the_run_quietly() {
    let ask = Ask { out_fails: Some(io::ErrorKind::BrokenPipe), ..Ask::new(Format::StreamJson) };
    let seen = show(ask, answer("It is pytest.")).await;
    assert_eq!(seen.err, "");
    assert!(seen.commands.contains(&Command::Stop), "{:?}", seen.commands);
    assert_eq!(seen.commands.last(), Some(&Command::Quit));
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_behind_standard_output_is_a_failure() {
    let ask = Ask { out_fails: Some(io::ErrorKind::StorageFull), ..Ask::new(Format::Text) };
    let seen = show(ask, answer("It is pytest.")).await;
    assert_eq!(seen.outcome.exit.code(), 1);
    assert!(seen.err.contains("cannot write to standard output"), "{}", seen.err);
}

#[tokio::test(start_paused = true)]
async fn a_refused_delegation_is_told() {
    let mut facts = answer("It is pytest.");
    facts.truncate(4);
    facts.push((parent(), finished("c1", "task", "DEPTH_EXCEEDED: no", Some(Failure::Refused))));
    facts.push((parent(), Fact::RunFinished(Box::new(end(Status::Completed, Some("alone"))))));
    facts.push(session_finished());
    let seen = show(Ask::new(Format::Text), facts).await;
    assert_eq!(seen.err, "tool: task refused: DEPTH_EXCEEDED: no\n");
    assert_eq!(seen.out, "alone\n");
}

fn nth_child(task: u32) -> Origin {
    Origin::child(RunId::child(TaskId(task), 1), RunId::parent(1), TaskId(task), 1)
}

fn queued(position: u32) -> Fact {
    Fact::TaskQueued {
        call: CallId::from("c9"),
        description: "map the CI".to_owned(),
        role: "researcher".to_owned(),
        position,
    }
}

#[tokio::test(start_paused = true)]
async fn children_are_told_apart_while_several_run() {
    let list = |call: &str| started(call, "list_files", json!({}));
    let ended = || Fact::RunFinished(Box::new(end(Status::Completed, None)));
    let facts = vec![
        (nth_child(1), run_started("researcher", 1)),
        (nth_child(1), list("a")),
        (nth_child(2), run_started("researcher", 1)),
        (nth_child(2), list("b")),
        (nth_child(1), finished("a", "list_files", "no such folder", Some(Failure::Error))),
        (nth_child(1), Fact::notice(Level::Error, "RUN_FAILED", "script answered 500")),
        (nth_child(1), ended()),
        (nth_child(2), list("c")),
        (parent(), queued(0)),
        (parent(), queued(2)),
        (parent(), Fact::RunFinished(Box::new(end(Status::Completed, Some("done"))))),
        session_finished(),
    ];
    let expected = "  [子] list_files
  [子] #2 list_files
  [子] #1 list_files failed: no such folder
offshoot: #1: script answered 500
  #1 completed after 2 turns
  [子] list_files
tool: task \"map the CI\" waits for a free place
tool: task \"map the CI\" waits behind 2
";
    assert_eq!(show(Ask::new(Format::Text), facts).await.err, expected);
}

#[tokio::test(start_paused = true)]
async fn an_unfinished_task_is_told_in_words() {
    let mut report = report();
    (report.status, report.code) = (Status::BudgetExhausted, Some(Code::BudgetExhausted));
    report.dimension = Some(Exhausted::Turns);
    report.summary = "\nread 2 files\u{1b}\nand more".to_owned();
    let mut refused = Report { task_id: None, ..report.clone() };
    (refused.status, refused.code) = (Status::Blocked, Some(Code::InvalidTask));
    (refused.dimension, refused.summary) = (None, "it is blank".to_owned());
    let cut = &report.to_json()[..90];
    for (output, expected) in [
        (report.to_json(), "#1 budget_exhausted (turns): read 2 files␛"),
        (format!("note\n{}", report.to_json()), "#1 budget_exhausted (turns): read 2 files␛"),
        (refused.to_json(), "blocked (INVALID_TASK): it is blank"),
        (cut.to_owned(), cut),
        ("not run: cancelled".to_owned(), "not run: cancelled"),
    ] {
        let facts = vec![(parent(), finished("c1", "task", &output, Some(Failure::Error)))];
        let seen = show(Ask::new(Format::Text), facts).await;
        let first = seen.err.lines().next().unwrap();
        assert_eq!(first, format!("tool: task failed: {expected}"));
    }
}

#[tokio::test(start_paused = true)]
async fn no_line_is_endless_whatever_a_model_calls_its_tools() {
    let name = "x".repeat(1_000_000);
    let facts = vec![
        (parent(), started("c1", &name, json!({ &name: &name }))),
        (parent(), finished("c1", &name, &name, Some(Failure::Refused))),
        (parent(), Fact::notice(Level::Warning, "X", &name)),
    ];
    let seen = show(Ask::new(Format::Text), facts).await;
    assert_eq!(seen.err.lines().count(), 4, "{} bytes", seen.err.len());
    assert!(seen.err.lines().all(|line| line.chars().count() < 1_100), "{}", seen.err.len());
}

#[tokio::test(start_paused = true)]
async fn a_completed_child_is_not_silent_about_what_speaks_against_it() {
    let told = |count: usize| {
        let mut report = report();
        report.warnings = vec![Warning::new(WarningCode::FieldDropped, "a matter of form")];
        let doubt = |n| Warning::new(WarningCode::EvidenceMissing, format!("no file {n}\u{1b}"));
        report.warnings.extend((1..=count).map(doubt));
        let ended = RunFinished { report: Some(report), ..end(Status::Completed, None) };
        vec![(nth_child(1), Fact::RunFinished(Box::new(ended)))]
    };
    for (count, lines) in [(0, 1), (5, 6), (7, 7)] {
        let err = show(Ask::new(Format::Text), told(count)).await.err;
        let shown: Vec<&str> = err.lines().filter(|line| !line.starts_with("offshoot")).collect();
        assert_eq!(shown.len(), lines, "{err}");
        assert!(!err.contains("form") && err.contains("completed after 2 turns"), "{err}");
        assert_eq!(count > 0, err.contains("\n    warning: no file 1␛\n"), "{err}");
        assert_eq!(count > 5, err.contains("\n    warning: 2 more\n"), "{err}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_that_failed_is_told_by_its_exit_code_and_its_last_words() {
    let output = "   Compiling x\nerror: 1 test failed\n\n(exit code 101)\n(command: cargo test)";
    for (name, output, expected) in [
        ("run_tests", output, "run_tests failed (exit 101): error: 1 test failed"),
        ("bash", "(no output)\n(exit code 1)", "bash failed (exit 1): (no output)"),
        ("bash", "not run: no folder", "bash failed: not run: no folder"),
    ] {
        let facts = vec![(parent(), finished("c1", name, output, Some(Failure::Error)))];
        let seen = show(Ask::new(Format::Text), facts).await;
        assert_eq!(seen.err.lines().next().unwrap(), format!("tool: {expected}"));
    }
}

#[tokio::test]
async fn whatever_steers_a_run_is_told_in_a_line_each() {
    let (child_run, parent_run) = ("t1.1".to_owned(), "r1".to_owned());
    let by = By::User;
    let limits = Preset::Normal.child();
    let facts = vec![
        session_started(),
        (parent(), run_started("parent", 0)),
        (child(), run_started("researcher", 1)),
        (child(), Fact::Paused { target: child_run.clone(), by }),
        (child(), Fact::Resumed { target: child_run.clone(), by }),
        (child(), Fact::WrapUpRequested { target: child_run.clone(), by }),
        (
            child(),
            Fact::BudgetExtended {
                target: child_run.clone(),
                by,
                text: "turns 20 to 30\u{1b}[2J".to_owned(),
                limits,
            },
        ),
        (child(), Fact::Steered { target: child_run, by, text: "look in\u{7} tests".to_owned() }),
        (parent(), Fact::Paused { target: parent_run.clone(), by }),
        (parent(), Fact::WrapUpRequested { target: parent_run, by }),
        (child(), Fact::RunFinished(Box::new(end(Status::Completed, None)))),
        (parent(), Fact::RunFinished(Box::new(end(Status::Completed, Some("yes"))))),
        session_finished(),
    ];
    let seen = show(Ask::new(Format::Text), facts.clone()).await;
    let told: Vec<&str> = seen.err.lines().filter(|line| line.starts_with("offshoot: ")).collect();
    assert_eq!(told.len(), 7, "{}", seen.err);
    assert_eq!(
        told[..3],
        ["offshoot: #1 is paused", "offshoot: #1 is going on", "offshoot: #1 is asked to wrap up",]
    );
    assert!(told[3].starts_with("offshoot: #1 is given more: turns 20 to 30"), "{}", told[3]);
    assert!(told[4].starts_with("offshoot: #1 is told: look in"), "{}", told[4]);
    assert!(!seen.err.contains('\u{1b}') && !seen.err.contains('\u{7}'));
    assert_eq!(
        told[5..],
        ["offshoot: the answer is paused", "offshoot: the answer is asked to wrap up",]
    );
    assert_eq!(seen.out, "yes\n");
    let quiet = show(Ask { quiet: true, ..Ask::new(Format::Text) }, facts).await;
    assert_eq!(quiet.err, "");
}
