//! Telling typing from a paste that a terminal does not bracket: an Enter in the midst of a burst of
//! keys is a line end, not a command. It has no clock: it is told where a burst ends.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::msg::Msg;

/// So many keys of one burst are a paste.
const MANY: usize = 3;

/// The keys that have come in and are not sorted out yet.
#[derive(Debug, Default)]
pub struct Burst {
    /// An Enter that may be the burst's end.
    held: Option<KeyEvent>,
    /// How many keys the burst has so far.
    keys: usize,
    /// True if the burst has line ends: then the Enter at its end is one more of them, and nothing
    /// is sent. After a single line it is the key that sends.
    has_lines: bool,
}

impl Burst {
    /// Takes in keys of the same burst; `typing` if letters go into the input.
    pub fn keys(&mut self, keys: &[KeyEvent], typing: bool) -> Vec<Msg> {
        let mut messages = Vec::new();
        let mut text = String::new();
        for (index, key) in keys.iter().enumerate() {
            if let Some(enter) = self.held.take() {
                if letter(key).is_some() {
                    text.push('\n');
                    self.has_lines = true;
                } else {
                    messages.extend(pasted(&mut text));
                    messages.push(self.last_enter(enter));
                }
            }
            self.keys += 1;
            let is_last = index + 1 == keys.len();
            match letter(key).filter(|_| typing) {
                Some('\n') if self.keys >= MANY => self.held = Some(*key),
                // A tab at the end is rather a key than a text.
                Some('\t') if self.keys >= MANY && !is_last => text.push('\t'),
                Some('\n' | '\t') | None => {
                    messages.extend(pasted(&mut text).chain([Msg::Key(*key)]));
                }
                Some(c) => text.push(c),
            }
        }
        messages.extend(pasted(&mut text));
        messages
    }

    /// The burst is over: the Enter at its end, if there is one.
    pub fn end(&mut self) -> Option<Msg> {
        let burst = std::mem::take(self);
        burst.held.map(|enter| burst.last_enter(enter))
    }

    fn last_enter(&self, enter: KeyEvent) -> Msg {
        if self.has_lines { Msg::Paste("\n".to_owned()) } else { Msg::Key(enter) }
    }
}

/// A single letter is typed, more of them at once are pasted.
fn pasted(text: &mut String) -> impl Iterator<Item = Msg> {
    let text = std::mem::take(text);
    let mut chars = text.chars();
    let msg = match (chars.next(), chars.next()) {
        (None, _) => None,
        (Some(c), None) if c != '\n' => {
            Some(Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)))
        }
        (Some(_), _) => Some(Msg::Paste(text)),
    };
    msg.into_iter()
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
    fn an_enter_in_a_burst_is_a_line_end_however_the_burst_is_cut() {
        let keys = typed("one\rtwo\r");
        for cut in 0..=keys.len() {
            let mut burst = Burst::default();
            let mut all = shown(burst.keys(&keys[..cut], true));
            all.extend(shown(burst.keys(&keys[cut..], true)));
            assert_eq!(all.concat().replace('+', ""), "one\ntwo", "cut at {cut}");
            assert_eq!(shown(burst.end()), ["+\n"], "it sends nothing");
            assert!(burst.end().is_none());
        }
    }

    #[test]
    fn a_single_line_with_its_enter_is_sent() {
        let mut burst = Burst::default();
        assert_eq!(shown(burst.keys(&typed("one\r"), true)), ["+one"]);
        assert_eq!(shown(burst.end()), ["Enter"]);
    }

    #[test]
    fn a_typed_enter_is_an_enter() {
        let mut burst = Burst::default();
        for key in ["a", "b", "c", "\r"] {
            let messages = burst.keys(&typed(key), true);
            assert_eq!(shown(messages), [if key == "\r" { "Enter" } else { key }]);
            assert!(burst.end().is_none());
        }
    }

    #[test]
    fn keys_that_are_no_text_stay_keys_and_panes_get_all_of_them() {
        let mut burst = Burst::default();
        assert_eq!(shown(burst.keys(&typed("ab<c\td\t"), true)), ["+ab", "Left", "+c\td", "Tab"]);
        let mut burst = Burst::default();
        assert_eq!(shown(burst.keys(&typed("jjx\r"), false)), ["j", "j", "x", "Enter"]);
    }
}
