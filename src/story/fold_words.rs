//! How the parent model's words come in and become an entry.

use crate::domain::event::{MessageFact, Timestamp};

use super::Story;
use super::conversation::{Body, Entry, Speech};

impl Story {
    pub(super) fn parent_words(&mut self, at: Timestamp, text: &str) {
        let index = self.open_speech.unwrap_or(self.entries.len());
        if let Some(Entry { body: Body::Assistant(speech), .. }) = self.entries.get_mut(index) {
            speech.text.push_str(text);
            return;
        }
        let speech = Speech { text: text.to_owned(), streaming: true, interrupted: false };
        self.push(at, Body::Assistant(speech));
        self.open_speech = Some(index);
    }

    /// The whole message replaces what streamed in, which is the same text unless pieces of it
    /// never reached this reader.
    pub(super) fn parent_message(&mut self, at: Timestamp, message: &MessageFact) {
        let open = self.open_speech.take();
        if let Some(entry) = open.and_then(|index| self.entries.get_mut(index))
            && let Body::Assistant(speech) = &mut entry.body
        {
            speech.streaming = false;
            speech.interrupted = message.interrupted;
            if speech.text != message.text {
                speech.text.clone_from(&message.text);
                entry.version += 1;
            }
        } else if !message.text.trim().is_empty() {
            let interrupted = message.interrupted;
            let speech = Speech { text: message.text.clone(), streaming: false, interrupted };
            self.push(at, Body::Assistant(speech));
        }
    }
}
