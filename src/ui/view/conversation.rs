//! The conversation's rows.

use crate::domain::event::{Level, Timestamp};
use crate::story::{Body, Call, Doing, Entry, Story};

use super::super::conversation_pane::{Item, gap};
use super::super::layout::Focus;
use super::super::paint::{Row, Tone, piece};
use super::super::screen::{Answers, Screen};
use super::words;

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
                    let mut row = self::entry(story, screen, entry, item, row, now);
                    row.selected = picked == Some(index);
                    row
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
            let (sign, tone) = match notice.level {
                Level::Info => ("·", Tone::Quiet),
                Level::Warning => ("⚠", Tone::Warning),
                Level::Error => ("✗", Tone::Bad),
            };
            signed(sign, row, text, tone, tone)
        }
        Body::Call(call) => match story.child_of_entry(entry) {
            Some(node) => {
                let (state, tone) = words::doing_short(node.doing(now), screen.lang);
                let row = Row::of("   ⤷ ", Tone::Quiet).and(words::name(node), Tone::Child);
                if node.never_ran() && node.task.is_none() {
                    row.and(format!(" {state}"), tone).and(about(&node.description), Tone::Plain)
                } else {
                    row.and(format!(" · {state}"), tone)
                }
            }
            None => own_call(call, story.is_running(), screen, now),
        },
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

fn own_call(call: &Call, live: bool, screen: &Screen, now: Timestamp) -> Row {
    let (outcome, tone) = words::outcome(call, live, screen.lang, now);
    let what = format!("{} {}", call.name, call.summary());
    Row {
        left: vec![piece("   ▪ ", Tone::Quiet), piece(what.trim_end(), Tone::Plain)],
        right: vec![piece(format!("{outcome} "), tone)],
        selected: false,
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
        (Doing::Calling { .. }, Some(node)) => {
            (words::waiting_for(story, node, screen.lang), Tone::Plain)
        }
        (doing, _) => words::doing(doing, screen.lang, now),
    };
    Row::of(format!(" {} ", words::spinner(now)), Tone::Child)
        .and(state, tone)
        .right(format!("{} ", words::clock(run.elapsed_ms(now))), Tone::Quiet)
}

fn signed(sign: &str, row: usize, text: &str, sign_tone: Tone, tone: Tone) -> Row {
    let sign = if row == 0 { sign } else { " " };
    Row::of(format!(" {sign} "), sign_tone).and(text, tone)
}
