//! The record of one session as lines of JSON. It knows the order of lines in each file and what a
//! failure means for them; it refuses to know what happened.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::store::{Folder, RecordFile, Store};
use super::trace::{FileName, ends, files, names_session, recorded};
use crate::domain::event::{Event, Fact, RawOutput};
use crate::domain::ids::SessionId;
use crate::domain::line;

/// Why a session cannot be saved any more.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file or its folder cannot be made.
    #[error("cannot make {path}: {source}; {}", hint(source))]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}; {}", hint(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An event has no JSON form.
    #[error("event {id} cannot be written as JSON: {source}; please report this")]
    Json {
        /// The event.
        id: u64,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

fn hint(error: &io::Error) -> &'static str {
    use io::ErrorKind::{AlreadyExists, NotFound, QuotaExceeded, ResourceBusy, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded => "free some space and start again to save what comes next",
        NotFound => "start again to save what comes next in a new folder",
        ResourceBusy | AlreadyExists => "end the other one or start a new session",
        _ => "choose a folder that you can write to with --session-dir",
    }
}

/// The files of one session, open for writing. All its work blocks; the first error ends it.
pub struct Journal {
    store: Box<dyn Store>,
    sheets: BTreeMap<FileName, Sheet>,
    /// Known once the session's first event was written.
    session: Option<SessionId>,
}

impl Journal {
    /// A new session in the folder `dir`. Nothing is made before there is something to write.
    pub fn create(dir: &Path, session: SessionId) -> Self {
        Self::on(Box::new(Folder::new(dir, session)))
    }

    /// A new session in any store.
    pub fn on(store: Box<dyn Store>) -> Self {
        Self { store, sheets: BTreeMap::new(), session: None }
    }

    /// The session's folder, which is there once something was written.
    pub fn folder(&self) -> PathBuf {
        let mut folder = self.store.path(&FileName::Session);
        folder.pop();
        folder
    }

    /// Writes each event to the files it belongs into, all or none of its line.
    pub fn append(&mut self, events: &[Arc<Event>]) -> Result<(), JournalError> {
        for event in events {
            if let Fact::SessionStarted { session, .. } = &event.fact {
                self.session = Some(*session);
            }
            self.keep_output(event)?;
            for name in files(event) {
                let sheet = sheet(&mut self.sheets, self.store.as_mut(), &name)?;
                let linked = names_session(event, &name);
                let session = self.session.filter(|_| linked);
                sheet.add(&recorded(event, &name), session, ends(event, &name))?;
            }
        }
        for (name, sheet) in &mut self.sheets {
            sheet.flush().map_err(|source| write_error(self.store.as_ref(), name, source))?;
        }
        Ok(())
    }

    /// What was cut from an output goes into a file of its own, before the event that tells of it.
    fn keep_output(&mut self, event: &Event) -> Result<(), JournalError> {
        let Fact::ToolFinished { raw: Some(RawOutput(text)), .. } = &event.fact else {
            return Ok(());
        };
        let name = FileName::Output(event.id);
        if self.sheets.is_empty() {
            // The session's own file makes the folder that all others are in.
            sheet(&mut self.sheets, self.store.as_mut(), &FileName::Session)?;
        }
        let made = self.store.create(&name);
        let path = || self.store.path(&name);
        let mut file = made.map_err(|source| JournalError::Create { path: path(), source })?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
        written.map_err(|source| write_error(self.store.as_ref(), &name, source))
    }

    /// True if a file's subject has ended since the last [`Journal::sync`].
    pub fn wants_sync(&self) -> bool {
        self.sheets.values().any(|sheet| sheet.ended)
    }

    /// Brings the files whose subject has ended safely to the disk, and closes finished traces.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        for (name, sheet) in &mut self.sheets {
            if std::mem::take(&mut sheet.ended)
                && let Some(file) = &mut sheet.file
            {
                file.sync().map_err(|source| write_error(self.store.as_ref(), name, source))?;
                if *name != FileName::Session {
                    sheet.file = None;
                }
            }
        }
        Ok(())
    }
}

fn write_error(store: &dyn Store, name: &FileName, source: io::Error) -> JournalError {
    JournalError::Write { path: store.path(name), source }
}

/// The open sheet of this name.
fn sheet<'a>(
    sheets: &'a mut BTreeMap<FileName, Sheet>,
    store: &mut dyn Store,
    name: &FileName,
) -> Result<&'a mut Sheet, JournalError> {
    let failed = |path, source| JournalError::Create { path, source };
    match sheets.entry(name.clone()) {
        Entry::Vacant(place) => {
            let file = store.create(name).map_err(|error| failed(store.path(name), error))?;
            Ok(place.insert(Sheet::new(file)))
        }
        Entry::Occupied(place) => {
            let sheet = place.into_mut();
            if sheet.file.is_none() {
                let file = store.reopen(name).map_err(|error| failed(store.path(name), error))?;
                sheet.file = Some(file);
            }
            Ok(sheet)
        }
    }
}

/// One file with what is about to be written to it.
struct Sheet {
    /// Closed once its subject has ended, so that many children cost no open files.
    file: Option<Box<dyn RecordFile>>,
    /// The number of its last line.
    seq: u64,
    /// Bytes of whole lines in the file.
    length: u64,
    pending: Vec<u8>,
    ended: bool,
}

impl Sheet {
    fn new(file: Box<dyn RecordFile>) -> Self {
        Self { file: Some(file), seq: 0, length: 0, pending: Vec::new(), ended: false }
    }

    fn add(
        &mut self,
        event: &Event,
        session: Option<SessionId>,
        ends: bool,
    ) -> Result<(), JournalError> {
        self.seq += 1;
        self.ended |= ends;
        line::write_in(&mut self.pending, self.seq, session, event)
            .map_err(|source| JournalError::Json { id: event.id, source })
    }

    fn flush(&mut self) -> io::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let Some(file) = self.file.as_mut().filter(|_| !pending.is_empty()) else { return Ok(()) };
        let written = file.write_all(&pending).and_then(|()| file.flush());
        if written.is_err() {
            // What is whole stays readable; if even that fails, the first error is the one to tell.
            file.cut(self.length).ok();
        }
        self.length += pending.len() as u64;
        written
    }
}
