//! What a canary's effects make of a fence: a step of the ladder, and words for what is missing. Pure:
//! it tries nothing itself.

use crate::domain::fence::{Fence, FenceLevel};
use crate::sandbox::canary::Effects;

/// The fence that let this happen.
pub fn judge(effects: &Effects) -> Fence {
    let missing = missing(effects);
    let level = if missing.is_empty() {
        FenceLevel::Fenced
    } else if holds_nothing(effects) {
        FenceLevel::Unfenced
    } else {
        FenceLevel::Partial
    };
    let missing = missing.into_iter().map(str::to_owned).collect();
    Fence { level, loopback: has_own_loopback(effects), missing, network_open: false }
}

/// A server of its own that nobody outside shares.
fn has_own_loopback(effects: &Effects) -> bool {
    effects.bound_loopback && !effects.reached_network
}

fn missing(effects: &Effects) -> Vec<&'static str> {
    let files = effects.read_outside || effects.changed_outside;
    // A network of its own opens sockets too; they lead nowhere.
    let network = effects.reached_network || (effects.opened_inet && !has_own_loopback(effects));
    [
        (files, "files not fenced"),
        (network, "network not fenced"),
        (effects.opened_local, "local sockets not fenced"),
        (effects.signalled, "signals not fenced"),
        (effects.read_environment, "offshoot's own environment not fenced"),
        (effects.has_capabilities, "root's powers not dropped"),
    ]
    .into_iter()
    .filter_map(|(is_missing, words)| is_missing.then_some(words))
    .collect()
}

/// That offshoot's own environment is closed, and powers are dropped, makes no fence by itself.
fn holds_nothing(effects: &Effects) -> bool {
    (effects.read_outside || effects.changed_outside)
        && effects.opened_inet
        && effects.opened_local
        && effects.signalled
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Effects = Effects {
        read_outside: false,
        changed_outside: false,
        opened_inet: false,
        reached_network: false,
        opened_local: false,
        signalled: false,
        read_environment: false,
        bound_loopback: false,
        has_capabilities: false,
    };
    const OPEN: Effects = Effects {
        read_outside: true,
        changed_outside: true,
        opened_inet: true,
        reached_network: true,
        opened_local: true,
        signalled: true,
        read_environment: false,
        bound_loopback: true,
        has_capabilities: false,
    };

    #[test]
    fn each_step_of_the_ladder_is_told_by_its_effects() {
        use FenceLevel::{Fenced, Partial, Unfenced};
        let own_network = Effects { opened_inet: true, bound_loopback: true, ..NONE };
        let table: &[(&str, Effects, FenceLevel, bool, &str)] = &[
            ("Landlock and filters", NONE, Fenced, false, "fenced"),
            ("with namespaces", own_network, Fenced, true, "fenced"),
            (
                "Landlock without signals",
                Effects { signalled: true, ..NONE },
                Partial,
                false,
                "partial (signals not fenced)",
            ),
            (
                "filters alone",
                Effects { read_outside: true, signalled: true, ..NONE },
                Partial,
                false,
                "partial (files not fenced, signals not fenced)",
            ),
            (
                "only reading is closed",
                Effects { changed_outside: true, ..NONE },
                Partial,
                false,
                "partial (files not fenced)",
            ),
            (
                "Landlock alone: datagrams get out",
                Effects { opened_inet: true, opened_local: true, ..NONE },
                Partial,
                false,
                "partial (network not fenced, local sockets not fenced)",
            ),
            (
                "namespaces alone",
                Effects { reached_network: false, ..OPEN },
                Unfenced,
                true,
                "unfenced (files not fenced, local sockets not fenced, signals not fenced)",
            ),
            (
                "root with its powers is never fenced",
                Effects { has_capabilities: true, ..NONE },
                Partial,
                false,
                "partial (root's powers not dropped)",
            ),
            (
                "an environment that can be read is never fenced",
                Effects { read_environment: true, ..own_network },
                Partial,
                true,
                "partial (offshoot's own environment not fenced)",
            ),
            (
                "nothing",
                OPEN,
                Unfenced,
                false,
                "unfenced (files not fenced, network not fenced, local sockets not fenced, signals \
                 not fenced)",
            ),
        ];
        for (what, effects, level, loopback, words) in table {
            let fence = judge(effects);
            assert_eq!((fence.level, fence.loopback), (*level, *loopback), "{what}");
            assert_eq!(fence.to_string(), *words, "{what}");
        }
    }

    #[test]
    fn a_server_that_shares_the_machines_loopback_is_no_loopback_of_its_own() {
        let shared = Effects { bound_loopback: true, reached_network: true, ..NONE };
        let fence = judge(&shared);
        assert!(!fence.loopback);
        assert_eq!(fence.missing, ["network not fenced"]);
    }
}
