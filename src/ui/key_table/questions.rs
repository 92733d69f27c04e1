//! The keys that answer what is asked.

use crossterm::event::KeyCode;

use super::super::keymap::{Action, Amend, Binding, Context, Key, Move};
use super::{binding, char, plain};

pub(super) static BINDINGS: &[Binding] = &[
    binding(
        Context::Approval,
        &[char('y')],
        "y",
        Action::Answer(Key::Once),
        (
            "yes, this once; to tests: this command for the session. Keys in the first 400 ms do not answer",
            "允许一次；对测试：本会话内允许此命令。最初 400 毫秒内的按键不算答复",
        ),
    )
    .footer(1, "yes", "允许"),
    binding(Context::Approval, &[char('n')], "n", Action::Answer(Key::No), ("no", "拒绝"))
        .footer(1, "no", "拒绝"),
    binding(
        Context::Approval,
        &[char('c')],
        "c",
        Action::Answer(Key::Child),
        (
            "yes, and what the shown prefix covers, for this child or answer",
            "允许，并在此子代理或本次回答内允许所示前缀",
        ),
    )
    .footer(4, "this run", "此次运行"),
    binding(
        Context::Approval,
        &[char('s')],
        "s",
        Action::Answer(Key::Session),
        (
            "the same for the session: the parent, or all children of this role",
            "同上，整个会话内：父代理，或该角色的全部子代理",
        ),
    )
    .footer(5, "session", "会话内"),
    binding(
        Context::Approval,
        &[char('r')],
        "r",
        Action::Answer(Key::Reason),
        ("no, with a reason that the model sees", "拒绝，并告诉模型理由"),
    )
    .footer(3, "no, because…", "拒绝并说明"),
    binding(
        Context::Approval,
        &[plain(KeyCode::Esc)],
        "Esc",
        Action::Answer(Key::Later),
        (
            "later: its row says so, Enter on it asks again",
            "稍后：该行会注明，在其上按 Enter 可再次答复",
        ),
    )
    .footer(2, "later", "稍后"),
    binding(
        Context::Preflight,
        &[plain(KeyCode::Up), char('k')],
        "Up, k",
        Action::Amend(Amend::Up),
        ("choose the line above that can be changed", "选择上一个可改的行"),
    )
    .footer_as(2, "↑↓", "choose", "选择"),
    binding(
        Context::Preflight,
        &[plain(KeyCode::Down), char('j')],
        "Down, j",
        Action::Amend(Amend::Down),
        ("choose the line below that can be changed", "选择下一个可改的行"),
    ),
    binding(
        Context::Preflight,
        &[char('-'), plain(KeyCode::Left)],
        "-, Left",
        Action::Amend(Amend::Lower),
        (
            "lower the chosen number: to 75, 50, 25, 10 percent of what was shown",
            "降低所选数值：至所示值的 75、50、25、10%",
        ),
    )
    .footer(2, "lower", "降低"),
    binding(
        Context::Preflight,
        &[plain(KeyCode::Right)],
        "Right",
        Action::Amend(Amend::Raise),
        ("raise it again, never above what was shown", "再提高，但不超过所示值"),
    )
    .footer_as(6, "→", "raise", "提高"),
    binding(
        Context::Preflight,
        &[char(' ')],
        "Space",
        Action::Amend(Amend::Drop),
        ("drop the chosen context key, or take it back", "去除所选上下文键，或恢复"),
    )
    .footer(2, "drop", "去除"),
    binding(
        Context::Reason,
        &[plain(KeyCode::Enter)],
        "Enter",
        Action::SendReason,
        ("say no with this reason", "以此理由拒绝"),
    )
    .footer(1, "say no", "拒绝"),
    binding(
        Context::Reason,
        &[plain(KeyCode::Esc)],
        "Esc",
        Action::LeaveReason,
        ("back to the question", "返回询问"),
    )
    .footer(1, "back", "返回"),
    binding(
        Context::Trust,
        &[char('y')],
        "y",
        Action::Trust(true),
        ("trust this folder's own files as they are now", "信任此文件夹自带的文件（按其现状）"),
    )
    .footer(1, "yes", "信任"),
    binding(
        Context::Trust,
        &[char('n'), plain(KeyCode::Esc)],
        "n, Esc",
        Action::Trust(false),
        ("go on without them", "不采用，继续"),
    )
    .footer(1, "no", "不采用"),
    binding(
        Context::Asked,
        &[plain(KeyCode::Up), char('k')],
        "Up, k",
        Action::Move(Move::Up),
        ("a row up", "上移一行"),
    )
    .footer_as(6, "↑↓ PgUp PgDn", "scroll", "滚动"),
    binding(
        Context::Asked,
        &[plain(KeyCode::Down), char('j')],
        "Down, j",
        Action::Move(Move::Down),
        ("a row down", "下移一行"),
    ),
    binding(
        Context::Asked,
        &[plain(KeyCode::Home), char('g')],
        "Home, g",
        Action::Move(Move::Start),
        ("to the start", "到开头"),
    ),
    binding(
        Context::Asked,
        &[plain(KeyCode::End), char('G')],
        "End, G",
        Action::Move(Move::End),
        ("to the end", "到末尾"),
    ),
];
