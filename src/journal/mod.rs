//! The record: facts are stamped, ordered, redacted, written and handed out here. The record knows
//! what an event says and where it belongs; it refuses to know who decides, who answers and how
//! anything looks.
//!
//! Reading order: [`hub`], [`redact`], `own_words` (which words of an event redaction leaves alone),
//! [`trace`], [`jsonl`], [`store`].

pub mod hub;
pub mod jsonl;
mod outlet;
mod own_words;
pub mod redact;
mod shapes;
pub mod store;
mod stream_redact;
pub mod trace;
