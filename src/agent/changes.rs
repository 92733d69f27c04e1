//! Who changed which files: a look at the workspace before and after each call that may change it.
//! What differs is the call's doing, and so its run's and that of every run above; what changed
//! between two calls is somebody else's and is told of nobody.
//!
//! Calls that change something run alone, so there is never a doubt between two of them. A call that
//! only looks costs nothing here.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::run::RunShared;
use crate::domain::approval::Deed;
use crate::domain::changes::{ChangeList, Difference};
use crate::domain::event::{Fact, Level};
use crate::domain::ids::RunId;
use crate::tool::{Effects, ToolSpec};
use crate::workspace::snapshot::{Refresh, Tracker};

/// Paths that one event names.
pub const MOST_PATHS: usize = 1_000;
/// Ended runs whose changes are kept for `/diff`; of more the oldest are let go.
pub const MOST_LISTS: usize = 256;
/// How long the look before a call may take, and the one after it.
const LOOK_TIME: Duration = Duration::from_secs(10);
/// The same after a cancel, when somebody waits for the end.
const LAST_LOOK_TIME: Duration = Duration::from_secs(2);

/// What a run and everything below it did.
#[derive(Debug, Default)]
struct Deeds {
    files: ChangeList,
    tests: Option<Tests>,
}

/// How the tests of a run stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tests {
    /// They passed when they ran last, and nothing has changed since.
    Passed,
    /// They passed when they ran last, and files have changed since.
    PassedBefore,
    /// They did not pass when they ran last.
    Failed,
}

/// What each run did.
#[derive(Debug, Default)]
struct Book {
    deeds: HashMap<RunId, Deeds>,
    /// The runs that ended and changed something, the oldest end first.
    ended: VecDeque<RunId>,
    /// True once an ended run was let go.
    forgot: bool,
}

/// What is known of the workspace, and what each run of the session changed in it.
#[derive(Debug)]
pub struct Changes {
    tracker: Arc<Tracker>,
    book: Mutex<Book>,
    told_unseen: AtomicBool,
    told_left_out: AtomicBool,
}

impl Changes {
    /// Nothing is known and nobody changed anything.
    pub fn new(tracker: Tracker) -> Self {
        Self {
            tracker: Arc::new(tracker),
            book: Mutex::default(),
            told_unseen: AtomicBool::new(false),
            told_left_out: AtomicBool::new(false),
        }
    }

    /// What is known of the workspace.
    pub fn tracker(&self) -> &Arc<Tracker> {
        &self.tracker
    }

    /// What a run and everything below it changed so far.
    pub fn of(&self, run: &RunId) -> ChangeList {
        self.book().deeds.get(run).map(|deeds| deeds.files.clone()).unwrap_or_default()
    }

    /// How the tests stand that a run, or something below it, ran last; `None` if none of them did.
    pub fn tests(&self, run: &RunId) -> Option<Tests> {
        self.book().deeds.get(run).and_then(|deeds| deeds.tests)
    }

    fn fold(&self, run: &RunId, differences: &[Difference], tests_passed: Option<bool>) {
        let mut book = self.book();
        let deeds = book.deeds.entry(run.clone()).or_default();
        for difference in differences {
            deeds.files.fold(difference);
        }
        deeds.tests = match (tests_passed, deeds.tests) {
            // What a test run leaves behind it does not make its own result an old one.
            (Some(true), _) => Some(Tests::Passed),
            (Some(false), _) => Some(Tests::Failed),
            (None, Some(Tests::Passed)) if !differences.is_empty() => Some(Tests::PassedBefore),
            (None, before) => before,
        };
    }

    /// A run has ended and was told: what it changed is kept among that of the newest
    /// [`MOST_LISTS`] ended runs that changed something.
    pub fn ended(&self, run: &RunId) {
        let mut book = self.book();
        match book.deeds.get(run) {
            Some(deeds) if !deeds.files.is_empty() => book.ended.push_back(run.clone()),
            Some(_) | None => drop(book.deeds.remove(run)),
        }
        while book.ended.len() > MOST_LISTS {
            let oldest = book.ended.pop_front();
            oldest.and_then(|oldest| book.deeds.remove(&oldest));
            book.forgot = true;
        }
    }

    /// True if what some ended run changed is not known any more.
    pub fn forgot(&self) -> bool {
        self.book().forgot
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What to look at when a call is over.
pub(super) enum Watch {
    /// Only what it says it wrote.
    Told,
    /// The file that it names.
    File(String),
    /// All files.
    Everything,
}

impl Watch {
    fn of(spec: &ToolSpec, arguments: &Value) -> Self {
        let named = arguments.get("path").and_then(Value::as_str);
        match (Deed::of(spec.permission), named) {
            (Deed::Look, _) => Self::Told,
            // It may run beside others, whose changes would be taken for its own.
            (Deed::Network, _) if spec.read_only => Self::Told,
            (Deed::Edit, Some(path)) => Self::File(path.to_owned()),
            (Deed::Edit | Deed::Test | Deed::Command | Deed::Network, _) => Self::Everything,
        }
    }
}

/// Looks at what the call may change, so that what others changed until now is not taken for its
/// doing, and keeps copies of it. Ends early if the run is cancelled.
pub(super) async fn before(shared: &Arc<RunShared>, spec: &ToolSpec, arguments: &Value) -> Watch {
    let watch = Watch::of(spec, arguments);
    match &watch {
        Watch::Told => return watch,
        Watch::File(path) => {
            look_at(shared, vec![path.clone()], false).await;
        }
        Watch::Everything => {
            let cancel = shared.scope.token().child_token();
            let refresh = within(LOOK_TIME, &cancel, refresh(shared, cancel.clone())).await;
            tell_unseen(shared, refresh).await;
        }
    }
    tell_copies(shared).await;
    watch
}

/// Finds what the call changed, whatever way it ended, and tells it. `effects` is what it says
/// itself; nothing, if it panicked.
pub(super) async fn after(shared: &Arc<RunShared>, watch: Watch, effects: Option<&Effects>) {
    let wrote = effects.map_or(&[][..], |effects| &effects.wrote);
    let tests_passed = effects.and_then(|effects| effects.tests_passed);
    let mut differences = match watch {
        Watch::Told => Vec::new(),
        Watch::File(path) => look_at(shared, vec![path], true).await,
        Watch::Everything => look_everywhere(shared).await,
    };
    if !wrote.is_empty() {
        // What was just looked at is known by now and does not come twice.
        differences.extend(look_at(shared, wrote.to_vec(), false).await);
    }
    differences.retain(|difference| difference.change().is_some());
    if differences.is_empty() && tests_passed.is_none() {
        return;
    }
    differences.sort_by(|a, b| a.path.cmp(&b.path));
    attribute(shared, &differences, tests_passed);
    if differences.is_empty() {
        return;
    }
    tell(shared, &differences).await;
    tell_copies(shared).await;
}

/// What was done is this run's doing and that of every run above; none of those above has seen
/// it yet.
fn attribute(shared: &Arc<RunShared>, differences: &[Difference], tests_passed: Option<bool>) {
    let changes = &shared.host.changes;
    changes.fold(shared.contract.run(), differences, tests_passed);
    let mut run = shared;
    while let Some(above) = &run.above {
        let task = run.origin.task.map_or(0, |task| task.0);
        let by = format!("task #{task}");
        for difference in differences {
            above.seen.changed(&difference.path, &by);
        }
        changes.fold(above.contract.run(), differences, tests_passed);
        run = above;
    }
}

async fn tell(shared: &RunShared, differences: &[Difference]) {
    let paths = differences.iter().filter_map(Difference::told).take(MOST_PATHS).collect();
    shared.emit(Fact::FilesChanged { paths }).await;
    if let Some(text) = cut(differences.len()) {
        shared.emit(Fact::notice(Level::Info, "CHANGES_CUT", text)).await;
    }
}

/// Said of more files than are named; `None` if all are.
pub fn cut(changed: usize) -> Option<String> {
    let more = changed.checked_sub(MOST_PATHS).filter(|more| *more > 0)?;
    Some(format!("{changed} files changed; the first {MOST_PATHS} are named, {more} more are not"))
}

async fn look_at(shared: &RunShared, paths: Vec<String>, looked: bool) -> Vec<Difference> {
    let (host, tracker) = (Arc::clone(&shared.host), Arc::clone(shared.host.changes.tracker()));
    let looking = tokio::task::spawn_blocking(move || {
        let known = paths.iter().filter_map(|path| host.workspace.normalise(path).ok());
        known.filter_map(|path| tracker.look_at(&host.workspace, &path, looked)).collect()
    });
    looking.await.unwrap_or_default()
}

async fn refresh(shared: &RunShared, cancel: CancellationToken) -> Refresh {
    let (host, tracker) = (Arc::clone(&shared.host), Arc::clone(shared.host.changes.tracker()));
    let looking = tokio::task::spawn_blocking(move || tracker.refresh(&host.workspace, &cancel));
    looking.await.unwrap_or_else(|fault| Refresh {
        differences: Vec::new(),
        complete: true,
        unseen: Some(format!("the look at what changed failed inside: {fault}")),
    })
}

/// The look that a cancel does not end: what a cancelled call changed has to be known too.
async fn look_everywhere(shared: &RunShared) -> Vec<Difference> {
    let cancel = CancellationToken::new();
    let cancelled = shared.scope.ending().is_some();
    let time = if cancelled { LAST_LOOK_TIME } else { LOOK_TIME };
    let mut refresh = within(time, &cancel, refresh(shared, cancel.clone())).await;
    let differences = std::mem::take(&mut refresh.differences);
    tell_unseen(shared, refresh).await;
    differences
}

/// The look, which `cancel` ends, cut short once it took this long: then it says so.
async fn within(
    time: Duration,
    cancel: &CancellationToken,
    looking: impl Future<Output = Refresh>,
) -> Refresh {
    tokio::pin!(looking);
    tokio::select! {
        biased;
        refresh = &mut looking => return refresh,
        () = tokio::time::sleep(time) => cancel.cancel(),
    }
    let mut refresh = looking.await;
    if !refresh.complete {
        let words = "the workspace is too large to be looked at in time; some changes are not seen";
        refresh.unseen = Some(words.to_owned());
    }
    refresh
}

/// Once in a session: what could not be seen then will not be seen later either.
async fn tell_unseen(shared: &RunShared, refresh: Refresh) {
    let Some(words) = refresh.unseen else { return };
    if !shared.host.changes.told_unseen.swap(true, Ordering::Relaxed) {
        shared.emit(Fact::notice(Level::Warning, "CHANGES_UNSEEN", words)).await;
    }
}

async fn tell_copies(shared: &RunShared) {
    let changes = &shared.host.changes;
    let tracker = Arc::clone(changes.tracker());
    // The tracker may be busy on another thread; this one is not to wait for it.
    let taking =
        tokio::task::spawn_blocking(move || (tracker.take_failure(), tracker.take_left_out()));
    let (failure, left_out) = taking.await.unwrap_or((None, 0));
    if let Some(words) = failure {
        return shared.emit(Fact::notice(Level::Warning, "COPIES_FAILED", words)).await;
    }
    if left_out > 0 && !changes.told_left_out.swap(true, Ordering::Relaxed) {
        let text = format!(
            "{left_out} files are too large or too many to be copied before they change, or look \
             like a secret; /diff can name changes of them but not show them"
        );
        shared.emit(Fact::notice(Level::Info, "COPIES_LEFT_OUT", text)).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::domain::changes::{FileKind, FileState};
    use crate::domain::ids::TaskId;
    use crate::workspace::shadow::Shadow;

    fn found(complete: bool) -> Refresh {
        Refresh { differences: Vec::new(), complete, unseen: None }
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_takes_too_long_is_ended_and_says_so() {
        let cancel = CancellationToken::new();
        let endless = async {
            cancel.cancelled().await;
            found(false)
        };
        let refresh = within(LOOK_TIME, &cancel, endless).await;
        assert!(refresh.unseen.unwrap().contains("too large to be looked at in time"));
        let cancel = CancellationToken::new();
        let refresh = within(LOOK_TIME, &cancel, async { found(true) }).await;
        assert_eq!((refresh, cancel.is_cancelled()), (found(true), false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_ends_with_its_run_says_nothing_of_size() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let ended = async {
            cancel.cancelled().await;
            found(false)
        };
        assert_eq!(within(LOOK_TIME, &cancel, ended).await, found(false));
    }

    #[test]
    fn of_ended_runs_the_newest_lists_are_kept_and_of_live_ones_all() {
        let changes = Changes::new(Tracker::new(Shadow::in_memory()));
        let file = FileState { kind: FileKind::File, mode: 0o644, bytes: 0, sha256: None };
        let step = [Difference { path: "a".to_owned(), before: None, after: Some(file) }];
        let child = |number| RunId::child(TaskId(number), 1);
        let all = u32::try_from(MOST_LISTS).unwrap() + 1;
        changes.fold(&RunId::parent(1), &step, None);
        for number in 1..=all {
            changes.fold(&child(number), &step, None);
            changes.ended(&child(number));
            // One that changed nothing takes nobody's place.
            changes.fold(&child(all + number), &[], Some(true));
            changes.ended(&child(all + number));
            assert_eq!(changes.forgot(), number == all);
        }
        assert!(changes.of(&child(1)).is_empty() && !changes.of(&child(2)).is_empty());
        assert!(!changes.of(&RunId::parent(1)).is_empty() && !changes.of(&child(all)).is_empty());
        assert_eq!(changes.book().deeds.len(), MOST_LISTS + 1);
    }

    #[test]
    fn what_is_cut_is_counted() {
        assert_eq!(cut(MOST_PATHS), None);
        assert_eq!(
            cut(MOST_PATHS + 2).unwrap(),
            "1002 files changed; the first 1000 are named, 2 more are not"
        );
    }
}
