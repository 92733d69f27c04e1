//! The head of a Markdown file: names and values between two lines of `---`. The small part of YAML
//! that people write there: texts, quoted texts, lists, blocks, comments. It refuses to know what
//! the names mean.

/// A head and what follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parted {
    /// The values by name, in the order of the file.
    pub head: Vec<(String, Value)>,
    /// The text behind the head.
    pub body: String,
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text; empty where nothing was written.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
}

const MARK: &str = "---";

impl Parted {
    /// Takes a file apart, or says in words why it cannot be.
    pub fn of(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines();
        if lines.next().map(str::trim_end) != Some(MARK) {
            return Err("it does not begin with a line `---` and a head".to_owned());
        }
        let mut head = Vec::new();
        for line in lines.by_ref() {
            if line.trim_end() == MARK {
                let body = lines.collect::<Vec<_>>().join("\n").trim().to_owned();
                return Ok(Self { head: values(&head)?, body });
            }
            head.push(line);
        }
        Err("its head has no second line `---`".to_owned())
    }

    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.head.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }
}

fn values(lines: &[&str]) -> Result<Vec<(String, Value)>, String> {
    let mut found: Vec<(String, Value)> = Vec::new();
    let mut rest = lines.iter().enumerate().peekable();
    while let Some((index, line)) = rest.next() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        // The first line of the file is the mark.
        let at = index + 2;
        let Some((name, written)) = line.split_once(':').filter(|_| !line.starts_with([' ', '\t']))
        else {
            return Err(format!("line {at} of its head is no `name: value`"));
        };
        let name = name.trim().to_owned();
        if found.iter().any(|(other, _)| *other == name) {
            return Err(format!("line {at} of its head sets `{name}` a second time"));
        }
        let mut more = Vec::new();
        while let Some((_, line)) = rest.next_if(|(_, line)| belongs(line)) {
            more.push(line.trim());
        }
        let value = value(written.trim(), &more).map_err(|why| format!("line {at}: {why}"))?;
        found.push((name, value));
    }
    Ok(found)
}

/// True for a line that goes on with the value above it.
fn belongs(line: &str) -> bool {
    line.starts_with([' ', '\t']) && !line.trim().is_empty() || line.starts_with("- ")
}

fn value(written: &str, more: &[&str]) -> Result<Value, String> {
    let is_list = !more.is_empty() && more.iter().all(|line| line.starts_with('-'));
    if is_list && without_comment(written).is_empty() {
        let items = more.iter().map(|line| text(line.trim_start_matches('-').trim()));
        return Ok(Value::List(items.collect::<Result<_, _>>()?));
    }
    if matches!(written, "|" | ">" | "|-" | ">-" | "|+" | ">+") {
        let between = if written.starts_with('|') { "\n" } else { " " };
        return Ok(Value::Text(more.join(between)));
    }
    if let Some(inside) = written.strip_prefix('[') {
        let whole = format!("{inside} {}", more.join(" "));
        let Some((items, _)) = whole.rsplit_once(']') else {
            return Err("a list is not closed by `]`".to_owned());
        };
        let items = items.split(',').map(str::trim).filter(|item| !item.is_empty());
        return Ok(Value::List(items.map(text).collect::<Result<_, _>>()?));
    }
    let whole = std::iter::once(written).chain(more.iter().copied()).collect::<Vec<_>>().join(" ");
    text(whole.trim()).map(Value::Text)
}

/// A single text, out of its quotes.
fn text(written: &str) -> Result<String, String> {
    for quote in ['"', '\''] {
        let Some(inside) = written.strip_prefix(quote) else { continue };
        return match without_comment(inside).strip_suffix(quote) {
            Some(inside) => Ok(inside.replace(&format!("\\{quote}"), &quote.to_string())),
            None => Err("a quote is not closed".to_owned()),
        };
    }
    Ok(without_comment(written).to_owned())
}

/// What stands before a comment.
fn without_comment(written: &str) -> &str {
    if written.starts_with('#') {
        return "";
    }
    // A quoted text may hold the mark of a comment.
    let quoted = written.ends_with(['"', '\'']);
    match written.split_once(" #") {
        Some((before, _)) if !quoted => before.trim_end(),
        _ => written,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn head(text: &str) -> Vec<(String, Value)> {
        Parted::of(&format!("---\n{text}\n---\nbody\n")).unwrap().head
    }

    fn one(text: &str) -> Value {
        let mut head = head(text);
        assert_eq!(head.len(), 1, "{text}");
        head.remove(0).1
    }

    #[test]
    fn texts_come_out_of_their_quotes_and_lose_their_comments() {
        let table = [
            ("a: b", "b"),
            ("a:", ""),
            ("a: \"b: c\"", "b: c"),
            ("a: 'b # c'", "b # c"),
            ("a: \"say \\\"x\\\"\"", "say \"x\""),
            ("a: b # c", "b"),
            ("a: b#c", "b#c"),
            ("a: # c", ""),
            ("a: b\n  c", "b c"),
            ("a: |\n  b\n  c", "b\nc"),
            ("a: >-\n  b\n  c", "b c"),
        ];
        for (written, right) in table {
            assert_eq!(one(written), Value::Text(right.to_owned()), "{written}");
        }
    }

    #[test]
    fn lists_are_read_in_each_of_their_forms() {
        let right = Value::List(vec!["Read".to_owned(), "Bash".to_owned()]);
        for written in [
            "a: [Read, Bash]",
            "a: [\"Read\", 'Bash']",
            "a:\n  - Read\n  - Bash",
            "a:\n- Read\n- Bash",
            "a: [Read,\n  Bash]",
        ] {
            assert_eq!(one(written), right, "{written}");
        }
        assert_eq!(one("a: []"), Value::List(Vec::new()));
    }

    #[test]
    fn what_is_broken_is_said_with_its_line() {
        let table = [
            ("no head", "begin"),
            ("", "begin"),
            ("---\nname: x\n", "second line"),
            ("---\nname: x\nname: y\n---\n", "line 3"),
            ("---\nwords\n---\n", "line 2"),
            ("---\n  a: b\n---\n", "line 2"),
            ("---\na: [b\n---\n", "`]`"),
            ("---\na: \"b\n---\n", "quote"),
        ];
        for (text, words) in table {
            let why = Parted::of(text).unwrap_err();
            assert!(why.contains(words), "{text:?}: {why}");
        }
    }

    #[test]
    fn line_ends_and_a_byte_order_mark_make_no_difference() {
        let parted = Parted::of("\u{feff}---\r\na: b\r\n---\r\none\r\n\r\ntwo\r\n").unwrap();
        assert_eq!(parted.get("a"), Some(&Value::Text("b".to_owned())));
        assert_eq!(parted.body, "one\n\ntwo");
    }
}
