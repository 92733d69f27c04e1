//! Takes a `<think>` block at the beginning of a text apart from the answer, piece by piece, for
//! servers that leave the model's reasoning in its text. It knows no wire.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A text that may begin with reasoning.
#[derive(Debug, Default)]
pub enum ThinkTags {
    /// What came so far may still become the opening tag.
    #[default]
    Beginning,
    /// The same, with what is held back.
    Held(String),
    /// Inside; the end of what came may be the beginning of the closing tag.
    Inside(String),
    /// Behind the closing tag: the blank before the answer is dropped.
    Behind,
    /// In the answer, where a tag is only text.
    Answer,
}

/// A piece taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// Reasoning.
    pub reasoning: String,
    /// The answer.
    pub text: String,
}

impl ThinkTags {
    /// Takes a piece and gives what can be told of it.
    pub fn push(&mut self, piece: &str) -> Apart {
        let mut apart = Apart::default();
        match std::mem::take(self) {
            Self::Beginning => self.begin(piece.to_owned(), &mut apart),
            Self::Held(held) => self.begin(held + piece, &mut apart),
            Self::Inside(held) => self.think(held + piece, &mut apart),
            Self::Behind => self.answer(piece, &mut apart),
            Self::Answer => {
                piece.clone_into(&mut apart.text);
                *self = Self::Answer;
            }
        }
        apart
    }

    /// What is still held back when the text is over.
    pub fn finish(self) -> Apart {
        match self {
            Self::Held(text) => Apart { text, ..Apart::default() },
            Self::Inside(reasoning) => Apart { reasoning, ..Apart::default() },
            Self::Beginning | Self::Behind | Self::Answer => Apart::default(),
        }
    }

    fn begin(&mut self, held: String, apart: &mut Apart) {
        let start = held.trim_start();
        if let Some(rest) = start.strip_prefix(OPEN) {
            self.think(rest.to_owned(), apart);
        } else if OPEN.starts_with(start) {
            *self = Self::Held(held);
        } else {
            apart.text = held;
            *self = Self::Answer;
        }
    }

    fn think(&mut self, mut held: String, apart: &mut Apart) {
        if let Some(end) = held.find(CLOSE) {
            apart.reasoning.push_str(&held[..end]);
            self.answer(&held[end + CLOSE.len()..], apart);
        } else {
            let rest = held.split_off(held.len() - unfinished(&held, CLOSE));
            apart.reasoning = held;
            *self = Self::Inside(rest);
        }
    }

    fn answer(&mut self, piece: &str, apart: &mut Apart) {
        piece.trim_start().clone_into(&mut apart.text);
        *self = if apart.text.is_empty() { Self::Behind } else { Self::Answer };
    }
}

/// Bytes at the end of `text` that are a beginning of `tag`, but not all of it.
pub fn unfinished(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|length| text.ends_with(&tag[..*length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, size: usize) -> (String, String) {
        let mut tags = ThinkTags::default();
        let mut whole = Apart::default();
        let letters: Vec<char> = text.chars().collect();
        let mut add = |apart: Apart| {
            whole.reasoning.push_str(&apart.reasoning);
            whole.text.push_str(&apart.text);
        };
        for piece in letters.chunks(size) {
            add(tags.push(&piece.iter().collect::<String>()));
        }
        add(tags.finish());
        (whole.reasoning, whole.text)
    }

    #[test]
    fn a_block_at_the_beginning_is_reasoning_however_it_is_cut() {
        for (text, reasoning, answer) in [
            ("<think>子 < a</think>\n\nyes", "子 < a", "yes"),
            ("\n <think></think>yes </think>", "", "yes </think>"),
            ("plain <think>no</think>", "", "plain <think>no</think>"),
            ("<thin", "", "<thin"),
            ("<thing>", "", "<thing>"),
            ("<think>cut </thi", "cut </thi", ""),
            ("", "", ""),
        ] {
            for size in 1..=text.chars().count().max(1) {
                let expected = (reasoning.to_owned(), answer.to_owned());
                assert_eq!(read(text, size), expected, "{text:?} in pieces of {size}");
            }
        }
    }
}
