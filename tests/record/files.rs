//! Which file gets what and in which order, who may read it, and what is kept beside it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot::domain::event::{Event, Line};
use offshoot::journal::jsonl::Journal;
use serde_json::Value;

use crate::ground::{
    Kit, SESSION, child, conversation, delta, everything, finished, lines, not_saved, parent,
    run_finished, run_started, save,
};

fn types(lines: &[Line]) -> Vec<String> {
    let name = |line: &Line| match serde_json::to_value(&line.event.fact).unwrap() {
        Value::Object(fields) => fields["type"].as_str().unwrap().to_owned(),
        other => panic!("{other}"),
    };
    lines.iter().map(name).collect()
}

#[tokio::test(start_paused = true)]
async fn each_event_is_in_the_files_it_belongs_into() {
    let dir = tempfile::tempdir().unwrap();
    let told = save(dir.path(), conversation()).await;
    let session = dir.path().join(SESSION.to_string());
    let files: Vec<PathBuf> = everything(dir.path()).into_keys().collect();
    let expected =
        ["session.jsonl", "traces/t1.1.jsonl", "traces/t2.1.jsonl"].map(|name| session.join(name));
    assert_eq!(files, expected);

    let in_session = [
        "context_added",
        "message",
        "run_started",
        "task_queued",
        "run_started",
        "run_started",
        "run_finished",
        "run_finished",
        "run_finished",
        "session_finished",
    ];
    assert_eq!(types(&lines(&files[0])), in_session);
    let in_first = ["run_started", "tool_started", "tool_finished", "usage", "run_finished"];
    assert_eq!(types(&lines(&files[1])), in_first);
    let in_second = ["run_started", "tool_started", "tool_finished", "run_finished"];
    assert_eq!(types(&lines(&files[2])), in_second);
    assert_eq!(told.len(), conversation().len(), "the subscriber is told everything");
}

#[tokio::test(start_paused = true)]
async fn seq_counts_the_lines_of_a_file_and_id_is_the_same_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let told = save(dir.path(), conversation()).await;
    let by_id: BTreeMap<u64, &Arc<Event>> = told.iter().map(|event| (event.id, event)).collect();
    assert_eq!(by_id.keys().copied().collect::<Vec<_>>(), (1..=17).collect::<Vec<u64>>());
    for path in everything(dir.path()).into_keys() {
        let lines = lines(&path);
        let seqs: Vec<u64> = lines.iter().map(|line| line.seq).collect();
        assert_eq!(seqs, (1..=lines.len() as u64).collect::<Vec<_>>(), "{}", path.display());
        assert!(lines.iter().all(|line| line.v == 1));
        assert!(lines.windows(2).all(|pair| pair[0].event.id < pair[1].event.id));
        for line in lines {
            let seen = by_id[&line.event.id];
            assert_eq!((&line.event.origin, line.event.ts), (&seen.origin, seen.ts));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn files_and_folders_are_the_users_alone() {
    let dir = tempfile::tempdir().unwrap();
    save(&dir.path().join("made/here"), conversation()).await;
    let session = dir.path().join("made/here").join(SESSION.to_string());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for folder in [dir.path().join("made"), session.clone(), session.join("traces")] {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
    }
    for file in everything(dir.path()).into_keys() {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_made_before_there_is_something_to_write() {
    let dir = tempfile::tempdir().unwrap();
    save(dir.path(), vec![(parent(), delta("words only"))]).await;
    assert_eq!(everything(dir.path()).len(), 0);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn two_writers_never_share_a_session() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = Kit::new(Some(Journal::create(dir.path(), SESSION)), 4096);
    first.hub.emit(&parent(), run_started("parent", 0, "first")).await;
    first.events.recv().await.unwrap();
    let path = dir.path().join(SESSION.to_string()).join("session.jsonl");
    let before = fs::read(&path).unwrap();
    assert!(fs::File::open(&path).unwrap().try_lock().is_err(), "the file is locked");

    let told = save(dir.path(), conversation()).await;
    assert!(not_saved(&told)[0].contains("another offshoot is writing"), "{told:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
    first.told().await;

    let told = save(dir.path(), conversation()).await;
    assert!(not_saved(&told)[0].contains("earlier session"), "{told:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_speaks_after_its_end_goes_on_in_its_trace() {
    let dir = tempfile::tempdir().unwrap();
    let mut kit = Kit::new(Some(Journal::create(dir.path(), SESSION)), 4096);
    for fact in [run_started("researcher", 1, "q"), run_finished(None), finished("late")] {
        kit.hub.emit(&child(1), fact).await;
        kit.events.recv().await.unwrap();
    }
    assert_eq!(not_saved(&kit.told().await), [""; 0]);
    let trace = dir.path().join(SESSION.to_string()).join("traces/t1.1.jsonl");
    let seqs: Vec<u64> = lines(&trace).iter().map(|line| line.seq).collect();
    assert_eq!(seqs, [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn saving_does_not_move_a_paused_clock() {
    let dir = tempfile::tempdir().unwrap();
    let before = tokio::time::Instant::now();
    let timer = tokio::time::sleep(std::time::Duration::from_hours(1));
    tokio::pin!(timer);
    tokio::select! {
        biased;
        () = async { drop(save(dir.path(), conversation()).await) } => {}
        () = &mut timer => panic!("an hour passed while a file was written"),
    }
    assert_eq!(before.elapsed(), std::time::Duration::ZERO);
}
