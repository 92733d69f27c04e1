//! Which end a report tells where several meet. It refuses to know how any of them was found out.
//!
//! From the one that counts most:
//!
//! 1. the run failed, was blocked, was cancelled or timed out: somebody outside of it ended it, and
//!    whoever reads that relies on nothing;
//! 2. the answer is too large, names another task as its own, or something was changed that the
//!    contract does not allow: `invalid_result`, since not even as a lead is it to be relied on;
//! 3. a dimension of its budget ran out: a lead;
//! 4. the answer lacks what its role must report: `invalid_result`, of a run that ended by itself;
//! 5. nothing of all this: `completed`.

use crate::domain::report::Ending;

/// How an answer, or what was done for it, breaks the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Over a mebibyte.
    TooLarge,
    /// It names another task as its own.
    Foreign,
    /// Something was changed outside of the paths, or by a run that may only read.
    Trespass,
    /// A required field is missing or ill-typed.
    Incomplete,
}

/// The end of a run that ended so and has this fault. The order in which faults are told makes no
/// difference.
pub(super) fn with(ending: Ending, fault: Fault) -> Ending {
    match (ending, fault) {
        (Ending::Completed | Ending::Invalid, _)
        | (
            Ending::Exhausted(_) | Ending::Overrun(_),
            Fault::TooLarge | Fault::Foreign | Fault::Trespass,
        ) => Ending::Invalid,
        (
            Ending::Exhausted(_)
            | Ending::Overrun(_)
            | Ending::Cancelled(_)
            | Ending::TimedOut
            | Ending::Blocked(_)
            | Ending::Failed(_),
            _,
        ) => ending,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::budget::Dimension;
    use crate::domain::report::{By, Exhausted};
    use crate::domain::violation::Code;

    const FAULTS: [Fault; 4] =
        [Fault::TooLarge, Fault::Foreign, Fault::Trespass, Fault::Incomplete];

    #[test]
    fn every_end_meets_every_fault_in_the_documented_order() {
        let invalid = [true, true, true, true];
        let but_for_fields = [true, true, true, false];
        let never = [false; 4];
        for (ending, is_invalid) in [
            (Ending::Completed, invalid),
            (Ending::Invalid, invalid),
            (Ending::Exhausted(Exhausted::Turns), but_for_fields),
            (Ending::Exhausted(Exhausted::OutputTokens), but_for_fields),
            (Ending::Exhausted(Exhausted::Duration), but_for_fields),
            (Ending::Overrun(Dimension::OutputTokens), but_for_fields),
            (Ending::Cancelled(By::User), never),
            (Ending::Cancelled(By::Budget), never),
            (Ending::TimedOut, never),
            (Ending::Blocked(Code::Denied), never),
            (Ending::Failed(Code::ProviderError), never),
        ] {
            for (fault, is_invalid) in FAULTS.into_iter().zip(is_invalid) {
                let right = if is_invalid { Ending::Invalid } else { ending };
                assert_eq!(with(ending, fault), right, "{ending:?} {fault:?}");
                for other in FAULTS {
                    let (one, two) =
                        (with(with(ending, fault), other), with(with(ending, other), fault));
                    assert_eq!(one, two, "{ending:?} {fault:?} {other:?}");
                }
            }
        }
    }
}
