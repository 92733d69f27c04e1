//! Says what a test left out. Straight to standard error: what `eprintln!` prints, the test harness
//! keeps to itself while a test passes, and a skip that nobody sees reads as a pass.

use std::io::Write;

/// One line for whoever runs the tests.
pub fn skipped(why: &str) {
    // There is no other place to say it.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// One line with what was measured.
#[allow(dead_code, reason = "most test files measure nothing")]
pub fn told(what: &str) {
    let _ = writeln!(std::io::stderr(), "{what}");
}
