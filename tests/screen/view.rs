//! A screen in a test's hands: keys go in, text comes out.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use offshoot::domain::command::Command;
use offshoot::domain::event::Timestamp;
use offshoot::domain::rules::Rules;
use offshoot::story::Story;
use offshoot::ui::msg::{Effect, Msg};
use offshoot::ui::paint::Palette;
use offshoot::ui::screen::Screen;
use offshoot::ui::update::update;
use offshoot::ui::{HeaderFacts, Lang, draw_frame};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::feed::Feed;

pub fn header() -> HeaderFacts {
    HeaderFacts {
        workspace: "~/code/demo".to_owned(),
        branch: Some("main".to_owned()),
        model: "demo-1".to_owned(),
        mode: "read-only".to_owned(),
        fence: None,
        rules: Rules::parse(&["bash(cargo test)"], &[], &["read_file(.env)"]).unwrap(),
        context_window: Some(10_000),
        language_model: true,
    }
}

pub fn screen(lang: Lang, size: (u16, u16)) -> Screen {
    Screen::new(lang, Palette { colour: true }, header(), size)
}

/// One frame in a fresh buffer.
pub fn frame(screen: &mut Screen, story: &Story, now: Timestamp) -> (Buffer, Option<Position>) {
    let (width, height) = screen.size;
    let mut buffer = Buffer::empty(Rect { x: 0, y: 0, width, height });
    let caret = draw_frame(story, screen, now, &mut buffer);
    (buffer, caret)
}

/// A frame's rows as a person sees them, without blanks at the end.
pub fn rows(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width);
    let row = |cells: &[ratatui::buffer::Cell]| {
        let mut text = String::new();
        let mut covered = 0;
        for cell in cells {
            if covered > 0 {
                covered -= 1;
                continue;
            }
            let symbol = cell.symbol();
            text.push_str(symbol);
            covered = offshoot::ui::wrap::cells(symbol).saturating_sub(1);
        }
        text.trim_end().to_owned()
    };
    if width == 0 { Vec::new() } else { buffer.content.chunks(width).map(row).collect() }
}

pub fn text(screen: &mut Screen, story: &Story, now: Timestamp) -> String {
    rows(&frame(screen, story, now).0).join("\n")
}

/// Reads `Esc`, `^X`, `Alt+2`, `S-Enter`, `PgUp`, or a single character.
pub fn key(name: &str) -> KeyEvent {
    let (name, modifiers) = match name {
        name if name.starts_with('^') && name.len() > 1 => (&name[1..], KeyModifiers::CONTROL),
        name if name.starts_with("Alt+") => (&name[4..], KeyModifiers::ALT),
        name if name.starts_with("S-") => (&name[2..], KeyModifiers::SHIFT),
        name => (name, KeyModifiers::NONE),
    };
    let code = match name {
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Tab" => KeyCode::Tab,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "PgUp" => KeyCode::PageUp,
        "PgDn" => KeyCode::PageDown,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "Backspace" => KeyCode::Backspace,
        "Delete" => KeyCode::Delete,
        "Space" => KeyCode::Char(' '),
        "F1" => KeyCode::F(1),
        other => {
            let mut chars = other.chars();
            let c = chars.next().unwrap();
            assert!(chars.next().is_none(), "no key is called {other}");
            KeyCode::Char(if modifiers == KeyModifiers::CONTROL {
                c.to_ascii_lowercase()
            } else {
                c
            })
        }
    };
    KeyEvent::new(code, modifiers)
}

/// A screen that watches a session.
pub struct Watch {
    pub feed: Feed,
    pub screen: Screen,
    seen: usize,
}

impl Watch {
    pub fn new(feed: Feed, size: (u16, u16)) -> Self {
        let mut watch = Self { feed, screen: screen(Lang::En, size), seen: 0 };
        watch.see();
        watch
    }

    /// Tells the screen what has happened since.
    pub fn see(&mut self) {
        let events = self.feed.log[self.seen..].to_vec();
        self.seen = self.feed.log.len();
        let now = self.feed.now();
        update(&mut self.screen, &self.feed.story, Msg::Events(events), now);
    }

    pub fn press(&mut self, names: &[&str]) -> Vec<Effect> {
        self.see();
        let now = self.feed.now();
        let mut effects = Vec::new();
        for name in names {
            let msg = Msg::Key(key(name));
            effects.extend(update(&mut self.screen, &self.feed.story, msg, now));
        }
        effects
    }

    pub fn type_text(&mut self, text: &str) -> Vec<Effect> {
        let names: Vec<String> = text.chars().map(String::from).collect();
        self.press(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub fn paste(&mut self, text: &str) {
        let msg = Msg::Paste(text.to_owned());
        update(&mut self.screen, &self.feed.story, msg, self.feed.now());
    }

    pub fn text(&mut self) -> String {
        self.see();
        text(&mut self.screen, &self.feed.story, self.feed.now())
    }

    pub fn footer(&mut self) -> String {
        self.text().lines().last().unwrap_or_default().to_owned()
    }
}

pub fn sent(effects: &[Effect]) -> Vec<&Command> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Send(command) => Some(command),
            Effect::Repaint | Effect::Quit => None,
        })
        .collect()
}
