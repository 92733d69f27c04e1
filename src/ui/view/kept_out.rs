//! What delegation kept out of a context, what it has spared so far and what it used: each figure with
//! how it is reckoned, so that nobody takes one for another.

use crate::story::{Node, Story, Worth};

use super::super::lang::Lang;
use super::super::overlay::Paragraph;
use super::super::paint::Tone;
use super::words;

/// Of one ended child; nothing while it runs.
pub fn of_child(story: &Story, node: &Node, lang: Lang) -> Vec<Paragraph> {
    let Some(worth) = story.worth_of(node.id) else { return Vec::new() };
    let whose = match node.parent.and_then(|above| story.delegations().get(above)?.task) {
        Some(task) => match lang {
            Lang::En => format!("out of the context of #{}", task.0),
            Lang::Zh => format!("未进入 #{} 的上下文", task.0),
        },
        None => lang.pick("out of the conversation", "未进入对话").to_owned(),
    };
    let mut page = vec![Paragraph::heading(lang.pick("Kept out", "省下"))];
    page.extend(figures(&worth, &whose, lang));
    page.push(Paragraph::gap());
    page
}

/// Of the whole session; nothing before a child has ended.
pub fn of_session(story: &Story, lang: Lang) -> Vec<Paragraph> {
    let whose = lang.pick("out of the conversation", "未进入对话");
    story.worth().map(|worth| figures(&worth, whose, lang)).unwrap_or_default()
}

fn figures(worth: &Worth, whose: &str, lang: Lang) -> Vec<Paragraph> {
    let how = lang.pick(
        "a child's last prompt - its first - its report",
        "子代理最后一次提示 - 第一次提示 - 报告",
    );
    let kept = format!("{} {whose} ({how})", signed(worth.kept_out));
    let how = lang.pick(
        "the same, once for each later request that would have carried it",
        "同上，按其后本会携带它的每次请求各计一次",
    );
    let spared = format!("{} ({how})", signed(worth.spared));
    let cost = worth
        .used
        .cost_usd
        .map_or_else(|| lang.pick("cost unknown", "费用未知").to_owned(), |cost| cost.to_string());
    let how = lang.pick("all its requests and those below it", "其全部请求，含下级");
    let used = format!("{} · {cost} ({how})", words::tokens(worth.used_tokens()));
    let mut page = vec![
        Paragraph::named(lang.pick("kept out", "省下"), kept),
        Paragraph::named(lang.pick("spared so far", "至今节省"), spared),
        Paragraph::named(lang.pick("used for it", "为此用去"), used),
    ];
    if worth.costs_more() {
        let text = lang.pick(
            "Delegation has used more tokens than it has spared so far.",
            "至今委派用去的词元多于它节省的。",
        );
        page.push(Paragraph::plain(text).toned(Tone::Warning));
    }
    page
}

/// Below zero, a report is longer than what it stands for.
fn signed(tokens: i64) -> String {
    let sign = if tokens < 0 { "-" } else { "" };
    format!("{sign}{}", words::tokens(tokens.unsigned_abs()))
}
