//! Keeps what a run is made of off the stack. A child runs inside of its parent's call, and so does its
//! own child: what each level leaves on the stack of the one thread that polls them all adds up.

use std::pin::Pin;

/// Makes a future where only a pointer to it stands on its caller's stack.
#[inline(never)]
pub(super) fn apart<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}
