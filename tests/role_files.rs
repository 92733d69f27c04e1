//! Roles of files in the real loop: the parent is told of them, a child of one gets what its file asks
//! for and its parent has, and runs on the model that its contract names.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::sync::{Arc, Mutex, OnceLock};

use common::spy::Spy;
use common::{Played, Stage, one_batch};
use offshoot::domain::command::Command;
use offshoot::domain::event::Fact;
use offshoot::domain::message::Message;
use offshoot::domain::report::{Status, WarningCode};
use offshoot::domain::role::Permission;
use offshoot::domain::role_file::{RoleFile, RoleSource};
use offshoot::domain::violation::Code;
use offshoot::provider::script::Script;
use offshoot::provider::{ChunkStream, Identity, LearnFuture, ModelsFuture, Provider, Request};
use serde_json::{Value, json};

fn role(head: &str) -> RoleFile {
    let text =
        format!("---\nname: locksmith\ndescription: looks at locks\n{head}\n---\nMIND THE KEY\n");
    RoleFile::parse(&text, RoleSource::User("l.md".to_owned()), &mut Vec::new()).unwrap()
}

fn script(more: &Value, child: &Value) -> Value {
    let mut task = json!({ "task": "alpha", "expected_output": "answer", "role": "locksmith" });
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    one_batch(
        &json!([{ "id": "t", "name": "task", "arguments": task }]),
        "parent done",
        &json!([{ "match": "alpha", "turns": child }]),
    )
}

fn stage(head: &str, child: &Value) -> Stage {
    let mut stage = Stage::new(&script(&json!({}), child));
    stage.role_files = vec![role(head)];
    stage
}

#[tokio::test(start_paused = true)]
async fn a_parent_is_told_of_it_and_a_child_gets_its_prompt_and_its_tools() {
    let write = json!({ "path": "x", "content": "pwn" });
    let child = json!([
        { "tool_calls": [{ "id": "k1", "name": "write_file", "arguments": write }] },
        { "text": "{\"summary\":\"s\"}" },
    ]);
    let played = stage("tools: Read, Grep", &child)
        .permissions(&[Permission::Read, Permission::Write, Permission::Delegate])
        .play("go")
        .await;
    assert!(played.parent_requests()[0].system.contains("- locksmith: looks at locks"));
    let request = played.child_requests()[0];
    assert!(request.system.contains("MIND THE KEY"));
    let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["read_file", "search"]);
    assert!(!played.folder.path().join("x").exists(), "what it may not do it cannot do");
    let report = played.task_result("t");
    assert_eq!(report.status, Status::Completed);
    assert!(report.warnings.iter().any(|warning| warning.code == WarningCode::CallRefused));
}

#[tokio::test(start_paused = true)]
async fn it_gets_no_more_than_its_parent_has() {
    let played = stage("tools: Read, Bash, Write", &json!([{ "text": "A" }])).play("go").await;
    let tools: Vec<&str> =
        played.child_requests()[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["read_file"], "the parent only looks");
    let mut stage = Stage::new(&script(&json!({ "permissions": ["execute"] }), &json!([])));
    stage.role_files = vec![role("tools: Read, Bash")];
    let report = stage.play("go").await.task_result("t");
    assert_eq!(report.code, Some(Code::PermissionEscalation));
}

/// The words of the newest message of the person.
async fn asked(text: &str) -> String {
    let mut live = stage("", &json!([{ "text": "A" }])).start();
    live.send(Command::Delegate { role: None, text: text.to_owned() }).await;
    live.follow(&[]).await;
    let played = live.quit().await;
    let Message::User { text } = &*played.parent_requests()[0].messages[0] else { panic!() };
    text.lines().next().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_person_delegates_to_it_by_its_name() {
    assert_eq!(
        asked("locksmith open  the door").await,
        "Delegate this to the role locksmith with `task`: open  the door"
    );
    assert_eq!(asked("open the door").await, "Delegate this with `task`: open the door");
    assert_eq!(asked("locksmith").await, "Delegate this with `task`: locksmith");
}

/// The same script under another name, which lists these models.
struct Named {
    script: Script,
    identity: Identity,
    offers: Vec<String>,
    /// What it turns out to be once its server is asked.
    truth: Option<Identity>,
    learned: Arc<OnceLock<Identity>>,
}

impl Named {
    fn new(script: &Value, model: &str, offers: &[&str]) -> Self {
        let script = Script::from_json(&script.to_string()).unwrap();
        let identity = Identity { model: model.to_owned(), ..script.identity().clone() };
        let offers = offers.iter().map(|&name| name.to_owned()).collect();
        Self { script, identity, offers, truth: None, learned: Arc::default() }
    }
}

impl Provider for Named {
    fn identity(&self) -> &Identity {
        self.learned.get().unwrap_or(&self.identity)
    }

    fn learn(&self) -> LearnFuture {
        let (learned, truth) = (Arc::clone(&self.learned), self.truth.clone());
        Box::pin(async move {
            if let Some(truth) = truth {
                learned.get_or_init(|| truth);
            }
            Ok(())
        })
    }

    fn stream(&self, request: Request) -> ChunkStream {
        self.script.stream(request)
    }

    fn models(&self) -> ModelsFuture {
        let offers = self.offers.clone();
        Box::pin(async move { Ok(offers) })
    }
}

/// A conversation on the model `large` with a role that wants another one. Returns the models that
/// were switched to as well.
async fn on_models(head: &str, more: Value, offers: &[&str]) -> (Played, Vec<String>) {
    let script = script(&more, &json!([{ "text": "A" }]));
    let mut stage = Stage::with_provider(Arc::new(Named::new(&script, "large", offers)));
    stage.role_files = vec![role(head)];
    let switched = Arc::<Mutex<Vec<String>>>::default();
    let (told, again) = (Arc::clone(&switched), script.clone());
    stage.switch = Some(Arc::new(move |model| {
        told.lock().unwrap().push(model.to_owned());
        Ok(Arc::new(Spy::new(Arc::new(Named::new(&again, model, &[])), None)) as Arc<dyn Provider>)
    }));
    let mut live = stage.start();
    // The list of models comes beside everything else.
    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    live.ask("go", &[]).await;
    let played = live.quit().await;
    let switched = switched.lock().unwrap().clone();
    (played, switched)
}

fn contract_model(played: &Played) -> Option<String> {
    played.events.iter().find_map(|event| match (&event.fact, &event.origin.task) {
        (Fact::RunStarted { contract, .. }, Some(_)) => Some(contract.model.clone()),
        _ => None,
    })
}

fn notices(played: &Played) -> usize {
    let is_ours = |fact: &&Fact| matches!(fact, Fact::Notice { code, .. } if code == "ROLE_MODEL");
    played.facts().filter(is_ours).count()
}

#[tokio::test(start_paused = true)]
async fn a_child_really_runs_on_the_model_of_its_contract() {
    let offers = ["large", "small-20260101"];
    let (played, switched) = on_models("model: small", json!({}), &offers).await;
    assert_eq!(contract_model(&played).as_deref(), Some("small"));
    assert_eq!(switched, ["small"]);
    assert_eq!((played.task_result("t").status, notices(&played)), (Status::Completed, 0));
    assert!(played.child_requests().is_empty(), "the parent's model was not asked");
    for head in ["model: inherit", ""] {
        let (played, switched) = on_models(head, json!({}), &offers).await;
        assert_eq!(contract_model(&played).as_deref(), Some("large"));
        assert!(switched.is_empty());
    }
    // A role that has models of its own runs on no other, its parent's included.
    let (played, switched) = on_models("model: small", json!({ "model": "large" }), &offers).await;
    assert_eq!((contract_model(&played), switched.len()), (None, 0));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_the_provider_does_not_have_is_told_and_not_used() {
    let (played, switched) = on_models("model: sonnet", json!({}), &["large", "small"]).await;
    assert_eq!(contract_model(&played).as_deref(), Some("large"));
    assert_eq!((switched.len(), notices(&played)), (0, 1));
    let (played, _) = on_models("", json!({ "model": "small" }), &["large", "small"]).await;
    assert_eq!(played.task_result("t").code, Some(Code::InvalidTask), "not of the role's list");
}

/// A server on this machine may hand a model's requests on to another one, and says so when asked.
#[tokio::test(start_paused = true)]
async fn a_model_that_turns_out_to_be_elsewhere_gets_nothing_of_a_parent_on_this_machine() {
    let script = script(&json!({}), &json!([{ "text": "A" }]));
    let here = |model: &str| {
        let mut named = Named::new(&script, model, &["large", "small"]);
        named.identity.local = true;
        named
    };
    let mut stage = Stage::with_provider(Arc::new(here("large")));
    stage.role_files = vec![role("model: small")];
    let mut small = here("small");
    small.truth = Some(Identity { local: false, ..small.identity.clone() });
    let small = Arc::new(Spy::new(Arc::new(small), None));
    let asked = Arc::clone(&small);
    stage.switch = Some(Arc::new(move |_| Ok(Arc::clone(&small) as Arc<dyn Provider>)));
    let mut live = stage.start();
    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    live.ask("go", &[]).await;
    let report = live.quit().await.task_result("t");
    assert_eq!((report.status, report.code), (Status::Blocked, Some(Code::InvalidTask)));
    assert!(report.summary.contains("not on this machine"), "{}", report.summary);
    assert!(asked.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn where_there_is_one_model_only_a_role_runs_on_that() {
    let played = stage("model: small", &json!([{ "text": "A" }])).play("go").await;
    assert_eq!((played.task_result("t").status, notices(&played)), (Status::Completed, 1));
}
