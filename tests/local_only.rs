//! What may not leave this machine, over real sockets: a child whose model answers at a loopback
//! address gets it, and nothing else does, whatever an address looks like, whichever proxy stands in
//! the environment, and wherever the server would send the request on to.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

mod common;
#[path = "common/program.rs"]
mod program;

use std::net::UdpSocket;
use std::sync::Arc;

use common::raw_server::{RawServer, Reply};
use common::{Played, Stage, aloud, strict};
use offshoot::domain::context_store::Sensitivity;
use offshoot::domain::report::{Report, Status};
use offshoot::domain::violation::Code;
use offshoot::provider::Provider;
use offshoot::provider::anthropic::{self, Anthropic};
use offshoot::provider::openai::{Config, OpenAi};
use offshoot::session::Pin;
use program::{Ground, finish};
use serde_json::{Value, json};

const LOCAL: &str = "local-4e1b-saffron-badger";

fn event(value: Value) -> String {
    format!("data: {value}\n\n")
}

fn answer(delta: Value, reason: &str) -> Reply {
    let delta = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let finish = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    Reply::events([event(delta), event(finish), "data: [DONE]\n\n".to_owned()].concat())
}

fn says(text: &str) -> Reply {
    answer(json!({ "content": text }), "stop")
}

/// The parent hands the snippet to a child.
fn delegates() -> Reply {
    let arguments = json!({ "task": "alpha", "expected_output": "x", "context_keys": ["plan"] });
    let function = json!({ "name": "task", "arguments": arguments.to_string() });
    let call = json!({ "index": 0, "id": "c1", "type": "function", "function": function });
    answer(json!({ "tool_calls": [call] }), "tool_calls")
}

fn config(base_url: &str, model: &str) -> Config {
    Config { base_url: base_url.to_owned(), model: model.to_owned(), ..Config::default() }
}

fn provider(base_url: &str) -> OpenAi {
    OpenAi::new(config(base_url, "fake-o")).unwrap()
}

async fn play(provider: OpenAi) -> Played {
    let mut stage = Stage::with_provider(Arc::new(provider));
    stage.pins.push(Pin { sensitivity: Sensitivity::LocalOnly, ..Pin::normal("plan", LOCAL) });
    stage.play("go").await
}

fn report(played: &Played) -> Report {
    let results = Played::results_in(played.parent_requests()[1]);
    serde_json::from_str(&results[0].output).unwrap()
}

fn with_it(server: &RawServer) -> usize {
    server.bodies().iter().filter(|body| body.to_string().contains(LOCAL)).count()
}

/// An address of this machine that others can reach it at.
fn own_address() -> Option<String> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent: this only asks which way it would go.
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then(|| address.to_string())
}

#[tokio::test]
async fn a_child_at_a_loopback_address_gets_it() {
    for host in ["127.0.0.1", "localhost", "LOCALHOST", "127.1", "models.localhost"] {
        let replies = vec![delegates(), says("found"), says("done")];
        let server = RawServer::start(replies, strict::openai).await;
        let played = play(provider(&format!("http://{host}:{}/v1", server.port()))).await;
        assert_eq!(report(&played).status, Status::Completed, "{host}: {:?}", report(&played));
        let bodies = server.bodies();
        assert_eq!(bodies.len(), 3, "{host}");
        assert_eq!(with_it(&server), 1, "{host}: its child and nobody else");
        assert!(bodies[1].to_string().contains(LOCAL), "{host}");
    }
}

/// The same server, by an address that is not loopback: the parent's own requests come, and not a
/// byte of a child.
#[tokio::test]
async fn a_child_anywhere_else_is_refused_before_any_connection() {
    let mut hosts = vec!["0.0.0.0".to_owned()];
    match own_address() {
        Some(address) => hosts.push(address),
        None => aloud::skipped("this machine has no address but loopback"),
    }
    for host in hosts {
        let server =
            RawServer::start_at("0.0.0.0", vec![delegates(), says("done")], strict::openai).await;
        let played = play(provider(&format!("http://{host}:{}/v1", server.port()))).await;
        let report = report(&played);
        assert_eq!((report.status, report.code), (Status::Blocked, Some(Code::ContextForbidden)));
        assert_eq!(server.bodies().len(), 2, "{host}: the parent's two requests");
        assert_eq!(with_it(&server), 0, "{host}");
    }
}

#[tokio::test]
async fn what_only_looks_local_is_not() {
    let elsewhere = [
        "localhost.example.com",
        "127.0.0.1.nip.io",
        "127.0.0.1.example.com",
        "[::ffff:127.0.0.1]",
        "[::ffff:192.0.2.7]",
        "0.0.0.0",
        "[::]",
        "notlocalhost",
        "localhost.",
        "my-localhost",
        "192.168.0.2",
        "10.0.0.1",
        "169.254.1.1",
        "example.com",
        "localhost.localdomain",
        "api.local",
    ];
    let here =
        ["localhost", "127.0.0.1", "127.9.9.9", "2130706433", "0x7f.1", "[::1]", "a.localhost"];
    let all = elsewhere.map(|host| (host, false)).into_iter().chain(here.map(|host| (host, true)));
    for (host, local) in all {
        let base = format!("http://{host}:8080/v1");
        assert_eq!(provider(&base).identity().local, local, "{host}");
        let other =
            anthropic::Config { base_url: base, model: "m".to_owned(), ..Default::default() };
        assert_eq!(Anthropic::new(other).unwrap().identity().local, local, "{host}");
    }
}

/// A server on this machine that hands some models' work on to another one says so in their names.
#[tokio::test]
async fn a_model_that_runs_elsewhere_is_not_local_wherever_its_server_is() {
    for (model, local) in [("gpt-oss:120b-cloud", false), ("qwen3:cloud", false), ("qwen3", true)] {
        let config = config("http://127.0.0.1:11434/v1", model);
        assert_eq!(OpenAi::new(config).unwrap().identity().local, local, "{model}");
    }
    let replies = vec![delegates(), says("done")];
    let server = RawServer::start(replies, strict::openai).await;
    let far = OpenAi::new(config(&format!("{}/v1", server.url), "gpt-oss:120b-cloud")).unwrap();
    let played = play(far).await;
    assert_eq!(report(&played).code, Some(Code::ContextForbidden));
    assert_eq!((server.bodies().len(), with_it(&server)), (2, 0));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let other = RawServer::start(vec![says("caught")], strict::openai).await;
        let moved = Reply::new(status, "", "")
            .header(&format!("location: {}/v1/chat/completions", other.url));
        let replies = vec![delegates(), moved, says("done")];
        let server = RawServer::start(replies, strict::openai).await;
        let played = play(provider(&format!("{}/v1", server.url))).await;
        let report = report(&played);
        assert_eq!((report.status, report.code), (Status::Failed, Some(Code::ProviderError)));
        assert!(report.summary.contains("not followed"), "{}", report.summary);
        assert_eq!(other.bodies(), [] as [Value; 0], "{status}");
        assert_eq!(played.reply(), "done");
    }
}

/// The built program with every proxy variable set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_in_the_environment_is_never_between_this_machine_and_itself() {
    for host in ["127.0.0.1", "localhost", "models.localhost"] {
        let (proxy, url) = behind_a_proxy().await;
        let replies = vec![delegates(), says("found"), says("done")];
        let server = RawServer::start(replies, strict::openai).await;
        let base = format!("http://{host}:{}/v1", server.port());
        let (code, out) = run(&base, url).await;
        assert_eq!((code, out.as_str()), (Some(0), "done\n"), "{host}");
        assert_eq!(proxy.bodies(), [] as [Value; 0], "{host}");
        assert_eq!((server.bodies().len(), with_it(&server)), (3, 1), "{host}");
    }
}

/// Beside it, so that the test above says something: the variables are heeded for another machine,
/// and the snippet does not go through the proxy either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_is_used_for_another_machine_and_sees_nothing_local() {
    let (proxy, url) = behind_a_proxy().await;
    let (code, out) = run("http://models.example.com/v1", url).await;
    assert_eq!((code, out.as_str()), (Some(0), "done\n"));
    assert_eq!((proxy.bodies().len(), with_it(&proxy)), (2, 0), "the parent's two requests");
}

async fn behind_a_proxy() -> (RawServer, String) {
    let proxy = RawServer::start(vec![delegates(), says("done")], strict::openai).await;
    let url = proxy.url.clone();
    (proxy, url)
}

async fn run(base: &str, proxy: String) -> (Option<i32>, String) {
    let base = base.to_owned();
    let ran = tokio::task::spawn_blocking(move || {
        let ground = Ground::project();
        let pin = format!("plan={LOCAL}");
        let mut command = ground.command(&[
            "run",
            "--provider",
            "openai",
            "--model",
            "fake-o",
            "--base-url",
            &base,
            "--pin-local",
            &pin,
            "go",
        ]);
        for name in
            ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        {
            command.env(name, &proxy);
        }
        command.env("OPENAI_API_KEY", "sk-test-0123456789");
        let ended = finish(command, b"");
        assert!(!ended.out.contains(LOCAL) && !ended.err.contains(LOCAL));
        (ended.code, ended.out + if ended.code == Some(0) { "" } else { &ended.err })
    });
    ran.await.unwrap()
}
