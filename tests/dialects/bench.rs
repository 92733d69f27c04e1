//! What the tests of this wire share: a request, a provider, and streams by hand.

use std::sync::Arc;

use futures_util::StreamExt;
use offshoot::domain::ids::{CallId, RunId};
use offshoot::domain::message::{
    AssistantMessage, Block, Message, ToolCall, ToolResult, ToolSchema,
};
use offshoot::domain::usage::Usage;
use offshoot::provider::openai::{Config, OpenAi};
use offshoot::provider::{Chunk, Provider, ProviderError, Request, ToolChoice};
use serde_json::{Value, json};

use crate::common::raw_server::{RawServer, Reply};
use crate::common::strict;

pub const KEY: &str = "sk-test-0123456789";
pub const MODEL: &str = "fake-o";

pub async fn serve(replies: Vec<Reply>) -> RawServer {
    RawServer::start(replies, strict::openai).await
}

pub fn config(server: &RawServer) -> Config {
    Config {
        base_url: format!("{}/v1", server.url),
        api_key: Some(KEY.into()),
        model: MODEL.to_owned(),
        ..Config::default()
    }
}

pub fn provider(server: &RawServer) -> OpenAi {
    OpenAi::new(config(server)).unwrap()
}

pub fn speaking(server: &RawServer, profile: &str) -> OpenAi {
    OpenAi::new(Config { profile: Some(profile.to_owned()), ..config(server) }).unwrap()
}

pub fn schema(name: &str) -> ToolSchema {
    let parameters = json!({"type": "object"});
    ToolSchema { name: name.to_owned(), description: format!("does {name}"), parameters }
}

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

pub fn answer(blocks: Vec<Block>) -> Message {
    answer_of("openai", MODEL, blocks)
}

pub fn answer_of(provider: &str, model: &str, blocks: Vec<Block>) -> Message {
    Message::Assistant(AssistantMessage {
        blocks,
        provider: provider.to_owned(),
        model: model.to_owned(),
        stop_reason: None,
        interrupted: false,
    })
}

pub fn tool_call(id: &str, name: &str, arguments: Value) -> Block {
    Block::ToolCall(ToolCall { call: CallId::from(id), name: name.to_owned(), arguments })
}

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
            (Ok(Chunk::Alive | Chunk::CallPart), _) => {}
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

pub async fn ask_go(provider: &impl Provider) -> (Vec<Chunk>, Option<ProviderError>) {
    ask(provider, request(vec![user("go")])).await
}

pub fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

pub fn delta(delta: &Value) -> String {
    event(&json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

pub fn finish(reason: &str) -> String {
    event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

pub fn calls(parts: &Value) -> String {
    delta(&json!({ "tool_calls": parts }))
}

pub const DONE: &str = "data: [DONE]\n\n";

/// A whole answer of one text.
pub fn said(text: &str) -> Reply {
    Reply::events([delta(&json!({ "content": text })), finish("stop"), DONE.to_owned()].concat())
}

pub fn made(id: &str, name: &str, arguments: Value) -> Chunk {
    Chunk::ToolCall(ToolCall { call: CallId::from(id), name: name.to_owned(), arguments })
}

pub fn text(text: &str) -> Chunk {
    Chunk::Text(text.to_owned())
}

pub fn used(input_tokens: u64, output_tokens: u64) -> Chunk {
    Chunk::Usage(Usage { input_tokens, output_tokens, ..Usage::default() })
}

pub fn fixture(file: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    std::fs::read_to_string(path).unwrap()
}
