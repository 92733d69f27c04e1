//! File work off the async threads, raced with the call's token.

use std::time::Duration;

use super::excerpt::whole_or_cut;
use super::{ToolContext, ToolFuture, ToolOutput};

/// How long a cancelled call waits for its thread, which polls the token itself; a file system that
/// hangs in the kernel is left behind after that.
const GRACE: Duration = Duration::from_secs(2);

/// What a tool's work gives: an output, or a failure in words.
pub(super) type Outcome = Result<ToolOutput, String>;

/// Runs `work` where blocking is allowed. Nothing starts before the future is polled, nothing at
/// all if the token has fired, and a panic in it becomes an error output.
pub(super) fn run(
    context: ToolContext,
    work: impl FnOnce(&ToolContext) -> Outcome + Send + 'static,
) -> ToolFuture {
    Box::pin(async move {
        let cancel = context.cancel.clone();
        if cancel.is_cancelled() {
            return cancelled();
        }
        let mut thread = tokio::task::spawn_blocking(move || work(&context));
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                let _ = tokio::time::timeout(GRACE, &mut thread).await;
                return cancelled();
            }
            ended = &mut thread => ended,
        };
        match ended {
            Ok(Ok(output)) => output,
            Ok(Err(_)) if cancel.is_cancelled() => cancelled(),
            Ok(Err(text)) => ToolOutput::error(whole_or_cut(text)),
            Err(fault) => ToolOutput::error(format!("the tool failed inside: {fault}")),
        }
    })
}

fn cancelled() -> ToolOutput {
    ToolOutput::error("cancelled")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::domain::scope::PathScope;
    use crate::workspace::Workspace;

    fn context() -> ToolContext {
        ToolContext::looking(
            Arc::new(Workspace::open(std::path::Path::new(".")).unwrap()),
            Arc::from([PathScope::all()]),
            CancellationToken::new(),
        )
    }

    #[tokio::test]
    async fn a_panic_becomes_an_error() {
        let output = run(context(), |_| panic!("on purpose")).await;
        assert!(!output.ok);
        assert!(output.text.contains("on purpose"), "{}", output.text);
    }

    #[tokio::test]
    async fn nothing_starts_once_the_token_has_fired() {
        let context = context();
        context.cancel.cancel();
        let output = run(context, |_| panic!("started")).await;
        assert_eq!(output.text, "cancelled");
    }

    #[tokio::test]
    async fn a_fired_token_ends_the_call_and_its_thread() {
        let context = context();
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
