//! The user's answer to whether the project's own files are trusted: kept outside of the session, and
//! told.

use super::Conversation;
use crate::domain::event::{Fact, Level};

impl Conversation {
    /// Keeps the answer. It holds from the next start on, since the settings of this session are made.
    pub(super) async fn answer_trust(&self, trusted: bool) {
        let Some(keep) = self.keep_trust.clone() else {
            let text = "this project has no files of its own that could be trusted";
            return self.tell(Fact::notice(Level::Info, "TRUST", text)).await;
        };
        let kept = tokio::task::spawn_blocking(move || keep(trusted)).await;
        let (level, text) = match (kept, trusted) {
            (Ok(Ok(())), true) => (
                Level::Info,
                "the project's own files are trusted as they are now; this session goes on with \
                 only what narrows of them, and all of them hold when offshoot starts here again"
                    .to_owned(),
            ),
            (Ok(Ok(())), false) => (
                Level::Info,
                "the project's own files are not trusted: only what narrows holds".to_owned(),
            ),
            (Ok(Err(why)), _) => (Level::Warning, why),
            (Err(error), _) => (Level::Error, format!("internal error: {error}")),
        };
        self.tell(Fact::notice(level, "TRUST", text)).await;
    }
}
