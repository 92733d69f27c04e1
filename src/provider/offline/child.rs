//! The child's side: one task, a few looks, one report in JSON. Everything it cites was in a result.

use serde_json::{Map, Value, json};

use crate::domain::message::Message;
use crate::provider::Request;

use super::answers::{self, place};
use super::observed::{Line, Observed};
use super::question::{Language, Question};
use super::{Call, Reply, may_call, parent, plan};

/// What the child says to `request`.
pub fn reply(request: &Request) -> Reply {
    let prompt = first_user_text(request);
    let question = Question::new(parent::question_of_task(prompt));
    let observed = Observed::new(&request.messages);
    let calls = plan::next(&question, &observed, |tool| may_call(request, tool));
    if calls.is_empty() {
        return Reply::last(report(&question, &observed, wants_steps(request)));
    }
    Reply { text: announcement(&calls, question.language), calls }
}

fn first_user_text(request: &Request) -> &str {
    let mut texts = request.messages.iter().filter_map(|message| match &**message {
        Message::User { text } => Some(text.as_str()),
        Message::Assistant(_) | Message::Results { .. } => None,
    });
    texts.next().unwrap_or("")
}

/// True if the system prompt asks for the fields that a planner's report needs.
fn wants_steps(request: &Request) -> bool {
    request.system.contains("\"steps\"")
}

fn announcement(calls: &[Call], language: Language) -> String {
    let has = |tool: &str| calls.iter().any(|call| call.tool == tool);
    let text = match (has("list_files"), has("search"), has("read_file")) {
        (true, _, _) => language.pick("I list the folder.", "先列出目录。"),
        (false, true, true) => language.pick(
            "I search for the question's words and open the likeliest file.",
            "按问题里的词搜索，并打开最可能的文件。",
        ),
        (false, true, false) => {
            language.pick("I search for the question's words.", "按问题里的词搜索。")
        }
        (false, false, _) => language.pick("I read what fits best.", "阅读最相关的文件。"),
    };
    text.to_owned()
}

fn report(question: &Question, observed: &Observed, steps: bool) -> String {
    let answer = answers::answer(question, observed);
    let mut report = Map::new();
    report.insert("summary".to_owned(), answer.summary.into());
    if steps {
        report.insert("steps".to_owned(), steps_of(&answer.evidence, question.language));
        let risk = question.language.pick(
            "No language model made this plan: it only orders the places that fit the words.",
            "这个计划不是语言模型写的：只是把匹配到的位置排了个顺序。",
        );
        report.insert("risks".to_owned(), json!([risk]));
    }
    let evidence = answer.evidence.into_iter().map(|(line, reason)| match line {
        Some(line) => json!({ "path": line.path, "line": line.number, "reason": reason }),
        None => json!({ "path": ".", "reason": reason }),
    });
    report.insert("evidence".to_owned(), evidence.collect());
    report.insert("warnings".to_owned(), warnings(observed, question.language).into());
    Value::Object(report).to_string()
}

fn steps_of(evidence: &[(Option<Line>, String)], language: Language) -> Value {
    let steps: Vec<Value> = evidence
        .iter()
        .filter_map(|(line, _)| line.as_ref())
        .map(|line| match language {
            Language::English => {
                format!("Read {} and decide what has to change there.", place(line))
            }
            Language::Chinese => format!("阅读 {}，决定那里要改什么。", place(line)),
        })
        .map(Value::String)
        .collect();
    if steps.is_empty() {
        let step = language.pick(
            "Find out where the work belongs: nothing in the folder fits the words.",
            "先弄清楚工作应落在哪里：目录里没有匹配的内容。",
        );
        return json!([step]);
    }
    Value::Array(steps)
}

fn warnings(observed: &Observed, language: Language) -> Vec<Value> {
    let mut warnings = vec![
        language
            .pick(
                "no language model: lines were chosen by their words, nothing was understood",
                "没有语言模型：只按词匹配选出这些行，并没有理解内容",
            )
            .to_owned(),
    ];
    warnings.extend(observed.troubles.iter().take(3).cloned());
    warnings.into_iter().map(Value::String).collect()
}
