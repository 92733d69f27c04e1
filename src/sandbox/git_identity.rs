//! What commands keep of the user's own git configuration: who commits, and how new repositories and
//! lines are made. Nothing that names a program or holds a credential. It reads two small files and
//! writes none.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes of a configuration that are read.
const MOST_BYTES: u64 = 256 * 1024;

/// What is kept: section and name, in lower case.
const KEPT: &[(&str, &str)] = &[
    ("user", "name"),
    ("user", "email"),
    ("init", "defaultbranch"),
    ("core", "autocrlf"),
    ("safe", "directory"),
];

/// The text of a configuration for commands, from the one in this home. Blocks.
pub(super) fn of(user: &Path) -> String {
    // In git's order: what comes later wins.
    let files = [".config/git/config", ".gitconfig"];
    files.iter().filter_map(|file| read(&user.join(file))).map(|text| keep(&text)).collect()
}

fn read(path: &Path) -> Option<String> {
    // A pipe in its place would never end.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The lines of a configuration that are kept, each with its section.
fn keep(text: &str) -> String {
    let mut section = String::new();
    let mut kept = String::new();
    for line in text.lines().map(str::trim) {
        let mut line = line;
        if let Some((header, rest)) = line.strip_prefix('[').and_then(|it| it.split_once(']')) {
            section = header.trim().to_ascii_lowercase();
            line = rest.trim();
        }
        let Some((name, value)) = line.split_once('=') else { continue };
        let name = name.trim().to_ascii_lowercase();
        // A line that goes on in the next one would take that with it.
        if KEPT.contains(&(section.as_str(), name.as_str())) && !line.ends_with('\\') {
            kept.push_str(&format_entry(&section, &name, value.trim()));
        }
    }
    kept
}

fn format_entry(section: &str, name: &str, value: &str) -> String {
    format!("[{section}]\n\t{name} = {value}\n")
}

#[cfg(test)]
mod tests {
    use super::keep;

    #[test]
    fn who_commits_is_kept_and_what_runs_or_opens_doors_is_not() {
        let text = "# mine\n[user]\n  name = A B\n\temail=a@b.c\n  signingkey = 1\n[core]\n\
                    hooksPath = /x\n fsmonitor = /y\nautocrlf = input\n[credential]\nhelper = store\n\
                    [url \"https://token@host/\"]\ninsteadOf = x\n[alias]\nname = !sh\n[Init] \
                    defaultBranch = main\n[user \"sub\"]\nname = C\n[user]\nname = D \\\n";
        assert_eq!(
            keep(text),
            "[user]\n\tname = A B\n[user]\n\temail = a@b.c\n[core]\n\tautocrlf = input\n[init]\n\t\
             defaultbranch = main\n"
        );
    }
}
