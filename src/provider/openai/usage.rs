//! What a chat-completions server says that a request used, in the neutral form. It knows the
//! places where servers put the numbers, and no prices.

use serde_json::Value;

use crate::domain::usage::Usage;

/// The usage that an event or a whole answer tells, wherever it stands; `None` if it tells none,
/// which is not zero. One that tells only half of it is marked as estimated.
pub fn told(event: &Value) -> Option<Usage> {
    let places = ["/usage", "/x_groq/usage", "/choices/0/usage"];
    places.into_iter().find_map(|place| event.pointer(place).and_then(normal))
}

/// `prompt_tokens` includes what was read from the cache; a cache cannot give more than that.
fn normal(value: &Value) -> Option<Usage> {
    let count = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64);
    let first = |pointers: &[&str]| pointers.iter().find_map(|pointer| count(pointer));
    let prompt = first(&["/prompt_tokens", "/input_tokens"]);
    let completion = first(&["/completion_tokens", "/output_tokens"]);
    prompt.or(completion)?;
    let estimated = prompt.is_none() || completion.is_none();
    let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    let reasoning = first(&["/completion_tokens_details/reasoning_tokens", "/reasoning_tokens"]);
    let reasoning = reasoning.unwrap_or(0);
    let cached = first(&[
        "/prompt_tokens_details/cached_tokens",
        "/prompt_cache_hit_tokens",
        "/cached_tokens",
    ]);
    let written = count("/prompt_tokens_details/cache_write_tokens");
    let cache_read_tokens = cached.unwrap_or(0).min(prompt);
    // Where the total says so, the reasoning was counted beside the output and not in it.
    let beside = prompt.checked_add(completion).and_then(|sum| sum.checked_add(reasoning));
    let is_beside = reasoning > 0 && beside.is_some() && beside == count("/total_tokens");
    Some(Usage {
        input_tokens: prompt,
        output_tokens: if is_beside { completion + reasoning } else { completion },
        cache_read_tokens,
        cache_write_tokens: written.unwrap_or(0).min(prompt - cache_read_tokens),
        reasoning_tokens: reasoning,
        estimated,
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn used(input: u64, output: u64, cached: u64, reasoning: u64) -> Usage {
        Usage {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: cached,
            reasoning_tokens: reasoning,
            ..Usage::default()
        }
    }

    #[test]
    fn usage_is_found_wherever_servers_put_it() {
        let plain = json!({"prompt_tokens": 10, "completion_tokens": 2});
        for event in [
            json!({"usage": plain}),
            json!({"x_groq": {"id": "r", "usage": plain}}),
            json!({"usage": null, "choices": [{"usage": plain}]}),
            json!({"usage": {"input_tokens": 10, "output_tokens": 2}}),
        ] {
            assert_eq!(told(&event), Some(used(10, 2, 0, 0)), "{event}");
        }
        for event in [json!({}), json!({"usage": null}), json!({"usage": {}}), json!([1])] {
            assert_eq!(told(&event), None, "{event}");
        }
    }

    #[test]
    fn half_of_the_usage_is_told_as_half() {
        let half = |input, output| Usage { estimated: true, ..used(input, output, 0, 0) };
        assert_eq!(told(&json!({"usage": {"prompt_tokens": 10}})), Some(half(10, 0)));
        assert_eq!(told(&json!({"usage": {"completion_tokens": 4}})), Some(half(0, 4)));
        let null = json!({"usage": {"prompt_tokens": 10, "completion_tokens": null}});
        assert_eq!(told(&null), Some(half(10, 0)));
        let none = json!({"usage": {"prompt_tokens": 10, "completion_tokens": 0}});
        assert_eq!(told(&none), Some(used(10, 0, 0, 0)), "nothing generated is told, not left out");
    }

    #[test]
    fn cached_tokens_are_part_of_the_prompt_and_never_more_than_it() {
        for (usage, expected) in [
            (
                json!({"prompt_tokens": 10, "completion_tokens": 1,
                    "prompt_tokens_details": {"cached_tokens": 4}}),
                used(10, 1, 4, 0),
            ),
            (
                json!({"prompt_tokens": 10, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}),
                used(10, 1, 4, 0),
            ),
            (
                json!({"prompt_tokens": 10, "completion_tokens": 1, "cached_tokens": 4}),
                used(10, 1, 4, 0),
            ),
            (
                json!({"prompt_tokens": 5, "completion_tokens": 1,
                    "prompt_tokens_details": {"cached_tokens": 9}}),
                used(5, 1, 5, 0),
            ),
            (
                json!({"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": null}),
                used(5, 1, 0, 0),
            ),
        ] {
            assert_eq!(told(&json!({ "usage": usage })), Some(expected), "{usage}");
        }
    }

    #[test]
    fn reasoning_is_part_of_the_output_whatever_the_server_counts() {
        let usage = |total: u64| {
            let details = json!({"reasoning_tokens": 30});
            json!({"usage": {"prompt_tokens": 10, "completion_tokens": 40, "total_tokens": total,
                "completion_tokens_details": details}})
        };
        assert_eq!(told(&usage(50)), Some(used(10, 40, 0, 30)));
        assert_eq!(told(&usage(80)), Some(used(10, 70, 0, 30)));
    }
}
