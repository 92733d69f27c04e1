//! The only door to a tool. A tool that a run may not use is missing from its schema already; this
//! is the second lock, for calls that a model makes all the same.

use std::sync::Arc;

use serde_json::Value;

use crate::domain::contract::Contract;
use crate::domain::message::ToolCall;
use crate::domain::request::TaskRequest;
use crate::workspace::path::printable;

use super::toolbox::Toolbox;
use super::{Tool, arguments, task};

/// A call that may run.
#[derive(Clone)]
pub enum Admitted {
    /// A request to delegate; whether it becomes a contract is still open.
    Task(TaskRequest),
    /// A tool with arguments that fit its schema.
    Tool {
        /// Which.
        tool: Arc<dyn Tool>,
        /// With what.
        arguments: Value,
    },
}

/// Why a call may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusalKind {
    /// There is no tool of that name at all.
    UnknownTool,
    /// There is one, but this run does not hold it or its permission.
    NotHeld,
    /// Its arguments do not fit.
    BadArguments {
        /// The field at fault; empty where it is the whole.
        field: String,
    },
}

/// A call that touches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Why.
    pub kind: RefusalKind,
    /// For the model: what was refused, and what this run may use. It reads the same whether the
    /// tool exists elsewhere or not.
    pub text: String,
}

/// Lets a call pass, or says why not. Touches nothing in either case.
pub fn admit(toolbox: &Toolbox, contract: &Contract, call: &ToolCall) -> Result<Admitted, Refused> {
    if !usable(toolbox, contract).any(|name| name == call.name) {
        let kind = match toolbox.permission(&call.name) {
            Some(_) => RefusalKind::NotHeld,
            None => RefusalKind::UnknownTool,
        };
        return Err(Refused { kind, text: no_such_tool(toolbox, contract, &call.name) });
    }
    let admitted = match toolbox.get(&call.name) {
        Some(tool) => arguments::fit(&tool.spec().parameters, &call.arguments)
            .map(|arguments| Admitted::Tool { tool: Arc::clone(tool), arguments }),
        None => arguments::read(&task::parameters(), &call.arguments).map(Admitted::Task),
    };
    admitted.map_err(|error| Refused {
        text: format!("{} was not called: {}", call.name, error.text),
        kind: RefusalKind::BadArguments { field: error.field },
    })
}

/// The tools that a run can really call, in the order they are offered: those that its contract
/// names, that exist, and whose permission it holds.
pub fn usable<'a>(toolbox: &'a Toolbox, contract: &'a Contract) -> impl Iterator<Item = &'a str> {
    contract.tools().iter().map(String::as_str).filter(|name| {
        toolbox.permission(name).is_some_and(|needed| contract.permissions().contains(&needed))
    })
}

fn no_such_tool(toolbox: &Toolbox, contract: &Contract, name: &str) -> String {
    let name = printable(name);
    let usable: Vec<&str> = usable(toolbox, contract).collect();
    if usable.is_empty() {
        return format!("`{name}` is refused: this run has no tools; answer in words");
    }
    format!("`{name}` is refused: this run has only these tools: {}", usable.join(", "))
}
