//! Who may do what: a table of verdicts, and that nothing which is stricter ever frees anything.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use super::cases;
use crate::domain::allowance::{Allowances, Requester, exact};
use crate::domain::approval::{Answer, ApprovePolicy, Decider, Deed, Mode};
use crate::domain::fence::{Fence, FenceLevel};
use crate::domain::hash::Sha;
use crate::domain::ids::{RunId, TaskId};
use crate::domain::permit::{self, CallView, Standing, Verdict};
use crate::domain::rules::{Pattern, Rules};
use crate::domain::shell_words::{Parsed, command_words};

/// A call as a test writes it.
struct Call {
    tool: &'static str,
    deed: Deed,
    exact: Sha,
    paths: Vec<Vec<String>>,
    command: Option<Parsed>,
}

impl Call {
    /// `bash: ls`, `run_tests: cargo test`, `write_file: src/a.rs`, `search`.
    fn new(text: &str) -> Self {
        let (tool, what) = text.split_once(": ").unwrap_or((text, ""));
        let (tool, deed) = match tool {
            "bash" => ("bash", Deed::Command),
            "run_tests" => ("run_tests", Deed::Test),
            "write_file" => ("write_file", Deed::Edit),
            "edit_file" => ("edit_file", Deed::Edit),
            "read_file" => ("read_file", Deed::Look),
            "git_diff" => ("git_diff", Deed::Look),
            "list_files" => ("list_files", Deed::Look),
            _ => ("search", Deed::Look),
        };
        let runs = matches!(deed, Deed::Command | Deed::Test);
        let names = || what.split('/').map(str::to_owned).collect();
        Self {
            tool,
            deed,
            exact: exact(tool, &json!({ "what": what })),
            paths: if runs || what.is_empty() { Vec::new() } else { vec![names()] },
            command: runs.then(|| command_words(what)),
        }
    }

    fn view(&self) -> CallView<'_> {
        CallView {
            tool: self.tool,
            deed: self.deed,
            exact: &self.exact,
            paths: &self.paths,
            command: self.command.as_ref(),
            configured: false,
        }
    }
}

fn parent() -> Requester {
    Requester::Parent { run: RunId::parent(1) }
}

fn child(task: u32, role: &str) -> Requester {
    Requester::Child { run: RunId::child(TaskId(task), 1), role: role.to_owned() }
}

fn fence(level: FenceLevel) -> Fence {
    Fence { level, loopback: true, missing: Vec::new(), network_open: false }
}

fn verdict(
    mode: Mode,
    level: FenceLevel,
    rules: &Rules,
    given: &Allowances,
    call: &Call,
) -> Verdict {
    let fence = fence(level);
    let standing = Standing { mode, fence: &fence, rules, allowances: given };
    permit::decide(&standing, &parent(), &call.view())
}

/// `allow`, `ask` or `deny`, and who says so.
fn word(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Allow { by } => format!("allow {by:?}"),
        Verdict::Ask => "ask".to_owned(),
        Verdict::Deny { by, .. } => format!("deny {by:?}"),
    }
}

fn freedom(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Deny { .. } => 0,
        Verdict::Ask => 1,
        Verdict::Allow { .. } => 2,
    }
}

const LEVELS: [FenceLevel; 3] = [FenceLevel::Unfenced, FenceLevel::Partial, FenceLevel::Fenced];

#[test]
fn a_mode_alone_decides_as_its_name_says() {
    let none = Rules::default();
    let calls = ["search", "write_file: src/a.rs", "run_tests: cargo test", "bash: ls"];
    for (mode, level, words) in [
        (Mode::ReadOnly, FenceLevel::Fenced, ["allow Mode", "deny Mode", "deny Mode", "deny Mode"]),
        (Mode::Ask, FenceLevel::Fenced, ["allow Mode", "ask", "ask", "ask"]),
        (Mode::AutoEdit, FenceLevel::Fenced, ["allow Mode", "allow Mode", "ask", "ask"]),
        (
            Mode::FullAccess,
            FenceLevel::Fenced,
            ["allow Mode", "allow Mode", "allow Mode", "allow Mode"],
        ),
        (Mode::FullAccess, FenceLevel::Partial, ["allow Mode", "allow Mode", "ask", "ask"]),
        (Mode::FullAccess, FenceLevel::Unfenced, ["allow Mode", "allow Mode", "ask", "ask"]),
    ] {
        let given = Allowances::default();
        let found = calls.map(|call| word(&verdict(mode, level, &none, &given, &Call::new(call))));
        assert_eq!(found, words, "{mode:?}, {level}");
    }
}

#[test]
fn commands_that_have_the_network_are_asked_about_unless_a_rule_names_them() {
    let open = fence(FenceLevel::Fenced).with_network(true);
    let whole = Rules::parse::<&str>(&["bash"], &[], &[]).unwrap();
    let named = Rules::parse::<&str>(&["bash(ls)"], &[], &[]).unwrap();
    let given = Allowances::default();
    for (mode, rules, call, expected) in [
        (Mode::FullAccess, &Rules::default(), "bash: ls", "ask"),
        (Mode::FullAccess, &Rules::default(), "run_tests: cargo test", "ask"),
        (Mode::FullAccess, &Rules::default(), "write_file: a", "allow Mode"),
        (Mode::Ask, &whole, "bash: ls", "ask"),
        (Mode::Ask, &named, "bash: ls", "allow Rule"),
    ] {
        let standing = Standing { mode, fence: &open, rules, allowances: &given };
        let found = permit::decide(&standing, &parent(), &Call::new(call).view());
        assert_eq!(word(&found), expected, "{mode:?} {call}");
    }
    let configured = Call::new("run_tests: make check");
    let view = CallView { configured: true, ..configured.view() };
    let rules = Rules::default();
    let standing =
        Standing { mode: Mode::AutoEdit, fence: &open, rules: &rules, allowances: &given };
    assert_eq!(permit::decide(&standing, &parent(), &view), Verdict::Ask);
    let Verdict::Deny { reason, .. } =
        permit::without_asking(ApprovePolicy::All, &open, Deed::Command)
    else {
        panic!("the policy lets nothing through that has the network");
    };
    assert!(reason.contains("they are fenced · network open"), "{reason}");
    let edit = permit::without_asking(ApprovePolicy::All, &open, Deed::Edit);
    assert_eq!(edit, Verdict::Allow { by: Decider::Policy });
}

#[test]
fn a_configured_test_command_runs_unasked_outside_of_ask_and_inside_the_fence() {
    let call = Call::new("run_tests: make check");
    let view = CallView { configured: true, ..call.view() };
    let (rules, given) = (Rules::default(), Allowances::default());
    for (mode, level, expected) in [
        (Mode::Ask, FenceLevel::Fenced, "ask"),
        (Mode::AutoEdit, FenceLevel::Fenced, "allow Mode"),
        (Mode::AutoEdit, FenceLevel::Partial, "ask"),
        (Mode::ReadOnly, FenceLevel::Fenced, "deny Mode"),
    ] {
        let fence = fence(level);
        let standing = Standing { mode, fence: &fence, rules: &rules, allowances: &given };
        assert_eq!(word(&permit::decide(&standing, &parent(), &view)), expected, "{mode:?}");
    }
}

#[test]
fn what_other_programs_obey_is_asked_about_where_changes_are_not() {
    for path in [".git/hooks/pre-commit", "sub/.git/config", ".offshoot/config.toml", ".GIT/config"]
    {
        let call = Call::new(&format!("write_file: {path}"));
        let (rules, given) = (Rules::default(), Allowances::default());
        let found = verdict(Mode::AutoEdit, FenceLevel::Fenced, &rules, &given, &call);
        assert_eq!(found, Verdict::Ask, "{path}");
    }
}

#[test]
fn rules_decide_by_their_words_and_the_strictest_wins() {
    type Row = (&'static str, [&'static [&'static str]; 3], &'static str);
    let table: &[Row] = &[
        ("bash: git status", [&["bash(git status)"], &[], &[]], "allow Rule"),
        ("bash: git status -s", [&["bash(git status)"], &[], &[]], "allow Rule"),
        ("bash: git statusx", [&["bash(git status)"], &[], &[]], "ask"),
        ("bash: git", [&["bash(git status)"], &[], &[]], "ask"),
        ("bash: git status && rm x", [&["bash(git status)"], &[], &[]], "ask"),
        ("bash: git status; ls", [&["bash(git status)", "bash(ls)"], &[], &[]], "allow Rule"),
        ("bash: git status | head", [&["bash(git status)"], &[], &[]], "ask"),
        ("bash: git status $(rm x)", [&["bash(git status)"], &[], &[]], "ask"),
        ("bash: git status > src/a.rs", [&["bash(git status)"], &[], &[]], "ask"),
        ("bash: git status 2>/dev/null", [&["bash(git status)"], &[], &[]], "allow Rule"),
        ("bash: PAGER=evil git status", [&["bash(git status)"], &[], &[]], "ask"),
        ("bash: ./git status", [&["bash(git status)"], &[], &[]], "ask"),
        ("bash: git log --output=P", [&["bash(git log)"], &[], &[]], "ask"),
        ("bash: git log --oneline", [&["bash(git log)"], &[], &[]], "allow Rule"),
        ("bash: git -c alias.x=y x", [&["bash(git)"], &[], &[]], "ask"),
        ("bash: git -c a=b log", [&["bash(git -c a=b)"], &[], &[]], "allow Rule"),
        ("bash: find . -delete", [&["bash(find)"], &[], &[]], "ask"),
        ("bash: find . -name x", [&["bash(find)"], &[], &[]], "allow Rule"),
        ("bash: sort -o P x | ls", [&["bash(sort)", "bash(ls)"], &[], &[]], "ask"),
        ("bash: git push", [&["bash"], &[], &["bash(git push)"]], "deny Rule"),
        ("bash: ls; git push", [&["bash"], &[], &["bash(git push)"]], "deny Rule"),
        ("bash: git push", [&["bash(git)"], &["bash(git push)"], &[]], "ask"),
        ("bash: git push", [&["bash"], &["bash"], &["bash(git)"]], "deny Rule"),
        ("bash: ls", [&["bash"], &[], &["bash(git)"]], "allow Rule"),
        ("run_tests: cargo test", [&["bash(cargo test)"], &[], &[]], "ask"),
        ("run_tests: cargo test x", [&["run_tests(cargo test)"], &[], &[]], "allow Rule"),
        ("write_file: src/a.rs", [&["write_file(src)"], &[], &[]], "allow Rule"),
        ("write_file: src2/a.rs", [&["write_file(src)"], &[], &[]], "ask"),
        ("edit_file: src/a.rs", [&["write_file(src)"], &[], &[]], "ask"),
        (
            "write_file: src/.env",
            [&["write_file(src)"], &[], &["write_file(src/.env)"]],
            "deny Rule",
        ),
        ("write_file: src/a[1].rs", [&["write_file"], &[], &["write_file(src)"]], "deny Rule"),
        ("read_file: .env", [&[], &[], &["read_file(.env)"]], "deny Rule"),
        ("read_file: .envrc", [&[], &[], &["read_file(.env)"]], "allow Mode"),
        ("search", [&[], &["search"], &[]], "ask"),
        ("edit_file: src/a.rs", [&["edit_file"], &[], &["write_file(src)"]], "deny Rule"),
        ("write_file: src/a.rs", [&["write_file"], &[], &["edit_file(src)"]], "deny Rule"),
        ("edit_file: src/a.rs", [&["edit_file"], &["write_file(src)"], &[]], "ask"),
        ("write_file: src/a.rs", [&["write_file(src)"], &["edit_file(src)"], &[]], "ask"),
        ("edit_file: src/a.rs", [&["edit_file"], &[], &["write_file"]], "allow Rule"),
        ("edit_file: .env", [&["edit_file"], &[], &["read_file(.env)"]], "deny Rule"),
        ("edit_file: .env", [&["edit_file(.env)"], &["read_file(.env)"], &[]], "ask"),
        ("write_file: .env", [&["write_file"], &[], &["read_file(.env)"]], "allow Rule"),
        ("search: .env", [&[], &[], &["read_file(.env)"]], "deny Rule"),
        ("search: keys/a", [&[], &[], &["read_file(keys)"]], "deny Rule"),
        ("git_diff: .env", [&[], &[], &["read_file(.env)"]], "deny Rule"),
        // The tool leaves it out by itself.
        ("search", [&[], &[], &["read_file(.env)"]], "allow Mode"),
        ("search: .env", [&[], &["read_file(.env)"], &[]], "allow Mode"),
        ("search", [&[], &[], &["read_file"]], "deny Rule"),
        ("list_files: .env", [&[], &[], &["read_file(.env)"]], "allow Mode"),
    ];
    for (call, [allow, ask, deny], expected) in table {
        let rules = Rules::parse(allow, ask, deny).unwrap();
        let given = Allowances::default();
        let found = verdict(Mode::Ask, FenceLevel::Fenced, &rules, &given, &Call::new(call));
        assert_eq!(word(&found), *expected, "{call} under {rules:?}");
    }
}

#[test]
fn a_file_with_two_names_is_allowed_under_both_or_not_at_all() {
    let mut call = Call::new("write_file: src/link");
    call.paths.push(vec![".env".to_owned()]);
    let given = Allowances::default();
    let allow = Rules::parse::<&str>(&["write_file(src)"], &[], &[]).unwrap();
    assert_eq!(verdict(Mode::Ask, FenceLevel::Fenced, &allow, &given, &call), Verdict::Ask);
    let deny = Rules::parse::<&str>(&["write_file"], &[], &["write_file(.env)"]).unwrap();
    let found = verdict(Mode::FullAccess, FenceLevel::Fenced, &deny, &given, &call);
    assert_eq!(word(&found), "deny Rule");
}

#[test]
fn a_tool_allowed_as_a_whole_is_still_asked_about_where_the_fence_is_not_whole() {
    let whole = Rules::parse::<&str>(&["bash"], &[], &[]).unwrap();
    let named = Rules::parse::<&str>(&["bash(ls)"], &[], &[]).unwrap();
    let (given, call) = (Allowances::default(), Call::new("bash: ls"));
    for (rules, level, expected) in [
        (&whole, FenceLevel::Fenced, "allow Rule"),
        (&whole, FenceLevel::Partial, "ask"),
        (&named, FenceLevel::Unfenced, "allow Rule"),
    ] {
        assert_eq!(word(&verdict(Mode::Ask, level, rules, &given, &call)), expected, "{level}");
    }
}

#[test]
fn read_only_is_not_lifted_by_a_rule_or_an_earlier_answer() {
    let rules = Rules::parse::<&str>(&["bash", "bash(ls)", "write_file"], &[], &[]).unwrap();
    let mut given = Allowances::default();
    for call in ["bash: ls", "write_file: a"] {
        let call = Call::new(call);
        given.keep(&Answer::Session, &parent(), &call.view(), None);
        let found = verdict(Mode::ReadOnly, FenceLevel::Fenced, &rules, &given, &call);
        assert_eq!(word(&found), "deny Mode");
    }
}

#[test]
fn where_nobody_can_be_asked_the_policy_decides_and_says_what_would_help() {
    for (policy, level, deed, expected) in [
        (ApprovePolicy::Never, FenceLevel::Fenced, Deed::Edit, "--approve edits would allow it"),
        (ApprovePolicy::Never, FenceLevel::Fenced, Deed::Command, "--approve all would allow it"),
        (ApprovePolicy::Edits, FenceLevel::Unfenced, Deed::Edit, ""),
        (ApprovePolicy::Edits, FenceLevel::Fenced, Deed::Test, "--approve all would allow it"),
        (ApprovePolicy::All, FenceLevel::Fenced, Deed::Command, ""),
        (ApprovePolicy::All, FenceLevel::Unfenced, Deed::Edit, ""),
        (ApprovePolicy::All, FenceLevel::Partial, Deed::Command, "a rule that allows the command"),
    ] {
        match permit::without_asking(policy, &fence(level), deed) {
            Verdict::Allow { by } => assert_eq!((by, expected), (Decider::Policy, "")),
            Verdict::Deny { by, reason } => {
                assert_eq!(by, Decider::Policy);
                assert!(!expected.is_empty() && reason.contains(expected), "{reason}");
            }
            Verdict::Ask => panic!("nobody can be asked"),
        }
    }
}

#[test]
fn an_answer_covers_its_asker_and_what_was_shown_and_nothing_else() {
    let push = Call::new("bash: git push origin");
    let prefix = permit::prefix_of(&push.view(), "git push");
    assert_eq!(prefix, Some(Pattern::Words(vec!["git".into(), "push".into()])));
    let asker = child(1, "worker");
    for (answer, requester, call, allowed) in [
        (Answer::Once, child(1, "worker"), "bash: git push origin", false),
        (Answer::Child, child(1, "worker"), "bash: git push origin", true),
        (Answer::Child, child(1, "worker"), "bash: git push --force", true),
        (Answer::Child, child(1, "worker"), "bash: git pull", false),
        (Answer::Child, child(1, "worker"), "bash: git push; rm x", false),
        (Answer::Child, child(1, "worker"), "bash: git push `rm x`", false),
        (Answer::Child, child(1, "worker"), "bash: git push > x", false),
        (Answer::Child, child(1, "worker"), "run_tests: git push", false),
        (Answer::Child, child(2, "worker"), "bash: git push origin", false),
        (Answer::Session, child(2, "worker"), "bash: git push origin", true),
        (Answer::Session, child(2, "tester"), "bash: git push origin", false),
        (Answer::Session, parent(), "bash: git push origin", false),
        (Answer::Deny { reason: None }, child(1, "worker"), "bash: git push origin", false),
    ] {
        let mut given = Allowances::default();
        given.keep(&answer, &asker, &push.view(), prefix.clone());
        let (rules, fence) = (Rules::default(), fence(FenceLevel::Fenced));
        let standing =
            Standing { mode: Mode::Ask, fence: &fence, rules: &rules, allowances: &given };
        let found = permit::decide(&standing, &requester, &Call::new(call).view());
        let expected = if allowed { Verdict::Allow { by: Decider::Earlier } } else { Verdict::Ask };
        assert_eq!(found, expected, "{answer:?} by {requester:?}: {call}");
    }
}

#[test]
fn an_answer_for_the_parents_session_holds_in_its_next_answer() {
    let call = Call::new("bash: make");
    let later = Requester::Parent { run: RunId::parent(2) };
    let (rules, fence) = (Rules::default(), fence(FenceLevel::Fenced));
    for (answer, expected) in [(Answer::Child, "ask"), (Answer::Session, "allow Earlier")] {
        let mut given = Allowances::default();
        given.keep(&answer, &parent(), &call.view(), None);
        let standing =
            Standing { mode: Mode::Ask, fence: &fence, rules: &rules, allowances: &given };
        assert_eq!(word(&permit::decide(&standing, &later, &call.view())), expected);
    }
}

#[test]
fn what_was_allowed_to_a_run_alone_goes_with_it_and_nothing_else_does() {
    let call = Call::new("bash: make");
    let mut given = Allowances::default();
    given.keep(&Answer::Child, &child(1, "worker"), &call.view(), None);
    let empty = {
        let mut given = given.clone();
        given.run_ended(&RunId::child(TaskId(1), 1));
        given
    };
    assert_eq!(empty, Allowances::default());
    given.keep(&Answer::Session, &child(1, "worker"), &call.view(), None);
    given.run_ended(&RunId::child(TaskId(1), 1));
    let (rules, fence) = (Rules::default(), fence(FenceLevel::Fenced));
    let standing = Standing { mode: Mode::Ask, fence: &fence, rules: &rules, allowances: &given };
    let found = permit::decide(&standing, &child(2, "worker"), &call.view());
    assert_eq!(word(&found), "allow Earlier");
}

#[test]
fn one_yes_confirms_the_test_command_for_the_session() {
    let (tests, other) = (Call::new("run_tests: cargo test"), Call::new("run_tests: cargo test x"));
    let mut given = Allowances::default();
    given.keep(&Answer::Once, &child(1, "tester"), &tests.view(), None);
    let (rules, fence) = (Rules::default(), fence(FenceLevel::Fenced));
    let standing = Standing { mode: Mode::Ask, fence: &fence, rules: &rules, allowances: &given };
    let of = |call: &Call| word(&permit::decide(&standing, &child(2, "tester"), &call.view()));
    assert_eq!((of(&tests).as_str(), of(&other).as_str()), ("allow Earlier", "ask"));
}

#[test]
fn a_shown_prefix_counts_only_if_it_covers_the_call_itself() {
    for (call, shown, counts) in [
        ("bash: git push", "git push", true),
        ("bash: git push; ls", "git push", false),
        ("bash: git push > x", "git push", false),
        ("bash: git push", "git pull", false),
        ("bash: git push", "", false),
        ("bash: git push", "*", false),
        ("write_file: src/a.rs", "src/a.rs", true),
        ("write_file: src/a.rs", "src", true),
        ("write_file: src/a.rs", "docs", false),
        ("write_file: src/a.rs", "..", false),
        ("search", "src", false),
    ] {
        let found = permit::prefix_of(&Call::new(call).view(), shown);
        assert_eq!(found.is_some(), counts, "{call}: {shown}");
    }
}

#[test]
fn equal_arguments_have_one_name_and_others_another() {
    let name = |value: Value| exact("bash", &value);
    assert_eq!(name(json!({ "a": 1, "b": [2] })), name(json!({ "b": [2], "a": 1 })));
    let all = [
        json!({ "a": "1" }),
        json!({ "a": 1 }),
        json!({ "a": [1] }),
        json!({ "a": [[], 1] }),
        json!({ "a": null }),
        json!({ "a": { "b": 1 } }),
        json!({ "a": {}, "b": 1 }),
        json!({}),
        json!({ "a\"1": 1 }),
    ];
    let names: std::collections::BTreeSet<_> = all.iter().cloned().map(name).collect();
    assert_eq!(names.len(), all.len());
    assert_ne!(exact("bash", &json!({})), exact("run_tests", &json!({})));
}

const RULES: [&str; 12] = [
    "bash",
    "bash(git)",
    "bash(git push)",
    "bash(ls)",
    "bash(cargo test)",
    "run_tests",
    "run_tests(cargo test)",
    "write_file",
    "write_file(src)",
    "write_file(src/.env)",
    "edit_file",
    "read_file(src)",
];
const CALLS: [&str; 14] = [
    "bash: ls",
    "bash: git push",
    "bash: git status; ls",
    "bash: ls $(git push)",
    "bash: ls > x",
    "bash: cargo test | ls",
    "run_tests: cargo test",
    "write_file: src/a",
    "write_file: src/.env",
    "edit_file: src/a",
    "read_file: src/a",
    "search",
    "bash: env git push",
    "write_file: .git/a",
];

fn any_rules() -> impl Strategy<Value = [Vec<&'static str>; 3]> {
    let some = || subsequence(&RULES[..], 0..=4);
    (some(), some(), some()).prop_map(|(allow, ask, deny)| [allow, ask, deny])
}

fn any_requester() -> impl Strategy<Value = Requester> {
    select(vec![parent(), child(1, "worker"), child(2, "worker"), child(3, "tester")])
}

fn any_given() -> impl Strategy<Value = Allowances> {
    let answers = select(vec![Answer::Once, Answer::Child, Answer::Session]);
    let one = (answers, any_requester(), select(&CALLS[..]));
    proptest::collection::vec(one, 0..4).prop_map(|answers| {
        let mut given = Allowances::default();
        for (answer, requester, call) in answers {
            let call = Call::new(call);
            let shown = if call.command.is_some() { "git" } else { "src" };
            let prefix = permit::prefix_of(&call.view(), shown);
            given.keep(&answer, &requester, &call.view(), prefix);
        }
        given
    })
}

fn any_situation() -> impl Strategy<Value = (Mode, FenceLevel, Allowances, Requester, &'static str)>
{
    (select(&Mode::ALL[..]), select(&LEVELS[..]), any_given(), any_requester(), select(&CALLS[..]))
}

fn under(
    [allow, ask, deny]: &[Vec<&'static str>; 3],
    (mode, level, given, requester, call): &(Mode, FenceLevel, Allowances, Requester, &'static str),
) -> Verdict {
    let rules = Rules::parse(allow, ask, deny).unwrap();
    let fence = fence(*level);
    let standing = Standing { mode: *mode, fence: &fence, rules: &rules, allowances: given };
    permit::decide(&standing, requester, &Call::new(call).view())
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_stricter_rule_never_frees_anything(
        rules in any_rules(),
        more in select(&RULES[..]),
        deny in any::<bool>(),
        situation in any_situation(),
    ) {
        let mut stricter = rules.clone();
        stricter[if deny { 2 } else { 1 }].push(more);
        prop_assert!(freedom(&under(&stricter, &situation)) <= freedom(&under(&rules, &situation)));
    }

    #[test]
    fn the_order_of_rules_makes_no_difference(rules in any_rules(), situation in any_situation()) {
        let mut turned = rules.clone();
        for list in &mut turned {
            list.reverse();
        }
        let (there, back) = (under(&rules, &situation), under(&turned, &situation));
        prop_assert_eq!(freedom(&there), freedom(&back));
    }

    #[test]
    fn a_weaker_fence_never_frees_anything(rules in any_rules(), situation in any_situation()) {
        let (mode, _, given, requester, call) = situation;
        let at = |level| under(&rules, &(mode, level, given.clone(), requester.clone(), call));
        prop_assert!(freedom(&at(FenceLevel::Unfenced)) <= freedom(&at(FenceLevel::Partial)));
        prop_assert!(freedom(&at(FenceLevel::Partial)) <= freedom(&at(FenceLevel::Fenced)));
    }

    #[test]
    fn an_answer_frees_nobody_but_its_class_of_askers_and_no_other_tool(
        answer in select(vec![Answer::Once, Answer::Child, Answer::Session]),
        asker in any_requester(),
        call in select(&CALLS[..]),
        other in select(&CALLS[..]),
        requester in any_requester(),
    ) {
        let (call, other) = (Call::new(call), Call::new(other));
        let mut given = Allowances::default();
        given.keep(&answer, &asker, &call.view(), permit::prefix_of(&call.view(), "git"));
        let (rules, fence) = (Rules::default(), fence(FenceLevel::Fenced));
        let standing = Standing { mode: Mode::Ask, fence: &fence, rules: &rules, allowances: &given };
        let found = permit::decide(&standing, &requester, &other.view());
        let class = |who: &Requester| match who {
            Requester::Parent { .. } => "the parent".to_owned(),
            Requester::Child { role, .. } => role.clone(),
        };
        if found == (Verdict::Allow { by: Decider::Earlier }) {
            prop_assert_eq!(class(&asker), class(&requester));
            prop_assert_eq!(call.tool, other.tool);
        }
    }

    #[test]
    fn an_allowed_prefix_never_covers_a_command_with_another_part(
        tail in "[a-z ;&|<>$()`'\"\n]{0,12}",
        glue in select(&[";", "&&", "||", "|", "\n", "&"][..]),
        text in "[a-z$()`'\"<> ]{0,8}",
    ) {
        let first = Call::new("bash: git push");
        let mut given = Allowances::default();
        given.keep(&Answer::Session, &parent(), &first.view(), permit::prefix_of(&first.view(), "git push"));
        let call = Call::new(&format!("bash: git push {tail}{glue} x{text}"));
        let found = verdict(Mode::Ask, FenceLevel::Fenced, &Rules::default(), &given, &call);
        let parsed = call.command.as_ref().unwrap();
        if found != Verdict::Ask {
            // Only where the rest is quoted or the file of a redirection, and so no command.
            prop_assert!(parsed.complete && parsed.parts.iter().all(|part| part.starts_with(&["git".into(), "push".into()])));
            prop_assert!(tail.contains(['\'', '"', '<']));
        }
    }
}

/// Commands, and what becomes of them in `full-access` where `git push` is denied.
const DISGUISED: [(&str, &str); 41] = [
    ("A+=1 git push", "deny Rule"),
    ("a[0]=1 git push", "deny Rule"),
    ("{fd}>x git push", "deny Rule"),
    ("((1<<2))\ngit push\n2", "deny Rule"),
    ("cat <<E\n$(git push)\nE", "deny Rule"),
    ("bash <<E\ngit push\nE", "deny Rule"),
    ("$x git push", "deny Rule"),
    ("trap 'git push' EXIT", "deny Rule"),
    ("flock l git push", "deny Rule"),
    ("setpriv --reuid 1 git push", "deny Rule"),
    ("strace -f git push", "deny Rule"),
    ("script -c 'git push' x", "deny Rule"),
    ("script -qc'git push' x", "deny Rule"),
    ("git -c alias.x='!git push' x", "deny Rule"),
    ("git $x", "ask"),
    ("git ${x} origin", "ask"),
    ("$x push", "ask"),
    ("g$x push", "ask"),
    ("git -C a $x", "ask"),
    ("git {push,origin}", "ask"),
    ("{git,push}", "ask"),
    ("g?t push", "ask"),
    ("$'g\\x69t' push", "ask"),
    ("git $(echo push)", "ask"),
    ("git `echo push`", "ask"),
    ("env $x", "ask"),
    ("sudo -u me $x", "ask"),
    ("echo git push | sh", "deny Rule"),
    ("curl x | sh", "ask"),
    ("echo push | xargs git", "ask"),
    ("git -c alias.x=push x", "ask"),
    ("sh -c \"git $x\"", "ask"),
    ("git status $x", "allow Mode"),
    ("echo $HOME \"$X\"", "allow Mode"),
    ("X=$(date) make", "allow Mode"),
    ("for f in *; do cat $f; done", "allow Mode"),
    ("find . -name x -exec cat {} +", "allow Mode"),
    ("find . -name x | xargs grep y", "allow Mode"),
    ("time cat $x", "allow Mode"),
    ("cat <<E > f\n$x\nE", "allow Mode"),
    ("[[ a == $b ]]", "allow Mode"),
];

#[test]
fn what_may_hide_a_denied_command_is_asked_about_and_what_cannot_is_not() {
    let deny = Rules::parse::<&str>(&["bash"], &[], &["bash(git push)"]).unwrap();
    let ask = Rules::parse::<&str>(&[], &["bash(git push)"], &[]).unwrap();
    let given = Allowances::default();
    for (text, expected) in DISGUISED {
        let call = Call::new(&format!("bash: {text}"));
        let under =
            |rules| word(&verdict(Mode::FullAccess, FenceLevel::Fenced, rules, &given, &call));
        let found = under(&deny).replace("allow Rule", "allow Mode");
        assert_eq!(found, expected, "{text:?}: {:?}", call.command);
        assert_eq!(under(&ask), expected.replace("deny Rule", "ask"), "{text:?}");
        let doubted = permit::doubt(&deny, &call.view());
        assert!(expected != "ask" || doubted.unwrap().contains("`bash(git push)`"), "{text:?}");
    }
}
