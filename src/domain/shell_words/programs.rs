//! What the first word of a command says of the words behind it: whether it runs another command, and
//! which. It knows names only; a program of another name may do the same.

/// Programs that run the command that stands in their arguments.
const WRAPPERS: [&str; 21] = [
    "builtin", "busybox", "chroot", "command", "doas", "env", "exec", "find", "ionice", "nice",
    "nohup", "parallel", "pkexec", "setsid", "stdbuf", "su", "sudo", "time", "timeout", "unshare",
    "xargs",
];
/// Programs that run a text given to them, or a file.
const SHELLS: [&str; 7] = ["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];
/// What a shell does with a text or a file that it is given by name.
const OF_THE_SHELL: [&str; 3] = [".", "eval", "source"];

/// The name of a program without its folders.
pub fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// True for `NAME=value` and `NAME+=value`, which a shell takes as a variable of the command behind
/// it; also for names that only some shells take, since whoever passes over such a word looks at more.
pub fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty() && name.chars().all(|c| c == '_' || c.is_alphanumeric())
    })
}

/// The words of a command without the variables before it.
pub fn without_assignments(words: &[String]) -> &[String] {
    words.get(words.iter().take_while(|word| is_assignment(word)).count()..).unwrap_or_default()
}

/// True if a program of this base name runs the command in its arguments.
pub fn is_wrapper(name: &str) -> bool {
    WRAPPERS.contains(&name)
}

/// True if a program of this base name is a shell.
pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// True if what happens is said by the words behind this one, in whichever way.
pub fn runs_others(name: &str) -> bool {
    is_wrapper(name) || is_shell(name) || OF_THE_SHELL.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_before_a_command_are_passed_over() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (text, rest) in [
            ("A=1 _b2= C+=x git push", "git push"),
            ("git A=1", "git A=1"),
            ("-o=1 git", "-o=1 git"),
            ("=x git", "=x git"),
        ] {
            assert_eq!(without_assignments(&words(text)), words(rest), "{text}");
        }
    }

    #[test]
    fn programs_that_run_others_are_known_without_their_folders() {
        for word in ["/usr/bin/env", "sudo", "/bin/bash", "eval", ".", "xargs", "find"] {
            assert!(runs_others(base_name(word)), "{word}");
        }
        for word in ["git", "environment", "./sh.py", ""] {
            assert!(!runs_others(base_name(word)), "{word}");
        }
    }
}
