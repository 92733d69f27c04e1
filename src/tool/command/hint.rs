//! Why a command may have failed: where its last words sound like the fence, the fence is named.

use super::execute::Execution;

/// Words of a program that was not let, in lower case.
const NOT_LET: [&str; 8] = [
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "network is unreachable",
    "could not resolve",
    "temporary failure in name resolution",
    "eacces",
    "eperm",
];
/// Characters of the output's end that are looked at.
const LOOKED_AT: usize = 4_000;

/// What there is to say about the fence, for a command that failed.
pub fn of(done: &Execution) -> Vec<String> {
    if done.succeeded() || !sounds_fenced(&done.output.text) {
        return Vec::new();
    }
    vec![format!(
        "commands here are {}: they may change the run's part of the workspace, read the system and \
         the toolchains, and reach nothing else",
        done.ended.fence
    )]
}

fn sounds_fenced(text: &str) -> bool {
    let skipped = text.chars().count().saturating_sub(LOOKED_AT);
    let end: String = text.chars().skip(skipped).collect::<String>().to_lowercase();
    NOT_LET.iter().any(|words| end.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_system_are_told_from_others() {
        assert!(sounds_fenced("cp: cannot create '/etc/x': Permission denied"));
        assert!(sounds_fenced("Error: listen EPERM: operation not permitted 127.0.0.1"));
        assert!(!sounds_fenced("error[E0425]: cannot find value"));
        let early = format!("Permission denied\n{}", "x\n".repeat(LOOKED_AT));
        assert!(!sounds_fenced(&early));
    }
}
