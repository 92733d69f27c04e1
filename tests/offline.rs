//! The embedded researcher in a real conversation, over real files and the real tools.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::Stage;
use offshoot::domain::command::Command;
use offshoot::domain::event::Fact;
use offshoot::domain::report::Status;
use offshoot::provider::offline::Offline;

fn stage(pace: Duration) -> Stage {
    Stage::with_provider(Arc::new(Offline::new(pace)))
}

fn demo(pace: Duration) -> Stage {
    stage(pace)
        .file(
            "pyproject.toml",
            "[project]\nname = \"demo\"\n\n[dependency-groups]\ndev = [\"pytest>=8\"]\n",
        )
        .file("README.md", "# demo\n\nSmall.\n")
        .file("src/demo/core.py", "def core():\n    return 1\n")
        .file("tests/test_core.py", "import pytest\n\n\ndef test_core():\n    pass\n")
}

#[tokio::test(start_paused = true)]
async fn a_question_is_delegated_and_answered_with_verified_places() {
    for (question, words) in [
        (
            "Which test framework does this project use?",
            ["pytest", "pyproject.toml:5", "Evidence:"],
        ),
        ("这个项目用什么测试框架？", ["pytest", "pyproject.toml:5", "依据："]),
        ("/delegate planner 测试框架", ["pytest", "pyproject.toml:5", "依据："]),
    ] {
        let played = demo(Duration::ZERO).play(question).await;
        let reply = played.reply();
        for word in words {
            assert!(reply.contains(word), "{word} is not in: {reply}");
        }
        let reports = played.reports();
        let [report] = reports.as_slice() else { panic!("{} children", reports.len()) };
        assert_eq!(report.status, Status::Completed);
        assert!(!report.evidence.is_empty(), "{report:?}");
        assert!(report.evidence.iter().all(|place| place.verified), "{:?}", report.evidence);
        assert!((3..=8).contains(&report.usage.tool_calls), "{:?}", report.usage);
    }
}

#[tokio::test(start_paused = true)]
async fn a_role_with_fields_of_its_own_gets_them() {
    let mut live = demo(Duration::ZERO).start();
    let role = Some("planner".to_owned());
    live.send(Command::Delegate { role, text: "replace the test framework".to_owned() }).await;
    live.follow(&[]).await;
    let played = live.quit().await;
    let reports = played.reports();
    assert_eq!(reports[0].status, Status::Completed, "{:?}", reports[0]);
    assert!(reports[0].fields["steps"].as_array().is_some_and(|steps| !steps.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn an_empty_folder_is_an_answer_too() {
    let played = stage(Duration::ZERO).play("What does this do?").await;
    assert!(played.reply().contains("no files"), "{}", played.reply());
    let report = &played.reports()[0];
    assert!(report.evidence.iter().all(|place| place.verified), "{:?}", report.evidence);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_cancelled_between_its_calls_leaves_an_answer_and_the_next_one_works() {
    let mut live = demo(Duration::from_millis(400)).start();
    let question = "Which test framework does this project use?";
    live.send(Command::Submit { text: question.to_owned() }).await;
    let task = loop {
        let event = live.session.events.recv().await.unwrap();
        live.events.push(Arc::clone(&event));
        if let (Fact::ToolFinished { .. }, Some(task)) = (&event.fact, event.origin.task) {
            break task;
        }
    };
    live.send(Command::CancelTask { task }).await;
    let first = live.follow(&[]).await;
    assert!(first.reply.unwrap().contains("cancelled by you"));
    let second = live.ask(question, &[]).await;
    assert!(second.reply.unwrap().contains("pytest"));
    live.quit().await;
}

/// Asks, stops everything after the child's first result, and asks something else.
#[tokio::test(start_paused = true)]
async fn a_stopped_question_is_not_answered_with_the_next_one() {
    for stop_at_call in [false, true] {
        let mut live = demo(Duration::from_millis(400)).start();
        let question = "Which test framework does this project use?";
        live.send(Command::Submit { text: question.to_owned() }).await;
        loop {
            let event = live.session.events.recv().await.unwrap();
            live.events.push(Arc::clone(&event));
            let is_call = matches!(event.fact, Fact::ToolStarted { .. });
            let is_result = matches!(event.fact, Fact::ToolFinished { .. });
            if (is_result || stop_at_call && is_call) && event.origin.task.is_some() {
                break;
            }
        }
        live.send(Command::Stop).await;
        let first = live.follow(&[]).await;
        assert_eq!(first.status, Status::Cancelled);
        let second = live.ask("What does the core function return?", &[]).await.reply.unwrap();
        assert!(second.contains("src/demo/core.py"), "{second}");
        for word in ["cancel", "What there is", "pytest", "list_files"] {
            assert!(!second.contains(word), "{word} is of the stopped question: {second}");
        }
        live.quit().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_folder_does_not_hold_is_not_claimed() {
    for question in ["how is CI set up", "colourless green ideas sleep furiously"] {
        let played = demo(Duration::ZERO).play(question).await;
        assert!(played.reply().starts_with("Nothing in this folder matches"), "{}", played.reply());
        let report = &played.reports()[0];
        assert_eq!(report.status, Status::Completed);
        let [listing] = report.evidence.as_slice() else { panic!("{:?}", report.evidence) };
        assert_eq!((listing.path.as_str(), listing.line, listing.verified), (".", None, true));
    }
}
