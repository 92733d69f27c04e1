//! The keys that end something: a child, an answer, the program; and that no other key does.

use offshoot::domain::command::Command;
use offshoot::domain::event::Fact;
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::{By, Status};
use offshoot::ui::layout::Focus;
use offshoot::ui::msg::Effect;

use super::feed::{Feed, parent, task_call, three_children};
use super::keys::{SIZE, two_live};
use super::view::{Watch, sent};

pub fn cancel(task: u32) -> Command {
    Command::CancelTask { task: TaskId(task) }
}

#[test]
fn ctrl_x_cancels_the_newest_live_child_where_none_is_selected() {
    let mut watch = Watch::new(two_live(), SIZE);
    assert_eq!(sent(&watch.press(&["^X"])), [&cancel(2)]);
    // The screen says what it was told, not what it asked for.
    assert!(!watch.text().contains("cancelling"));
    let target = "t2".to_owned();
    watch.feed.add(parent(1), Fact::CancelRequested { target, by: By::User });
    assert!(watch.text().contains("cancelling (you)"));
    assert_eq!(watch.press(&["^X"]), [], "asking twice asks once");
}

#[test]
fn ctrl_x_cancels_the_selected_child_from_wherever_it_is_pressed() {
    let mut watch = Watch::new(two_live(), SIZE);
    watch.press(&["Alt+2", "Down"]);
    assert_eq!(sent(&watch.press(&["^X"])), [&cancel(1)]);
    assert_eq!(watch.press(&["Alt+3"]), []);
    assert_eq!(sent(&watch.press(&["^X"])), [&cancel(1)]);
    watch.feed.finish_child(1, Status::Cancelled, "");
    assert_eq!(sent(&watch.press(&["^X"])), [&cancel(2)], "an ended one is not meant");
}

#[test]
fn looking_into_the_pane_selects_nothing_for_good() {
    let mut watch = Watch::new(two_live(), SIZE);
    watch.press(&["Alt+2", "Esc"]);
    let third = task_call("c3", "researcher", "three");
    watch.feed.says(parent(1), "", vec![third.clone()]).starts(parent(1), &third);
    watch.feed.child(3, "c3", "three");
    assert_eq!(sent(&watch.press(&["^X"])), [&cancel(3)]);
}

#[test]
fn a_queued_child_can_be_cancelled_too() {
    let mut feed = two_live();
    feed.says(parent(1), "", vec![task_call("c3", "researcher", "three")]).queued(3, "c3", 0);
    let mut watch = Watch::new(feed, SIZE);
    assert_eq!(sent(&watch.press(&["^X"])), [&cancel(3)]);
}

#[test]
fn ctrl_x_without_a_live_child_is_a_notice() {
    let mut watch = Watch::new(Feed::new(), SIZE);
    assert_eq!(watch.press(&["^X"]), []);
    assert!(watch.footer().contains("no child is running"));
}

#[test]
fn x_cancels_in_the_delegations_only() {
    let mut watch = Watch::new(three_children(), SIZE);
    assert_eq!(watch.press(&["x"]), [], "a letter in the input");
    watch.press(&["^U", "Alt+1"]);
    assert_eq!(watch.press(&["x"]), []);
    watch.press(&["Alt+2"]);
    assert_eq!(sent(&watch.press(&["x"])), [&cancel(3)]);
    watch.press(&["End"]);
    assert_eq!(watch.press(&["x"]), []);
    assert!(watch.footer().contains("#1 has ended"), "{}", watch.footer());
}

#[test]
fn esc_asks_with_counts_and_a_second_esc_stops_everything() {
    let mut watch = Watch::new(two_live(), SIZE);
    assert_eq!(watch.press(&["Esc"]), []);
    assert!(watch.footer().contains("stop the answer and 2 children?"));
    assert_eq!(watch.press(&["Esc"]), [Effect::Send(Command::Stop)]);
    assert!(watch.screen.question.is_none());
}

#[test]
fn the_question_goes_after_three_seconds_or_any_other_key() {
    let mut watch = Watch::new(two_live(), SIZE);
    watch.press(&["Esc"]);
    watch.feed.wait(2_999);
    assert!(watch.press(&[]).is_empty() && watch.footer().contains("stop the answer"));
    watch.feed.wait(1);
    assert_eq!(watch.press(&["Esc"]), [], "too late: it asks anew");
    assert!(watch.screen.question.is_some());
    watch.press(&["a"]);
    assert!(watch.screen.question.is_none());
    assert_eq!(watch.screen.composer.text(), "a", "the key does what it does");
    assert_eq!(watch.press(&["Esc"]), []);
}

#[test]
fn the_question_goes_when_the_answer_ends() {
    let mut watch = Watch::new(two_live(), SIZE);
    watch.press(&["Esc"]);
    watch.feed.finish(parent(1), Status::Completed, "done");
    watch.see();
    assert!(watch.screen.question.is_none());
    assert_eq!(watch.press(&["Esc", "Esc"]), []);
}

#[test]
fn esc_leaves_the_delegations_and_pages_and_kills_nothing() {
    let mut watch = Watch::new(two_live(), SIZE);
    watch.press(&["Alt+2"]);
    assert_eq!(watch.press(&["Esc"]), []);
    assert_eq!(watch.screen.focus, Focus::Composer);
    assert!(watch.screen.question.is_none());
    watch.press(&["F1"]);
    assert!(watch.text().contains("Keys and commands"));
    assert_eq!(watch.press(&["Esc"]), []);
    assert!(watch.screen.overlay.is_none() && watch.screen.question.is_none());
}

#[test]
fn esc_while_nothing_runs_stops_nothing() {
    let mut watch = Watch::new(Feed::new(), SIZE);
    assert_eq!(watch.press(&["Esc", "Esc", "Esc"]), []);
}

#[test]
fn ctrl_c_clears_then_asks_then_quits() {
    let mut watch = Watch::new(two_live(), SIZE);
    watch.type_text("half a thought");
    assert_eq!(watch.press(&["^C"]), []);
    assert!(watch.screen.composer.is_empty());
    watch.feed.wait(2_000);
    assert_eq!(watch.press(&["^C"]), []);
    assert!(watch.footer().contains("stop the answer"));
    watch.feed.wait(2_500);
    assert_eq!(watch.press(&["^C"]), [Effect::Send(Command::Stop)], "as a second Esc");
    watch.feed.wait(1_999);
    assert_eq!(watch.press(&["^C"]), [Effect::Quit]);
}

#[test]
fn ctrl_c_twice_quits_where_nothing_runs() {
    let mut watch = Watch::new(Feed::new(), SIZE);
    assert_eq!(watch.press(&["^C"]), []);
    assert!(watch.footer().contains("^C again quits"));
    assert_eq!(watch.press(&["^C"]), [Effect::Quit]);
}

#[test]
fn ctrl_d_quits_only_from_an_empty_input() {
    let mut watch = Watch::new(Feed::new(), SIZE);
    watch.type_text("ab");
    watch.press(&["Home"]);
    assert_eq!(watch.press(&["^D"]), []);
    assert_eq!(watch.screen.composer.text(), "b");
    watch.press(&["^D"]);
    assert_eq!(watch.press(&["^D"]), [Effect::Quit]);
}

#[test]
fn ctrl_c_while_something_runs_says_what_a_second_one_does() {
    let mut watch = Watch::new(two_live(), SIZE);
    watch.press(&["^C"]);
    let footer = watch.footer();
    assert!(footer.contains("Esc again: yes") && footer.contains("^C again quits"), "{footer}");
    assert_eq!(watch.press(&["^C"]), [Effect::Quit]);
}

#[test]
fn ctrl_z_says_that_it_does_nothing() {
    let mut watch = Watch::new(Feed::new(), SIZE);
    assert_eq!(watch.press(&["^Z"]), []);
    assert!(watch.footer().contains("not built yet"));
}
