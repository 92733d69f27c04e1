//! Whether what a child cites was really shown to it.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::cited::Cited;
use super::claims::Claims;
use super::last_look;
use super::run::Run;
use crate::domain::report::{Evidence, Warning, WarningCode};
use crate::domain::role::ReportField;
use crate::domain::scope::PathScope;
use crate::tool::Shown;
use crate::workspace::Workspace;
use crate::workspace::existence::Existence;

/// Cited places that are checked and kept.
const MOST_EVIDENCE: usize = 100;
/// How a look that hangs is named.
const LOOKING: &str = "the look at what the report cites";

/// Checks the first hundred cited places. A child's end does not wait for them: what is not looked
/// at within a second stays unverified, and so does all of it if one look hangs.
pub(super) async fn check(run: &Run, cited: &[Cited]) -> (Vec<Evidence>, Vec<Warning>) {
    let scopes = run.shared.contract.paths().to_vec();
    let workspace = Arc::clone(&run.shared.host.workspace);
    let shown = run.record.shown.clone();
    let heard = run.record.heard.clone();
    let kept: Vec<Cited> = cited.iter().take(MOST_EVIDENCE).cloned().collect();
    let unchecked = kept.clone();
    let look = move |until| {
        let look = |cited| {
            if Instant::now() < until {
                check_one(&workspace, &scopes, &shown, &heard, cited)
            } else {
                unverified(cited)
            }
        };
        kept.into_iter().map(look).collect::<Vec<_>>()
    };
    let checked = last_look::look(&run.shared.scope, LOOKING, look).await;
    let checked = checked.unwrap_or_else(|| unchecked.into_iter().map(unverified).collect());
    let (evidence, doubts): (Vec<Evidence>, Vec<Option<Warning>>) = checked.into_iter().unzip();
    let mut warnings: Vec<Warning> = doubts.into_iter().flatten().collect();
    if cited.len() > MOST_EVIDENCE {
        let text = format!("{} cited places were left out", cited.len() - MOST_EVIDENCE);
        warnings.push(Warning::new(WarningCode::Cut, text));
    }
    (evidence, warnings)
}

/// Checks the places of findings, and marks in each whether it was really shown.
pub(super) async fn check_findings(
    run: &Run,
    claims: &mut Claims,
    fields: &[ReportField],
) -> Vec<Warning> {
    let found: Vec<(String, Vec<Cited>)> =
        claims.findings(fields).map(|(name, cited)| (name.to_owned(), cited)).collect();
    let mut warnings = Vec::new();
    for (name, cited) in found {
        let (checked, doubts) = check(run, &cited).await;
        warnings.extend(doubts);
        let Some(Value::Array(items)) = claims.fields.get_mut(&name) else { continue };
        for (index, item) in items.iter_mut().enumerate() {
            let checked = checked.get(index);
            item["verified"] = checked.is_some_and(|place| place.verified).into();
            if let Some(place) = checked {
                item["path"] = place.path.as_str().into();
            }
        }
    }
    warnings
}

fn unverified(cited: Cited) -> (Evidence, Option<Warning>) {
    let words = format!("{} was not looked at in time", cited.path);
    let warning = Warning::new(WarningCode::EvidenceNotRead, words);
    let Cited { path, line, reason, .. } = cited;
    (Evidence { path, line, reason, verified: false, via_bash: false }, Some(warning))
}

fn check_one(
    workspace: &Workspace,
    scopes: &[PathScope],
    shown: &[Shown],
    heard: &[String],
    cited: Cited,
) -> (Evidence, Option<Warning>) {
    let path = workspace.normalise(&cited.path).unwrap_or_else(|_| cited.path.clone());
    let place = match cited.line {
        Some(line) => format!("{path}:{line}"),
        None => path.clone(),
    };
    let was_shown = shown.iter().any(|shown| shows(shown, &path, cited.line));
    let doubt = match workspace.exists(scopes, &path) {
        Existence::OutOfScope => {
            Some((WarningCode::EvidenceScope, "is outside what the child may read"))
        }
        Existence::Missing => Some((WarningCode::EvidenceMissing, "does not exist")),
        Existence::Unreadable => Some((WarningCode::EvidenceNotRead, "cannot be read")),
        Existence::File { .. } | Existence::Folder if cited.unreadable_line => {
            Some((WarningCode::EvidenceLine, "is cited with a line that is no line number"))
        }
        Existence::File { lines: Some(lines) }
            if cited.line.is_some_and(|line| line == 0 || line > lines) =>
        {
            Some((WarningCode::EvidenceLine, "is not a line of that file"))
        }
        Existence::File { .. } | Existence::Folder
            if !was_shown && heard.iter().any(|text| names(text, &path)) =>
        {
            let words = "was seen through a command only, if at all";
            Some((WarningCode::EvidenceViaBash, words))
        }
        Existence::File { .. } | Existence::Folder if !was_shown => {
            Some((WarningCode::EvidenceNotRead, "was never shown to the child"))
        }
        Existence::File { .. } | Existence::Folder => None,
    };
    let verified = doubt.is_none();
    let via_bash = doubt.is_some_and(|(code, _)| code == WarningCode::EvidenceViaBash);
    let warning = doubt.map(|(code, words)| Warning::new(code, format!("{place} {words}")));
    let Cited { line, reason, .. } = cited;
    (Evidence { path, line, reason, verified, via_bash }, warning)
}

/// Evidence without a line holds if any part of the file was shown.
fn shows(shown: &Shown, path: &str, line: Option<u64>) -> bool {
    match shown {
        Shown::Lines { path: shown, from, to } => {
            shown == path && line.is_none_or(|line| (*from..=*to).contains(&line))
        }
        Shown::Folder { path: shown } => shown == path && line.is_none(),
    }
}

/// True if a command or its output has the path in it, or the file's own name: a command may have
/// gone into the folder first.
fn names(text: &str, path: &str) -> bool {
    let own = path.rsplit('/').next().filter(|name| name.contains('.'));
    [Some(path), own].into_iter().flatten().any(|name| has_word(text, name))
}

fn has_word(text: &str, word: &str) -> bool {
    let part_of_name = |character: char| character.is_alphanumeric() || "_-".contains(character);
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(|c| part_of_name(c) || c == '.') && !after.is_some_and(part_of_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_in_what_a_command_said_but_not_as_a_part_of_another_name() {
        let table = [
            ("cat src/a.rs", true),
            ("/home/me/src/a.rs:3: x", true),
            ("cd src && sed -n 1,9p a.rs", true),
            ("./a.rs", true),
            ("cat src/ba.rs", false),
            ("cat a.rst", false),
            ("x.a.rs", false),
            ("nothing", false),
        ];
        for (text, right) in table {
            assert_eq!(names(text, "src/a.rs"), right, "{text}");
        }
        assert!(!names("make all", "src/make"), "a name without an ending is too common a word");
    }
}
