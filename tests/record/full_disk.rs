//! A record that cannot be written: said once, with whole and without an end of the session.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use offshoot::domain::event::{Fact, Line};
use offshoot::journal::jsonl::Journal;
use offshoot::journal::store::{RecordFile, Store};
use offshoot::journal::trace::FileName;

use crate::ground::{
    Kit, SESSION, child, conversation, finished, not_saved, parent, run_finished, run_started, save,
};

/// A store that takes so many bytes and no more.
struct Full {
    room: Arc<Mutex<usize>>,
    files: Arc<Mutex<BTreeMap<FileName, Vec<u8>>>>,
}

struct FullFile {
    name: FileName,
    room: Arc<Mutex<usize>>,
    files: Arc<Mutex<BTreeMap<FileName, Vec<u8>>>>,
}

impl Store for Full {
    fn path(&self, file: &FileName) -> PathBuf {
        Path::new("/full").join(file.path())
    }

    fn create(&mut self, file: &FileName) -> io::Result<Box<dyn RecordFile>> {
        self.reopen(file)
    }

    fn reopen(&mut self, file: &FileName) -> io::Result<Box<dyn RecordFile>> {
        let (room, files) = (Arc::clone(&self.room), Arc::clone(&self.files));
        Ok(Box::new(FullFile { name: file.clone(), room, files }))
    }
}

impl Write for FullFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut room = self.room.lock().unwrap();
        let taken = bytes.len().min(*room);
        *room -= taken;
        let mut files = self.files.lock().unwrap();
        files.entry(self.name.clone()).or_default().extend_from_slice(&bytes[..taken]);
        if taken == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RecordFile for FullFile {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).unwrap();
        self.files.lock().unwrap().entry(self.name.clone()).or_default().truncate(length);
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_is_told_once_and_leaves_whole_lines() {
    let files = Arc::new(Mutex::new(BTreeMap::new()));
    let store = Full { room: Arc::new(Mutex::new(1_000)), files: Arc::clone(&files) };
    let mut kit = Kit::new(Some(Journal::on(Box::new(store))), 4096);
    let mut told = Vec::new();
    for number in 0..20 {
        // One at a time, so that each is a write of its own.
        kit.hub.emit(&parent(), finished(&format!("{number:0>100}"))).await;
        told.push(kit.events.recv().await.unwrap());
    }
    told.extend(kit.told().await);
    assert_eq!(told.len(), 21);
    assert_eq!(not_saved(&told).len(), 1);
    let files = files.lock().unwrap();
    let text = String::from_utf8(files[&FileName::Session].clone()).unwrap();
    assert!(text.ends_with('\n'));
    let saved: Vec<Line> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!((1..20).contains(&saved.len()), "{}", saved.len());
    assert_eq!(saved.iter().map(|line| line.seq).max(), Some(saved.len() as u64));
}

#[tokio::test(start_paused = true)]
async fn a_device_without_room_does_not_end_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let session = dir.path().join(SESSION.to_string());
    fs::create_dir(&session).unwrap();
    std::os::unix::fs::symlink("/dev/full", session.join("session.jsonl")).unwrap();
    let told = save(dir.path(), conversation()).await;
    assert_eq!(told.len(), conversation().len() + 1);
    let notices = not_saved(&told);
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains("session.jsonl"), "{}", notices[0]);
    assert!(notices[0].contains("No space left"), "{}", notices[0]);
    assert!(notices[0].contains("free some space"), "{}", notices[0]);
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_was_taken_away_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut kit = Kit::new(Some(Journal::create(dir.path(), SESSION)), 4096);
    kit.hub.emit(&parent(), run_started("parent", 0, "q")).await;
    kit.events.recv().await.unwrap();
    fs::remove_dir_all(dir.path().join(SESSION.to_string())).unwrap();
    for _ in 0..3 {
        kit.hub.emit(&child(1), run_started("researcher", 1, "q")).await;
        kit.events.recv().await.unwrap();
    }
    kit.hub.emit(&parent(), run_finished(Some("answer"))).await;
    let told = kit.told().await;
    assert!(told.iter().any(|event| matches!(event.fact, Fact::RunFinished(_))));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing comes back by itself");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_file_is_noticed_at_the_end_of_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut kit = Kit::new(Some(Journal::create(dir.path(), SESSION)), 4096);
    kit.hub.emit(&parent(), run_started("parent", 0, "q")).await;
    kit.events.recv().await.unwrap();
    fs::remove_file(dir.path().join(SESSION.to_string()).join("session.jsonl")).unwrap();
    kit.hub.emit(&parent(), run_finished(Some("answer"))).await;
    let notices = not_saved(&kit.told().await);
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("deleted"), "{}", notices[0]);
}
