//! The last line: the keys that work right now, or what has just been asked or said.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::sanitize;
use crate::story::Story;

use super::super::keymap::{self, Context, Key};
use super::super::lang::Lang;
use super::super::layout::{Areas, Focus, Shape};
use super::super::paint::{self, Row, Tone, piece};
use super::super::screen::Screen;
use super::super::wrap;

/// Draws it, into the frame's lower border where there is one.
pub fn draw(story: &Story, screen: &Screen, areas: Areas, buffer: &mut Buffer) {
    let framed = areas.shape != Shape::Bare;
    let inset = if framed { 2 } else { 0 };
    let width = areas.footer.width.saturating_sub(inset * 2);
    let line = Rect { x: areas.footer.x + inset, width, ..areas.footer };
    let room = usize::from(width);
    let (text, tone) = match said(story, screen) {
        Some((text, tone)) => (wrap::ellipsis(&text, room.saturating_sub(2)), tone),
        None => (keys(story, screen, areas, room.saturating_sub(2)), Tone::Quiet),
    };
    if framed {
        let cells = [piece(format!(" {text} "), tone)];
        paint::pieces(buffer, line.x - 1, line.y, room, &cells, screen.palette);
    } else {
        paint::row(buffer, line, &Row::of(text, tone), screen.palette);
    }
}

fn said(story: &Story, screen: &Screen) -> Option<(String, Tone)> {
    if screen.leaving {
        let words = screen.lang.pick("ending the session…", "正在结束会话…");
        return Some((words.to_owned(), Tone::Warning));
    }
    if screen.question.is_some() {
        let mut words = question(story, screen.lang);
        if screen.interrupted.is_some() {
            words.push_str(screen.lang.pick(" · ^C again quits", " · 再按 ^C 退出"));
        }
        return Some((words, Tone::Warning));
    }
    let flash = screen.flash.as_ref()?;
    Some((sanitize::line(&flash.text).into_owned(), flash.tone))
}

/// What Esc would stop.
fn question(story: &Story, lang: Lang) -> String {
    let mut what = Vec::new();
    if story.is_running() {
        what.push(lang.pick("the answer", "回答").to_owned());
        match (story.delegations().live_count(), lang) {
            (0, _) => {}
            (1, Lang::En) => what.push("1 child".to_owned()),
            (children, Lang::En) => what.push(format!("{children} children")),
            (children, Lang::Zh) => what.push(format!(" {children} 个子代理")),
        }
    }
    let command = lang.pick("your command", "你的命令").to_owned();
    let last = if story.runs_own_command() { Some(command) } else { what.pop() };
    let others = what.join(lang.pick(", ", "、"));
    let and = if others.is_empty() { "" } else { lang.pick(" and ", "与") };
    let all = format!("{others}{and}{}", last.unwrap_or_default());
    match lang {
        Lang::En => format!("stop {all}? Esc again: yes"),
        Lang::Zh => format!("停止{all}？再按 Esc 确认"),
    }
}

fn keys(story: &Story, screen: &Screen, areas: Areas, room: usize) -> String {
    let contexts = contexts(screen);
    let hidden = areas.delegations.is_empty() && story.delegations().live_count() > 0;
    wrap::fit(&keymap::footer(contexts, hidden, idle(story, screen), screen.lang, room), room)
        .to_owned()
}

/// Answers that would allow more than the call that is asked about, where only this call can be.
fn idle(story: &Story, screen: &Screen) -> &'static [Key] {
    let open = screen.questions.open.as_ref();
    match open.and_then(|open| story.approvals().get(open.number)) {
        Some(approval) if approval.prefix.is_none() => &[Key::Child, Key::Session],
        Some(_) | None => &[],
    }
}

fn contexts(screen: &Screen) -> &'static [Context] {
    if screen.trust.is_some() {
        return keymap::TRUST;
    }
    match &screen.questions.open {
        Some(open) if open.reason.is_some() => keymap::REASON,
        Some(open) => open.contexts(),
        None => keymap::contexts(
            screen.overlay.is_some(),
            screen.focus == Focus::Composer,
            screen.focus == Focus::Delegations,
        ),
    }
}
