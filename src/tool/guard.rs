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
#[expect(clippy::large_enum_variant, reason = "made one at a time and taken apart at once")]
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;
    use crate::domain::budget::Preset;
    use crate::domain::contract::Root;
    use crate::domain::event::Timestamp;
    use crate::domain::ids::{CallId, RunId};
    use crate::domain::role::Permission;
    use crate::domain::scope::PathScope;

    const READING: [&str; 3] = ["list_files", "read_file", "search"];

    fn contract(tools: &[&str], permissions: &[Permission]) -> Contract {
        Contract::root(Root {
            run: RunId::parent(1),
            prompt: "look".to_owned(),
            permissions: permissions.iter().copied().collect(),
            paths: vec![PathScope::all()],
            tools: tools.iter().map(|&tool| tool.to_owned()).collect(),
            rules: None,
            budget: Preset::Normal.parent(),
            output_per_request: 8_192,
            provider: "script".to_owned(),
            model: "scripted".to_owned(),
            issued_at: Timestamp(0),
        })
    }

    fn child() -> Contract {
        contract(&READING, &[Permission::Read])
    }

    fn parent() -> Contract {
        contract(
            &["list_files", "read_file", "search", "task"],
            &[Permission::Read, Permission::Delegate],
        )
    }

    fn admit(contract: &Contract, name: &str, arguments: Value) -> Result<Admitted, Refused> {
        let call = ToolCall { call: CallId::from("c1"), name: name.to_owned(), arguments };
        super::admit(&Toolbox::standard(), contract, &call)
    }

    fn refusal(contract: &Contract, name: &str, arguments: Value) -> Refused {
        match admit(contract, name, arguments) {
            Err(refused) => refused,
            Ok(_) => panic!("{name} was admitted"),
        }
    }

    #[test]
    fn a_held_tool_is_admitted_with_arguments_in_form() {
        let arguments = json!("{\"path\": \"a\", \"offset\": 2.0}");
        let Ok(Admitted::Tool { tool, arguments }) = admit(&child(), "read_file", arguments) else {
            panic!("refused");
        };
        assert_eq!(tool.spec().name, "read_file");
        assert_eq!(arguments, json!({"path": "a", "offset": 2}));
    }

    #[test]
    fn a_held_task_is_admitted_as_a_request() {
        let arguments =
            json!({"task": "find", "expected_output": "a name", "budget": {"turns": 3}});
        let Ok(Admitted::Task(request)) = admit(&parent(), "task", arguments) else {
            panic!("refused");
        };
        assert_eq!((request.task.as_str(), request.budget.unwrap().turns), ("find", Some(3.0)));
    }

    #[test]
    fn what_is_not_held_is_refused_with_the_tools_there_are_and_no_others() {
        for (name, kind) in [
            ("write_file", RefusalKind::NotHeld),
            ("fly_kite", RefusalKind::UnknownTool),
            ("READ_FILE", RefusalKind::UnknownTool),
            ("", RefusalKind::UnknownTool),
            ("task", RefusalKind::NotHeld),
        ] {
            let refused = refusal(&child(), name, json!({"path": "a", "content": "b"}));
            let text = format!(
                "`{name}` is refused: this run has only these tools: list_files, read_file, search"
            );
            assert_eq!(refused, Refused { kind, text });
        }
    }

    #[test]
    fn a_tool_whose_permission_is_missing_is_refused_though_the_contract_names_it() {
        let torn = contract(&["read_file", "task"], &[Permission::Delegate]);
        let refused = refusal(&torn, "read_file", json!({"path": "a"}));
        assert_eq!(refused.kind, RefusalKind::NotHeld);
        assert!(refused.text.ends_with("only these tools: task"), "{}", refused.text);
        let none = contract(&["bash"], &[Permission::Read]);
        let refused = refusal(&none, "bash", json!({}));
        assert_eq!(refused.text, "`bash` is refused: this run has no tools; answer in words");
    }

    #[test]
    fn a_name_of_a_tool_cannot_write_lines_or_fill_the_answer() {
        let refused = refusal(&child(), &format!("a\nb{}", "x".repeat(10_000)), json!({}));
        assert!(refused.text.starts_with("`a\\nbxxx") && refused.text.len() < 400);
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused_with_the_field() {
        for (contract, name, arguments, field) in [
            (child(), "read_file", json!({"file": "a"}), "file"),
            (child(), "search", json!({"pattern": 1}), "pattern"),
            (child(), "list_files", json!("not json"), ""),
            (parent(), "task", json!({"task": "t"}), "expected_output"),
            (parent(), "task", json!({"task": "t", "expected_output": "e", "tools": []}), "tools"),
            (
                parent(),
                "task",
                json!({"task": "t", "expected_output": "e", "budget": {"turns": "3"}}),
                "budget.turns",
            ),
        ] {
            let refused = refusal(&contract, name, arguments);
            assert_eq!(refused.kind, RefusalKind::BadArguments { field: field.to_owned() });
            assert!(refused.text.starts_with(&format!("{name} was not called: ")));
            assert!(refused.text.contains(field));
        }
    }
}
