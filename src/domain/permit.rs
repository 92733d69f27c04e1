//! Whether a call may be made: one verdict from the rules of the configuration, what a person
//! allowed earlier, and the permission mode. Pure: nobody is asked here.
//!
//! The strictest word wins, whatever the order: a rule that denies; the mode `read-only`; a rule
//! that asks, unless a person already answered for just that; a rule that allows; the mode. A rule
//! that allows a tool as a whole (`bash`) is as good as `full-access` for it, and like that it does
//! not silence the question where commands are less than fenced or have the network; one that names
//! a command does.

use super::allowance::{Allowances, Requester};
use super::approval::{ApprovePolicy, Decider, Deed, Mode};
use super::fence::Fence;
use super::hash::Sha;
use super::matching;
use super::rules::{Pattern, Rule, Rules};
use super::shell_words::Parsed;

/// Folders whose files other programs run or obey by themselves: a change there is asked about even
/// where changes are not.
const OBEYED: [&str; 2] = [".git", ".offshoot"];

/// A call, as far as permission goes.
#[derive(Debug, Clone, Copy)]
pub struct CallView<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What it would do.
    pub deed: Deed,
    /// Its name by tool and arguments; for a run of the tests by tool and command.
    pub exact: &'a Sha,
    /// The file it is about under all its names, as written and as links resolve: each from the
    /// workspace's root down, or from a first name `/` for one in a folder beside the workspace. None
    /// for a call that is not about one file.
    pub paths: &'a [Vec<String>],
    /// The command that it would run.
    pub command: Option<&'a Parsed>,
    /// True if the command is one that the user configured.
    pub configured: bool,
}

impl CallView<'_> {
    /// True for a run of the tests.
    pub fn is_test(&self) -> bool {
        self.deed == Deed::Test
    }
}

/// What holds at this moment.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// The permission mode.
    pub mode: Mode,
    /// How commands are fenced.
    pub fence: &'a Fence,
    /// The configured rules.
    pub rules: &'a Rules,
    /// What a person allowed earlier.
    pub allowances: &'a Allowances,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may be made.
    Allow {
        /// Who says so.
        by: Decider,
    },
    /// Somebody is to be asked.
    Ask,
    /// It may not be made.
    Deny {
        /// Who says so.
        by: Decider,
        /// Why, in words for people and models.
        reason: String,
    },
}

/// The verdict on a call.
pub fn decide(standing: &Standing<'_>, requester: &Requester, call: &CallView<'_>) -> Verdict {
    let rules = standing.rules;
    if let Some(rule) = rules.deny.iter().find(|rule| rule.denies(call.tool) && forbids(rule, call))
    {
        return Verdict::Deny { by: Decider::Rule, reason: format!("the rule `{rule}` denies it") };
    }
    if let Some(denied) = denied_by_mode(standing.mode, call.deed) {
        return denied;
    }
    if standing.allowances.exactly(requester, call) {
        return Verdict::Allow { by: Decider::Earlier };
    }
    if let Some(by) = allowed_by_name(standing, requester, call) {
        return Verdict::Allow { by };
    }
    let doubted = doubt(rules, call).is_some() || rules.ask.iter().any(|rule| hides(rule, call));
    if doubted || rules.ask.iter().any(|rule| asks(rule, call)) {
        return Verdict::Ask;
    }
    let whole = |rule: &&Rule| rule.tool() == call.tool && *rule.pattern() == Pattern::Any;
    if rules.allow.iter().any(|rule| whole(&rule)) && quiet(standing.fence, call.deed) {
        return Verdict::Allow { by: Decider::Rule };
    }
    if mode_allows(standing, call) { Verdict::Allow { by: Decider::Mode } } else { Verdict::Ask }
}

/// Why it cannot be said of a call that no rule denies it, though none is seen to: somebody is asked
/// then whatever else allows it, and where nobody can be it is denied.
pub fn doubt(rules: &Rules, call: &CallView<'_>) -> Option<String> {
    let rule = rules.deny.iter().find(|rule| hides(rule, call))?;
    Some(format!(
        "it may run what the rule `{rule}` denies: a shell would put words of it together that \
         cannot be read beforehand"
    ))
}

/// What denies a call whatever its arguments are: nothing needs to be looked at then.
pub fn denied_as_a_whole(mode: Mode, rules: &Rules, tool: &str, deed: Deed) -> Option<Verdict> {
    let whole = |rule: &&Rule| rule.tool() == tool && *rule.pattern() == Pattern::Any;
    match rules.deny.iter().find(whole) {
        Some(rule) => {
            let reason = format!("the rule `{rule}` denies it");
            Some(Verdict::Deny { by: Decider::Rule, reason })
        }
        None => denied_by_mode(mode, deed),
    }
}

/// The verdict where nobody can be asked.
pub fn without_asking(policy: ApprovePolicy, fence: &Fence, deed: Deed) -> Verdict {
    let changes_only = matches!(deed, Deed::Look | Deed::Edit);
    let allowed = match policy {
        ApprovePolicy::Never => false,
        ApprovePolicy::Edits => changes_only,
        ApprovePolicy::All => quiet(fence, deed),
    };
    if allowed {
        return Verdict::Allow { by: Decider::Policy };
    }
    let reason = match policy {
        ApprovePolicy::All => format!(
            "--approve all lets commands run inside of the whole fence only and without the network, \
             and they are {fence}; a rule that allows the command by its name lets it run all the same"
        ),
        ApprovePolicy::Never | ApprovePolicy::Edits => {
            let wide = if changes_only { "edits" } else { "all" };
            format!(
                "nobody can be asked (--approve {}); --approve {wide} would allow it",
                policy.name()
            )
        }
    };
    Verdict::Deny { by: Decider::Policy, reason }
}

/// What a wider answer to this call would cover, if `shown` is a prefix that covers the call itself.
pub fn prefix_of(call: &CallView<'_>, shown: &str) -> Option<Pattern> {
    let pattern = match Rule::parse(&format!("{}({shown})", call.tool)).ok()?.pattern() {
        Pattern::Any => return None,
        pattern @ (Pattern::Path(_) | Pattern::Words(_)) => pattern.clone(),
    };
    let covered = match (call.command, call.paths) {
        (Some(command), _) => {
            matching::is_plain(command)
                && command.parts.iter().all(|part| matching::covers_part(&pattern, part))
        }
        (None, []) => false,
        (None, paths) => paths.iter().all(|path| matching::covers_path(&pattern, path)),
    };
    covered.then_some(pattern)
}

fn denied_by_mode(mode: Mode, deed: Deed) -> Option<Verdict> {
    (mode == Mode::ReadOnly && deed != Deed::Look).then(|| {
        let reason = "the permission mode is read-only".to_owned();
        Verdict::Deny { by: Decider::Mode, reason }
    })
}

/// True if a rule that asks is about this call.
fn asks(rule: &Rule, call: &CallView<'_>) -> bool {
    rule.asks_about(call.tool) && forbids(rule, call)
}

/// True if a command may hide what a rule that denies or asks names.
fn hides(rule: &Rule, call: &CallView<'_>) -> bool {
    match rule.pattern() {
        Pattern::Words(words) => {
            let hidden = |command| matching::may_hide(words, command);
            rule.tool() == call.tool && call.command.is_some_and(hidden)
        }
        Pattern::Any | Pattern::Path(_) => false,
    }
}

/// True if a rule that denies or asks, and is about the call's tool, is about this call.
fn forbids(rule: &Rule, call: &CallView<'_>) -> bool {
    match rule.pattern() {
        Pattern::Any => true,
        pattern @ Pattern::Path(_) => {
            call.paths.iter().any(|path| matching::covers_path(pattern, path))
        }
        Pattern::Words(words) => {
            call.command.is_some_and(|command| matching::may_run(words, command))
        }
    }
}

/// Who allowed all of the call by name, each part of a command and each name of a file: rules that
/// name it, or earlier answers. What a rule asks about, only an earlier answer allows.
fn allowed_by_name(
    standing: &Standing<'_>,
    requester: &Requester,
    call: &CallView<'_>,
) -> Option<Decider> {
    let asked = standing.rules.ask.iter().any(|rule| asks(rule, call));
    let named: Vec<&Pattern> = standing
        .rules
        .allow
        .iter()
        .filter(|rule| !asked && rule.tool() == call.tool && *rule.pattern() != Pattern::Any)
        .map(Rule::pattern)
        .collect();
    let mut by = Decider::Rule;
    let mut allowed = |by_rule: bool, earlier: bool| {
        if !by_rule {
            by = Decider::Earlier;
        }
        by_rule || earlier
    };
    let allowances = standing.allowances;
    let all = match (call.command, call.paths) {
        (Some(command), _) => {
            matching::is_plain(command)
                && command.parts.iter().all(|part| {
                    allowed(
                        named.iter().any(|pattern| matching::covers_part(pattern, part)),
                        allowances.part(requester, call.tool, part),
                    )
                })
        }
        (None, []) => false,
        (None, paths) => paths.iter().all(|path| {
            allowed(
                named.iter().any(|pattern| matching::covers_path(pattern, path)),
                allowances.path(requester, call.tool, path),
            )
        }),
    };
    all.then_some(by)
}

/// True if nothing has to be said about the fence before this is done.
fn quiet(fence: &Fence, deed: Deed) -> bool {
    match deed {
        Deed::Look | Deed::Edit => true,
        Deed::Test | Deed::Command | Deed::Network => fence.is_whole(),
    }
}

fn mode_allows(standing: &Standing<'_>, call: &CallView<'_>) -> bool {
    match (standing.mode, call.deed) {
        (_, Deed::Look) => true,
        (Mode::ReadOnly | Mode::Ask, _) | (Mode::AutoEdit, Deed::Command | Deed::Network) => false,
        (Mode::AutoEdit, Deed::Edit) => !call.paths.iter().any(|path| is_obeyed(path)),
        (Mode::AutoEdit, Deed::Test) => call.configured && quiet(standing.fence, call.deed),
        (Mode::FullAccess, _) => quiet(standing.fence, call.deed),
    }
}

fn is_obeyed(path: &[String]) -> bool {
    path.iter().any(|name| OBEYED.iter().any(|obeyed| name.eq_ignore_ascii_case(obeyed)))
}
