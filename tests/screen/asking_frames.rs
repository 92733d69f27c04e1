//! Whole frames of what a person is asked.

use offshoot::ui::Lang;

use super::feed::{Asked, Feed, child};
use super::permissions::trusting;
use super::questions::{SIZES, asks_to_write, read, read_on, test_call, two_ask, worker};
use super::view::{Watch, screen, text};

/// The same question at several sizes, one below the other.
fn at_sizes(lang: Lang, mut make: impl FnMut() -> Feed, keys: &[&str]) -> String {
    let mut pictures = Vec::new();
    for (width, height) in SIZES {
        let mut watch = Watch::new(make(), (width, height));
        let open = watch.screen.questions;
        watch.screen = screen(lang, (width, height));
        watch.screen.questions = open;
        read_on(&mut watch);
        watch.press(keys);
        pictures.push(format!("{width}x{height}\n{}", watch.text()));
    }
    pictures.join("\n\n")
}

fn a_write() -> Feed {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    asks_to_write(&mut feed, 3, "d1");
    feed.wait(12_000);
    feed
}

fn a_command() -> Feed {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let call = test_call("d1");
    let what = Asked { summary: "cargo test", prefix: Some("cargo test"), ..Asked::default() };
    feed.says(child(3), "", vec![call.clone()]).asks(child(3), &call, &what).wait(3_000);
    feed
}

#[test]
fn a_write_with_its_diff() {
    insta::assert_snapshot!(at_sizes(Lang::En, a_write, &[]));
}

#[test]
fn a_write_in_chinese() {
    insta::assert_snapshot!(at_sizes(Lang::Zh, a_write, &[]));
}

#[test]
fn a_command_with_its_folder_and_fence() {
    insta::assert_snapshot!(at_sizes(Lang::En, a_command, &[]));
}

#[test]
fn a_command_in_chinese() {
    insta::assert_snapshot!(at_sizes(Lang::Zh, a_command, &[]));
}

#[test]
fn two_that_ask_at_once() {
    insta::assert_snapshot!(at_sizes(Lang::En, two_ask, &[]));
}

#[test]
fn a_reason_that_is_being_typed() {
    let keys = ["r", "t", "o", "o", "Space", "s", "l", "o", "w"];
    let typed = at_sizes(Lang::En, a_command, &keys);
    let long = "a reason that is longer than this terminal is wide";
    let mut watch = read(a_command(), (40, 12));
    watch.press(&["r"]);
    watch.type_text(long);
    insta::assert_snapshot!(format!("{typed}\n\n{}", watch.text()));
}

#[test]
fn put_off_and_open_again() {
    let mut watch = read(a_write(), (120, 20));
    watch.press(&["Esc"]);
    let later = watch.text();
    watch.press(&["Alt+2", "Enter"]);
    insta::assert_snapshot!(format!("{later}\n\n{}", watch.text()));
}

#[test]
fn down_to_a_single_cell() {
    let mut pictures = Vec::new();
    for width in [60, 40, 19, 12, 6, 4, 3, 1] {
        let mut watch = read(a_command(), (width, 1));
        pictures.push(format!("{width}x1 {}", watch.text()));
    }
    insta::assert_snapshot!(pictures.join("\n"));
}

#[test]
fn the_question_whether_to_trust_a_folder() {
    let mut watch = trusting((100, 24), None);
    let wide = watch.text();
    let mut watch = trusting((20, 5), None);
    insta::assert_snapshot!(format!("{wide}\n\n{}", watch.text()));
}

#[test]
fn a_frame_without_colours_says_the_same() {
    let feed = a_write();
    let mut watch = read(feed, (100, 30));
    let coloured = watch.text();
    watch.screen.palette.colour = false;
    assert_eq!(text(&mut watch.screen, &watch.feed.story, watch.feed.now()), coloured);
}
