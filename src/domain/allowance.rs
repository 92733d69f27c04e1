//! What a person allowed by an earlier answer: to whom, and for which calls. An allowance is never
//! inherited: a child does not get its parent's, nor a parent its child's.

use serde_json::Value;

use super::approval::Answer;
use super::hash::Sha;
use super::ids::RunId;
use super::matching;
use super::permit::CallView;
use super::rules::Pattern;

/// Whose call it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requester {
    /// The run that answers the user.
    Parent {
        /// The run.
        run: RunId,
    },
    /// A run that was delegated to.
    Child {
        /// The run.
        run: RunId,
        /// Its role.
        role: String,
    },
}

impl Requester {
    /// The run.
    pub fn run(&self) -> &RunId {
        match self {
            Self::Parent { run } | Self::Child { run, .. } => run,
        }
    }
}

/// To whom something is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Holder {
    /// One run.
    Run(RunId),
    /// The parent, in all its answers of this session.
    Parent,
    /// All children of a role.
    Role(String),
}

impl Holder {
    fn is(&self, requester: &Requester) -> bool {
        match (self, requester) {
            (Self::Run(run), _) => run == requester.run(),
            (Self::Parent, Requester::Parent { .. }) => true,
            (Self::Role(role), Requester::Child { role: own, .. }) => role == own,
            (Self::Parent, Requester::Child { .. }) | (Self::Role(_), Requester::Parent { .. }) => {
                false
            }
        }
    }
}

/// Which calls.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Covered {
    /// Those with exactly these arguments.
    Exact(Sha),
    /// Those that the shown prefix covers.
    Prefix(Pattern),
}

/// One earlier answer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Allowance {
    holder: Holder,
    tool: String,
    covered: Covered,
}

/// All that was allowed in this session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowances(Vec<Allowance>);

impl Allowances {
    /// Keeps what an answer allows beyond the call itself. `prefix` is what the person was shown as
    /// covered by a wider answer; `None` for exactly this call. A yes to a run of the tests stands
    /// for the session: that command is confirmed.
    pub fn keep(
        &mut self,
        answer: &Answer,
        requester: &Requester,
        call: &CallView<'_>,
        prefix: Option<Pattern>,
    ) {
        let exact = Covered::Exact(call.exact.clone());
        let wide = prefix.map_or_else(|| exact.clone(), Covered::Prefix);
        let (holder, covered) = match answer {
            Answer::Once if call.is_test() => (session(requester), exact),
            Answer::Child => (Holder::Run(requester.run().clone()), wide),
            Answer::Session => (session(requester), wide),
            Answer::Once | Answer::Amended(_) | Answer::Deny { .. } => return,
        };
        if call.is_test() && *answer == Answer::Child {
            let exact = Covered::Exact(call.exact.clone());
            self.add(session(requester), call.tool, exact);
        }
        self.add(holder, call.tool, covered);
    }

    /// A run has ended: what was allowed to it alone covers nothing any more.
    pub fn run_ended(&mut self, run: &RunId) {
        let own = Holder::Run(run.clone());
        self.0.retain(|allowance| allowance.holder != own);
    }

    fn add(&mut self, holder: Holder, tool: &str, covered: Covered) {
        let allowance = Allowance { holder, tool: tool.to_owned(), covered };
        if !self.0.contains(&allowance) {
            self.0.push(allowance);
        }
    }

    /// True if exactly this call was allowed to this requester.
    pub(super) fn exactly(&self, requester: &Requester, call: &CallView<'_>) -> bool {
        self.of(requester, call.tool)
            .any(|covered| matches!(covered, Covered::Exact(sha) if sha == call.exact))
    }

    /// True if a change of this file was allowed to this requester.
    pub(super) fn path(&self, requester: &Requester, tool: &str, path: &[String]) -> bool {
        self.prefixes(requester, tool).any(|pattern| matching::covers_path(pattern, path))
    }

    /// True if this part of a command was allowed to this requester.
    pub(super) fn part(&self, requester: &Requester, tool: &str, part: &[String]) -> bool {
        self.prefixes(requester, tool).any(|pattern| matching::covers_part(pattern, part))
    }

    fn prefixes<'a>(
        &'a self,
        requester: &'a Requester,
        tool: &'a str,
    ) -> impl Iterator<Item = &'a Pattern> {
        self.of(requester, tool).filter_map(|covered| match covered {
            Covered::Exact(_) => None,
            Covered::Prefix(pattern) => Some(pattern),
        })
    }

    fn of<'a>(
        &'a self,
        requester: &'a Requester,
        tool: &'a str,
    ) -> impl Iterator<Item = &'a Covered> {
        let mine =
            move |allowance: &&Allowance| allowance.tool == tool && allowance.holder.is(requester);
        self.0.iter().filter(mine).map(|allowance| &allowance.covered)
    }
}

fn session(requester: &Requester) -> Holder {
    match requester {
        Requester::Parent { .. } => Holder::Parent,
        Requester::Child { role, .. } => Holder::Role(role.clone()),
    }
}

/// The name of a call by its tool and its arguments; the order of fields makes no difference.
pub fn exact(tool: &str, arguments: &Value) -> Sha {
    let mut text = Value::from(tool).to_string();
    write_sorted(arguments, &mut text);
    Sha::of(text)
}

fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in fields {
                text.push_str(&Value::from(key.as_str()).to_string());
                write_sorted(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_sorted(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}
