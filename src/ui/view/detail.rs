//! Pages in full: a call with its input and output, a child with all it was given and has used, the
//! ledger.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::budget::{Budget, Dimension, Limit};
use crate::domain::command::BudgetChoice;
use crate::domain::event::{ContractView, Receipt, Timestamp};
use crate::domain::report::Report;
use crate::domain::rules::Rules;
use crate::sanitize;
use crate::story::{Call, End, Gauge, Node, NodeState, Run, Story};

use super::super::lang::Lang;
use super::super::layout::Shape;
use super::super::overlay::{Overlay, Page, PageRow, Paragraph};
use super::super::paint::{self, Row, Tone, piece};
use super::super::screen::Screen;
use super::super::wrap;
use super::{changes, code_words, gauge, kept_out, preflight, remark, sheet, words};

/// Draws a page over the panes.
pub fn draw(story: &Story, screen: &Screen, overlay: &Overlay, buffer: &mut Buffer) {
    let area = overlay.area().intersection(buffer.area);
    if area.width < 2 || area.height < 2 {
        return;
    }
    let (shown, total) = overlay.progress();
    let title = title(story, overlay.page, screen.lang);
    let note = format!("{shown}/{total}");
    sheet::draw(buffer, area, Shape::Single, &title, &note, screen);
    for (row, y) in overlay.rows().iter().zip(area.top() + 1..area.bottom() - 1) {
        let line = Rect { x: area.x + 1, y, width: area.width - 2, height: 1 };
        paint::row(buffer, line, &page_row(row), screen.palette);
    }
}

fn page_row(row: &PageRow<'_>) -> Row {
    let mut left = vec![piece(" ", Tone::Plain)];
    if row.indent > 0 {
        let label = wrap::ellipsis(&sanitize::line(row.label), row.indent - 1);
        let blank = " ".repeat(row.indent - wrap::cells(&label));
        left.push(piece(format!("{label}{blank}"), Tone::Child));
    }
    left.extend([piece(row.mark, row.tone), piece(row.text, row.tone)]);
    Row { left, ..Row::default() }
}

pub(super) fn border(buffer: &mut Buffer, area: Rect, screen: &Screen) {
    let style = screen.palette.style(Tone::Quiet);
    let (right, bottom) = (area.right() - 1, area.bottom() - 1);
    for x in area.left()..area.right() {
        paint::put(buffer, x, area.y, 1, "─", style);
        paint::put(buffer, x, bottom, 1, "─", style);
    }
    for y in area.top()..area.bottom() {
        paint::put(buffer, area.x, y, 1, "│", style);
        paint::put(buffer, right, y, 1, "│", style);
    }
    let corners =
        [(area.x, area.y, "┌"), (right, area.y, "┐"), (area.x, bottom, "└"), (right, bottom, "┘")];
    for (x, y, sign) in corners {
        paint::put(buffer, x, y, 1, sign, style);
    }
}

fn title(story: &Story, page: Page, lang: Lang) -> String {
    let of_node = |node: Option<&Node>| node.map_or_else(String::new, words::name);
    let title = match page {
        Page::Help => lang.pick("Keys and commands", "按键与命令").to_owned(),
        Page::Ledger => lang.pick("Budget", "预算").to_owned(),
        Page::ParentCall(_) => lang.pick("Call of the parent", "父代理的调用").to_owned(),
        Page::ChildCall { node, .. } => {
            let name = of_node(story.delegations().get(node));
            format!("[子] {name} · {}", lang.pick("call", "调用"))
        }
        Page::Child(node) => of_node(story.delegations().get(node)),
        Page::Permissions => lang.pick("Permissions", "权限").to_owned(),
        Page::Context => lang.pick("Context", "上下文").to_owned(),
        Page::Diff => lang.pick("What changed", "改动").to_owned(),
    };
    sanitize::line(&title).into_owned()
}

/// A call's input and output in full.
pub fn call(call: &Call, lang: Lang) -> Vec<Paragraph> {
    let arguments = match &call.arguments {
        serde_json::Value::Object(fields) => {
            fields.iter().map(|(name, value)| Paragraph::named(name, json_text(value))).collect()
        }
        serde_json::Value::Null => Vec::new(),
        other => vec![Paragraph::plain(json_text(other))],
    };
    // A running call's page is made once, so its age is left to the panes.
    let (outcome, tone) = if call.is_open() {
        (lang.pick("running", "运行中").to_owned(), Tone::Child)
    } else {
        words::outcome(call, false, lang, call.since)
    };
    let mut page =
        vec![Paragraph::heading(call.name.clone()), Paragraph::plain(outcome).toned(tone)];
    if let Some(verdict) = &call.verdict {
        page.push(Paragraph::plain(words::verdict(verdict, lang)).toned(Tone::Quiet));
    }
    if let Some(end) = call.command_end() {
        page.extend(end.command.map(|ran| Paragraph::named(lang.pick("command", "命令"), ran)));
        let label = lang.pick("exit code", "退出码");
        page.push(Paragraph::named(label, end.exit_code.to_string()));
    }
    page.push(Paragraph::gap());
    page.push(Paragraph::heading(lang.pick("Input", "输入")));
    page.extend(arguments);
    page.push(Paragraph::gap());
    page.push(Paragraph::heading(lang.pick("Output", "输出")));
    let nothing = lang.pick("(nothing yet)", "（尚无）");
    let output = if call.output.is_empty() { nothing } else { &call.output };
    page.push(Paragraph::plain(output));
    page
}

fn json_text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// A child in full: what it does, what it was given, what it has used, what came back.
pub fn child(story: &Story, node: &Node, lang: Lang, now: Timestamp) -> Vec<Paragraph> {
    let (mut state, tone) = words::doing(node.doing(now), lang, now);
    if let NodeState::Ended(End { code: Some(code), .. }) = &node.state {
        state = format!("{state} ({code})");
    }
    let mut page = Vec::new();
    if !node.description.is_empty() {
        page.push(Paragraph::heading(node.description.clone()));
    }
    page.push(Paragraph::named(lang.pick("state", "状态"), state).toned(tone));
    if let Some(verdict) = &node.verdict {
        page.push(Paragraph::plain(words::verdict(verdict, lang)).toned(Tone::Quiet));
    }
    if let Some(runaway) = node.runaway() {
        // The page is about this child, so the key means it.
        page.push(Paragraph::plain(words::runaway(runaway, "^X", lang)).toned(Tone::Warning));
    }
    if let Some(call) = node.calls.last() {
        let (outcome, _) = words::outcome(call, node.is_live(), lang, now);
        let what = format!("{} {} · {outcome}", call.name, call.summary());
        page.push(Paragraph::named(lang.pick("last tool", "最近工具"), what));
    }
    let repeated = |text: &str| node.report.as_ref().is_some_and(|report| gives(report, text));
    for notice in node.notices.iter().filter(|notice| !repeated(&notice.text)) {
        page.push(Paragraph::plain(remark::notice(notice, lang)).toned(Tone::Warning));
    }
    if let Some(run) = &node.run {
        standing(&mut page, run, lang, now);
        contract(&mut page, &run.contract, lang);
        if let Some(receipt) = &run.receipt {
            self::receipt(&mut page, receipt, lang);
        }
    }
    if let Some(changed) = node.changed() {
        page.extend(changes::paragraphs(changed, lang));
        if node.needs_review() {
            page.push(Paragraph::plain(changes::unvouched(lang)).toned(Tone::Warning));
            page.push(Paragraph::gap());
        }
    }
    page.extend(kept_out::of_child(story, node, lang));
    if let Some(report) = &node.report {
        self::report(&mut page, report, lang);
    }
    page
}

fn standing(page: &mut Vec<Paragraph>, run: &Run, lang: Lang, now: Timestamp) {
    let deadline = match (run.contract.budget[Dimension::Duration], run.end.is_some()) {
        (Limit::Of(limit), false) => words::clock(limit.saturating_sub(run.elapsed_ms(now))),
        (Limit::Of(_), true) | (Limit::Unlimited | Limit::Off, _) => "-".to_owned(),
    };
    page.push(Paragraph::named(lang.pick("time left", "剩余时间"), deadline));
    page.push(Paragraph::gap());
    page.push(Paragraph::heading(lang.pick("Ledger", "账目")));
    let share = run.contract.share.unwrap_or_default();
    for used in Gauge::of(run, now).0 {
        let part = share
            .of(used.dimension)
            .map(|part| {
                format!("  ({:.0}% {})", part * 100.0, lang.pick("of the parent's", "占父代理剩余"))
            })
            .unwrap_or_default();
        let text = format!("{} {}{part}", gauge::bar(used.ratio()), words::used(&used, lang));
        let name = words::dimension(used.dimension, lang);
        page.push(Paragraph::named(name, text).toned(gauge::tone(&used)));
    }
    page.push(Paragraph::gap());
}

fn contract(page: &mut Vec<Paragraph>, contract: &ContractView, lang: Lang) {
    page.push(Paragraph::heading(lang.pick("What it was given", "它得到了什么")));
    page.push(Paragraph::named(lang.pick("task", "任务"), contract.prompt.clone()));
    page.push(Paragraph::named(
        lang.pick("to come back", "预期结果"),
        contract.expected_output.clone(),
    ));
    let limits = [
        (lang.pick("done when", "完成条件"), &contract.done_when),
        (lang.pick("must not", "禁止"), &contract.must_not),
    ];
    for (label, words) in limits {
        page.extend(words.clone().map(|words| Paragraph::named(label, words)));
    }
    for card in &contract.context {
        let text = format!("{} · {} · {}", card.source, words::bytes(card.bytes), card.sha256);
        page.push(Paragraph::named(
            format!("{} {}", lang.pick("context", "上下文"), card.key),
            text,
        ));
    }
    let permissions: Vec<&str> = contract.permissions.iter().map(|held| held.name()).collect();
    page.push(Paragraph::named(lang.pick("may", "权限"), permissions.join(" ")));
    page.push(Paragraph::named(lang.pick("tools", "工具"), contract.tools.join(" ")));
    let paths: Vec<String> = contract.paths.iter().map(ToString::to_string).collect();
    page.push(Paragraph::named(lang.pick("paths", "路径"), paths.join(" ")));
    page.push(Paragraph::named(lang.pick("goes to", "发往"), preflight::goes_to(contract, lang)));
    page.push(Paragraph::gap());
}

fn receipt(page: &mut Vec<Paragraph>, receipt: &Receipt, lang: Lang) {
    page.push(Paragraph::heading(lang.pick("What the cancel ended", "取消的结果")));
    let counts = [
        (lang.pick("processes", "进程"), u64::from(receipt.processes_ended)),
        (lang.pick("connections", "连接"), u64::from(receipt.connections_closed)),
        (lang.pick("tokens after it", "其后的词元"), receipt.tokens_after_cancel),
    ];
    for (name, count) in counts {
        page.push(Paragraph::named(name, count.to_string()));
    }
    let lists = [
        (lang.pick("files touched", "改动的文件"), &receipt.files_touched, Tone::Plain),
        (lang.pick("not ended", "未能结束"), &receipt.not_ended, Tone::Bad),
    ];
    for (name, items, tone) in lists {
        if !items.is_empty() {
            page.push(Paragraph::named(name, items.join("\n")).toned(tone));
        }
    }
    page.push(Paragraph::gap());
}

/// True if a report says this too: a reason is read once.
fn gives(report: &Report, text: &str) -> bool {
    report.violations.iter().any(|violation| violation.message == text) || report.summary == text
}

fn report(page: &mut Vec<Paragraph>, report: &Report, lang: Lang) {
    page.push(Paragraph::heading(lang.pick("Report", "报告")));
    if !report.violations.iter().any(|violation| violation.message == report.summary) {
        page.push(Paragraph::plain(report.summary.clone()));
    }
    for evidence in &report.evidence {
        let place = match evidence.line {
            Some(line) => format!("{}:{line}", evidence.path),
            None => evidence.path.clone(),
        };
        let (sign, tone) =
            if evidence.verified { ("✓", Tone::Plain) } else { ("?", Tone::Warning) };
        page.push(Paragraph::named(format!("{sign} {place}"), evidence.reason.clone()).toned(tone));
    }
    for (name, value) in &report.fields {
        page.push(Paragraph::named(name, json_text(value)));
    }
    for warning in &report.warnings {
        let about = code_words::doubt(warning.code, lang);
        let label = format!("{} · {about}", lang.pick("warning", "警告"));
        page.push(Paragraph::named(label, warning.text.clone()).toned(Tone::Warning));
    }
    for violation in &report.violations {
        let why = code_words::reason(violation.code, lang);
        let label = match violation.field.as_str() {
            "" => why.to_owned(),
            field => format!("{field} · {why}"),
        };
        page.push(Paragraph::named(label, violation.message.clone()).toned(Tone::Warning));
    }
    page.push(Paragraph::named(lang.pick("next", "建议"), report.next.clone()));
}

/// What pages show and no event tells, or the screen knows better.
#[derive(Debug, Clone, Copy)]
pub struct PageFacts<'a> {
    /// Who answers.
    pub model: &'a str,
    /// The budget that was set and that no answer has got yet.
    pub next: Option<BudgetChoice>,
    /// The permission mode that holds.
    pub mode: &'a str,
    /// How commands are fenced.
    pub fence: Option<&'a str>,
    /// The rules of the configuration.
    pub rules: &'a Rules,
}

/// A budget that no answer has got yet.
fn next(page: &mut Vec<Paragraph>, next: BudgetChoice, lang: Lang) {
    page.push(Paragraph::named(lang.pick("set", "已设定"), words::budget_words(next, lang)));
    match next {
        BudgetChoice::Preset(preset) => limits(page, &preset.parent(), lang),
        // The other limits stay what they are.
        BudgetChoice::Turns(_) => {}
    }
}

fn limits(page: &mut Vec<Paragraph>, budget: &Budget, lang: Lang) {
    for (dimension, limit) in budget.iter() {
        let text = match limit {
            Limit::Of(limit) => words::amount(dimension, *limit),
            Limit::Unlimited => lang.pick("unlimited", "不限").to_owned(),
            Limit::Off => lang.pick("unknown", "未知").to_owned(),
        };
        page.push(Paragraph::named(words::dimension(dimension, lang), text));
    }
}

/// The budgets: of the running answer if there is one, else what each answer gets.
pub fn ledger(story: &Story, facts: PageFacts<'_>, lang: Lang, now: Timestamp) -> Vec<Paragraph> {
    let mut page = Vec::new();
    if let Some(run) = story.parent() {
        let name = if run.end.is_none() {
            lang.pick("This answer, its children included", "本次回答（含子代理）")
        } else {
            lang.pick("The last answer, its children included", "上次回答（含子代理）")
        };
        page.push(Paragraph::heading(name));
        for used in Gauge::of(run, now).0 {
            let text = format!("{} {}", gauge::bar(used.ratio()), words::used(&used, lang));
            page.push(
                Paragraph::named(words::dimension(used.dimension, lang), text)
                    .toned(gauge::tone(&used)),
            );
        }
    } else if let Some(session) = story.session() {
        page.push(Paragraph::heading(lang.pick("Each answer gets", "每次回答的预算")));
        limits(&mut page, &session.budget, lang);
    }
    if let Some(next) = facts.next {
        page.push(Paragraph::gap());
        page.push(Paragraph::heading(lang.pick("From the next answer on", "自下一次回答起")));
        self::next(&mut page, next, lang);
    }
    page.push(Paragraph::gap());
    page.push(Paragraph::heading(lang.pick("The session", "本会话")));
    let totals = story.totals();
    let cost = totals
        .cost()
        .map_or_else(|| lang.pick("unknown", "未知").to_owned(), |cost| cost.to_string());
    page.push(Paragraph::named(lang.pick("cost", "费用"), cost));
    page.push(Paragraph::named(lang.pick("model", "模型"), facts.model));
    page.push(Paragraph::named(
        lang.pick("input tokens", "输入词元"),
        words::tokens(totals.usage.input_tokens),
    ));
    page.push(Paragraph::named(
        lang.pick("output tokens", "输出词元"),
        words::tokens(totals.usage.output_tokens),
    ));
    page.extend(kept_out::of_session(story, lang));
    page.extend(contradictions(story, lang));
    page.push(Paragraph::gap());
    page.push(
        Paragraph::plain(lang.pick(
            "/budget tight, normal, generous or a number of turns holds from the next answer on.",
            "/budget tight、normal、generous 或轮数，自下一次回答起生效。",
        ))
        .toned(Tone::Quiet),
    );
    page
}

/// Where the events do not add up to what the ends of the runs say: a fault of this program.
fn contradictions(story: &Story, lang: Lang) -> Vec<Paragraph> {
    let label = lang.pick("record", "记录");
    let found = story.books().contradictions().iter();
    found.map(|one| Paragraph::named(label, one.to_string()).toned(Tone::Bad)).collect()
}
