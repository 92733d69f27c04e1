//! Which model answers: listing what the provider offers, and going on with another one. The
//! conversation stays; each message in it knows who wrote it.

use std::time::Duration;

use tokio::time::timeout;

use super::Conversation;
use crate::domain::event::{Fact, Level};

/// How long the list of models may take.
const LIST_WAIT: Duration = Duration::from_secs(5);
/// Models that are named at most.
const NAMED: usize = 40;

impl Conversation {
    /// Tells which models there are. A server that does not answer is not waited for.
    pub(super) async fn list_models(&self) {
        let identity = self.provider.identity();
        let fact = match timeout(LIST_WAIT, self.provider.models()).await {
            Ok(Ok(models)) => {
                let more = models.len().saturating_sub(NAMED);
                let names = models[..models.len() - more].join(", ");
                let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
                let text = format!(
                    "{} answers now; {} offers: {names}{rest}. /model NAME takes another one.",
                    identity.model, identity.provider
                );
                Fact::notice(Level::Info, "MODELS", text)
            }
            Ok(Err(error)) => Fact::notice(Level::Warning, "MODELS", error.to_string()),
            Err(_) => {
                let text = format!("{} did not list its models within 5 s", identity.provider);
                Fact::notice(Level::Warning, "MODELS", text)
            }
        };
        self.tell(fact).await;
    }

    /// Lets another model answer from the next message on.
    pub(super) async fn set_model(&mut self, model: &str) {
        let switched = match &self.switch {
            Some(switch) => switch(model),
            None => Err(format!("{} has no other model", self.provider.identity().provider)),
        };
        let fact = match switched {
            Ok(provider) if !self.can_hold_cost(&*provider) => self.cost_not_held(model),
            Ok(provider) => {
                self.provider = provider;
                let text = format!("from the next message on {model} answers");
                Fact::notice(Level::Info, "MODEL_SET", text)
            }
            Err(text) => Fact::notice(Level::Warning, "MODEL_SET", text),
        };
        self.tell(fact).await;
    }
}
