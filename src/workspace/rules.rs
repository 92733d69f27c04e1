//! The rules that a project keeps for agents: `AGENTS.md`, or `CLAUDE.md` where there is none, of
//! every folder from the root down to what a run works on. Read through the jail, bounded, and never
//! waited for.

use std::fs::File;
use std::io::Read;

use crate::domain::guidance::{Guidance, GuidanceFile};
use crate::domain::scope::PathScope;

use super::Workspace;
use super::jail::{JailError, Opened};
use super::path::join;

/// The names, the better one first.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Folders that are looked into.
const MOST_FOLDERS: usize = 256;

impl Workspace {
    /// The rules of the folders above these paths, the outermost first. A path may be a file's, and
    /// need not be there.
    pub fn guidance(&self, paths: &[PathScope]) -> Guidance {
        let roots = self.scopes();
        let mut folders: Vec<PathScope> = Vec::new();
        for path in paths {
            let root = roots.iter().find(|root| root.contains(path));
            for folder in root.into_iter().flat_map(|root| chain(root, path)) {
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
        folders.sort_by_key(|folder| folder.components().len());
        folders.truncate(MOST_FOLDERS);
        let files = folders.into_iter().filter_map(|folder| self.rules_of(&roots, &folder));
        Guidance { files: files.collect() }
    }

    fn rules_of(&self, roots: &[PathScope], folder: &PathScope) -> Option<GuidanceFile> {
        NAMES.iter().find_map(|name| {
            let path = join(&folder.to_string(), name);
            let (text, bytes) = match self.open_within(roots, &path) {
                // The folder may be a file: then nothing is in it.
                Err(JailError::Missing(_) | JailError::NotAFolder(_)) => return None,
                Err(error) => (Err(error.to_string()), 0),
                Ok(Opened::File { file, bytes }) => (text_of(file), bytes),
                Ok(Opened::Folder(_)) => (Err("it is a folder".to_owned()), 0),
                Ok(Opened::Special(kind)) => (Err(format!("it is a {}", kind.name())), 0),
            };
            Some(GuidanceFile { folder: folder.clone(), path, text, bytes })
        })
    }
}

/// The folders from `root` down to `path`, both included.
fn chain<'a>(root: &PathScope, path: &'a PathScope) -> impl Iterator<Item = PathScope> + use<'a> {
    let (first, names) = (root.components().len(), path.components());
    let start = if path.is_absolute() { "/" } else { "./" };
    (first..=names.len()).filter_map(move |count| {
        PathScope::parse(&format!("{start}{}", names[..count].join("/"))).ok()
    })
}

/// The text, as far as anybody is given it.
fn text_of(file: File) -> Result<String, String> {
    let mut bytes = Vec::new();
    let most = Guidance::MAX_BYTES as u64;
    file.take(most).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.contains(&0) {
        return Err("it is binary".to_owned());
    }
    let whole = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        // The last character was cut through.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Err("it is not UTF-8 text".to_owned()),
    };
    Ok(whole.strip_prefix('\u{feff}').unwrap_or(whole).to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;
    use std::path::Path;

    use tempfile::TempDir;

    use super::*;

    fn put(folder: &Path, path: &str, text: impl AsRef<[u8]>) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Paths and texts of what applies to these scopes.
    fn found(workspace: &Workspace, scopes: &[&str]) -> Vec<(String, Result<String, String>)> {
        let scopes: Vec<PathScope> = scopes.iter().map(|s| PathScope::parse(s).unwrap()).collect();
        let files = workspace.guidance(&scopes).files;
        files.into_iter().map(|file| (file.path, file.text)).collect()
    }

    fn ok(path: &str, text: &str) -> (String, Result<String, String>) {
        (path.to_owned(), Ok(text.to_owned()))
    }

    #[test]
    fn the_chain_goes_from_the_root_down_to_each_scope() {
        let folder = TempDir::new().unwrap();
        for (path, text) in [
            ("AGENTS.md", "root"),
            ("CLAUDE.md", "not where there is AGENTS.md"),
            ("src/CLAUDE.md", "src"),
            ("src/ui/AGENTS.md", "\u{feff}ui"),
            ("src2/AGENTS.md", "another one"),
            ("src/a.rs", ""),
        ] {
            put(folder.path(), path, text);
        }
        let workspace = Workspace::open(folder.path()).unwrap();
        let (root, src) = (ok("AGENTS.md", "root"), ok("src/CLAUDE.md", "src"));
        assert_eq!(found(&workspace, &["."]), std::slice::from_ref(&root));
        assert_eq!(found(&workspace, &["src/a.rs"]), [root.clone(), src.clone()]);
        assert_eq!(found(&workspace, &["src/new/b.rs"]), [root.clone(), src.clone()]);
        let ui = ok("src/ui/AGENTS.md", "ui");
        assert_eq!(found(&workspace, &["src/ui/", "src/**"]), [root.clone(), src, ui]);
        assert_eq!(found(&workspace, &["src2"]), [root, ok("src2/AGENTS.md", "another one")]);
    }

    #[test]
    fn a_folder_beside_the_workspace_has_a_chain_of_its_own() {
        let (folder, above) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        put(folder.path(), "AGENTS.md", "workspace");
        put(above.path(), "AGENTS.md", "above what was added");
        put(above.path(), "added/AGENTS.md", "added");
        put(above.path(), "added/deep/AGENTS.md", "deep");
        let added = above.path().join("added").canonicalize().unwrap();
        let workspace = Workspace::open_with(folder.path(), std::slice::from_ref(&added)).unwrap();
        let deep = added.join("deep");
        let texts: Vec<_> = found(&workspace, &[deep.to_str().unwrap()])
            .into_iter()
            .map(|(_, text)| text.unwrap())
            .collect();
        assert_eq!(texts, ["added", "deep"]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_text_of_the_project_is_named_and_not_read() {
        let (folder, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        put(outside.path(), "secret.md", "a secret");
        put(folder.path(), "binary/AGENTS.md", b"a\0b");
        put(folder.path(), "latin/AGENTS.md", b"caf\xe9 au lait");
        put(folder.path(), "folder/AGENTS.md/x", "");
        put(folder.path(), "link/x", "");
        put(folder.path(), "pipe/x", "");
        put(folder.path(), "inside/real.md", "through a link");
        let link = |to: &Path, from: &str| {
            std::os::unix::fs::symlink(to, folder.path().join(from)).unwrap();
        };
        link(&outside.path().join("secret.md"), "link/AGENTS.md");
        link(Path::new("real.md"), "inside/AGENTS.md");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let pipe = folder.path().join("pipe/AGENTS.md");
        rustix::fs::mknodat(rustix::fs::CWD, pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        for (scope, why) in [
            ("binary", "binary"),
            ("latin", "not UTF-8"),
            ("folder", "a folder"),
            ("link", "symbolic link"),
            ("pipe", "fifo"),
        ] {
            let files = found(&workspace, &[scope]);
            let text = files[0].1.clone().unwrap_err();
            assert!(text.contains(why) && !text.contains("a secret"), "{scope}: {text}");
        }
        assert_eq!(found(&workspace, &["inside"])[0].1.as_deref(), Ok("through a link"));
    }

    #[test]
    fn of_a_huge_file_only_the_beginning_is_read_on_a_character() {
        let folder = TempDir::new().unwrap();
        put(folder.path(), "AGENTS.md", format!("x{}", "中".repeat(1_000_000)));
        let workspace = Workspace::open(folder.path()).unwrap();
        let file = workspace.guidance(&[PathScope::all()]).files.remove(0);
        let text = file.text.unwrap();
        assert!(text.len() <= Guidance::MAX_BYTES && text.len() > Guidance::MAX_BYTES - 4);
        assert_eq!(file.bytes, 3_000_001);
    }
}
