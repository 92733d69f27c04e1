//! The places of the system that every command may read: programs, libraries, settings that are meant
//! for everybody. It knows how systems are laid out and nothing of a project or a person.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Programs, libraries and what they are told by the system. What is not there is passed over.
const PLACES: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/run/current-system",
    "/gnu/store",
    "/snap",
    "/home/linuxbrew/.linuxbrew",
    "/proc",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    // A link to somewhere else on most systems, which the grant follows.
    "/etc/resolv.conf",
    "/etc/localtime",
];

/// How deep the settings are looked into for what is not meant for everybody.
const DEEPEST: usize = 4;

/// The system's places that exist here. Of `/etc` only what everybody may read: a command that runs as
/// root would own the rest. Looked up once.
pub fn system() -> Vec<PathBuf> {
    static FOUND: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let mut found: Vec<PathBuf> =
                PLACES.iter().map(PathBuf::from).filter(|place| place.exists()).collect();
            found.extend(for_everybody(Path::new("/etc")));
            found
        })
        .clone()
}

/// The folder itself if everybody may read all of it, else the parts of which that is true.
fn for_everybody(folder: &Path) -> Vec<PathBuf> {
    match look(folder, DEEPEST) {
        Seen::Open => vec![folder.to_owned()],
        Seen::Parts(parts) => parts,
        Seen::Closed | Seen::Link => Vec::new(),
    }
}

/// What there is to read at a path.
enum Seen {
    /// Everything.
    Open,
    /// These paths below it.
    Parts(Vec<PathBuf>),
    /// Nothing.
    Closed,
    /// What a link leads to, which the folder that holds the link neither grants nor hides.
    Link,
}

fn look(path: &Path, depth: usize) -> Seen {
    let Ok(about) = fs::symlink_metadata(path) else { return Seen::Closed };
    if about.is_symlink() {
        return Seen::Link;
    }
    if !about.is_dir() {
        return if about.mode() & 0o004 != 0 { Seen::Open } else { Seen::Closed };
    }
    if about.mode() & 0o005 != 0o005 || depth == 0 {
        return Seen::Closed;
    }
    let Ok(entries) = fs::read_dir(path) else { return Seen::Closed };
    look_into(entries.filter_map(Result::ok).map(|entry| entry.path()), depth - 1)
}

fn look_into(entries: impl Iterator<Item = PathBuf>, depth: usize) -> Seen {
    let mut all_open = true;
    let mut parts = Vec::new();
    for entry in entries {
        match look(&entry, depth) {
            Seen::Open => parts.push(entry),
            Seen::Link => {}
            Seen::Parts(deeper) => {
                all_open = false;
                parts.extend(deeper);
            }
            Seen::Closed => all_open = false,
        }
    }
    if all_open { Seen::Open } else { Seen::Parts(parts) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn file(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn named(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = for_everybody(folder)
            .iter()
            .map(|path| path.strip_prefix(folder).unwrap().display().to_string())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn settings_that_are_not_for_everybody_are_left_out_and_the_rest_stays() {
        let etc = tempfile::tempdir().unwrap();
        fs::set_permissions(etc.path(), fs::Permissions::from_mode(0o755)).unwrap();
        file(&etc.path().join("passwd"), 0o644);
        file(&etc.path().join("fonts/conf"), 0o644);
        assert_eq!(named(etc.path()), [""], "all of it may be read");

        file(&etc.path().join("shadow"), 0o640);
        file(&etc.path().join("ssh/host_key"), 0o600);
        file(&etc.path().join("ssh/host_key.pub"), 0o644);
        symlink("shadow", etc.path().join("link")).unwrap();
        assert_eq!(named(etc.path()), ["fonts", "passwd", "ssh/host_key.pub"]);
    }
}
