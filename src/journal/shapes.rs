//! What keys look like: well-known beginnings, then a long word with digits in it. It refuses to
//! know any key in particular.

use super::redact::REDACTED;

struct Shape {
    beginning: &'static str,
    /// Characters that follow at least.
    least: usize,
}

const fn shape(beginning: &'static str, least: usize) -> Shape {
    Shape { beginning, least }
}

/// The beginnings are those that the issuers document for their keys and tokens.
const SHAPES: [Shape; 21] = [
    shape("sk-", 16),
    shape("sk_live_", 16),
    shape("rk_live_", 16),
    shape("ghp_", 20),
    shape("gho_", 20),
    shape("ghu_", 20),
    shape("ghs_", 20),
    shape("ghr_", 20),
    shape("github_pat_", 20),
    shape("glpat-", 16),
    shape("xoxb-", 16),
    shape("xoxp-", 16),
    shape("xoxa-", 16),
    shape("xoxs-", 16),
    shape("AKIA", 16),
    shape("AIza", 30),
    shape("hf_", 20),
    shape("npm_", 30),
    shape("eyJ", 60),
    shape("Bearer ", 16),
    shape("bearer ", 16),
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
            .find(|at| text[at + shape.beginning.len()..].chars().all(is_key));
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

fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | '+' | '/' | '=')
}

/// The part of each key of this shape after its beginning.
fn keys(part: Part<'_>, shape: &Shape) -> impl Iterator<Item = (usize, usize)> {
    let text = part.text;
    part.starts(shape.beginning).filter_map(move |at| {
        let from = at + shape.beginning.len();
        let rest = &text[from..];
        let body = &rest[..rest.find(|c| !is_key(c)).unwrap_or(rest.len())];
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
