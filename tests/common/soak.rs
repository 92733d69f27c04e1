//! The long form of the tests: `OFFSHOOT_SOAK=1`, on a machine that has nothing else to do.

/// True for the long form.
pub fn soak() -> bool {
    std::env::var_os("OFFSHOOT_SOAK").is_some_and(|value| value == "1")
}

/// Rounds of a long test: few by default, all of them in the long form.
pub fn rounds(few: u32, all: u32) -> u32 {
    if soak() { all } else { few }
}
