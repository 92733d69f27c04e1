//! Who may do what: what modes, fences and rules decide, one table each.

mod answers;
mod disguises;
mod properties;

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
