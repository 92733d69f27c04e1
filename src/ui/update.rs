//! What a message changes on the screen and what it asks of the session. Nothing here waits, draws
//! or reads a clock; the runtime's state is only ever read.

use crate::domain::approval::Mode;
use crate::domain::event::Timestamp;
use crate::story::{Asker, Story};

use super::answer::{self, reopen, reopen_oldest};
use super::cancel::{cancel_active, cancel_selected, escape, interrupt};
use super::child_lines::Line;
use super::composer::Edit;
use super::delegations_pane::{Filter, Selected};
use super::happened::happened;
use super::keymap::{self, Action, Move};
use super::layout::{Focus, Shape};
use super::msg::{Effect, Msg};
use super::overlay::{Overlay, Page};
use super::paint::Tone;
use super::screen::{Screen, composer_width};
use super::sending::{send, set_mode};
use super::steering;

/// A step of the divider, in percent.
const DIVIDER_STEP: u16 = 4;

/// Takes in a message.
pub fn update(screen: &mut Screen, story: &Story, msg: Msg, now: Timestamp) -> Vec<Effect> {
    screen.expire(now);
    let effects = take_in(screen, story, msg, now);
    answer::settle(screen, story, now);
    effects
}

fn take_in(screen: &mut Screen, story: &Story, msg: Msg, now: Timestamp) -> Vec<Effect> {
    match msg {
        Msg::Key(key) if screen.trust.is_some() => answer::trust_key(screen, story, key, now),
        Msg::Key(key) if screen.questions.open.is_some() => {
            answer::question_key(screen, story, key, now)
        }
        Msg::Paste(text) if screen.is_asked() => {
            answer::pasted(screen, &text, now);
            Vec::new()
        }
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
                happened(screen, story, event, now);
            }
            Vec::new()
        }
        Msg::Tick => Vec::new(),
    }
}

pub(super) fn typed(screen: &mut Screen, key: crossterm::event::KeyEvent) -> Vec<Effect> {
    use crossterm::event::KeyCode;
    screen.question = None;
    if let (KeyCode::Char(c), true, Focus::Composer, None) =
        (key.code, answer::is_text(key), screen.focus, &screen.overlay)
    {
        screen.composer.type_char(c);
    }
    Vec::new()
}

pub(super) fn act(
    screen: &mut Screen,
    story: &Story,
    action: Action,
    now: Timestamp,
) -> Vec<Effect> {
    // Any key but those that mean it dismisses the question.
    if !matches!(action, Action::Escape | Action::Interrupt) {
        screen.question = None;
    }
    match action {
        Action::Send => return send(screen, story, now),
        Action::CancelChild => return cancel_active(screen, story, now),
        Action::CancelSelected => return cancel_selected(screen, story, now),
        Action::Steer(push) => return steering::pushed(screen, story, push, now),
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
        Action::Reopen => reopen_oldest(screen, story, now),
        Action::NextMode => return vec![next_mode(screen, story)],
        // They mean something only while something is asked, which is looked after elsewhere.
        Action::Answer(_)
        | Action::Amend(_)
        | Action::SendReason
        | Action::LeaveReason
        | Action::Trust(_) => {}
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

pub(super) fn focus(screen: &mut Screen, story: &Story, to: Focus) {
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
pub(super) fn rows(to: Move, page: usize) -> isize {
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

/// Opens what is selected: the question about it, if it waits for a person's word, else its page.
fn open(screen: &mut Screen, story: &Story) {
    let page = match screen.focus {
        Focus::Conversation => screen.conversation.picked(story).map(Page::ParentCall),
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
    let Some(page) = page else { return };
    let page = match page {
        Page::ParentCall(index) => {
            let entry = story.entries().get(index);
            let child = entry.and_then(|entry| story.child_of_entry(entry));
            child.map_or(page, |node| Page::Child(node.id))
        }
        other => other,
    };
    match asked_about(story, page) {
        Some(number) => reopen(screen, story, number),
        None => screen.overlay = Some(Overlay::new(page)),
    }
}

/// The question about what a page would show.
fn asked_about(story: &Story, page: Page) -> Option<u64> {
    let approvals = story.approvals();
    let approval = match page {
        Page::Child(node) => approvals.of_child(node),
        Page::ChildCall { node, index } => {
            let call = story.delegations().get(node)?.calls.get(index)?;
            approvals.of_call(Asker::Child(node), &call.id)
        }
        Page::ParentCall(index) => {
            let call = story.entries().get(index)?.call()?;
            approvals.of_call(Asker::Parent, &call.id)
        }
        Page::Help | Page::Ledger | Page::Permissions | Page::Context | Page::Diff => None,
    };
    approval.map(|approval| approval.number)
}

fn next_mode(screen: &mut Screen, story: &Story) -> Effect {
    let mode = screen.asked_mode.or_else(|| Mode::from_name(screen.mode(story)));
    set_mode(screen, mode.unwrap_or_default().next())
}

fn filter(screen: &mut Screen, story: &Story, now: Timestamp) {
    let words = match screen.delegations.next_filter(story) {
        Filter::All => screen.lang.pick("all children", "全部子代理"),
        Filter::Live => screen.lang.pick("live children only", "仅运行中的"),
        Filter::Failed => screen.lang.pick("failed children only", "仅失败的"),
    };
    screen.say(words, Tone::Plain, now);
}
