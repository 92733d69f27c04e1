//! Puts `reasoning_details` together again, so that they can go back exactly as the model's vendor
//! sealed them. It knows the pieces' form and nothing of their meaning.

use serde_json::Value;

/// The entries of one answer while they come in.
#[derive(Debug, Default)]
pub struct Details {
    entries: Vec<Value>,
    bytes: usize,
}

impl Details {
    /// Takes the pieces of one event. Text goes on in the entry that it began in; all else is an
    /// entry of its own.
    pub fn take(&mut self, pieces: &[Value]) {
        for piece in pieces.iter().filter(|piece| piece.is_object()) {
            self.bytes += ["text", "summary", "data"]
                .iter()
                .map(|key| piece[*key].as_str().map_or(0, str::len))
                .sum::<usize>();
            match self.entries.last_mut().filter(|entry| goes_on(entry, piece)) {
                Some(entry) => append(entry, piece),
                None => self.entries.push(piece.clone()),
            }
        }
    }

    /// Bytes that are held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// All entries, if there are any.
    pub fn finish(self) -> Option<Vec<Value>> {
        (!self.entries.is_empty()).then_some(self.entries)
    }

    /// The words of pieces, for servers that send them nowhere else.
    pub fn words(pieces: &[Value]) -> String {
        let words = pieces.iter().flat_map(|piece| ["text", "summary"].map(|key| &piece[key]));
        words.filter_map(Value::as_str).collect()
    }
}

fn goes_on(entry: &Value, piece: &Value) -> bool {
    let is_text = matches!(entry["type"].as_str(), Some("reasoning.text" | "reasoning.summary"));
    is_text && entry["type"] == piece["type"] && entry["index"] == piece["index"]
}

fn append(entry: &mut Value, piece: &Value) {
    let (Some(entry), Some(piece)) = (entry.as_object_mut(), piece.as_object()) else { return };
    for (key, value) in piece {
        match (entry.get_mut(key), value) {
            (Some(Value::String(text)), Value::String(more))
                if matches!(key.as_str(), "text" | "summary") =>
            {
                text.push_str(more);
            }
            (Some(_), Value::Null) => {}
            (Some(old), new) => *old = new.clone(),
            (None, new) => {
                entry.insert(key.clone(), new.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_comes_together_and_seals_stay_whole() {
        let mut details = Details::default();
        let text = |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0, "signature": null});
        details.take(&[text("We")]);
        details.take(&[text(" need"), json!("strange"), json!(null)]);
        details.take(&[json!({"type": "reasoning.text", "index": 0, "signature": "sig"})]);
        let sealed = json!({"type": "reasoning.encrypted", "data": "AA", "id": "t", "index": 0});
        details.take(std::slice::from_ref(&sealed));
        details.take(std::slice::from_ref(&sealed));
        let expected = json!([
            {"type": "reasoning.text", "text": "We need", "index": 0, "signature": "sig"},
            sealed,
            sealed
        ]);
        assert_eq!(details.bytes(), 2 + 5 + 2 + 2);
        assert_eq!(details.finish().map(Value::Array), Some(expected));
        assert_eq!(Details::words(&[text("a"), json!({"summary": "b"}), json!(1)]), "ab");
    }
}
