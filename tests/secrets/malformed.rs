//! A `task` call of the wrong shape is answered in words that name the field and the type. What stands
//! where it should not be may be a secret, and is not repeated.

use offshoot::domain::report::Status;
use offshoot::domain::violation::Code;
use serde_json::{Value, json};

use super::common::Stage;
use super::leaks::{call, found, secret};

const SECRET: &str = "hunter2-3e0f-teal-stoat";

fn shapes() -> Vec<Value> {
    let with = |more: Value| {
        let mut task = json!({ "task": "look", "expected_output": "a line" });
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        task
    };
    vec![
        with(json!({ "budget": { "turns": SECRET } })),
        with(json!({ "budget": SECRET })),
        with(json!({ "context_keys": SECRET })),
        with(json!({ SECRET: true })),
        with(json!({ "budget": { SECRET: 1 } })),
        json!(SECRET),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_value_of_the_wrong_shape_is_not_repeated_if_it_is_a_secret() {
    for task in shapes() {
        let mut stage = Stage::new(&json!({"turns": [
            { "tool_calls": [call("t", "task", task.clone())] },
            { "text": "done" },
        ]}));
        stage.pins = vec![secret("password", SECRET)];
        let played = stage.play("go").await;
        let report = played.task_result("t");
        assert_eq!((report.status, report.code), (Status::Blocked, Some(Code::InvalidTask)));
        // As the model reads it; what is written is redacted once more.
        let said = format!("{:?}", played.requests[1].messages.last().unwrap());
        assert!(said.contains("blocked"), "it is the answer");
        assert_eq!(found(&[SECRET], [("the answer", said)]), [] as [String; 0]);
    }
}
