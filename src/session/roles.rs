//! The roles that a run's tasks can choose from: those of the program, of files and of the host, less
//! the models that the provider turns out not to have.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::timeout;

use super::Conversation;
use crate::domain::event::{Fact, Level, Origin};
use crate::domain::role::{Role, RoleTable};
use crate::domain::role_file::RoleFile;

/// How long the list of models may take.
const LIST_WAIT: Duration = Duration::from_secs(5);

/// What the session knows of roles beside the built-in ones.
#[derive(Default)]
pub(super) struct Roles {
    /// Of files.
    files: Vec<RoleFile>,
    /// Of the host.
    more: Vec<Role>,
    /// The models that the provider lists, once it has answered.
    offered: Arc<OnceLock<Vec<String>>>,
}

impl Roles {
    pub(super) fn new(files: Vec<RoleFile>, more: Vec<Role>) -> Self {
        Self { files, more, offered: Arc::default() }
    }

    fn wanted_models(&self) -> impl Iterator<Item = (&str, &str)> {
        let of_file = |file: &'_ RoleFile| file.model.is_some();
        self.files
            .iter()
            .filter(move |file| of_file(file))
            .filter_map(|file| Some((file.name.as_str(), file.model.as_deref()?)))
    }
}

impl Conversation {
    /// The table for the next run.
    pub(super) fn role_table(&self) -> RoleTable {
        // What the files could not do was told at the start.
        let mut table =
            RoleTable::with_files(self.limits.preset, &self.roles.files, &mut Vec::new());
        self.roles.more.iter().cloned().for_each(|role| table.insert(role));
        let (offered, can_switch) = (self.roles.offered.get(), self.switch.is_some());
        table.keep_models(|model| can_switch && offered.is_none_or(|all| is_offered(all, model)));
        table
    }

    /// Compares the models of role files with what the provider has, beside everything else: no
    /// answer waits for that.
    pub(super) async fn check_models(&self) {
        let own = self.provider.identity().model.clone();
        let wanted: Vec<(String, String)> = self
            .roles
            .wanted_models()
            .filter(|(_, model)| *model != own)
            .map(|(role, model)| (role.to_owned(), model.to_owned()))
            .collect();
        if wanted.is_empty() {
            return;
        }
        if self.switch.is_none() {
            for (role, model) in wanted {
                self.tell(no_such_model(&role, &model, "there is no other model here")).await;
            }
            return;
        }
        let (provider, offered) = (Arc::clone(&self.provider), Arc::clone(&self.roles.offered));
        let host = Arc::clone(&self.host);
        tokio::spawn(async move {
            // A server that lists nothing is asked for the model itself, when a task wants it.
            let Ok(Ok(all)) = timeout(LIST_WAIT, provider.models()).await else { return };
            let all = offered.get_or_init(|| all);
            for (role, model) in wanted.iter().filter(|(_, model)| !is_offered(all, model)) {
                let fact = no_such_model(role, model, "the provider does not list it");
                host.emit(&Origin::session(), fact).await;
            }
        });
    }

    /// What the parent is asked where a person wants something to be delegated. The first word may be
    /// the name of a role.
    pub(super) fn delegation(&self, role: Option<String>, text: String) -> String {
        let (role, text) = match (role, text.split_once(char::is_whitespace)) {
            (None, Some((first, rest)))
                if self.role_table().get(first).is_some() && !rest.trim().is_empty() =>
            {
                (Some(first.to_owned()), rest.trim().to_owned())
            }
            (role, _) => (role, text),
        };
        match role {
            Some(role) => format!("Delegate this to the role {role} with `task`: {text}"),
            None => format!("Delegate this with `task`: {text}"),
        }
    }
}

/// True if the list has the model, or a dated form of it.
fn is_offered(all: &[String], model: &str) -> bool {
    all.iter().any(|listed| {
        listed
            .strip_prefix(model)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '@', ':']))
    })
}

fn no_such_model(role: &str, model: &str, why: &str) -> Fact {
    let text = format!(
        "the role {role} asks for the model {model}, but {why}; it runs on its \
                        parent's"
    );
    Fact::notice(Level::Warning, "ROLE_MODEL", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dated_model_stands_for_its_short_name_and_nothing_else_does() {
        let all = ["big-4-5-20250929".to_owned(), "small:latest".to_owned()];
        for (model, right) in [
            ("big-4-5-20250929", true),
            ("big-4-5", true),
            ("small", true),
            ("big-4-", false),
            ("sonnet", false),
            ("big-4-5-20250929-x", false),
        ] {
            assert_eq!(is_offered(&all, model), right, "{model}");
        }
    }
}
