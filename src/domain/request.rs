//! What a model wrote when it asked to delegate. Untrusted: this type only says that the JSON had
//! the right shape.

use serde::{Deserialize, Serialize};

/// The arguments of a `task` call. Unknown fields are an error, so that a typo never silently
/// widens anything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskRequest {
    /// What is to be done.
    pub task: String,
    /// What is to come back.
    pub expected_output: String,
    /// A few words for the screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The role; `researcher` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Which snippets the child gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_keys: Option<Vec<String>>,
    /// A subset of the role's permissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Vec<String>>,
    /// Scopes inside the parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_paths: Option<Vec<String>>,
    /// A subset of the role's tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Limits, each strictly below the parent's remaining.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetRequest>,
    /// When the child is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_when: Option<String>,
    /// What the child must not do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_not: Option<String>,
    /// A model of the role's list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The limits a task asks for. Numbers as the model wrote them: any of them may be negative,
/// fractional or absurd until the contract has looked at them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetRequest {
    /// Turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<f64>,
    /// Prompt tokens, summed over requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<f64>,
    /// Generated tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<f64>,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<f64>,
    /// Running time in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}
