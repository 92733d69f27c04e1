//! A process that is killed while it writes leaves the old content or the new, and nothing that the
//! next write does not clean up.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::ground::{Ground, temporaries};
use crate::soak::{rounds, soak};

/// Tells this test, started once more by itself, where to write until it is killed.
const FOLDER: &str = "OFFSHOOT_TEST_WRITES_IN";
const BYTES: usize = 1_000_000;

fn content(round: usize) -> String {
    let letter = char::from(b'a' + u8::try_from(round % 26).unwrap());
    letter.to_string().repeat(BYTES)
}

/// Whole, of one letter.
fn is_whole(found: &[u8]) -> bool {
    found.len() == BYTES && found.iter().all(|byte| *byte == found[0])
}

/// Replaces one file again and again, edits it, and makes new ones.
fn write_until_killed(folder: &Path) -> ! {
    let ground = Ground::at(folder);
    let run = ground.run(&["."]);
    run.read("d/a.txt");
    for round in 0.. {
        let whole = json!({"path": "d/a.txt", "content": content(round)});
        assert!(run.call("write_file", whole).ok);
        let edit =
            json!({"path": "d/a.txt", "old_text": content(round), "new_text": content(round + 7)});
        assert!(run.call("edit_file", edit).ok);
        let new = json!({"path": format!("d/new-{}.txt", round % 4), "content": content(round)});
        let path = folder.join("ws").join(new["path"].as_str().unwrap());
        let _ = fs::remove_file(path);
        assert!(run.call("write_file", new).ok);
    }
    unreachable!("it is killed")
}

fn start(folder: &Path) -> Child {
    let name = "torn::a_kill_at_any_moment_leaves_the_old_or_the_new_content";
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(FOLDER, folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the child has written at least once more.
fn wait_for_a_write(path: &Path, child: &mut Child) {
    use std::os::unix::fs::MetadataExt as _;
    let inode = || fs::metadata(path).unwrap().ino();
    let (before, began) = (inode(), Instant::now());
    while inode() == before {
        assert!(child.try_wait().unwrap().is_none(), "the writer ended by itself");
        assert!(began.elapsed() < Duration::from_mins(1), "the writer does not write");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_or_the_new_content() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        write_until_killed(&PathBuf::from(folder));
    }
    let ground = Ground::new();
    ground.file("d/a.txt", content(0));
    let file = ground.root().join("d/a.txt");
    let (mut strays, rounds) = (0, rounds(12, 200));
    for round in 0..rounds {
        let mut child = start(&ground.base());
        wait_for_a_write(&file, &mut child);
        // Another moment each time, over more than one whole write.
        thread::sleep(Duration::from_micros(u64::from(round * 7_919 % 40_000)));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9), "the writer failed by itself");
        for entry in fs::read_dir(ground.root().join("d")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if name.starts_with('.') {
                strays += 1;
            } else {
                assert!(is_whole(&fs::read(&path).unwrap()), "{name} in round {round}");
            }
        }
        let next = json!({"path": "d/next.txt", "content": "x"});
        let output = ground.call("write_file", next);
        fs::remove_file(ground.root().join("d/next.txt")).unwrap();
        assert!(output.ok, "{}", output.text);
        assert_eq!(temporaries(&ground.root()), Vec::<String>::new(), "round {round}");
    }
    if soak() {
        crate::aloud::told(&format!("{rounds} kills, {strays} left a temporary file"));
        assert!(strays > 0, "no kill came while a file was being written");
    }
}
