//! What the tests of this wire share: a request, a provider, and streams by hand.

use offshoot::domain::message::{Block, Message};
use offshoot::domain::usage::Usage;
use offshoot::provider::Chunk;
use offshoot::provider::openai::{Config, OpenAi};
use serde_json::{Value, json};

use crate::common::raw_server::{RawServer, Reply};
use crate::common::strict;

pub use crate::common::wire::{
    answer_of, ask, ask_go, call_chunk as made, fixture, request, result_of, schema,
    text_chunk as text, tool_call, user,
};

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

pub fn answer(blocks: Vec<Block>) -> Message {
    answer_of("openai", MODEL, blocks)
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

pub fn used(input_tokens: u64, output_tokens: u64) -> Chunk {
    Chunk::Usage(Usage { input_tokens, output_tokens, ..Usage::default() })
}
