//! Where the toolchains of this user are, now that commands have a home of their own: the variables
//! that lead to them and the places that may be read for it. A place is never granted whole where a
//! tool keeps credentials beside what it built. It only looks, once; it starts nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A tool's own folder.
struct Home {
    /// The variable that leads to it.
    variable: &'static str,
    /// Where it is in the user's home otherwise; empty if nowhere.
    usual: &'static str,
    /// What of it may be read; `.` for all.
    parts: &'static [&'static str],
}

const fn home(variable: &'static str, usual: &'static str, parts: &'static [&'static str]) -> Home {
    Home { variable, usual, parts }
}

const ALL: &[&str] = &["."];

const HOMES: &[Home] = &[
    // `credentials.toml` lies beside these.
    home("CARGO_HOME", ".cargo", &["bin", "registry", "git", "config.toml", "config", "env"]),
    home("RUSTUP_HOME", ".rustup", ALL),
    home("GOPATH", "go", &["bin", "pkg", "src"]),
    home("GOROOT", "", ALL),
    home("GOMODCACHE", "", ALL),
    home("JAVA_HOME", "", ALL),
    home("JDK_HOME", "", ALL),
    home("M2_HOME", "", ALL),
    home("MAVEN_HOME", "", ALL),
    home("GRADLE_HOME", "", ALL),
    home("SDKMAN_DIR", ".sdkman", &["candidates", "bin", "etc", "libexec"]),
    home("ANDROID_HOME", "", ALL),
    home("DOTNET_ROOT", ".dotnet", ALL),
    home("VIRTUAL_ENV", "", ALL),
    home("CONDA_PREFIX", "", ALL),
    home("PYENV_ROOT", ".pyenv", &["bin", "shims", "libexec", "versions", "version"]),
    home("NVM_DIR", ".nvm", &["versions", "alias", "nvm.sh", "nvm-exec"]),
    home("VOLTA_HOME", ".volta", &["bin", "tools"]),
    home("FNM_DIR", ".local/share/fnm", ALL),
    home("BUN_INSTALL", ".bun", &["bin", "install/global"]),
    home("GEM_HOME", "", ALL),
    home("RBENV_ROOT", ".rbenv", ALL),
    home("GOENV_ROOT", ".goenv", ALL),
    home("ELAN_HOME", ".elan", ALL),
    home("ASDF_DATA_DIR", ".asdf", ALL),
    home("MISE_DATA_DIR", ".local/share/mise", ALL),
    home("OPAMROOT", ".opam", ALL),
];

/// Places in the user's home that tools reach by their path or through links in `.local/bin`.
const PLACES: &[&str] = &[
    ".local/bin",
    ".local/lib",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".local/share/pipx",
    ".local/pipx",
    ".local/share/pnpm",
    ".local/share/virtualenvs",
    ".deno/bin",
    ".rvm",
    ".jdks",
    ".juliaup",
    ".m2/repository",
    "miniconda3",
    "anaconda3",
    "miniforge3",
    ".ghcup",
];

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Toolchains {
    /// Variables that lead to it.
    pub variables: BTreeMap<String, String>,
    /// Places that may be read, canonical.
    pub readable: Vec<PathBuf>,
}

/// Looks for the toolchains that these variables and this home lead to. Blocks, for some dozen
/// questions to the file system.
pub(super) fn find(variables: &BTreeMap<String, String>, user: Option<&Path>) -> Toolchains {
    let mut found = Search { user, toolchains: Toolchains::default() };
    for home in HOMES {
        found.look_for(home, variables);
    }
    found.look_for_user_packages(variables);
    for place in PLACES {
        found.grant_in_home(place);
    }
    let path = variables.get("PATH").map(String::as_str).unwrap_or_default();
    for folder in std::env::split_paths(path) {
        found.grant_programs(&folder);
    }
    if let Some(venv) = variables.get("VIRTUAL_ENV") {
        found.grant_base_of(Path::new(venv));
    }
    found.toolchains.readable.sort();
    found.toolchains.readable.dedup();
    found.toolchains
}

struct Search<'a> {
    user: Option<&'a Path>,
    toolchains: Toolchains,
}

impl Search<'_> {
    fn look_for(&mut self, home: &Home, variables: &BTreeMap<String, String>) {
        if let Some(set) = variables.get(home.variable) {
            // GOPATH may name several.
            for folder in std::env::split_paths(set) {
                self.grant_parts(&folder, home.parts);
            }
            return;
        }
        let Some(user) = self.user.filter(|_| !home.usual.is_empty()) else { return };
        let folder = user.join(home.usual);
        if folder.is_dir()
            && let Some(text) = folder.to_str()
        {
            self.toolchains.variables.insert(home.variable.to_owned(), text.to_owned());
            self.grant_parts(&folder, home.parts);
        }
    }

    /// Packages that were installed for this user alone, which Python looks for in the home.
    fn look_for_user_packages(&mut self, variables: &BTreeMap<String, String>) {
        let Some(local) = self.user.map(|user| user.join(".local")) else { return };
        let is_set = variables.contains_key("PYTHONUSERBASE");
        let mut entries = fs::read_dir(local.join("lib")).into_iter().flatten().flatten();
        let is_there =
            entries.any(|entry| entry.file_name().to_string_lossy().starts_with("python"));
        if let (false, true, Some(text)) = (is_set, is_there, local.to_str()) {
            self.toolchains.variables.insert("PYTHONUSERBASE".to_owned(), text.to_owned());
        }
    }

    fn grant_parts(&mut self, folder: &Path, parts: &[&str]) {
        for part in parts {
            self.grant(&folder.join(part));
        }
    }

    fn grant_in_home(&mut self, place: &str) {
        if let Some(user) = self.user {
            self.grant(&user.join(place));
        }
    }

    /// A folder of programs, and what they need beside them.
    fn grant_programs(&mut self, folder: &Path) {
        let Some(above) = folder.parent().filter(|_| folder.is_absolute()) else { return };
        let is_bin = folder.file_name().is_some_and(|name| name == "bin" || name == "sbin");
        let in_home = self.user.is_some_and(|user| folder.starts_with(user));
        if is_bin && !in_home && above.parent().is_some() {
            self.grant(above);
        } else if is_bin && above.join("pyvenv.cfg").is_file() {
            self.grant(above);
            self.grant_base_of(above);
        } else {
            self.grant(folder);
        }
    }

    /// The Python that a virtual environment was made from.
    fn grant_base_of(&mut self, venv: &Path) {
        let config = fs::read_to_string(venv.join("pyvenv.cfg")).unwrap_or_default();
        let home = config.lines().filter_map(|line| line.split_once('='));
        let home = home.filter(|(name, _)| name.trim() == "home").map(|(_, value)| value.trim());
        for bin in home {
            if let Some(base) = Path::new(bin).parent() {
                self.grant(base);
            }
        }
    }

    /// Grants what is there, unless the user's home would come with it.
    fn grant(&mut self, place: &Path) {
        let Ok(place) = place.canonicalize() else { return };
        let home = self.user.and_then(|user| user.canonicalize().ok());
        let holds_home = home.is_some_and(|home| home.starts_with(&place));
        if !holds_home && place.parent().is_some() {
            self.toolchains.readable.push(place);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use tempfile::TempDir;

    use super::*;

    fn user(files: &[&str]) -> TempDir {
        let user = TempDir::new().unwrap();
        for file in files {
            let file = user.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        user
    }

    fn set(variables: &[(&str, String)]) -> BTreeMap<String, String> {
        variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    fn granted(found: &Toolchains, user: &TempDir) -> Vec<String> {
        let root = user.path().canonicalize().unwrap();
        let inside = found.readable.iter().map(|place| place.strip_prefix(&root).unwrap());
        inside.map(|place| place.display().to_string()).collect()
    }

    #[test]
    fn cargo_s_folder_is_granted_without_its_credentials() {
        let files = [".cargo/bin/cargo", ".cargo/registry/x", ".cargo/credentials.toml", ".ssh/id"];
        let user = user(&files);
        let found = find(&BTreeMap::new(), Some(user.path()));
        assert_eq!(granted(&found, &user), [".cargo/bin", ".cargo/registry"]);
        let cargo = user.path().join(".cargo").display().to_string();
        assert_eq!(found.variables, set(&[("CARGO_HOME", cargo)]));
    }

    #[test]
    fn a_home_on_the_path_or_in_a_variable_is_not_granted() {
        let user = user(&[".ssh/id", "bin/x"]);
        let text = user.path().display().to_string();
        let above = user.path().parent().unwrap().display().to_string();
        for place in [text.clone(), above, "/".to_owned(), format!("{text}/bin/..")] {
            let variables = set(&[("PATH", place.clone()), ("JAVA_HOME", place.clone())]);
            let found = find(&variables, Some(user.path()));
            assert_eq!(found.readable, [] as [PathBuf; 0], "{place}");
        }
        let variables = set(&[("PATH", format!("{text}/bin"))]);
        assert_eq!(granted(&find(&variables, Some(user.path())), &user), ["bin"]);
    }

    #[test]
    fn a_link_in_the_home_is_granted_where_it_leads_and_not_if_that_is_the_home() {
        let user = user(&["real/bin/go", ".ssh/id"]);
        std::os::unix::fs::symlink(user.path().join("real"), user.path().join("go")).unwrap();
        std::os::unix::fs::symlink(user.path(), user.path().join(".rustup")).unwrap();
        let found = find(&BTreeMap::new(), Some(user.path()));
        assert_eq!(granted(&found, &user), ["real/bin"]);
    }

    #[test]
    fn a_virtual_environment_brings_the_python_it_was_made_from() {
        let user = user(&["v/bin/python", "pythons/3/bin/python3"]);
        let base = user.path().join("pythons/3/bin");
        fs::write(user.path().join("v/pyvenv.cfg"), format!("home = {}\n", base.display()))
            .unwrap();
        let bin = user.path().join("v/bin").display().to_string();
        let by_path = find(&set(&[("PATH", bin)]), Some(user.path()));
        assert_eq!(granted(&by_path, &user), ["pythons/3", "v"]);
        let venv = user.path().join("v").display().to_string();
        let by_variable = find(&set(&[("VIRTUAL_ENV", venv)]), Some(user.path()));
        assert_eq!(by_variable.readable, by_path.readable);
    }
}
