//! The keys of the input: what is sent, what waits, what comes back, and what is refused.

use offshoot::domain::budget::Preset;
use offshoot::domain::command::{BudgetChoice, Command};
use offshoot::domain::event::{Fact, Level, Origin};
use offshoot::ui::msg::Effect;

use super::feed::{Feed, child, parent, task_call, three_children};
use super::keys_ending::cancel;
use super::view::{Watch, sent};

pub const SIZE: (u16, u16) = (120, 40);

fn submit(text: &str) -> Command {
    Command::Submit { text: text.to_owned() }
}

/// Two live children of a running parent; the second is the newest.
pub fn two_live() -> Feed {
    let mut feed = Feed::new();
    let calls = [task_call("c1", "researcher", "one"), task_call("c2", "researcher", "two")];
    feed.user(1, "go").run(1).turn(parent(1), 1).says(parent(1), "", calls.to_vec());
    for (task, call) in [(1, "c1"), (2, "c2")] {
        feed.starts(parent(1), &calls[task - 1]);
        let task = u32::try_from(task).unwrap();
        feed.child(task, call, "work").turn(child(task), 1);
    }
    feed
}

#[test]
fn enter_sends_what_was_typed_and_nothing_when_there_is_nothing() {
    let mut watch = Watch::new(Feed::new(), SIZE);
    assert_eq!(watch.press(&["Enter"]), []);
    assert_eq!(watch.type_text("   "), []);
    assert_eq!(watch.press(&["Enter"]), []);
    watch.press(&["^U"]);
    watch.type_text("hello");
    assert_eq!(sent(&watch.press(&["Enter"])), [&submit("hello")]);
    assert!(watch.screen.composer.is_empty());
    assert_eq!(watch.press(&["Enter"]), []);
}

#[test]
fn every_way_to_a_new_line_makes_one_and_sends_nothing() {
    for newline in ["^J", "Alt+Enter", "S-Enter"] {
        let mut watch = Watch::new(Feed::new(), SIZE);
        watch.type_text("a");
        assert_eq!(watch.press(&[newline]), [], "{newline}");
        watch.type_text("b");
        assert_eq!(sent(&watch.press(&["Enter"])), [&submit("a\nb")], "{newline}");
    }
    let mut watch = Watch::new(Feed::new(), SIZE);
    watch.type_text("a\\");
    assert_eq!(watch.press(&["Enter"]), []);
    watch.type_text("b");
    assert_eq!(sent(&watch.press(&["Enter"])), [&submit("a\nb")]);
}

#[test]
fn a_message_waits_in_the_conversation_until_the_history_has_it() {
    let mut watch = Watch::new(two_live(), SIZE);
    watch.type_text("and then?");
    watch.press(&["Enter"]);
    let waiting =
        |text: &str| text.lines().any(|row| row.contains("and then?") && row.contains("queued"));
    assert!(waiting(&watch.text()));
    watch.feed.user(1, "and then?");
    let text = watch.text();
    assert!(!waiting(&text) && text.contains("❯ and then?"), "{text}");
    assert!(watch.screen.pending.is_empty());
}

#[test]
fn what_was_never_sent_comes_back_into_the_input() {
    let mut watch = Watch::new(two_live(), SIZE);
    for text in ["one", "/delegate two"] {
        watch.type_text(text);
        watch.press(&["Enter"]);
    }
    watch.type_text("three");
    watch.feed.add(Origin::session(), Fact::notice(Level::Warning, "UNSENT", "not sent"));
    watch.see();
    assert_eq!(watch.screen.composer.text(), "one\n/delegate two\nthree");
    assert!(watch.screen.pending.is_empty());
}

#[test]
fn the_footer_names_the_keys_that_work_here() {
    let mut watch = Watch::new(three_children(), SIZE);
    let mut shown = |keys: &[&str], expected: &[&str]| {
        watch.press(keys);
        let footer = watch.footer();
        for hint in expected {
            assert!(footer.contains(hint), "{hint} in {footer}");
        }
    };
    shown(&[], &["Enter send", "^J newline", "^X cancel child", "Esc stop", "Tab pane", "F1 keys"]);
    shown(
        &["Alt+2"],
        &["Enter open", "x cancel it", "Esc back", "Space fold", "f filter", "? keys"],
    );
    shown(&["Alt+1"], &["Enter open", "Esc stop", "z full", "? keys"]);
    shown(&["?"], &["Esc close", "^X cancel child"]);
}

#[test]
fn slash_commands_do_what_their_keys_do() {
    let mut watch = Watch::new(two_live(), SIZE);
    let mut line = |text: &str| {
        watch.type_text(text);
        watch.press(&["Enter"])
    };
    assert_eq!(sent(&line("/cancel")), [&cancel(2)]);
    assert_eq!(sent(&line("/cancel #1")), [&cancel(1)]);
    assert_eq!(line("/stop"), [Effect::Send(Command::Stop)]);
    let delegate = Command::Delegate { role: Some("planner".into()), text: "split it".into() };
    assert_eq!(sent(&line("/delegate planner split it")), [&delegate]);
    let budget = Command::SetBudget { budget: BudgetChoice::Preset(Preset::Tight) };
    assert_eq!(sent(&line("/budget tight")), [&budget]);
    assert_eq!(line("/quit"), [Effect::Quit]);
    assert_eq!(line("/help"), []);
    assert!(watch.text().contains("Keys and commands"));
}

#[test]
fn a_command_that_does_not_work_is_refused_by_name_and_stays_in_the_input() {
    for (text, name) in [("/theme", "/theme"), ("/nope now", "/nope")] {
        let mut watch = Watch::new(Feed::new(), SIZE);
        watch.type_text(text);
        assert_eq!(watch.press(&["Enter"]), [], "{text}");
        assert!(watch.footer().contains(name), "{}", watch.footer());
        assert_eq!(watch.screen.composer.text(), text);
    }
}

#[test]
fn up_on_an_empty_input_brings_older_prompts_back() {
    let mut watch = Watch::new(Feed::new(), SIZE);
    for text in ["one", "two"] {
        watch.type_text(text);
        watch.press(&["Enter"]);
    }
    watch.press(&["Up"]);
    assert_eq!(watch.screen.composer.text(), "two");
    watch.press(&["Up", "Up"]);
    assert_eq!(watch.screen.composer.text(), "one");
    watch.press(&["Down", "Down"]);
    assert!(watch.screen.composer.is_empty());
}

#[test]
fn a_budget_waits_for_the_next_answer_and_the_ledger_shows_it() {
    let mut watch = Watch::new(Feed::new(), SIZE);
    watch.type_text("/budget tight");
    watch.press(&["Enter"]);
    assert!(watch.footer().contains("from the next answer on: tight"), "{}", watch.footer());
    watch.type_text("/budget");
    watch.press(&["Enter"]);
    let text = watch.text();
    assert!(text.contains("From the next answer on") && text.contains("tight"), "{text}");
    watch.feed.user(1, "go").run(1);
    assert!(!watch.text().contains("From the next answer on"));
}

#[test]
fn a_role_without_a_task_is_refused_and_stays_to_be_completed() {
    let mut watch = Watch::new(Feed::new(), SIZE);
    watch.type_text("/delegate worker");
    assert_eq!(watch.press(&["Enter"]), []);
    assert!(watch.footer().contains("say what it is to do"), "{}", watch.footer());
    assert_eq!(watch.screen.composer.text(), "/delegate worker");
}
