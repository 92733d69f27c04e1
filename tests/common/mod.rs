//! One harness for the tests of the loop: a scripted model, a real folder, a real session, and the
//! request linter always on.
#![allow(dead_code, reason = "each test file uses its own part of the harness")]
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    clippy::needless_pass_by_value,
    missing_docs,
    reason = "tests"
)]

pub mod aloud;
pub mod lint;
pub mod public_case;
pub mod raw_server;
pub mod recorded;
pub mod soak;
pub mod spy;
pub mod stand_in;
pub mod strict;
pub mod wire;

#[allow(unused_imports, reason = "each test file uses its own part of the harness")]
pub use soak::{rounds, soak};

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use offshoot::domain::approval::{Asker, Mode};
use offshoot::domain::budget::Preset;
use offshoot::domain::command::Command;
use offshoot::domain::event::{Event, Fact, RunFinished, Timestamp};
use offshoot::domain::fence::{Fence, FenceLevel};
use offshoot::domain::ids::SessionId;
use offshoot::domain::message::{Message, ToolResult};
use offshoot::domain::preflight::PreflightPolicy;
use offshoot::domain::report::{Report, Status};
use offshoot::domain::role::{Permission, Role};
use offshoot::domain::role_file::RoleFile;
use offshoot::domain::rules::Rules;
use offshoot::domain::scope::PathScope;
use offshoot::journal::jsonl::Journal;
use offshoot::provider::retry::Patience;
use offshoot::provider::script::Script;
use offshoot::provider::{Provider, Request};
use offshoot::sandbox::SandboxSettings;
use offshoot::session::{self, Config, KeepTrust, Pin, RunLimits, Share, Switch};
use offshoot::tool::Tool;
use offshoot::tool::toolbox::Toolbox;
use offshoot::workspace::Workspace;
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::Instant;
use uuid::Uuid;

use spy::Spy;

/// A conversation before it starts.
pub struct Stage {
    pub folder: TempDir,
    pub sessions: TempDir,
    pub limits: RunLimits,
    pub permissions: Vec<Permission>,
    pub paths: Vec<PathScope>,
    pub mode: Mode,
    pub preflight: PreflightPolicy,
    pub rules: Rules,
    pub asker: Asker,
    pub keep_trust: Option<KeepTrust>,
    pub test_command: Option<String>,
    pub fence: Option<Fence>,
    pub sandbox: SandboxSettings,
    pub max_depth: u32,
    pub tools: Toolbox,
    pub roles: Vec<Role>,
    pub role_files: Vec<RoleFile>,
    pub switch: Option<Switch>,
    pub pins: Vec<Pin>,
    pub secrets: Vec<String>,
    pub timeout: Option<Duration>,
    pub patience: Patience,
    pub window: Option<u64>,
    provider: Arc<dyn Provider>,
}

impl Stage {
    /// A stage for a scripted model.
    pub fn new(script: &Value) -> Self {
        let script = Script::from_json(&script.to_string()).unwrap();
        Self::with_provider(Arc::new(script))
    }

    pub fn with_provider(provider: Arc<dyn Provider>) -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            sessions: TempDir::new().unwrap(),
            limits: RunLimits::of(Preset::Normal),
            permissions: vec![Permission::Read, Permission::Delegate],
            paths: vec![PathScope::all()],
            mode: Mode::FullAccess,
            preflight: PreflightPolicy::Never,
            rules: Rules::default(),
            asker: Asker::Person,
            keep_trust: None,
            test_command: None,
            fence: Some(fence(FenceLevel::Fenced)),
            sandbox: SandboxSettings::bare(env!("CARGO_BIN_EXE_offshoot")),
            max_depth: 1,
            tools: Toolbox::standard(),
            roles: Vec::new(),
            role_files: Vec::new(),
            switch: None,
            pins: Vec::new(),
            secrets: Vec::new(),
            timeout: None,
            patience: Patience::default(),
            window: None,
            provider,
        }
    }

    /// A file of the workspace.
    #[must_use]
    pub fn file(self, path: &str, text: &str) -> Self {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// A tool beside the standard ones.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools = self.tools.with(Arc::new(tool));
        self
    }

    /// What the parent may do.
    #[must_use]
    pub fn permissions(mut self, permissions: &[Permission]) -> Self {
        self.permissions = permissions.to_vec();
        self
    }

    pub fn start(self) -> Live {
        let spy = Arc::new(Spy::new(self.provider, self.window));
        let id = SessionId(Uuid::from_u128(7));
        let session = session::start(Config {
            id,
            provider: Arc::clone(&spy) as Arc<dyn Provider>,
            switch: self.switch,
            detect: None,
            toolbox: self.tools,
            workspace: Arc::new(Workspace::open(self.folder.path()).unwrap()),
            limits: self.limits,
            permissions: self.permissions,
            paths: self.paths,
            mode: self.mode,
            preflight: self.preflight,
            rules: self.rules,
            asker: self.asker,
            keep_trust: self.keep_trust,
            test_command: self.test_command,
            fence: self.fence,
            sandbox: self.sandbox,
            max_depth: self.max_depth,
            patience: self.patience,
            compact_at: Share::default(),
            role_files: self.role_files,
            more_roles: self.roles,
            timeout: self.timeout,
            pins: self.pins,
            secrets: self.secrets,
            journal: Some(Journal::create(self.sessions.path(), id)),
            notices: Vec::new(),
            clock: fixed_clock(),
        });
        Live {
            folder: self.folder,
            sessions: self.sessions,
            spy,
            session,
            events: Vec::new(),
            id,
            runs: 0,
        }
    }

    /// Asks one question and ends the session.
    pub async fn play(self, words: &str) -> Played {
        self.play_with(words, &[]).await
    }

    /// Asks one question, does what a person does at the given ms, and ends the session.
    pub async fn play_with(self, words: &str, actions: &[(u64, Command)]) -> Played {
        let mut live = self.start();
        live.ask(words, actions).await;
        live.quit().await
    }
}

/// A time of day that follows the paused clock.
fn fixed_clock() -> session::ClockFn {
    let began = Instant::now();
    Arc::new(move || {
        let since = u64::try_from(began.elapsed().as_millis()).unwrap();
        Timestamp(1_900_000_000_000 + since)
    })
}

/// A conversation that is going on.
pub struct Live {
    pub folder: TempDir,
    pub sessions: TempDir,
    pub spy: Arc<Spy>,
    pub session: session::Session,
    pub events: Vec<Arc<Event>>,
    pub id: SessionId,
    runs: usize,
}

impl Live {
    pub async fn send(&self, command: Command) {
        self.session.commands.send(command).await.unwrap();
    }

    /// Submits words and follows the run to its end, doing the actions meanwhile.
    pub async fn ask(&mut self, words: &str, actions: &[(u64, Command)]) -> RunFinished {
        self.send(Command::Submit { text: words.to_owned() }).await;
        self.follow(actions).await
    }

    /// Follows until the parent run ends.
    pub async fn follow(&mut self, actions: &[(u64, Command)]) -> RunFinished {
        let began = Instant::now();
        let mut actions = actions.iter();
        let mut next = actions.next();
        self.runs += 1;
        loop {
            let due = next.map(|(at, _)| began + Duration::from_millis(*at));
            tokio::select! {
                biased;
                () = async {
                    match due {
                        Some(due) => tokio::time::sleep_until(due).await,
                        None => std::future::pending().await,
                    }
                } => {
                    let (_, command) = next.unwrap();
                    self.send(command.clone()).await;
                    next = actions.next();
                }
                event = self.session.events.recv() => {
                    let event = event.expect("the session ended before its run did");
                    self.events.push(Arc::clone(&event));
                    if let (Fact::RunFinished(finished), None) = (&event.fact, &event.origin.task) {
                        return (**finished).clone();
                    }
                }
            }
        }
    }

    pub async fn quit(mut self) -> Played {
        // The session may have ended by itself; then there is nobody to tell.
        let _ = self.session.commands.send(Command::Quit).await;
        while let Some(event) = self.session.events.recv().await {
            self.events.push(event);
        }
        self.session.task.await.unwrap();
        let played = Played {
            folder: self.folder,
            sessions: self.sessions,
            events: self.events,
            requests: self.spy.requests(),
            id: self.id,
        };
        played.check_invariants();
        played
    }
}

/// A conversation that has ended.
pub struct Played {
    pub folder: TempDir,
    pub sessions: TempDir,
    pub events: Vec<Arc<Event>>,
    pub requests: Vec<Request>,
    pub id: SessionId,
}

impl Played {
    pub fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.events.iter().map(|event| &event.fact)
    }

    /// What each parent run came to.
    pub fn parent_ends(&self) -> Vec<RunFinished> {
        self.events
            .iter()
            .filter(|event| event.origin.task.is_none())
            .filter_map(|event| match &event.fact {
                Fact::RunFinished(finished) => Some((**finished).clone()),
                _ => None,
            })
            .collect()
    }

    pub fn reply(&self) -> String {
        self.parent_ends().last().unwrap().reply.clone().unwrap_or_default()
    }

    /// The reports of the children that ran, in the order they ended.
    pub fn reports(&self) -> Vec<Report> {
        self.facts()
            .filter_map(|fact| match fact {
                Fact::RunFinished(finished) => finished.report.clone(),
                _ => None,
            })
            .collect()
    }

    /// The report a `task` call came to, as its parent read it.
    pub fn task_result(&self, call: &str) -> Report {
        serde_json::from_str(&self.result(call)).unwrap()
    }

    /// The result of a call as it entered the history.
    pub fn result(&self, call: &str) -> String {
        self.facts()
            .find_map(|fact| match fact {
                Fact::ToolFinished { call: id, output, .. } if id.as_str() == call => {
                    Some(output.clone())
                }
                _ => None,
            })
            .unwrap_or_else(|| panic!("no result for {call}"))
    }

    pub fn parent_requests(&self) -> Vec<&Request> {
        self.requests.iter().filter(|request| request.depth == 0).collect()
    }

    pub fn child_requests(&self) -> Vec<&Request> {
        self.requests.iter().filter(|request| request.depth > 0).collect()
    }

    /// The results in the newest message of results of a request.
    pub fn results_in(request: &Request) -> Vec<ToolResult> {
        request
            .messages
            .iter()
            .rev()
            .find_map(|message| match &**message {
                Message::Results { results } => Some(results.clone()),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// What must hold after every conversation, whatever happened in it.
    fn check_invariants(&self) {
        for request in &self.requests {
            let found = lint::violations(request);
            assert!(found.is_empty(), "request of {}: {found:?}", request.run);
        }
        let mut open = std::collections::BTreeMap::new();
        let mut started = std::collections::BTreeSet::new();
        let mut runs = std::collections::BTreeSet::new();
        for event in &self.events {
            let run = event.origin.run.clone();
            match &event.fact {
                // A command of the person's own belongs to no run and to no message.
                Fact::ToolStarted { .. } | Fact::ToolFinished { .. } if run.is_none() => {}
                Fact::RunStarted { .. } => assert!(runs.insert(run), "a run starts once"),
                Fact::RunFinished(end) => {
                    assert!(runs.remove(&run), "a run ends once, after it started");
                    assert_eq!(end.by.is_some(), end.status == Status::Cancelled);
                }
                Fact::ToolStarted { call, .. } => {
                    let key = (run, call.clone());
                    assert_eq!(open.get(&key), Some(&0), "a call starts before it ends");
                    assert!(started.insert(key), "a call starts once");
                }
                Fact::Message(message) => {
                    for call in &message.tool_calls {
                        assert!(open.insert((run.clone(), call.call.clone()), 0).is_none());
                    }
                }
                Fact::ToolFinished { call, .. } => {
                    let count = open.get_mut(&(run, call.clone()));
                    *count.expect("a result without a call") += 1;
                }
                _ => {}
            }
        }
        assert!(runs.is_empty(), "runs without an end: {runs:?}");
        let wrong: Vec<_> = open.iter().filter(|(_, count)| **count != 1).collect();
        assert!(wrong.is_empty(), "calls without exactly one result: {wrong:?}");
        let ids: Vec<u64> = self.events.iter().map(|event| event.id).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "ids go up");
    }

    /// Every file of the session, with its text.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        collect(self.sessions.path(), &mut found);
        found
    }
}

fn collect(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else {
            let bytes = std::fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            found.push((path.display().to_string(), text));
        }
    }
}

/// A fence of this level, with what is missing if it is not whole.
pub fn fence(level: FenceLevel) -> Fence {
    let missing = match level {
        FenceLevel::Fenced => Vec::new(),
        FenceLevel::Partial | FenceLevel::Unfenced => vec!["files not fenced".to_owned()],
    };
    Fence { level, loopback: true, missing, network_open: false }
}

/// A script in which the parent makes `calls` and then answers `reply`.
pub fn one_batch(calls: &Value, reply: &str, children: &Value) -> Value {
    serde_json::json!({
        "turns": [{ "text": "", "tool_calls": calls }, { "text": reply }],
        "children": children,
    })
}

/// A call as a script writes it.
pub fn call(id: &str, name: &str, arguments: Value) -> Value {
    serde_json::json!({ "id": id, "name": name, "arguments": arguments })
}

/// A `task` call with nothing but its required fields.
pub fn task_call(id: &str, task: &str) -> Value {
    call(id, "task", serde_json::json!({ "task": task, "expected_output": "answer" }))
}
