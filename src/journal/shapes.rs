//! What keys look like: well-known beginnings, then a long word with digits in it. It refuses to
//! know any key in particular.

use super::redact::REDACTED;

struct Shape {
    beginning: &'static str,
    /// Characters that follow at least.
    least: usize,
    body: Body,
}

/// The characters that a key goes on with. The narrower, the fewer honest names are taken for keys.
#[derive(Clone, Copy)]
enum Body {
    /// Letters and digits.
    Plain,
    /// Also `-` and `_`.
    Dashed,
    /// Also what base64 and tokens in parts need.
    Token,
}

impl Body {
    fn has(self, c: char) -> bool {
        match self {
            Self::Plain => c.is_ascii_alphanumeric(),
            Self::Dashed => c.is_ascii_alphanumeric() || matches!(c, '-' | '_'),
            Self::Token => {
                c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | '+' | '/' | '=')
            }
        }
    }
}

const fn shape(beginning: &'static str, least: usize, body: Body) -> Shape {
    Shape { beginning, least, body }
}

/// The beginnings are those that the issuers document for their keys and tokens.
const SHAPES: [Shape; 21] = [
    shape("sk-", 16, Body::Dashed),
    shape("sk_live_", 16, Body::Plain),
    shape("rk_live_", 16, Body::Plain),
    shape("ghp_", 20, Body::Plain),
    shape("gho_", 20, Body::Plain),
    shape("ghu_", 20, Body::Plain),
    shape("ghs_", 20, Body::Plain),
    shape("ghr_", 20, Body::Plain),
    shape("github_pat_", 20, Body::Dashed),
    shape("glpat-", 16, Body::Dashed),
    shape("xoxb-", 16, Body::Dashed),
    shape("xoxp-", 16, Body::Dashed),
    shape("xoxa-", 16, Body::Dashed),
    shape("xoxs-", 16, Body::Dashed),
    shape("AKIA", 16, Body::Plain),
    shape("AIza", 30, Body::Dashed),
    shape("hf_", 20, Body::Plain),
    shape("npm_", 30, Body::Plain),
    shape("eyJ", 60, Body::Token),
    shape("Bearer ", 16, Body::Token),
    shape("bearer ", 16, Body::Token),
];

const BLOCK_BEGINNING: &str = "-----BEGIN ";
const BLOCK_KIND: &str = "PRIVATE KEY-----";
const BLOCK_END: &str = "-----END ";

/// A text, or a part of one that begins inside of a word.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    /// The text.
    pub(super) text: &'a str,
    /// True if a word goes on at its start.
    pub(super) inside_word: bool,
}

impl Part<'_> {
    /// True if a word may begin at this place. Scripts without spaces end a word as a space does.
    fn begins_word(self, at: usize) -> bool {
        if at == 0 { !self.inside_word } else { !ends_in_word(&self.text[..at]) }
    }

    fn starts(self, beginning: &str) -> impl Iterator<Item = usize> {
        let all = self.text.match_indices(beginning).map(|(at, _)| at);
        all.filter(move |at| self.begins_word(*at))
    }
}

/// True if what follows this text goes on with its last word.
pub(super) fn ends_in_word(text: &str) -> bool {
    text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// The text with what looks like a key blotted out, its beginning left to tell what it was; `None`
/// if nothing looks like one.
pub(super) fn blot(part: Part<'_>) -> Option<String> {
    let text = part.text;
    let mut spans = private_keys(text);
    for shape in &SHAPES {
        spans.extend(keys(part, shape));
    }
    if spans.is_empty() {
        return None;
    }
    spans.sort_unstable();
    let (mut blotted, mut done) = (String::with_capacity(text.len()), 0);
    for (from, to) in spans {
        if from >= done {
            blotted.push_str(&text[done..from]);
            blotted.push_str(REDACTED);
        }
        done = done.max(to);
    }
    blotted.push_str(&text[done..]);
    Some(blotted)
}

/// Where, at the end of a text that goes on, something begins that may become a key.
pub(super) fn open_end(part: Part<'_>) -> Option<usize> {
    let text = part.text;
    let open = |shape: &Shape| {
        let grown = part
            .starts(shape.beginning)
            .find(|at| text[at + shape.beginning.len()..].chars().all(|c| shape.body.has(c)));
        grown.or_else(|| partial_end(text, shape.beginning).filter(|at| part.begins_word(*at)))
    };
    let block = text.rfind(BLOCK_BEGINNING).filter(|at| block_end(&text[*at..]).is_none());
    let block = block.or_else(|| partial_end(text, BLOCK_BEGINNING));
    SHAPES.iter().filter_map(open).chain(block).min()
}

/// Where the longest end of `text` begins that is a beginning of `word`, but not all of it.
pub(super) fn partial_end(text: &str, word: &str) -> Option<usize> {
    let longest = word.len().saturating_sub(1).min(text.len());
    let fits = |length: &usize| {
        text.as_bytes().ends_with(&word.as_bytes()[..*length])
            && text.is_char_boundary(text.len() - length)
    };
    (1..=longest).rev().find(fits).map(|length| text.len() - length)
}

/// The part of each key of this shape after its beginning.
fn keys(part: Part<'_>, shape: &Shape) -> impl Iterator<Item = (usize, usize)> {
    let text = part.text;
    part.starts(shape.beginning).filter_map(move |at| {
        let from = at + shape.beginning.len();
        let rest = &text[from..];
        let body = &rest[..rest.find(|c| !shape.body.has(c)).unwrap_or(rest.len())];
        // A sentence's full stop or a heading in dashes is no part of the key before it.
        let body = body.split("-----").next().unwrap_or(body).trim_end_matches(['.', '-']);
        let digits = body.contains(|c: char| c.is_ascii_digit());
        (body.len() >= shape.least && digits).then_some((from, from + body.len()))
    })
}

/// The insides of private keys in their text form.
fn private_keys(text: &str) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    let mut done = 0;
    while let Some(at) = text[done..].find(BLOCK_BEGINNING).map(|at| at + done) {
        done = at + BLOCK_BEGINNING.len();
        let heading = &text[done..text[done..].find('\n').map_or(text.len(), |end| done + end)];
        if let Some(kind) = heading.find(BLOCK_KIND) {
            let from = done + kind + BLOCK_KIND.len();
            let to = text[from..].find(BLOCK_END).map_or(text.len(), |end| from + end);
            spans.push((from, to));
            done = to;
        }
    }
    spans
}

/// Where a block that begins at the start of `text` has ended.
fn block_end(text: &str) -> Option<usize> {
    text.find(BLOCK_END)
}
