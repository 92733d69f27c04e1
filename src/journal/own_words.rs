//! Which words of an event are this program's own, so that a secret that is such a word cannot make
//! the event unreadable. It knows where an event holds what others wrote, and there exempts nothing.

use serde::de::DeserializeOwned;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use crate::domain::approval::{Decider, Decision, Mode};
use crate::domain::context_store::{Sensitivity, SnippetKind};
use crate::domain::event::{Change, Failure, Level, Speaker};
use crate::domain::message::StopReason;
use crate::domain::report::{By, Exhausted, Report, Status, WarningCode};
use crate::domain::role::Permission;
use crate::domain::violation::Code;

/// Whose words stand at a place of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The fields are this program's; some have words of its own as values.
    Own,
    /// A report, whose fields beside the common ones are the child's.
    Report,
    /// Names and values are a model's.
    Foreign,
    /// A block as a provider wrote it, in which the shape of a key means nothing.
    Sealed,
}

impl Place {
    /// What a field at this place holds.
    pub(super) fn of(self, field: &str) -> Self {
        match (self, field) {
            (Self::Own, "report") => Self::Report,
            (Self::Own, "arguments") => Self::Foreign,
            (Self::Own, "data" | "signature") => Self::Sealed,
            (Self::Report, field) if !Report::COMMON_FIELDS.contains(&field) => Self::Foreign,
            (Self::Own | Self::Report, _) => Self::Own,
            (Self::Foreign | Self::Sealed, _) => self,
        }
    }

    /// True if others chose the names of the fields, and the types of their values.
    pub(super) fn names_are_foreign(self) -> bool {
        match self {
            Self::Report | Self::Foreign | Self::Sealed => true,
            Self::Own => false,
        }
    }
}

/// True if `text` is a word that this program writes into a field of this name.
pub(super) fn is_own(place: Place, field: &str, text: &str) -> bool {
    if place != Place::Own {
        return false;
    }
    match field {
        // Tags of events and blocks: nobody else writes them.
        "type" => true,
        "status" => word::<Status>(text),
        "code" => word::<Code>(text) || word::<WarningCode>(text),
        "dimension" => word::<Exhausted>(text),
        "by" => word::<By>(text) || word::<Decider>(text),
        "decision" => word::<Decision>(text),
        "mode" => word::<Mode>(text),
        "role" => word::<Speaker>(text),
        "level" => word::<Level>(text),
        "failure" => word::<Failure>(text),
        "kind" => word::<SnippetKind>(text),
        "change" => word::<Change>(text),
        "sensitivity" => word::<Sensitivity>(text),
        "permissions" => word::<Permission>(text),
        "stop_reason" => match read::<StopReason>(text) {
            Some(
                StopReason::EndTurn
                | StopReason::ToolUse
                | StopReason::MaxTokens
                | StopReason::Refusal,
            ) => true,
            Some(StopReason::Other(_)) | None => false,
        },
        _ => false,
    }
}

fn word<T: DeserializeOwned>(text: &str) -> bool {
    read::<T>(text).is_some()
}

fn read<T: DeserializeOwned>(text: &str) -> Option<T> {
    let text: StrDeserializer<'_, Error> = text.into_deserializer();
    T::deserialize(text).ok()
}
