//! What the tests of this wire share: a request, a provider, and streams by hand.

use std::sync::Arc;

use futures_util::StreamExt;
use offshoot::domain::ids::{CallId, RunId};
use offshoot::domain::message::{
    AssistantMessage, Block, Message, StopReason, ToolCall, ToolResult, ToolSchema,
};
use offshoot::provider::anthropic::{Anthropic, Config};
use offshoot::provider::{Chunk, Provider, ProviderError, Request, ToolChoice};
use serde_json::{Value, json};

use crate::common::raw_server::{RawServer, Reply};
use crate::common::strict;

pub const KEY: &str = "sk-ant-test-0123456789";
pub const MODEL: &str = "fake-a";

pub async fn serve(replies: Vec<Reply>) -> RawServer {
    RawServer::start(replies, strict::anthropic).await
}

pub fn config(base_url: &str) -> Config {
    Config {
        base_url: base_url.to_owned(),
        api_key: Some(KEY.into()),
        model: MODEL.to_owned(),
        max_output_tokens: Some(4_096),
        context_window: Some(200_000),
        prices: None,
        thinking_budget: None,
        forced_tools: None,
        temperature: None,
        headers: Vec::new(),
        network: offshoot::provider::http::Network::default(),
    }
}

pub fn provider(server: &RawServer) -> Anthropic {
    Anthropic::new(config(&server.url)).unwrap()
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
        max_tokens: 2_048,
        temperature: None,
    }
}

pub fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

pub fn text(text: &str) -> Block {
    Block::Text { text: text.to_owned() }
}

pub fn thinking(text: &str, signature: Option<&str>) -> Block {
    Block::Reasoning { text: text.to_owned(), signature: signature.map(str::to_owned) }
}

pub fn tool_call(id: &str, name: &str, arguments: Value) -> Block {
    Block::ToolCall(ToolCall { call: CallId::from(id), name: name.to_owned(), arguments })
}

pub fn answer(blocks: Vec<Block>) -> Message {
    answer_of("anthropic", MODEL, blocks)
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

pub fn results(of: &[(&str, &str)]) -> Message {
    let result = |(id, output): &(&str, &str)| ToolResult {
        call: CallId::from(*id),
        name: "search".to_owned(),
        ok: true,
        output: (*output).to_owned(),
    };
    Message::Results { results: of.iter().map(result).collect() }
}

/// The chunks of an answer without signs of life, neighbouring texts joined, and the error that
/// ended it.
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

/// What one stream reads as.
pub async fn read(reply: Reply) -> (Vec<Chunk>, Option<ProviderError>) {
    let server = serve(vec![reply]).await;
    ask(&provider(&server), request(vec![user("go")])).await
}

pub fn without_usage(chunks: Vec<Chunk>) -> Vec<Chunk> {
    chunks.into_iter().filter(|chunk| !matches!(chunk, Chunk::Usage(_))).collect()
}

pub fn call_chunk(id: &str, name: &str, arguments: Value) -> Chunk {
    Chunk::ToolCall(ToolCall { call: CallId::from(id), name: name.to_owned(), arguments })
}

pub fn text_chunk(text: &str) -> Chunk {
    Chunk::Text(text.to_owned())
}

/// One event in the form the API gives it.
pub fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or("message"))
}

pub fn started(input_tokens: u64) -> String {
    event(&json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant",
        "content": [], "usage": {"input_tokens": input_tokens, "output_tokens": 1}}}))
}

/// A block that starts as `content`, grows by `deltas` and is closed.
pub fn block(index: u64, content: &Value, deltas: &[Value]) -> String {
    open_block(index, content, deltas)
        + &event(&json!({"type": "content_block_stop", "index": index}))
}

pub fn open_block(index: u64, content: &Value, deltas: &[Value]) -> String {
    let start =
        event(&json!({"type": "content_block_start", "index": index, "content_block": content}));
    let deltas = deltas.iter().map(|delta| {
        event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
    });
    start + &deltas.collect::<String>()
}

pub fn text_block(index: u64, words: &[&str]) -> String {
    let deltas: Vec<Value> =
        words.iter().map(|words| json!({"type": "text_delta", "text": words})).collect();
    block(index, &json!({"type": "text", "text": ""}), &deltas)
}

pub fn thinking_block(index: u64, words: &[&str], seal: &[&str]) -> String {
    let words = words.iter().map(|words| json!({"type": "thinking_delta", "thinking": words}));
    let seal = seal.iter().map(|seal| json!({"type": "signature_delta", "signature": seal}));
    let deltas: Vec<Value> = words.chain(seal).collect();
    block(index, &json!({"type": "thinking", "thinking": "", "signature": ""}), &deltas)
}

pub fn call_block(index: u64, id: &str, name: &str, partial: &[&str]) -> String {
    block(
        index,
        &json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
        &json_deltas(partial),
    )
}

pub fn json_deltas(partial: &[&str]) -> Vec<Value> {
    let delta = |text: &&str| json!({"type": "input_json_delta", "partial_json": text});
    partial.iter().map(delta).collect()
}

pub fn stopped(reason: &str, output_tokens: u64) -> String {
    event(&json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": {"output_tokens": output_tokens}}))
}

pub fn over() -> String {
    event(&json!({"type": "message_stop"}))
}

/// A whole stream of these blocks.
pub fn whole(blocks: &[String], reason: &str) -> String {
    started(10) + &blocks.concat() + &stopped(reason, 20) + &over()
}
