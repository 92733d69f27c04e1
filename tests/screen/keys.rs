//! What each key does, and what it must never do.

use offshoot::domain::budget::Preset;
use offshoot::domain::command::{BudgetChoice, Command};
use offshoot::domain::event::{Fact, Level, Origin};
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::{By, Status};
use offshoot::ui::layout::Focus;
use offshoot::ui::msg::Effect;

use super::feed::{Feed, child, parent, task_call, three_children};
use super::view::{Watch, sent};

const SIZE: (u16, u16) = (120, 40);

fn cancel(task: u32) -> Command {
    Command::CancelTask { task: TaskId(task) }
}

fn submit(text: &str) -> Command {
    Command::Submit { text: text.to_owned() }
}

/// Two live children of a running parent; the second is the newest.
fn two_live() -> Feed {
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
fn tab_goes_round_and_alt_goes_straight() {
    let mut watch = Watch::new(three_children(), SIZE);
    let mut focus = |keys: &[&str]| {
        watch.press(keys);
        watch.screen.focus
    };
    assert_eq!(focus(&["Tab"]), Focus::Conversation);
    assert_eq!(focus(&["Tab"]), Focus::Delegations);
    assert_eq!(focus(&["Tab"]), Focus::Composer);
    assert_eq!(focus(&["Alt+2"]), Focus::Delegations);
    assert_eq!(focus(&["Alt+1"]), Focus::Conversation);
    assert_eq!(focus(&["Alt+3"]), Focus::Composer);
}

#[test]
fn question_marks_are_help_in_panes_and_text_in_the_input() {
    let mut watch = Watch::new(Feed::new(), SIZE);
    watch.press(&["?"]);
    assert_eq!(watch.screen.composer.text(), "?");
    watch.press(&["Alt+1", "?"]);
    assert!(watch.text().contains("Keys and commands"));
    watch.press(&["?"]);
    assert!(watch.screen.overlay.is_none());
}

#[test]
fn reading_back_stays_where_it_is_while_text_streams_in() {
    let mut feed = Feed::new();
    feed.user(1, "count").run(1).turn(parent(1), 1);
    for line in 0..200 {
        feed.words(parent(1), &format!("line {line}\n"));
    }
    let mut watch = Watch::new(feed, (120, 30));
    assert!(watch.text().contains("line 199"));
    watch.press(&["PgUp", "PgUp"]);
    let body = |text: &str| {
        text.lines().skip(2).take(20).map(|row| row[..40].to_owned()).collect::<Vec<_>>()
    };
    let before = body(&watch.text());
    for line in 200..700 {
        watch.feed.words(parent(1), &format!("line {line}\n"));
    }
    watch.type_text("typing meanwhile");
    let text = watch.text();
    assert_eq!(body(&text), before);
    assert!(text.contains("↓ more · End"), "{text}");
    watch.press(&["Alt+1", "End"]);
    assert!(watch.text().contains("line 699"));
    watch.feed.words(parent(1), "line 700\n");
    assert!(watch.text().contains("line 700"), "it follows again");
}

#[test]
fn scrolling_down_to_the_end_follows_again() {
    let mut feed = Feed::new();
    feed.user(1, "count").run(1).turn(parent(1), 1);
    for line in 0..100 {
        feed.words(parent(1), &format!("line {line}\n"));
    }
    let mut watch = Watch::new(feed, (120, 30));
    watch.text();
    watch.press(&["Alt+1", "k", "k", "k"]);
    assert!(watch.screen.conversation.is_reading_back());
    watch.press(&["j", "j", "j"]);
    assert!(!watch.screen.conversation.is_reading_back());
    watch.press(&["g"]);
    assert!(watch.text().contains("answers are played"));
    watch.press(&["G"]);
    assert!(watch.text().contains("line 99"));
}

#[test]
fn the_reader_stays_at_the_same_words_at_another_width() {
    let mut feed = Feed::new();
    let words: Vec<String> = (0..2_000).map(|word| format!("w{word}")).collect();
    feed.user(1, "go").run(1).turn(parent(1), 1).words(parent(1), &words.join(" "));
    let mut watch = Watch::new(feed, (120, 30));
    watch.text();
    watch.press(&["Alt+1", "g", "PgDn", "PgDn"]);
    let top = |text: &str| -> u32 {
        let row = text.lines().nth(2).unwrap();
        let word = row.split_whitespace().find_map(|word| word.strip_prefix('w')?.parse().ok());
        word.unwrap()
    };
    let before = top(&watch.text());
    watch.screen.size = (70, 30);
    let narrow = watch.text();
    assert!(narrow.contains(&format!("w{before} ")), "{before}\n{narrow}");
    assert!(top(&narrow).abs_diff(before) < 40);
}

#[test]
fn enter_opens_the_call_in_full_and_the_child_with_its_ledger() {
    let mut watch = Watch::new(three_children(), SIZE);
    watch.press(&["Alt+2", "Enter"]);
    let text = watch.text();
    for expected in
        ["find the test framework", "Ledger", "time left", "last tool", "goes to", "(12% of"]
    {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    watch.press(&["Esc", "Down", "Down", "o"]);
    let text = watch.text();
    for expected in ["read_file", "pyproject.toml", "xxxxxxxxxx"] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    watch.press(&["Esc", "Alt+1", "Enter"]);
    assert!(watch.text().contains("find the test framework"), "a delegation opens its child");
}

#[test]
fn folding_hides_the_calls_and_unfolding_shows_them() {
    let mut watch = Watch::new(three_children(), SIZE);
    assert!(watch.text().contains("[子] search"));
    watch.press(&["Alt+2", "Space"]);
    assert!(!watch.text().contains("[子] search"));
    watch.press(&["Right"]);
    assert!(watch.text().contains("[子] search"));
    watch.press(&["End", "Right"]);
    assert!(watch.text().contains("(no summary)"));
}

#[test]
fn the_filter_shows_all_live_or_failed_children() {
    let mut watch = Watch::new(three_children(), SIZE);
    let mut shown = |keys: &[&str]| {
        watch.press(keys);
        let text = watch.text();
        ["rewrite docs", "map the CI config", "[子] search"].map(|task| text.contains(task))
    };
    assert_eq!(shown(&["Alt+2"]), [true, true, true]);
    assert_eq!(shown(&["f"]), [false, false, true]);
    assert_eq!(shown(&["f"]), [true, false, false]);
    assert_eq!(shown(&["f"]), [true, true, true]);
}

#[test]
fn full_screen_and_divider_move_the_panes() {
    let mut watch = Watch::new(three_children(), SIZE);
    watch.press(&["Alt+2", "z"]);
    assert!(!watch.text().contains("Conversation"));
    watch.press(&["z"]);
    let divider = |text: &str| text.lines().nth(1).unwrap().chars().position(|c| c == '┬').unwrap();
    let before = divider(&watch.text());
    watch.press(&["<"]);
    assert!(divider(&watch.text()) < before);
    watch.press(&[">", ">"]);
    assert!(divider(&watch.text()) > before);
}

#[test]
fn ctrl_l_repaints() {
    let mut watch = Watch::new(Feed::new(), SIZE);
    assert_eq!(watch.press(&["^L"]), [Effect::Repaint]);
}

#[test]
fn nothing_wakes_the_screen_while_nothing_ages() {
    let mut watch = Watch::new(Feed::new(), SIZE);
    assert!(watch.screen.next_wake(&watch.feed.story, watch.feed.now()).is_none());
    watch.press(&["^X"]);
    assert!(watch.screen.next_wake(&watch.feed.story, watch.feed.now()).is_some());
    watch.feed.wait(6_000);
    watch.press(&[]);
    let now = watch.feed.now();
    watch.screen.expire(now);
    assert!(watch.screen.next_wake(&watch.feed.story, now).is_none());
    let running = Watch::new(two_live(), SIZE);
    assert!(running.screen.next_wake(&running.feed.story, running.feed.now()).is_some());
}

#[test]
fn a_page_takes_the_keys_and_hides_the_input() {
    // Letters once closed the page or vanished, with the input still in view.
    let mut watch = Watch::new(two_live(), SIZE);
    watch.type_text("a draft");
    watch.press(&["F1"]);
    let text = watch.text();
    assert!(!text.contains("a draft") && !text.contains("type a message"), "{text}");
    let footer = watch.footer();
    assert!(footer.contains("Esc close") && footer.contains("scroll"), "{footer}");
    assert!(!footer.contains("Tab"), "{footer}");
    assert_eq!(watch.press(&["Tab", "w", "h"]), []);
    assert!(watch.text().contains("Keys and commands"), "Tab and letters leave it open");
    watch.press(&["q"]);
    assert!(watch.text().contains("│ a draft"));
}

#[test]
fn tab_shows_a_live_child_where_only_one_pane_is_shown() {
    let mut watch = Watch::new(two_live(), (50, 15));
    assert!(watch.footer().contains("Tab: children"), "{}", watch.footer());
    watch.press(&["Alt+1"]);
    let top = watch.text().lines().nth(1).unwrap().to_owned();
    assert!(top.starts_with("┌ ▸ Conversation ─") && top.contains("2 running"), "{top}");
    watch.press(&["Alt+3", "Tab"]);
    assert_eq!(watch.screen.focus, Focus::Delegations);
    assert!(watch.text().contains("#2 researcher"));
    watch.press(&["Tab", "Tab"]);
    assert_eq!(watch.screen.focus, Focus::Composer);
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

#[test]
fn a_filter_that_shows_nothing_says_so_and_how_to_return() {
    let mut feed = Feed::new();
    feed.user(1, "go").run(1).child(1, "c1", "x").finish_child(1, Status::Completed, "done");
    let mut watch = Watch::new(feed, SIZE);
    watch.press(&["Alt+2", "f"]);
    assert!(watch.text().contains("no child is live · f:"), "{}", watch.text());
    watch.press(&["f"]);
    assert!(watch.text().contains("no child failed · f: all"));
    watch.press(&["f"]);
    assert!(watch.text().contains("#1 researcher"));
}

#[test]
fn ctrl_z_says_that_it_does_nothing() {
    let mut watch = Watch::new(Feed::new(), SIZE);
    assert_eq!(watch.press(&["^Z"]), []);
    assert!(watch.footer().contains("not built yet"));
}
