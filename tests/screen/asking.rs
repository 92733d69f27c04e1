//! Calls that wait for a person's word: what each key answers, and that nothing that was meant for
//! something else ever does.

use offshoot::domain::approval::{Answer, Decision};
use offshoot::domain::command::Command;
use offshoot::domain::event::Fact;
use offshoot::domain::ids::{CallId, RunId, TaskId};
use offshoot::domain::report::{By, Status};
use offshoot::story::Doing;

use super::feed::{Asked, Feed, child, parent};
use super::questions::{asks_to_test, read, read_on, test_call, two_ask, worker, write_call};
use super::view::{Watch, sent};

fn decide(run: RunId, call: &str, answer: Answer) -> Command {
    Command::Decide { run, call: CallId::from(call), answer }
}

fn run_of(task: u32) -> RunId {
    RunId::child(TaskId(task), 1)
}

fn is_open(watch: &mut Watch) -> bool {
    watch.see();
    watch.screen.questions.open.is_some()
}

#[test]
fn each_key_answers_the_call_that_is_shown() {
    let deny = || Answer::Deny { reason: None };
    let table = [("y", Answer::Once), ("c", Answer::Child), ("s", Answer::Session), ("n", deny())];
    for (key, answer) in table {
        let mut watch = read(two_ask(), (120, 40));
        let effects = watch.press(&[key]);
        assert_eq!(sent(&effects), [&decide(run_of(3), "d1", answer.clone())], "{key}");
        let text = watch.text();
        assert!(text.contains("[子] #4 worker asks") && !text.contains("#3 worker asks"), "{text}");
        watch.feed.wait(400);
        let effects = watch.press(&[key]);
        assert_eq!(sent(&effects), [&decide(run_of(4), "e1", answer)], "{key}");
        assert!(!is_open(&mut watch), "both were answered");
    }
}

#[test]
fn the_next_question_is_not_answered_by_the_key_that_answered_the_one_before() {
    let mut watch = read(two_ask(), (120, 40));
    assert_eq!(sent(&watch.press(&["y", "y", "y"])).len(), 1);
    watch.text();
    watch.feed.wait(399);
    assert_eq!(watch.press(&["y"]), [], "it has been on the screen for 399 ms");
    watch.feed.wait(400);
    assert_eq!(sent(&watch.press(&["y"])).len(), 1);
}

#[test]
fn a_question_that_nobody_has_seen_takes_no_answer() {
    let mut watch = Watch::new(two_ask(), (120, 40));
    watch.feed.wait(10_000);
    assert_eq!(watch.press(&["y"]), [], "no frame has shown it");
    watch.text();
    assert_eq!(watch.press(&["y", "n", "c", "s", "Enter"]), []);
    watch.feed.wait(399);
    assert_eq!(watch.press(&["y"]), []);
    assert!(is_open(&mut watch));
}

#[test]
fn typing_on_while_a_question_pops_up_answers_nothing_and_keeps_the_text() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let mut watch = Watch::new(feed, (120, 40));
    watch.type_text("no, try ");
    asks_to_test(&mut watch.feed, 3, "d1");
    watch.text();
    // Every letter that could answer is among them, and no pause is longer than a typist's.
    for letter in "yes, can you run synchronously?".chars() {
        watch.feed.wait(120);
        assert_eq!(watch.type_text(&letter.to_string()), []);
    }
    assert_eq!(watch.press(&["Backspace", "Enter"]), [], "and nothing is sent");
    let typed = "no, try yes, can you run synchronously";
    assert_eq!(watch.screen.composer.text(), typed);
    let text = watch.text();
    assert!(text.contains(typed) && text.contains("#3 worker asks"), "{text}");
    watch.feed.wait(400);
    assert_eq!(sent(&watch.press(&["y"])).len(), 1);
    assert_eq!(watch.screen.composer.text(), typed);
    assert_eq!(watch.screen.composer.caret(), (0, typed.chars().count()));
}

#[test]
fn early_letters_are_dropped_where_nobody_was_typing() {
    let mut watch = Watch::new(two_ask(), (120, 40));
    watch.text();
    assert_eq!(watch.press(&["y", "n", "Esc"]), []);
    assert!(watch.screen.composer.is_empty() && is_open(&mut watch));
}

#[test]
fn pasted_letters_are_no_answer() {
    let mut watch = read(two_ask(), (120, 40));
    watch.paste("yes\n");
    assert_eq!(watch.screen.composer.text(), "yes\n");
    assert!(is_open(&mut watch) && watch.text().contains("#3 worker asks"));
}

#[test]
fn a_withdrawn_question_goes_and_the_next_one_comes() {
    let mut watch = read(two_ask(), (120, 40));
    watch.feed.decides(child(3), &test_call("d1"), Decision::Withdrawn);
    let text = watch.text();
    assert!(text.contains("#4 worker asks") && text.contains("withdrawn"), "{text}");
    watch.feed.finish_child(4, Status::Cancelled, "");
    assert!(!is_open(&mut watch), "what has ended asks for nothing");
}

#[test]
fn ctrl_x_cancels_the_child_that_asks() {
    let mut watch = read(two_ask(), (120, 40));
    let cancel = Command::CancelTask { task: TaskId(3) };
    assert_eq!(sent(&watch.press(&["^X"])), [&cancel], "not the newest");
    assert!(is_open(&mut watch), "until the runtime says so");
}

#[test]
fn esc_puts_a_question_off_and_its_row_opens_it_again() {
    let mut watch = read(two_ask(), (120, 40));
    assert_eq!(watch.press(&["Esc"]), []);
    read_on(&mut watch);
    assert!(watch.text().contains("#4 worker asks"), "the next one is shown");
    watch.press(&["Esc"]);
    assert!(!is_open(&mut watch));
    let text = watch.text();
    assert!(text.contains("waiting for your approval") && text.contains("later"), "{text}");
    watch.press(&["Alt+2", "End", "Enter"]);
    assert!(watch.text().contains("#3 worker asks"), "{}", watch.text());
    watch.feed.wait(400);
    assert_eq!(sent(&watch.press(&["n"])).len(), 1);
    watch.press(&["Alt+1", "a"]);
    assert!(watch.text().contains("#3 worker asks"), "the oldest of those that wait");
    read_on(&mut watch);
    watch.press(&["Esc", "Alt+3"]);
    watch.type_text("/approve");
    watch.press(&["Enter"]);
    assert!(is_open(&mut watch));
}

#[test]
fn a_put_off_question_does_not_come_back_by_itself() {
    let mut watch = read(two_ask(), (80, 24));
    watch.press(&["Esc"]);
    read_on(&mut watch);
    watch.press(&["Esc"]);
    watch.feed.wait(60_000).words(parent(1), "more");
    assert!(!is_open(&mut watch));
    worker(&mut watch.feed, 5);
    asks_to_test(&mut watch.feed, 5, "f1");
    assert!(watch.text().contains("#5 worker asks · 3 of 3"), "{}", watch.text());
}

#[test]
fn no_with_a_reason_sends_what_was_typed() {
    let mut watch = read(two_ask(), (120, 40));
    watch.press(&["r"]);
    watch.type_text("not now: yn");
    watch.press(&["Backspace", "^J"]);
    let reason = Some("not now: y".to_owned());
    let denied = decide(run_of(3), "d1", Answer::Deny { reason });
    assert_eq!(sent(&watch.press(&["Enter"])), [&denied]);
}

#[test]
fn esc_leaves_the_reason_and_not_the_question() {
    let mut watch = read(two_ask(), (120, 40));
    watch.press(&["r"]);
    watch.type_text("why");
    assert_eq!(watch.press(&["^C"]), [], "it clears the reason");
    assert_eq!(watch.press(&["Esc"]), []);
    assert!(is_open(&mut watch) && watch.text().contains("#3 worker asks"));
    watch.press(&["r"]);
    let denied = decide(run_of(3), "d1", Answer::Deny { reason: None });
    assert_eq!(sent(&watch.press(&["Enter"])), [&denied], "an empty reason is none");
}

#[test]
fn ctrl_c_asks_whether_to_stop_and_esc_then_stops() {
    let mut watch = read(two_ask(), (120, 40));
    assert_eq!(watch.press(&["^C"]), []);
    assert!(watch.footer().contains("stop the answer and 2 children?"), "{}", watch.footer());
    assert_eq!(sent(&watch.press(&["Esc"])), [&Command::Stop]);
    let mut watch = read(two_ask(), (120, 40));
    assert_eq!(watch.press(&["^C", "^C"]), [offshoot::ui::msg::Effect::Quit]);
}

#[test]
fn where_only_this_call_can_be_allowed_nothing_wider_is_sent() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let call = test_call("d1");
    let what = Asked { summary: "cargo test", ..Asked::default() };
    feed.says(child(3), "", vec![call.clone()]).asks(child(3), &call, &what);
    let mut watch = read(feed, (120, 40));
    assert!(watch.text().contains("only this call can be allowed"));
    assert_eq!(watch.press(&["c", "s"]), []);
    assert_eq!(sent(&watch.press(&["y"])).len(), 1);
}

#[test]
fn the_parent_asks_by_its_name_and_its_answer_goes_to_its_run() {
    let mut feed = Feed::new();
    let call = test_call("p1");
    feed.user(1, "go").run(1).turn(parent(1), 1).says(parent(1), "", vec![call.clone()]);
    let what = Asked { summary: "cargo test", prefix: Some("cargo test"), ..Asked::default() };
    feed.asks(parent(1), &call, &what).wait(3_000);
    let mut watch = read(feed, (120, 40));
    let text = watch.text();
    assert!(
        text.contains("parent asks") && text.contains("for the parent, this session"),
        "{text}"
    );
    let once = decide(RunId::parent(1), "p1", Answer::Once);
    assert_eq!(sent(&watch.press(&["y"])), [&once]);
    watch.feed.decides(parent(1), &call, Decision::Once).starts(parent(1), &call);
    let text = watch.text();
    assert!(text.contains("tool bash") && !text.contains("asks"), "{text}");
}

#[test]
fn a_state_names_the_waiting_and_the_clock_stands_meanwhile() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    feed.wait(5_000);
    asks_to_test(&mut feed, 3, "d1");
    feed.wait(60_000);
    let ran = |feed: &Feed| {
        let node = feed.story.delegations().of_task(TaskId(3)).unwrap();
        let parent = feed.story.parent().unwrap();
        (node.elapsed_ms(feed.now()), parent.elapsed_ms(feed.now()))
    };
    assert_eq!(ran(&feed), (5_000, 5_000));
    let node = feed.story.delegations().of_task(TaskId(3)).unwrap();
    assert!(matches!(node.doing(feed.now()), Doing::Asking { .. }));
    // Another child that works lets the parent's clock go on, not the first one's.
    worker(&mut feed, 4);
    feed.wait(1_000);
    assert_eq!(ran(&feed), (5_000, 6_000));
    feed.decides(child(3), &test_call("d1"), Decision::Once).wait(500);
    assert_eq!(ran(&feed), (5_500, 6_500));
    feed.finish_child(3, Status::Completed, "").wait(9_000);
    assert_eq!(ran(&feed), (5_500, 15_500));
}

#[test]
fn what_has_started_or_ended_asks_no_more_even_if_its_answer_was_lost() {
    let mut feed = two_ask();
    feed.starts(child(3), &test_call("d1"));
    assert_eq!(feed.story.approvals().len(), 1);
    feed.ends(child(4), &write_call("e1"), "ok", 1);
    assert!(feed.story.approvals().is_empty());
    asks_to_test(&mut feed, 4, "e2");
    feed.add(parent(1), Fact::CancelRequested { target: "t4".to_owned(), by: By::User });
    feed.finish_child(4, Status::Cancelled, "");
    assert!(feed.story.approvals().is_empty());
}

#[test]
fn a_call_that_asks_again_is_a_new_question() {
    let mut watch = read(two_ask(), (120, 40));
    watch.press(&["Esc"]);
    watch.feed.decides(child(3), &test_call("d1"), Decision::Once);
    let what = Asked { summary: "cargo test", ..Asked::default() };
    watch.feed.asks(child(3), &test_call("d1"), &what);
    watch.feed.decides(child(4), &write_call("e1"), Decision::Deny);
    assert!(watch.text().contains("#3 worker asks"), "{}", watch.text());
}
