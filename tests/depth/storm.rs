//! A provider whose answers are written into the tasks themselves, with delays and failures, and that
//! keeps its own books: what it told of each request, and how many were open at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use offshoot::domain::ids::{CallId, RunId};
use offshoot::domain::message::{Message, StopReason, ToolCall};
use offshoot::domain::usage::{Prices, Usage};
use offshoot::provider::{
    Chunk, ChunkStream, Identity, Provider, ProviderError, Request, ToolChoice,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What one run does: a batch of tasks for each turn but its last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Its name, unlike any other's.
    pub n: String,
    /// Its turns.
    pub t: Vec<Turn>,
    /// The budget that is asked for it.
    #[serde(default)]
    pub b: serde_json::Map<String, serde_json::Value>,
}

/// One turn.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Turn {
    /// Ms before the answer.
    pub d: u64,
    /// Tokens that it is said to use, as far as they are allowed.
    pub o: u64,
    /// How often it fails before: by a status (true), or in the middle (false).
    #[serde(default)]
    pub f: Vec<bool>,
    /// Whom it delegates to.
    #[serde(default)]
    pub k: Vec<Plan>,
}

/// Its books.
#[derive(Debug, Default)]
pub struct Books {
    /// What was told of requests that came to their end.
    pub ended: Usage,
    /// What was told of all.
    pub told: Usage,
    /// Requests of children that are open, and the most that were.
    open: u32,
    pub most_open: u32,
    /// Requests that were begun.
    pub begun: u32,
    runs: HashMap<RunId, (usize, usize)>,
}

pub struct Storm {
    identity: Identity,
    pub books: Arc<Mutex<Books>>,
}

impl Storm {
    pub fn new() -> Arc<Self> {
        let identity = Identity {
            provider: "storm".to_owned(),
            model: "storm".to_owned(),
            host: None,
            local: true,
            prices: Some(Prices::uncached(1_000_000, 2_000_000)),
            max_output_tokens: 8_192,
            context_window: None,
            is_language_model: false,
        };
        Arc::new(Self { identity, books: Arc::default() })
    }
}

impl Provider for Storm {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn stream(&self, request: Request) -> ChunkStream {
        let books = Arc::clone(&self.books);
        let begun = async move {
            let (delay, steps) = answer(&mut books.lock().unwrap(), &request);
            let open = Open::new(&books, request.depth);
            tokio::time::sleep(delay).await;
            stream::iter(steps).map(move |step| {
                open.note(&step);
                step
            })
        };
        Box::pin(stream::once(begun).flatten())
    }
}

type Step = Result<Chunk, ProviderError>;

fn answer(books: &mut Books, request: &Request) -> (Duration, Vec<Step>) {
    books.begun += 1;
    let plan = plan_of(request);
    let (answered, failed) = books.runs.entry(request.run.clone()).or_default();
    let turn = plan.t.get(*answered).cloned().unwrap_or_default();
    let delay = Duration::from_millis(turn.d);
    let used = Usage {
        input_tokens: 20 + turn.o % 50,
        output_tokens: turn.o.clamp(1, request.max_tokens.max(1)),
        ..Usage::default()
    };
    if let Some(by_status) = turn.f.get(*failed) {
        *failed += 1;
        let host = "storm".to_owned();
        return (
            delay,
            if *by_status {
                let (status, detail, retry_after) = (503, String::new(), None);
                vec![Err(ProviderError::Status { host, status, detail, retry_after })]
            } else {
                let detail = "cut".to_owned();
                vec![Ok(Chunk::Usage(used)), Err(ProviderError::Broken { host, detail })]
            },
        );
    }
    (*answered, *failed) = (*answered + 1, 0);
    let mut steps: Vec<Step> = Vec::new();
    if request.tool_choice == ToolChoice::None || turn.k.is_empty() {
        steps.push(Ok(Chunk::Text("ok".to_owned())));
    } else {
        steps.extend(turn.k.iter().map(|child| Ok(Chunk::ToolCall(task_call(child)))));
    }
    steps.push(Ok(Chunk::Usage(used)));
    steps.push(Ok(Chunk::Stop(StopReason::EndTurn)));
    (delay, steps)
}

fn task_call(plan: &Plan) -> ToolCall {
    let arguments = json!({
        "task": serde_json::to_string(plan).unwrap(), "expected_output": "x", "budget": plan.b,
    });
    ToolCall { call: CallId(plan.n.clone()), name: "task".to_owned(), arguments }
}

/// The plan in the first thing that a run was told.
fn plan_of(request: &Request) -> Plan {
    let Message::User { text } = &*request.messages[0] else { panic!("no first message") };
    let json = &text[text.find('{').expect("a plan")..];
    serde_json::Deserializer::from_str(json).into_iter().next().unwrap().unwrap()
}

/// A request that is open.
struct Open {
    books: Arc<Mutex<Books>>,
    counts: bool,
    told: Mutex<Usage>,
}

impl Open {
    fn new(books: &Arc<Mutex<Books>>, depth: u32) -> Self {
        let counts = depth > 0;
        if counts {
            let mut books = books.lock().unwrap();
            books.open += 1;
            books.most_open = books.most_open.max(books.open);
        }
        Self { books: Arc::clone(books), counts, told: Mutex::default() }
    }

    fn note(&self, step: &Step) {
        let mut books = self.books.lock().unwrap();
        match step {
            Ok(Chunk::Usage(usage)) => {
                books.told += *usage;
                *self.told.lock().unwrap() += *usage;
            }
            Ok(Chunk::Stop(_)) | Err(_) => books.ended += *self.told.lock().unwrap(),
            Ok(_) => {}
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.counts {
            self.books.lock().unwrap().open -= 1;
        }
    }
}
