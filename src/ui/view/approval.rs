//! The questions that lie over the panes: who asks, what exactly would happen, what each answer
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
use super::super::long_text::LongText;
use super::super::overlay::page_area;
use super::super::paint::{self, Row, Tone, piece};
use super::super::screen::Screen;
use super::super::trust::Trust;
use super::super::wrap;
use super::{sheet, words};

/// No question is wider than this.
const WIDEST: u16 = 110;
/// From this width on the panes can be seen beside a question.
const ROOMY: u16 = 60;
/// Rows that the text of a question gets before its answers are spelled out.
const FEW: usize = 4;

/// Brings what is visible of the open question up to date, and takes note that it is seen.
pub fn arrange(screen: &mut Screen, story: &Story, areas: Areas, now: Timestamp) {
    if let Some(trust) = &mut screen.trust {
        trust.guard.seen(now);
        let area = sheet::inner(page_area(areas), areas.shape);
        trust.text.arrange(area.width.into(), area.height.into());
        return;
    }
    let lang = screen.lang;
    let Some(open) = &mut screen.questions.open else { return };
    let Some(approval) = story.approvals().get(open.number) else { return };
    open.guard.seen(now);
    let most = room(areas);
    let width = usize::from(sheet::inner(most, areas.shape).width);
    let plan = Plan::of(approval, open, story, lang, (width, most.height), areas.shape);
    open.body.arrange(width, plan.body);
}

/// Draws the open question, if there is one; gives back where the caret is.
pub fn draw(
    story: &Story,
    screen: &Screen,
    areas: Areas,
    now: Timestamp,
    buffer: &mut Buffer,
) -> Option<Position> {
    if let Some(trust) = &screen.trust {
        draw_trust(screen, trust, areas, buffer);
        return None;
    }
    let open = screen.questions.open.as_ref()?;
    let approval = story.approvals().get(open.number)?;
    let most = room(areas);
    let inner = sheet::inner(most, areas.shape);
    let mut rows = vec![head(approval, screen.lang)];
    if areas.shape == Shape::Bare {
        rows.insert(0, Row::of(title(approval, story, screen.lang), Tone::Strong));
    }
    rows.extend(body(&open.body));
    let tail = Tail::of(approval, open, story, screen.lang, inner.height.into());
    let below = open.body.lines_below();
    if tail.separated {
        rows.push(more(below, inner.width.into(), screen.lang));
    }
    let caret_row = rows.len();
    rows.extend(tail.rows);
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let area = Rect { height: most.height.min(height + sheet::border(areas.shape) * 2), ..most };
    let waited = words::age(now.millis_since(approval.since));
    let note =
        if below > 0 && !tail.separated { format!("↓{below} · {waited}") } else { waited };
    let title = title(approval, story, screen.lang);
    let inner = sheet::draw(buffer, area, areas.shape, &title, &note, screen);
    for (row, y) in rows.iter().zip(inner.top()..inner.bottom()) {
        paint::row(buffer, Rect { y, height: 1, ..inner }, row, screen.palette);
    }
    let reason = open.reason.as_ref()?;
    let y = inner.top() + u16::try_from(caret_row).ok()?;
    (y < inner.bottom()).then(|| caret(reason, screen.lang, inner, y))
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
        vec![format!("{who}: y/n? {what}"), format!("{who}: y/n?"), format!("{short}: y/n?")]
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

/// Who asks: `parent`, or `[子] #3 worker`.
pub fn asker(approval: &Approval, story: &Story, lang: Lang) -> String {
    match approval.asker {
        Asker::Parent => lang.pick("parent", "父代理").to_owned(),
        Asker::Child(id) => {
            let name = story.delegations().get(id).map_or_else(String::new, words::name);
            format!("[子] {name}").trim_end().to_owned()
        }
    }
}

/// The room a question may take: over the panes, beside them where there is room, and above the
/// input, so that what is typed there can be seen.
fn room(areas: Areas) -> Rect {
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

/// How many rows the text gets.
struct Plan {
    body: usize,
}

impl Plan {
    fn of(
        approval: &Approval,
        open: &mut Asking,
        story: &Story,
        lang: Lang,
        (width, height): (usize, u16),
        shape: Shape,
    ) -> Self {
        let inner = usize::from(height.saturating_sub(2 * sheet::border(shape)));
        let tail = Tail::of(approval, open, story, lang, inner);
        let title = usize::from(shape == Shape::Bare);
        let others = title + 1 + tail.rows.len() + usize::from(tail.separated);
        let room = inner.saturating_sub(others).max(1);
        Self { body: open.body.rows_up_to(width, room).max(1) }
    }
}

/// What stands below the text: what each key answers, or the reason that is typed.
struct Tail {
    separated: bool,
    rows: Vec<Row>,
}

impl Tail {
    fn of(approval: &Approval, open: &Asking, story: &Story, lang: Lang, inner: usize) -> Self {
        if let Some(reason) = &open.reason {
            let separated = inner > FEW;
            return Self { separated, rows: vec![reason_row(reason, lang)] };
        }
        let full = answers(approval, story, lang);
        if inner >= 2 + FEW + full.len() {
            return Self { separated: true, rows: full };
        }
        let rows = if inner > FEW { vec![answers_in_short(approval, lang)] } else { Vec::new() };
        Self { separated: false, rows }
    }
}

fn title(approval: &Approval, story: &Story, lang: Lang) -> String {
    let who = asker(approval, story, lang);
    let asks = lang.pick("asks", "请求批准");
    let all = story.approvals().len();
    let place = story.approvals().before(approval.number) + 1;
    match (all, lang) {
        (0 | 1, _) => format!("{who} {asks}"),
        (_, Lang::En) => format!("{who} {asks} · {place} of {all}"),
        (_, Lang::Zh) => format!("{who} {asks} · 第 {place}/{all} 个"),
    }
}

/// What it is: for a command where it starts and how it is fenced, else the change in a line.
fn head(approval: &Approval, lang: Lang) -> Row {
    let name = sanitize::reveal(&approval.name).into_owned();
    if approval.command.is_none() {
        return Row::of(sanitize::reveal(&approval.summary), Tone::Strong);
    }
    let folder = approval.folder.as_deref().filter(|folder| !folder.is_empty()).unwrap_or(".");
    let place = format!(" · {} {}", lang.pick("in", "于"), sanitize::reveal(folder));
    let mut row = Row::of(name, Tone::Strong).and(place, Tone::Plain);
    if let Some(fence) = &approval.fence {
        let tone = if fence == "fenced" { Tone::Good } else { Tone::Warning };
        row = row.and(" · ", Tone::Plain).and(fence, tone);
    }
    row
}

fn body(text: &LongText) -> Vec<Row> {
    let row = |row: super::super::long_text::LongRow<'_>| Row {
        left: vec![piece(row.mark, row.tone), piece(row.text, row.tone)],
        ..Row::default()
    };
    text.rows().map(row).collect()
}

fn more(below: usize, width: usize, lang: Lang) -> Row {
    let words = match (below, lang) {
        (0, _) => String::new(),
        (below, Lang::En) => format!(" ↓ {below} more "),
        (below, Lang::Zh) => format!(" ↓ 还有 {below} 行 "),
    };
    let line = "─".repeat(width.saturating_sub(wrap::cells(&words)));
    Row::of(line, Tone::Quiet).and(words, Tone::Warning)
}

/// What each key answers, and what it covers.
fn answers(approval: &Approval, story: &Story, lang: Lang) -> Vec<Row> {
    let row =
        |key: &str, words: String| Row::of(format!("{key}  "), Tone::Child).and(words, Tone::Plain);
    let mut rows = vec![row("y", lang.pick("this once, as shown", "允许一次，按所示").to_owned())];
    match &approval.prefix {
        Some(prefix) => {
            let what = covers(approval, prefix, lang);
            let (child, session) = reach(approval, story, lang);
            rows.push(row("c", format!("{what} {child}")));
            rows.push(row("s", format!("{what} {session}")));
        }
        None => {
            let words = lang
                .pick("only this call can be allowed, nothing wider", "只能允许此次调用，不能更宽");
            rows.push(Row::of(format!("   {words}"), Tone::Quiet));
        }
    }
    let no = lang.pick("no", "拒绝");
    let because = lang.pick("no, with a reason for the model", "拒绝，并告诉模型理由");
    let later = lang.pick("later", "稍后");
    rows.push(
        row("n", no.to_owned())
            .and("   r  ", Tone::Child)
            .and(because, Tone::Plain)
            .and("   Esc  ", Tone::Child)
            .and(later, Tone::Plain),
    );
    rows
}

fn answers_in_short(approval: &Approval, lang: Lang) -> Row {
    let wide = approval.prefix.is_some();
    let words = match (wide, lang) {
        (true, Lang::En) => "y once · c child · s session · n no · r why · Esc later",
        (false, Lang::En) => "y once · n no · r why · Esc later",
        (true, Lang::Zh) => "y 一次 · c 此子代理 · s 会话 · n 拒绝 · r 理由 · Esc 稍后",
        (false, Lang::Zh) => "y 一次 · n 拒绝 · r 理由 · Esc 稍后",
    };
    Row::of(words, Tone::Child)
}

/// What a wider answer allows: commands that begin so, or changes to a path.
fn covers(approval: &Approval, prefix: &str, lang: Lang) -> String {
    let prefix = sanitize::reveal(prefix);
    let prefix = prefix.trim_end_matches('…').trim_end();
    if approval.command.is_some() {
        format!("`{prefix} …`")
    } else {
        format!("{} {prefix}", lang.pick("changes to", "更改"))
    }
}

/// Whom the two wider answers allow it.
fn reach(approval: &Approval, story: &Story, lang: Lang) -> (String, String) {
    let Asker::Child(id) = approval.asker else {
        return (
            lang.pick("for this answer of the parent", "：本次回答内的父代理").to_owned(),
            lang.pick("for the parent, this session", "：本会话内的父代理").to_owned(),
        );
    };
    let node = story.delegations().get(id);
    let role = node.map_or("", |node| node.role.as_str());
    let name = node.map_or_else(String::new, words::name);
    match lang {
        Lang::En => (format!("for {name}"), format!("for all {role} children this session")),
        Lang::Zh => (format!("：{name}"), format!("：本会话内全部 {role} 子代理")),
    }
}

fn reason_label(lang: Lang) -> &'static str {
    lang.pick("no, because: ", "拒绝理由：")
}

fn reason_row(reason: &Composer, lang: Lang) -> Row {
    let text = reason.visible(usize::MAX, 1);
    let text = text.rows.first().map_or("", String::as_str);
    Row::of(reason_label(lang), Tone::Warning).and(text, Tone::Plain)
}

fn caret(reason: &Composer, lang: Lang, inner: Rect, y: u16) -> Position {
    let cells = wrap::cells(reason_label(lang)) + reason.visible(usize::MAX, 1).caret_cells;
    let x = inner.x.saturating_add(u16::try_from(cells).unwrap_or(u16::MAX));
    Position { x: x.min(inner.right().saturating_sub(1)), y }
}

fn draw_trust(screen: &Screen, trust: &Trust, areas: Areas, buffer: &mut Buffer) {
    let lang = screen.lang;
    let folder = sanitize::reveal(&trust.folder);
    let title = match lang {
        Lang::En => format!("Trust what {folder} brings along?  y / n"),
        Lang::Zh => format!("信任 {folder} 自带的文件吗？  y / n"),
    };
    let (shown, all) = trust.text.progress();
    let note = format!("{shown}/{all}");
    let inner = sheet::draw(buffer, page_area(areas), areas.shape, &title, &note, screen);
    for (row, y) in body(&trust.text).iter().zip(inner.top()..inner.bottom()) {
        paint::row(buffer, Rect { y, height: 1, ..inner }, row, screen.palette);
    }
}
