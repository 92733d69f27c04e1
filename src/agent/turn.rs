//! One model request: send it, follow the stream, charge it. Whatever way it ends, what came in is
//! kept and what it cost is charged.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::timeout;

use super::late::{self, Writing};
use super::run::{Run, RunShared};
use super::steering::{self, LastTurn, Waiter};
use crate::domain::event::{Fact, Level};
use crate::domain::ledger::Charge;
use crate::domain::message::{AssistantMessage, Block, Message, StopReason};
use crate::domain::report::{By, Ending};
use crate::domain::usage::Usage;
use crate::domain::violation::Code;
use crate::provider::retry::{self, Decision};
use crate::provider::{Chunk, ProviderError, Request, ToolChoice};

/// Words and reasoning of one answer at most, in bytes: hundreds of times what `max_tokens` allows.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// What was decided about a request before it is sent.
#[derive(Debug, Clone)]
pub struct TurnPlan {
    /// Output tokens at most.
    pub max_tokens: u64,
    /// Why this is the wrap-up turn, if it is.
    pub wrap_up: Option<LastTurn>,
    /// How many turns the run has in all.
    pub of: Option<u64>,
    /// Whether the model may call tools.
    pub tool_choice: ToolChoice,
    /// The prompt's size by estimate.
    pub prompt_tokens: u64,
    /// What it may use at most.
    pub worst_case: Charge,
    /// What is kept beside it for a last request.
    pub held_back: Charge,
    /// The messages of a request beside the conversation: nothing of its answer is shown or kept.
    pub aside: Option<Vec<Arc<Message>>>,
}

/// Takes the turn. An answer is whole: its stream said why it stopped. On a cancel or an error the
/// partial text enters the history, marked as interrupted, and no call of it runs.
pub async fn take(run: &mut Run, plan: &mut TurnPlan) -> Result<AssistantMessage, Ending> {
    run.shared
        .emit(Fact::TurnStarted {
            turn: run.record.turns,
            of: plan.of,
            wrap_up: plan.wrap_up.is_some(),
            prompt_tokens_estimate: plan.prompt_tokens,
            reserved: plan.worst_case,
            held_back: plan.held_back,
        })
        .await;
    if let Some(ending) = run.shared.scope.ending() {
        run.shared.tree.ledger().charge_request(run.shared.account, &Usage::none());
        return Err(ending);
    }
    let mut tries = 1;
    loop {
        let mut answer = Assembly::default();
        let followed =
            follow(&run.shared, request(run, plan), &mut answer, plan.aside.is_none()).await;
        charge(run, plan, &answer, &followed).await;
        let Err(broken) = followed else {
            return Ok(answer.into_message(&run.shared, false));
        };
        if let Some(wait) = wait_before_next_try(&run.shared, &broken, &answer, tries) {
            tries += 1;
            wait_to_retry(&run.shared, &broken, wait, tries).await?;
            plan_again(run, plan).await?;
            continue;
        }
        run.record.tokens_after_cancel += answer.late_tokens;
        let ending = run.note_broken_turn(broken, plan.prompt_tokens);
        if plan.aside.is_none() {
            keep_partial(run, answer).await?;
        }
        return Err(ending);
    }
}

fn wait_before_next_try(
    shared: &RunShared,
    broken: &Broken,
    answer: &Assembly,
    tries: u32,
) -> Option<Duration> {
    let Broken::Failed(error) = broken else { return None };
    match retry::decide(error, answer.was_shown(), tries, &shared.host.patience) {
        Decision::Again(wait) => Some(wait),
        Decision::GiveUp => None,
    }
}

/// Says what is waited for, and waits.
async fn wait_to_retry(
    shared: &RunShared,
    broken: &Broken,
    wait: Duration,
    next_try: u32,
) -> Result<(), Ending> {
    let (http_status, reason) = match broken {
        Broken::Failed(error) => (error.http_status(), error.to_string()),
        Broken::Cancelled(_) => (None, String::new()),
    };
    let delay_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    shared.emit(Fact::RetryScheduled { delay_ms, http_status, attempt: next_try, reason }).await;
    shared.scope.race(tokio::time::sleep(wait)).await?;
    steering::gate(&shared.steering, &shared.scope, Waiter::Run(&shared.clock)).await.map(drop)
}

/// Plans the next try of a turn, and tells if it became the last one: the turn began as another.
async fn plan_again(run: &Run, plan: &mut TurnPlan) -> Result<(), Ending> {
    let was_last = plan.wrap_up.is_some();
    run.plan_again(plan)?;
    if !was_last && plan.wrap_up.is_some() {
        let words = "after a failed try too little is left for more than a last answer: this turn \
                     became the wrap-up";
        run.shared.emit(Fact::notice(Level::Info, "LAST_TURN", words)).await;
    }
    Ok(())
}

/// Why a stream was not followed to its end.
enum Broken {
    Cancelled(Ending),
    Failed(ProviderError),
}

async fn follow(
    shared: &RunShared,
    request: Request,
    answer: &mut Assembly,
    shown: bool,
) -> Result<(), Broken> {
    let mut stream = shared.provider.stream(request);
    loop {
        let limit = shared.host.patience.limit(answer.began);
        let next = match shared.scope.race(timeout(limit, stream.next())).await {
            Ok(Ok(next)) => next,
            Ok(Err(_)) => return Err(Broken::Failed(stalled(shared, limit, answer.began))),
            Err(ending) => {
                answer.late_tokens = late::count(&mut stream, answer.began);
                return Err(Broken::Cancelled(ending));
            }
        };
        match next {
            Some(Ok(_)) if answer.bytes > MOST_BYTES => {
                // The server does not hold itself to `max_tokens`: the answer is cut here.
                answer.stop = Some(StopReason::MaxTokens);
                answer.cut = true;
                return Ok(());
            }
            Some(Ok(chunk)) => {
                answer.began = true;
                if let Some(fact) = answer.take(chunk).filter(|_| shown) {
                    shared.emit(fact).await;
                }
            }
            Some(Err(error)) => return Err(Broken::Failed(error)),
            None if answer.stop.is_some() => return Ok(()),
            None => {
                return Err(Broken::Failed(ProviderError::Broken {
                    host: shared.provider.identity().provider.clone(),
                    detail: "the stream ended before the answer did".to_owned(),
                }));
            }
        }
    }
}

fn stalled(shared: &RunShared, limit: Duration, began: bool) -> ProviderError {
    let identity = shared.provider.identity();
    ProviderError::Stalled {
        host: identity.host.clone().unwrap_or_else(|| identity.provider.clone()),
        seconds: limit.as_secs(),
        phase: if began { "in the middle of its answer" } else { "before its answer began" },
    }
}

impl Run {
    fn note_broken_turn(&mut self, broken: Broken, prompt_tokens: u64) -> Ending {
        match broken {
            Broken::Cancelled(ending) => {
                self.record.connections_closed += 1;
                ending
            }
            Broken::Failed(error) => {
                self.record.failure = Some(error.to_string());
                match error {
                    ProviderError::ContextExceeded { .. } => {
                        self.record.failure = Some(format!(
                            "{error} (about {prompt_tokens} tokens were sent); ask in a new \
                             conversation, or choose a model with a larger context window"
                        ));
                        Ending::Failed(Code::ContextExceeded)
                    }
                    ProviderError::Unreachable { .. }
                    | ProviderError::Status { .. }
                    | ProviderError::Stalled { .. }
                    | ProviderError::Broken { .. }
                    | ProviderError::Script(_)
                    | ProviderError::Setup(_) => Ending::Failed(Code::ProviderError),
                }
            }
        }
    }
}

/// Partial words and reasoning are kept; calls of a broken message are not, because nobody knows whether they
/// were whole.
async fn keep_partial(run: &mut Run, mut answer: Assembly) -> Result<(), Ending> {
    answer.blocks.retain(|block| match block {
        Block::Text { text } | Block::Reasoning { text, .. } => !text.trim().is_empty(),
        Block::Redacted { .. } | Block::Opaque { .. } | Block::ToolCall(_) => false,
    });
    if answer.blocks.is_empty() {
        return Ok(());
    }
    let message = answer.into_message(&run.shared, true);
    run.enter(message).await.map(drop)
}

/// Charges a try to the run and everything above it, and stops an ancestor that went below zero
/// because of it. A server that refused or was never reached used nothing; what was begun, went
/// silent or was cancelled is estimated where the server told no figures.
async fn charge(run: &mut Run, plan: &TurnPlan, answer: &Assembly, followed: &Result<(), Broken>) {
    let shared = &run.shared;
    let refused = match followed {
        Err(Broken::Failed(error)) => !answer.began && error.used_nothing(),
        Err(Broken::Cancelled(_)) | Ok(()) => false,
    };
    let whole = followed.is_ok() && !answer.cut;
    let estimate = answer.estimate(plan.prompt_tokens);
    let mut usage = match answer.usage.map(|told| told.completed_by(&estimate)) {
        Some(told) if whole => told,
        Some(told) => told.at_least(&estimate),
        None if refused => Usage::none(),
        None => estimate,
    };
    let prices = shared.provider.identity().prices;
    usage.cost_usd = usage.cost_usd.or_else(|| prices.map(|prices| prices.cost_of(&usage)));
    let remaining = {
        let mut ledger = shared.tree.ledger();
        ledger.charge_request(shared.account, &usage);
        ledger.set_elapsed_ms(shared.account, shared.elapsed_ms());
        ledger.remaining(shared.account)
    };
    stop_overdrawn_ancestors(shared).await;
    if !refused {
        shared.emit(Fact::Usage { usage, remaining }).await;
    }
    if !usage.estimated && plan.aside.is_none() {
        run.learn_scale(plan.prompt_tokens, usage.input_tokens);
    }
    if followed.is_ok() && plan.aside.is_none() {
        run.learn_cache(&usage);
    }
    run.record.add_request(usage);
}

async fn stop_overdrawn_ancestors(shared: &RunShared) {
    let mut above = shared.above.as_ref();
    while let Some(ancestor) = above {
        let overdrawn = shared.tree.ledger().overrun(ancestor.account).is_some();
        if overdrawn && ancestor.scope.ending().is_none() {
            ancestor.cancel(Ending::Cancelled(By::Budget), By::Budget).await;
        }
        above = ancestor.above.as_ref();
    }
}

fn request(run: &Run, plan: &TurnPlan) -> Request {
    let shared = &run.shared;
    let mut messages = match &plan.aside {
        Some(messages) => messages.clone(),
        None => run.history.messages().to_vec(),
    };
    if let Some(last) = plan.wrap_up
        && (plan.of != Some(1) || last == LastTurn::Asked)
    {
        let text = wrap_up_words(last, shared.contract.depth());
        messages.push(Arc::new(Message::User { text }));
    }
    Request {
        run: shared.contract.run().clone(),
        depth: shared.contract.depth(),
        system: Arc::clone(&shared.system),
        tools: Arc::clone(&shared.schemas),
        tool_choice: match plan.aside {
            Some(_) => ToolChoice::None,
            None => plan.tool_choice.clone(),
        },
        messages,
        max_tokens: plan.max_tokens,
        temperature: shared.contract.temperature(),
    }
}

fn wrap_up_words(last: LastTurn, depth: u32) -> String {
    let why = match (last, depth) {
        (LastTurn::Asked, _) => "The user asks you to stop here.",
        (LastTurn::Exhausted(_), 0) => "The budget of this run is nearly used up.",
        (LastTurn::Exhausted(_), _) => "The budget of this task is nearly used up.",
    };
    let how = if depth == 0 {
        "Answer now with what you have, and say plainly what is unfinished."
    } else {
        "Report now, as the JSON object you were asked for, what you have found and what is \
         unfinished."
    };
    format!("[runtime] {why} Call no tool. {how}")
}

/// An answer while it comes in.
#[derive(Default)]
struct Assembly {
    blocks: Vec<Block>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
    /// True once anything came.
    began: bool,
    /// Bytes of words and reasoning that came.
    bytes: usize,
    /// True if it was cut here, so that the provider told no final figures.
    cut: bool,
    /// Tokens, by estimate, that were there when the answer was cancelled, and that nobody gets.
    late_tokens: u64,
    /// When it was last told that a call is being written.
    writing: Writing,
}

impl Assembly {
    /// True once a person could see a part of it.
    fn was_shown(&self) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Text { text } | Block::Reasoning { text, .. } => !text.is_empty(),
            Block::Redacted { .. } | Block::Opaque { .. } | Block::ToolCall(_) => false,
        })
    }

    /// Takes a piece; returns what is to be shown of it.
    fn take(&mut self, chunk: Chunk) -> Option<Fact> {
        match chunk {
            Chunk::Text(text) => {
                self.bytes += text.len();
                self.append_text(&text);
                return Some(Fact::TextDelta { text });
            }
            Chunk::Reasoning(text) => {
                self.bytes += text.len();
                self.append_reasoning(&text);
                return Some(Fact::ReasoningDelta { text });
            }
            Chunk::Signature(seal) => self.sign(seal),
            Chunk::Redacted(data) => self.blocks.push(Block::Redacted { data }),
            Chunk::Opaque(data) => self.blocks.push(Block::Opaque { data }),
            Chunk::Alive => {}
            Chunk::CallPart => return self.writing.sign(),
            Chunk::ToolCall(call) => self.blocks.push(Block::ToolCall(call)),
            Chunk::Usage(usage) => self.usage = Some(usage),
            Chunk::Stop(reason) => self.stop = Some(reason),
        }
        None
    }

    fn append_text(&mut self, more: &str) {
        if let Some(Block::Text { text }) = self.blocks.last_mut() {
            text.push_str(more);
        } else {
            self.blocks.push(Block::Text { text: more.to_owned() });
        }
    }

    fn append_reasoning(&mut self, more: &str) {
        if let Some(Block::Reasoning { text, signature: None }) = self.blocks.last_mut() {
            text.push_str(more);
        } else {
            self.blocks.push(Block::Reasoning { text: more.to_owned(), signature: None });
        }
    }

    fn sign(&mut self, seal: String) {
        if let Some(Block::Reasoning { signature: open @ None, .. }) = self.blocks.last_mut() {
            *open = Some(seal);
        } else {
            self.blocks.push(Block::Reasoning { text: String::new(), signature: Some(seal) });
        }
    }

    /// Usage for an answer whose provider told none.
    fn estimate(&self, prompt_tokens: u64) -> Usage {
        Usage {
            input_tokens: prompt_tokens,
            output_tokens: self.blocks.iter().map(Block::estimated_tokens).sum::<u64>()
                + self.late_tokens,
            estimated: true,
            ..Usage::default()
        }
    }

    fn into_message(self, shared: &RunShared, interrupted: bool) -> AssistantMessage {
        let identity = shared.provider.identity();
        AssistantMessage {
            blocks: self.blocks,
            provider: identity.provider.clone(),
            model: identity.model.clone(),
            stop_reason: if interrupted { None } else { self.stop },
            interrupted,
        }
    }
}
