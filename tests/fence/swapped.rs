//! Grounds that are not what they were when the command was allowed.

use std::fs;
use std::os::unix::fs::symlink;

use offshoot::domain::fence::FenceLevel;
use offshoot::sandbox::Outcome;

use crate::aloud;
use crate::scene;

#[tokio::test]
async fn a_ground_that_was_swapped_for_a_link_grants_nothing_behind_it() {
    let sandbox = scene::sandbox();
    let fence = sandbox.fence().await;
    if fence.missing.iter().any(|missing| missing.contains("files")) {
        return aloud::skipped(&format!("swapped grounds: {fence}"));
    }
    let root = scene::folder();
    let (work, outside) = (root.path().join("work"), root.path().join("outside"));
    for folder in [&work, &outside] {
        fs::create_dir(folder).unwrap();
    }
    fs::write(outside.join("secret"), scene::SECRET).unwrap();
    let scope = work.join("scope");
    let deep = scope.join("deep");
    symlink(&outside, &scope).unwrap();
    fs::create_dir(outside.join("deep")).unwrap();
    fs::write(outside.join("deep/secret"), scene::SECRET).unwrap();
    for ground in [&scope, &deep] {
        let script = "cat secret deep/secret; echo x > new; echo x > deep/new; exit 7";
        let mut job = scene::job(ground, &["/bin/sh", "-c", script]);
        job.folder.clone_from(&outside);
        let ran = scene::run(&sandbox, job).await;
        assert_eq!(ran.outcome, Outcome::Exited(7), "{}", ran.text);
        assert!(!ran.text.contains(scene::SECRET), "{}", ran.text);
        assert!(!outside.join("new").exists() && !outside.join("deep/new").exists());
    }
    scene::again_without_powers(
        "swapped::a_ground_that_was_swapped_for_a_link_grants_nothing_behind_it",
    );
}

#[tokio::test]
async fn a_ground_that_does_not_exist_grants_nothing_when_it_comes() {
    let sandbox = scene::sandbox();
    if sandbox.fence().await.level != FenceLevel::Fenced {
        return aloud::skipped("grounds to come: commands are not fenced here");
    }
    let root = scene::folder();
    let work = root.path().join("work");
    fs::create_dir(&work).unwrap();
    let later = root.path().join("later");
    let mut job = scene::job(&work, &["/bin/sh", "-c", "mkdir ../later; echo x > ../later/x"]);
    job.ground.writable.push(later.clone());
    let ran = scene::run(&sandbox, job).await;
    assert!(matches!(ran.outcome, Outcome::Exited(code) if code != 0));
    assert!(!later.exists());
}

#[tokio::test]
async fn what_may_be_read_only_is_not_changed() {
    let sandbox = scene::sandbox();
    if sandbox.fence().await.level != FenceLevel::Fenced {
        return aloud::skipped("reading only: commands are not fenced here");
    }
    let (work, readable) = (scene::folder(), scene::folder());
    fs::write(readable.path().join("file"), "as it was").unwrap();
    let script = "cat \"$1\" && ! echo x > \"$1\" && ! rm \"$1\"";
    let file = readable.path().join("file");
    let command = ["/bin/sh", "-c", script, "sh", file.to_str().unwrap()];
    let mut job = scene::job(work.path(), &command);
    job.ground.readable.push(readable.path().to_owned());
    let ran = scene::run(&sandbox, job).await;
    assert_eq!(ran.outcome, Outcome::Exited(0), "{}", ran.text);
    assert!(ran.text.contains("as it was"));
    assert_eq!(fs::read_to_string(file).unwrap(), "as it was");
}
