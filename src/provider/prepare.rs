//! From neutral messages to turns that any strict server accepts, with whatever is wrong in them
//! repaired: every call answered once and in order, results before words, nothing blank, ids and
//! names of a form that is taken everywhere. It knows no wire's JSON.
//!
//! Every repair of a message depends on that message and those before it alone, so that a growing
//! conversation keeps its beginning and a provider's prompt cache finds it again. The one
//! exception is the blank end of a last answer.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use crate::domain::ids::CallId;
use crate::domain::message::{AssistantMessage, Block, Message, ToolCall, ToolResult};

/// What stands for the words of a user where a conversation does not begin with any.
const NO_BEGINNING: &str = "(the beginning of this conversation is not shown)";
/// What stands for the output of a tool that wrote none.
const NO_OUTPUT: &str = "(no output)";
/// What answers a call whose result is missing.
const NO_RESULT: &str = "not run: no result was recorded";
/// Characters of a tool's name that every server takes.
const LONGEST_NAME: usize = 64;

/// Who is going to read the turns.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// Its provider's name, as answers remember it.
    pub provider: &'a str,
    /// Its model's name, as answers remember it.
    pub model: &'a str,
    /// What it takes as the id of a call.
    pub ids: IdForm,
}

/// What a server takes as the id of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdForm {
    /// ASCII letters, digits, `_` and `-`, at most so many of them.
    Word {
        /// Characters at most; at least 8.
        longest: usize,
    },
    /// Exactly nine ASCII letters and digits.
    Nine,
}

/// One side's part of a conversation; the two sides alternate and the user begins.
#[derive(Debug, PartialEq)]
pub enum Turn<'a> {
    /// What the model is told.
    Asked(Asked<'a>),
    /// What the model said. Never empty.
    Answered(Vec<Piece<'a>>),
}

/// What the model is told: results first, then words. Never both empty.
#[derive(Debug, Default, PartialEq)]
pub struct Asked<'a> {
    /// One for each call of the turn before, in call order.
    pub results: Vec<Outcome<'a>>,
    /// Words, none of them blank.
    pub texts: Vec<&'a str>,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The call's id, in the form that was asked for.
    pub id: String,
    /// The tool's name.
    pub name: Cow<'a, str>,
    /// False for an error.
    pub ok: bool,
    /// What the tool wrote; never blank.
    pub output: &'a str,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece<'a> {
    /// Words; never blank.
    Text(&'a str),
    /// Reasoning of the reader's own.
    Reasoning {
        /// The words.
        text: &'a str,
        /// The seal, where it has one.
        signature: Option<&'a str>,
    },
    /// Sealed reasoning of the reader's own.
    Redacted(&'a str),
    /// A block of the reader's own.
    Opaque(&'a Value),
    /// A call.
    Call {
        /// Its id, in the form that was asked for, unlike all before it.
        id: String,
        /// The tool's name.
        name: Cow<'a, str>,
        /// The arguments, always an object.
        arguments: Cow<'a, Value>,
    },
}

/// The turns of `messages` as `reader` may see them. Reasoning and opaque blocks that another
/// provider or model wrote are left out, since only their author takes them back.
pub fn turns<'a>(messages: &'a [Arc<Message>], reader: &Reader<'_>) -> Vec<Turn<'a>> {
    let mut builder = Builder::new(*reader);
    for message in messages {
        match &**message {
            Message::User { text } => builder.ask(text),
            Message::Assistant(answer) => builder.answer(answer),
            Message::Results { results } => builder.settle(results),
        }
    }
    builder.finish()
}

/// A tool's name as every server takes it: a model may have made one up.
pub fn tool_name(name: &str) -> Cow<'_, str> {
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(is_word) {
        return Cow::Borrowed(name);
    }
    let word = as_word(name, LONGEST_NAME);
    Cow::Owned(if word.is_empty() { "unnamed".to_owned() } else { word })
}

struct Builder<'a, 'r> {
    reader: Reader<'r>,
    turns: Vec<Turn<'a>>,
    /// The calls of the last answer.
    open: Vec<OpenCall<'a>>,
    texts: Vec<&'a str>,
    used: HashSet<String>,
}

struct OpenCall<'a> {
    original: &'a CallId,
    id: String,
    name: Cow<'a, str>,
    result: Option<&'a ToolResult>,
}

impl<'a, 'r> Builder<'a, 'r> {
    fn new(reader: Reader<'r>) -> Self {
        let (turns, open, texts) = (Vec::new(), Vec::new(), Vec::new());
        Self { reader, turns, open, texts, used: HashSet::new() }
    }

    fn ask(&mut self, text: &'a str) {
        if !text.trim().is_empty() {
            self.texts.push(text);
        }
    }

    /// Results without a call are dropped: there is no form in which a server takes them.
    fn settle(&mut self, results: &'a [ToolResult]) {
        for result in results {
            let mut open = self.open.iter_mut();
            let call = open.find(|call| call.result.is_none() && *call.original == result.call);
            if let Some(call) = call {
                call.result = Some(result);
            }
        }
    }

    fn answer(&mut self, answer: &'a AssistantMessage) {
        let own = answer.provider == self.reader.provider && answer.model == self.reader.model;
        let visible = answer.blocks.iter().filter(|block| own || !is_private(block));
        let visible: Vec<&Block> = visible.filter(|block| !is_blank(block)).collect();
        if !visible.iter().any(|block| says_something(block)) {
            return;
        }
        self.close_asked();
        let mut pieces: Vec<Piece<'a>> = Vec::with_capacity(visible.len());
        for block in visible {
            pieces.push(self.piece(block));
        }
        match self.turns.last_mut() {
            Some(Turn::Answered(before)) => before.append(&mut pieces),
            Some(Turn::Asked(_)) => self.turns.push(Turn::Answered(pieces)),
            None => {
                let texts = vec![NO_BEGINNING];
                self.turns.push(Turn::Asked(Asked { results: Vec::new(), texts }));
                self.turns.push(Turn::Answered(pieces));
            }
        }
    }

    fn piece(&mut self, block: &'a Block) -> Piece<'a> {
        match block {
            Block::Text { text } => Piece::Text(text),
            Block::Reasoning { text, signature } => {
                Piece::Reasoning { text, signature: signature.as_deref() }
            }
            Block::Redacted { data } => Piece::Redacted(data),
            Block::Opaque { data } => Piece::Opaque(data),
            Block::ToolCall(call) => {
                let id = self.unused_id(call.call.as_str());
                let name = tool_name(&call.name);
                self.open.push(OpenCall {
                    original: &call.call,
                    id: id.clone(),
                    name: name.clone(),
                    result: None,
                });
                Piece::Call { id, name, arguments: arguments(call) }
            }
        }
    }

    /// Ends what the model is told: the results that are missing are made up.
    fn close_asked(&mut self) {
        if self.open.is_empty() && self.texts.is_empty() {
            return;
        }
        let results = self.open.drain(..).map(OpenCall::outcome).collect();
        let texts = std::mem::take(&mut self.texts);
        self.turns.push(Turn::Asked(Asked { results, texts }));
    }

    fn finish(mut self) -> Vec<Turn<'a>> {
        self.close_asked();
        if self.turns.is_empty() {
            let texts = vec![NO_BEGINNING];
            self.turns.push(Turn::Asked(Asked { results: Vec::new(), texts }));
        }
        if let Some(Turn::Answered(pieces)) = self.turns.last_mut() {
            trim_end(pieces);
        }
        self.turns
    }

    fn unused_id(&mut self, wanted: &str) -> String {
        let id = match self.reader.ids {
            IdForm::Word { longest } => self.unused_word(wanted, longest.max(8)),
            IdForm::Nine => self.unused_nine(wanted),
        };
        self.used.insert(id.clone());
        id
    }

    fn unused_word(&self, wanted: &str, longest: usize) -> String {
        let word = as_word(wanted, longest);
        if !word.is_empty() && !self.used.contains(&word) {
            return word;
        }
        let stem = if word.is_empty() { "call" } else { &word };
        self.first_unused(|number| {
            let ending = format!("_{number}");
            let room = longest.saturating_sub(ending.len()).min(stem.len());
            format!("{}{ending}", &stem[..room])
        })
    }

    fn unused_nine(&self, wanted: &str) -> String {
        let fits = wanted.len() == 9 && wanted.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if fits && !self.used.contains(wanted) {
            return wanted.to_owned();
        }
        self.first_unused(|number| format!("c{number:08}"))
    }

    fn first_unused(&self, candidate: impl Fn(usize) -> String) -> String {
        // Of one more candidate than there are used ids at least one is free.
        let first = self.used.len() + 1;
        (first..=first + self.used.len())
            .map(candidate)
            .find(|id| !self.used.contains(id))
            .unwrap_or_default()
    }
}

impl<'a> OpenCall<'a> {
    fn outcome(self) -> Outcome<'a> {
        let (ok, output) = match self.result {
            Some(result) if result.output.trim().is_empty() => (result.ok, NO_OUTPUT),
            Some(result) => (result.ok, result.output.as_str()),
            None => (false, NO_RESULT),
        };
        Outcome { id: self.id, name: self.name, ok, output }
    }
}

/// Takes the blanks off the end of the last words. Reasoning after them may be left out later.
fn trim_end(pieces: &mut [Piece<'_>]) {
    for piece in pieces.iter_mut().rev() {
        match piece {
            Piece::Reasoning { .. } | Piece::Redacted(_) => {}
            Piece::Text(text) => {
                *text = text.trim_end();
                return;
            }
            Piece::Opaque(_) | Piece::Call { .. } => return,
        }
    }
}

fn arguments(call: &ToolCall) -> Cow<'_, Value> {
    match &call.arguments {
        whole @ Value::Object(_) => Cow::Borrowed(whole),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Cow::Owned(call.arguments_object())
        }
    }
}

/// True for what only its author takes back.
fn is_private(block: &Block) -> bool {
    match block {
        Block::Reasoning { .. } | Block::Redacted { .. } | Block::Opaque { .. } => true,
        Block::Text { .. } | Block::ToolCall(_) => false,
    }
}

fn is_blank(block: &Block) -> bool {
    matches!(block, Block::Text { text } if text.trim().is_empty())
}

/// True for what can stand alone in an answer: reasoning cannot.
fn says_something(block: &Block) -> bool {
    match block {
        Block::Text { .. } | Block::Opaque { .. } | Block::ToolCall(_) => true,
        Block::Reasoning { .. } | Block::Redacted { .. } => false,
    }
}

fn as_word(text: &str, longest: usize) -> String {
    let known = text.trim().chars().take(longest);
    known.map(|c| if u8::try_from(c).is_ok_and(is_word) { c } else { '_' }).collect()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const OWN: Reader<'_> =
        Reader { provider: "own", model: "m", ids: IdForm::Word { longest: 12 } };

    fn answer(provider: &str, blocks: Vec<Block>) -> Arc<Message> {
        Arc::new(Message::Assistant(AssistantMessage {
            blocks,
            provider: provider.to_owned(),
            model: "m".to_owned(),
            stop_reason: None,
            interrupted: false,
        }))
    }

    fn user(text: &str) -> Arc<Message> {
        Arc::new(Message::User { text: text.to_owned() })
    }

    fn text(text: &str) -> Block {
        Block::Text { text: text.to_owned() }
    }

    fn call(id: &str) -> Block {
        Block::ToolCall(ToolCall {
            call: CallId::from(id),
            name: "x".to_owned(),
            arguments: json!({}),
        })
    }

    fn results(ids: &[&str]) -> Arc<Message> {
        let result = |id: &&str| ToolResult {
            call: CallId::from(*id),
            name: "x".to_owned(),
            ok: true,
            output: format!("of {id}"),
        };
        Arc::new(Message::Results { results: ids.iter().map(result).collect() })
    }

    /// The ids of all calls, in order.
    fn ids(wanted: &[&str], form: IdForm) -> Vec<String> {
        let messages = [user("go"), answer("own", wanted.iter().map(|id| call(id)).collect())];
        let reader = Reader { ids: form, ..OWN };
        let turns = turns(&messages, &reader);
        let Some(Turn::Asked(asked)) = turns.last() else { panic!("{turns:?}") };
        asked.results.iter().map(|result| result.id.clone()).collect()
    }

    #[test]
    fn ids_keep_their_name_where_they_can() {
        let word = IdForm::Word { longest: 12 };
        let wanted = ["call_1", "call_1", "", "a|b", "a_b", "0123456789abcdef", "0123456789abxyz"];
        let expected =
            ["call_1", "call_1_2", "call_3", "a_b", "a_b_5", "0123456789ab", "0123456789_7"];
        assert_eq!(ids(&wanted, word), expected);
        let wanted = ["abcDEF123", "abcDEF123", "call_1", "c00000004", "x"];
        let expected = ["abcDEF123", "c00000002", "c00000003", "c00000004", "c00000005"];
        assert_eq!(ids(&wanted, IdForm::Nine), expected);
    }

    #[test]
    fn results_are_told_before_words_and_in_the_order_of_the_calls() {
        let messages = [
            user("go"),
            answer("own", vec![call("a"), call("b"), call("c")]),
            user("meanwhile"),
            results(&["c", "nobody", "a"]),
        ];
        let turns = turns(&messages, &OWN);
        let Some(Turn::Asked(asked)) = turns.last() else { panic!("{turns:?}") };
        let told: Vec<(&str, bool)> = asked.results.iter().map(|r| (r.output, r.ok)).collect();
        assert_eq!(told, [("of a", true), (NO_RESULT, false), ("of c", true)]);
        assert_eq!(asked.texts, ["meanwhile"]);
    }

    #[test]
    fn what_only_its_author_takes_back_is_left_out_for_others() {
        let sealed = Block::Reasoning { text: "hm".to_owned(), signature: Some("s".to_owned()) };
        let opaque = Block::Opaque { data: json!({"type": "x"}) };
        let blocks = vec![sealed, opaque, text("so")];
        for (provider, pieces) in [("own", 3), ("other", 1)] {
            let messages = [user("go"), answer(provider, blocks.clone()), user("on")];
            let turns = turns(&messages, &OWN);
            assert!(matches!(&turns[1], Turn::Answered(said) if said.len() == pieces), "{turns:?}");
        }
    }

    fn any_message() -> impl Strategy<Value = Arc<Message>> {
        let id = || prop_oneof![Just("a"), Just("b|"), Just("b_"), Just("")];
        let block =
            prop_oneof![id().prop_map(call), prop_oneof![Just(" "), Just("so ")].prop_map(text)];
        prop_oneof![
            prop_oneof![Just("say"), Just("")].prop_map(user),
            proptest::collection::vec(block, 0..4).prop_map(|blocks| answer("own", blocks)),
            proptest::collection::vec(id(), 0..4).prop_map(|ids| results(&ids)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn sides_alternate_and_the_past_does_not_change(
            messages in proptest::collection::vec(any_message(), 0..12)
        ) {
            let all = turns(&messages, &OWN);
            prop_assert!(matches!(all.first(), Some(Turn::Asked(_))));
            for pair in all.windows(2) {
                prop_assert_ne!(
                    matches!(pair[0], Turn::Asked(_)),
                    matches!(pair[1], Turn::Asked(_))
                );
            }
            for length in 0..messages.len() {
                let before = turns(&messages[..length], &OWN);
                // What is not followed by the other side may still grow.
                let settled = before.len().saturating_sub(1).min(all.len());
                prop_assert_eq!(&before[..settled], &all[..settled]);
            }
        }
    }
}
