//! What a run is told of what it may do. Only words: what it really may is in its contract, and who
//! is asked is decided call by call.

use std::collections::BTreeSet;

use crate::domain::approval::{ApprovePolicy, Asker};
use crate::domain::role::Permission;

const LOOK: &str = "In this mode you can look at files but change nothing and run nothing; if the \
                    person asks for that, say so and tell them what you would change.";
const ASK: &str = "As the person set it, a change or a command may be shown to them first. If they \
                   deny it, heed their reason and do not try another way to the same end.";
const NEVER: &str = "Nobody is there to be asked: a change or a command is denied unless a rule of \
                     the person allows it, and one denial marks this run as blocked. If the work \
                     needs one, tell what you would do instead of trying.";
const EDITS: &str = "Nobody is there to be asked: files may be changed, but a command is denied \
                     unless a rule of the person allows it, and one denial marks this run as \
                     blocked. If the work needs one, tell which instead of trying.";
const ALL: &str = "Nobody is there to be asked: what the person's rules deny, or would ask about, is \
                   denied, and one denial marks this run as blocked.";

/// For the run that answers the user.
pub(super) fn parent(permissions: &BTreeSet<Permission>, asker: Asker) -> &'static str {
    if !does(permissions) {
        return LOOK;
    }
    match asker {
        Asker::Person => ASK,
        Asker::Nobody(ApprovePolicy::Never) => NEVER,
        Asker::Nobody(ApprovePolicy::Edits) => EDITS,
        Asker::Nobody(ApprovePolicy::All) => ALL,
    }
}

/// For a child.
pub(super) fn child(permissions: &BTreeSet<Permission>) -> &'static str {
    let writes = permissions.contains(&Permission::Write);
    let runs = permissions.contains(&Permission::Execute);
    match (writes, runs, does(permissions)) {
        (_, _, false) => "You can look, and change nothing.",
        (false, false, true) => "You can look and run the project's tests, and change nothing.",
        (true, false, _) => {
            "You may change files as far as the task says. A change may be denied: then do not look \
             for a way around it, report it."
        }
        (true, true, _) => {
            "You may change files and run commands as far as the task says. A change or a command may \
             be denied: then do not look for a way around it, report it."
        }
        (false, true, _) => {
            "You may run commands as far as the task says, and change no files. A command may be \
             denied: then do not look for a way around it, report it."
        }
    }
}

fn does(permissions: &BTreeSet<Permission>) -> bool {
    permissions.iter().any(|permission| match permission {
        Permission::Write | Permission::Test | Permission::Execute | Permission::Network => true,
        Permission::Read | Permission::Delegate => false,
    })
}
