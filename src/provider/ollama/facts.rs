//! What an Ollama says of its models: which there are, what they can do, how much they read. Pure:
//! it reads answers and sends nothing.

use serde_json::Value;

/// What is known of one model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Tokens that it was made to read; `None` if it is not told.
    pub context_length: Option<u64>,
    /// True if it can call tools.
    pub tools: bool,
    /// True if it thinks before it answers, in a field of its own.
    pub thinking: bool,
    /// True if it runs on another machine, whatever machine the server is on.
    pub remote: bool,
}

impl Facts {
    /// From the answer to `/api/show`.
    pub fn of(shown: &Value) -> Self {
        let told = shown.get("capabilities").and_then(Value::as_array);
        let can = |what: &str| told.is_some_and(|told| told.iter().any(|name| name == what));
        // Servers from before there were capabilities show only the template.
        let template = shown.get("template").and_then(Value::as_str).unwrap_or_default();
        let remote = shown.get("remote_host").and_then(Value::as_str).unwrap_or_default();
        Self {
            context_length: context_length(shown),
            tools: can("tools") || told.is_none() && template.contains(".Tools"),
            thinking: can("thinking"),
            remote: !remote.is_empty(),
        }
    }
}

fn context_length(shown: &Value) -> Option<u64> {
    let info = shown.get("model_info")?.as_object()?;
    let family = info.get("general.architecture").and_then(Value::as_str);
    let own = family.and_then(|family| info.get(&format!("{family}.context_length")));
    let any = || info.iter().find(|(key, _)| key.ends_with(".context_length"));
    own.or_else(|| any().map(|(_, value)| value))?.as_u64().filter(|tokens| *tokens > 0)
}

/// The names in the answer to `/api/tags`, the newest first, as the server has them. `None` if it
/// is no such answer.
pub fn names(tags: &Value) -> Option<Vec<String>> {
    let models = tags.get("models")?.as_array()?;
    let name = |model: &Value| {
        ["model", "name"].into_iter().find_map(|key| model.get(key)?.as_str().map(str::to_owned))
    };
    Some(models.iter().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn facts_are_read_from_new_and_old_servers() {
        let new = json!({
            "capabilities": ["completion", "tools", "thinking"], "template": "",
            "model_info": {"general.architecture": "qwen3", "clip.context_length": 1,
                "qwen3.context_length": 40960}
        });
        let expected =
            Facts { context_length: Some(40_960), tools: true, thinking: true, remote: false };
        assert_eq!(Facts::of(&new), expected);
        let old = json!({
            "template": "{{ if .Tools }}", "model_info": {"llama.context_length": 8192}
        });
        let expected = Facts { context_length: Some(8_192), tools: true, ..Facts::default() };
        assert_eq!(Facts::of(&old), expected);
        let cannot = json!({"capabilities": ["completion"], "template": "{{ .Tools }}"});
        assert_eq!(Facts::of(&cannot), Facts::default());
        assert!(Facts::of(&json!({"remote_host": "https://ollama.com"})).remote);
        for odd in [json!(null), json!([]), json!({"model_info": [], "capabilities": {}})] {
            assert_eq!(Facts::of(&odd), Facts::default());
        }
    }

    #[test]
    fn names_keep_the_servers_order() {
        let tags =
            json!({"models": [{"name": "b:latest", "model": "b:latest"}, {"name": "a"}, {}]});
        assert_eq!(names(&tags), Some(vec!["b:latest".to_owned(), "a".to_owned()]));
        assert_eq!(names(&json!({"error": "no"})), None);
    }
}
