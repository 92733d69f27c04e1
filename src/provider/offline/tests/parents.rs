//! A parent between a person and a report: what it delegates, and what it answers from.

use super::*;

fn reported(report: &Value) -> Message {
    let output = format!("Data from t1:\n<data>\n{report}\n</data>");
    let (call, name) = (CallId::from("offline_1_0"), "task".to_owned());
    Message::Results { results: vec![ToolResult { call, name, ok: true, output }] }
}

#[tokio::test]
async fn a_parent_answers_from_the_report_in_the_language_of_the_question() {
    for (question, words) in [
        (
            "Which test framework?",
            [
                "pytest is it",
                "Evidence:",
                "a.py:3 — says so (not verified)",
                "- read a.py first",
                "no language model",
            ],
        ),
        (
            "什么测试框架？",
            [
                "pytest is it",
                "依据：",
                "a.py:3 — says so（未核实）",
                "- read a.py first",
                "没有接入语言模型",
            ],
        ),
    ] {
        let mut messages = vec![user(question)];
        messages.push(Message::Assistant(ask(request(0, &["task"], &messages)).await));
        messages.push(reported(&json!({
            "status": "completed", "summary": "pytest is it",
            "evidence": [{"path": "a.py", "line": 3, "reason": "says so", "verified": false}],
            "steps": ["read a.py first"]
        })));
        let answer = ask(request(0, &["task"], &messages)).await;
        assert_eq!(answer.tool_calls().count(), 0);
        for word in words {
            assert!(answer.text().contains(word), "{}", answer.text());
        }
        messages.push(Message::Assistant(answer));
        messages.push(user("And the license?"));
        let next = ask(request(0, &["task"], &messages)).await;
        let call = next.tool_calls().next().unwrap();
        assert!(call.arguments["task"].as_str().unwrap().contains("And the license?"));
    }
}

#[tokio::test]
async fn a_parent_says_how_an_unfinished_child_ended_and_still_answers() {
    for (report, words) in [
        (
            json!({"status": "cancelled", "by": "user", "summary": "read 2 files"}),
            "cancelled by you",
        ),
        (json!({"status": "cancelled", "by": "shutdown", "summary": "x"}), "cancelled by shutdown"),
        (
            json!({"status": "budget_exhausted", "dimension": "turns", "summary": "x"}),
            "ran out of turns",
        ),
        (json!({"status": "failed", "code": "PROVIDER_ERROR", "summary": "x"}), "PROVIDER_ERROR"),
        (
            json!({"status": "blocked", "code": "DELEGATION_LIMIT", "summary": "",
                "violations": [{"message": "no delegations left"}]}),
            "no delegations left",
        ),
    ] {
        let mut messages = vec![user("Which test framework?")];
        messages.push(Message::Assistant(ask(request(0, &["task"], &messages)).await));
        messages.push(reported(&report));
        let text = ask(request(0, &["task"], &messages)).await.text();
        assert!(text.contains(words), "{text}");
        assert!(text.contains(report["summary"].as_str().unwrap()));
    }
    let mut messages = vec![user("Which?")];
    messages.push(Message::Assistant(ask(request(0, &["task"], &messages)).await));
    let (call, name) = (CallId::from("offline_1_0"), "task".to_owned());
    let output = "not run: cancelled".to_owned();
    let results = vec![ToolResult { call, name, ok: false, output }];
    messages.push(Message::Results { results });
    assert!(ask(request(0, &["task"], &messages)).await.text().contains("not run: cancelled"));
}

/// Asks and lets a child report.
async fn asked_and_reported(messages: &mut Vec<Message>, question: &str, report: &Value) {
    messages.push(user(question));
    messages.push(Message::Assistant(ask(request(0, &["task"], messages)).await));
    messages.push(reported(report));
}

#[tokio::test]
async fn an_answer_is_made_of_what_came_after_the_newest_words_of_a_person() {
    let mut messages = Vec::new();
    let stopped = json!({"status": "cancelled", "by": "user", "summary": "old lead"});
    asked_and_reported(&mut messages, "Which test framework?", &stopped).await;
    let Some(Message::Results { results }) = messages.last_mut() else { panic!("no results") };
    results[0].ok = false;
    let license = json!({"status": "completed", "summary": "MIT"});
    asked_and_reported(&mut messages, "Which license?", &license).await;
    messages.push(user("[runtime] The budget of this run is nearly used up. Answer now."));
    let last = ask(Request { tool_choice: ToolChoice::None, ..request(0, &["task"], &messages) });
    let text = last.await.text();
    assert!(text.starts_with("MIT"), "{text}");
    assert!(!messages_text(&messages).contains("old lead") && !text.contains("old lead"), "{text}");
}

/// What the assistant said so far.
fn messages_text(messages: &[Message]) -> String {
    let said = messages.iter().filter_map(|message| match message {
        Message::Assistant(answer) => Some(answer.text()),
        Message::User { .. } | Message::Results { .. } => None,
    });
    said.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn words_typed_while_a_child_works_do_not_lose_its_answer() {
    let mut messages = Vec::new();
    let framework = json!({"status": "completed", "summary": "pytest is it"});
    asked_and_reported(&mut messages, "Which test framework?", &framework).await;
    messages.push(user("And the license?"));
    let next = ask(request(0, &["task"], &messages)).await;
    let call = next.tool_calls().next().unwrap();
    assert!(call.arguments["task"].as_str().unwrap().contains("And the license?"));
    assert!(next.text().starts_with("pytest is it\n\nI'll delegate"), "{}", next.text());
    messages.push(Message::Assistant(next));
    messages.push(reported(&json!({"status": "completed", "summary": "MIT"})));
    let last = ask(request(0, &["task"], &messages)).await.text();
    assert!(last.starts_with("MIT") && !last.contains("pytest"), "{last}");
}

#[tokio::test]
async fn how_to_get_a_model_is_told_once_in_a_conversation() {
    let mut messages = Vec::new();
    let report = json!({"status": "completed", "summary": "x"});
    for (question, end) in [
        ("Which license?", "or run Ollama, and start again.)"),
        ("Which version?", "\n\n(offline: found by matching words)"),
        ("什么版本？", "\n\n（离线：按词匹配找到）"),
    ] {
        asked_and_reported(&mut messages, question, &report).await;
        let answer = ask(request(0, &["task"], &messages)).await;
        assert!(answer.text().ends_with(end), "{}", answer.text());
        messages.push(Message::Assistant(answer));
    }
    assert!(messages_text(&messages).contains("ANTHROPIC_API_KEY or OPENAI_API_KEY"));
}

#[tokio::test]
async fn a_parent_that_may_not_delegate_says_so() {
    let mut wrap_up = request(0, &["task"], &[user("Which?")]);
    wrap_up.tool_choice = ToolChoice::None;
    for request in [wrap_up, request(0, &["list_files"], &[user("Which?")])] {
        let answer = ask(request).await;
        assert_eq!(answer.tool_calls().count(), 0);
        assert!(answer.text().contains("could not look"), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_delegate_command_names_its_role_and_notes_below_the_question_are_left_out() {
    let message = "/delegate planner map the\nCI config\n\n[context keys: request, rules]";
    let task = task_for(message).await;
    assert_eq!(task["role"], "planner");
    assert_eq!(parent::question_of_task(task["task"].as_str().unwrap()), "map the\nCI config");
    assert_eq!(task["description"], "map the CI config");
    for plain in ["/delegate find the parser", "Delegate this with `task`: find the parser"] {
        let task = task_for(plain).await;
        assert_eq!((task.get("role"), &task["description"]), (None, &json!("find the parser")));
    }
    let words =
        "Delegate this to the role planner with `task`: 找\n\n[context keys for `task`: request]";
    let task = task_for(words).await;
    assert_eq!((&task["role"], &task["description"]), (&json!("planner"), &json!("找")));
    let huge = task_for(&"子".repeat(100_000)).await;
    assert!(huge["task"].as_str().unwrap().len() < 8_000);
}

#[tokio::test]
async fn what_the_runtime_says_in_a_persons_place_is_no_question() {
    let question = user("Which test framework?\n\n[context keys for `task`: request (21 B)]");
    let answer = ask(request(0, &["task"], std::slice::from_ref(&question))).await;
    let call = answer.tool_calls().next().unwrap().clone();
    let results = vec![ToolResult {
        call: call.call.clone(),
        name: call.name.clone(),
        ok: true,
        output: json!({"status": "completed", "summary": "pytest"}).to_string(),
    }];
    let list = user("[context keys for `task`: request (21 B), report:1 (9 B)]");
    let messages = [question, Message::Assistant(answer), Message::Results { results }, list];
    let answer = ask(request(0, &["task"], &messages)).await;
    assert!(answer.tool_calls().next().is_none(), "it answers instead of asking again");
    assert!(answer.text().contains("pytest"), "{}", answer.text());
}
