//! The loop guard, the same for parent and child: notices a run that repeats itself. It sees names,
//! arguments and results, never ids, because a repeating model makes up a fresh id each time.

use std::collections::VecDeque;

use crate::domain::hash::Sha;

/// Equal batches (or cycles of up to three batches) before a warning.
const EQUAL_BATCHES: usize = 4;
/// Identical errors in a row before a warning.
const EQUAL_ERRORS: usize = 3;
/// The longest cycle that is noticed, in batches.
const LONGEST_CYCLE: usize = 3;

/// One call with what it came to.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// The arguments as text.
    pub arguments: &'a str,
    /// The result as the model reads it.
    pub output: &'a str,
    /// False for an error.
    pub ok: bool,
}

/// What the guard makes of the newest batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to say.
    Fine,
    /// The model should be warned.
    Warn,
    /// The next turn is to be the wrap-up.
    Stop,
}

/// What a run did lately.
#[derive(Debug, Default)]
pub struct LoopGuard {
    batches: VecDeque<Sha>,
    last_error: Option<Sha>,
    equal_errors: usize,
}

impl LoopGuard {
    /// Takes note of a batch, in call order.
    pub fn observe(&mut self, batch: &[Observed<'_>]) -> Verdict {
        if batch.is_empty() {
            return Verdict::Fine;
        }
        self.remember(batch);
        let errors = self.count_errors(batch);
        let repeats = self.longest_repetition();
        if errors > EQUAL_ERRORS || repeats > EQUAL_BATCHES {
            Verdict::Stop
        } else if errors == EQUAL_ERRORS || repeats == EQUAL_BATCHES {
            Verdict::Warn
        } else {
            Verdict::Fine
        }
    }

    fn remember(&mut self, batch: &[Observed<'_>]) {
        let mut text = String::new();
        for call in batch {
            for part in [call.name, call.arguments, call.output] {
                text.push_str(part);
                text.push('\0');
            }
        }
        self.batches.push_back(Sha::of(text));
        while self.batches.len() > LONGEST_CYCLE * (EQUAL_BATCHES + 1) {
            self.batches.pop_front();
        }
    }

    /// In how many batches in a row the newest error came. Equal errors of one batch count once:
    /// the model has not read the first of them yet.
    fn count_errors(&mut self, batch: &[Observed<'_>]) -> usize {
        let mut counted = None;
        for call in batch {
            if call.ok {
                (self.last_error, self.equal_errors) = (None, 0);
                continue;
            }
            let error = Sha::of(format!("{}\0{}", call.name, call.output));
            if counted.as_ref() == Some(&error) {
                continue;
            }
            counted = Some(error.clone());
            if self.last_error.as_ref() == Some(&error) {
                self.equal_errors += 1;
            } else {
                (self.last_error, self.equal_errors) = (Some(error), 1);
            }
        }
        self.equal_errors
    }

    /// How often the newest cycle of one, two or three batches stands in a row at the end. A
    /// started further round counts, so that one more batch after the warning is enough to stop.
    fn longest_repetition(&self) -> usize {
        (1..=LONGEST_CYCLE).map(|period| self.repetitions(period)).max().unwrap_or(0)
    }

    fn repetitions(&self, period: usize) -> usize {
        let newest = self.batches.len();
        let periodic = (period..newest)
            .rev()
            .take_while(|&index| self.batches[index] == self.batches[index - period])
            .count();
        if periodic == 0 {
            return 1;
        }
        (periodic + period).div_ceil(period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(name: &'a str, output: &'a str, ok: bool) -> Observed<'a> {
        Observed { name, arguments: "{}", output, ok }
    }

    fn verdicts(outputs: &[&str], ok: bool) -> Vec<Verdict> {
        let mut guard = LoopGuard::default();
        outputs.iter().map(|output| guard.observe(&[call("search", output, ok)])).collect()
    }

    #[test]
    fn the_fourth_equal_call_warns_and_the_fifth_stops() {
        use Verdict::{Fine, Stop, Warn};
        assert_eq!(verdicts(&["a"; 5], true), [Fine, Fine, Fine, Warn, Stop]);
    }

    #[test]
    fn the_third_identical_error_warns_and_the_fourth_stops() {
        use Verdict::{Fine, Stop, Warn};
        assert_eq!(verdicts(&["no"; 4], false), [Fine, Fine, Warn, Stop]);
    }

    #[test]
    fn a_changing_result_is_progress() {
        let outputs = ["1", "2", "3", "4", "5", "6", "7", "8"];
        assert!(verdicts(&outputs, true).iter().all(|verdict| *verdict == Verdict::Fine));
    }

    #[test]
    fn cycles_of_two_and_three_are_noticed_within_five_rounds() {
        for cycle in [vec!["a", "b"], vec!["a", "b", "c"]] {
            let outputs: Vec<&str> =
                cycle.iter().copied().cycle().take(cycle.len() * 4 + 1).collect();
            let verdicts = verdicts(&outputs, true);
            assert_eq!(verdicts.last(), Some(&Verdict::Stop), "{cycle:?}");
            assert!(verdicts.contains(&Verdict::Warn), "{cycle:?}");
            let quiet = cycle.len() * 3;
            assert!(verdicts[..quiet].iter().all(|v| *v == Verdict::Fine), "{cycle:?}");
        }
    }

    #[test]
    fn equal_errors_of_one_batch_count_once() {
        let mut guard = LoopGuard::default();
        let batch = [call("task", "no", false); 8];
        assert_eq!(guard.observe(&batch), Verdict::Fine);
        assert_eq!(guard.observe(&batch), Verdict::Fine);
        assert_eq!(guard.observe(&batch), Verdict::Warn);
        assert_eq!(guard.observe(&batch), Verdict::Stop);
    }

    #[test]
    fn a_success_between_errors_starts_the_count_anew() {
        let mut guard = LoopGuard::default();
        for step in 0..10 {
            let fine = format!("fine {step}");
            assert_eq!(guard.observe(&[call("read_file", "no", false)]), Verdict::Fine);
            assert_eq!(guard.observe(&[call("read_file", &fine, true)]), Verdict::Fine);
        }
    }
}
