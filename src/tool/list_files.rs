//! `list_files`: what is in a folder, nearest entries first, with what was left out in numbers.
//! A line that is no entry is in parentheses, or starts with `...`.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;

use cap_std::fs::Dir;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::role::Permission;
use crate::workspace::entry::Kind;
use crate::workspace::folder::{self, Entry, Filter};
use crate::workspace::ignore::Rules;
use crate::workspace::jail::{JailError, Opened};
use crate::workspace::path::on_one_line;

use super::blocking::{self, Outcome};
use super::excerpt::{Excerpt, count, size};
use super::target::Target;
use super::{Shown, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, arguments};

/// Levels that one call goes down at most.
pub const MAX_DEPTH: u64 = 8;
/// Entries that one result shows at most.
pub const MAX_SHOWN: usize = 1_000;
/// Entries that are counted at most.
const MAX_SEEN: u64 = 50_000;
/// Entries that are left out and still named.
const MAX_NAMED: usize = 6;

/// The tool.
pub struct ListFiles {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: Option<String>,
    depth: Option<u64>,
    #[serde(default)]
    hidden: bool,
}

impl ListFiles {
    /// The tool.
    #[expect(clippy::new_without_default, reason = "a tool has no default state")]
    pub fn new() -> Self {
        let spec = ToolSpec {
            name: "list_files",
            description: include_str!("../../assets/tools/list_files.md").trim_ascii(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Folder; default the whole workspace"},
                    "depth": {
                        "type": "integer", "minimum": 1,
                        "description": "Levels, 1 to 8; default 1",
                    },
                    "hidden": {
                        "type": "boolean",
                        "description": "Also names that start with a dot",
                    },
                },
                "additionalProperties": false,
            }),
            permission: Permission::Read,
            read_only: true,
        };
        Self { spec }
    }
}

impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        let arguments = arguments::read(&self.spec.parameters, &arguments);
        blocking::run(context, move |context| {
            list(context, &arguments.map_err(|error| error.text)?)
        })
    }
}

fn list(context: &ToolContext, arguments: &Arguments) -> Outcome {
    let target = Target::of(&context.workspace, &context.scopes, arguments.path.as_deref())
        .map_err(|error| error.to_string())?;
    let mut listing = Listing::new(context, arguments);
    for path in target.paths() {
        match (listing.start(path), &target) {
            (Ok(()), _) => {}
            (Err(error), Target::Place(_)) => return Err(error.to_string()),
            // One scope of several may be gone; the others still count.
            (Err(error), Target::Scopes(_)) => listing.add(path.clone(), format!("({error})")),
        }
    }
    listing.walk()?;
    Ok(listing.output(&target))
}

/// A line of the result.
struct Row {
    path: String,
    /// `/` for a folder, else two spaces and the size or kind.
    rest: String,
    /// True if it was found in a folder, false if it is what the listing started from.
    found: bool,
}

/// A folder that is still to be read.
struct Pending {
    path: String,
    rules: Rules,
    level: u64,
}

/// Entries while they are gathered.
struct Listing<'a> {
    context: &'a ToolContext,
    depth: u64,
    hidden: bool,
    pending: VecDeque<Pending>,
    rows: Vec<Row>,
    empty_folders: Vec<String>,
    /// Entries that were looked at.
    seen: u64,
    /// Entries that had no room.
    over: u64,
    /// True if some were not even counted.
    and_more: bool,
    left_out: LeftOut,
}

#[derive(Default)]
struct LeftOut {
    hidden: Names,
    ignored: Names,
    unreadable: Names,
}

/// A number of entries, some of them by name.
#[derive(Default)]
struct Names {
    count: u64,
    some: Vec<String>,
}

impl<'a> Listing<'a> {
    fn new(context: &'a ToolContext, arguments: &Arguments) -> Self {
        Self {
            context,
            depth: arguments.depth.unwrap_or(1).min(MAX_DEPTH),
            hidden: arguments.hidden,
            pending: VecDeque::new(),
            rows: Vec::new(),
            empty_folders: Vec::new(),
            seen: 0,
            over: 0,
            and_more: false,
            left_out: LeftOut::default(),
        }
    }

    fn start(&mut self, path: &str) -> Result<(), JailError> {
        let workspace = &self.context.workspace;
        match workspace.examine(&self.context.scopes, path)? {
            (Kind::Folder, _) => {
                let rules = Rules::above(workspace, path);
                self.pending.push_back(Pending { path: path.to_owned(), rules, level: 1 });
            }
            (Kind::File, bytes) => self.add(path.to_owned(), format!("  {}", size(bytes))),
            (kind, _) => self.add(path.to_owned(), format!("  ({})", kind.name())),
        }
        Ok(())
    }

    /// Level by level, so that what has no room is what lies deepest. Each folder is opened when
    /// its turn comes: a wide tree costs no open handles.
    fn walk(&mut self) -> Result<(), String> {
        while let Some(folder) = self.pending.pop_front() {
            if self.seen >= MAX_SEEN {
                self.and_more = true;
                return Ok(());
            }
            if self.context.cancel.is_cancelled() {
                return Err("cancelled".to_owned());
            }
            match self.context.workspace.open_within(&self.context.scopes, &folder.path) {
                Ok(Opened::Folder(dir)) => self.take(&dir, folder),
                Ok(Opened::File { .. } | Opened::Special(_)) => {}
                // A folder that was asked for by name and cannot be read is the whole answer.
                Err(error) if folder.level == 1 => return Err(error.to_string()),
                Err(_) => self.left_out.unreadable.add(format!("{}/", folder.path)),
            }
        }
        Ok(())
    }

    fn take(&mut self, dir: &Dir, mut folder: Pending) {
        folder.rules = folder.rules.enter(dir, &folder.path);
        let filter = Filter { rules: &folder.rules, dotted: self.hidden };
        let Ok(contents) = folder::read(dir, &folder.path, filter, &self.context.cancel) else {
            self.left_out.unreadable.add(format!("{}/", folder.path));
            return;
        };
        self.and_more |= contents.more;
        self.left_out.hidden.add_all(&folder.path, &contents.hidden);
        self.left_out.ignored.add_all(&folder.path, &contents.ignored);
        if contents.entries.is_empty() {
            self.empty_folders.push(folder.path.clone());
        }
        for entry in contents.entries {
            if self.context.cancel.is_cancelled() {
                return;
            }
            self.entry(dir, &folder, &entry);
        }
    }

    fn entry(&mut self, dir: &Dir, folder: &Pending, entry: &Entry) {
        let path = entry.path(&folder.path);
        self.seen += 1;
        if entry.kind == Kind::Folder && folder.level < self.depth {
            let (rules, level) = (folder.rules.clone(), folder.level + 1);
            self.pending.push_back(Pending { path: path.clone(), rules, level });
        }
        if self.rows.len() < MAX_SHOWN {
            let rest = self.describe(dir, entry, &path);
            self.rows.push(Row { path, rest, found: true });
        } else {
            self.over += 1;
        }
    }

    fn describe(&self, dir: &Dir, entry: &Entry, path: &str) -> String {
        match entry.kind {
            Kind::Folder => "/".to_owned(),
            Kind::File => match dir.symlink_metadata(&entry.name) {
                Ok(metadata) => format!("  {}", size(metadata.len())),
                Err(_) => "  (unreadable)".to_owned(),
            },
            Kind::Link => {
                let found = self.context.workspace.examine(&self.context.scopes, path);
                format!("  ({})", link_in_words(found.as_ref()))
            }
            Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
                format!("  ({})", entry.kind.name())
            }
        }
    }

    fn add(&mut self, path: String, rest: String) {
        self.rows.push(Row { path, rest, found: false });
    }

    fn output(mut self, target: &Target) -> ToolOutput {
        self.rows.sort_by(|a, b| a.path.split('/').cmp(b.path.split('/')));
        let mut excerpt = Excerpt::default();
        let mut bytes = 0;
        let mut folders: BTreeSet<&str> = self.empty_folders.iter().map(String::as_str).collect();
        let mut fitted = 0;
        for row in &self.rows {
            let line = format!("{}{}", on_one_line(&row.path), row.rest);
            bytes += line.len() as u64 + 1;
            if !excerpt.line(&line) {
                break;
            }
            fitted += 1;
            if row.found {
                folders.insert(row.path.rsplit_once('/').map_or(".", |(parent, _)| parent));
            }
        }
        let shown =
            folders.into_iter().map(|path| Shown::Folder { path: path.to_owned() }).collect();
        let over = self.over + (self.rows.len() - fitted) as u64;
        let header = self.header(target, fitted as u64);
        let text = format!("{header}\n{}{}", excerpt.as_str(), self.footer(over));
        let text = text.trim_end().to_owned();
        let truncated = over > 0 || self.and_more;
        ToolOutput {
            bytes: bytes.max(text.len() as u64),
            truncated,
            shown,
            ..ToolOutput::whole(text)
        }
    }

    fn header(&self, target: &Target, fitted: u64) -> String {
        if fitted > 0 {
            return format!("({} in {})", count(fitted, "entry", "entries"), target.in_words());
        }
        let left_out = self.left_out.hidden.count + self.left_out.ignored.count > 0;
        let nothing = if left_out { "shows no entries" } else { "is empty" };
        format!("({} {nothing})", target.in_words())
    }

    fn footer(&self, over: u64) -> String {
        let mut text = String::new();
        let LeftOut { hidden, ignored, unreadable } = &self.left_out;
        let mut say = |names: &Names, what: &str, hint: &str| {
            if names.count > 0 {
                let _ = writeln!(text, "(left out: {} {what}: {names}{hint})", names.count);
            }
        };
        say(hidden, "hidden", "; hidden: true shows them");
        say(ignored, "git-ignored", "; name one as path to see into it");
        say(unreadable, "that could not be read", "");
        if over > 0 || self.and_more {
            let more_than = if self.and_more { "more than " } else { "" };
            let hint = "ask for less depth or for a folder below to see them";
            let _ = writeln!(text, "... ({more_than}{over} more) {hint}");
        }
        text
    }
}

impl Names {
    fn add(&mut self, path: String) {
        self.count += 1;
        if self.some.len() < MAX_NAMED {
            self.some.push(path);
        }
    }

    fn add_all(&mut self, folder: &str, entries: &[Entry]) {
        for entry in entries {
            let slash = if entry.kind == Kind::Folder { "/" } else { "" };
            self.add(format!("{}{slash}", entry.path(folder)));
        }
    }
}

impl std::fmt::Display for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let some: Vec<_> =
            self.some.iter().map(|path| crate::workspace::path::printable(path)).collect();
        f.write_str(&some.join(", "))?;
        if self.count > some.len() as u64 { f.write_str(", ...") } else { Ok(()) }
    }
}

/// Where a link leads, as far as the run may know.
fn link_in_words(found: Result<&(Kind, u64), &JailError>) -> String {
    match found {
        Ok((Kind::File, bytes)) => format!("link to a file, {}", size(*bytes)),
        Ok((kind, _)) => format!("link to a {}", kind.name()),
        Err(JailError::Missing(_)) => "link to nothing".to_owned(),
        Err(JailError::Loop(_)) => "link that goes round in circles".to_owned(),
        Err(_) => "link that leads out of what this run may see".to_owned(),
    }
}
