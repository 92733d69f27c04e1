//! What a parent run holds at its start: what the user granted, less what the mode of the moment
//! takes back; and what its commands are not kept from.

use crate::agent::host::Host;
use crate::domain::approval::{Asker, Mode};
use crate::domain::fence::{Fence, FenceLevel};
use crate::domain::role::Permission;
use crate::tool::task;
use crate::tool::toolbox::Toolbox;

/// The tools that run something, whatever permission they need.
const RUN_COMMANDS: [&str; 3] = ["bash", "git_diff", "run_tests"];

/// What of these permissions a run has that starts in this mode. In a mode that only looks the tools
/// for everything else are not even there; a switch of the mode gives them to the next run.
pub(super) fn permissions(granted: &[Permission], mode: Mode) -> Vec<Permission> {
    let looks = |permission: &Permission| match permission {
        Permission::Read | Permission::Delegate => true,
        Permission::Write | Permission::Test | Permission::Execute | Permission::Network => false,
    };
    match mode {
        Mode::ReadOnly => granted.iter().copied().filter(looks).collect(),
        Mode::Ask | Mode::AutoEdit | Mode::FullAccess => granted.to_vec(),
    }
}

/// What to say before anything runs where commands are less than fenced; `None` where all is well, or
/// where nothing can run: no tool that is held and no command of a person's own.
pub(super) fn unfenced(host: &Host, granted: &[Permission], fence: &Fence) -> Option<String> {
    let held = permissions(granted, host.mode());
    let runs = |name: &String| RUN_COMMANDS.contains(&name.as_str());
    let runs = host.asker == Asker::Person || tools(&host.toolbox, &held).iter().any(runs);
    let missing = fence.missing.join(", ");
    let what = match fence.level {
        FenceLevel::Fenced => return None,
        FenceLevel::Partial => format!(
            "commands are fenced in part only ({missing}): what is named there is not protected from \
             them"
        ),
        FenceLevel::Unfenced => format!(
            "commands are not fenced ({missing}): nothing holds them but the system's own \
             permissions, so your other files, the network and your other processes are not \
             protected from them, only offshoot's own environment and memory are"
        ),
    };
    runs.then(|| {
        format!(
            "{what}. This holds for every command that is allowed, be it by a rule, for git_diff and \
             for your own commands (`!`); `offshoot doctor` says what would help"
        )
    })
}

/// The tools that these permissions open, `task` last.
pub(super) fn tools(toolbox: &Toolbox, permissions: &[Permission]) -> Vec<String> {
    let mut tools: Vec<String> = toolbox
        .permissions()
        .into_iter()
        .filter(|(_, needed)| permissions.contains(needed))
        .map(|(name, _)| name)
        .collect();
    tools.sort_by_key(|name| name == task::NAME);
    tools
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_mode_that_looks_takes_anything_back() {
        let all = Permission::ALL;
        assert_eq!(permissions(&all, Mode::ReadOnly), [Permission::Read, Permission::Delegate]);
        for mode in [Mode::Ask, Mode::AutoEdit, Mode::FullAccess] {
            assert_eq!(permissions(&all, mode), all);
        }
        assert_eq!(permissions(&[Permission::Read], Mode::FullAccess), [Permission::Read]);
    }
}
