//! What is known of models, read once from `assets/models.toml`: windows, limits, prices, abilities
//! and the vendors that serve them. It knows no wire, sends nothing and never guesses a price.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::domain::usage::{MicroUsd, Prices};

const TABLE: &str = include_str!("../../assets/models.toml");

/// The table that is built into the program.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    // A test reads every entry, so what is shipped parses; without it every model is unknown.
    CATALOGUE.get_or_init(|| toml::from_str(TABLE).unwrap_or_default())
}

/// The vendors and models that are known.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    #[serde(default)]
    unknown: Unknown,
    #[serde(default, rename = "vendor")]
    vendors: Vec<Vendor>,
    #[serde(default, rename = "model")]
    models: Vec<Model>,
}

/// The protocol that a vendor speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// Chat completions.
    OpenAi,
}

/// How a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// Not at all.
    None,
    /// For as many tokens as the request says.
    Budget,
    /// As it sees fit; a number of tokens is refused.
    Adaptive,
}

/// How sure the facts are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// The table has this name.
    Exactly,
    /// The table has the family, here named; the name adds a date, a vendor or the like.
    Family(String),
    /// The table has nothing like it; the facts are the cautious ones for unknown models.
    Not,
}

/// What is known of one model where it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// How sure that is.
    pub known: Known,
    /// Tokens that prompt and answer may have together.
    pub context_window: u64,
    /// Tokens of one answer at most.
    pub max_output_tokens: u64,
    /// What it charges there; `None` if that is not known for sure.
    pub prices: Option<Prices>,
    /// A prompt beyond this many tokens costs more than the prices say.
    pub priced_up_to: Option<u64>,
    /// False if it cannot call tools over the wire that is spoken here.
    pub tools: bool,
    /// How it thinks.
    pub thinking: Thinking,
    /// False where a request that names the tool to call is refused.
    pub forced_tools: bool,
    /// False where a sampling temperature is refused.
    pub temperature: bool,
    /// What chat completions must send as `reasoning_effort` for tools to be allowed.
    pub reasoning_effort: Option<String>,
}

impl Facts {
    /// The same facts with a window that the user states. Beyond what the prices hold for they are
    /// not known any more.
    #[must_use]
    pub fn with_window(mut self, tokens: u64) -> Self {
        if self.priced_up_to.is_some_and(|most| tokens > most) {
            self.prices = None;
        }
        self.context_window = tokens;
        self
    }
}

impl Catalogue {
    /// What is known of `model` where requests go to `host`; `None` for a host that is not known.
    pub fn facts(&self, model: &str, host: Option<&str>) -> Facts {
        let name = model.trim().to_ascii_lowercase();
        if let Some(entry) = self.entry(&name) {
            return self.stated(entry, Known::Exactly, host);
        }
        for shorter in shorter_names(&name) {
            if let Some(entry) = self.entry(&shorter) {
                return self.stated(entry, Known::Family(entry.name.clone()), host);
            }
        }
        self.unknown()
    }

    /// The cautious figures for a model of which nothing is known.
    pub fn unknown(&self) -> Facts {
        self.unknown.facts()
    }

    /// The vendor that serves models at this host, with or without a port.
    pub fn vendor(&self, host: &str) -> Option<&Vendor> {
        let name = host.split(':').next().unwrap_or(host);
        self.vendors.iter().find(|vendor| vendor.hosts.iter().any(|own| own == name))
    }

    /// The model to ask for where none is named: the vendor's, else that of the wire.
    pub fn default_model(&self, wire: Wire, host: &str) -> &str {
        let at_host = self.vendor(host).filter(|vendor| vendor.speaks(wire));
        let of_wire = || self.vendors.iter().find(|vendor| vendor.wire == wire);
        at_host.or_else(of_wire).map_or("", |vendor| vendor.default_model.as_str())
    }

    fn entry(&self, name: &str) -> Option<&Model> {
        let named = |model: &&Model| model.name == name || model.aliases.iter().any(|a| a == name);
        self.models.iter().find(named)
    }

    fn stated(&self, entry: &Model, known: Known, host: Option<&str>) -> Facts {
        let priced_here = host.and_then(|host| self.vendor(host));
        let priced_here = priced_here.is_some_and(|vendor| vendor.name == entry.vendor);
        let most = entry.priced_up_to.unwrap_or(u64::MAX);
        Facts {
            known,
            context_window: entry.context_window.min(most),
            max_output_tokens: entry.max_output_tokens.unwrap_or(self.unknown.max_output_tokens),
            prices: entry.prices.filter(|_| priced_here).and_then(DollarPrices::in_micro_usd),
            priced_up_to: entry.priced_up_to,
            tools: entry.tools,
            thinking: entry.thinking,
            forced_tools: entry.forced_tools,
            temperature: entry.temperature,
            reasoning_effort: entry.reasoning_effort.clone(),
        }
    }
}

/// Who serves models.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vendor {
    /// Its name.
    pub name: String,
    /// What its main address speaks.
    pub wire: Wire,
    /// Its hosts.
    pub hosts: Vec<String>,
    /// What is asked for where no model is named.
    pub default_model: String,
}

impl Vendor {
    /// Vendors of chat completions often have an address for the other wire too, with the same
    /// models; the other way round nobody has.
    fn speaks(&self, wire: Wire) -> bool {
        self.wire == wire || self.wire == Wire::OpenAi
    }
}

/// Prices as people and vendors write them: US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DollarPrices {
    /// Uncached prompt tokens.
    pub input: f64,
    /// Generated tokens.
    pub output: f64,
    /// Prompt tokens read from the cache; as `input` if absent.
    pub cache_read: Option<f64>,
    /// Prompt tokens written to the cache; as `input` if absent.
    pub cache_write: Option<f64>,
}

impl DollarPrices {
    /// The same in micro-dollars; `None` if one of them is no amount of money.
    pub fn in_micro_usd(self) -> Option<Prices> {
        let micro = |dollars| MicroUsd::from_dollars(dollars).map(|amount| amount.0);
        let input = micro(self.input)?;
        Some(Prices {
            input,
            output: micro(self.output)?,
            cache_read: self.cache_read.map_or(Some(input), micro)?,
            cache_write: self.cache_write.map_or(Some(input), micro)?,
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unknown {
    context_window: u64,
    max_output_tokens: u64,
}

impl Default for Unknown {
    fn default() -> Self {
        Self { context_window: 32_768, max_output_tokens: 8_192 }
    }
}

impl Unknown {
    /// An unknown model is taken to call tools and to accept what most models accept, since not
    /// trying would make it useless.
    fn facts(&self) -> Facts {
        Facts {
            known: Known::Not,
            context_window: self.context_window,
            max_output_tokens: self.max_output_tokens,
            prices: None,
            priced_up_to: None,
            tools: true,
            thinking: Thinking::None,
            forced_tools: true,
            temperature: true,
            reasoning_effort: None,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    vendor: String,
    context_window: u64,
    priced_up_to: Option<u64>,
    max_output_tokens: Option<u64>,
    #[serde(default = "yes")]
    tools: bool,
    thinking: Thinking,
    #[serde(default = "yes")]
    forced_tools: bool,
    #[serde(default = "yes")]
    temperature: bool,
    reasoning_effort: Option<String>,
    prices: Option<DollarPrices>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the table and its test"))]
    source: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the table and its test"))]
    checked: String,
}

fn yes() -> bool {
    true
}

/// Ever shorter names that may be the model's family: without a router's variant, a vendor's
/// prefix, a platform's version and a date. A point and a dash between numbers are the same.
fn shorter_names(name: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut add = |candidate: &str| {
        let dashed = candidate.replace('.', "-");
        for candidate in [candidate.to_owned(), dashed] {
            if candidate != name && !candidate.is_empty() && !names.contains(&candidate) {
                names.push(candidate);
            }
        }
    };
    let plain = name.split([':', '@']).next().unwrap_or(name);
    add(plain);
    let bare = plain.rsplit('/').next().unwrap_or(plain);
    add(bare);
    // Bedrock writes `us.anthropic.claude-…-v1`.
    let bare = bare.rsplit_once("anthropic.").map_or(bare, |(_, rest)| rest);
    add(bare);
    let undated = without_date(bare);
    add(undated);
    names
}

/// The name without `-v1`, `-latest`, `-20250929` or `-2025-04-14` at its end.
fn without_date(name: &str) -> &str {
    let digits =
        |text: &str, count| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    let name = name.strip_suffix("-v1").or_else(|| name.strip_suffix("-v2")).unwrap_or(name);
    let name = name.strip_suffix("-latest").unwrap_or(name);
    if let Some((family, date)) = name.rsplit_once('-')
        && digits(date, 8)
    {
        return family;
    }
    let mut parts = name.rsplitn(4, '-');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(day), Some(month), Some(year), Some(family))
            if digits(day, 2) && digits(month, 2) && digits(year, 4) =>
        {
            family
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const ANTHROPIC: Option<&str> = Some("api.anthropic.com");

    #[test]
    fn every_entry_is_whole_and_says_where_it_comes_from() {
        let table: Catalogue = toml::from_str(TABLE).unwrap();
        assert!(!table.models.is_empty() && !table.vendors.is_empty());
        let mut names = Vec::new();
        for model in &table.models {
            let name = &model.name;
            names.extend(std::iter::once(name).chain(&model.aliases));
            assert!(table.vendors.iter().any(|v| v.name == model.vendor), "{name}: no vendor");
            assert!(model.source.starts_with("https://"), "{name}: no source");
            assert!(is_day(&model.checked), "{name}: no day");
            assert!((4_096..=2_000_000).contains(&model.context_window), "{name}: window");
            let most = model.max_output_tokens.unwrap_or(1);
            assert!((1..=model.context_window).contains(&most), "{name}: output");
            assert!(model.priced_up_to.is_none_or(|most| most < model.context_window), "{name}");
            if let Some(prices) = model.prices {
                let prices = prices.in_micro_usd().unwrap();
                assert!(prices.input > 0 && prices.output >= prices.input, "{name}: prices");
                assert!(prices.cache_read <= prices.input, "{name}: a cache read saves money");
            } else {
                assert!(model.priced_up_to.is_none(), "{name}: a bound on no price");
            }
            assert_eq!(name.to_ascii_lowercase(), *name, "names are looked up in lower case");
        }
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "a name is there twice");
    }

    #[test]
    fn every_vendor_has_a_known_default_that_can_call_tools() {
        let table = catalogue();
        for vendor in &table.vendors {
            let facts = table.facts(&vendor.default_model, Some(&vendor.hosts[0]));
            assert_ne!(facts.known, Known::Not, "{}", vendor.name);
            assert!(facts.tools, "{}", vendor.name);
            assert_eq!(facts.reasoning_effort, None, "{}", vendor.name);
        }
    }

    #[test]
    fn a_name_is_found_as_it_is_dated_prefixed_or_dotted() {
        let family = |name: &str| Known::Family(name.to_owned());
        for (name, known) in [
            ("claude-sonnet-4-5", Known::Exactly),
            ("claude-sonnet-4-5-20250929", family("claude-sonnet-4-5")),
            ("claude-sonnet-4-5@20250929", family("claude-sonnet-4-5")),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", family("claude-sonnet-4-5")),
            ("anthropic/claude-sonnet-5.5", family("claude-sonnet-5-5")),
            ("anthropic/claude-sonnet-5.5:beta", family("claude-sonnet-5-5")),
            ("Claude-Haiku-4-5-latest", family("claude-haiku-4-5")),
            ("gpt-4.1-mini-2025-04-14", family("gpt-4.1-mini")),
            ("openai/gpt-4.1-mini", family("gpt-4.1-mini")),
            ("models/gemini-3.8-flash", family("gemini-3.8-flash")),
            ("openai/gpt-oss-120b", Known::Exactly),
            ("openai/gpt-oss-120b:free", family("openai/gpt-oss-120b")),
            ("claude-sonnet-9", Known::Not),
            ("claude-sonnet-4-5-turbo", Known::Not),
            ("gpt-4.1-minimal", Known::Not),
            ("llama3.2:3b", Known::Not),
            ("", Known::Not),
            ("-", Known::Not),
            ("//:@", Known::Not),
        ] {
            assert_eq!(catalogue().facts(name, None).known, known, "{name}");
        }
    }

    #[test]
    fn a_price_holds_only_at_its_vendor() {
        let price = |name, host| catalogue().facts(name, host).prices;
        assert!(price("claude-sonnet-4-5", ANTHROPIC).is_some());
        assert!(price("claude-sonnet-4-5", Some("api.anthropic.com:443")).is_some());
        assert!(price("anthropic/claude-sonnet-4.5", Some("openrouter.ai")).is_none());
        assert!(price("claude-sonnet-4-5", Some("127.0.0.1:8080")).is_none());
        assert!(price("claude-sonnet-4-5", Some("api.anthropic.com.evil.example")).is_none());
        assert!(price("claude-sonnet-4-5", None).is_none());
        let known = price("claude-sonnet-4-5", ANTHROPIC).unwrap();
        let expected = Prices {
            input: 3_000_000,
            output: 15_000_000,
            cache_read: 300_000,
            cache_write: 3_750_000,
        };
        assert_eq!(known, expected);
        let uncertain = price("gpt-5.1", Some("api.openai.com")).unwrap();
        assert_eq!(uncertain.cache_write, uncertain.input, "what is not stated costs as input");
    }

    #[test]
    fn a_window_ends_where_the_price_would_change() {
        let facts = catalogue().facts("claude-haiku-5-5", ANTHROPIC);
        assert_eq!(facts.context_window, 100_000);
        assert!(facts.prices.is_some());
        assert!(facts.clone().with_window(64_000).prices.is_some());
        let wide = facts.with_window(1_000_000);
        assert_eq!((wide.context_window, wide.prices), (1_000_000, None));
    }

    #[test]
    fn an_unknown_model_works_with_cautious_figures_and_no_price() {
        let facts = catalogue().facts("made-up", Some("api.openai.com"));
        assert_eq!((facts.context_window, facts.max_output_tokens), (32_768, 8_192));
        assert_eq!((facts.prices, facts.tools), (None, true));
    }

    #[test]
    fn the_default_model_is_the_vendors_else_the_wires() {
        let default = |wire, host| catalogue().default_model(wire, host);
        assert_eq!(default(Wire::OpenAi, "api.deepseek.com"), "deepseek-flash");
        assert_eq!(default(Wire::Anthropic, "api.deepseek.com"), "deepseek-flash");
        assert_eq!(default(Wire::OpenAi, "127.0.0.1:8000"), "gpt-5.1");
        assert_eq!(default(Wire::Anthropic, "gateway.example"), "claude-sonnet-5-5");
        assert_eq!(default(Wire::OpenAi, "api.anthropic.com"), "gpt-5.1");
    }

    fn is_day(text: &str) -> bool {
        let parts: Vec<&str> = text.split('-').collect();
        parts.len() == 3
            && [4, 2, 2].iter().zip(&parts).all(|(length, part)| part.len() == *length)
            && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    }
}
