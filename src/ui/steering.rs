//! What pauses, wraps up, extends or tells a run, by key or by command. Whether that can be is the
//! session's to say; what is known here to be pointless is not sent.

use crate::domain::command::{Command, Steer, Target};
use crate::domain::event::Timestamp;
use crate::domain::ids::TaskId;
use crate::story::{Node, Story};

use super::cancel::active;
use super::keymap::Push;
use super::lang::Lang;
use super::layout::Focus;
use super::msg::Effect;
use super::paint::Tone;
use super::screen::Screen;
use super::update::focus;

/// Whom a command steers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// The active child, else the answer.
    Active,
    /// The answer: `#0`.
    Parent,
    /// This child.
    Task(TaskId),
}

/// A key steers the selected child, or begins a message to it.
pub(super) fn pushed(
    screen: &mut Screen,
    story: &Story,
    push: Push,
    now: Timestamp,
) -> Vec<Effect> {
    screen.delegations.select_something(story);
    let selected = screen.delegations.selected();
    let node = selected.and_then(|selected| story.delegations().get(selected.node));
    let Some((node, task)) = node.and_then(|node| Some((node, node.task?))) else {
        let words = screen.lang.pick("no child is selected", "未选中子代理");
        screen.say(words, Tone::Warning, now);
        return Vec::new();
    };
    let steer = match push {
        Push::Pause => Steer::Pause,
        Push::WrapUp => Steer::WrapUp,
        Push::Extend => Steer::Extend,
        Push::Message => {
            if is_live(screen, node, task, now) {
                write_to(screen, story, task, now);
            }
            return Vec::new();
        }
    };
    to_child(screen, node, task, steer, now)
}

/// A command steers whom it names.
pub(super) fn asked(
    screen: &mut Screen,
    story: &Story,
    whom: Whom,
    steer: Steer,
    now: Timestamp,
) -> Vec<Effect> {
    let lang = screen.lang;
    let node = match whom {
        Whom::Active => active(screen, story),
        Whom::Parent => None,
        Whom::Task(task) => {
            let Some(node) = story.delegations().of_task(task) else {
                let words = lang.pick("there is no child", "没有子代理");
                screen.say(format!("{words} #{}", task.0), Tone::Warning, now);
                return Vec::new();
            };
            Some(node)
        }
    };
    if let Some((node, task)) = node.and_then(|node| Some((node, node.task?))) {
        return to_child(screen, node, task, steer, now);
    }
    if !story.is_running() {
        screen.say(lang.pick("nothing is running", "没有正在运行的任务"), Tone::Plain, now);
        return Vec::new();
    }
    let paused = story.parent().is_some_and(|run| run.paused.is_some());
    say_asked(screen, lang.pick("the answer", "回答"), &steer, paused, now);
    if let Steer::Tell { text } = &steer {
        screen.pending.push_back(text.clone());
        screen.conversation.follow();
    }
    vec![Effect::Send(Command::Steer { target: Target::Parent, steer })]
}

fn to_child(
    screen: &mut Screen,
    node: &Node,
    task: TaskId,
    steer: Steer,
    now: Timestamp,
) -> Vec<Effect> {
    if !is_live(screen, node, task, now) {
        return Vec::new();
    }
    let paused = node.run.as_ref().is_some_and(|run| run.paused.is_some());
    say_asked(screen, &format!("#{}", task.0), &steer, paused, now);
    vec![Effect::Send(Command::Steer { target: Target::Task(task), steer })]
}

fn is_live(screen: &mut Screen, node: &Node, task: TaskId, now: Timestamp) -> bool {
    if !node.is_live() {
        let words = screen.lang.pick("has ended", "已结束");
        screen.say(format!("#{} {words}", task.0), Tone::Plain, now);
    }
    node.is_live()
}

/// A message begins in the input, unless something unsent stands there.
fn write_to(screen: &mut Screen, story: &Story, task: TaskId, now: Timestamp) {
    if screen.composer.is_empty() {
        screen.composer.set(&format!("/tell #{} ", task.0));
    } else {
        let words = screen.lang.pick(
            "the input holds unsent text: send or clear it first",
            "输入框有未发送的内容：请先发送或清空",
        );
        screen.say(words, Tone::Warning, now);
    }
    focus(screen, story, Focus::Composer);
}

fn say_asked(screen: &mut Screen, name: &str, steer: &Steer, paused: bool, now: Timestamp) {
    let words = match (screen.lang, steer) {
        (Lang::En, Steer::Pause) if paused => format!("{name} goes on"),
        (Lang::Zh, Steer::Pause) if paused => format!("{name} 继续"),
        (Lang::En, Steer::Pause) => format!("{name} is to pause after what it does now"),
        (Lang::Zh, Steer::Pause) => format!("{name} 做完当前一步后暂停"),
        (Lang::En, Steer::WrapUp) => format!("{name} is to report in its next turn"),
        (Lang::Zh, Steer::WrapUp) => format!("{name} 下一轮汇报并结束"),
        (Lang::En, Steer::Extend) => format!("asked to extend {name} by half"),
        (Lang::Zh, Steer::Extend) => format!("已请求将 {name} 的预算增加一半"),
        (Lang::En, Steer::Tell { .. }) => format!("{name} reads it before its next turn"),
        (Lang::Zh, Steer::Tell { .. }) => format!("{name} 下一轮前读到"),
    };
    screen.say(words, Tone::Good, now);
}
