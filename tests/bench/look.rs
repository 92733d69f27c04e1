//! What it costs to know what a command changed, in a project of ten thousand files: the first look,
//! which copies them, and the two looks around each command, which find nothing or one file.
//!
//! Run with `cargo bench --bench look`.
#![allow(clippy::unwrap_used, reason = "a benchmark")]

use std::fs;

use divan::Bencher;
use offshoot::workspace::Workspace;
use offshoot::workspace::shadow::Shadow;
use offshoot::workspace::snapshot::Tracker;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const FOLDERS: usize = 100;
const FILES_EACH: usize = 100;

fn main() {
    divan::main();
}

/// A project of files of two kilobytes, older than any tick of a clock.
fn project() -> TempDir {
    let folder = TempDir::new().unwrap();
    for outer in 0..FOLDERS {
        let inner = folder.path().join(format!("d{}/e{outer}", outer % 10));
        fs::create_dir_all(&inner).unwrap();
        for number in 0..FILES_EACH {
            let text = format!("{outer} {number}\n").repeat(256);
            fs::write(inner.join(format!("file{number}.rs")), text).unwrap();
        }
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    folder
}

fn look(tracker: &Tracker, workspace: &Workspace) -> usize {
    tracker.refresh(workspace, &CancellationToken::new()).differences.len()
}

#[divan::bench(sample_count = 10)]
fn the_first_look_with_copies_on_disk(bencher: Bencher) {
    let (folder, copies) = (project(), TempDir::new().unwrap());
    let workspace = Workspace::open(folder.path()).unwrap();
    let mut number = 0;
    bencher
        .with_inputs(|| {
            number += 1;
            Tracker::new(Shadow::in_folder(copies.path().join(number.to_string())))
        })
        .bench_local_values(|tracker| look(&tracker, &workspace));
}

#[divan::bench(sample_count = 10)]
fn the_first_look_with_copies_in_memory(bencher: Bencher) {
    let folder = project();
    let workspace = Workspace::open(folder.path()).unwrap();
    bencher
        .with_inputs(|| Tracker::new(Shadow::in_memory()))
        .bench_local_values(|tracker| look(&tracker, &workspace));
}

#[divan::bench]
fn a_look_that_finds_nothing(bencher: Bencher) {
    let folder = project();
    let workspace = Workspace::open(folder.path()).unwrap();
    let tracker = Tracker::new(Shadow::in_memory());
    look(&tracker, &workspace);
    bencher.bench_local(|| assert_eq!(look(&tracker, &workspace), 0));
}

#[divan::bench]
fn a_look_that_finds_one_file(bencher: Bencher) {
    let folder = project();
    let workspace = Workspace::open(folder.path()).unwrap();
    let tracker = Tracker::new(Shadow::in_memory());
    look(&tracker, &workspace);
    let mut number = 0;
    bencher
        .with_inputs(|| {
            number += 1;
            fs::write(folder.path().join("d1/e1/file1.rs"), number.to_string()).unwrap();
        })
        .bench_local_values(|()| assert_eq!(look(&tracker, &workspace), 1));
}

#[divan::bench]
fn one_file_that_a_tool_names(bencher: Bencher) {
    let folder = project();
    let workspace = Workspace::open(folder.path()).unwrap();
    let tracker = Tracker::new(Shadow::in_memory());
    bencher.bench_local(|| tracker.look_at(&workspace, "d1/e1/file1.rs", true));
}
