//! Here-documents: data, unless a shell reads it or the shell that passes it on replaces parts of it.

use super::Scan;

/// A here-document that begins at the next line.
pub(super) struct Document {
    /// The line that ends it.
    pub end: String,
    /// True if that was quoted: nothing in the text is replaced then.
    pub quoted: bool,
}

impl Scan {
    /// Passes over the texts of the here-documents that begin here.
    pub(super) fn skip_documents(&mut self) {
        for document in std::mem::take(&mut self.documents) {
            let from = self.at;
            let mut until = from;
            while self.at < self.text.len() {
                let line_from = self.at;
                self.skip_line();
                let line: String =
                    self.text.get(line_from..self.at).unwrap_or_default().iter().collect();
                self.at += 1;
                if line.trim_start_matches('\t') == document.end {
                    break;
                }
                until = self.at;
            }
            self.at = self.at.min(self.text.len());
            let until = until.min(self.text.len());
            let text: String = self.text.get(from..until).unwrap_or_default().iter().collect();
            if self.parsed.anything {
                // A shell reads it, perhaps: words that are found are better than none.
                self.nested(&text);
            } else if !document.quoted {
                self.replaced(&text);
            }
        }
    }

    /// The commands of a text of which a shell replaces variables and substitutions only.
    fn replaced(&mut self, text: &str) {
        let mut inner = Scan::new(text, self.depth);
        while let Some(c) = inner.next() {
            match c {
                '\\' => inner.at += 1,
                '`' | '$' => inner.in_word(c),
                _ => {}
            }
        }
        self.parsed.add(inner.parsed);
    }
}
