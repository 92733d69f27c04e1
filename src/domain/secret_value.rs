//! The forms in which a secret could turn up in a text. What is looked for in the words of a task and
//! what is blotted out of every event is the same list, made here.

/// Characters below which a value is not looked for: short values such as `true`, a year or a
/// first name turn up in honest texts, and to refuse those would hide nothing.
pub const LEAST_CHARS: usize = 8;

/// All forms of a secret text, the longest first: the whole, each of its lines, what a line such as
/// `TOKEN=value` assigns, and each of these as JSON writes it inside of a string. Forms shorter than
/// [`LEAST_CHARS`] are left out; a text that has no other form cannot be kept secret.
pub fn forms(text: &str) -> Vec<String> {
    let mut forms: Vec<String> = Vec::new();
    let mut add = |form: &str| {
        let form = form.trim();
        if is_long_enough(form) {
            forms.push(form.to_owned());
            forms.extend(in_json(form));
        }
    };
    add(text);
    for line in text.lines() {
        add(line);
        if let Some(value) = assigned(line) {
            add(value);
        }
    }
    forms.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    forms.dedup();
    forms
}

/// True if a value is long enough to be told from an ordinary word.
pub fn is_long_enough(value: &str) -> bool {
    value.trim().chars().take(LEAST_CHARS).count() == LEAST_CHARS
}

/// The value of `NAME=value`, `export NAME='value'` or `name: value`.
fn assigned(line: &str) -> Option<&str> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=').or_else(|| line.split_once(": "))?;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    let is_name = !name.trim().is_empty() && name.chars().all(plain);
    is_name.then(|| value.trim().trim_matches(|c| matches!(c, '"' | '\'')))
}

/// How JSON writes it inside of a string, where that differs.
fn in_json(text: &str) -> Option<String> {
    let quoted = serde_json::to_string(text).ok()?;
    let inner = quoted.get(1..quoted.len() - 1)?;
    (inner != text).then(|| inner.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_looked_for_whole_by_line_by_value_and_as_json() {
        let found = forms("export A_KEY='first-value-1'\nshort\n\nplain \"second\" value\n");
        for form in [
            "export A_KEY='first-value-1'\nshort\n\nplain \"second\" value",
            "export A_KEY='first-value-1'",
            "first-value-1",
            "plain \"second\" value",
            r#"plain \"second\" value"#,
        ] {
            assert!(found.iter().any(|one| one == form), "{form} of {found:?}");
        }
        assert!(found.iter().all(|form| form != "short"));
        assert!(found.is_sorted_by_key(|form| std::cmp::Reverse(form.len())));
    }

    #[test]
    fn what_is_too_short_to_be_told_from_a_word_has_no_form() {
        assert_eq!(forms(" true \n"), Vec::<String>::new());
        assert_eq!(forms(" 12345678 \n"), ["12345678"]);
        assert_eq!(forms("密密密密密密密密"), ["密密密密密密密密"]);
    }
}
