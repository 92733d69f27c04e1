//! The record of a session: which file gets what, in which order, and what never gets there.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use offshoot::domain::budget::{Preset, Remaining};
use offshoot::domain::context_store::{Sensitivity, SnippetCard, SnippetKind};
use offshoot::domain::event::{
    ContractView, Event, Fact, Level, Line, MessageFact, Origin, RawOutput, RunFinished, Timestamp,
};
use offshoot::domain::hash::Sha;
use offshoot::domain::ids::{CallId, RunId, SessionId, TaskId};
use offshoot::domain::report::Status;
use offshoot::domain::usage::Usage;
use offshoot::journal::hub::{Hub, HubOptions, HubTask, subscription};
use offshoot::journal::jsonl::Journal;
use offshoot::journal::redact::Redactor;
use offshoot::journal::store::{RecordFile, Store};
use offshoot::journal::trace::FileName;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

const SESSION: SessionId = SessionId(Uuid::from_u128(0x0198_0000_0000_7000_8000_0000_0000_0001));
const SECRET: &str = "hush-9f8e7d6c5b4a";

/// A hub with one subscriber, on a clock that ticks once for each event.
struct Kit {
    hub: Hub,
    task: HubTask,
    events: mpsc::Receiver<Arc<Event>>,
}

impl Kit {
    fn new(journal: Option<Journal>, capacity: usize) -> Self {
        let ticks = AtomicU64::new(1_700_000_000_000);
        let (subscriber, events) = subscription(capacity);
        let (hub, task) = Hub::start(HubOptions {
            clock: Arc::new(move || Timestamp(ticks.fetch_add(1, Ordering::Relaxed))),
            journal,
            subscribers: vec![subscriber],
            redactor: Redactor::new(vec![SECRET.to_owned()]),
        });
        Self { hub, task, events }
    }

    async fn told(mut self) -> Vec<Arc<Event>> {
        let read = tokio::spawn(async move {
            let mut told = Vec::new();
            while let Some(event) = self.events.recv().await {
                told.push(event);
            }
            told
        });
        self.task.finish().await;
        read.await.unwrap()
    }
}

/// Tells these facts to a hub that saves in `dir`, and gives what the subscriber was told.
async fn save(dir: &Path, facts: Vec<(Origin, Fact)>) -> Vec<Arc<Event>> {
    let kit = Kit::new(Some(Journal::create(dir, SESSION)), 4096);
    for (origin, fact) in facts {
        kit.hub.emit(&origin, fact).await;
    }
    kit.told().await
}

fn parent() -> Origin {
    Origin::parent(RunId::parent(1))
}

fn child(number: u32) -> Origin {
    let task = TaskId(number);
    Origin::child(RunId::child(task, 1), RunId::parent(1), task, 1)
}

/// What the parent tells about a task that has no run yet.
fn about(number: u32) -> Origin {
    Origin { task: Some(TaskId(number)), ..parent() }
}

fn call(id: &str) -> CallId {
    CallId::from(id)
}

fn run_started(role: &str, depth: u32, prompt: &str) -> Fact {
    Fact::RunStarted {
        call: (depth > 0).then(|| call("c1")),
        role: role.to_owned(),
        description: None,
        depth,
        contract: ContractView {
            prompt: prompt.to_owned(),
            expected_output: "an answer".to_owned(),
            done_when: None,
            must_not: None,
            rules: false,
            context: Vec::new(),
            permissions: std::collections::BTreeSet::new(),
            paths: Vec::new(),
            tools: vec!["read_file".to_owned()],
            budget: Preset::Normal.parent(),
            share: None,
            provider: "script".to_owned(),
            model: "script".to_owned(),
            host: None,
        },
    }
}

fn run_finished(reply: Option<&str>) -> Fact {
    Fact::RunFinished(Box::new(RunFinished {
        status: Status::Completed,
        code: None,
        dimension: None,
        by: None,
        turns: 2,
        usage: Usage::none(),
        usage_total: Usage::none(),
        reply: reply.map(str::to_owned),
        report: None,
        changed: Vec::new(),
        contract_sha256: Sha::of("contract"),
        report_sha256: None,
        receipt: None,
    }))
}

fn started(path: &str) -> Fact {
    Fact::ToolStarted {
        call: call("c2"),
        name: "read_file".to_owned(),
        arguments: json!({ "path": path }),
    }
}

fn finished(output: &str) -> Fact {
    Fact::ToolFinished {
        call: call("c2"),
        name: "read_file".to_owned(),
        ok: true,
        output: output.to_owned(),
        bytes: output.len() as u64,
        truncated: false,
        duration_ms: 1,
        failure: None,
        raw: None,
    }
}

fn snippet(key: &str, sensitivity: Sensitivity, text: &str) -> Fact {
    let card = SnippetCard {
        key: key.to_owned(),
        kind: SnippetKind::Pin,
        source: "the user".to_owned(),
        bytes: text.len() as u64,
        sha256: Sha::of(text),
    };
    Fact::ContextAdded { card, sensitivity, text: Some(text.to_owned()) }
}

fn delta(text: &str) -> Fact {
    Fact::TextDelta { text: text.to_owned() }
}

fn session_over() -> Fact {
    Fact::SessionFinished { reason: "done".to_owned() }
}

/// A conversation with two children whose events interleave.
fn conversation() -> Vec<(Origin, Fact)> {
    vec![
        (Origin::session(), snippet("request", Sensitivity::Normal, "which tests?")),
        (parent(), Fact::Message(MessageFact::user("which tests?"))),
        (parent(), run_started("parent", 0, "which tests?")),
        (parent(), delta("I'll ask")),
        (
            about(2),
            Fact::TaskQueued {
                call: call("c9"),
                description: "second".to_owned(),
                role: "researcher".to_owned(),
                position: 0,
            },
        ),
        (child(1), run_started("researcher", 1, "find them")),
        (child(2), run_started("researcher", 1, "find more")),
        (child(1), delta("hm")),
        (child(1), started("a.rs")),
        (child(2), started("b.rs")),
        (child(2), finished("text of b")),
        (child(1), finished("text of a")),
        (child(1), Fact::Usage { usage: Usage::none(), remaining: Remaining::default() }),
        (child(2), run_finished(None)),
        (child(1), run_finished(None)),
        (parent(), run_finished(Some("these"))),
        (Origin::session(), session_over()),
    ]
}

fn lines(path: &Path) -> Vec<Line> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "{} ends inside a line", path.display());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn types(lines: &[Line]) -> Vec<String> {
    let name = |line: &Line| match serde_json::to_value(&line.event.fact).unwrap() {
        Value::Object(fields) => fields["type"].as_str().unwrap().to_owned(),
        other => panic!("{other}"),
    };
    lines.iter().map(name).collect()
}

/// Every file under `dir` with its bytes.
fn everything(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(everything(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}

fn as_json(told: &[Arc<Event>]) -> String {
    told.iter().map(|event| serde_json::to_string(event.as_ref()).unwrap()).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(bytes).contains(text)
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
async fn a_snippets_text_is_in_the_session_file_alone_and_a_secrets_text_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let facts = vec![
        (Origin::session(), snippet("notes", Sensitivity::Normal, "plain words")),
        (Origin::session(), snippet("local", Sensitivity::LocalOnly, "local words")),
        (Origin::session(), snippet("token", Sensitivity::Secret, "secret words")),
        (child(1), snippet("odd", Sensitivity::Normal, "childish words")),
    ];
    let told = save(dir.path(), facts).await;
    let files = everything(dir.path());
    let session = &files[&dir.path().join(SESSION.to_string()).join("session.jsonl")];
    assert!(holds(session, "plain words") && holds(session, "local words"));
    for (path, bytes) in &files {
        assert!(!holds(bytes, "secret words"), "{}", path.display());
        assert!(!holds(bytes, "childish words"), "{}", path.display());
        assert!(!path.to_string_lossy().contains("traces") || !holds(bytes, "plain words"));
    }
    let shown = as_json(&told);
    assert!(!shown.contains("words"), "{shown}");
    assert!(holds(session, Sha::of("secret words").as_str()), "its hash is told");
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let shaped = "sk-proj-0123456789abcdefABCDEF";
    let text = format!("found {SECRET} and {shaped} here");
    let mut arguments = serde_json::Map::new();
    arguments.insert(SECRET.to_owned(), json!([{ "deep": text }]));
    let mut facts = vec![
        (Origin::session(), snippet("request", Sensitivity::Normal, &text)),
        (parent(), run_started("parent", 0, &text)),
        (parent(), Fact::Message(MessageFact::user(text.clone()))),
        (child(1), run_started("researcher", 1, &text)),
        (
            child(1),
            Fact::ToolStarted {
                call: call(SECRET),
                name: SECRET.to_owned(),
                arguments: Value::Object(arguments),
            },
        ),
        (child(1), finished(&text)),
        (child(1), Fact::notice(Level::Warning, "X", text.clone())),
    ];
    for piece in text.chars() {
        facts.push((child(1), delta(&piece.to_string())));
        facts.push((parent(), Fact::ReasoningDelta { text: piece.to_string() }));
    }
    facts.push((child(1), run_finished(Some(&text))));
    facts.push((parent(), run_finished(Some(&text))));
    let told = save(dir.path(), facts).await;

    let mut streamed = String::new();
    for event in &told {
        if let Fact::TextDelta { text } = &event.fact {
            streamed.push_str(text);
        }
    }
    assert_eq!(streamed, "found (redacted) and sk-(redacted) here");
    let shown = as_json(&told);
    let files = everything(dir.path());
    assert_eq!(files.len(), 2);
    let read = files.into_values().chain([shown.into_bytes(), streamed.into_bytes()]);
    for bytes in read {
        // Not asserted with the text itself, so that a failure does not print it.
        assert!(!holds(&bytes, SECRET), "the given secret is in it");
        assert!(!holds(&bytes, &shaped[8..]), "the key is in it");
        assert!(holds(&bytes, "(redacted)"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_subscriber_gets_merged_words_and_every_fact() {
    let mut kit = Kit::new(None, 1);
    let hub = kit.hub.clone();
    let teller = tokio::spawn(async move {
        for number in 0..300 {
            for run in [parent(), child(1)] {
                hub.emit(&run, delta(&format!("{number} "))).await;
            }
            if number % 100 == 99 {
                hub.emit(&child(1), finished(&number.to_string())).await;
            }
        }
    });
    // Everything is told, and has arrived, before the subscriber reads anything. The paused clock
    // moves only when nothing else does.
    teller.await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let mut words: BTreeMap<Option<RunId>, String> = BTreeMap::new();
    let (mut facts, mut deltas, mut last_id) = (Vec::new(), 0, 0);
    let reader = tokio::spawn(async move {
        while let Some(event) = kit.events.recv().await {
            assert!(event.id > last_id, "ids rise");
            last_id = event.id;
            match &event.fact {
                Fact::TextDelta { text } => {
                    deltas += 1;
                    words.entry(event.origin.run.clone()).or_default().push_str(text);
                }
                Fact::ToolFinished { output, .. } => facts.push(output.clone()),
                other => panic!("{other:?}"),
            }
        }
        (words, facts, deltas)
    });
    kit.task.finish().await;
    let (words, facts, deltas) = reader.await.unwrap();
    let whole: Vec<String> = (0..300).map(|number| format!("{number} ")).collect();
    let whole = whole.concat();
    assert_eq!(facts, ["99", "199", "299"]);
    assert_eq!(words.len(), 2);
    assert!(words.values().all(|text| *text == whole), "{words:?}");
    assert!(deltas < 60, "{deltas} events for 600 pieces");
}

#[tokio::test(start_paused = true)]
async fn a_fast_subscriber_is_told_words_as_they_come() {
    let mut kit = Kit::new(None, 16);
    for piece in ["one ", "two ", "three "] {
        kit.hub.emit(&parent(), delta(piece)).await;
        let event = kit.events.recv().await.unwrap();
        assert_eq!(event.fact, delta(piece));
    }
    kit.told().await;
}

#[tokio::test(start_paused = true)]
async fn emit_waits_for_a_subscriber_that_reads_nothing_and_goes_on_when_it_is_gone() {
    let kit = Kit::new(None, 1);
    let hub = kit.hub.clone();
    let told = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&told);
    let teller = tokio::spawn(async move {
        for number in 0..10_000 {
            hub.emit(&parent(), finished(&number.to_string())).await;
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    tokio::time::sleep(std::time::Duration::from_mins(1)).await;
    let before = told.load(Ordering::Relaxed);
    assert!(before < 5_000, "{before} facts wait, without a bound");
    drop(kit.events);
    teller.await.unwrap();
    assert_eq!(told.load(Ordering::Relaxed), 10_000);
    kit.task.finish().await;
}

#[tokio::test(start_paused = true)]
async fn telling_a_hub_that_has_finished_does_nothing() {
    let kit = Kit::new(None, 4);
    let hub = kit.hub.clone();
    assert_eq!(kit.told().await.len(), 0);
    hub.emit(&parent(), finished("late")).await;
}

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

fn not_saved(told: &[Arc<Event>]) -> Vec<String> {
    let notice = |event: &Arc<Event>| match &event.fact {
        Fact::Notice { level: Level::Error, code, text } if code == "NOT_SAVED" => {
            Some(text.clone())
        }
        _ => None,
    };
    told.iter().filter_map(notice).collect()
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

#[tokio::test]
async fn what_was_cut_from_an_output_is_kept_beside_the_record_without_its_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let mut long = finished("the beginning ... the end");
    if let Fact::ToolFinished { raw, truncated, .. } = &mut long {
        *raw = Some(RawOutput(format!("the beginning\n{SECRET}\nthe end\n").into()));
        *truncated = true;
    }
    let facts = vec![
        (child(1), run_started("worker", 1, "run it")),
        (child(1), finished("short")),
        (child(1), long),
        (child(1), run_finished(None)),
    ];
    let told = save(dir.path(), facts).await;
    let folder = dir.path().join(SESSION.to_string());
    let kept: Vec<String> = fs::read_dir(folder.join("outputs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let id = told.iter().rfind(|event| matches!(event.fact, Fact::ToolFinished { .. })).unwrap().id;
    assert_eq!(kept, [id.to_string()]);
    let text = fs::read_to_string(folder.join("outputs").join(&kept[0])).unwrap();
    assert!(text.starts_with("the beginning\n") && text.ends_with("\nthe end\n"), "{text}");
    assert!(!text.contains(SECRET));
    let trace = fs::read_to_string(folder.join("traces/t1.1.jsonl")).unwrap();
    assert!(!trace.contains("raw") && trace.contains("the beginning ... the end"));
}
