//! offshoot, a terminal agent whose delegations can be watched, bounded and cancelled.
//!
//! This page is the map. Each module opens with what it is for and what it refuses to know; read
//! them in this order.
//!
//! # The house
//!
//! | module | what is in it |
//! |---|---|
//! | `main` | the program: command line in, exit code out |
//! | [`session`] | the composition root: builds everything, owns the history between questions, carries out commands |
//! | [`ui`], [`headless`] | the two front ends: a full screen, and a single answer in three formats |
//! | [`doctor`] | what was found around the program, and what to do about it |
//! | [`story`] | what has happened, as a reader of the events knows it |
//! | [`agent`] | the one loop for parent and child; delegating; the report |
//! | [`provider`] | who answers: the embedded researcher, a script, three kinds of servers; what is known of models |
//! | [`tool`] | what a run can do, one verb a file, behind one door |
//! | [`workspace`] | the folder that no path leads out of; what changed in it |
//! | [`sandbox`] | the fence around commands, and the end of everything they started |
//! | [`journal`] | facts stamped, ordered, redacted, written and handed out |
//! | [`settings`], [`cli`] | what was typed, set and written, and what it means here |
//! | [`sanitize`] | outside text made harmless for a terminal |
//! | [`domain`] | the vocabulary: contract, budget, ledger, history, report, event, command |
//!
//! # What is not there
//!
//! The architecture is best told by what each part does without.
//!
//! - `domain` and `story` do no input or output, read no clock and never await. Every rule of the
//!   delegation contract is a constructor in `domain`, so it can be tested as arithmetic.
//! - `ui` never imports `agent`, `provider`, `tool` or `journal`. It is told what happened by events,
//!   and asks for what it wants by commands; it changes nothing because it asked.
//! - `agent` knows no screen and no file format. There is no second loop for children: a child is a
//!   call of the same function with a narrower contract, and returns before its parent goes on.
//! - No child holds a reference into its parent. It is built from the serialised contract alone.
//! - No model reaches a tool but through `tool::guard`; a command that the user types (`!command`) asks
//!   nobody. No path that a model names is opened but through `workspace::jail`, and paths are never
//!   compared as strings. What has a fixed name, or one that the user gave, is opened without it: git's
//!   own files (`tool::command::git_view`, `workspace::branch`), and the files of `settings`.
//! - No contract is made but by [`Contract::narrow`](domain::contract::Contract::narrow), or for a
//!   parent by `Contract::root`; no ill-formed history can be built, so none can be sent.
//! - No text from outside reaches a terminal but through `sanitize`.
//! - `tool` does not know what `task` does. It holds the schema; the agent holds the deed.
//! - No lock is held over an await, no channel is unbounded, no fact is dropped. Only streamed words
//!   may be merged on their way to a slow reader.
//! - No frame costs more because the conversation is longer, and no frame is drawn if nothing changed.
//!
//! # Who may import whom
//!
//! `domain` is open to all. A test of `tests/house.rs` holds every `use` to this drawing.
//!
//! ```text
//! doctor     -> session settings provider workspace sandbox sanitize
//! session    -> settings agent journal provider tool workspace sandbox
//! ui         -> story sanitize
//! headless   -> story sanitize
//! agent      -> provider tool journal::hub journal::redact workspace sandbox
//! journal    -> story
//! tool       -> workspace sandbox
//! settings   -> cli
//! story      ->
//! provider   ->
//! workspace  ->
//! sandbox    ->
//! cli        ->
//! sanitize   ->
//! domain     ->
//! ```
//!
//! # Two walks through it
//!
//! *Somebody presses Ctrl+X while a child works.* A thread of `ui` reads the key; `keymap` says that
//! it means "cancel the active child"; `update` answers with a command and changes nothing else.
//! `session` looks the task up, tells `cancel_requested` and fires the task's scope. Whatever the
//! child's loop was waiting for loses the race against that scope: the model's stream is dropped, a
//! tool that blocks sees its flag. `History::interrupt` gives every open call a result, `conclude`
//! writes the report from what was recorded, and `run_finished` goes to the hub. From there it comes
//! to the files, and to the screen, which now says "cancelled" because it was told. The parent's loop
//! finds a report where it waited for one, and goes on.
//!
//! *A child reads a file.* A piece of the model's answer completes a call; `turn` puts the message
//! into the history and tells it. `dispatch` asks `guard`, which looks into the contract: is the tool
//! held, do the arguments fit. The ledger is charged. `read_file` asks the workspace for the path
//! inside the child's scopes, on a thread that may block, raced with the child's scope. The result
//! takes the place of its call, not of its arrival; `History::settle` takes the whole batch. The hub
//! numbers what was told; the child's trace has it on disk, `headless` prints a line, `story` adds a
//! row, and the next frame shows `[子] read_file src/lib.rs`.
//!
//! # Where it falls short today
//!
//! - Commands that a user or a project keeps in files are not loaded yet; that a project has some is
//!   asked about all the same.
//! - Secrets can be pinned when a session starts, not while it runs.
//! - `fence.unix` can be set and has no effect: no command may connect to a socket of the file system,
//!   for before Linux 7.1 Landlock cannot tell them apart by place.
//! - Sessions are written and not yet read again: no resume, replay or export.
//! - Prices with several tiers are known up to the first step only; beyond it costs are unknown.
//! - Answers are shown as plain text; there is no search, mouse or theme.
//! - After a hang-up of its terminal the thread that reads keys cannot be ended, only left behind;
//!   the process ends around it.
#[cfg(windows)]
compile_error!("offshoot runs on Linux and macOS; on Windows build it inside of WSL");

pub mod agent;
pub mod cli;
pub mod doctor;
pub mod domain;
pub mod headless;
pub mod journal;
pub mod provider;
pub mod sandbox;
pub mod sanitize;
pub mod session;
pub mod settings;
pub mod story;
pub mod tool;
pub mod ui;
pub mod workspace;
