//! What a model wrote when it asked to delegate. Untrusted: this type only says that the JSON had
//! the right shape.

use serde::{Deserialize, Serialize};

use super::role::RoleTable;

/// Characters of a task's title.
const TITLE_CHARS: usize = 80;

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

impl TaskRequest {
    /// A few words that name the task on a screen: the given ones, or the first line of the task.
    pub fn title(&self) -> String {
        let given = self.description.as_deref().filter(|words| !words.trim().is_empty());
        let words = given.unwrap_or(&self.task);
        let line = words.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        if line.chars().count() <= TITLE_CHARS {
            return line.to_owned();
        }
        line.chars().take(TITLE_CHARS - 1).chain(['…']).collect()
    }

    /// The role it asks for; the default one where it names none.
    pub fn role_name(&self) -> &str {
        let named = self.role.as_deref().map(str::trim).filter(|role| !role.is_empty());
        named.unwrap_or(RoleTable::DEFAULT)
    }
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
