//! The keys that move and change what is looked at, and that looking changes nothing else.

use offshoot::domain::report::Status;
use offshoot::ui::layout::Focus;
use offshoot::ui::msg::Effect;

use super::feed::{Feed, parent, three_children};
use super::keys::{SIZE, two_live};
use super::view::Watch;

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
