//! The sources of settings, one above the other: defaults, the user's file, the project's file,
//! the environment, flags. A later one replaces an earlier one, and lists are added up; what a
//! project's file may do is in `narrowing`. Every value knows where it comes from. It refuses to
//! know what the values are for.

use std::fmt;
use std::path::Path;

use secrecy::SecretString;

use super::file::{self, Entry, Place};
use super::surroundings::{Env, variable};
use super::table::{self, Key, ROWS, Row};
use super::value::Value;
use super::{Remark, SettingsError};
use crate::cli::{BudgetName, Language, Options, PermissionMode};
use crate::domain::budget::Limit;
use crate::domain::event::Level;
use crate::domain::usage::MicroUsd;
use crate::domain::violation::Code;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The user's configuration file.
    UserFile(Place),
    /// The project's configuration file.
    ProjectFile(Place),
    /// A variable of the environment.
    Variable(&'static str),
    /// A flag.
    Flag(&'static str),
    /// Several of these: a list to which each of them added something.
    Together(Vec<Origin>),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::UserFile(place) | Self::ProjectFile(place) => {
                write!(f, "{}:{}", place.path.display(), place.line)
            }
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
            Self::Together(origins) => {
                let words: Vec<String> = origins.iter().map(ToString::to_string).collect();
                f.write_str(&words.join(" and "))
            }
        }
    }
}

/// A setting as it is told to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Which.
    pub key: Key,
    /// Its value without secrets; `None` if nothing is set and it depends on the rest.
    pub value: Option<String>,
    /// Where that comes from.
    pub origin: Origin,
}

#[derive(Debug, Clone)]
struct Chosen {
    value: Option<Value>,
    origin: Origin,
}

/// What one source added to a list.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    key: Key,
    /// Where it says so.
    pub origin: Origin,
    /// The items.
    pub items: Vec<String>,
}

/// All settings as far as they are read.
#[derive(Debug)]
pub(super) struct Layers {
    chosen: Vec<Chosen>,
    /// Lists are not replaced but added up, and each part knows its source.
    lists: Vec<Listed>,
    /// Whom the user's file names, also after something else replaced it.
    users_provider: Option<String>,
}

impl Layers {
    /// Nothing but defaults.
    pub fn new() -> Self {
        let default = |row: &Row| Chosen { value: row.fallback.value(), origin: Origin::Default };
        Self { chosen: ROWS.iter().map(default).collect(), lists: Vec::new(), users_provider: None }
    }

    /// Reads the user's own file.
    pub fn user_file(
        &mut self,
        path: &Path,
        remarks: &mut Vec<Remark>,
    ) -> Result<bool, SettingsError> {
        let text = file::text_of(path).map_err(|why| unreadable(path, &why))?;
        let Some(text) = text else { return Ok(false) };
        for entry in file::entries(&text, path)? {
            match entry {
                Entry::Known { row, value: Some(value), place } => {
                    self.set(row.key, value, Origin::UserFile(place));
                }
                Entry::Known { row, value: None, place } => return Err(ill_typed(row, &place)),
                Entry::Unknown { name, place } => remarks.push(unknown(&name, &place)),
            }
        }
        self.users_provider = self.text(Key::Provider).map(str::to_owned);
        Ok(true)
    }

    /// Reads the variables that are settings of their own. Those of a provider are read with it.
    pub fn environment(&mut self, env: &Env) -> Result<(), SettingsError> {
        for (name, key) in [
            ("MODEL_ID", Key::Model),
            ("OFFSHOOT_MODEL", Key::Model),
            ("OFFSHOOT_PACE", Key::PaceMs),
        ] {
            if let Some(text) = variable(env, name) {
                self.read(key, text, Origin::Variable(name))?;
            }
        }
        // Its presence counts, whatever it holds: https://no-color.org
        if env.get("NO_COLOR").is_some_and(|value| !value.is_empty()) {
            self.set(Key::Color, Value::Switch(false), Origin::Variable("NO_COLOR"));
        }
        Ok(())
    }

    /// Reads what was typed.
    pub fn flags(&mut self, options: &Options) -> Result<(), SettingsError> {
        let number = |number: Option<u32>| number.map(|number| number.to_string());
        let typed = [
            ("--provider", Key::Provider, options.provider.clone()),
            ("--base-url", Key::BaseUrl, options.base_url.clone()),
            ("--model", Key::Model, options.model.clone().filter(|name| !name.trim().is_empty())),
            ("--retries", Key::Retries, options.retries.clone()),
            ("--budget", Key::BudgetPreset, options.budget.map(|name| preset(name).to_owned())),
            ("--max-turns", Key::BudgetTurns, options.max_turns.clone()),
            ("--max-cost", Key::BudgetMaxCost, options.max_cost.clone()),
            ("--max-delegations", Key::BudgetDelegations, number(options.max_delegations)),
            ("--max-depth", Key::BudgetDepth, options.max_depth.clone()),
            ("--max-active", Key::BudgetActive, number(options.max_active)),
            ("--lang", Key::Lang, options.lang.map(|lang| language(lang).to_owned())),
            (
                "--permission-mode",
                Key::PermissionMode,
                options.permission_mode.map(|mode| permission_mode(mode).to_owned()),
            ),
        ];
        for (flag, key, text) in typed {
            if let Some(text) = text {
                self.read(key, &text, Origin::Flag(flag))?;
            }
        }
        if !options.add_dir.is_empty() {
            let folders = options.add_dir.iter().map(|folder| folder.display().to_string());
            self.set(Key::AddDirs, Value::List(folders.collect()), Origin::Flag("--add-dir"));
        }
        if options.no_color {
            self.set(Key::Color, Value::Switch(false), Origin::Flag("--no-color"));
        }
        Ok(())
    }

    fn read(&mut self, key: Key, text: &str, origin: Origin) -> Result<(), SettingsError> {
        let row = key.row();
        let Some(value) = row.kind.of_text(text) else {
            let words = format!("{origin} is `{text}`; it takes {}", row.kind.takes());
            return Err(refused(key, &format!("{words}{}", hint(key))));
        };
        self.set(key, value, origin);
        Ok(())
    }

    /// Sets a value, whatever was there; a list is added to what was there.
    pub fn set(&mut self, key: Key, value: Value, origin: Origin) {
        match value {
            Value::List(items) => self.add(key, items, origin),
            value => self.chosen[key as usize] = Chosen { value: Some(value), origin },
        }
    }

    fn add(&mut self, key: Key, items: Vec<String>, origin: Origin) {
        self.lists.push(Listed { key, origin, items });
        let parts: Vec<&Listed> = self.lists(key).collect();
        let items = parts.iter().flat_map(|part| part.items.clone()).collect();
        let origin = match parts.as_slice() {
            [only] => only.origin.clone(),
            parts => Origin::Together(parts.iter().map(|part| part.origin.clone()).collect()),
        };
        self.chosen[key as usize] = Chosen { value: Some(Value::List(items)), origin };
    }

    /// What each source added to a list, in the order they were read.
    pub fn lists(&self, key: Key) -> impl Iterator<Item = &Listed> {
        self.lists.iter().filter(move |part| part.key == key)
    }

    /// Takes back what the user's file says of a connection; returns the names that were set.
    pub fn forget_connection(&mut self) -> Vec<&'static str> {
        let mut forgotten = Vec::new();
        for row in ROWS.iter().filter(|row| row.key.is_connection()) {
            let chosen = &mut self.chosen[row.key as usize];
            if matches!(chosen.origin, Origin::UserFile(_)) {
                *chosen = Chosen { value: row.fallback.value(), origin: Origin::Default };
                forgotten.push(row.name);
            }
        }
        forgotten
    }

    /// Whom the user's file names.
    pub fn users_provider(&self) -> Option<&str> {
        self.users_provider.as_deref()
    }

    /// Where a value comes from.
    pub fn origin(&self, key: Key) -> &Origin {
        &self.chosen[key as usize].origin
    }

    /// The value, if there is one.
    pub fn value(&self, key: Key) -> Option<&Value> {
        self.chosen[key as usize].value.as_ref()
    }

    pub fn text(&self, key: Key) -> Option<&str> {
        match self.value(key)? {
            Value::Text(text) => Some(text),
            Value::Whole(_)
            | Value::Number(_)
            | Value::Unlimited
            | Value::Switch(_)
            | Value::Words(_)
            | Value::Pairs(_)
            | Value::List(_) => None,
        }
    }

    pub fn whole(&self, key: Key) -> Option<u64> {
        match self.value(key)? {
            Value::Whole(whole) => Some(*whole),
            Value::Text(_)
            | Value::Number(_)
            | Value::Unlimited
            | Value::Switch(_)
            | Value::Words(_)
            | Value::Pairs(_)
            | Value::List(_) => None,
        }
    }

    pub fn number(&self, key: Key) -> Option<f64> {
        self.value(key)?.size()
    }

    pub fn switch(&self, key: Key) -> bool {
        matches!(self.value(key), Some(Value::Switch(true)))
    }

    pub fn words(&self, key: Key) -> Option<&[String]> {
        match self.value(key)? {
            Value::Words(words) => Some(words),
            Value::Text(_)
            | Value::Whole(_)
            | Value::Number(_)
            | Value::Unlimited
            | Value::Switch(_)
            | Value::Pairs(_)
            | Value::List(_) => None,
        }
    }

    pub fn pairs(&self, key: Key) -> &[(String, SecretString)] {
        if let Some(Value::Pairs(pairs)) = self.value(key) { pairs } else { &[] }
    }

    /// A limit in the budget's unit: dollars as micro-dollars.
    pub fn limit(&self, key: Key) -> Option<Limit> {
        match self.value(key)? {
            Value::Whole(whole) => Some(Limit::Of(*whole)),
            Value::Number(dollars) => {
                MicroUsd::from_dollars(*dollars).map(|cost| Limit::Of(cost.0))
            }
            Value::Unlimited => Some(Limit::Unlimited),
            Value::Text(_)
            | Value::Switch(_)
            | Value::Words(_)
            | Value::Pairs(_)
            | Value::List(_) => None,
        }
    }

    /// Everything, for people.
    pub fn told(&self) -> Vec<Told> {
        let told = |(row, chosen): (&Row, &Chosen)| Told {
            key: row.key,
            value: chosen.value.as_ref().map(Value::shown),
            origin: chosen.origin.clone(),
        };
        ROWS.iter().zip(&self.chosen).map(told).collect()
    }

    /// What must never be shown of it.
    pub fn secrets(&self) -> Vec<SecretString> {
        self.chosen
            .iter()
            .filter_map(|chosen| chosen.value.as_ref())
            .flat_map(Value::secrets)
            .collect()
    }
}

/// A refusal, with the code that a budget's has.
pub(super) fn refused(key: Key, words: &str) -> SettingsError {
    SettingsError::Usage(if key.is_budget() {
        format!("{}: {words}", Code::InvalidBudget)
    } else {
        words.to_owned()
    })
}

/// What people mean who ask for something that makes no sense.
fn hint(key: Key) -> &'static str {
    if key == Key::BudgetActive { "; to forbid delegation give --max-delegations 0" } else { "" }
}

pub(super) fn warning(text: String) -> Remark {
    Remark { level: Level::Warning, code: "CONFIG", text }
}

pub(super) fn unreadable(path: &Path, why: &str) -> SettingsError {
    SettingsError::Usage(format!(
        "cannot read {}: {why}; repair it or move it away",
        path.display()
    ))
}

fn ill_typed(row: &Row, place: &Place) -> SettingsError {
    refused(row.key, &format!("{place}: {} takes {}", row.name, row.kind.takes()))
}

/// Names under which keys are put into files.
const KEY_NAMES: [&str; 6] = ["api_key", "apikey", "api_token", "key", "token", "secret"];

pub(super) fn unknown(name: &str, place: &Place) -> Remark {
    let last = name.rsplit('.').next().unwrap_or(name);
    let hint = match table::nearest(name) {
        _ if KEY_NAMES.contains(&last) => {
            "; keys are not read from files: use the environment, or api_key_command".to_owned()
        }
        Some(nearest) => format!("; did you mean {nearest}?"),
        None => String::new(),
    };
    warning(format!("{place}: there is no setting {name}, so it is ignored{hint}"))
}

fn preset(name: BudgetName) -> &'static str {
    match name {
        BudgetName::Tight => "tight",
        BudgetName::Normal => "normal",
        BudgetName::Generous => "generous",
    }
}

fn language(lang: Language) -> &'static str {
    match lang {
        Language::En => "en",
        Language::Zh => "zh",
    }
}

fn permission_mode(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::ReadOnly => "read-only",
        PermissionMode::Ask => "ask",
        PermissionMode::AutoEdit => "auto-edit",
        PermissionMode::FullAccess => "full-access",
    }
}
