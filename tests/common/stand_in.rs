//! Tools of the names that public cases use and that are not built: they act on the paused clock
//! and on memory, and run nothing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use offshoot::domain::role::Permission;
use offshoot::tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec};
use serde_json::{Value, json};

fn output(text: String) -> ToolOutput {
    ToolOutput::whole(text)
}

/// Understands `sleep N`, `echo X`, `cat FILE`, `seq A B`, joined by `;`.
pub struct Bash {
    spec: ToolSpec,
}

impl Bash {
    pub fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "bash",
                description: "a stand-in",
                parameters: json!({
                    "type": "object",
                    "properties": { "command": { "type": "string" } },
                    "required": ["command"],
                    "additionalProperties": false,
                }),
                permission: Permission::Execute,
                read_only: false,
            },
        }
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        Box::pin(async move {
            let command = arguments["command"].as_str().unwrap_or_default().to_owned();
            let mut text = String::new();
            for part in command.split(';') {
                let words: Vec<&str> = part.split_whitespace().collect();
                match words.as_slice() {
                    ["sleep", seconds] => {
                        let wait = Duration::from_secs_f64(seconds.parse().unwrap());
                        tokio::select! {
                            () = context.cancel.cancelled() => {
                                return ToolOutput::error("cancelled");
                            }
                            () = tokio::time::sleep(wait) => {}
                        }
                    }
                    ["echo", rest @ ..] => text.push_str(&rest.join(" ")),
                    ["cat", file] => {
                        let path = context.workspace.path().join(file);
                        text.push_str(&std::fs::read_to_string(path).unwrap());
                    }
                    ["seq", from, to] => {
                        let (from, to): (u32, u32) = (from.parse().unwrap(), to.parse().unwrap());
                        for number in from..=to {
                            text.push_str(&number.to_string());
                            text.push('\n');
                        }
                    }
                    other => return ToolOutput::error(format!("cannot run {other:?}")),
                }
            }
            output(text)
        })
    }
}

/// A tool that notes the paths it was asked to write and writes nothing.
pub struct WriteFile {
    spec: ToolSpec,
    pub written: Arc<Mutex<Vec<String>>>,
}

impl WriteFile {
    pub fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "write_file",
                description: "a stand-in",
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "path": { "type": "string" },
                        "content": { "type": "string" },
                    },
                }),
                permission: Permission::Write,
                read_only: false,
            },
            written: Arc::default(),
        }
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, arguments: Value, _context: ToolContext) -> ToolFuture {
        let path = arguments["path"].to_string();
        self.written.lock().unwrap().push(path);
        Box::pin(async { output("written".to_owned()) })
    }
}

/// A tool that panics.
pub struct Panics {
    spec: ToolSpec,
}

impl Panics {
    pub fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "panics",
                description: "a stand-in",
                parameters: json!({ "type": "object" }),
                permission: Permission::Read,
                read_only: true,
            },
        }
    }
}

impl Tool for Panics {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, _arguments: Value, _context: ToolContext) -> ToolFuture {
        Box::pin(async { panic!("on purpose") })
    }
}
