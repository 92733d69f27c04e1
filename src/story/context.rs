//! What tasks can be given by key, as the events tell it: the cards, never a text.

use crate::domain::context_store::{Sensitivity, SnippetCard, SnippetKind, earlier_request_key};

/// A snippet as people may know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// What may be told about it.
    pub card: SnippetCard,
    /// Who may see it.
    pub sensitivity: Sensitivity,
}

/// All snippets, in the order they were added.
#[derive(Debug, Default)]
pub struct Context {
    known: Vec<Known>,
}

impl Context {
    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Known> {
        self.known.iter()
    }

    /// A snippet came in; one of the same key is replaced. The newest request takes the key of the one
    /// before, which gets a number.
    pub(super) fn add(&mut self, card: &SnippetCard, sensitivity: Sensitivity) {
        let place = self.known.iter().position(|known| known.card.key == card.key);
        let known = Known { card: card.clone(), sensitivity };
        match place {
            Some(place) if card.kind == SnippetKind::Request => {
                let keys = self.known.iter().map(|known| known.card.key.as_str());
                self.known[place].card.key = earlier_request_key(&keys);
                self.known.push(known);
            }
            Some(place) => self.known[place] = known,
            None => self.known.push(known),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::context_store::ContextStore;

    #[test]
    fn the_cards_have_the_keys_of_the_store() {
        let (mut store, mut context) = (ContextStore::default(), Context::default());
        let normal = Sensitivity::Normal;
        for text in ["one", "two", "three"] {
            context.add(&store.put_request(text), normal);
            let card = store.put("a", SnippetKind::Note, "x", text, Sensitivity::LocalOnly);
            context.add(&card, Sensitivity::LocalOnly);
        }
        let told: Vec<&SnippetCard> = context.iter().map(|known| &known.card).collect();
        let kept: Vec<&SnippetCard> = store.iter().map(|entry| &entry.snippet.card).collect();
        assert_eq!(told, kept);
    }
}
