//! The composition root of a conversation: it owns the history between runs, builds what they share
//! and carries out commands. It knows no screen; front ends talk to it through two channels.

mod budget;
mod cancelling;
mod config;
mod deciding;
mod diff;
mod errand;
mod held;
mod models;
mod pinning;
mod roles;
mod rules;
pub mod server;
pub mod setup;
mod shell;
mod steering;
mod trust;

use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::agent::approvals::Approvals;
use crate::agent::briefing;
use crate::agent::cancel::{CancelScope, LiveTasks};
use crate::agent::changes::Changes;
use crate::agent::clock::RunClock;
use crate::agent::host::{Host, Inbox, RunTree, Typed};
use crate::agent::places::Seat;
use crate::agent::run::{Run, RunShared, standing_tokens};
use crate::agent::steering::Steering;
use crate::domain::command::Command;
use crate::domain::context_store::{ContextStore, Snippet};
use crate::domain::contract::{Contract, Root};
use crate::domain::event::{Event, Fact, Level, Origin};
use crate::domain::history::History;
use crate::domain::ids::RunId;
use crate::domain::ledger::Ledger;
use crate::domain::report::{By, Ending};
use crate::domain::role::{OUTPUT_PER_REQUEST, Permission};
use crate::domain::scope::PathScope;
use crate::domain::usage::MicroUsd;
use crate::domain::violation::Code;
use crate::journal::hub::{Hub, HubOptions, HubTask, subscription};
use crate::journal::redact::Redactor;
use crate::provider::Provider;
use crate::sandbox::Sandbox;
use crate::workspace::seen::Seen;
use crate::workspace::shadow::Shadow;
use crate::workspace::snapshot::Tracker;

use errand::Errand;
use roles::Roles;
use shell::Shell;

pub use config::{ClockFn, Config, Detect, Found, KeepTrust, Pin, RunLimits, Share, Switch};

/// Events that wait for a front end before streamed words are merged.
const EVENTS_AHEAD: usize = 1_024;
/// Commands that wait for the session; a person types no faster.
const COMMANDS_AHEAD: usize = 64;

/// Why a session ends that took too long.
pub const TIMEOUT: &str = "timeout";

/// A running conversation.
pub struct Session {
    /// What a person asks for. Dropping every sender ends the session.
    pub commands: mpsc::Sender<Command>,
    /// What happens.
    pub events: mpsc::Receiver<Arc<Event>>,
    /// Ends when the session has ended and its files are written.
    pub task: JoinHandle<()>,
}

/// Starts a conversation on the current tokio runtime.
pub fn start(config: Config) -> Session {
    let (outlet, events) = subscription(EVENTS_AHEAD);
    let (commands, inbox) = mpsc::channel(COMMANDS_AHEAD);
    let task = tokio::spawn(converse(config, outlet, inbox));
    Session { commands, events, task }
}

async fn converse(
    mut config: Config,
    outlet: mpsc::Sender<Arc<Event>>,
    mut inbox: mpsc::Receiver<Command>,
) {
    config.secrets = pinning::secrets(&config);
    let shadow = diff::shadow(&config);
    let (hub, hub_task) = Hub::start(HubOptions {
        clock: Arc::clone(&config.clock),
        journal: config.journal.take(),
        subscribers: vec![outlet],
        redactor: Redactor::new(config.secrets.clone()),
    });
    if let Some(found) = look_around(&mut config).await {
        take_found(&mut config, found);
    }
    let mut conversation = Conversation::open(config, hub, shadow).await;
    let reason = conversation.obey(&mut inbox).await;
    conversation.close(reason, hub_task).await;
}

/// Somebody whose price is not known cannot be held to a bound that the user asked for.
fn take_found(config: &mut Config, found: Found) {
    let identity = found.provider.identity();
    if config.limits.cost_must_hold && identity.prices.is_none() {
        let text = budget::not_held(&identity.model);
        config.notices.push((Level::Warning, Code::InvalidBudget.to_string(), text));
        return;
    }
    config.provider = found.provider;
    config.switch = found.switch;
}

async fn look_around(config: &mut Config) -> Option<Found> {
    config.detect.take()?.await
}

/// A parent run that is going on.
struct Running {
    id: RunId,
    scope: CancelScope,
    shared: Arc<RunShared>,
    task: JoinHandle<History>,
    /// True once it has told its end; then there is nothing left to cancel.
    over: Arc<AtomicBool>,
    /// The conversation as it was before.
    before: History,
}

/// The state between commands.
struct Conversation {
    host: Arc<Host>,
    provider: Arc<dyn Provider>,
    switch: Option<Switch>,
    limits: RunLimits,
    permissions: Vec<Permission>,
    keep_trust: Option<KeepTrust>,
    /// What of the project's rules was told to be missing.
    rules_left_out: Vec<String>,
    paths: Vec<PathScope>,
    roles: Roles,
    root: CancelScope,
    ends_at: Option<Instant>,
    history: History,
    /// What the parent's model knows of files, as long as its history lasts.
    seen: Arc<Seen>,
    typed: Arc<Inbox>,
    running: Option<Running>,
    runs: u32,
    /// The newest command of the person's own.
    shell: Option<Shell>,
    shells: u32,
    /// The newest run that answers, or answered, the user.
    newest: Option<RunId>,
    /// What all runs before cost, as far as prices were known.
    spent: MicroUsd,
}

/// What the loop woke up for.
enum Woken {
    Command(Option<Command>),
    RunEnded(Result<History, tokio::task::JoinError>),
    TimeIsUp,
}

impl Conversation {
    async fn open(config: Config, hub: Hub, shadow: Shadow) -> Self {
        let identity = config.provider.identity().clone();
        let conversation = Self {
            provider: config.provider,
            switch: config.switch,
            limits: config.limits,
            permissions: config.permissions,
            keep_trust: config.keep_trust,
            rules_left_out: Vec::new(),
            paths: config.paths,
            roles: Roles::new(config.role_files, config.more_roles),
            root: CancelScope::root(),
            ends_at: config.timeout.and_then(|after| Instant::now().checked_add(after)),
            history: History::new(),
            seen: Arc::default(),
            typed: Arc::default(),
            running: None,
            runs: 0,
            shell: None,
            shells: 0,
            newest: None,
            spent: MicroUsd::default(),
            host: Arc::new(Host {
                hub,
                toolbox: config.toolbox,
                workspace: config.workspace,
                sandbox: Arc::new(Sandbox::new(config.sandbox)),
                mode: Mutex::new(config.mode),
                preflight: Mutex::new(config.preflight),
                rules: config.rules,
                asker: config.asker,
                approvals: Approvals::default(),
                fence: config.fence,
                test_command: config.test_command,
                store: Mutex::new(ContextStore::default()),
                listed: Mutex::default(),
                redactor: Redactor::new(config.secrets.clone()),
                secrets: config.secrets,
                max_depth: config.max_depth,
                patience: config.patience,
                compact_at: config.compact_at,
                changes: Changes::new(Tracker::new(shadow)),
                live: Arc::<LiveTasks>::default(),
                clock: config.clock,
                tasks: AtomicU32::new(0),
            }),
        };
        let network = conversation.permissions.contains(&Permission::Network);
        let fence = conversation.host.fence().await.with_network(network);
        conversation
            .tell(Fact::SessionStarted {
                session: config.id,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                workspace: conversation.host.workspace.path().display().to_string(),
                provider: identity.provider,
                model: identity.model,
                permission_mode: config.mode.name().to_owned(),
                fence: fence.to_string(),
                budget: conversation.budget(),
            })
            .await;
        if let Some(text) = held::unfenced(&conversation.host, &conversation.permissions, &fence) {
            conversation.tell(Fact::notice(Level::Warning, "UNFENCED", text)).await;
        }
        conversation.tell_preflight().await;
        for (level, code, text) in config.notices {
            conversation.tell(Fact::notice(level, &code, text)).await;
        }
        for pin in config.pins {
            conversation.pin(pin).await;
        }
        conversation.check_models().await;
        conversation
    }

    async fn tell(&self, fact: Fact) {
        self.host.emit(&Origin::session(), fact).await;
    }

    /// Carries out commands until the session is to end; returns why.
    async fn obey(&mut self, inbox: &mut mpsc::Receiver<Command>) -> &'static str {
        loop {
            match self.wake(inbox).await {
                Woken::Command(None) => return "the front end is gone",
                Woken::Command(Some(Command::Quit)) => return "quit",
                Woken::Command(Some(command)) => self.carry_out(command).await,
                Woken::RunEnded(ended) => self.run_ended(ended).await,
                Woken::TimeIsUp => {
                    self.end_running(Ending::TimedOut).await;
                    return TIMEOUT;
                }
            }
        }
    }

    async fn wake(&mut self, inbox: &mut mpsc::Receiver<Command>) -> Woken {
        let ends_at = self.ends_at;
        let running = self.running.as_mut();
        tokio::select! {
            command = inbox.recv() => Woken::Command(command),
            ended = async {
                match running {
                    Some(running) => (&mut running.task).await,
                    None => std::future::pending().await,
                }
            } => Woken::RunEnded(ended),
            () = async {
                match ends_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            } => Woken::TimeIsUp,
        }
    }

    async fn carry_out(&mut self, command: Command) {
        match command {
            Command::Submit { text } => {
                self.submit(Typed { words: text, must_delegate: false }).await;
            }
            Command::Delegate { role, text } => {
                let words = self.delegation(role, text);
                self.submit(Typed { words, must_delegate: true }).await;
            }
            Command::CancelTask { task } => self.cancel_task(task).await,
            Command::Stop => self.stop().await,
            Command::Steer { target, steer } => self.steer(target, steer).await,
            Command::SetBudget { budget } => self.set_budget(budget).await,
            Command::Compact => self.compact().await,
            Command::ListModels => self.list_models().await,
            Command::SetModel { model } => self.set_model(&model).await,
            Command::SetMode { mode } => self.set_mode(mode).await,
            Command::SetPreflight { policy } => self.set_preflight(policy).await,
            Command::Decide { run, call, answer } => self.decide(&run, &call, answer).await,
            Command::Pin { name, text, local_only } => {
                self.pin_typed(name, text, local_only).await;
            }
            Command::Diff { task } => self.show_diff(task).await,
            Command::Shell { command } => self.shell(command).await,
            Command::Trust { trusted } => self.answer_trust(trusted).await,
            Command::Quit => {}
        }
    }

    /// Starts a run, or leaves the words for the next boundary of the one that is going on.
    async fn submit(&mut self, typed: Typed) {
        if typed.words.trim().is_empty() {
            return;
        }
        if self.running.is_some() {
            self.typed.push(typed);
        } else {
            self.begin(Errand::Answer(typed)).await;
        }
    }

    /// Summarises the conversation between two questions.
    async fn compact(&mut self) {
        if self.running.is_some() {
            let text = "an answer is being made; /compact works between two answers";
            return self.tell(Fact::notice(Level::Info, "COMPACT_LATER", text)).await;
        }
        self.begin(Errand::Compact).await;
    }

    async fn run_ended(&mut self, ended: Result<History, tokio::task::JoinError>) {
        let Some(running) = self.running.take() else { return };
        self.spent = self.spent + running.shared.tree.spent();
        match ended {
            Ok(history) => self.history = history,
            Err(error) => self.run_lost(running, &error).await,
        }
        // Stopping has emptied the inbox; what is in it now was typed after that.
        if let Some(typed) = self.typed.pop() {
            self.begin(Errand::Answer(typed)).await;
        }
    }

    /// A run that panicked outside of its guarded part still ends for everyone who watches, and the
    /// conversation goes on from where it began.
    async fn run_lost(&mut self, running: Running, error: &tokio::task::JoinError) {
        self.history = running.before;
        self.host.forget_listing();
        self.history.close("the run was lost");
        let text = format!("internal error: the run was lost ({error}); its answer is missing");
        self.tell(Fact::notice(Level::Error, "RUN_LOST", text)).await;
        let finished = errand::lost();
        let fact = Fact::RunFinished(Box::new(finished));
        self.host.emit(&Origin::parent(running.id.clone()), fact).await;
        self.host.run_ended(&running.id);
    }

    async fn begin(&mut self, errand: Errand) {
        let rules = self.rules().await;
        self.runs += 1;
        let id = RunId::parent(self.runs);
        if matches!(errand, Errand::Answer(_)) {
            self.newest = Some(id.clone());
        }
        let scope = self.root.child();
        let shared = self.parent_shared(id.clone(), errand.words(), scope.clone(), rules);
        let shared = Arc::new(shared);
        let before = std::mem::take(&mut self.history);
        let run = Run::new(Arc::clone(&shared), before.clone(), Some(Arc::clone(&self.typed)));
        let over = Arc::<AtomicBool>::default();
        let task = tokio::spawn(errand.carry_out(run, Arc::clone(&over)));
        self.running = Some(Running { id, scope, shared, task, over, before });
    }

    fn parent_shared(
        &self,
        id: RunId,
        words: &str,
        scope: CancelScope,
        project_rules: Option<Snippet>,
    ) -> RunShared {
        let host = Arc::clone(&self.host);
        let roles = self.role_table();
        let identity = self.provider.identity();
        let permissions = held::permissions(&self.permissions, host.mode());
        let tools = held::tools(&host.toolbox, &permissions);
        let budget = self.budget();
        let (ledger, account) = Ledger::new(budget, self.limits.totals);
        let contract = Contract::root(Root {
            run: id.clone(),
            prompt: words.to_owned(),
            permissions: permissions.into_iter().collect(),
            paths: self.paths.clone(),
            tools: tools.clone(),
            rules: project_rules,
            budget,
            output_per_request: OUTPUT_PER_REQUEST,
            provider: identity.provider.clone(),
            model: identity.model.clone(),
            issued_at: (host.clock)(),
        });
        let system = briefing::parent_prompt(&roles, &contract, host.asker);
        let schemas = host.toolbox.schemas(&tools);
        let tree = RunTree::new(self.switch.clone(), self.limits.cost_must_hold, ledger, roles);
        RunShared {
            standing_tokens: standing_tokens(&system, &schemas),
            system: system.into(),
            schemas: schemas.into(),
            seat: Seat::root(Arc::clone(&tree.places)),
            own_store: Mutex::default(),
            tree: Arc::new(tree),
            provider: Arc::clone(&self.provider),
            contract,
            account,
            origin: Origin::parent(id),
            scope,
            above: None,
            children: Mutex::default(),
            seen: Arc::clone(&self.seen),
            clock: RunClock::start(),
            steering: Arc::<Steering>::default(),
            host,
        }
    }

    async fn close(mut self, reason: &'static str, hub: HubTask) {
        self.end_running(Ending::Cancelled(By::Shutdown)).await;
        self.end_shell().await;
        self.tell(Fact::SessionFinished { reason: reason.to_owned() }).await;
        hub.finish().await;
        self.host.sandbox.close().await;
    }
}
