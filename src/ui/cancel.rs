//! What cancels a child, and what stops everything: by key or by command, never without being asked
//! for.

use crate::domain::command::Command;
use crate::domain::event::Timestamp;
use crate::story::{Doing, Node, NodeId, Story};

use super::layout::Focus;
use super::msg::Effect;
use super::overlay::Overlay;
use super::paint::Tone;
use super::screen::Screen;
use super::update::focus;

/// The child that a cancel without a number means: the one that is looked at or selected, if it is
/// live, else the newest live one.
pub(super) fn active<'a>(screen: &Screen, story: &'a Story) -> Option<&'a Node> {
    let looked_at = screen.overlay.as_ref().and_then(Overlay::node);
    let selected = screen.delegations.selected().map(|selected| selected.node);
    let live = |id: NodeId| story.delegations().get(id).filter(|node| node.is_live());
    let chosen = looked_at.and_then(live).or_else(|| selected.and_then(live));
    chosen.or_else(|| story.delegations().newest_live())
}

pub(super) fn cancel_active(screen: &mut Screen, story: &Story, now: Timestamp) -> Vec<Effect> {
    if let Some(node) = active(screen, story) {
        return cancel(screen, node, now);
    }
    let words =
        screen.lang.pick("no child is running: nothing to cancel", "没有运行中的子代理可取消");
    screen.say(words, Tone::Warning, now);
    Vec::new()
}

pub(super) fn cancel_selected(screen: &mut Screen, story: &Story, now: Timestamp) -> Vec<Effect> {
    screen.delegations.select_something(story);
    let selected = screen.delegations.selected();
    match selected.and_then(|selected| story.delegations().get(selected.node)) {
        Some(node) => cancel(screen, node, now),
        None => cancel_active(screen, story, now),
    }
}

pub(super) fn cancel(screen: &mut Screen, node: &Node, now: Timestamp) -> Vec<Effect> {
    let lang = screen.lang;
    let name = node.task.map_or_else(|| "task".to_owned(), |task| format!("#{}", task.0));
    if !node.is_live() {
        screen.say(format!("{name} {}", lang.pick("has ended", "已结束")), Tone::Plain, now);
        return Vec::new();
    }
    if matches!(node.doing(now), Doing::Cancelling { .. }) {
        let words = lang.pick("is already being cancelled", "已在取消");
        screen.say(format!("{name} {words}"), Tone::Plain, now);
        return Vec::new();
    }
    let Some(task) = node.task else { return Vec::new() };
    let words = lang.pick("asked to cancel", "已请求取消");
    screen.say(format!("{words} {name}"), Tone::Warning, now);
    vec![Effect::Send(Command::CancelTask { task })]
}

pub(super) fn escape(screen: &mut Screen, story: &Story, now: Timestamp) -> Vec<Effect> {
    if screen.overlay.take().is_some() {
        screen.question = None;
        return Vec::new();
    }
    if screen.focus == Focus::Delegations {
        screen.question = None;
        focus(screen, story, Focus::Composer);
        return Vec::new();
    }
    if story.is_stoppable() {
        return ask_or_stop(screen, now);
    }
    screen.question = None;
    focus(screen, story, Focus::Composer);
    Vec::new()
}

pub(super) fn ask_or_stop(screen: &mut Screen, now: Timestamp) -> Vec<Effect> {
    if screen.question.take().is_some() {
        let words = screen.lang.pick("asked to stop everything", "已请求全部停止");
        screen.say(words, Tone::Warning, now);
        return vec![Effect::Send(Command::Stop)];
    }
    screen.question = Some(now);
    Vec::new()
}

pub(super) fn interrupt(screen: &mut Screen, story: &Story, now: Timestamp) -> Vec<Effect> {
    if screen.interrupted.replace(now).is_some() {
        return vec![Effect::Quit];
    }
    let lang = screen.lang;
    if !screen.composer.is_empty() {
        screen.composer.clear();
        screen.question = None;
        screen.say(lang.pick("^C again quits", "再按 ^C 退出"), Tone::Plain, now);
        return Vec::new();
    }
    if story.is_stoppable() {
        return ask_or_stop(screen, now);
    }
    screen.say(lang.pick("^C again quits", "再按 ^C 退出"), Tone::Plain, now);
    Vec::new()
}
