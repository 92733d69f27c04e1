//! Names of signals, for a reader.

/// The signals that commands die of, by their numbers on Linux.
const NAMES: [(i32, &str); 15] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (24, "SIGXCPU"),
    (31, "SIGSYS"),
];

/// `signal 9 (SIGKILL)`.
pub fn in_words(number: i32) -> String {
    match name(number) {
        Some(name) => format!("signal {number} ({name})"),
        None => format!("signal {number}"),
    }
}

/// The signal behind an exit code above 128, by which shells tell that a command died of one.
pub fn of_shell_code(code: i32) -> Option<String> {
    let number = code.checked_sub(128)?;
    name(number).map(|_| in_words(number))
}

fn name(number: i32) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_names() {
        assert_eq!(in_words(9), "signal 9 (SIGKILL)");
        assert_eq!(in_words(40), "signal 40");
        assert_eq!(of_shell_code(137).as_deref(), Some("signal 9 (SIGKILL)"));
        assert_eq!(of_shell_code(1), None);
        assert_eq!(of_shell_code(255), None);
        assert_eq!(of_shell_code(i32::MIN), None);
    }
}
