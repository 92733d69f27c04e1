//! What a call is about, as far as permission goes: the file under all its names, the command taken
//! apart, whose call it is. It gathers; [`crate::domain::permit`] judges.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::host::Host;
use super::run::RunShared;
use crate::domain::allowance::{Requester, exact};
use crate::domain::approval::{Deed, Preview, PreviewBody};
use crate::domain::fence::Fence;
use crate::domain::hash::Sha;
use crate::domain::message::ToolCall;
use crate::domain::permit::{self, CallView, Standing, Verdict};
use crate::domain::role::Permission;
use crate::domain::shell_words::{Parsed, command_words};
use crate::workspace::Workspace;

/// A call as it is judged.
pub(super) struct Subject {
    /// Whose call it is.
    pub requester: Requester,
    /// The command that it would run, exactly.
    pub command: Option<String>,
    /// How commands are fenced.
    pub fence: Fence,
    tool: String,
    deed: Deed,
    exact: Sha,
    paths: Vec<Vec<String>>,
    parsed: Option<Parsed>,
    configured: bool,
}

impl Subject {
    /// Looks at a call and at what its tool says that it would do.
    pub(super) async fn of(
        shared: &RunShared,
        call: &ToolCall,
        arguments: &Value,
        deed: Deed,
        preview: Option<&Preview>,
    ) -> Self {
        let command = command(arguments, deed, preview);
        let paths = match deed {
            Deed::Look | Deed::Edit => names(&shared.host.workspace, arguments, preview).await,
            Deed::Test | Deed::Command | Deed::Network => Vec::new(),
        };
        let parsed = command.as_deref().map(command_words);
        Self {
            requester: requester(shared),
            fence: fence(shared, deed).await,
            tool: call.name.clone(),
            // A command is confirmed, not the argument that it was made from.
            exact: match (deed, &command) {
                (Deed::Test, Some(command)) => exact(&call.name, &Value::from(command.as_str())),
                (_, _) => exact(&call.name, arguments),
            },
            configured: configured(&shared.host, command.as_deref(), parsed.as_ref()),
            deed,
            command,
            paths,
            parsed,
        }
    }

    /// What the policy reads.
    pub(super) fn view(&self) -> CallView<'_> {
        CallView {
            tool: &self.tool,
            deed: self.deed,
            exact: &self.exact,
            paths: &self.paths,
            command: self.parsed.as_ref(),
            configured: self.configured,
        }
    }

    /// The verdict at this moment.
    pub(super) fn verdict(&self, host: &Host) -> Verdict {
        let mode = host.mode();
        let given = host.approvals.given();
        let standing =
            Standing { mode, fence: &self.fence, rules: &host.rules, allowances: &given };
        permit::decide(&standing, &self.requester, &self.view())
    }
}

/// A change of files has nothing to do with the fence, so that nothing is tried for it.
async fn fence(shared: &RunShared, deed: Deed) -> Fence {
    let network = shared.contract.permissions().contains(&Permission::Network);
    match deed {
        Deed::Look | Deed::Edit => Fence::none("not asked for"),
        Deed::Test | Deed::Command | Deed::Network => {
            shared.host.fence().await.with_network(network)
        }
    }
}

fn requester(shared: &RunShared) -> Requester {
    let run = shared.contract.run().clone();
    match shared.contract.depth() {
        0 => Requester::Parent { run },
        _ => Requester::Child { run, role: shared.contract.role().to_owned() },
    }
}

/// What would be run, exactly: by its tool's own words, else by the argument of that name.
fn command(arguments: &Value, deed: Deed, preview: Option<&Preview>) -> Option<String> {
    match preview.map(|preview| &preview.body) {
        Some(PreviewBody::Command { command, .. }) => Some(command.clone()),
        Some(PreviewBody::Diff(_)) | None => match deed {
            Deed::Test | Deed::Command => arguments["command"].as_str().map(str::to_owned),
            Deed::Look | Deed::Edit | Deed::Network => None,
        },
    }
}

/// True if the command is the user's own one for tests, alone or with more words behind it.
fn configured(host: &Host, command: Option<&str>, parsed: Option<&Parsed>) -> bool {
    let (Some(own), Some(command), Some(parsed)) = (&host.test_command, command, parsed) else {
        return false;
    };
    let with_more = || match (&command_words(own), parsed) {
        (
            Parsed { parts: own, complete: true, .. },
            Parsed { parts, complete: true, writes, .. },
        ) => {
            writes.is_empty()
                && matches!((&own[..], &parts[..]), ([own], [part]) if part.starts_with(own))
        }
        (_, _) => false,
    };
    own == command || with_more()
}

/// All names of the file that a call is about: as its argument says, as links lead, and as its tool
/// shows it.
async fn names(
    workspace: &Arc<Workspace>,
    arguments: &Value,
    preview: Option<&Preview>,
) -> Vec<Vec<String>> {
    let Some(path) = arguments["path"].as_str().map(str::to_owned) else { return Vec::new() };
    let mut found = Vec::new();
    let ground = Arc::clone(workspace);
    let looked = tokio::task::spawn_blocking(move || {
        let Ok(named) = ground.normalise(&path) else { return Vec::new() };
        // As the tools resolve it: through the jail, which no link leads out of.
        let real = ground.leads_to(&ground.scopes(), &named);
        vec![components(Path::new(&named)), components(Path::new(&real))]
    });
    found.extend(looked.await.unwrap_or_default());
    let shown = preview.and_then(|preview| preview.prefix.as_deref());
    found.extend(shown.map(|prefix| components(Path::new(prefix))));
    found.dedup();
    found
}

/// The names of a path; the first one is `/` if it is absolute.
fn components(path: &Path) -> Vec<String> {
    use std::path::Component;
    let names = path.components().filter(|part| !matches!(part, Component::CurDir));
    names.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
}
