//! What a person's answer covers afterwards: its asker, what was shown, and nothing else.

use super::*;

#[test]
fn an_answer_covers_its_asker_and_what_was_shown_and_nothing_else() {
    let push = Call::new("bash: git push origin");
    let prefix = permit::prefix_of(&push.view(), "git push");
    assert_eq!(prefix, Some(Pattern::Words(vec!["git".into(), "push".into()])));
    let asker = child(1, "worker");
    for (answer, requester, call, allowed) in [
        (Answer::Once, child(1, "worker"), "bash: git push origin", false),
        (Answer::Child, child(1, "worker"), "bash: git push origin", true),
        (Answer::Child, child(1, "worker"), "bash: git push --force", true),
        (Answer::Child, child(1, "worker"), "bash: git pull", false),
        (Answer::Child, child(1, "worker"), "bash: git push; rm x", false),
        (Answer::Child, child(1, "worker"), "bash: git push `rm x`", false),
        (Answer::Child, child(1, "worker"), "bash: git push > x", false),
        (Answer::Child, child(1, "worker"), "run_tests: git push", false),
        (Answer::Child, child(2, "worker"), "bash: git push origin", false),
        (Answer::Session, child(2, "worker"), "bash: git push origin", true),
        (Answer::Session, child(2, "tester"), "bash: git push origin", false),
        (Answer::Session, parent(), "bash: git push origin", false),
        (Answer::Deny { reason: None }, child(1, "worker"), "bash: git push origin", false),
    ] {
        let mut given = Allowances::default();
        given.keep(&answer, &asker, &push.view(), prefix.clone());
        let (rules, fence) = (Rules::default(), fence(FenceLevel::Fenced));
        let standing =
            Standing { mode: Mode::Ask, fence: &fence, rules: &rules, allowances: &given };
        let found = permit::decide(&standing, &requester, &Call::new(call).view());
        let expected = if allowed { Verdict::Allow { by: Decider::Earlier } } else { Verdict::Ask };
        assert_eq!(found, expected, "{answer:?} by {requester:?}: {call}");
    }
}

#[test]
fn an_answer_for_the_parents_session_holds_in_its_next_answer() {
    let call = Call::new("bash: make");
    let later = Requester::Parent { run: RunId::parent(2) };
    let (rules, fence) = (Rules::default(), fence(FenceLevel::Fenced));
    for (answer, expected) in [(Answer::Child, "ask"), (Answer::Session, "allow Earlier")] {
        let mut given = Allowances::default();
        given.keep(&answer, &parent(), &call.view(), None);
        let standing =
            Standing { mode: Mode::Ask, fence: &fence, rules: &rules, allowances: &given };
        assert_eq!(word(&permit::decide(&standing, &later, &call.view())), expected);
    }
}

#[test]
fn what_was_allowed_to_a_run_alone_goes_with_it_and_nothing_else_does() {
    let call = Call::new("bash: make");
    let mut given = Allowances::default();
    given.keep(&Answer::Child, &child(1, "worker"), &call.view(), None);
    let empty = {
        let mut given = given.clone();
        given.run_ended(&RunId::child(TaskId(1), 1));
        given
    };
    assert_eq!(empty, Allowances::default());
    given.keep(&Answer::Session, &child(1, "worker"), &call.view(), None);
    given.run_ended(&RunId::child(TaskId(1), 1));
    let (rules, fence) = (Rules::default(), fence(FenceLevel::Fenced));
    let standing = Standing { mode: Mode::Ask, fence: &fence, rules: &rules, allowances: &given };
    let found = permit::decide(&standing, &child(2, "worker"), &call.view());
    assert_eq!(word(&found), "allow Earlier");
}

#[test]
fn one_yes_confirms_the_test_command_for_the_session() {
    let (tests, other) = (Call::new("run_tests: cargo test"), Call::new("run_tests: cargo test x"));
    let mut given = Allowances::default();
    given.keep(&Answer::Once, &child(1, "tester"), &tests.view(), None);
    let (rules, fence) = (Rules::default(), fence(FenceLevel::Fenced));
    let standing = Standing { mode: Mode::Ask, fence: &fence, rules: &rules, allowances: &given };
    let of = |call: &Call| word(&permit::decide(&standing, &child(2, "tester"), &call.view()));
    assert_eq!((of(&tests).as_str(), of(&other).as_str()), ("allow Earlier", "ask"));
}

#[test]
fn a_shown_prefix_counts_only_if_it_covers_the_call_itself() {
    for (call, shown, counts) in [
        ("bash: git push", "git push", true),
        ("bash: git push; ls", "git push", false),
        ("bash: git push > x", "git push", false),
        ("bash: git push", "git pull", false),
        ("bash: git push", "", false),
        ("bash: git push", "*", false),
        ("write_file: src/a.rs", "src/a.rs", true),
        ("write_file: src/a.rs", "src", true),
        ("write_file: src/a.rs", "docs", false),
        ("write_file: src/a.rs", "..", false),
        ("search", "src", false),
    ] {
        let found = permit::prefix_of(&Call::new(call).view(), shown);
        assert_eq!(found.is_some(), counts, "{call}: {shown}");
    }
}

#[test]
fn equal_arguments_have_one_name_and_others_another() {
    let name = |value: Value| exact("bash", &value);
    assert_eq!(name(json!({ "a": 1, "b": [2] })), name(json!({ "b": [2], "a": 1 })));
    let all = [
        json!({ "a": "1" }),
        json!({ "a": 1 }),
        json!({ "a": [1] }),
        json!({ "a": [[], 1] }),
        json!({ "a": null }),
        json!({ "a": { "b": 1 } }),
        json!({ "a": {}, "b": 1 }),
        json!({}),
        json!({ "a\"1": 1 }),
    ];
    let names: std::collections::BTreeSet<_> = all.iter().cloned().map(name).collect();
    assert_eq!(names.len(), all.len());
    assert_ne!(exact("bash", &json!({})), exact("run_tests", &json!({})));
}
