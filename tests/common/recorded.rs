//! Answers that others recorded from real servers, each with what it reads as, checked by hand. They
//! are read in place and lie beside the project or where `OFFSHOOT_FIXTURES` says.

use std::path::PathBuf;

use serde_json::Value;

use super::aloud;
use super::raw_server::Reply;

fn folder() -> Option<PathBuf> {
    let folder = std::env::var("OFFSHOOT_FIXTURES").unwrap_or("../shared/fixtures".to_owned());
    let folder = PathBuf::from(folder);
    if folder.join("SOURCES.tsv").is_file() {
        return Some(folder);
    }
    let shown = folder.display();
    aloud::skipped(&format!("no recorded streams at {shown} (set OFFSHOOT_FIXTURES)"));
    None
}

/// The files of an API with what each is to be read as; none where the folder is absent, and never
/// none where it is there.
pub fn of(api: &str) -> Vec<(String, Vec<u8>, Value)> {
    let Some(folder) = folder() else { return Vec::new() };
    let table = std::fs::read_to_string(folder.join("SOURCES.tsv")).unwrap();
    let rows = table.lines().map(|row| row.split('\t').collect::<Vec<_>>());
    let files = rows.filter(|row| row[1] == api).map(|row| row[0].to_owned());
    let read = |file: String| {
        let stem = file.rsplit_once('.').unwrap().0;
        let checked = std::fs::read(folder.join(format!("expect/{stem}.json"))).unwrap();
        let body = std::fs::read(folder.join("streams").join(&file)).unwrap();
        (file, body, serde_json::from_slice(&checked).unwrap())
    };
    let recorded: Vec<_> = files.map(read).collect();
    assert!(!recorded.is_empty(), "the table names no file of {api}");
    recorded
}

/// The answer of the server that a file was recorded from.
pub fn reply(body: &[u8], checked: &Value) -> Reply {
    let http = &checked["http"];
    let status = u16::try_from(http["status"].as_u64().unwrap()).unwrap();
    let mut reply = Reply::new(status, "", body);
    for (name, value) in http["headers"].as_object().unwrap() {
        reply = reply.header(&format!("{name}: {}", value.as_str().unwrap()));
    }
    reply
}
