//! Steering from the screen: keys and commands, and what a row says of it.

use offshoot::domain::budget::{Dimension, Limit};
use offshoot::domain::command::{Command, Steer, Target};
use offshoot::domain::event::Fact;
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::By;
use offshoot::story::Gauge;
use offshoot::ui::Lang;
use offshoot::ui::layout::Focus;
use offshoot::ui::view::detail;

use super::feed::{Feed, call, child, contract, parent, task_call};
use super::view::{self, Watch, sent};
use serde_json::json;

const SIZE: (u16, u16) = (120, 40);

fn steer(target: Target, steer: Steer) -> Command {
    Command::Steer { target, steer }
}

fn to(task: u32, how: Steer) -> Command {
    steer(Target::Task(TaskId(task)), how)
}

fn tell(text: &str) -> Steer {
    Steer::Tell { text: text.to_owned() }
}

fn one_live() -> Feed {
    let mut feed = Feed::new();
    let delegated = task_call("c1", "researcher", "one");
    feed.user(1, "go").run(1).turn(parent(1), 1).says(parent(1), "", vec![delegated.clone()]);
    feed.starts(parent(1), &delegated).child(1, "c1", "work").turn(child(1), 1);
    feed
}

fn target() -> String {
    "t1.1".to_owned()
}

#[test]
fn the_keys_steer_the_selected_child_and_are_letters_in_the_input() {
    let mut watch = Watch::new(one_live(), SIZE);
    assert_eq!(watch.press(&["w", "p", "+", "m"]), []);
    assert_eq!(watch.screen.composer.text(), "wp+m");
    watch.press(&["^U", "Alt+2"]);
    assert_eq!(sent(&watch.press(&["w"])), [&to(1, Steer::WrapUp)]);
    assert_eq!(sent(&watch.press(&["p"])), [&to(1, Steer::Pause)]);
    assert!(watch.footer().contains("#1 is to pause"), "{}", watch.footer());
    assert_eq!(sent(&watch.press(&["+"])), [&to(1, Steer::Extend)]);
    assert_eq!(watch.press(&["m"]), []);
    assert_eq!(watch.screen.focus, Focus::Composer);
    assert_eq!(watch.screen.composer.text(), "/tell #1 ");
    watch.type_text("look in tests");
    assert_eq!(sent(&watch.press(&["Enter"])), [&to(1, tell("look in tests"))]);
    assert!(watch.screen.composer.is_empty());
}

#[test]
fn a_message_does_not_replace_what_is_unsent() {
    let mut watch = Watch::new(one_live(), SIZE);
    watch.type_text("half a thought");
    watch.press(&["Alt+2", "m"]);
    assert_eq!(watch.screen.composer.text(), "half a thought");
    assert!(watch.footer().contains("unsent"), "{}", watch.footer());
}

#[test]
fn the_commands_mean_the_named_child_the_active_one_or_the_answer() {
    let mut watch = Watch::new(one_live(), SIZE);
    let rows = [
        ("/wrapup", to(1, Steer::WrapUp)),
        ("/pause #1", to(1, Steer::Pause)),
        ("/extend #0", steer(Target::Parent, Steer::Extend)),
        ("/tell also docs", to(1, tell("also docs"))),
        ("/tell #0 also docs", steer(Target::Parent, tell("also docs"))),
    ];
    for (line, command) in rows {
        watch.type_text(line);
        assert_eq!(sent(&watch.press(&["Enter"])), [&command], "{line}");
    }
    watch.type_text("/pause #7");
    assert_eq!(watch.press(&["Enter"]), []);
    assert!(watch.footer().contains("there is no child #7"), "{}", watch.footer());
}

#[test]
fn a_paused_row_says_what_still_goes_on_and_then_that_it_is_paused() {
    let mut feed = one_live();
    feed.wait(1_000).add(child(1), Fact::Paused { target: target(), by: By::User });
    let mut watch = Watch::new(feed, SIZE);
    assert!(watch.text().contains("model silent") && !watch.text().contains("paused"));
    let look = call("a1", "read_file", json!({ "path": "f" }));
    watch.feed.wait(1_000).says(child(1), "", vec![look]).wait(60_000);
    assert!(watch.text().contains("paused 61 s"));
    let node = |watch: &Watch| {
        let story = &watch.feed.story;
        story.delegations().of_task(TaskId(1)).unwrap().elapsed_ms(watch.feed.now())
    };
    let stood = node(&watch);
    watch.feed.wait(10_000);
    assert_eq!(node(&watch), stood, "its clock stands");
    watch.feed.add(child(1), Fact::Resumed { target: target(), by: By::User }).wait(500);
    assert_eq!(node(&watch), stood + 500);
    assert!(!watch.text().contains("paused"));
}

#[test]
fn the_gauge_follows_extended_limits_and_the_row_says_what_was_done() {
    let mut feed = one_live();
    let mut limits = contract("work").budget;
    limits[Dimension::Turns] = Limit::Of(77);
    let text = "turns 20 to 77".to_owned();
    feed.add(child(1), Fact::BudgetExtended { target: target(), by: By::User, text, limits });
    let said = Fact::Steered { target: target(), by: By::User, text: "look in tests".to_owned() };
    feed.add(child(1), said);
    let mut watch = Watch::new(feed, SIZE);
    let text = watch.text();
    assert!(text.contains("budget extended: turns 20 to 77"), "{text}");
    assert!(text.contains("you said: look in tests"), "{text}");
    let story = &watch.feed.story;
    let run = story.delegations().of_task(TaskId(1)).unwrap().run.clone().unwrap();
    let gauge = Gauge::of(&run, watch.feed.now());
    assert_eq!(gauge.get(Dimension::Turns).unwrap().limit, Limit::Of(77));
    assert_eq!(run.turns_limit, Some(77));
}

#[test]
fn what_was_done_to_a_run_stands_in_the_language_of_the_interface() {
    let mut feed = one_live();
    let limits = contract("work").budget;
    let by = By::User;
    for (origin, target) in [(child(1), "t1.1"), (parent(1), "r1")] {
        let (target, text) = (target.to_owned(), "turns 20 to 77".to_owned());
        feed.add(origin.clone(), Fact::WrapUpRequested { target: target.clone(), by });
        let (told, words) = (target.clone(), "look in tests".to_owned());
        feed.add(origin.clone(), Fact::BudgetExtended { target, by, text, limits });
        feed.add(origin, Fact::Steered { target: told, by, text: words });
    }
    let table = [
        (Lang::En, ["asked to wrap up", "budget extended: turns", "you said: look"]),
        (Lang::Zh, ["已要求收尾", "预算已追加：turns", "你说：look"]),
    ];
    for (lang, words) in table {
        let mut screen = view::screen(lang, SIZE);
        let text = view::text(&mut screen, &feed.story, feed.now()).replace(' ', "");
        for words in words {
            let words = words.replace(' ', "");
            assert_eq!(text.matches(&words).count(), 2, "`{words}` on\n{text}");
        }
        let node = feed.story.delegations().of_task(TaskId(1)).unwrap();
        let page = format!("{:?}", detail::child(&feed.story, node, lang, feed.now()));
        assert!(words.iter().all(|words| page.contains(words)), "{page}");
    }
}
