//! File work off the async threads, raced with the call's token.

use std::time::Duration;

use tokio::task::JoinError;

use crate::domain::approval::Preview;

use super::excerpt::whole_or_cut;
use super::{PreviewFuture, ToolContext, ToolFuture, ToolOutput};

/// How long a cancelled call waits for its thread, which polls the token itself; a file system that
/// hangs in the kernel is left behind after that.
const GRACE: Duration = Duration::from_secs(2);

const CANCELLED: &str = "cancelled";

/// What a tool's work gives: an output, or a failure in words.
pub(super) type Outcome = Result<ToolOutput, String>;

/// Runs `work` where blocking is allowed. Nothing starts before the future is polled, nothing at
/// all if the token has fired, and a panic in it becomes an error output. Of work that ends after
/// the token has fired, what it did is still told.
pub(super) fn run(
    context: ToolContext,
    work: impl FnOnce(&ToolContext) -> Outcome + Send + 'static,
) -> ToolFuture {
    Box::pin(async move {
        match race(context, work).await {
            Raced::Ended(Ok(output)) => output,
            Raced::Ended(Err(text)) => ToolOutput::error(whole_or_cut(text)),
            Raced::Cancelled(late) => {
                let effects = late.and_then(Result::ok).map(|output| output.effects);
                let effects = effects.unwrap_or_default();
                ToolOutput { effects, ..ToolOutput::error(CANCELLED) }
            }
            Raced::Fault(fault) => ToolOutput::error(in_words(&fault)),
        }
    })
}

/// Runs `work` in the same way for what a person is to see.
pub(super) fn preview(
    context: ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<Preview, String> + Send + 'static,
) -> PreviewFuture {
    Box::pin(async move {
        match race(context, work).await {
            Raced::Ended(looked) => looked.map(Some).map_err(whole_or_cut),
            Raced::Cancelled(_) => Err(CANCELLED.to_owned()),
            Raced::Fault(fault) => Err(in_words(&fault)),
        }
    })
}

/// How work came to its end.
enum Raced<T> {
    Ended(T),
    /// The token fired; what the thread gave after that, if it did in time.
    Cancelled(Option<T>),
    Fault(JoinError),
}

async fn race<T: Send + 'static>(
    context: ToolContext,
    work: impl FnOnce(&ToolContext) -> T + Send + 'static,
) -> Raced<T> {
    let cancel = context.cancel.clone();
    if cancel.is_cancelled() {
        return Raced::Cancelled(None);
    }
    let mut thread = tokio::task::spawn_blocking(move || work(&context));
    let ended = tokio::select! {
        biased;
        () = cancel.cancelled() => {
            let late = tokio::time::timeout(GRACE, &mut thread).await;
            return Raced::Cancelled(late.ok().and_then(Result::ok));
        }
        ended = &mut thread => ended,
    };
    match ended {
        // It saw the token before this did.
        Ok(value) if cancel.is_cancelled() => Raced::Cancelled(Some(value)),
        Ok(value) => Raced::Ended(value),
        Err(fault) => Raced::Fault(fault),
    }
}

fn in_words(fault: &JoinError) -> String {
    format!("the tool failed inside: {fault}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_an_error() {
        let output = run(ToolContext::of_a_test(), |_| panic!("on purpose")).await;
        assert!(!output.ok);
        assert!(output.text.contains("on purpose"), "{}", output.text);
    }

    #[tokio::test]
    async fn nothing_starts_once_the_token_has_fired() {
        let context = ToolContext::of_a_test();
        context.cancel.cancel();
        let output = run(context, |_| panic!("started")).await;
        assert_eq!(output.text, "cancelled");
    }

    #[tokio::test]
    async fn what_was_done_is_told_though_the_token_fired_meanwhile() {
        let context = ToolContext::of_a_test();
        let cancel = context.cancel.clone();
        let output = run(context, move |_| {
            cancel.cancel();
            let mut output = ToolOutput::whole("done");
            output.effects.wrote.push("a.txt".to_owned());
            Ok(output)
        })
        .await;
        assert_eq!((output.ok, output.text.as_str()), (false, "cancelled"));
        assert_eq!(output.effects.wrote, ["a.txt"]);
    }

    #[tokio::test]
    async fn a_fired_token_ends_the_call_and_its_thread() {
        let context = ToolContext::of_a_test();
        let cancel = context.cancel.clone();
        let (ended, has_ended) = std::sync::mpsc::channel();
        let call = tokio::spawn(run(context, move |context| {
            while !context.cancel.is_cancelled() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
            Err("polled".to_owned())
        }));
        tokio::task::yield_now().await;
        cancel.cancel();
        assert_eq!(call.await.unwrap().text, "cancelled");
        has_ended.try_recv().unwrap();
    }
}
