//! Whether a call is one of those that a pattern names. What allows is compared narrowly, what
//! forbids widely: a doubt never makes anything freer.
//!
//! Words of a command can be hidden from anybody who only reads them (a script, a variable, an
//! interpreter). Rules keep honest mistakes out; what a command can reach is the fence's matter.

use super::rules::Pattern;
use super::shell_words::{self, Parsed, programs};

/// Commands inside of the words of other commands that are still looked into.
const DEEPEST: usize = 4;
/// What output may be thrown at without changing a file.
const NO_FILES: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// True if the pattern surely covers a change of this file; `path` is its names from the root of the
/// workspace down, or from `/` if the first of them is that.
pub(super) fn covers_path(pattern: &Pattern, path: &[String]) -> bool {
    match pattern {
        Pattern::Any => true,
        Pattern::Path(scope) => match path {
            [root, names @ ..] if root == "/" => {
                scope.is_absolute() && names.starts_with(scope.components())
            }
            names => !scope.is_absolute() && names.starts_with(scope.components()),
        },
        Pattern::Words(_) => false,
    }
}

/// True if the pattern surely covers this part of a command.
pub(super) fn covers_part(pattern: &Pattern, part: &[String]) -> bool {
    match pattern {
        Pattern::Any => true,
        Pattern::Path(_) => false,
        Pattern::Words(words) => part.starts_with(words),
    }
}

/// True if the words of a command are all that it does: nothing hidden, and no file written by a
/// redirection.
pub(super) fn is_plain(command: &Parsed) -> bool {
    command.complete
        && !command.parts.is_empty()
        && command.writes.iter().all(|file| NO_FILES.contains(&file.as_str()))
}

/// True if these first words may be run somewhere in the command.
pub(super) fn may_run(words: &[String], command: &Parsed) -> bool {
    runs_in(words, command, DEEPEST)
}

fn runs_in(words: &[String], command: &Parsed, deepest: usize) -> bool {
    command.parts.iter().any(|part| {
        let bare = programs::without_assignments(part);
        let wrapped =
            bare.first().is_some_and(|first| programs::runs_others(programs::base_name(first)));
        if starts_with(bare, words) {
            return true;
        }
        let anywhere = wrapped || !command.complete;
        anywhere && (0..bare.len()).any(|at| starts_with(bare.get(at..).unwrap_or_default(), words))
            || wrapped
                && deepest > 0
                && bare.iter().any(|word| is_command_text(word, words, deepest))
    })
}

/// `sh -c "git push"`: a word that is a command of its own.
fn is_command_text(word: &str, words: &[String], deepest: usize) -> bool {
    word.contains(char::is_whitespace)
        && runs_in(words, &shell_words::command_words(word), deepest - 1)
}

/// The first word is compared without its folder; options, each with a value that may follow it,
/// may stand between the words: `/usr/bin/git -C sub push` starts with `git push`.
fn starts_with(part: &[String], words: &[String]) -> bool {
    let (Some((first, mut rest)), Some((command, others))) =
        (part.split_first(), words.split_first())
    else {
        return false;
    };
    if first != command && programs::base_name(first) != programs::base_name(command) {
        return false;
    }
    others.iter().all(|word| {
        while let Some((next, behind)) = rest.split_first() {
            if next == word {
                rest = behind;
                return true;
            }
            if !next.starts_with('-') {
                return false;
            }
            rest = match behind {
                [value, beyond @ ..] if value != word && !value.starts_with('-') => beyond,
                _ => behind,
            };
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_forbidden_command_is_found_behind_what_usually_stands_before_it() {
        for command in [
            "git push",
            "git push --force origin main",
            "cd sub && git push",
            "make; git push",
            "true | git push &",
            "/usr/bin/git push",
            "git -C sub push",
            "git --no-pager push",
            "GIT_DIR=x LANG=C git push",
            "env A=1 git push",
            "sudo -u me git push",
            "timeout 5 git push",
            "sh -c 'git push'",
            "bash -lc \"cd sub; git 'push'\"",
            "ksh -c 'git push'",
            "su me -c 'git push'",
            "unshare -r git push",
            "A+=1 git push",
            "sh -c \"env git push\"",
            "echo $(git push)",
            "for a in b; do git push; done",
            "if true; then git push; fi",
        ] {
            let parsed = shell_words::command_words(command);
            assert!(may_run(&words("git push"), &parsed), "{command}");
        }
    }

    #[test]
    fn other_commands_are_not_taken_for_it() {
        for command in ["git status", "git stash push", "gitk push", "echo git push", "git", ""] {
            let parsed = shell_words::command_words(command);
            assert!(!may_run(&words("git push"), &parsed), "{command}");
        }
    }

    #[test]
    fn only_commands_without_anything_hidden_are_plain() {
        for command in ["cargo test", "cargo test 2>&1 | tail -5", "ls >/dev/null 2>/dev/null"] {
            assert!(is_plain(&shell_words::command_words(command)), "{command}");
        }
        for command in ["", "cargo test > out", "echo $(ls)", "cat <<E\nE", "a 'b", "ls >> x"] {
            assert!(!is_plain(&shell_words::command_words(command)), "{command}");
        }
    }
}
