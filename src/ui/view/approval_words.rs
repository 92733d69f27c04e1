//! What a question about a call says: who asks, what exactly would happen, what each answer covers.

use crate::domain::shell_words::command_words;
use crate::sanitize;
use crate::story::{Approval, Asker, Story};

use super::super::lang::Lang;
use super::super::paint::{Row, Tone};
use super::super::wrap::{self, Layout};
use super::{permissions, words};

/// Rows that say what it is at most.
const MOST_HEAD: usize = 3;

/// Who asks: `parent`, or `[子] #3 worker`.
pub fn asker(approval: &Approval, story: &Story, lang: Lang) -> String {
    match approval.asker {
        Asker::Parent => lang.pick("parent", "父代理").to_owned(),
        Asker::Child(id) => {
            let name = story.delegations().get(id).map_or_else(String::new, words::name);
            format!("[子] {name}").trim_end().to_owned()
        }
    }
}

/// Who asks, and how many others wait.
pub fn title(approval: &Approval, story: &Story, lang: Lang) -> String {
    let who = asker(approval, story, lang);
    let asks = match about(approval, story) {
        Some(child) => format!("{} [子] {child}", lang.pick("asks to start", "请求启动")),
        None => lang.pick("asks", "请求批准").to_owned(),
    };
    let all = story.approvals().len();
    let place = story.approvals().before(approval.number) + 1;
    match (all, lang) {
        (0 | 1, _) => format!("{who} {asks}"),
        (_, Lang::En) => format!("{who} {asks} · {place} of {all}"),
        (_, Lang::Zh) => format!("{who} {asks} · 第 {place}/{all} 个"),
    }
}

/// The child that a delegation would become.
fn about(approval: &Approval, story: &Story) -> Option<String> {
    let child = approval.about.and_then(|id| story.delegations().get(id));
    child.map(words::name)
}

/// What it is: for a command how it is fenced and where it starts, else the change in a line. Where
/// that is too narrow it takes a few rows, `most` of them; where even these are too few, it is said
/// in short.
pub fn head(approval: &Approval, width: usize, most: usize, lang: Lang) -> Vec<Row> {
    if approval.command.is_none() && approval.diff.is_none() {
        // Its one line is all the text there is.
        return Vec::new();
    }
    let fence = approval.fence.as_deref().filter(|_| approval.command.is_some());
    let fence = fence.map(str::to_owned);
    let whole = [what(approval), words_of(fence.as_deref()), place(approval, lang)].concat();
    let layout = Layout::of(&sanitize::line(&whole), width);
    if layout.height() > 1 && layout.height() <= most.min(MOST_HEAD) {
        return (0..layout.height()).map(|row| Row::of(layout.row(row), Tone::Strong)).collect();
    }
    let is_long = layout.height() > 1;
    let tone = if fence.as_deref() == Some("fenced") { Tone::Good } else { Tone::Warning };
    let shown = fence.map(|fence| if is_long { permissions::in_short(&fence) } else { fence });
    let row = Row::of(what(approval), Tone::Strong).and(words_of(shown.as_deref()), tone);
    vec![row.and(place(approval, lang), Tone::Plain)]
}

fn what(approval: &Approval) -> String {
    let words = if approval.command.is_some() { &approval.name } else { &approval.summary };
    sanitize::reveal(words).into_owned()
}

fn words_of(fence: Option<&str>) -> String {
    fence.map_or_else(String::new, |fence| format!(" · {fence}"))
}

/// Where a command starts.
fn place(approval: &Approval, lang: Lang) -> String {
    if approval.command.is_none() {
        return String::new();
    }
    let folder = approval.folder.as_deref().filter(|folder| !folder.is_empty()).unwrap_or(".");
    format!(" · {} {}", lang.pick("in", "于"), sanitize::reveal(folder))
}

/// What each key answers, and what it covers.
pub fn answers(approval: &Approval, story: &Story, lang: Lang) -> Vec<Row> {
    let row =
        |key: &str, words: String| Row::of(format!("{key}  "), Tone::Child).and(words, Tone::Plain);
    let (child, session) = reach(approval, story, lang);
    let line = |what: &str, whom: &str| match lang {
        Lang::En => format!("{what} {whom}"),
        Lang::Zh => format!("{whom}：{what}"),
    };
    let tests = approval.confirms_for_session();
    if approval.preflight.is_some() {
        return preflight_answers(lang);
    }
    let yes = if tests {
        let whom = everyone(approval, story, lang);
        match lang {
            Lang::En => format!("this command, as shown, this session ({whom})"),
            Lang::Zh => format!("本会话内允许此命令，按所示（{whom}）"),
        }
    } else {
        lang.pick("this once, as shown", "允许一次，按所示").to_owned()
    };
    let mut rows = vec![row("y", yes)];
    if let Some(prefix) = &approval.prefix {
        let what = covers(approval, prefix, lang);
        rows.push(row("c", line(&what, &child)));
        rows.push(row("s", line(&what, &session)));
    } else {
        let words = if tests {
            lang.pick("only this command can be allowed", "只能允许此命令")
        } else {
            lang.pick("only this call can be allowed", "只能允许此次调用")
        };
        let why = why_only_this(approval, lang);
        rows.push(Row::of(format!("   {words}{why}"), Tone::Quiet));
    }
    let no = lang.pick("no", "拒绝");
    let because = lang.pick("no, with a reason", "拒绝，并说明理由");
    let later = lang.pick("later", "稍后");
    rows.push(
        row("n", no.to_owned())
            .and("   r  ", Tone::Child)
            .and(because, Tone::Plain)
            .and("   Esc  ", Tone::Child)
            .and(later, Tone::Plain),
    );
    rows
}

/// What each key does about a delegation.
fn preflight_answers(lang: Lang) -> Vec<Row> {
    let line = |keys: [(&str, &str); 4]| {
        keys.into_iter().fold(Row::default(), |row, (key, words)| {
            let row = row.and(format!("{key}  "), Tone::Child);
            row.and(format!("{words}   "), Tone::Plain)
        })
    };
    vec![
        line([
            ("↑↓", lang.pick("choose", "选择")),
            ("-", lang.pick("lower", "降低")),
            ("→", lang.pick("raise", "恢复")),
            (lang.pick("Space", "空格"), lang.pick("drop", "去除")),
        ]),
        line([
            ("y", lang.pick("start it", "如此启动")),
            ("n", lang.pick("no", "拒绝")),
            ("r", lang.pick("no, why", "说明理由")),
            ("Esc", lang.pick("later", "稍后")),
        ]),
    ]
}

/// The same on one line, the longest that fits; the footer has what this leaves out.
pub fn answers_in_short(approval: &Approval, width: usize, lang: Lang) -> Row {
    let tests = approval.confirms_for_session();
    let yes = if approval.preflight.is_some() {
        lang.pick("y start", "y 启动")
    } else if tests {
        lang.pick("y this command", "y 此命令")
    } else {
        lang.pick("y once", "y 一次")
    };
    let run = match approval.asker {
        Asker::Child(_) => lang.pick("c child", "c 子代理"),
        Asker::Parent => lang.pick("c answer", "c 本次回答"),
    };
    let lines = match (approval.prefix.is_some(), lang) {
        (true, Lang::En) => vec![
            format!("{yes} · {run} · s session · n no · r why · Esc later"),
            format!("{yes} · {run} · s session · n no · r why"),
            format!("{yes} · {run} · s session · n no"),
            "y · c · s · n · r".to_owned(),
        ],
        (false, Lang::En) => vec![
            format!("{yes} · n no · r why · Esc later"),
            format!("{yes} · n no"),
            "y · n · r".to_owned(),
        ],
        (true, Lang::Zh) => vec![
            format!("{yes} · {run} · s 会话 · n 拒绝 · r 理由 · Esc 稍后"),
            format!("{yes} · {run} · s 会话 · n 拒绝"),
            "y · c · s · n · r".to_owned(),
        ],
        (false, Lang::Zh) => vec![
            format!("{yes} · n 拒绝 · r 理由 · Esc 稍后"),
            format!("{yes} · n 拒绝"),
            "y · n · r".to_owned(),
        ],
    };
    let fits = lines.iter().find(|line| wrap::cells(line) <= width);
    let line = fits.or(lines.last()).map_or("", String::as_str);
    Row::of(line, Tone::Child)
}

/// Whom an answer for the session allows something.
fn everyone(approval: &Approval, story: &Story, lang: Lang) -> String {
    let Asker::Child(id) = approval.asker else {
        return lang.pick("the parent", "父代理").to_owned();
    };
    let role = story.delegations().get(id).map_or("", |node| node.role.as_str());
    match lang {
        Lang::En => format!("all {role} children"),
        Lang::Zh => format!("全部 {role} 子代理"),
    }
}

/// Why there is nothing wider to allow.
fn why_only_this(approval: &Approval, lang: Lang) -> String {
    let Some(command) = &approval.command else { return String::new() };
    let parsed = command_words(command);
    let why = if parsed.parts.len() > 1 {
        lang.pick("it is several commands in one", "这是多条命令的组合")
    } else if !parsed.complete {
        lang.pick("what it runs cannot be told from its words", "无法从字面判断它会运行什么")
    } else if !parsed.writes.is_empty() {
        lang.pick("it writes a file", "它会写入文件")
    } else {
        lang.pick("its first words do not say what it does", "开头的词说明不了它做什么")
    };
    format!("{}{why}", lang.pick(": ", "："))
}

/// What the two wider answers cover, on one row.
pub fn wider_in_short(approval: &Approval, story: &Story, lang: Lang) -> Option<Row> {
    let what = covers(approval, approval.prefix.as_deref()?, lang);
    let (child, session) = reach(approval, story, lang);
    let row = Row::of("c  ", Tone::Child).and(format!("{what} {child}"), Tone::Plain);
    Some(row.and(" · s ", Tone::Child).and(session, Tone::Plain))
}

/// What a wider answer allows: commands that begin so, or changes to a path.
fn covers(approval: &Approval, prefix: &str, lang: Lang) -> String {
    let prefix = sanitize::reveal(prefix);
    let prefix = prefix.trim_end_matches('…').trim_end();
    if approval.command.is_some() {
        format!("`{prefix} …`")
    } else {
        format!("{} {prefix}", lang.pick("changes to", "更改"))
    }
}

/// Whom the two wider answers allow it.
fn reach(approval: &Approval, story: &Story, lang: Lang) -> (String, String) {
    let Asker::Child(id) = approval.asker else {
        return (
            lang.pick("for this answer of the parent", "本次回答内的父代理").to_owned(),
            lang.pick("for the parent, this session", "本会话内的父代理").to_owned(),
        );
    };
    let node = story.delegations().get(id);
    let role = node.map_or("", |node| node.role.as_str());
    let name = node.map_or_else(String::new, words::name);
    match lang {
        Lang::En => (format!("for {name}"), format!("for all {role} children this session")),
        Lang::Zh => (name, format!("本会话内全部 {role} 子代理")),
    }
}
