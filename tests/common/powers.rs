//! What whoever runs the tests can do beyond others. To be root is not enough: inside a container root
//! may have been left no power at all.
#![allow(dead_code, reason = "each test file uses its own part of the harness")]

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// `nobody`, on every system.
pub const NOBODY: u32 = 65_534;

/// True if files can be given away and processes be started as somebody else.
pub fn can_become_others() -> bool {
    // Whoever is nobody already can become that.
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    let mut harmless = Command::new("true");
    harmless.stdin(Stdio::null()).stdout(Stdio::null()).uid(NOBODY).gid(NOBODY);
    harmless.status().is_ok_and(|status| status.success())
}

/// True if no permission of a file or folder holds whoever runs this back.
pub fn ignores_permissions() -> bool {
    let Ok(folder) = tempfile::TempDir::new() else { return false };
    let locked = std::fs::Permissions::from_mode(0o555);
    std::fs::set_permissions(folder.path(), locked).is_ok()
        && std::fs::write(folder.path().join("file"), "").is_ok()
}
