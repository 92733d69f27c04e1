//! What a run of tests came to, read from its output where the format is known: cargo, pytest,
//! unittest, node's own runner, TAP, jest, vitest, mocha, go. A reader of text; the exit code decides.

/// Failed tests that are named at most.
const MAX_NAMES: usize = 50;
/// Characters of a name that are kept.
const NAME_CHARS: usize = 200;

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestResults {
    /// What the numbers count: tests, or packages where the output names no tests.
    pub of_packages: bool,
    /// Those that passed.
    pub passed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were left out.
    pub skipped: u64,
    /// The names of some that failed.
    pub names: Vec<String>,
}

/// Reads an output; `None` where no format is known in it.
pub fn read(output: &str) -> Option<TestResults> {
    let readers = [cargo, pytest, unittest, node, jest, mocha, go];
    let mut results = readers.iter().find_map(|reader| reader(output))?;
    results.names.truncate(MAX_NAMES);
    for name in &mut results.names {
        *name = crate::tool::excerpt::one_line(name, NAME_CHARS);
    }
    Some(results)
}

impl TestResults {
    /// On one line: `5 passed, 1 failed, 2 left out; failed: a, b`.
    pub fn in_words(&self) -> String {
        let of = if self.of_packages { " (packages)" } else { "" };
        let mut words = format!("{} passed, {} failed", self.passed, self.failed);
        if self.skipped > 0 {
            words.push_str(&format!(", {} left out", self.skipped));
        }
        words.push_str(of);
        if !self.names.is_empty() {
            words.push_str("; failed: ");
            words.push_str(&self.names.join(", "));
        }
        words
    }
}

/// `test result: FAILED. 2 passed; 1 failed; 0 ignored; ...`, once for each binary.
fn cargo(output: &str) -> Option<TestResults> {
    let mut results = TestResults::default();
    let mut found = false;
    for line in output.lines() {
        if let Some(counts) = line.strip_prefix("test result: ") {
            found = true;
            results.passed += number_before(counts, "passed");
            results.failed += number_before(counts, "failed");
            results.skipped += number_before(counts, "ignored");
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            results.names.push(name.to_owned());
        }
    }
    found.then_some(results)
}

/// `=== 1 failed, 2 passed, 1 skipped in 0.12s ===`, without the signs when quiet.
fn pytest(output: &str) -> Option<TestResults> {
    let is_summary = |line: &&str| {
        let counts = line.trim_matches(['=', ' ']);
        let ends = counts.contains(" in ") && counts.contains('s');
        let counted = ["passed", "failed", "error", "skipped", "no tests ran", "deselected"];
        ends && counts.starts_with(|c: char| c.is_ascii_digit() || c == 'n')
            && counted.iter().any(|word| counts.contains(word))
    };
    let counts = output.lines().rev().take(20).find(is_summary)?;
    let named = |line: &str| {
        let rest = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "))?;
        Some(rest.split(" - ").next().unwrap_or(rest).to_owned())
    };
    Some(TestResults {
        passed: number_before(counts, "passed") + number_before(counts, "xpassed"),
        failed: number_before(counts, "failed")
            + number_before(counts, "error")
            + number_before(counts, "errors"),
        skipped: number_before(counts, "skipped") + number_before(counts, "deselected"),
        names: output.lines().filter_map(named).collect(),
        of_packages: false,
    })
}

/// `Ran 3 tests in 0.001s`, then `OK` or `FAILED (failures=1, errors=1)`.
fn unittest(output: &str) -> Option<TestResults> {
    let mut lines = output.lines();
    let ran = lines.find_map(|line| line.strip_prefix("Ran ")?.split_once(" test"))?.0;
    let ran: u64 = ran.parse().ok()?;
    let end = lines.find(|line| line.starts_with("OK") || line.starts_with("FAILED"))?;
    let failed = number_after(end, "failures=") + number_after(end, "errors=");
    let skipped = number_after(end, "skipped=");
    let named = |line: &str| {
        let rest = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "))?;
        Some(rest.to_owned())
    };
    Some(TestResults {
        passed: ran.saturating_sub(failed + skipped),
        failed,
        skipped,
        names: output.lines().filter_map(named).collect(),
        of_packages: false,
    })
}

/// `# pass 3` in TAP, `ℹ pass 3` for people; of a TAP without counts the lines themselves.
fn node(output: &str) -> Option<TestResults> {
    let mut results = TestResults::default();
    let mut counted = false;
    let mut tap = (0, 0);
    for line in output.lines() {
        let line = line.trim();
        if let Some(count) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) {
            for (word, number) in [
                ("pass ", &mut results.passed),
                ("fail ", &mut results.failed),
                ("skipped ", &mut results.skipped),
            ] {
                if let Some(count) = count.strip_prefix(word).and_then(|count| count.parse().ok()) {
                    *number = count;
                    counted = true;
                }
            }
        } else if let Some(rest) = line.strip_prefix("not ok ") {
            if !rest.contains("# SKIP") && !rest.contains("# TODO") {
                tap.1 += 1;
                let name = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
                results.names.push(name.trim_start_matches("- ").to_owned());
            }
        } else if line.starts_with("ok ") {
            tap.0 += 1;
        } else if let Some(name) = line.strip_prefix("✖ ") {
            let name = name.rsplit_once(" (").map_or(name, |(name, _)| name).to_owned();
            if !name.starts_with("failing tests") && !results.names.contains(&name) {
                results.names.push(name);
            }
        }
    }
    if counted {
        return Some(results);
    }
    let is_tap = output.lines().any(|line| {
        line.starts_with("TAP version") || line.strip_prefix("1..").is_some_and(is_number)
    });
    is_tap.then_some(TestResults { passed: tap.0, failed: tap.1, ..results })
}

/// `Tests:       1 failed, 2 passed, 3 total`; vitest: `Tests  1 failed | 2 passed (3)`.
fn jest(output: &str) -> Option<TestResults> {
    let counts = output.lines().rev().find_map(|line| {
        let rest = line.trim().strip_prefix("Tests")?;
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let counted = rest.contains("passed") || rest.contains("failed") || rest.contains("total");
        (rest.starts_with(' ') && counted).then_some(rest)
    })?;
    let mut names = Vec::new();
    for line in output.lines() {
        let name = line.trim_start().strip_prefix("● ").or_else(|| {
            line.trim_start().strip_prefix("FAIL ").filter(|name| name.contains(" > "))
        });
        if let Some(name) = name.map(|name| name.trim().to_owned())
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    Some(TestResults {
        passed: number_before(counts, "passed"),
        failed: number_before(counts, "failed"),
        skipped: number_before(counts, "skipped") + number_before(counts, "todo"),
        names,
        of_packages: false,
    })
}

/// `3 passing (10ms)`, `1 failing`.
fn mocha(output: &str) -> Option<TestResults> {
    let count = |word: &str| {
        output.lines().find_map(|line| {
            let (number, rest) = line.trim().split_once(' ')?;
            rest.starts_with(word).then(|| number.parse::<u64>().ok())?
        })
    };
    let passed = count("passing")?;
    let (failed, skipped) = (count("failing").unwrap_or(0), count("pending").unwrap_or(0));
    Some(TestResults { passed, failed, skipped, ..TestResults::default() })
}

/// `--- FAIL: TestX (0.00s)` for each test, `ok  	package	0.1s` and `FAIL	package` for each package.
fn go(output: &str) -> Option<TestResults> {
    let named = |line: &str, sign: &str| {
        let name = line.trim_start().strip_prefix(sign)?;
        Some(name.split(" (").next().unwrap_or(name).to_owned())
    };
    let count = |sign: &str| {
        output.lines().filter(|line| line.trim_start().starts_with(sign)).count() as u64
    };
    let packages = |sign: &str| {
        let of = |line: &&str| line.strip_prefix(sign).is_some_and(|rest| rest.starts_with('\t'));
        output.lines().filter(of).count() as u64
    };
    let (ok, failed) = (packages("ok  "), packages("FAIL"));
    if ok + failed == 0 {
        return None;
    }
    let names: Vec<String> = output.lines().filter_map(|line| named(line, "--- FAIL: ")).collect();
    let passed = count("--- PASS: ");
    // Without -v only the tests that failed are named.
    if passed == 0 {
        return Some(TestResults { of_packages: true, passed: ok, failed, skipped: 0, names });
    }
    let skipped = count("--- SKIP: ");
    Some(TestResults { of_packages: false, passed, failed: names.len() as u64, skipped, names })
}

/// The number right before a word; 0 if there is none.
fn number_before(text: &str, word: &str) -> u64 {
    let words: Vec<&str> =
        text.split([' ', ',', ';', '|', '=']).filter(|w| !w.is_empty()).collect();
    let pairs = words.windows(2).rev();
    let found =
        pairs.filter(|pair| pair.last() == Some(&word)).find_map(|pair| pair.first()?.parse().ok());
    found.unwrap_or(0)
}

/// The number right behind a sign; 0 if there is none.
fn number_after(text: &str, sign: &str) -> u64 {
    let digits = text.split_once(sign).map_or("", |(_, rest)| rest);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end).and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn known_formats_are_read() {
        let table = [
            (
                "running 3 tests\ntest a::b ... ok\ntest a::c ... FAILED\n\n\
                 test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                 test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
                "5 passed, 1 failed, 1 left out; failed: a::c",
            ),
            (
                "FAILED tests/test_a.py::test_x - assert 1 == 2\nERROR tests/test_b.py\n\
                 ===== 1 failed, 2 passed, 3 skipped, 1 error in 0.12s =====\n",
                "2 passed, 2 failed, 3 left out; failed: tests/test_a.py::test_x, tests/test_b.py",
            ),
            ("...\n3 passed in 0.01s\n", "3 passed, 0 failed"),
            ("======= no tests ran in 0.01s =======\n", "0 passed, 0 failed"),
            (
                "FAIL: test_x (m.T.test_x)\n----\nRan 4 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n",
                "2 passed, 2 failed; failed: test_x (m.T.test_x)",
            ),
            ("Ran 1 test in 0.0s\n\nOK (skipped=1)\n", "0 passed, 0 failed, 1 left out"),
            (
                "TAP version 13\nok 1 - a\nnot ok 2 - b\n1..2\n# tests 2\n# pass 1\n# fail 1\n# skipped 0\n",
                "1 passed, 1 failed; failed: b",
            ),
            ("1..2\nok 1 - a\nnot ok 2 - b # TODO later\n", "1 passed, 0 failed"),
            (
                "✔ a (0.5ms)\n✖ b (0.7ms)\nℹ tests 2\nℹ pass 1\nℹ fail 1\n✖ failing tests:\n✖ b (0.7ms)\n",
                "1 passed, 1 failed; failed: b",
            ),
            (
                "  ● sum › adds\n\nTests:       1 failed, 1 skipped, 2 passed, 4 total\n",
                "2 passed, 1 failed, 1 left out; failed: sum › adds",
            ),
            (
                " FAIL  a.test.js > adds\n      Tests  1 failed | 2 passed (3)\n",
                "2 passed, 1 failed; failed: a.test.js > adds",
            ),
            ("  3 passing (10ms)\n  1 failing\n", "3 passed, 1 failed"),
            (
                "--- FAIL: TestX (0.00s)\nFAIL\nFAIL\texample.com/a\t0.1s\nok  \texample.com/b\t0.1s\n",
                "1 passed, 1 failed (packages); failed: TestX",
            ),
            (
                "--- PASS: TestA (0.00s)\n--- FAIL: TestX (0.00s)\nFAIL\texample.com/a\t0.1s\n",
                "1 passed, 1 failed; failed: TestX",
            ),
        ];
        for (output, right) in table {
            assert_eq!(read(output).unwrap().in_words(), right, "{output}");
        }
    }

    #[test]
    fn other_texts_are_no_results() {
        for output in [
            "",
            "ok",
            "all good\n",
            "error[E0425]\n",
            "Tests are nice",
            "FAILED to build",
            "# pass me",
        ] {
            assert_eq!(read(output), None, "{output}");
        }
    }

    #[test]
    fn many_and_long_names_are_cut() {
        let mut output = String::new();
        for number in 0..200 {
            output.push_str(&format!("test {}{number} ... FAILED\n", "x".repeat(500)));
        }
        output.push_str("test result: FAILED. 0 passed; 200 failed; 0 ignored\n");
        let results = read(&output).unwrap();
        assert_eq!((results.failed, results.names.len()), (200, MAX_NAMES));
        assert!(results.in_words().chars().count() < 11_000);
    }
}
