//! The parent's side: it hands the question to a child and answers from what comes back, whatever
//! that is.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::domain::message::{Message, ToolResult};
use crate::provider::Request;

use super::question::Language;
use super::{Call, Reply, may_call};

/// Characters of a question that go into a task; a longer one reaches the child as its context.
const MAX_TASK_CHARS: usize = 2_000;
/// Characters of a description for the screen.
const DESCRIPTION_CHARS: usize = 40;
/// Places that an answer lists at most.
const MAX_PLACES: usize = 8;

/// What the first answer of a conversation ends with, in English and Chinese.
const HOW_TO_GET_A_MODEL: [&str; 2] = [
    "\n\n(offline: no language model is attached, so this was found by matching words. To add one, \
     set ANTHROPIC_API_KEY or OPENAI_API_KEY, or run Ollama, and start again.)",
    "\n\n（离线：没有接入语言模型，以上只是按词匹配找到的。要接入模型，请设置 ANTHROPIC_API_KEY \
     或 OPENAI_API_KEY，或运行 Ollama，然后重新启动。）",
];
/// What the later ones end with.
const FOUND_BY_WORDS: [&str; 2] =
    ["\n\n(offline: found by matching words)", "\n\n（离线：按词匹配找到）"];

const MARK: [&str; 2] = ["Question: ", "问题："];
const HOW: [&str; 2] = ["How to look: ", "查找方式："];

/// What the parent says to `request`.
pub fn reply(request: &Request) -> Reply {
    let pending = Pending::new(&request.messages);
    let asked = asked(pending.question);
    let language = Language::of(asked.text);
    if may_call(request, "task") && pending.results.is_empty() {
        let mut delegation = delegation(&asked, language);
        delegation.text.insert_str(0, &pending.told_before(language));
        return delegation;
    }
    let mut answer = String::new();
    for result in &pending.results {
        tell(&mut answer, result, language);
    }
    if answer.is_empty() {
        let text = language.pick(
            "I could not look anything up: no tool for it can be called now.",
            "现在没有可以调用的工具，所以没能去查。",
        );
        answer.push_str(text);
    }
    answer.push_str(how_it_was_found(&request.messages, language));
    Reply::last(answer)
}

/// The question in the task that a parent wrote, or all of the text if another wrote it.
pub fn question_of_task(prompt: &str) -> &str {
    let start = |mark: &&str| prompt.find(*mark).map(|at| at + mark.len());
    let Some(start) = MARK.iter().filter_map(start).min() else { return prompt };
    let rest = &prompt[start..];
    let end = HOW.iter().filter_map(|how| rest.find(*how)).min();
    rest[..end.unwrap_or(rest.len())].trim()
}

/// What the parent still has to answer.
#[derive(Default)]
struct Pending<'a> {
    /// The newest words of a person.
    question: &'a str,
    /// What came back for them.
    results: Vec<&'a ToolResult>,
    /// What came back for words that the newest ones followed before there was an answer.
    before: Vec<&'a ToolResult>,
}

impl<'a> Pending<'a> {
    fn new(messages: &'a [Arc<Message>]) -> Self {
        let mut pending = Self::default();
        for message in messages {
            match &**message {
                Message::User { text } if is_of_the_runtime(text) => {}
                Message::User { text } => {
                    pending.question = text;
                    pending.before = std::mem::take(&mut pending.results);
                }
                Message::Results { results } => pending.results.extend(results),
                Message::Assistant(answer) => {
                    pending.before.clear();
                    if answer.tool_calls().next().is_none() {
                        pending.results.clear();
                    }
                }
            }
        }
        pending
    }

    /// The answer to the words before, if it came while a person went on typing. What was stopped
    /// or failed is no answer.
    fn told_before(&self, language: Language) -> String {
        let mut told = String::new();
        for result in self.before.iter().filter(|result| result.ok) {
            tell(&mut told, result, language);
        }
        if !told.is_empty() {
            told.push_str("\n\n");
        }
        told
    }
}

/// True for messages in a person's place that the runtime wrote: they ask nothing.
fn is_of_the_runtime(text: &str) -> bool {
    let starts = ["[runtime]", "[context keys", "The user ran a command in the workspace."];
    starts.iter().any(|start| text.starts_with(start))
}

/// What a person typed, with the role that they chose.
struct Asked<'a> {
    text: &'a str,
    role: Option<&'a str>,
}

fn asked(message: &str) -> Asked<'_> {
    let text = without_notes(message).trim();
    if let Some(rest) = text.strip_prefix("Delegate this to the role ")
        && let Some((role, rest)) = rest.split_once(" with `task`: ")
    {
        return Asked { text: rest.trim(), role: Some(role) };
    }
    if let Some(rest) = text.strip_prefix("Delegate this with `task`: ") {
        return Asked { text: rest.trim(), role: None };
    }
    let Some(rest) = text.strip_prefix("/delegate") else { return Asked { text, role: None } };
    let rest = rest.trim_start();
    let (first, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let role = ["researcher", "planner", "tester", "reviewer", "worker"].contains(&first);
    if role && !after.trim().is_empty() {
        Asked { text: after.trim(), role: Some(first) }
    } else {
        Asked { text: rest, role: None }
    }
}

/// The message up to what the runtime adds below it, such as the list of context keys.
fn without_notes(message: &str) -> &str {
    let mut end = 0;
    for line in message.split_inclusive('\n') {
        let lower = line.trim_start().to_ascii_lowercase();
        let note = ["[context", "<context", "context keys", "[runtime", "<runtime"];
        if end > 0 && note.iter().any(|start| lower.starts_with(start)) {
            return &message[..end];
        }
        end += line.len();
    }
    message
}

fn delegation(asked: &Asked<'_>, language: Language) -> Reply {
    let question: String = asked.text.chars().take(MAX_TASK_CHARS).collect();
    let how = language.pick(
        "list the folder, search for the words of the question, read the files that fit best; \
         cite files and lines.",
        "先列目录，再按问题里的词搜索，阅读最相关的文件；引用文件和行号。",
    );
    let mark = language.pick(MARK[0], MARK[1]);
    let task = format!("{mark}{question}\n{}{how}", language.pick(HOW[0], HOW[1]));
    let expected = language.pick(
        "A short answer with the files and lines that show it.",
        "简短的答案，以及能证明它的文件和行号。",
    );
    let mut arguments = Map::new();
    arguments.insert("task".to_owned(), task.into());
    arguments.insert("expected_output".to_owned(), expected.into());
    arguments.insert("description".to_owned(), description(&question).into());
    if let Some(role) = asked.role {
        arguments.insert("role".to_owned(), role.into());
    }
    arguments.insert("context_keys".to_owned(), json!(["request"]));
    let text = language.pick("I'll delegate the search.", "我把查找交给一个子代理。");
    let call = Call { tool: "task", arguments: Value::Object(arguments) };
    Reply { text: text.to_owned(), calls: vec![call] }
}

fn description(question: &str) -> String {
    let line = question.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(DESCRIPTION_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Adds what a result says to the answer.
fn tell(answer: &mut String, result: &ToolResult, language: Language) {
    if !answer.is_empty() {
        answer.push_str("\n\n");
    }
    let Some(report) = report_in(&result.output) else {
        let words: String = result.output.chars().take(400).collect();
        let _ = match language {
            Language::English => write!(answer, "The call of {} came to: {words}", result.name),
            Language::Chinese => write!(answer, "调用 {} 的结果：{words}", result.name),
        };
        return;
    };
    let status = text_at(&report, "status").unwrap_or("unknown");
    if status != "completed" {
        answer.push_str(&ending(&report, status, language));
    }
    answer.push_str(text_at(&report, "summary").unwrap_or_default().trim());
    for violation in items(&report, "violations") {
        let _ = write!(answer, "\n- {}", text_at(violation, "message").unwrap_or_default());
    }
    for (field, heading) in
        [("steps", language.pick("Steps:", "步骤：")), ("risks", language.pick("Risks:", "风险："))]
    {
        let mut texts = items(&report, field).filter_map(Value::as_str).peekable();
        if texts.peek().is_some() {
            let _ = write!(answer, "\n\n{heading}");
        }
        for text in texts {
            let _ = write!(answer, "\n- {text}");
        }
    }
    let mut places = items(&report, "evidence").filter_map(|item| place(item, language)).peekable();
    if places.peek().is_some() {
        answer.push_str(language.pick("\n\nEvidence:", "\n\n依据："));
    }
    for place in places.take(MAX_PLACES) {
        let _ = write!(answer, "\n- {place}");
    }
}

/// How an unfinished child ended, as the beginning of an answer.
fn ending(report: &Value, status: &str, language: Language) -> String {
    let by = text_at(report, "by");
    let dimension = text_at(report, "dimension");
    let code = text_at(report, "code");
    let (english, chinese) = match (status, by) {
        ("cancelled", Some("user")) => ("was cancelled by you".to_owned(), "被你取消了".to_owned()),
        ("cancelled", by) => {
            let by = by.unwrap_or("the runtime");
            (format!("was cancelled by {by}"), format!("被取消了（{by}）"))
        }
        ("budget_exhausted", _) => {
            let what = dimension.unwrap_or("its budget");
            (format!("ran out of {what}"), format!("用完了预算（{what}）"))
        }
        ("blocked", _) => {
            let code = code.unwrap_or("refused");
            (format!("was not started ({code})"), format!("没有启动（{code}）"))
        }
        (other, _) => {
            let code = code.unwrap_or(other);
            (format!("ended {other} ({code})"), format!("以 {other} 结束（{code}）"))
        }
    };
    match language {
        Language::English => format!(
            "The child {english}, so this is unconfirmed and may be incomplete. What there is:\n"
        ),
        Language::Chinese => format!("子代理{chinese}，所以下面的内容未经确认，可能不完整：\n"),
    }
}

/// The first JSON object in a text, which may be fenced as data.
fn report_in(text: &str) -> Option<Value> {
    let objects = text.match_indices('{').take(16).filter_map(|(at, _)| {
        serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next()?.ok()
    });
    objects.into_iter().find(|value| value.get("status").is_some())
}

fn place(evidence: &Value, language: Language) -> Option<String> {
    let path = text_at(evidence, "path")?;
    let mut place = path.to_owned();
    if let Some(line) = evidence.get("line").and_then(Value::as_u64) {
        let _ = write!(place, ":{line}");
    }
    if let Some(reason) = text_at(evidence, "reason").filter(|reason| !reason.is_empty()) {
        let _ = write!(place, " — {reason}");
    }
    if evidence.get("verified").and_then(Value::as_bool) == Some(false) {
        place.push_str(language.pick(" (not verified)", "（未核实）"));
    }
    Some(place)
}

fn items<'a>(report: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    report.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// What an answer ends with: how it was found, and once in a conversation how to get a model.
fn how_it_was_found(messages: &[Arc<Message>], language: Language) -> &'static str {
    let is_told = messages.iter().any(|message| match &**message {
        Message::Assistant(answer) => {
            let text = answer.text();
            HOW_TO_GET_A_MODEL.iter().any(|words| text.contains(words.trim_start()))
        }
        Message::User { .. } | Message::Results { .. } => false,
    });
    let [english, chinese] = if is_told { FOUND_BY_WORDS } else { HOW_TO_GET_A_MODEL };
    language.pick(english, chinese)
}
