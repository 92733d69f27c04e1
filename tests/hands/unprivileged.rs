//! What only shows for a user whom the system refuses things: these tests run once more as nobody
//! where they are run by root.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use offshoot::workspace::Workspace;
use serde_json::json;
use tempfile::TempDir;

use crate::ground::{Ground, scopes};
use crate::powers;

/// Set in the run as nobody.
const AGAIN: &str = "OFFSHOOT_TEST_AS_NOBODY";

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn the_tests_pass_for_a_user_without_rights() {
    if !is_root() {
        // They are run by one already, or this is that run.
        assert!(std::env::var_os(AGAIN).is_none() || Path::new("/").metadata().unwrap().uid() == 0);
        return;
    }
    if !powers::can_become_others() {
        crate::aloud::skipped("this root cannot be made nobody to run the tests again");
        return;
    }
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("hands");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&program)
        .args([
            "write::",
            "edit::",
            "public::",
            "escapes",
            "added::",
            "unprivileged::",
            "an_unreadable",
        ])
        .args(["--skip", "again_and_again"])
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .env("HOME", folder.path())
        .env(AGAIN, "1")
        .env_remove("OFFSHOOT_SOAK")
        .output();
    let Ok(ended) = ended else {
        crate::aloud::skipped("there is no setpriv to run the tests as nobody with");
        return;
    };
    let out = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{out}\n{}", String::from_utf8_lossy(&ended.stderr));
    assert!(out.contains("test write::"), "{out}");
}

#[test]
fn what_belongs_to_the_system_is_not_written_and_the_reason_is_told() {
    if is_root() {
        // What belongs to the system is root's; the run as nobody has this test, too.
        return;
    }
    let etc = Workspace::open(Path::new("/etc")).unwrap();
    let all = scopes(&["."]);
    let error = etc.spot(&all, "passwd").unwrap_err().to_string();
    assert_eq!(error, "permission to write `passwd` is denied by the system");
    let spot = etc.spot(&all, "offshoot-was-here").unwrap();
    let error = spot.write(&etc, b"x").unwrap_err().to_string();
    assert_eq!(error, "permission to write `offshoot-was-here` is denied by the system");
    let spot = etc.spot(&all, "offshoot/was/here").unwrap();
    let error = spot.write(&etc, b"x").unwrap_err().to_string();
    assert_eq!(error, "permission to write `offshoot/was/here` is denied by the system");
}

#[test]
fn a_folder_that_takes_no_files_keeps_what_it_has() {
    let ground = Ground::new();
    ground.file("locked/a.txt", "old");
    let locked = ground.root().join("locked");
    let run = ground.run(&["."]);
    run.read("locked/a.txt");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    let outputs = ["locked/a.txt", "locked/new.txt", "locked/deep/new.txt"]
        .map(|path| run.call("write_file", json!({"path": path, "content": "new"})));
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    if powers::ignores_permissions() {
        assert!(outputs.iter().all(|output| output.ok));
        return;
    }
    for output in outputs {
        assert!(output.text.starts_with("permission to write `locked/"), "{}", output.text);
    }
    assert_eq!(fs::read_dir(&locked).unwrap().count(), 1);
    assert_eq!(ground.read("locked/a.txt"), b"old");
}

#[test]
fn a_file_of_another_user_stays_theirs_when_root_edits_it() {
    if !powers::can_become_others() {
        crate::aloud::skipped("only a root with its powers can give files away and keep them so");
        return;
    }
    let ground = Ground::new();
    for (path, mode) in [("theirs.txt", 0o640), ("program", 0o6755)] {
        ground.file(path, "old");
        let file = ground.root().join(path);
        std::os::unix::fs::chown(&file, Some(1_234), Some(2_345)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let edit = json!({"path": path, "old_text": "old", "new_text": "new"});
        let output = ground.call("edit_file", edit);
        assert_eq!(output.text, format!("edited {path}: 1 replacement (line 1)"));
        let found = fs::metadata(&file).unwrap();
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (1_234, 2_345, mode));
    }
}
