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

/// Characters that a key may have.
const LONGEST_KEY: usize = 64;

/// What is wrong with a key that a person or a model chose; `None` if it can be one. The runtime's
/// own keys are `request`, `request:1`, `rules` and `report:1`.
pub fn key_problem(key: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if key.is_empty() || key.chars().count() > LONGEST_KEY || !key.chars().all(plain) {
        return Some("is no name: it takes 1 to 64 letters, digits, `_`, `-` and `.`");
    }
    matches!(key, "request" | "rules")
        .then_some("is a name that offshoot uses itself; choose another")
}

/// The key that the newest request gets once there is a newer one: `request:N` with N counting from 1
/// in the order they were asked. A number that something else already bears is passed over.
pub fn earlier_request_key<'a, Keys>(keys: &Keys) -> String
where
    Keys: Iterator<Item = &'a str> + Clone,
{
    let mut number = 1 + keys.clone().filter(|key| key.starts_with("request:")).count();
    loop {
        let key = format!("request:{number}");
        if !keys.clone().any(|other| other == key) {
            return key;
        }
        number += 1;
    }
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
            let keys = self.entries.iter().map(|entry| entry.snippet.card.key.as_str());
            let earlier = earlier_request_key(&keys);
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

    /// All entries in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The keys that a task may choose, with sizes, as one line for the parent model. Long rows of
    /// earlier requests and reports are named by their ends, so that a long conversation does not
    /// grow by its own list.
    pub fn listing(&self) -> String {
        format!("[context keys for `task`: {}]", self.chosen_from().join(", "))
    }

    /// The keys alone, as one text: the same as long as a task can choose from the same keys.
    pub fn key_list(&self) -> String {
        self.open_to_tasks()
            .map(|entry| entry.snippet.card.key.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn open_to_tasks(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.sensitivity != Sensitivity::Secret)
    }

    fn chosen_from(&self) -> Vec<String> {
        let mut items = Vec::new();
        let mut row: Vec<&Entry> = Vec::new();
        let mut entries: Vec<&Entry> = self.open_to_tasks().collect();
        // Stable: what bears no number stays in its order, before what does.
        entries.sort_by_key(|entry| numbered(entry));
        for entry in entries {
            if !row.last().is_some_and(|last| follows(last, entry)) {
                name_row(&mut items, &row);
                row.clear();
            }
            row.push(entry);
        }
        name_row(&mut items, &row);
        items
    }
}

/// Entries of a row that are named one by one.
const SHORT_ROW: usize = 4;

/// True if the keys are the same word with numbers that follow each other.
fn follows(one: &Entry, next: &Entry) -> bool {
    match (numbered(one), numbered(next)) {
        (Some((word, number)), Some((next_word, next_number))) => {
            word == next_word && number.checked_add(1) == Some(next_number)
        }
        _ => false,
    }
}

fn numbered(entry: &Entry) -> Option<(&str, u64)> {
    let (word, number) = entry.snippet.card.key.split_once(':')?;
    Some((word, number.parse().ok()?))
}

fn name_row(items: &mut Vec<String>, row: &[&Entry]) {
    let named = |entry: &&Entry| {
        let SnippetCard { key, bytes, .. } = &entry.snippet.card;
        match entry.sensitivity {
            Sensitivity::LocalOnly => {
                format!("{key} ({bytes} B, only for a model on this machine)")
            }
            Sensitivity::Normal | Sensitivity::Secret => format!("{key} ({bytes} B)"),
        }
    };
    match row {
        [first, .., last] if row.len() > SHORT_ROW => {
            let (first, last) = (&first.snippet.card.key, &last.snippet.card.key);
            items.push(format!("{first} to {last} ({} snippets)", row.len()));
        }
        _ => items.extend(row.iter().map(named)),
    }
}
