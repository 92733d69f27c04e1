//! Events in, and what a reader knows after them.

use offshoot::domain::budget::{Dimension, Remaining};
use offshoot::domain::event::{Fact, Failure, Level, MessageFact, Origin, Speaker};
use offshoot::domain::ids::{CallId, RunId, TaskId};
use offshoot::domain::message::ToolCall;
use offshoot::domain::report::{By, Status};
use offshoot::domain::violation::{Code, Violation};
use offshoot::story::{Body, CallState, Counts, Doing, Entry, Gauge, NodeState, Runaway, Story};
use serde_json::json;

use super::feed::{
    Feed, call, child, grandchild, parent, report, task_call, three_children, usage,
};

fn doing(story: &Story, task: u32, feed: &Feed) -> String {
    match story.delegations().of_task(TaskId(task)).unwrap().doing(feed.now()) {
        Doing::Queued { position, .. } => format!("queued {position}"),
        Doing::Between { .. } => "between".to_owned(),
        Doing::Streaming => "streaming".to_owned(),
        Doing::Silent { since } => format!("silent {}", feed.now().millis_since(since)),
        Doing::Retrying { at, http_status } => {
            let wait = at.millis_since(feed.now());
            format!("retry in {wait} ({})", http_status.unwrap_or_default())
        }
        Doing::Calling { call } => format!("calling {}", call.name),
        Doing::Cancelling { .. } => "cancelling".to_owned(),
        Doing::Asking { call, .. } => {
            format!("asking {}", call.map_or("whether it may start", |call| call.name.as_str()))
        }
        Doing::Paused { since } => format!("paused {}", feed.now().millis_since(since)),
        Doing::Ended(end) => format!("ended {}", end.status.as_str()),
    }
}

fn kinds(entries: &[Entry]) -> Vec<&'static str> {
    let kind = |entry: &Entry| match &entry.body {
        Body::User { .. } => "user",
        Body::Assistant(speech) if speech.streaming => "streaming",
        Body::Assistant(_) => "assistant",
        Body::Call(call) if call.child.is_some() => "delegation",
        Body::Call(_) => "call",
        Body::Notice(_) => "notice",
        Body::Changed(_) => "changed",
        Body::Ended(_) => "ended",
    };
    entries.iter().map(kind).collect()
}

#[test]
fn a_conversation_is_told_in_order() {
    let mut feed = Feed::new();
    let list = call("a", "list_files", json!({"path": "."}));
    feed.user(1, "hi")
        .run(1)
        .turn(parent(1), 1)
        .words(parent(1), "Let me")
        .words(parent(1), " look.");
    assert_eq!(kinds(feed.story.entries()), ["user", "streaming"]);
    feed.says(parent(1), "Let me look.", vec![list.clone()]);
    feed.does(parent(1), &list, "a b", 3).turn(parent(1), 2).words(parent(1), "Done.");
    feed.says(parent(1), "Done.", Vec::new()).notice(parent(1), Level::Warning, "careful");
    feed.finish(parent(1), Status::Completed, "Done.");
    assert_eq!(kinds(feed.story.entries()), ["user", "assistant", "call", "assistant", "notice"]);
    assert_eq!(feed.story.reply(), Some("Done."));
    assert!(!feed.story.is_running());
    assert!(feed.story.entries().iter().all(|entry| entry.version == 0), "text only grew");
}

#[test]
fn a_message_is_right_where_pieces_of_it_were_lost() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1).turn(parent(1), 1).words(parent(1), "He").words(parent(1), "o");
    feed.says(parent(1), "Hello", Vec::new());
    let last = feed.story.entries().last().unwrap();
    assert_eq!((last.text(), last.version), (Some("Hello"), 1));
}

#[test]
fn an_answer_that_was_stopped_says_so() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1).turn(parent(1), 1).words(parent(1), "Half a");
    feed.finish(parent(1), Status::Cancelled, "Half a");
    assert_eq!(kinds(feed.story.entries()), ["user", "assistant", "ended"]);
    let Body::Assistant(speech) = &feed.story.entries()[1].body else { panic!() };
    assert!(speech.interrupted);
}

#[test]
fn a_childs_state_is_what_the_runtime_says_and_has_an_age() {
    let mut feed = Feed::new();
    let task = task_call("c1", "researcher", "look");
    let read = call("d1", "read_file", json!({"path": "x"}));
    feed.user(1, "hi").run(1).says(parent(1), "", vec![task.clone()]).queued(1, "c1", 0);
    assert_eq!(doing(&feed.story, 1, &feed), "queued 0");
    feed.starts(parent(1), &task).child(1, "c1", "look");
    assert_eq!(doing(&feed.story, 1, &feed), "between");
    feed.turn(child(1), 1).wait(12_000);
    assert_eq!(doing(&feed.story, 1, &feed), "silent 12000");
    feed.words(child(1), "I").wait(100);
    assert_eq!(doing(&feed.story, 1, &feed), "streaming");
    feed.wait(3_900);
    assert_eq!(doing(&feed.story, 1, &feed), "silent 4000");
    feed.says(child(1), "I", vec![read.clone()]).starts(child(1), &read);
    assert_eq!(doing(&feed.story, 1, &feed), "calling read_file");
    feed.add(parent(1), Fact::CancelRequested { target: "t1".to_owned(), by: By::User });
    assert_eq!(doing(&feed.story, 1, &feed), "cancelling");
    feed.ends_with(child(1), &read, "not run", 1, Some(Failure::Cancelled)).turn(child(1), 2);
    assert_eq!(doing(&feed.story, 1, &feed), "cancelling", "until the runtime says otherwise");
    feed.finish_child(1, Status::Cancelled, "");
    assert_eq!(doing(&feed.story, 1, &feed), "ended cancelled");
    assert_eq!(feed.story.delegations().live_count(), 0);
}

#[test]
fn a_failed_request_says_when_it_is_sent_again() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1).child(1, "c1", "look").turn(child(1), 1);
    let (http_status, reason) = (Some(429), "busy".to_owned());
    let fact = Fact::RetryScheduled { delay_ms: 4_000, http_status, attempt: 2, reason };
    feed.add(child(1), fact).wait(1_000);
    assert_eq!(doing(&feed.story, 1, &feed), "retry in 3000 (429)");
    feed.wait(5_000);
    assert_eq!(doing(&feed.story, 1, &feed), "silent 2000", "since the request was sent again");
    feed.words(child(1), "I");
    assert_eq!(doing(&feed.story, 1, &feed), "streaming");
}

#[test]
fn a_run_can_be_named_for_a_cancel_too() {
    let mut feed = three_children();
    feed.add(parent(1), Fact::CancelRequested { target: "t3.1".to_owned(), by: By::Parent });
    assert_eq!(doing(&feed.story, 3, &feed), "cancelling");
    feed.add(parent(1), Fact::CancelRequested { target: "r1".to_owned(), by: By::User });
    let run = feed.story.parent().unwrap();
    assert!(matches!(run.doing(None, feed.now()), Doing::Cancelling { by: By::User, .. }));
}

#[test]
fn children_are_known_by_their_call_and_grandchildren_are_nested() {
    let mut feed = Feed::new();
    let (one, two) = (task_call("same", "planner", "a"), task_call("same", "researcher", "b"));
    feed.user(1, "hi").run(1).says(parent(1), "", vec![one.clone()]);
    feed.starts(parent(1), &one).child_of(child(1), 1, "same", "planner", "a");
    feed.says(child(1), "", vec![two.clone()]).starts(child(1), &two);
    feed.child_of(grandchild(2, 1), 2, "same", "researcher", "b");
    let tree = feed.story.delegations();
    let (root, nested) = (tree.of_task(TaskId(1)).unwrap(), tree.of_task(TaskId(2)).unwrap());
    assert_eq!(nested.parent, Some(root.id));
    assert_eq!((tree.depth(root.id), tree.depth(nested.id)), (0, 1));
    assert_eq!((tree.first(), tree.after(root.id)), (Some(root.id), Some(nested.id)));
    assert_eq!((tree.last(), tree.before(nested.id)), (Some(nested.id), Some(root.id)));
    assert_eq!(tree.newest_live().map(|node| node.id), Some(nested.id));
}

#[test]
fn the_newest_child_comes_first_in_the_list_and_the_walk_reaches_all() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1);
    for task in 1..=4 {
        feed.child(task, &format!("c{task}"), "x");
    }
    feed.child_of(grandchild(5, 2), 2, "g1", "researcher", "y");
    feed.child_of(grandchild(6, 2), 2, "g2", "researcher", "y");
    let tree = feed.story.delegations();
    let number = |id| tree.get(id).and_then(|node| node.task).map_or(0, |task| task.0);
    let down: Vec<u32> =
        std::iter::successors(tree.first(), |id| tree.after(*id)).map(number).collect();
    let mut up: Vec<u32> =
        std::iter::successors(tree.last(), |id| tree.before(*id)).map(number).collect();
    up.reverse();
    assert_eq!(down, [4, 3, 2, 6, 5, 1]);
    assert_eq!(up, down);
}

#[test]
fn a_refused_delegation_is_a_node_that_never_ran() {
    let mut feed = Feed::new();
    let task = task_call("c1", "worker", "write");
    feed.user(1, "hi").run(1).says(parent(1), "", vec![task.clone()]);
    let violations =
        vec![Violation::new(Code::ToolEscalation, "allowed_tools", "bash is not held")];
    let fact = Fact::ContractRefused {
        call: CallId::from("c1"),
        code: Code::ToolEscalation,
        field: "allowed_tools".to_owned(),
        message: "bash is not held".to_owned(),
        violations,
        refused_task: None,
    };
    feed.add(parent(1), fact);
    let mut refusal = report(1, Status::Blocked, "refused");
    (refusal.task_id, refusal.attempt, refusal.trace) = (None, None, None);
    feed.ends_with(parent(1), &task, &refusal.to_json(), 0, Some(Failure::Refused));
    let node = &feed.story.delegations().nodes()[0];
    let NodeState::Ended(end) = &node.state else { panic!("{:?}", node.state) };
    assert_eq!((end.status, end.code), (Status::Blocked, Some(Code::ToolEscalation)));
    assert_eq!((node.role.as_str(), node.notices[0].text.as_str()), ("worker", "bash is not held"));
    assert_eq!(feed.story.reports().count(), 1);
    assert_eq!(kinds(feed.story.entries()), ["user", "delegation"]);
}

fn refuse(feed: &mut Feed, by: Origin, asked: &ToolCall) {
    let message = "delegation ends here".to_owned();
    let fact = Fact::ContractRefused {
        call: asked.call.clone(),
        code: Code::DepthExceeded,
        field: String::new(),
        message: message.clone(),
        violations: vec![Violation::new(Code::DepthExceeded, "", message.clone())],
        refused_task: None,
    };
    let mut refusal = report(1, Status::Blocked, &message);
    (refusal.task_id, refusal.attempt, refusal.trace) = (None, None, None);
    refusal.evidence.clear();
    feed.add(by.clone(), fact);
    feed.ends_with(by, asked, &refusal.to_json(), 0, Some(Failure::Refused));
}

#[test]
fn what_a_child_asked_for_and_was_refused_stands_under_that_child() {
    // It once was a second node with the child's own number, beside the child.
    let mut feed = Feed::new();
    let (one, two) = (task_call("same", "researcher", "a"), task_call("same", "researcher", "b"));
    feed.user(1, "hi").run(1).says(parent(1), "", vec![one.clone()]).starts(parent(1), &one);
    feed.child(6, "same", "a").says(child(6), "", vec![two.clone()]);
    refuse(&mut feed, child(6), &two);
    let nodes = feed.story.delegations().nodes();
    assert_eq!(nodes.len(), 2);
    assert_eq!((nodes[1].parent, nodes[1].task), (Some(nodes[0].id), None));
    assert_eq!((nodes[0].task, nodes[0].is_live()), (Some(TaskId(6)), true));
    assert_eq!((nodes[1].description.as_str(), nodes[1].never_ran()), ("b", true));
    assert_eq!(nodes[0].calls[0].child, Some(nodes[1].id));
}

#[test]
fn each_that_waits_knows_how_many_wait_before_it_right_now() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1);
    for (task, position) in [(1, 0), (2, 1), (3, 2)] {
        feed.queued(task, &format!("c{task}"), position);
    }
    let all = |feed: &Feed| [1, 2, 3].map(|task| doing(&feed.story, task, feed));
    assert_eq!(all(&feed), ["queued 0", "queued 1", "queued 2"]);
    feed.child(1, "c1", "x");
    assert_eq!(all(&feed), ["between", "queued 0", "queued 1"]);
    feed.ends_with(parent(1), &task_call("c2", "", ""), "", 0, Some(Failure::Cancelled));
    assert_eq!(all(&feed), ["between", "ended cancelled", "queued 0"]);
    let counts = feed.story.delegations().counts();
    let expected = Counts { running: 1, queued: 1, cancelled: 1, ..Counts::default() };
    assert_eq!(counts, expected);
}

#[test]
fn only_what_completed_counts_as_done() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1);
    let ends = [
        Status::Completed,
        Status::Failed,
        Status::InvalidResult,
        Status::Cancelled,
        Status::Blocked,
        Status::BudgetExhausted,
    ];
    for (task, status) in (1..).zip(ends) {
        feed.child(task, &format!("c{task}"), "x").finish_child(task, status, "");
    }
    let counts = feed.story.delegations().counts();
    let one_each = Counts { done: 1, failed: 2, cancelled: 1, refused: 1, exhausted: 1, ..counts };
    assert_eq!((counts, counts.running + counts.queued), (one_each, 0));
    feed.child(2, "c2", "again");
    let counts = feed.story.delegations().counts();
    assert_eq!((counts.running, counts.failed), (1, 1), "a new attempt is live again");
}

#[test]
fn a_child_that_was_cancelled_in_the_queue_ends_by_its_result() {
    let mut feed = Feed::new();
    let task = task_call("c1", "researcher", "look");
    feed.user(1, "hi").run(1).says(parent(1), "", vec![task.clone()]).queued(1, "c1", 0);
    let mut report = report(1, Status::Cancelled, "cancelled in the queue");
    report.turns = 0;
    feed.ends_with(parent(1), &task, &report.to_json(), 0, Some(Failure::Cancelled));
    assert_eq!(doing(&feed.story, 1, &feed), "ended cancelled");
    assert_eq!(feed.story.delegations().live_count(), 0);
}

#[test]
fn what_a_child_uses_is_counted_for_its_parents_too() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1).child(1, "c1", "a");
    feed.child_of(grandchild(2, 1), 2, "g", "researcher", "b");
    feed.charged(parent(1), usage(1_000, 10, Some(5)));
    feed.charged(child(1), usage(200, 20, Some(6)));
    feed.charged(grandchild(2, 1), usage(30, 3, Some(7)));
    let story = &feed.story;
    let input = |task| {
        let node = story.delegations().of_task(TaskId(task)).unwrap();
        node.run.as_ref().unwrap().usage.input_tokens
    };
    assert_eq!((input(2), input(1)), (30, 230));
    assert_eq!(story.parent().unwrap().usage.input_tokens, 1_230);
    assert_eq!(story.totals().usage.input_tokens, 1_230);
    assert_eq!(story.totals().cost().map(|cost| cost.0), Some(18));
    assert_eq!(story.totals().context_tokens, 1_000);
}

#[test]
fn the_gauge_puts_the_tightest_dimension_first() {
    let feed = three_children();
    let node = feed.story.delegations().of_task(TaskId(3)).unwrap();
    let gauge = Gauge::of(node.run.as_ref().unwrap(), feed.now());
    assert_eq!(gauge.tightest().dimension, Dimension::Turns);
    assert_eq!(gauge.tightest().used, Some(3));
    let calls = gauge.get(Dimension::ToolCalls).unwrap();
    assert_eq!((calls.used, calls.limit.finite()), (Some(3), Some(60)));
    let ratios: Vec<f64> = gauge.0.iter().map(offshoot::story::Used::ratio).collect();
    assert!(ratios.is_sorted_by(|a, b| a >= b), "{ratios:?}");
}

#[test]
fn not_run_calls_are_free() {
    let mut feed = Feed::new();
    let (one, two) = (call("a", "search", json!({})), call("b", "search", json!({})));
    feed.user(1, "hi").run(1).says(parent(1), "", vec![one.clone(), two.clone()]);
    feed.does(parent(1), &one, "x", 1);
    feed.ends_with(parent(1), &two, "not run: budget", 0, Some(Failure::NotRun));
    assert_eq!(feed.story.parent().unwrap().tool_calls, 1);
}

#[test]
fn what_was_kept_out_is_the_childs_growth_minus_its_report() {
    let feed = three_children();
    let grown = 62_000 - 800;
    let kept = feed.story.kept_out_tokens();
    assert!((grown - 400..grown).contains(&kept), "{kept}");
    let mut small = Feed::new();
    small.user(1, "hi").run(1).child(1, "c1", "a").charged(child(1), usage(500, 5, Some(1)));
    small.finish_child(1, Status::Completed, "a report longer than nothing");
    assert_eq!(small.story.kept_out_tokens(), 0);
}

#[test]
fn what_was_kept_out_is_held_against_what_was_used() {
    let mut feed = Feed::new();
    let sent = |feed: &mut Feed, input| {
        feed.charged(parent(1), usage(input, 10, Some(1)));
    };
    feed.user(1, "hi").run(1);
    sent(&mut feed, 1_000);
    feed.child(1, "c1", "a").charged(child(1), usage(800, 40, Some(900)));
    assert_eq!(feed.story.worth(), None, "it still runs");
    feed.charged(child(1), usage(9_000, 60, Some(9_000)));
    feed.finish_child(1, Status::Completed, "found");
    let worth = feed.story.worth().unwrap();
    let kept = worth.kept_out;
    assert!((7_800..8_200).contains(&kept), "{kept}");
    assert_eq!((worth.spared, worth.used_tokens()), (0, 9_900), "no request has come after it");
    assert_eq!(worth.used.cost_usd.map(|cost| cost.0), Some(9_900));
    assert!(worth.costs_more() && worth.to_string().contains("more than the 0 it has spared"));
    sent(&mut feed, 1_200);
    let worth = feed.story.worth().unwrap();
    assert!(worth.spared == kept && worth.costs_more());
    sent(&mut feed, 1_300);
    let worth = feed.story.worth().unwrap();
    assert!(worth.spared == 2 * kept && !worth.costs_more(), "{worth}");
    assert!(!worth.to_string().contains("more than"), "{worth}");
    // What a summary has taken out of the conversation is not carried any further.
    let summary =
        Fact::Compacted { target: "r1".to_owned(), by: By::User, text: "short".to_owned() };
    feed.add(parent(1), summary);
    sent(&mut feed, 400);
    assert_eq!(feed.story.worth().unwrap().spared, 2 * kept);
}

#[test]
fn a_grandchild_keeps_out_of_its_parents_context_and_is_counted_once() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1).charged(parent(1), usage(1_000, 10, Some(1)));
    feed.child(1, "c1", "a").charged(child(1), usage(800, 40, Some(5)));
    let below = Origin::child(RunId::child(TaskId(2), 1), child(1).run.unwrap(), TaskId(2), 1);
    feed.child_of(below.clone(), 2, "g1", "researcher", "b");
    feed.charged(below.clone(), usage(500, 5, Some(7)))
        .charged(below.clone(), usage(40_000, 5, Some(7)));
    feed.finish_child_of(below, Status::Completed, "deep");
    feed.charged(child(1), usage(1_100, 40, Some(5)));
    feed.finish_child(1, Status::Completed, "a");
    feed.charged(parent(1), usage(1_300, 10, Some(1)));
    let of = |task| feed.story.delegations().of_task(TaskId(task)).unwrap().id;
    let (upper, lower) = (feed.story.worth_of(of(1)).unwrap(), feed.story.worth_of(of(2)).unwrap());
    assert!(lower.kept_out > 39_000 && lower.spared == lower.kept_out, "{lower:?}");
    assert_eq!(lower.used_tokens(), 40_510);
    assert!(upper.kept_out < 300, "{upper:?}");
    assert_eq!(upper.used_tokens(), 40_510 + 1_980, "with what is below it");
    assert_eq!(feed.story.worth(), Some(upper), "the user's conversation has one child");
    let told = i64::try_from(feed.story.kept_out_tokens()).unwrap();
    assert_eq!(told, upper.kept_out.max(0));
}

#[test]
fn a_report_longer_than_what_was_read_is_told_as_less_than_nothing() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1).child(1, "c1", "a").charged(child(1), usage(500, 5, Some(1)));
    feed.finish_child(1, Status::Completed, &"long ".repeat(400));
    feed.charged(parent(1), usage(900, 5, Some(1)));
    let worth = feed.story.worth().unwrap();
    assert!(worth.kept_out < -400 && worth.spared == worth.kept_out, "{worth:?}");
    assert!(worth.costs_more() && worth.to_string().contains("more into the conversation"));
    assert_eq!(feed.story.kept_out_tokens(), 0);
    // Figures from outside can be of any size.
    let mut huge = Feed::new();
    huge.user(1, "hi").run(1).child(1, "c1", "a").charged(child(1), usage(u64::MAX, 5, None));
    huge.charged(child(1), usage(0, u64::MAX, None));
    huge.finish_child(1, Status::Completed, "x");
    for _ in 0..3 {
        huge.charged(parent(1), usage(u64::MAX, 5, None));
    }
    let worth = huge.story.worth().unwrap();
    assert_eq!((worth.spared, worth.used_tokens()), (i64::MIN, u64::MAX));
    assert_eq!(worth.used.cost_usd, None);
    assert_eq!(huge.story.kept_out_tokens(), 0);
}

#[test]
fn a_runaway_is_named() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1).child(1, "c1", "a").turn(child(1), 1);
    let runaway = |feed: &Feed| feed.story.delegations().of_task(TaskId(1)).unwrap().runaway();
    for id in ["a", "b"] {
        let same = call(id, "search", json!({"pattern": "x"}));
        feed.says(child(1), "", vec![same.clone()]).does(child(1), &same, "nothing", 1);
    }
    assert_eq!(runaway(&feed), None);
    feed.says(child(1), "", vec![call("c", "search", json!({"pattern": "x"}))]);
    assert_eq!(runaway(&feed), Some(Runaway::Repeats(3)));
    feed.says(child(1), "", vec![call("d", "search", json!({"pattern": "y"}))]);
    assert_eq!(runaway(&feed), None);
    feed.turn(child(1), 15);
    assert_eq!(runaway(&feed), None);
    feed.turn(child(1), 16);
    assert_eq!(runaway(&feed), Some(Runaway::TurnsNearlyUsed { turn: 16, of: 20 }));

    let mut cycling = Feed::new();
    cycling.user(1, "hi").run(1).child(1, "c1", "a").turn(child(1), 1);
    for (id, pattern) in ["x", "y", "z", "x", "y", "z", "x", "y"].into_iter().enumerate() {
        let one = call(&format!("k{id}"), "search", json!({"pattern": pattern}));
        cycling.says(child(1), "", vec![one]);
        assert_eq!(runaway(&cycling), None, "after call {id}");
    }
    cycling.says(child(1), "", vec![call("k9", "search", json!({"pattern": "z"}))]);
    assert_eq!(runaway(&cycling), Some(Runaway::Cycles { calls: 3, times: 3 }));
    for pattern in ["p", "q", "p", "q", "p", "q"] {
        let id = format!("m{}", cycling.now().0);
        cycling.wait(1).says(child(1), "", vec![call(&id, "search", json!({"pattern": pattern}))]);
    }
    assert_eq!(runaway(&cycling), Some(Runaway::Cycles { calls: 2, times: 3 }));

    let mut failing = Feed::new();
    failing.user(1, "hi").run(1).child(1, "c1", "a").turn(child(1), 1);
    for id in ["a", "b", "c"] {
        let read = call(id, "read_file", json!({"path": id}));
        failing.says(child(1), "", vec![read.clone()]).starts(child(1), &read);
        failing.ends_with(child(1), &read, "no such file", 1, Some(Failure::Error));
    }
    assert_eq!(runaway(&failing), Some(Runaway::OnlyErrors(3)));
}

#[test]
fn a_child_that_nearly_used_up_its_time_or_its_tokens_is_named_too() {
    let left = |duration_ms: i64| {
        let remaining = Remaining { duration_ms: Some(duration_ms), ..Remaining::default() };
        Fact::Usage { usage: usage(10, 1, None), remaining }
    };
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1).child(1, "c1", "a").turn(child(1), 1);
    let node = |feed: &Feed| feed.story.delegations().of_task(TaskId(1)).unwrap().clone();
    let limit = |feed: &Feed, dimension| {
        let run = node(feed).run.unwrap();
        run.contract.budget[dimension].finite().unwrap()
    };
    let time = limit(&feed, Dimension::Duration);
    let quarter = i64::try_from(time / 4).unwrap();
    feed.add(child(1), left(quarter));
    assert_eq!(node(&feed).runaway(), None);
    feed.add(child(1), left(quarter - 1_000));
    let Some(Runaway::NearlyUsed(used)) = node(&feed).runaway() else { panic!() };
    assert_eq!((used.dimension, used.limit.finite()), (Dimension::Duration, Some(time)));
    assert_eq!(used.used, Some(time - time / 4 + 1_000));
    let tokens = limit(&feed, Dimension::OutputTokens);
    feed.charged(child(1), usage(10, tokens, None));
    let Some(Runaway::NearlyUsed(used)) = node(&feed).runaway() else { panic!() };
    assert_eq!(used.dimension, Dimension::OutputTokens, "the tightest");
}

#[test]
fn a_model_that_writes_a_long_call_is_not_silent() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1).child(1, "c1", "look").turn(child(1), 1).wait(1_000);
    for _ in 0..40 {
        feed.add(child(1), Fact::ModelWriting).wait(1_000);
        assert_eq!(doing(&feed.story, 1, &feed), "streaming");
    }
    feed.wait(3_000);
    assert_eq!(doing(&feed.story, 1, &feed), "silent 4000");
}

#[test]
fn results_find_their_calls_whatever_order_they_come_in() {
    let mut feed = Feed::new();
    let calls: Vec<_> =
        (0..4).map(|n| call(&format!("k{n}"), "read_file", json!({"path": n}))).collect();
    feed.user(1, "hi").run(1).child(1, "c1", "a").says(child(1), "", calls.clone());
    for call in &calls {
        feed.starts(child(1), call);
    }
    for (ms, call) in calls.iter().enumerate().rev() {
        feed.ends(child(1), call, &format!("out {}", call.call), ms as u64);
    }
    let node = feed.story.delegations().of_task(TaskId(1)).unwrap();
    for (index, call) in node.calls.iter().enumerate() {
        assert_eq!(call.output, format!("out k{index}"));
        assert!(matches!(call.state, CallState::Finished { ok: true, .. }));
    }
    assert!(node.running_call().is_none());
}

#[test]
fn events_that_fit_nowhere_change_nothing() {
    let mut feed = Feed::new();
    let stray = call("z", "search", json!({}));
    feed.words(child(9), "hello").turn(child(9), 1).starts(child(9), &stray);
    feed.ends(child(9), &stray, "x", 1).finish_child(9, Status::Completed, "x");
    feed.add(parent(1), Fact::CancelRequested { target: "nobody".to_owned(), by: By::User });
    feed.add(parent(1), Fact::Unknown);
    assert!(feed.story.entries().is_empty());
    assert!(feed.story.delegations().nodes().is_empty());
}

#[test]
fn a_story_read_from_its_lines_is_the_same_story() {
    let feed = three_children();
    let mut again = Story::default();
    for event in &feed.log {
        let line = serde_json::to_string(event.as_ref()).unwrap();
        again.apply(&serde_json::from_str(&line).unwrap());
    }
    assert_eq!(again.entries(), feed.story.entries());
    assert_eq!(again.delegations().nodes(), feed.story.delegations().nodes());
    assert_eq!(again.totals(), feed.story.totals());
}

#[test]
fn what_the_runtime_writes_for_the_model_is_no_answer() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1).turn(parent(1), 1);
    let mut closing = MessageFact::user("(no answer: cancelled by the user)");
    closing.role = Speaker::Assistant;
    closing.provider = Some("offshoot".to_owned());
    closing.interrupted = true;
    feed.add(parent(1), Fact::Message(closing)).finish(parent(1), Status::Cancelled, "");
    assert_eq!(kinds(feed.story.entries()), ["user", "ended"]);
}
