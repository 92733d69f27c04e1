//! A batch of tool calls. Calls that only read run side by side, everything else alone; results are
//! kept by call id, and the history orders them by call, whatever order they finish in.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serde_json::Value;

use super::apart::apart;
use super::delegate::{self, Ticket};
use super::record::ChildEnd;
use super::room::Room;
use super::run::{Run, RunShared};
use super::runaway::{Observed, Verdict};
use super::{keeping, lineage, use_tool};
use crate::domain::event::{Fact, Failure};
use crate::domain::message::{ToolCall, ToolResult};
use crate::domain::report::{By, Ending, Exhausted};
use crate::tool::guard::{self, Admitted, RefusalKind, Refused};
use crate::tool::{Shown, Tool, ToolOutput, excerpt};

/// Calls that only read and run at the same time: more than the children that may wait for a place,
/// so that each of them can say that it waits.
const SIDE_BY_SIDE: usize = 64;
/// Tokens below which a result is not worth running a call for.
const LEAST_ROOM: u64 = 64;

/// What a call came to.
pub struct CallEnd {
    /// The result as the model will read it.
    pub output: ToolOutput,
    /// What went wrong.
    pub failure: Option<Failure>,
    /// How long it took, in ms.
    pub duration_ms: u64,
    /// For a `task` call that started: how the child and all below it ended.
    pub child: Option<ChildEnd>,
    /// True if it did not end in time after a cancel and was left behind.
    pub left_behind: bool,
}

impl CallEnd {
    /// A call that never started.
    pub fn unstarted(failure: Failure, text: impl Into<String>) -> Self {
        Self {
            output: ToolOutput::error(text),
            failure: Some(failure),
            duration_ms: 0,
            child: None,
            left_behind: false,
        }
    }
}

/// What is to be done about one call.
enum Planned {
    Decided(Box<CallEnd>),
    Tool { tool: Arc<dyn Tool>, arguments: Value },
    Task(Box<Ticket>),
}

impl Planned {
    fn is_task(&self) -> bool {
        match self {
            Self::Task(_) => true,
            Self::Decided(_) | Self::Tool { .. } => false,
        }
    }

    fn reads_only(&self) -> bool {
        match self {
            Self::Decided(_) => true,
            Self::Tool { tool, .. } => tool.spec().read_only,
            Self::Task(ticket) => ticket.reads_only,
        }
    }
}

/// Runs a batch. Afterwards `run.settled` holds one result for each call.
pub async fn dispatch(run: &mut Run, calls: Vec<ToolCall>) -> Result<(), Ending> {
    let mut batch = Batch::new(run, calls);
    let planned = apart(|| admit_all(run, &batch.calls, batch.room.tokens)).await;
    for segment in segments(planned) {
        let tasks = segment.iter().filter(|(_, planned)| planned.is_task()).count();
        run.shared.seat.begin(segment.len() - tasks, tasks);
        let mut waiting = segment.into_iter();
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < SIDE_BY_SIDE {
                let Some((index, planned)) = waiting.next() else { break };
                let (shared, call) = (Arc::clone(&run.shared), batch.calls[index].clone());
                running.push(perform(shared, call, planned).map(move |end| (index, end)));
            }
            let Some((index, end)) = running.next().await else { break };
            let finished =
                AssertUnwindSafe(apart(|| batch.finish(run, index, end))).catch_unwind().await;
            if let Err(panic) = finished {
                // The run fails; what runs beside that comes to its own end first.
                run.shared.scope.fire(Ending::Cancelled(By::Parent));
                while running.next().await.is_some() {}
                resume_unwind(panic);
            }
        }
        run.shared.seat.come_back(&run.shared.scope).await;
    }
    run.shared.tree.ledger().forget_promised_calls(run.shared.account);
    match run.shared.scope.ending() {
        Some(ending) => Err(ending),
        None => Ok(()),
    }
}

/// The event for a call that never ran.
pub fn not_run_fact(result: &ToolResult, failure: Failure) -> Fact {
    Fact::ToolFinished {
        call: result.call.clone(),
        name: result.name.clone(),
        ok: false,
        output: result.output.clone(),
        bytes: result.output.len() as u64,
        truncated: false,
        duration_ms: 0,
        failure: Some(failure),
        raw: None,
    }
}

/// Runs of calls that may go side by side, in call order; a call that does more than read is a
/// segment of its own.
fn segments(planned: Vec<Planned>) -> Vec<Vec<(usize, Planned)>> {
    let mut segments: Vec<Vec<(usize, Planned)>> = Vec::new();
    let mut side_by_side = false;
    for (index, planned) in planned.into_iter().enumerate() {
        let reads_only = planned.reads_only();
        match segments.last_mut() {
            Some(segment) if side_by_side && reads_only => segment.push((index, planned)),
            _ => segments.push(vec![(index, planned)]),
        }
        side_by_side = reads_only;
    }
    segments
}

fn decided(end: CallEnd) -> Planned {
    Planned::Decided(Box::new(end))
}

async fn admit_all(run: &mut Run, calls: &[ToolCall], room: Option<u64>) -> Vec<Planned> {
    let mut planned = Vec::with_capacity(calls.len());
    for (index, call) in calls.iter().enumerate() {
        let no_room = room.is_some_and(|tokens| tokens < LEAST_ROOM * (index as u64 + 1));
        if no_room || !run.shared.tree.ledger().promise_call(run.shared.account) {
            planned.push(decided(CallEnd::unstarted(Failure::NotRun, "not run: budget")));
            continue;
        }
        let admitted = admit(run, call).await;
        // A tool is paid for when it starts; what never starts is free.
        if !matches!(admitted, Planned::Tool { .. }) {
            run.shared.tree.ledger().charge_promised_call(run.shared.account);
        }
        planned.push(admitted);
    }
    planned
}

async fn admit(run: &mut Run, call: &ToolCall) -> Planned {
    let shared = Arc::clone(&run.shared);
    match guard::admit(&shared.host.toolbox, &shared.contract, call) {
        Ok(Admitted::Tool { tool, arguments }) => Planned::Tool { tool, arguments },
        Ok(Admitted::Task(request)) => match delegate::admit(&shared, &call.call, request).await {
            Ok(ticket) => Planned::Task(Box::new(ticket)),
            Err(end) => Planned::Decided(end),
        },
        Err(refused) => decided(answer_refused(run, call, refused).await),
    }
}

/// A call that the guard refused. A `task` call of a run that may not delegate gets the contract's
/// own answer; arguments that do not fit are an error like any other, not an attempt at more.
async fn answer_refused(run: &mut Run, call: &ToolCall, refused: Refused) -> CallEnd {
    let is_task = call.name == crate::tool::task::NAME;
    match refused.kind {
        RefusalKind::BadArguments { field } if is_task => {
            return delegate::malformed(&run.shared, &call.call, &field, &refused.text).await;
        }
        RefusalKind::BadArguments { .. } => {}
        RefusalKind::UnknownTool | RefusalKind::NotHeld if is_task => {
            return lineage::may_not_delegate(&run.shared, &call.call, &refused.text).await;
        }
        RefusalKind::UnknownTool | RefusalKind::NotHeld => {
            run.record.refused.push(call.name.clone());
        }
    }
    CallEnd::unstarted(Failure::Refused, refused.text)
}

async fn perform(shared: Arc<RunShared>, call: ToolCall, planned: Planned) -> CallEnd {
    let is_task = planned.is_task();
    let end = apart(|| guarded(&shared, call, planned)).await;
    if !is_task {
        shared.seat.call_ended();
    }
    end
}

/// A tool that panics takes its own result with it and nothing else.
async fn guarded(shared: &Arc<RunShared>, call: ToolCall, planned: Planned) -> CallEnd {
    let guarded = AssertUnwindSafe(async {
        match planned {
            Planned::Decided(end) => *end,
            Planned::Task(ticket) => apart(|| delegate::run_child(shared, &call, *ticket)).await,
            Planned::Tool { tool, arguments } => {
                apart(|| use_tool::use_tool(shared, &call, &tool, arguments)).await
            }
        }
    });
    guarded.catch_unwind().await.unwrap_or_else(|_| {
        let text = format!("internal error: the tool {} panicked; its result is lost", call.name);
        CallEnd::unstarted(Failure::Error, text)
    })
}

/// A batch that is going on.
struct Batch {
    calls: Vec<ToolCall>,
    /// Results by call, but for calls that never ran: those are no doing of the model's.
    outputs: Vec<Option<(bool, String)>>,
    open: usize,
    room: Room,
}

impl Batch {
    fn new(run: &Run, calls: Vec<ToolCall>) -> Self {
        let room = Room::of(run, &calls);
        Self { outputs: vec![None; calls.len()], open: calls.len(), room, calls }
    }

    /// Takes the end of one call: fits the result into the budget, records and tells it. The last
    /// one of the batch carries the loop guard's warning, since only then all results are known.
    async fn finish(&mut self, run: &mut Run, index: usize, mut end: CallEnd) {
        // Refusals quote what the model wrote; what a tool gave was looked at before.
        keeping::blot(&run.shared.host, &mut end.output);
        self.room.fit(run, self.open, &mut end.output);
        if end.failure != Some(Failure::NotRun) {
            self.outputs[index] = Some((end.output.ok, end.output.text.clone()));
        }
        self.open -= 1;
        if self.open == 0
            && let Some(warning) = self.judge(run)
        {
            end.output.text.push_str("\n\n");
            end.output.text.push_str(warning);
        }
        let call = &self.calls[index];
        note(run, call, &mut end);
        let CallEnd { output, failure, duration_ms, .. } = end;
        run.settled.push(ToolResult {
            call: call.call.clone(),
            name: call.name.clone(),
            ok: output.ok,
            output: output.text.clone(),
        });
        self.room.keep(run, self.open);
        let fact = Fact::ToolFinished {
            call: call.call.clone(),
            name: call.name.clone(),
            ok: output.ok,
            output: output.text,
            bytes: output.bytes,
            truncated: output.truncated,
            duration_ms,
            failure,
            raw: output.raw,
        };
        run.shared.emit(fact).await;
    }

    fn judge(&self, run: &mut Run) -> Option<&'static str> {
        // Fields in another order are the same arguments.
        let arguments = |call: &ToolCall| {
            let mut arguments = call.arguments.clone();
            arguments.sort_all_objects();
            arguments.to_string()
        };
        let arguments: Vec<String> = self.calls.iter().map(arguments).collect();
        let observed: Vec<Observed<'_>> = self
            .calls
            .iter()
            .zip(&arguments)
            .zip(&self.outputs)
            .filter_map(|((call, arguments), output)| {
                let (ok, output) = output.as_ref()?;
                Some(Observed { name: &call.name, arguments, output, ok: *ok })
            })
            .collect();
        match run.loop_guard.observe(&observed) {
            Verdict::Fine => None,
            Verdict::Warn => Some(
                "[runtime] You have made this same call with this same result several times. \
                 Once more and this run must report what it has: do something else, or answer.",
            ),
            Verdict::Stop => {
                run.forced = Some(Exhausted::Repeats);
                Some("[runtime] Stopped: this run repeats itself. Report what you have.")
            }
        }
    }
}

fn note(run: &mut Run, call: &ToolCall, end: &mut CallEnd) {
    let shown: Vec<Shown> = std::mem::take(&mut end.output.shown);
    run.record.shown.extend(shown);
    run.record.tool_calls += u64::from(end.failure != Some(Failure::NotRun));
    if end.failure == Some(Failure::Denied) {
        run.record.denied.push(call_line(call));
    }
    // A task is refused when its batch is admitted or when its turn comes; both end here.
    if end.failure == Some(Failure::Refused) && call.name == crate::tool::task::NAME {
        run.record.refused.push(call.name.clone());
    }
    let effects = std::mem::take(&mut end.output.effects);
    run.record.processes_ended += effects.processes_ended;
    run.record.not_ended.extend(effects.not_ended);
    if let Some(ran) = effects.ran {
        run.record.hear(format!("{}\n{}", ran.command, end.output.text));
    }
    if end.left_behind {
        run.record.not_ended.push(call_line(call));
    }
    if !matches!(end.failure, Some(Failure::NotRun | Failure::Refused | Failure::Denied)) {
        let outcome = if end.output.ok { "ok" } else { "failed" };
        run.record.done.push(format!("{}: {outcome}", call_line(call)));
    }
    if let Some(child) = end.child.take() {
        run.record.add_child(child);
    }
}

/// A call on one line, with its first argument.
pub(super) fn call_line(call: &ToolCall) -> String {
    let first = call.arguments.as_object().and_then(|fields| fields.values().next());
    match first {
        Some(Value::String(text)) => format!("{} {}", call.name, excerpt::one_line(text, 60)),
        Some(other) => format!("{} {}", call.name, excerpt::one_line(&other.to_string(), 60)),
        None => call.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::tool::toolbox::Toolbox;

    #[test]
    fn only_neighbours_that_read_share_a_segment() {
        let tools = Toolbox::standard();
        let planned = |name: &str| match tools.get(name) {
            Some(tool) => Planned::Tool { tool: Arc::clone(tool), arguments: Value::Null },
            None => decided(CallEnd::unstarted(Failure::Refused, "no such tool")),
        };
        let table: [(&[&str], &[&[usize]]); 6] = [
            (&[], &[]),
            (&["read_file", "search", "list_files"], &[&[0, 1, 2]]),
            (&["bash", "bash"], &[&[0], &[1]]),
            (&["read_file", "write_file", "read_file"], &[&[0], &[1], &[2]]),
            (&["search", "search", "run_tests", "search", "search"], &[&[0, 1], &[2], &[3, 4]]),
            (&["edit_file", "unknown", "read_file", "bash"], &[&[0], &[1, 2], &[3]]),
        ];
        for (names, expected) in table {
            let found = segments(names.iter().map(|name| planned(name)).collect());
            let places: Vec<Vec<usize>> = found
                .iter()
                .map(|segment| segment.iter().map(|(place, _)| *place).collect())
                .collect();
            assert_eq!(places, expected, "{names:?}");
        }
    }
}
