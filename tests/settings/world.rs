//! A home and a project that settings are read from.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use offshoot::cli::{Parsed, parse};
use offshoot::settings::{Key, Origin, Settings, SettingsError, Surroundings};
use tempfile::TempDir;

/// A home and a project, with whatever files and variables a test puts there.
pub struct World {
    pub home: TempDir,
    pub project: TempDir,
    pub env: HashMap<String, String>,
}

impl World {
    pub fn new() -> Self {
        let home = TempDir::new().unwrap();
        let env = [("HOME".to_owned(), home.path().display().to_string())].into();
        Self { home, project: TempDir::new().unwrap(), env }
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    pub fn users(self, text: &str) -> Self {
        let path = self.users_path();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub fn projects(self, text: &str) -> Self {
        let folder = self.project.path().join(".offshoot");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
        self
    }

    /// A file of the project's own.
    pub fn own(self, path: &str, text: &str) -> Self {
        let path = self.project.path().join(".offshoot").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// The user trusts the project's files as they are now.
    pub fn trusted(self) -> Self {
        self.settings(&[]).trust.answer(true).unwrap();
        self
    }

    pub fn users_path(&self) -> PathBuf {
        self.home.path().join(".config/offshoot/config.toml")
    }

    pub fn read(&self, arguments: &[&str]) -> Result<Settings, SettingsError> {
        let words = std::iter::once("offshoot").chain(arguments.iter().copied());
        let Parsed::Typed(typed) = parse(words).unwrap() else { panic!("{arguments:?} says help") };
        let surroundings = Surroundings {
            env: self.env.clone(),
            current_dir: self.project.path().canonicalize().unwrap(),
            stdin: Box::new(&b""[..]),
        };
        Settings::new(*typed, surroundings)
    }

    pub fn settings(&self, arguments: &[&str]) -> Settings {
        self.read(arguments).unwrap()
    }

    /// The words of a refusal, which is one line and exits with 2.
    pub fn refusal(&self, arguments: &[&str]) -> String {
        let error = self.read(arguments).unwrap_err();
        assert_eq!(error.exit().code(), 2, "{error}");
        let said = error.to_string();
        assert!(!said.contains('\n'), "{said}");
        said
    }
}

/// A setting as doctor tells it: its value and its origin without the folder.
pub fn told(settings: &Settings, key: Key) -> (Option<String>, String) {
    let told = settings.told.iter().find(|told| told.key == key).unwrap();
    let origin = match &told.origin {
        Origin::UserFile(place) => format!("user:{}", place.line),
        Origin::ProjectFile(place) => format!("project:{}", place.line),
        other @ (Origin::Default | Origin::Variable(_) | Origin::Flag(_) | Origin::Together(_)) => {
            other.to_string()
        }
    };
    (told.value.clone(), origin)
}

pub fn some(value: &str, origin: &str) -> (Option<String>, String) {
    (Some(value.to_owned()), origin.to_owned())
}

/// What is told, but for the question of trust.
pub fn warnings(settings: &Settings) -> Vec<&str> {
    let of_files = settings.remarks.iter().filter(|remark| remark.code != "UNTRUSTED");
    of_files.map(|remark| remark.text.as_str()).collect()
}
