//! What a project tells agents: the texts of its rules files, and which of them apply to a path.
//! They are guidance for a model; nothing here widens or narrows what a run may do.

use std::fmt::Write as _;

use super::context_store::{Snippet, SnippetCard, SnippetKind};
use super::hash::Sha;
use super::scope::PathScope;

/// A rules file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuidanceFile {
    /// The folder that it stands in: it applies to everything there.
    pub folder: PathScope,
    /// Its path from the workspace's root.
    pub path: String,
    /// Its text, as far as it was read; or why it was not, in words.
    pub text: Result<String, String>,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The rules files that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guidance {
    /// The outermost first.
    pub files: Vec<GuidanceFile>,
}

impl Guidance {
    /// Bytes of rules that a run is given at most.
    pub const MAX_BYTES: usize = 32 * 1024;

    /// The key that a task can choose the parent's rules by.
    pub const KEY: &'static str = "rules";

    /// What applies to these paths, as one text that names its sources and says what was cut: the
    /// files of every folder from the root down to each of the paths. `None` if there is nothing.
    pub fn for_paths(&self, paths: &[PathScope]) -> Option<Snippet> {
        let applies = |file: &&GuidanceFile| paths.iter().any(|path| file.folder.contains(path));
        let files: Vec<&GuidanceFile> = self.files.iter().filter(applies).collect();
        let read: Vec<&str> = files.iter().filter_map(|file| file.text.as_deref().ok()).collect();
        if read.iter().all(|text| text.trim().is_empty()) {
            return None;
        }
        let mut parts = parts(&read).into_iter();
        let mut text = String::new();
        for file in &files {
            let room = if file.text.is_ok() { parts.next().unwrap_or_default() } else { 0 };
            append(&mut text, file, room);
        }
        let text = text.trim_end().to_owned();
        let sources: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let card = SnippetCard {
            key: Self::KEY.to_owned(),
            kind: SnippetKind::Rules,
            source: sources.join(", "),
            bytes: text.len() as u64,
            sha256: Sha::of(&text),
        };
        Some(Snippet { card, local_only: false, text })
    }

    /// What was cut or not read, for the user; empty if all is there.
    pub fn left_out(&self) -> Vec<String> {
        let told = |file: &GuidanceFile| match &file.text {
            Ok(text) if (text.len() as u64) < file.bytes => {
                Some(format!("{} is cut: {} of {} bytes", file.path, text.len(), file.bytes))
            }
            Ok(_) => None,
            Err(why) => Some(format!("{} is not read: {why}", file.path)),
        };
        self.files.iter().filter_map(told).collect()
    }
}

/// Divides the room among texts: who wants little gets it, the others share the rest.
fn parts(texts: &[&str]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|index| texts[*index].len());
    let mut parts = vec![0; texts.len()];
    let mut left = Guidance::MAX_BYTES;
    for (place, index) in order.iter().enumerate() {
        parts[*index] = texts[*index].len().min(left / (order.len() - place));
        left -= parts[*index];
    }
    parts
}

/// Writing to a string cannot fail.
fn append(all: &mut String, file: &GuidanceFile, room: usize) {
    let (path, bytes) = (&file.path, file.bytes);
    match &file.text {
        Ok(text) => {
            let kept = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
            let cut = if (kept.len() as u64) < bytes {
                format!(" (cut: the first {} of {bytes} bytes)", kept.len())
            } else {
                String::new()
            };
            let _ = write!(all, "## {path}{cut}\n{}\n\n", kept.trim_end());
        }
        Err(why) => {
            let _ = write!(all, "## {path}\n(not read: {why})\n\n");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn scopes(texts: &[&str]) -> Vec<PathScope> {
        texts.iter().map(|text| PathScope::parse(text).unwrap()).collect()
    }

    fn file(folder: &str, text: Result<&str, &str>) -> GuidanceFile {
        let path = if folder == "." { "AGENTS.md".into() } else { format!("{folder}/AGENTS.md") };
        let bytes = text.map_or(0, str::len) as u64;
        let text = text.map(str::to_owned).map_err(str::to_owned);
        GuidanceFile { folder: PathScope::parse(folder).unwrap(), path, text, bytes }
    }

    fn chain() -> Guidance {
        let texts = [(".", "ROOT"), ("src", "SRC"), ("src/ui", "UI"), ("src2", "OTHER")];
        Guidance { files: texts.map(|(folder, text)| file(folder, Ok(text))).to_vec() }
    }

    #[test]
    fn a_path_gets_the_files_of_the_folders_above_it_and_no_others() {
        let cases: [(&[&str], &str); 7] = [
            (&["."], "AGENTS.md"),
            (&["src"], "AGENTS.md, src/AGENTS.md"),
            (&["src/ui/view.rs"], "AGENTS.md, src/AGENTS.md, src/ui/AGENTS.md"),
            (&["src2"], "AGENTS.md, src2/AGENTS.md"),
            (&["src22"], "AGENTS.md"),
            (&["docs"], "AGENTS.md"),
            (&["src/x", "src2/y"], "AGENTS.md, src/AGENTS.md, src2/AGENTS.md"),
        ];
        for (paths, sources) in cases {
            let rules = chain().for_paths(&scopes(paths)).unwrap();
            assert_eq!(rules.card.source, sources, "{paths:?}");
            assert_eq!((rules.card.key.as_str(), rules.card.kind), ("rules", SnippetKind::Rules));
            assert_eq!(rules.card.sha256, Sha::of(&rules.text));
            assert_eq!(rules.text.contains("UI"), sources.contains("ui/"), "{paths:?}");
        }
        assert_eq!(chain().for_paths(&[]), None);
        assert_eq!(Guidance::default().for_paths(&scopes(&["."])), None);
    }

    #[test]
    fn a_long_file_leaves_room_for_the_others_and_says_that_it_is_cut() {
        let long = "中".repeat(20_000);
        let files = vec![file(".", Ok(&long)), file("src", Ok("short and whole"))];
        let rules = Guidance { files }.for_paths(&scopes(&["src"])).unwrap();
        assert!(rules.text.len() < Guidance::MAX_BYTES + 200, "{}", rules.text.len());
        assert!(rules.text.starts_with("## AGENTS.md (cut: the first 32"), "{}", &rules.text[..60]);
        assert!(rules.text.contains(" of 60000 bytes)"));
        assert!(rules.text.ends_with("## src/AGENTS.md\nshort and whole"));
    }

    #[test]
    fn what_is_not_read_is_named_and_alone_makes_no_rules() {
        let unread = file("src", Err("it is binary"));
        let alone = Guidance { files: vec![unread.clone()] };
        assert_eq!(alone.for_paths(&scopes(&["src"])), None);
        assert_eq!(alone.left_out(), ["src/AGENTS.md is not read: it is binary"]);
        let both = Guidance { files: vec![file(".", Ok("ROOT")), unread] };
        let rules = both.for_paths(&scopes(&["src"])).unwrap();
        assert!(rules.text.ends_with("## src/AGENTS.md\n(not read: it is binary)"));
        assert_eq!(Guidance { files: vec![file(".", Ok(" \n"))] }.for_paths(&scopes(&["."])), None);
    }
}
