//! How each server departs from the common form, as one table of plain values. It knows hosts and
//! model names; it builds and reads nothing itself.
//!
//! The rows follow what the vendors document and what their servers were seen to refuse, as of
//! autumn 2026. A field that a server does not know is left out for it: several (Mistral, Groq,
//! Cerebras) refuse a request for one.

use std::net::IpAddr;

/// One dialect of chat completions.
#[expect(clippy::struct_excessive_bools, reason = "a row of a table of independent facts")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Its name, for the setting that overrides the choice by host.
    pub name: &'static str,
    /// The hosts that speak it; their subdomains too.
    hosts: &'static [&'static str],
    /// The field that limits the output.
    pub limit: LimitField,
    /// The choices among tools that it takes.
    pub tool_choice: ChoiceForms,
    /// What of a model's reasoning goes back to it.
    pub reasoning: ReasoningBack,
    /// True if `stream_options.include_usage` is to be sent; others tell the usage unasked.
    pub stream_options: bool,
    /// Fields of the body that are always sent so, such as `parallel_tool_calls` where it is off
    /// by default.
    pub switches: &'static [(&'static str, bool)],
    /// True if a reasoning model's instructions have the role `developer` instead of `system`.
    pub developer_role: bool,
    /// Beginnings of the names of models that reason and refuse `max_tokens` and a temperature.
    reasoning_models: &'static [&'static str],
    /// How the key is sent.
    pub auth: Auth,
    /// What a call's id may look like.
    pub call_ids: CallIds,
    /// False if a user message right after tool results is refused.
    pub user_after_results: bool,
    /// True if a call carries `extra_content` that has to come back with it.
    pub call_extras: bool,
    /// True if a `<think>` block at the beginning of the text is reasoning.
    pub think_tags: bool,
    /// True if a call that the model wrote into its text is to be recognised.
    pub text_calls: bool,
}

/// The field that limits the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitField {
    /// `max_tokens`, but `max_completion_tokens` for reasoning models.
    ByModel,
    /// `max_completion_tokens` for all.
    MaxCompletionTokens,
}

/// The choices among tools that a server takes. A stronger wish than it takes becomes the next
/// weaker one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceForms {
    /// All of them, a named tool too.
    All,
    /// `auto`, `none`, `required`: an object is refused.
    Words,
    /// `auto` and `none`.
    AutoOrNone,
    /// The field is not to be sent.
    Absent,
}

/// What of a model's reasoning goes back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningBack {
    /// Nothing: the field is refused or useless.
    Never,
    /// Its text as `reasoning_content`.
    Text,
    /// Its text as `reasoning_content`; a message with calls is refused without the field, so it
    /// is sent there even if empty.
    TextRequired,
    /// Its text between `<think>` tags before the answer's text, as the model wrote it.
    Tags,
    /// The `reasoning_details` exactly as they came.
    Details,
}

/// How the key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// `api-key: KEY`, with an `api-version` in the query where the path does not name one.
    Azure,
}

/// What a call's id may look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallIds {
    /// At most 40 characters, as the vendor of the form has it.
    Short,
    /// Exactly nine letters and digits.
    NineAlphanumeric,
}

impl Profile {
    /// True if `model` reasons before it answers and refuses what older models take.
    pub fn is_reasoning_model(&self, model: &str) -> bool {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        self.reasoning_models.iter().any(|beginning| name.starts_with(beginning))
    }

    /// The name of the field that limits `model`'s output.
    pub fn limit_field(&self, model: &str) -> &'static str {
        match self.limit {
            LimitField::ByModel if !self.is_reasoning_model(model) => "max_tokens",
            LimitField::ByModel | LimitField::MaxCompletionTokens => "max_completion_tokens",
        }
    }

    fn speaks_at(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| {
            let rest = host.strip_suffix(own);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    }
}

/// The profile of that name.
pub fn named(name: &str) -> Option<&'static Profile> {
    let name = name.trim().to_ascii_lowercase();
    PROFILES.iter().find(|profile| profile.name == name)
}

/// All names, in the table's order, for messages.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|profile| profile.name)
}

/// The profile for a host without its port: the row that names it, else `local` for this machine
/// and private networks, else `generic`.
pub fn for_host(host: &str) -> &'static Profile {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let known = PROFILES.iter().find(|profile| profile.speaks_at(&host));
    known.unwrap_or(if is_private(&host) { &LOCAL } else { &GENERIC })
}

/// True for this machine, private addresses, and names that no public server has.
fn is_private(host: &str) -> bool {
    match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Ok(IpAddr::V6(ip)) => {
            ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local()
        }
        Err(_) => {
            !host.contains('.')
                || [".localhost", ".local", ".lan", ".internal", ".home.arpa"]
                    .iter()
                    .any(|end| host.ends_with(end))
        }
    }
}

/// What most servers on the internet take.
const GENERIC: Profile = Profile {
    name: "generic",
    hosts: &[],
    limit: LimitField::ByModel,
    tool_choice: ChoiceForms::All,
    reasoning: ReasoningBack::Never,
    stream_options: true,
    switches: &[],
    developer_role: false,
    reasoning_models: &[],
    auth: Auth::Bearer,
    call_ids: CallIds::Short,
    user_after_results: true,
    call_extras: false,
    think_tags: false,
    text_calls: false,
};

/// What an unknown server with an unknown, often small model takes.
const LOCAL: Profile = Profile {
    name: "local",
    tool_choice: ChoiceForms::Words,
    think_tags: true,
    text_calls: true,
    ..GENERIC
};

/// The families of `OpenAI` that refuse `max_tokens`, and any temperature but their own.
const OPENAI_REASONING: &[&str] = &["o1", "o3", "o4", "gpt-5", "gpt-6", "codex"];

const PROFILES: &[Profile] = &[
    Profile {
        name: "openai",
        hosts: &["api.openai.com"],
        limit: LimitField::MaxCompletionTokens,
        developer_role: true,
        reasoning_models: OPENAI_REASONING,
        ..GENERIC
    },
    Profile {
        name: "azure",
        hosts: &[
            "openai.azure.com",
            "cognitiveservices.azure.com",
            "services.ai.azure.com",
            "azure-api.net",
        ],
        developer_role: true,
        reasoning_models: OPENAI_REASONING,
        auth: Auth::Azure,
        ..GENERIC
    },
    Profile {
        // Its thinking is on by default; then it refuses forced choices, and every later request
        // in which a message with calls has no reasoning.
        name: "deepseek",
        hosts: &["api.deepseek.com"],
        tool_choice: ChoiceForms::AutoOrNone,
        reasoning: ReasoningBack::TextRequired,
        ..GENERIC
    },
    Profile {
        name: "qwen",
        hosts: &["dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "maas.aliyuncs.com"],
        tool_choice: ChoiceForms::AutoOrNone,
        reasoning: ReasoningBack::Text,
        switches: &[("parallel_tool_calls", true), ("preserve_thinking", true)],
        ..GENERIC
    },
    Profile {
        name: "moonshot",
        hosts: &["api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"],
        tool_choice: ChoiceForms::AutoOrNone,
        reasoning: ReasoningBack::TextRequired,
        ..GENERIC
    },
    Profile {
        name: "zai",
        hosts: &["api.z.ai", "open.bigmodel.cn"],
        tool_choice: ChoiceForms::Absent,
        reasoning: ReasoningBack::Text,
        stream_options: false,
        ..GENERIC
    },
    Profile {
        name: "minimax",
        hosts: &["api.minimax.io", "api.minimaxi.com"],
        limit: LimitField::MaxCompletionTokens,
        tool_choice: ChoiceForms::Absent,
        reasoning: ReasoningBack::Tags,
        think_tags: true,
        ..GENERIC
    },
    Profile {
        name: "mistral",
        hosts: &["api.mistral.ai"],
        stream_options: false,
        call_ids: CallIds::NineAlphanumeric,
        user_after_results: false,
        ..GENERIC
    },
    Profile {
        name: "groq",
        hosts: &["api.groq.com"],
        limit: LimitField::MaxCompletionTokens,
        ..GENERIC
    },
    Profile {
        name: "cerebras",
        hosts: &["api.cerebras.ai"],
        limit: LimitField::MaxCompletionTokens,
        ..GENERIC
    },
    Profile {
        name: "gemini",
        // All of its regions; the whole domain is the vendor's own.
        hosts: &["googleapis.com"],
        call_extras: true,
        ..GENERIC
    },
    Profile {
        name: "openrouter",
        hosts: &["openrouter.ai"],
        reasoning: ReasoningBack::Details,
        ..GENERIC
    },
    Profile {
        name: "vercel",
        hosts: &["ai-gateway.vercel.sh"],
        reasoning: ReasoningBack::Details,
        ..GENERIC
    },
    Profile { name: "xai", hosts: &["api.x.ai"], ..GENERIC },
    Profile { name: "perplexity", hosts: &["api.perplexity.ai"], stream_options: false, ..GENERIC },
    Profile {
        name: "together",
        hosts: &["api.together.xyz", "api.together.ai"],
        think_tags: true,
        ..GENERIC
    },
    Profile { name: "fireworks", hosts: &["api.fireworks.ai"], think_tags: true, ..GENERIC },
    Profile { name: "huggingface", hosts: &["router.huggingface.co"], think_tags: true, ..GENERIC },
    Profile {
        name: "llamacpp",
        reasoning: ReasoningBack::Text,
        switches: &[("parallel_tool_calls", true)],
        ..LOCAL
    },
    Profile {
        name: "vllm",
        tool_choice: ChoiceForms::All,
        reasoning: ReasoningBack::Text,
        ..LOCAL
    },
    Profile { name: "lmstudio", ..LOCAL },
    Profile { name: "ollama", ..LOCAL },
    LOCAL,
    GENERIC,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_host_finds_its_row_and_never_one_that_only_ends_alike() {
        for (host, name) in [
            ("api.openai.com", "openai"),
            ("API.OpenAI.com.", "openai"),
            ("mine.openai.azure.com", "azure"),
            ("api.deepseek.com", "deepseek"),
            ("dashscope-intl.aliyuncs.com", "qwen"),
            ("us-central1-aiplatform.googleapis.com", "gemini"),
            ("openrouter.ai", "openrouter"),
            ("evil-openrouter.ai", "generic"),
            ("openrouter.ai.evil.com", "generic"),
            ("llm.example.com", "generic"),
            ("8.8.8.8", "generic"),
            ("127.0.0.1", "local"),
            ("[::1]", "local"),
            ("192.168.1.20", "local"),
            ("172.16.3.4", "local"),
            ("localhost", "local"),
            ("gpu-box", "local"),
            ("gpu.local", "local"),
        ] {
            assert_eq!(for_host(host).name, name, "{host}");
        }
    }

    #[test]
    fn names_are_unique_and_found_again() {
        let unique: BTreeSet<&str> = names().collect();
        assert_eq!(unique.len(), PROFILES.len());
        for name in names() {
            assert_eq!(named(&name.to_uppercase()).map(|profile| profile.name), Some(name));
        }
        assert_eq!(named("nobody"), None);
    }

    #[test]
    fn the_limit_has_the_name_that_the_model_takes() {
        for (profile, model, field) in [
            ("azure", "gpt-4o", "max_tokens"),
            ("azure", "o3-mini", "max_completion_tokens"),
            ("azure", "GPT-5-mini", "max_completion_tokens"),
            ("openai", "gpt-4o", "max_completion_tokens"),
            ("generic", "o3-mini", "max_tokens"),
            ("local", "qwen3", "max_tokens"),
        ] {
            let found = named(profile).map(|profile| profile.limit_field(model));
            assert_eq!(found, Some(field), "{profile} {model}");
        }
        assert!(named("openai").is_some_and(|openai| openai.is_reasoning_model("openai/o4-mini")));
    }

    #[test]
    fn reasoning_goes_back_only_where_a_row_says_so() {
        let back = PROFILES.iter().filter(|row| row.reasoning != ReasoningBack::Never);
        let back: BTreeSet<&str> = back.map(|row| row.name).collect();
        let expected = [
            "deepseek",
            "llamacpp",
            "minimax",
            "moonshot",
            "openrouter",
            "qwen",
            "vercel",
            "vllm",
            "zai",
        ];
        assert_eq!(back, BTreeSet::from(expected));
    }
}
