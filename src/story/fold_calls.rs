//! How a tool call of anybody is asked for, starts, and comes to its result.

use serde_json::Value;

use crate::domain::event::{Event, Fact, Failure, Origin};
use crate::domain::ids::CallId;

use super::Story;
use super::call::{Call, CallState};
use super::conversation::Body;
use super::delegation::Node;
use super::index::Place;
use super::run::Phase;

impl Story {
    pub(super) fn tool_started(
        &mut self,
        event: &Event,
        id: &CallId,
        name: &str,
        arguments: &Value,
    ) {
        let Some(index) = self.call_index(event, id, name, Some(arguments)) else { return };
        self.asks_no_more(&event.origin, id);
        let place = self.place(&event.origin);
        if let Some(call) = self.call_mut(place, index) {
            call.state = CallState::Running;
            call.since = event.ts;
        }
        if let Some(running) = self.running_mut(place) {
            running.push(index);
        }
        if let Some(run) = self.run_mut(&event.origin) {
            run.enter(Phase::Tools, event.ts);
        }
    }

    pub(super) fn tool_progress(&mut self, origin: &Origin, id: &CallId, text: &str) {
        let index = self.runs.slot(origin).and_then(|slot| slot.calls.get(id).copied());
        let place = self.place(origin);
        if let Some(call) = index.and_then(|index| self.call_mut(place, index))
            && call.is_open()
        {
            call.append_progress(text);
        }
    }

    pub(super) fn tool_finished(&mut self, event: &Event) {
        let Fact::ToolFinished { call: id, name, ok, output, failure, .. } = &event.fact else {
            return;
        };
        let Some(index) = self.call_index(event, id, name, None) else { return };
        self.asks_no_more(&event.origin, id);
        let place = self.place(&event.origin);
        let Some(call) = self.call_mut(place, index) else { return };
        call.finish(&event.fact, event.ts);
        call.output.clone_from(output);
        let child = call.child;
        let is_list = call.is_list() && place == Some(Place::Parent);
        let free = *failure == Some(Failure::NotRun);
        if let Some(running) = self.running_mut(place) {
            running.retain(|running| *running != index);
            if running.is_empty()
                && let Some(run) = self.run_mut(&event.origin)
            {
                run.enter(Phase::Tools, event.ts);
            }
        }
        self.count_result(place, *ok, free);
        if is_list {
            self.list_is(index);
        }
        if let Some(child) = child {
            self.delegation_answered(child, output, *failure, event.ts);
        }
    }

    /// The call's index, made on first sight: a refused call has no start, and a story may be
    /// read from a file that lost a line.
    pub(super) fn call_index(
        &mut self,
        event: &Event,
        id: &CallId,
        name: &str,
        arguments: Option<&Value>,
    ) -> Option<usize> {
        let slot = self.runs.slot(&event.origin)?;
        if let Some(index) = slot.calls.get(id) {
            return Some(*index);
        }
        let arguments = arguments.cloned().unwrap_or(Value::Null);
        let mut call = Call::new(id.clone(), name.to_owned(), arguments, event.ts);
        call.child = slot.children.get(id).copied();
        let place = slot.place;
        let index = match place {
            Place::Parent => self.entries.len(),
            Place::Child(node) => self.delegations.get(node)?.calls.len(),
        };
        slot.calls.insert(id.clone(), index);
        match place {
            Place::Parent => self.push(event.ts, Body::Call(call)),
            Place::Child(node) => self.delegations.get_mut(node)?.add_call(call),
        }
        self.for_each_ancestor(place, |run| run.tool_calls += 1);
        Some(index)
    }

    /// The newest list takes the place of the one before.
    fn list_is(&mut self, index: usize) {
        let before = self.todo.replace(index).filter(|before| *before != index);
        if let Some(old) = before.and_then(|before| self.entry_call(before)) {
            old.superseded = true;
        }
    }

    fn count_result(&mut self, place: Option<Place>, ok: bool, free: bool) {
        let Some(place) = place else { return };
        if free {
            self.for_each_ancestor(place, |run| {
                run.tool_calls = run.tool_calls.saturating_sub(1);
            });
        }
        if let Place::Child(id) = place
            && let Some(node) = self.delegations.get_mut(id)
        {
            node.errors += u32::from(!ok && !free);
            node.successes += u32::from(ok);
        }
    }

    pub(super) fn call_mut(&mut self, place: Option<Place>, index: usize) -> Option<&mut Call> {
        match place? {
            Place::Parent => self.entry_call(index),
            Place::Child(id) => self.delegations.get_mut(id)?.calls.get_mut(index),
        }
    }

    pub(super) fn entry_call(&mut self, index: usize) -> Option<&mut Call> {
        self.entries.get_mut(index)?.call_mut()
    }

    pub(super) fn running_mut(&mut self, place: Option<Place>) -> Option<&mut Vec<usize>> {
        match place? {
            Place::Parent => Some(&mut self.parent_running),
            Place::Child(id) => self.delegations.get_mut(id).map(|node| &mut node.running),
        }
    }
}

impl Node {
    fn add_call(&mut self, call: Call) {
        let count = self.calls.len();
        for (period, same) in (1..).zip(&mut self.repeats) {
            let earlier = count.checked_sub(period).and_then(|place| self.calls.get(place));
            let repeated = earlier.is_some_and(|earlier| earlier.same_as(&call));
            *same = if repeated { *same + 1 } else { 0 };
        }
        self.calls.push(call);
    }
}
