//! The terminal's state, and its way back: on every way out, panics included, raw mode ends, the
//! other screen comes back and the cursor is shown.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

use crossterm::cursor::{MoveTo, Show};
use crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::execute;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::UiError;

static ENTERED: AtomicBool = AtomicBool::new(false);
static DRAWING_THREAD: Mutex<Option<ThreadId>> = Mutex::new(None);
/// Panics of other threads: they are survived, so their words must not be written over the screen.
static SURVIVED: Mutex<Vec<String>> = Mutex::new(Vec::new());
const SURVIVED_KEPT: usize = 20;

/// Whether the front end can run here at all.
pub fn check() -> Result<(), UiError> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(UiError::NoTerminal);
    }
    match std::env::var("TERM") {
        Ok(term) if !term.is_empty() && term != "dumb" => Ok(()),
        Ok(_) | Err(_) => Err(UiError::DumbTerminal),
    }
}

/// The terminal in the front end's hands. Dropping it gives it back.
#[derive(Debug)]
pub struct Guard(());

impl Guard {
    /// Takes the terminal: raw mode, the alternate screen, bracketed paste.
    pub fn enter() -> Result<Self, UiError> {
        check()?;
        install_hook();
        if let Ok(mut thread) = DRAWING_THREAD.lock() {
            *thread = Some(std::thread::current().id());
        }
        enable_raw_mode().map_err(UiError::Terminal)?;
        ENTERED.store(true, Ordering::SeqCst);
        let guard = Self(());
        // A terminal that does not know the keyboard protocol ignores the request; asking it first
        // could wait for an answer that never comes.
        execute!(
            io::stdout(),
            EnterAlternateScreen,
            EnableBracketedPaste,
            PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES)
        )
        .map_err(UiError::Terminal)?;
        Ok(guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
        if let Ok(mut survived) = SURVIVED.lock() {
            for words in survived.drain(..) {
                let _ = writeln!(io::stderr(), "{words}");
            }
        }
    }
}

/// Gives the terminal back. Harmless when it was never taken, or is back already. Errors are of no
/// use here: there is nobody left to tell.
pub fn restore() {
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(
        io::stdout(),
        PopKeyboardEnhancementFlags,
        DisableBracketedPaste,
        // Some multiplexers leave rows of the other screen behind if it was resized and is not
        // empty.
        Clear(ClearType::All),
        MoveTo(0, 0),
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
}

/// A panic of the drawing thread gives the terminal back before its words are written. One of
/// another thread ends a task, not the program: its words are kept until the terminal is back.
fn install_hook() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if INSTALLED.swap(true, Ordering::SeqCst) {
        return;
    }
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let current = std::thread::current().id();
        let draws = DRAWING_THREAD.lock().is_ok_and(|thread| *thread == Some(current));
        if draws || !ENTERED.load(Ordering::SeqCst) {
            restore();
            previous(panic);
        } else if let Ok(mut survived) = SURVIVED.lock()
            && survived.len() < SURVIVED_KEPT
        {
            survived.push(panic.to_string());
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restoring_what_was_never_taken_does_nothing() {
        restore();
        restore();
        assert!(!ENTERED.load(Ordering::SeqCst));
    }
}
