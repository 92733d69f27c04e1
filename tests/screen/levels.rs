//! Children of children on the screen: indented below whoever delegated to them, cancelled one by
//! one, and numbered in the queue as they will start.

use offshoot::domain::command::Command;
use offshoot::domain::event::{Fact, Origin};
use offshoot::domain::ids::{CallId, TaskId};
use offshoot::domain::report::Status;
use offshoot::story::NodeState;
use offshoot::ui::msg::Effect;
use serde_json::json;

use super::feed::{Feed, call, child, grandchild, parent, task_call};
use super::view::Watch;

/// Four levels, each with a call of its own, and a sibling at the top.
fn four_levels() -> Feed {
    let mut feed = Feed::new();
    let tops = [task_call("c1", "researcher", "map it"), task_call("c2", "reviewer", "judge it")];
    feed.user(1, "go").run(1).says(parent(1), "", tops.to_vec());
    for task in &tops {
        feed.starts(parent(1), task);
    }
    feed.child(1, "c1", "map it").child(2, "c2", "judge it");
    let origins = [child(1), grandchild(3, 1), grandchild(4, 3), grandchild(5, 4)];
    for (level, names) in [("g3", "source"), ("g4", "tests"), ("g5", "fixtures")].iter().enumerate()
    {
        let below = task_call(names.0, "researcher", names.1);
        let origin = origins[level].clone();
        feed.turn(origin.clone(), 1).says(origin.clone(), "", vec![below.clone()]);
        feed.starts(origin, &below);
        let depth = u32::try_from(level).unwrap() + 2;
        feed.child_of(origins[level + 1].clone(), depth, names.0, "researcher", names.1);
    }
    let read = call("d1", "read_file", json!({ "path": "deep.rs" }));
    feed.says(origins[3].clone(), "", vec![read.clone()]).starts(origins[3].clone(), &read);
    feed
}

fn column(text: &str, wanted: &str) -> usize {
    let line = text.lines().find(|line| line.contains(wanted));
    let line = line.unwrap_or_else(|| panic!("no {wanted}\n{text}"));
    line.split(wanted).next().unwrap().chars().count()
}

#[test]
fn each_level_is_indented_further_than_the_one_above() {
    for size in [(120, 40), (80, 60)] {
        let mut watch = Watch::new(four_levels(), size);
        let text = watch.text();
        let columns = ["#1 ", "#3 ", "#4 ", "#5 "].map(|name| column(&text, name));
        assert!(columns.windows(2).all(|pair| pair[0] + 2 == pair[1]), "{columns:?}\n{text}");
        assert_eq!(column(&text, "#2 "), columns[0], "a sibling is not");
        assert!(column(&text, "read_file deep.rs") > columns[3], "{text}");
        assert!(text.contains("5 running"), "{text}");
    }
}

#[test]
fn the_key_cancels_the_selected_grandchild_alone() {
    let mut watch = Watch::new(four_levels(), (120, 40));
    watch.text();
    let cancel = |task| vec![Effect::Send(Command::CancelTask { task: TaskId(task) })];
    // The newest live one is the deepest.
    assert_eq!(watch.press(&["^X"]), cancel(5));
    watch.press(&["Alt+2", "g"]);
    for _ in 0..60 {
        let selected = watch.screen.delegations.selected().unwrap().node;
        if watch.feed.story.delegations().get(selected).unwrap().task == Some(TaskId(3)) {
            break;
        }
        watch.press(&["j"]);
    }
    assert_eq!(watch.press(&["^X"]), cancel(3));
}

#[test]
fn the_end_of_a_grandchild_leaves_those_above_running() {
    let mut feed = four_levels();
    feed.finish_child_of(grandchild(5, 4), Status::Cancelled, "stopped");
    let node = |task| feed.story.delegations().of_task(TaskId(task)).unwrap();
    assert!(!node(5).is_live());
    assert!([1, 2, 3, 4].into_iter().all(|task| node(task).is_live()));
}

fn queued(feed: &mut Feed, origin: &Origin, task: u32, call: &str) {
    let fact = Fact::TaskQueued {
        call: CallId::from(call),
        description: format!("task {task}"),
        role: "researcher".to_owned(),
        position: 0,
    };
    feed.add(Origin { task: Some(TaskId(task)), ..origin.clone() }, fact);
}

#[test]
fn those_that_wait_are_numbered_as_they_will_start() {
    let mut feed = Feed::new();
    let tops = ["c1", "c2", "c3"].map(|id| task_call(id, "researcher", id));
    feed.user(1, "go").run(1).says(parent(1), "", tops.to_vec()).child(1, "c1", "one");
    for (task, call) in [(2, "c2"), (3, "c3")] {
        queued(&mut feed, &parent(1), task, call);
    }
    let below = ["g4", "g5"].map(|id| task_call(id, "researcher", id));
    feed.says(child(1), "", below.to_vec());
    queued(&mut feed, &child(1), 4, "g4");
    queued(&mut feed, &child(1), 5, "g5");
    let positions = [4, 5, 2, 3].map(|task| {
        let node = feed.story.delegations().of_task(TaskId(task)).unwrap();
        match node.state {
            NodeState::Queued { position } => position,
            NodeState::AskedAbout | NodeState::Running | NodeState::Ended(_) => {
                panic!("#{task} does not wait")
            }
        }
    });
    assert_eq!(positions, [0, 1, 2, 3], "what the running child delegated comes first");
    let node = feed.story.delegations().of_task(TaskId(4)).unwrap();
    assert!(node.parent.is_some(), "it stands below whoever delegated");
}
