//! Whether a text says that tests pass. A guess at words: it decides about a warning and nothing
//! else, so it rather misses a hedged sentence than blames an honest one.

/// English or Chinese.
pub(super) fn says_tests_pass(text: &str) -> bool {
    clauses(text).any(|clause| in_english(clause) || in_chinese(clause))
}

/// What stands between full stops, semicolons and line ends. A point inside of a name is none.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', '!', '?', '。', '；', '！', '？']).flat_map(|part| part.split(". "))
}

fn in_english(clause: &str) -> bool {
    let lower = clause.to_lowercase();
    let is_word = |character: char| character.is_alphanumeric() || "'’".contains(character);
    let words: Vec<&str> =
        lower.split(|character| !is_word(character)).filter(|word| !word.is_empty()).collect();
    let before = |at: usize| at.checked_sub(1).and_then(|at| words.get(at)).copied();
    let speaks_of_tests = words.iter().any(|word| is_about_tests(word));
    let passes = words.iter().enumerate().any(|(at, word)| {
        let counted = before(at).is_some_and(|before| before.parse::<u64>().is_ok_and(|n| n > 0));
        let meant = before(at) != Some("to");
        is_passing(word) && meant && (speaks_of_tests || (*word == "passed" && counted))
    });
    passes && !words.iter().enumerate().any(|(at, _)| is_doubt(&words, at))
}

fn is_about_tests(word: &str) -> bool {
    word.starts_with("test") || word.ends_with("test") || word.ends_with("tests") || word == "suite"
}

fn is_passing(word: &str) -> bool {
    let words =
        ["pass", "passes", "passed", "passing", "green", "succeed", "succeeds", "succeeded"];
    words.contains(&word)
}

/// A word that takes the claim back or puts it off. "No failures" does neither.
fn is_doubt(words: &[&str], at: usize) -> bool {
    let word = words.get(at).copied().unwrap_or_default();
    let before = at.checked_sub(1).and_then(|at| words.get(at)).copied().unwrap_or_default();
    let after = words.get(at + 1).copied().unwrap_or_default();
    let is_fault = |word: &str| word.starts_with("fail") || word.starts_with("error");
    if is_fault(word) {
        return !["0", "no", "zero", "without", "any"].contains(&before);
    }
    if ["no", "without"].contains(&word) {
        return !is_fault(after) && !["warnings", "regressions", "any"].contains(&after);
    }
    let doubts = [
        "not",
        "never",
        "none",
        "cannot",
        "unable",
        "should",
        "would",
        "could",
        "might",
        "may",
        "until",
        "if",
        "once",
        "whether",
        "unless",
        "neither",
        "will",
        "expect",
        "expected",
        "unverified",
        "untested",
    ];
    doubts.contains(&word) || word.ends_with("n't") || word.ends_with("n’t")
}

fn in_chinese(clause: &str) -> bool {
    let plain = ["没有失败", "无失败", "0 失败", "0失败", "零失败"]
        .iter()
        .fold(clause.to_owned(), |text, harmless| text.replace(harmless, ""));
    let doubts = [
        "未通过",
        "没通过",
        "没有通过",
        "不通过",
        "未能",
        "无法",
        "不能",
        "应该",
        "应当",
        "如果",
        "失败",
        "是否",
        "没有运行",
        "未运行",
        "才能",
    ];
    plain.contains("测试")
        && (plain.contains("通过") || plain.contains("全绿"))
        && !doubts.iter().any(|doubt| plain.contains(doubt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_told_from_hedges_and_failures() {
        let claims = [
            "All tests pass.",
            "Fixed it; tests are green now",
            "I ran the suite and it passed",
            "The fix works. 12 passed in 0.31s",
            "cargo test passes with no failures",
            "12 tests passed and 0 failed",
            "made the failing thing right\nThe unit tests succeed",
            "所有测试通过。",
            "测试全部通过，0 失败",
        ];
        for text in claims {
            assert!(says_tests_pass(text), "{text}");
        }
        let others = [
            "",
            "The tests do not pass.",
            "Not all tests passed",
            "Two tests failed, three passed",
            "The tests should pass now",
            "Could not run the tests to see them pass",
            "I wrote it to pass the tests",
            "Passed the argument to the function",
            "I didn't check whether tests pass",
            "No tests passed",
            "0 passed",
            "The test file is tests/a.rs.",
            "测试未通过",
            "测试应该能通过",
            "没有运行测试",
        ];
        for text in others {
            assert!(!says_tests_pass(text), "{text}");
        }
    }
}
