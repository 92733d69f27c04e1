//! What a child would get, in words, line by line: the text of the question before it starts. Which
//! lines can be changed is said beside them, by signs and words.

use crate::domain::budget::{Dimension, Limit};
use crate::domain::context_store::SnippetCard;
use crate::domain::event::{ContractView, Destination};
use crate::domain::preflight::{Amendment, PreflightPolicy};
use crate::sanitize;

use super::super::lang::Lang;
use super::super::long_text::{Kind, LongText};
use super::super::paint::Tone;
use super::super::preflight::{Draft, Item};
use super::super::wrap;
use super::words;

/// Cells that the name of a context key takes at least, so that its facts stand below each other.
const KEY_CELLS: usize = 12;
/// The same for a number of the budget.
const LIMIT_CELLS: usize = 6;

/// The text, and the line that each thing that can be changed stands in.
pub fn body(draft: &Draft) -> (LongText, Vec<(Item, usize)>) {
    let (preflight, lang) = (draft.preflight(), draft.lang());
    let contract = &preflight.contract;
    let mut text = LongText::default();
    let mut lines = Vec::new();
    // What is enforced comes first: no words of a model can push it away or stand in its place.
    held(&mut text, contract, lang);
    context(&mut text, &mut lines, draft);
    budget(&mut text, &mut lines, draft);
    text.add(lang.pick("What it is told, as the task has it", "任务原文"), Kind::Heading);
    if !contract.prompt.starts_with(&preflight.description) {
        text.add(&barred(&preflight.description), Kind::Plain);
    }
    task(&mut text, contract, lang);
    (text, lines)
}

/// What a policy of asking before delegations means.
pub fn policy(policy: PreflightPolicy, lang: Lang) -> &'static str {
    match policy {
        PreflightPolicy::Always => {
            lang.pick("preflight: asks before each child starts", "预检：每个子代理启动前询问")
        }
        PreflightPolicy::Never => {
            lang.pick("preflight: children start without asking", "预检：子代理启动时不询问")
        }
    }
}

/// What a child got less than was shown.
pub fn amended(amendment: &Amendment, lang: Lang) -> String {
    let to = lang.pick(" lowered to ", " 降至 ");
    let lowered = Dimension::ALL.into_iter().filter_map(|dimension| {
        let amount = words::amount(dimension, amendment.lowered(dimension)?);
        Some(format!("{}{to}{amount}", words::dimension(dimension, lang)))
    });
    let without = lang.pick("without ", "不含 ");
    let dropped = amendment.dropped().iter().map(|key| format!("{without}{}", sanitize::line(key)));
    lowered.chain(dropped).collect::<Vec<_>>().join(lang.pick(", ", "，"))
}

/// What it is to do and what is to come back.
fn task(text: &mut LongText, contract: &ContractView, lang: Lang) {
    let written = [
        (lang.pick("task", "任务"), Some(&contract.prompt)),
        (lang.pick("to come back", "预期结果"), Some(&contract.expected_output)),
        (lang.pick("done when", "完成条件"), contract.done_when.as_ref()),
        (lang.pick("must not", "禁止"), contract.must_not.as_ref()),
    ];
    for (label, words) in written {
        if let Some(words) = words {
            text.add(&barred(&named(label, words, lang)), Kind::Plain);
        }
    }
}

/// What it may do, where, with what, and who gets to see it.
fn held(text: &mut LongText, contract: &ContractView, lang: Lang) {
    let permissions: Vec<&str> = contract.permissions.iter().map(|held| held.name()).collect();
    let paths: Vec<String> = contract.paths.iter().map(ToString::to_string).collect();
    for (label, words) in [
        (lang.pick("may", "权限"), permissions.join(" ")),
        (lang.pick("tools", "工具"), contract.tools.join(" ")),
        (lang.pick("paths", "路径"), paths.join(" ")),
        (lang.pick("goes to", "发往"), goes_to(contract, lang)),
    ] {
        let words = if words.is_empty() { lang.pick("none", "无").to_owned() } else { words };
        text.add(&named(label, &sanitize::line(&words), lang), Kind::Plain);
    }
}

/// A model's words, every line of them marked: none can pass for one of the program's own.
fn barred(words: &str) -> String {
    let lines: Vec<String> = words.lines().map(|line| format!("│ {line}")).collect();
    lines.join("\n")
}

fn named(label: &str, words: &str, lang: Lang) -> String {
    format!("{label}{}{words}", lang.pick(": ", "："))
}

/// Who answers, and the machine that its requests go to.
pub fn goes_to(contract: &ContractView, lang: Lang) -> String {
    let place = match &contract.goes_to {
        Some(Destination { host: Some(host) }) => host,
        Some(Destination { host: None }) => lang.pick("stays in this program", "不离开本程序"),
        None => lang.pick("where it goes is not known", "去向未知"),
    };
    format!("{} · {} · {place}", contract.provider, contract.model)
}

fn context(text: &mut LongText, lines: &mut Vec<(Item, usize)>, draft: &Draft) {
    let (contract, lang) = (&draft.preflight().contract, draft.lang());
    text.add(lang.pick("Context", "上下文"), Kind::Heading);
    let mut any = false;
    for card in contract.chosen() {
        let item = Item::Key(card.key.clone());
        let dropped = draft.drops(&card.key);
        let mark = if dropped { "[ ]" } else { "[x]" };
        let after = if dropped { lang.pick(" · dropped", " · 已去除") } else { "" };
        let line = format!("{mark} {}{after}", card_words(card));
        add_item(text, lines, draft, item, &line, dropped);
        any = true;
    }
    if let Some(rules) = contract.context.last().filter(|_| contract.rules) {
        let why = lang.pick("goes with its paths", "随路径而定");
        text.add(&format!("      {} · {why}", card_words(rules)), Kind::Plain);
        any = true;
    }
    if !any {
        text.add(lang.pick("  none", "  无"), Kind::Plain);
    }
}

fn card_words(card: &SnippetCard) -> String {
    let key = padded(&sanitize::line(&card.key), KEY_CELLS);
    let source = sanitize::line(&card.source);
    format!("{key} {} · {} · {source}", words::bytes(card.bytes), card.sha256.short())
}

fn budget(text: &mut LongText, lines: &mut Vec<(Item, usize)>, draft: &Draft) {
    let (contract, lang) = (&draft.preflight().contract, draft.lang());
    text.add(lang.pick("Budget", "预算"), Kind::Heading);
    for dimension in Dimension::ALL {
        let name = padded(words::dimension(dimension, lang), LIMIT_CELLS);
        match contract.budget[dimension] {
            Limit::Of(shown) => {
                let now = draft.lowered(dimension);
                let line = format!("{name} {}", number(contract, dimension, shown, now, lang));
                add_item(text, lines, draft, Item::Limit(dimension), &line, now.is_some());
            }
            Limit::Unlimited => fixed(text, &name, lang.pick("unlimited", "不限")),
            Limit::Off => fixed(text, &name, lang.pick("unknown, not bounded", "未知，不设限")),
        }
    }
}

/// A line of the budget that has no number to lower.
fn fixed(text: &mut LongText, name: &str, words: &str) {
    text.add(&format!("  {name} {words}"), Kind::Plain);
}

/// A number of the budget, what it was lowered from, and its part of what the parent has left.
fn number(
    contract: &ContractView,
    dimension: Dimension,
    shown: u64,
    now: Option<u64>,
    lang: Lang,
) -> String {
    let amount = words::amount(dimension, now.unwrap_or(shown));
    let from = words::amount(dimension, shown);
    let lowered = match (now, lang) {
        (None, _) => String::new(),
        (Some(_), Lang::En) => format!(" ↓ lowered from {from}"),
        (Some(_), Lang::Zh) => format!(" ↓ 由 {from} 降低"),
    };
    let share = contract.share.unwrap_or_default().of(dimension);
    let share = share.map(|share| share_words(share * part(now.unwrap_or(shown), shown), lang));
    format!("{amount}{lowered}{}", share.unwrap_or_default())
}

#[expect(clippy::cast_precision_loss, reason = "a share is for people")]
fn part(now: u64, shown: u64) -> f64 {
    if shown == 0 { 0.0 } else { now as f64 / shown as f64 }
}

fn share_words(share: f64, lang: Lang) -> String {
    let percent = share * 100.0;
    let percent =
        if percent > 0.0 && percent < 0.5 { "<1%".to_owned() } else { format!("{percent:.0}%") };
    match lang {
        Lang::En => format!(" · {percent} of what the parent has left"),
        Lang::Zh => format!(" · 占父代理剩余的 {percent}"),
    }
}

fn add_item(
    text: &mut LongText,
    lines: &mut Vec<(Item, usize)>,
    draft: &Draft,
    item: Item,
    line: &str,
    changed: bool,
) {
    let chosen = draft.is_chosen(&item);
    let mark = if chosen { "› " } else { "  " };
    let tone = match (changed, chosen) {
        (true, _) => Tone::Warning,
        (false, true) => Tone::Strong,
        (false, false) => Tone::Plain,
    };
    if !lines.iter().any(|(other, _)| *other == item) {
        lines.push((item, text.line_count()));
    }
    text.add(&format!("{mark}{line}"), Kind::Toned(tone));
}

fn padded(name: &str, cells: usize) -> String {
    format!("{name}{}", " ".repeat(cells.saturating_sub(wrap::cells(name))))
}
