//! What a parent run holds at its start: what the user granted, less what the mode of the moment
//! takes back.

use crate::domain::approval::Mode;
use crate::domain::role::Permission;
use crate::tool::task;
use crate::tool::toolbox::Toolbox;

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
