//! The real program in a real terminal: start, ask, watch the child, cancel it, ask again, leave; and
//! the terminal as it was found. Every wait is for something on the screen; time only bounds it.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "common/program.rs"]
mod program;

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, PtyPair, PtySize, native_pty_system};
use program::{Ground, PATIENCE, PROGRAM, QUESTION};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{InputModes, LocalModes, OutputModes, tcgetattr};
use serde_json::Value;

const COLUMNS: u16 = 120;
const ROWS: u16 = 40;
/// How long each call of the embedded researcher takes, in ms: at least twice this long is left
/// for a cancel once the first call is on the screen.
const PACE: &str = "500";

const ENTER: &str = "\r";
const ESC: &str = "\x1b";
const CTRL_D: &str = "\x04";
const CTRL_X: &str = "\x18";

const ENTER_SCREEN: &[u8] = b"\x1b[?1049h";
const LEAVE_SCREEN: &[u8] = b"\x1b[?1049l";

/// What came out of the program: the bytes, and what a terminal makes of them.
struct Shown {
    bytes: Vec<u8>,
    parser: vt100::Parser,
}

type Sheet = Arc<(Mutex<Shown>, Condvar)>;

/// A terminal with the program in it.
struct Terminal {
    pair: PtyPair,
    /// How the line discipline was set before.
    found: Modes,
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    sheet: Sheet,
    reader: JoinHandle<()>,
    /// True once nobody looks any more.
    closed: Arc<AtomicBool>,
}

impl Terminal {
    fn open(ground: &Ground) -> Self {
        Self::open_with(ground, |_| {})
    }

    fn open_with(ground: &Ground, change: impl FnOnce(&mut CommandBuilder)) -> Self {
        let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(PROGRAM);
        command.cwd(ground.workspace.path());
        command.env_clear();
        for (name, value) in ground.environment() {
            command.env(name, value);
        }
        command.env("OFFSHOOT_PACE", PACE);
        change(&mut command);
        let (sheet, closed) = (sheet(), Arc::<AtomicBool>::default());
        let output = pair.master.try_clone_reader().unwrap();
        let (shared, flag) = (Arc::clone(&sheet), Arc::clone(&closed));
        let reader = thread::spawn(move || watch(output, &shared, &flag));
        let keys = pair.master.take_writer().unwrap();
        let found = modes(&pair);
        let child = pair.slave.spawn_command(command).unwrap();
        Self { pair, found, child, keys, sheet, reader, closed }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Types a message and sends it, as a person does: Enter comes after the words are seen.
    fn say(&mut self, words: &str) {
        let typed = format!("│ {words}");
        let in_input = |screen: &str| screen.lines().any(|line| line.starts_with(&typed));
        self.press(words);
        self.wait_for("the typed words", in_input);
        self.press(ENTER);
        self.wait_for("an empty input", |screen| !in_input(screen));
    }

    /// Waits until the screen shows something; gives the screen back.
    fn wait_for(&self, what: &str, mut is_there: impl FnMut(&str) -> bool) -> String {
        let mut screen = String::new();
        self.wait(what, |shown| {
            screen = shown.parser.screen().contents();
            is_there(&screen)
        });
        screen
    }

    fn wait_for_bytes(&self, bytes: &[u8]) {
        self.wait("the last bytes", |shown| last(&shown.bytes, bytes).is_some());
    }

    fn wait(&self, what: &str, mut is_there: impl FnMut(&Shown) -> bool) {
        let (lock, changed) = &*self.sheet;
        let began = Instant::now();
        let mut shown = lock.lock().unwrap();
        while !is_there(&shown) {
            let screen = shown.parser.screen().contents();
            assert!(began.elapsed() < PATIENCE, "{what} did not come:\n{screen}");
            shown = changed.wait_timeout(shown, Duration::from_millis(100)).unwrap().0;
        }
    }

    /// The window is closed, with unsent words in the input.
    fn hang_up(mut self) -> Box<dyn Child + Send + Sync> {
        self.closed.store(true, Ordering::SeqCst);
        // What they draw is the last that is read.
        self.press("unsent");
        self.reader.join().unwrap();
        self.child
    }

    /// The terminal is as the program found it: what a person types next is shown and edited by
    /// the line, below what was there before.
    fn assert_given_back(&self) {
        self.wait_for_bytes(LEAVE_SCREEN);
        assert!(self.found.2.contains(LocalModes::ICANON | LocalModes::ECHO), "it was a usual one");
        assert!(modes(&self.pair) == self.found, "the line discipline is another one");
        let shown = self.sheet.0.lock().unwrap();
        let screen = shown.parser.screen();
        assert!(!screen.alternate_screen(), "still on the other screen");
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert!(!screen.bracketed_paste(), "bracketed paste is on");
        for (on, off) in [
            (ENTER_SCREEN, LEAVE_SCREEN),
            (b"\x1b[?2004h", b"\x1b[?2004l"),
            (b"\x1b[>1u", b"\x1b[<1u"),
        ] {
            let (on, off) = (last(&shown.bytes, on), last(&shown.bytes, off));
            assert!(on.is_some() && on < off, "{on:?} {off:?}");
        }
    }
}

/// How the line discipline is set: input, output and local modes.
type Modes = (InputModes, OutputModes, LocalModes);

fn modes(pair: &PtyPair) -> Modes {
    let tty = File::open(pair.master.tty_name().unwrap()).unwrap();
    let set = tcgetattr(tty).unwrap();
    (set.input_modes, set.output_modes, set.local_modes)
}

/// The way the program ended.
fn end(child: &mut Box<dyn Child + Send + Sync>) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the program did not end");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn sheet() -> Sheet {
    let [rows, columns] = [ROWS, COLUMNS].map(|cells| NonZeroU16::new(cells).unwrap());
    let parser = vt100::Parser::new(rows, columns, 0);
    Arc::new((Mutex::new(Shown { bytes: Vec::new(), parser }), Condvar::new()))
}

/// Reads what comes out until the program is gone or nobody looks.
fn watch(mut output: Box<dyn Read + Send>, sheet: &Sheet, closed: &AtomicBool) {
    let mut piece = [0; 4_096];
    while let Ok(length @ 1..) = output.read(&mut piece) {
        if closed.load(Ordering::SeqCst) {
            return;
        }
        let mut shown = sheet.0.lock().unwrap();
        shown.bytes.extend_from_slice(&piece[..length]);
        shown.parser.process(&piece[..length]);
        sheet.1.notify_all();
    }
}

/// Where these bytes are for the last time.
fn last(bytes: &[u8], sign: &[u8]) -> Option<usize> {
    bytes.windows(sign.len()).rposition(|window| window == sign)
}

/// The rows of the right pane that show a child's calls.
fn calls(screen: &str) -> usize {
    screen.lines().filter(|line| line.contains("[子] ")).count()
}

/// The rows of the left pane.
fn conversation(screen: &str) -> String {
    let left = |line: &str| Some(format!("{}\n", line.strip_prefix('│')?.split_once('│')?.0));
    screen.lines().filter_map(left).collect()
}

/// True if no answer is being made: then the left pane has no row that ends with a clock.
fn is_idle(screen: &str) -> bool {
    let is_clock = |word: &str| {
        word.len() == 5 && word.split(':').all(|part| part.len() == 2 && part.parse::<u8>().is_ok())
    };
    !conversation(screen).lines().filter_map(|l| l.split_whitespace().last()).any(is_clock)
}

/// The part of a row that is in the pane of the children.
fn row_of_child<'a>(screen: &'a str, number: &str) -> Option<&'a str> {
    screen.lines().find_map(|line| {
        let (_, right) = line.strip_suffix('│')?.rsplit_once('│')?;
        right.contains(number).then_some(right)
    })
}

/// How each run of the kept session ended.
fn endings(ground: &Ground) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(ground.session().join("session.jsonl")).unwrap();
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ends = events.filter(|event| event["type"] == "run_finished");
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    ends.map(|event| (word(&event["run"]), word(&event["status"]))).collect()
}

#[test]
fn a_child_can_be_watched_and_cancelled_and_the_terminal_comes_back() {
    let ground = Ground::project();
    let mut terminal = Terminal::open(&ground);
    terminal.wait_for("the first frame", |screen| {
        ["Conversation", "Delegations", "no language model"].iter().all(|w| screen.contains(w))
    });
    assert!(!modes(&terminal.pair).2.contains(LocalModes::ICANON), "keys come one by one");

    terminal.say(QUESTION);
    let live = terminal.wait_for("a call of the child", |screen| calls(screen) > 0);
    assert!(row_of_child(&live, "#1 researcher").is_some(), "{live}");
    terminal.press(CTRL_X);
    terminal.wait_for("the runtime's notice", |screen| {
        screen.contains("task #1 did not finish") && screen.contains("was cancelled by you")
    });
    let row = terminal.wait_for("the cancelled child", |screen| {
        row_of_child(screen, "#1 researcher").is_some_and(|row| row.contains("cancelled by you"))
    });
    assert!(row.contains(&format!("❯ {QUESTION}")), "{row}");
    terminal.wait_for("the end of the answer", is_idle);

    terminal.say("Which test framework is used here?");
    terminal.wait_for("three calls of the second child", |screen| calls(screen) >= 3);
    let done = terminal.wait_for("the second answer", |screen| {
        row_of_child(screen, "#2 researcher").is_some_and(|row| row.contains("completed"))
            && conversation(screen).contains("pyproject.toml:4")
            && is_idle(screen)
    });
    assert!(!done.contains("task #2 did not finish"), "{done}");

    terminal.press(CTRL_D);
    assert_eq!(end(&mut terminal.child).exit_code(), 0);
    terminal.assert_given_back();
    let wanted =
        [("t1.1", "cancelled"), ("r1", "completed"), ("t2.1", "completed"), ("r2", "completed")];
    assert_eq!(endings(&ground), wanted.map(|(run, how)| (run.to_owned(), how.to_owned())));
}

/// A child is at work on the first question.
fn at_work(terminal: &mut Terminal) {
    terminal.wait_for("the first frame", |screen| screen.contains("Conversation"));
    terminal.say(QUESTION);
    terminal.wait_for("a call of the child", |screen| calls(screen) > 0);
}

/// All of it was cancelled, and the session's file is whole.
fn assert_all_cancelled(ground: &Ground) {
    let wanted = [("t1.1", "cancelled"), ("r1", "cancelled")];
    assert_eq!(endings(ground), wanted.map(|(run, how)| (run.to_owned(), how.to_owned())));
    assert_eq!(last_event(ground)["type"], "session_finished");
}

/// The last line of the session's file.
fn last_event(ground: &Ground) -> Value {
    let text = std::fs::read_to_string(ground.session().join("session.jsonl")).unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

#[test]
fn a_signal_cancels_what_runs_and_gives_the_terminal_back() {
    for signal in [Signal::TERM, Signal::QUIT] {
        let ground = Ground::project();
        let mut terminal = Terminal::open(&ground);
        at_work(&mut terminal);
        let process = i32::try_from(terminal.child.process_id().unwrap()).unwrap();
        kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
        let status = end(&mut terminal.child);
        assert_eq!((status.exit_code(), status.signal()), (130, None));
        terminal.assert_given_back();
        assert_all_cancelled(&ground);
    }
}

#[test]
fn words_that_waited_come_back_into_the_input_when_all_is_stopped() {
    let ground = Ground::project();
    let mut terminal = Terminal::open(&ground);
    at_work(&mut terminal);
    terminal.say("and the linter?");
    terminal.wait_for("the waiting words", |screen| {
        conversation(screen).lines().any(|row| row.contains("linter?") && row.contains("queued"))
    });
    terminal.press(ESC);
    terminal.wait_for("the question", |screen| screen.contains("Esc again: yes"));
    terminal.press(ESC);
    let back = terminal.wait_for("the words in the input", |screen| {
        screen.lines().any(|line| line.starts_with("│ and the linter?")) && is_idle(screen)
    });
    assert!(!conversation(&back).contains("❯ and the linter?"), "it was not sent: {back}");
    terminal.press("\x15");
    terminal.press(CTRL_D);
    end(&mut terminal.child);
}

#[test]
fn a_closed_window_ends_the_program_and_what_runs_in_it() {
    // It once panicked about the terminal it could not write to, and left the file unfinished.
    let ground = Ground::project();
    let mut terminal = Terminal::open(&ground);
    at_work(&mut terminal);
    let mut child = terminal.hang_up();
    assert_eq!(end(&mut child).exit_code(), 130);
    assert_all_cancelled(&ground);
}

#[test]
fn a_closed_window_ends_the_program_that_waits_for_words() {
    let ground = Ground::project();
    let terminal = Terminal::open(&ground);
    terminal.wait_for("the first frame", |screen| screen.contains("Conversation"));
    let mut child = terminal.hang_up();
    assert_eq!(end(&mut child).exit_code(), 130);
    assert_eq!(last_event(&ground)["type"], "session_finished");
}

#[test]
fn a_terminal_that_goes_without_a_signal_is_noticed() {
    // The thread that reads keys once took the end of the terminal for silence, without rest.
    let ground = Ground::project();
    let no_signal = |command: &mut CommandBuilder| command.set_controlling_tty(false);
    let mut terminal = Terminal::open_with(&ground, no_signal);
    at_work(&mut terminal);
    let mut child = terminal.hang_up();
    assert_eq!(end(&mut child).exit_code(), 130);
    assert_all_cancelled(&ground);
}

#[test]
fn a_session_that_takes_too_long_ends_with_the_code_for_that() {
    let ground = Ground::project();
    let mut terminal = Terminal::open_with(&ground, |command| command.args(["--timeout", "1"]));
    assert_eq!(end(&mut terminal.child).exit_code(), 124);
    terminal.assert_given_back();
    assert_eq!(last_event(&ground)["reason"], "timeout");
}

#[test]
fn a_terminal_that_can_do_too_little_is_left_alone() {
    let ground = Ground::project();
    let mut terminal = Terminal::open_with(&ground, |command| command.env("TERM", "dumb"));
    let said = terminal.wait_for("the advice", |screen| screen.contains("`offshoot run PROMPT`"));
    assert!(said.starts_with("offshoot: ") && said.contains("TERM"), "{said}");
    assert_eq!(end(&mut terminal.child).exit_code(), 2);
    assert_eq!(last(&terminal.sheet.0.lock().unwrap().bytes, b"\x1b"), None);
}
