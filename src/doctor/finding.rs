//! One thing that was found, and how a page shows it.

use std::fmt::Write;

use crate::sanitize;

/// How a finding is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Fine,
    Note,
    Broken,
    /// A line of a table.
    Row,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    mark: Mark,
    text: String,
}

impl Finding {
    /// It is as it should be.
    pub fn fine(text: impl Into<String>) -> Self {
        Self { mark: Mark::Fine, text: text.into() }
    }

    /// It works, and is worth knowing.
    pub fn note(text: impl Into<String>) -> Self {
        Self { mark: Mark::Note, text: text.into() }
    }

    /// It does not work; the text says what to do.
    pub fn broken(text: impl Into<String>) -> Self {
        Self { mark: Mark::Broken, text: text.into() }
    }

    /// A line of a table.
    pub fn row(text: impl Into<String>) -> Self {
        Self { mark: Mark::Row, text: text.into() }
    }

    /// True if offshoot cannot be used because of it.
    pub fn is_broken(&self) -> bool {
        self.mark == Mark::Broken
    }

    /// Its words.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Findings about one matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The matter.
    pub title: &'static str,
    /// What was found.
    pub findings: Vec<Finding>,
}

impl Section {
    /// A section.
    pub fn new(title: &'static str, findings: Vec<Finding>) -> Self {
        Self { title, findings }
    }

    /// Appends it. Words carry the meaning, not colours or symbols that a terminal may not have.
    pub(super) fn write(&self, page: &mut String) {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "\n{}", self.title);
        for finding in &self.findings {
            let mark = match finding.mark {
                Mark::Fine => "ok  ",
                Mark::Note => "note",
                Mark::Broken => "FAIL",
                Mark::Row => "    ",
            };
            let _ = writeln!(page, "  {mark}  {}", sanitize::line(&finding.text));
        }
    }
}
