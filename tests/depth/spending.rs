//! Random trees of children that run at once, fail, retry and are cancelled at random moments: what
//! they spend together stays below what their parent has, and the books agree to the token.

use std::collections::BTreeMap;
use std::sync::Arc;

use offshoot::domain::budget::{Budget, Dimension, Limit, Remaining};
use offshoot::domain::command::Command;
use offshoot::domain::event::{Event, Fact, RunFinished};
use offshoot::domain::ids::{RunId, TaskId};
use offshoot::domain::report::Status;
use offshoot::domain::usage::Usage;
use serde_json::json;
use tokio::runtime::Builder;

use crate::common::{Played, Stage, aloud, rounds};
use crate::storm::{Plan, Storm, Turn};

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

fn plan(chance: &mut Chance, name: String, levels: u64) -> Plan {
    let batches = if levels == 0 { 0 } else { 1 + chance.below(2) };
    let mut turns = Vec::new();
    for batch in 0..batches {
        let kids = (0..chance.below(3 + levels / 2)).map(|kid| {
            plan(
                chance,
                format!("{name}{}", char::from(b'a' + (4 * batch + kid) as u8)),
                levels - 1,
            )
        });
        let k = kids.collect();
        turns.push(Turn { k, ..turn(chance) });
    }
    turns.push(turn(chance));
    let mut budget = serde_json::Map::new();
    if !chance.is(8) {
        let most = 1_500 * 3_u64.pow(u32::try_from(levels).unwrap());
        budget.insert("output_tokens".to_owned(), json!(300 + chance.below(most)));
        budget.insert("input_tokens".to_owned(), json!(1_000 + chance.below(30 * most)));
    }
    if !chance.is(8) {
        budget.insert("tool_calls".to_owned(), json!(1 + chance.below(3 + 6 * levels)));
    }
    if chance.is(2) {
        budget.insert("turns".to_owned(), json!(1 + chance.below(3 + 2 * levels)));
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

/// One random tree with random commands from a person; returns what was played and the provider.
async fn play(seed: u64, cancels: bool) -> (Played, Arc<Storm>, Budget, u32) {
    let mut chance = Chance(seed);
    let root = loop {
        let root = plan(&mut chance, "r".to_owned(), 3);
        if root.t.len() > 1 {
            break root;
        }
    };
    let storm = Storm::new();
    let mut stage = Stage::with_provider(Arc::clone(&storm) as _);
    stage.max_depth = 3;
    stage.limits.parent[Dimension::OutputTokens] = Limit::Of(10_000 + chance.below(150_000));
    stage.limits.parent[Dimension::ToolCalls] = Limit::Of(10 + chance.below(200));
    stage.limits.totals.active = 1 + u32::try_from(chance.below(4)).unwrap();
    stage.limits.totals.delegations = 4 + u32::try_from(chance.below(30)).unwrap();
    let (budget, active) = (stage.limits.parent, stage.limits.totals.active);
    let mut actions = Vec::new();
    if cancels {
        for _ in 0..chance.below(4) {
            let task = TaskId(1 + u32::try_from(chance.below(8)).unwrap());
            actions.push((chance.below(3_000), Command::CancelTask { task }));
        }
        if chance.is(4) {
            actions.push((chance.below(4_000), Command::Stop));
        }
        actions.sort_by_key(|(at, _)| *at);
    }
    let words = serde_json::to_string(&root).unwrap();
    let played = stage.play_with(&words, &actions).await;
    (played, storm, budget, active)
}

#[derive(Default)]
struct Account {
    own: Usage,
    told_exactly: Usage,
    parent: Option<RunId>,
    limits: Option<Budget>,
    end: Option<RunFinished>,
}

/// Folds events into what each run used by itself.
fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> BTreeMap<RunId, Account> {
    let mut accounts = BTreeMap::<RunId, Account>::new();
    for event in events {
        let Some(run) = event.origin.run.clone() else { continue };
        let account = accounts.entry(run).or_default();
        match &event.fact {
            Fact::RunStarted { contract, .. } => {
                account.parent.clone_from(&event.origin.parent_run);
                account.limits = Some(contract.budget);
            }
            Fact::Usage { usage, .. } => {
                if account.own == Usage::default() {
                    account.own = Usage::none();
                }
                account.own += *usage;
                if !usage.estimated {
                    account.told_exactly += *usage;
                }
            }
            Fact::RunFinished(end) => account.end = Some((**end).clone()),
            _ => {}
        }
    }
    accounts
}

fn tokens(usage: &Usage) -> (u64, u64) {
    (usage.input_tokens, usage.output_tokens)
}

/// What a run and everything below it used, by its own events.
fn total(accounts: &BTreeMap<RunId, Account>, run: &RunId) -> (u64, u64) {
    let (mut input, mut output) = tokens(&accounts[run].own);
    for (below, account) in accounts {
        if account.parent.as_ref() == Some(run) {
            let (more_input, more_output) = total(accounts, below);
            (input, output) = (input + more_input, output + more_output);
        }
    }
    (input, output)
}

fn check_bounds(played: &Played, accounts: &BTreeMap<RunId, Account>) {
    for fact in played.facts() {
        if let Fact::Usage { remaining, .. } = fact {
            assert_nothing_below_zero(remaining);
        }
    }
    for (run, account) in accounts {
        let (input, output) = total(accounts, run);
        let limits = account.limits.as_ref().unwrap();
        let within = |dimension, used| limits[dimension].finite().is_none_or(|most| used <= most);
        assert!(within(Dimension::InputTokens, input), "{run}: {input}");
        assert!(within(Dimension::OutputTokens, output), "{run}: {output}");
        let end = account.end.as_ref().unwrap();
        assert_eq!(tokens(&end.usage), tokens(&account.own), "{run}'s own");
        assert_eq!(tokens(&end.usage_total), (input, output), "{run} with all below it");
        if let Some(report) = &end.report {
            assert_eq!((report.usage.input_tokens, report.usage.output_tokens), (input, output));
            assert!(within(Dimension::ToolCalls, report.usage.tool_calls), "{run}");
            assert!(within(Dimension::Turns, u64::from(report.turns)), "{run}");
        }
        if let Some(above) = &account.parent {
            let above = accounts[above].limits.as_ref().unwrap();
            for dimension in Dimension::ALL {
                let pair = (limits[dimension].finite(), above[dimension].finite());
                assert!(pair.1.is_none_or(|above| pair.0.unwrap() < above), "{run} {dimension}");
            }
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

/// The session file and the traces, read back.
fn recorded(played: &Played) -> Vec<Event> {
    let files = played.files().into_iter().filter(|(path, _)| path.ends_with("jsonl"));
    let mut events: Vec<Event> = Vec::new();
    for (_, text) in files {
        events.extend(text.lines().map(|line| serde_json::from_str::<Event>(line).unwrap()));
    }
    events.sort_by_key(|event| event.id);
    // A child's start and end are in two files.
    events.dedup_by_key(|event| event.id);
    events
}

fn check(seed: u64, cancels: bool) -> Seen {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (played, storm, _, active) = runtime.block_on(play(seed, cancels));
    let books = storm.books.lock().unwrap();
    let accounts = fold(played.events.iter().map(AsRef::as_ref));
    check_bounds(&played, &accounts);
    assert!(books.most_open <= active, "{} of {active} at once", books.most_open);
    let exactly = accounts.values().fold((0, 0), |(input, output), account| {
        let (more_input, more_output) = tokens(&account.told_exactly);
        (input + more_input, output + more_output)
    });
    // Every request that the provider gave figures for, to the token; one that was dropped between
    // its figures and its end may stand at a higher estimate instead.
    let (ended, told) = (tokens(&books.ended), tokens(&books.told));
    assert!(ended.0 <= exactly.0 && exactly.0 <= told.0, "{ended:?} {exactly:?} {told:?}");
    assert!(ended.1 <= exactly.1 && exactly.1 <= told.1, "{ended:?} {exactly:?} {told:?}");
    let anything_dropped = played.facts().any(|fact| matches!(fact, Fact::CancelRequested { .. }));
    if !anything_dropped {
        assert_eq!(told, total(&accounts, &RunId::parent(1)), "nothing was estimated");
        assert_eq!(told, exactly);
    }
    let again = fold(&recorded(&played));
    for (run, account) in &accounts {
        assert_eq!(again[run].own, account.own, "{run}, rebuilt from the files");
        assert_eq!(again[run].end, account.end);
    }
    assert_eq!(again.len(), accounts.len());
    let count = |is: fn(&Fact) -> bool| played.facts().filter(|fact| is(fact)).count();
    Seen {
        large: usize::from(accounts.len() > 6),
        full: usize::from(books.most_open == active && active > 1),
        retries: count(|fact| matches!(fact, Fact::RetryScheduled { .. })),
        refusals: count(|fact| matches!(fact, Fact::ContractRefused { .. })),
        queued: count(|fact| matches!(fact, Fact::TaskQueued { .. })),
        exhausted: runs_that_ended(&accounts, Status::BudgetExhausted),
        cancelled: runs_that_ended(&accounts, Status::Cancelled),
    }
}

fn runs_that_ended(accounts: &BTreeMap<RunId, Account>, status: Status) -> usize {
    let ends = accounts.values().filter_map(|account| account.end.as_ref());
    ends.filter(|end| end.status == status).count()
}

/// What happened in a number of trees, so that a test knows that it tests something.
#[derive(Debug, Default)]
struct Seen {
    large: usize,
    full: usize,
    retries: usize,
    refusals: usize,
    queued: usize,
    exhausted: usize,
    cancelled: usize,
}

impl Seen {
    fn add(&mut self, more: Self) {
        self.large += more.large;
        self.full += more.full;
        self.retries += more.retries;
        self.refusals += more.refusals;
        self.queued += more.queued;
        self.exhausted += more.exhausted;
        self.cancelled += more.cancelled;
    }

    fn assert_enough(&self) {
        let all = [self.large, self.full, self.retries, self.refusals, self.queued, self.exhausted];
        assert!(all.iter().all(|count| *count > 10), "{self:?}");
    }
}

#[test]
fn shared_spending_stays_below_the_parents_and_the_books_agree_to_the_token() {
    let mut seen = Seen::default();
    for seed in 0..u64::from(rounds(120, 5_000)) {
        seen.add(check(seed * 7 + 1, false));
    }
    seen.assert_enough();
}

#[test]
fn the_same_holds_when_children_are_cancelled_at_any_moment() {
    let mut seen = Seen::default();
    for seed in 0..u64::from(rounds(200, 8_000)) {
        seen.add(check(seed * 11 + 3, true));
    }
    seen.assert_enough();
    assert!(seen.cancelled > 10, "{seen:?}");
    aloud::told(&format!("{seen:?}"));
}
