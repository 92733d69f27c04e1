//! The conversation's rows.

use crate::domain::event::Timestamp;
use crate::story::{Asker, Body, Call, Doing, Entry, Node, Story};

use super::super::conversation_pane::{Item, gap};
use super::super::lang::Lang;
use super::super::layout::Focus;
use super::super::paint::{Row, Tone, piece};
use super::super::screen::{Answers, Screen};
use super::{changes, remark, words};

/// The rows that are in view.
pub fn rows(story: &Story, screen: &Screen, now: Timestamp) -> Vec<Row> {
    let picked = match screen.focus {
        Focus::Conversation => screen.conversation.picked(story),
        Focus::Delegations | Focus::Composer => None,
    };
    let row = |(item, row): (Item, usize)| {
        let Some(row) = row.checked_sub(gap(story, item)) else { return Row::default() };
        match item {
            Item::Intro => {
                let text = screen.conversation.text(item, row);
                let tone = match screen.answers {
                    Answers::Model => Tone::Quiet,
                    Answers::Script | Answers::Search => Tone::Warning,
                };
                Row::of(format!("   {text}"), tone)
            }
            Item::Entry(index) => match story.entries().get(index) {
                Some(entry) => {
                    let mut shown = self::entry(story, screen, entry, item, row, now);
                    shown.selected = row == 0 && picked == Some(index);
                    shown
                }
                None => Row::default(),
            },
            Item::Pending(_) => pending(story, screen, item, row),
            Item::Activity => activity(story, screen, now),
        }
    };
    screen.conversation.page().map(row).collect()
}

fn entry(
    story: &Story,
    screen: &Screen,
    entry: &Entry,
    item: Item,
    row: usize,
    now: Timestamp,
) -> Row {
    let text = screen.conversation.text(item, row);
    match &entry.body {
        Body::User { .. } => signed("❯", row, text, Tone::Strong, Tone::Strong),
        Body::Assistant(_) => signed("●", row, text, Tone::Good, Tone::Plain),
        Body::Notice(notice) => {
            let (sign, tone) = remark::sign(notice.level);
            signed(sign, row, text, tone, tone)
        }
        Body::Call(call) if row > 0 => match call.tail().get(row - 1) {
            Some(line) => Row::of("     │ ", Tone::Quiet).and(line, tail_tone(call, line)),
            None => Row::default(),
        },
        Body::Call(call) if call.is_own() => own_command(call, screen, now),
        Body::Call(call) => match story.child_of_entry(entry) {
            Some(node) => {
                let (state, tone) = words::doing_short(node.doing(now), screen.lang);
                let row = Row::of("   ⤷ ", Tone::Quiet).and(words::name(node), Tone::Child);
                if node.never_ran() && node.task.is_none() {
                    row.and(format!(" {state}"), tone).and(about(&node.description), Tone::Plain)
                } else {
                    review(row.and(format!(" · {state}"), tone), node, screen.lang)
                }
            }
            None => own_call(call, story, screen, now),
        },
        Body::Changed(changed) => Row::of(" ± ", Tone::Strong)
            .and(changes::line(changed, screen.lang), Tone::Plain)
            .right("/diff ", Tone::Quiet),
        Body::Ended(end) => {
            let (state, tone) = words::ended(end, screen.lang);
            let answer = screen.lang.pick("answer", "回答");
            Row::of(format!(" ■ {answer} {state}"), tone)
        }
    }
}

fn about(description: &str) -> String {
    if description.is_empty() { String::new() } else { format!(" · {description}") }
}

/// That a child which did not complete left changed files behind.
fn review(row: Row, node: &Node, lang: Lang) -> Row {
    match node.changed().filter(|_| node.needs_review()) {
        Some(changed) => {
            let words = changes::needs_review(lang);
            let files = changes::line(changed, lang);
            row.and(format!(" · {words}"), Tone::Warning).and(format!(" · {files}"), Tone::Plain)
        }
        None => row,
    }
}

/// A command that the user typed: as it was typed, and what came of it.
fn own_command(call: &Call, screen: &Screen, now: Timestamp) -> Row {
    let (outcome, tone) = words::outcome(call, true, screen.lang, now);
    let command = call.arguments.get("command").and_then(serde_json::Value::as_str);
    Row {
        left: vec![piece(" ! ", Tone::Strong), piece(command.unwrap_or_default(), Tone::Strong)],
        right: vec![piece(format!("{outcome} "), tone)],
        selected: false,
    }
}

fn own_call(call: &Call, story: &Story, screen: &Screen, now: Timestamp) -> Row {
    let (outcome, tone) = words::outcome(call, story.is_running(), screen.lang, now);
    let what = if call.is_list() {
        let done = call.items().filter(|item| item.starts_with("[x]")).count();
        format!("{} {done}/{}", call.name, call.items().count())
    } else {
        format!("{} {}", call.name, call.summary())
    };
    Row {
        left: vec![piece("   ▪ ", Tone::Quiet), piece(what.trim_end(), Tone::Plain)],
        right: vec![piece(format!("{outcome} "), tone)],
        selected: false,
    }
}

/// In a list of what is to be done the item in progress stands out, and what is done does not.
fn tail_tone(call: &Call, line: &str) -> Tone {
    match line.get(..3) {
        Some("[>]") if call.is_list() => Tone::Strong,
        Some("[ ]") if call.is_list() => Tone::Plain,
        _ => Tone::Quiet,
    }
}

fn pending(story: &Story, screen: &Screen, item: Item, row: usize) -> Row {
    let text = screen.conversation.text(item, row);
    let line = signed("❯", row, text, Tone::Quiet, Tone::Quiet);
    if row == 0 && story.is_running() {
        line.right(screen.lang.pick("queued ", "排队中 "), Tone::Quiet)
    } else {
        line
    }
}

fn activity(story: &Story, screen: &Screen, now: Timestamp) -> Row {
    let Some(run) = story.parent() else { return Row::default() };
    let child = story.parent_call().and_then(|call| story.delegations().get(call.child?));
    let (state, tone) = match (run.doing(story.parent_call(), now), child) {
        (Doing::Calling { .. }, Some(node)) => waiting_for(story, node, screen),
        (doing, _) => {
            let (mut state, tone) = words::doing(doing, screen.lang, now);
            if let Doing::Asking { call: Some(call), .. } = doing {
                state.extend(words::put_off(story, screen, Asker::Parent, call));
            }
            (state, tone)
        }
    };
    Row::of(format!(" {} ", words::spinner(now)), Tone::Child)
        .and(state, tone)
        .right(format!("{} ", words::clock(run.elapsed_ms(now))), Tone::Quiet)
}

/// What the parent waits for: its children, or with all of them a person.
fn waiting_for(story: &Story, node: &Node, screen: &Screen) -> (String, Tone) {
    let lang = screen.lang;
    let words = words::waiting_for(story, node, lang);
    let questions = story.approvals().len();
    match (questions, screen.questions.put_off(), lang) {
        (0, _, _) => (words, Tone::Plain),
        (asked, 0, Lang::En) => (format!("{words} · {asked} asking you"), Tone::Warning),
        (asked, 0, Lang::Zh) => (format!("{words} · {asked} 个请求批准"), Tone::Warning),
        (_, later, Lang::En) => (format!("{words} · {later} put off: /approve"), Tone::Warning),
        (_, later, Lang::Zh) => (format!("{words} · {later} 个已推迟：/approve"), Tone::Warning),
    }
}

fn signed(sign: &str, row: usize, text: &str, sign_tone: Tone, tone: Tone) -> Row {
    let sign = if row == 0 { sign } else { " " };
    Row::of(format!(" {sign} "), sign_tone).and(text, tone)
}
