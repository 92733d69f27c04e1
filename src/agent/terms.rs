//! Whether `done_when` and `must_not` were kept, as far as that can be seen without understanding
//! them. It rather misses a breach than accuses wrongly: only names of files and folders are held
//! against what happened, and no clause that says "but", "only" or the like.

use super::changes::Tests;
use super::cited::split_line;
use super::passing::says_tests_pass;
use crate::domain::changes::{ChangeList, Difference};
use crate::domain::report::{Warning, WarningCode};

/// Paths of one text that are looked at.
const MOST_PATHS: usize = 20;
/// Endings of file names that need no folder before them to be taken for one.
const ENDINGS: [&str; 26] = [
    "c", "cfg", "cpp", "css", "csv", "go", "h", "html", "ini", "java", "json", "jsonl", "kt",
    "lock", "md", "py", "rb", "rs", "sh", "sql", "toml", "ts", "tsx", "txt", "yaml", "yml",
];
/// What turns a ban around or bounds it.
const EXCEPTIONS: [&str; 19] = [
    "but",
    "except",
    "excluding",
    "other",
    "outside",
    "beyond",
    "besides",
    "only",
    "apart",
    "unless",
    "without",
    "instead",
    "beside",
    "than",
    "not",
    "until",
    "before",
    "if",
    "leave",
];
const EXCEPTIONS_ZH: [&str; 8] = ["以外", "之外", "除了", "除非", "只", "仅", "如果", "之前"];
/// What says that a file is to be gone, or is no matter of being there.
const ABSENCE: [&str; 21] = [
    "not", "no", "never", "none", "without", "gone", "removed", "remove", "removes", "deleted",
    "delete", "deletes", "renamed", "moved", "moves", "replaced", "absent", "instead", "longer",
    "like", "from",
];
const ABSENCE_ZH: [&str; 8] = ["不", "没", "删", "移", "无", "改名", "替换", "类似"];

/// What a ban is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ban {
    Change,
    Deletion,
    Creation,
}

/// The changes that `must_not` forbids by name.
pub(super) fn broken_bans(must_not: &str, changed: &ChangeList) -> Option<Warning> {
    let mut broken: Vec<String> = Vec::new();
    for clause in clauses(must_not) {
        let bans = bans(clause);
        for named in names(clause) {
            let hit = |step: &Difference| is_at_or_below(&step.path, &named) && banned(&bans, step);
            if changed.differences().any(|step| hit(&step)) && !broken.contains(&named) {
                broken.push(named);
            }
        }
    }
    let text = format!("changed what must_not names: {}", broken.join(", "));
    (!broken.is_empty()).then(|| Warning::new(WarningCode::MustNot, text))
}

/// Tests that `done_when` wants to pass and that did not.
pub(super) fn missing_tests(done_when: &str, tests: Option<Tests>) -> Option<Warning> {
    let text = match tests {
        Some(Tests::Passed) => return None,
        Some(Tests::PassedBefore) => {
            "is done when tests pass, but files changed after they ran last"
        }
        Some(Tests::Failed) => "is done when tests pass, but they did not when they ran last",
        None => "is done when tests pass, but the test command never ran",
    };
    says_tests_pass(done_when).then(|| Warning::new(WarningCode::TestsNotRun, text))
}

/// The files that `done_when` speaks of and that should be there, as it names them.
pub(super) fn wanted_files(done_when: &str) -> Vec<String> {
    let mut wanted: Vec<String> = Vec::new();
    for clause in clauses(done_when).filter(|clause| !says(clause, &ABSENCE, &ABSENCE_ZH)) {
        for name in names(clause).filter(|name| is_file_name(name)) {
            if !wanted.contains(&name) && wanted.len() < MOST_PATHS {
                wanted.push(name);
            }
        }
    }
    wanted
}

/// Of the wanted files, those that are missing.
pub(super) fn missing_files(missing: &[String]) -> Option<Warning> {
    let text = format!("done_when names what does not exist: {}", missing.join(", "));
    (!missing.is_empty()).then(|| Warning::new(WarningCode::DoneWhen, text))
}

/// What stands between full stops, semicolons and line ends.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', '。', '；']).flat_map(|part| part.split(". "))
}

/// What a clause forbids; nothing if it speaks of exceptions or of no doing that can be seen.
fn bans(clause: &str) -> Vec<Ban> {
    if says(clause, &EXCEPTIONS, &EXCEPTIONS_ZH) {
        return Vec::new();
    }
    let table: [(Ban, &[&str], &[&str]); 3] = [
        (
            Ban::Change,
            &[
                "change",
                "changes",
                "changing",
                "modify",
                "modifying",
                "edit",
                "editing",
                "touch",
                "touching",
                "alter",
                "altering",
                "write",
                "writing",
                "overwrite",
                "update",
                "rewrite",
                "reformat",
            ],
            &["改", "动", "碰", "写", "编辑", "更新", "覆盖"],
        ),
        (Ban::Deletion, &["delete", "deleting", "remove", "removing"], &["删", "移除"]),
        (Ban::Creation, &["create", "creating", "add", "adding"], &["创建", "新建", "添加"]),
    ];
    let bare = words(clause).all(|word| path_of(word).is_some());
    let banned = |(ban, english, chinese): (Ban, &[&str], &[&str])| {
        (says(clause, english, chinese) || (bare && ban == Ban::Change)).then_some(ban)
    };
    table.into_iter().filter_map(banned).collect()
}

fn banned(bans: &[Ban], step: &Difference) -> bool {
    bans.iter().any(|ban| match ban {
        Ban::Change => true,
        Ban::Deletion => step.after.is_none(),
        Ban::Creation => step.before.is_none(),
    })
}

/// Words of a clause, as they stand between blanks and the commas of lists.
fn words(clause: &str) -> impl Iterator<Item = &str> {
    clause
        .split(|c: char| c.is_whitespace() || ",，、：".contains(c))
        .filter(|word| !word.is_empty())
}

fn says(clause: &str, english: &[&str], chinese: &[&str]) -> bool {
    let is_plain = |word: &str| path_of(word).is_none();
    let in_english = words(clause).filter(|word| is_plain(word)).any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let word = word.replace('’', "'");
        english.contains(&word.as_str()) || (word.ends_with("n't") && english.contains(&"not"))
    });
    in_english || chinese.iter().any(|part| clause.contains(part))
}

fn names(clause: &str) -> impl Iterator<Item = String> {
    words(clause).filter_map(path_of)
}

/// The path that a word is, from the root: marked as such by quotes or by a slash at its end, or
/// with the form of a file's name.
fn path_of(word: &str) -> Option<String> {
    let outer = word.trim_start_matches(['(', '[', '"', '\'', '“']);
    let outer = outer.trim_end_matches(['.', ',', ':', ';', '!', '?', ')', ']', '"', '\'', '”']);
    let quoted = outer.len() > 2 && outer.starts_with('`') && outer.ends_with('`');
    let inner = if quoted { outer.trim_matches('`') } else { outer };
    let (inner, _) = split_line(inner);
    let folder = inner.strip_suffix("/**").or_else(|| inner.strip_suffix('/'));
    let path = folder.unwrap_or(&inner);
    let path = path.strip_prefix("./").unwrap_or(path);
    let in_form = !path.is_empty()
        && path.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c))
        && path.split('/').all(|name| !name.is_empty() && name != "." && name != "..");
    let marked = quoted || folder.is_some() || is_file_name(path);
    (in_form && marked).then(|| path.to_owned())
}

/// `a/b.ext`, or a bare name with an ending that files have.
fn is_file_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let usual = ENDINGS.contains(&ending);
    let may_end = ending.len() <= 8 && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    !stem.is_empty() && (usual || (path.contains('/') && may_end))
}

fn is_at_or_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::changes::{FileKind, FileState};

    fn changes(steps: &[(&str, bool, bool)]) -> ChangeList {
        let file = || FileState { kind: FileKind::File, mode: 0o644, bytes: 0, sha256: None };
        let mut list = ChangeList::default();
        for (path, before, after) in steps {
            let before = before.then(file);
            let after = after.then(|| FileState { bytes: 1, ..file() });
            list.fold(&Difference { path: (*path).to_owned(), before, after });
        }
        list
    }

    #[test]
    fn a_ban_is_broken_by_a_change_of_what_it_names_and_by_nothing_else() {
        let changed = changes(&[
            ("src/lib.rs", true, true),
            ("docs/new.md", false, true),
            ("vendor/a.c", true, false),
        ]);
        for (must_not, broken) in [
            ("change src/lib.rs", Some("src/lib.rs")),
            ("Do not touch `src/lib.rs`.", None),
            ("touch `src/lib.rs` or the README", Some("src/lib.rs")),
            ("edit anything in src/", Some("src")),
            ("edit anything in `src`", Some("src")),
            ("modify ./src/lib.rs:12", Some("src/lib.rs")),
            ("src/lib.rs, Cargo.toml", Some("src/lib.rs")),
            ("delete vendor/a.c", Some("vendor/a.c")),
            ("delete src/lib.rs", None),
            ("add docs/new.md", Some("docs/new.md")),
            ("create src/lib.rs", None),
            ("修改 src/lib.rs", Some("src/lib.rs")),
            ("删除 vendor/a.c、Cargo.toml", Some("vendor/a.c")),
            ("change anything but src/lib.rs", None),
            ("change files other than `src/lib.rs`", None),
            ("change anything outside src/", None),
            ("修改 src/lib.rs 以外的文件", None),
            ("break the API of src/lib.rs", None),
            ("read src/lib.rs", None),
            ("change lib.rs", None),
            ("change src/lib", None),
            ("change the source", None),
            ("change tests/and/or", None),
            ("", None),
        ] {
            let found = broken_bans(must_not, &changed).map(|warning| warning.text);
            let right = broken.map(|path| format!("changed what must_not names: {path}"));
            assert_eq!(found, right, "{must_not}");
        }
        assert_eq!(broken_bans("change src/lib.rs", &ChangeList::default()), None);
    }

    #[test]
    fn done_when_wants_the_files_that_it_names_and_not_those_that_are_to_go() {
        for (done_when, wanted) in [
            ("docs/plan.md exists", &["docs/plan.md"][..]),
            ("`a/b.txt` and README.md say so.", &["a/b.txt", "README.md"]),
            ("a/b.txt:3 reads `two`", &["a/b.txt"]),
            ("src/x.zig compiles", &["src/x.zig"]),
            ("docs/计划.md 已写好", &["docs/计划.md"]),
            ("src/old.rs is removed; src/new.rs is there", &["src/new.rs"]),
            ("there is no src/old.rs", &[]),
            ("src/old.rs doesn't exist", &[]),
            ("src/old.rs 已删除", &[]),
            ("it runs on Node.js 18.2 and/or v1.2", &[]),
            ("foo.bar() works, see https://example.com/a.html", &[]),
            ("read/write works on client/server", &[]),
            ("../up.rs and /etc/passwd.txt", &[]),
            ("all is well", &[]),
        ] {
            assert_eq!(wanted_files(done_when), wanted, "{done_when}");
        }
    }

    #[test]
    fn only_a_passing_run_settles_a_demand_for_tests() {
        for (done_when, tests, warns) in [
            ("all tests pass", None, true),
            ("all tests pass", Some(Tests::Failed), true),
            ("all tests pass", Some(Tests::PassedBefore), true),
            ("all tests pass", Some(Tests::Passed), false),
            ("测试全部通过", None, true),
            ("the tests are listed", None, false),
            ("it compiles", None, false),
        ] {
            let found = missing_tests(done_when, tests);
            assert_eq!(found.is_some(), warns, "{done_when} {tests:?}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(missing_files(&[]), None);
        let missing = missing_files(&["a.md".to_owned(), "b.md".to_owned()]);
        assert!(missing.is_some_and(|warning| warning.text.ends_with("a.md, b.md")));
    }
}
