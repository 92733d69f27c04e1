//! Something always comes back.

use std::sync::Arc;

use offshoot::domain::command::Command;
use offshoot::domain::event::Fact;
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::Status;
use offshoot::domain::role::Permission;
use offshoot::domain::violation::Code;
use offshoot::provider::script::Script;
use offshoot::provider::{ChunkStream, Identity, Provider, Request, ToolChoice};
use offshoot::tool::{Tool, ToolContext, ToolFuture, ToolSpec};
use serde_json::{Value, json};

use crate::common::{Stage, one_batch};
use crate::stand::{call, read, stage, task};

/// The snippet that a report becomes says how it is to be taken.
#[tokio::test(start_paused = true)]
async fn a_report_that_can_be_handed_on_is_marked_unconfirmed_unless_its_task_completed() {
    let answer = json!({ "summary": "so it is" }).to_string();
    let turns = json!([
        { "text": "", "tool_calls": [read("k1", "a.txt")] },
        { "text": answer, "usage": { "input": 500, "output": 500 } },
    ]);
    for (turns_of_child, status) in [(5, Status::Completed), (2, Status::BudgetExhausted)] {
        let budget = json!({ "budget": { "turns": turns_of_child } });
        let next = json!({
            "task": "beta", "expected_output": "x", "context_keys": ["report:1"],
        });
        let script = json!({
            "turns": [
                { "text": "", "tool_calls": [task("t", "alpha", "researcher", budget)] },
                { "text": "", "tool_calls": [call("u", "task", next)] },
                { "text": "done" },
            ],
            "children": [
                { "match": "alpha", "turns": turns },
                { "match": "beta", "turns": [{ "text": "{\"summary\":\"ok\"}" }] },
            ],
        });
        let played = stage(&script).play("go").await;
        assert_eq!(played.task_result("t").status, status);
        let files = played.files();
        let lines = files.iter().filter(|(name, _)| name.ends_with("session.jsonl"));
        let lines = lines.flat_map(|(_, text)| text.lines()).map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line
        });
        let kept = lines.filter(|line| line["type"] == "context_added").find_map(|line| {
            (line["key"] == "report:1").then(|| line["text"].as_str().unwrap().to_owned())
        });
        let mark = format!("(unconfirmed, {})\n", status.as_str());
        let kept = kept.unwrap();
        assert_eq!(kept.starts_with(&mark), status != Status::Completed, "{kept}");
        assert_eq!(kept.trim_start_matches(mark.as_str()), played.result("t"));
        let last = played.child_requests().last().unwrap().messages[0].clone();
        let text = serde_json::to_string(&*last).unwrap();
        assert_eq!(text.contains("(unconfirmed, "), status != Status::Completed, "{text}");
    }
}

/// A tool that never ends, whatever is asked of it.
struct Stuck(ToolSpec);

impl Stuck {
    fn new() -> Self {
        Self(ToolSpec {
            name: "search",
            description: "a stand-in",
            parameters: json!({ "type": "object", "properties": { "pattern": {} } }),
            permission: Permission::Read,
            read_only: true,
        })
    }
}

impl Tool for Stuck {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _arguments: Value, _context: ToolContext) -> ToolFuture {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_end_is_left_behind_and_named_and_the_report_comes_back() {
    let turns = json!([
        { "text": "looking", "tool_calls": [call("k1", "search", json!({ "pattern": "x" }))] },
    ]);
    let script = one_batch(
        &json!([task("t", "alpha", "researcher", json!({}))]),
        "parent done",
        &json!([{ "match": "alpha", "turns": turns }]),
    );
    let cancel = (1_000, Command::CancelTask { task: TaskId(1) });
    let played = stage(&script).tool(Stuck::new()).play_with("go", &[cancel]).await;
    let report = played.task_result("t");
    assert_eq!(report.status, Status::Cancelled, "{report:#?}");
    assert!(
        report.summary.contains("looking") && report.summary.contains("search x"),
        "{report:#?}"
    );
    let receipts: Vec<_> = played
        .facts()
        .filter_map(|fact| match fact {
            Fact::RunFinished(finished) => finished.receipt.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(receipts.len(), 1, "the child alone was cancelled");
    assert_eq!(receipts[0].not_ended, ["search x"]);
    assert_eq!(played.reply(), "parent done", "the parent went on");
}

/// A model whose summary of a conversation breaks this program.
struct Breaks(Script);

impl Provider for Breaks {
    fn identity(&self) -> &Identity {
        self.0.identity()
    }

    fn stream(&self, request: Request) -> ChunkStream {
        assert!(request.tool_choice != ToolChoice::None, "on purpose");
        self.0.stream(request)
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_lost_ends_for_everybody_and_the_conversation_goes_on() {
    let script = json!({ "turns": [{ "text": "so it is" }], "repeat_last": true });
    let script = Script::from_json(&script.to_string()).unwrap();
    let mut live = Stage::with_provider(Arc::new(Breaks(script))).start();
    for number in 0..6 {
        let words = format!("question {number}: {}", "why? ".repeat(2_000));
        assert_eq!(live.ask(&words, &[]).await.status, Status::Completed);
    }
    live.send(Command::Compact).await;
    let lost = live.follow(&[]).await;
    assert_eq!((lost.status, lost.code), (Status::Failed, Some(Code::Internal)));
    assert_eq!((lost.turns, lost.reply), (0, None), "nothing is made up");
    let next = live.ask("and now?", &[]).await;
    assert_eq!((next.status, next.reply.as_deref()), (Status::Completed, Some("so it is")));
    let played = live.quit().await;
    let told = crate::below::notices(&played, "RUN_LOST");
    assert!(told.len() == 1 && told[0].contains("panicked"), "{told:?}");
    let kept = played.parent_requests().last().unwrap().messages.len();
    assert!(kept > 12, "the conversation is what it was before: {kept} messages");
}
