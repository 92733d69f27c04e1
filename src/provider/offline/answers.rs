//! What the child has to say: sentences from the shown lines, each with the lines that it rests on.
//! Where nothing fits, it says so and what was looked at, and cites nothing but the listing.

use std::fmt::Write;

use super::builds;
use super::declared::{self, Section};
use super::findings::{self, holds};
use super::frameworks::{self, Found};
use super::observed::{Line, Observed};
use super::question::{Language, Question};
use super::topics::{Kind, Topic};

/// Places that a report cites at most.
const MAX_EVIDENCE: usize = 6;
/// Characters of a line that are quoted.
const QUOTE_CHARS: usize = 140;
/// Dependencies of one section that are named.
const MAX_NAMES: usize = 12;
/// Files and folders that are named where nothing was found.
const MAX_NAMED: usize = 8;

/// What the child has to say, with the lines that it is based on; no line stands for the listing.
pub struct Answer {
    /// In a few sentences.
    pub summary: String,
    /// Where it stands, each with a reason.
    pub evidence: Vec<(Option<Line>, String)>,
}

/// The answer to `question`, as far as words go.
pub fn answer(question: &Question, observed: &Observed) -> Answer {
    if question.is_about_test_frameworks() {
        about_frameworks(question, observed)
    } else if question.is_of_topics {
        about_topics(question, observed)
    } else {
        about_words(question, observed)
    }
}

/// `src/main.rs:3`.
pub fn place(line: &Line) -> String {
    format!("{}:{}", line.path, line.number)
}

fn about_frameworks(question: &Question, observed: &Observed) -> Answer {
    let found = frameworks::found(observed);
    let language = question.language;
    let Some((main, others)) = found.split_first() else {
        let Answer { summary, evidence } = about_words(question, observed);
        let nothing = language
            .pick("No mark of a known test framework was found.", "没有找到已知测试框架的痕迹。");
        return Answer { summary: format!("{nothing} {summary}"), evidence };
    };
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

/// One paragraph for each matter that was asked about.
fn about_topics(question: &Question, observed: &Observed) -> Answer {
    let answers = question.topics.iter().map(|topic| {
        let part = question.about(topic);
        let found = match topic.kind {
            Kind::About => about_lines(topic, question.language, findings::about_project(observed)),
            Kind::Build => about_builds(question.language, observed),
            Kind::Dependencies => about_dependencies(question.language, observed),
            Kind::Tests
            | Kind::Configuration
            | Kind::Entry
            | Kind::License
            | Kind::Ci
            | Kind::Version
            | Kind::Style
            | Kind::Installation => None,
        };
        found
            .or_else(|| {
                let lines = findings::best(&part, observed, MAX_EVIDENCE);
                about_lines(topic, question.language, lines)
            })
            .unwrap_or_else(|| nothing_found(&part, observed))
    });
    let mut whole = Answer { summary: String::new(), evidence: Vec::new() };
    for answer in answers {
        if !whole.summary.is_empty() {
            whole.summary.push('\n');
        }
        whole.summary.push_str(&answer.summary);
        let new = answer
            .evidence
            .into_iter()
            .filter(|(line, _)| whole.evidence.iter().all(|(other, _)| other != line));
        let new: Vec<_> = new.collect();
        whole.evidence.extend(new);
    }
    whole.evidence.truncate(MAX_EVIDENCE);
    whole
}

fn about_builds(language: Language, observed: &Observed) -> Option<Answer> {
    let found = builds::found(observed);
    let (first, others) = found.split_first()?;
    let (build, line) = first;
    let (at, says) = (place(line), quote(&line.text));
    let (tool, command) = (build.tool, build.command);
    let mut summary = match language {
        Language::English => {
            format!("It is built with {tool} (usually `{command}`): {at} says `{says}`.")
        }
        Language::Chinese => {
            format!("用 {tool} 构建（通常是 `{command}`）：{at} 写着 `{says}`。")
        }
    };
    let others: Vec<String> = others
        .iter()
        .take(MAX_EVIDENCE - 1)
        .map(|(build, line)| format!("{} ({})", build.tool, place(line)))
        .collect();
    add_also(&mut summary, &others, language);
    Some(Answer { summary, evidence: quoted_lines(found.into_iter().map(|(_, line)| line)) })
}

fn about_dependencies(language: Language, observed: &Observed) -> Option<Answer> {
    let sections = declared::sections(observed);
    if sections.iter().all(|section| section.names.is_empty()) {
        let line = declared::nothing_declared(observed)?;
        let summary = match language {
            Language::English => format!("{} declares no dependencies.", line.path),
            Language::Chinese => format!("{} 没有声明依赖。", line.path),
        };
        return Some(Answer { summary, evidence: quoted_lines([line]) });
    }
    let mut summary = language.pick("Declared dependencies:", "声明的依赖：").to_owned();
    let mut lines = Vec::new();
    for Section { line, names } in sections.into_iter().filter(|one| !one.names.is_empty()) {
        let (at, says) = (place(&line), quote(&line.text));
        let shown = names[..names.len().min(MAX_NAMES)].join(language.pick(", ", "、"));
        let _ = write!(summary, "\n- {at} `{says}`: {shown}");
        let more = names.len().saturating_sub(MAX_NAMES);
        if more > 0 {
            let _ = match language {
                Language::English => write!(summary, " and {more} more"),
                Language::Chinese => write!(summary, " 等，另有 {more} 个"),
            };
        }
        lines.push(line);
        if lines.len() == MAX_EVIDENCE {
            break;
        }
    }
    Some(Answer { summary, evidence: quoted_lines(lines) })
}

/// What the lines that settle a matter say.
fn about_lines(topic: &Topic, language: Language, lines: Vec<Line>) -> Option<Answer> {
    let (first, others) = lines.split_first()?;
    let (at, says) = (place(first), quote(&first.text));
    let mut summary = match language {
        Language::English => format!("{}: {at} says `{says}`.", topic.name[0]),
        Language::Chinese => format!("{}：{at} 写着 `{says}`。", topic.name[1]),
    };
    let others: Vec<String> =
        others.iter().map(|line| format!("{} `{}`", place(line), quote(&line.text))).collect();
    add_also(&mut summary, &others, language);
    Some(Answer { summary, evidence: quoted_lines(lines) })
}

fn about_words(question: &Question, observed: &Observed) -> Answer {
    let language = question.language;
    let lines = findings::best(question, observed, MAX_EVIDENCE);
    let Some((first, others)) = lines.split_first() else {
        return nothing_found(question, observed);
    };
    let (at, says) = (place(first), quote(&first.text));
    let mut summary = match language {
        Language::English => format!("The words of the question lead to {at}: `{says}`."),
        Language::Chinese => format!("按问题里的词找到 {at}：`{says}`。"),
    };
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(place).collect();
        let _ = match language {
            Language::English => write!(summary, " Next best: {}.", others.join(", ")),
            Language::Chinese => write!(summary, "其次：{}。", others.join("、")),
        };
    }
    let missing = missing(question, &lines);
    if !missing.is_empty() {
        let _ = match language {
            Language::English => write!(summary, " None of these lines has {missing}."),
            Language::Chinese => write!(summary, "这些行里都没有{missing}。"),
        };
    }
    Answer { summary, evidence: quoted_lines(lines) }
}

/// The words of the question that none of these lines or their paths has, in quotes.
fn missing(question: &Question, lines: &[Line]) -> String {
    let is_there =
        |word: &str| lines.iter().any(|line| holds(&line.text, word) || holds(&line.path, word));
    let mut missing: Vec<String> = Vec::new();
    for said in question.said() {
        // A Chinese word is there if one of its English ones is.
        if !question.stems_of(said).any(is_there) {
            missing.push(format!("`{said}`"));
        }
    }
    missing.join(question.language.pick(" or ", "、"))
}

fn nothing_found(question: &Question, observed: &Observed) -> Answer {
    let language = question.language;
    let listing = observed
        .listed
        .then(|| (None, language.pick("the listing of the folder", "目录列表").to_owned()));
    let evidence: Vec<_> = listing.into_iter().collect();
    if observed.listed && observed.is_empty() {
        let summary = language.pick(
            "The folder holds no files that can be read here, so nothing answers the question.",
            "这个目录里没有可读的文件，所以找不到答案。",
        );
        return Answer { summary: summary.to_owned(), evidence };
    }
    let (wanted, looked) = (wanted(question), looked_at(observed, language));
    let is_generated = |line: &Line| {
        findings::is_noise(&line.path)
            && question.telling.iter().any(|word| holds(&line.text, word))
    };
    // Only a search has seen the whole folder.
    let place = match (observed.searched, observed.lines.iter().any(is_generated)) {
        (false, _) => language.pick("that was shown", "看到的内容里"),
        (true, false) => language.pick("in this folder", "这个目录里"),
        (true, true) => {
            language.pick("in this folder but generated files", "除生成的文件外，这个目录里")
        }
    };
    let summary = match language {
        Language::English => {
            format!("Nothing {place} matches {wanted}; here is what I looked at: {looked}.")
        }
        Language::Chinese => format!("{place}没有与{wanted}匹配的内容；我看过的有：{looked}。"),
    };
    Answer { summary, evidence }
}

/// What is not there: a matter by its name and usual files, or the words.
fn wanted(question: &Question) -> String {
    let language = question.language;
    if question.is_of_topics {
        let names = question.topics.iter().map(|topic| {
            let [english, chinese] = topic.name;
            let files = topic.files.iter().take(3).copied().collect::<Vec<_>>();
            match language {
                Language::English => {
                    format!("\"{english}\" (no words for it, no file such as {})", files.join(", "))
                }
                Language::Chinese => {
                    format!("“{chinese}”（没有相关的词，也没有 {} 这样的文件）", files.join("、"))
                }
            }
        });
        return names.collect::<Vec<_>>().join(language.pick(" or ", "或"));
    }
    let words: Vec<String> = question.said().iter().map(|word| format!("`{word}`")).collect();
    words.join(language.pick(" or ", "或"))
}

/// The looks that were taken, in words.
fn looked_at(observed: &Observed, language: Language) -> String {
    let mut looks = Vec::new();
    if observed.listed {
        let shown: Vec<&str> =
            observed.entries.iter().map(String::as_str).take(MAX_NAMED).collect();
        let more = observed.entries.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(" … (+{more})") } else { String::new() };
        let shown = shown.join(", ");
        looks.push(match language {
            Language::English => format!("the folder ({shown}{more})"),
            Language::Chinese => format!("目录（{shown}{more}）"),
        });
    }
    if observed.searched {
        looks.push(language.pick("a search for the words", "按词搜索").to_owned());
    }
    looks.extend(observed.read.iter().take(MAX_NAMED).cloned());
    if looks.is_empty() {
        looks.push(
            language.pick("nothing, no tool answered", "没有，工具都没有给出结果").to_owned(),
        );
    }
    looks.join(language.pick(", ", "、"))
}

fn add_also(summary: &mut String, others: &[String], language: Language) {
    if !others.is_empty() {
        let list = others.join(language.pick(", ", "、"));
        let _ = match language {
            Language::English => write!(summary, " See also: {list}."),
            Language::Chinese => write!(summary, "另见：{list}。"),
        };
    }
}

fn quoted_lines(lines: impl IntoIterator<Item = Line>) -> Vec<(Option<Line>, String)> {
    let cite = |line: Line| {
        let reason = format!("`{}`", quote(&line.text));
        (Some(line), reason)
    };
    lines.into_iter().take(MAX_EVIDENCE).map(cite).collect()
}

fn quote(text: &str) -> String {
    let text = text.trim().replace('`', "'");
    match text.char_indices().nth(QUOTE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
