//! The few settings of a repository that say how its files and objects are to be read, and nothing
//! that would run anything. Of a configuration's text only these are taken, and of their values only
//! those that are known.

use std::fmt::Write as _;

/// Sections and keys that are taken over, with the values that they may have.
const TAKEN: [(&str, &str, &[&str]); 8] = [
    ("core", "autocrlf", &["true", "false", "input"]),
    ("core", "eol", &["lf", "crlf", "native"]),
    ("core", "filemode", &["true", "false"]),
    ("core", "ignorecase", &["true", "false"]),
    ("core", "symlinks", &["true", "false"]),
    ("core", "precomposeunicode", &["true", "false"]),
    ("extensions", "objectformat", &["sha1", "sha256"]),
    ("extensions", "refstorage", &["files", "reftable"]),
];
/// What the view says for itself.
const OURS: &str = "[core]\n\
    \tbare = false\n\
    \tlogAllRefUpdates = false\n\
    \tfsmonitor = false\n\
    \tuntrackedCache = false\n\
    \thooksPath = /dev/null\n\
    \tattributesFile = /dev/null\n\
    \texcludesFile = /dev/null\n\
    \tquotePath = false\n\
    [diff]\n\
    \tautoRefreshIndex = false\n\
    [protocol]\n\
    \tallow = never\n";

/// The configuration of a view of the repository with this one.
pub fn for_view(theirs: &str) -> String {
    let taken = taken_of(theirs);
    let extended = taken.iter().any(|(section, _, _)| *section == "extensions");
    let mut text = format!("[core]\n\trepositoryFormatVersion = {}\n", u8::from(extended));
    for (section, key, value) in taken {
        let _ = writeln!(text, "[{section}]\n\t{key} = {value}");
    }
    text.push_str(OURS);
    text
}

/// The settings that are taken over, in the order of the text: the last one wins.
fn taken_of(text: &str) -> Vec<(&'static str, &'static str, &'static str)> {
    let mut section = String::new();
    let mut taken = Vec::new();
    for line in text.lines().map(str::trim) {
        let mut rest = line;
        if let Some(header) = line.strip_prefix('[') {
            let (name, behind) = header.split_once(']').unwrap_or((header, ""));
            section = name.trim().to_lowercase();
            rest = behind.trim();
        }
        let (key, value) = rest.split_once('=').unwrap_or((rest, "true"));
        let key = key.trim().to_lowercase();
        let value = value.split(['#', ';']).next().unwrap_or_default();
        let value = value.trim().trim_matches('"').to_lowercase();
        let value = match value.as_str() {
            "yes" | "on" | "1" => "true",
            "no" | "off" | "0" => "false",
            other => other,
        };
        let known = TAKEN.iter().find(|(of, name, _)| *of == section && *name == key);
        if let Some((of, name, values)) = known
            && let Some(value) = values.iter().find(|known| **known == value)
        {
            taken.push((*of, *name, *value));
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_how_files_are_read_is_taken_over() {
        let theirs = "[core]\n\trepositoryformatversion = 1\n\tautoCRLF = Input ; why\n\
            \tfilemode\n\tfsmonitor = /tmp/evil\n\tsshCommand = evil\n\
            [core \"x\"]\n\teol = lf\n[filter \"f\"]\n\tclean = evil\n[include]\n\tpath = /x\n\
            [extensions] objectFormat = \"sha256\"\n[core]\nignorecase = on\nsymlinks = evil\n";
        assert_eq!(
            taken_of(theirs),
            [
                ("core", "autocrlf", "input"),
                ("core", "filemode", "true"),
                ("extensions", "objectformat", "sha256"),
                ("core", "ignorecase", "true"),
            ]
        );
        let ours = for_view(theirs);
        assert!(!ours.contains("evil") && !ours.contains("include"), "{ours}");
        assert!(ours.starts_with("[core]\n\trepositoryFormatVersion = 1\n"));
        assert!(for_view("").starts_with("[core]\n\trepositoryFormatVersion = 0\n"));
    }
}
