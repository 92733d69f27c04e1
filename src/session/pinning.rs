//! Texts that the user gives a name, so that tasks can choose them as context: at the start, and by
//! `/pin` in between. What is secret gets into no store of the model's: only its key is known, and its
//! value is among the texts that are looked for and blotted out everywhere.

use std::io::Read;
use std::sync::Arc;

use super::{Config, Conversation, Pin};
use crate::agent::host::Host;
use crate::domain::context_store::{Sensitivity, SnippetKind, key_problem};
use crate::domain::event::{Fact, Level};
use crate::domain::scope::PathScope;
use crate::domain::secret_value;
use crate::workspace::jail::Opened;

/// A pinned text has to fit into a child's prompt.
const MOST_BYTES: u64 = 1024 * 1024;

/// All texts that may never be shown, saved or given away: those that were known before, and every
/// form of the pinned secrets.
pub(super) fn secrets(config: &Config) -> Vec<String> {
    let pinned = config.pins.iter().filter(|pin| pin.sensitivity == Sensitivity::Secret);
    let forms = pinned.flat_map(|pin| secret_value::forms(&pin.text));
    config.secrets.iter().cloned().chain(forms).collect()
}

impl Conversation {
    /// Keeps a text and tells its card.
    pub(super) async fn pin(&self, pin: Pin) {
        let Pin { name, source, text, sensitivity } = pin;
        let source = format!("pinned by {source}");
        let card = self.host.store().put(name, SnippetKind::Pin, source, text.clone(), sensitivity);
        let text = (sensitivity != Sensitivity::Secret).then_some(text);
        self.tell(Fact::ContextAdded { card, sensitivity, text }).await;
    }

    /// Keeps what was typed, or what the file has that was named; says what stands in the way.
    pub(super) async fn pin_typed(&self, name: String, text: String, local_only: bool) {
        let sensitivity = if local_only { Sensitivity::LocalOnly } else { Sensitivity::Normal };
        match self.to_pin(name, text, sensitivity).await {
            Ok(pin) => {
                let place = if local_only { ", for models on this machine alone" } else { "" };
                let words = format!(
                    "pinned `{}` ({} B{place}); a task can be given it",
                    pin.name,
                    pin.text.len()
                );
                self.pin(pin).await;
                self.tell(Fact::notice(Level::Info, "PINNED", words)).await;
            }
            Err(why) => self.tell(Fact::notice(Level::Warning, "NOT_PINNED", why)).await,
        }
    }

    async fn to_pin(
        &self,
        name: String,
        text: String,
        sensitivity: Sensitivity,
    ) -> Result<Pin, String> {
        if let Some(problem) = key_problem(&name) {
            return Err(format!("nothing was pinned: `{name}` {problem}"));
        }
        self.require_not_kept_closer(&name, sensitivity)?;
        let (text, source) = match text.strip_prefix('@') {
            Some(file) => {
                let found = from_file(&self.host, self.paths.clone(), file.to_owned()).await;
                let text = found.map_err(|why| format!("nothing was pinned: {why}"))?;
                (text, format!("the user, from {file}"))
            }
            None => (text, "the user".to_owned()),
        };
        if text.trim().is_empty() {
            return Err(format!("nothing was pinned: the text for `{name}` is blank"));
        }
        Ok(Pin { name, source, text, sensitivity })
    }

    /// A secret stays one: pinning something else under its name would tell the parent's model that
    /// the key can be had, and whoever looks at the page that it never was a secret.
    fn require_not_kept_closer(&self, name: &str, wanted: Sensitivity) -> Result<(), String> {
        match self.host.store().get(name).map(|entry| entry.sensitivity) {
            Some(Sensitivity::Secret) => {
                Err(format!("nothing was pinned: `{name}` is a secret; choose another name"))
            }
            Some(Sensitivity::LocalOnly) if wanted == Sensitivity::Normal => Err(format!(
                "nothing was pinned: `{name}` may not leave this machine; \
                 write /pin --local {name} ..., or choose another name"
            )),
            Some(Sensitivity::Normal | Sensitivity::LocalOnly) | None => Ok(()),
        }
    }
}

/// The text of a file of the workspace, off the async threads.
async fn from_file(host: &Host, scopes: Vec<PathScope>, file: String) -> Result<String, String> {
    let workspace = Arc::clone(&host.workspace);
    let reading = tokio::task::spawn_blocking(move || {
        let path = workspace.normalise(&file).map_err(|error| error.to_string())?;
        let opened = workspace.open_within(&scopes, &path).map_err(|error| error.to_string())?;
        let Opened::File { file, .. } = opened else {
            return Err(format!("`{path}` is no regular file"));
        };
        let mut bytes = Vec::new();
        let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| format!("`{path}` cannot be read: {error}"))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(format!("`{path}` is larger than 1 MiB"));
        }
        String::from_utf8(bytes).map_err(|_| format!("`{path}` is not UTF-8 text"))
    });
    reading.await.unwrap_or_else(|fault| Err(format!("it cannot be read: {fault}")))
}
