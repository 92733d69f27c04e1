//! What the tests of this wire share: a request, a provider, and streams by hand.

use offshoot::domain::message::{Block, Message};
use offshoot::provider::anthropic::{Anthropic, Config};
use offshoot::provider::{Chunk, ProviderError, Request};
use serde_json::{Value, json};

use crate::common::raw_server::{RawServer, Reply};
use crate::common::{strict, wire};

pub use crate::common::wire::{
    answer_of, ask, call_chunk, fixture, result_of, text_chunk, tool_call, user,
};

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

pub fn request(messages: Vec<Message>) -> Request {
    Request { max_tokens: 2_048, ..wire::request(messages) }
}

pub fn text(text: &str) -> Block {
    Block::Text { text: text.to_owned() }
}

pub fn thinking(text: &str, signature: Option<&str>) -> Block {
    Block::Reasoning { text: text.to_owned(), signature: signature.map(str::to_owned) }
}

pub fn answer(blocks: Vec<Block>) -> Message {
    answer_of("anthropic", MODEL, blocks)
}

pub fn results(of: &[(&str, &str)]) -> Message {
    Message::Results { results: of.iter().map(|(id, output)| result_of(id, output)).collect() }
}

/// What one stream reads as.
pub async fn read(reply: Reply) -> (Vec<Chunk>, Option<ProviderError>) {
    let server = serve(vec![reply]).await;
    ask(&provider(&server), request(vec![user("go")])).await
}

pub fn without_usage(chunks: Vec<Chunk>) -> Vec<Chunk> {
    chunks.into_iter().filter(|chunk| !matches!(chunk, Chunk::Usage(_))).collect()
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
