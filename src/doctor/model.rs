//! What is known of the model that would answer.

use super::finding::{Finding, Section};
use crate::domain::usage::{MicroUsd, Prices};
use crate::provider::models::{Facts, Known};
use crate::session::server::Plan;
use crate::settings::Settings;

/// Names of offered models that are listed.
const LISTED: usize = 12;

pub(super) fn examine(settings: &Settings, offered: &[String]) -> Section {
    let mut findings = match Plan::of(settings).model() {
        Some((name, facts)) => about(&name, &facts, settings, offered),
        None => vec![Finding::note("which one answers is not decided by a name here")],
    };
    if !offered.is_empty() {
        let names = offered.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
        let more = match offered.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        findings.push(Finding::row(format!("offered: {names}{more}")));
    }
    Section::new("model", findings)
}

fn about(name: &str, facts: &Facts, settings: &Settings, offered: &[String]) -> Vec<Finding> {
    let stated = settings.numbers.context_window.is_some();
    let known = match &facts.known {
        Known::Exactly => Finding::fine(format!("{name} is known")),
        Known::Family(family) => Finding::fine(format!("{name} is known as {family}")),
        Known::Not if stated => {
            Finding::note(format!("{name} is not known; your numbers are used"))
        }
        Known::Not => Finding::note(format!(
            "{name} is not known; it gets cautious figures, and context_window and \
             max_output_tokens in config.toml state better ones"
        )),
    };
    let mut findings = vec![known];
    if settings.provider.remote().is_some_and(|remote| remote.model.is_none()) {
        findings.push(Finding::note(format!(
            "no model is named, so {name} is asked for; --model or `model` in config.toml name one"
        )));
    }
    if !offered.is_empty() && !offered.iter().any(|other| other == name) {
        findings.push(Finding::note(format!(
            "the server's list does not have {name}; if it refuses it, give another with --model"
        )));
    }
    if !facts.tools {
        findings.push(Finding::note(format!(
            "{name} cannot call tools over this wire, so it can read nothing and delegate nothing; \
             give another with --model"
        )));
    }
    findings.push(Finding::row(format!(
        "window {} tokens, answers up to {} tokens",
        facts.context_window, facts.max_output_tokens
    )));
    findings.push(price(facts.prices));
    findings
}

fn price(prices: Option<Prices>) -> Finding {
    match prices {
        Some(prices) => Finding::row(format!(
            "per million tokens: {} in, {} out, {} cache read, {} cache write",
            MicroUsd(prices.input),
            MicroUsd(prices.output),
            MicroUsd(prices.cache_read),
            MicroUsd(prices.cache_write)
        )),
        None => Finding::note(
            "its price is not known, so costs are not either and --max-cost cannot be held; \
             [prices] in config.toml states it",
        ),
    }
}
