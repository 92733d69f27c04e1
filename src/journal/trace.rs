//! Which file an event belongs into, and how much of it: the layout of a session's folder. Pure; it
//! refuses to know whether anything can be written.
//!
//! ```text
//! DIR/SESSION/session.jsonl       session and parent events, and each child's start and end
//! DIR/SESSION/traces/t3.1.jsonl   everything about the first attempt at task t3; its first line
//!                                 names the session too
//! DIR/SESSION/outputs/42          what was cut from the output that event 42 tells, up to 10 MiB
//! ```

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::domain::context_store::Sensitivity;
use crate::domain::event::{Event, Fact};
use crate::domain::ids::{RunId, SessionId};

/// The folder of one session.
pub fn session_dir(dir: &Path, session: SessionId) -> PathBuf {
    dir.join(session.to_string())
}

/// The folder of a session's traces.
pub fn trace_dir(dir: &Path, session: SessionId) -> PathBuf {
    session_dir(dir, session).join("traces")
}

/// A file of a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileName {
    /// The session's own.
    Session,
    /// One attempt's trace. Built from numbers only, so that it names no other place.
    Trace(RunId),
    /// A tool's output before it was cut, by the id of the event that tells its end.
    Output(u64),
}

impl FileName {
    /// The path inside the session's folder.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Session => PathBuf::from("session.jsonl"),
            Self::Trace(run) => Path::new("traces").join(format!("{run}.jsonl")),
            Self::Output(id) => Path::new("outputs").join(id.to_string()),
        }
    }
}

/// The files that an event is written to, in that order; none for one that only streams.
pub fn files(event: &Event) -> Vec<FileName> {
    if event.fact.is_transient() {
        return Vec::new();
    }
    let Some(trace) = trace_of(event) else {
        return std::iter::once(FileName::Session).chain(trace_of_cancelled(event)).collect();
    };
    let bounds = matches!(event.fact, Fact::RunStarted { .. } | Fact::RunFinished(_));
    if bounds { vec![FileName::Session, trace] } else { vec![trace] }
}

/// The event as the file may hold it: a snippet's text is for the session file alone, and that of a
/// secret for none.
pub fn recorded<'a>(event: &'a Event, file: &FileName) -> Cow<'a, Event> {
    let Fact::ContextAdded { sensitivity, text: Some(_), .. } = &event.fact else {
        return Cow::Borrowed(event);
    };
    if *file == FileName::Session && *sensitivity != Sensitivity::Secret {
        return Cow::Borrowed(event);
    }
    let mut event = event.clone();
    if let Fact::ContextAdded { text, .. } = &mut event.fact {
        *text = None;
    }
    Cow::Owned(event)
}

/// True if the line says which session it belongs to: the start of a run in its own trace, which may
/// be read away from its folder.
pub fn names_session(event: &Event, file: &FileName) -> bool {
    match file {
        FileName::Trace(_) => matches!(event.fact, Fact::RunStarted { .. }),
        FileName::Session | FileName::Output(_) => false,
    }
}

/// True if `event` ends what this file is about.
pub fn ends(event: &Event, file: &FileName) -> bool {
    match file {
        FileName::Trace(_) => matches!(event.fact, Fact::RunFinished(_)),
        // It is written whole.
        FileName::Output(_) => true,
        FileName::Session => {
            matches!(event.fact, Fact::SessionFinished { .. })
                || (trace_of(event).is_none() && matches!(event.fact, Fact::RunFinished(_)))
        }
    }
}

/// The trace of the child run that the event comes from; none for what the user's run tells. A run's
/// event about a task that it delegates (queued, say) carries that task and the run's own name.
fn trace_of(event: &Event) -> Option<FileName> {
    let origin = &event.origin;
    origin.parent_run.as_ref()?;
    trace_named(origin.run.as_ref()?.as_str())
}

/// The trace of the child run that a person cancels, which is an event of the session: a trace has all
/// that its run went through.
fn trace_of_cancelled(event: &Event) -> Option<FileName> {
    let Fact::CancelRequested { target, .. } = &event.fact else { return None };
    trace_named(target).filter(|_| event.origin.run.is_none())
}

fn trace_named(run: &str) -> Option<FileName> {
    let (task, attempt) = run.split_once('.')?;
    Some(FileName::Trace(RunId::child(task.parse().ok()?, attempt.parse().ok()?)))
}
