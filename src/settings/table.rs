//! Every setting there is: its name in a configuration file, its default, its other sources, and
//! what a project's file may do with it. It knows no values that were set.

use super::value::{Items, Kind, Value};

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Who answers.
    Provider,
    /// The model's name.
    Model,
    /// Where the server is.
    BaseUrl,
    /// The dialect of a chat-completions server.
    Profile,
    /// The version of Azure's API.
    ApiVersion,
    /// The variable that the key is in.
    ApiKeyEnv,
    /// The program that prints the key.
    ApiKeyCommand,
    /// What every request carries besides.
    Headers,
    /// Certificates to trust besides the system's.
    CaFile,
    /// Tokens that prompt and answer may have together.
    ContextWindow,
    /// Tokens of one answer.
    MaxOutputTokens,
    /// Tokens of thinking before an answer.
    ThinkingBudget,
    /// The part of the window at which older turns are summarised.
    CompactAt,
    /// How often a failed request is made again.
    Retries,
    /// What may be done without asking.
    PermissionMode,
    /// Folders beside the one to work in.
    AddDirs,
    /// The command that runs the project's tests.
    TestCommand,
    /// The language of the interface.
    Lang,
    /// Colours.
    Color,
    /// How long each call of the embedded researcher takes at least.
    PaceMs,
    /// Where sessions are kept.
    SessionDir,
    /// Calls that are made without asking.
    PermissionsAllow,
    /// Calls that are always asked about.
    PermissionsAsk,
    /// Calls that are never made.
    PermissionsDeny,
    /// Whether delegations are asked about.
    DelegationPreflight,
    /// What commands may read beside the usual.
    FenceRead,
    /// What commands may change beside the workspace.
    FenceWrite,
    /// Whether commands may connect to sockets of the file system.
    FenceUnix,
    /// Whether commands may reach the network.
    FenceNetwork,
    /// Variables that commands get beside the usual.
    EnvironmentPass,
    /// For a connection.
    TimeoutConnect,
    /// Until an answer begins.
    TimeoutHeaders,
    /// Between signs of life.
    TimeoutStall,
    /// The most context that is asked of Ollama.
    OllamaNumCtxCap,
    /// Dollars per million prompt tokens.
    PriceInput,
    /// Dollars per million generated tokens.
    PriceOutput,
    /// Dollars per million tokens read from the cache.
    PriceCacheRead,
    /// Dollars per million tokens written to the cache.
    PriceCacheWrite,
    /// The named set of limits.
    BudgetPreset,
    /// Model requests of a parent run.
    BudgetTurns,
    /// Seconds of a parent run.
    BudgetDuration,
    /// Tool calls of a parent run's tree.
    BudgetToolCalls,
    /// Prompt tokens of a parent run's tree.
    BudgetInputTokens,
    /// Generated tokens of a parent run's tree.
    BudgetOutputTokens,
    /// Dollars of a session.
    BudgetMaxCost,
    /// Children of a parent run.
    BudgetDelegations,
    /// Levels of children.
    BudgetDepth,
    /// Children at the same time.
    BudgetActive,
}

/// What a project's file may do with a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Project {
    /// Nothing: it decides where keys and words go, what runs, or what is paid.
    Never,
    /// Set it as it likes: it only changes how things look.
    Freely,
    /// Lower it: a number, or a word that stands further left among the choices.
    Lower,
    /// Add to a list of what makes calls harder.
    Add,
}

/// What holds where nothing is set.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fallback {
    /// Something that depends on the rest.
    Open,
    Text(&'static str),
    Whole(u64),
    Number(f64),
    Switch(bool),
}

/// One setting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub key: Key,
    /// Its path in a configuration file.
    pub name: &'static str,
    pub kind: Kind,
    pub fallback: Fallback,
    pub project: Project,
}

const fn row(
    key: Key,
    name: &'static str,
    kind: Kind,
    fallback: Fallback,
    project: Project,
) -> Row {
    Row { key, name, kind, fallback, project }
}

const MODES: &[&str] = &["read-only", "ask", "auto-edit", "full-access"];
const POLICIES: &[&str] = &["always", "never"];
const UNIX: &[&str] = &["deny", "workspace"];
const PRESETS: &[&str] = &["tight", "normal", "generous"];
const LANGUAGES: &[&str] = &["en", "zh"];
/// More tokens than any model reads.
const MANY: u64 = 100_000_000;
/// Longer than a day is no timeout.
const DAY: f64 = 86_400.0;
/// Dollars per million tokens.
const DEAR: f64 = 1_000_000.0;

use Fallback::Open;
use Project::{Add, Freely, Lower, Never};

/// All settings, in the order of [`Key`] and of `assets/config.toml`.
pub(super) const ROWS: [Row; 48] = [
    row(Key::Provider, "provider", Kind::Text, Open, Never),
    row(Key::Model, "model", Kind::Text, Open, Never),
    row(Key::BaseUrl, "base_url", Kind::Text, Open, Never),
    row(Key::Profile, "profile", Kind::Text, Open, Never),
    row(Key::ApiVersion, "api_version", Kind::Text, Open, Never),
    row(Key::ApiKeyEnv, "api_key_env", Kind::Text, Open, Never),
    row(Key::ApiKeyCommand, "api_key_command", Kind::Words, Open, Never),
    row(Key::Headers, "headers", Kind::Pairs, Open, Never),
    row(Key::CaFile, "ca_file", Kind::Text, Open, Never),
    row(Key::ContextWindow, "context_window", Kind::Whole(1_024, MANY), Open, Never),
    row(Key::MaxOutputTokens, "max_output_tokens", Kind::Whole(256, MANY), Open, Never),
    row(Key::ThinkingBudget, "thinking_budget", Kind::Whole(0, MANY), Fallback::Whole(0), Lower),
    row(Key::CompactAt, "compact_at", Kind::Number(0.2, 0.95), Fallback::Number(0.8), Lower),
    row(Key::Retries, "retries", Kind::Whole(0, 20), Fallback::Whole(4), Lower),
    row(Key::PermissionMode, "permission_mode", Kind::Choice(MODES), Fallback::Text("ask"), Lower),
    row(Key::AddDirs, "add_dirs", Kind::List(Items::Places), Open, Never),
    row(Key::TestCommand, "test_command", Kind::Text, Open, Never),
    row(Key::Lang, "lang", Kind::Choice(LANGUAGES), Open, Freely),
    row(Key::Color, "color", Kind::Switch, Fallback::Switch(true), Freely),
    row(Key::PaceMs, "pace_ms", Kind::Whole(0, 60_000), Open, Never),
    row(Key::SessionDir, "session_dir", Kind::Text, Open, Never),
    row(Key::PermissionsAllow, "permissions.allow", Kind::List(Items::Rules), Open, Never),
    row(Key::PermissionsAsk, "permissions.ask", Kind::List(Items::Rules), Open, Add),
    row(Key::PermissionsDeny, "permissions.deny", Kind::List(Items::Rules), Open, Add),
    row(
        Key::DelegationPreflight,
        "delegation.preflight",
        Kind::Choice(POLICIES),
        Fallback::Text("never"),
        Lower,
    ),
    row(Key::FenceRead, "fence.read", Kind::List(Items::Places), Open, Never),
    row(Key::FenceWrite, "fence.write", Kind::List(Items::Places), Open, Never),
    row(Key::FenceUnix, "fence.unix", Kind::Choice(UNIX), Fallback::Text("deny"), Never),
    row(Key::FenceNetwork, "fence.network", Kind::Switch, Fallback::Switch(false), Never),
    row(Key::EnvironmentPass, "environment.pass", Kind::List(Items::Variables), Open, Never),
    row(
        Key::TimeoutConnect,
        "timeouts.connect_s",
        Kind::Number(0.1, DAY),
        Fallback::Number(10.0),
        Never,
    ),
    row(
        Key::TimeoutHeaders,
        "timeouts.headers_s",
        Kind::Number(0.1, DAY),
        Fallback::Number(60.0),
        Never,
    ),
    row(
        Key::TimeoutStall,
        "timeouts.stall_s",
        Kind::Number(0.1, DAY),
        Fallback::Number(60.0),
        Never,
    ),
    row(
        Key::OllamaNumCtxCap,
        "ollama.num_ctx_cap",
        Kind::Whole(1_024, MANY),
        Fallback::Whole(32_768),
        Never,
    ),
    row(Key::PriceInput, "prices.input", Kind::Number(0.0, DEAR), Open, Never),
    row(Key::PriceOutput, "prices.output", Kind::Number(0.0, DEAR), Open, Never),
    row(Key::PriceCacheRead, "prices.cache_read", Kind::Number(0.0, DEAR), Open, Never),
    row(Key::PriceCacheWrite, "prices.cache_write", Kind::Number(0.0, DEAR), Open, Never),
    row(Key::BudgetPreset, "budget.preset", Kind::Choice(PRESETS), Fallback::Text("normal"), Lower),
    row(Key::BudgetTurns, "budget.turns", Kind::Amount, Open, Lower),
    row(Key::BudgetDuration, "budget.duration_s", Kind::Amount, Open, Lower),
    row(Key::BudgetToolCalls, "budget.tool_calls", Kind::Amount, Open, Lower),
    row(Key::BudgetInputTokens, "budget.input_tokens", Kind::Amount, Open, Lower),
    row(Key::BudgetOutputTokens, "budget.output_tokens", Kind::Amount, Open, Lower),
    row(Key::BudgetMaxCost, "budget.max_cost_usd", Kind::Dollars, Open, Lower),
    row(Key::BudgetDelegations, "budget.delegations", Kind::Whole(0, 10_000), Open, Lower),
    row(Key::BudgetDepth, "budget.depth", Kind::Whole(1, 4), Fallback::Whole(1), Lower),
    row(Key::BudgetActive, "budget.active", Kind::Whole(1, 1_000), Open, Lower),
];

impl Key {
    pub(super) fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Its path in a configuration file.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// True if its limits are the budget's, whose refusals have a code.
    pub(super) fn is_budget(self) -> bool {
        self as usize >= Key::BudgetPreset as usize
    }

    /// True if it says with whom and how a server is spoken to, so that it goes with a provider.
    pub(super) fn is_connection(self) -> bool {
        self as usize <= Key::MaxOutputTokens as usize && self != Key::Provider
            || (Key::PriceInput as usize..=Key::PriceCacheWrite as usize).contains(&(self as usize))
    }
}

impl Fallback {
    pub(super) fn value(self) -> Option<Value> {
        match self {
            Self::Open => None,
            Self::Text(text) => Some(Value::Text(text.to_owned())),
            Self::Whole(whole) => Some(Value::Whole(whole)),
            Self::Number(number) => Some(Value::Number(number)),
            Self::Switch(on) => Some(Value::Switch(on)),
        }
    }
}

/// The setting of this name in a file.
pub(super) fn named(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// True if settings have this name before a point.
pub(super) fn has_table(name: &str) -> bool {
    ROWS.iter().any(|row| row.name.rsplit_once('.').is_some_and(|(table, _)| table == name))
}

/// The setting whose name is most like this one, if any is like it.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let near = |row: &&Row| {
        let whole = distance(name, row.name);
        // `turns` at the top level is most likely meant for its table.
        if last(row.name) == last(name) { whole.min(1) } else { whole }
    };
    let row = ROWS.iter().min_by_key(near)?;
    (near(&row) <= 1 + name.chars().count() / 4).then_some(row.name)
}

/// How many letters must be put in, taken out or changed to make one of the other.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut above: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.chars().take(100).enumerate() {
        let mut left_above = above[0];
        above[0] = i + 1;
        for (j, b) in two.iter().enumerate() {
            let changed = left_above + usize::from(a != *b);
            left_above = above[j + 1];
            above[j + 1] = changed.min(above[j] + 1).min(above[j + 1] + 1);
        }
    }
    above[two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_stands_where_its_key_says() {
        for (place, row) in ROWS.iter().enumerate() {
            assert_eq!(row.key as usize, place, "{}", row.name);
            assert!(
                row.fallback.value().is_none_or(|value| {
                    let text = value.shown();
                    row.kind.of_text(&text) == Some(value)
                }),
                "{}: the default does not fit its own kind",
                row.name
            );
        }
        assert_eq!(Key::BudgetActive as usize + 1, ROWS.len());
    }

    #[test]
    fn what_could_redirect_a_key_is_not_for_projects() {
        for row in &ROWS {
            assert!(!row.key.is_connection() || row.project == Never, "{}", row.name);
        }
        for key in [Key::Provider, Key::ApiKeyCommand, Key::CaFile, Key::SessionDir] {
            assert_eq!(key.row().project, Never);
        }
    }

    #[test]
    fn what_a_project_may_not_widen_is_not_for_projects() {
        for key in [
            Key::AddDirs,
            Key::TestCommand,
            Key::PermissionsAllow,
            Key::FenceRead,
            Key::FenceWrite,
            Key::FenceUnix,
            Key::FenceNetwork,
            Key::EnvironmentPass,
        ] {
            assert_eq!(key.row().project, Never, "{}", key.name());
        }
        for row in &ROWS {
            let narrows = matches!(row.key, Key::PermissionsAsk | Key::PermissionsDeny);
            assert_eq!(row.project == Add, narrows, "{}", row.name);
        }
    }

    #[test]
    fn a_mistyped_name_finds_its_neighbour() {
        for (typed, meant) in [
            ("modle", Some("model")),
            ("base-url", Some("base_url")),
            ("baseurl", Some("base_url")),
            ("turns", Some("budget.turns")),
            ("timeouts.stal_s", Some("timeouts.stall_s")),
            ("stall_s", Some("timeouts.stall_s")),
            ("quux", None),
            ("completely.different.thing", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed), meant, "{typed}");
        }
    }
}
