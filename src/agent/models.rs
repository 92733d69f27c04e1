//! On which model a child runs: its parent's, or one of its role's. What its contract says is what its
//! requests go to; a model that cannot be reached is a refusal, never silently another one.

use std::sync::Arc;

use super::run::RunShared;
use crate::domain::budget::{Dimension, Limit};
use crate::domain::contract::Contract;
use crate::domain::grant::Endpoint;
use crate::domain::request::TaskRequest;
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

/// Who answers a child with this contract. Where nobody asked for a bound on the cost and the price
/// of its model is not known, the bound that it got by default is off.
pub(super) fn for_child(
    parent: &RunShared,
    contract: Contract,
    request: &TaskRequest,
) -> Result<(Contract, Arc<dyn Provider>), Refusal> {
    if contract.model() == parent.provider.identity().model {
        return Ok((contract, Arc::clone(&parent.provider)));
    }
    let provider = another(parent, contract.model())?;
    let bounded = contract.budget()[Dimension::CostUsd] != Limit::Off;
    if provider.identity().prices.is_some() || !bounded {
        return Ok((contract, provider));
    }
    let asked = request.budget.is_some_and(|budget| budget.cost_usd.is_some());
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
fn another(parent: &RunShared, model: &str) -> Result<Arc<dyn Provider>, Refusal> {
    let refused = |why| refused(Code::InvalidTask, "model", why);
    let Some(switch) = &parent.tree.switch else {
        let why = format!("{} has no model but its own", parent.provider.identity().provider);
        return Err(refused(why));
    };
    let provider = switch(model).map_err(refused)?;
    if !provider.identity().local && parent.provider.identity().local {
        let why = format!("{model} is not on this machine, and its parent's model is");
        return Err(refused(why));
    }
    Ok(provider)
}

fn refused(code: Code, field: &str, why: String) -> Refusal {
    Refusal::because(Violation::new(code, field, why))
}
