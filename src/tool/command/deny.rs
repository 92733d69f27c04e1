//! The deny-list: a last, named guard against a handful of commands that nobody means. It looks at
//! parsed words and is easily got round on purpose; what holds a command is the fence.

use std::fmt;

use crate::domain::shell_words::programs::{base_name, is_shell, is_wrapper, without_assignments};
use crate::domain::shell_words::{Parsed, command_words};

/// Commands inside of commands that are still looked into.
const MAX_DEPTH: usize = 4;
/// Devices that output may be redirected to.
const HARMLESS_DEVICES: [&str; 6] = ["null", "zero", "stdout", "stderr", "fd", "tty"];
/// Options of `find` with a command behind them.
const RUNNING_OPTIONS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// What is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Removing the root of the file system, or everything in it.
    RemoveRoot,
    /// Becoming another user.
    Privilege,
    /// Ending the machine.
    Power,
    /// Making a file system.
    MakeFilesystem,
    /// Writing to a device.
    DeviceRedirect,
}

impl Rule {
    /// Its name in a refusal.
    pub fn name(self) -> &'static str {
        match self {
            Self::RemoveRoot => "remove-root",
            Self::Privilege => "privilege",
            Self::Power => "power",
            Self::MakeFilesystem => "make-filesystem",
            Self::DeviceRedirect => "device-redirect",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::RemoveRoot => "it would remove `/` itself or everything in it",
            Self::Privilege => "it would run something as another user",
            Self::Power => "it would shut down or restart the machine",
            Self::MakeFilesystem => "it would make a file system",
            Self::DeviceRedirect => {
                "it redirects to a device other than /dev/null, zero, stdout, stderr, fd and tty"
            }
        }
    }
}

/// A refused command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// By which rule.
    pub rule: Rule,
    /// The word or file that it is about.
    pub culprit: String,
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let culprit = crate::workspace::path::printable(&self.culprit);
        write!(
            f,
            "not run: the deny-list's rule {} refuses `{culprit}`: {}. Nobody can allow it from \
             here; do without it",
            self.rule.name(),
            self.rule.what()
        )
    }
}

/// Looks a command over.
pub fn check(command: &str) -> Result<(), Denied> {
    check_parsed(&command_words(command), 0)
}

fn check_parsed(parsed: &Parsed, depth: usize) -> Result<(), Denied> {
    for file in &parsed.writes {
        if is_device(file) {
            return Err(Denied { rule: Rule::DeviceRedirect, culprit: file.clone() });
        }
    }
    parsed.parts.iter().try_for_each(|words| check_words(words, depth))
}

fn check_words(words: &[String], depth: usize) -> Result<(), Denied> {
    let Some((first, arguments)) = without_assignments(words).split_first() else {
        return Ok(());
    };
    let name = base_name(first);
    if let Some(rule) = rule_of(name, arguments) {
        return Err(Denied { rule, culprit: first.clone() });
    }
    if depth >= MAX_DEPTH {
        return Ok(());
    }
    if name == "find" {
        return behind_find(arguments).try_for_each(|words| check_words(words, depth + 1));
    }
    if is_wrapper(name) {
        return behind_options(arguments).try_for_each(|words| check_words(words, depth + 1));
    }
    match inner_text(name, arguments) {
        Some(text) => check_parsed(&command_words(&text), depth + 1),
        None => Ok(()),
    }
}

fn rule_of(name: &str, arguments: &[String]) -> Option<Rule> {
    match name {
        "rm" => removes_root(arguments).then_some(Rule::RemoveRoot),
        "sudo" | "doas" | "pkexec" => Some(Rule::Privilege),
        "shutdown" | "reboot" | "halt" | "poweroff" => Some(Rule::Power),
        "systemctl" => {
            let power = |word: &String| matches!(word.as_str(), "reboot" | "halt" | "poweroff");
            arguments.iter().any(power).then_some(Rule::Power)
        }
        "mkfs" => Some(Rule::MakeFilesystem),
        name if name.starts_with("mkfs.") => Some(Rule::MakeFilesystem),
        _ => None,
    }
}

/// Where the command of a wrapper may begin: at each word that is no option of the wrapper's, up to
/// the first one that is no value either. Options differ too much to know which take a value.
fn behind_options(arguments: &[String]) -> impl Iterator<Item = &[String]> {
    let candidates = arguments.iter().enumerate().filter(|(_, word)| !word.starts_with('-'));
    candidates.take(3).filter_map(|(at, _)| arguments.get(at..))
}

/// The commands that `find` runs. Its other words are names, which may be those of any program.
fn behind_find(arguments: &[String]) -> impl Iterator<Item = &[String]> {
    let options = arguments.iter().enumerate();
    let options = options.filter(|(_, word)| RUNNING_OPTIONS.contains(&word.as_str()));
    options.filter_map(|(at, _)| arguments.get(at + 1..))
}

/// The text that a shell is given to run.
fn inner_text(name: &str, arguments: &[String]) -> Option<String> {
    if name == "eval" {
        return Some(arguments.join(" "));
    }
    if !is_shell(name) {
        return None;
    }
    let is_command =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let at = arguments.iter().position(is_command)?;
    arguments.get(at + 1).cloned()
}

fn removes_root(arguments: &[String]) -> bool {
    let mut recursive = false;
    let mut root = false;
    let mut only_operands = false;
    for word in arguments {
        match word.as_str() {
            word if only_operands || !word.starts_with('-') => root |= is_root(word),
            "--" => only_operands = true,
            "--recursive" | "--no-preserve-root" => recursive = true,
            long if long.starts_with("--") => {}
            short => recursive |= short.contains(['r', 'R']),
        }
    }
    recursive && root
}

/// True for `/` in any spelling, and for globs that match everything in it.
fn is_root(operand: &str) -> bool {
    operand.starts_with('/')
        && components(operand)
            .iter()
            .all(|name| !name.is_empty() && name.chars().all(|c| "*?.[]!{},".contains(c)))
}

fn is_device(file: &str) -> bool {
    let names = components(file);
    let below = file.starts_with('/') && names.first() == Some(&"dev");
    below && names.get(1).is_some_and(|name| !HARMLESS_DEVICES.contains(name))
}

/// The names of a path, `.` and `..` undone.
fn components(path: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_nobody_means_is_refused_by_the_name_of_its_rule() {
        let table = [
            ("rm -rf /", Rule::RemoveRoot),
            ("rm -r /", Rule::RemoveRoot),
            ("rm -Rf //", Rule::RemoveRoot),
            ("rm / -fr", Rule::RemoveRoot),
            ("rm --recursive --force -- /", Rule::RemoveRoot),
            ("rm -rf --no-preserve-root /", Rule::RemoveRoot),
            ("rm -rf /*", Rule::RemoveRoot),
            ("rm -rf '/'", Rule::RemoveRoot),
            ("rm -rf /.* /*", Rule::RemoveRoot),
            ("rm -rf /tmp/..", Rule::RemoveRoot),
            ("rm -rf /./", Rule::RemoveRoot),
            ("rm -rf build /", Rule::RemoveRoot),
            ("/bin/rm -rf /", Rule::RemoveRoot),
            ("\\rm -rf /", Rule::RemoveRoot),
            ("cd x && rm -rf / ; ls", Rule::RemoveRoot),
            ("A=1 rm -rf /", Rule::RemoveRoot),
            ("echo $(rm -rf /)", Rule::RemoveRoot),
            ("sh -c 'rm -rf /'", Rule::RemoveRoot),
            ("bash -lc \"rm -rf /*\"", Rule::RemoveRoot),
            ("eval rm -rf /", Rule::RemoveRoot),
            ("fish -c 'rm -rf /'", Rule::RemoveRoot),
            ("find . -name x -exec rm -rf / \\;", Rule::RemoveRoot),
            ("parallel sudo ls", Rule::Privilege),
            ("A+=1 sudo ls", Rule::Privilege),
            ("ls | xargs -n 1 rm -rf /", Rule::RemoveRoot),
            ("sudo ls", Rule::Privilege),
            ("ls; sudo -u root ls", Rule::Privilege),
            ("/usr/bin/sudo ls", Rule::Privilege),
            ("env A=1 sudo ls", Rule::Privilege),
            ("nohup sudo ls &", Rule::Privilege),
            ("timeout 5 sudo ls", Rule::Privilege),
            ("if true; then sudo ls; fi", Rule::Privilege),
            ("doas ls", Rule::Privilege),
            ("s'u'do ls", Rule::Privilege),
            ("shutdown -h now", Rule::Power),
            ("reboot", Rule::Power),
            ("(poweroff)", Rule::Power),
            ("systemctl reboot", Rule::Power),
            ("mkfs.ext4 disk.img", Rule::MakeFilesystem),
            ("mkfs -t ext4 x", Rule::MakeFilesystem),
            ("echo x > /dev/sda", Rule::DeviceRedirect),
            ("echo x >>/dev/nvme0n1", Rule::DeviceRedirect),
            ("echo x > /tmp/../dev/sda", Rule::DeviceRedirect),
            ("echo x &> //dev//mem", Rule::DeviceRedirect),
            ("exec 3<> /dev/tcp/1.2.3.4/80", Rule::DeviceRedirect),
        ];
        for (command, rule) in table {
            let denied = check(command).expect_err(command);
            assert_eq!(denied.rule, rule, "{command}");
            assert!(denied.to_string().contains(rule.name()), "{denied}");
        }
    }

    #[test]
    fn near_misses_are_let_through() {
        for command in [
            "rm -rf /tmp/x",
            "rm -rf ./*",
            "rm -rf *",
            "rm -rf .",
            "rm -rf build/",
            "rm /",
            "rm -f /*.log",
            "rm -rf /tmp/*",
            "rm -rf /t*",
            "rm -rf a/../b",
            "rm -rf -- '-r'",
            "echo 'rm -rf /'",
            "echo rm -rf /",
            "grep sudo README.md",
            "find / -name sudo",
            "find . -name x -exec grep sudo {} +",
            "echo sudo",
            "cat sudo.txt",
            "./sudo-test",
            "npm run reboot",
            "git commit -m 'shutdown the server > /dev/sda'",
            "cat <<EOF > README\nsudo apt install x\nEOF",
            "ls # sudo rm -rf /",
            "systemctl status",
            "make mkfs",
            "cat /dev/null",
            "echo x > /dev/null",
            "echo x >/dev/null 2>&1",
            "echo x > /dev/stderr",
            "echo x > /dev/fd/2",
            "echo x > /dev/tty",
            "cat < /dev/urandom",
            "echo x > dev/sda",
            "echo x > /devices",
            "timeout 5 cargo test",
            "bash script.sh sudo",
        ] {
            assert_eq!(check(command), Ok(()), "{command}");
        }
    }
}
