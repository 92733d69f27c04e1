//! The key that a server asks for: from a program that the user named, or from the environment. It
//! is never written anywhere and never shown; it refuses to know what it opens.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use secrecy::SecretString;

use super::SettingsError;
use super::layers::Layers;
use super::surroundings::{Env, variable};
use super::table::Key;

/// How long a program may take to print a key: long enough to ask for a passphrase, short enough
/// not to look like a hang.
const COMMAND_TIME: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// No key is longer.
const MOST_BYTES: u64 = 64 * 1024;

/// A key, and where it was found.
#[derive(Debug, Clone)]
pub struct FoundKey {
    /// The key.
    pub key: SecretString,
    /// `api_key_command`, or the variable's name.
    pub from: String,
}

/// The key of the chosen provider: what the user's file names, else the usual variable.
///
/// The file goes first because it belongs to the server that it names; the usual variable most
/// often holds the key of another one.
pub(super) fn find(
    layers: &Layers,
    env: &Env,
    usual: &'static str,
) -> Result<Option<FoundKey>, SettingsError> {
    if let Some(words) = layers.words(Key::ApiKeyCommand) {
        let key = print_by(words, COMMAND_TIME)?;
        return Ok(Some(FoundKey { key, from: Key::ApiKeyCommand.name().to_owned() }));
    }
    if let Some(name) = layers.text(Key::ApiKeyEnv) {
        let Some(text) = variable(env, name) else {
            let origin = layers.origin(Key::ApiKeyEnv);
            return Err(SettingsError::Usage(format!(
                "{origin} says that the key is in {name}, which is not set; set it, or change \
                 api_key_env"
            )));
        };
        return Ok(Some(FoundKey { key: SecretString::from(text), from: name.to_owned() }));
    }
    let found = variable(env, usual);
    Ok(found.map(|text| FoundKey { key: SecretString::from(text), from: usual.to_owned() }))
}

/// Runs a program without a shell and takes the first line that it prints. It may ask for a
/// passphrase on the terminal, which nothing else uses yet; its complaints go there too.
fn print_by(words: &[String], time: Duration) -> Result<SecretString, SettingsError> {
    let failed = |what: &str| {
        let program = words.first().map_or("", String::as_str);
        SettingsError::Usage(format!(
            "api_key_command ({program} …) {what}; run it by hand to see why"
        ))
    };
    let (program, arguments) = words.split_first().ok_or_else(|| failed("names no program"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child =
        command.spawn().map_err(|error| failed(&format!("cannot be started: {error}")))?;
    let printed = read_aside(&mut child);
    let ended = wait(&mut child, time).map_err(|error| failed(&format!("was lost: {error}")))?;
    let Some(status) = ended else {
        return Err(failed(&format!("did not end within {} s", time.as_secs())));
    };
    if !status.success() {
        return Err(failed(&format!("failed with {status}")));
    }
    // The pipe may be held open by something that the program left behind.
    let printed = printed.and_then(|printed| printed.recv_timeout(Duration::from_secs(1)).ok());
    let text = printed.unwrap_or_default();
    let text = String::from_utf8(text).map_err(|_| failed("printed no UTF-8 text"))?;
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => Ok(SecretString::from(line)),
        None => Err(failed("printed nothing")),
    }
}

/// Reads what the program prints on a thread of its own, so that nothing can block the start.
fn read_aside(child: &mut Child) -> Option<mpsc::Receiver<Vec<u8>>> {
    let stdout = child.stdout.take()?;
    let (done, printed) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error is no key worth having, but an empty one is told as such.
        let _ = stdout.take(MOST_BYTES).read_to_end(&mut bytes);
        let _ = done.send(bytes);
    });
    Some(printed)
}

/// How the program ended; `None` if its time passed, and then it is ended.
fn wait(child: &mut Child, time: Duration) -> std::io::Result<Option<std::process::ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= time {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use secrecy::ExposeSecret;

    use super::*;

    fn run(script: &str) -> Result<String, String> {
        let words = ["/bin/sh", "-c", script].map(str::to_owned);
        let key = print_by(&words, Duration::from_millis(300));
        key.map(|key| key.expose_secret().to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_line_is_the_key() {
        assert_eq!(run("echo; echo ' key-1 '; echo more").unwrap(), "key-1");
        assert_eq!(run("printf key-2").unwrap(), "key-2");
        assert_eq!(run("echo key-3; sleep 5 >/dev/null &").unwrap(), "key-3");
    }

    #[test]
    fn what_goes_wrong_is_said_without_what_was_printed() {
        for (script, words) in [
            ("echo hunter22; exit 3", "exit status: 3"),
            ("true", "printed nothing"),
            ("printf '\\377'", "no UTF-8"),
            ("echo hunter22; sleep 60", "did not end"),
        ] {
            let said = run(script).unwrap_err();
            assert!(said.contains(words) && said.contains("by hand"), "{said}");
            assert!(!said.contains("hunter22"), "{said}");
        }
        let missing = print_by(&["/no/such/program".to_owned()], COMMAND_TIME).unwrap_err();
        assert!(missing.to_string().contains("cannot be started"), "{missing}");
    }
}
