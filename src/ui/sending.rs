//! What becomes of a text that is sent: a message, a command of the user's own, a slash command.

use crate::domain::approval::Mode;
use crate::domain::command::Command;
use crate::domain::event::Timestamp;
use crate::domain::ids::TaskId;
use crate::story::Story;

use super::answer::reopen_oldest;
use super::cancel::{cancel, cancel_active};
use super::composer::Edit;
use super::msg::Effect;
use super::overlay::{Overlay, Page};
use super::paint::Tone;
use super::screen::Screen;
use super::slash::{self, Refused, Slash};
use super::steering;
use super::view::words::budget_words;

/// Sends a user's message: it is shown as waiting until the history has it.
pub(super) fn submit(screen: &mut Screen, text: String) -> Effect {
    screen.pending.push_back(text.clone());
    screen.conversation.follow();
    Effect::Send(Command::Submit { text })
}

/// The command of a text that runs one: `!cargo test`. A lone mark runs nothing.
pub(super) fn own_command(text: &str) -> Option<&str> {
    let command = text.trim_start().strip_prefix('!')?.trim();
    (!command.is_empty()).then_some(command)
}

/// Asks for a permission mode; the screen shows it once it holds.
pub(super) fn set_mode(screen: &mut Screen, mode: Mode) -> Effect {
    screen.asked_mode = Some(mode);
    Effect::Send(Command::SetMode { mode })
}

fn say(screen: &mut Screen, text: String) -> Effect {
    let Some(command) = own_command(&text).map(str::to_owned) else {
        return submit(screen, text);
    };
    screen.pending.push_back(format!("! {command}"));
    screen.conversation.follow();
    Effect::Send(Command::Shell { command })
}

/// Sends the input: a message, a command of the user's own, or a slash command.
pub(super) fn send(screen: &mut Screen, story: &Story, now: Timestamp) -> Vec<Effect> {
    if screen.composer.continues() {
        screen.composer.edit(Edit::Backspace);
        screen.composer.edit(Edit::Newline);
        return Vec::new();
    }
    let text = screen.composer.text();
    let lang = screen.lang;
    if text.trim() == "!" {
        let words = lang.pick(
            "`!` runs a command of your own: !cargo test",
            "`!` 运行你自己的命令：!cargo test",
        );
        screen.say(words, Tone::Warning, now);
        return Vec::new();
    }
    match slash::read(&text, lang) {
        // What was refused stays, so that it can be put right.
        Some(Err(Refused(words))) => {
            screen.say(words, Tone::Warning, now);
            Vec::new()
        }
        Some(Ok(command)) => {
            screen.composer.take();
            run(screen, story, command, now)
        }
        None => match screen.composer.take() {
            Some(text) => vec![say(screen, text)],
            None => Vec::new(),
        },
    }
}

fn run(screen: &mut Screen, story: &Story, command: Slash, now: Timestamp) -> Vec<Effect> {
    let lang = screen.lang;
    match command {
        Slash::Permissions(None) => screen.overlay = Some(Overlay::new(Page::Permissions)),
        Slash::Permissions(Some(mode)) => return vec![set_mode(screen, mode)],
        Slash::Preflight(policy) => {
            return vec![Effect::Send(Command::SetPreflight { policy })];
        }
        Slash::Pin { name, text, local_only } => {
            return vec![Effect::Send(Command::Pin { name, text, local_only })];
        }
        Slash::Context => screen.overlay = Some(Overlay::new(Page::Context)),
        Slash::Approve => reopen_oldest(screen, story, now),
        Slash::Diff(Some(task)) if story.delegations().of_task(task).is_none() => {
            no_child(screen, task, now);
        }
        Slash::Diff(task) => {
            screen.asked_diff = true;
            return vec![Effect::Send(Command::Diff { task })];
        }
        Slash::Help => screen.overlay = Some(Overlay::new(Page::Help)),
        Slash::Quit => return vec![Effect::Quit],
        Slash::Compact => return vec![Effect::Send(Command::Compact)],
        Slash::Model(None) => return vec![Effect::Send(Command::ListModels)],
        Slash::Model(Some(model)) => return vec![Effect::Send(Command::SetModel { model })],
        Slash::Stop if story.is_stoppable() => return vec![Effect::Send(Command::Stop)],
        Slash::Stop => {
            screen.say(lang.pick("nothing is running", "没有正在运行的任务"), Tone::Plain, now);
        }
        Slash::Steer { whom, steer } => return steering::asked(screen, story, whom, steer, now),
        Slash::Cancel(None) => return cancel_active(screen, story, now),
        Slash::Cancel(Some(task)) => {
            if let Some(node) = story.delegations().of_task(task) {
                return cancel(screen, node, now);
            }
            no_child(screen, task, now);
        }
        Slash::Delegate { role, text } => {
            let words = role.iter().chain([&text]).map(String::as_str).collect::<Vec<_>>();
            screen.pending.push_back(format!("/delegate {}", words.join(" ")));
            screen.conversation.follow();
            return vec![Effect::Send(Command::Delegate { role, text })];
        }
        Slash::Budget(None) => screen.overlay = Some(Overlay::new(Page::Ledger)),
        Slash::Budget(Some(budget)) => {
            let words = lang.pick("from the next answer on:", "自下一次回答起：");
            screen.say(format!("{words} {}", budget_words(budget, lang)), Tone::Good, now);
            screen.next_budget = Some(budget);
            return vec![Effect::Send(Command::SetBudget { budget })];
        }
    }
    Vec::new()
}

fn no_child(screen: &mut Screen, task: TaskId, now: Timestamp) {
    let words = screen.lang.pick("there is no child", "没有子代理");
    screen.say(format!("{words} #{}", task.0), Tone::Warning, now);
}
