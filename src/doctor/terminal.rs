//! What the terminal can show, as far as the environment tells.

use std::io::IsTerminal;

use super::finding::{Finding, Section};

/// What the environment says of the terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terminal {
    /// `TERM`.
    pub term: Option<String>,
    /// `COLORTERM`.
    pub colorterm: Option<String>,
    /// The locale that decides about characters.
    pub locale: Option<String>,
    /// True if standard output goes to one.
    pub attached: bool,
}

impl Terminal {
    /// That of this process.
    pub fn here() -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            term: set("TERM"),
            colorterm: set("COLORTERM"),
            locale: ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set),
            attached: std::io::stdout().is_terminal(),
        }
    }

    pub(super) fn examine(&self) -> Section {
        let mut findings = vec![self.kind()];
        if !self.attached {
            findings.push(Finding::note("standard output is not a terminal here"));
        }
        findings.push(self.characters());
        Section::new("terminal", findings)
    }

    fn kind(&self) -> Finding {
        match self.term.as_deref() {
            None => Finding::note(
                "TERM is not set, so the screen cannot open; `offshoot run` works without it",
            ),
            Some("dumb") => Finding::note(
                "TERM is dumb, so the screen cannot open; `offshoot run` works without it",
            ),
            Some(term) => Finding::fine(format!("{term}, {}", self.colours(term))),
        }
    }

    fn colours(&self, term: &str) -> &'static str {
        match self.colorterm.as_deref() {
            Some("truecolor" | "24bit") => "16 million colours",
            Some(_) | None if term.contains("256color") => "256 colours",
            Some(_) | None => "16 colours",
        }
    }

    fn characters(&self) -> Finding {
        let utf8 = |locale: &str| {
            let lower = locale.to_ascii_lowercase();
            lower.ends_with("utf-8") || lower.ends_with("utf8")
        };
        match self.locale.as_deref() {
            Some(locale) if utf8(locale) => Finding::fine(format!("{locale} shows all characters")),
            Some(locale) => Finding::note(format!(
                "the locale {locale} is not UTF-8, so lines and Chinese may look wrong; set \
                 LANG=C.UTF-8"
            )),
            None => Finding::note(
                "no locale is set, so lines and Chinese may look wrong; set LANG=C.UTF-8",
            ),
        }
    }
}
