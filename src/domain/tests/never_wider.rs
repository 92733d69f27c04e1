//! The rule behind the contract, on random requests: the deeper, the narrower.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use proptest::test_runner::TestRunner;

use super::*;
use crate::domain::budget::{Dimension, Limit};
use crate::domain::request::BudgetRequest;

/// Words from which a random request is made; most of them are held by most parents.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    task: u32,
    role: usize,
    keys: Option<Vec<&'static str>>,
    permissions: Option<Vec<&'static str>>,
    tools: Option<Vec<&'static str>>,
    paths: Option<Vec<&'static str>>,
    limits: [Option<f64>; 6],
}

const ROLES: [&str; 4] = ["researcher", "planner", "worker", "worker"];
const KEYS: [&str; 4] = ["request", "rules", "local", "secret"];
const PATHS: [&str; 8] = [".", "src", "src/a", "src/a/b.rs", "src2", "docs/**", "../src", "/"];

impl Wish {
    pub(super) fn request(&self) -> TaskRequest {
        let [turns, input_tokens, output_tokens, tool_calls, cost_usd, duration_s] = self.limits;
        TaskRequest {
            task: format!("Do number {}.", self.task),
            expected_output: "A number.".to_owned(),
            role: Some(ROLES[self.role].to_owned()),
            context_keys: self.keys.as_deref().and_then(strings),
            permissions: self.permissions.as_deref().and_then(strings),
            allowed_tools: self.tools.as_deref().and_then(strings),
            allowed_paths: self.paths.as_deref().and_then(strings),
            budget: Some(BudgetRequest {
                turns,
                input_tokens,
                output_tokens,
                tool_calls,
                duration_s,
                cost_usd,
            }),
            ..TaskRequest::default()
        }
    }
}

fn some_of(all: &[&'static str]) -> impl Strategy<Value = Option<Vec<&'static str>>> + use<> {
    let most = all.len().min(3);
    proptest::option::weighted(0.4, subsequence(all.to_vec(), 0..=most))
}

fn limit(scale: f64) -> impl Strategy<Value = Option<f64>> {
    let number = prop_oneof![
        6 => (1..200_u32).prop_map(move |n| f64::from(n) * scale),
        1 => any::<f64>(),
        1 => Just(0.0),
    ];
    proptest::option::weighted(0.25, number)
}

pub(super) fn wish() -> impl Strategy<Value = Wish> {
    let names: Vec<&'static str> = TOOLS.iter().map(|(name, _)| *name).collect();
    let permissions: Vec<&'static str> = Permission::ALL.iter().map(|p| p.name()).collect();
    let limits = (limit(1.0), limit(5e3), limit(1e2), limit(1.0), limit(0.01), limit(3.0))
        .prop_map(|(turns, input, output, calls, cost, time)| {
            [turns, input, output, calls, cost, time]
        });
    (
        any::<u32>(),
        0..ROLES.len(),
        some_of(&KEYS),
        some_of(&permissions),
        some_of(&names),
        some_of(&PATHS),
        limits,
    )
        .prop_map(|(task, role, keys, permissions, tools, paths, limits)| Wish {
            task,
            role,
            keys,
            permissions,
            tools,
            paths,
            limits,
        })
}

/// A parent run of any width: what it holds, what it has left, who answers its children.
fn start() -> impl Strategy<Value = Host> {
    let names: Vec<&'static str> = TOOLS.iter().map(|(name, _)| *name).collect();
    let paths = vec![".", "src", "src/a", "docs"];
    (
        subsequence(Permission::ALL.to_vec(), 2..=Permission::ALL.len()),
        subsequence(names, 3..=TOOLS.len()),
        subsequence(paths, 1..=3),
        proptest::array::uniform6(prop_oneof![4 => Just(100_u64), 1 => 1..=100_u64]),
        any::<(bool, bool)>(),
        prop_oneof![9 => Just(0), 1 => 0..9_u32],
    )
        .prop_map(|(permissions, tools, paths, percent, (local, priced), delegations)| {
            let mut host = Host::new();
            host.max_depth = 4;
            host.permissions.retain(|held| permissions.contains(held));
            host.permissions.extend([Permission::Read, Permission::Delegate]);
            host.tools.retain(|held| tools.contains(&held.as_str()) || held == "task");
            host.paths = paths.iter().map(|path| PathScope::parse(path).unwrap()).collect();
            for (dimension, percent) in Dimension::ALL.into_iter().zip(percent) {
                let whole = host.remaining[dimension].finite().unwrap();
                let part = whole * i64::try_from(percent).unwrap() / 100;
                host.remaining[dimension] = Left::Of(part);
            }
            (host.endpoint.local, host.endpoint.priced) = (local, priced);
            if !priced {
                host.remaining[Dimension::CostUsd] = Left::Off;
            }
            host.delegations = delegations;
            host
        })
}

/// Holds the child against the parent without using the code that narrowed it.
pub(super) fn assert_not_wider(host: &Host, child: &Contract) {
    let role = host.roles.get(child.role()).unwrap();
    assert!(child.permissions().is_subset(&host.permissions));
    for permission in child.permissions() {
        let own = role.permissions.contains(permission);
        assert!(own || (*permission == Permission::Delegate && child.depth() < host.max_depth));
    }
    for tool in child.tools() {
        assert!(host.tools.contains(tool), "{tool}");
        assert!(child.permissions().contains(&host.tool_permissions[tool]), "{tool}");
    }
    for path in child.paths() {
        let as_path = std::path::PathBuf::from(path.to_string());
        let inside = |held: &PathScope| {
            let whole = held.components().is_empty() && !path.is_absolute();
            whole || as_path.starts_with(held.to_string())
        };
        assert!(host.paths.iter().any(inside), "{path}");
    }
    for snippet in child.context() {
        let entry = host.store.get(&snippet.card.key).unwrap();
        assert_eq!(&entry.snippet, snippet);
        assert!(match entry.sensitivity {
            Sensitivity::Normal => true,
            Sensitivity::LocalOnly => host.endpoint.local,
            Sensitivity::Secret => false,
        });
    }
    for dimension in Dimension::ALL {
        match (host.remaining[dimension], child.budget()[dimension]) {
            (Left::Of(left), Limit::Of(limit)) => {
                assert!(limit > 0 && i64::try_from(limit).unwrap() < left, "{dimension}");
            }
            (Left::Off, Limit::Off) => {}
            (left, limit) => panic!("{dimension}: {limit:?} out of {left:?}"),
        }
    }
    assert!(child.depth() > host.depth && child.depth() <= host.max_depth);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Widening {
    Permission,
    Tool,
    Path,
    Context,
    Secret,
    Limit(Dimension),
    Depth,
    Cancelled,
    Role,
    Model,
    LocalOnly,
    SecretInWords,
    OneTooMany,
    Again,
}

fn widening() -> impl Strategy<Value = Widening> {
    prop_oneof![
        Just(Widening::Permission),
        Just(Widening::Tool),
        Just(Widening::Path),
        Just(Widening::Context),
        Just(Widening::Secret),
        proptest::sample::select(Dimension::ALL.to_vec()).prop_map(Widening::Limit),
        Just(Widening::Depth),
        Just(Widening::Cancelled),
        Just(Widening::Role),
        Just(Widening::Model),
        Just(Widening::LocalOnly),
        Just(Widening::SecretInWords),
        Just(Widening::OneTooMany),
        Just(Widening::Again),
    ]
}

/// Makes one thing of a lawful request too wide. Returns the code it must be refused with.
fn widen(host: &mut Host, request: &mut TaskRequest, how: Widening, by: u16) -> Code {
    let with = |list: &mut Option<Vec<String>>, item: &str| {
        list.get_or_insert_default().push(item.to_owned());
    };
    match how {
        Widening::Permission => {
            with(&mut request.permissions, "network");
            Code::PermissionEscalation
        }
        Widening::Tool => {
            with(&mut request.allowed_tools, "note");
            Code::ToolEscalation
        }
        Widening::Path => {
            with(&mut request.allowed_paths, ["..", "/", "a/../../b", "~/*"][usize::from(by % 4)]);
            Code::PathEscalation
        }
        Widening::Context => {
            with(&mut request.context_keys, "unheard-of");
            Code::ContextNotFound
        }
        Widening::Secret => {
            with(&mut request.context_keys, "secret");
            Code::ContextForbidden
        }
        Widening::Limit(dimension) => {
            let left = host.remaining[dimension].finite().unwrap_or(1);
            // Where no price is known, any limit on money is too much.
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let too_much = left as f64 + f64::from(by);
            let asked = allot::with_limit(dimension, too_much).budget.unwrap();
            let budget = request.budget.get_or_insert_default();
            match dimension {
                Dimension::Turns => budget.turns = asked.turns,
                Dimension::InputTokens => budget.input_tokens = asked.input_tokens,
                Dimension::OutputTokens => budget.output_tokens = asked.output_tokens,
                Dimension::ToolCalls => budget.tool_calls = asked.tool_calls,
                Dimension::CostUsd => budget.cost_usd = asked.cost_usd,
                Dimension::Duration => budget.duration_s = asked.duration_s,
            }
            Code::InvalidBudget
        }
        Widening::Depth => {
            host.max_depth = host.depth;
            Code::DepthExceeded
        }
        Widening::Cancelled => {
            host.cancelled = true;
            Code::Cancelled
        }
        Widening::Role => {
            request.role = Some(format!("unheard-of-{by}"));
            Code::InvalidTask
        }
        Widening::Model => {
            request.model = Some(format!("unheard-of-{by}"));
            Code::InvalidTask
        }
        Widening::LocalOnly => {
            let kind = SnippetKind::Pin;
            host.store.put("here", kind, "pinned", "stays on this machine", Sensitivity::LocalOnly);
            with(&mut request.context_keys, "here");
            Code::ContextForbidden
        }
        Widening::SecretInWords => {
            let secret = host.secrets[0].clone();
            let texts = [&mut request.done_when, &mut request.must_not];
            *texts.into_iter().nth(usize::from(by % 2)).unwrap() = Some(format!("use {secret}"));
            Code::ContextForbidden
        }
        Widening::OneTooMany => {
            host.delegations = host.totals.delegations;
            Code::DelegationLimit
        }
        Widening::Again => {
            let fingerprint = Contract::check(&host.grant(), request).unwrap();
            let live = if by.is_multiple_of(2) { &mut host.siblings } else { &mut host.ancestors };
            live.push(fingerprint);
            Code::DuplicateTask
        }
    }
}

/// Every child is held against every run above it.
#[test]
fn a_contract_is_never_wider_than_any_run_above_it_four_levels_deep() {
    let (lawful, deepest) = (Cell::new(0_u32), Cell::new(0_u32));
    let random = (start(), proptest::collection::vec(wish(), 24));
    let checked = TestRunner::new(cases(400)).run(&random, |(host, wishes)| {
        let mut above = vec![host];
        for wish in &wishes {
            let host = &above[above.len() - 1];
            if let Ok(child) = host.narrow(&wish.request()) {
                prop_assert_eq!(child.depth(), host.depth + 1);
                for host in &above {
                    assert_not_wider(host, &child);
                }
                let again = Contract::from_json(&child.to_json()).unwrap();
                prop_assert_eq!(&again, &child);
                let under = host.under(&again);
                above.push(under);
                lawful.set(lawful.get() + 1);
            }
        }
        deepest.set(deepest.get() + u32::from(above.len() == 5));
        Ok(())
    });
    checked.unwrap();
    assert!(lawful.get() > 300 && deepest.get() > 20, "{} {}", lawful.get(), deepest.get());
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn any_single_widening_of_a_lawful_request_is_refused_with_its_code(
        parent in start(),
        wishes in proptest::collection::vec(wish(), 12),
        how in widening(),
        by in any::<u16>(),
        level in any::<Index>(),
    ) {
        let mut host = parent;
        if how == Widening::LocalOnly {
            host.endpoint.local = false;
        }
        let mut lawful = Vec::new();
        for wish in &wishes {
            if let Ok(child) = host.narrow(&wish.request()) {
                lawful.push((host.clone(), wish.request()));
                host = host.under(&child);
            }
        }
        prop_assume!(!lawful.is_empty());
        let (mut host, mut request) = lawful.swap_remove(level.index(lawful.len()));
        if how == Widening::Secret {
            let value = "hunter2-hunter2";
            host.store.put("secret", SnippetKind::Pin, "pinned", value, Sensitivity::Secret);
        }
        let code = widen(&mut host, &mut request, how, by);
        let refusal = host.narrow(&request).unwrap_err();
        prop_assert_eq!(refusal.first().code, code, "{:?}", refusal);
        // A wide budget is refused at the start only; everything else before anything starts.
        let early = Contract::check(&host.grant(), &request);
        prop_assert_eq!(early.is_ok(), code == Code::InvalidBudget);
    }

    #[test]
    fn no_request_whatever_panics(
        texts in proptest::collection::vec(any::<String>(), 5),
        items in proptest::collection::vec(any::<String>(), 0..6),
        limits in proptest::array::uniform6(proptest::option::of(any::<f64>())),
        lefts in proptest::array::uniform6(any::<i64>()),
        overhead in any::<u64>(),
    ) {
        let mut host = Host::new();
        host.overhead = overhead;
        for (dimension, left) in Dimension::ALL.into_iter().zip(lefts) {
            host.remaining[dimension] = Left::Of(left);
        }
        let wish = Wish {
            task: 1, role: 2, keys: None, permissions: None, tools: None, paths: None, limits,
        };
        let mut request = wish.request();
        request.task.clone_from(&texts[0]);
        request.expected_output.clone_from(&texts[1]);
        request.description = Some(texts[2].clone());
        request.role = Some(texts[3].clone());
        request.model = Some(texts[4].clone());
        for list in [
            &mut request.context_keys,
            &mut request.permissions,
            &mut request.allowed_tools,
            &mut request.allowed_paths,
        ] {
            *list = Some(items.clone());
        }
        if let Ok(child) = host.narrow(&request) {
            assert_not_wider(&host, &child);
        }
    }
}
