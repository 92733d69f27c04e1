//! What a request and its answer weigh where no server counts tokens. It knows texts, not budgets.

use crate::domain::message::ToolSchema;
use crate::domain::usage::{Prices, Usage, estimate_tokens};

use super::Request;

/// The estimated usage of `request` and the text it was answered with. A server never bills more
/// output than the request allowed, so neither does this.
pub fn usage(request: &Request, answer: &str, prices: Option<Prices>) -> Usage {
    let input_tokens = prompt_tokens(request);
    let output_tokens = estimate_tokens(answer).clamp(1, request.max_tokens.max(1));
    Usage {
        input_tokens,
        output_tokens,
        cost_usd: prices.map(|prices| prices.cost(input_tokens, output_tokens)),
        estimated: true,
        ..Usage::default()
    }
}

/// The estimated tokens of the whole prompt: instructions, tools and conversation.
pub fn prompt_tokens(request: &Request) -> u64 {
    let tools = request.tools.iter().map(ToolSchema::estimated_tokens);
    let messages = request.messages.iter().map(|message| message.estimated_tokens());
    estimate_tokens(&request.system) + tools.sum::<u64>() + messages.sum::<u64>()
}
