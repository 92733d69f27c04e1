//! The written form of every kind of event, pinned: the lines are read by other programs.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::*;
use crate::domain::approval::{Decider, Decision, Mode};
use crate::domain::budget::{Dimension, Remaining, Totals};
use crate::domain::context_store::SnippetCard;
use crate::domain::event::{
    Account, Amounts, Change, ChangedPath, ContractView, Destination, Event, Fact, Failure, Level,
    Line, MessageFact, Origin, Preflight, Receipt, RunFinished, Speaker,
};
use crate::domain::ids::{CallId, SessionId};
use crate::domain::ledger::Charge;
use crate::domain::message::{AssistantMessage, Block, StopReason, ToolCall};
use crate::domain::preflight::{Amendment, PreflightPolicy};
use crate::domain::report::{By, Ending, Exhausted, Report, Spent, Status};
use crate::domain::usage::{MicroUsd, Usage};
use crate::domain::violation::Violation;

/// The type's word. A new kind breaks the build here, and then needs a row below.
fn word(fact: &Fact) -> &'static str {
    match fact {
        Fact::SessionStarted { .. } => "session_started",
        Fact::SessionFinished { .. } => "session_finished",
        Fact::ContextAdded { .. } => "context_added",
        Fact::TaskQueued { .. } => "task_queued",
        Fact::RunStarted { .. } => "run_started",
        Fact::ContractRefused { .. } => "contract_refused",
        Fact::TurnStarted { .. } => "turn_started",
        Fact::TextDelta { .. } => "text_delta",
        Fact::ReasoningDelta { .. } => "reasoning_delta",
        Fact::ModelWriting => "model_writing",
        Fact::Message(_) => "message",
        Fact::ToolStarted { .. } => "tool_started",
        Fact::ToolProgress { .. } => "tool_progress",
        Fact::ToolFinished { .. } => "tool_finished",
        Fact::Usage { .. } => "usage",
        Fact::RetryScheduled { .. } => "retry_scheduled",
        Fact::Compacted { .. } => "compacted",
        Fact::ApprovalRequested { .. } => "approval_requested",
        Fact::ApprovalDecided { .. } => "approval_decided",
        Fact::FilesChanged { .. } => "files_changed",
        Fact::ModeChanged { .. } => "mode_changed",
        Fact::PreflightChanged { .. } => "preflight_changed",
        Fact::Notice { .. } => "notice",
        Fact::CancelRequested { .. } => "cancel_requested",
        Fact::Paused { .. } => "paused",
        Fact::Resumed { .. } => "resumed",
        Fact::WrapUpRequested { .. } => "wrap_up_requested",
        Fact::BudgetExtended { .. } => "budget_extended",
        Fact::Steered { .. } => "steered",
        Fact::RunFinished(_) => "run_finished",
        Fact::Unknown => "unknown",
    }
}

/// A contract as a person is shown it, with everything that may be left out of it.
fn shown() -> ContractView {
    let host = Host::new();
    let asked = TaskRequest {
        context_keys: strings(&["request"]),
        done_when: Some(text("found")),
        must_not: Some(text("guess")),
        ..request()
    };
    host.narrow(&asked)
        .unwrap()
        .view()
        .going_to(Destination { host: Some(text("api.example.org")) })
}

fn less() -> Amendment {
    let mut lowered = PerDimension::default();
    lowered[Dimension::Turns] = Some(7);
    lowered[Dimension::CostUsd] = Some(250_000);
    lowered[Dimension::Duration] = Some(1_500);
    Amendment::of(&shown(), &lowered, [text("request")]).unwrap()
}

const KINDS: usize = 30;

fn call() -> CallId {
    CallId::from("c1")
}

fn text(words: &str) -> String {
    words.to_owned()
}

fn session_rows() -> Vec<(Fact, Value)> {
    let card = SnippetCard {
        key: text("rules"),
        kind: SnippetKind::Rules,
        source: text("AGENTS.md"),
        bytes: 14,
        sha256: Sha::of("Keep it small."),
    };
    vec![
        (
            Fact::SessionStarted {
                session: SessionId(Uuid::nil()),
                version: text("0.1.0"),
                workspace: text("/w"),
                provider: text("offline"),
                model: text("keyword"),
                permission_mode: text("read-only"),
                fence: text("unfenced"),
                budget: Preset::Tight.parent(),
            },
            json!({
                "type": "session_started", "session": "00000000-0000-0000-0000-000000000000",
                "version": "0.1.0", "workspace": "/w", "provider": "offline",
                "model": "keyword", "permission_mode": "read-only", "fence": "unfenced",
                "budget": {"turns": 10, "input_tokens": 1_000_000, "output_tokens": 64_000,
                    "tool_calls": 120, "cost_usd": 0.5, "duration_ms": 600_000},
            }),
        ),
        (
            Fact::SessionFinished { reason: text("quit") },
            json!({"type": "session_finished", "reason": "quit"}),
        ),
        (
            Fact::ContextAdded {
                card: card.clone(),
                sensitivity: Sensitivity::LocalOnly,
                text: Some(text("Keep it small.")),
            },
            json!({
                "type": "context_added", "key": "rules", "kind": "rules", "source": "AGENTS.md",
                "bytes": 14, "sha256": card.sha256.as_str(), "sensitivity": "local_only",
                "text": "Keep it small.",
            }),
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn delegation_rows() -> Vec<(Fact, Value)> {
    let contract = Host::new()
        .narrow(&TaskRequest { context_keys: strings(&["rules"]), ..request() })
        .unwrap();
    let violation = Violation::new(Code::ToolEscalation, "allowed_tools", "no bash");
    vec![
        (
            Fact::TaskQueued {
                call: call(),
                description: text("look"),
                role: text("planner"),
                position: 2,
            },
            json!({
                "type": "task_queued", "call": "c1", "description": "look", "role": "planner",
                "position": 2,
            }),
        ),
        (
            Fact::RunStarted {
                call: Some(call()),
                role: text("researcher"),
                description: Some(text("look")),
                depth: 1,
                contract: contract.view(),
                totals: Some(Totals { turns: 9, delegations: 8, active: 4 }),
            },
            json!({
                "type": "run_started", "call": "c1", "role": "researcher",
                "description": "look", "depth": 1,
                "contract": {
                    "prompt": "Find the test framework.",
                    "expected_output": "Its name and where it is configured.",
                    "context": [{"key": "rules", "kind": "rules", "source": "AGENTS.md",
                        "bytes": 14, "sha256": Sha::of("Keep it small.").as_str()}],
                    "permissions": ["read"], "paths": ["."],
                    "tools": ["list_files", "read_file", "search"],
                    "budget": {"turns": 20, "input_tokens": 1_000_000, "output_tokens": 16_000,
                        "tool_calls": 60, "cost_usd": 0.5, "duration_ms": 300_000},
                    "share": {"turns": 0.5, "input_tokens": 0.125, "output_tokens": 0.08,
                        "tool_calls": 0.15, "cost_usd": 0.1, "duration_ms": 0.166_667},
                    "provider": "openai", "model": "large",
                },
                "totals": {"turns": 9, "delegations": 8, "active": 4},
            }),
        ),
        (
            Fact::ContractRefused {
                call: call(),
                code: violation.code,
                field: violation.field.clone(),
                message: violation.message.clone(),
                violations: vec![violation],
                refused_task: Some(TaskId(3)),
            },
            json!({
                "type": "contract_refused", "call": "c1", "code": "TOOL_ESCALATION",
                "field": "allowed_tools", "message": "no bash", "violations": [
                    {"code": "TOOL_ESCALATION", "field": "allowed_tools", "message": "no bash"}],
                "refused_task": "t3",
            }),
        ),
        (
            Fact::CancelRequested { target: text("t3"), by: By::User },
            json!({"type": "cancel_requested", "target": "t3", "by": "user"}),
        ),
        (
            Fact::Paused { target: text("t3.1"), by: By::User },
            json!({"type": "paused", "target": "t3.1", "by": "user"}),
        ),
        (
            Fact::Resumed { target: text("t3.1"), by: By::User },
            json!({"type": "resumed", "target": "t3.1", "by": "user"}),
        ),
        (
            Fact::WrapUpRequested { target: text("t3.1"), by: By::User },
            json!({"type": "wrap_up_requested", "target": "t3.1", "by": "user"}),
        ),
        (
            Fact::BudgetExtended {
                target: text("t3.1"),
                by: By::User,
                text: text("turns 6 to 9"),
                limits: Preset::Tight.child(),
            },
            json!({
                "type": "budget_extended", "target": "t3.1", "by": "user", "text": "turns 6 to 9",
                "limits": {
                    "turns": 6, "input_tokens": 200_000, "output_tokens": 8_000, "tool_calls": 20,
                    "cost_usd": 0.1, "duration_ms": 120_000},
            }),
        ),
        (
            Fact::Steered { target: text("t3.1"), by: By::User, text: text("look in tests") },
            json!({"type": "steered", "target": "t3.1", "by": "user", "text": "look in tests"}),
        ),
        (
            Fact::RetryScheduled {
                delay_ms: 2_000,
                http_status: Some(429),
                attempt: 2,
                reason: text("slow down"),
            },
            json!({
                "type": "retry_scheduled", "delay_ms": 2_000, "http_status": 429, "try": 2,
                "reason": "slow down",
            }),
        ),
        (
            Fact::ApprovalRequested {
                call: call(),
                name: text("bash"),
                summary: text("cargo test"),
                diff: None,
                command: Some(text("cargo test")),
                folder: Some(text(".")),
                fence: Some(text("fenced")),
                prefix: Some(text("cargo test")),
                preflight: None,
            },
            json!({"type": "approval_requested", "call": "c1", "name": "bash",
                "summary": "cargo test", "command": "cargo test", "folder": ".",
                "fence": "fenced", "prefix": "cargo test"}),
        ),
        (
            Fact::ApprovalDecided {
                call: call(),
                decision: Decision::Deny,
                by: Decider::User,
                reason: Some(text("not now")),
                amended: None,
            },
            json!({"type": "approval_decided", "call": "c1", "decision": "deny", "by": "user",
                "reason": "not now"}),
        ),
        (
            Fact::ApprovalRequested {
                call: call(),
                name: text("task"),
                summary: text("start #3 researcher: look"),
                diff: None,
                command: None,
                folder: None,
                fence: None,
                prefix: None,
                preflight: Some(Box::new(Preflight {
                    role: text("researcher"),
                    description: text("look"),
                    contract: shown(),
                })),
            },
            json!({"type": "approval_requested", "call": "c1", "name": "task",
                "summary": "start #3 researcher: look",
                "preflight": {"role": "researcher", "description": "look",
                    "contract": serde_json::to_value(shown()).unwrap()}}),
        ),
        (
            Fact::ApprovalDecided {
                call: call(),
                decision: Decision::Once,
                by: Decider::User,
                reason: None,
                amended: Some(less()),
            },
            json!({"type": "approval_decided", "call": "c1", "decision": "once", "by": "user",
                "amended": {"budget": {"turns": 7, "cost_usd": 0.25, "duration_ms": 1_500},
                    "dropped": ["request"]}}),
        ),
        (
            Fact::PreflightChanged { policy: PreflightPolicy::Always },
            json!({"type": "preflight_changed", "policy": "always"}),
        ),
        (
            Fact::FilesChanged {
                paths: vec![ChangedPath {
                    path: text("src/a.rs"),
                    change: Change::Deleted,
                    sha256: None,
                }],
            },
            json!({"type": "files_changed",
                "paths": [{"path": "src/a.rs", "change": "deleted", "sha256": null}]}),
        ),
        (
            Fact::ModeChanged { mode: Mode::AutoEdit },
            json!({"type": "mode_changed", "mode": "auto-edit"}),
        ),
        (
            Fact::Compacted { target: text("r2"), by: By::Budget, text: text("so far") },
            json!({"type": "compacted", "target": "r2", "by": "budget", "text": "so far"}),
        ),
        (
            Fact::notice(Level::Warning, "UNFINISHED", "t3 did not finish"),
            json!({
                "type": "notice", "level": "warning", "code": "UNFINISHED",
                "text": "t3 did not finish",
            }),
        ),
    ]
}

fn message() -> (Fact, Value) {
    let call = ToolCall { call: call(), name: text("search"), arguments: json!({"pattern": "x"}) };
    let message = AssistantMessage {
        blocks: vec![
            Block::Reasoning { text: text("hm"), signature: Some(text("sig")) },
            Block::Redacted { data: text("sealed") },
            Block::Text { text: text("Looking.") },
            Block::ToolCall(call),
        ],
        provider: text("openai"),
        model: text("large"),
        stop_reason: Some(StopReason::ToolUse),
        interrupted: false,
    };
    let written = json!({
        "type": "message", "role": "assistant",
        "blocks": [
            {"type": "reasoning", "text": "hm", "signature": "sig"},
            {"type": "redacted", "data": "sealed"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_call", "call": "c1", "name": "search", "arguments": {"pattern": "x"}},
        ],
        "text": "Looking.",
        "tool_calls": [{"call": "c1", "name": "search", "arguments": {"pattern": "x"}}],
        "provider": "openai", "model": "large", "stop_reason": "tool_use",
    });
    (Fact::Message(MessageFact::from(&message)), written)
}

fn turn_rows() -> Vec<(Fact, Value)> {
    let usage = Usage {
        input_tokens: 900,
        output_tokens: 20,
        cache_read_tokens: 5,
        cache_write_tokens: 4,
        reasoning_tokens: 3,
        cost_usd: Some(MicroUsd(2_100)),
        estimated: true,
    };
    let remaining = Remaining { turns: Some(9), output_tokens: Some(-1), ..Remaining::default() };
    let mut rows = vec![
        (
            Fact::TurnStarted {
                turn: 1,
                of: Some(20),
                wrap_up: false,
                prompt_tokens_estimate: 900,
                reserved: Charge {
                    input_tokens: 900,
                    output_tokens: 64,
                    cost: MicroUsd(3),
                    ..Charge::default()
                },
                held_back: Charge::default(),
            },
            json!({
                "type": "turn_started", "turn": 1, "of": 20, "wrap_up": false,
                "prompt_tokens_estimate": 900,
                "reserved": {"input_tokens": 900, "output_tokens": 64, "tool_calls": 0,
                    "cost_usd": 0.000_003},
                "held_back": {"input_tokens": 0, "output_tokens": 0, "tool_calls": 0,
                    "cost_usd": 0.0},
            }),
        ),
        (Fact::TextDelta { text: text("Lo") }, json!({"type": "text_delta", "text": "Lo"})),
        (Fact::ReasoningDelta { text: text("h") }, json!({"type": "reasoning_delta", "text": "h"})),
        (Fact::ModelWriting, json!({"type": "model_writing"})),
        (
            Fact::ToolStarted { call: call(), name: text("search"), arguments: json!("{bro") },
            json!({"type": "tool_started", "call": "c1", "name": "search", "arguments": "{bro"}),
        ),
        (
            Fact::ToolProgress { call: call(), text: text("...") },
            json!({"type": "tool_progress", "call": "c1", "text": "..."}),
        ),
        (
            Fact::ToolFinished {
                call: call(),
                name: text("search"),
                ok: false,
                output: text("not run: budget"),
                bytes: 15,
                truncated: false,
                duration_ms: 0,
                failure: Some(Failure::NotRun),
                raw: None,
            },
            json!({
                "type": "tool_finished", "call": "c1", "name": "search", "ok": false,
                "output": "not run: budget", "bytes": 15, "truncated": false, "duration_ms": 0,
                "failure": "not_run",
            }),
        ),
        (
            Fact::Usage { usage, remaining },
            json!({
                "type": "usage", "input_tokens": 900, "output_tokens": 20,
                "cache_read_tokens": 5, "cache_write_tokens": 4, "reasoning_tokens": 3,
                "cost_usd": 0.0021, "estimated": true,
                "remaining": {"turns": 9, "input_tokens": null, "output_tokens": -1,
                    "tool_calls": null, "cost_usd": null, "duration_ms": null},
            }),
        ),
    ];
    rows.push(message());
    rows
}

fn finished() -> (Fact, Value) {
    let ending = Ending::Cancelled(By::User);
    let report = Report {
        task_id: Some(TaskId(3)),
        attempt: Some(1),
        status: ending.status(),
        code: ending.code(),
        dimension: ending.dimension(),
        by: ending.by(),
        summary: text("half"),
        evidence: Vec::new(),
        fields: Map::new(),
        warnings: Vec::new(),
        violations: Vec::new(),
        changed_paths: Vec::new(),
        needs_review: false,
        turns: 2,
        usage: Spent::default(),
        next: text(ending.next()),
        trace: Some(RunId::child(TaskId(3), 1)),
    };
    let written = serde_json::to_value(&report).unwrap();
    let fact = Fact::RunFinished(Box::new(RunFinished {
        status: Status::Cancelled,
        code: ending.code(),
        dimension: None,
        by: Some(By::User),
        turns: 2,
        usage: Usage::none(),
        usage_total: Usage::none(),
        reply: Some(text("half")),
        report: Some(report),
        changed: vec![ChangedPath {
            path: text("a.txt"),
            change: Change::Added,
            sha256: Some(Sha::of("a")),
        }],
        contract_sha256: Sha::of("contract"),
        report_sha256: Some(Sha::of("report")),
        receipt: Some(Receipt { connections_closed: 1, ..Receipt::default() }),
        account: Some(Account {
            used: Amounts { turns: 2, ..Amounts::default() },
            limits: Preset::Normal.child(),
        }),
    }));
    let none = json!({
        "input_tokens": 0, "output_tokens": 0, "cache_read_tokens": 0, "cache_write_tokens": 0,
        "reasoning_tokens": 0, "cost_usd": 0.0, "estimated": false,
    });
    let value = json!({
        "type": "run_finished", "status": "cancelled", "code": "CANCELLED", "by": "user",
        "turns": 2, "usage": none, "usage_total": none, "reply": "half", "report": written,
        "changed": [{"path": "a.txt", "change": "added", "sha256": Sha::of("a").as_str()}],
        "contract_sha256": Sha::of("contract").as_str(),
        "report_sha256": Sha::of("report").as_str(),
        "receipt": {"processes_ended": 0, "connections_closed": 1, "files_touched": [],
            "tokens_after_cancel": 0, "not_ended": []},
        "account": {
            "used": {"turns": 2, "input_tokens": 0, "output_tokens": 0, "tool_calls": 0,
                "cost_usd": null, "duration_ms": 0},
            "limits": serde_json::to_value(Preset::Normal.child()).unwrap(),
        },
    });
    (fact, value)
}

fn rows() -> Vec<(Fact, Value)> {
    let mut rows = session_rows();
    rows.extend(delegation_rows());
    rows.extend(turn_rows());
    rows.push(finished());
    rows
}

fn line(fact: Fact) -> Line {
    let task = TaskId(3);
    let origin = Origin::child(RunId::child(task, 1), RunId::parent(1), task, 1);
    Line { v: 1, seq: 5, event: Event { id: 9, ts: Timestamp(1_767_225_600_123), origin, fact } }
}

#[test]
fn every_kind_of_event_is_written_and_read_as_pinned() {
    let mut words = BTreeSet::new();
    for (fact, expected) in rows() {
        assert_eq!(serde_json::to_value(&fact).unwrap(), expected);
        assert_eq!(expected["type"], word(&fact));
        words.insert(word(&fact));
        let whole = line(fact);
        let written = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Line>(&written).unwrap(), whole, "{written}");
        assert!(!written.contains('\n'));
    }
    assert_eq!(words.len(), KINDS, "each kind has a row: {words:?}");
}

#[test]
fn the_envelope_comes_first_and_is_flat() {
    let written = serde_json::to_string(&line(Fact::TextDelta { text: text("x") })).unwrap();
    assert_eq!(
        written,
        concat!(
            r#"{"v":1,"seq":5,"id":9,"ts":"2026-01-01T00:00:00.123Z","run":"t3.1","#,
            r#""parent_run":"r1","task":"t3","attempt":1,"type":"text_delta","text":"x"}"#
        )
    );
    let event = Event {
        id: 1,
        ts: Timestamp(0),
        origin: Origin::session(),
        fact: Fact::SessionFinished { reason: text("quit") },
    };
    assert_eq!(
        serde_json::to_string(&event).unwrap(),
        r#"{"id":1,"ts":"1970-01-01T00:00:00.000Z","type":"session_finished","reason":"quit"}"#
    );
}

#[test]
fn an_unknown_type_and_unknown_fields_are_read_without_error() {
    let future = r#"{"v":2,"seq":1,"id":1,"ts":"2026-01-01T00:00:00Z","run":"r1","type":"dreamt",
        "of":{"electric":["sheep"]}}"#;
    let line: Line = serde_json::from_str(future).unwrap();
    assert_eq!((line.event.fact, line.event.origin.run), (Fact::Unknown, Some(RunId::parent(1))));
    for (fact, mut written) in rows() {
        widen(&mut written);
        let read: Fact = serde_json::from_value(written.clone())
            .unwrap_or_else(|error| panic!("{}: {error}: {written}", word(&fact)));
        assert_eq!(word(&read), word(&fact));
    }
}

/// Adds a field that nobody knows to every object that has fixed fields.
fn widen(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let free = ["arguments", "report"];
            fields
                .iter_mut()
                .filter(|(name, _)| !free.contains(&name.as_str()))
                .for_each(|(_, inner)| widen(inner));
            fields.insert("from_the_future".to_owned(), json!([1, {"x": null}]));
        }
        Value::Array(items) => items.iter_mut().for_each(widen),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn only_deltas_signs_of_writing_and_progress_are_transient() {
    let transient: Vec<&str> =
        rows().iter().filter(|(fact, _)| fact.is_transient()).map(|(fact, _)| word(fact)).collect();
    assert_eq!(transient, ["text_delta", "reasoning_delta", "model_writing", "tool_progress"]);
}

#[test]
fn an_unfamiliar_stop_reason_keeps_the_providers_word() {
    for (reason, word) in [
        (StopReason::EndTurn, "end_turn"),
        (StopReason::MaxTokens, "max_tokens"),
        (StopReason::Refusal, "refusal"),
        (StopReason::Other(text("pause_turn")), "pause_turn"),
    ] {
        assert_eq!(serde_json::to_value(&reason).unwrap(), json!(word));
        assert_eq!(serde_json::from_value::<StopReason>(json!(word)).unwrap(), reason);
    }
}

#[test]
fn a_users_message_is_a_text_block_with_its_projection() {
    let fact = Fact::Message(MessageFact::user("hello"));
    let expected = json!({
        "type": "message", "role": "user", "blocks": [{"type": "text", "text": "hello"}],
        "text": "hello", "tool_calls": [],
    });
    assert_eq!(serde_json::to_value(&fact).unwrap(), expected);
    let Fact::Message(message) = fact else { panic!("no message") };
    assert_eq!(message.role, Speaker::User);
}

#[test]
fn exhaustion_is_written_as_the_dimensions_word() {
    assert_eq!(serde_json::to_value(Exhausted::TotalTurns).unwrap(), json!("total_turns"));
    assert_eq!(serde_json::to_value(Exhausted::CostUsd).unwrap(), json!("cost_usd"));
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_moment_survives_its_written_form_and_none_panics(millis in any::<u64>(), sane in 0..4_000_000_000_000_u64) {
        prop_assert!(serde_json::to_string(&Timestamp(millis)).is_ok());
        let written = serde_json::to_string(&Timestamp(sane)).unwrap();
        prop_assert_eq!(serde_json::from_str::<Timestamp>(&written).unwrap(), Timestamp(sane));
    }

    #[test]
    fn no_line_of_bytes_panics_the_reader(line in any::<String>()) {
        prop_assert!(serde_json::from_str::<Line>(&line).is_err());
    }
}
