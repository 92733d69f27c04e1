//! The children's rows: a tree, and under each child what it does right now.

use ratatui::layout::Rect;

use crate::domain::event::{ContractView, Timestamp};
use crate::story::{Doing, Gauge, Node, NodeState, Story};

use super::super::child_lines::{self, Line};
use super::super::delegations_pane::{Filter, INDENT, Selected, indent};
use super::super::lang::Lang;
use super::super::layout::Focus;
use super::super::paint::{Row, Tone, piece};
use super::super::screen::Screen;
use super::{changes, gauge, remark, words};

/// The rows that are in view.
pub fn rows(story: &Story, screen: &Screen, area: Rect, now: Timestamp) -> Vec<Row> {
    let mut rows = shown(story, screen, now);
    if rows.is_empty() && !area.is_empty() {
        rows.push(Row::of(format!(" {}", nothing(story, screen)), Tone::Quiet));
    }
    rows
}

/// Why there is nothing to show, and how there would be.
fn nothing(story: &Story, screen: &Screen) -> &'static str {
    let lang = screen.lang;
    match screen.delegations.filter {
        _ if story.delegations().nodes().is_empty() => {
            lang.pick("nothing delegated yet", "尚无委派")
        }
        Filter::All => "",
        Filter::Live => lang.pick(
            "no child is live · f: failed ones, f f: all",
            "没有运行中的子代理 · f：失败的，f f：全部",
        ),
        Filter::Failed => lang.pick("no child failed · f: all", "没有失败的子代理 · f：全部"),
    }
}

fn shown(story: &Story, screen: &Screen, now: Timestamp) -> Vec<Row> {
    let selected = screen.delegations.selected();
    let row = |(node, line): (&Node, Line)| {
        let this = Selected { node: node.id, line };
        let depth = story.delegations().depth(node.id);
        let mut row = self::row(story, screen, node, line, depth, now);
        let is_selected = selected == Some(this);
        row.selected = is_selected && screen.focus == Focus::Delegations;
        let is_chosen = selected.is_some_and(|selected| selected.node == node.id);
        if line == Line::Header && is_chosen && screen.focus != Focus::Delegations {
            row.left.insert(0, piece("▌", Tone::Child));
        } else {
            row.left.insert(0, piece(" ", Tone::Plain));
        }
        row
    };
    screen.delegations.page(story).map(row).collect()
}

fn row(
    story: &Story,
    screen: &Screen,
    node: &Node,
    line: Line,
    depth: usize,
    now: Timestamp,
) -> Row {
    let blank = " ".repeat(indent(depth) + INDENT);
    let inner = |text: &str, tone: Tone| Row::of(format!("{blank} {text}"), tone);
    match line {
        Line::Header => header(story, screen, node, depth, now),
        Line::Gauge => match &node.run {
            Some(run) => {
                // The mark of what is selected takes a cell.
                let width = screen.delegations.width().saturating_sub(1);
                gauge::row(&Gauge::of(run, now), &format!("{blank} "), width, screen.lang)
            }
            None => Row::default(),
        },
        Line::Gets => match &node.run {
            Some(run) => inner(&gets(&run.contract, screen), Tone::Quiet),
            None => Row::default(),
        },
        Line::Runaway => match node.runaway() {
            Some(runaway) => {
                let how = how_to_cancel(screen, node);
                inner(&words::runaway(runaway, &how, screen.lang), Tone::Warning)
            }
            None => Row::default(),
        },
        Line::Earlier => {
            let earlier = screen.delegations.earlier_calls(node.id);
            let words = match screen.lang {
                Lang::En => format!("… {earlier} earlier calls (Enter: all)"),
                Lang::Zh => format!("… 之前还有 {earlier} 次调用（Enter 显示全部）"),
            };
            inner(&words, Tone::Quiet)
        }
        Line::Call(index) => match node.calls.get(index) {
            Some(call) => {
                let (outcome, tone) = words::outcome(call, node.is_live(), screen.lang, now);
                let what = format!("{} {}", call.name, call.summary());
                Row::of(format!("{blank} "), Tone::Plain)
                    .and("[子] ", Tone::Child)
                    .and(what.trim_end(), Tone::Plain)
                    .right(format!("{outcome} "), tone)
            }
            None => Row::default(),
        },
        Line::Tail(row) => {
            let lines = child_lines::tail(node);
            inner(&format!("│ {}", lines.get(row).unwrap_or(&"")), Tone::Quiet)
        }
        Line::Changed => changed(node, screen, &blank),
        Line::Notice(index) => match node.notices.get(index) {
            Some(notice) => {
                let (sign, tone) = remark::sign(notice.level);
                inner(&format!("{sign} {}", remark::notice(notice, screen.lang)), tone)
            }
            None => Row::default(),
        },
        Line::Words(_) | Line::Report(_) => {
            inner(screen.delegations.text(node.id, line), Tone::Plain)
        }
        Line::State => {
            let doing = node.doing(now);
            let (mut state, tone) = words::doing(doing, screen.lang, now);
            if let Doing::Asking { .. } = doing {
                state.extend(words::put_off_of_child(story, screen, node));
            }
            inner(&state, tone)
        }
        Line::Tally => inner(&tally(node, screen), Tone::Quiet),
    }
}

fn header(story: &Story, screen: &Screen, node: &Node, depth: usize, now: Timestamp) -> Row {
    let open = screen.delegations.is_open(story.delegations(), node);
    let fold = if open { "▾" } else { "▸" };
    let (sign, sign_tone) = match &node.state {
        NodeState::Queued { .. } => ("◌", Tone::Quiet),
        NodeState::AskedAbout => ("?", Tone::Warning),
        NodeState::Running if node.asks() => ("?", Tone::Warning),
        NodeState::Running if node.runaway().is_some() => (words::spinner(now), Tone::Warning),
        NodeState::Running => (words::spinner(now), Tone::Child),
        NodeState::Ended(end) => words::sign(end),
    };
    let mut row = Row::of(format!("{}{fold} ", " ".repeat(indent(depth))), Tone::Plain)
        .and(format!("{sign} "), sign_tone)
        .and(words::name(node), Tone::Strong);
    if node.needs_review() {
        row = row.and(format!(" · {}", changes::needs_review(screen.lang)), Tone::Warning);
    }
    if !node.description.is_empty() {
        row = row.and(format!("  {}", node.description), Tone::Plain);
    }
    match &node.state {
        NodeState::Running => {
            row.right(format!("{} ", words::clock(node.elapsed_ms(now))), Tone::Plain)
        }
        NodeState::Queued { .. } | NodeState::AskedAbout => {
            let (mut state, tone) = words::doing(node.doing(now), screen.lang, now);
            state.extend(words::put_off_of_child(story, screen, node));
            row.right(format!("{state} "), tone)
        }
        NodeState::Ended(end) => {
            let (state, tone) = words::ended(end, screen.lang);
            let turns = node.run.as_ref().map_or_else(String::new, |run| format!(" {}t", run.turn));
            row.right(format!("{state}{turns} "), tone)
        }
    }
}

/// The files that a child changed, and whether anybody vouches for them.
fn changed(node: &Node, screen: &Screen, blank: &str) -> Row {
    let Some(changed) = node.changed() else { return Row::default() };
    let mut row = Row::of(format!("{blank} "), Tone::Plain);
    if node.needs_review() {
        row = row.and(format!("⚠ {}: ", changes::needs_review(screen.lang)), Tone::Warning);
    }
    row.and(changes::line(changed, screen.lang), Tone::Plain)
}

/// The key that cancels this very child from here, or the command that does so from anywhere.
fn how_to_cancel(screen: &Screen, node: &Node) -> String {
    let selected = screen.delegations.selected().is_some_and(|selected| selected.node == node.id);
    match node.task {
        _ if selected && screen.focus == Focus::Delegations => "x".to_owned(),
        _ if selected => "^X".to_owned(),
        Some(task) => format!("/cancel #{}", task.0),
        None => "^X".to_owned(),
    }
}

/// What the child got, in one line: Enter on it shows all.
fn gets(contract: &ContractView, screen: &Screen) -> String {
    let lang = screen.lang;
    let keys: Vec<String> = contract
        .context
        .iter()
        .map(|card| format!("{} {} {}", card.key, words::bytes(card.bytes), card.sha256.short()))
        .collect();
    let keys = if keys.is_empty() {
        lang.pick("no context", "无上下文").to_owned()
    } else {
        keys.join(", ")
    };
    let paths: Vec<String> = contract.paths.iter().map(ToString::to_string).collect();
    let (gets, to) = (lang.pick("gets", "获得"), lang.pick("to", "发往"));
    let place = if contract.provider == contract.model {
        contract.provider.clone()
    } else {
        format!("{} {}", contract.provider, contract.model)
    };
    format!(
        "{gets} {keys} · {} {} · {} · {to} {place}",
        lang.pick("in", "范围"),
        paths.join(" "),
        contract.tools.join(" ")
    )
}

fn tally(node: &Node, screen: &Screen) -> String {
    let Some(report) = &node.report else { return String::new() };
    let lang = screen.lang;
    let verified = report.evidence.iter().filter(|evidence| evidence.verified).count();
    let mut parts = vec![format!(
        "{} {verified}/{}",
        lang.pick("evidence verified", "证据核实"),
        report.evidence.len()
    )];
    if !report.warnings.is_empty() {
        parts.push(format!("{} {}", lang.pick("warnings", "警告"), report.warnings.len()));
    }
    parts.push(lang.pick("Enter: all of it", "Enter 查看全部").to_owned());
    parts.join(" · ")
}
