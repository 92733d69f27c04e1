//! Random trees of children, four levels deep, that run at once, fail, retry, and are cancelled,
//! extended and asked to wrap up at random moments: what they spend together stays below what their
//! parent has after every single event, and the ledger, the record and the provider's own figures
//! agree to the token and the millionth of a dollar.

use std::collections::BTreeMap;
use std::sync::Arc;

use offshoot::domain::books::{Books, Figures};
use offshoot::domain::budget::{Budget, Dimension, Limit, Remaining};
use offshoot::domain::command::{Command, Steer, Target};
use offshoot::domain::event::{Event, Fact, Failure, RunFinished};
use offshoot::domain::ids::{RunId, TaskId};
use offshoot::domain::report::Status;
use offshoot::domain::usage::Usage;
use serde_json::json;
use tokio::runtime::Builder;

use crate::common::{Played, Stage, aloud, rounds};
use crate::storm::{self, Plan, Storm, Turn};

/// A small generator of numbers: the same on every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }

    fn is(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

/// A run with `levels` below it, in a tree whose parent has about `output` tokens and `calls` calls.
fn plan(chance: &mut Chance, name: String, levels: u64, (output, calls): (u64, u64)) -> Plan {
    let output = output / 8 + chance.below(output / 3);
    let calls = 1 + calls / 8 + chance.below(calls / 3);
    let batches = if levels == 0 { 0 } else { 1 + chance.below(2) };
    let mut turns = Vec::new();
    for batch in 0..batches {
        let least = u64::from(batch == 0 && !chance.is(8));
        let kids = (0..least + chance.below(2 + levels / 2)).map(|kid| {
            let name = format!("{name}{}", char::from(b'a' + (4 * batch + kid) as u8));
            plan(chance, name, levels - 1, (output, calls))
        });
        let k = kids.collect();
        turns.push(Turn { k, ..turn(chance) });
    }
    turns.push(turn(chance));
    let mut budget = serde_json::Map::new();
    if !chance.is(8) {
        // Some ask for far more than there is.
        let times = if chance.is(8) { 6 } else { 1 };
        budget.insert("output_tokens".to_owned(), json!(300 + output * times));
        budget.insert("input_tokens".to_owned(), json!(1_000 + 30 * output));
    }
    if !chance.is(8) {
        budget.insert("tool_calls".to_owned(), json!(calls));
    }
    if chance.is(3) {
        budget.insert("turns".to_owned(), json!(1 + levels + chance.below(3 + levels)));
    }
    if chance.is(8) {
        budget.insert("duration_s".to_owned(), json!(0.2 + chance.below(20) as f64 / 10.0));
    }
    Plan { n: name, t: turns, b: budget }
}

fn turn(chance: &mut Chance) -> Turn {
    let f = (0..chance.below(5).saturating_sub(2)).map(|_| chance.is(2)).collect();
    Turn { d: chance.below(400), o: chance.below(3_000), f, k: Vec::new() }
}

/// What people do to a tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum People {
    Watch,
    Cancel,
    Steer,
}

/// One random tree with random commands from a person; returns what was played, the provider, and
/// how many may work at once.
async fn play(seed: u64, people: People) -> (Played, Arc<Storm>, u32) {
    let mut chance = Chance(seed);
    let root = loop {
        let root = plan(&mut chance, "r".to_owned(), 4, (600_000, 600));
        if root.t.len() > 1 {
            break root;
        }
    };
    let storm = Storm::new();
    let mut stage = Stage::with_provider(Arc::clone(&storm) as _);
    stage.max_depth = 4;
    stage.limits.parent[Dimension::OutputTokens] = Limit::Of(20_000 + chance.below(400_000));
    stage.limits.parent[Dimension::ToolCalls] = Limit::Of(10 + chance.below(200));
    stage.limits.totals.active = 1 + u32::try_from(chance.below(4)).unwrap();
    stage.limits.totals.delegations = 4 + u32::try_from(chance.below(30)).unwrap();
    let active = stage.limits.totals.active;
    let actions = actions(&mut chance, people);
    let words = serde_json::to_string(&root).unwrap();
    let played = stage.play_with(&words, &actions).await;
    (played, storm, active)
}

fn actions(chance: &mut Chance, people: People) -> Vec<(u64, Command)> {
    let mut actions = Vec::new();
    if people == People::Watch {
        return actions;
    }
    for _ in 0..chance.below(4) {
        let task = TaskId(1 + u32::try_from(chance.below(12)).unwrap());
        actions.push((chance.below(3_000), Command::CancelTask { task }));
    }
    if chance.is(4) {
        actions.push((chance.below(4_000), Command::Stop));
    }
    if people == People::Steer {
        for _ in 0..4 + chance.below(12) {
            let target = match chance.below(10) {
                0 => Target::Parent,
                _ => Target::Task(TaskId(1 + u32::try_from(chance.below(12)).unwrap())),
            };
            let steer = if chance.is(6) { Steer::WrapUp } else { Steer::Extend };
            actions.push((chance.below(3_000), Command::Steer { target, steer }));
        }
    }
    actions.sort_by_key(|(at, _)| *at);
    actions
}

fn tokens(usage: &Usage) -> (u64, u64) {
    (usage.input_tokens, usage.output_tokens)
}

/// What must hold after every event: what a run used, and what its live children hold beside that,
/// is no more than it has; and every run's total is its own and its children's, each once.
fn check_moment(books: &Books) {
    let all: BTreeMap<&RunId, Figures> =
        books.runs().map(|run| (run, books.figures(run).unwrap())).collect();
    for (run, figures) in &all {
        let children = || all.values().filter(|child| child.parent.as_ref() == Some(run));
        let mut total = figures.own;
        children().for_each(|child| total += child.total);
        assert_eq!(total, figures.total, "{run}");
        for dimension in Dimension::ALL.into_iter().filter(|d| d.is_shared()) {
            let Some(limit) = figures.limits[dimension].finite() else { continue };
            let held =
                |child: &Figures| child.limits[dimension].finite().unwrap() - child.used[dimension];
            let live = children().filter(|child| !child.ended);
            let reserved: u64 = live.map(held).sum();
            let used = figures.used[dimension];
            assert!(used + reserved <= limit, "{run} {dimension}: {used} + {reserved} of {limit}");
            let left = figures.left[dimension].finite().unwrap();
            assert!(left >= 0 && left.unsigned_abs() <= limit - used - reserved, "{run}");
        }
    }
}

/// What is a child's own starts strictly below what its parent has left then.
fn check_start(books: &Books, parent: Option<&RunId>, budget: Budget) {
    let Some(above) = parent.map(|parent| books.figures(parent).unwrap()) else { return };
    let left = above.left[Dimension::Turns].finite().unwrap();
    assert!(budget[Dimension::Turns].finite().unwrap() < left.unsigned_abs(), "{parent:?}");
    let durations =
        (budget[Dimension::Duration].finite(), above.limits[Dimension::Duration].finite());
    assert!(durations.0 < durations.1, "{parent:?}");
}

/// Follows the events and looks at the books after each.
fn follow(events: &[Arc<Event>]) -> Books {
    let mut books = Books::default();
    for event in events {
        books.apply(event);
        match &event.fact {
            Fact::Usage { remaining, .. } => assert_nothing_below_zero(remaining),
            Fact::RunStarted { contract, .. } => {
                check_start(&books, event.origin.parent_run.as_ref(), contract.budget);
            }
            Fact::TurnStarted { .. }
            | Fact::ToolFinished { .. }
            | Fact::BudgetExtended { .. }
            | Fact::RunFinished(_) => {}
            // The books have nothing to do with the others.
            _ => continue,
        }
        check_moment(&books);
    }
    assert_eq!(books.contradictions(), []);
    books
}

fn ends(played: &Played) -> BTreeMap<RunId, RunFinished> {
    let ends = played.events.iter().filter_map(|event| match &event.fact {
        Fact::RunFinished(end) => Some((event.origin.run.clone()?, (**end).clone())),
        _ => None,
    });
    ends.collect()
}

/// Each run's end says what the live ledger held: the same as the books, and as the report.
fn check_ends(books: &Books, ends: &BTreeMap<RunId, RunFinished>) {
    assert_eq!(books.runs().collect::<Vec<_>>(), ends.keys().collect::<Vec<_>>());
    for (run, end) in ends {
        let figures = books.figures(run).unwrap();
        assert!(figures.ended);
        let live = end.account.as_ref().unwrap();
        for dimension in Dimension::ALL {
            assert_eq!(
                live.used.get(dimension),
                Some(figures.used[dimension]),
                "{run} {dimension}"
            );
        }
        assert_eq!(live.limits, figures.limits);
        assert_eq!((end.usage, end.usage_total), (figures.own, figures.total), "{run}");
        let (input, output) = tokens(&figures.total);
        assert_eq!(live.used.cost_usd, figures.total.cost_usd, "{run}");
        assert_eq!(figures.total.cost_usd.unwrap().0, input + 2 * output, "1 and 2 dollars");
        if let Some(report) = &end.report {
            let spent = (report.usage.input_tokens, report.usage.output_tokens);
            assert_eq!(spent, (input, output), "{run}");
            assert_eq!(report.usage.tool_calls, live.used.tool_calls, "{run}");
            assert_eq!(report.usage.cost_usd, live.used.cost_usd, "{run}");
            assert_eq!(u64::from(report.turns), live.used.turns, "{run}");
        }
        let Some(above) = &figures.parent else { continue };
        let above = books.figures(above).unwrap().limits;
        for dimension in Dimension::ALL.into_iter().filter(|d| d.is_shared()) {
            let (own, above) = (figures.limits[dimension].finite(), above[dimension].finite());
            assert!(above.is_none_or(|above| own.unwrap() < above), "{run} {dimension}");
        }
    }
}

fn assert_nothing_below_zero(remaining: &Remaining) {
    let lefts = [
        remaining.turns,
        remaining.input_tokens,
        remaining.output_tokens,
        remaining.tool_calls,
        remaining.duration_ms,
    ];
    assert!(lefts.iter().flatten().all(|left| *left >= 0), "{remaining:?}");
    assert!(remaining.cost_usd.is_none_or(|left| left >= 0.0), "{remaining:?}");
}

/// The files of the session whose path has `part`, read back in the order of what happened.
fn recorded(played: &Played, part: &str) -> Vec<Event> {
    let is_asked = |path: &str| path.ends_with("jsonl") && path.contains(part);
    let files = played.files().into_iter().filter(|(path, _)| is_asked(path));
    let mut events: Vec<Event> = Vec::new();
    for (_, text) in files {
        events.extend(text.lines().map(|line| serde_json::from_str::<Event>(line).unwrap()));
    }
    events.sort_by_key(|event| event.id);
    // A child's start and end are in two files.
    events.dedup_by_key(|event| event.id);
    events
}

/// From the files the same books come as from the live events: from all of them, and from the
/// session file alone, which has no more of a child than its start and its end.
fn check_rebuilt(played: &Played, live: &Books) {
    for part in ["", "session.jsonl"] {
        let again = Books::read(&recorded(played, part));
        assert_eq!(again.contradictions(), [], "{part}");
        assert_eq!(again.runs().collect::<Vec<_>>(), live.runs().collect::<Vec<_>>());
        for run in live.runs() {
            let (again, live) = (again.figures(run).unwrap(), live.figures(run).unwrap());
            assert_eq!((again.own, again.total), (live.own, live.total), "{run} {part}");
            assert_eq!((again.used, again.limits), (live.used, live.limits), "{run} {part}");
            assert_eq!(
                (again.own_calls, again.ended),
                (live.own_calls, live.ended),
                "{run} {part}"
            );
            if part.is_empty() {
                assert_eq!(again, live, "{run}");
            }
        }
        if part.is_empty() {
            let root = RunId::parent(1);
            assert_eq!(again.delegations(&root), live.delegations(&root));
        }
    }
}

/// Every request that the provider gave figures for, to the token; one that was dropped between its
/// figures and its end may stand at a higher estimate instead.
fn check_provider(played: &Played, books: &Books, told: &storm::Books) {
    let mut exactly = Usage::none();
    for fact in played.facts() {
        if let Fact::Usage { usage, .. } = fact
            && !usage.estimated
        {
            exactly += *usage;
        }
    }
    let exactly = tokens(&exactly);
    let (ended, all) = (tokens(&told.ended), tokens(&told.told));
    assert!(ended.0 <= exactly.0 && exactly.0 <= all.0, "{ended:?} {exactly:?} {all:?}");
    assert!(ended.1 <= exactly.1 && exactly.1 <= all.1, "{ended:?} {exactly:?} {all:?}");
    let anything_dropped = played.facts().any(|fact| matches!(fact, Fact::CancelRequested { .. }));
    if !anything_dropped {
        let total = books.figures(&RunId::parent(1)).unwrap().total;
        assert_eq!(all, tokens(&total), "nothing was estimated");
        assert_eq!(total.cost_usd.unwrap().0, all.0 + 2 * all.1);
        assert_eq!(all, exactly);
    }
}

fn check(seed: u64, people: People) -> Seen {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (played, storm, active) = runtime.block_on(play(seed, people));
    let books = follow(&played.events);
    let ends = ends(&played);
    check_ends(&books, &ends);
    check_rebuilt(&played, &books);
    let told = storm.books.lock().unwrap();
    check_provider(&played, &books, &told);
    assert!(told.most_open <= active, "{} of {active} at once", told.most_open);
    let count = |is: fn(&Fact) -> bool| played.facts().filter(|fact| is(fact)).count();
    let ended = |status| ends.values().filter(|end| end.status == status).count();
    Seen {
        large: usize::from(ends.len() > 6),
        deep: count(|fact| matches!(fact, Fact::RunStarted { depth: 4, .. })),
        full: usize::from(told.most_open == active && active > 1),
        retries: count(|fact| matches!(fact, Fact::RetryScheduled { .. })),
        refusals: count(|fact| matches!(fact, Fact::ContractRefused { .. })),
        queued: count(|fact| matches!(fact, Fact::TaskQueued { .. })),
        exhausted: ended(Status::BudgetExhausted),
        cancelled: ended(Status::Cancelled),
        extended: count(|fact| matches!(fact, Fact::BudgetExtended { .. })),
        not_extended: count(
            |fact| matches!(fact, Fact::Notice { code, .. } if code == "NOT_STEERED"),
        ),
        partly: count(
            |fact| matches!(fact, Fact::BudgetExtended { text, .. } if text.contains("could not grow")),
        ),
        wrapped_up: count(|fact| matches!(fact, Fact::WrapUpRequested { .. })),
    }
}

/// What happened in a number of trees, so that a test knows that it tests something.
#[derive(Debug, Default)]
struct Seen {
    large: usize,
    deep: usize,
    full: usize,
    retries: usize,
    refusals: usize,
    queued: usize,
    exhausted: usize,
    cancelled: usize,
    extended: usize,
    not_extended: usize,
    partly: usize,
    wrapped_up: usize,
}

impl Seen {
    fn add(&mut self, more: Self) {
        self.large += more.large;
        self.deep += more.deep;
        self.full += more.full;
        self.retries += more.retries;
        self.refusals += more.refusals;
        self.queued += more.queued;
        self.exhausted += more.exhausted;
        self.cancelled += more.cancelled;
        self.extended += more.extended;
        self.not_extended += more.not_extended;
        self.partly += more.partly;
        self.wrapped_up += more.wrapped_up;
    }

    fn assert_enough(&self) {
        let all = [
            self.large,
            self.deep,
            self.full,
            self.retries,
            self.refusals,
            self.queued,
            self.exhausted,
        ];
        assert!(all.iter().all(|count| *count > 5), "{self:?}");
    }
}

#[test]
fn shared_spending_stays_below_the_parents_and_the_books_agree_to_the_token() {
    let seen = check_many(rounds(80, 2_000), |round| (round * 7 + 1, People::Watch));
    seen.assert_enough();
}

#[test]
fn the_same_holds_when_children_are_cancelled_at_any_moment() {
    let seen = check_many(rounds(80, 2_000), |round| (round * 11 + 3, People::Cancel));
    seen.assert_enough();
    assert!(seen.cancelled > 10, "{seen:?}");
}

#[test]
fn the_same_holds_when_budgets_grow_and_turns_become_the_last() {
    let seen = check_many(rounds(80, 2_000), |round| (round * 13 + 5, People::Steer));
    seen.assert_enough();
    let steered = [seen.extended, seen.partly, seen.not_extended, seen.wrapped_up];
    assert!(steered.iter().all(|count| *count > 10), "{seen:?}");
}

fn check_many(rounds: u32, pick: impl Fn(u64) -> (u64, People)) -> Seen {
    let mut seen = Seen::default();
    for round in 0..u64::from(rounds) {
        let (number, people) = pick(round);
        seen.add(check(number, people));
    }
    aloud::told(&format!("{rounds} trees: {seen:?}"));
    seen
}

/// A record that lost a line, or has one twice, does not add up to what the ends of its runs say.
#[test]
fn a_record_that_was_tampered_with_contradicts_itself() {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (played, ..) = runtime.block_on(play(8, People::Watch));
    let whole = recorded(&played, "");
    let counts = |fact: &Fact| match fact {
        Fact::Usage { usage, .. } => usage.input_tokens > 0,
        Fact::ToolFinished { failure, .. } => *failure != Some(Failure::NotRun),
        Fact::TurnStarted { .. } => true,
        _ => false,
    };
    let lines: Vec<usize> = (0..whole.len()).filter(|index| counts(&whole[*index].fact)).collect();
    assert!(lines.len() > 20, "{}", lines.len());
    for line in lines {
        let mut lost = whole.clone();
        lost.remove(line);
        assert!(!Books::read(&lost).contradictions().is_empty(), "{:?}", whole[line]);
        let mut twice = whole.clone();
        twice.insert(line, whole[line].clone());
        assert!(!Books::read(&twice).contradictions().is_empty(), "{:?}", whole[line]);
    }
}
