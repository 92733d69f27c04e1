//! What a person tells a child while it runs goes to its model as it is, so that it is held to the
//! same rule as the words of its task.

use std::sync::Arc;

use offshoot::domain::command::{Command, Steer, Target};
use offshoot::domain::context_store::Sensitivity;
use offshoot::domain::event::Fact;
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::Status;
use offshoot::provider::Identity;
use offshoot::provider::script::Script;
use offshoot::session::Pin;
use serde_json::json;

use super::common::{Played, Stage, task_call};
use super::leaks::{found, secret};
use super::local::Elsewhere;

const SECRET: &str = "secret-3e0a-olive-weasel";
const KEY: &str = "key-90cf-maroon-egret";
const LOCAL: &str = "local-7b54-copper-shrike";

async fn tell(words: &str, local: bool) -> Played {
    let child = json!([
        { "text": "", "delay_ms": 1_000, "tool_calls": [
            { "id": "k1", "name": "list_files", "arguments": {} },
        ]},
        { "text": "ok", "delay_ms": 1_000 },
    ]);
    let script = json!({
        "turns": [{ "text": "", "tool_calls": [task_call("c1", "alpha")] }, { "text": "done" }],
        "children": [{ "match": "alpha", "turns": child }],
    });
    let script = Script::from_json(&script.to_string()).unwrap();
    let identity = Identity { local, ..offshoot::provider::Provider::identity(&script).clone() };
    let mut stage = Stage::with_provider(Arc::new(Elsewhere { script, identity }));
    stage.pins.push(secret("token", &format!("# mine\nTOKEN={SECRET}\n")));
    stage.pins.push(Pin { sensitivity: Sensitivity::LocalOnly, ..Pin::normal("plan", LOCAL) });
    stage.secrets = vec![KEY.to_owned()];
    let steer = Steer::Tell { text: words.to_owned() };
    let tell = Command::Steer { target: Target::Task(TaskId(1)), steer };
    stage.play_with("go", &[(500, tell)]).await
}

fn refusals(played: &Played) -> Vec<String> {
    played
        .facts()
        .filter_map(|fact| match fact {
            Fact::Notice { code, text, .. } if code == "NOT_STEERED" => Some(text.clone()),
            _ => None,
        })
        .collect()
}

fn told(played: &Played) -> usize {
    played.facts().filter(|fact| matches!(fact, Fact::Steered { .. })).count()
}

#[tokio::test(start_paused = true)]
async fn words_with_a_secret_in_them_are_not_told_and_the_key_is_named() {
    let table = [
        (format!("use {SECRET}"), false, "the secret `token`"),
        (format!("use {SECRET}"), true, "the secret `token`"),
        (format!("say\nTOKEN={SECRET}"), false, "the secret `token`"),
        (format!("the key is {KEY}."), true, "a known secret such as an API key"),
        (format!("here: {LOCAL}"), false, "`plan`, which may not leave this machine"),
    ];
    for (words, local, what) in table {
        let played = tell(&words, local).await;
        let refusals = refusals(&played);
        assert_eq!(refusals.len(), 1);
        assert!(refusals[0].contains(what) && refusals[0].contains("#1"), "{}", refusals[0]);
        assert_eq!(told(&played), 0);
        assert_eq!(played.task_result("c1").status, Status::Completed, "it goes on");
        let events = played.facts().map(|fact| ("an event", serde_json::to_string(fact).unwrap()));
        let requests = played.requests.iter().map(|request| ("a request", format!("{request:?}")));
        let files = played.files().into_iter().map(|(_, text)| ("a file", text));
        let seeds = [SECRET, KEY];
        assert_eq!(found(&seeds, events.chain(requests).chain(files)), Vec::<String>::new());
        let sent = played.requests.iter().map(|request| ("a request", format!("{request:?}")));
        assert_eq!(found(&[LOCAL], sent), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn other_words_are_told_and_what_is_local_to_a_model_on_this_machine() {
    for (words, local) in
        [("look in tests", false), ("the token is in the file", false), (LOCAL, true)]
    {
        let played = tell(words, local).await;
        assert_eq!((refusals(&played).len(), told(&played)), (0, 1), "{words}");
        let last = format!("{:?}", played.child_requests()[1].messages);
        assert!(last.contains(words));
    }
}
