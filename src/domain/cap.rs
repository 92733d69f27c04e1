//! How a report that is too long is cut to its size: once, in time linear in its length, on
//! character boundaries, and saying so.
//!
//! The summary gives way first, down to a kilobyte; then the lists share what is left. It knows
//! nothing of what the words mean.

use serde::Serialize;
use serde_json::Value;

use super::report::{Report, Warning, WarningCode};

/// Bytes of the summary, as JSON, that are worth more than the tail of any list.
const SUMMARY_BYTES: usize = 1_024;

/// Bytes of one text inside a list, and of the runtime's own sentence.
const ITEM_BYTES: usize = 512;

const CUT_MARK: &str = " … (cut)";

/// The same report within [`Report::MAX_BYTES`].
pub(super) fn cap(mut report: Report) -> Report {
    if report.to_json().len() <= Report::MAX_BYTES {
        return report;
    }
    shorten_items(&mut report);
    let said =
        Warning::new(WarningCode::Cut, "the report was cut to 8 KiB; the trace has the whole");
    report.warnings.retain(|warning| *warning != said);
    let frame = frame_bytes(&report, &said);
    let room = Report::MAX_BYTES.saturating_sub(frame);
    let for_summary = escaped_bytes(&report.summary).min(SUMMARY_BYTES);
    let lists = keep_lists(&mut report, room.saturating_sub(for_summary));
    report.warnings.push(said);
    cut_text(&mut report.summary, room.saturating_sub(lists));
    report
}

/// Texts that are one item among many, each at a length that a reader still takes in.
fn shorten_items(report: &mut Report) {
    cut_text(&mut report.next, ITEM_BYTES);
    for evidence in &mut report.evidence {
        cut_text(&mut evidence.path, ITEM_BYTES);
        cut_text(&mut evidence.reason, ITEM_BYTES);
    }
    for warning in &mut report.warnings {
        cut_text(&mut warning.text, ITEM_BYTES);
    }
    for violation in &mut report.violations {
        cut_text(&mut violation.field, ITEM_BYTES);
        cut_text(&mut violation.message, ITEM_BYTES);
    }
    for path in &mut report.changed_paths {
        cut_text(path, ITEM_BYTES);
    }
}

/// The size of the report with everything taken out that can be cut, and the notice put in.
fn frame_bytes(report: &Report, said: &Warning) -> usize {
    let frame = Report {
        task_id: report.task_id,
        attempt: report.attempt,
        status: report.status,
        code: report.code,
        dimension: report.dimension,
        by: report.by,
        summary: String::new(),
        evidence: Vec::new(),
        fields: serde_json::Map::new(),
        warnings: vec![said.clone()],
        violations: Vec::new(),
        changed_paths: Vec::new(),
        needs_review: report.needs_review,
        turns: report.turns,
        usage: report.usage,
        next: report.next.clone(),
        trace: report.trace.clone(),
    };
    frame.to_json().len()
}

/// Cuts every list to its part of `room` bytes. Returns the bytes that they take together.
fn keep_lists(report: &mut Report, room: usize) -> usize {
    let fields: usize = report.fields.iter().map(|(name, value)| field_bytes(name, value)).sum();
    let wanted = [
        list_bytes(&report.violations),
        list_bytes(&report.warnings),
        list_bytes(&report.changed_paths),
        list_bytes(&report.evidence),
        fields,
    ];
    let parts = fair_parts(room, wanted);
    keep_first(&mut report.violations, parts[0])
        + keep_first(&mut report.warnings, parts[1])
        + keep_first(&mut report.changed_paths, parts[2])
        + keep_first(&mut report.evidence, parts[3])
        + keep_fields(report, parts[4])
}

/// Divides `room`: who wants little gets it, the others share the rest evenly.
fn fair_parts(room: usize, wanted: [usize; 5]) -> [usize; 5] {
    let mut order = [0, 1, 2, 3, 4];
    order.sort_by_key(|index| wanted[*index]);
    let mut parts = [0; 5];
    let mut left = room;
    for (place, index) in order.into_iter().enumerate() {
        parts[index] = wanted[index].min(left / (order.len() - place));
        left -= parts[index];
    }
    parts
}

/// Keeps the first items that fit into `room` bytes with a comma each. Returns what they take.
fn keep_first<T: Serialize>(items: &mut Vec<T>, room: usize) -> usize {
    let (mut kept, mut bytes) = (0, 0);
    for item in items.iter() {
        let more = json_bytes(item) + 1;
        if bytes + more > room {
            break;
        }
        kept += 1;
        bytes += more;
    }
    items.truncate(kept);
    bytes
}

/// Keeps the role's own fields as far as they fit; of one that does not, a list keeps its first
/// items and a text its beginning.
fn keep_fields(report: &mut Report, room: usize) -> usize {
    let mut bytes = 0;
    for (name, mut value) in std::mem::take(&mut report.fields) {
        let around = field_bytes(&name, &Value::Array(Vec::new()));
        let inside = room.saturating_sub(bytes + around);
        if bytes + field_bytes(&name, &value) > room {
            match &mut value {
                Value::Array(items) if inside > 0 => {
                    keep_first(items, inside);
                }
                Value::String(text) if inside > CUT_MARK.len() => cut_text(text, inside),
                Value::Array(_)
                | Value::String(_)
                | Value::Object(_)
                | Value::Null
                | Value::Bool(_)
                | Value::Number(_) => continue,
            }
        }
        bytes += field_bytes(&name, &value);
        report.fields.insert(name, value);
    }
    bytes
}

fn field_bytes(name: &str, value: &Value) -> usize {
    json_bytes(&name) + json_bytes(value) + 2
}

fn list_bytes<T: Serialize>(items: &[T]) -> usize {
    items.iter().map(|item| json_bytes(item) + 1).sum()
}

fn json_bytes<T: Serialize>(value: &T) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

/// Cuts a text so that it takes at most `room` bytes inside a JSON string, mark included.
fn cut_text(text: &mut String, room: usize) {
    if escaped_bytes(text) <= room {
        return;
    }
    let room = room.saturating_sub(CUT_MARK.len());
    let mut bytes = 0;
    let end = text.char_indices().find_map(|(index, character)| {
        bytes += escaped_char_bytes(character);
        (bytes > room).then_some(index)
    });
    text.truncate(end.unwrap_or(0));
    text.push_str(CUT_MARK);
}

fn escaped_bytes(text: &str) -> usize {
    text.chars().map(escaped_char_bytes).sum()
}

/// Bytes of a character inside a JSON string, as the serialiser writes it.
fn escaped_char_bytes(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}
