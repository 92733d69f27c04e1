//! The format for programs that want the result: one object, whatever happened.

use std::path::PathBuf;

use serde::Serialize;

use super::{Pages, Printer, failure_code};
use crate::domain::event::{Event, Fact, Level, RunFinished};
use crate::domain::exit::Exit;
use crate::domain::ids::SessionId;
use crate::domain::report::{Report, Status};
use crate::domain::usage::Usage;
use crate::domain::violation::Code;
use crate::sanitize;
use crate::story::{Story, Worth};

/// The object. Its fields and their order are the interface.
#[derive(Serialize)]
struct Object<'a> {
    session: Option<SessionId>,
    status: Status,
    code: Option<&'a str>,
    reply: Option<&'a str>,
    /// The parent run's with all its descendants'.
    usage: Usage,
    /// Tokens that delegation kept out of the parent's context.
    context_kept_out: u64,
    /// That against what it used; `null` if nothing was delegated.
    delegation: Option<Delegation>,
    children: Vec<&'a Report>,
    warnings: Vec<Warning>,
    trace_dir: Option<&'a str>,
}

/// What the conversation's children kept out of it, and what they used.
#[derive(Serialize)]
struct Delegation {
    /// Each child's last prompt minus its first minus its report, in tokens, summed; may be negative.
    kept_out: i64,
    /// The same, once for each later request that would have carried it.
    spared: i64,
    /// What all children used.
    used: Usage,
    /// True while more tokens were used than spared.
    costs_more: bool,
}

impl From<Worth> for Delegation {
    fn from(worth: Worth) -> Self {
        let Worth { kept_out, spared, used } = worth;
        Self { kept_out, spared, used, costs_more: worth.costs_more() }
    }
}

/// What the runtime warned of.
#[derive(Serialize)]
struct Warning {
    code: String,
    text: String,
}

/// The object of a run that never came to be, on one line: what was wrong, in `text`, as its one
/// warning.
pub(super) fn failure(exit: Exit, text: &str) -> String {
    let code = failure_code(exit);
    write(&Object {
        session: None,
        status: if code == Code::Cancelled.as_str() { Status::Cancelled } else { Status::Failed },
        code: Some(code),
        reply: None,
        usage: Usage::none(),
        context_kept_out: 0,
        delegation: None,
        children: Vec::new(),
        warnings: vec![Warning { code: code.to_owned(), text: text.to_owned() }],
        trace_dir: None,
    })
}

fn write(object: &Object<'_>) -> String {
    serde_json::to_string(object).unwrap_or_else(|error| {
        // Plain values always have a JSON form; should one not, there is still an object.
        serde_json::json!({ "status": "failed", "code": "INTERNAL", "reply": error.to_string() })
            .to_string()
    })
}

/// Prints one object.
pub(super) struct Json {
    story: Story,
    warnings: Vec<Warning>,
    trace_dir: Option<String>,
    out_is_terminal: bool,
}

impl Json {
    pub(super) fn new(trace_dir: Option<PathBuf>, out_is_terminal: bool) -> Self {
        let trace_dir = trace_dir.map(|dir| dir.to_string_lossy().into_owned());
        Self { story: Story::default(), warnings: Vec::new(), trace_dir, out_is_terminal }
    }
}

impl Printer for Json {
    fn event(&mut self, event: &Event, _: &mut Pages) {
        self.story.apply(event);
        if let Fact::Notice { level: Level::Warning | Level::Error, code, text } = &event.fact {
            self.warnings.push(Warning { code: code.clone(), text: text.clone() });
        }
    }

    fn end(&mut self, finished: Option<&RunFinished>, pages: &mut Pages) {
        let totals = self.story.totals();
        let json = write(&Object {
            session: self.story.session().map(|session| session.id),
            status: finished.map_or(Status::Failed, |end| end.status),
            code: finished.map_or(Some(Code::Internal), |end| end.code).map(Code::as_str),
            reply: finished.and_then(|end| end.reply.as_deref()),
            usage: finished.map_or(totals.usage, |end| end.usage_total),
            context_kept_out: self.story.kept_out_tokens(),
            delegation: self.story.worth().map(Delegation::from),
            children: self.story.reports().collect(),
            warnings: std::mem::take(&mut self.warnings),
            trace_dir: self.trace_dir.as_deref(),
        });
        let cleaned = sanitize::json(&json);
        let json = if self.out_is_terminal { cleaned.as_ref() } else { &json };
        pages.out.extend_from_slice(json.as_bytes());
        pages.out.push(b'\n');
    }
}
