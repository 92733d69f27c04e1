//! Matters that people ask about in any project, with where they are usually settled. Tables only.

/// One such matter.
#[derive(Debug, PartialEq, Eq)]
pub struct Topic {
    /// Stems that touch it.
    pub stems: &'static [&'static str],
    /// Regular expressions that find it in any file.
    pub patterns: &'static [&'static str],
    /// Lower-case pieces of a line that settle it.
    pub marks: &'static [&'static str],
    /// Lower-case names of files, or beginnings of paths, that usually do.
    pub files: &'static [&'static str],
}

impl Topic {
    /// True if one of these words touches it.
    pub fn is_touched_by(&self, keywords: &[String]) -> bool {
        keywords.iter().any(|word| self.stems.contains(&word.as_str()))
    }

    /// True if `path` is one of its files.
    pub fn names(&self, path: &str) -> bool {
        let path = path.to_ascii_lowercase();
        let name = path.rsplit('/').next().unwrap_or(&path);
        self.files.iter().any(|file| {
            if file.contains('/') { path.starts_with(file) } else { name.starts_with(file) }
        })
    }
}

/// Where a project says what it is and what it needs, the best known first.
pub const MANIFESTS: &[&str] = &[
    "cargo.toml",
    "package.json",
    "pyproject.toml",
    "go.mod",
    "pom.xml",
    "build.gradle.kts",
    "build.gradle",
    "setup.cfg",
    "setup.py",
    "requirements.txt",
    "composer.json",
    "gemfile",
    "mix.exs",
    "cmakelists.txt",
    "meson.build",
    "build.zig",
    "package.swift",
    "pubspec.yaml",
    "build.sbt",
    "stack.yaml",
    "deno.json",
    "makefile",
    "justfile",
    "tox.ini",
];

/// Where automatic checks are described.
pub const CI_FILES: &[&str] = &[
    ".github/workflows/",
    ".gitlab-ci.yml",
    ".circleci/",
    ".travis.yml",
    "azure-pipelines.yml",
    "jenkinsfile",
    ".drone.yml",
    ".woodpecker",
    "appveyor.yml",
    ".ci/",
];

/// The matters, each with its places.
pub const TOPICS: &[Topic] = &[
    Topic {
        stems: &["test", "unittest", "spec", "coverage"],
        patterns: &[],
        marks: &[
            "[tool.pytest",
            "\"test\":",
            "cargo test",
            "go test",
            "npm test",
            "[dev-dependencies]",
        ],
        files: &["pytest.ini", "jest.config", "vitest.config", "tox.ini", ".mocharc"],
    },
    Topic {
        stems: &[
            "build",
            "compil",
            "compile",
            "packag",
            "package",
            "packaging",
            "bundl",
            "bundle",
            "release",
        ],
        patterns: &[
            "build-backend",
            "\"build\":",
            "cargo build",
            "npm run build",
            "^build:",
            "<packaging>",
        ],
        marks: &[
            "build-backend",
            "\"build\":",
            "[build-system]",
            "build:",
            "[profile",
            "<packaging>",
        ],
        files: &[
            "makefile",
            "justfile",
            "cmakelists.txt",
            "build.rs",
            "dockerfile",
            "cargo.toml",
            "package.json",
            "pyproject.toml",
            "pom.xml",
            "build.gradle",
            "go.mod",
            "meson.build",
        ],
    },
    Topic {
        stems: &["dependenc", "dependent", "packag", "package", "librar", "crate", "crat"],
        patterns: &["dependencies", "install_requires", "^require"],
        marks: &["dependencies", "install_requires", "require"],
        files: &[
            "cargo.toml",
            "package.json",
            "pyproject.toml",
            "requirements",
            "go.mod",
            "pom.xml",
            "build.gradle",
            "gemfile",
            "composer.json",
        ],
    },
    Topic {
        stems: &["config", "configur", "configuration", "setting", "sett", "option", "environment"],
        patterns: &[],
        marks: &["config", "settings", "environ", "getenv", "env::var", "process.env"],
        files: &["config", "settings", ".env", "appsettings"],
    },
    Topic {
        stems: &["entry", "entr", "entrypoint", "main", "start", "launch"],
        patterns: &[
            "fn main\\(",
            "def main\\(",
            "__main__",
            "func main\\(",
            "void main\\(",
            "\"main\":",
            "\"bin\":",
            "project\\.scripts",
            "\\[\\[bin\\]\\]",
        ],
        marks: &[
            "fn main(",
            "def main(",
            "__main__",
            "func main(",
            "void main(",
            "\"main\":",
            "\"bin\":",
            "[project.scripts]",
            "[[bin]]",
        ],
        files: &["main.", "__main__.py", "index.", "app.", "cmd/", "src/main"],
    },
    Topic {
        stems: &["licen", "licens", "license", "licence", "copyright", "copying"],
        patterns: &[],
        marks: &["license", "licence", "copyright"],
        files: &["license", "licence", "copying", "notice"],
    },
    Topic {
        stems: &["ci", "workflow", "pipeline", "pipelin", "action", "check"],
        patterns: &["runs-on:", "run:", "script:"],
        marks: &["runs-on:", "run:", "script:", "jobs:", "stage:"],
        files: CI_FILES,
    },
    Topic {
        stems: &["version", "language", "languag", "edition", "toolchain"],
        patterns: &[
            "rust-version",
            "requires-python",
            "\"engines\"",
            "^go [0-9]",
            "^version",
            "\"version\":",
        ],
        marks: &[
            "rust-version",
            "edition",
            "requires-python",
            "\"node\":",
            "\"version\":",
            "version =",
        ],
        files: &[
            "cargo.toml",
            "package.json",
            "pyproject.toml",
            "go.mod",
            "pom.xml",
            "rust-toolchain",
            ".python-version",
            ".nvmrc",
            ".tool-versions",
        ],
    },
    Topic {
        stems: &[
            "readme",
            "about",
            "purpose",
            "overview",
            "describe",
            "describ",
            "description",
            "introduc",
            "doc",
            "documentation",
        ],
        patterns: &["description"],
        marks: &["description", "# "],
        files: &["readme"],
    },
    Topic {
        stems: &["lint", "linter", "format", "formatter", "formatt", "style", "styl"],
        patterns: &[
            "clippy",
            "rustfmt",
            "eslint",
            "prettier",
            "ruff",
            "flake8",
            "golangci",
            "checkstyle",
        ],
        marks: &[
            "clippy",
            "rustfmt",
            "eslint",
            "prettier",
            "ruff",
            "black",
            "flake8",
            "golangci",
            "checkstyle",
            "[lints",
        ],
        files: &[
            ".eslintrc",
            "eslint.config",
            ".prettierrc",
            "rustfmt.toml",
            ".rustfmt.toml",
            ".flake8",
            "ruff.toml",
            ".golangci",
            ".editorconfig",
            ".pre-commit-config",
        ],
    },
    Topic {
        stems: &["install", "deploy", "docker", "container"],
        patterns: &[],
        marks: &["install", "from ", "entrypoint"],
        files: &["dockerfile", "docker-compose", "compose.", "readme", "install"],
    },
];
