//! What a child did, held against what it says and what it was allowed. The deeds are measured; the
//! child's words are claims.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::cancel::CancelScope;
use super::changes::Tests;
use super::claims::Claims;
use super::last_look;
use super::passing::says_tests_pass;
use super::run::Run;
use super::terms;
use super::verdict::{self, Fault};
use crate::domain::changes::ChangeList;
use crate::domain::contract::Contract;
use crate::domain::report::{Ending, Status, Warning, WarningCode};
use crate::domain::role::Permission;
use crate::domain::scope::PathScope;
use crate::workspace::Workspace;
use crate::workspace::existence::Existence;
use crate::workspace::path::printable;
use crate::workspace::scope::{Reach, reach};

/// How a look that hangs is named.
const LOOKING: &str = "the look at the files that done_when names";
/// Paths that one sentence names.
const NAMED_PATHS: usize = 10;

/// A child that changed what it may not has no valid result, whatever it answered.
pub(super) fn judge(
    contract: &Contract,
    ending: Ending,
    changed: &ChangeList,
) -> (Ending, Option<Warning>) {
    let may_change = contract.permissions().iter().any(|permission| match permission {
        Permission::Write | Permission::Test | Permission::Execute => true,
        Permission::Read | Permission::Network | Permission::Delegate => false,
    });
    let is_outside =
        |path: &&str| !may_change || !matches!(reach(contract.paths(), path), Reach::Inside(_));
    let outside: Vec<&str> = changed.paths().filter(is_outside).collect();
    if outside.is_empty() {
        return (ending, None);
    }
    let where_to = if may_change { "outside of its paths" } else { "though it may only read" };
    let text = format!("changed {where_to}: {}", in_words(&outside));
    (verdict::with(ending, Fault::Trespass), Some(Warning::new(WarningCode::ChangedOutside, text)))
}

/// True if something was changed on the way to an end that nobody planned.
pub(super) fn need_review(ending: Ending, changed: &ChangeList) -> bool {
    ending.status() != Status::Completed && !changed.is_empty()
}

/// How a parent should take the outcome.
pub(super) fn next(ending: Ending, needs_review: bool) -> String {
    if needs_review {
        let review = "It left changed files (changed_paths) that nobody has reviewed: look at them \
                      before you build on them or undo them.";
        return format!("{} {review}", ending.next());
    }
    ending.next().to_owned()
}

/// Where what it says and what was measured part.
pub(super) fn doubts(run: &Run, claims: &Claims, changed: &ChangeList) -> Vec<Warning> {
    let shared = &run.shared;
    let claimed = Claimed::of(claims, &shared.host.workspace);
    let unchanged: Vec<&str> =
        claimed.0.iter().map(String::as_str).filter(|path| !holds(changed, path)).collect();
    let unclaimed: Vec<&str> = changed.paths().filter(|path| !claimed.covers(path)).collect();
    let mut warnings = Vec::new();
    if !unchanged.is_empty() {
        let text = format!("claimed but unchanged: {}", in_words(&unchanged));
        warnings.push(Warning::new(WarningCode::ClaimedUnchanged, text));
    }
    if !unclaimed.is_empty() {
        let text = format!("changed but not claimed: {}", in_words(&unclaimed));
        warnings.push(Warning::new(WarningCode::ChangedUnclaimed, text));
    }
    warnings.extend(untested(claims, shared.host.changes.tests(shared.contract.run())));
    warnings
}

/// Where what it was told to reach or to leave alone and what was measured part. What is not
/// finished need not be done; what is forbidden is so in any case. `told` are the doubts so far.
pub(super) async fn broken_terms(
    run: &Run,
    ending: Ending,
    changed: &ChangeList,
    told: &[Warning],
) -> Vec<Warning> {
    let shared = &run.shared;
    let must_not = shared.contract.must_not();
    let mut warnings: Vec<Warning> =
        must_not.and_then(|words| terms::broken_bans(words, changed)).into_iter().collect();
    let done_when = shared.contract.done_when().filter(|_| ending == Ending::Completed);
    let Some(done_when) = done_when else { return warnings };
    if !told.iter().any(|warning| warning.code == WarningCode::TestsNotRun) {
        let tests = shared.host.changes.tests(shared.contract.run());
        warnings.extend(terms::missing_tests(done_when, tests));
    }
    let wanted = terms::wanted_files(done_when);
    let (scope, paths) = (&shared.scope, shared.contract.paths());
    let missing = missing(scope, &shared.host.workspace, paths, wanted).await;
    warnings.extend(terms::missing_files(&missing));
    warnings
}

/// Those of the files that are surely not there; what the run may not see counts as there, and so
/// does what was not looked at in time.
async fn missing(
    scope: &CancelScope,
    workspace: &Arc<Workspace>,
    paths: &[PathScope],
    wanted: Vec<String>,
) -> Vec<String> {
    if wanted.is_empty() {
        return wanted;
    }
    let (workspace, paths) = (Arc::clone(workspace), paths.to_vec());
    let is_missing =
        move |path: &String| matches!(workspace.exists(&paths, path), Existence::Missing);
    let look = move |until| {
        let in_time = wanted.into_iter().take_while(|_| Instant::now() < until);
        in_time.filter(is_missing).collect()
    };
    last_look::look(scope, LOOKING, look).await.unwrap_or_default()
}

/// The paths that a child says it changed, as paths from the root.
struct Claimed(Vec<String>);

impl Claimed {
    fn of(claims: &Claims, workspace: &Workspace) -> Self {
        let read = |path: &String| workspace.normalise(path).unwrap_or_else(|_| path.clone());
        Self(claims.changed_paths.iter().map(read).collect())
    }

    /// True if the path was claimed, or a folder above it.
    fn covers(&self, path: &str) -> bool {
        self.0.iter().any(|claimed| is_at_or_below(path, claimed))
    }
}

/// True if the path changed, or something below it.
fn holds(changed: &ChangeList, path: &str) -> bool {
    changed.contains(path) || changed.paths().any(|changed| is_at_or_below(changed, path))
}

fn is_at_or_below(path: &str, above: &str) -> bool {
    above == "."
        || path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn in_words(paths: &[&str]) -> String {
    let named: Vec<String> = paths.iter().take(NAMED_PATHS).map(|path| printable(path)).collect();
    let named = named.join(", ");
    match paths.len().saturating_sub(NAMED_PATHS) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Passing tests are a claim like any other.
fn untested(claims: &Claims, tests: Option<Tests>) -> Option<Warning> {
    let text = match tests {
        Some(Tests::Passed) => return None,
        Some(Tests::PassedBefore) => "says that tests pass, but files changed after they ran last",
        Some(Tests::Failed) => "says that tests pass, but they did not when they ran last",
        None => "says that tests pass, but the test command never ran",
    };
    let says_so = says_tests_pass(&claims.summary) || claims.as_written.iter().any(field_says_so);
    says_so.then(|| Warning::new(WarningCode::TestsNotRun, text))
}

/// A role's field says so in words, or by a test command beside an exit code of 0.
fn field_says_so(value: &Value) -> bool {
    match value {
        Value::String(text) => says_tests_pass(text),
        Value::Array(items) => items.iter().any(field_says_so),
        Value::Object(fields) => {
            let exits_well = fields.iter().any(|(key, value)| {
                key.contains("exit") && matches!(value.to_string().as_str(), "0" | "\"0\"")
            });
            let is_test = fields.values().any(|value| {
                value.as_str().is_some_and(|text| text.to_lowercase().contains("test"))
            });
            (exits_well && is_test) || fields.values().any(field_says_so)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;
    use crate::domain::report::Exhausted;

    #[test]
    fn paths_are_compared_by_their_names() {
        for (path, above, right) in [
            ("src/a.rs", "src", true),
            ("src/a.rs", "src/a.rs", true),
            ("src/a.rs", ".", true),
            ("srcs/a.rs", "src", false),
            ("src", "src/a.rs", false),
        ] {
            assert_eq!(is_at_or_below(path, above), right, "{path} {above}");
        }
    }

    #[tokio::test]
    async fn only_what_is_surely_not_there_is_missing() {
        let folder = tempfile::TempDir::new().unwrap();
        std::fs::write(folder.path().join("there"), "x").unwrap();
        std::os::unix::fs::symlink("round", folder.path().join("round")).unwrap();
        let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
        let long = "n".repeat(300);
        let wanted = ["there", "nothing", "round", "../above", long.as_str(), "there/below"];
        let wanted = wanted.map(str::to_owned).to_vec();
        let (scope, all) = (CancelScope::root(), [PathScope::all()]);
        let missing = missing(&scope, &workspace, &all, wanted).await;
        assert_eq!(missing, ["nothing", "there/below"]);
    }

    #[test]
    fn long_lists_are_counted() {
        assert_eq!(in_words(&["a"; 12]).matches('a').count(), 10 + " and".matches('a').count());
        assert!(in_words(&["a"; 12]).ends_with(" and 2 more"));
    }

    #[test]
    fn a_field_can_claim_that_tests_pass() {
        assert!(field_says_so(&json!([{ "command": "cargo test", "exit_code": 0 }])));
        assert!(field_says_so(&json!(["all tests pass"])));
        assert!(!field_says_so(&json!([{ "command": "cargo test", "exit_code": 1 }])));
        assert!(!field_says_so(&json!([{ "command": "cargo build", "exit_code": 0 }])));
    }

    #[test]
    fn only_a_passing_run_settles_the_claim() {
        let claims = Claims { summary: "All tests pass.".to_owned(), ..Claims::default() };
        assert_eq!(untested(&claims, Some(Tests::Passed)), None);
        assert!(untested(&claims, Some(Tests::Failed)).unwrap().text.contains("did not"));
        assert!(untested(&claims, Some(Tests::PassedBefore)).unwrap().text.contains("after"));
        assert!(untested(&claims, None).unwrap().text.contains("never"));
        assert_eq!(untested(&Claims::default(), None), None);
    }

    #[test]
    fn what_was_left_behind_needs_review() {
        let ending = Ending::Exhausted(Exhausted::Turns);
        assert!(next(ending, true).contains("reviewed"));
        assert_eq!(next(ending, false), ending.next());
    }
}
