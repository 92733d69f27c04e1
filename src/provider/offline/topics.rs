//! Matters that people ask about in any project, with where they are usually settled. Tables only.

use super::observed::Line;

/// Which matter it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What it is tested with.
    Tests,
    /// How it is built.
    Build,
    /// What it needs.
    Dependencies,
    /// How it is configured. Beside another matter the word only says how that one is.
    Configuration,
    /// Where it starts.
    Entry,
    /// Under which terms it may be used.
    License,
    /// What runs by itself on a server.
    Ci,
    /// Which version it has or needs.
    Version,
    /// What it is.
    About,
    /// How its code is checked and formatted.
    Style,
    /// How it comes onto a machine.
    Installation,
}

/// One such matter.
#[derive(Debug, PartialEq, Eq)]
pub struct Topic {
    /// Which.
    pub kind: Kind,
    /// Its name in English and Chinese, as the start of an answer.
    pub name: [&'static str; 2],
    /// Stems that touch it.
    pub stems: &'static [&'static str],
    /// Regular expressions that find it in any file.
    pub patterns: &'static [&'static str],
    /// Lower-case pieces of a line that settle it, the telling ones first.
    pub marks: &'static [&'static str],
    /// True if those mean something in its own files alone.
    pub marks_need_files: bool,
    /// Lower-case names of files, or beginnings of paths, that usually do.
    pub files: &'static [&'static str],
    /// True if the bare existence of such a file is an answer.
    pub files_settle: bool,
}

impl Topic {
    /// True if one of these words touches it.
    pub fn is_touched_by(&self, keywords: &[String]) -> bool {
        keywords.iter().any(|word| self.stems.contains(&word.as_str()))
    }

    /// The place among its marks of the first one that a line has.
    pub fn mark(&self, line: &Line) -> Option<usize> {
        if self.marks_need_files && !self.names(&line.path) {
            return None;
        }
        let text = line.text.to_lowercase();
        self.marks.iter().position(|mark| text.contains(mark))
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

/// True for files that say what a project is.
pub fn is_manifest(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    MANIFESTS.contains(&path.rsplit('/').next().unwrap_or(&path))
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
        kind: Kind::Tests,
        name: ["Tests", "测试"],
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
        marks_need_files: false,
        files: &["pytest.ini", "jest.config", "vitest.config", "tox.ini", ".mocharc"],
        files_settle: true,
    },
    Topic {
        kind: Kind::Build,
        name: ["The build", "构建"],
        stems: &[
            "build",
            "built",
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
        marks_need_files: true,
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
        files_settle: false,
    },
    Topic {
        kind: Kind::Dependencies,
        name: ["Dependencies", "依赖"],
        stems: &[
            "dependenc",
            "dependent",
            "depend",
            "packag",
            "package",
            "librar",
            "crate",
            "crat",
        ],
        patterns: &["dependencies", "install_requires", "^require"],
        marks: &["dependencies", "install_requires", "require"],
        marks_need_files: true,
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
        files_settle: false,
    },
    Topic {
        kind: Kind::Configuration,
        name: ["Configuration", "配置"],
        stems: &["config", "configur", "configuration", "setting", "sett", "option", "environment"],
        patterns: &[],
        marks: &["config", "settings", "environ", "getenv", "env::var", "process.env"],
        marks_need_files: false,
        files: &["config", "settings", ".env", "appsettings"],
        files_settle: true,
    },
    Topic {
        kind: Kind::Entry,
        name: ["The entry point", "入口"],
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
        marks_need_files: false,
        files: &["main.", "__main__.py", "index.", "app.", "cmd/", "src/main", "src/lib.rs"],
        files_settle: true,
    },
    Topic {
        kind: Kind::License,
        name: ["The license", "许可证"],
        stems: &["licen", "licens", "license", "licence", "copyright", "copying"],
        patterns: &[],
        marks: &["license", "licence", "copyright"],
        marks_need_files: false,
        files: &["license", "licence", "copying", "notice"],
        files_settle: true,
    },
    Topic {
        kind: Kind::Ci,
        name: ["CI", "持续集成（CI）"],
        stems: &["ci", "cicd", "workflow", "pipeline", "pipelin", "action"],
        patterns: &["runs-on:", "run:", "script:", "uses:", "steps:", "pipeline \\{"],
        marks: &["run:", "script:", "runs-on:", "uses:", "jobs:", "steps:", "stage", "pipeline {"],
        marks_need_files: true,
        files: CI_FILES,
        files_settle: true,
    },
    Topic {
        kind: Kind::Version,
        name: ["Versions", "版本"],
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
        marks_need_files: true,
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
        files_settle: false,
    },
    Topic {
        kind: Kind::About,
        name: ["What it is", "项目介绍"],
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
        marks_need_files: true,
        files: &["readme", "cargo.toml", "package.json", "pyproject.toml"],
        files_settle: false,
    },
    Topic {
        kind: Kind::Style,
        name: ["Linting and formatting", "代码检查与格式化"],
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
        marks_need_files: false,
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
        files_settle: true,
    },
    Topic {
        kind: Kind::Installation,
        name: ["Installing", "安装与部署"],
        stems: &["install", "deploy", "docker", "container"],
        patterns: &[],
        marks: &["install", "docker", "entrypoint"],
        marks_need_files: true,
        files: &["dockerfile", "docker-compose", "compose.", "readme", "install"],
        files_settle: false,
    },
];
