//! Telling typing from a paste that a terminal does not bracket: an Enter in the midst of a burst of
//! keys is a line end, not a command. Time comes in as a parameter.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tokio::time::Instant;

use super::msg::Msg;

/// An Enter at the end of a burst waits this long for more of it.
const PAUSE: Duration = Duration::from_millis(15);
/// Keys that come at once from here on are a burst; fingers are slower.
const AT_ONCE: usize = 3;

/// The keys that have come in and are not sorted out yet.
#[derive(Debug, Default)]
pub struct Burst {
    /// An Enter at the end of a burst, and when it counts as pressed.
    held: Option<(KeyEvent, Instant)>,
}

impl Burst {
    /// Takes in keys that came at once; `typing` if letters go into the input.
    pub fn keys(&mut self, keys: Vec<KeyEvent>, typing: bool, now: Instant) -> Vec<Msg> {
        if keys.is_empty() {
            return Vec::new();
        }
        let held = self.held.take();
        let continues = held.is_some_and(|(_, due)| now < due) && letter(&keys[0]).is_some();
        let mut messages = Vec::new();
        let mut text = String::new();
        match held {
            Some(_) if continues => text.push('\n'),
            Some((enter, _)) => messages.push(Msg::Key(enter)),
            None => {}
        }
        if !typing || !(continues || keys.len() >= AT_ONCE) {
            messages.extend(keys.into_iter().map(Msg::Key));
            return messages;
        }
        for (index, key) in keys.iter().enumerate() {
            let is_last = index + 1 == keys.len();
            match letter(key) {
                Some('\n') if is_last => self.held = Some((*key, now + PAUSE)),
                Some('\t') if is_last => messages.extend(pasted(&mut text).chain([Msg::Key(*key)])),
                Some(c) => text.push(c),
                None => messages.extend(pasted(&mut text).chain([Msg::Key(*key)])),
            }
        }
        messages.extend(pasted(&mut text));
        messages
    }

    /// When the held Enter counts as pressed.
    pub fn due(&self) -> Option<Instant> {
        self.held.map(|(_, due)| due)
    }

    /// The held Enter, if its time has come.
    pub fn settle(&mut self, now: Instant) -> Option<Msg> {
        let (enter, _) = self.held.take_if(|(_, due)| now >= *due)?;
        Some(Msg::Key(enter))
    }
}

fn pasted(text: &mut String) -> impl Iterator<Item = Msg> {
    let text = std::mem::take(text);
    (!text.is_empty()).then_some(Msg::Paste(text)).into_iter()
}

/// What a key is in a text; `None` if it is none.
fn letter(key: &KeyEvent) -> Option<char> {
    match (key.code, key.modifiers - KeyModifiers::SHIFT) {
        (KeyCode::Char(c), KeyModifiers::NONE) => Some(c),
        // A line feed arrives as Ctrl+J.
        (KeyCode::Enter, KeyModifiers::NONE) | (KeyCode::Char('j'), KeyModifiers::CONTROL) => {
            Some('\n')
        }
        (KeyCode::Tab, KeyModifiers::NONE) => Some('\t'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Vec<KeyEvent> {
        let code = |c| match c {
            '\r' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '<' => KeyCode::Left,
            c => KeyCode::Char(c),
        };
        text.chars().map(|c| KeyEvent::new(code(c), KeyModifiers::NONE)).collect()
    }

    fn shown(messages: impl IntoIterator<Item = Msg>) -> Vec<String> {
        let one = |msg: Msg| match msg {
            Msg::Key(key) => key.code.to_string(),
            Msg::Paste(text) => format!("+{text}"),
            other => panic!("{other:?}"),
        };
        messages.into_iter().map(one).collect()
    }

    #[test]
    fn an_enter_in_the_midst_of_a_burst_is_a_line_end() {
        let mut burst = Burst::default();
        let now = Instant::now();
        assert_eq!(shown(burst.keys(typed("one\rtwo\r"), true, now)), ["+one\ntwo"]);
        let soon = now + Duration::from_millis(5);
        assert_eq!(shown(burst.keys(typed("three\r"), true, soon)), ["+\nthree"]);
        let later = burst.due().unwrap_or(soon);
        assert_eq!(shown(burst.settle(later)), ["Enter"]);
        assert!(burst.due().is_none());
    }

    #[test]
    fn a_typed_enter_is_an_enter() {
        let mut burst = Burst::default();
        let now = Instant::now();
        assert_eq!(shown(burst.keys(typed("a"), true, now)), ["a"]);
        assert_eq!(shown(burst.keys(typed("\r"), true, now)), ["Enter"]);
        assert!(burst.due().is_none());
    }

    #[test]
    fn a_key_after_the_pause_does_not_swallow_the_enter() {
        let mut burst = Burst::default();
        let now = Instant::now();
        assert_eq!(shown(burst.keys(typed("question\r"), true, now)), ["+question"]);
        let late = now + Duration::from_millis(40);
        assert_eq!(shown(burst.keys(typed("x"), true, late)), ["Enter", "x"]);
    }

    #[test]
    fn keys_that_are_no_text_stay_keys_and_panes_get_all_of_them() {
        let mut burst = Burst::default();
        let now = Instant::now();
        assert_eq!(
            shown(burst.keys(typed("ab<c\td\t"), true, now)),
            ["+ab", "Left", "+c\td", "Tab"]
        );
        assert_eq!(shown(burst.keys(typed("jjx\r"), false, now)), ["j", "j", "x", "Enter"]);
    }
}
