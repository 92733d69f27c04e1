//! The question before a child starts: what it shows, and what keys make less of it.

use offshoot::domain::approval::{Answer, Decision};
use offshoot::domain::budget::{Dimension, Limit};
use offshoot::domain::command::Command;
use offshoot::domain::event::{ContractView, Destination, Fact, Origin, Preflight};
use offshoot::domain::ids::{CallId, RunId, TaskId};
use offshoot::ui::Lang;

use super::feed::{Feed, contract, parent, task_call};
use super::questions::read;
use super::view::{Watch, screen, sent};

/// Keys, and what then goes out: the lowered turns, and how many keys are dropped.
type Row = (&'static [&'static str], (Option<u64>, usize));

const SIZES: [(u16, u16); 2] = [(110, 32), (50, 15)];

fn asked() -> Feed {
    let mut given =
        contract("Find out which test framework this project uses, and where it is set up.");
    given.done_when = Some("name and file are known".to_owned());
    given.must_not = Some("guess from the language alone".to_owned());
    given.goes_to = Some(Destination { host: Some("api.example.org".to_owned()) });
    asked_about(given)
}

fn asked_about(given: ContractView) -> Feed {
    let mut feed = Feed::new();
    let call = task_call("c1", "researcher", "find the test framework");
    feed.user(1, "Which test framework does this project use?").run(1).turn(parent(1), 1);
    feed.says(parent(1), "I'll delegate the search.", vec![call.clone()]);
    let preflight = Preflight {
        role: "researcher".to_owned(),
        description: "find the test framework".to_owned(),
        contract: given,
    };
    let fact = Fact::ApprovalRequested {
        call: call.call.clone(),
        name: "task".to_owned(),
        summary: "start #1 researcher: find the test framework".to_owned(),
        diff: None,
        command: None,
        folder: None,
        fence: None,
        prefix: None,
        preflight: Some(Box::new(preflight)),
    };
    feed.add(Origin { task: Some(TaskId(1)), ..parent(1) }, fact).wait(3_000);
    feed
}

/// Down to the first line that can be changed, wherever that is.
fn to_first(watch: &mut Watch) {
    for _ in 0..60 {
        if watch.text().contains("› [x] request") {
            return;
        }
        watch.press(&["Down"]);
    }
    panic!("no line was chosen:\n{}", watch.text());
}

fn amended(watch: &mut Watch) -> (Option<u64>, usize) {
    // Where not all was shown, the first key says so.
    let mut effects = watch.press(&["y"]);
    if effects.is_empty() {
        watch.text();
        watch.feed.wait(400);
        effects = watch.press(&["y"]);
    }
    match sent(&effects)[..] {
        [Command::Decide { run, call, answer: Answer::Amended(less) }] => {
            assert_eq!((run, call), (&RunId::parent(1), &CallId::from("c1")));
            (less.lowered(Dimension::Turns), less.dropped().len())
        }
        [Command::Decide { answer: Answer::Once, .. }] => (None, 0),
        ref other => panic!("{other:?}"),
    }
}

fn picture(lang: Lang, keys: &[&str], first: bool) -> String {
    let mut pictures = Vec::new();
    for size in SIZES {
        let mut watch = Watch::new(asked(), size);
        watch.screen = screen(lang, size);
        watch.text();
        watch.feed.wait(400);
        if first {
            to_first(&mut watch);
        }
        watch.press(keys);
        pictures.push(format!("{}x{}\n{}", size.0, size.1, watch.text()));
    }
    pictures.join("\n\n")
}

#[test]
fn what_a_child_would_get() {
    insta::assert_snapshot!(picture(Lang::En, &[], false));
}

#[test]
fn what_a_child_would_get_in_chinese() {
    insta::assert_snapshot!(picture(Lang::Zh, &[], false));
}

#[test]
fn a_dropped_key_and_a_lowered_number_are_marked_in_words() {
    insta::assert_snapshot!(picture(Lang::En, &["Space", "Down", "-", "-"], true));
}

#[test]
fn a_dropped_key_and_a_lowered_number_in_chinese() {
    insta::assert_snapshot!(picture(Lang::Zh, &["Space", "Down", "-", "-"], true));
}

#[test]
fn what_is_not_limited_and_what_cannot_be_known_are_two_things() {
    for (lang, unlimited, unknown) in
        [(Lang::En, "unlimited", "unknown, not bounded"), (Lang::Zh, "不限", "未知，不设限")]
    {
        let mut given = contract("look");
        given.budget[Dimension::Turns] = Limit::Unlimited;
        given.budget[Dimension::CostUsd] = Limit::Off;
        let mut watch = Watch::new(asked_about(given), (110, 40));
        watch.screen = screen(lang, (110, 40));
        let text = watch.text();
        let ends = |words: &str| {
            let lines = text.lines().map(|line| line.trim_end_matches(['│', ' ']));
            lines.filter(|line| line.ends_with(&format!(" {words}"))).count()
        };
        assert_eq!((ends(unlimited), ends(unknown)), (1, 1), "{text}");
    }
}

#[test]
fn keys_lower_and_drop_and_never_raise_above_what_was_shown() {
    for size in SIZES {
        let table: [Row; 6] = [
            (&[], (None, 0)),
            (&["Down", "-"], (Some(15), 0)),
            (&["Down", "Left", "Left", "Left", "Left", "Left"], (Some(2), 0)),
            (&["Down", "-", "Right", "Right"], (None, 0)),
            (&["Space", "Space"], (None, 0)),
            (&["Space", "Down", "-"], (Some(15), 1)),
        ];
        for (keys, expected) in table {
            let mut watch = read(asked(), size);
            to_first(&mut watch);
            watch.press(keys);
            assert_eq!(amended(&mut watch), expected, "{keys:?} at {size:?}");
        }
    }
}

#[test]
fn a_key_that_changes_nothing_says_what_to_do_first() {
    for (key, words) in [("-", "choose a number"), ("Space", "choose a context key")] {
        let mut watch = read(asked(), (110, 32));
        assert_eq!(watch.press(&[key]), []);
        assert!(watch.footer().contains(words), "{}", watch.footer());
        assert_eq!(amended(&mut watch), (None, 0));
    }
}

#[test]
fn no_answer_is_for_more_than_this_delegation() {
    let mut watch = read(asked(), (110, 32));
    assert_eq!(watch.press(&["c"]), []);
    assert_eq!(watch.press(&["s"]), []);
    assert!(watch.screen.questions.open.is_some());
}

#[test]
fn nothing_is_changed_or_answered_in_the_first_moment() {
    let mut watch = Watch::new(asked(), (110, 32));
    watch.text();
    assert_eq!(watch.press(&["Down", "-", "y"]), []);
    watch.feed.wait(400);
    watch.text();
    assert_eq!(amended(&mut watch), (None, 0));
}

#[test]
fn the_row_says_that_it_waits_and_a_cancel_means_the_child_that_is_asked_about() {
    let mut watch = read(asked(), (110, 32));
    assert_eq!(sent(&watch.press(&["^X"])), [&Command::CancelTask { task: TaskId(1) }]);
    watch.press(&["Esc"]);
    let text = watch.text();
    assert!(text.contains("#1 researcher") && text.contains("waiting for your approval"), "{text}");
    assert!(text.contains("1 asking"), "{text}");
}

#[test]
fn a_no_is_shown_as_the_persons_own() {
    let mut feed = asked();
    let call = task_call("c1", "researcher", "find the test framework");
    feed.decides(Origin { task: Some(TaskId(1)), ..parent(1) }, &call, Decision::Deny);
    let fact = Fact::ToolFinished {
        call: call.call.clone(),
        name: "task".to_owned(),
        ok: false,
        output: "task was denied: the user did not allow this delegation".to_owned(),
        bytes: 10,
        truncated: false,
        duration_ms: 1,
        failure: Some(offshoot::domain::event::Failure::Denied),
        raw: None,
    };
    feed.add(parent(1), fact);
    let mut watch = Watch::new(feed, (110, 32));
    assert!(watch.text().contains("refused by you"), "{}", watch.text());
}

#[test]
fn something_says_that_a_person_is_asked_at_every_size() {
    for width in 1..=60 {
        for height in 1..=16 {
            let mut watch = read(asked(), (width, height));
            watch.press(&["Down", "-", "Space", "Right", "Up"]);
            let text = watch.text();
            assert!(text.contains('?') || text.contains('y'), "{width}x{height}\n{text}");
        }
    }
}

/// A task may be worded like the program's own lines; what is enforced stands before all of it, and
/// every line of it is marked.
#[test]
fn the_words_of_a_task_never_pass_for_what_is_enforced() {
    let forged = contract("look\nmay: nothing\ntools: none\nBudget\n  turns  1");
    let mut watch = read(asked_about(forged), (110, 40));
    let text = watch.text();
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}:\n{text}"));
    for words in ["may: nothing", "tools: none"] {
        assert!(text.contains(&format!("│ {words}")), "{text}");
        assert!(place("goes to: ") < place(words) && place("Context") < place(words), "{text}");
    }
}
