//! The files that a search looks into: depth first, files before folders, through handles only.
//! Hidden files are searched (a project's CI lives under `.github`); `.git`, ignored and binary
//! files are not, links are not followed, and what was left out is counted.

use std::fs::File;
use std::io::{self, Cursor, Read};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use grep_matcher::LineTerminator;
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};

use crate::tool::ToolContext;
use crate::tool::excerpt::{by_a_rule, count};
use crate::workspace::entry::Kind;
use crate::workspace::folder::{self, Entry, Filter};
use crate::workspace::ignore::Rules;
use crate::workspace::jail::Opened;
use crate::workspace::lines::{Bounded, SNIFF_BYTES, is_binary};
use crate::workspace::path::printable;

use super::Glob;
use super::hits::{Hits, MAX_COUNTED};

/// Bytes of one file that are searched.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes that one line may have; with its copies this bounds the memory of a search.
const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;
/// Files that one search looks into.
const MAX_FILES: u64 = 100_000;
/// Bytes that one search reads.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Folders within folders that a search goes down.
const MAX_LEVELS: usize = 64;

/// What was not searched.
#[derive(Default)]
pub struct LeftOut {
    /// Files that were.
    pub searched: u64,
    /// Files and folders that could not be read.
    pub unreadable: u64,
    /// Why it ended early.
    pub stopped: Option<&'static str>,
    hidden: u64,
    binary: u64,
    ignored: u64,
    links: u64,
    special: u64,
    in_part: u64,
    too_deep: u64,
}

impl LeftOut {
    /// In words, a line; nothing if there is nothing to say.
    pub fn write(&self, text: &mut String) {
        let counts = [
            (self.ignored, "git-ignored entry", "git-ignored entries"),
            (self.binary, "binary file", "binary files"),
            (self.links, "link", "links"),
            (self.special, "special file", "special files"),
            (self.unreadable, "unreadable entry", "unreadable entries"),
            (self.in_part, "huge file in part", "huge files in part"),
            (self.too_deep, "folder that lies too deep", "folders that lie too deep"),
        ];
        let said: Vec<String> = counts
            .into_iter()
            .filter(|(number, _, _)| *number > 0)
            .map(|(number, one, many)| count(number, one, many))
            .collect();
        if !said.is_empty() {
            text.push_str("not searched: ");
            text.push_str(&said.join(", "));
            text.push('\n');
        }
        if self.hidden > 0 {
            text.push_str(&by_a_rule(self.hidden));
            text.push('\n');
        }
        if let Some(reason) = self.stopped {
            text.push_str(reason);
            text.push('\n');
        }
    }
}

/// Why a walk does not go on.
enum Stop {
    Cancelled,
    /// [`LeftOut::stopped`] says why.
    Enough,
}

/// A search on its way.
pub struct Tree<'a> {
    /// What it passed over.
    pub left_out: LeftOut,
    context: &'a ToolContext,
    glob: Option<Glob>,
    hits: Hits<'a>,
    searcher: Searcher,
    bytes: u64,
    /// The folder or file that the walk started at.
    start: String,
    /// The same as links lead.
    real_start: String,
}

impl<'a> Tree<'a> {
    /// Ready to search.
    pub fn new(context: &'a ToolContext, glob: Option<Glob>, hits: Hits<'a>) -> Self {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(hits.context)
            .after_context(hits.context)
            .heap_limit(Some(MAX_LINE_BYTES))
            .memory_map(MmapChoice::never())
            .binary_detection(BinaryDetection::none())
            .bom_sniffing(false)
            .build();
        let (left_out, start, real_start) = Default::default();
        Self { left_out, context, glob, hits, searcher, bytes: 0, start, real_start }
    }

    /// Searches a file or a folder and everything in it.
    pub fn search(&mut self, path: &str) -> Result<(), String> {
        let opened = self
            .context
            .workspace
            .open_within(&self.context.scopes, path)
            .map_err(|error| error.to_string())?;
        path.clone_into(&mut self.start);
        self.real_start = self.context.workspace.real_path(&self.context.scopes, path);
        let ended = match opened {
            Opened::File { file, .. } => self.file(path, file),
            Opened::Folder(dir) => {
                let rules = Rules::above(&self.context.workspace, path);
                self.folder(&dir, path, &rules, 0)
            }
            Opened::Special(kind) => {
                let path = printable(path);
                return Err(format!("`{path}` is a {}; it is not searched", kind.name()));
            }
        };
        match ended {
            Ok(()) | Err(Stop::Enough) => Ok(()),
            Err(Stop::Cancelled) => Err("cancelled".to_owned()),
        }
    }

    /// What was found and what was not looked at.
    pub fn into_parts(self) -> (Hits<'a>, LeftOut) {
        (self.hits, self.left_out)
    }

    fn folder(&mut self, dir: &Dir, path: &str, rules: &Rules, level: usize) -> Result<(), Stop> {
        if level == MAX_LEVELS {
            self.left_out.too_deep += 1;
            return Ok(());
        }
        let rules = rules.enter(dir, path);
        let filter = Filter { rules: &rules, dotted: true };
        let Ok(contents) = folder::read(dir, path, filter, &self.context.cancel) else {
            self.left_out.unreadable += 1;
            return self.go_on();
        };
        self.left_out.ignored += contents.ignored.len() as u64;
        if contents.more {
            self.left_out.stopped =
                Some("a folder has more than 100,000 entries; only those were searched");
        }
        let (folders, others): (Vec<_>, Vec<_>) =
            contents.entries.into_iter().partition(|entry| entry.kind == Kind::Folder);
        for entry in &others {
            self.go_on()?;
            self.entry(dir, path, entry)?;
        }
        for entry in &folders {
            self.go_on()?;
            match dir.open_dir_nofollow(&entry.name) {
                Ok(below) => self.folder(&below, &entry.path(path), &rules, level + 1)?,
                Err(_) => self.left_out.unreadable += 1,
            }
        }
        Ok(())
    }

    fn go_on(&mut self) -> Result<(), Stop> {
        if self.context.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        if self.left_out.searched >= MAX_FILES {
            return Err(self.enough("stopped after 100,000 files; name a path or a glob"));
        }
        if self.bytes >= MAX_BYTES {
            return Err(self.enough("stopped after 2 GiB; name a path or a glob"));
        }
        Ok(())
    }

    fn enough(&mut self, reason: &'static str) -> Stop {
        self.left_out.stopped = Some(reason);
        Stop::Enough
    }

    fn entry(&mut self, dir: &Dir, folder: &str, entry: &Entry) -> Result<(), Stop> {
        let path = entry.path(folder);
        match entry.kind {
            Kind::File => {}
            Kind::Link => {
                self.left_out.links += 1;
                return Ok(());
            }
            Kind::Folder | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
                self.left_out.special += 1;
                return Ok(());
            }
        }
        if self.glob.as_ref().is_some_and(|glob| !glob.takes(&path, &self.start)) {
            return Ok(());
        }
        match crate::workspace::jail::open_for_reading(dir, &entry.name, false) {
            Ok(Opened::File { file, .. }) => self.file(&path, file),
            Ok(Opened::Folder(_) | Opened::Special(_)) => {
                self.left_out.special += 1;
                Ok(())
            }
            Err(_) => {
                self.left_out.unreadable += 1;
                Ok(())
            }
        }
    }

    fn is_hidden(&self, path: &str) -> bool {
        let hidden = &self.context.hidden;
        if hidden.is_empty() {
            return false;
        }
        let below = if self.start == "." { Some(path) } else { path.strip_prefix(&self.start) };
        let real = below.map(|below| format!("{}/{below}", self.real_start));
        hidden.hides(path) || real.is_some_and(|real| hidden.hides(&real))
    }

    fn file(&mut self, path: &str, mut file: File) -> Result<(), Stop> {
        if self.is_hidden(path) {
            self.left_out.hidden += 1;
            return Ok(());
        }
        let mut start = Vec::new();
        if file.by_ref().take(SNIFF_BYTES as u64).read_to_end(&mut start).is_err() {
            self.left_out.unreadable += 1;
            return Ok(());
        }
        if is_binary(&start) {
            self.left_out.binary += 1;
            return Ok(());
        }
        self.left_out.searched += 1;
        let text = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&start);
        let whole = Cursor::new(text).chain(file);
        let mut bounded = Bounded::new(whole, MAX_FILE_BYTES, self.context.cancel.clone());
        let ended = self.hits.search(&mut self.searcher, path, &mut bounded);
        self.bytes += MAX_FILE_BYTES - bounded.left();
        self.left_out.in_part += u64::from(bounded.stopped());
        self.after(&ended)
    }

    fn after(&mut self, ended: &io::Result<bool>) -> Result<(), Stop> {
        match ended {
            Ok(true) => Ok(()),
            Ok(false) => {
                debug_assert!(self.hits.matches >= MAX_COUNTED);
                Err(self.enough("stopped after 20,000 matches"))
            }
            Err(_) if self.context.cancel.is_cancelled() => Err(Stop::Cancelled),
            // A line beyond the memory bound, or a read error half-way.
            Err(_) => {
                self.left_out.in_part += 1;
                Ok(())
            }
        }
    }
}
