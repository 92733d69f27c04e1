//! The pane of the children: what is in view while they work, and how all of it can be reached.

use offshoot::domain::event::{Fact, Failure};
use offshoot::domain::report::Status;
use offshoot::domain::violation::{Code, Violation};
use offshoot::ui::Lang;
use serde_json::json;

use super::feed::{Feed, call, child, parent, report, task_call, usage};
use super::view::{Watch, screen};

const SIZES: [(u16, u16); 4] = [(120, 40), (100, 16), (80, 24), (50, 15)];

/// A child that has made so many calls and is saying something.
fn busy(calls: usize) -> Feed {
    let mut feed = Feed::new();
    let task = task_call("c1", "researcher", "look everywhere");
    feed.user(1, "go").run(1).says(parent(1), "", vec![task.clone()]).starts(parent(1), &task);
    feed.child(1, "c1", "look everywhere");
    for number in 1..=calls {
        reads(&mut feed, number);
    }
    feed.turn(child(1), 5).words(child(1), "this is what I found so far");
    feed
}

fn reads(feed: &mut Feed, number: usize) {
    let read = call(&format!("d{number}"), "read_file", json!({"path": format!("f{number}.rs")}));
    feed.says(child(1), "", vec![read.clone()]).does(child(1), &read, "text", 1);
}

#[test]
fn what_a_live_child_does_is_in_view_however_much_it_did() {
    // Its newest calls, its words and its state once fell off the end of the pane.
    for size in SIZES {
        let mut watch = Watch::new(busy(60), size);
        if size.0 < 60 {
            watch.press(&["Tab"]);
        }
        let mut seen = |wanted: &[&str]| {
            let text = watch.text();
            for words in wanted {
                assert!(text.contains(words), "{words} at {size:?}\n{text}");
            }
            reads(&mut watch.feed, 61);
            watch.text()
        };
        let after = seen(&["model streaming", "read_file f60.rs", "so far", "earlier calls"]);
        assert!(after.contains("f61.rs") && !after.contains("f1.rs"), "{size:?}\n{after}");
    }
}

#[test]
fn a_live_child_is_in_view_below_others_that_have_ended() {
    let mut feed = busy(9);
    for task in 2..30 {
        feed.child(task, &format!("c{task}"), "more").finish_child(task, Status::Completed, "ok");
    }
    let mut watch = Watch::new(feed, (80, 24));
    let text = watch.text();
    assert!(text.contains("so far") && text.contains("f9.rs"), "{text}");
    assert!(text.contains("1 running · 28 done"), "{text}");
}

#[test]
fn the_calls_before_can_be_shown_and_stay_where_they_are() {
    let mut watch = Watch::new(busy(60), (120, 40));
    watch.text();
    watch.press(&["Alt+2", "Down", "Enter"]);
    let text = watch.text();
    assert!(text.contains("read_file f1.rs") && !text.contains("earlier calls"), "{text}");
    assert!(text.contains("↓ more"), "{text}");
    let body = |text: &str| text.lines().skip(6).take(24).map(right).collect::<Vec<_>>();
    for number in 61..70 {
        reads(&mut watch.feed, number);
    }
    let later = watch.text();
    assert_eq!(body(&later), body(&text), "reading does not jump");
    watch.press(&["G"]);
    assert!(watch.text().contains("f69.rs"));
    reads(&mut watch.feed, 70);
    let text = watch.text();
    assert!(text.contains("f70.rs") && !text.contains("↓ more"), "the end is followed: {text}");
}

/// The right half of a row, where the children are.
fn right(row: &str) -> String {
    row.chars().skip(62).collect()
}

#[test]
fn every_row_of_a_report_can_be_reached() {
    let mut feed = busy(40);
    feed.finish_child(1, Status::Completed, "one\ntwo\nthree\nfour\nfive\nsix");
    let mut watch = Watch::new(feed, (80, 16));
    watch.press(&["Alt+2"]);
    let mut seen = watch.text();
    for _ in 0..60 {
        watch.press(&["Down"]);
        seen.push_str(&watch.text());
    }
    for words in ["   one", "   two", "   six", "evidence verified 1/1"] {
        assert!(seen.contains(words), "{words}");
    }
    assert!(watch.text().contains("evidence verified"));
}

#[test]
fn the_pane_shows_again_what_is_live_after_home() {
    let mut watch = Watch::new(busy(60), (120, 40));
    watch.text();
    watch.press(&["Alt+2", "Down", "Enter", "PgDn"]);
    watch.press(&["Space", "Space", "g"]);
    let text = watch.text();
    assert!(text.contains("so far") && text.contains("earlier calls"), "{text}");
}

#[test]
fn a_warning_names_what_cancels_this_very_child() {
    let mut feed = Feed::new();
    feed.user(1, "go").run(1);
    for task in [1, 2] {
        feed.child(task, &format!("c{task}"), "x").turn(child(task), 1);
    }
    for id in ["a", "b", "c"] {
        let same = call(id, "search", json!({"pattern": "x"}));
        feed.says(child(1), "", vec![same.clone()]).does(child(1), &same, "nothing", 1);
    }
    let mut watch = Watch::new(feed, (120, 40));
    assert!(watch.text().contains("in a row · /cancel #1 cancels"), "{}", watch.text());
    watch.press(&["Alt+2", "Down"]);
    assert!(watch.text().contains("in a row · x cancels"), "{}", watch.text());
}

#[test]
fn a_refusal_says_its_reason_once_and_has_no_empty_words() {
    let mut feed = Feed::new();
    let (one, two) = (task_call("c1", "researcher", "a"), task_call("d1", "", "look deeper"));
    feed.user(1, "hi").run(1).says(parent(1), "", vec![one.clone()]).starts(parent(1), &one);
    feed.child(6, "c1", "a").says(child(6), "", vec![two.clone()]);
    let message = "children may not delegate".to_owned();
    let violation = Violation::new(Code::DepthExceeded, "", message.clone());
    let fact = Fact::ContractRefused {
        call: two.call.clone(),
        code: Code::DepthExceeded,
        field: String::new(),
        message: message.clone(),
        violations: vec![violation.clone()],
        refused_task: None,
    };
    let mut refusal = report(1, Status::Blocked, &message);
    (refusal.task_id, refusal.attempt, refusal.trace) = (None, None, None);
    (refusal.code, refusal.violations) = (Some(Code::DepthExceeded), vec![violation]);
    refusal.evidence.clear();
    feed.add(child(6), fact);
    feed.ends_with(child(6), &two, &refusal.to_json(), 0, Some(Failure::Refused));
    let mut watch = Watch::new(feed, (120, 40));
    watch.press(&["Alt+2", "End", "Right"]);
    let text = watch.text();
    let row = text.lines().find(|row| row.contains("refused: too deep")).unwrap();
    assert!(row.contains("✗ task  look deeper"), "{row}");
    assert_eq!(text.matches(&message).count(), 1, "{text}");
    assert!(!text.contains("#-"), "{text}");
    watch.press(&["Enter"]);
    let page = watch.text();
    assert!(page.contains("┌ task ") && page.contains("look deeper"), "{page}");
    assert_eq!(page.matches(&message).count(), 1, "{page}");
}

/// Each figure says how it is reckoned, in both languages, on the child's page and the session's.
#[test]
fn a_child_and_the_session_say_what_delegation_used_and_spared() {
    let ended = || {
        let mut feed = Feed::new();
        feed.user(1, "hi").run(1).child(1, "c1", "a").charged(child(1), usage(800, 40, Some(900)));
        feed.charged(child(1), usage(9_000, 60, Some(9_000)));
        feed.finish_child(1, Status::Completed, "x");
        feed
    };
    let words = [
        (Lang::En, ["its first - its report", "used more tokens than it has spared so far"]),
        (Lang::Zh, ["第一次提示 - 报告", "委派用去的词元多于它节省的"]),
    ];
    for (lang, words) in words {
        for of_child in [true, false] {
            let mut watch = Watch::new(ended(), (120, 60));
            watch.screen = screen(lang, (120, 60));
            if of_child {
                watch.press(&["Alt+2", "Enter"]);
            } else {
                watch.type_text("/budget");
                watch.press(&["Enter"]);
            }
            let text = watch.text();
            for word in words {
                assert!(text.contains(word), "{word} in\n{text}");
            }
        }
    }
}
