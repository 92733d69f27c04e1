//! From a neutral request to the body of a Messages request. Pure; keys and blocks have a fixed
//! order, so that the prompt cache finds the beginning of a growing conversation again.

use serde_json::{Map, Value, json};

use super::marks;
use crate::domain::message::ToolSchema;
use crate::provider::prepare::{self, Asked, IdForm, Outcome, Piece, Reader, Turn};
use crate::provider::{Request, ToolChoice};

/// The least that the API takes as `thinking.budget_tokens`.
const LEAST_THINKING: u64 = 1_024;
/// Characters of a call's id. The API names no limit; its own ids have 30.
const LONGEST_ID: usize = 64;

/// What of a provider's settings enters its requests.
#[derive(Debug)]
pub struct Model {
    /// The provider's name, as answers remember it.
    pub provider: &'static str,
    /// The model's name.
    pub name: String,
    /// Output tokens per request at most.
    pub max_output_tokens: u64,
    /// Tokens that the model may think with.
    pub thinking_budget: Option<u64>,
    /// False for a model that refuses a request that forces one tool: it is left to choose.
    pub takes_forced_tools: bool,
    /// False for a model that refuses a temperature.
    pub takes_temperature: bool,
}

/// The body of one request.
pub fn build(model: &Model, request: &Request) -> Value {
    let reader = Reader {
        provider: model.provider,
        model: &model.name,
        ids: IdForm::Word { longest: LONGEST_ID },
    };
    let turns = prepare::turns(&request.messages, &reader);
    let max_tokens = request.max_tokens.min(model.max_output_tokens).max(1);
    let thinking = thinking_budget(model, request, &turns, max_tokens);
    let mut body = Map::new();
    body.insert("model".to_owned(), model.name.as_str().into());
    body.insert("max_tokens".to_owned(), max_tokens.into());
    if !request.system.trim().is_empty() {
        body.insert("system".to_owned(), json!([{ "type": "text", "text": &*request.system }]));
    }
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
        body.insert("tool_choice".to_owned(), tool_choice(model, &request.tool_choice));
    }
    body.insert("messages".to_owned(), messages(&turns));
    match (thinking, request.temperature) {
        (Some(budget), _) => {
            // With thinking the API takes no other temperature than its own.
            let thinking = json!({ "type": "enabled", "budget_tokens": budget });
            body.insert("thinking".to_owned(), thinking);
        }
        (None, Some(temperature)) if model.takes_temperature => {
            body.insert("temperature".to_owned(), temperature.clamp(0.0, 1.0).into());
        }
        (None, Some(_) | None) => {}
    }
    body.insert("stream".to_owned(), true.into());
    marks::place(&mut body);
    Value::Object(body)
}

/// The thinking budget, where the API takes it: inside the output limit, beside no forced call,
/// and not in the middle of a turn that began without thinking.
fn thinking_budget(
    model: &Model,
    request: &Request,
    turns: &[Turn<'_>],
    max_tokens: u64,
) -> Option<u64> {
    let forced = match request.tool_choice {
        ToolChoice::Named(_) => true,
        ToolChoice::Auto | ToolChoice::None => false,
    };
    let budget = model.thinking_budget?;
    let fits = (LEAST_THINKING..max_tokens).contains(&budget);
    (fits && !forced && !is_inside_a_turn_without_thinking(turns)).then_some(budget)
}

/// True if the model waits for results and has not thought since a person last spoke.
fn is_inside_a_turn_without_thinking(turns: &[Turn<'_>]) -> bool {
    let mut called = false;
    for turn in turns.iter().rev() {
        match turn {
            Turn::Asked(asked) if asked.results.is_empty() => break,
            Turn::Asked(_) => called = true,
            Turn::Answered(pieces) if pieces.iter().any(is_sealed_reasoning) => return false,
            Turn::Answered(_) => {}
        }
    }
    called
}

fn messages(turns: &[Turn<'_>]) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::with_capacity(turns.len());
    for (index, turn) in turns.iter().enumerate() {
        let (role, mut blocks) = match turn {
            Turn::Asked(asked) => ("user", asked_blocks(asked)),
            Turn::Answered(pieces) => {
                ("assistant", answered_blocks(pieces, index + 1 == turns.len()))
            }
        };
        match messages.last_mut() {
            // An answer of which nothing can be sent leaves two messages of the user.
            Some((before, content)) if *before == role => content.append(&mut blocks),
            Some(_) | None if blocks.is_empty() => {}
            Some(_) | None => messages.push((role, blocks)),
        }
    }
    let messages = messages.into_iter();
    messages.map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn asked_blocks(asked: &Asked<'_>) -> Vec<Value> {
    let results = asked.results.iter().map(result);
    results.chain(asked.texts.iter().map(|text| json!({ "type": "text", "text": text }))).collect()
}

fn result(outcome: &Outcome<'_>) -> Value {
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": outcome.id,
        "content": outcome.output,
    });
    if !outcome.ok {
        block["is_error"] = true.into();
    }
    block
}

/// The blocks of an answer. Thinking without a seal is left out, and so is a server tool's call
/// or result without the other half, unless the model is about to go on with it.
fn answered_blocks(pieces: &[Piece<'_>], goes_on: bool) -> Vec<Value> {
    let mut blocks: Vec<Value> =
        pieces.iter().filter_map(|piece| answered_block(piece, pieces, goes_on)).collect();
    // The API takes no answer that ends with thinking; only an answer that was cut does.
    while blocks.last().is_some_and(marks::is_reasoning) {
        blocks.pop();
    }
    blocks
}

fn answered_block(piece: &Piece<'_>, all: &[Piece<'_>], goes_on: bool) -> Option<Value> {
    match piece {
        Piece::Text(text) => Some(json!({ "type": "text", "text": text })),
        Piece::Reasoning { text, signature } => {
            let signature = (*signature)?;
            Some(json!({ "type": "thinking", "thinking": text, "signature": signature }))
        }
        Piece::Redacted(data) => Some(json!({ "type": "redacted_thinking", "data": data })),
        Piece::Opaque(block) => (goes_on || is_paired(block, all)).then(|| (*block).clone()),
        Piece::Call { id, name, arguments } => {
            Some(json!({ "type": "tool_use", "id": id, "name": name, "input": arguments }))
        }
    }
}

/// True unless `block` is one half of a server tool's exchange and the other one is not there.
fn is_paired(block: &Value, pieces: &[Piece<'_>]) -> bool {
    let text = |block: &Value, key: &str| block.get(key)?.as_str().map(str::to_owned);
    let kind = text(block, "type").unwrap_or_default();
    let (own, others) = if let Some(id) = text(block, "tool_use_id") {
        (id, "id")
    } else if kind.ends_with("tool_use") {
        (text(block, "id").unwrap_or_default(), "tool_use_id")
    } else {
        return true;
    };
    pieces.iter().any(|piece| match piece {
        Piece::Opaque(other) => text(other, others).as_ref() == Some(&own),
        Piece::Text(_) | Piece::Reasoning { .. } | Piece::Redacted(_) | Piece::Call { .. } => false,
    })
}

fn is_sealed_reasoning(piece: &Piece<'_>) -> bool {
    match piece {
        Piece::Reasoning { signature, .. } => signature.is_some(),
        Piece::Redacted(_) => true,
        Piece::Text(_) | Piece::Opaque(_) | Piece::Call { .. } => false,
    }
}

fn tool(schema: &ToolSchema) -> Value {
    json!({
        "name": schema.name,
        "description": schema.description,
        "input_schema": schema.parameters,
    })
}

fn tool_choice(model: &Model, choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({ "type": "auto" }),
        ToolChoice::None => json!({ "type": "none" }),
        ToolChoice::Named(_) if !model.takes_forced_tools => json!({ "type": "auto" }),
        ToolChoice::Named(name) => json!({ "type": "tool", "name": name }),
    }
}
