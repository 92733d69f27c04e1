//! The context store and the arguments of calls.

use serde_json::json;

use super::*;
use crate::domain::context_store::key_problem;
use crate::domain::ids::CallId;
use crate::domain::message::ToolCall;

#[test]
fn the_newest_message_is_request_and_earlier_ones_are_numbered() {
    let mut store = ContextStore::default();
    for text in ["one", "two", "three"] {
        store.put_request(text);
    }
    let text = |key: &str| store.get(key).map(|entry| entry.snippet.text.as_str());
    assert_eq!(text("request"), Some("three"));
    assert_eq!((text("request:1"), text("request:2")), (Some("one"), Some("two")));
    assert_eq!(text("request:3"), None);
}

#[test]
fn a_pin_named_like_an_earlier_message_is_not_shadowed() {
    let mut store = ContextStore::default();
    store.put("request:2", SnippetKind::Pin, "pinned", "mine", Sensitivity::Normal);
    for text in ["one", "two", "three"] {
        store.put_request(text);
    }
    let keys: Vec<&str> = store.iter().map(|entry| entry.snippet.card.key.as_str()).collect();
    let distinct: BTreeSet<&str> = keys.iter().copied().collect();
    assert_eq!(distinct.len(), keys.len(), "{keys:?}");
    assert_eq!(store.get("request:2").unwrap().snippet.text, "mine");
}

#[test]
fn a_key_is_replaced_in_its_place_and_the_card_fits_the_text() {
    let mut store = ContextStore::default();
    store.put("a", SnippetKind::Note, "x", "old", Sensitivity::Normal);
    store.put("b", SnippetKind::Note, "x", "other", Sensitivity::Normal);
    let card = store.put("a", SnippetKind::Note, "x", "neu→", Sensitivity::LocalOnly);
    assert_eq!((card.bytes, card.sha256), (6, Sha::of("neu→")));
    assert_eq!(store.iter().next().unwrap().snippet.text, "neu→");
    assert_eq!(store.iter().count(), 2);
}

#[test]
fn a_long_row_of_requests_is_listed_by_its_ends() {
    let mut store = ContextStore::default();
    for number in 1..=3 {
        store.put_request("words");
        let key = format!("report:{number}");
        store.put(key, SnippetKind::Report, "x", "text", Sensitivity::Normal);
    }
    let short = "[context keys for `task`: request (5 B), report:1 (4 B), report:2 (4 B), \
                 report:3 (4 B), request:1 (5 B), request:2 (5 B)]";
    assert_eq!(store.listing(), short);
    let keys = store.key_list();
    for _ in 0..500 {
        store.put_request("words");
    }
    assert_ne!(store.key_list(), keys);
    assert!(store.listing().contains("request:1 to request:502 (502 snippets)"));
    assert!(store.listing().len() < 200, "{}", store.listing());
}

#[test]
fn a_key_is_a_plain_word_and_none_of_the_runtimes_own() {
    for key in ["spec", "备注", "a.b-c_1"] {
        assert_eq!(key_problem(key), None, "{key}");
    }
    for key in ["", "a b", "report:1", "request", "rules", "a/b", &"x".repeat(65)] {
        assert!(key_problem(key).is_some(), "{key}");
    }
}

#[test]
fn the_listing_names_what_can_be_chosen_and_no_secret() {
    let listing = Host::new().store.listing();
    let expected = "[context keys for `task`: request (43 B), rules (14 B), \
                           local (42 B, only for a model on this machine)]";
    assert_eq!(listing, expected);
}

#[test]
fn arguments_that_do_not_parse_are_kept_and_still_replay_as_an_object() {
    let rows = [
        ("", json!({}), json!({})),
        ("null", json!({}), json!({})),
        (r#"{"a":1}"#, json!({"a":1}), json!({"a":1})),
        ("[1]", json!([1]), json!({"_raw":[1]})),
        (r#"{"a":"#, json!(r#"{"a":"#), json!({"_raw":r#"{"a":"#})),
    ];
    for (text, arguments, replayed) in rows {
        let call = ToolCall::parse(CallId::from("c1"), "search", text);
        assert_eq!(call.arguments, arguments, "{text}");
        assert_eq!(call.arguments_object(), replayed, "{text}");
    }
}
