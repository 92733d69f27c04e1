//! On which model a child runs: its parent's, or one of its role's. What its contract says is what its
//! requests go to; a model that cannot be reached is a refusal, never silently another one.

use std::sync::Arc;

use super::cancel::CancelScope;
use super::run::RunShared;
use crate::domain::budget::{Dimension, Limit};
use crate::domain::contract::Contract;
use crate::domain::grant::Endpoint;
use crate::domain::violation::{Code, Refusal, Violation};
use crate::provider::Provider;

/// Who would answer a child of this run that names no model.
pub(super) fn endpoint(parent: &RunShared) -> Endpoint {
    let identity = parent.provider.identity();
    Endpoint {
        provider: identity.provider.clone(),
        model: identity.model.clone(),
        local: identity.local,
        priced: identity.prices.is_some(),
    }
}

/// Who answers a child with this contract. A server that has to be asked about its model first is
/// asked; that ends early if the child is cancelled.
pub(super) async fn for_child(
    parent: &RunShared,
    contract: &Contract,
    scope: &CancelScope,
) -> Result<Arc<dyn Provider>, Refusal> {
    let model = contract.model();
    if model == parent.provider.identity().model {
        return Ok(Arc::clone(&parent.provider));
    }
    let refused = |code, why: String| {
        let field = if code == Code::InvalidBudget { "budget.cost_usd" } else { "model" };
        Refusal::because(Violation::new(code, field, why))
    };
    let Some(switch) = &parent.tree.switch else {
        let why = format!("{} has no model but its own", parent.provider.identity().provider);
        return Err(refused(Code::InvalidTask, why));
    };
    let provider = switch(model).map_err(|why| refused(Code::InvalidTask, why))?;
    match scope.race(provider.learn()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(refused(Code::InvalidTask, error.to_string())),
        Err(_) => return Err(refused(Code::Cancelled, "cancelled before it started".to_owned())),
    }
    let identity = provider.identity();
    if identity.prices.is_none() && contract.budget()[Dimension::CostUsd] != Limit::Off {
        let why =
            format!("the price of {model} is not known, so its cost cannot be held to a limit");
        return Err(refused(Code::InvalidBudget, why));
    }
    if !identity.local && parent.provider.identity().local {
        let why = format!("{model} is not on this machine, and its parent's model is");
        return Err(refused(Code::InvalidTask, why));
    }
    Ok(provider)
}
