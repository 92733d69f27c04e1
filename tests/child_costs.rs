//! Public faults of budgets, played again with children: cached tokens, unknown prices, failed tries
//! and nested totals, over real connections with the usage objects that servers send.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::sync::Arc;

use common::raw_server::{End, RawServer, Reply};
use common::{Played, Stage, public_case, strict};
use offshoot::domain::books::Books;
use offshoot::domain::event::{Event, Fact, RunFinished};
use offshoot::domain::report::{Exhausted, Status};
use offshoot::domain::usage::{MicroUsd, Prices, Usage};
use offshoot::domain::violation::Code;
use offshoot::provider::anthropic::{self, Anthropic};
use offshoot::provider::openai::{self, OpenAi};
use secrecy::SecretString;
use serde_json::{Value, json};

/// Prices at which every kind of token can be told from the others, in micro-dollars per million.
const PRICES: Prices =
    Prices { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };

#[derive(Debug, Clone, Copy, PartialEq)]
enum Wire {
    Messages,
    Chat,
}

fn fixture(file: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// What a model says on a wire: words, or one task; with the usage objects of its server.
struct Said<'a> {
    text: &'a str,
    task: Option<&'a str>,
    usage: Vec<Value>,
}

fn says(text: &str, usage: Value) -> Said<'_> {
    Said { text, task: None, usage: vec![usage] }
}

fn delegates(task: &str, usage: Value) -> Said<'_> {
    Said { text: "", task: Some(task), usage: vec![usage] }
}

fn arguments(task: &str) -> String {
    json!({ "task": task, "expected_output": "x" }).to_string()
}

fn on(wire: Wire, said: &Said<'_>) -> Reply {
    Reply::events(match wire {
        Wire::Messages => messages(said),
        Wire::Chat => chat(said),
    })
}

fn messages(said: &Said<'_>) -> String {
    let event =
        |value: &Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let first = said.usage.first().cloned().unwrap_or(Value::Null);
    let (block, delta, stop) = match said.task {
        Some(task) => (
            json!({ "type": "tool_use", "id": format!("c-{task}"), "name": "task", "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": arguments(task) }),
            "tool_use",
        ),
        None => (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": said.text }),
            "end_turn",
        ),
    };
    let mut text = [
        json!({ "type": "message_start", "message": { "id": "m", "type": "message",
            "role": "assistant", "model": "m", "content": [], "usage": first } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
    ]
    .iter()
    .map(event)
    .collect::<String>();
    let later = if said.usage.len() > 1 { &said.usage[1..] } else { &said.usage[..] };
    for usage in later {
        let delta = json!({ "stop_reason": stop });
        text += &event(&json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    }
    text + &event(&json!({ "type": "message_stop" }))
}

fn chat(said: &Said<'_>) -> String {
    let event = |value: &Value| format!("data: {value}\n\n");
    let choice = |delta: Value, reason: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
    let (delta, stop) = match said.task {
        Some(task) => {
            let function = json!({ "name": "task", "arguments": arguments(task) });
            let call = json!({ "index": 0, "id": format!("c-{task}"), "function": function });
            (json!({ "tool_calls": [call] }), "tool_calls")
        }
        None => (json!({ "content": said.text }), "stop"),
    };
    let usage = json!({ "choices": [], "usage": said.usage[0] });
    let all = [choice(delta, Value::Null), choice(json!({}), json!(stop)), usage];
    all.iter().map(event).collect::<String>() + "data: [DONE]\n\n"
}

async fn serve(wire: Wire, replies: Vec<Reply>) -> RawServer {
    let check = match wire {
        Wire::Messages => strict::anthropic,
        Wire::Chat => strict::openai,
    };
    RawServer::start(replies, check).await
}

/// Plays one question; runs may be three levels deep.
async fn play(wire: Wire, replies: Vec<Reply>, prices: Option<Prices>) -> Played {
    let server = serve(wire, replies).await;
    let key = Some(SecretString::from("sk-test-0123456789"));
    let mut stage = match wire {
        Wire::Messages => Stage::with_provider(Arc::new(
            Anthropic::new(anthropic::Config {
                base_url: server.url.clone(),
                api_key: key,
                model: "priced".to_owned(),
                prices,
                ..anthropic::Config::default()
            })
            .unwrap(),
        )),
        Wire::Chat => Stage::with_provider(Arc::new(
            OpenAi::new(openai::Config {
                base_url: format!("{}/v1", server.url),
                api_key: key,
                model: "priced".to_owned(),
                prices,
                ..openai::Config::default()
            })
            .unwrap(),
        )),
    };
    stage.max_depth = 3;
    stage.play("go").await
}

fn end(played: &Played, run: &str) -> RunFinished {
    let is_it = |event: &&Arc<Event>| event.origin.run.as_ref().is_some_and(|r| r.as_str() == run);
    let mut ends = played.events.iter().filter(is_it).filter_map(|event| match &event.fact {
        Fact::RunFinished(end) => Some((**end).clone()),
        _ => None,
    });
    ends.next_back().unwrap()
}

/// The books, read from the events and from the files, contradict nothing and each other nowhere.
fn check_books(played: &Played) {
    let live = Books::read(played.events.iter().map(AsRef::as_ref));
    assert_eq!(live.contradictions(), []);
    let mut recorded: Vec<Event> = Vec::new();
    for (path, text) in played.files() {
        if path.ends_with("jsonl") {
            recorded.extend(text.lines().map(|line| serde_json::from_str::<Event>(line).unwrap()));
        }
    }
    recorded.sort_by_key(|event| event.id);
    recorded.dedup_by_key(|event| event.id);
    let again = Books::read(&recorded);
    for run in live.runs() {
        assert_eq!(again.figures(run), live.figures(run), "{run}");
    }
}

fn plain(wire: Wire, input: u64, output: u64) -> Value {
    match wire {
        Wire::Messages => json!({ "input_tokens": input, "output_tokens": output }),
        Wire::Chat => json!({ "prompt_tokens": input, "completion_tokens": output }),
    }
}

/// What a row of the table says that a request used, and its price reckoned by hand.
fn normal(norm: &Value) -> (Usage, u64) {
    let part = |name: &str| norm[name].as_u64().unwrap();
    let usage = Usage {
        input_tokens: part("context"),
        output_tokens: part("output"),
        cache_read_tokens: part("cache_read"),
        cache_write_tokens: part("cache_write"),
        ..Usage::default()
    };
    let tenths = part("uncached") * 30
        + part("cache_read") * 3
        + part("output") * 150
        + part("cache_write") * 75 / 2;
    (usage, tenths.div_ceil(10))
}

/// B103: cached tokens were counted twice, or not at all; a child's are counted once, in itself and in
/// everything above it.
#[tokio::test]
async fn cached_tokens_of_a_child_are_charged_once_all_the_way_up() {
    let table = fixture("B103-cache-double.usage.json");
    for case in table["cases"].as_array().unwrap() {
        let wire = match case["api"].as_str().unwrap() {
            "anthropic" | "anthropic_stream" => Wire::Messages,
            _ => Wire::Chat,
        };
        let told = case["usage"].as_array().cloned().unwrap_or(vec![case["usage"].clone()]);
        let replies = vec![
            on(wire, &delegates("alpha", plain(wire, 100, 10))),
            on(wire, &Said { text: "A", task: None, usage: told }),
            on(wire, &says("done", plain(wire, 200, 20))),
        ];
        let played = play(wire, replies, Some(PRICES)).await;
        let (child, parent) = (end(&played, "t1.1"), end(&played, "r1"));
        assert_eq!(played.reply(), "done", "{case}");
        check_books(&played);
        if case["norm"].is_null() {
            assert!(child.usage.estimated && child.usage.input_tokens > 0, "unknown, not zero");
            assert!(parent.usage_total.estimated && !parent.usage.estimated);
            continue;
        }
        let (usage, cost) = normal(&case["norm"]);
        let found = Usage { reasoning_tokens: 0, cost_usd: None, ..child.usage };
        assert_eq!(found, usage, "{case}");
        assert_eq!(child.usage.cost_usd, Some(MicroUsd(cost)), "{case}");
        let own = 2 * (300 * 3 + 30 * 15) / 2;
        assert_eq!(parent.usage.cost_usd, Some(MicroUsd(own)));
        let total = &parent.usage_total;
        assert_eq!(total.input_tokens, 300 + usage.input_tokens, "{case}");
        assert_eq!(total.cache_read_tokens, usage.cache_read_tokens);
        assert_eq!(total.cache_write_tokens, usage.cache_write_tokens);
        let charged = parent.account.unwrap().used;
        assert_eq!(charged.input_tokens, total.input_tokens);
        assert_eq!(charged.output_tokens, 30 + usage.output_tokens);
        assert_eq!(charged.cost_usd, Some(MicroUsd(own + cost)), "{case}");
        assert_eq!(child.report.unwrap().usage.cost_usd, Some(MicroUsd(cost)));
    }
}

/// B104: an unknown price counted as nothing, so that a limit on money never held.
#[tokio::test(start_paused = true)]
async fn an_unknown_price_refuses_a_childs_cost_limit_and_leaves_its_token_limits() {
    let mut case = public_case::load("B104-unknown-price.model.json");
    let spends = case["turns"][0]["usage"].clone();
    let task = |id: &str, task: &str, budget: Value| {
        let arguments = json!({ "task": task, "expected_output": "x", "budget": budget });
        json!({ "id": id, "name": "task", "arguments": arguments })
    };
    let limit = case["limits"]["cost_usd"].clone();
    let search = json!({ "id": "k{n}", "name": "search", "arguments": { "pattern": "{n}" } });
    case["turns"] = json!([
        { "tool_calls": [task("c1", "alpha", json!({ "cost_usd": limit }))], "usage": spends },
        { "tool_calls": [task("c2", "beta", json!({ "output_tokens": 2_500 }))], "usage": spends },
        { "text": "done", "usage": spends },
    ]);
    let turn = json!({ "tool_calls": [search], "usage": spends });
    case["children"] = json!([{ "match": "", "turns": [turn], "repeat_last": true }]);
    let mut script = json!({ "turns": case["turns"], "children": case["children"] });
    script["model"] = case["model"].clone();
    let played = Stage::new(&script).play("go").await;
    let refused = played.task_result("c1");
    assert_eq!((refused.status, refused.code), (Status::Blocked, Some(Code::InvalidBudget)));
    assert_eq!(refused.violations[0].field, "budget.cost_usd");
    assert!(played.requests.iter().all(|request| request.run.as_str() != "t1.1"));
    let capped = played.task_result("c2");
    assert_eq!(capped.status, Status::BudgetExhausted, "{}", capped.summary);
    assert_eq!(capped.dimension, Some(Exhausted::OutputTokens));
    // The script answers with a thousand tokens whatever it may: the third request is the last.
    assert!(capped.turns <= 3 && capped.usage.output_tokens <= 3_000, "{}", capped.turns);
    assert_eq!(capped.usage.cost_usd, None, "unknown, not zero");
    let parent = end(&played, "r1");
    assert_eq!((parent.usage_total.cost_usd, parent.usage.cost_usd), (None, None));
    assert_eq!(parent.account.unwrap().used.cost_usd, None);
    check_books(&played);
    for (path, text) in played.files() {
        assert!(!text.contains("\"cost_usd\":0.0,\"estimated\""), "a cost of zero in {path}");
    }
}

/// B106: the tokens of a failed try were dropped when the next one succeeded; a grandchild's are in
/// itself and in both runs above it.
#[tokio::test]
async fn the_failed_tries_of_a_child_count_in_it_and_in_all_above_it() {
    let case = fixture("B106-retry-usage.wire.json");
    let tries = case["responses"].as_array().unwrap().iter().map(|answer| {
        let body = answer["chunks"][0]["text"].as_str().unwrap();
        let end = if answer["end"] == "reset" { End::Break } else { End::Close };
        Reply::events(body).ending(end)
    });
    let wire = Wire::Messages;
    let mut replies = vec![
        on(wire, &delegates("alpha", plain(wire, 10, 1))),
        on(wire, &delegates("beta", plain(wire, 20, 2))),
    ];
    replies.extend(tries);
    replies.push(on(wire, &says("A", plain(wire, 30, 3))));
    replies.push(on(wire, &says("done", plain(wire, 40, 4))));
    let played = play(wire, replies, Some(PRICES)).await;
    assert_eq!(played.requests.iter().filter(|request| request.depth == 2).count(), 2);
    let (low, middle, top) = (end(&played, "t2.1"), end(&played, "t1.1"), end(&played, "r1"));
    assert_eq!((low.turns, low.usage.input_tokens), (1, 2_000));
    let output = low.usage.output_tokens;
    assert!(output >= 51, "{output}");
    assert_eq!((middle.usage.input_tokens, middle.usage_total.input_tokens), (50, 2_050));
    assert_eq!((top.usage.input_tokens, top.usage_total.input_tokens), (50, 2_100));
    assert_eq!(top.usage_total.output_tokens, output + 10);
    let used = top.account.unwrap().used;
    assert_eq!((used.input_tokens, used.output_tokens), (2_100, output + 10));
    assert_eq!(used.cost_usd, Some(MicroUsd(2_100 * 3 + (output + 10) * 15)));
    check_books(&played);
}

/// B051: a shown cost left children out, or counted them twice; at three levels, on both wires.
#[tokio::test]
async fn totals_add_up_at_three_levels_on_real_wires() {
    for wire in [Wire::Messages, Wire::Chat] {
        let cached = |input: u64, output: u64| match wire {
            Wire::Messages => json!({ "input_tokens": input - 90, "cache_read_input_tokens": 90,
                "cache_creation_input_tokens": 0, "output_tokens": output }),
            Wire::Chat => json!({ "prompt_tokens": input, "completion_tokens": output,
                "prompt_tokens_details": { "cached_tokens": 90 } }),
        };
        let replies = vec![
            on(wire, &delegates("alpha", cached(1_000, 1))),
            on(wire, &delegates("beta", cached(100, 2))),
            on(wire, &delegates("gamma", cached(200, 3))),
            on(wire, &says("G", cached(5_000, 4))),
            on(wire, &says("B", cached(300, 5))),
            on(wire, &says("A", cached(400, 6))),
            on(wire, &says("done", cached(2_000, 7))),
        ];
        let played = play(wire, replies, Some(PRICES)).await;
        assert_eq!(played.reply(), "done");
        // Of each run: own and total prompts, own and total outputs, calls and requests below.
        let table = [
            ("t3.1", (5_000, 5_000), (4, 4), 0, 1),
            ("t2.1", (500, 5_500), (8, 12), 1, 3),
            ("t1.1", (500, 6_000), (8, 20), 2, 5),
            ("r1", (3_000, 9_000), (8, 28), 3, 7),
        ];
        for (run, input, output, calls, requests) in table {
            let end = end(&played, run);
            let (own, total) = (end.usage, end.usage_total);
            assert_eq!((own.input_tokens, total.input_tokens), input, "{wire:?} {run}");
            assert_eq!((own.output_tokens, total.output_tokens), output, "{wire:?} {run}");
            assert_eq!(total.cache_read_tokens, 90 * requests);
            let used = end.account.unwrap().used;
            assert_eq!((used.input_tokens, used.tool_calls), (input.1, calls), "{run}");
            // Each request is rounded up by itself, by less than a millionth.
            let least = ((input.1 - 90 * requests) * 30 + 90 * requests * 3 + output.1 * 150) / 10;
            let cost = total.cost_usd.unwrap();
            assert!((least..=least + requests).contains(&cost.0), "{cost:?} {least}");
            assert_eq!(used.cost_usd, Some(cost));
        }
        check_books(&played);
    }
}
