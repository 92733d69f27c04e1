//! How a command ended, told from the result of the call that ran it: what it wrote stands first, then
//! what the runtime says of it, each sentence in parentheses on a line of its own.

/// The end of a command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandEnd<'a> {
    /// Its exit code.
    pub exit_code: i32,
    /// The command, where the call did not name it.
    pub command: Option<&'a str>,
    /// The last line that it wrote with something in it.
    pub last_line: Option<&'a str>,
}

impl<'a> CommandEnd<'a> {
    /// Reads it; `None` for another tool's result, and for a command that never ran or was ended.
    pub fn of(tool: &str, output: &'a str) -> Option<Self> {
        if !matches!(tool, "bash" | "run_tests" | super::OWN_COMMAND) {
            return None;
        }
        let mut lines = output.trim_end().lines().rev();
        let mut command = None;
        let exit_code = lines.by_ref().find_map(|line| {
            let sentence = line.strip_prefix('(')?.strip_suffix(')').unwrap_or(line);
            if let Some(named) = sentence.strip_prefix("command: ") {
                command = Some(named);
            }
            let code = sentence.strip_prefix("exit code ")?;
            code.split(':').next()?.trim().parse().ok()
        })?;
        let last_line = lines.map(str::trim).find(|line| !line.is_empty());
        let last_line = last_line.filter(|line| *line != "(no output)");
        Some(Self { exit_code, command, last_line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_read_from_what_the_runtime_wrote_and_not_from_the_output() {
        let output = "(exit code 0)\ntest a ... FAILED\n\n(exit code 101)\n(command: cargo test)\n\
                      (tests: 0 passed, 1 failed)";
        let end = CommandEnd {
            exit_code: 101,
            command: Some("cargo test"),
            last_line: Some("test a ... FAILED"),
        };
        assert_eq!(CommandEnd::of("run_tests", output), Some(end));
        let silent = CommandEnd { exit_code: 137, command: None, last_line: None };
        let output = "(no output)\n(exit code 137: ended by SIGKILL)";
        assert_eq!(CommandEnd::of("bash", output), Some(silent));
        assert_eq!(CommandEnd::of("read_file", "(exit code 1)"), None);
        assert_eq!(CommandEnd::of("bash", "not run: no such folder"), None);
    }
}
