//! Options that make a command do more than its first words say: write a file that they name, or run
//! another program. An allowed prefix does not cover them, unless it names them itself.
//!
//! The table knows some common commands and cannot know all. Inside of the fence an allowed prefix
//! is a convenience, so that a person is not asked about every `git log`; what a command can reach
//! is held by the fence alone.

use crate::domain::shell_words::programs::{base_name, is_shell};

/// Long options of any program; longer names that begin so count too, and so do shortenings.
const LONG: [&str; 6] = ["output", "exec", "upload-pack", "receive-pack", "ext-diff", "textconv"];
/// Of those, what only says how something looks.
const HARMLESS: [&str; 2] = ["output-format", "output-indicator"];

/// For a program: letters of short options, and whole words or their beginnings before a `=`.
const OPTIONS: [(&[&str], &str, &[&str]); 13] = [
    (
        &["git"],
        "cox",
        &["--config", "--config-env", "--git-dir", "--work-tree", "--open-files-in-pager", "-O"],
    ),
    (&["sort"], "o", &["--compress-program"]),
    (
        &["find"],
        "",
        &[
            "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf",
            "-fls",
        ],
    ),
    (&["fd", "fdfind"], "xX", &[]),
    (&["rg"], "", &["--pre", "--hostname-bin"]),
    (&["sed"], "i", &["--in-place"]),
    (&["tree", "curl", "wget", "cc", "gcc", "clang", "g++", "rustc"], "oO", &[]),
    (&["tar"], "I", &["--to-command", "--checkpoint-action", "--use-compress-program"]),
    (
        &["go"],
        "",
        &["-o", "-exec", "-toolexec", "-vettool", "-coverprofile", "-cpuprofile", "-memprofile"],
    ),
    (&["cargo"], "", &["--config", "--target-dir", "--artifact-dir", "--out-dir"]),
    (&["npm", "npx", "pnpm", "yarn"], "c", &["--script-shell", "--call"]),
    (&["make", "gmake"], "fE", &["--file", "--makefile", "--eval"]),
    (&["python", "python3", "perl", "ruby", "node", "php"], "ceE", &["--eval", "--print"]),
];

/// True if an option among these words, which follow the first `from` words of a command, writes or
/// runs what the first ones do not say.
pub(super) fn goes_beyond(part: &[String], from: usize) -> bool {
    let program = part.first().map_or("", |first| base_name(first));
    let short = |letters: &str, word: &str| {
        let cluster = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        cluster.is_some_and(|cluster| cluster.contains(|c| letters.contains(c)))
    };
    let own = OPTIONS.iter().find(|(programs, _, _)| programs.contains(&program));
    part.iter().skip(from.max(1)).any(|word| {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        any_program(name)
            || is_shell(program) && short("c", word)
            || own.is_some_and(|(_, letters, words)| {
                short(letters, word) || words.contains(&name) || shortens(words, name)
            })
    })
}

fn any_program(name: &str) -> bool {
    let Some(name) = name.strip_prefix("--").filter(|name| name.len() > 1) else { return false };
    let harmless = HARMLESS.iter().any(|harmless| name.starts_with(harmless));
    !harmless && LONG.iter().any(|long| name.starts_with(long) || long.starts_with(name))
}

/// `--in-pl` for `--in-place`, as many programs take it; and `-Oless` for `-O`.
fn shortens(words: &[&str], name: &str) -> bool {
    words.iter().any(|word| match word.len() {
        2 => name.starts_with(word),
        _ => word.starts_with("--") && name.len() > 3 && word.starts_with(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beyond(command: &str, from: usize) -> bool {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        goes_beyond(&words, from)
    }

    #[test]
    fn options_that_write_or_run_are_known() {
        for (command, from) in [
            ("git log --output=P", 2),
            ("git log --output P", 2),
            ("git diff --outp=P", 2),
            ("git -c core.pager=x log", 1),
            ("git -ccore.pager=x log", 1),
            ("git clone -c core.fsmonitor=x u", 2),
            ("git fetch --upload-pack=x origin", 2),
            ("git fetch --upload-pa=x origin", 2),
            ("git push --exec=x origin", 2),
            ("git rebase -x make", 2),
            ("git format-patch -oP", 2),
            ("git grep -Oless x", 2),
            ("git --exec-path=P log", 1),
            ("git --git-dir P log", 1),
            ("git diff --ext-diff", 2),
            ("/usr/bin/git log --output=P", 2),
            ("sort -o P x", 1),
            ("sort -uoP x", 1),
            ("sort --compress-program=x y", 1),
            ("find . -exec rm {} ;", 1),
            ("find . -execdir rm {} ;", 1),
            ("find . -delete", 2),
            ("find . -fprint P", 2),
            ("find . -fprintf P x", 2),
            ("fd x -x rm", 1),
            ("rg --pre x y", 1),
            ("sed -n -i s/a/b/ x", 2),
            ("go test -exec x ./...", 2),
            ("cargo test --config x", 2),
            ("make check --eval x", 2),
            ("make check -fx", 2),
            ("sh -c x", 1),
            ("python3 -c x", 1),
            ("other --output=P", 1),
            ("other --exec-batch rm", 1),
        ] {
            assert!(beyond(command, from), "{command}");
        }
    }

    #[test]
    fn other_options_are_covered_and_so_are_those_that_the_rule_names() {
        for (command, from) in [
            ("git log --oneline -5", 2),
            ("git log --stat -p --graph", 2),
            ("git status -s", 2),
            ("git diff --output-indicator-new=x", 2),
            ("git log --output=P", 3),
            ("sort -u -k2 x", 1),
            ("sort -o P", 2),
            ("find . -name x -print", 1),
            ("cargo test --lib -- --nocapture", 2),
            ("cargo clippy --all-targets", 2),
            ("npm test -- --watch", 2),
            ("make check -j2", 2),
            ("rg -o x", 1),
            ("grep -o x y", 1),
            ("ls -o", 1),
            ("sh x.sh", 1),
        ] {
            assert!(!beyond(command, from), "{command}");
        }
    }
}
