//! The question before the chat: whether a folder that brings settings, roles or commands of its own
//! is trusted. What is asked about is told to this module; it reads no file.

use super::asking::Guard;
use super::lang::Lang;
use super::long_text::{Kind, LongText};

/// What a folder brings along that has not been agreed to as it is now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustQuestion {
    /// The folder as people write it.
    pub folder: String,
    /// Each file's path, and its whole text or its unified diff since it was last agreed to.
    pub files: Vec<(String, String)>,
}

/// The question while it is open.
#[derive(Debug)]
pub struct Trust {
    /// The folder as people write it.
    pub folder: String,
    /// What it brings along.
    pub text: LongText,
    /// Keeps early keys from answering.
    pub guard: Guard,
    /// What is to be sent once it is answered.
    pub first_message: Option<String>,
}

impl Trust {
    /// The question as it is shown.
    pub fn of(question: &TrustQuestion, first_message: Option<String>, lang: Lang) -> Self {
        let mut text = LongText::default();
        text.add(
            lang.pick(
                "This folder has settings, roles or commands of its own. They can only narrow what \
                 is allowed, but they do tell models what to do. Read them:",
                "此文件夹带有自己的设置、角色或命令。它们只能收窄权限，但会指示模型做什么。请先阅读：",
            ),
            Kind::Plain,
        );
        for (path, content) in &question.files {
            text.add("\n", Kind::Plain);
            text.add(path, Kind::Heading);
            let kind = if is_diff(content) { Kind::Diff } else { Kind::Plain };
            text.add(content, kind);
        }
        Self { folder: question.folder.clone(), text, guard: Guard::default(), first_message }
    }
}

/// True for what a diff would show of changes; a whole new file is shown as it is.
fn is_diff(text: &str) -> bool {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let hunk = |line: &str| line.starts_with("@@ -");
    first.starts_with("diff ")
        || hunk(first)
        || (first.starts_with("--- ") && lines.nth(1).is_some_and(hunk))
}
