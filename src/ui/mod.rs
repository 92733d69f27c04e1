//! The full-screen front end: keys and events in, commands and frames out.
//!
//! It is told what happened and asks for what it wants; it never looks into the runtime. `update`
//! does no I/O, the views are pure, and this file holds the one loop around them. A frame costs
//! what is visible, never the length of what happened before.
//!
//! Reading order: [`msg`], [`keymap`], [`screen`], [`update`], [`view`], then the helpers.

mod answer;
pub mod asking;
pub mod burst;
mod cancel;
pub mod child_lines;
pub mod composer;
pub mod conversation_pane;
pub mod delegations_pane;
mod hangup;
mod happened;
mod input;
pub mod key_table;
pub mod keymap;
pub mod lang;
pub mod layout;
pub mod long_text;
pub mod msg;
pub mod overlay;
pub mod paint;
pub mod preflight;
pub use crate::sanitize;
pub mod screen;
pub mod scroll;
mod sending;
mod signals;
pub mod slash;
pub mod steering;
pub mod terminal;
pub mod trust;
pub mod update;
pub mod view;
pub mod wrap;

use std::collections::VecDeque;
use std::io::{self, Stdout};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crossterm::event::{Event as TerminalEvent, KeyEvent, KeyEventKind};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tokio::sync::mpsc::{Permit, Receiver, Sender};
use tokio::time::Instant;

use crate::domain::command::Command;
use crate::domain::event::{Event, Timestamp};
use crate::domain::exit::Exit;
use crate::story::Story;

use burst::Burst;
use input::{Heard, Input};
use msg::{Effect, Msg};
use paint::Palette;
use screen::Screen;
use signals::Signals;
use trust::Trust;

pub use lang::Lang;
pub use screen::HeaderFacts;
pub use terminal::check;
pub use trust::TrustQuestion;

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// How long the session may take to end.
const GOODBYE: Duration = Duration::from_secs(2);
/// How long events or keys are taken in before anything else gets its turn, so that a flood of one
/// never keeps the other waiting.
const TURN: Duration = Duration::from_millis(8);
/// Events that are taken in at one turn at most.
const BATCH: usize = 512;
/// Why a session ends that took too long.
const TIMEOUT: &str = "timeout";

/// Why the front end cannot run, or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum UiError {
    /// Input or output is no terminal.
    #[error("the chat needs a terminal for input and output; use `offshoot run PROMPT` here")]
    NoTerminal,
    /// The terminal can do too little.
    #[error(
        "the chat needs a terminal that can move its cursor (TERM is unset or dumb); use `offshoot run PROMPT` here"
    )]
    DumbTerminal,
    /// The terminal failed.
    #[error("the terminal does not answer: {0}; use `offshoot run PROMPT` without one")]
    Terminal(#[source] io::Error),
    /// The session went away.
    #[error("the session ended unexpectedly; its file has all that happened, start offshoot again")]
    SessionLost,
}

/// What the front end needs.
#[derive(Debug)]
pub struct Front {
    /// What happens, in order.
    pub events: Receiver<Arc<Event>>,
    /// What the user asks for.
    pub commands: Sender<Command>,
    /// A message to send at once.
    pub first_message: Option<String>,
    /// Which language it speaks.
    pub lang: Lang,
    /// False for `--no-color`; `NO_COLOR` in the environment has the same effect.
    pub colour: bool,
    /// What the header shows and no event tells.
    pub header: HeaderFacts,
    /// What the folder brings along and nobody has agreed to yet; it is asked about first.
    pub trust: Option<TrustQuestion>,
}

/// Runs until the user quits or the session ends, both of which end well, or until the process is
/// asked to end, which is a cancel.
pub async fn run(front: Front) -> Result<Exit, UiError> {
    let guard = terminal::Guard::enter()?;
    let mut app = App::new(front)?;
    let outcome = app.run().await;
    drop(guard);
    match app.failed {
        Some(error) => Err(UiError::Terminal(error)),
        None => outcome.map(|()| app.exit),
    }
}

/// Draws one frame of a story into a buffer of the screen's size; gives back where the caret is.
/// What the loop does for a terminal, for tests and benchmarks.
pub fn draw_frame(
    story: &Story,
    screen: &mut Screen,
    now: Timestamp,
    buffer: &mut Buffer,
) -> Option<Position> {
    screen.size = (buffer.area.width, buffer.area.height);
    let areas = screen.prepare(story, now);
    view::draw(story, screen, areas, now, buffer)
}

struct App {
    front: Front,
    story: Story,
    screen: Screen,
    /// Never dropped: its end would write to a terminal that may be gone, and panic about it. What
    /// it would do, the guard does.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<io::BufWriter<Stdout>>>>,
    /// True once nobody sees what is drawn.
    unseen: bool,
    /// Why the terminal failed, if not by being closed.
    failed: Option<io::Error>,
    input: Input,
    burst: Burst,
    /// Whether anything changed since the last frame, and when that was.
    dirty: bool,
    drawn: Instant,
    leaving: Option<Instant>,
    exit: Exit,
    /// What the session has not taken yet: waiting for it must not keep its events waiting.
    outbox: VecDeque<Command>,
}

impl App {
    fn new(mut front: Front) -> Result<Self, UiError> {
        let backend = CrosstermBackend::new(io::BufWriter::with_capacity(1 << 16, io::stdout()));
        let terminal = ManuallyDrop::new(Terminal::new(backend).map_err(UiError::Terminal)?);
        let size = terminal.size().map_err(UiError::Terminal)?;
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let palette = Palette { colour: front.colour && !no_color };
        let header = std::mem::take(&mut front.header);
        let mut screen = Screen::new(front.lang, palette, header, (size.width, size.height));
        let first = &mut front.first_message;
        screen.trust = front.trust.take().map(|asked| Trust::of(&asked, first.take(), front.lang));
        Ok(Self {
            front,
            story: Story::default(),
            screen,
            terminal,
            unseen: false,
            failed: None,
            input: Input::start().map_err(UiError::Terminal)?,
            burst: Burst::default(),
            dirty: true,
            drawn: Instant::now(),
            leaving: None,
            exit: Exit::Completed,
            outbox: VecDeque::new(),
        })
    }

    async fn run(&mut self) -> Result<(), UiError> {
        let mut signals = Signals::new().map_err(UiError::Terminal)?;
        let commands = self.front.commands.clone();
        self.draw();
        if let Some(text) = self.front.first_message.take().filter(|text| !text.trim().is_empty()) {
            let effect = sending::submit(&mut self.screen, text);
            self.perform(effect);
        }
        while !self.is_over() {
            let wake = self.next_wake();
            tokio::select! {
                // What a person asks for comes before what there is to tell.
                biased;
                () = signals.recv() => self.called_off(),
                Some(said) = self.input.next() => self.terminal_said(said),
                permit = commands.reserve(), if !self.outbox.is_empty() => {
                    send(permit.ok(), &mut self.outbox);
                }
                () = sleep_until(wake) => self.take_in(Msg::Tick),
                event = self.front.events.recv() => self.session_events(event)?,
            }
            if self.dirty && self.drawn.elapsed() >= FRAME {
                self.draw();
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        let asked = self.leaving.is_some();
        let late = self.leaving.is_some_and(|since| since.elapsed() >= GOODBYE);
        late || (asked && self.story.finished().is_some())
    }

    /// When to wake up although nothing happens: to draw what changed, to show what ages, to stop
    /// waiting for the session.
    fn next_wake(&self) -> Option<Instant> {
        let frame = self.dirty.then_some(self.drawn + FRAME);
        let aged = self.screen.next_wake(&self.story, now()).map(|wait| Instant::now() + wait);
        let goodbye = self.leaving.map(|since| since + GOODBYE);
        [frame, aged, goodbye].into_iter().flatten().min()
    }

    /// Takes in what the terminal said, and what it has said since.
    fn terminal_said(&mut self, first: io::Result<Heard>) {
        let began = Instant::now();
        let mut next = Some(first);
        while let Some(said) = next {
            match said {
                Ok(Heard::Events(events)) => self.terminal_events(events),
                Ok(Heard::Quiet) => {
                    if let Some(msg) = self.burst.end() {
                        self.take_in(msg);
                    }
                }
                Err(error) => self.lost(error),
            }
            next = if began.elapsed() < TURN { self.input.waiting() } else { None };
        }
    }

    fn terminal_events(&mut self, events: Vec<TerminalEvent>) {
        let mut keys = Vec::new();
        for event in events {
            match event {
                TerminalEvent::Key(key) if key.kind == KeyEventKind::Release => {}
                TerminalEvent::Key(key) => keys.push(key),
                other => {
                    self.flush_keys(&mut keys);
                    self.other_event(other);
                }
            }
        }
        self.flush_keys(&mut keys);
    }

    fn flush_keys(&mut self, keys: &mut Vec<KeyEvent>) {
        let typing = self.screen.is_typing();
        for msg in self.burst.keys(&std::mem::take(keys), typing) {
            self.take_in(msg);
        }
    }

    fn other_event(&mut self, event: TerminalEvent) {
        match event {
            TerminalEvent::Paste(text) => self.take_in(Msg::Paste(text)),
            TerminalEvent::Resize(width, height) => self.take_in(Msg::Resize(width, height)),
            TerminalEvent::Key(_)
            | TerminalEvent::Mouse(_)
            | TerminalEvent::FocusGained
            | TerminalEvent::FocusLost => {}
        }
    }

    fn session_events(&mut self, first: Option<Arc<Event>>) -> Result<(), UiError> {
        let Some(first) = first else {
            return self.events_ended();
        };
        let began = Instant::now();
        let mut events = Vec::new();
        let mut next = Some(first);
        while let Some(event) = next {
            self.story.apply(&event);
            events.push(event);
            let goes_on = events.len() < BATCH && began.elapsed() < TURN;
            next = goes_on.then(|| self.front.events.try_recv().ok()).flatten();
        }
        update::update(&mut self.screen, &self.story, Msg::Events(events), now());
        if let Some(reason) = self.story.finished() {
            if reason == TIMEOUT {
                self.exit = Exit::TimedOut;
            }
            self.leaving.get_or_insert_with(Instant::now);
        }
        self.dirty = true;
        Ok(())
    }

    /// After its last word a session may be gone; before that it may not.
    fn events_ended(&mut self) -> Result<(), UiError> {
        if self.story.finished().is_none() && self.leaving.is_none() {
            return Err(UiError::SessionLost);
        }
        self.leaving = Instant::now().checked_sub(GOODBYE).or(self.leaving);
        Ok(())
    }

    fn take_in(&mut self, msg: Msg) {
        self.dirty = true;
        for effect in update::update(&mut self.screen, &self.story, msg, now()) {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Send(command) => self.outbox.push_back(command),
            Effect::Repaint => {
                if let Err(error) = self.repaint() {
                    self.lost(error);
                }
            }
            Effect::Quit => self.leave(),
        }
    }

    /// Forgets what the terminal shows, so that the next frame writes every cell. Not by
    /// `Terminal::clear`: that asks the terminal for its cursor, and the answer goes to the keys.
    fn repaint(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }

    /// The process was asked to end.
    fn called_off(&mut self) {
        self.exit = Exit::Cancelled;
        self.leave();
    }

    /// Without a terminal there is nobody left to serve: what runs is cancelled, and the session
    /// gets its time to end as after any other goodbye.
    fn lost(&mut self, error: io::Error) {
        if !hangup::is_hangup(&error) && self.leaving.is_none() {
            self.failed = Some(error);
        }
        self.unseen = true;
        self.called_off();
    }

    fn leave(&mut self) {
        if self.leaving.is_none() {
            self.leaving = Some(Instant::now());
            self.screen.leaving = true;
            self.dirty = true;
            self.outbox.push_back(Command::Quit);
        }
    }

    fn draw(&mut self) {
        (self.dirty, self.drawn) = (false, Instant::now());
        if self.unseen {
            return;
        }
        let (story, screen) = (&self.story, &mut self.screen);
        let draw = |frame: &mut ratatui::Frame<'_>| {
            if let Some(caret) = draw_frame(story, screen, now(), frame.buffer_mut()) {
                frame.set_cursor_position(caret);
            }
        };
        match self.terminal.draw(draw) {
            Ok(_) => self.dirty = self.screen.is_behind(),
            Err(error) => self.lost(error),
        }
        // What a frame took is no part of the pause after it.
        self.drawn = Instant::now();
    }
}

/// A session that takes nothing any more says so by the end of its events.
fn send(permit: Option<Permit<'_, Command>>, outbox: &mut VecDeque<Command>) {
    match permit {
        Some(permit) => {
            if let Some(command) = outbox.pop_front() {
                permit.send(command);
            }
        }
        None => outbox.clear(),
    }
}

fn now() -> Timestamp {
    Timestamp::from(SystemTime::now())
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
