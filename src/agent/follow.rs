//! The output of a command, told while it comes. Whoever reads slowly holds up what is told, never the
//! command: that goes on, and is read, while a piece waits for its reader.

use std::convert::Infallible;

use tokio::sync::mpsc;

/// Waits for the end of `working` and tells what it shows meanwhile. A piece that still waits for its
/// reader at the end is let go; the result has the whole.
pub async fn follow<T, Told: Future<Output = ()>>(
    working: impl Future<Output = T>,
    mut shown: mpsc::Receiver<String>,
    tell: impl Fn(String) -> Told,
) -> T {
    let telling = async {
        while let Some(text) = shown.recv().await {
            tell(text).await;
        }
        std::future::pending::<Infallible>().await
    };
    tokio::pin!(working, telling);
    tokio::select! {
        biased;
        output = &mut working => output,
        never = &mut telling => match never {},
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::cell::RefCell;
    use std::time::Duration;

    use super::*;
    use crate::tool::Progress;

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_never_comes_does_not_hold_up_the_command() {
        let (progress, shown) = Progress::channel();
        let working = async {
            let mut taken = 0_u32;
            for _ in 0..100 {
                taken += u32::from(progress.offer("a line\n"));
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            taken
        };
        let stuck = |_| std::future::pending::<()>();
        let following = tokio::time::timeout(Duration::from_mins(1), follow(working, shown, stuck));
        let taken = following.await.unwrap();
        assert!(
            (1..100).contains(&taken),
            "{taken}: the reader took one, the rest waits or is kept"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_is_told_in_order_and_a_closed_way_ends_nothing() {
        let (progress, shown) = Progress::channel();
        let told = RefCell::new(Vec::new());
        let working = async move {
            for text in ["one", "two"] {
                progress.offer(text);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            drop(progress);
            tokio::time::sleep(Duration::from_millis(1)).await;
            7
        };
        let tell = |text| {
            told.borrow_mut().push(text);
            std::future::ready(())
        };
        assert_eq!(follow(working, shown, tell).await, 7);
        assert_eq!(*told.borrow(), ["one", "two"]);
    }
}
