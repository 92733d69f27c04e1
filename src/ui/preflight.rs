//! What a person is about to change in a delegation before its child starts: which line is chosen,
//! which numbers are lowered, which keys dropped. It widens nothing; what may be sent is the domain's
//! to say.

use std::collections::BTreeSet;

use crate::domain::budget::{Dimension, Limit, PerDimension};
use crate::domain::event::{ContractView, Preflight};
use crate::domain::preflight::{Amendment, AmendmentError, step_down, step_up};

use super::asking::Asking;
use super::keymap::Amend;
use super::lang::Lang;
use super::view::preflight as view;

/// A line that can be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A key of the context.
    Key(String),
    /// A number of the budget.
    Limit(Dimension),
}

/// The changes so far.
#[derive(Debug)]
pub struct Draft {
    preflight: Box<Preflight>,
    lang: Lang,
    items: Vec<Item>,
    /// The line of the text that each of them begins in.
    lines: Vec<usize>,
    chosen: Option<usize>,
    lowered: PerDimension<Option<u64>>,
    dropped: BTreeSet<String>,
}

impl Draft {
    /// Nothing is changed yet.
    pub fn of(preflight: &Preflight, lang: Lang) -> Self {
        let contract = &preflight.contract;
        let mut keys: Vec<Item> = Vec::new();
        for card in contract.chosen() {
            let item = Item::Key(card.key.clone());
            if !keys.contains(&item) {
                keys.push(item);
            }
        }
        let limits =
            Dimension::ALL.into_iter().filter(|dimension| limit(contract, *dimension).is_some());
        let items = keys.into_iter().chain(limits.map(Item::Limit)).collect();
        Self {
            preflight: Box::new(preflight.clone()),
            lang,
            items,
            lines: Vec::new(),
            chosen: None,
            lowered: PerDimension::default(),
            dropped: BTreeSet::new(),
        }
    }

    /// What would be given.
    pub fn preflight(&self) -> &Preflight {
        &self.preflight
    }

    /// The language of the screen.
    pub fn lang(&self) -> Lang {
        self.lang
    }

    /// True if this line is chosen.
    pub fn is_chosen(&self, item: &Item) -> bool {
        self.chosen.is_some_and(|chosen| self.items.get(chosen) == Some(item))
    }

    /// The lowered number, in the dimension's unit.
    pub fn lowered(&self, dimension: Dimension) -> Option<u64> {
        self.lowered[dimension]
    }

    /// True if this key is dropped.
    pub fn drops(&self, key: &str) -> bool {
        self.dropped.contains(key)
    }

    /// All changes.
    pub fn amendment(&self) -> Result<Amendment, AmendmentError> {
        Amendment::of(&self.preflight.contract, &self.lowered, self.dropped.iter().cloned())
    }

    /// Lowers the chosen number to the next smaller one that is offered; false if no number is
    /// chosen.
    fn lower(&mut self) -> bool {
        self.step(step_down)
    }

    /// Raises it again, to what was shown at most.
    fn raise(&mut self) -> bool {
        self.step(step_up)
    }

    fn step(&mut self, step: fn(u64, u64) -> u64) -> bool {
        let Some(Item::Limit(dimension)) = self.chosen.and_then(|chosen| self.items.get(chosen))
        else {
            return false;
        };
        let Some(shown) = limit(&self.preflight.contract, *dimension) else { return false };
        let now = step(shown, self.lowered[*dimension].unwrap_or(shown));
        self.lowered[*dimension] = (now < shown).then_some(now);
        true
    }

    /// Drops the chosen key, or takes it back; false if no key is chosen.
    fn toggle(&mut self) -> bool {
        let Some(Item::Key(key)) = self.chosen.and_then(|chosen| self.items.get(chosen)) else {
            return false;
        };
        if !self.dropped.remove(key) {
            self.dropped.insert(key.clone());
        }
        true
    }
}

fn limit(contract: &ContractView, dimension: Dimension) -> Option<u64> {
    match contract.budget[dimension] {
        Limit::Of(limit) => Some(limit),
        Limit::Unlimited | Limit::Off => None,
    }
}

/// Writes the text of a question about a delegation as it stands now.
pub(super) fn rewrite(open: &mut Asking) {
    if let Some(draft) = &mut open.draft {
        let (text, lines) = view::body(draft);
        draft.lines = lines.into_iter().map(|(_, line)| line).collect();
        open.body.rewrite(text);
    }
}

/// What a key does to the delegation that is asked about; what it says if it does nothing.
pub(super) fn amend(open: &mut Asking, how: Amend) -> Option<&'static str> {
    let Some(draft) = &mut open.draft else { return None };
    let lang = draft.lang;
    let done = match how {
        Amend::Up | Amend::Down => {
            choose(open, how == Amend::Down);
            true
        }
        Amend::Lower => draft.lower(),
        Amend::Raise => draft.raise(),
        Amend::Drop => draft.toggle(),
    };
    rewrite(open);
    reveal(open);
    match how {
        _ if done => None,
        Amend::Drop => {
            Some(lang.pick("choose a context key with ↑↓ first", "先用 ↑↓ 选择一个上下文键"))
        }
        Amend::Up | Amend::Down | Amend::Lower | Amend::Raise => Some(
            lang.pick("choose a number of the budget with ↑↓ first", "先用 ↑↓ 选择一个预算数值"),
        ),
    }
}

/// To the next line that can be changed; where that is not on the screen yet, a row on, so that
/// nothing is jumped over.
fn choose(open: &mut Asking, down: bool) {
    let Some(draft) = &mut open.draft else { return };
    let next = match (draft.chosen, down) {
        (None, true) => Some(0),
        (None, false) => None,
        (Some(chosen), true) => Some(chosen + 1),
        (Some(chosen), false) => chosen.checked_sub(1),
    };
    let (first, ended) = open.body.shown_lines();
    match next.and_then(|next| Some((next, *draft.lines.get(next)?))) {
        Some((next, line)) if draft.chosen.is_some() || (first..ended).contains(&line) => {
            draft.chosen = Some(next);
        }
        Some(_) => open.body.scroll(1),
        None if down => open.body.scroll(1),
        None => {
            draft.chosen = None;
            open.body.scroll(-1);
        }
    }
}

/// Brings the chosen line onto the screen.
fn reveal(open: &mut Asking) {
    let Some(draft) = &open.draft else { return };
    if let Some(line) = draft.chosen.and_then(|chosen| draft.lines.get(chosen)) {
        open.body.reveal(*line);
    }
}
