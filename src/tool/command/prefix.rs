//! What an answer for more than one command would cover: the first words of a command that say
//! which program it runs and what for. Where no words can say that, there are none.

use crate::domain::shell_words::programs::{base_name, is_assignment, runs_others};
use crate::domain::shell_words::{Parsed, command_words};

/// Programs whose first argument is the verb.
const WITH_VERB: [&str; 36] = [
    "apt",
    "brew",
    "bundle",
    "cargo",
    "cmake",
    "composer",
    "conda",
    "deno",
    "docker",
    "dotnet",
    "gem",
    "gh",
    "git",
    "go",
    "gradle",
    "helm",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "npm",
    "npx",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "rake",
    "rustup",
    "sbt",
    "swift",
    "systemctl",
    "terraform",
    "uv",
    "uvx",
    "yarn",
];
/// Of those, where these verbs take a name that says what runs.
const NAMED_VERBS: [&str; 6] = ["run", "run-script", "exec", "compose", "tool", "stash"];
/// Programs that run a file named as the first argument, or a text that only they understand.
const INTERPRETERS: [&str; 8] = ["bun", "lua", "node", "perl", "php", "python", "python3", "ruby"];
/// Programs of which no first words say what happens, beside those that run other commands: what they
/// do is all in the rest.
const NEVER: [&str; 21] = [
    "awk", "chmod", "chown", "cp", "curl", "dd", "install", "kill", "ln", "mv", "pkill", "rm",
    "rmdir", "rsync", "scp", "sed", "shred", "ssh", "tee", "truncate", "wget",
];

/// The first words of a command that may stand for others like it: `cargo test`, `npm run build`,
/// `ls`. `None` for compound commands, for those that write files by redirection, for those that
/// cannot be taken apart, and for programs that run other commands.
pub fn of(command: &str) -> Option<String> {
    let Parsed { parts, writes, complete } = command_words(command);
    let [words] = parts.as_slice() else { return None };
    if !complete || !writes.is_empty() {
        return None;
    }
    let count = first_words(words)?;
    let words = words.get(..count)?;
    // The words are compared as they are shown: what a shell would change is no rule.
    words.iter().all(|word| is_plain(word)).then(|| words.join(" "))
}

/// How many words say what is run.
fn first_words(words: &[String]) -> Option<usize> {
    let first = words.first()?;
    let name = base_name(first);
    if NEVER.contains(&name) || runs_others(name) {
        return None;
    }
    let second = words.get(1).map(String::as_str);
    if INTERPRETERS.contains(&name) || name.starts_with("python3.") {
        return interpreter_words(second, words.len());
    }
    if !WITH_VERB.contains(&name) {
        return Some(1);
    }
    match second? {
        // Options in front of the verb can change what the verb does.
        option if option.starts_with('-') => None,
        // A toolchain in front of the verb.
        toolchain if toolchain.starts_with('+') => (words.len() > 2).then_some(3),
        verb if NAMED_VERBS.contains(&verb) => match words.get(2) {
            Some(named) if !named.starts_with('-') => Some(3),
            Some(_) | None => Some(2),
        },
        _ => Some(2),
    }
}

/// `python -m pytest` and `node build.js` say what runs; a text of code does not.
fn interpreter_words(second: Option<&str>, count: usize) -> Option<usize> {
    match second? {
        "-m" => (count > 2).then_some(3),
        "--test" => Some(2),
        option if option.starts_with('-') => None,
        _ => Some(2),
    }
}

fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && word.chars().all(|c| c.is_alphanumeric() || "_-./:@+,=%^".contains(c))
        && !is_assignment(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_say_what_is_run() {
        let table = [
            ("cargo test", "cargo test"),
            ("cargo test --lib -- --nocapture", "cargo test"),
            ("cargo +nightly fmt", "cargo +nightly fmt"),
            ("git status --short", "git status"),
            ("npm run build -- --fast", "npm run build"),
            ("npm test", "npm test"),
            ("make", ""),
            ("make -j2 check 2>&1", ""),
            ("make check 2>&1", "make check"),
            ("ls -la src", "ls"),
            ("./scripts/build.sh --all", "./scripts/build.sh"),
            ("python -m pytest -k x", "python -m pytest"),
            ("python3 tools/gen.py x", "python3 tools/gen.py"),
            ("node --test", "node --test"),
            ("cargo run", "cargo run"),
            ("cargo run --bin x", "cargo run"),
            ("/usr/bin/git log", "/usr/bin/git log"),
        ];
        for (command, right) in table {
            assert_eq!(of(command).unwrap_or_default(), right, "{command}");
        }
    }

    #[test]
    fn nothing_stands_for_what_words_cannot_say() {
        for command in [
            "",
            "cargo test; rm x",
            "cargo test && ls",
            "cargo test | tee log",
            "cargo test &\nls",
            "cargo test > src/lib.rs",
            "cargo test $(cat x)",
            "sh -c 'ls'",
            "bash script.sh",
            "python -c 'print(1)'",
            "python3",
            "python -",
            "node -e 1",
            "sudo ls",
            "ionice -c 3 cargo test",
            "env A=1 cargo test",
            "xargs rm",
            "eval ls",
            "find . -delete",
            "rm -rf build",
            "A=1 cargo test",
            "git -c core.pager=x log",
            "$TOOL test",
            "cargo $VERB",
            "{rm,-rf,x}",
            "l* x",
            "echo 'open",
        ] {
            assert_eq!(of(command), None, "{command}");
        }
    }
}
