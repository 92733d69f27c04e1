//! Whole frames at the sizes that matter.

use offshoot::domain::event::Level;
use offshoot::domain::report::Status;
use offshoot::ui::paint::Palette;
use offshoot::ui::screen::Screen;
use offshoot::ui::{HeaderFacts, Lang};

use super::feed::{Feed, parent, three_children};
use super::view::{Watch, frame, header, rows, screen, text};

fn picture(lang: Lang, size: (u16, u16)) -> String {
    let feed = three_children();
    let mut screen = screen(lang, size);
    text(&mut screen, &feed.story, feed.now())
}

#[test]
fn side_by_side_at_120x40() {
    insta::assert_snapshot!(picture(Lang::En, (120, 40)));
}

#[test]
fn stacked_at_80x24() {
    insta::assert_snapshot!(picture(Lang::En, (80, 24)));
}

#[test]
fn one_pane_at_50x15() {
    insta::assert_snapshot!(picture(Lang::En, (50, 15)));
}

#[test]
fn no_frame_at_20x5() {
    insta::assert_snapshot!(picture(Lang::En, (20, 5)));
}

#[test]
fn chinese_at_120x40() {
    insta::assert_snapshot!(picture(Lang::Zh, (120, 40)));
}

#[test]
fn the_page_of_keys() {
    let mut watch = Watch::new(Feed::new(), (100, 30));
    watch.press(&["F1"]);
    insta::assert_snapshot!(watch.text());
}

#[test]
fn a_child_in_full() {
    let mut watch = Watch::new(three_children(), (100, 40));
    watch.press(&["Alt+2", "Enter"]);
    insta::assert_snapshot!(watch.text());
}

#[test]
fn a_finished_answer_with_its_notice() {
    let mut feed = three_children();
    feed.finish_child(
        3,
        Status::Completed,
        "pytest: pyproject.toml has [tool.pytest.ini_options].",
    );
    feed.says(parent(1), "It uses pytest (pyproject.toml:12).", Vec::new());
    feed.notice(parent(1), Level::Warning, "#1 did not complete: do not take it as fact");
    feed.finish(parent(1), Status::Completed, "It uses pytest (pyproject.toml:12).");
    let mut screen = screen(Lang::En, (100, 30));
    insta::assert_snapshot!(text(&mut screen, &feed.story, feed.now()));
}

#[test]
fn without_a_model_one_line_says_so_and_what_to_do() {
    let header = HeaderFacts { language_model: false, ..header() };
    let mut screen = Screen::new(Lang::En, Palette { colour: true }, header, (100, 20));
    let feed = Feed::new();
    let text = text(&mut screen, &feed.story, feed.now());
    assert!(text.contains("offline · no language model"), "{text}");
    assert!(text.contains("OPENAI_API_KEY") && text.contains("Ollama"), "{text}");
}

#[test]
fn a_script_says_that_it_is_one() {
    let mut watch = Watch::new(Feed::new(), (120, 20));
    let text = watch.text();
    assert!(text.contains("script · demo-1 · read-only"), "{text}");
    assert!(text.contains("answers are played") && !text.contains("OPENAI_API_KEY"), "{text}");
}

#[test]
fn the_top_line_gives_up_what_matters_least_first() {
    let mut watch = Watch::new(three_children(), (120, 30));
    watch.screen.header.workspace = "~/a/long/way/to/the/code/demo".to_owned();
    let mut top = |width: u16| {
        watch.screen.size = (width, 30);
        watch.text().lines().next().unwrap().to_owned()
    };
    for (width, there, gone) in [
        (120, "~/a/long/way/to/the/code/demo (main)", "…"),
        (100, "~/a/long/way/to/the/code/demo (main)", "kept out"),
        (80, "…/the/code/demo (main)", "ctx"),
        (60, "script · demo-1 · read-only · fenced · $0.04", "…"),
        (50, "demo", "demo (main)"),
        (40, "read-only · fenced · $0.04", "kept"),
    ] {
        let line = top(width);
        assert!(line.contains(there) && !line.contains(gone), "{width}: {line}");
        assert!(line.contains("read-only") && line.contains("$0.04"), "{width}: {line}");
    }
}

#[test]
fn an_unknown_price_is_never_shown_as_zero() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1).turn(parent(1), 1);
    feed.charged(parent(1), super::feed::usage(100, 10, None));
    let mut screen = screen(Lang::En, (140, 30));
    let text = text(&mut screen, &feed.story, feed.now());
    assert!(text.contains("cost unknown") && !text.contains("$0"), "{text}");
}

#[test]
fn the_caret_stands_behind_what_was_typed_wide_characters_included() {
    let mut watch = Watch::new(Feed::new(), (80, 24));
    watch.type_text("a子b");
    let (_, caret) = frame(&mut watch.screen, &watch.feed.story, watch.feed.now());
    let caret = caret.unwrap();
    assert_eq!((caret.x, caret.y), (2 + 4, 22));
    watch.press(&["Alt+1"]);
    let (_, caret) = frame(&mut watch.screen, &watch.feed.story, watch.feed.now());
    assert!(caret.is_none());
}

#[test]
fn the_spinner_moves_only_while_something_runs() {
    let mut feed = three_children();
    let mut screen = screen(Lang::En, (120, 40));
    let first = text(&mut screen, &feed.story, feed.now());
    feed.wait(125);
    assert_ne!(text(&mut screen, &feed.story, feed.now()), first);
    feed.finish_child(3, Status::Completed, "done");
    feed.finish(parent(1), Status::Completed, "done");
    let ended = text(&mut screen, &feed.story, feed.now());
    feed.wait(60_125);
    assert_eq!(text(&mut screen, &feed.story, feed.now()), ended);
}

#[test]
fn a_frame_lays_out_what_is_visible_however_long_the_story_is() {
    let mut feed = Feed::new();
    for turn in 0..2_000 {
        feed.user(1, &format!("question {turn}")).says(parent(1), "a\nb\nc", Vec::new());
    }
    let mut screen = screen(Lang::En, (120, 40));
    let (buffer, _) = frame(&mut screen, &feed.story, feed.now());
    assert!(rows(&buffer).iter().any(|row| row.contains("question 1999")));
    assert!(screen.conversation.laid_out() < 60, "{}", screen.conversation.laid_out());
}
