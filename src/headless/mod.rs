//! The front end without a screen: asks one thing, prints what happens in one of three formats, and
//! ends. It knows events and commands, and refuses to know how a run works.
//!
//! Standard output holds what was asked for and nothing else. Writing blocks, so it happens off the
//! runtime, one batch of events at a time; a reader that stalls holds the run up.

mod json;
mod lines;
mod stream;
mod text;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::domain::command::Command;
use crate::domain::event::{Event, Fact, Origin, RunFinished, Timestamp};
use crate::domain::exit::Exit;
use crate::domain::violation::Code;

/// Events taken at once.
const BATCH: usize = 256;

/// What is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// The answer on standard output, calls and notices on standard error.
    #[default]
    Text,
    /// One object at the end.
    Json,
    /// Every event as a line.
    StreamJson,
}

/// What a run without a screen needs.
#[derive(Debug)]
pub struct Headless<O, E> {
    /// From the hub, until it has finished.
    pub events: mpsc::Receiver<Arc<Event>>,
    /// To the session.
    pub commands: mpsc::Sender<Command>,
    /// What is printed.
    pub format: Format,
    /// True to keep standard error for failures.
    pub quiet: bool,
    /// True to leave the events of children out of the stream.
    pub no_children: bool,
    /// What is asked.
    pub prompt: String,
    /// Where the children's traces are, if the session is saved.
    pub trace_dir: Option<PathBuf>,
    /// True if `out` shows on a terminal: then outside text is cleaned on its way there.
    pub out_is_terminal: bool,
    /// Standard output.
    pub out: O,
    /// Standard error; what goes there is always cleaned.
    pub err: E,
}

/// How it went.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// For the operating system.
    pub exit: Exit,
    /// The end of the parent run, unless the session ended without one.
    pub finished: Option<RunFinished>,
}

/// Bytes for the two streams, made without writing them.
#[derive(Debug, Default)]
struct Pages {
    out: Vec<u8>,
    err: Vec<u8>,
}

impl Pages {
    /// One line for standard error.
    fn tell(&mut self, line: &str) {
        self.err.extend_from_slice(line.as_bytes());
        self.err.push(b'\n');
    }
}

/// Turns events into bytes.
trait Printer {
    /// One event, in order.
    fn event(&mut self, event: &Event, pages: &mut Pages);

    /// The session is over; `finished` is the parent's end, if there was one.
    fn end(&mut self, finished: Option<&RunFinished>, pages: &mut Pages);
}

/// Asks, prints until the session is over, and says how it went.
pub async fn run<O, E>(input: Headless<O, E>) -> Outcome
where
    O: Write + Send + 'static,
    E: Write + Send + 'static,
{
    let printer = printer(&input);
    let submit = Command::Submit { text: input.prompt };
    // A session that takes no commands any more has ended, and its events say how.
    input.commands.send(submit).await.ok();
    let writer = Writer { streams: Some((input.out, input.err)), broken: None };
    let watch =
        Watch { events: input.events, commands: input.commands, printer, writer, finished: None };
    watch.until_the_end().await
}

/// What standard output gets where a run never came to be, and why it did not; nothing in the
/// format for people, who are told on standard error.
pub fn failure(format: Format, exit: Exit, text: &str, now: Timestamp) -> String {
    match format {
        Format::Text => String::new(),
        Format::Json => json::failure(exit, text) + "\n",
        Format::StreamJson => stream::failure(exit, text, now),
    }
}

/// The code of such an end.
fn failure_code(exit: Exit) -> &'static str {
    match exit {
        Exit::Usage => "USAGE",
        Exit::Cancelled | Exit::TimedOut => Code::Cancelled.as_str(),
        Exit::Completed | Exit::Failed | Exit::BudgetExhausted | Exit::Blocked => {
            Code::Internal.as_str()
        }
    }
}

fn printer<O, E>(input: &Headless<O, E>) -> Box<dyn Printer + Send> {
    match input.format {
        Format::Text => Box::new(text::Text::new(input.quiet, input.out_is_terminal)),
        Format::Json => Box::new(json::Json::new(input.trace_dir.clone(), input.out_is_terminal)),
        Format::StreamJson => {
            Box::new(stream::Stream::new(input.no_children, input.out_is_terminal))
        }
    }
}

/// True for what a parent run tells about itself.
fn is_parent(origin: &Origin) -> bool {
    origin.run.is_some() && origin.parent_run.is_none()
}

struct Watch<O, E> {
    events: mpsc::Receiver<Arc<Event>>,
    commands: mpsc::Sender<Command>,
    printer: Box<dyn Printer + Send>,
    writer: Writer<O, E>,
    finished: Option<RunFinished>,
}

impl<O, E> Watch<O, E>
where
    O: Write + Send + 'static,
    E: Write + Send + 'static,
{
    async fn until_the_end(mut self) -> Outcome {
        let mut batch = Vec::new();
        let mut over = false;
        while !over && self.events.recv_many(&mut batch, BATCH).await > 0 {
            let mut pages = Pages::default();
            for event in batch.drain(..) {
                self.printer.event(&event, &mut pages);
                over |= self.note(&event).await;
            }
            self.write(pages).await;
        }
        let mut pages = Pages::default();
        self.printer.end(self.finished.as_ref(), &mut pages);
        self.write(pages).await;
        let exit = match &self.finished {
            Some(_) if self.writer.failed() => Exit::Failed,
            Some(finished) => Exit::of(finished),
            None => Exit::Failed,
        };
        Outcome { exit, finished: self.finished }
    }

    /// True when the session is over. The first end of a parent run is the answer.
    async fn note(&mut self, event: &Event) -> bool {
        if let Fact::RunFinished(finished) = &event.fact
            && is_parent(&event.origin)
            && self.finished.is_none()
        {
            self.finished = Some(RunFinished::clone(finished));
            self.commands.send(Command::Quit).await.ok();
        }
        matches!(event.fact, Fact::SessionFinished { .. })
    }

    async fn write(&mut self, pages: Pages) {
        let worked_before = self.writer.broken.is_none();
        self.writer.write(pages).await;
        if worked_before && self.writer.broken.is_some() && self.finished.is_none() {
            // Nobody reads the answer: no more money is spent on it.
            self.commands.send(Command::Stop).await.ok();
            self.commands.send(Command::Quit).await.ok();
        }
    }
}

/// The two streams, written to off the runtime.
struct Writer<O, E> {
    streams: Option<(O, E)>,
    /// Why standard output takes nothing any more.
    broken: Option<io::ErrorKind>,
}

impl<O, E> Writer<O, E>
where
    O: Write + Send + 'static,
    E: Write + Send + 'static,
{
    async fn write(&mut self, pages: Pages) {
        let nothing = pages.out.is_empty() && pages.err.is_empty();
        let Some((mut out, mut err)) = self.streams.take_if(|_| !nothing) else { return };
        let skip_out = self.broken.is_some();
        let written = spawn_blocking(move || {
            // Calls and notices are worth no failure.
            err.write_all(&pages.err).and_then(|()| err.flush()).ok();
            let result = if skip_out {
                Ok(())
            } else {
                out.write_all(&pages.out).and_then(|()| out.flush())
            };
            if let Err(error) = &result
                && error.kind() != io::ErrorKind::BrokenPipe
            {
                writeln!(err, "offshoot: cannot write to standard output: {error}").ok();
            }
            ((out, err), result)
        });
        if let Ok((streams, result)) = written.await {
            self.streams = Some(streams);
            self.broken = self.broken.or(result.err().map(|error| error.kind()));
        }
    }

    /// True if the answer was lost for another reason than a reader that had enough.
    fn failed(&self) -> bool {
        self.broken.is_some_and(|kind| kind != io::ErrorKind::BrokenPipe)
    }
}
