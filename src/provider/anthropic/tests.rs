//! Streams at the decoder, without a network: recorded ones split at every byte, and bytes that make
//! no sense.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::Write as _;
use std::path::PathBuf;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

/// Up to this many bytes a stream is split at every one of them, else at some.
const SMALL: usize = 2 * 1024;

fn client() -> LazyClient {
    LazyClient::new(Endpoint::new("http://localhost", &[]).unwrap())
}

/// What the pieces read as: no signs of life, neighbouring words joined, the error in words.
async fn read(pieces: Vec<Bytes>) -> Vec<Result<Chunk, String>> {
    let client = client();
    let mut reading = Reading::pieces(pieces, Answer::default());
    let mut read: Vec<Result<Chunk, String>> = Vec::new();
    while let Some(item) = reading.next(&client).await {
        match (item, read.last_mut()) {
            (Ok(Chunk::Alive | Chunk::CallPart), _) => {}
            (Ok(Chunk::Text(more)), Some(Ok(Chunk::Text(text))))
            | (Ok(Chunk::Reasoning(more)), Some(Ok(Chunk::Reasoning(text)))) => {
                text.push_str(&more);
            }
            (item, _) => read.push(item.map_err(|error| error.to_string())),
        }
    }
    read
}

#[tokio::test]
async fn recorded_streams_read_the_same_wherever_they_are_split() {
    let folder = std::env::var("OFFSHOOT_FIXTURES").unwrap_or("../shared/fixtures".to_owned());
    let folder = PathBuf::from(folder).join("streams");
    let Ok(files) = std::fs::read_dir(&folder) else {
        // Not by `eprintln!`, which the test harness keeps to itself.
        let shown = folder.display();
        let _ = writeln!(
            std::io::stderr(),
            "skipped: no recorded streams at {shown} (set OFFSHOOT_FIXTURES)"
        );
        return;
    };
    let names = files.map(|file| file.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("anthropic-") && name.ends_with(".sse")
    });
    for path in names {
        let body = Bytes::from(std::fs::read(&path).unwrap());
        let whole = read(vec![body.clone()]).await;
        let stop = matches!(whole.last(), Some(Ok(Chunk::Stop(_)) | Err(_)));
        assert!(stop, "{}: {whole:?}", path.display());
        for at in (0..body.len()).step_by(if body.len() > SMALL { 97 } else { 1 }) {
            let pieces = vec![body.slice(..at), body.slice(at..)];
            assert_eq!(read(pieces).await, whole, "{} split at {at}", path.display());
        }
    }
}

#[tokio::test]
async fn a_pause_is_told_as_the_reason_to_stop() {
    let body = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"pause_turn\"}}\n\n\
                data: {\"type\":\"message_stop\"}\n\n";
    let stop = Chunk::Stop(StopReason::Other(PAUSE.to_owned()));
    assert_eq!(read(vec![Bytes::from(body)]).await, [Ok(stop)]);
}

/// Pieces of events, from which streams that make no sense are put together.
const PARTS: &[&str] = &[
    "data: ",
    "event: message_start\n",
    "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}",
    "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}",
    "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\"}}",
    "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}",
    "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"t\"}}",
    "{\"type\":\"content_block_stop\",\"index\":1}",
    "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}",
    "{\"type\":\"message_stop\"}",
    "{\"type\":\"error\",\"error\":{}}",
    "\n\n",
    "\r\n",
    "\u{feff}",
    ":",
    "[]",
    "子",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_stream_that_makes_no_sense_ends_in_one_stop_or_one_error_and_yields_no_half_answer(
        parts in proptest::collection::vec(proptest::sample::select(PARTS), 0..40),
        size in 1_usize..9,
    ) {
        let body = parts.concat().into_bytes();
        let pieces = |size: usize| body.chunks(size).map(Bytes::copy_from_slice).collect::<Vec<_>>();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let read_in = |size| runtime.block_on(read(pieces(size)));
        let whole = read_in(body.len().max(1));
        prop_assert_eq!(&read_in(size), &whole);
        let ends = |item: &Result<Chunk, String>| matches!(item, Ok(Chunk::Stop(_)) | Err(_));
        prop_assert_eq!(whole.iter().filter(|item| ends(item)).count(), 1);
        prop_assert!(whole.last().is_some_and(ends), "{:?}", whole);
        let calls = whole.iter().any(|item| matches!(item, Ok(Chunk::ToolCall(_))));
        prop_assert!(!calls || matches!(whole.last(), Some(Ok(_))), "{:?}", whole);
    }
}
