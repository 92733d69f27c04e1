//! The table of roles: what each may be given, and how it ends.

use std::fmt::Write;

use crate::domain::budget::{Budget, Dimension, Limit, Preset};
use crate::domain::role::{ReportField, Role, RoleTable};
use crate::domain::usage::MicroUsd;

/// The table, with the limits of a preset.
pub fn table(preset: Preset) -> String {
    let mut page = format!("Roles, with the limits of the budget {}\n", preset.name());
    for role in RoleTable::built_in(preset).iter() {
        append(&mut page, role);
    }
    page
}

fn append(page: &mut String, role: &Role) {
    let default = if role.name == RoleTable::DEFAULT { " (default)" } else { "" };
    let permissions = role.permissions.iter().map(ToString::to_string).collect::<Vec<_>>();
    let lines = [
        (
            "input",
            "task, expected output, done_when, must_not, and the context keys and paths \
                   that the task names; nothing else of the parent"
                .to_owned(),
        ),
        ("permissions", permissions.join(", ")),
        ("tools", role.tools.join(", ")),
        ("budget", budget(&role.budget)),
        ("output", report(&role.report_fields)),
        (
            "cancel",
            "Ctrl+X or /cancel #N at any time: it ends with a report of what it has, and \
                    its parent goes on"
                .to_owned(),
        ),
        (
            "failure",
            "its report says so with a code; it never reads as completed, and what it \
                     found is kept as unconfirmed"
                .to_owned(),
        ),
    ];
    // Writing to a string cannot fail.
    let _ = writeln!(page, "\n{}{default}: {}", role.name, role.description);
    for (name, words) in lines {
        let _ = writeln!(page, "  {name:12} {words}");
    }
}

fn budget(budget: &Budget) -> String {
    let amount = |dimension, limit: &Limit| match (dimension, limit) {
        (_, Limit::Unlimited) => format!("{dimension} unlimited"),
        (_, Limit::Off) => format!("{dimension} not counted"),
        (Dimension::CostUsd, Limit::Of(micro)) => MicroUsd(*micro).to_string(),
        (Dimension::Duration, Limit::Of(ms)) => format!("{} s", ms / 1_000),
        (
            Dimension::Turns
            | Dimension::InputTokens
            | Dimension::OutputTokens
            | Dimension::ToolCalls,
            Limit::Of(amount),
        ) => format!("{amount} {}", dimension.field().replace('_', " ")),
    };
    budget.iter().map(|(dimension, limit)| amount(dimension, limit)).collect::<Vec<_>>().join(", ")
}

fn report(fields: &[ReportField]) -> String {
    let own = fields
        .iter()
        .map(|field| format!("{}{}", field.name, if field.required { " (required)" } else { "" }));
    let common = ["summary", "evidence", "warnings"].map(str::to_owned);
    common.into_iter().chain(own).collect::<Vec<_>>().join(", ")
}
