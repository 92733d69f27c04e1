//! What a model is told before it begins: the system prompts, and the single first message of a
//! child. A child's briefing is made from its contract alone.

use std::fmt::Write as _;

use crate::domain::contract::Contract;
use crate::domain::message::ToolSchema;
use crate::domain::role::{Role, RoleTable};
use crate::domain::usage::estimate_tokens;
use crate::tool::toolbox::Toolbox;

const PARENT: &str = include_str!("../../assets/prompts/parent.md");
const CHILD: &str = include_str!("../../assets/prompts/child.md");

/// The system prompt of the run that answers the user.
pub fn parent_prompt(roles: &RoleTable) -> String {
    let mut list = String::new();
    for role in roles.iter() {
        let _ = writeln!(list, "- {}: {}", role.name, role.description);
    }
    PARENT.trim().replace("{roles}", list.trim_end())
}

/// The system prompt of a child: the same for every task of a role.
pub fn child_prompt(role: Option<&Role>) -> String {
    let own = role.map_or("", |role| role.prompt.as_str());
    let mut fields = String::new();
    for field in role.iter().flat_map(|role| &role.report_fields) {
        let _ = write!(fields, ", \"{}\": [\"{}\"]", field.name, field.holds);
    }
    CHILD.trim().replace("{role}", own).replace("{fields}", &fields)
}

/// The one message that a child begins with: its task and the snippets that were chosen for it.
///
/// A snippet's fence carries half of its hash, so that no text can close its own fence.
pub fn first_message(contract: &Contract) -> String {
    let mut text =
        format!("Task: {}\n\nExpected output: {}", contract.prompt(), contract.expected_output());
    if let Some(done_when) = contract.done_when() {
        let _ = write!(text, "\n\nDone when: {done_when}");
    }
    if let Some(must_not) = contract.must_not() {
        let _ = write!(text, "\n\nYou must not: {must_not}");
    }
    let paths: Vec<String> = contract.paths().iter().map(ToString::to_string).collect();
    if paths.iter().any(|path| path != ".") {
        let _ = write!(text, "\n\nYou may look only at: {}", paths.join(", "));
    }
    for snippet in contract.context() {
        let card = &snippet.card;
        let fence = card.sha256.fence();
        let _ = write!(
            text,
            "\n\n<context-{fence} key=\"{}\" source=\"{}\" sha256=\"{}\">\n{}\n</context-{fence}>",
            card.key, card.source, card.sha256, snippet.text
        );
    }
    text
}

/// Tokens of the system prompt and tool schemas that any child starts with at most, by estimate.
pub fn child_overhead_tokens(toolbox: &Toolbox) -> u64 {
    let names: Vec<String> = toolbox.permissions().into_keys().collect();
    let schemas = toolbox.schemas(&names);
    let tools: u64 = schemas
        .iter()
        .filter(|schema| schema.name != crate::tool::task::NAME)
        .map(ToolSchema::estimated_tokens)
        .sum();
    estimate_tokens(CHILD) + tools
}
