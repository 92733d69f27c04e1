//! The rules that strict servers hold request bodies to, for both wire forms: unique call ids,
//! every call answered exactly once and in order in the next message, results first, no blank
//! text, arguments that are objects.

use std::collections::HashSet;

use serde_json::Value;

/// What a strict Messages server would refuse in `request`.
pub fn anthropic(request: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let messages = list(request, "messages");
    if messages.is_empty() {
        found.push("no messages".to_owned());
    }
    let mut seen = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let blocks = blocks(message);
        let is_last = index + 1 == messages.len();
        let is_assistant = message["role"] == "assistant";
        if index == 0 && message["role"] != "user" {
            found.push("first message is not from the user".to_owned());
        }
        if index > 0 && messages[index - 1]["role"] == message["role"] {
            found.push(format!("m{index}: same role as the message before"));
        }
        if blocks.is_empty() && !(is_last && is_assistant) {
            found.push(format!("m{index}: empty content"));
        }
        for block in &blocks {
            check_block(index, block, is_assistant, &mut seen, &mut found);
        }
        if is_assistant {
            check_calls(index, &blocks, messages.get(index + 1), &mut found);
            check_end(index, &blocks, is_last, &mut found);
        } else {
            let before = index.checked_sub(1).map(|before| self::blocks(&messages[before]));
            check_results(index, &blocks, &before.unwrap_or_default(), &mut found);
        }
    }
    check_settings(request, &mut found);
    found
}

fn check_block(
    index: usize,
    block: &Value,
    is_assistant: bool,
    seen: &mut HashSet<String>,
    found: &mut Vec<String>,
) {
    match text(block, "type").as_str() {
        "text" if text(block, "text").trim().is_empty() => {
            found.push(format!("m{index}: blank text block"));
        }
        "tool_use" => {
            let id = text(block, "id");
            if !is_assistant {
                found.push(format!("m{index}: tool_use outside assistant"));
            }
            if id.is_empty()
                || !id.chars().all(is_word)
                || !text(block, "name").chars().all(is_word)
            {
                found.push(format!("m{index}: id or name of tool_use {id} is of a wrong form"));
            }
            if !seen.insert(id.clone()) {
                found.push(format!("m{index}: duplicate tool_use id {id}"));
            }
            if !block["input"].is_object() {
                found.push(format!("m{index}: tool_use input is not an object"));
            }
            let known = ["type", "id", "name", "input", "cache_control"];
            if block.as_object().unwrap().keys().any(|key| !known.contains(&key.as_str())) {
                found.push(format!("m{index}: unknown key in tool_use"));
            }
        }
        "thinking" if text(block, "signature").is_empty() => {
            found.push(format!("m{index}: thinking without signature"));
        }
        "tool_result" if text(block, "content").trim().is_empty() => {
            found.push(format!("m{index}: blank result"));
        }
        "thinking" | "redacted_thinking" if block.get("cache_control").is_some() => {
            found.push(format!("m{index}: cache_control on thinking"));
        }
        _ => {}
    }
}

fn check_calls(index: usize, blocks: &[Value], next: Option<&Value>, found: &mut Vec<String>) {
    let ids = values(blocks, "tool_use", "id");
    if ids.is_empty() {
        return;
    }
    let next = next.filter(|next| next["role"] == "user").map(self::blocks).unwrap_or_default();
    let got = values(&next, "tool_result", "tool_use_id");
    for id in &ids {
        let count = got.iter().filter(|got| *got == id).count();
        if count != 1 {
            found.push(format!("m{index}: call {id} has {count} results in the next message"));
        }
    }
    let is_result: Vec<bool> = next.iter().map(|block| block["type"] == "tool_result").collect();
    if is_result.windows(2).any(|pair| !pair[0] && pair[1]) {
        found.push(format!("m{}: text before a tool_result", index + 1));
    }
    let ordered: Vec<_> = got.iter().filter(|got| ids.contains(got)).collect();
    let expected: Vec<_> = ids.iter().filter(|id| got.contains(id)).collect();
    if ordered != expected {
        found.push(format!("m{}: results not in call order", index + 1));
    }
}

fn check_end(index: usize, blocks: &[Value], is_last: bool, found: &mut Vec<String>) {
    let Some(last) = blocks.last() else { return };
    let kind = text(last, "type");
    let words = text(last, "text");
    if is_last && kind == "text" && words != words.trim_end() {
        found.push("last assistant text ends with white space".to_owned());
    }
    if kind.ends_with("thinking") {
        found.push(format!("m{index}: the final block is thinking"));
    }
}

fn check_results(index: usize, blocks: &[Value], before: &[Value], found: &mut Vec<String>) {
    let calls = values(before, "tool_use", "id");
    for id in values(blocks, "tool_result", "tool_use_id") {
        if !calls.contains(&id) {
            found.push(format!("m{index}: result {id} without call in the previous message"));
        }
    }
}

/// What concerns the request as a whole.
fn check_settings(request: &Value, found: &mut Vec<String>) {
    let marks = request.to_string().matches("\"cache_control\":{").count();
    if marks > 4 {
        found.push(format!("{marks} cache marks"));
    }
    if request.get("tool_choice").is_some() && list(request, "tools").is_empty() {
        found.push("tool_choice without tools".to_owned());
    }
    let max_tokens = request["max_tokens"].as_u64().unwrap_or(0);
    if max_tokens == 0 {
        found.push("no max_tokens".to_owned());
    }
    if let Some(thinking) = request.get("thinking") {
        let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
        if budget < 1_024 || budget >= max_tokens {
            found.push(format!("thinking budget {budget} of {max_tokens}"));
        }
        if request.get("temperature").is_some() || request["tool_choice"]["type"] == "tool" {
            found.push("thinking beside a temperature or a forced call".to_owned());
        }
    }
    if request["temperature"].as_f64().is_some_and(|value| !(0.0..=1.0).contains(&value)) {
        found.push("temperature: range: 0..1".to_owned());
    }
}

/// What a strict chat-completions server would refuse in `request`.
pub fn openai(request: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let messages = list(request, "messages");
    let mut index = 0;
    while let Some(message) = messages.get(index) {
        let content = &message["content"];
        match text(message, "role").as_str() {
            "tool" => found.push(format!("m{index}: tool message without a call")),
            "user" | "system" if is_nothing(content) => {
                found.push(format!("m{index}: empty content"));
            }
            "assistant" => {
                let calls = list(message, "tool_calls");
                if message.get("tool_calls").is_some() && calls.is_empty() {
                    found.push(format!("m{index}: empty tool_calls list"));
                }
                let is_blank = content.as_str().is_none_or(|text| text.trim().is_empty())
                    && content.as_array().is_none_or(Vec::is_empty);
                if calls.is_empty() && is_blank {
                    found.push(format!("m{index}: empty assistant message"));
                }
                let ids = check_chat_calls(index, calls, &mut seen, &mut found);
                let after = messages[index + 1..].iter();
                let answers: Vec<&Value> =
                    after.take_while(|message| message["role"] == "tool").collect();
                if answers.iter().any(|a| !a["content"].is_string() && !a["content"].is_array()) {
                    found.push(format!("m{index}: tool content missing"));
                }
                let got: Vec<String> =
                    answers.iter().map(|answer| text(answer, "tool_call_id")).collect();
                if got != ids {
                    found.push(format!("m{index}: calls {ids:?} answered by {got:?}"));
                }
                index += answers.len();
            }
            _ => {}
        }
        index += 1;
    }
    found
}

fn check_chat_calls(
    index: usize,
    calls: &[Value],
    seen: &mut HashSet<String>,
    found: &mut Vec<String>,
) -> Vec<String> {
    let mut ids = Vec::new();
    for call in calls {
        let id = text(call, "id");
        if id.is_empty() || !seen.insert(id.clone()) {
            found.push(format!("m{index}: bad call id {id}"));
        }
        ids.push(id);
        let arguments = call["function"]["arguments"].as_str();
        let arguments = arguments.map(serde_json::from_str::<Value>);
        if !matches!(arguments, Some(Ok(Value::Object(_)))) {
            found.push(format!("m{index}: arguments are not a JSON object string"));
        }
    }
    ids
}

fn is_nothing(content: &Value) -> bool {
    match content {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(parts) => parts.is_empty(),
        _ => false,
    }
}

/// The blocks of a message; a plain text is one.
fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![serde_json::json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn values(blocks: &[Value], kind: &str, key: &str) -> Vec<String> {
    let those = blocks.iter().filter(|block| block["type"] == kind);
    those.map(|block| text(block, key)).collect()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
