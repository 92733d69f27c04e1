//! What a call leaves with the session beside its result: notes for later tasks. And what its result
//! may not carry to a model: the values of secrets that this program was given.

use super::host::Host;
use super::run::RunShared;
use crate::domain::context_store::{Sensitivity, SnippetKind};
use crate::domain::contract::Contract;
use crate::domain::event::{Fact, Origin};
use crate::tool::{Noted, ToolOutput};

/// Notes that a session keeps.
const MOST_NOTES: usize = 100;

/// What follows a result that had a secret in it.
const BLOTTED: &str = "[runtime] `(redacted)` stands for a secret of the person's, which you are not \
                       shown. Never write it back into a file: change the lines around it.";

/// Takes from a result what is for the session, and what no model may read.
pub(super) async fn keep(shared: &RunShared, mut output: ToolOutput) -> ToolOutput {
    if let Some(noted) = output.effects.noted.take()
        && let Err(why) = note(shared, noted).await
    {
        output = ToolOutput { effects: output.effects, ..ToolOutput::error(why) };
    }
    blot(&shared.host, &mut output);
    output
}

/// Blots given secrets out of a result, and says so to the model where there was one.
pub fn blot(host: &Host, output: &mut ToolOutput) {
    if let Some(blotted) = host.redactor.without_given(&output.text) {
        output.text = format!("{blotted}\n\n{BLOTTED}");
    }
}

/// Who may see the report of a child of this contract: what may not leave this machine may have found
/// its way from its context into its words.
pub(super) fn circle_of(contract: &Contract) -> Sensitivity {
    if contract.context().iter().any(|snippet| snippet.local_only) {
        Sensitivity::LocalOnly
    } else {
        Sensitivity::Normal
    }
}

/// Keeps a note; it may replace another note and nothing else.
async fn note(shared: &RunShared, noted: Noted) -> Result<(), String> {
    let host = &shared.host;
    let Noted { key, text } = noted;
    if shared.contract.depth() > 0 {
        return Err("nothing was noted: only the parent keeps notes".to_owned());
    }
    if host.redactor.without_given(&key).is_some() {
        return Err("nothing was noted: the key contains a secret".to_owned());
    }
    let text = host.redactor.text(&text).into_owned();
    let sensitivity = Sensitivity::Normal;
    let card = {
        let mut store = host.store();
        let old = store.get(&key).map(|entry| entry.snippet.card.kind);
        let is_note = |kind| kind == SnippetKind::Note;
        if old.is_some_and(|kind| !is_note(kind)) {
            return Err(format!("nothing was noted: `{key}` is not yours; choose another key"));
        }
        let notes = store.iter().filter(|entry| is_note(entry.snippet.card.kind)).count();
        if old.is_none() && notes >= MOST_NOTES {
            return Err(format!(
                "nothing was noted: there are {notes} notes; use an old key again"
            ));
        }
        store.put(key, SnippetKind::Note, "noted by the parent", text.clone(), sensitivity)
    };
    host.emit(&Origin::session(), Fact::ContextAdded { card, sensitivity, text: Some(text) }).await;
    Ok(())
}
