//! On which model a child runs: its parent's, or one of its role's. What its contract says is what its
//! requests go to; a model that cannot be reached is a refusal, never silently another one.

use std::sync::Arc;

use super::cancel::CancelScope;
use super::delegate::Ticket;
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
/// asked; that ends early if the child is cancelled. Where nobody asked for a bound on the cost and
/// the price of its model is not known, the bound that it got by default is off.
pub(super) async fn for_child(
    parent: &RunShared,
    contract: Contract,
    ticket: &Ticket,
) -> Result<(Contract, Arc<dyn Provider>), Refusal> {
    if contract.model() == parent.provider.identity().model {
        return Ok((contract, Arc::clone(&parent.provider)));
    }
    let provider = another(parent, contract.model(), &ticket.scope).await?;
    let bounded = contract.budget()[Dimension::CostUsd] != Limit::Off;
    if provider.identity().prices.is_some() || !bounded {
        return Ok((contract, provider));
    }
    let asked = ticket.request.budget.is_some_and(|budget| budget.cost_usd.is_some());
    if asked || parent.tree.cost_must_hold {
        let whose = if asked { "its cost" } else { "the cost of this session" };
        let model = contract.model();
        let why = format!(
            "the price of {model} is not known, so {whose} cannot be held to its limit; ask for \
             another model"
        );
        return Err(refused(Code::InvalidBudget, "budget.cost_usd", why));
    }
    Ok((contract.without_cost(), provider))
}

/// Makes the provider of another model than the parent's.
async fn another(
    parent: &RunShared,
    model: &str,
    scope: &CancelScope,
) -> Result<Arc<dyn Provider>, Refusal> {
    let refused = |why| refused(Code::InvalidTask, "model", why);
    let Some(switch) = &parent.tree.switch else {
        let why = format!("{} has no model but its own", parent.provider.identity().provider);
        return Err(refused(why));
    };
    let provider = switch(model).map_err(refused)?;
    match scope.race(provider.learn()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(refused(error.to_string())),
        Err(_) => {
            let why = "cancelled before it started".to_owned();
            return Err(self::refused(Code::Cancelled, "model", why));
        }
    }
    if !provider.identity().local && parent.provider.identity().local {
        let why = format!("{model} is not on this machine, and its parent's model is");
        return Err(refused(why));
    }
    Ok(provider)
}

fn refused(code: Code, field: &str, why: String) -> Refusal {
    Refusal::because(Violation::new(code, field, why))
}
