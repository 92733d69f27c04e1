//! Children that ask, and a screen that has shown their questions for long enough.

use offshoot::domain::message::ToolCall;
use serde_json::json;

use super::feed::{Asked, Feed, call, child, parent, task_call};
use super::view::Watch;

pub const SIZES: [(u16, u16); 4] = [(120, 40), (80, 24), (50, 15), (20, 5)];

pub const DIFF: &str = "--- a/src/sum.rs\n+++ b/src/sum.rs\n@@ -1,4 +1,5 @@\n \
pub fn sum(numbers: &[u64]) -> u64 {\n-    numbers.iter().fold(0, |a, b| a + b)\n\
+    // Adding may overflow.\n+    numbers.iter().copied().fold(0, u64::saturating_add)\n }\n ";

pub fn test_call(id: &str) -> ToolCall {
    call(id, "bash", json!({"command": "cargo test --workspace -- --nocapture"}))
}

pub fn write_call(id: &str) -> ToolCall {
    call(id, "write_file", json!({"path": "src/sum.rs", "content": "…"}))
}

/// A worker at work, whose number this is.
pub fn worker(feed: &mut Feed, task: u32) -> &mut Feed {
    let asked = task_call(&format!("c{task}"), "worker", "fix the sum");
    if task == 3 {
        feed.user(1, "fix it").run(1).turn(parent(1), 1);
    }
    feed.says(parent(1), "", vec![asked.clone()]).starts(parent(1), &asked);
    let id = format!("c{task}");
    feed.child_of(child(task), 1, &id, "worker", "fix the sum").turn(child(task), 1)
}

pub fn asks_to_test(feed: &mut Feed, task: u32, id: &str) {
    let call = test_call(id);
    let what = Asked { summary: "cargo test", prefix: Some("cargo test"), ..Asked::default() };
    feed.says(child(task), "", vec![call.clone()]).asks(child(task), &call, &what);
}

pub fn asks_to_write(feed: &mut Feed, task: u32, id: &str) {
    let call = write_call(id);
    let summary = "write src/sum.rs (5 lines, 1 more)";
    let what = Asked { summary, diff: Some(DIFF), prefix: Some("src/sum.rs") };
    feed.says(child(task), "", vec![call.clone()]).asks(child(task), &call, &what);
}

/// Two workers that ask at once.
pub fn two_ask() -> Feed {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    worker(&mut feed, 4);
    asks_to_test(&mut feed, 3, "d1");
    feed.wait(2_000);
    asks_to_write(&mut feed, 4, "e1");
    feed.wait(10_000);
    feed
}

/// A screen that has shown the newest question for long enough.
pub fn read(feed: Feed, size: (u16, u16)) -> Watch {
    let mut watch = Watch::new(feed, size);
    read_on(&mut watch);
    watch
}

pub fn read_on(watch: &mut Watch) {
    watch.text();
    watch.feed.wait(400);
}
