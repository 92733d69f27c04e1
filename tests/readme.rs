//! The README says what the code says: its tables of keys, commands, roles and budgets are those of
//! the code, its exit codes are all there are, and every command line in it is one.
//!
//! `OFFSHOOT_WRITE_README=1 cargo test --test readme` writes the tables.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use offshoot::cli;
use offshoot::domain::budget::{Budget, Dimension, Preset};
use offshoot::domain::exit::Exit;
use offshoot::domain::report::Status;
use offshoot::domain::role::RoleTable;
use offshoot::ui::keymap::keys_markdown;
use offshoot::ui::slash::COMMANDS;

fn path() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")
}

fn readme() -> String {
    std::fs::read_to_string(path()).unwrap()
}

/// The text with what stands between the two marks of this name replaced.
fn with_table(text: &str, name: &str, table: &str) -> String {
    let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = text.split_once(&open).unwrap_or_else(|| panic!("no {open}"));
    let (_, after) = rest.split_once(&close).unwrap_or_else(|| panic!("no {close}"));
    format!("{before}{open}{table}{close}{after}")
}

#[test]
fn the_tables_are_those_of_the_code() {
    let text = readme();
    let tables = [
        ("keys", keys_markdown()),
        ("commands", commands()),
        ("roles", roles()),
        ("budgets", budgets()),
    ];
    let written =
        tables.iter().fold(text.clone(), |text, (name, table)| with_table(&text, name, table));
    if std::env::var_os("OFFSHOOT_WRITE_README").is_some_and(|value| value == "1") {
        std::fs::write(path(), &written).unwrap();
        return;
    }
    for (old, new) in text.lines().zip(written.lines()) {
        assert_eq!(old, new, "OFFSHOOT_WRITE_README=1 cargo test --test readme writes it anew");
    }
    assert_eq!(text, written);
}

fn commands() -> String {
    let mut table = String::from("| command | does |\n|---|---|\n");
    for (name, takes, does, _) in COMMANDS {
        let line = format!("{name} {}", takes.replace('|', "\\|"));
        writeln!(table, "| `{}` | {does} |", line.trim_end()).unwrap();
    }
    table
}

fn roles() -> String {
    let mut table =
        String::from("| role | what it does | permissions | tools | own report fields |\n");
    table.push_str("|---|---|---|---|---|\n");
    for role in RoleTable::built_in(Preset::Normal).iter() {
        let permissions: Vec<&str> = role.permissions.iter().map(|held| held.name()).collect();
        let field = |field: &offshoot::domain::role::ReportField| {
            let must = if field.required { " (required)" } else { "" };
            format!("{}{must}", field.name)
        };
        let fields: Vec<String> = role.report_fields.iter().map(field).collect();
        let default = if role.name == RoleTable::DEFAULT { " (default)" } else { "" };
        writeln!(
            table,
            "| `{}`{default} | {} | {} | {} | {} |",
            role.name,
            role.description,
            permissions.join(", "),
            role.tools.join(", "),
            fields.join(", ")
        )
        .unwrap();
    }
    table
}

fn budgets() -> String {
    let mut table = String::from("| | tight | normal | generous |\n|---|---|---|---|\n");
    let mut row = |name: &str, cell: &dyn Fn(Preset) -> String| {
        let cells = Preset::ALL.map(cell);
        writeln!(table, "| {name} | {} |", cells.join(" | ")).unwrap();
    };
    for dimension in Dimension::ALL {
        row(&format!("parent: {}", words(dimension)), &|preset| amount(dimension, preset.parent()));
    }
    for dimension in Dimension::ALL {
        row(&format!("child: {}", words(dimension)), &|preset| {
            let reader = amount(dimension, preset.child());
            let others = [("tester", preset.tester()), ("worker", preset.worker())];
            let others = others.map(|(name, budget)| (name, amount(dimension, budget)));
            let others: Vec<String> = others
                .into_iter()
                .filter(|(_, amount)| *amount != reader)
                .map(|(name, amount)| format!("{name} {amount}"))
                .collect();
            if others.is_empty() { reader } else { format!("{reader} ({})", others.join(", ")) }
        });
    }
    row("all children: turns", &|preset| preset.totals().turns.to_string());
    row("all children: started", &|preset| preset.totals().delegations.to_string());
    row("all children: at once", &|preset| preset.totals().active.to_string());
    table
}

fn words(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Turns => "turns",
        Dimension::InputTokens => "input tokens, all requests together",
        Dimension::OutputTokens => "output tokens",
        Dimension::ToolCalls => "tool calls",
        Dimension::CostUsd => "cost",
        Dimension::Duration => "duration",
    }
}

fn amount(dimension: Dimension, budget: Budget) -> String {
    let amount = budget[dimension].finite().unwrap();
    match dimension {
        Dimension::Turns
        | Dimension::ToolCalls
        | Dimension::InputTokens
        | Dimension::OutputTokens => thousands(amount),
        Dimension::CostUsd => format!("${}.{:02}", amount / 1_000_000, amount / 10_000 % 100),
        Dimension::Duration => format!("{} s", thousands(amount / 1_000)),
    }
}

fn thousands(amount: u64) -> String {
    let digits = amount.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The first cells of the table under this heading cell.
fn first_cells(text: &str, heading: &str) -> Vec<String> {
    let start = text.find(&format!("| {heading} |")).unwrap_or_else(|| panic!("no {heading}"));
    let rows = text[start..].lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('|').nth(1).unwrap().trim().trim_matches('`').to_owned()).collect()
}

#[test]
fn every_exit_code_and_every_status_is_explained() {
    let all = [
        Exit::Completed,
        Exit::Failed,
        Exit::Usage,
        Exit::BudgetExhausted,
        Exit::Blocked,
        Exit::TimedOut,
        Exit::Cancelled,
    ];
    assert_eq!(first_cells(&readme(), "exit code"), all.map(|exit| exit.code().to_string()));
    let all = [
        Status::Completed,
        Status::BudgetExhausted,
        Status::Cancelled,
        Status::Blocked,
        Status::Failed,
        Status::InvalidResult,
    ];
    assert_eq!(first_cells(&readme(), "status"), all.map(|status| status.as_str().to_owned()));
}

#[test]
fn the_toolchain_that_is_asked_for_is_the_one_that_is_needed() {
    let needed = env!("CARGO_PKG_RUST_VERSION");
    assert!(readme().contains(&format!("https://rustup.rs), {needed} or newer")), "{needed}");
}

/// Every option that the program has is in its help; every option of the README must be there, or
/// be refused as not built.
#[test]
fn every_option_in_it_exists_or_is_refused_by_name() {
    let help = |words: &[&str]| match cli::parse(words).unwrap() {
        cli::Parsed::Say(help) => help,
        cli::Parsed::Typed(typed) => panic!("{words:?} asks for no help: {typed:?}"),
    };
    let help = help(&["offshoot", "--help"]) + &help(&["offshoot", "doctor", "--help"]);
    let text = readme();
    let options: BTreeSet<&str> = text
        .split(|c: char| c.is_whitespace() || "`(),;|".contains(c))
        .filter(|word| word.starts_with("--") && word.len() > 4)
        .filter(|word| word[2..].chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        .collect();
    assert!(options.len() > 15, "{options:?}");
    for option in options {
        // Of cargo, and of the slash command /pin.
        let others =
            ["--release", "--bench", "--test", "--nocapture", "--open", "--help", "--local"];
        if others.contains(&option) || help.contains(option) {
            continue;
        }
        let refused = cli::parse(["offshoot", option, "x"]).unwrap_err().to_string();
        assert!(refused.contains("not built yet"), "{option}: {refused}");
    }
}
