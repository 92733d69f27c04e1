//! The child's side: one task, a few looks, one report in JSON. Everything it cites was in a result.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::domain::message::Message;
use crate::provider::Request;

use super::findings::{self, Finding};
use super::frameworks::{self, Found};
use super::observed::{Line, Observed};
use super::question::{Language, Question};
use super::{Call, Reply, may_call, parent, plan};

/// Places that a report cites at most.
const MAX_EVIDENCE: usize = 6;
/// Characters of a line that are quoted.
const QUOTE_CHARS: usize = 140;

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
    let answer = if question.is_about_test_frameworks() {
        about_frameworks(question, observed)
    } else {
        about_words(question, observed)
    };
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

/// What the child has to say, with the lines that it is based on; no line stands for the listing.
struct Answer {
    summary: String,
    evidence: Vec<(Option<Line>, String)>,
}

fn about_frameworks(question: &Question, observed: &Observed) -> Answer {
    let found = frameworks::found(observed);
    let Some((main, others)) = found.split_first() else {
        return about_words(question, observed);
    };
    let language = question.language;
    let (at, says) = (place(&main.line), quote(&main.line.text));
    let (name, of) = (main.framework.name, main.framework.language);
    let mut summary = match language {
        Language::English => format!("{of} tests use {name}: {at} says `{says}`."),
        Language::Chinese => format!("{of} 测试使用 {name}：{at} 写着 `{says}`。"),
    };
    let others = &others[..others.len().min(MAX_EVIDENCE - 1)];
    if !others.is_empty() {
        let named = |found: &Found| format!("{} ({})", found.framework.name, place(&found.line));
        let list: Vec<String> = others.iter().map(named).collect();
        let list = list.join(language.pick(", ", "、"));
        let _ = match language {
            Language::English => write!(summary, " Also seen: {list}."),
            Language::Chinese => write!(summary, "另外还看到：{list}。"),
        };
    }
    let evidence = [main].into_iter().chain(others).map(|found| {
        let reason = format!("{}: `{}`", found.framework.name, quote(&found.line.text));
        (Some(found.line.clone()), reason)
    });
    Answer { summary, evidence: evidence.collect() }
}

fn about_words(question: &Question, observed: &Observed) -> Answer {
    let findings = findings::best(question, observed, MAX_EVIDENCE);
    if findings.is_empty() {
        return nothing_found(question, observed);
    }
    let language = question.language;
    let words = question.keywords.join(", ");
    let mut summary = match language {
        Language::English => {
            format!("The places that fit the words of the question best ({words}):")
        }
        Language::Chinese => format!("与问题中的词（{words}）最相符的位置："),
    };
    for finding in &findings {
        let _ = write!(summary, "\n- {}: `{}`", place(&finding.line), quote(&finding.line.text));
    }
    let evidence = findings.into_iter().map(|finding| {
        let reason = reason(&finding, language);
        (Some(finding.line), reason)
    });
    Answer { summary, evidence: evidence.collect() }
}

fn nothing_found(question: &Question, observed: &Observed) -> Answer {
    let language = question.language;
    let listing = observed
        .listed
        .then(|| (None, language.pick("the listing of the folder", "目录列表").to_owned()));
    if observed.listed && observed.is_empty() {
        let summary = language.pick(
            "The folder holds no files that can be read here, so nothing answers the question.",
            "这个目录里没有可读的文件，所以找不到答案。",
        );
        return Answer { summary: summary.to_owned(), evidence: listing.into_iter().collect() };
    }
    let first = observed.lines.iter().find(|line| !line.text.trim().is_empty());
    let shown: Vec<&str> = observed.files().take(8).collect();
    let shown = shown.join(", ");
    let mut summary = match language {
        Language::English => "No line that was shown holds the words of the question.".to_owned(),
        Language::Chinese => "看到的内容里没有一行包含问题中的词。".to_owned(),
    };
    if !shown.is_empty() {
        let _ = match language {
            Language::English => write!(summary, " The folder holds, among others: {shown}."),
            Language::Chinese => write!(summary, "目录里有：{shown}。"),
        };
    }
    let first = first.map(|line| (Some(line.clone()), format!("`{}`", quote(&line.text))));
    Answer { summary, evidence: first.into_iter().chain(listing).collect() }
}

fn reason(finding: &Finding, language: Language) -> String {
    let quote = quote(&finding.line.text);
    match (finding.words.is_empty(), language) {
        (true, _) => format!("`{quote}`"),
        (false, Language::English) => format!("has {}: `{quote}`", finding.words.join(", ")),
        (false, Language::Chinese) => format!("含有 {}：`{quote}`", finding.words.join("、")),
    }
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

fn place(line: &Line) -> String {
    format!("{}:{}", line.path, line.number)
}

fn quote(text: &str) -> String {
    let text = text.trim().replace('`', "'");
    match text.char_indices().nth(QUOTE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
