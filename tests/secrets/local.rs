//! What may not leave this machine reaches a model on this machine, and no other.

use std::sync::Arc;

use offshoot::domain::context_store::Sensitivity;
use offshoot::domain::event::Fact;
use offshoot::domain::report::Status;
use offshoot::domain::violation::Code;
use offshoot::provider::script::Script;
use offshoot::provider::{ChunkStream, Identity, Provider, Request};
use offshoot::session::Pin;
use serde_json::{Value, json};

use super::common::{Played, Stage};
use super::leaks::{call, found};

const LOCAL: &str = "local-d00d-umber-ferret";

/// A scripted model that says it is somewhere else.
pub struct Elsewhere {
    pub script: Script,
    pub identity: Identity,
}

impl Provider for Elsewhere {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn stream(&self, request: Request) -> ChunkStream {
        self.script.stream(request)
    }
}

fn stage(script: &Value, local: bool) -> Stage {
    let script = Script::from_json(&script.to_string()).unwrap();
    let identity = Identity {
        local,
        host: (!local).then(|| "api.example.com".to_owned()),
        ..script.identity().clone()
    };
    let mut stage = Stage::with_provider(Arc::new(Elsewhere { script, identity }));
    let pin = Pin::normal("plan", LOCAL);
    stage.pins.push(Pin { sensitivity: Sensitivity::LocalOnly, ..pin });
    stage
}

fn one_task(task: &Value) -> Value {
    json!({
        "turns": [
            { "text": "", "tool_calls": [call("c1", "task", task.clone())] },
            { "text": "done" },
        ],
        "children": [{ "match": "alpha", "turns": [{ "text": "ok" }] }],
    })
}

fn in_requests(played: &Played) -> Vec<String> {
    found(&[LOCAL], played.requests.iter().map(|request| ("a request", format!("{request:?}"))))
}

#[tokio::test(start_paused = true)]
async fn a_local_snippet_reaches_a_model_on_this_machine_and_no_other() {
    let task = json!({ "task": "alpha", "expected_output": "x", "context_keys": ["plan"] });
    let played = stage(&one_task(&task), true).play("go").await;
    assert_eq!(played.task_result("c1").status, Status::Completed);
    assert_eq!(in_requests(&played).len(), 1, "its child and nobody else");

    let played = stage(&one_task(&task), false).play("go").await;
    assert_eq!(played.task_result("c1").code, Some(Code::ContextForbidden));
    assert!(played.child_requests().is_empty());
    assert_eq!(in_requests(&played), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn the_words_of_a_task_may_have_it_only_where_the_snippet_may_go() {
    for field in ["task", "expected_output", "done_when", "must_not", "description"] {
        let mut task = json!({ "task": "alpha", "expected_output": "x" });
        task[field] = json!(format!("alpha: {LOCAL}"));
        let near = stage(&one_task(&task), true).play("go").await;
        assert_eq!(near.task_result("c1").status, Status::Completed, "{field}");
        let far = stage(&one_task(&task), false).play("go").await;
        let report = far.task_result("c1");
        assert_eq!(report.code, Some(Code::ContextForbidden), "{field}");
        assert_eq!(report.violations[0].field, field);
        assert!(far.child_requests().is_empty());
        let result = found(&[LOCAL], [("the refusal", far.result("c1"))]);
        assert_eq!(result, Vec::<String>::new(), "{field}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_report_of_a_child_that_was_given_it_stays_here_as_well() {
    let task = json!({ "task": "alpha", "expected_output": "x", "context_keys": ["plan"] });
    let played = stage(&one_task(&task), true).play("go").await;
    let circle = played.facts().find_map(|fact| match fact {
        Fact::ContextAdded { card, sensitivity, .. } if card.key == "report:1" => {
            Some(*sensitivity)
        }
        _ => None,
    });
    assert_eq!(circle, Some(Sensitivity::LocalOnly));
}
