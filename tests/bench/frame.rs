//! What a frame costs on a short and on a very long transcript: the two must be alike.
//!
//! Run with `cargo bench --bench frame`.

use crossterm::event::{KeyCode, KeyEvent};
use divan::Bencher;
use offshoot::domain::event::{Event, Fact, MessageFact, Origin, Timestamp};
use offshoot::domain::ids::RunId;
use offshoot::story::Story;
use offshoot::ui::msg::Msg;
use offshoot::ui::paint::Palette;
use offshoot::ui::screen::Screen;
use offshoot::ui::update::update;
use offshoot::ui::{HeaderFacts, Lang, draw_frame};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Lines in one message of the transcript.
const LINES_A_MESSAGE: usize = 20;
const SIZE: (u16, u16) = (120, 40);
const NOW: Timestamp = Timestamp(10_000_000);

fn main() {
    divan::main();
}

/// A conversation of so many lines, the newest at the bottom.
fn story(lines: usize) -> Story {
    let mut story = Story::default();
    let text = vec!["a line of a long answer, as models write them"; LINES_A_MESSAGE].join("\n");
    for id in 1..=(lines / LINES_A_MESSAGE) as u64 {
        story.apply(&event(id, Fact::Message(MessageFact::user(text.clone()))));
    }
    story
}

fn event(id: u64, fact: Fact) -> Event {
    Event { id, ts: Timestamp(id), origin: Origin::parent(RunId::parent(1)), fact }
}

fn screen() -> Screen {
    Screen::new(Lang::En, Palette { colour: true }, HeaderFacts::default(), SIZE)
}

fn buffer() -> Buffer {
    Buffer::empty(Rect { x: 0, y: 0, width: SIZE.0, height: SIZE.1 })
}

/// One more frame of a screen that has been drawn before.
#[divan::bench(args = [100, 100_000])]
fn a_frame(bencher: Bencher, lines: usize) {
    let (story, mut screen, mut buffer) = (story(lines), screen(), buffer());
    draw_frame(&story, &mut screen, NOW, &mut buffer);
    bencher.bench_local(|| draw_frame(&story, &mut screen, NOW, &mut buffer));
}

/// A frame after another page was turned to.
#[divan::bench(args = [100, 100_000])]
fn a_frame_of_another_page(bencher: Bencher, lines: usize) {
    let (story, mut screen, mut buffer) = (story(lines), screen(), buffer());
    draw_frame(&story, &mut screen, NOW, &mut buffer);
    let mut turned = false;
    bencher.bench_local(|| {
        turned = !turned;
        let key = KeyEvent::from(if turned { KeyCode::PageUp } else { KeyCode::PageDown });
        update(&mut screen, &story, Msg::Key(key), NOW);
        draw_frame(&story, &mut screen, NOW, &mut buffer)
    });
}

/// A frame after more words came in at the end.
#[divan::bench(args = [100, 100_000])]
fn a_frame_while_words_stream_in(bencher: Bencher, lines: usize) {
    let (mut story, mut screen, mut buffer) = (story(lines), screen(), buffer());
    draw_frame(&story, &mut screen, NOW, &mut buffer);
    let mut id = 1_000_000;
    bencher.bench_local(|| {
        // A new message now and then, as turns do, so that the streaming one stays of one size.
        id += 1;
        let fact = if id % 64 == 0 {
            Fact::Message(MessageFact::user("another"))
        } else {
            Fact::TextDelta { text: "a few more words ".to_owned() }
        };
        story.apply(&event(id, fact));
        draw_frame(&story, &mut screen, NOW, &mut buffer)
    });
}
