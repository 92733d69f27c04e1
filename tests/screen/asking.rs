//! Calls that wait for a person's word: who asks, what is asked, what each key answers, and that
//! nothing that was meant for something else ever does.

use offshoot::domain::approval::{Answer, Decision, Mode};
use offshoot::domain::command::Command;
use offshoot::domain::event::{Change, Fact, Origin};
use offshoot::domain::ids::{CallId, RunId, TaskId};
use offshoot::domain::message::ToolCall;
use offshoot::domain::report::{By, Status};
use offshoot::story::Doing;
use offshoot::ui::Lang;
use offshoot::ui::trust::{Trust, TrustQuestion};
use serde_json::json;

use super::feed::{Asked, Feed, call, child, parent, task_call};
use super::view::{Watch, frame, sent};

pub const SIZES: [(u16, u16); 4] = [(120, 40), (80, 24), (50, 15), (20, 5)];

pub const DIFF: &str = "--- a/src/sum.rs\n+++ b/src/sum.rs\n@@ -1,4 +1,5 @@\n \
pub fn sum(numbers: &[u64]) -> u64 {\n-    numbers.iter().fold(0, |a, b| a + b)\n\
+    // Adding may overflow.\n+    numbers.iter().copied().fold(0, u64::saturating_add)\n }\n ";

pub fn test_call(id: &str) -> ToolCall {
    call(id, "bash", json!({"command": "cargo test --workspace -- --nocapture"}))
}

pub fn write_call(id: &str) -> ToolCall {
    call(id, "write_file", json!({"path": "src/sum.rs", "content": "…"}))
}

/// A worker at work, whose number this is.
pub fn worker(feed: &mut Feed, task: u32) -> &mut Feed {
    let asked = task_call(&format!("c{task}"), "worker", "fix the sum");
    if task == 3 {
        feed.user(1, "fix it").run(1).turn(parent(1), 1);
    }
    feed.says(parent(1), "", vec![asked.clone()]).starts(parent(1), &asked);
    let id = format!("c{task}");
    feed.child_of(child(task), 1, &id, "worker", "fix the sum").turn(child(task), 1)
}

pub fn asks_to_test(feed: &mut Feed, task: u32, id: &str) {
    let call = test_call(id);
    let what = Asked { summary: "cargo test", prefix: Some("cargo test"), ..Asked::default() };
    feed.says(child(task), "", vec![call.clone()]).asks(child(task), &call, &what);
}

pub fn asks_to_write(feed: &mut Feed, task: u32, id: &str) {
    let call = write_call(id);
    let summary = "write src/sum.rs (5 lines, 1 more)";
    let what = Asked { summary, diff: Some(DIFF), prefix: Some("src/sum.rs") };
    feed.says(child(task), "", vec![call.clone()]).asks(child(task), &call, &what);
}

/// Two workers that ask at once.
pub fn two_ask() -> Feed {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    worker(&mut feed, 4);
    asks_to_test(&mut feed, 3, "d1");
    feed.wait(2_000);
    asks_to_write(&mut feed, 4, "e1");
    feed.wait(10_000);
    feed
}

/// A screen that has shown the newest question for long enough.
pub fn read(feed: Feed, size: (u16, u16)) -> Watch {
    let mut watch = Watch::new(feed, size);
    read_on(&mut watch);
    watch
}

pub fn read_on(watch: &mut Watch) {
    watch.text();
    watch.feed.wait(400);
}

fn decide(run: RunId, call: &str, answer: Answer) -> Command {
    Command::Decide { run, call: CallId::from(call), answer }
}

fn run_of(task: u32) -> RunId {
    RunId::child(TaskId(task), 1)
}

fn is_open(watch: &mut Watch) -> bool {
    watch.see();
    watch.screen.questions.open.is_some()
}

#[test]
fn each_key_answers_the_call_that_is_shown() {
    let deny = || Answer::Deny { reason: None };
    let table = [("y", Answer::Once), ("c", Answer::Child), ("s", Answer::Session), ("n", deny())];
    for (key, answer) in table {
        let mut watch = read(two_ask(), (120, 40));
        let effects = watch.press(&[key]);
        assert_eq!(sent(&effects), [&decide(run_of(3), "d1", answer.clone())], "{key}");
        let text = watch.text();
        assert!(text.contains("[子] #4 worker asks") && !text.contains("#3 worker asks"), "{text}");
        watch.feed.wait(400);
        let effects = watch.press(&[key]);
        assert_eq!(sent(&effects), [&decide(run_of(4), "e1", answer)], "{key}");
        assert!(!is_open(&mut watch), "both were answered");
    }
}

#[test]
fn the_next_question_is_not_answered_by_the_key_that_answered_the_one_before() {
    let mut watch = read(two_ask(), (120, 40));
    assert_eq!(sent(&watch.press(&["y", "y", "y"])).len(), 1);
    watch.text();
    watch.feed.wait(399);
    assert_eq!(watch.press(&["y"]), [], "it has been on the screen for 399 ms");
    watch.feed.wait(400);
    assert_eq!(sent(&watch.press(&["y"])).len(), 1);
}

#[test]
fn a_question_that_nobody_has_seen_takes_no_answer() {
    let mut watch = Watch::new(two_ask(), (120, 40));
    watch.feed.wait(10_000);
    assert_eq!(watch.press(&["y"]), [], "no frame has shown it");
    watch.text();
    assert_eq!(watch.press(&["y", "n", "c", "s", "Enter"]), []);
    watch.feed.wait(399);
    assert_eq!(watch.press(&["y"]), []);
    assert!(is_open(&mut watch));
}

#[test]
fn typing_on_while_a_question_pops_up_answers_nothing_and_keeps_the_text() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let mut watch = Watch::new(feed, (120, 40));
    watch.type_text("no, try ");
    asks_to_test(&mut watch.feed, 3, "d1");
    watch.text();
    // Every letter that could answer is among them, and no pause is longer than a typist's.
    for letter in "yes, can you run synchronously?".chars() {
        watch.feed.wait(120);
        assert_eq!(watch.type_text(&letter.to_string()), []);
    }
    assert_eq!(watch.press(&["Backspace", "Enter"]), [], "and nothing is sent");
    let typed = "no, try yes, can you run synchronously";
    assert_eq!(watch.screen.composer.text(), typed);
    let text = watch.text();
    assert!(text.contains(typed) && text.contains("#3 worker asks"), "{text}");
    watch.feed.wait(400);
    assert_eq!(sent(&watch.press(&["y"])).len(), 1);
    assert_eq!(watch.screen.composer.text(), typed);
    assert_eq!(watch.screen.composer.caret(), (0, typed.chars().count()));
}

#[test]
fn early_letters_are_dropped_where_nobody_was_typing() {
    let mut watch = Watch::new(two_ask(), (120, 40));
    watch.text();
    assert_eq!(watch.press(&["y", "n", "Esc"]), []);
    assert!(watch.screen.composer.is_empty() && is_open(&mut watch));
}

#[test]
fn pasted_letters_are_no_answer() {
    let mut watch = read(two_ask(), (120, 40));
    watch.paste("yes\n");
    assert_eq!(watch.screen.composer.text(), "yes\n");
    assert!(is_open(&mut watch) && watch.text().contains("#3 worker asks"));
}

#[test]
fn a_withdrawn_question_goes_and_the_next_one_comes() {
    let mut watch = read(two_ask(), (120, 40));
    watch.feed.decides(child(3), &test_call("d1"), Decision::Withdrawn);
    let text = watch.text();
    assert!(text.contains("#4 worker asks") && text.contains("withdrawn"), "{text}");
    watch.feed.finish_child(4, Status::Cancelled, "");
    assert!(!is_open(&mut watch), "what has ended asks for nothing");
}

#[test]
fn ctrl_x_cancels_the_child_that_asks() {
    let mut watch = read(two_ask(), (120, 40));
    let cancel = Command::CancelTask { task: TaskId(3) };
    assert_eq!(sent(&watch.press(&["^X"])), [&cancel], "not the newest");
    assert!(is_open(&mut watch), "until the runtime says so");
}

#[test]
fn esc_puts_a_question_off_and_its_row_opens_it_again() {
    let mut watch = read(two_ask(), (120, 40));
    assert_eq!(watch.press(&["Esc"]), []);
    read_on(&mut watch);
    assert!(watch.text().contains("#4 worker asks"), "the next one is shown");
    watch.press(&["Esc"]);
    assert!(!is_open(&mut watch));
    let text = watch.text();
    assert!(text.contains("waiting for your approval") && text.contains("later"), "{text}");
    watch.press(&["Alt+2", "End", "Enter"]);
    assert!(watch.text().contains("#3 worker asks"), "{}", watch.text());
    watch.feed.wait(400);
    assert_eq!(sent(&watch.press(&["n"])).len(), 1);
    watch.press(&["Alt+1", "a"]);
    assert!(watch.text().contains("#3 worker asks"), "the oldest of those that wait");
    read_on(&mut watch);
    watch.press(&["Esc", "Alt+3"]);
    watch.type_text("/approve");
    watch.press(&["Enter"]);
    assert!(is_open(&mut watch));
}

#[test]
fn a_put_off_question_does_not_come_back_by_itself() {
    let mut watch = read(two_ask(), (80, 24));
    watch.press(&["Esc"]);
    read_on(&mut watch);
    watch.press(&["Esc"]);
    watch.feed.wait(60_000).words(parent(1), "more");
    assert!(!is_open(&mut watch));
    worker(&mut watch.feed, 5);
    asks_to_test(&mut watch.feed, 5, "f1");
    assert!(watch.text().contains("#5 worker asks · 3 of 3"), "{}", watch.text());
}

#[test]
fn no_with_a_reason_sends_what_was_typed() {
    let mut watch = read(two_ask(), (120, 40));
    watch.press(&["r"]);
    watch.type_text("not now: yn");
    watch.press(&["Backspace", "^J"]);
    let reason = Some("not now: y".to_owned());
    let denied = decide(run_of(3), "d1", Answer::Deny { reason });
    assert_eq!(sent(&watch.press(&["Enter"])), [&denied]);
}

#[test]
fn esc_leaves_the_reason_and_not_the_question() {
    let mut watch = read(two_ask(), (120, 40));
    watch.press(&["r"]);
    watch.type_text("why");
    assert_eq!(watch.press(&["^C"]), [], "it clears the reason");
    assert_eq!(watch.press(&["Esc"]), []);
    assert!(is_open(&mut watch) && watch.text().contains("#3 worker asks"));
    watch.press(&["r"]);
    let denied = decide(run_of(3), "d1", Answer::Deny { reason: None });
    assert_eq!(sent(&watch.press(&["Enter"])), [&denied], "an empty reason is none");
}

#[test]
fn ctrl_c_asks_whether_to_stop_and_esc_then_stops() {
    let mut watch = read(two_ask(), (120, 40));
    assert_eq!(watch.press(&["^C"]), []);
    assert!(watch.footer().contains("stop the answer and 2 children?"), "{}", watch.footer());
    assert_eq!(sent(&watch.press(&["Esc"])), [&Command::Stop]);
    let mut watch = read(two_ask(), (120, 40));
    assert_eq!(watch.press(&["^C", "^C"]), [offshoot::ui::msg::Effect::Quit]);
}

#[test]
fn where_only_this_call_can_be_allowed_nothing_wider_is_sent() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let call = test_call("d1");
    let what = Asked { summary: "cargo test", ..Asked::default() };
    feed.says(child(3), "", vec![call.clone()]).asks(child(3), &call, &what);
    let mut watch = read(feed, (120, 40));
    assert!(watch.text().contains("only this call can be allowed"));
    assert_eq!(watch.press(&["c", "s"]), []);
    assert_eq!(sent(&watch.press(&["y"])).len(), 1);
}

#[test]
fn a_yes_to_tests_says_that_it_holds_for_the_session() {
    let tests = |id: &str| call(id, "run_tests", json!({"command": "cargo test"}));
    let what = || Asked { summary: "cargo test", prefix: Some("cargo test"), ..Asked::default() };
    let by_child = || {
        let mut feed = Feed::new();
        worker(&mut feed, 3);
        feed.says(child(3), "", vec![tests("d1")]).asks(child(3), &tests("d1"), &what());
        feed
    };
    let text = read(by_child(), (120, 40)).text();
    let words = "y  this command, as shown, this session (all worker children)";
    assert!(text.contains(words) && !text.contains("this once"), "{text}");
    let text = read(by_child(), (50, 15)).text();
    assert!(text.contains("y  this command, as shown, this session"), "{text}");
    let text = read(by_child(), (50, 12)).text();
    assert!(text.contains("y this command · c child"), "{text}");
    let mut zh = read(by_child(), (120, 40));
    zh.screen.lang = Lang::Zh;
    let text = zh.text();
    assert!(text.contains("y  本会话内允许此命令，按所示（全部 worker 子代理）"), "{text}");
    let mut feed = Feed::new();
    feed.user(1, "go").run(1).turn(parent(1), 1).says(parent(1), "", vec![tests("p1")]);
    feed.asks(parent(1), &tests("p1"), &Asked { prefix: None, ..what() });
    let text = read(feed, (120, 40)).text();
    for words in
        ["y  this command, as shown, this session (the parent)", "only this command can be"]
    {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

#[test]
fn what_the_keys_of_a_question_are_called_fits_a_parent_too() {
    let mut feed = Feed::new();
    let call = test_call("p1");
    feed.user(1, "go").run(1).turn(parent(1), 1).says(parent(1), "", vec![call.clone()]);
    let what = Asked { summary: "cargo test", prefix: Some("cargo test"), ..Asked::default() };
    feed.asks(parent(1), &call, &what);
    let mut watch = read(feed, (120, 40));
    assert!(watch.footer().contains("y yes · n no · c this run"), "{}", watch.footer());
    watch.screen.size = (50, 12);
    let text = watch.text();
    assert!(text.contains("y once · c answer · s session"), "{text}");
}

#[test]
fn the_parent_asks_by_its_name_and_its_answer_goes_to_its_run() {
    let mut feed = Feed::new();
    let call = test_call("p1");
    feed.user(1, "go").run(1).turn(parent(1), 1).says(parent(1), "", vec![call.clone()]);
    let what = Asked { summary: "cargo test", prefix: Some("cargo test"), ..Asked::default() };
    feed.asks(parent(1), &call, &what).wait(3_000);
    let mut watch = read(feed, (120, 40));
    let text = watch.text();
    assert!(
        text.contains("parent asks") && text.contains("for the parent, this session"),
        "{text}"
    );
    let once = decide(RunId::parent(1), "p1", Answer::Once);
    assert_eq!(sent(&watch.press(&["y"])), [&once]);
    watch.feed.decides(parent(1), &call, Decision::Once).starts(parent(1), &call);
    let text = watch.text();
    assert!(text.contains("tool bash") && !text.contains("asks"), "{text}");
}

#[test]
fn a_state_names_the_waiting_and_the_clock_stands_meanwhile() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    feed.wait(5_000);
    asks_to_test(&mut feed, 3, "d1");
    feed.wait(60_000);
    let ran = |feed: &Feed| {
        let node = feed.story.delegations().of_task(TaskId(3)).unwrap();
        let parent = feed.story.parent().unwrap();
        (node.elapsed_ms(feed.now()), parent.elapsed_ms(feed.now()))
    };
    assert_eq!(ran(&feed), (5_000, 5_000));
    let node = feed.story.delegations().of_task(TaskId(3)).unwrap();
    assert!(matches!(node.doing(feed.now()), Doing::Asking { .. }));
    // Another child that works lets the parent's clock go on, not the first one's.
    worker(&mut feed, 4);
    feed.wait(1_000);
    assert_eq!(ran(&feed), (5_000, 6_000));
    feed.decides(child(3), &test_call("d1"), Decision::Once).wait(500);
    assert_eq!(ran(&feed), (5_500, 6_500));
    feed.finish_child(3, Status::Completed, "").wait(9_000);
    assert_eq!(ran(&feed), (5_500, 15_500));
}

#[test]
fn what_has_started_or_ended_asks_no_more_even_if_its_answer_was_lost() {
    let mut feed = two_ask();
    feed.starts(child(3), &test_call("d1"));
    assert_eq!(feed.story.approvals().len(), 1);
    feed.ends(child(4), &write_call("e1"), "ok", 1);
    assert!(feed.story.approvals().is_empty());
    asks_to_test(&mut feed, 4, "e2");
    feed.add(parent(1), Fact::CancelRequested { target: "t4".to_owned(), by: By::User });
    feed.finish_child(4, Status::Cancelled, "");
    assert!(feed.story.approvals().is_empty());
}

#[test]
fn a_call_that_asks_again_is_a_new_question() {
    let mut watch = read(two_ask(), (120, 40));
    watch.press(&["Esc"]);
    watch.feed.decides(child(3), &test_call("d1"), Decision::Once);
    let what = Asked { summary: "cargo test", ..Asked::default() };
    watch.feed.asks(child(3), &test_call("d1"), &what);
    watch.feed.decides(child(4), &write_call("e1"), Decision::Deny);
    assert!(watch.text().contains("#3 worker asks"), "{}", watch.text());
}

#[test]
fn a_long_diff_can_be_read_to_its_end_at_the_cost_of_what_is_shown() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let lines = 200_000;
    let added = "+one more line of it\n".repeat(lines);
    let diff = format!("--- a/x\n+++ b/x\n@@ -0,0 +1,{lines} @@\n{added}");
    let call = write_call("d1");
    let what = Asked { summary: "write x", diff: Some(&diff), prefix: None };
    feed.says(child(3), "", vec![call.clone()]).asks(child(3), &call, &what);
    let mut watch = read(feed, (120, 40));
    assert!(watch.text().contains("more"));
    let laid_out = |watch: &Watch| watch.screen.questions.open.as_ref().unwrap().body.laid_out();
    assert!(laid_out(&watch) < 50, "{}", laid_out(&watch));
    for key in ["j", "PgDn", "Down", "G"] {
        watch.press(&[key]);
    }
    assert!(!watch.text().contains("more ─") && laid_out(&watch) < 150, "{}", watch.text());
    watch.press(&["PgUp"]);
    assert!(watch.text().contains("more"));
    watch.press(&["g"]);
    assert!(watch.text().contains("@@ -0,0"));
}

#[test]
fn what_a_command_hides_is_shown() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let command = "echo ok\u{200b}\u{1b}[2K\r; \u{202e}rm -rf ~";
    let call = call("d1", "bash", json!({ "command": command }));
    let what = Asked { summary: command, ..Asked::default() };
    feed.says(child(3), "", vec![call.clone()]).asks(child(3), &call, &what);
    for size in SIZES {
        let mut watch = read(feed_again(&feed), size);
        let (buffer, _) = frame(&mut watch.screen, &watch.feed.story, watch.feed.now());
        let all: String = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        assert!(!all.chars().any(|c| c.is_control() || c == '\u{202e}' || c == '\u{200b}'));
    }
    let text = read(feed, (120, 40)).text();
    assert!(text.contains("echo ok<U+200B>␛[2K␍; <U+202E>rm -rf ~"), "{text}");
}

/// The same session once more.
fn feed_again(feed: &Feed) -> Feed {
    let mut again = Feed::new();
    for event in &feed.log[1..] {
        again.add(event.origin.clone(), event.fact.clone());
    }
    again
}

#[test]
fn at_every_size_something_says_that_a_person_is_asked() {
    for width in (1..30).chain([39, 40, 59, 60, 61, 80, 99]) {
        for height in [1, 2, 4, 5, 6, 9, 10, 15, 16] {
            let mut watch = read(two_ask(), (width, height));
            let text = watch.text();
            assert!(
                text.contains('?') || text.contains("asks") || text.trim() == "y/n",
                "{width}x{height}\n{text}"
            );
            assert_eq!(sent(&watch.press(&["r", "x", "Enter"])).len(), 1, "{width}x{height}");
            watch.text();
        }
    }
}

#[test]
fn shift_tab_takes_the_next_mode_and_the_header_shows_it_once_it_holds() {
    let mut watch = Watch::new(Feed::new(), (120, 40));
    let set = |mode| Command::SetMode { mode };
    assert_eq!(sent(&watch.press(&["S-Tab"])), [&set(Mode::Ask)]);
    assert_eq!(sent(&watch.press(&["S-Tab"])), [&set(Mode::AutoEdit)], "counting from the asked");
    assert!(watch.text().lines().next().unwrap().contains("read-only"));
    watch.feed.add(Origin::session(), Fact::ModeChanged { mode: Mode::AutoEdit });
    let text = watch.text();
    assert!(text.lines().next().unwrap().contains("auto-edit · fenced"), "{text}");
    watch.type_text("/permissions full-access");
    assert_eq!(sent(&watch.press(&["Enter"])), [&set(Mode::FullAccess)]);
    let mut asked = read(two_ask(), (120, 40));
    assert_eq!(asked.press(&["S-Tab"]), [], "not in the midst of a question");
}

/// A session whose commands are fenced like this.
fn fenced_as(fence: &str) -> Feed {
    let mut feed = Feed::new();
    let Fact::SessionStarted { session, version, workspace, provider, model, budget, .. } =
        feed.log[0].fact.clone()
    else {
        panic!("a session starts");
    };
    let (fence, permission_mode) = (fence.to_owned(), "ask".to_owned());
    let started = Fact::SessionStarted {
        session,
        version,
        workspace,
        provider,
        model,
        permission_mode,
        fence,
        budget,
    };
    feed.add(Origin::session(), started);
    feed
}

#[test]
fn an_open_network_is_said_in_the_header_and_on_the_page() {
    let mut feed = fenced_as("fenced · network open");
    feed.user(1, "go").run(1).turn(parent(1), 1);
    let mut watch = Watch::new(feed, (120, 40));
    let header = watch.text().lines().next().unwrap().to_owned();
    assert!(header.contains("ask · fenced · network open"), "{header}");
    watch.type_text("/permissions");
    watch.press(&["Enter"]);
    let text = watch.text();
    assert!(text.contains("commands have the whole network (fence.network)"), "{text}");
    assert!(!text.contains("your other files, the network"), "{text}");
    assert!(text.contains("not your other files or other processes"), "{text}");
}

#[test]
fn the_page_of_permissions_names_what_is_missing() {
    let feed = fenced_as("partial (network not fenced, signals not fenced)");
    let mut watch = Watch::new(feed, (120, 40));
    watch.type_text("/permissions");
    watch.press(&["Enter"]);
    let text = watch.text();
    for words in ["▸ ask", "network not fenced", "signals not fenced", "ask · partial"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

#[test]
fn a_diff_that_was_asked_for_opens_as_a_page() {
    let mut feed = two_ask();
    feed.decides(child(3), &test_call("d1"), Decision::Deny);
    feed.decides(child(4), &write_call("e1"), Decision::Deny);
    let mut watch = Watch::new(feed, (100, 30));
    let notice = || Fact::notice(offshoot::domain::event::Level::Info, "DIFF", DIFF);
    watch.feed.add(Origin::session(), notice());
    assert!(!watch.text().contains("saturating_add"), "nobody asked for it");
    watch.type_text("/diff #4");
    let asked = Command::Diff { task: Some(TaskId(4)) };
    assert_eq!(sent(&watch.press(&["Enter"])), [&asked]);
    watch.feed.add(Origin::session(), notice());
    let text = watch.text();
    assert!(text.contains("What changed") && text.contains("+    // Adding may"), "{text}");
    assert!(watch.feed.story.notices().next().is_none());
}

#[test]
fn the_users_own_command_runs_in_the_conversation() {
    let mut watch = Watch::new(Feed::new(), (100, 30));
    watch.type_text("!cargo test");
    let shell = Command::Shell { command: "cargo test".to_owned() };
    assert_eq!(sent(&watch.press(&["Enter"])), [&shell]);
    assert!(watch.text().contains("❯ ! cargo test"), "{}", watch.text());
    let own = call("own1", "!", json!({"command": "cargo test"}));
    watch.feed.starts(Origin::session(), &own);
    watch.feed.writes(Origin::session(), &own, "running 3 tests\n   10%\r   50%\rtest a ... ok\n");
    let text = watch.text();
    assert!(text.contains(" ! cargo test") && !text.contains("❯ ! cargo"), "{text}");
    assert!(text.contains("│ test a ... ok") && !text.contains("50%"), "{text}");
    assert!(watch.screen.pending.is_empty() && watch.feed.story.runs_own_command());
    watch.feed.wait(2_000).ends(Origin::session(), &own, "running 3 tests\nall passed\n", 2_000);
    let text = watch.text();
    assert!(text.contains("│ all passed") && text.contains("2.0s"), "{text}");
    assert!(!watch.feed.story.runs_own_command());
    watch.press(&["Alt+1", "Enter"]);
    assert!(watch.text().contains("running 3 tests"));
}

#[test]
fn a_command_of_the_users_own_is_stopped_like_an_answer() {
    let own = call("own1", "!", json!({"command": "sleep 600"}));
    for (keys, typed) in [(["Esc", "Esc"], ""), (["^C", "^C"], ""), (["Enter", ""], "/stop")] {
        let mut feed = Feed::new();
        feed.starts(Origin::session(), &own);
        let mut watch = Watch::new(feed, (100, 30));
        watch.type_text(typed);
        let first = watch.press(&keys[..1]);
        if !typed.is_empty() {
            assert_eq!(sent(&first), [&Command::Stop]);
            continue;
        }
        assert_eq!(first, []);
        assert!(watch.footer().contains("stop your command? Esc again: yes"), "{}", watch.footer());
        watch.feed.wait(2_500);
        assert_eq!(sent(&watch.press(&keys[1..])), [&Command::Stop], "{keys:?}");
    }
    let mut feed = two_ask();
    feed.starts(Origin::session(), &own);
    let mut watch = read(feed, (120, 40));
    watch.press(&["^C"]);
    let words = "stop the answer, 2 children and your command?";
    assert!(watch.footer().contains(words), "{}", watch.footer());
    // The question goes with what it is about.
    let mut feed = Feed::new();
    feed.starts(Origin::session(), &own);
    let mut watch = Watch::new(feed, (100, 30));
    watch.press(&["Esc"]);
    watch.feed.ends(Origin::session(), &own, "", 1);
    watch.see();
    assert!(watch.screen.question.is_none());
}

#[test]
fn the_end_of_what_a_running_command_writes_stands_under_its_call() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    let call = test_call("d1");
    feed.says(child(3), "", vec![call.clone()]).starts(child(3), &call);
    for line in 0..5_000 {
        feed.writes(child(3), &call, &format!("test case_{line} ... ok\n"));
    }
    feed.wait(48_000);
    let mut watch = Watch::new(feed, (120, 40));
    let text = watch.text();
    assert!(text.contains("tool bash \"cargo test --workspace") && text.contains("48 s"), "{text}");
    for line in ["│ test case_4997", "│ test case_4999 ... ok"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("case_4996"), "{text}");
    let kept = watch.feed.story.delegations().of_task(TaskId(3)).unwrap().calls[0].output.len();
    assert!(kept <= 32 * 1024, "{kept}");
    watch.press(&["Alt+2", "Down", "Enter"]);
    let page = watch.text();
    assert!(page.contains("[子] #3 worker · call"), "{page}");
    watch.press(&["G"]);
    assert!(watch.text().contains("case_4999"), "{}", watch.text());
    watch.feed.writes(child(3), &call, "test the_last ... ok\n");
    watch.press(&["G"]);
    assert!(watch.text().contains("the_last"), "the page goes on with it");
}

#[test]
fn the_files_that_a_child_left_changed_are_named_and_need_a_review_if_it_did_not_complete() {
    let mut feed = Feed::new();
    worker(&mut feed, 3);
    feed.changes(child(3), &[("src/sum.rs", Change::Modified), ("tmp", Change::Added)]);
    feed.changes(child(3), &[("tests/sum.rs", Change::Added), ("tmp", Change::Deleted)]);
    feed.finish_child(3, Status::Cancelled, "stopped");
    feed.ends(parent(1), &task_call("c3", "worker", "x"), "{}", 1);
    feed.finish(parent(1), Status::Completed, "done");
    let mut watch = Watch::new(feed, (160, 40));
    let text = watch.text();
    assert!(text.contains("#3 worker · needs review"), "{text}");
    assert!(text.contains("needs review: changed 2 files: ~src/sum.rs +tests/sum.rs"), "{text}");
    assert!(text.contains(" ± changed 2 files: ~src/sum.rs +tests/sum.rs"), "{text}");
    watch.press(&["Alt+2", "Enter"]);
    let page = watch.text();
    assert!(page.contains("~ modified") && page.contains("did not complete"), "{page}");
}

pub fn trust_question() -> TrustQuestion {
    TrustQuestion {
        folder: "~/code/demo".to_owned(),
        files: vec![
            (
                ".offshoot/config.toml".to_owned(),
                "@@ -1 +1 @@\n-mode = \"ask\"\n+mode = \"read-only\"\n".to_owned(),
            ),
            (
                ".offshoot/agents/fixer.md".to_owned(),
                "---\nname: fixer\n---\nYou fix.\n".to_owned(),
            ),
        ],
    }
}

pub fn trusting(size: (u16, u16), first: Option<&str>) -> Watch {
    let mut watch = Watch::new(Feed::new(), size);
    let first = first.map(str::to_owned);
    watch.screen.trust = Some(Trust::of(&trust_question(), first, Lang::En));
    watch
}

#[test]
fn a_folders_own_files_are_asked_about_before_anything_is_sent() {
    for (key, trusted) in [("y", true), ("n", false), ("Esc", false)] {
        let mut watch = trusting((100, 30), Some("hello"));
        let text = watch.text();
        for words in ["~/code/demo", "-mode = \"ask\"", "+mode = \"read-only\"", "name: fixer"] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        assert_eq!(watch.press(&[key, "Enter", "Tab"]), [], "too early");
        watch.feed.wait(400);
        let effects = watch.press(&[key]);
        let hello = Command::Submit { text: "hello".to_owned() };
        assert_eq!(sent(&effects), [&Command::Trust { trusted }, &hello]);
        assert!(!watch.text().contains("Trust"));
    }
    let mut watch = trusting((10, 2), None);
    assert!(watch.text().contains("y/n"), "{}", watch.text());
}
