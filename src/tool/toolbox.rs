//! The tools that a host has, by name. Which of them a run may use is the guard's question.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::domain::message::ToolSchema;
use crate::domain::role::Permission;

use super::bash::Bash;
use super::edit_file::EditFile;
use super::git_diff::GitDiff;
use super::list_files::ListFiles;
use super::note::Note;
use super::read_file::ReadFile;
use super::run_tests::RunTests;
use super::search::Search;
use super::todo::Todo;
use super::write_file::WriteFile;
use super::{Tool, task};

/// A set of tools; cheap to clone.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Arc<BTreeMap<String, Arc<dyn Tool>>>,
}

impl Toolbox {
    /// The built-in tools. The command that runs the tests is told from the project's files; a host
    /// that has one configured puts its own `run_tests` in its place.
    pub fn standard() -> Self {
        Self::default()
            .with(Arc::new(ListFiles::new()))
            .with(Arc::new(ReadFile::new()))
            .with(Arc::new(Search::new()))
            .with(Arc::new(WriteFile::new()))
            .with(Arc::new(EditFile::new()))
            .with(Arc::new(GitDiff::new()))
            .with(Arc::new(Bash::new()))
            .with(Arc::new(RunTests::new(None)))
            .with(Arc::new(Note::new()))
            .with(Arc::new(Todo::new()))
    }

    /// With one tool more; a tool of the same name is replaced.
    #[must_use]
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Self {
        let name = tool.spec().name.to_owned();
        Arc::make_mut(&mut self.tools).insert(name, tool);
        self
    }

    /// The tool of this name. `task` is none: the agent answers it.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// What a run needs to hold to call a tool of this name, `task` included; `None` if there is no
    /// such tool.
    pub fn permission(&self, name: &str) -> Option<Permission> {
        if name == task::NAME {
            return Some(Permission::Delegate);
        }
        self.get(name).map(|tool| tool.spec().permission)
    }

    /// What each tool needs, `task` included.
    pub fn permissions(&self) -> BTreeMap<String, Permission> {
        let tools = self.tools.iter().map(|(name, tool)| (name.clone(), tool.spec().permission));
        tools.chain([(task::NAME.to_owned(), Permission::Delegate)]).collect()
    }

    /// The tools of these names as a model sees them, in the order of the names; a name without a
    /// tool is passed over.
    pub fn schemas(&self, names: &[String]) -> Vec<ToolSchema> {
        names.iter().filter_map(|name| self.schema(name)).collect()
    }

    fn schema(&self, name: &str) -> Option<ToolSchema> {
        if name == task::NAME {
            return Some(task::schema());
        }
        self.get(name).map(|tool| {
            let spec = tool.spec();
            ToolSchema {
                name: spec.name.to_owned(),
                description: spec.description.to_owned(),
                parameters: spec.parameters.clone(),
            }
        })
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::{Value, json};

    use super::*;
    use crate::domain::rules::named_tools;
    use crate::tool::{ToolContext, ToolFuture, ToolOutput, ToolSpec};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn size(schema: &ToolSchema) -> usize {
        schema.name.len() + schema.description.len() + schema.parameters.to_string().len()
    }

    #[test]
    fn schemas_come_in_the_order_of_the_names() {
        let schemas =
            Toolbox::standard().schemas(&names(&["task", "search", "no_such", "list_files"]));
        let order: Vec<_> = schemas.iter().map(|schema| schema.name.as_str()).collect();
        assert_eq!(order, ["task", "search", "list_files"]);
    }

    #[test]
    fn schemas_are_small_closed_and_the_same_every_time() {
        let all: Vec<String> = Toolbox::standard().permissions().into_keys().collect();
        let schemas = Toolbox::standard().schemas(&all);
        for schema in &schemas {
            assert_eq!(schema.parameters["additionalProperties"], json!(false));
            assert!(!schema.description.is_empty());
            let most = match schema.name.as_str() {
                task::NAME => 2_600,
                "edit_file" => 1_000,
                _ => 700,
            };
            assert!(size(schema) <= most, "{} has {} characters", schema.name, size(schema));
        }
        let text = |schemas: &[ToolSchema]| {
            schemas.iter().map(|schema| schema.parameters.to_string()).collect::<String>()
        };
        assert_eq!(text(&schemas), text(&Toolbox::standard().schemas(&all)));
    }

    #[test]
    fn permissions_name_every_tool_and_task() {
        let right = [
            ("bash", Permission::Execute),
            ("edit_file", Permission::Write),
            ("git_diff", Permission::Read),
            ("list_files", Permission::Read),
            ("note", Permission::Read),
            ("read_file", Permission::Read),
            ("run_tests", Permission::Test),
            ("search", Permission::Read),
            ("task", Permission::Delegate),
            ("todo", Permission::Read),
            ("write_file", Permission::Write),
        ];
        let right = right.map(|(name, permission)| (name.to_owned(), permission));
        assert_eq!(Toolbox::standard().permissions(), BTreeMap::from(right));
        assert_eq!(Toolbox::standard().permission("no_such"), None);
    }

    #[test]
    fn rules_can_name_every_tool_but_task_and_none_that_is_not_there() {
        let toolbox = Toolbox::standard();
        let mut named: Vec<&str> = named_tools().collect();
        named.push(task::NAME);
        named.sort_unstable();
        assert_eq!(named, toolbox.permissions().keys().collect::<Vec<_>>());
    }

    struct Stand {
        spec: ToolSpec,
    }

    impl Tool for Stand {
        fn spec(&self) -> &ToolSpec {
            &self.spec
        }

        fn run(&self, _: Value, _: ToolContext) -> ToolFuture {
            Box::pin(async { ToolOutput::error("stands only") })
        }
    }

    #[test]
    fn a_tool_of_a_host_joins_and_replaces_one_of_the_same_name() {
        let stand = |name| {
            let (description, parameters) = ("", json!({}));
            let (permission, read_only) = (Permission::Write, false);
            Arc::new(Stand {
                spec: ToolSpec { name, description, parameters, permission, read_only },
            })
        };
        let before = Toolbox::standard();
        let after = before.clone().with(stand("another")).with(stand("search"));
        assert_eq!(after.permission("another"), Some(Permission::Write));
        assert_eq!(after.permission("search"), Some(Permission::Write));
        assert_eq!(after.permissions().len(), before.permissions().len() + 1);
        assert!(before.get("another").is_none());
    }
}
