#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::StreamExt;
use grep_regex::RegexMatcher;
use grep_searcher::Searcher;
use grep_searcher::sinks::UTF8;
use serde_json::json;

use super::*;
use crate::domain::ids::{RunId, TaskId};
use crate::domain::message::{AssistantMessage, Block, Message, ToolResult, ToolSchema};
use crate::provider::ProviderError;

mod children;
mod parents;
mod samples;

/// A folder that exists only here, with the three tools over it and a record of what they showed.
struct Project {
    files: Vec<(&'static str, &'static str)>,
    shown: BTreeSet<(String, u64)>,
}

impl Project {
    fn new(files: &[(&'static str, &'static str)]) -> Self {
        Self { files: files.to_vec(), shown: BTreeSet::new() }
    }

    fn run(&mut self, call: &ToolCall) -> ToolResult {
        let text = |key: &str| call.arguments.get(key).and_then(Value::as_str).unwrap_or("");
        let number = |key: &str| call.arguments.get(key).and_then(Value::as_u64);
        let output = match call.name.as_str() {
            "list_files" => Ok(self.list(usize::try_from(number("depth").unwrap_or(1)).unwrap())),
            "search" => Ok(self.search(text("pattern"))),
            "read_file" => self.read(
                text("path"),
                number("offset").unwrap_or(1),
                number("limit").unwrap_or(500),
            ),
            other => Err(format!("unknown tool {other}")),
        };
        let (name, call) = (call.name.clone(), call.call.clone());
        match output {
            Ok(output) => ToolResult { call, name, ok: true, output },
            Err(output) => ToolResult { call, name, ok: false, output },
        }
    }

    fn list(&self, depth: usize) -> String {
        let mut entries = BTreeSet::new();
        for (path, text) in &self.files {
            let parts: Vec<&str> = path.split('/').collect();
            for end in 1..parts.len().min(depth + 1) {
                entries.insert(format!("{}/", parts[..end].join("/")));
            }
            if parts.len() <= depth {
                entries.insert(format!("{path}\t{} B", text.len()));
            }
        }
        entries.into_iter().collect::<Vec<_>>().join("\n")
    }

    fn search(&mut self, pattern: &str) -> String {
        let matcher = RegexMatcher::new_line_matcher(pattern).unwrap();
        let mut hits = Vec::new();
        for (path, text) in &self.files {
            let sink = UTF8(|number, line| {
                self.shown.insert(((*path).to_owned(), number));
                hits.push(format!("{path}:{number}:{}", line.trim_end()));
                Ok(true)
            });
            Searcher::new().search_slice(&matcher, text.as_bytes(), sink).unwrap();
        }
        hits.push(format!("{} matches", hits.len()));
        hits.join("\n")
    }

    fn read(&mut self, path: &str, offset: u64, limit: u64) -> Result<String, String> {
        let file = self.files.iter().find(|(name, _)| *name == path);
        let (_, text) = file.ok_or_else(|| format!("there is no file {path}"))?;
        let lines =
            (1..).zip(text.lines()).filter(|(number, _)| (offset..offset + limit).contains(number));
        let shown = &mut self.shown;
        let lines = lines.map(|(number, line)| {
            shown.insert((path.to_owned(), number));
            format!("{number}\t{line}")
        });
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }
}

fn request(depth: u32, tools: &[&str], messages: &[Message]) -> Request {
    let run = if depth == 0 { RunId::parent(1) } else { RunId::child(TaskId(1), 1) };
    let schema = |name: &&str| ToolSchema {
        name: (*name).to_owned(),
        description: String::new(),
        parameters: json!({}),
    };
    Request {
        run,
        depth,
        system: "".into(),
        tools: tools.iter().map(schema).collect(),
        tool_choice: ToolChoice::Auto,
        messages: messages.iter().cloned().map(Arc::new).collect(),
        max_tokens: 8_192,
        temperature: None,
    }
}

async fn ask(request: Request) -> AssistantMessage {
    ask_paced(request, Duration::ZERO).await
}

async fn ask_paced(request: Request, pace: Duration) -> AssistantMessage {
    let chunks: Vec<Result<Chunk, ProviderError>> =
        Offline::new(pace).stream(request).collect().await;
    let mut text = String::new();
    let mut calls = Vec::new();
    let mut stop_reason = None;
    for chunk in chunks {
        match chunk.unwrap() {
            Chunk::Text(piece) => text.push_str(&piece),
            Chunk::ToolCall(call) => calls.push(Block::ToolCall(call)),
            Chunk::Usage(usage) => assert!(usage.estimated && usage.output_tokens > 0),
            Chunk::Stop(stop) => stop_reason = Some(stop),
            Chunk::Reasoning(_)
            | Chunk::Signature(_)
            | Chunk::Redacted(_)
            | Chunk::Opaque(_)
            | Chunk::Alive => {}
        }
    }
    let blocks = [Block::Text { text }].into_iter().chain(calls).collect();
    let (provider, model) = ("offline".to_owned(), String::new());
    AssistantMessage { blocks, provider, model, stop_reason, interrupted: false }
}

const RUST: &[(&str, &str)] = &[
    ("Cargo.lock", "name = \"proptest\"\nname = \"test\"\n"),
    ("Cargo.toml", "[package]\nname = \"demo\"\n\n[dev-dependencies]\nproptest = \"1\"\n"),
    ("README.md", "# demo\n\nRun the tests with cargo test.\n"),
    (
        "src/lib.rs",
        "pub fn add() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n",
    ),
];

const TOOLS: [&str; 3] = ["list_files", "read_file", "search"];

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

/// The task text that the parent writes for a question.
async fn task_for(question: &str) -> Value {
    let answer = ask(request(0, &["task"], &[user(question)])).await;
    let call = answer.tool_calls().next().unwrap().clone();
    assert_eq!(call.name, "task");
    call.arguments
}

/// Everything that a child did: its calls by turn, and its report.
struct Work {
    turns: Vec<Vec<ToolCall>>,
    report: Value,
}

impl Work {
    fn calls(&self) -> usize {
        self.turns.iter().map(Vec::len).sum()
    }

    fn summary(&self) -> &str {
        self.report["summary"].as_str().unwrap()
    }
}

async fn work(project: &mut Project, question: &str, tools: &[&str]) -> Work {
    let task = task_for(question).await;
    let prompt = format!(
        "Your task:\n{}\n\nExpected output:\n{}\n\n<data key=\"request\">\n{question}\n</data>",
        task["task"].as_str().unwrap(),
        task["expected_output"].as_str().unwrap()
    );
    work_on(project, prompt, tools).await
}

async fn work_on(project: &mut Project, prompt: String, tools: &[&str]) -> Work {
    let mut messages = vec![Message::User { text: prompt }];
    let mut turns = Vec::new();
    loop {
        let answer = ask(request(1, tools, &messages)).await;
        let calls: Vec<ToolCall> = answer.tool_calls().cloned().collect();
        if calls.is_empty() {
            assert_eq!(answer.stop_reason, Some(StopReason::EndTurn));
            let report = serde_json::from_str(&answer.text()).unwrap();
            return Work { turns, report };
        }
        assert!(turns.len() < 10, "it never ends");
        let results = calls.iter().map(|call| project.run(call)).collect();
        turns.push(calls);
        messages.extend([Message::Assistant(answer), Message::Results { results }]);
    }
}

/// Every cited line was shown in a result.
fn assert_evidence_was_shown(project: &Project, report: &Value) {
    for evidence in report["evidence"].as_array().unwrap() {
        let path = evidence["path"].as_str().unwrap().to_owned();
        if let Some(line) = evidence["line"].as_u64() {
            assert!(project.shown.contains(&(path, line)), "{evidence}");
        } else {
            assert_eq!(path, ".");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pace_is_waited_once_a_call_and_not_at_all_when_it_is_zero() {
    let started = tokio::time::Instant::now();
    work(&mut Project::new(RUST), "Which test framework?", &TOOLS).await;
    assert!(started.elapsed().is_zero());
    let pace = Duration::from_millis(400);
    let messages = [user("Question: x")];
    ask_paced(request(1, &TOOLS, &messages), pace).await;
    assert!(started.elapsed() >= pace && started.elapsed() < 2 * pace);
}
