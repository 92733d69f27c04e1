//! How well commands are fenced on this system, what is missing, and what would give it. The level is
//! found by trying; what to do about it is guessed from what the system says of itself.

use std::path::Path;

use crate::domain::fence::{Fence, FenceLevel};
use crate::sandbox::{Sandbox, SandboxSettings};

use super::finding::{Finding, Section};

/// Sends a canary into the fence. Takes a few milliseconds, and four seconds where the system is
/// stuck.
pub async fn examine() -> Section {
    let sandbox = Sandbox::new(SandboxSettings::bare("/proc/self/exe"));
    let fence = sandbox.fence().await;
    sandbox.close().await;
    let looking = tokio::task::spawn_blocking(Facts::here).await;
    let nothing_known = || Facts { linux: cfg!(target_os = "linux"), ..Facts::default() };
    Section::new("fence", findings(&fence, &looking.unwrap_or_else(|_| nothing_known())))
}

/// What the system says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Facts {
    linux: bool,
    root: bool,
    in_container: bool,
    /// `AppArmor` keeps users without powers from namespaces, as on Ubuntu from 23.10 on.
    apparmor_restricts: bool,
    /// A sysctl keeps them from it, as on older Debian and hardened kernels.
    namespaces_off: bool,
    /// The security modules that are on, if the system tells.
    modules: Option<String>,
    /// The kernel's release.
    kernel: String,
}

impl Facts {
    /// Blocks.
    fn here() -> Self {
        let read = |path: &str| {
            std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
        };
        let modules = read("/sys/kernel/security/lsm");
        Self {
            linux: cfg!(target_os = "linux"),
            root: rustix::process::geteuid().is_root(),
            in_container: ["/.dockerenv", "/run/.containerenv"]
                .iter()
                .any(|mark| Path::new(mark).exists()),
            apparmor_restricts: read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
                == "1",
            namespaces_off: read("/proc/sys/kernel/unprivileged_userns_clone") == "0"
                || read("/proc/sys/user/max_user_namespaces") == "0",
            modules: (!modules.is_empty()).then_some(modules),
            kernel: read("/proc/sys/kernel/osrelease"),
        }
    }
}

fn findings(fence: &Fence, facts: &Facts) -> Vec<Finding> {
    let mut found = vec![level(fence)];
    if !facts.linux {
        found.push(Finding::note(
            "only Linux has what the fence is built of; for fenced commands run offshoot in a Linux \
             container or virtual machine",
        ));
        return found;
    }
    if is_missing(fence, "files") || is_missing(fence, "signals") {
        found.push(Finding::note(landlock(fence, facts)));
    }
    if is_missing(fence, "network") || is_missing(fence, "local sockets") {
        found.push(Finding::note(
            "system calls are not filtered: the kernel needs seccomp (CONFIG_SECCOMP_FILTER), and \
             the processor has to be x86-64, aarch64 or riscv64",
        ));
    }
    if is_missing(fence, "powers") {
        found.push(Finding::note("root's powers could not be dropped; run offshoot as a user"));
    }
    if fence.level != FenceLevel::Unfenced && !fence.loopback {
        found.push(Finding::note(namespaces(facts)));
    }
    found
}

fn is_missing(fence: &Fence, what: &str) -> bool {
    fence.missing.iter().any(|missing| missing.contains(what))
}

fn level(fence: &Fence) -> Finding {
    let missing = fence.missing.join(", ");
    match (fence.level, fence.loopback) {
        (FenceLevel::Fenced, true) => Finding::fine(
            "fenced: commands change only what they were allowed, reach no network, and have a \
             loopback of their own",
        ),
        (FenceLevel::Fenced, false) => Finding::fine(
            "fenced: commands change only what they were allowed and reach no network, 127.0.0.1 \
             included",
        ),
        (FenceLevel::Partial, _) => Finding::note(format!(
            "partial: {missing}; what is missing holds for every command that is allowed"
        )),
        (FenceLevel::Unfenced, _) => Finding::note(format!(
            "unfenced: {missing}; a command that is allowed can do whatever this user can"
        )),
    }
}

fn landlock(fence: &Fence, facts: &Facts) -> String {
    let listed = facts.modules.as_ref().is_some_and(|modules| modules.contains("landlock"));
    if !is_missing(fence, "files") {
        return format!(
            "the kernel's Landlock is too old to hold back signals; Linux 6.12 or newer does (this \
             is {})",
            facts.kernel
        );
    }
    match (&facts.modules, listed) {
        (Some(modules), false) => format!(
            "Landlock is not on; add it to the kernel's command line: lsm=landlock,{modules}"
        ),
        (_, true) if facts.in_container => {
            "Landlock is on but cannot be used here; the container's profile has to allow its system \
             calls (Docker 20.10.10 or newer does by default)"
                .to_owned()
        }
        _ => format!(
            "files are held by Landlock, which needs Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK \
             (this is {}{})",
            facts.kernel,
            if facts.in_container { ", in a container; gVisor has none" } else { "" }
        ),
    }
}

fn namespaces(facts: &Facts) -> String {
    let why = "tests that open a server on 127.0.0.1 or use /dev/shm fail inside";
    let what = if facts.in_container {
        "the container's profile refuses namespaces; with Docker, run it with a seccomp profile that \
         allows unshare and mount, or with --security-opt seccomp=unconfined"
    } else if facts.apparmor_restricts && !facts.root {
        "AppArmor refuses namespaces to users; give offshoot a profile with `userns,`, or set \
         kernel.apparmor_restrict_unprivileged_userns=0"
    } else if facts.namespaces_off {
        "namespaces are off; set user.max_user_namespaces above 0 and \
         kernel.unprivileged_userns_clone=1, where there is one"
    } else {
        "this system refuses namespaces; if offshoot runs inside another sandbox, that is why"
    };
    format!("{why}: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fence(level: FenceLevel, loopback: bool, missing: &[&str]) -> Fence {
        let missing = missing.iter().map(|&it| it.to_owned()).collect();
        Fence { level, loopback, missing, network_open: false }
    }

    #[test]
    fn each_lack_is_named_with_what_to_do_about_it() {
        use FenceLevel::{Fenced, Partial, Unfenced};
        let linux = Facts { linux: true, kernel: "5.4.0".to_owned(), ..Facts::default() };
        let container = Facts { in_container: true, ..linux.clone() };
        let ubuntu = Facts { apparmor_restricts: true, ..linux.clone() };
        let debian = Facts { namespaces_off: true, ..linux.clone() };
        let unlisted = Facts { modules: Some("capability,yama".to_owned()), ..linux.clone() };
        let files = fence(Partial, true, &["files not fenced"]);
        let table: &[(Fence, &Facts, &[&str])] = &[
            (fence(Fenced, true, &[]), &linux, &["fenced: "]),
            (fence(Fenced, false, &[]), &container, &["fenced: ", "Docker"]),
            (fence(Fenced, false, &[]), &ubuntu, &["fenced: ", "apparmor_restrict"]),
            (fence(Fenced, false, &[]), &debian, &["fenced: ", "max_user_namespaces"]),
            (fence(Fenced, false, &[]), &linux, &["fenced: ", "another sandbox"]),
            (files.clone(), &linux, &["partial: files not fenced", "5.13"]),
            (files, &unlisted, &["partial: files", "lsm=landlock,capability,yama"]),
            (fence(Partial, true, &["signals not fenced"]), &linux, &["partial: signals", "6.12"]),
            (fence(Unfenced, false, &["x"]), &Facts::default(), &["unfenced: x", "only Linux"]),
        ];
        for (fence, facts, words) in table {
            let found = findings(fence, facts);
            assert_eq!(found.len(), words.len(), "{fence}: {found:?}");
            for (finding, words) in found.iter().zip(*words) {
                assert!(finding.text().contains(words), "{words}: {finding:?}");
                assert!(!finding.is_broken(), "offshoot can be used without");
            }
        }
    }
}
