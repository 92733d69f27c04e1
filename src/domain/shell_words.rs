//! A shell command as words: what a rule about commands compares. It takes a text apart and runs,
//! expands and looks up nothing; where a shell would do more than split words, it says that what
//! was read is not the whole.

pub mod programs;
mod quoting;

/// Commands inside of commands that are still looked into.
const MAX_DEPTH: usize = 8;

/// A command taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The words of each simple command, quotes and escapes undone, in the order of the text: the
    /// parts of pipelines, lists, subshells, and of commands whose output becomes a word.
    pub parts: Vec<Vec<String>>,
    /// The files that output is redirected to, as they were written.
    pub writes: Vec<String>,
    /// True if the words are all that runs. False where the text has substitutions, loops,
    /// functions, here-documents, or an end that is missing: a rule that allows something must not
    /// rely on it then.
    pub complete: bool,
}

/// Takes a command apart. Never fails; takes time that grows with the text and no more.
pub fn command_words(command: &str) -> Parsed {
    let mut scan = Scan::new(command, 0);
    scan.run();
    scan.parsed
}

/// What the next word is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Word,
    /// The file of a redirection that reads, or the text of a here-string.
    Source,
    /// The file of a redirection that writes.
    Target,
    /// A file that is written, unless it is the number of a descriptor.
    TargetOrDescriptor,
    /// The word that ends a here-document.
    Delimiter,
}

/// A text while it is read.
struct Scan {
    text: Vec<char>,
    at: usize,
    depth: usize,
    parsed: Parsed,
    words: Vec<String>,
    word: Option<String>,
    role: Role,
    /// The ends of the here-documents that begin at the next line.
    documents: Vec<String>,
}

impl Scan {
    fn new(text: &str, depth: usize) -> Self {
        Self {
            text: text.chars().collect(),
            at: 0,
            depth,
            parsed: Parsed { complete: true, ..Parsed::default() },
            words: Vec::new(),
            word: None,
            role: Role::Word,
            documents: Vec::new(),
        }
    }

    fn run(&mut self) {
        while let Some(c) = self.next() {
            match c {
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => {
                    self.end_part();
                    self.skip_documents();
                }
                '#' if self.word.is_none() => self.skip_line(),
                '<' | '>' => self.redirect(c),
                '&' if self.peek() == Some('>') => {
                    self.end_word();
                    self.at += 1;
                    self.take('>');
                    self.role = Role::Target;
                }
                '(' => self.open(),
                ';' | '&' | '|' | ')' => self.end_part(),
                other => self.in_word(other),
            }
        }
        self.end_part();
        if !self.documents.is_empty() || self.role != Role::Word {
            self.parsed.complete = false;
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    /// Passes over this character if it comes next.
    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    /// A parenthesis groups commands, unless it belongs to a function, an array or a pattern.
    fn open(&mut self) {
        if self.word.is_some() || !self.words.is_empty() {
            self.parsed.complete = false;
        }
        self.end_part();
    }

    fn redirect(&mut self, first: char) {
        // Digits right before it name a descriptor.
        if self.word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        match (first, self.peek()) {
            (_, Some('(')) => {
                self.at += 1;
                self.substitution();
            }
            ('<', Some('<')) => {
                self.at += 1;
                if self.take('<') {
                    self.role = Role::Source;
                } else {
                    self.take('-');
                    self.parsed.complete = false;
                    self.role = Role::Delimiter;
                }
            }
            ('<', Some('>')) | ('>', Some('>' | '|')) => {
                self.at += 1;
                self.role = Role::Target;
            }
            ('>', Some('&')) => {
                self.at += 1;
                self.role = Role::TargetOrDescriptor;
            }
            ('<', Some('&')) => {
                self.at += 1;
                self.role = Role::Source;
            }
            ('<', _) => self.role = Role::Source,
            (_, _) => self.role = Role::Target,
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.role, Role::Word) {
            Role::Word => self.words.push(word),
            Role::Source => {}
            Role::Target => self.parsed.writes.push(word),
            Role::TargetOrDescriptor => {
                let digits = word.strip_suffix('-').unwrap_or(&word);
                if !digits.chars().all(|c| c.is_ascii_digit()) {
                    self.parsed.writes.push(word);
                }
            }
            Role::Delimiter => self.documents.push(word),
        }
    }

    fn end_part(&mut self) {
        self.end_word();
        if self.role != Role::Word {
            // A redirection without its file is no command; what follows is none of its words.
            self.role = Role::Word;
            self.parsed.complete = false;
        }
        let mut words = std::mem::take(&mut self.words);
        let reserved = words.iter().take_while(|word| is_reserved(word)).count();
        // `!` only turns the exit code round.
        if words.iter().take(reserved).any(|word| word != "!") {
            self.parsed.complete = false;
        }
        words.drain(..reserved);
        if words.first().is_some_and(|word| opens_block(word)) {
            self.parsed.complete = false;
        }
        if !words.is_empty() {
            self.parsed.parts.push(words);
        }
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    /// The text of a here-document is data.
    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            while self.at < self.text.len() {
                let from = self.at;
                self.skip_line();
                let line: String =
                    self.text.get(from..self.at).unwrap_or_default().iter().collect();
                self.at += 1;
                if line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }

    /// The commands of a text that stands inside of this one.
    fn nested(&mut self, text: &str) {
        self.parsed.complete = false;
        if self.depth >= MAX_DEPTH {
            return;
        }
        let mut inner = Scan::new(text, self.depth + 1);
        inner.run();
        self.parsed.parts.append(&mut inner.parsed.parts);
        self.parsed.writes.append(&mut inner.parsed.writes);
    }
}

/// Words that stand before a command and belong to the language.
fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "if" | "then"
            | "elif"
            | "else"
            | "fi"
            | "while"
            | "until"
            | "do"
            | "done"
            | "esac"
            | "{"
            | "}"
            | "!"
    )
}

/// Words that begin something that is no command.
fn opens_block(word: &str) -> bool {
    matches!(word, "for" | "case" | "select" | "function" | "coproc" | "[[")
}

#[cfg(test)]
mod tests;
