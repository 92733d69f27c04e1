//! All of it once more as a user who may do little, since that is who mostly runs it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use tempfile::TempDir;

use crate::common::aloud;
use crate::ground::{HELPER, alone};
use crate::powers::{self, NOBODY};

#[test]
fn the_same_holds_for_a_user_without_privileges() {
    alone(async |_ground| {
        if !rustix::process::geteuid().is_root() {
            return aloud::skipped(
                "already a user without privileges: the other tests are the same",
            );
        }
        if !powers::can_become_others() {
            return aloud::skipped("this root cannot be made nobody to run the tests again");
        }
        let place = TempDir::new().unwrap();
        let (tests, helper) = (place.path().join("tests"), place.path().join("offshoot"));
        fs::copy(std::env::current_exe().unwrap(), &tests).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_offshoot"), &helper).unwrap();
        let temporary = place.path().join("tmp");
        fs::create_dir(&temporary).unwrap();
        chown(&temporary, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let output = Command::new(&tests)
            .args(["--skip", "the_same_holds", "--test-threads", "1"])
            .env(HELPER, &helper)
            .env("TMPDIR", &temporary)
            .current_dir(&temporary)
            .uid(NOBODY)
            .gid(NOBODY)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    });
}
