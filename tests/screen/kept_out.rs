//! What delegation kept out goes along with the events; here it is reckoned from all of them at once.

use std::sync::Arc;

use offshoot::domain::event::{Event, Fact, Origin};
use offshoot::domain::ids::RunId;
use offshoot::domain::report::{By, Status};
use offshoot::domain::usage::{Usage, estimate_tokens};
use offshoot::story::{KeptOut, Worth};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::feed::{Feed, child, grandchild, parent, usage};
use super::soak::rounds;

/// Children of the conversation; a child's own child has its number and this more.
const CHILDREN: u32 = 3;

#[derive(Debug, Clone)]
enum Step {
    Sent(Whose, u64),
    Summarised(Whose),
    Started(Whose),
    Ended(Whose, usize),
}

#[derive(Debug, Clone, Copy)]
enum Whose {
    Parent(u32),
    Child(u32),
    Below(u32),
}

impl Whose {
    fn origin(self) -> Origin {
        match self {
            Self::Parent(number) => parent(number),
            Self::Child(task) => child(task),
            Self::Below(of) => grandchild(of + CHILDREN, of),
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let child = || {
        prop_oneof![(1..=CHILDREN).prop_map(Whose::Child), (1..=CHILDREN).prop_map(Whose::Below)]
    };
    let any = || prop_oneof![(1..=2_u32).prop_map(Whose::Parent), child()];
    prop_oneof![
        4 => (any(), 0..50_000_u64).prop_map(|(whose, tokens)| Step::Sent(whose, tokens)),
        1 => any().prop_map(Step::Summarised),
        3 => child().prop_map(Step::Started),
        2 => (child(), 0..2_000_usize).prop_map(|(whose, words)| Step::Ended(whose, words)),
    ]
}

fn played(steps: &[Step]) -> Feed {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1);
    let mut started: Vec<RunId> = Vec::new();
    for step in steps {
        match step {
            Step::Sent(whose, tokens) => {
                feed.charged(whose.origin(), usage(*tokens, 7, Some(3)));
            }
            Step::Summarised(whose) => {
                let (by, text) = (By::Budget, "short".to_owned());
                feed.add(whose.origin(), Fact::Compacted { target: "r1".to_owned(), by, text });
            }
            Step::Started(whose) => {
                let origin = whose.origin();
                let (run, above) = (origin.run.clone().unwrap(), origin.parent_run.clone());
                let lives =
                    above == parent(1).run || above.is_some_and(|run| started.contains(&run));
                if lives && !started.contains(&run) {
                    let depth = if matches!(whose, Whose::Below(_)) { 2 } else { 1 };
                    feed.child_of(origin, depth, &format!("c-{run}"), "researcher", "look");
                    started.push(run);
                }
            }
            Step::Ended(whose, words) => {
                feed.finish_child_of(whose.origin(), Status::Completed, &"x".repeat(*words));
            }
        }
    }
    feed
}

/// The sum over the first end of each child of the conversation, from the whole list.
fn from_scratch(log: &[Arc<Event>]) -> Option<Worth> {
    let mut sum: Option<Worth> = None;
    for task in 1..=CHILDREN {
        let Some(one) = one_child(log, task) else { continue };
        let so_far = sum.get_or_insert(Worth { kept_out: 0, spared: 0, used: Usage::none() });
        so_far.kept_out += one.kept_out;
        so_far.spared += one.spared;
        so_far.used += one.used;
    }
    sum
}

fn one_child(log: &[Arc<Event>], task: u32) -> Option<Worth> {
    let (own, below) = (child(task).run, Whose::Below(task).origin().run);
    let started = |run: &Option<RunId>| {
        let of_run = |event: &Arc<Event>| event.origin.run == *run;
        log.iter().position(|event| of_run(event) && matches!(event.fact, Fact::RunStarted { .. }))
    };
    let start = started(&own)?;
    let (end, report) =
        log.iter().enumerate().skip(start).find_map(|(at, event)| match &event.fact {
            Fact::RunFinished(end) if event.origin.run == own => Some((at, end.report.clone()?)),
            _ => None,
        })?;
    let used_by = |run: &Option<RunId>| -> Vec<Usage> {
        let Some(from) = started(run).filter(|from| *from < end) else { return Vec::new() };
        let of_run = log[from..end].iter().filter(|event| event.origin.run == *run);
        let usage = |event: &Arc<Event>| match event.fact {
            Fact::Usage { usage, .. } => Some(usage),
            _ => None,
        };
        of_run.filter_map(usage).collect()
    };
    let prompts = used_by(&own);
    let prompt = |usage: Option<&Usage>| usage.map_or(0, |usage| tokens(usage.input_tokens));
    let kept_out = prompt(prompts.last())
        - prompt(prompts.first())
        - tokens(estimate_tokens(&report.to_json()));
    let conversation =
        |event: &&Arc<Event>| event.origin.run.is_some() && event.origin.parent_run.is_none();
    let carried = log[end..]
        .iter()
        .filter(conversation)
        .take_while(|event| !matches!(event.fact, Fact::Compacted { .. }))
        .filter(|event| matches!(event.fact, Fact::Usage { .. }))
        .count();
    let mut used = Usage::none();
    for more in prompts.into_iter().chain(used_by(&below)) {
        used += more;
    }
    Some(Worth { kept_out, spared: kept_out * i64::try_from(carried).unwrap(), used })
}

fn tokens(count: u64) -> i64 {
    i64::try_from(count).unwrap()
}

#[test]
fn what_goes_along_with_the_events_is_what_all_of_them_come_to() {
    let cases = rounds(128, 4_096);
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let lists = proptest::collection::vec(step(), 0..60);
    let told = runner.run(&lists, |steps| {
        let feed = played(&steps);
        let expected = from_scratch(&feed.log);
        prop_assert_eq!(feed.story.worth(), expected);
        let kept = expected.map_or(0, |worth| worth.kept_out.max(0));
        prop_assert_eq!(tokens(feed.story.kept_out_tokens()), kept);
        // The fold that needs no story comes to the same, and so does one child after the other.
        let mut alone = KeptOut::default();
        for event in &feed.log {
            alone.apply(event);
        }
        prop_assert_eq!(alone.worth(), expected);
        for task in 1..=CHILDREN {
            let run = child(task).run.unwrap();
            prop_assert_eq!(alone.worth_of(&run), one_child(&feed.log, task));
        }
        Ok(())
    });
    told.unwrap();
}

#[test]
fn a_child_that_ends_after_a_summary_is_carried_from_there_on() {
    let mut feed = Feed::new();
    feed.user(1, "hi").run(1).charged(parent(1), usage(1_000, 10, Some(1)));
    feed.child(1, "c1", "a").charged(child(1), usage(100, 5, Some(1)));
    feed.charged(child(1), usage(9_100, 5, Some(1)));
    let (by, text) = (By::User, "short".to_owned());
    feed.add(parent(1), Fact::Compacted { target: "r1".to_owned(), by, text });
    feed.finish_child(1, Status::Completed, "found");
    feed.charged(parent(1), usage(500, 10, Some(1)));
    let worth = feed.story.worth().unwrap();
    assert!(worth.kept_out > 8_000 && worth.spared == worth.kept_out, "{worth:?}");
}
