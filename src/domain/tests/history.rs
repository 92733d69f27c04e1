//! A history cannot be ill-formed, whatever is done to it: checked by rules of strict providers
//! that are written down here once more, without the history's own code.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::cases;
use crate::domain::history::{History, HistoryError, not_run};
use crate::domain::ids::CallId;
use crate::domain::message::{AssistantMessage, Block, Message, StopReason, ToolCall, ToolResult};

/// What a strict provider would refuse. Open calls at the very end are what a caller has to
/// settle before it sends, and are no fault.
fn faults(messages: &[Arc<Message>], open: usize) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = HashSet::new();
    let mut waiting: Vec<CallId> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let mut fault = |what: &str| faults.push(format!("m{index}: {what}"));
        match &**message {
            Message::Results { results } => {
                let got: Vec<&CallId> = results.iter().map(|result| &result.call).collect();
                if got != waiting.iter().collect::<Vec<_>>() || got.is_empty() {
                    fault("the results are not those of the calls before, in their order");
                }
                if results.iter().any(|result| result.output.trim().is_empty()) {
                    fault("a blank result");
                }
                waiting.clear();
                continue;
            }
            Message::User { text } if text.trim().is_empty() => fault("a blank user message"),
            Message::User { .. } => {}
            Message::Assistant(answer) => {
                if index == 0 {
                    fault("the first message is not from the user");
                }
                if index > 0 && matches!(&*messages[index - 1], Message::Assistant(_)) {
                    fault("two answers in a row");
                }
                let mut says = false;
                for block in &answer.blocks {
                    match block {
                        Block::Text { text } if text.trim().is_empty() => fault("a blank text"),
                        Block::Text { .. } | Block::Opaque { .. } => says = true,
                        Block::ToolCall(call) => {
                            says = true;
                            if call.call.0.trim().is_empty() || !seen.insert(call.call.clone()) {
                                fault("a call id that is blank or used before");
                            }
                            if !call.arguments_object().is_object() {
                                fault("arguments that are no object");
                            }
                        }
                        Block::Reasoning { .. } | Block::Redacted { .. } => {}
                    }
                }
                if !says {
                    fault("an answer that says and asks for nothing");
                }
            }
        }
        if !waiting.is_empty() {
            fault("calls without results before it");
        }
        waiting = match &**message {
            Message::Assistant(answer) => answer.tool_calls().map(|c| c.call.clone()).collect(),
            Message::User { .. } | Message::Results { .. } => Vec::new(),
        };
    }
    if waiting.len() != open {
        faults.push(format!("{} calls wait, {open} are called open", waiting.len()));
    }
    faults
}

#[derive(Debug, Clone)]
enum Step {
    Ask(String),
    Answer(Vec<Block>),
    Settle { order: Vec<usize>, drop: bool, double: bool },
    Interrupt { done: Vec<usize> },
    Close,
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        Just("hello ".to_owned()),
        any::<String>()
    ]
}

fn block() -> impl Strategy<Value = Block> {
    let id = prop_oneof![Just(""), Just(" "), Just("c1"), Just("c2"), Just("c1_2"), Just("call_1")];
    let arguments = prop_oneof![Just(json!({})), Just(json!("{broken")), Just(json!([1]))];
    prop_oneof![
        words().prop_map(|text| Block::Text { text }),
        words().prop_map(|text| Block::Reasoning { text, signature: None }),
        words().prop_map(|data| Block::Redacted { data }),
        (id, arguments).prop_map(|(id, arguments)| Block::ToolCall(ToolCall {
            call: CallId::from(id),
            name: "search".to_owned(),
            arguments,
        })),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let places = proptest::collection::vec(0..6_usize, 0..6);
    prop_oneof![
        words().prop_map(Step::Ask),
        proptest::collection::vec(block(), 0..5).prop_map(Step::Answer),
        (places.clone(), proptest::bool::weighted(0.1), proptest::bool::weighted(0.1))
            .prop_map(|(order, drop, double)| Step::Settle { order, drop, double }),
        places.prop_map(|done| Step::Interrupt { done }),
        Just(Step::Close),
    ]
}

fn answer(blocks: Vec<Block>) -> AssistantMessage {
    AssistantMessage {
        blocks,
        provider: "script".to_owned(),
        model: "m".to_owned(),
        stop_reason: Some(StopReason::EndTurn),
        interrupted: false,
    }
}

fn call(id: &str) -> Block {
    let call = CallId::from(id);
    Block::ToolCall(ToolCall { call, name: "search".to_owned(), arguments: json!({}) })
}

fn result(call: &CallId, output: &str) -> ToolResult {
    ToolResult { call: call.clone(), name: "search".to_owned(), ok: true, output: output.into() }
}

fn play(history: &mut History, step: &Step) {
    let open: Vec<CallId> = history.open_calls().cloned().collect();
    let before = history.messages().len();
    let taken = match step {
        Step::Ask(text) => history.ask(text.clone()).is_ok(),
        Step::Answer(blocks) => history.answer(answer(blocks.clone())).is_ok(),
        Step::Settle { order, drop, double } => {
            let mut results: Vec<ToolResult> = open.iter().map(|c| result(c, "")).collect();
            let most = results.len().max(1);
            for (index, place) in order.iter().enumerate().filter(|_| !open.is_empty()) {
                results.swap(index % most, place % most);
            }
            if *drop {
                results.pop();
            }
            if *double && let Some(first) = results.first().cloned() {
                results.push(first);
            }
            let fits = !open.is_empty() && !drop && !double;
            let settled = history.settle(results);
            assert_eq!(settled.is_ok(), fits);
            settled.is_ok()
        }
        Step::Interrupt { done } => {
            let kept = done.iter().filter_map(|place| open.get(*place));
            let mut results: Vec<ToolResult> = kept.map(|call| result(call, "done")).collect();
            results.push(result(&CallId::from("never heard of"), "x"));
            let made_up = history.interrupt(results, "cancelled");
            assert!(made_up.len() <= open.len());
            !open.is_empty()
        }
        Step::Close => {
            history.close("cancelled");
            history.messages().len() > before
        }
    };
    assert_eq!(history.messages().len() > before, taken, "an error changes nothing");
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn no_sequence_of_operations_makes_it_ill_formed(
        steps in proptest::collection::vec(step(), 1..40)
    ) {
        let mut history = History::new();
        for step in &steps {
            play(&mut history, step);
            let open = history.open_calls().count();
            let faults = faults(history.messages(), open);
            prop_assert!(faults.is_empty(), "{:?} after {:?}", faults, step);
        }
        history.close("the end");
        prop_assert_eq!(history.open_calls().count(), 0);
        prop_assert!(faults(history.messages(), 0).is_empty());
        prop_assert!(history.ask("again").is_ok(), "a closed history takes the next question");
    }
}

#[test]
fn results_are_put_in_call_order_whatever_order_they_finish_in() {
    let mut history = History::new();
    history.ask("go").unwrap();
    let calls = history.answer(answer(vec![call("a"), call("b"), call("c")])).unwrap();
    let results = calls.iter().rev().map(|c| result(&c.call, c.call.as_str())).collect();
    history.settle(results).unwrap();
    let Message::Results { results } = &**history.messages().last().unwrap() else {
        panic!("no results");
    };
    let order: Vec<&str> = results.iter().map(|result| result.output.as_str()).collect();
    assert_eq!(order, ["a", "b", "c"]);
}

#[test]
fn a_question_inside_a_batch_is_refused_and_so_is_an_answer_to_nothing() {
    let mut history = History::new();
    assert_eq!(history.answer(answer(vec![])), Err(HistoryError::NothingToAnswer));
    history.ask("go").unwrap();
    history.answer(answer(vec![call("a")])).unwrap();
    assert_eq!(history.ask("wait"), Err(HistoryError::OpenCalls(1)));
    assert_eq!(history.settle(Vec::new()), Err(HistoryError::Mismatch));
    let foreign = vec![result(&CallId::from("b"), "x")];
    assert_eq!(history.settle(foreign), Err(HistoryError::Mismatch));
    assert_eq!(history.open_calls().count(), 1, "a mismatch changes nothing");
}

#[test]
fn an_interrupt_keeps_what_was_done_and_makes_up_the_rest() {
    let mut history = History::new();
    history.ask("go").unwrap();
    let calls = history.answer(answer(vec![call("a"), call("b")])).unwrap();
    let made_up = history.interrupt(vec![result(&calls[1].call, "done")], "cancelled");
    let expected = not_run(CallId::from("a"), "search".to_owned(), "cancelled");
    assert_eq!(made_up, std::slice::from_ref(&expected));
    let last = &**history.messages().last().unwrap();
    let results = vec![expected, result(&CallId::from("b"), "done")];
    assert_eq!(*last, Message::Results { results });
}

#[test]
fn repeated_and_blank_call_ids_are_replaced_through_the_whole_history() {
    let mut history = History::new();
    history.ask("go").unwrap();
    let mut ids = HashSet::new();
    for _ in 0..3 {
        let calls = history.answer(answer(vec![call("x"), call("x"), call("")])).unwrap();
        assert!(calls.iter().all(|call| ids.insert(call.call.clone())), "{ids:?}");
        history.settle(calls.iter().map(|c| result(&c.call, "ok")).collect()).unwrap();
    }
}

#[test]
fn an_answer_of_reasoning_alone_gets_a_text_that_any_provider_takes() {
    let mut history = History::new();
    history.ask("go").unwrap();
    let thought = Block::Reasoning { text: "hm".to_owned(), signature: None };
    history.answer(answer(vec![thought.clone(), Block::Text { text: " ".into() }])).unwrap();
    let Message::Assistant(kept) = &**history.messages().last().unwrap() else {
        panic!("no answer");
    };
    assert_eq!(kept.blocks, [thought, Block::Text { text: "(no text)".into() }]);
}

#[test]
fn the_estimate_grows_with_every_message() {
    let mut history = History::new();
    let mut last = history.estimated_tokens();
    history.ask("twelve chars").unwrap();
    assert_eq!(history.estimated_tokens(), last + 4 + 3);
    last = history.estimated_tokens();
    history.answer(answer(vec![call("a")])).unwrap();
    assert!(history.estimated_tokens() > last);
}
