//! The project's rules for agents in the conversation: read at the start of every run, kept as what
//! tasks can choose as context, and told when they changed.

use super::Conversation;
use crate::agent::guidance;
use crate::domain::context_store::{Sensitivity, Snippet, SnippetKind};
use crate::domain::event::{Fact, Level};
use crate::domain::guidance::Guidance;

impl Conversation {
    /// The rules for the parent, as they are now.
    pub(super) async fn rules(&mut self) -> Option<Snippet> {
        let found = guidance::read(&self.host, self.paths.clone()).await;
        let rules = found.for_paths(&self.paths);
        let left_out = found.left_out();
        if self.rules_left_out != left_out {
            for what in &left_out {
                self.tell(Fact::notice(Level::Warning, "RULES", what.clone())).await;
            }
            self.rules_left_out = left_out;
        }
        let before = self.host.store().get(Guidance::KEY).map(|old| old.snippet.card.clone());
        if before.as_ref() == rules.as_ref().map(|rules| &rules.card) {
            return rules;
        }
        match &rules {
            Some(rules) => self.keep(rules.clone()).await,
            None => self.host.store().remove(Guidance::KEY),
        }
        rules
    }

    async fn keep(&self, rules: Snippet) {
        let Snippet { card, text, .. } = rules;
        let (kind, sensitivity) = (SnippetKind::Rules, Sensitivity::Normal);
        let card = self.host.store().put(card.key, kind, card.source, text.clone(), sensitivity);
        self.tell(Fact::ContextAdded { card, sensitivity, text: Some(text) }).await;
    }
}
