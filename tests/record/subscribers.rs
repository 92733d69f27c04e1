//! What those are told who listen: everything, merged where they are slow, and bounded.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot::domain::event::Fact;
use offshoot::domain::ids::RunId;

use crate::ground::{Kit, child, delta, finished, parent};

#[tokio::test(start_paused = true)]
async fn a_slow_subscriber_gets_merged_words_and_every_fact() {
    let mut kit = Kit::new(None, 1);
    let hub = kit.hub.clone();
    let teller = tokio::spawn(async move {
        for number in 0..300 {
            for run in [parent(), child(1)] {
                hub.emit(&run, delta(&format!("{number} "))).await;
            }
            if number % 100 == 99 {
                hub.emit(&child(1), finished(&number.to_string())).await;
            }
        }
    });
    // Everything is told, and has arrived, before the subscriber reads anything. The paused clock
    // moves only when nothing else does.
    teller.await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let mut words: BTreeMap<Option<RunId>, String> = BTreeMap::new();
    let (mut facts, mut deltas, mut last_id) = (Vec::new(), 0, 0);
    let reader = tokio::spawn(async move {
        while let Some(event) = kit.events.recv().await {
            assert!(event.id > last_id, "ids rise");
            last_id = event.id;
            match &event.fact {
                Fact::TextDelta { text } => {
                    deltas += 1;
                    words.entry(event.origin.run.clone()).or_default().push_str(text);
                }
                Fact::ToolFinished { output, .. } => facts.push(output.clone()),
                other => panic!("{other:?}"),
            }
        }
        (words, facts, deltas)
    });
    kit.task.finish().await;
    let (words, facts, deltas) = reader.await.unwrap();
    let whole: Vec<String> = (0..300).map(|number| format!("{number} ")).collect();
    let whole = whole.concat();
    assert_eq!(facts, ["99", "199", "299"]);
    assert_eq!(words.len(), 2);
    assert!(words.values().all(|text| *text == whole), "{words:?}");
    assert!(deltas < 60, "{deltas} events for 600 pieces");
}

#[tokio::test(start_paused = true)]
async fn a_fast_subscriber_is_told_words_as_they_come() {
    let mut kit = Kit::new(None, 16);
    for piece in ["one ", "two ", "three "] {
        kit.hub.emit(&parent(), delta(piece)).await;
        let event = kit.events.recv().await.unwrap();
        assert_eq!(event.fact, delta(piece));
    }
    kit.told().await;
}

#[tokio::test(start_paused = true)]
async fn emit_waits_for_a_subscriber_that_reads_nothing_and_goes_on_when_it_is_gone() {
    let kit = Kit::new(None, 1);
    let hub = kit.hub.clone();
    let told = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&told);
    let teller = tokio::spawn(async move {
        for number in 0..10_000 {
            hub.emit(&parent(), finished(&number.to_string())).await;
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    tokio::time::sleep(std::time::Duration::from_mins(1)).await;
    let before = told.load(Ordering::Relaxed);
    assert!(before < 5_000, "{before} facts wait, without a bound");
    drop(kit.events);
    teller.await.unwrap();
    assert_eq!(told.load(Ordering::Relaxed), 10_000);
    kit.task.finish().await;
}

#[tokio::test(start_paused = true)]
async fn telling_a_hub_that_has_finished_does_nothing() {
    let kit = Kit::new(None, 4);
    let hub = kit.hub.clone();
    assert_eq!(kit.told().await.len(), 0);
    hub.emit(&parent(), finished("late")).await;
}
