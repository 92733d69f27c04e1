//! What keys mean while something is asked: about a call, or whether the folder is trusted. A key
//! that was meant for something else never answers, and what is being typed is kept.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::domain::approval::Answer;
use crate::domain::command::Command;
use crate::domain::event::Timestamp;
use crate::domain::preflight::AmendmentError;
use crate::story::{Asker, Story};

use super::cancel::{ask_or_stop, cancel, cancel_active};
use super::composer::{Composer, Edit};
use super::keymap::{self, Action, Context, Key};
use super::lang::Lang;
use super::layout::Focus;
use super::msg::Effect;
use super::paint::Tone;
use super::preflight;
use super::screen::Screen;
use super::sending::submit;
use super::update::{act, rows, typed};

/// Below this width a footer has room for a few words only.
const NARROW: u16 = 60;

/// Opens the question that is due, and closes the one that nobody asks any more.
pub(super) fn settle(screen: &mut Screen, story: &Story, now: Timestamp) {
    if screen.trust.is_none() && screen.questions.settle(story, screen.lang) {
        let words = screen
            .lang
            .pick("withdrawn: the call does not wait any more", "已撤回：该调用不再等待");
        screen.say(words, Tone::Warning, now);
    }
}

/// Opens a question that was put off.
pub(super) fn reopen(screen: &mut Screen, story: &Story, number: u64) {
    if let Some(approval) = story.approvals().get(number) {
        screen.questions.reopen(approval, screen.lang);
    }
}

/// Opens the oldest question that waits.
pub(super) fn reopen_oldest(screen: &mut Screen, story: &Story, now: Timestamp) {
    if let Some(approval) = story.approvals().iter().next() {
        return screen.questions.reopen(approval, screen.lang);
    }
    let words = screen.lang.pick("nothing waits for approval", "没有等待批准的调用");
    screen.say(words, Tone::Plain, now);
}

/// A key while a call is asked about.
pub(super) fn question_key(
    screen: &mut Screen,
    story: &Story,
    key: KeyEvent,
    now: Timestamp,
) -> Vec<Effect> {
    let Some(open) = &mut screen.questions.open else { return Vec::new() };
    if open.guard.holds(now) {
        return early(screen, story, key, now);
    }
    screen.flash = None;
    if open.reason.is_some() {
        return reason_key(screen, story, key, now);
    }
    let asked = keymap::action(key, open.contexts());
    open.warned &= matches!(asked, Some(Action::Answer(Key::Once | Key::Child | Key::Session)));
    if !matches!(asked, Some(Action::Answer(Key::Later) | Action::Interrupt)) {
        screen.question = None;
    }
    match asked {
        Some(Action::Answer(key)) => answer(screen, story, key, now),
        Some(Action::Move(to)) => {
            screen.prepare(story, now);
            if let Some(open) = &mut screen.questions.open {
                let page = open.body.page_height();
                open.body.scroll(rows(to, page));
            }
            Vec::new()
        }
        Some(Action::Amend(how)) => {
            screen.prepare(story, now);
            let open = screen.questions.open.as_mut();
            if let Some(words) = open.and_then(|open| preflight::amend(open, how)) {
                screen.say(words, Tone::Warning, now);
            }
            Vec::new()
        }
        Some(Action::CancelChild) => cancel_asker(screen, story, now),
        Some(action) if is_for_everything(action) => act(screen, story, action, now),
        Some(_) | None => Vec::new(),
    }
}

/// A key that comes too early to be an answer. What is being typed goes on: letters and corrections
/// reach the input, where somebody writes there. In an empty input the letters that would answer
/// are dropped, and so is Enter, which would send.
fn early(screen: &mut Screen, story: &Story, key: KeyEvent, now: Timestamp) -> Vec<Effect> {
    let types = screen.focus == Focus::Composer && screen.overlay.is_none();
    match keymap::action(key, &[Context::Composer, Context::Everywhere]) {
        Some(Action::Edit(edit)) if types && edit != Edit::Newline => screen.composer.edit(edit),
        Some(Action::CancelChild) => return cancel_active(screen, story, now),
        Some(action) if is_for_everything(action) => return act(screen, story, action, now),
        Some(_) => {}
        None => {
            let answers = keymap::action(key, &[Context::Approval]).is_some();
            if types && !(answers && screen.composer.is_empty()) {
                return typed(screen, key);
            }
        }
    }
    Vec::new()
}

/// True for what works whatever is on the screen.
fn is_for_everything(action: Action) -> bool {
    matches!(action, Action::Interrupt | Action::EndOfInput | Action::Repaint | Action::Suspend)
}

fn answer(screen: &mut Screen, story: &Story, key: Key, now: Timestamp) -> Vec<Effect> {
    match key {
        Key::Once => match agreed(screen) {
            Ok(answer) => allow(screen, story, answer, now),
            Err(error) => {
                screen.say(error.to_string(), Tone::Warning, now);
                Vec::new()
            }
        },
        Key::Child => wider(screen, story, Answer::Child, now),
        Key::Session => wider(screen, story, Answer::Session, now),
        Key::No => decide(screen, story, Answer::Deny { reason: None }),
        Key::Reason => {
            let lang = screen.lang;
            if let Some(open) = &mut screen.questions.open {
                open.reason = Some(Composer::new(lang));
            }
            Vec::new()
        }
        // Whether to stop everything was asked last, and Esc is the answer to that.
        Key::Later if screen.question.is_some() => ask_or_stop(screen, now),
        Key::Later => {
            screen.questions.later();
            let words = screen.lang.pick(
                "later: /approve, or Enter on its row, asks again",
                "稍后：/approve 或在其行上按 Enter 可再次答复",
            );
            screen.say(words, Tone::Warning, now);
            Vec::new()
        }
    }
}

/// A yes, with what is changed about a delegation.
fn agreed(screen: &Screen) -> Result<Answer, AmendmentError> {
    let open = screen.questions.open.as_ref();
    let Some(draft) = open.and_then(|open| open.draft.as_ref()) else { return Ok(Answer::Once) };
    let amendment = draft.amendment()?;
    Ok(if amendment.is_none() { Answer::Once } else { Answer::Amended(amendment) })
}

fn wider(screen: &mut Screen, story: &Story, answer: Answer, now: Timestamp) -> Vec<Effect> {
    let open = screen.questions.open.as_ref();
    let approval = open.and_then(|open| story.approvals().get(open.number));
    if approval.is_some_and(|approval| approval.prefix.is_some()) {
        return allow(screen, story, answer, now);
    }
    let words = screen
        .lang
        .pick("only what is shown can be allowed: y yes, n no", "只能允许所示内容：y 允许，n 拒绝");
    screen.say(words, Tone::Warning, now);
    Vec::new()
}

/// Allows a call. Where not all of it was shown the first key says so, and the second one allows.
fn allow(screen: &mut Screen, story: &Story, answer: Answer, now: Timestamp) -> Vec<Effect> {
    let Some(open) = &mut screen.questions.open else { return Vec::new() };
    let unseen = open.unseen();
    if unseen == 0 || open.warned {
        return decide(screen, story, answer);
    }
    open.warn();
    let words = match (screen.lang, screen.size.0 < NARROW) {
        (Lang::En, true) => format!("again: {unseen} unseen"),
        (Lang::En, false) => format!("not shown yet: {unseen} lines; again allows them unseen"),
        (Lang::Zh, true) => format!("再按：{unseen} 行未看"),
        (Lang::Zh, false) => format!("还有 {unseen} 行未显示；再按一次即允许"),
    };
    screen.say(words, Tone::Warning, now);
    Vec::new()
}

fn decide(screen: &mut Screen, story: &Story, answer: Answer) -> Vec<Effect> {
    let open = screen.questions.open.as_ref();
    let approval = open.and_then(|open| story.approvals().get(open.number));
    let Some(approval) = approval else { return Vec::new() };
    let (run, call) = (approval.run.clone(), approval.call.clone());
    screen.questions.answered();
    vec![Effect::Send(Command::Decide { run, call, answer })]
}

/// Cancels the child that asks, or that is asked about; where the parent asks, the child that a cancel always means.
fn cancel_asker(screen: &mut Screen, story: &Story, now: Timestamp) -> Vec<Effect> {
    let open = screen.questions.open.as_ref();
    let approval = open.and_then(|open| story.approvals().get(open.number));
    let asker = approval.map(|approval| match approval.about {
        Some(child) => Asker::Child(child),
        None => approval.asker,
    });
    let child = match asker {
        Some(Asker::Child(node)) => story.delegations().get(node),
        Some(Asker::Parent) | None => None,
    };
    match child {
        Some(node) => cancel(screen, node, now),
        None => cancel_active(screen, story, now),
    }
}

/// A key while the reason for a no is typed.
fn reason_key(screen: &mut Screen, story: &Story, key: KeyEvent, now: Timestamp) -> Vec<Effect> {
    let Some(open) = &mut screen.questions.open else { return Vec::new() };
    let Some(reason) = &mut open.reason else { return Vec::new() };
    match keymap::action(key, keymap::REASON) {
        Some(Action::SendReason) => {
            let reason = reason.text().trim().to_owned();
            let reason = (!reason.is_empty()).then_some(reason);
            return decide(screen, story, Answer::Deny { reason });
        }
        Some(Action::LeaveReason) => open.reason = None,
        // It is one line, and what clears an input clears this one.
        Some(Action::Interrupt) if reason.is_empty() => open.reason = None,
        Some(Action::Interrupt) => reason.clear(),
        Some(Action::Edit(Edit::Newline) | Action::EndOfInput) => {}
        Some(Action::Edit(edit)) => reason.edit(edit),
        Some(Action::InputStart) => reason.edit(Edit::Start),
        Some(Action::InputEnd) => reason.edit(Edit::End),
        Some(Action::CancelChild) => return cancel_asker(screen, story, now),
        Some(action) if is_for_everything(action) => return act(screen, story, action, now),
        Some(_) => {}
        None => {
            if let (KeyCode::Char(c), true) = (key.code, is_text(key)) {
                reason.type_char(c);
            }
        }
    }
    Vec::new()
}

/// True for a letter; `AltGr` reaches some terminals as Ctrl+Alt.
pub(super) fn is_text(key: KeyEvent) -> bool {
    let held = key.modifiers - KeyModifiers::SHIFT;
    held.is_empty() || held == KeyModifiers::CONTROL | KeyModifiers::ALT
}

/// A text that was pasted while something is asked: no answer, whatever it says. It goes where
/// texts go; a scroll key that was held down may come in as one.
pub(super) fn pasted(screen: &mut Screen, text: &str, now: Timestamp) {
    if let Some(trust) = &mut screen.trust {
        trust.guard.holds(now);
        screen.composer.paste(text);
        return;
    }
    let Some(open) = &mut screen.questions.open else { return };
    if let Some(reason) = &mut open.reason {
        reason.paste(&text.replace(['\r', '\n'], " "));
        return;
    }
    let steps = |letter: char| text.chars().filter(|c| *c == letter).count();
    let (down, up) = (steps('j'), steps('k'));
    if !open.guard.holds(now) && down + up == text.chars().count() {
        let down = isize::try_from(down).unwrap_or(0);
        open.body.scroll(down - isize::try_from(up).unwrap_or(0));
    } else {
        screen.composer.paste(text);
    }
}

/// A key while it is asked whether the folder is trusted.
pub(super) fn trust_key(
    screen: &mut Screen,
    story: &Story,
    key: KeyEvent,
    now: Timestamp,
) -> Vec<Effect> {
    let Some(trust) = &mut screen.trust else { return Vec::new() };
    screen.flash = None;
    let asked = keymap::action(key, keymap::TRUST);
    match asked {
        Some(action) if is_for_everything(action) => act(screen, story, action, now),
        _ if trust.guard.holds(now) => Vec::new(),
        Some(Action::Trust(trusted)) => trusts(screen, trusted),
        Some(Action::Move(to)) => {
            screen.prepare(story, now);
            if let Some(trust) = &mut screen.trust {
                let page = trust.text.page_height();
                trust.text.scroll(rows(to, page));
            }
            Vec::new()
        }
        Some(_) | None => Vec::new(),
    }
}

fn trusts(screen: &mut Screen, trusted: bool) -> Vec<Effect> {
    let first = screen.trust.take().and_then(|trust| trust.first_message);
    let mut effects = vec![Effect::Send(Command::Trust { trusted })];
    effects.extend(first.map(|text| submit(screen, text)));
    effects
}
