//! Which words of a command a shell may make others of, and which commands are told elsewhere what
//! they run: by another command, a text that is put together, or a name that was given a meaning.

use super::programs::{base_name, is_assignment, is_shell, runs_others, without_assignments};
use super::{Role, Scan};

impl Scan {
    /// From here on the part's words may be any others, or none.
    pub(super) fn may_become_others(&mut self) {
        self.parsed.complete = false;
        // The value of a variable before a command stays one.
        let before = self.words.iter().all(|word| is_assignment(word));
        if before && self.word.as_ref().is_some_and(|word| is_assignment(word)) {
            return;
        }
        if self.role == Role::Word && self.unknown.is_none() {
            self.unknown = Some(self.words.len());
        }
    }

    /// `{a,b}` and `{1..3}` are several words.
    pub(super) fn close_brace(&mut self) {
        let inside = self.brace.and_then(|from| self.text.get(from..self.at));
        let inside: String = inside.unwrap_or_default().iter().collect();
        if inside.contains(',') || inside.contains("..") {
            self.may_become_others();
        }
    }

    /// A pattern of file names, where it may become an option or a command.
    pub(super) fn pattern(&mut self, c: char) {
        let before = self.word.as_deref().unwrap_or_default();
        let literal = !before.is_empty() && !before.starts_with('-');
        let next = self.peek();
        let after_next = self.text.get(self.at + 1).copied();
        let ends = |c: Option<char>| c.is_none_or(char::is_whitespace);
        // `[` and `[[` alone are commands.
        let command = match before {
            "" => ends(next) || next == Some('[') && ends(after_next),
            "[" => ends(next),
            _ => false,
        };
        let command = c == '[' && command;
        if !command && (!literal || self.words.is_empty()) && self.role == Role::Word {
            self.may_become_others();
        }
    }

    /// A part is read to its end.
    pub(super) fn finish(&mut self, words: Vec<String>, unknown: Option<usize>) {
        let bare = without_assignments(&words);
        let mut unknown = unknown;
        if let Some(first) = bare.first().map(|first| base_name(first)) {
            let skipped = words.len() - bare.len();
            if let Some(at) = given_elsewhere(bare) {
                self.parsed.complete = false;
                unknown = Some(unknown.map_or(at + skipped, |known| known.min(at + skipped)));
            }
            let hidden = unknown.is_some_and(|at| at > skipped);
            let text_follows = runs_others(first) && bare.iter().any(|word| runs_text(word));
            if bare.iter().enumerate().any(|(at, _)| is_fed(bare, at)) || hidden && text_follows {
                self.parsed.anything = true;
                self.parsed.complete = false;
            }
            for text in texts(bare) {
                self.nested(&text);
            }
        }
        self.parsed.parts.push(words);
        self.parsed.unknown.push(unknown);
    }
}

/// Where words stand that another command supplies: `xargs` adds them, `{}` is replaced by them, and
/// an alias of git's is whatever it was set to.
fn given_elsewhere(words: &[String]) -> Option<usize> {
    let name = base_name(words.first()?);
    let at = words.iter().position(|word| matches!(base_name(word), "xargs" | "parallel"));
    if let Some(at) = at.filter(|at| *at == 0 || runs_others(name)) {
        let behind = words.get(at..).unwrap_or_default();
        let replaces =
            behind.iter().any(|word| word.starts_with("-I") || word.starts_with("--repl"));
        let place = behind.iter().skip(2).position(|word| word.contains("{}"));
        let place = place.map_or(at, |place| place + at + 2);
        return Some(if replaces { place } else { words.len() });
    }
    if name == "find" {
        return words.iter().position(|word| word.contains("{}"));
    }
    let alias = |word: &String| {
        let word = word.to_ascii_lowercase();
        let word = word.strip_prefix("-c").or(word.strip_prefix("--config-env=")).unwrap_or(&word);
        word.starts_with("alias.") || word.starts_with("include.")
    };
    (name == "git" && words.iter().any(alias)).then_some(1)
}

/// True if a shell stands at this word, and is told by nobody but its input what to run.
fn is_fed(words: &[String], at: usize) -> bool {
    let Some((shell, rest)) = words.get(at..).and_then(<[String]>::split_first) else {
        return false;
    };
    if words.first().is_some_and(|first| first == "command") && looks_up(words) {
        return false;
    }
    let behind_others = at == 0 || words.first().is_some_and(|first| runs_others(base_name(first)));
    if !is_shell(base_name(shell)) || !behind_others {
        return false;
    }
    let options = rest.iter().take_while(|word| word.starts_with(['-', '+']));
    let from_input = |word: &String| {
        matches!(word.as_str(), "-" | "--" | "-s") || word.starts_with('-') && word.ends_with('s')
    };
    if rest.iter().any(|word| runs_text(word) || word == "--version" || word == "--help") {
        return false;
    }
    rest.iter().all(|word| word.starts_with(['-', '+'])) || options.into_iter().any(from_input)
}

/// `command -v sh` only says where a program is.
fn looks_up(words: &[String]) -> bool {
    words.get(1).is_some_and(|option| matches!(option.as_str(), "-v" | "-V"))
}

/// `-c`, `-lc`, `--command`, or `eval` itself: what runs is a text among the words.
fn runs_text(word: &str) -> bool {
    let short = word.starts_with('-') && !word.starts_with("--");
    // Longer ones are words, such as `-exec`.
    let short = short && word.len() <= 4 && word.contains('c');
    short || matches!(word, "eval" | "trap" | "--command")
}

/// The texts that git runs for an alias.
fn texts(words: &[String]) -> impl Iterator<Item = String> {
    let git = words.first().is_some_and(|first| base_name(first) == "git");
    words.iter().filter(move |_| git).filter_map(|word| {
        let (name, text) = word.split_once("=!")?;
        name.to_ascii_lowercase().contains("alias.").then(|| text.to_owned())
    })
}
