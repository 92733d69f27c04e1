//! What a newcomer is told: why nothing happened, what a key would allow, what was not shown, how a
//! command ended.

use offshoot::domain::approval::{Answer, Decision};
use offshoot::domain::command::Command;
use offshoot::domain::event::{Fact, Failure, Level, Origin};
use offshoot::domain::ids::{CallId, RunId, TaskId};
use offshoot::ui::Lang;
use serde_json::json;

use super::feed::{Asked, Feed, call, child};
use super::questions::{asks_to_test, asks_to_write, read, read_on, test_call, worker};
use super::view::{Watch, screen, sent};

#[test]
fn a_command_that_was_refused_waits_no_more_and_can_be_sent_again() {
    let mut watch = Watch::new(Feed::new(), (100, 30));
    watch.type_text("!sleep 9");
    watch.press(&["Enter"]);
    watch.type_text("!ls");
    watch.press(&["Enter"]);
    assert_eq!(watch.screen.pending, ["! sleep 9", "! ls"]);
    let busy = Fact::notice(Level::Warning, "SHELL_BUSY", "a command is running already");
    watch.feed.add(Origin::session(), busy);
    let text = watch.text();
    assert_eq!(watch.screen.pending, ["! sleep 9"], "the first one is about to start");
    assert!(text.contains("running already") && !text.contains("❯ ! ls"), "{text}");
    assert_eq!(watch.screen.composer.text(), "!ls");
    let own = call("own1", "!", json!({"command": "sleep 9"}));
    watch.feed.starts(Origin::session(), &own);
    watch.text();
    assert!(watch.screen.pending.is_empty());
}

#[test]
fn a_lone_mark_says_what_it_is_for_and_sends_nothing() {
    let mut watch = Watch::new(Feed::new(), (100, 30));
    watch.type_text("! ");
    assert_eq!(watch.press(&["Enter"]), []);
    assert!(watch.footer().contains("a command of your own: !cargo test"), "{}", watch.footer());
    assert_eq!(watch.screen.composer.text(), "! ");
    watch.screen.lang = Lang::Zh;
    assert_eq!(watch.press(&["Enter"]), []);
    assert!(watch.footer().contains("运行你自己的命令"), "{}", watch.footer());
}

#[test]
fn a_diff_of_no_child_is_refused_at_once() {
    let mut watch = Watch::new(Feed::new(), (100, 30));
    watch.type_text("/diff #7");
    assert_eq!(watch.press(&["Enter"]), []);
    assert!(watch.footer().contains("there is no child #7"), "{}", watch.footer());
}

fn once() -> Command {
    let (run, call) = (RunId::child(TaskId(3), 1), CallId::from("d1"));
    Command::Decide { run, call, answer: Answer::Once }
}

/// A child that wants to write a hundred lines.
fn a_long_write() -> Feed {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let added = "+one more line\n".repeat(100);
    let diff = format!("--- a/x\n+++ b/x\n@@ -0,0 +1,100 @@\n{added}");
    let call = call("d1", "write_file", json!({"path": "x"}));
    let what = Asked { summary: "write x", diff: Some(&diff), prefix: Some("x") };
    feed.says(child(3), "", vec![call.clone()]).asks(child(3), &call, &what);
    feed
}

#[test]
fn what_was_never_shown_is_not_allowed_by_one_key() {
    for (key, size) in [("y", (120, 40)), ("c", (80, 24)), ("s", (50, 15)), ("y", (20, 5))] {
        let mut watch = read(a_long_write(), size);
        assert_eq!(watch.press(&[key]), [], "{size:?}");
        let said = if size.0 < 60 { "again: " } else { "lines; again allows" };
        assert!(watch.footer().contains(said), "{size:?} {}", watch.footer());
        assert_eq!(watch.press(&[key, key]), [], "a key that is held down");
        watch.text();
        watch.feed.wait(400);
        assert_eq!(sent(&watch.press(&[key])).len(), 1, "{size:?}");
    }
}

#[test]
fn what_was_read_to_its_end_is_allowed_by_one_key_and_what_was_jumped_over_is_not() {
    let mut watch = read(a_long_write(), (80, 24));
    assert!(watch.text().contains("↓ 9"), "{}", watch.text());
    assert_eq!(watch.press(&["y"]), []);
    watch.text();
    watch.feed.wait(400);
    for _ in 0..20 {
        watch.press(&["PgDn"]);
        watch.text();
    }
    assert_eq!(sent(&watch.press(&["y"])), [&once()]);
    let mut watch = read(a_long_write(), (80, 24));
    watch.press(&["G"]);
    watch.text();
    assert_eq!(watch.press(&["y"]), [], "the middle was never there");
}

#[test]
fn on_the_smallest_screens_a_command_that_is_cut_is_not_allowed_by_one_key() {
    let asks = || {
        let mut feed = Feed::new();
        worker(&mut feed, 3);
        asks_to_test(&mut feed, 3, "d1");
        feed
    };
    let mut watch = read(asks(), (20, 5));
    assert!(watch.text().lines().nth(1).unwrap().contains('↓'), "{}", watch.text());
    assert_eq!(watch.press(&["y"]), []);
    let mut watch = read(asks(), (40, 1));
    assert_eq!(watch.press(&["y"]), []);
    assert!(watch.text().contains("unseen, y again?"), "{}", watch.text());
    watch.feed.wait(400);
    assert_eq!(sent(&watch.press(&["y"])), [&once()]);
}

#[test]
fn where_rows_are_free_a_small_box_says_what_the_wider_answers_cover() {
    for height in 10..16 {
        let mut feed = Feed::new();
        worker(&mut feed, 3);
        asks_to_test(&mut feed, 3, "d1");
        let text = read(feed, (50, height)).text();
        assert!(text.contains("`cargo test …` for #3 worker"), "{height}\n{text}");
    }
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    asks_to_write(&mut feed, 3, "d1");
    let text = read(feed, (50, 15)).text();
    assert!(text.contains("c child · s session"), "no row is free\n{text}");
}

#[test]
fn a_call_that_only_looks_is_named_once() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let call = call("d1", "read_file", json!({"path": ".env"}));
    let what = Asked { summary: "look into .env", ..Asked::default() };
    feed.says(child(3), "", vec![call.clone()]).asks(child(3), &call, &what);
    for size in [(120, 40), (50, 15), (20, 5)] {
        let text = read(feed_of(&feed), size).text();
        assert_eq!(text.matches("look into").count(), 1, "{text}");
    }
}

fn feed_of(feed: &Feed) -> Feed {
    let mut again = Feed::new();
    for event in &feed.log[1..] {
        again.add(event.origin.clone(), event.fact.clone());
    }
    again
}

#[test]
fn where_only_this_call_can_be_allowed_it_says_why_and_offers_no_more() {
    let table = [
        ("cargo test && rm x", "several commands in one"),
        ("cargo test > out", "writes a file"),
        ("rm x", "first words do not say"),
    ];
    for (command, why) in table {
        let mut feed = Feed::new();
        worker(&mut feed, 3);
        let call = call("d1", "bash", json!({ "command": command }));
        let what = Asked { summary: command, ..Asked::default() };
        feed.says(child(3), "", vec![call.clone()]).asks(child(3), &call, &what);
        let mut watch = read(feed, (120, 40));
        let text = watch.text();
        assert!(text.contains(why), "{command}\n{text}");
        let footer = watch.footer();
        assert!(footer.contains("y yes") && !footer.contains("this run"), "{footer}");
    }
}

#[test]
fn tests_that_fail_are_no_broken_call_and_the_page_says_what_ran() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let tests = call("d1", "run_tests", json!({}));
    let output =
        "test a ... FAILED\n(exit code 101)\n(command: cargo test)\n(tests: 0 passed, 1 failed)";
    feed.says(child(3), "", vec![tests.clone()]).starts(child(3), &tests);
    feed.ends_with(child(3), &tests, output, 1_200, Some(Failure::Error));
    let mut watch = Watch::new(feed, (140, 40));
    assert!(watch.text().contains("failed (exit 101) 1.2s"), "{}", watch.text());
    watch.press(&["Alt+2", "Down", "Enter"]);
    let page = watch.text();
    let rows: Vec<String> =
        page.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for words in ["command cargo test", "exit code 101"] {
        assert!(rows.iter().any(|row| row.contains(words)), "{words}\n{page}");
    }
    watch.press(&["Esc"]);
    let bash = test_call("d2");
    watch.feed.says(child(3), "", vec![bash.clone()]).starts(child(3), &bash);
    watch.feed.ends_with(child(3), &bash, "no\n(exit code 2)", 10, Some(Failure::Error));
    assert!(watch.text().contains("exit 2 10ms"), "{}", watch.text());
    let broken = test_call("d3");
    watch.feed.says(child(3), "", vec![broken.clone()]).starts(child(3), &broken);
    watch.feed.ends_with(child(3), &broken, "not run: no folder", 10, Some(Failure::Error));
    assert!(watch.text().contains("error 10ms"), "{}", watch.text());
}

#[test]
fn the_page_of_permissions_lists_the_rules_and_what_was_granted() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    for (id, decision) in
        [("d1", Decision::Session), ("d2", Decision::Child), ("d3", Decision::Once)]
    {
        asks_to_test(&mut feed, 3, id);
        feed.decides(child(3), &test_call(id), decision);
    }
    let mut pictures = Vec::new();
    for lang in [Lang::En, Lang::Zh] {
        let mut watch = Watch::new(feed_of(&feed), (100, 40));
        watch.screen = screen(lang, (100, 40));
        watch.type_text("/permissions");
        watch.press(&["Enter"]);
        read_on(&mut watch);
        pictures.push(watch.text());
    }
    insta::assert_snapshot!(pictures.join("\n\n"));
}
