//! What is remarked on a run, and what was done to it, in words of both languages; what the runtime says itself stays as it is.

use std::borrow::Cow;

use crate::domain::event::Level;
use crate::story::{EXTENDED, Notice, STEERED, WRAP_UP};

use super::super::lang::Lang;
use super::super::paint::Tone;

/// What stands before a notice, and in which tone.
pub fn sign(level: Level) -> (&'static str, Tone) {
    match level {
        Level::Info => ("·", Tone::Quiet),
        Level::Warning => ("⚠", Tone::Warning),
        Level::Error => ("✗", Tone::Bad),
    }
}

/// A notice as a person reads it.
pub fn notice(notice: &Notice, lang: Lang) -> Cow<'_, str> {
    let text = &notice.text;
    match (notice.code.as_str(), lang) {
        (STEERED, Lang::En) => format!("you said: {text}").into(),
        (STEERED, Lang::Zh) => format!("你说：{text}").into(),
        (WRAP_UP, _) => lang.pick("asked to wrap up", "已要求收尾").into(),
        (EXTENDED, Lang::En) => format!("budget extended: {text}").into(),
        (EXTENDED, Lang::Zh) => format!("预算已追加：{text}").into(),
        _ => text.into(),
    }
}
