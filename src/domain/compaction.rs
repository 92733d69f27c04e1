//! Making a conversation smaller without making it ill-formed: older messages give way to a
//! summary, or older results to a line. Calls and their results stay together.

use std::sync::Arc;

use super::history::History;
use super::message::{AssistantMessage, Block, Message, StopReason, ToolResult};

/// Messages at the end that are kept word for word, at least.
const KEPT_MESSAGES: usize = 6;
/// A result that is shorter than this is not worth cutting, in characters.
const SHORT_RESULT: usize = 400;
/// What of a cut result is kept, in characters.
const KEPT_OF_RESULT: usize = 200;

/// A conversation in two parts.
#[derive(Debug, Clone)]
pub struct Split {
    /// What a summary will stand for; ends with whole results or a whole answer.
    pub older: Vec<Arc<Message>>,
    /// What is kept word for word; begins with a person's words or an answer.
    pub newer: Vec<Arc<Message>>,
}

/// Splits a conversation for a summary; `None` if there is too little to gain. Both parts are
/// well formed: the newer one never begins with results.
pub fn split(history: &History) -> Option<Split> {
    let messages = history.messages();
    let mut at = messages.len().checked_sub(KEPT_MESSAGES)?;
    while at > 0 && matches!(*messages[at], Message::Results { .. }) {
        at -= 1;
    }
    // A single message before the cut is no longer than its summary would be.
    (at >= 2).then(|| Split { older: messages[..at].to_vec(), newer: messages[at..].to_vec() })
}

/// The conversation with a summary in the place of its older part. `keep_first` keeps the first
/// message word for word before the summary.
pub fn with_summary(split: &Split, summary: &str, keep_first: bool) -> History {
    let mut marked = format!("[runtime] Summary of the conversation so far:\n{summary}");
    if keep_first && let Some(Message::User { text }) = split.older.first().map(AsRef::as_ref) {
        marked = format!("{text}\n\n{marked}");
    }
    let mut messages = vec![Arc::new(Message::User { text: marked })];
    if matches!(split.newer.first().map(AsRef::as_ref), Some(Message::User { .. })) {
        // Two messages of a person in a row would read as one; the summary gets its own answer.
        messages.push(Arc::new(Message::Assistant(noted())));
    }
    messages.extend(split.newer.iter().cloned());
    History::of(messages)
}

/// The conversation with its older results cut to their beginning; `None` if none was long enough
/// for that to help.
pub fn with_short_results(history: &History) -> Option<History> {
    let messages = history.messages();
    let newest = messages.iter().rposition(|message| matches!(**message, Message::Results { .. }));
    let mut cut = 0;
    let shorter = messages.iter().enumerate().map(|(index, message)| match &**message {
        Message::Results { results } => {
            // The newest results are what the model is about to read: they are cut less.
            let keep = if Some(index) == newest { KEPT_OF_RESULT * 20 } else { KEPT_OF_RESULT };
            let results = results.iter().map(|result| shorten(result, keep, &mut cut)).collect();
            Arc::new(Message::Results { results })
        }
        Message::User { .. } | Message::Assistant(_) => Arc::clone(message),
    });
    let shorter: Vec<Arc<Message>> = shorter.collect();
    (cut > 0).then(|| History::of(shorter))
}

fn shorten(result: &ToolResult, keep: usize, cut: &mut usize) -> ToolResult {
    let mut result = result.clone();
    if result.output.chars().count() > SHORT_RESULT.max(keep) {
        let kept: String = result.output.chars().take(keep).collect();
        result.output = format!("{kept}\n… (cut to fit the model's context; call again if needed)");
        *cut += 1;
    }
    result
}

fn noted() -> AssistantMessage {
    AssistantMessage {
        blocks: vec![Block::Text { text: "Noted.".to_owned() }],
        provider: "offshoot".to_owned(),
        model: "runtime".to_owned(),
        stop_reason: Some(StopReason::EndTurn),
        interrupted: false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::domain::ids::CallId;
    use crate::domain::message::ToolCall;

    fn conversation(rounds: usize, output: &str) -> History {
        let mut history = History::new();
        history.ask("find it").unwrap();
        for round in 0..rounds {
            let call = ToolCall::parse(CallId(format!("c{round}")), "read_file", "{}");
            let mut answer = noted();
            answer.blocks = vec![Block::ToolCall(call.clone())];
            history.answer(answer).unwrap();
            let (call, name, output) = (call.call, call.name, output.to_owned());
            history.settle(vec![ToolResult { call, name, ok: true, output }]).unwrap();
        }
        history
    }

    #[test]
    fn a_cut_never_separates_a_call_from_its_result() {
        for rounds in 3..12 {
            let history = conversation(rounds, "text");
            let Some(split) = split(&history) else { continue };
            assert!(!matches!(*split.newer[0], Message::Results { .. }), "{rounds}");
            let summed = with_summary(&split, "what happened", false);
            assert!(matches!(*summed.messages()[0], Message::User { .. }));
            assert_eq!(summed.open_calls().count(), 0);
            assert!(summed.messages().len() <= split.newer.len() + 2);
        }
    }

    #[test]
    fn a_short_conversation_is_left_alone() {
        assert!(split(&conversation(1, "text")).is_none());
        assert!(with_short_results(&conversation(5, "text")).is_none());
    }

    #[test]
    fn long_results_give_way_and_the_newest_keeps_more() {
        let history = conversation(4, &"x".repeat(50_000));
        let shorter = with_short_results(&history).unwrap();
        assert!(shorter.estimated_tokens() * 5 < history.estimated_tokens());
        let sizes: Vec<usize> = shorter
            .messages()
            .iter()
            .filter_map(|message| match &**message {
                Message::Results { results } => Some(results[0].output.len()),
                _ => None,
            })
            .collect();
        assert!(sizes[3] > 10 * sizes[0], "{sizes:?}");
    }

    #[test]
    fn ids_that_were_used_stay_used_after_a_summary() {
        let history = conversation(6, "text");
        let mut summed = with_summary(&split(&history).unwrap(), "s", true);
        let Message::User { text } = &*summed.messages()[0] else { panic!("no words") };
        assert!(text.starts_with("find it") && text.ends_with('s'));
        let mut answer = noted();
        answer.blocks = vec![Block::ToolCall(ToolCall::parse("c5".into(), "search", "{}"))];
        summed.ask("more").unwrap();
        let calls = summed.answer(answer).unwrap();
        assert_ne!(calls[0].call.as_str(), "c5");
    }
}
