//! What the Messages API counts, and what that means here: it counts cached prompt tokens apart
//! from `input_tokens`, this program counts them in.

use serde_json::Value;

use crate::domain::usage::Usage;

/// The counts of one answer. Each event that has some replaces those that it names.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    uncached: u64,
    cache_read: u64,
    cache_write: u64,
    output: Option<u64>,
    reasoning: u64,
}

impl Counts {
    /// Takes the `usage` of an event. Returns what has been used so far, if it says anything.
    pub fn take(&mut self, usage: &Value) -> Option<Usage> {
        let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
        let prompt = ["/input_tokens", "/cache_read_input_tokens", "/cache_creation_input_tokens"];
        let prompt = prompt.map(count);
        let output = count("/output_tokens");
        if output.is_none() && prompt.iter().all(Option::is_none) {
            return None;
        }
        // Some servers write zeros where they have nothing to add. No prompt has no tokens.
        if prompt.iter().flatten().any(|tokens| *tokens > 0) {
            let [uncached, cache_read, cache_write] = prompt;
            replace(&mut self.uncached, uncached);
            replace(&mut self.cache_read, cache_read);
            replace(&mut self.cache_write, cache_write);
        }
        self.output = output.or(self.output);
        replace(&mut self.reasoning, count("/output_tokens_details/thinking_tokens"));
        Some(self.usage())
    }

    fn usage(&self) -> Usage {
        let cached = self.cache_read.saturating_add(self.cache_write);
        let prompt = self.uncached.saturating_add(cached);
        Usage {
            input_tokens: prompt,
            // Only half of it was told; whoever sees the answer estimates the rest.
            estimated: prompt == 0 || self.output.is_none(),
            output_tokens: self.output.unwrap_or(0),
            cache_read_tokens: self.cache_read,
            cache_write_tokens: self.cache_write,
            reasoning_tokens: self.reasoning,
            ..Usage::default()
        }
    }
}

fn replace(count: &mut u64, told: Option<u64>) {
    if let Some(told) = told {
        *count = told;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn used(events: &[Value]) -> Usage {
        let mut counts = Counts::default();
        events.iter().filter_map(|usage| counts.take(usage)).last().unwrap_or_default()
    }

    #[test]
    fn cached_tokens_are_a_part_of_the_input_and_later_counts_win() {
        for (events, [input, read, write, output, reasoning]) in [
            (
                vec![json!({"input_tokens": 12, "cache_read_input_tokens": 9_000,
                    "cache_creation_input_tokens": 500, "output_tokens": 70})],
                [9_512, 9_000, 500, 70, 0],
            ),
            (
                vec![
                    json!({"input_tokens": 20, "output_tokens": 1}),
                    json!({"output_tokens": 15}),
                    json!({"output_tokens": 40, "output_tokens_details": {"thinking_tokens": 7}}),
                ],
                [20, 0, 0, 40, 7],
            ),
            (
                vec![
                    json!({"input_tokens": 43, "cache_read_input_tokens": null}),
                    json!({"input_tokens": 3, "cache_read_input_tokens": 58, "output_tokens": 2}),
                ],
                [61, 58, 0, 2, 0],
            ),
            (
                vec![
                    json!({"input_tokens": 43, "output_tokens": 1}),
                    json!({"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 9}),
                ],
                [43, 0, 0, 9, 0],
            ),
        ] {
            let expected = Usage {
                input_tokens: input,
                output_tokens: output,
                cache_read_tokens: read,
                cache_write_tokens: write,
                reasoning_tokens: reasoning,
                ..Usage::default()
            };
            assert_eq!(used(&events), expected, "{events:?}");
        }
    }

    #[test]
    fn counts_that_say_nothing_are_no_usage() {
        for usage in [json!(null), json!({}), json!([1]), json!({"input_tokens": "many"})] {
            assert_eq!(Counts::default().take(&usage), None, "{usage}");
        }
        let all = u64::MAX;
        let huge = json!({"input_tokens": all, "cache_read_input_tokens": all});
        assert_eq!(used(&[huge]).input_tokens, all);
    }
}
