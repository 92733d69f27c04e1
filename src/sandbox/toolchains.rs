//! Where people's compilers, interpreters and package stores are, when they are in a home: to be read
//! by commands whose own home is an empty one. Only the parts that hold programs and packages are
//! named; what holds credentials never is. It knows names of folders and runs nothing.

use std::path::{Path, PathBuf};

/// Parts of a home that hold programs, libraries and fetched packages.
const IN_HOME: &[&str] = &[
    ".cargo/bin",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/config.toml",
    ".cargo/config",
    ".cargo/env",
    ".rustup",
    ".pyenv",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/pipx",
    ".local/share/uv",
    ".local/share/mise",
    ".local/share/fnm",
    ".local/share/pnpm",
    ".local/share/virtualenvs",
    ".nvm",
    ".volta",
    ".fnm",
    ".asdf",
    ".bun/bin",
    ".deno/bin",
    ".rbenv",
    ".rvm",
    ".goenv",
    ".sdkman",
    ".jdks",
    ".ghcup",
    ".opam",
    ".juliaup",
    ".dotnet",
    ".elan",
    ".m2/repository",
    "go/bin",
    "go/pkg",
    "miniconda3",
    "anaconda3",
    "miniforge3",
    ".gitconfig",
    ".config/git",
];

/// Variables that lead a tool to its folder, of the real home, when its home is another one.
const VARIABLES: &[(&str, &str)] = &[
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("PYENV_ROOT", ".pyenv"),
    ("NVM_DIR", ".nvm"),
    ("VOLTA_HOME", ".volta"),
    ("ASDF_DATA_DIR", ".asdf"),
    ("RBENV_ROOT", ".rbenv"),
    ("GOENV_ROOT", ".goenv"),
    ("SDKMAN_DIR", ".sdkman"),
    ("ELAN_HOME", ".elan"),
    ("OPAMROOT", ".opam"),
    ("GOMODCACHE", "go/pkg/mod"),
];

/// Where git finds who its user is, the first that exists.
const GIT_IDENTITY: [&str; 2] = [".gitconfig", ".config/git/config"];

/// What belongs to a program, beside the folder that it is in.
const BESIDE_PROGRAMS: &[&str] = &["lib", "lib64", "libexec", "include", "pyvenv.cfg"];

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolchains {
    /// Files and folders that commands should be able to read.
    pub readable: Vec<PathBuf>,
    /// Variables that commands need to find them.
    pub variables: Vec<(String, String)>,
}

impl Toolchains {
    /// Looks into this home, and along the `PATH` of this environment. A variable that is set in it
    /// is believed: its folder takes the usual one's place. Blocks for some tens of look-ups.
    pub fn find(home: &Path, environment: &[(String, String)]) -> Self {
        let mut found = Self::default();
        for part in IN_HOME {
            found.add(home.join(part));
        }
        for (name, folder) in VARIABLES {
            found.add_variable(home, environment, name, folder);
        }
        let git = GIT_IDENTITY.iter().map(|file| home.join(file)).find(|file| file.is_file());
        if let Some(file) = git.filter(|_| value(environment, "GIT_CONFIG_GLOBAL").is_none()) {
            found.variables.push(("GIT_CONFIG_GLOBAL".to_owned(), file.display().to_string()));
        }
        for folder in std::env::split_paths(value(environment, "PATH").unwrap_or_default()) {
            found.add_programs(home, &folder);
        }
        found
    }

    fn add(&mut self, place: PathBuf) {
        if place.exists() && !self.readable.contains(&place) {
            self.readable.push(place);
        }
    }

    fn add_variable(
        &mut self,
        home: &Path,
        environment: &[(String, String)],
        name: &str,
        folder: &str,
    ) {
        match value(environment, name) {
            // Only the same parts of it: it holds what the usual folder holds.
            Some(set) => {
                let set = Path::new(set);
                let inside = |part: &&&str| Path::new(part).starts_with(folder);
                for part in IN_HOME.iter().filter(inside) {
                    let rest = Path::new(part).strip_prefix(folder).unwrap_or(Path::new(""));
                    self.add_safely(home, set.join(rest));
                }
            }
            None if home.join(folder).is_dir() => {
                let place = home.join(folder).display().to_string();
                self.variables.push((name.to_owned(), place));
            }
            None => {}
        }
    }

    /// A folder of programs, and what belongs to them.
    fn add_programs(&mut self, home: &Path, folder: &Path) {
        self.add_safely(home, folder.to_owned());
        if let Some(around) = folder.parent().filter(|_| folder.ends_with("bin")) {
            for beside in BESIDE_PROGRAMS {
                self.add_safely(home, around.join(beside));
            }
        }
    }

    /// Nothing that would let a whole home be read, or lies nowhere in particular.
    fn add_safely(&mut self, home: &Path, place: PathBuf) {
        if place.is_absolute() && !home.starts_with(&place) {
            self.add(place);
        }
    }
}

fn value<'a>(environment: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let set = environment.iter().rev().find(|(set, _)| set == name)?;
    (!set.1.is_empty()).then_some(set.1.as_str())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use std::fs;

    fn make(home: &Path, files: &[&str]) {
        for file in files {
            let file = home.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "x").unwrap();
        }
    }

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn programs_and_packages_are_named_and_credentials_are_not() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        make(
            home,
            &[
                ".cargo/bin/cargo",
                ".cargo/credentials.toml",
                ".cargo/registry/x",
                ".gitconfig",
                ".git-credentials",
                ".npmrc",
                ".ssh/id",
                ".local/share/keyrings/x",
                ".local/bin/tool",
                ".venvs/a/bin/python",
                ".venvs/a/lib/x",
            ],
        );
        let path = format!("{0}/.local/bin:{0}/.venvs/a/bin:{0}:.:/", home.display());
        let found = Toolchains::find(home, &owned(&[("PATH", &path)]));
        let mut names: Vec<_> = found
            .readable
            .iter()
            .map(|place| place.strip_prefix(home).unwrap().display().to_string())
            .collect();
        names.sort();
        let expected = [
            ".cargo/bin",
            ".cargo/registry",
            ".gitconfig",
            ".local/bin",
            ".venvs/a/bin",
            ".venvs/a/lib",
        ];
        assert_eq!(names, expected);
        let names: Vec<_> = found.variables.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["CARGO_HOME", "GIT_CONFIG_GLOBAL"]);
    }

    #[test]
    fn a_folder_that_was_moved_is_found_by_its_variable_and_only_its_harmless_parts() {
        let home = tempfile::tempdir().unwrap();
        let moved = tempfile::tempdir().unwrap();
        make(moved.path(), &["bin/cargo", "registry/x", "credentials.toml"]);
        let set = moved.path().display().to_string();
        let found = Toolchains::find(home.path(), &owned(&[("CARGO_HOME", &set)]));
        assert_eq!(found.readable, [moved.path().join("bin"), moved.path().join("registry")]);
        assert!(found.variables.is_empty());
    }
}
