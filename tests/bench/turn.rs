//! What one tool turn costs beside its provider: a whole session in this process, whose scripted
//! model answers at once. The number of items is the number of turns.
//!
//! Run with `cargo bench --bench turn`; a turn's time is 1 s divided by the shown items a second,
//! or a row's time divided by 32.
#![allow(clippy::unwrap_used, reason = "a benchmark")]

use std::sync::Arc;
use std::time::SystemTime;

use divan::Bencher;
use divan::counter::ItemsCount;
use offshoot::domain::budget::Preset;
use offshoot::domain::command::Command;
use offshoot::domain::event::{Fact, Timestamp};
use offshoot::domain::ids::SessionId;
use offshoot::domain::preflight::PreflightPolicy;
use offshoot::domain::report::Status;
use offshoot::domain::role::Permission;
use offshoot::domain::scope::PathScope;
use offshoot::journal::jsonl::Journal;
use offshoot::provider::retry::Patience;
use offshoot::provider::script::Script;
use offshoot::session::{self, Config, RunLimits, Session, Share};
use offshoot::tool::toolbox::Toolbox;
use offshoot::workspace::Workspace;
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use uuid::Uuid;

/// Turns with a call, before the one that answers.
const TURNS: usize = 32;

fn main() {
    divan::main();
}

#[divan::bench]
fn turns_of_a_session_that_is_not_saved(bencher: Bencher) {
    measure(bencher, false);
}

#[divan::bench]
fn turns_of_a_saved_session(bencher: Bencher) {
    measure(bencher, true);
}

fn measure(bencher: Bencher, saved: bool) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (workspace, sessions) = (project(), TempDir::new().unwrap());
    bencher
        .counter(ItemsCount::new(TURNS))
        .with_inputs(|| config(&workspace, saved.then_some(&sessions)))
        .bench_local_values(|config| play(&runtime, config));
}

/// One folder for each turn to list.
fn project() -> TempDir {
    let folder = TempDir::new().unwrap();
    for number in 1..=TURNS {
        let inner = folder.path().join(format!("d{number}"));
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join("file.txt"), "x").unwrap();
    }
    folder
}

fn config(workspace: &TempDir, sessions: Option<&TempDir>) -> Config {
    let look = json!({ "tool_calls": [
        { "id": "c{n}", "name": "list_files", "arguments": { "path": "d{n}" } },
    ]});
    let mut turns = vec![look; TURNS];
    turns.push(json!({ "text": "done" }));
    let script = json!({ "turns": turns });
    let id = SessionId(Uuid::now_v7());
    Config {
        id,
        provider: Arc::new(Script::from_json(&script.to_string()).unwrap()),
        toolbox: Toolbox::standard(),
        workspace: Arc::new(Workspace::open(workspace.path()).unwrap()),
        limits: RunLimits::of(Preset::Normal),
        permissions: vec![Permission::Read, Permission::Delegate],
        paths: vec![PathScope::all()],
        mode: offshoot::domain::approval::Mode::FullAccess,
        preflight: PreflightPolicy::Never,
        rules: offshoot::domain::rules::Rules::default(),
        asker: offshoot::domain::approval::Asker::Person,
        keep_trust: None,
        test_command: None,
        fence: None,
        sandbox: offshoot::sandbox::SandboxSettings::bare("/proc/self/exe"),
        max_depth: 1,
        switch: None,
        detect: None,
        patience: Patience::default(),
        compact_at: Share::default(),
        role_files: Vec::new(),
        more_roles: Vec::new(),
        timeout: None,
        pins: Vec::new(),
        secrets: Vec::new(),
        journal: sessions.map(|folder| Journal::create(folder.path(), id)),
        notices: Vec::new(),
        clock: Arc::new(|| Timestamp::from(SystemTime::now())),
    }
}

/// Asks, and waits until all is told and written.
fn play(runtime: &Runtime, config: Config) {
    runtime.block_on(async {
        let Session { commands, mut events, task } = session::start(config);
        commands.send(Command::Submit { text: "look".to_owned() }).await.unwrap();
        while let Some(event) = events.recv().await {
            if let Fact::RunFinished(finished) = &event.fact {
                assert_eq!((finished.status, finished.turns), (Status::Completed, 33));
                commands.send(Command::Quit).await.unwrap();
            }
        }
        task.await.unwrap();
    });
}
