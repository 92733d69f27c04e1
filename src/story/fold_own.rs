//! The user's own commands: calls of the session, which belong to no run.

use serde_json::Value;

use crate::domain::event::{Event, Fact};
use crate::domain::ids::CallId;

use super::Story;
use super::call::{Call, CallState};
use super::conversation::Body;

/// What the user's own commands are called where a tool's name would stand.
pub const OWN_COMMAND: &str = "!";

impl Story {
    pub(super) fn own_started(
        &mut self,
        event: &Event,
        id: &CallId,
        name: &str,
        arguments: &Value,
    ) {
        let call = self.own_call(event, id, name, arguments);
        if let Some(call) = call.filter(|call| call.is_open()) {
            call.state = CallState::Running;
            call.since = event.ts;
            self.own_running.push(id.clone());
        }
    }

    pub(super) fn own_progress(&mut self, id: &CallId, text: &str) {
        let index = self.own.get(id).copied();
        if let Some(call) = index.and_then(|index| self.entry_call(index))
            && call.is_open()
        {
            call.append_progress(text);
        }
    }

    pub(super) fn own_finished(&mut self, event: &Event) {
        let Fact::ToolFinished { call: id, name, output, .. } = &event.fact else { return };
        self.own_running.retain(|running| running != id);
        let Some(call) = self.own_call(event, id, name, &Value::Null) else { return };
        call.finish(&event.fact, event.ts);
        call.output.clone_from(output);
    }

    fn own_call(
        &mut self,
        event: &Event,
        id: &CallId,
        name: &str,
        arguments: &Value,
    ) -> Option<&mut Call> {
        let index = self.own.get(id).copied().unwrap_or(self.entries.len());
        if index == self.entries.len() {
            let call = Call::new(id.clone(), name.to_owned(), arguments.clone(), event.ts);
            self.push(event.ts, Body::Call(call));
            self.own.insert(id.clone(), index);
        }
        self.entry_call(index)
    }
}
