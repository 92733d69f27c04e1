//! What a question says, in full and harmless, and that something says it at every size.

use offshoot::ui::Lang;
use serde_json::json;

use super::feed::{Asked, Feed, call, child, parent};
use super::questions::{SIZES, read, test_call, two_ask, worker, write_call};
use super::view::{Watch, frame, sent};

#[test]
fn a_yes_to_tests_says_that_it_holds_for_the_session() {
    let tests = |id: &str| call(id, "run_tests", json!({"command": "cargo test"}));
    let what = || Asked { summary: "cargo test", prefix: Some("cargo test"), ..Asked::default() };
    let by_child = || {
        let mut feed = Feed::new();
        worker(&mut feed, 3);
        feed.says(child(3), "", vec![tests("d1")]).asks(child(3), &tests("d1"), &what());
        feed
    };
    let text = read(by_child(), (120, 40)).text();
    let words = "y  this command, as shown, this session (all worker children)";
    assert!(text.contains(words) && !text.contains("this once"), "{text}");
    let text = read(by_child(), (50, 15)).text();
    assert!(text.contains("y  this command, as shown, this session"), "{text}");
    let text = read(by_child(), (50, 12)).text();
    assert!(text.contains("y this command · c child"), "{text}");
    let mut zh = read(by_child(), (120, 40));
    zh.screen.lang = Lang::Zh;
    let text = zh.text();
    assert!(text.contains("y  本会话内允许此命令，按所示（全部 worker 子代理）"), "{text}");
    let mut feed = Feed::new();
    feed.user(1, "go").run(1).turn(parent(1), 1).says(parent(1), "", vec![tests("p1")]);
    feed.asks(parent(1), &tests("p1"), &Asked { prefix: None, ..what() });
    let text = read(feed, (120, 40)).text();
    for words in
        ["y  this command, as shown, this session (the parent)", "only this command can be"]
    {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

#[test]
fn what_the_keys_of_a_question_are_called_fits_a_parent_too() {
    let mut feed = Feed::new();
    let call = test_call("p1");
    feed.user(1, "go").run(1).turn(parent(1), 1).says(parent(1), "", vec![call.clone()]);
    let what = Asked { summary: "cargo test", prefix: Some("cargo test"), ..Asked::default() };
    feed.asks(parent(1), &call, &what);
    let mut watch = read(feed, (120, 40));
    assert!(watch.footer().contains("y yes · n no · c this run"), "{}", watch.footer());
    watch.screen.size = (50, 12);
    let text = watch.text();
    assert!(text.contains("y once · c answer · s session"), "{text}");
}

#[test]
fn a_long_diff_can_be_read_to_its_end_at_the_cost_of_what_is_shown() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let lines = 200_000;
    let added = "+one more line of it\n".repeat(lines);
    let diff = format!("--- a/x\n+++ b/x\n@@ -0,0 +1,{lines} @@\n{added}");
    let call = write_call("d1");
    let what = Asked { summary: "write x", diff: Some(&diff), prefix: None };
    feed.says(child(3), "", vec![call.clone()]).asks(child(3), &call, &what);
    let mut watch = read(feed, (120, 40));
    assert!(watch.text().contains("more"));
    let laid_out = |watch: &Watch| watch.screen.questions.open.as_ref().unwrap().body.laid_out();
    assert!(laid_out(&watch) < 50, "{}", laid_out(&watch));
    for key in ["j", "PgDn", "Down", "G"] {
        watch.press(&[key]);
    }
    assert!(!watch.text().contains("more ─") && laid_out(&watch) < 150, "{}", watch.text());
    watch.press(&["PgUp"]);
    assert!(watch.text().contains("more"));
    watch.press(&["g"]);
    assert!(watch.text().contains("@@ -0,0"));
}

#[test]
fn what_a_command_hides_is_shown() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let command = "echo ok\u{200b}\u{1b}[2K\r; \u{202e}rm -rf ~";
    let call = call("d1", "bash", json!({ "command": command }));
    let what = Asked { summary: command, ..Asked::default() };
    feed.says(child(3), "", vec![call.clone()]).asks(child(3), &call, &what);
    for size in SIZES {
        let mut watch = read(feed_again(&feed), size);
        let (buffer, _) = frame(&mut watch.screen, &watch.feed.story, watch.feed.now());
        let all: String = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        assert!(!all.chars().any(|c| c.is_control() || c == '\u{202e}' || c == '\u{200b}'));
    }
    let text = read(feed, (120, 40)).text();
    assert!(text.contains("echo ok<U+200B>␛[2K␍; <U+202E>rm -rf ~"), "{text}");
}

/// The same session once more.
fn feed_again(feed: &Feed) -> Feed {
    let mut again = Feed::new();
    for event in &feed.log[1..] {
        again.add(event.origin.clone(), event.fact.clone());
    }
    again
}

#[test]
fn at_every_size_something_says_that_a_person_is_asked() {
    for width in (1..30).chain([39, 40, 59, 60, 61, 80, 99]) {
        for height in [1, 2, 4, 5, 6, 9, 10, 15, 16] {
            let mut watch = read(two_ask(), (width, height));
            let text = watch.text();
            assert!(
                text.contains('?') || text.contains("asks") || text.trim() == "y/n",
                "{width}x{height}\n{text}"
            );
            assert_eq!(sent(&watch.press(&["r", "x", "Enter"])).len(), 1, "{width}x{height}");
            watch.text();
        }
    }
}
