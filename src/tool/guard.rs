//! The only door to a tool. A tool that a run may not use is missing from its schema already; this
//! is the second lock, for calls that a model makes all the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::domain::message::ToolCall;
use crate::domain::request::TaskRequest;
use crate::domain::role::Permission;
use crate::workspace::path::printable;

use super::toolbox::Toolbox;
use super::{Tool, arguments, task};

/// What a run may call, from its contract.
#[derive(Debug, Clone, Copy)]
pub struct Allowance<'a> {
    /// The tools, in the order they are offered.
    pub tools: &'a [String],
    /// The permissions; a tool whose permission is missing here may not be called.
    pub permissions: &'a BTreeSet<Permission>,
}

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

/// Lets a call pass, or says why not.
pub fn admit(
    toolbox: &Toolbox,
    allowance: Allowance<'_>,
    call: &ToolCall,
) -> Result<Admitted, Refused> {
    if !allowance.holds(toolbox, &call.name) {
        let kind = match toolbox.permission(&call.name) {
            Some(_) => RefusalKind::NotHeld,
            None => RefusalKind::UnknownTool,
        };
        return Err(Refused { kind, text: allowance.no_such_tool(toolbox, &call.name) });
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

impl Allowance<'_> {
    /// The tools that this run can really call.
    pub fn usable<'b>(&'b self, toolbox: &'b Toolbox) -> impl Iterator<Item = &'b str> {
        self.tools.iter().map(String::as_str).filter(|name| self.permits(toolbox, name))
    }

    fn holds(&self, toolbox: &Toolbox, name: &str) -> bool {
        self.tools.iter().any(|tool| tool == name) && self.permits(toolbox, name)
    }

    fn permits(&self, toolbox: &Toolbox, name: &str) -> bool {
        toolbox.permission(name).is_some_and(|needed| self.permissions.contains(&needed))
    }

    fn no_such_tool(&self, toolbox: &Toolbox, name: &str) -> String {
        let name = printable(name);
        let usable: Vec<&str> = self.usable(toolbox).collect();
        if usable.is_empty() {
            return format!("`{name}` is refused: this run has no tools; answer in words");
        }
        format!("`{name}` is refused: this run has only these tools: {}", usable.join(", "))
    }
}
