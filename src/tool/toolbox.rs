//! The tools that a host has, by name. Which of them a run may use is the guard's question.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::domain::role::Permission;
use crate::provider::ToolSchema;

use super::list_files::ListFiles;
use super::read_file::ReadFile;
use super::search::Search;
use super::{Tool, task};

/// A set of tools; cheap to clone.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Arc<BTreeMap<String, Arc<dyn Tool>>>,
}

impl Toolbox {
    /// The built-in tools: `list_files`, `read_file`, `search`.
    pub fn standard() -> Self {
        Self::default()
            .with(Arc::new(ListFiles::new()))
            .with(Arc::new(ReadFile::new()))
            .with(Arc::new(Search::new()))
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
