//! The project's rules for agents as a run gets them: read anew, off the async threads, with the keys
//! that this program was given blotted out.

use std::sync::Arc;

use super::cancel::CancelScope;
use super::host::Host;
use crate::domain::guidance::{Guidance, GuidanceFile};
use crate::domain::request::TaskRequest;
use crate::domain::scope::PathScope;

/// The rules of the folders above these paths.
pub async fn read(host: &Host, paths: Vec<PathScope>) -> Guidance {
    let workspace = Arc::clone(&host.workspace);
    let read = tokio::task::spawn_blocking(move || workspace.guidance(&paths)).await;
    // Rules are no condition for work: where reading them fails inside, there are none.
    let files = read.unwrap_or_default().files.into_iter();
    let files = files.map(|file| blotted(host, file));
    Guidance { files: files.collect() }
}

/// Without secrets. What that makes shorter was not cut.
fn blotted(host: &Host, file: GuidanceFile) -> GuidanceFile {
    let Ok(text) = &file.text else { return file };
    let clean = host.redactor.text(text).into_owned();
    let cut = file.bytes.saturating_sub(text.len() as u64);
    let bytes = (clean.len() as u64).saturating_add(cut);
    GuidanceFile { text: Ok(clean), bytes, ..file }
}

/// The rules that could apply to the child of this request. What of it is no path is refused when
/// the contract is made. A child that is cancelled while they are read does without.
pub(super) async fn for_request(
    host: &Host,
    request: &TaskRequest,
    parents: &[PathScope],
    child: &CancelScope,
) -> Guidance {
    let paths = match &request.allowed_paths {
        Some(asked) => asked.iter().filter_map(|path| PathScope::parse(path).ok()).collect(),
        None => parents.to_vec(),
    };
    child.last_look("reading the project's rules", read(host, paths)).await.unwrap_or_default()
}
