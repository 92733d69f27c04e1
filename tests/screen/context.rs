//! What tasks can be given by key, and the parent's list of what is to be done.

use offshoot::domain::command::Command;
use offshoot::domain::context_store::{Sensitivity, SnippetCard, SnippetKind};
use offshoot::domain::event::{Fact, Origin};
use offshoot::domain::hash::Sha;
use offshoot::ui::Lang;
use serde_json::json;

use super::feed::{Feed, call, parent};
use super::view::{Watch, screen, sent, text};

fn added(feed: &mut Feed, key: &str, kind: SnippetKind, sensitivity: Sensitivity) {
    let card = SnippetCard {
        key: key.to_owned(),
        kind,
        source: "a test".to_owned(),
        bytes: 2_100,
        sha256: Sha::of(key),
    };
    feed.add(Origin::session(), Fact::ContextAdded { card, sensitivity, text: None });
}

fn with_context() -> Feed {
    let mut feed = Feed::new();
    for (key, kind, sensitivity) in [
        ("token", SnippetKind::Pin, Sensitivity::Secret),
        ("plan", SnippetKind::Pin, Sensitivity::LocalOnly),
        ("request", SnippetKind::Request, Sensitivity::Normal),
        ("report:1", SnippetKind::Report, Sensitivity::Normal),
        ("request", SnippetKind::Request, Sensitivity::Normal),
        ("说明", SnippetKind::Note, Sensitivity::Normal),
    ] {
        added(&mut feed, key, kind, sensitivity);
    }
    feed
}

#[test]
fn the_page_of_the_context_names_each_key_with_who_may_see_it() {
    let mut watch = Watch::new(with_context(), (100, 24));
    watch.type_text("/context");
    watch.press(&["Enter"]);
    let shown = watch.text();
    for words in ["secret, given to no one", "this machine only", "request:1", "a child's report"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    let hash = Sha::of("plan").short().to_string();
    assert!(shown.lines().any(|line| line.contains("plan") && line.contains(&hash)), "{shown}");
    insta::assert_snapshot!(shown);
}

/// The list before the newest one, and the newest.
fn with_lists(items: usize) -> Feed {
    let mut feed = Feed::new();
    let todo = |id: &str| call(id, "todo", json!({ "items": [{}, {}, {}] }));
    let (old, new) = (todo("c1"), todo("c2"));
    feed.user(1, "mend it").run(1).says(parent(1), "", vec![old.clone(), new.clone()]);
    feed.does(parent(1), &old, "0 of 2 done\n[>] superseded item\n[ ] another", 1);
    let mut lines = vec![
        format!("2 of {} done", items + 3),
        "[x] look at the tests".to_owned(),
        "[x] find the fault".to_owned(),
        "[>] mend 解析器 and the long tail of what belongs to it".to_owned(),
    ];
    lines.extend((0..items).map(|number| format!("[ ] step {number}")));
    feed.does(parent(1), &new, &lines.join("\n"), 1);
    feed
}

#[test]
fn the_newest_list_stands_under_its_call_and_the_one_before_is_folded() {
    let mut watch = Watch::new(with_lists(2), (100, 30));
    let shown = watch.text();
    for words in ["todo 2/5", "[x] look at the tests", "[>] mend 解析器", "[ ] step 1", "todo 0/2"]
    {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    assert!(!shown.contains("superseded item"), "{shown}");
}

#[test]
fn of_a_long_list_the_part_in_work_is_shown() {
    let shown = Watch::new(with_lists(40), (100, 40)).text();
    assert!(shown.contains("todo 2/43") && shown.contains("[x] find the fault"), "{shown}");
    assert!(shown.contains("[>] mend") && shown.contains("[ ] step 7"), "{shown}");
    assert!(!shown.contains("[ ] step 8") && !shown.contains("look at the tests"), "{shown}");
}

#[test]
fn lists_and_pages_are_drawn_at_every_size() {
    for lang in [Lang::En, Lang::Zh] {
        for (width, height) in [(1, 1), (7, 3), (20, 6), (39, 9), (60, 16), (80, 24), (200, 60)] {
            for feed in [with_lists(40), with_context()] {
                let mut screen = screen(lang, (width, height));
                text(&mut screen, &feed.story, feed.now());
                let mut watch = Watch::new(feed, (width, height));
                watch.type_text("/context");
                watch.press(&["Enter", "PgDn", "End", "Home"]);
                let widest = watch.text().lines().map(offshoot::ui::wrap::cells).max();
                assert!(widest.unwrap_or(0) <= usize::from(width));
            }
        }
    }
}

#[test]
fn a_pin_is_sent_as_it_was_typed() {
    let mut watch = Watch::new(Feed::new(), (100, 30));
    watch.type_text("/pin --local plan @docs/plan.md");
    let pin = Command::Pin {
        name: "plan".to_owned(),
        text: "@docs/plan.md".to_owned(),
        local_only: true,
    };
    assert_eq!(sent(&watch.press(&["Enter"])), [&pin]);
    watch.type_text("/pin plan");
    assert_eq!(sent(&watch.press(&["Enter"])), Vec::<&Command>::new());
    assert!(watch.footer().contains("say what to pin"), "{}", watch.footer());
}
