//! What commands write while they run, a person's own among them, and what they left changed.

use offshoot::domain::approval::Decision;
use offshoot::domain::command::Command;
use offshoot::domain::event::{Change, Fact, Origin};
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::Status;
use serde_json::json;

use super::feed::{Feed, call, child, parent, task_call};
use super::questions::{DIFF, read, test_call, two_ask, worker, write_call};
use super::view::{Watch, sent};

#[test]
fn a_diff_that_was_asked_for_opens_as_a_page() {
    let mut feed = two_ask();
    feed.decides(child(3), &test_call("d1"), Decision::Deny);
    feed.decides(child(4), &write_call("e1"), Decision::Deny);
    let mut watch = Watch::new(feed, (100, 30));
    let notice = || Fact::notice(offshoot::domain::event::Level::Info, "DIFF", DIFF);
    watch.feed.add(Origin::session(), notice());
    assert!(!watch.text().contains("saturating_add"), "nobody asked for it");
    watch.type_text("/diff #4");
    let asked = Command::Diff { task: Some(TaskId(4)) };
    assert_eq!(sent(&watch.press(&["Enter"])), [&asked]);
    watch.feed.add(Origin::session(), notice());
    let text = watch.text();
    assert!(text.contains("What changed") && text.contains("+    // Adding may"), "{text}");
    assert!(watch.feed.story.notices().next().is_none());
}

#[test]
fn the_users_own_command_runs_in_the_conversation() {
    let mut watch = Watch::new(Feed::new(), (100, 30));
    watch.type_text("!cargo test");
    let shell = Command::Shell { command: "cargo test".to_owned() };
    assert_eq!(sent(&watch.press(&["Enter"])), [&shell]);
    assert!(watch.text().contains("❯ ! cargo test"), "{}", watch.text());
    let own = call("own1", "!", json!({"command": "cargo test"}));
    watch.feed.starts(Origin::session(), &own);
    watch.feed.writes(Origin::session(), &own, "running 3 tests\n   10%\r   50%\rtest a ... ok\n");
    let text = watch.text();
    assert!(text.contains(" ! cargo test") && !text.contains("❯ ! cargo"), "{text}");
    assert!(text.contains("│ test a ... ok") && !text.contains("50%"), "{text}");
    assert!(watch.screen.pending.is_empty() && watch.feed.story.runs_own_command());
    watch.feed.wait(2_000).ends(Origin::session(), &own, "running 3 tests\nall passed\n", 2_000);
    let text = watch.text();
    assert!(text.contains("│ all passed") && text.contains("2.0s"), "{text}");
    assert!(!watch.feed.story.runs_own_command());
    watch.press(&["Alt+1", "Enter"]);
    assert!(watch.text().contains("running 3 tests"));
}

#[test]
fn a_command_of_the_users_own_is_stopped_like_an_answer() {
    let own = call("own1", "!", json!({"command": "sleep 600"}));
    for (keys, typed) in [(["Esc", "Esc"], ""), (["^C", "^C"], ""), (["Enter", ""], "/stop")] {
        let mut feed = Feed::new();
        feed.starts(Origin::session(), &own);
        let mut watch = Watch::new(feed, (100, 30));
        watch.type_text(typed);
        let first = watch.press(&keys[..1]);
        if !typed.is_empty() {
            assert_eq!(sent(&first), [&Command::Stop]);
            continue;
        }
        assert_eq!(first, []);
        assert!(watch.footer().contains("stop your command? Esc again: yes"), "{}", watch.footer());
        watch.feed.wait(2_500);
        assert_eq!(sent(&watch.press(&keys[1..])), [&Command::Stop], "{keys:?}");
    }
    let mut feed = two_ask();
    feed.starts(Origin::session(), &own);
    let mut watch = read(feed, (120, 40));
    watch.press(&["^C"]);
    let words = "stop the answer, 2 children and your command?";
    assert!(watch.footer().contains(words), "{}", watch.footer());
    // The question goes with what it is about.
    let mut feed = Feed::new();
    feed.starts(Origin::session(), &own);
    let mut watch = Watch::new(feed, (100, 30));
    watch.press(&["Esc"]);
    watch.feed.ends(Origin::session(), &own, "", 1);
    watch.see();
    assert!(watch.screen.question.is_none());
}

#[test]
fn the_end_of_what_a_running_command_writes_stands_under_its_call() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let call = test_call("d1");
    feed.says(child(3), "", vec![call.clone()]).starts(child(3), &call);
    for line in 0..5_000 {
        feed.writes(child(3), &call, &format!("test case_{line} ... ok\n"));
    }
    feed.wait(48_000);
    let mut watch = Watch::new(feed, (120, 40));
    let text = watch.text();
    assert!(text.contains("tool bash \"cargo test --workspace") && text.contains("48 s"), "{text}");
    for line in ["│ test case_4997", "│ test case_4999 ... ok"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("case_4996"), "{text}");
    let kept = watch.feed.story.delegations().of_task(TaskId(3)).unwrap().calls[0].output.len();
    assert!(kept <= 32 * 1024, "{kept}");
    watch.press(&["Alt+2", "Down", "Enter"]);
    let page = watch.text();
    assert!(page.contains("[子] #3 worker · call"), "{page}");
    watch.press(&["G"]);
    assert!(watch.text().contains("case_4999"), "{}", watch.text());
    watch.feed.writes(child(3), &call, "test the_last ... ok\n");
    watch.press(&["G"]);
    assert!(watch.text().contains("the_last"), "the page goes on with it");
}

#[test]
fn the_files_that_a_child_left_changed_are_named_and_need_a_review_if_it_did_not_complete() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    feed.changes(child(3), &[("src/sum.rs", Change::Modified), ("tmp", Change::Added)]);
    feed.changes(child(3), &[("tests/sum.rs", Change::Added), ("tmp", Change::Deleted)]);
    feed.finish_child(3, Status::Cancelled, "stopped");
    feed.ends(parent(1), &task_call("c3", "worker", "x"), "{}", 1);
    feed.finish(parent(1), Status::Completed, "done");
    let mut watch = Watch::new(feed, (160, 40));
    let text = watch.text();
    assert!(text.contains("#3 worker · needs review"), "{text}");
    assert!(text.contains("needs review: changed 2 files: ~src/sum.rs +tests/sum.rs"), "{text}");
    assert!(text.contains(" ± changed 2 files: ~src/sum.rs +tests/sum.rs"), "{text}");
    watch.press(&["Alt+2", "Enter"]);
    let page = watch.text();
    assert!(page.contains("~ modified") && page.contains("did not complete"), "{page}");
}
