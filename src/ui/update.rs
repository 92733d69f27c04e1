//! What a message changes on the screen and what it asks of the session. Nothing here waits, draws
//! or reads a clock; the runtime's state is only ever read.

use crate::domain::command::Command;
use crate::domain::event::{Fact, Speaker, Timestamp};
use crate::story::{Doing, Node, NodeId, Story};

use super::child_lines::Line;
use super::composer::Edit;
use super::delegations_pane::{Filter, Selected};
use super::keymap::{self, Action, Move};
use super::layout::{Focus, Shape};
use super::msg::{Effect, Msg};
use super::overlay::{Overlay, Page};
use super::paint::Tone;
use super::screen::{Screen, composer_width};
use super::slash::{self, Refused, Slash};
use super::view::words::budget_words;

/// A step of the divider, in percent.
const DIVIDER_STEP: u16 = 4;

/// The notice that what waited to be sent was let go.
const UNSENT: &str = "UNSENT";

/// Takes in a message.
pub fn update(screen: &mut Screen, story: &Story, msg: Msg, now: Timestamp) -> Vec<Effect> {
    screen.expire(now);
    match msg {
        Msg::Key(key) => {
            let contexts = keymap::contexts(
                screen.overlay.is_some(),
                screen.focus == Focus::Composer,
                screen.focus == Focus::Delegations,
            );
            screen.flash = None;
            match keymap::action(key, contexts) {
                Some(action) => act(screen, story, action, now),
                None => typed(screen, key),
            }
        }
        Msg::Paste(text) => {
            screen.question = None;
            screen.overlay = None;
            focus(screen, story, Focus::Composer);
            screen.composer.paste(&text);
            Vec::new()
        }
        Msg::Resize(width, height) => {
            screen.size = (width, height);
            vec![Effect::Repaint]
        }
        Msg::Events(events) => {
            for event in &events {
                happened(screen, story, &event.fact, event.origin.task.is_some());
            }
            Vec::new()
        }
        Msg::Tick => Vec::new(),
    }
}

/// Sends a user's message: it is shown as waiting until the history has it.
pub fn submit(screen: &mut Screen, text: String) -> Effect {
    screen.pending.push_back(text.clone());
    screen.conversation.follow();
    Effect::Send(Command::Submit { text })
}

fn happened(screen: &mut Screen, story: &Story, fact: &Fact, of_child: bool) {
    match fact {
        Fact::Message(message) if message.role == Speaker::User && !of_child => {
            let same = screen.pending.iter().position(|text| *text == message.text);
            // A `/delegate` reaches the history in other words; it is the oldest one then.
            let index = same.unwrap_or(0);
            screen.pending.remove(index);
        }
        Fact::RunFinished(_) if !of_child => {
            if !story.is_running() {
                screen.question = None;
            }
        }
        Fact::Notice { code, .. } if code == UNSENT => take_back(screen),
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
        | Fact::ModeChanged { .. }
        | Fact::CancelRequested { .. }
        | Fact::RunFinished(_)
        | Fact::Unknown => {}
    }
}

/// What was never sent goes back into the input, before what is being typed there.
fn take_back(screen: &mut Screen) {
    let mut texts: Vec<String> = screen.pending.drain(..).collect();
    if !screen.composer.is_empty() {
        texts.push(screen.composer.text());
    }
    screen.composer.set(&texts.join("\n"));
}

fn typed(screen: &mut Screen, key: crossterm::event::KeyEvent) -> Vec<Effect> {
    use crossterm::event::{KeyCode, KeyModifiers};
    screen.question = None;
    let held = key.modifiers - KeyModifiers::SHIFT;
    // AltGr reaches some terminals as Ctrl+Alt.
    let types = held.is_empty() || held == KeyModifiers::CONTROL | KeyModifiers::ALT;
    if let (KeyCode::Char(c), true, Focus::Composer, None) =
        (key.code, types, screen.focus, &screen.overlay)
    {
        screen.composer.type_char(c);
    }
    Vec::new()
}

fn act(screen: &mut Screen, story: &Story, action: Action, now: Timestamp) -> Vec<Effect> {
    // Any key but those that mean it dismisses the question.
    if !matches!(action, Action::Escape | Action::Interrupt) {
        screen.question = None;
    }
    match action {
        Action::Send => return send(screen, story, now),
        Action::CancelChild => return cancel_active(screen, story, now),
        Action::CancelSelected => return cancel_selected(screen, story, now),
        Action::Escape => return escape(screen, story, now),
        Action::Interrupt => return interrupt(screen, story, now),
        Action::EndOfInput => {
            if screen.composer.is_empty() {
                return vec![Effect::Quit];
            }
            screen.composer.edit(Edit::Delete);
        }
        Action::Repaint => return vec![Effect::Repaint],
        Action::Suspend => {
            let words = screen.lang.pick("^Z: suspending is not built yet", "^Z：挂起尚未实现");
            screen.say(words, Tone::Warning, now);
        }
        Action::Edit(edit) => screen.composer.edit(edit),
        Action::InputUp => {
            let width = composer_width(screen.size.0);
            screen.composer.up(width);
        }
        Action::InputDown => {
            let width = composer_width(screen.size.0);
            screen.composer.down(width);
        }
        Action::InputStart if screen.composer.is_empty() => screen.conversation.to_start(),
        Action::InputStart => screen.composer.edit(Edit::Start),
        Action::InputEnd if screen.composer.is_empty() => screen.conversation.follow(),
        Action::InputEnd => screen.composer.edit(Edit::End),
        Action::NextPane => {
            let to = next(screen.focus, screen.areas(story).shape);
            focus(screen, story, to);
        }
        Action::ToConversation => go(screen, story, Focus::Conversation),
        Action::ToDelegations => go(screen, story, Focus::Delegations),
        Action::ToComposer => go(screen, story, Focus::Composer),
        Action::Move(to) => movement(screen, story, to, now),
        Action::Open => open(screen, story),
        Action::Fold => screen.delegations.fold(story, None),
        Action::Filter => filter(screen, story, now),
        Action::Zoom => screen.zoomed = !screen.zoomed,
        Action::DividerLess => screen.divider = screen.divider.saturating_sub(DIVIDER_STEP).max(20),
        Action::DividerMore => screen.divider = (screen.divider + DIVIDER_STEP).min(80),
        Action::Help => screen.overlay = Some(Overlay::new(Page::Help)),
    }
    Vec::new()
}

/// Round the panes. Where only one of them is shown, the input stands below the conversation, so
/// the children come right after it.
fn next(focus: Focus, shape: Shape) -> Focus {
    let one_by_one = match shape {
        Shape::Single | Shape::Bare | Shape::TooSmall => true,
        Shape::Stacked | Shape::Side => false,
    };
    match focus {
        Focus::Composer if one_by_one => Focus::Delegations,
        Focus::Delegations if one_by_one => Focus::Conversation,
        Focus::Conversation if one_by_one => Focus::Composer,
        Focus::Composer => Focus::Conversation,
        Focus::Conversation => Focus::Delegations,
        Focus::Delegations => Focus::Composer,
    }
}

fn go(screen: &mut Screen, story: &Story, to: Focus) {
    screen.overlay = None;
    focus(screen, story, to);
}

fn focus(screen: &mut Screen, story: &Story, to: Focus) {
    if screen.focus == Focus::Delegations && to != Focus::Delegations {
        screen.delegations.leave();
    }
    if to == Focus::Composer {
        screen.zoomed = false;
    }
    screen.focus = to;
    if to == Focus::Delegations {
        screen.delegations.select_something(story);
    }
}

fn send(screen: &mut Screen, story: &Story, now: Timestamp) -> Vec<Effect> {
    if screen.composer.continues() {
        screen.composer.edit(Edit::Backspace);
        screen.composer.edit(Edit::Newline);
        return Vec::new();
    }
    let text = screen.composer.text();
    let lang = screen.lang;
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
        None if text.trim_start().starts_with('!') && text.trim().len() > 1 => {
            let words = lang.pick(
                "!command is not built yet; put a space or a word before it to send it as text",
                "!命令 尚未实现；在前面加字可作为文本发送",
            );
            screen.say(words, Tone::Warning, now);
            Vec::new()
        }
        None => match screen.composer.take() {
            Some(text) => vec![submit(screen, text)],
            None => Vec::new(),
        },
    }
}

fn run(screen: &mut Screen, story: &Story, command: Slash, now: Timestamp) -> Vec<Effect> {
    let lang = screen.lang;
    match command {
        Slash::Help => screen.overlay = Some(Overlay::new(Page::Help)),
        Slash::Quit => return vec![Effect::Quit],
        Slash::Compact => return vec![Effect::Send(Command::Compact)],
        Slash::Model(None) => return vec![Effect::Send(Command::ListModels)],
        Slash::Model(Some(model)) => return vec![Effect::Send(Command::SetModel { model })],
        Slash::Stop if story.is_running() => return vec![Effect::Send(Command::Stop)],
        Slash::Stop => {
            screen.say(lang.pick("nothing is running", "没有正在运行的任务"), Tone::Plain, now);
        }
        Slash::Cancel(None) => return cancel_active(screen, story, now),
        Slash::Cancel(Some(task)) => {
            if let Some(node) = story.delegations().of_task(task) {
                return cancel(screen, node, now);
            }
            let words = lang.pick("there is no child", "没有子代理");
            screen.say(format!("{words} #{}", task.0), Tone::Warning, now);
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

/// The child that a cancel without a number means: the one that is looked at or selected, if it is
/// live, else the newest live one.
fn active<'a>(screen: &Screen, story: &'a Story) -> Option<&'a Node> {
    let looked_at = screen.overlay.as_ref().and_then(Overlay::node);
    let selected = screen.delegations.selected().map(|selected| selected.node);
    let live = |id: NodeId| story.delegations().get(id).filter(|node| node.is_live());
    let chosen = looked_at.and_then(live).or_else(|| selected.and_then(live));
    chosen.or_else(|| story.delegations().newest_live())
}

fn cancel_active(screen: &mut Screen, story: &Story, now: Timestamp) -> Vec<Effect> {
    if let Some(node) = active(screen, story) {
        return cancel(screen, node, now);
    }
    let words =
        screen.lang.pick("no child is running: nothing to cancel", "没有运行中的子代理可取消");
    screen.say(words, Tone::Warning, now);
    Vec::new()
}

fn cancel_selected(screen: &mut Screen, story: &Story, now: Timestamp) -> Vec<Effect> {
    screen.delegations.select_something(story);
    let selected = screen.delegations.selected();
    match selected.and_then(|selected| story.delegations().get(selected.node)) {
        Some(node) => cancel(screen, node, now),
        None => cancel_active(screen, story, now),
    }
}

fn cancel(screen: &mut Screen, node: &Node, now: Timestamp) -> Vec<Effect> {
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

fn escape(screen: &mut Screen, story: &Story, now: Timestamp) -> Vec<Effect> {
    if screen.overlay.take().is_some() {
        screen.question = None;
        return Vec::new();
    }
    if screen.focus == Focus::Delegations {
        screen.question = None;
        focus(screen, story, Focus::Composer);
        return Vec::new();
    }
    if story.is_running() {
        return ask_or_stop(screen, now);
    }
    screen.question = None;
    focus(screen, story, Focus::Composer);
    Vec::new()
}

fn ask_or_stop(screen: &mut Screen, now: Timestamp) -> Vec<Effect> {
    if screen.question.take().is_some() {
        let words = screen.lang.pick("asked to stop everything", "已请求全部停止");
        screen.say(words, Tone::Warning, now);
        return vec![Effect::Send(Command::Stop)];
    }
    screen.question = Some(now);
    Vec::new()
}

fn interrupt(screen: &mut Screen, story: &Story, now: Timestamp) -> Vec<Effect> {
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
    if story.is_running() {
        return ask_or_stop(screen, now);
    }
    screen.say(lang.pick("^C again quits", "再按 ^C 退出"), Tone::Plain, now);
    Vec::new()
}

fn movement(screen: &mut Screen, story: &Story, to: Move, now: Timestamp) {
    // A place to move from needs what is shown right now.
    screen.prepare(story, now);
    if let Some(overlay) = &mut screen.overlay {
        overlay.scroll(rows(to, overlay.height()));
        return;
    }
    match screen.focus {
        Focus::Delegations => among_children(screen, story, to),
        Focus::Conversation | Focus::Composer => in_conversation(screen, story, to),
    }
}

/// Rows of a move in a page of this height.
fn rows(to: Move, page: usize) -> isize {
    let page = isize::try_from(page).unwrap_or(isize::MAX).max(2);
    match to {
        Move::Up => -1,
        Move::Down => 1,
        Move::PageUp => 1 - page,
        Move::PageDown => page - 1,
        Move::Start => -isize::MAX,
        Move::End => isize::MAX,
        Move::Left | Move::Right => 0,
    }
}

fn among_children(screen: &mut Screen, story: &Story, to: Move) {
    let pane = &mut screen.delegations;
    match to {
        Move::Start => pane.to_start(story),
        Move::End => pane.to_end(story),
        Move::Left => pane.fold(story, Some(false)),
        Move::Right => pane.fold(story, Some(true)),
        Move::Up | Move::Down | Move::PageUp | Move::PageDown => {
            pane.step(story, rows(to, pane.height()));
        }
    }
}

fn in_conversation(screen: &mut Screen, story: &Story, to: Move) {
    let intro = screen.intro();
    let pane = &mut screen.conversation;
    match to {
        Move::Start => pane.to_start(),
        Move::End => pane.follow(),
        Move::Left => pane.pick(story, false),
        Move::Right => pane.pick(story, true),
        Move::Up | Move::Down | Move::PageUp | Move::PageDown => {
            pane.scroll(story, &screen.pending, intro, rows(to, pane.height()));
        }
    }
}

fn open(screen: &mut Screen, story: &Story) {
    let page = match screen.focus {
        Focus::Conversation => screen.conversation.picked(story).map(|index| {
            let entry = story.entries().get(index);
            match entry.and_then(|entry| story.child_of_entry(entry)) {
                Some(node) => Page::Child(node.id),
                None => Page::ParentCall(index),
            }
        }),
        Focus::Delegations => {
            screen.delegations.select_something(story);
            match screen.delegations.selected() {
                Some(Selected { line: Line::Earlier, .. }) => {
                    screen.delegations.show_all_calls(story);
                    None
                }
                Some(Selected { node, line: Line::Call(index) }) => {
                    Some(Page::ChildCall { node, index })
                }
                Some(Selected { node, .. }) => Some(Page::Child(node)),
                None => None,
            }
        }
        Focus::Composer => None,
    };
    if let Some(page) = page {
        screen.overlay = Some(Overlay::new(page));
    }
}

fn filter(screen: &mut Screen, story: &Story, now: Timestamp) {
    let words = match screen.delegations.next_filter(story) {
        Filter::All => screen.lang.pick("all children", "全部子代理"),
        Filter::Live => screen.lang.pick("live children only", "仅运行中的"),
        Filter::Failed => screen.lang.pick("failed children only", "仅失败的"),
    };
    screen.say(words, Tone::Plain, now);
}
