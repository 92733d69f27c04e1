//! What `run` asks, from the command line or from standard input.

use std::io::Read;

use super::SettingsError;

/// More than any model reads; protects against a file that was piped in by mistake.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The prompt as typed, or all of `stdin` for `-`.
pub(super) fn read(typed: String, stdin: Box<dyn Read>) -> Result<String, SettingsError> {
    let prompt = if typed == "-" { all_of(stdin)? } else { typed };
    if prompt.trim().is_empty() {
        let text = "there is nothing to ask: the prompt is blank; give one in quotes, or `-` with \
                    one on standard input";
        return Err(SettingsError::Usage(text.to_owned()));
    }
    Ok(prompt)
}

fn all_of(stdin: Box<dyn Read>) -> Result<String, SettingsError> {
    let mut bytes = Vec::new();
    let read = stdin.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        SettingsError::Usage(format!("cannot read the prompt from standard input: {error}"))
    })?;
    if bytes.len() as u64 > MOST_BYTES {
        let text = "the prompt on standard input is longer than 16 MiB; put it into a file of the \
                    workspace and ask about that";
        return Err(SettingsError::Usage(text.to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| {
        SettingsError::Usage("the prompt on standard input is not UTF-8 text".to_owned())
    })
}
