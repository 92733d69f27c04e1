//! `note` and `todo`, which are the parent's alone, and `/pin`.

use offshoot::domain::command::Command;
use offshoot::domain::event::Fact;
use offshoot::domain::report::Status;
use offshoot::domain::violation::Code;
use offshoot::session::Pin;
use serde_json::{Value, json};

use super::common::{Live, Played, Stage};
use super::leaks::{call, secret};

fn note(id: &str, key: &str, text: &str) -> Value {
    call(id, "note", json!({ "key": key, "text": text }))
}

fn with_keys(id: &str, keys: &[&str]) -> Value {
    call(id, "task", json!({ "task": "alpha", "expected_output": "x", "context_keys": keys }))
}

fn succeeded(played: &Played, id: &str) -> bool {
    played.facts().any(
        |fact| matches!(fact, Fact::ToolFinished { call, ok: true, .. } if call.as_str() == id),
    )
}

#[tokio::test(start_paused = true)]
async fn a_note_is_kept_replaced_and_given_to_the_child_that_is_to_have_it() {
    let script = json!({
        "turns": [
            { "text": "", "tool_calls": [note("c1", "plan", "old"), note("c2", "plan", "the new plan")] },
            { "text": "", "tool_calls": [with_keys("c3", &["plan"])] },
            { "text": "done" },
        ],
        "children": [{ "match": "alpha", "turns": [{ "text": "ok" }] }],
    });
    let played = Stage::new(&script).play("go").await;
    assert_eq!(played.task_result("c3").status, Status::Completed);
    let first = format!("{:?}", played.child_requests()[0].messages);
    assert!(first.contains("the new plan") && !first.contains("old"));
}

#[tokio::test(start_paused = true)]
async fn a_note_takes_no_key_that_is_not_the_models() {
    let script = json!({ "turns": [
        { "text": "", "tool_calls": [
            note("c1", "spec", "mine now"),
            note("c2", "token", "mine now"),
            note("c3", "request", "mine now"),
            note("c4", "report:1", "mine now"),
            note("c5", "", "mine now"),
            call("c6", "note", json!({ "key": "a" })),
        ]},
        { "text": "done" },
    ]});
    let mut stage = Stage::new(&script);
    stage.pins.push(Pin::normal("spec", "the user's"));
    stage.pins.push(secret("token", "a-secret-of-the-user"));
    let played = stage.play("go").await;
    for id in ["c1", "c2", "c3", "c4", "c5", "c6"] {
        assert!(!succeeded(&played, id), "{id}: {}", played.result(id));
    }
    let added = played.facts().filter(|fact| matches!(fact, Fact::ContextAdded { .. })).count();
    assert_eq!(added, 3, "two pins and the request");
}

/// Both locks: no role gives them to a child, and a call is refused.
#[tokio::test(start_paused = true)]
async fn the_parents_own_tools_are_no_childs() {
    for tool in ["note", "todo"] {
        let task = json!({ "task": "alpha", "expected_output": "x", "allowed_tools": [tool] });
        let script = json!({
            "turns": [{ "text": "", "tool_calls": [call("c1", "task", task)] }, { "text": "done" }],
        });
        let mut stage = Stage::new(&script);
        let mut role =
            offshoot::domain::role::RoleTable::built_in(offshoot::domain::budget::Preset::Normal)
                .get("researcher")
                .unwrap()
                .clone();
        role.tools.push(tool.to_owned());
        stage.roles.push(role);
        let report = stage.play("go").await.task_result("c1");
        assert_eq!(report.code, Some(Code::ToolEscalation), "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_of_what_is_to_be_done_comes_back_as_text() {
    let items = json!([
        { "text": "look", "state": "done" },
        { "text": "mend", "state": "in_progress" },
        { "text": "tell", "state": "pending" },
    ]);
    let wrong = json!([{ "text": "look", "state": "someday" }]);
    let script = json!({ "turns": [
        { "text": "", "tool_calls": [
            call("c1", "todo", json!({ "items": items })),
            call("c2", "todo", json!({ "items": wrong })),
        ]},
        { "text": "done" },
    ]});
    let played = Stage::new(&script).play("go").await;
    assert_eq!(played.result("c1"), "1 of 3 done\n[x] look\n[>] mend\n[ ] tell");
    assert!(played.result("c2").contains("items[0].state"));
}

async fn pin(live: &mut Live, name: &str, text: &str, local_only: bool) {
    live.send(Command::Pin { name: name.to_owned(), text: text.to_owned(), local_only }).await;
}

#[tokio::test(start_paused = true)]
async fn what_the_user_pins_in_between_can_be_given_and_a_file_only_from_the_workspace() {
    let script = json!({
        "turns": [
            { "text": "", "tool_calls": [with_keys("c1", &["typed", "file", "near"])] },
            { "text": "done" },
        ],
        "children": [{ "match": "alpha", "turns": [{ "text": "ok" }] }],
    });
    let mut stage = Stage::new(&script).file("docs/plan.md", "from the file");
    stage.pins.push(secret("token", "a-secret-of-the-user"));
    let mut live = stage.start();
    pin(&mut live, "typed", "from the keyboard", false).await;
    pin(&mut live, "file", "@docs/plan.md", false).await;
    pin(&mut live, "near", "for this machine", true).await;
    for (name, text) in [
        ("out", "@/etc/hostname"),
        ("out", "@../up"),
        ("out", "@docs"),
        ("out", "@missing"),
        ("request", "x"),
        ("a b", "x"),
        ("token", "something else"),
        ("near", "for everyone"),
        ("blank", "  "),
    ] {
        pin(&mut live, name, text, false).await;
    }
    live.ask("go", &[]).await;
    let played = live.quit().await;
    let refused = played
        .facts()
        .filter(|fact| matches!(fact, Fact::Notice { code, .. } if code == "NOT_PINNED"));
    assert_eq!(refused.count(), 9);
    let first = format!("{:?}", played.child_requests()[0].messages);
    for text in ["from the keyboard", "from the file", "for this machine"] {
        assert!(first.contains(text), "{text}");
    }
}
