//! How each event changes the story. Every step finds its place by a map, so that none of them
//! looks through the history.

use serde_json::Value;

use crate::domain::approval::Decider;
use crate::domain::budget::Remaining;
use crate::domain::event::{
    ContractView, Event, Fact, Failure, MessageFact, Origin, RunFinished, Speaker, Timestamp,
};
use crate::domain::history::RUNTIME;
use crate::domain::ids::{CallId, TaskId};
use crate::domain::report::{By, Report, Status};
use crate::domain::usage::Usage;
use crate::domain::violation::{Code, Violation};

use super::conversation::{Body, Entry, Notice};
use super::delegation::NodeId;
use super::index::{Place, is_own_task};
use super::run::{End, Phase, Run};
use super::{Session, Story};

/// The code of the notice that answers a question for what changed.
pub const DIFF: &str = "DIFF";

impl Story {
    pub(super) fn session_started(&mut self, fact: &Fact) {
        if let Fact::SessionStarted {
            session,
            version,
            workspace,
            provider,
            model,
            permission_mode,
            fence,
            budget,
        } = fact
        {
            self.session = Some(Session {
                id: *session,
                version: version.clone(),
                workspace: workspace.clone(),
                provider: provider.clone(),
                model: model.clone(),
                permission_mode: permission_mode.clone(),
                fence: fence.clone(),
                budget: *budget,
            });
        }
    }

    pub(super) fn task_queued(
        &mut self,
        event: &Event,
        call: &CallId,
        description: &str,
        role: &str,
    ) {
        let Some(id) = self.node_of_call(event, call) else { return };
        self.name_node(id, event.origin.task, role, Some(description));
        self.delegations.wait(id, event.ts);
    }

    pub(super) fn run_started(
        &mut self,
        event: &Event,
        call: Option<&CallId>,
        role: &str,
        description: Option<&str>,
        depth: u32,
        contract: &ContractView,
    ) {
        let Some(run) = event.origin.run.clone() else { return };
        let started = Run::new(run.clone(), depth, event.ts, contract);
        let Some(call) = call.filter(|_| depth > 0) else {
            self.runs.open(run, Place::Parent);
            self.parent = Some(started);
            self.open_speech = None;
            self.parent_running.clear();
            self.parent_asking.clear();
            return;
        };
        let Some(id) = self.node_of_call(event, call) else { return };
        self.runs.open(run, Place::Child(id));
        self.name_node(id, event.origin.task, role, description);
        if let Some(node) = self.delegations.get_mut(id)
            && let Some(title) = longer_title(&node.description, &contract.prompt)
        {
            node.description = title;
        }
        self.delegations.start(id, started, event.ts);
    }

    pub(super) fn contract_refused(
        &mut self,
        event: &Event,
        call: &CallId,
        code: Code,
        message: &str,
        violations: &[Violation],
    ) {
        let Some(id) = self.node_of_call(event, call) else { return };
        // The number of who asked is not the number of what was asked for.
        let task = event.origin.task.filter(|_| !is_own_task(&event.origin));
        self.name_node(id, task, "", None);
        if let Some(node) = self.delegations.get_mut(id) {
            let texts = violations.iter().map(|violation| violation.message.as_str());
            let mut texts: Vec<&str> = texts.collect();
            if texts.is_empty() {
                texts.push(message);
            }
            let level = crate::domain::event::Level::Warning;
            let notice = |text: &str| Notice {
                level,
                code: code.as_str().to_owned(),
                text: text.to_owned(),
            };
            node.notices.extend(texts.into_iter().map(notice));
        }
        let status = if code == Code::Cancelled { Status::Cancelled } else { Status::Blocked };
        let end = End { status, code: Some(code), dimension: None, by: None };
        self.delegations.end(id, end, event.ts);
    }

    pub(super) fn turn_started(
        &mut self,
        event: &Event,
        turn: u32,
        of: Option<u64>,
        wrap_up: bool,
    ) {
        match self.place(&event.origin) {
            Some(Place::Parent) => self.open_speech = None,
            Some(Place::Child(id)) => self.set_child_text(id, ""),
            None => return,
        }
        if let Some(run) = self.run_mut(&event.origin) {
            run.turn = turn;
            run.turns_limit = of;
            run.wrap_up = wrap_up;
            run.enter(Phase::Model { last_words: None }, event.ts);
        }
    }

    pub(super) fn retry_scheduled(&mut self, event: &Event, delay_ms: u64, status: Option<u16>) {
        if let Some(run) = self.run_mut(&event.origin) {
            let at = Timestamp(event.ts.0.saturating_add(delay_ms));
            run.enter(Phase::Retrying { at, http_status: status }, event.ts);
        }
    }

    pub(super) fn text_delta(&mut self, event: &Event, text: &str) {
        self.words_came(&event.origin, event.ts);
        match self.place(&event.origin) {
            Some(Place::Parent) => self.parent_words(event.ts, text),
            Some(Place::Child(id)) => {
                if let Some(node) = self.delegations.get_mut(id) {
                    node.text.push_str(text);
                }
            }
            None => {}
        }
    }

    pub(super) fn words_came(&mut self, origin: &Origin, at: Timestamp) {
        if let Some(run) = self.run_mut(origin) {
            run.words_came(at);
        }
    }

    pub(super) fn message(&mut self, event: &Event, message: &MessageFact) {
        let Some(place) = self.place(&event.origin) else { return };
        if message.provider.as_deref() == Some(RUNTIME) {
            // It closes a question for the model's eyes; the run's own end says the same to people.
            return;
        }
        match (message.role, place) {
            (Speaker::User, Place::Parent) => {
                self.push(event.ts, Body::User { text: message.text.clone() });
            }
            // A child's only user message is its task, which its contract shows.
            (Speaker::User, Place::Child(_)) => return,
            (Speaker::Assistant, Place::Parent) => self.parent_message(event.ts, message),
            (Speaker::Assistant, Place::Child(id)) => self.set_child_text(id, &message.text),
        }
        for call in &message.tool_calls {
            self.call_index(event, &call.call, &call.name, Some(&call.arguments));
        }
        if let (Speaker::Assistant, Some(run)) = (message.role, self.run_mut(&event.origin)) {
            let phase = if message.tool_calls.is_empty() { Phase::Between } else { Phase::Tools };
            run.enter(phase, event.ts);
        }
    }

    pub(super) fn usage(&mut self, origin: &Origin, usage: Usage, remaining: Remaining) {
        self.totals.usage += usage;
        let Some(place) = self.place(origin) else { return };
        if let Some(run) = self.run_mut(origin) {
            run.remaining = Some(remaining);
        }
        if place == Place::Parent {
            self.totals.context_tokens = usage.input_tokens;
        }
        self.for_each_ancestor(place, |run| run.usage += usage);
    }

    pub(super) fn notice(&mut self, event: &Event, notice: Notice) {
        if notice.code == DIFF {
            // The answer to a question, shown to whoever asked; it is no part of the conversation.
            return;
        }
        match self.place(&event.origin) {
            Some(Place::Child(id)) => {
                if let Some(node) = self.delegations.get_mut(id) {
                    node.notices.push(notice);
                }
            }
            Some(Place::Parent) | None => self.push(event.ts, Body::Notice(notice)),
        }
    }

    pub(super) fn cancel_requested(&mut self, event: &Event, target: &str, by: By) {
        let place = self.runs.named(target);
        let run = match place {
            Some(Place::Child(id)) => {
                self.delegations.get_mut(id).and_then(|node| node.run.as_mut())
            }
            Some(Place::Parent) => self.parent.as_mut(),
            None => None,
        };
        if let Some(run) = run {
            run.enter(Phase::Cancelling { by }, event.ts);
        }
    }

    pub(super) fn run_finished(&mut self, event: &Event, fact: &RunFinished) {
        let Some(place) = self.place(&event.origin) else { return };
        self.nothing_is_asked(&event.origin);
        if let Some(run) = self.run_mut(&event.origin) {
            run.finish(fact, event.ts);
        }
        match place {
            Place::Parent => self.parent_finished(event, fact),
            Place::Child(id) => {
                if let Some(node) = self.delegations.get_mut(id) {
                    node.report.clone_from(&fact.report);
                }
                self.delegations.end(id, End::from(fact), event.ts);
            }
        }
    }

    fn parent_finished(&mut self, event: &Event, fact: &RunFinished) {
        self.reply.clone_from(&fact.reply);
        self.parent_running.clear();
        if let Some(index) = self.open_speech.take()
            && let Some(Entry { body: Body::Assistant(speech), .. }) = self.entries.get_mut(index)
        {
            speech.streaming = false;
            speech.interrupted = true;
        }
        let changed = self.parent.as_ref().map(|run| run.changed.clone());
        if let Some(changed) = changed.filter(|changed| !changed.is_empty()) {
            self.push(event.ts, Body::Changed(changed));
        }
        if fact.status != Status::Completed {
            self.push(event.ts, Body::Ended(End::from(fact)));
        }
    }

    fn set_child_text(&mut self, id: NodeId, text: &str) {
        if let Some(node) = self.delegations.get_mut(id)
            && node.text != text
        {
            text.clone_into(&mut node.text);
            node.text_version += 1;
        }
    }

    /// The node of a `task` call, made on first sight and linked to the call.
    pub(super) fn node_of_call(&mut self, event: &Event, id: &CallId) -> Option<NodeId> {
        let parent = self.runs.delegating(&event.origin, id)?;
        let slot = self.runs.open(parent, Place::Parent);
        if let Some(node) = slot.children.get(id) {
            return Some(*node);
        }
        let above = match slot.place {
            Place::Parent => None,
            Place::Child(node) => Some(node),
        };
        let node = self.delegations.add(above, id.clone(), event.ts);
        slot.children.insert(id.clone(), node);
        let (place, index) = (slot.place, slot.calls.get(id).copied());
        if let Some(call) = index.and_then(|index| self.call_mut(Some(place), index)) {
            call.child = Some(node);
            let arguments = call.arguments.clone();
            self.name_from_arguments(node, &arguments);
        }
        Some(node)
    }

    fn name_from_arguments(&mut self, id: NodeId, arguments: &Value) {
        let word = |name: &str| arguments.get(name).and_then(Value::as_str);
        if let Some(node) = self.delegations.get_mut(id) {
            word("role").unwrap_or_default().clone_into(&mut node.role);
            let description = word("description").or_else(|| word("task"));
            description.unwrap_or_default().clone_into(&mut node.description);
        }
    }

    pub(super) fn name_node(
        &mut self,
        id: NodeId,
        task: Option<TaskId>,
        role: &str,
        description: Option<&str>,
    ) {
        if let Some(task) = task {
            self.runs.tasks.insert(task, id);
        }
        if let Some(node) = self.delegations.get_mut(id) {
            node.task = task.or(node.task);
            if !role.is_empty() {
                role.clone_into(&mut node.role);
            }
            if let Some(description) = description.filter(|text| !text.trim().is_empty()) {
                description.clone_into(&mut node.description);
            }
        }
    }

    /// A child that never ran (refused, or cancelled in the queue) is known by its result alone.
    pub(super) fn delegation_answered(
        &mut self,
        id: NodeId,
        output: &str,
        failure: Option<Failure>,
        at: Timestamp,
    ) {
        let Some(node) = self.delegations.get_mut(id) else { return };
        if node.report.is_none() {
            node.report = serde_json::from_str::<Report>(output).ok();
        }
        if !node.is_live() {
            return;
        }
        let mut end = node.report.as_ref().map_or_else(|| end_by_failure(failure), End::from);
        // A no to its start: no call of its own was denied, and not every no is a person's.
        if let (Some(Failure::Denied), Some(verdict)) = (failure, &node.verdict) {
            let by = (verdict.by == Decider::User).then_some(By::User);
            end = End { code: None, by, ..end };
        }
        self.delegations.end(id, end, at);
    }

    pub(super) fn push(&mut self, at: Timestamp, body: Body) {
        self.entries.push(Entry::new(at, body));
    }

    pub(super) fn place(&mut self, origin: &Origin) -> Option<Place> {
        self.runs.slot(origin).map(|slot| slot.place)
    }

    pub(super) fn run_mut(&mut self, origin: &Origin) -> Option<&mut Run> {
        let run = match self.place(origin)? {
            Place::Parent => self.parent.as_mut(),
            Place::Child(id) => self.delegations.get_mut(id)?.run.as_mut(),
        };
        run.filter(|run| Some(&run.id) == origin.run.as_ref())
    }

    /// The run itself and every run above it: what is shared is charged to each.
    pub(super) fn for_each_ancestor(&mut self, place: Place, mut change: impl FnMut(&mut Run)) {
        let mut next = match place {
            Place::Parent => None,
            Place::Child(id) => Some(id),
        };
        while let Some(node) = next.and_then(|id| self.delegations.get_mut(id)) {
            if let Some(run) = &mut node.run {
                change(run);
            }
            next = node.parent;
        }
        if let Some(run) = &mut self.parent {
            change(run);
        }
    }
}

/// A title in full, where it was cut or is missing: the line of the task that it is the start of.
fn longer_title(title: &str, task: &str) -> Option<String> {
    if title.is_empty() {
        return Some(task.to_owned());
    }
    let start = title.strip_suffix('…').filter(|start| !start.is_empty())?;
    let from = &task[task.find(start)?..];
    from.lines().next().map(str::to_owned)
}

fn end_by_failure(failure: Option<Failure>) -> End {
    let (status, code) = match failure {
        None => (Status::Completed, None),
        Some(Failure::Cancelled | Failure::NotRun) => (Status::Cancelled, Some(Code::Cancelled)),
        Some(Failure::Refused) => (Status::Blocked, None),
        Some(Failure::Denied) => (Status::Blocked, Some(Code::Denied)),
        Some(Failure::Error) => (Status::Failed, None),
    };
    End { status, code, dimension: None, by: None }
}
