//! What the tests of every wire share: a conversation to send, and an answer as its chunks.

use std::path::Path;
use std::sync::Arc;

use futures_util::StreamExt;
use offshoot::domain::ids::{CallId, RunId};
use offshoot::domain::message::{
    AssistantMessage, Block, Message, StopReason, ToolCall, ToolResult, ToolSchema,
};
use offshoot::provider::{Chunk, Provider, ProviderError, Request, ToolChoice};
use serde_json::{Value, json};

/// The text of a file in `tests/fixtures`.
pub fn fixture(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    std::fs::read_to_string(path).unwrap()
}

pub fn schema(name: &str) -> ToolSchema {
    let parameters = json!({"type": "object"});
    ToolSchema { name: name.to_owned(), description: format!("does {name}"), parameters }
}

/// A parent's request for at most 256 tokens, with two tools.
pub fn request(messages: Vec<Message>) -> Request {
    Request {
        run: RunId::parent(1),
        depth: 0,
        system: "be brief".into(),
        tools: [schema("search"), schema("read_file")].into(),
        tool_choice: ToolChoice::Auto,
        messages: messages.into_iter().map(Arc::new).collect(),
        max_tokens: 256,
        temperature: None,
    }
}

pub fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

pub fn answer_of(provider: &str, model: &str, blocks: Vec<Block>) -> Message {
    Message::Assistant(AssistantMessage {
        blocks,
        provider: provider.to_owned(),
        model: model.to_owned(),
        stop_reason: Some(StopReason::EndTurn),
        interrupted: false,
    })
}

fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall { call: CallId::from(id), name: name.to_owned(), arguments }
}

pub fn tool_call(id: &str, name: &str, arguments: Value) -> Block {
    Block::ToolCall(call(id, name, arguments))
}

pub fn call_chunk(id: &str, name: &str, arguments: Value) -> Chunk {
    Chunk::ToolCall(call(id, name, arguments))
}

pub fn text_chunk(text: &str) -> Chunk {
    Chunk::Text(text.to_owned())
}

/// What the tool `search` gave for this call.
pub fn result_of(id: &str, output: &str) -> ToolResult {
    ToolResult {
        call: CallId::from(id),
        name: "search".to_owned(),
        ok: true,
        output: output.to_owned(),
    }
}

/// The chunks of an answer, neighbouring texts joined and signs of life left out, and the error
/// that ended it.
pub async fn ask(
    provider: &impl Provider,
    request: Request,
) -> (Vec<Chunk>, Option<ProviderError>) {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut stream = provider.stream(request);
    while let Some(item) = stream.next().await {
        match (item, chunks.last_mut()) {
            (Ok(Chunk::Alive), _) => {}
            (Ok(Chunk::Text(piece)), Some(Chunk::Text(text)))
            | (Ok(Chunk::Reasoning(piece)), Some(Chunk::Reasoning(text))) => text.push_str(&piece),
            (Ok(chunk), _) => chunks.push(chunk),
            (Err(error), _) => {
                assert!(stream.next().await.is_none(), "an error is the last item");
                return (chunks, Some(error));
            }
        }
    }
    (chunks, None)
}

/// What a provider answers to one short question.
pub async fn ask_go(provider: &impl Provider) -> (Vec<Chunk>, Option<ProviderError>) {
    ask(provider, request(vec![user("go")])).await
}
