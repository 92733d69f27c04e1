//! Faults that other terminal programs had, and their inputs.

use std::path::PathBuf;

use offshoot::domain::event::{Fact, Failure, Level, Speaker};
use offshoot::domain::ids::CallId;
use offshoot::domain::message::ToolCall;
use offshoot::domain::report::Status;
use offshoot::story::Body;
use offshoot::ui::composer::{Composer, Edit};
use offshoot::ui::wrap::cells;
use offshoot::ui::{HeaderFacts, Lang};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use serde_json::{Value, json};

use super::aloud;
use super::feed::{Feed, call, child, parent, task_call, three_children};
use super::soak::rounds;
use super::view::{Watch, frame, header, rows, screen};

/// The inputs of a fault, if they are there.
fn input(name: &str) -> Option<Value> {
    let folder = std::env::var_os("OFFSHOOT_BUG_INPUTS")
        .map_or_else(|| PathBuf::from("../shared/bugs/inputs"), PathBuf::from);
    let path = folder.join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(error) => {
            aloud::skipped(&format!("{} ({error})", path.display()));
            None
        }
    }
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    fn size(&mut self) -> (u16, u16) {
        (u16::try_from(self.roll(301)).unwrap(), u16::try_from(self.roll(101)).unwrap())
    }
}

/// Both panes full of what is hard to lay out.
fn full() -> Feed {
    let mut feed = three_children();
    let hard = ["子".repeat(50), "x".repeat(2_000), "👩‍👩‍👧".repeat(40)];
    for text in &hard {
        feed.words(parent(1), text).words(child(3), text);
        let read = call(text, "read_file", json!({ "path": text }));
        feed.says(child(3), text, vec![read.clone()]).does(child(3), &read, text, 3);
        feed.notice(parent(1), Level::Warning, text);
    }
    feed
}

#[test]
fn no_size_panics_while_text_streams_in_behind_a_page() {
    let mut watch = Watch::new(full(), (80, 24));
    let mut dice = Dice(7);
    let fixed =
        [(0, 0), (1, 1), (2, 1), (1, 2), (3, 3), (300, 100), (20, 2), (5, 50), (80, 1), (79, 23)];
    let random = (0..rounds(300, 10_000)).map(|_| dice.size());
    let keys = [
        "F1", "Esc", "Alt+2", "Enter", "Down", "PgUp", "Esc", "z", "Alt+1", "PgUp", "End", "Tab",
        "子",
    ];
    for (turn, size) in fixed.into_iter().chain(random.collect::<Vec<_>>()).enumerate() {
        watch.screen.size = size;
        watch.feed.words(parent(1), "子 more ").words(child(3), "more 👩‍👩‍👧");
        watch.press(&[keys[turn % keys.len()]]);
        let (buffer, caret) = frame(&mut watch.screen, &watch.feed.story, watch.feed.now());
        assert_eq!(buffer.area, Rect { x: 0, y: 0, width: size.0, height: size.1 });
        if let Some(caret) = caret {
            assert!(caret.x < size.0 && caret.y < size.1, "{caret} at {size:?}");
        }
        let too_small = size.0 < 20 || size.1 < 5;
        assert!(!too_small || caret.is_none());
        // A wide character in the last column would be torn by the terminal.
        for row in rows(&buffer) {
            assert!(cells(&row) <= usize::from(size.0), "{row:?} at {size:?}");
        }
    }
}

#[test]
fn below_the_smallest_size_there_is_one_line() {
    let feed = full();
    let mut screen = screen(Lang::En, (19, 4));
    let shown = rows(&frame(&mut screen, &feed.story, feed.now()).0);
    assert_eq!(shown, ["offshoot: needs 20…", "", "", ""]);
}

#[test]
fn widths_agree_with_the_table_and_borders_stay_in_their_column() {
    let Some(table) = input("B083-cell-width.widths.json") else { return };
    let strings: Vec<(String, usize)> = serde_json::from_value(table["strings"].clone()).unwrap();
    let mut feed = Feed::new();
    feed.user(1, "widths").run(1).turn(parent(1), 1);
    for (text, width) in &strings {
        assert_eq!(cells(text), *width, "{text:?}");
        feed.words(parent(1), &format!("|{text}|\n"));
    }
    feed.words(parent(1), &"line\n".repeat(40));
    let mut watch = Watch::new(feed, (120, 40));
    watch.text();
    watch.press(&["Alt+1", "g"]);
    for step in 0..50 {
        watch.press(&[if step % 2 == 0 { "Down" } else { "Up" }]);
        let (buffer, _) = frame(&mut watch.screen, &watch.feed.story, watch.feed.now());
        for (text, width) in &strings {
            let shown = format!("|{text}|");
            let whole = rows(&buffer).into_iter().any(|row| row.contains(&shown));
            // What has no width is dropped or kept, but the marks stay as far apart as it says.
            let bare = *width == 0 && rows(&buffer).into_iter().any(|row| row.contains("||"));
            assert!(whole || bare || step > 0, "{text:?}");
        }
        for y in 2..36 {
            let symbols = [0, 119].map(|x| buffer[(x, y)].symbol());
            assert_eq!(symbols, ["│", "│"], "row {y} after {step} steps");
        }
    }
}

fn play(composer: &mut Composer, step: &str, width: usize) {
    if let Some(text) = step.strip_prefix("type:") {
        text.chars().for_each(|c| composer.type_char(c));
        return;
    }
    if let Some(text) = step.strip_prefix("paste:") {
        composer.paste(text);
        return;
    }
    match step {
        "up" => composer.up(width),
        "down" => composer.down(width),
        // The composer has no pages; four rows are what this test shows of it.
        "pageup" => (0..4).for_each(|_| composer.up(width)),
        other => composer.edit(match other {
            "left" => Edit::Left,
            "right" => Edit::Right,
            "home" => Edit::Start,
            "end" => Edit::End,
            "backspace" => Edit::Backspace,
            "delete" => Edit::Delete,
            "undo" => Edit::Undo,
            "redo" => Edit::Redo,
            "ctrl-w" => Edit::DeleteWord,
            "ctrl-u" => Edit::DeleteToStart,
            "ctrl-k" => Edit::DeleteToEnd,
            other => panic!("no step is called {other}"),
        }),
    }
}

fn check(composer: &Composer, width: usize) {
    let visible = composer.visible(width, 4);
    assert!(visible.caret_row < visible.rows.len(), "{visible:?}");
    let (row, column) = composer.caret();
    assert!(column <= composer.lines()[row].chars().count());
    let control = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!composer.text().chars().any(control));
}

#[test]
fn the_caret_moves_by_what_is_seen_in_every_key_script() {
    let Some(table) = input("B084-caret-bytes.keys.json") else { return };
    let scripts: Vec<Vec<String>> = serde_json::from_value(table["scripts"].clone()).unwrap();
    let widths: Vec<usize> = serde_json::from_value(table["widths"].clone()).unwrap();
    for width in widths {
        for script in &scripts {
            let mut composer = Composer::default();
            for step in script {
                play(&mut composer, step, width);
                check(&composer, width);
            }
        }
    }
}

#[test]
fn random_key_scripts_never_break_the_input() {
    let steps = [
        "type:子",
        "type:a b",
        "type:👨‍👩‍👧‍👦",
        "type:e\u{301}",
        "left",
        "right",
        "home",
        "end",
        "backspace",
        "delete",
        "undo",
        "redo",
        "ctrl-w",
        "ctrl-u",
        "ctrl-k",
        "up",
        "down",
        "paste:x\r\ny\u{1b}[2J\tz",
        "type:שלום",
    ];
    let mut dice = Dice(11);
    for _ in 0..rounds(100, 10_000) {
        let mut composer = Composer::default();
        let width = usize::try_from(dice.roll(20)).unwrap() + 1;
        for _ in 0..40 {
            let step = usize::try_from(dice.roll(steps.len() as u64)).unwrap();
            play(&mut composer, steps[step], width);
            check(&composer, width);
        }
    }
}

#[test]
fn graphemes_are_deleted_whole() {
    let mut composer = Composer::default();
    play(&mut composer, "type:a👨‍👩‍👧‍👦", 20);
    composer.edit(Edit::Backspace);
    assert_eq!(composer.text(), "a");
    composer.edit(Edit::Undo);
    assert_eq!(composer.text(), "a👨‍👩‍👧‍👦");
    composer.edit(Edit::Left);
    composer.edit(Edit::Delete);
    assert_eq!(composer.text(), "a");
}

#[test]
fn a_paste_of_ten_thousand_lines_is_one_marker_and_is_sent_once_in_full() {
    let line = |number: usize| format!("line {number:05} 子 pasted text");
    let pasted: String = (1..=10_000).map(|number| line(number) + "\r").collect();
    let whole: String = (1..=10_000).map(|number| line(number) + "\n").collect();
    let mut watch = Watch::new(Feed::new(), (80, 24));
    watch.paste(&pasted);
    assert!(watch.text().contains("[paste #1: 10000 lines"));
    let effects = watch.press(&["Enter"]);
    let [offshoot::ui::msg::Effect::Send(offshoot::domain::command::Command::Submit { text })] =
        &effects[..]
    else {
        panic!("one message");
    };
    assert_eq!(*text, whole);
    assert_eq!(watch.press(&["Enter"]), []);
}

#[test]
fn a_paste_in_pieces_grows_one_marker_and_a_backspace_takes_it_whole() {
    let mut composer = Composer::default();
    let piece = "text\r".repeat(30);
    composer.paste(&piece);
    composer.paste(&piece);
    composer.paste("tail");
    assert_eq!(composer.lines().len(), 1);
    assert_eq!(composer.text(), format!("{}tail", "text\n".repeat(60)));
    composer.edit(Edit::Backspace);
    assert!(composer.is_empty());
}

#[test]
fn a_paste_with_an_end_marker_inside_submits_nothing() {
    let mut watch = Watch::new(Feed::new(), (80, 24));
    watch.paste("rm -rf x\u{1b}[201~\rmore");
    assert_eq!(watch.screen.composer.text(), "rm -rf x[201~\nmore");
}

/// A session and a screen with this text in every field that comes from outside.
fn everywhere(text: &str) -> Watch {
    let mut feed = Feed::new();
    let task = call("c1", "task", json!({"task": text, "role": text, "description": text}));
    let own = ToolCall {
        call: CallId::from("o1"),
        name: text.to_owned(),
        arguments: json!({ "path": text }),
    };
    feed.user(1, text).run(1).turn(parent(1), 1).words(parent(1), text);
    feed.add(parent(1), Fact::ReasoningDelta { text: text.to_owned() });
    feed.says(parent(1), text, vec![own.clone(), task.clone()]).does(parent(1), &own, text, 1);
    feed.starts(parent(1), &task).child_of(child(1), 1, "c1", text, text).turn(child(1), 1);
    let calls: Vec<ToolCall> = ["d1", "d2"]
        .map(|id| ToolCall {
            call: CallId::from(id),
            name: text.to_owned(),
            arguments: json!({ "pattern": text, text: text }),
        })
        .to_vec();
    feed.says(child(1), text, calls.clone()).starts(child(1), &calls[0]);
    feed.add(child(1), Fact::ToolProgress { call: calls[0].call.clone(), text: text.to_owned() });
    feed.ends_with(child(1), &calls[1], text, 1, Some(Failure::Error));
    feed.notice(child(1), Level::Error, text).notice(parent(1), Level::Error, text);
    feed.words(child(1), text);
    let mut watch = Watch::new(feed, (110, 45));
    watch.screen.header = HeaderFacts {
        workspace: text.to_owned(),
        branch: Some(text.to_owned()),
        model: text.to_owned(),
        mode: text.to_owned(),
        fence: Some(text.to_owned()),
        ..header()
    };
    watch.screen.pending.push_back(text.to_owned());
    watch.paste(text);
    watch
}

/// The bytes that a terminal would get for these frames.
fn bytes_of(watch: &mut Watch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let pages = |watch: &mut Watch, bytes: &mut Vec<u8>| {
        for keys in [
            &[][..],
            &["Alt+2", "Enter"],
            &["Esc", "Down", "Enter"],
            &["Esc", "Alt+1", "Enter"],
            &["Esc", "Left", "Enter"],
            &["Esc"],
        ] {
            watch.press(keys);
            let (buffer, _) = frame(&mut watch.screen, &watch.feed.story, watch.feed.now());
            let backend = CrosstermBackend::new(&mut *bytes);
            let options =
                ratatui::TerminalOptions { viewport: ratatui::Viewport::Fixed(buffer.area) };
            let mut terminal = Terminal::with_options(backend, options).unwrap();
            terminal.draw(|frame| frame.buffer_mut().clone_from(&buffer)).unwrap();
        }
    };
    pages(watch, &mut bytes);
    watch.feed.finish_child(1, Status::Completed, "ok");
    pages(watch, &mut bytes);
    bytes
}

/// Escape sequences of this program's own: cursor moves, colours, show and hide.
fn foreign(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let mut found = Vec::new();
    for (index, piece) in text.split('\u{1b}').enumerate() {
        let own = index == 0
            || piece.strip_prefix('[').is_some_and(|rest| {
                let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest.len());
                let (numbers, tail) = rest.split_at(end);
                let plain = numbers.chars().all(|c| c.is_ascii_digit() || c == ';');
                (plain && tail.starts_with(['H', 'm']))
                    || matches!((numbers, &tail[..1]), ("?25", "h" | "l"))
            });
        let hostile = |c: char| {
            (c.is_control())
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' | '\u{200b}')
        };
        if !own || piece.contains(hostile) {
            found.push(piece.chars().take(40).collect());
        }
    }
    found
}

#[test]
fn no_text_from_outside_drives_the_terminal() {
    let Some(table) = input("B087-escape-injection.payloads.json") else { return };
    for payload in table["payloads"].as_array().unwrap() {
        let (name, text) = (payload["name"].as_str().unwrap(), payload["text"].as_str().unwrap());
        let mut watch = everywhere(&format!("{text} and {text}"));
        let bytes = bytes_of(&mut watch);
        assert_eq!(foreign(&bytes), Vec::<String>::new(), "{name}");
        let (buffer, _) = frame(&mut watch.screen, &watch.feed.story, watch.feed.now());
        for y in 2..40 {
            assert_eq!(buffer[(0, y)].symbol(), "│", "{name}: the border at {y}");
        }
        // The story keeps what was really said.
        let said = watch.feed.log.iter().any(|event| {
            matches!(&event.fact, Fact::Message(message) if message.role == Speaker::User && message.text.contains(text))
        });
        assert!(said, "{name}");
    }
}

#[test]
fn a_hostile_text_is_shown_as_a_visible_one() {
    let mut watch = everywhere("\u{1b}]52;c;ZXZpbA==\u{7}");
    assert!(watch.text().contains("␛]52;c;ZXZpbA==␇"));
    let first = &watch.feed.story.entries()[0];
    assert!(matches!(&first.body, Body::User { text } if text.starts_with('\u{1b}')));
}

#[test]
fn a_delegation_refused_by_name_is_no_node() {
    let mut feed = Feed::new();
    let task = task_call("c1", "researcher", "look");
    feed.user(1, "hi").run(1).says(parent(1), "", vec![task.clone()]);
    feed.ends_with(parent(1), &task, "not run: budget", 0, Some(Failure::NotRun));
    let mut screen = screen(Lang::En, (100, 20));
    let shown = rows(&frame(&mut screen, &feed.story, feed.now()).0).join("\n");
    assert!(shown.contains("task look") && shown.contains("not run"), "{shown}");
}
