//! The keys that edit a text.

use crossterm::event::{KeyCode, KeyModifiers};

use super::super::composer::Edit;
use super::super::keymap::{Action, Binding, Chord, Context};
use super::{alt, binding, ctrl, plain};

pub(super) static BINDINGS: &[Binding] = &[
    binding(
        Context::Composer,
        &[plain(KeyCode::Up)],
        "Up",
        Action::InputUp,
        ("a row up; in an empty input: an older prompt", "上移一行；空输入：更早的输入"),
    ),
    binding(
        Context::Composer,
        &[plain(KeyCode::Down)],
        "Down",
        Action::InputDown,
        ("a row down; after an older prompt: a newer one", "下移一行；之后：更新的输入"),
    ),
    binding(
        Context::Composer,
        &[plain(KeyCode::Left)],
        "Left",
        Action::Edit(Edit::Left),
        ("a character to the left", "左移一字"),
    ),
    binding(
        Context::Composer,
        &[plain(KeyCode::Right)],
        "Right",
        Action::Edit(Edit::Right),
        ("a character to the right", "右移一字"),
    ),
    binding(
        Context::Composer,
        &[plain(KeyCode::Home), ctrl('a')],
        "Home, ^A",
        Action::InputStart,
        (
            "to the line's start; in an empty input: to the conversation's",
            "到行首；空输入：对话开头",
        ),
    ),
    binding(
        Context::Composer,
        &[plain(KeyCode::End), ctrl('e')],
        "End, ^E",
        Action::InputEnd,
        (
            "to the line's end; in an empty input: follow the conversation",
            "到行尾；空输入：跟随对话",
        ),
    ),
    binding(
        Context::Composer,
        &[plain(KeyCode::Backspace), Chord(KeyCode::Backspace, KeyModifiers::SHIFT), ctrl('h')],
        "Backspace",
        Action::Edit(Edit::Backspace),
        ("delete to the left", "向左删除"),
    ),
    binding(
        Context::Composer,
        &[plain(KeyCode::Delete)],
        "Delete",
        Action::Edit(Edit::Delete),
        ("delete to the right", "向右删除"),
    ),
    binding(
        Context::Composer,
        &[ctrl('w'), Chord(KeyCode::Backspace, KeyModifiers::ALT)],
        "^W, Alt+Backspace",
        Action::Edit(Edit::DeleteWord),
        ("delete the word to the left", "删除左边的词"),
    ),
    binding(
        Context::Composer,
        &[ctrl('u')],
        "^U",
        Action::Edit(Edit::DeleteToStart),
        ("delete to the line's start", "删除到行首"),
    ),
    binding(
        Context::Composer,
        &[ctrl('k')],
        "^K",
        Action::Edit(Edit::DeleteToEnd),
        ("delete to the line's end", "删除到行尾"),
    ),
    // Terminals send Ctrl+_ as the byte 0x1F, which reads as Ctrl+7.
    binding(
        Context::Composer,
        &[ctrl('7'), ctrl('_'), ctrl('/')],
        "^_",
        Action::Edit(Edit::Undo),
        ("undo", "撤销"),
    ),
    binding(Context::Composer, &[alt('_')], "Alt+_", Action::Edit(Edit::Redo), ("redo", "重做")),
];
