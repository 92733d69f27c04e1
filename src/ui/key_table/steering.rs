//! The keys that steer the selected child.

use super::super::keymap::{Action, Binding, Context, Push};
use super::{binding, char};

pub(super) static BINDINGS: &[Binding] = &[
    binding(
        Context::Delegations,
        &[char('w')],
        "w",
        Action::Steer(Push::WrapUp),
        ("wrap up: the child's next turn is its last, and reports", "收尾：下一轮为最后一轮并汇报"),
    )
    .footer(9, "wrap up", "收尾")
    .command("/wrapup [#N]"),
    binding(
        Context::Delegations,
        &[char('p')],
        "p",
        Action::Steer(Push::Pause),
        (
            "pause: what goes on ends, nothing new starts; again: go on",
            "暂停：进行中的做完，不再开始新的；再按继续",
        ),
    )
    .footer(9, "pause", "暂停")
    .command("/pause [#N]"),
    binding(
        Context::Delegations,
        &[char('+')],
        "+",
        Action::Steer(Push::Extend),
        ("let the child use half as much again", "将子代理的预算增加一半"),
    )
    .footer(10, "extend", "增加预算")
    .command("/extend [#N]"),
    binding(
        Context::Delegations,
        &[char('m')],
        "m",
        Action::Steer(Push::Message),
        ("write to the child; it reads it before its next turn", "给子代理留言；下一轮前读到"),
    )
    .footer(10, "message", "留言")
    .command("/tell [#N] TEXT"),
];
