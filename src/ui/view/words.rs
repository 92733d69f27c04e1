//! States, amounts and ages in words, in both languages. A word here is the only carrier of what it
//! says; colour comes on top.

use crate::domain::approval::{Decider, Decision, Mode};
use crate::domain::budget::{Dimension, Limit};
use crate::domain::command::BudgetChoice;
use crate::domain::event::{Failure, Timestamp};
use crate::domain::report::{By, Exhausted, Status};
use crate::domain::usage::MicroUsd;
use crate::domain::violation::Code;
use crate::story::{Asker, Call, CallState, Doing, End, Node, Runaway, Story, Used, Verdict};

use super::super::lang::Lang;
use super::super::paint::Tone;
use super::super::screen::{SPINNER_MS, Screen};
use super::code_words::reason;
use super::preflight;

/// The spinner's picture at a moment; it only moves where something runs.
pub fn spinner(now: Timestamp) -> &'static str {
    const PICTURES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
    let index = usize::try_from(now.0 / SPINNER_MS % 10).unwrap_or(0);
    PICTURES[index]
}

/// What a run is doing.
pub fn doing(doing: Doing<'_>, lang: Lang, now: Timestamp) -> (String, Tone) {
    let age = |since: Timestamp| age(now.millis_since(since));
    match doing {
        Doing::Queued { position, since } => {
            let ahead = match position {
                0 => String::new(),
                before => format!(" ({before} {})", lang.pick("ahead", "个在前")),
            };
            let queued = lang.pick("queued", "排队中");
            (format!("{queued}{ahead} {}", age(since)), Tone::Quiet)
        }
        Doing::Between { since } => {
            let words = lang.pick("between turns", "轮次之间");
            (format!("{words} {}", age(since)), Tone::Plain)
        }
        Doing::Streaming => (lang.pick("model streaming", "模型输出中").to_owned(), Tone::Plain),
        Doing::Silent { since } => {
            (format!("{} {}", lang.pick("model silent", "模型无输出"), age(since)), Tone::Plain)
        }
        Doing::Retrying { at, http_status } => {
            let seconds = at.millis_since(now).div_ceil(1_000);
            let why = http_status.map_or_else(String::new, |status| format!(" ({status})"));
            let words = match lang {
                Lang::En => format!("retry in {seconds} s{why}"),
                Lang::Zh => format!("{seconds} 秒后重试{why}"),
            };
            (words, Tone::Warning)
        }
        Doing::Calling { call } => {
            let tool = lang.pick("tool", "工具");
            let what = format!("{} {}", call.name, call.summary());
            (format!("{tool} {} {}", what.trim_end(), age(call.since)), Tone::Plain)
        }
        Doing::Asking { since, .. } => {
            let words = lang.pick("waiting for your approval", "等待你的批准");
            (format!("{words} {}", age(since)), Tone::Warning)
        }
        Doing::Paused { since } => {
            (format!("{} {}", lang.pick("paused", "已暂停"), age(since)), Tone::Warning)
        }
        Doing::Cancelling { by, since } => {
            let words = lang.pick("cancelling", "正在取消");
            (format!("{words} ({}) {}", who(by, lang), age(since)), Tone::Warning)
        }
        Doing::Ended(end) => ended(end, lang),
    }
}

/// What a run is doing, in a word.
pub fn doing_short(doing: Doing<'_>, lang: Lang) -> (String, Tone) {
    match doing {
        Doing::Queued { .. } => (lang.pick("queued", "排队中").to_owned(), Tone::Quiet),
        Doing::Cancelling { .. } => (lang.pick("cancelling", "正在取消").to_owned(), Tone::Warning),
        Doing::Asking { .. } => {
            (lang.pick("waiting for your approval", "等待你的批准").to_owned(), Tone::Warning)
        }
        Doing::Paused { .. } => (lang.pick("paused", "已暂停").to_owned(), Tone::Warning),
        Doing::Retrying { .. } => (lang.pick("retrying", "正在重试").to_owned(), Tone::Warning),
        Doing::Between { .. } | Doing::Streaming | Doing::Silent { .. } | Doing::Calling { .. } => {
            (lang.pick("running", "运行中").to_owned(), Tone::Child)
        }
        Doing::Ended(end) => ended(end, lang),
    }
}

/// A child as people call it: `#3 researcher`. One that was refused before it had a number is a
/// `task`.
pub fn name(node: &Node) -> String {
    match node.task {
        Some(task) if node.role.is_empty() => format!("#{}", task.0),
        Some(task) => format!("#{} {}", task.0, node.role),
        None => "task".to_owned(),
    }
}

/// What a parent does while its children work.
pub fn waiting_for(story: &Story, node: &Node, lang: Lang) -> String {
    match (story.delegations().live_count(), lang) {
        (0 | 1, Lang::En) => format!("waiting for {}", name(node)),
        (0 | 1, Lang::Zh) => format!("等待 {}", name(node)),
        (children, Lang::En) => format!("waiting for {children} children"),
        (children, Lang::Zh) => format!("等待 {children} 个子代理"),
    }
}

/// How a run ended: the outcome, and why. Every code has its own words.
pub fn ended(end: &End, lang: Lang) -> (String, Tone) {
    let why = end.code.map(|code| reason(code, lang));
    let because = |word: &str| match (why, lang) {
        (None, _) => word.to_owned(),
        (Some(why), Lang::En) => format!("{word}: {why}"),
        (Some(why), Lang::Zh) => format!("{word}：{why}"),
    };
    match end.status {
        Status::Completed => (lang.pick("completed", "已完成").to_owned(), Tone::Good),
        Status::BudgetExhausted => (spent(end, lang), Tone::Warning),
        Status::Cancelled => (cancelled(end, lang), Tone::Warning),
        Status::Blocked if end.by == Some(By::User) => {
            (lang.pick("refused by you", "被你拒绝").to_owned(), Tone::Warning)
        }
        Status::Blocked => (because(lang.pick("refused", "被拒绝")), Tone::Warning),
        Status::Failed => (because(lang.pick("failed", "失败")), Tone::Bad),
        Status::InvalidResult => (because(lang.pick("invalid result", "结果无效")), Tone::Bad),
    }
}

/// What ran out, and how, where the dimension does not say it already.
fn spent(end: &End, lang: Lang) -> String {
    let dimension = end.dimension.map_or("", |dimension| exhausted(dimension, lang));
    let how = match end.code {
        Some(Code::UsageExceeded) => {
            format!("{}{}", lang.pick(", ", "，"), reason(Code::UsageExceeded, lang))
        }
        _ => String::new(),
    };
    match (lang, dimension) {
        (Lang::En, "") => format!("budget exhausted{how}"),
        (Lang::Zh, "") => format!("预算用尽{how}"),
        (Lang::En, dimension) => format!("budget exhausted: {dimension}{how}"),
        (Lang::Zh, dimension) => format!("预算用尽：{dimension}{how}"),
    }
}

fn cancelled(end: &End, lang: Lang) -> String {
    if end.code == Some(Code::Timeout) {
        let why = reason(Code::Timeout, lang);
        return format!("{}{why}", lang.pick("cancelled: ", "已取消："));
    }
    match (lang, end.by.map_or("", |by| who(by, lang))) {
        (Lang::En, "") => "cancelled".to_owned(),
        (Lang::Zh, "") => "已取消".to_owned(),
        (Lang::En, by) => format!("cancelled by {by}"),
        (Lang::Zh, by) => format!("已被{by}取消"),
    }
}

/// The sign of an ending.
pub fn sign(end: &End) -> (&'static str, Tone) {
    match end.status {
        Status::Completed => ("✓", Tone::Good),
        Status::BudgetExhausted => ("◑", Tone::Warning),
        Status::Cancelled | Status::Blocked => ("✗", Tone::Warning),
        Status::Failed | Status::InvalidResult => ("✗", Tone::Bad),
    }
}

/// Who asked for an end.
pub fn who(by: By, lang: Lang) -> &'static str {
    match by {
        By::User => lang.pick("you", "你"),
        By::Parent => lang.pick("the parent", "父代理"),
        By::Budget => lang.pick("budget", "预算"),
        By::Shutdown => lang.pick("shutdown", "关闭"),
    }
}

/// What ran out.
fn exhausted(dimension: Exhausted, lang: Lang) -> &'static str {
    match dimension {
        Exhausted::Turns => lang.pick("turns", "轮数"),
        Exhausted::InputTokens => lang.pick("input tokens", "输入词元"),
        Exhausted::OutputTokens => lang.pick("output tokens", "输出词元"),
        Exhausted::ToolCalls => lang.pick("tool calls", "工具调用"),
        Exhausted::CostUsd => lang.pick("cost", "费用"),
        Exhausted::Duration => lang.pick("time", "时间"),
        Exhausted::TotalTurns => lang.pick("turns of all children", "全部子代理轮数"),
        Exhausted::Repeats => lang.pick("repeats", "重复"),
    }
}

/// A dimension's short name on the gauge.
pub fn dimension(dimension: Dimension, lang: Lang) -> &'static str {
    match dimension {
        Dimension::Turns => lang.pick("turns", "轮"),
        Dimension::InputTokens => lang.pick("in", "入"),
        Dimension::OutputTokens => lang.pick("out", "出"),
        Dimension::ToolCalls => lang.pick("calls", "调用"),
        Dimension::CostUsd => lang.pick("cost", "费用"),
        Dimension::Duration => lang.pick("time", "时间"),
    }
}

/// An amount in its dimension's unit.
pub fn amount(dimension: Dimension, value: u64) -> String {
    match dimension {
        Dimension::Turns | Dimension::ToolCalls => value.to_string(),
        Dimension::InputTokens | Dimension::OutputTokens => tokens(value),
        Dimension::CostUsd => MicroUsd(value).to_string(),
        Dimension::Duration => clock(value),
    }
}

/// A budget that was set, as people set it.
pub fn budget_words(budget: BudgetChoice, lang: Lang) -> String {
    match (budget, lang) {
        (BudgetChoice::Preset(preset), _) => preset.name().to_owned(),
        (BudgetChoice::Turns(turns), Lang::En) => format!("{turns} turns"),
        (BudgetChoice::Turns(turns), Lang::Zh) => format!("{turns} 轮"),
    }
}

/// Said behind a call whose question was put off.
pub fn put_off(story: &Story, screen: &Screen, asker: Asker, call: &Call) -> Option<&'static str> {
    let approval = story.approvals().of_call(asker, &call.id)?;
    let words = screen.lang.pick(" · later: /approve", " · 稍后：/approve");
    screen.questions.is_put_off(approval.number).then_some(words)
}

/// Said behind a child whose question was put off.
pub fn put_off_of_child(story: &Story, screen: &Screen, node: &Node) -> Option<&'static str> {
    let approval = story.approvals().of_child(node.id)?;
    let words = screen.lang.pick(" · later: /approve", " · 稍后：/approve");
    screen.questions.is_put_off(approval.number).then_some(words)
}

/// How a question about a call was answered, and by whom.
pub fn verdict(verdict: &Verdict, lang: Lang) -> String {
    let what = match verdict.decision {
        Decision::Once => lang.pick("allowed once", "允许一次"),
        Decision::Child => lang.pick("allowed for this run", "本次运行内允许"),
        Decision::Session => lang.pick("allowed for the session", "会话内允许"),
        Decision::Deny => lang.pick("denied", "已否决"),
        Decision::Withdrawn => lang.pick("withdrawn", "已撤回"),
        Decision::Expired => lang.pick("no answer: nobody could be asked", "无人应答"),
    };
    let by = match verdict.by {
        Decider::User => lang.pick("by you", "由你"),
        Decider::Earlier => lang.pick("by an earlier answer of yours", "由你先前的答复"),
        Decider::Rule => lang.pick("by a rule", "由规则"),
        Decider::Mode => lang.pick("by the permission mode", "由权限模式"),
        Decider::Policy => lang.pick("by --approve", "由 --approve"),
        Decider::Runtime => lang.pick("with its call", "随调用"),
    };
    let less =
        verdict.amended.as_ref().map(|less| format!(" · {}", preflight::amended(less, lang)));
    let less = less.unwrap_or_default();
    match &verdict.reason {
        Some(reason) => format!("{what} {by}: {reason}{less}"),
        None => format!("{what} {by}{less}"),
    }
}

/// What a permission mode means.
pub fn mode(mode: Mode, lang: Lang) -> &'static str {
    match mode {
        Mode::ReadOnly => lang.pick(
            "look only: what would change or run something is denied",
            "只读：拒绝任何更改或运行",
        ),
        Mode::Ask => {
            lang.pick("ask before every change and every command", "每次更改与每条命令前询问")
        }
        Mode::AutoEdit => lang.pick(
            "change files without asking, ask before commands",
            "更改文件不询问，运行命令前询问",
        ),
        Mode::FullAccess => {
            lang.pick("ask nothing, as long as commands are fenced", "在命令受隔离时不询问")
        }
    }
}

/// Used and limit; the limit is left out where nothing bounds it.
pub fn used(used: &Used, lang: Lang) -> String {
    let name = dimension(used.dimension, lang);
    let spent = used.used.map(|value| amount(used.dimension, value));
    match (spent, used.limit) {
        (Some(spent), Limit::Of(limit)) => {
            format!("{name} {spent}/{}", amount(used.dimension, limit))
        }
        (Some(spent), Limit::Unlimited) => {
            format!("{name} {spent} ({})", lang.pick("unlimited", "不限"))
        }
        (_, Limit::Off) | (None, _) => {
            format!("{name} {}", lang.pick("unknown", "未知"))
        }
    }
}

/// Why a child looks as if it would come to nothing, and what cancels it.
pub fn runaway(runaway: Runaway, cancel: &str, lang: Lang) -> String {
    let reason = match runaway {
        Runaway::Repeats(times) => match lang {
            Lang::En => format!("the same call {times} times in a row"),
            Lang::Zh => format!("同一调用连续 {times} 次"),
        },
        Runaway::OnlyErrors(times) => match lang {
            Lang::En => format!("all {times} calls failed"),
            Lang::Zh => format!("{times} 次调用全部失败"),
        },
        Runaway::TurnsNearlyUsed { turn, of } => match lang {
            Lang::En => format!("turn {turn} of {of}, nearly used up"),
            Lang::Zh => format!("第 {turn}/{of} 轮，即将用尽"),
        },
    };
    format!("⚠ {reason} · {cancel} {}", lang.pick("cancels", "取消"))
}

/// A call's outcome: size and time, or what went wrong. `live` if whoever made it still runs.
pub fn outcome(call: &Call, live: bool, lang: Lang, now: Timestamp) -> (String, Tone) {
    match call.state {
        CallState::Requested | CallState::Asking | CallState::Running if !live => {
            (lang.pick("no result", "无结果").to_owned(), Tone::Quiet)
        }
        CallState::Requested => (lang.pick("waiting", "等待").to_owned(), Tone::Quiet),
        CallState::Asking => {
            let words = lang.pick("asks you", "请求批准");
            (format!("{words} {}", age(now.millis_since(call.since))), Tone::Warning)
        }
        CallState::Running => {
            let ran = now.millis_since(call.since);
            let shown = if ran < 1_000 { String::new() } else { format!("{} ", age(ran)) };
            (format!("{shown}{}", spinner(now)), Tone::Child)
        }
        CallState::Finished { ok: true, bytes: size, truncated, duration_ms, .. } => {
            let cut = if truncated { lang.pick(" cut", " 截断") } else { "" };
            (format!("{}{cut} {}", bytes(size), duration(duration_ms)), Tone::Quiet)
        }
        CallState::Finished { ok: false, failure: reason, duration_ms, .. } => {
            let (word, tone) = failure(reason, lang);
            let word = match (reason, call.command_end()) {
                (None | Some(Failure::Error), Some(end)) => exit(call, end.exit_code, lang),
                (Some(_), _) | (None, None) => word.to_owned(),
            };
            (format!("{word} {}", duration(duration_ms)), tone)
        }
    }
}

/// A command that ran and did not succeed: tests that fail are no broken call.
fn exit(call: &Call, code: i32, lang: Lang) -> String {
    if call.name == "run_tests" {
        format!("{} ({} {code})", lang.pick("failed", "未通过"), lang.pick("exit", "退出码"))
    } else {
        format!("{} {code}", lang.pick("exit", "退出码"))
    }
}

fn failure(failure: Option<Failure>, lang: Lang) -> (&'static str, Tone) {
    match failure {
        None | Some(Failure::Error) => (lang.pick("error", "出错"), Tone::Bad),
        Some(Failure::Refused) => (lang.pick("refused", "被拒绝"), Tone::Warning),
        Some(Failure::Denied) => (lang.pick("denied", "被否决"), Tone::Warning),
        Some(Failure::Cancelled) => (lang.pick("cancelled", "已取消"), Tone::Warning),
        Some(Failure::NotRun) => (lang.pick("not run", "未运行"), Tone::Quiet),
    }
}

/// An age: `0 s`, `12 s`, `3 m`.
pub fn age(ms: u64) -> String {
    match ms / 1_000 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} m", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

/// A duration as precise as it is short: `2ms`, `1.4s`, `75s`.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..10_000 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{}s", ms / 1_000),
    }
}

/// A running time as a clock: `00:07`, `1:02:03`.
pub fn clock(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

/// A number of tokens: `312`, `8.1k`, `1M`.
pub fn tokens(count: u64) -> String {
    scaled(count, 1_000, ["", "k", "M", "G"])
}

/// A size: `31 B`, `2.1 KB`, `5 MB`.
pub fn bytes(count: u64) -> String {
    scaled(count, 1_024, [" B", " KB", " MB", " GB"])
}

fn scaled(count: u64, step: u64, units: [&str; 4]) -> String {
    let mut unit = 0;
    let mut scale = 1;
    while unit < 3 && count / scale >= step {
        scale *= step;
        unit += 1;
    }
    let whole = count / scale;
    let tenth = count % scale * 10 / scale;
    if unit == 0 || tenth == 0 || whole >= 100 {
        format!("{whole}{}", units[unit])
    } else {
        format!("{whole}.{tenth}{}", units[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short_and_never_round_up() {
        let table = [
            (tokens(0), "0"),
            (tokens(999), "999"),
            (tokens(8_190), "8.1k"),
            (tokens(16_000), "16k"),
            (tokens(999_999), "999k"),
            (tokens(1_000_000), "1M"),
            (bytes(31), "31 B"),
            (bytes(2_200), "2.1 KB"),
            (bytes(u64::MAX), "17179869183 GB"),
            (clock(7_900), "00:07"),
            (clock(3_723_000), "1:02:03"),
            (age(12_999), "12 s"),
            (age(180_000), "3 m"),
            (duration(2), "2ms"),
            (duration(1_450), "1.4s"),
        ];
        for (shown, expected) in table {
            assert_eq!(shown, expected);
        }
    }
}
