//! Named snippets that a task can choose from: the only way in which anything a parent knows can
//! reach a child, beside the words of the task itself.

use serde::{Deserialize, Serialize};

use super::hash::Sha;

/// Who may see a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sensitivity {
    /// Any child that a task gives it to.
    Normal,
    /// Only a child whose provider is on this machine.
    LocalOnly,
    /// No child, ever.
    Secret,
}

/// What a snippet is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnippetKind {
    /// A user's message.
    Request,
    /// The project's rules for agents.
    Rules,
    /// A child's report.
    Report,
    /// Something the user pinned.
    Pin,
    /// Something the parent model wrote down.
    Note,
}

/// What may be told about a snippet without telling it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnippetCard {
    /// The name a task chooses it by.
    pub key: String,
    /// What it is made of.
    pub kind: SnippetKind,
    /// Where it came from, in words.
    pub source: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The hash of its text.
    pub sha256: Sha,
}

/// A named text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snippet {
    /// What may be told about it.
    #[serde(flatten)]
    pub card: SnippetCard,
    /// True if it may not leave this machine: who was given it may hand it on only so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub local_only: bool,
    /// The text.
    pub text: String,
}

/// A snippet in the store, with who may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The snippet.
    pub snippet: Snippet,
    /// Who may see it.
    pub sensitivity: Sensitivity,
}

/// All snippets of a session, in the order they were added.
#[derive(Debug, Clone, Default)]
pub struct ContextStore {
    entries: Vec<Entry>,
}

impl ContextStore {
    /// What a child can hand on: the snippets that it was given itself, to no wider circle.
    pub fn of(snippets: &[Snippet]) -> Self {
        let entry = |snippet: &Snippet| Entry {
            snippet: snippet.clone(),
            sensitivity: if snippet.local_only {
                Sensitivity::LocalOnly
            } else {
                Sensitivity::Normal
            },
        };
        Self { entries: snippets.iter().map(entry).collect() }
    }

    /// Adds a snippet; one of the same key is replaced. Returns its card for the record.
    pub fn put(
        &mut self,
        key: impl Into<String>,
        kind: SnippetKind,
        source: impl Into<String>,
        text: impl Into<String>,
        sensitivity: Sensitivity,
    ) -> SnippetCard {
        let (key, text) = (key.into(), text.into());
        let card = SnippetCard {
            key: key.clone(),
            kind,
            source: source.into(),
            bytes: text.len() as u64,
            sha256: Sha::of(&text),
        };
        let local_only = sensitivity == Sensitivity::LocalOnly;
        let snippet = Snippet { card: card.clone(), local_only, text };
        let entry = Entry { snippet, sensitivity };
        match self.entries.iter_mut().find(|entry| entry.snippet.card.key == key) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
        card
    }

    /// Makes `text` the newest user message: it is `request`, the one before becomes
    /// `request:N` with N counting from 1 in the order they were asked.
    pub fn put_request(&mut self, text: impl Into<String>) -> SnippetCard {
        if self.get("request").is_some() {
            let earlier = self.unused_request_key();
            if let Some(entry) = self.entries.iter_mut().find(|e| e.snippet.card.key == "request") {
                entry.snippet.card.key = earlier;
            }
        }
        self.put("request", SnippetKind::Request, "the user", text, Sensitivity::Normal)
    }

    /// Takes a snippet out, if it is there.
    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|entry| entry.snippet.card.key != key);
    }

    /// The entry of this key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.snippet.card.key == key)
    }

    /// The next `request:N`; a number that a pin or a note already bears is passed over.
    fn unused_request_key(&self) -> String {
        let is_earlier = |entry: &&Entry| entry.snippet.card.key.starts_with("request:");
        let mut number = 1 + self.entries.iter().filter(is_earlier).count();
        loop {
            let key = format!("request:{number}");
            if self.get(&key).is_none() {
                return key;
            }
            number += 1;
        }
    }

    /// All entries in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The keys that a task may choose, with sizes, as one line for the parent model.
    pub fn listing(&self) -> String {
        let keys: Vec<String> = self
            .entries
            .iter()
            .filter(|entry| entry.sensitivity != Sensitivity::Secret)
            .map(|entry| format!("{} ({} B)", entry.snippet.card.key, entry.snippet.card.bytes))
            .collect();
        format!("[context keys for `task`: {}]", keys.join(", "))
    }
}
