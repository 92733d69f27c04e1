//! That a growing conversation keeps its beginning, and that no history whatever makes a request that
//! a strict server refuses.

use std::sync::Arc;

use offshoot::domain::message::{Block, Message};
use offshoot::provider::Request;
use offshoot::provider::anthropic::Anthropic;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::rounds;

use super::bench::*;
use super::requests::{fine, without_marks};

/// Thirty turns of all kinds: what was sent once is sent again unchanged, so only what is new is
/// paid for in full.
#[tokio::test]
async fn a_growing_conversation_keeps_its_beginning_and_its_marks_meet() {
    let server = fine().await;
    let mut config = config(&server.url);
    config.thinking_budget = Some(1_500);
    let provider = Anthropic::new(config).unwrap();
    let mut messages = vec![user("begin")];
    for turn in 0..30 {
        ask(&provider, request(messages.clone())).await;
        messages.extend(next_messages(turn));
    }
    assert_grows(&server.bodies());
}

/// What a turn adds: calls and results, with words typed meanwhile or many blocks now and then,
/// or an answer and a new question.
fn next_messages(turn: usize) -> Vec<Message> {
    let id = |number: usize| format!("toolu_{turn}_{number}");
    let calls = |count: usize| {
        (0..count).map(move |number| {
            tool_call(&format!("toolu_{turn}_{number}"), "search", json!({"n": number}))
        })
    };
    let sealed = thinking(&format!("thought {turn} "), Some("c2ln"));
    match turn % 5 {
        0 => vec![
            answer(vec![sealed, text("looking  \n"), calls(1).next().unwrap()]),
            results(&[(&id(0), "found")]),
        ],
        1 => vec![
            answer([sealed].into_iter().chain(calls(3)).collect()),
            results(&[(&id(1), "b"), (&id(0), "a")]),
            user("typed meanwhile"),
        ],
        2 => vec![
            answer([sealed].into_iter().chain(calls(25)).collect()),
            results(&(0..25).map(|_| ("x", "y")).collect::<Vec<_>>()),
        ],
        3 => vec![
            answer_of("openai", "m", vec![thinking("foreign", None), text("so ")]),
            user("and?"),
        ],
        _ => vec![
            answer(vec![Block::Redacted { data: "r".to_owned() }, text("done\n")]),
            user("next question"),
            user("and one more"),
        ],
    }
}

/// Checks that every request starts with the whole of the one before, has four marks at most, and
/// has one where the request before ended.
pub fn assert_grows(bodies: &[Value]) {
    assert!(bodies.len() > 2);
    for (index, pair) in bodies.windows(2).enumerate() {
        let [before, after] = pair else { unreachable!("windows of two") };
        let (old, new) = (without_marks(before.clone()), without_marks(after.clone()));
        assert_eq!((&old["tools"], &old["system"]), (&new["tools"], &new["system"]));
        let (old, new) = (flat(&old), flat(&new));
        assert!(new.len() > old.len(), "request {index} grows");
        assert_eq!(new[..old.len()], old[..], "request {} changed its past", index + 1);
        let last = *marked(before).last().unwrap();
        assert_eq!(last, old.len() - 1, "the end of request {index} is marked");
        assert!(marked(after).contains(&last), "request {}: {:?}", index + 1, marked(after));
        assert!(marked(after).len() <= 2);
    }
}

/// All blocks of the conversation with their roles.
fn flat(body: &Value) -> Vec<(String, Value)> {
    let messages = body["messages"].as_array().unwrap().iter();
    let blocks = messages.flat_map(|message| {
        let role = message["role"].as_str().unwrap();
        message["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(move |block| (role.to_owned(), block.clone()))
    });
    blocks.collect()
}

/// The places of the marks among all blocks.
fn marked(body: &Value) -> Vec<usize> {
    let blocks = flat(body);
    let marked =
        blocks.iter().enumerate().filter(|(_, (_, block))| block.get("cache_control").is_some());
    marked.map(|(place, _)| place).collect()
}

fn any_block() -> impl Strategy<Value = Block> {
    let words = prop_oneof![Just(""), Just(" \n"), Just("words "), Just("子")];
    let id = prop_oneof![Just("a"), Just("b"), Just("x y"), Just(""), Just("a_2")];
    let arguments =
        prop_oneof![Just(json!({})), Just(json!(null)), Just(json!("{\"k")), Just(json!([1]))];
    let opaque = prop_oneof![
        Just(json!({"type": "server_tool_use", "id": "s"})),
        Just(json!({"type": "x_tool_result", "tool_use_id": "s"})),
        Just(json!({"type": "new"})),
    ];
    prop_oneof![
        words.clone().prop_map(text),
        (words.clone(), proptest::option::of(Just("seal"))).prop_map(|(w, s)| thinking(w, s)),
        words.prop_map(|data| Block::Redacted { data: data.to_owned() }),
        opaque.prop_map(|data| Block::Opaque { data }),
        (id, arguments).prop_map(|(id, arguments)| tool_call(id, "x y", arguments)),
    ]
}

fn any_message() -> impl Strategy<Value = Message> {
    let provider = prop_oneof![Just("anthropic"), Just("openai")];
    let blocks = proptest::collection::vec(any_block(), 0..5);
    let outputs = proptest::collection::vec(
        (
            prop_oneof![Just("a"), Just("b"), Just("x y"), Just("")],
            prop_oneof![Just("out"), Just(" ")],
        ),
        0..4,
    );
    prop_oneof![
        prop_oneof![Just(""), Just("say"), Just("\n")].prop_map(user),
        (provider, blocks).prop_map(|(provider, blocks)| answer_of(provider, MODEL, blocks)),
        outputs.prop_map(|outputs| results(&outputs)),
    ]
}

/// Whatever the history is, the request is one that a strict server takes, and one more message
/// never changes what was sent before but for the end of a last answer.
#[test]
fn any_history_becomes_a_request_that_a_strict_server_takes() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cases = rounds(64, 2_000);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(cases));
    let server = runtime.block_on(fine());
    let provider = provider(&server);
    let histories = proptest::collection::vec(any_message(), 0..9);
    let outcome = runner.run(&histories, |messages| {
        let request = Request {
            messages: messages.into_iter().map(Arc::new).collect(),
            ..request(Vec::new())
        };
        let (_, error) = runtime.block_on(ask(&provider, request));
        prop_assert_eq!(error, None);
        let body = server.last();
        let found = crate::common::strict::anthropic(&body);
        prop_assert!(found.is_empty(), "{:?}\n{:#}", found, body);
        Ok(())
    });
    drop(runtime);
    outcome.unwrap();
}
