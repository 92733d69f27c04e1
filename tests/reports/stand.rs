//! A child of a role that makes calls and answers, with the real tools on a few files.

use offshoot::domain::report::{Report, WarningCode};
use offshoot::domain::role::Permission;
use serde_json::{Value, json};

use crate::common::{Played, Stage, one_batch};

/// All that a parent of workers holds.
pub const HANDS: [Permission; 5] = [
    Permission::Read,
    Permission::Write,
    Permission::Test,
    Permission::Execute,
    Permission::Delegate,
];

/// A call of a script.
pub fn call(id: &str, name: &str, arguments: Value) -> Value {
    json!({ "id": id, "name": name, "arguments": arguments })
}

pub fn read(id: &str, path: &str) -> Value {
    call(id, "read_file", json!({ "path": path }))
}

pub fn write(id: &str, path: &str) -> Value {
    call(id, "write_file", json!({ "path": path, "content": "new\n" }))
}

/// A `task` call of this role; `more` adds to its arguments.
pub fn task(id: &str, words: &str, role: &str, more: Value) -> Value {
    let mut arguments = json!({ "task": words, "expected_output": "answer", "role": role });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call(id, "task", arguments)
}

/// A stage with the hands of a worker and two files of two lines.
pub fn stage(script: &Value) -> Stage {
    Stage::new(script)
        .permissions(&HANDS)
        .file("a.txt", "one\ntwo\n")
        .file("src/b.txt", "three\nfour\n")
}

/// A script in which a child of this role makes the calls in one turn and then says the texts, a
/// turn each.
pub fn script(role: &str, more: Value, calls: Value, texts: &[Value]) -> Value {
    let said = texts.iter().map(|text| {
        let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
        json!({ "text": text, "usage": { "input": 500, "output": 500 } })
    });
    let turns: Vec<Value> =
        std::iter::once(json!({ "text": "", "tool_calls": calls })).chain(said).collect();
    one_batch(
        &json!([task("t", "alpha", role, more)]),
        "parent done",
        &json!([{ "match": "alpha", "turns": turns, "repeat_last": true }]),
    )
}

/// Plays it.
pub async fn play(role: &str, more: Value, calls: Value, answer: Value) -> Played {
    stage(&script(role, more, calls, &[answer])).play("go").await
}

/// The report of it.
pub async fn report(role: &str, more: Value, calls: Value, answer: Value) -> Report {
    play(role, more, calls, answer).await.task_result("t")
}

/// The words of the warnings of this kind.
pub fn warnings(report: &Report, code: WarningCode) -> Vec<String> {
    let of_kind = report.warnings.iter().filter(|warning| warning.code == code);
    of_kind.map(|warning| warning.text.clone()).collect()
}
