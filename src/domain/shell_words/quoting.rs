//! Quotes, escapes and substitutions: what is inside of one word.

use super::Scan;

impl Scan {
    /// A character that begins or goes on with a word.
    pub(super) fn in_word(&mut self, c: char) {
        match c {
            '\\' => match self.next().inspect(|_| self.quoted = true) {
                Some('\n') => {}
                Some(escaped) => self.word().push(escaped),
                None => self.parsed.complete = false,
            },
            '\'' => self.single_quoted(),
            '"' => self.double_quoted(),
            '`' => self.backquoted(),
            '$' => self.dollar(),
            '{' => {
                self.brace.get_or_insert(self.at);
                self.word().push('{');
            }
            '}' => {
                self.close_brace();
                self.word().push('}');
            }
            '*' | '?' | '[' => {
                self.pattern(c);
                self.word().push(c);
            }
            other => self.word().push(other),
        }
    }

    fn single_quoted(&mut self) {
        self.quoted = true;
        self.word();
        while let Some(c) = self.next() {
            if c == '\'' {
                return;
            }
            self.word().push(c);
        }
        self.parsed.complete = false;
    }

    fn double_quoted(&mut self) {
        self.quoted = true;
        self.word();
        while let Some(c) = self.next() {
            match c {
                '"' => return,
                '`' => self.backquoted(),
                '$' if self.peek() != Some('\'') && self.peek() != Some('"') => self.dollar(),
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => self.word().push(escaped),
                    Some(other) => self.word().extend(['\\', other]),
                    None => self.parsed.complete = false,
                },
                other => self.word().push(other),
            }
        }
        self.parsed.complete = false;
    }

    fn dollar(&mut self) {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                self.substitution();
            }
            Some('{') => {
                self.may_become_others();
                self.parameter();
            }
            Some('\'') => {
                self.at += 1;
                self.escaped_quoted();
            }
            Some('"') => {
                self.at += 1;
                self.double_quoted();
            }
            Some(c) if c == '_' || c.is_alphanumeric() || "@*#?$!-[".contains(c) => {
                self.may_become_others();
                self.word().push('$');
                if c == '#' || c == '[' {
                    self.at += 1;
                    self.word().push(c);
                }
            }
            Some(_) | None => self.word().push('$'),
        }
    }

    /// `$'...'`: the escapes in it are not undone.
    fn escaped_quoted(&mut self) {
        self.may_become_others();
        self.quoted = true;
        self.word();
        while let Some(c) = self.next() {
            match c {
                '\'' => return,
                '\\' => {
                    let escaped = self.next();
                    self.word().push('\\');
                    self.word().extend(escaped);
                }
                other => self.word().push(other),
            }
        }
    }

    /// `${...}`: kept as written; it may hold substitutions and change what a word is.
    fn parameter(&mut self) {
        self.parsed.complete = false;
        self.word().push('$');
        while let Some(c) = self.next() {
            match c {
                '`' => self.backquoted(),
                '$' if self.peek() == Some('(') => {
                    self.at += 1;
                    self.substitution();
                }
                '\\' => {
                    let escaped = self.next();
                    self.word().extend(escaped);
                }
                other => self.word().push(other),
            }
            if c == '}' {
                return;
            }
        }
    }

    fn backquoted(&mut self) {
        self.may_become_others();
        self.word();
        let mut inner = String::new();
        while let Some(c) = self.next() {
            match c {
                '`' => break,
                '\\' => inner.extend(self.next()),
                other => inner.push(other),
            }
        }
        self.nested(&inner);
    }

    /// `$(...)`, `<(...)` or `>(...)`, its parenthesis already read.
    pub(super) fn substitution(&mut self) {
        self.may_become_others();
        self.word();
        let from = self.at;
        let end = self.closing_parenthesis();
        let inner: String = self.text.get(from..end).unwrap_or_default().iter().collect();
        self.nested(&inner);
    }

    /// Goes behind the parenthesis that closes what is open here; returns where it stands.
    fn closing_parenthesis(&mut self) -> usize {
        let mut open = 1_usize;
        let mut quote = None;
        while let Some(c) = self.next() {
            match (quote, c) {
                (Some('\''), '\'') | (Some('"'), '"') => quote = None,
                (Some('\''), _) => {}
                (_, '\\') => self.at += 1,
                (None, '\'' | '"') => quote = Some(c),
                (None, '(') => open += 1,
                (None, ')') => open -= 1,
                (_, _) => {}
            }
            if open == 0 {
                return self.at - 1;
            }
        }
        self.at = self.at.min(self.text.len());
        self.at
    }
}
