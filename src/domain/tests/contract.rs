//! What a contract is, once there is one.

use super::*;
use crate::domain::contract::{ContractError, Root};

fn child() -> Contract {
    let request = TaskRequest {
        context_keys: strings(&["rules", "request"]),
        done_when: Some("It is named.".into()),
        must_not: Some("Guess.".into()),
        ..request()
    };
    Host::new().narrow(&request).unwrap()
}

#[test]
fn a_contract_survives_its_serialised_form_without_loss() {
    let contract = child();
    let again = Contract::from_json(&contract.to_json()).unwrap();
    assert_eq!(again, contract);
    assert_eq!(again.to_json(), contract.to_json());
    assert_eq!(again.sha256(), Sha::of(contract.to_json()));
}

#[test]
fn a_contract_whose_snippet_was_changed_is_not_read() {
    let changed = child().to_json().replace("Keep it small.", "Keep it large.");
    let error = Contract::from_json(&changed).unwrap_err();
    assert!(matches!(&error, ContractError::Tampered(key) if key == "rules"), "{error}");
    assert!(matches!(Contract::from_json("{}"), Err(ContractError::Malformed(_))));
}

#[test]
fn the_view_shows_everything_but_the_text_of_snippets() {
    let contract = child();
    let view = serde_json::to_string(&contract.view()).unwrap();
    assert!(!view.contains("Keep it small."));
    assert!(view.contains(Sha::of("Keep it small.").as_str()));
    assert!(view.contains("Find the test framework."));
    assert!(view.contains(r#""budget":{"turns":20,"#), "{view}");
    assert!(view.contains(r#""share":{"turns":0.5,"#), "{view}");
}

#[test]
fn ids_come_from_the_issue_and_hold_no_words() {
    let contract = child();
    assert_eq!(contract.task_id(), Some(TaskId(3)));
    assert_eq!(contract.run().as_str(), "t3.1");
    assert_eq!(contract.parent_run().unwrap().as_str(), "r1");
    assert_eq!(contract.attempt(), 1);
    let written: serde_json::Value = serde_json::from_str(&contract.to_json()).unwrap();
    assert_eq!(written["issued_at"], "2026-01-01T00:00:00.000Z");
}

#[test]
fn a_description_is_one_short_line() {
    let host = Host::new();
    let of = |request: &TaskRequest| host.narrow(request).unwrap().description().to_owned();
    assert_eq!(of(&request()), "Find the test framework.");
    let long = TaskRequest { task: format!("\n  {}\nmore", "字".repeat(200)), ..request() };
    assert_eq!(of(&long), format!("{}…", "字".repeat(79)));
    let given = TaskRequest { description: Some("look\naround".into()), ..request() };
    assert_eq!(of(&given), "look");
}

#[test]
fn the_root_holds_what_the_user_granted() {
    let host = Host::new();
    let root = Contract::root(Root {
        run: RunId::parent(2),
        prompt: "hello".to_owned(),
        permissions: host.permissions.clone(),
        paths: host.paths.clone(),
        tools: host.tools.clone(),
        rules: None,
        budget: Preset::Tight.parent(),
        output_per_request: 8_192,
        provider: "offline".to_owned(),
        model: "keyword".to_owned(),
        issued_at: Timestamp(0),
    });
    assert_eq!((root.depth(), root.task_id(), root.parent_run()), (0, None, None));
    assert_eq!(root.role(), "parent");
    assert_eq!(*root.budget(), Preset::Tight.parent());
    assert_eq!(Contract::from_json(&root.to_json()).unwrap(), root);
}

#[test]
fn an_unknown_field_of_a_request_is_an_error() {
    let typo = r#"{"task":"a","expected_output":"b","alowed_tools":[]}"#;
    let error = serde_json::from_str::<TaskRequest>(typo).unwrap_err().to_string();
    assert!(error.contains("alowed_tools"), "{error}");
    let deep = r#"{"task":"a","expected_output":"b","budget":{"turn":1}}"#;
    assert!(serde_json::from_str::<TaskRequest>(deep).unwrap_err().to_string().contains("turn"));
    let null = r#"{"task":"a","expected_output":"b","role":null,"budget":null}"#;
    assert!(serde_json::from_str::<TaskRequest>(null).is_ok());
}
