//! The vocabulary: what happened, what is allowed, what is owed, what is reported.
//!
//! Everything here is a plain value. There is no I/O, no clock, no async and no terminal in this
//! module; ids and times come in as parameters. An invariant of the delegation contract is a
//! constructor here, never a comment somewhere else.
//!
//! Reading order: [`ids`], [`message`], [`history`], [`usage`], [`budget`], [`ledger`],
//! [`spending`], [`extend`], [`context_store`], [`role`] (the program's own, or by [`front_matter`]
//! and [`role_file`] a file's), [`scope`], [`violation`], [`request`], [`grant`], [`approval`],
//! [`fence`], [`shell_words`], [`rules`], [`allowance`], [`permit`], [`hidden`], [`contract`] (made by
//! [`narrow`], with [`fingerprint`], [`secrecy`], [`secret_value`] and [`allot`]), [`preflight`],
//! [`report`], [`stamp`], [`event`], [`books`], [`mod@line`], [`command`], [`exit`], and apart from all
//! of them [`line_diff`].

pub mod allot;
pub mod allowance;
pub mod approval;
pub mod books;
pub mod budget;
mod cap;
pub mod changes;
pub mod choose;
pub mod command;
pub mod compaction;
pub mod context_store;
pub mod contract;
pub mod event;
pub mod exit;
pub mod extend;
pub mod fence;
pub mod fingerprint;
pub mod front_matter;
pub mod grant;
pub mod guidance;
pub mod hash;
pub mod hidden;
pub mod history;
pub mod ids;
pub mod ledger;
pub mod line;
pub mod line_diff;
mod matching;
pub mod message;
pub mod narrow;
pub mod permit;
pub mod preflight;
pub mod report;
pub mod request;
pub mod role;
pub mod role_file;
pub mod rules;
pub mod scope;
pub mod secrecy;
pub mod secret_file;
pub mod secret_value;
pub mod shell_words;
pub mod spending;
pub mod stamp;
pub mod usage;
pub mod violation;

#[cfg(test)]
mod tests;
