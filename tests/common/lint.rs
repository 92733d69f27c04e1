//! The rules that strict servers hold requests to, for the neutral form: unique call ids, every
//! call answered exactly once and in order right after, no blank text, arguments are objects.

use std::collections::HashSet;

use offshoot::domain::message::{AssistantMessage, Block, Message};
use offshoot::provider::Request;

/// What a strict server would refuse.
pub fn violations(request: &Request) -> Vec<String> {
    let messages: Vec<&Message> = request.messages.iter().map(AsRef::as_ref).collect();
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    if !matches!(messages.first(), Some(Message::User { .. })) {
        found.push("the first message is not from the user".to_owned());
    }
    for (index, message) in messages.iter().enumerate() {
        let next = messages.get(index + 1).copied();
        match message {
            Message::User { text } if text.trim().is_empty() => {
                found.push(format!("m{index}: blank text"));
            }
            Message::User { .. } => {}
            Message::Assistant(answer) => {
                check_answer(index, answer, next, &mut seen, &mut found);
            }
            Message::Results { results } => {
                let before = index.checked_sub(1).map(|before| messages[before]);
                if !matches!(before, Some(Message::Assistant(a)) if a.tool_calls().count() > 0) {
                    found.push(format!("m{index}: results without calls"));
                }
                if results.iter().any(|result| result.output.trim().is_empty()) {
                    found.push(format!("m{index}: blank result"));
                }
            }
        }
    }
    found
}

fn check_answer(
    index: usize,
    answer: &AssistantMessage,
    next: Option<&Message>,
    seen: &mut HashSet<String>,
    found: &mut Vec<String>,
) {
    if answer.blocks.is_empty() {
        found.push(format!("m{index}: empty assistant message"));
    }
    for block in &answer.blocks {
        if matches!(block, Block::Text { text } if text.trim().is_empty()) {
            found.push(format!("m{index}: blank text block"));
        }
    }
    let calls: Vec<_> = answer.tool_calls().collect();
    for call in &calls {
        if call.call.as_str().is_empty() || !seen.insert(call.call.as_str().to_owned()) {
            found.push(format!("m{index}: bad call id {}", call.call));
        }
    }
    let ids: Vec<_> = calls.iter().map(|call| &call.call).collect();
    let answered: Vec<_> = match next {
        Some(Message::Results { results }) => results.iter().map(|result| &result.call).collect(),
        _ => Vec::new(),
    };
    if ids != answered {
        found.push(format!("m{index}: calls {ids:?} answered by {answered:?}"));
    }
    if next.is_none() {
        found.push(format!("m{index}: the request ends with the assistant"));
    }
}
