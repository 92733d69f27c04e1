//! What an event changes on the screen beside the story: what waited to be sent was sent, what was
//! asked for has come.

use serde_json::Value;

use crate::domain::approval::Mode;
use crate::domain::event::{Event, Fact, Speaker, Timestamp};
use crate::domain::preflight::PreflightPolicy;
use crate::story::{DIFF, Story};

use super::long_text::{Kind, LongText};
use super::overlay::{Overlay, Page};
use super::paint::Tone;
use super::screen::Screen;
use super::sending::own_command;
use super::view::{preflight, words};

/// The notice that what waited to be sent was let go.
const UNSENT: &str = "UNSENT";
/// The notice that a command of the user's own was refused because one runs already.
const SHELL_BUSY: &str = "SHELL_BUSY";

/// Takes note of what an event changes on the screen beside the story.
pub(super) fn happened(screen: &mut Screen, story: &Story, event: &Event, now: Timestamp) {
    let of_child = event.origin.task.is_some();
    match &event.fact {
        Fact::Message(message) if message.role == Speaker::User && !of_child => {
            let same = screen.pending.iter().position(|text| *text == message.text);
            // A `/delegate` reaches the history in other words; it is the oldest one then.
            let is_message = |text: &String| own_command(text).is_none();
            let index = same.or_else(|| screen.pending.iter().position(is_message));
            index.and_then(|index| screen.pending.remove(index));
        }
        Fact::RunFinished(_) if !of_child => {
            if !story.is_stoppable() {
                screen.question = None;
            }
        }
        Fact::ToolFinished { .. } if event.origin.run.is_none() && !story.is_stoppable() => {
            screen.question = None;
        }
        Fact::Notice { code, .. } if code == UNSENT => take_back(screen),
        Fact::Notice { code, .. } if code == SHELL_BUSY => own_command_refused(screen),
        Fact::Notice { code, text, .. } if code == DIFF => show_diff(screen, text),
        Fact::ToolStarted { arguments, .. } if event.origin.run.is_none() => {
            own_command_came(screen, arguments);
        }
        Fact::ModeChanged { mode } => mode_changed(screen, *mode, now),
        Fact::PreflightChanged { policy } => preflight_changed(screen, *policy, now),
        // From here on it is the budget of the answer.
        Fact::RunStarted { depth: 0, .. } => screen.next_budget = None,
        Fact::SessionStarted { provider, model, .. } => screen.answered_by(provider, model),
        Fact::SessionFinished { .. }
        | Fact::RetryScheduled { .. }
        | Fact::Compacted { .. }
        | Fact::ContextAdded { .. }
        | Fact::TaskQueued { .. }
        | Fact::RunStarted { .. }
        | Fact::ContractRefused { .. }
        | Fact::TurnStarted { .. }
        | Fact::TextDelta { .. }
        | Fact::ReasoningDelta { .. }
        | Fact::Message(_)
        | Fact::ToolStarted { .. }
        | Fact::ToolProgress { .. }
        | Fact::ToolFinished { .. }
        | Fact::Usage { .. }
        | Fact::Notice { .. }
        | Fact::ApprovalRequested { .. }
        | Fact::ApprovalDecided { .. }
        | Fact::FilesChanged { .. }
        | Fact::CancelRequested { .. }
        | Fact::Paused { .. }
        | Fact::Resumed { .. }
        | Fact::WrapUpRequested { .. }
        | Fact::BudgetExtended { .. }
        | Fact::Steered { .. }
        | Fact::RunFinished(_)
        | Fact::Unknown => {}
    }
}

/// What was never sent goes back into the input, before what is being typed there.
fn take_back(screen: &mut Screen) {
    let (commands, mut texts): (Vec<String>, Vec<String>) =
        screen.pending.drain(..).partition(|text| own_command(text).is_some());
    screen.pending.extend(commands);
    if !screen.composer.is_empty() {
        texts.push(screen.composer.text());
    }
    screen.composer.set(&texts.join("\n"));
}

fn show_diff(screen: &mut Screen, text: &str) {
    if std::mem::take(&mut screen.asked_diff) {
        screen.overlay = Some(Overlay::long(Page::Diff, LongText::of(text, Kind::Diff)));
    }
}

/// The oldest command that waits with these words runs now; the conversation shows it.
fn own_command_came(screen: &mut Screen, arguments: &Value) {
    let command = arguments.get("command").and_then(Value::as_str);
    let same = |text: &String| own_command(text).is_some_and(|own| Some(own) == command);
    let any = |text: &String| own_command(text).is_some();
    let index = screen.pending.iter().position(same);
    let index = index.or_else(|| screen.pending.iter().position(any));
    index.and_then(|index| screen.pending.remove(index));
}

/// The newest command that waits was not taken. It goes back into the input, so that it can be sent
/// again, unless something is being typed there.
fn own_command_refused(screen: &mut Screen) {
    let is_command = |text: &String| own_command(text).is_some();
    let Some(index) = screen.pending.iter().rposition(is_command) else { return };
    let Some(text) = screen.pending.remove(index) else { return };
    if screen.composer.is_empty() {
        screen.composer.set(&text.replacen("! ", "!", 1));
    }
}

fn preflight_changed(screen: &mut Screen, policy: PreflightPolicy, now: Timestamp) {
    let words = preflight::policy(policy, screen.lang);
    screen.say(words, Tone::Good, now);
}

fn mode_changed(screen: &mut Screen, mode: Mode, now: Timestamp) {
    screen.asked_mode = None;
    let lang = screen.lang;
    let words = format!("{} · {}", mode.name(), words::mode(mode, lang));
    let tone = if mode == Mode::FullAccess { Tone::Warning } else { Tone::Good };
    screen.say(words, tone, now);
}
