//! The question about a call, over the panes: who asks, what exactly would happen, what each answer
//! covers. Down to a single cell there is something that says that a person is asked.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::event::Timestamp;
use crate::sanitize;
use crate::story::{Approval, Asker, Story};

use super::super::asking::Asking;
use super::super::composer::Composer;
use super::super::lang::Lang;
use super::super::layout::{Areas, Shape};
use super::super::long_text::{LongRow, LongText};
use super::super::overlay::page_area;
use super::super::paint::{self, Row, Tone, piece};
use super::super::screen::Screen;
use super::super::wrap;
use super::approval_words::{answers, answers_in_short, asker, head, title, wider_in_short};
use super::{sheet, trust, words};

/// No question is wider than this.
const WIDEST: u16 = 110;
/// From this width on the panes can be seen beside a question.
const ROOMY: u16 = 60;
/// Rows that the text of a question gets before its answers are spelled out.
const FEW: usize = 4;

/// Brings what is visible of the open question up to date, and takes note that it is seen.
pub fn arrange(screen: &mut Screen, story: &Story, areas: Areas, now: Timestamp) {
    if let Some(asked) = &mut screen.trust {
        return trust::arrange(asked, areas, now);
    }
    let lang = screen.lang;
    let Some(open) = &mut screen.questions.open else { return };
    let Some(approval) = story.approvals().get(open.number) else { return };
    open.guard.seen(now);
    let inner = sheet::inner(room(areas), areas.shape);
    open.rows = open.body.rows_up_to(inner.width.into(), inner.height.into());
    let question = Question::of(approval, open.reason.as_ref(), open.rows, story, lang, areas);
    let (width, room) = (question.width, question.room());
    open.body.arrange(width, open.rows.min(room).max(1));
    if areas.shape != Shape::TooSmall {
        open.shown();
    }
}

/// Draws the open question, if there is one; gives back where the caret is.
pub fn draw(
    story: &Story,
    screen: &Screen,
    areas: Areas,
    now: Timestamp,
    buffer: &mut Buffer,
) -> Option<Position> {
    if let Some(asked) = &screen.trust {
        trust::draw(screen, asked, areas, buffer);
        return None;
    }
    let open = screen.questions.open.as_ref()?;
    let approval = story.approvals().get(open.number)?;
    let reason = open.reason.as_ref();
    let question = Question::of(approval, reason, open.rows, story, screen.lang, areas);
    let below = open.body.lines_below();
    let mut rows = question.top();
    let top = rows.len();
    rows.extend(text_rows(&open.body));
    let (separated, bottom) = question.bottom();
    if question.bare && below > 0 {
        mark_more(&mut rows, top, below, question.width);
    }
    if separated {
        rows.push(more(below, question.width, screen.lang));
    }
    let caret_row = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    rows.extend(bottom);
    let most = room(areas);
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let area = Rect { height: most.height.min(height + sheet::border(areas.shape) * 2), ..most };
    let waited = words::age(now.millis_since(approval.since));
    let note = if below > 0 && !separated {
        format!("{} · {waited}", words_below(below, screen.lang))
    } else {
        waited
    };
    let title = title(approval, story, screen.lang);
    let inner = sheet::draw(buffer, area, areas.shape, &title, &note, screen);
    for (row, y) in rows.iter().zip(inner.top()..inner.bottom()) {
        paint::row(buffer, Rect { y, height: 1, ..inner }, row, screen.palette);
    }
    let y = inner.top().saturating_add(caret_row);
    let reason = open.reason.as_ref().filter(|_| y < inner.bottom())?;
    Some(caret(reason, screen.lang, inner, y))
}

/// The question on one line, where nothing else fits: as much of it as there is room for.
pub fn draw_line(story: &Story, screen: &Screen, buffer: &mut Buffer) {
    let lang = screen.lang;
    let words = if let Some(trust) = &screen.trust {
        let question = lang.pick("trust", "信任");
        vec![format!("{question} {}? y/n", trust.folder), format!("{question}? y/n")]
    } else {
        let open = screen.questions.open.as_ref();
        let approval = open.and_then(|open| story.approvals().get(open.number));
        let Some(approval) = approval else { return };
        let who = asker(approval, story, lang);
        let short = match approval.asker {
            Asker::Parent => who.clone(),
            Asker::Child(id) => {
                let task = story.delegations().get(id).and_then(|node| node.task);
                task.map_or_else(|| who.clone(), |task| format!("#{}", task.0))
            }
        };
        let what = sanitize::reveal(&approval.summary).into_owned();
        let unseen = open.filter(|open| open.warned).map_or(0, Asking::unseen);
        match (unseen, lang) {
            (0, _) => {
                vec![
                    format!("{who}: y/n? {what}"),
                    format!("{who}: y/n?"),
                    format!("{short}: y/n?"),
                ]
            }
            (_, Lang::En) => vec![format!("{short}: unseen, y again?"), "y again?".to_owned()],
            (_, Lang::Zh) => vec![format!("{short}：未显示，再按 y?"), "再按 y?".to_owned()],
        }
    };
    let width = usize::from(buffer.area.width);
    let last = [String::from("y/n?"), String::from("y/n"), String::from("?")];
    // The fullest line may be cut at its end, which only says what it is about.
    let all = words.iter().skip(1).chain(&last);
    let fitting = all.clone().find(|line| wrap::cells(&sanitize::line(line)) <= width);
    let full =
        words.first().filter(|_| words.get(1).is_some_and(|next| wrap::cells(next) + 8 <= width));
    let line = full.or(fitting).map_or("?", String::as_str);
    let area = buffer.area;
    paint::clear(buffer, area);
    let top = Rect { height: area.height.min(1), ..area };
    paint::row(buffer, top, &Row::of(line, Tone::Warning), screen.palette);
}

/// The room a question may take: over the panes, beside them where there is room, and above the
/// input, so that what is typed there can be seen.
pub fn room(areas: Areas) -> Rect {
    let page = page_area(areas);
    match areas.shape {
        Shape::TooSmall => Rect::default(),
        Shape::Bare => Rect { y: 0, height: areas.footer.y, ..areas.screen },
        Shape::Single | Shape::Stacked | Shape::Side => {
            let bottom = areas.composer.top().saturating_sub(1);
            let margin = if page.width >= ROOMY { 2 } else { 0 };
            let width = (page.width - 2 * margin).min(WIDEST);
            let x = page.x + (page.width - width) / 2;
            let y = page.y + margin / 2;
            Rect { x, y, width, height: bottom.saturating_sub(y) }
        }
    }
}

/// What decides how much of a question is shown.
struct Question<'a> {
    approval: &'a Approval,
    reason: Option<&'a Composer>,
    /// Rows of the text of what would happen, counted as far as there is room.
    rows: usize,
    story: &'a Story,
    lang: Lang,
    /// Cells inside of the border.
    width: usize,
    /// Rows inside of the border, at most.
    height: usize,
    /// True if no border has the title.
    bare: bool,
}

impl<'a> Question<'a> {
    fn of(
        approval: &'a Approval,
        reason: Option<&'a Composer>,
        rows: usize,
        story: &'a Story,
        lang: Lang,
        areas: Areas,
    ) -> Self {
        let inner = sheet::inner(room(areas), areas.shape);
        let (width, height) = (inner.width.into(), inner.height.into());
        let bare = areas.shape == Shape::Bare;
        Self { approval, reason, rows, story, lang, width, height, bare }
    }

    /// Rows for the text of what would happen.
    fn room(&self) -> usize {
        let (separated, bottom) = self.bottom();
        let others = self.top().len() + usize::from(separated) + bottom.len();
        self.height.saturating_sub(others).max(1)
    }

    /// Who and what.
    fn top(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        if self.bare {
            rows.push(Row::of(title(self.approval, self.story, self.lang), Tone::Strong));
        }
        // Where there is little room the reason that is typed needs it more.
        if self.reason.is_none() || self.height > FEW + 1 {
            // As much is left for what would happen.
            let most = self.height.saturating_sub(rows.len()) / 2;
            rows.extend(head(self.approval, self.width, most, self.lang));
        }
        rows
    }

    /// What each key answers, or the reason that is typed; and whether a line stands before it.
    fn bottom(&self) -> (bool, Vec<Row>) {
        if let Some(reason) = self.reason {
            return (self.height > FEW, vec![reason_row(reason, self.width, self.lang)]);
        }
        let full = answers(self.approval, self.story, self.lang);
        let shown = self.top().len() + self.rows;
        if self.height >= (2 + FEW + full.len()).min(shown + 1 + full.len()) {
            return (true, full);
        }
        let short = answers_in_short(self.approval, self.width, self.lang);
        let is_free = self.height > FEW.min(shown);
        let mut rows: Vec<Row> = is_free.then_some(short).into_iter().collect();
        if let Some(wider) = wider_in_short(self.approval, self.story, self.lang)
            && self.height > shown + rows.len()
        {
            rows.insert(0, wider);
        }
        (false, rows)
    }
}

/// The rows of a text of any length.
pub fn text_rows(text: &LongText) -> Vec<Row> {
    let row = |row: LongRow<'_>| Row {
        left: vec![piece(row.mark, row.tone), piece(row.text, row.tone)],
        ..Row::default()
    };
    text.rows().map(row).collect()
}

fn more(below: usize, width: usize, lang: Lang) -> Row {
    let words = match below {
        0 => String::new(),
        below => format!(" {} ", words_below(below, lang)),
    };
    let line = "─".repeat(width.saturating_sub(wrap::cells(&words)));
    Row::of(line, Tone::Quiet).and(words, Tone::Warning)
}

/// Says without a border how much is below: beside what the call is, or else beside the title as far
/// as that leaves it whole.
fn mark_more(rows: &mut [Row], top: usize, below: usize, width: usize) {
    let mark = format!("↓{below}");
    let fits = |row: &Row| paint::width_of(&row.left) + 1 + wrap::cells(&mark) <= width;
    let index = usize::from(top > 1);
    if let Some(row) = rows.get_mut(index).filter(|row| index > 0 || fits(row)) {
        *row = std::mem::take(row).right(mark, Tone::Warning);
    }
}

fn words_below(below: usize, lang: Lang) -> String {
    match lang {
        Lang::En => format!("↓ {below} more"),
        Lang::Zh => format!("↓ 还有 {below} 行"),
    }
}

fn reason_label(lang: Lang) -> &'static str {
    lang.pick("no, because: ", "拒绝理由：")
}

/// Of a long reason the part around the caret.
fn reason_row(reason: &Composer, width: usize, lang: Lang) -> Row {
    let text = reason.visible(reason_width(width, lang), 1);
    let text = text.rows.first().map_or("", String::as_str);
    Row::of(reason_label(lang), Tone::Warning).and(text, Tone::Plain)
}

fn reason_width(width: usize, lang: Lang) -> usize {
    // One cell is the caret's.
    width.saturating_sub(wrap::cells(reason_label(lang)) + 1).max(1)
}

fn caret(reason: &Composer, lang: Lang, inner: Rect, y: u16) -> Position {
    let width = reason_width(inner.width.into(), lang);
    let cells = wrap::cells(reason_label(lang)) + reason.visible(width, 1).caret_cells;
    let x = inner.x.saturating_add(u16::try_from(cells).unwrap_or(u16::MAX));
    Position { x: x.min(inner.right().saturating_sub(1)), y }
}
