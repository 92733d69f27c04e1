//! TLS with certificates of one's own, and machines that have none: the real program against a
//! server whose certificate no public authority signed. The key under `fixtures/tls` opens nothing.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "common/program.rs"]
mod program;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use program::{Ended, Ground, finish};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name)
}

fn tls() -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_file(fixture("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(fixture("server.key")).unwrap();
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(ring).with_safe_default_protocol_versions();
    let config = config.unwrap().with_no_client_auth();
    Arc::new(config.with_single_cert(vec![certificate], key).unwrap())
}

/// A server on this machine that offers one model; returns its port.
fn serve(tls: Option<Arc<ServerConfig>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            // A client that does not trust the certificate hangs up.
            let _ = match &tls {
                Some(tls) => {
                    let connection = ServerConnection::new(Arc::clone(tls)).unwrap();
                    answer(StreamOwned::new(connection, stream))
                }
                None => answer::<TcpStream>(stream),
            };
        }
    });
    port
}

fn answer<S: Read + Write>(mut stream: S) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte)? == 1 {
        head.push(byte[0]);
    }
    let body = r#"{"data":[{"id":"m"}]}"#;
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )?;
    stream.flush()
}

fn doctor(url: &str, ca_file: Option<&Path>, env: &[(&str, &str)]) -> Ended {
    let ground = Ground::project();
    if let Some(path) = ca_file {
        let folder = ground.home.path().join(".config/offshoot");
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("provider = \"openai\"\nca_file = {:?}\n", path.display().to_string());
        std::fs::write(folder.join("config.toml"), text).unwrap();
    }
    let arguments = ["doctor", "--provider", "openai", "--base-url", url, "--model", "m"];
    let mut command = ground.command(&arguments);
    command.envs(env.iter().copied());
    finish(command, b"")
}

/// What makes a machine look as if it had no certificates.
const NO_STORE: [(&str, &str); 2] =
    [("SSL_CERT_FILE", "/nonexistent/file"), ("SSL_CERT_DIR", "/nonexistent/folder")];

#[test]
fn a_certificate_of_ones_own_is_trusted_where_ca_file_names_it_and_nowhere_else() {
    let url = format!("https://localhost:{}/v1", serve(Some(tls())));
    let strange = doctor(&url, None, &[]);
    assert_eq!(strange.code, Some(1), "{}", strange.out);
    assert!(strange.out.contains("cannot reach localhost"), "{}", strange.out);
    for env in [&[][..], &NO_STORE] {
        let trusted = doctor(&url, Some(&fixture("ca.pem")), env);
        assert_eq!(trusted.code, Some(0), "{env:?}: {}", trusted.out);
        assert!(trusted.out.contains("offers 1 models"), "{}", trusted.out);
    }
}

#[test]
fn a_machine_without_certificates_reaches_plain_servers_and_says_what_tls_lacks() {
    let plain = doctor(&format!("http://127.0.0.1:{}/v1", serve(None)), None, &NO_STORE);
    assert_eq!(plain.code, Some(0), "{}", plain.out);
    let url = format!("https://localhost:{}/v1", serve(Some(tls())));
    let ended = doctor(&url, None, &NO_STORE);
    assert_eq!(ended.code, Some(1), "{}", ended.out);
    assert!(ended.out.contains("ca-certificates"), "{}", ended.out);
}

#[test]
fn a_proxy_is_used_for_other_machines_and_never_for_this_one() {
    // It answers whatever it is asked, so an answer for a name that does not exist came through it.
    let proxy = format!("http://127.0.0.1:{}", serve(None));
    let key = ("OPENAI_API_KEY", "sk-0123456789");
    let through = |url: &str, no_proxy: &str| {
        let env =
            [("HTTP_PROXY", proxy.as_str()), ("http_proxy", &proxy), ("NO_PROXY", no_proxy), key];
        doctor(url, None, &env)
    };
    let far = through("http://far.invalid/v1", "");
    assert_eq!(far.code, Some(0), "{}", far.out);
    let direct = through("http://far.invalid/v1", "far.invalid");
    assert_eq!(direct.code, Some(1), "NO_PROXY is heeded: {}", direct.out);
    let near = through("http://127.0.0.1:1/v1", "");
    assert_eq!(near.code, Some(1), "nothing listens there, so no proxy answered: {}", near.out);
}
