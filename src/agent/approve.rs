//! Whether a call may be made: by the permission mode alone, without asking anybody.

use std::sync::Arc;

use serde_json::Value;

use super::run::RunShared;
use crate::domain::approval::{Deed, Mode, Preview};
use crate::domain::event::Failure;
use crate::domain::message::ToolCall;
use crate::tool::{Tool, ToolContext};

/// The answer.
pub(super) enum Permit {
    /// It may, exactly as it was shown.
    Allowed(Option<Preview>),
    /// It may not; the words are for the model.
    Not(Failure, String),
}

/// Looks at what the call would do and decides.
pub(super) async fn permit(
    shared: &Arc<RunShared>,
    call: &ToolCall,
    tool: &Arc<dyn Tool>,
    arguments: &Value,
    context: &ToolContext,
) -> Permit {
    let deed = Deed::of(tool.spec().permission);
    if deed == Deed::Look {
        return Permit::Allowed(None);
    }
    match shared.host.mode() {
        Mode::FullAccess => match tool.preview(arguments, context).await {
            Ok(preview) => Permit::Allowed(preview),
            Err(words) => Permit::Not(Failure::Error, words),
        },
        mode @ (Mode::ReadOnly | Mode::Ask | Mode::AutoEdit) => {
            let words = format!("{} is denied: the mode is {}", call.name, mode.name());
            Permit::Not(Failure::Denied, words)
        }
    }
}
