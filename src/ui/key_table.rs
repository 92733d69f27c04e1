//! The one table of keys. What edits a text and what answers a question stand in files of their own.

mod editing;
mod questions;
mod steering;

use crossterm::event::{KeyCode, KeyModifiers};

use super::composer::Edit;
use super::keymap::{Action, Binding, Chord, Context, Hint, Move};

const fn plain(code: KeyCode) -> Chord {
    Chord(code, KeyModifiers::NONE)
}
const fn ctrl(c: char) -> Chord {
    Chord(KeyCode::Char(c), KeyModifiers::CONTROL)
}
const fn alt(c: char) -> Chord {
    Chord(KeyCode::Char(c), KeyModifiers::ALT)
}
const fn char(c: char) -> Chord {
    plain(KeyCode::Char(c))
}

const fn binding(
    context: Context,
    chords: &'static [Chord],
    shown: &'static str,
    action: Action,
    does: (&'static str, &'static str),
) -> Binding {
    Binding { context, chords, shown, action, does, footer: None, command: None }
}

impl Binding {
    const fn footer(mut self, rank: u8, english: &'static str, chinese: &'static str) -> Self {
        self.footer = Some(Hint { words: (english, chinese), rank, key: None });
        self
    }

    /// The same, where the footer names other keys than the table's first.
    const fn footer_as(
        mut self,
        rank: u8,
        key: &'static str,
        english: &'static str,
        chinese: &'static str,
    ) -> Self {
        self.footer = Some(Hint { words: (english, chinese), rank, key: Some(key) });
        self
    }

    const fn command(mut self, command: &'static str) -> Self {
        self.command = Some(command);
        self
    }
}

const NEWLINE: &[Chord] = &[
    ctrl('j'),
    Chord(KeyCode::Enter, KeyModifiers::ALT),
    Chord(KeyCode::Enter, KeyModifiers::SHIFT),
    Chord(KeyCode::Enter, KeyModifiers::CONTROL),
];

/// Every key there is. The footer shows them in this order, as many as fit.
pub fn bindings() -> impl Iterator<Item = &'static Binding> {
    questions::BINDINGS.iter().chain(BINDINGS).chain(steering::BINDINGS).chain(editing::BINDINGS)
}

static BINDINGS: &[Binding] = &[
    binding(
        Context::Composer,
        &[plain(KeyCode::Enter)],
        "Enter",
        Action::Send,
        ("send; nothing when empty", "发送；空输入不发送"),
    )
    .footer(4, "send", "发送"),
    binding(
        Context::Composer,
        NEWLINE,
        "^J, Alt+Enter, \\ Enter, Shift+Enter",
        Action::Edit(Edit::Newline),
        ("new line", "换行"),
    )
    .footer(7, "newline", "换行"),
    binding(
        Context::Panes,
        &[plain(KeyCode::Enter), char('o')],
        "Enter, o",
        Action::Open,
        (
            "open in full: a call's input and output, a child's ledger",
            "展开：调用的输入输出、子代理账目",
        ),
    )
    .footer(3, "open", "展开"),
    binding(
        Context::Everywhere,
        &[ctrl('x')],
        "^X",
        Action::CancelChild,
        (
            "cancel the active child: the selected live one, else the newest; its parent goes on",
            "取消当前子代理：选中的，否则最新的；父代理继续",
        ),
    )
    .footer(2, "cancel child", "取消子代理")
    .command("/cancel [#N]"),
    binding(
        Context::Delegations,
        &[char('x')],
        "x",
        Action::CancelSelected,
        ("cancel the selected child", "取消选中的子代理"),
    )
    .footer(5, "cancel it", "取消它")
    .command("/cancel #N"),
    binding(
        Context::Overlay,
        &[plain(KeyCode::Esc), plain(KeyCode::Enter), char('q'), char('?')],
        "Esc, Enter, q, ?",
        Action::Escape,
        ("close the page", "关闭页面"),
    )
    .footer(1, "close", "关闭"),
    binding(
        Context::Delegations,
        &[plain(KeyCode::Esc)],
        "Esc",
        Action::Escape,
        ("back to the input; stops nothing", "回到输入框；不停止任何任务"),
    )
    .footer(1, "back", "返回"),
    binding(
        Context::Everywhere,
        &[plain(KeyCode::Esc)],
        "Esc",
        Action::Escape,
        (
            "while something runs: asks; again within 3 s stops the answer, all children and your command",
            "运行中：先询问；3 秒内再按一次停止回答、全部子代理与你的命令",
        ),
    )
    .footer(1, "stop", "停止")
    .command("/stop"),
    binding(
        Context::Composer,
        &[plain(KeyCode::Tab)],
        "Tab",
        Action::NextPane,
        ("next pane", "下一栏"),
    )
    .footer(6, "pane", "切换"),
    binding(
        Context::Panes,
        &[plain(KeyCode::Tab)],
        "Tab",
        Action::NextPane,
        ("next pane", "下一栏"),
    )
    .footer(6, "pane", "切换"),
    binding(
        Context::Everywhere,
        &[alt('1')],
        "Alt+1",
        Action::ToConversation,
        ("to the conversation", "到对话栏"),
    ),
    binding(
        Context::Everywhere,
        &[alt('2')],
        "Alt+2",
        Action::ToDelegations,
        ("to the delegations", "到委派栏"),
    ),
    binding(
        Context::Everywhere,
        &[alt('3')],
        "Alt+3",
        Action::ToComposer,
        ("to the input", "到输入框"),
    ),
    binding(
        Context::Panes,
        &[plain(KeyCode::Up), char('k')],
        "Up, k",
        Action::Move(Move::Up),
        ("a row up; reading back stays where it is", "上移一行；回看时位置不变"),
    ),
    binding(
        Context::Panes,
        &[plain(KeyCode::Down), char('j')],
        "Down, j",
        Action::Move(Move::Down),
        ("a row down", "下移一行"),
    ),
    binding(
        Context::Everywhere,
        &[plain(KeyCode::PageUp)],
        "PgUp",
        Action::Move(Move::PageUp),
        ("a page up", "上翻一页"),
    ),
    binding(
        Context::Everywhere,
        &[plain(KeyCode::PageDown)],
        "PgDn",
        Action::Move(Move::PageDown),
        ("a page down", "下翻一页"),
    ),
    binding(
        Context::Panes,
        &[plain(KeyCode::Home), char('g')],
        "Home, g",
        Action::Move(Move::Start),
        ("to the start", "到开头"),
    ),
    binding(
        Context::Panes,
        &[plain(KeyCode::End), char('G')],
        "End, G",
        Action::Move(Move::End),
        ("to the end, and follow it again", "到末尾，继续跟随"),
    ),
    binding(
        Context::Panes,
        &[plain(KeyCode::Left)],
        "Left",
        Action::Move(Move::Left),
        ("the call before; in the delegations: fold", "上一个调用；委派栏中：折叠"),
    ),
    binding(
        Context::Panes,
        &[plain(KeyCode::Right)],
        "Right",
        Action::Move(Move::Right),
        ("the call after; in the delegations: unfold", "下一个调用；委派栏中：展开"),
    ),
    binding(
        Context::Delegations,
        &[char(' ')],
        "Space",
        Action::Fold,
        ("fold or unfold the child", "折叠或展开子代理"),
    )
    .footer(8, "fold", "折叠"),
    binding(
        Context::Delegations,
        &[char('f')],
        "f",
        Action::Filter,
        ("show all, live, or failed children", "显示全部、运行中或失败的"),
    )
    .footer(9, "filter", "筛选"),
    binding(
        Context::Panes,
        &[char('z')],
        "z",
        Action::Zoom,
        ("this pane on the full screen, and back", "本栏全屏，再按返回"),
    )
    .footer(10, "full", "全屏"),
    binding(
        Context::Panes,
        &[char('<')],
        "<",
        Action::DividerLess,
        ("less room for the conversation", "缩小对话栏"),
    ),
    binding(
        Context::Panes,
        &[char('>')],
        ">",
        Action::DividerMore,
        ("more room for the conversation", "扩大对话栏"),
    ),
    binding(
        Context::Overlay,
        &[plain(KeyCode::Up), char('k')],
        "Up, k",
        Action::Move(Move::Up),
        ("a row up", "上移一行"),
    )
    .footer_as(3, "↑↓ PgUp PgDn", "scroll", "滚动"),
    binding(
        Context::Overlay,
        &[plain(KeyCode::Down), char('j')],
        "Down, j",
        Action::Move(Move::Down),
        ("a row down", "下移一行"),
    ),
    binding(
        Context::Overlay,
        &[plain(KeyCode::Home), char('g')],
        "Home, g",
        Action::Move(Move::Start),
        ("to the start", "到开头"),
    ),
    binding(
        Context::Overlay,
        &[plain(KeyCode::End), char('G')],
        "End, G",
        Action::Move(Move::End),
        ("to the end", "到末尾"),
    ),
    binding(
        Context::Everywhere,
        &[ctrl('l')],
        "^L",
        Action::Repaint,
        ("repaint everything", "重绘屏幕"),
    ),
    binding(
        Context::Everywhere,
        &[ctrl('z')],
        "^Z",
        Action::Suspend,
        ("suspend: not built yet, it only says so", "挂起：尚未实现，仅作提示"),
    ),
    binding(
        Context::Everywhere,
        &[
            Chord(KeyCode::BackTab, KeyModifiers::SHIFT),
            plain(KeyCode::BackTab),
            Chord(KeyCode::Tab, KeyModifiers::SHIFT),
        ],
        "Shift+Tab",
        Action::NextMode,
        (
            "next permission mode: read-only, ask, auto-edit, full-access",
            "下一权限模式：read-only、ask、auto-edit、full-access",
        ),
    )
    .command("/permissions"),
    binding(
        Context::Panes,
        &[char('a')],
        "a",
        Action::Reopen,
        (
            "answer the call that waits for approval; so does Enter on its row",
            "答复等待批准的调用；在其行上按 Enter 亦可",
        ),
    )
    .command("/approve"),
    binding(Context::Panes, &[char('?')], "?", Action::Help, ("this page", "本页"))
        .footer(0, "keys", "按键")
        .command("/help"),
    binding(
        Context::Everywhere,
        &[plain(KeyCode::F(1))],
        "F1",
        Action::Help,
        ("this page", "本页"),
    )
    .footer(0, "keys", "按键")
    .command("/help"),
    binding(
        Context::Everywhere,
        &[ctrl('c')],
        "^C",
        Action::Interrupt,
        (
            "clear the input; if empty and running: as Esc; twice within 2 s: quit",
            "清空输入；空且运行中：同 Esc；2 秒内两次：退出",
        ),
    )
    .command("/quit"),
    binding(
        Context::Everywhere,
        &[ctrl('d')],
        "^D",
        Action::EndOfInput,
        ("on an empty input: quit", "空输入时：退出"),
    )
    .command("/quit"),
];
