//! How calls ask for a person's word and get it, and which clocks stand meanwhile.

use crate::domain::approval::{Decider, Decision};
use crate::domain::event::{ChangedPath, Event, Fact, Origin, Preflight};
use crate::domain::ids::CallId;

use super::Story;
use super::approval::{Approval, Asker, Grant, Verdict};
use super::call::CallState;
use super::delegation::{Node, NodeId};
use super::index::Place;
use super::run::Run;

impl Story {
    pub(super) fn approval_requested(&mut self, event: &Event) {
        let Fact::ApprovalRequested {
            call,
            name,
            summary,
            diff,
            command,
            folder,
            fence,
            prefix,
            preflight,
        } = &event.fact
        else {
            return;
        };
        let Some(index) = self.call_index(event, call, name, None) else { return };
        let (Some(place), Some(run)) = (self.place(&event.origin), event.origin.run.clone()) else {
            return;
        };
        let Some(asking) = self.call_mut(Some(place), index).filter(|call| call.is_open()) else {
            return;
        };
        asking.state = CallState::Asking;
        asking.since = event.ts;
        let calls = self.asking_mut(place);
        if let Some(calls) = calls.filter(|calls| !calls.contains(&index)) {
            calls.push(index);
        }
        let about = preflight.as_ref().and_then(|asked| self.child_asked_about(event, call, asked));
        self.approvals.ask(Approval {
            number: event.id,
            run,
            call: call.clone(),
            asker: match place {
                Place::Parent => Asker::Parent,
                Place::Child(node) => Asker::Child(node),
            },
            name: name.clone(),
            summary: summary.clone(),
            diff: diff.clone(),
            command: command.clone(),
            folder: folder.clone(),
            fence: fence.clone(),
            prefix: prefix.clone(),
            preflight: preflight.clone(),
            about,
            since: event.ts,
        });
    }

    /// The child that a person is asked about before it starts.
    fn child_asked_about(
        &mut self,
        event: &Event,
        call: &CallId,
        asked: &Preflight,
    ) -> Option<NodeId> {
        let id = self.node_of_call(event, call)?;
        self.name_node(id, event.origin.task, &asked.role, Some(&asked.description));
        self.delegations.asked_about(id, event.ts);
        Some(id)
    }

    pub(super) fn approval_decided(&mut self, event: &Event, id: &CallId, verdict: Verdict) {
        self.granted(&event.origin, id, &verdict);
        self.answered_about(event, id, &verdict);
        self.asks_no_more(&event.origin, id);
        let Some(slot) = self.runs.slot(&event.origin) else { return };
        let (place, index) = (slot.place, slot.calls.get(id).copied());
        if let Some(call) = index.and_then(|index| self.call_mut(Some(place), index)) {
            call.verdict = Some(verdict);
            if call.state == CallState::Asking {
                call.state = CallState::Requested;
                call.since = event.ts;
            }
        }
    }

    /// A child that was asked about waits to start, or for its end to be told.
    fn answered_about(&mut self, event: &Event, id: &CallId, verdict: &Verdict) {
        let asked = self.approvals.iter().find(|approval| {
            approval.call == *id && Some(&approval.run) == event.origin.run.as_ref()
        });
        if let Some(node) = asked.and_then(|asked| asked.about) {
            self.delegations.wait(node, event.ts);
            if let Some(node) = self.delegations.get_mut(node) {
                node.verdict = Some(verdict.clone());
            }
        }
    }

    /// Keeps what a person allowed beyond the call that was asked about.
    fn granted(&mut self, origin: &Origin, id: &CallId, verdict: &Verdict) {
        let session = match (verdict.by, verdict.decision) {
            (Decider::User, Decision::Session) => true,
            (Decider::User, Decision::Child) => false,
            (_, _) => return,
        };
        let asked = self
            .approvals
            .iter()
            .find(|approval| approval.call == *id && Some(&approval.run) == origin.run.as_ref());
        let Some((asked, prefix)) = asked.and_then(|asked| Some((asked, asked.prefix.clone()?)))
        else {
            return;
        };
        let grant = Grant { asker: asked.asker, tool: asked.name.clone(), prefix, session };
        if !self.grants.contains(&grant) {
            self.grants.push(grant);
        }
    }

    /// A call that has started or ended asks for nothing, even if its answer never reached this
    /// reader.
    pub(super) fn asks_no_more(&mut self, origin: &Origin, id: &CallId) {
        let Some(run) = &origin.run else { return };
        self.approvals.settle(run, id);
        let Some(slot) = self.runs.slot(origin) else { return };
        let (place, index) = (slot.place, slot.calls.get(id).copied());
        if let Some(calls) = self.asking_mut(place) {
            calls.retain(|asking| Some(*asking) != index);
        }
    }

    /// A run that has ended asks for nothing.
    pub(super) fn nothing_is_asked(&mut self, origin: &Origin) {
        let (Some(place), Some(run)) = (self.place(origin), &origin.run) else { return };
        self.approvals.settle_run(run);
        if let Some(calls) = self.asking_mut(place) {
            calls.clear();
        }
    }

    pub(super) fn files_changed(&mut self, origin: &Origin, paths: &[ChangedPath]) {
        let Some(place) = self.place(origin) else { return };
        self.for_each_ancestor(place, |run| run.changed.fold(paths));
    }

    /// A run's clock stands while all that is alive under it waits for a person.
    pub(super) fn keep_clocks(&mut self, event: &Event) {
        let Some(place) = self.place(&event.origin) else { return };
        let mut at = Some(place);
        while let Some(place) = at {
            let stands = self.stands(place);
            let run = match place {
                Place::Parent => self.parent.as_mut(),
                Place::Child(id) => self.delegations.get_mut(id).and_then(|node| node.run.as_mut()),
            };
            if let Some(run) = run {
                let from = run.quiet_from().map_or(event.ts, |from| from.max(event.ts));
                run.stand(stands, if stands { from } else { event.ts });
            }
            at = match place {
                Place::Parent => None,
                Place::Child(id) => match self.delegations.get(id).and_then(|node| node.parent) {
                    Some(above) => Some(Place::Child(above)),
                    None => Some(Place::Parent),
                },
            };
        }
    }

    fn stands(&self, place: Place) -> bool {
        let asks = match place {
            Place::Parent => !self.parent_asking.is_empty(),
            Place::Child(id) => self.delegations.get(id).is_some_and(Node::asks),
        };
        let mut running = self.running_children(place).peekable();
        let run = match place {
            Place::Parent => self.parent.as_ref(),
            Place::Child(id) => self.delegations.get(id).and_then(|node| node.run.as_ref()),
        };
        let paused = run.is_some_and(|run| run.quiet_from().is_some());
        let waits = asks || paused || running.peek().is_some();
        let child_stands = |child: Option<NodeId>| {
            let run = child.and_then(|id| self.delegations.get(id)?.run.as_ref());
            run.is_some_and(Run::is_standing)
        };
        waits && running.all(child_stands)
    }

    /// For each running call the child that it became; `None` for a call that is no delegation.
    fn running_children(&self, place: Place) -> Box<dyn Iterator<Item = Option<NodeId>> + '_> {
        match place {
            Place::Parent => {
                let child = |index: &usize| self.entries.get(*index)?.call()?.child;
                Box::new(self.parent_running.iter().map(child))
            }
            Place::Child(id) => {
                let node = self.delegations.get(id);
                let running = node.map_or(&[][..], |node| node.running.as_slice());
                let child = move |index: &usize| node?.calls.get(*index)?.child;
                Box::new(running.iter().map(child))
            }
        }
    }

    fn asking_mut(&mut self, place: Place) -> Option<&mut Vec<usize>> {
        match place {
            Place::Parent => Some(&mut self.parent_asking),
            Place::Child(id) => self.delegations.get_mut(id).map(|node| &mut node.asking),
        }
    }
}
