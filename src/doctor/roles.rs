//! The table of roles: what each may be given, and how it ends.

use std::fmt::Write;

use crate::domain::budget::{Budget, Dimension, Limit};
use crate::domain::event::Level;
use crate::domain::role::{ReportField, Role, RoleTable};
use crate::domain::role_file::RoleSource;
use crate::domain::usage::MicroUsd;
use crate::sanitize;
use crate::settings::Settings;

/// The table, with the limits of the budget in use, and what was wrong with files of roles.
pub fn table(settings: &Settings) -> String {
    let preset = settings.limits.preset;
    let mut page = format!("Roles, with the limits of the budget {}\n", preset.name());
    // What the files could not do is among the remarks.
    for role in RoleTable::with_files(preset, &settings.roles, &mut Vec::new()).iter() {
        append(&mut page, role);
    }
    let doubts = settings.remarks.iter().filter(|remark| remark.level == Level::Warning);
    for doubt in doubts.filter(|remark| matches!(remark.code, "ROLE_FILE" | "UNTRUSTED")) {
        // Writing to a string cannot fail.
        let _ = write!(page, "\nnote: {}\n", sanitize::line(&doubt.text));
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
        ("models", models(role)),
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
        ("source", source(&role.source)),
    ];
    // Writing to a string cannot fail.
    let _ = writeln!(page, "\n{}{default}: {}", role.name, sanitize::line(&role.description));
    for (name, words) in lines {
        let _ = writeln!(page, "  {name:12} {}", sanitize::line(&words));
    }
}

fn models(role: &Role) -> String {
    match &role.model {
        Some(model) => format!("{model}, where the provider has it; else its parent's"),
        None if role.models.is_empty() => "its parent's".to_owned(),
        None => format!("its parent's; a task may choose {}", role.models.join(", ")),
    }
}

fn source(source: &RoleSource) -> String {
    match source {
        RoleSource::BuiltIn => "built in".to_owned(),
        RoleSource::User(file) => format!("{file} (yours)"),
        RoleSource::Project(file) => format!("{file} (the project's, which you trust)"),
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
