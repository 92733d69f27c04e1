//! A model that says what a file tells it to, for tests and demonstrations. It plays hostile turns
//! as written: it neither looks at the offered tools nor at `tool_choice` or `max_tokens`.
//!
//! The parent's turns are counted through the whole session, a child's per run. A request that is
//! dropped after its stream was polled has used up its turn.

mod form;
mod render;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::ids::RunId;
use crate::domain::message::Message;
use crate::domain::usage::{MicroUsd, Prices};

use super::paced::{self, Step};
use super::{ChunkStream, Identity, Provider, ProviderError, Request};
use form::{PricesForm, Turn};

/// Bytes that a script file may have.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes that one repeated text may come to.
const MAX_TEXT_BYTES: usize = 64 * 1024 * 1024;

/// Why a file is no script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// It cannot be read.
    #[error("cannot read the script {name}: {detail}; give the path of a .model.json file")]
    Unreadable {
        /// Which file.
        name: String,
        /// What the system said.
        detail: String,
    },
    /// It is not JSON of the right form.
    #[error(
        "the script {name} is wrong at line {line}, column {column}: {detail}; a script looks like {EXAMPLE}"
    )]
    Malformed {
        /// Which file.
        name: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong there.
        detail: String,
    },
    /// It is of the right form, and a value makes no sense.
    #[error("the script {name} cannot be played: {detail}")]
    Senseless {
        /// Which file.
        name: String,
        /// What makes no sense.
        detail: String,
    },
}

const EXAMPLE: &str = r#"{"turns": [{"text": "hello"}]}"#;

/// A scripted model.
#[derive(Debug)]
pub struct Script {
    identity: Identity,
    play: Arc<Play>,
}

#[derive(Debug)]
struct Play {
    parent: Part,
    children: Vec<(String, Part)>,
    prices: Option<Prices>,
    asked: Mutex<Asked>,
}

#[derive(Debug)]
struct Part {
    turns: Vec<Turn>,
    after_last: AfterLast,
}

#[derive(Debug, Clone, Copy)]
enum AfterLast {
    End,
    Repeat,
    Restart,
}

/// How many requests each agent has made.
#[derive(Debug, Default)]
struct Asked {
    parent: usize,
    children: HashMap<RunId, usize>,
}

impl Script {
    /// Reads a script file. This blocks, for as long as the file system takes.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let text = read_bounded(path)
            .map_err(|error| ScriptError::Unreadable { name, detail: error.to_string() })?;
        let model = path.file_name().map_or("script".into(), |name| name.to_string_lossy());
        Self::parse(&text, &path.display().to_string(), trim_ending(&model))
    }

    /// Reads a script from its text.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        Self::parse(text, "(inline)", "script")
    }

    fn parse(text: &str, name: &str, model: &str) -> Result<Self, ScriptError> {
        let file: form::File =
            serde_json::from_str(text).map_err(|error| malformed(name, &error))?;
        let prices = file.prices.map(|prices| {
            refined_prices(prices).ok_or_else(|| ScriptError::Senseless {
                name: name.to_owned(),
                detail: "`prices` needs dollars from 0 for `input` and `output`, and `per` above 0"
                    .to_owned(),
            })
        });
        let prices = prices.transpose()?;
        let parent = Part::new(file.turns, file.repeat_last, file.cycle, name)?;
        let mut children = Vec::with_capacity(file.children.len());
        for child in file.children {
            let part = Part::new(child.turns, child.repeat_last, child.cycle, name)?;
            children.push((child.matches, part));
        }
        let play = Play { parent, children, prices, asked: Mutex::default() };
        Ok(Self { identity: identity(model, prices), play: Arc::new(play) })
    }
}

impl Provider for Script {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn stream(&self, request: Request) -> ChunkStream {
        let play = Arc::clone(&self.play);
        paced::play(move || play.answer(&request))
    }
}

impl Play {
    fn answer(&self, request: &Request) -> Vec<Step> {
        match self.next_turn(request) {
            Ok((turn, number)) => render::steps(turn, number, request, self.prices),
            Err(error) => vec![Step::Give(Err(error))],
        }
    }

    /// The turn to play and the number of the request, from 1.
    fn next_turn(&self, request: &Request) -> Result<(&Turn, usize), ProviderError> {
        let part = self.part(request)?;
        // The counters are whole after every step, so a panic elsewhere cannot have torn them.
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = if request.depth == 0 {
            &mut asked.parent
        } else {
            asked.children.entry(request.run.clone()).or_default()
        };
        let number = *counter + 1;
        let turn = part.turn(*counter).ok_or_else(|| {
            ProviderError::Script(format!(
                "script has no more turns: request {number} of run {} came after its {} turns; \
                 add turns, or \"repeat_last\": true",
                request.run,
                part.turns.len()
            ))
        })?;
        *counter = number;
        Ok((turn, number))
    }

    fn part(&self, request: &Request) -> Result<&Part, ProviderError> {
        if request.depth == 0 {
            return Ok(&self.parent);
        }
        let asked = first_user_text(request);
        let found = self.children.iter().find(|(matches, _)| asked.contains(matches.as_str()));
        found.map(|(_, part)| part).ok_or_else(|| {
            ProviderError::Script(format!(
                "the script has no entry in `children` whose `match` occurs in what run {} was \
                 asked: \"{}\"; add one",
                request.run,
                excerpt(asked)
            ))
        })
    }
}

impl Part {
    fn new(
        turns: Vec<Turn>,
        repeat_last: bool,
        cycle: bool,
        name: &str,
    ) -> Result<Self, ScriptError> {
        let too_long = turns.iter().filter_map(|turn| turn.text_repeat.as_ref()).any(|repeat| {
            repeat.s.len().checked_mul(repeat.n).is_none_or(|bytes| bytes > MAX_TEXT_BYTES)
        });
        if too_long {
            return Err(ScriptError::Senseless {
                name: name.to_owned(),
                detail: format!("a `text_repeat` comes to more than {MAX_TEXT_BYTES} bytes"),
            });
        }
        let after_last = match (cycle, repeat_last) {
            (true, _) => AfterLast::Restart,
            (false, true) => AfterLast::Repeat,
            (false, false) => AfterLast::End,
        };
        Ok(Self { turns, after_last })
    }

    fn turn(&self, asked_before: usize) -> Option<&Turn> {
        let index = match self.after_last {
            AfterLast::End => asked_before,
            AfterLast::Repeat => asked_before.min(self.turns.len().saturating_sub(1)),
            AfterLast::Restart => asked_before.checked_rem(self.turns.len())?,
        };
        self.turns.get(index)
    }
}

fn read_bounded(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(std::io::Error::other(format!("it has more than {MAX_FILE_BYTES} bytes")));
    }
    Ok(text)
}

fn trim_ending(file_name: &str) -> &str {
    let name = file_name.strip_suffix(".json").unwrap_or(file_name);
    name.strip_suffix(".model").unwrap_or(name)
}

fn malformed(name: &str, error: &serde_json::Error) -> ScriptError {
    let place = format!(" at line {} column {}", error.line(), error.column());
    ScriptError::Malformed {
        name: name.to_owned(),
        line: error.line(),
        column: error.column(),
        detail: error.to_string().replace(&place, ""),
    }
}

/// From dollars per `per` tokens to micro-dollars per million tokens.
fn refined_prices(prices: PricesForm) -> Option<Prices> {
    let per_million = |dollars: f64| {
        (prices.per > 0.0).then_some(())?;
        MicroUsd::from_dollars(dollars * (1e6 / prices.per)).map(|price| price.0)
    };
    Some(Prices::uncached(per_million(prices.input)?, per_million(prices.output)?))
}

fn identity(model: &str, prices: Option<Prices>) -> Identity {
    Identity {
        provider: "script".to_owned(),
        model: model.to_owned(),
        host: None,
        local: true,
        prices,
        max_output_tokens: 8_192,
        context_window: None,
        is_language_model: false,
    }
}

fn first_user_text(request: &Request) -> &str {
    let mut texts = request.messages.iter().filter_map(|message| match &**message {
        Message::User { text } => Some(text.as_str()),
        Message::Assistant(_) | Message::Results { .. } => None,
    });
    texts.next().unwrap_or("")
}

fn excerpt(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests;
