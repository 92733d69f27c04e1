//! Before the spending: whether the next request may be a normal turn, must be the wrap-up, or
//! cannot be afforded at all. Pure arithmetic over what the ledger says is left.
