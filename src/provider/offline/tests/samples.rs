//! Small projects of four languages and the questions that newcomers ask first.

use super::*;

type Files = &'static [(&'static str, &'static str)];
type Words = &'static [&'static str];

const RUST_APP: Files = &[
    (
        "Cargo.toml",
        "[package]\nname = \"sums\"\nversion = \"0.1.0\"\n\n[dependencies]\nserde = \"1\"\n\n\
         [dev-dependencies]\nproptest = \"1\"\n",
    ),
    ("README.md", "# sums\n\nAdds numbers.\n\nTo run: `cargo run`.\n"),
    ("src/lib.rs", "//! Circles.\n\npub fn add(a: u8, b: u8) -> u8 {\n    a + b\n}\n"),
    ("src/main.rs", "use sums::add;\n\nfn main() {\n    println!(\"{}\", add(1, 2));\n}\n"),
];
const PYTHON_APP: Files = &[
    (
        ".github/workflows/ci.yml",
        "name: ci\non: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      \
         - run: pytest -q\n",
    ),
    ("LICENSE", "MIT License\n\nCopyright (c) 2024 A\n"),
    (
        "pyproject.toml",
        "[build-system]\nrequires = [\"hatchling\"]\nbuild-backend = \"hatchling.build\"\n\n\
         [project]\nname = \"shop\"\ndescription = \"Sells things\"\nlicense = \"MIT\"\n\
         dependencies = [\n  \"requests>=2\",\n  \"rich\",\n]\n\n[project.scripts]\n\
         shop = \"shop.cli:main\"\n",
    ),
    (
        "src/shop/cli.py",
        "def main():\n    print(\"hi\")\n\n\nif __name__ == \"__main__\":\n    main()\n",
    ),
];
const SCRIPT_APP: Files = &[
    (".gitlab-ci.yml", "check:\n  script:\n    - npm test\n"),
    (
        "package.json",
        "{\n  \"name\": \"web\",\n  \"main\": \"src/index.js\",\n  \"license\": \"ISC\",\n  \
         \"scripts\": {\n    \"build\": \"vite build\"\n  },\n  \"dependencies\": {\n    \
         \"react\": \"^18\"\n  }\n}\n",
    ),
    ("src/index.js", "import React from \"react\";\n\nexport function start() {}\n"),
];
const GO_APP: Files = &[
    ("cmd/tool/main.go", "package main\n\nfunc main() {\n\tprintln(\"x\")\n}\n"),
    (
        "go.mod",
        "module example.com/tool\n\ngo 1.22\n\nrequire (\n\tgithub.com/spf13/cobra v1.8.0\n)\n",
    ),
];

const CI: Words = &["how is CI set up", "Which CI pipeline does it use?", "持续集成怎么配置的？"];
const ENTRY: Words = &["Where is the entry point?", "程序入口在哪里？"];
const LICENSE: Words = &["Which license is it under?", "用什么许可证？"];
const NEEDS: Words = &["What are its dependencies?", "有哪些依赖？"];
const BUILD: Words = &["How do I build it?", "怎么构建？"];
const ABOUT: Words = &["What is this?", "这个项目是做什么的？"];

/// Where a report's evidence is.
fn places(report: &Value) -> Vec<String> {
    let evidence = report["evidence"].as_array().unwrap().iter();
    let place = |cited: &Value| match cited["line"].as_u64() {
        Some(line) => format!("{}:{line}", cited["path"].as_str().unwrap()),
        None => cited["path"].as_str().unwrap().to_owned(),
    };
    evidence.map(place).collect()
}

#[tokio::test]
async fn first_questions_get_sensible_answers_in_four_languages() {
    let cases: &[(Files, Words, &str, Words)] = &[
        (RUST_APP, ENTRY, "src/main.rs:3", &["fn main() {"]),
        (RUST_APP, NEEDS, "Cargo.toml:5", &["serde", "[dev-dependencies]", "proptest"]),
        (RUST_APP, BUILD, "Cargo.toml:1", &["`cargo build`"]),
        (RUST_APP, ABOUT, "README.md:1", &["Adds numbers."]),
        (PYTHON_APP, ENTRY, "pyproject.toml:14", &["src/shop/cli.py:1", "[project.scripts]"]),
        (PYTHON_APP, NEEDS, "pyproject.toml:9", &["requests", "rich"]),
        (PYTHON_APP, BUILD, "pyproject.toml:3", &["python -m build", "hatchling.build"]),
        (PYTHON_APP, LICENSE, "LICENSE:1", &["MIT License", "pyproject.toml:8"]),
        (PYTHON_APP, CI, ".github/workflows/ci.yml:7", &["run: pytest -q"]),
        (PYTHON_APP, ABOUT, "pyproject.toml:6", &["Sells things"]),
        (SCRIPT_APP, ENTRY, "package.json:3", &["src/index.js"]),
        (SCRIPT_APP, NEEDS, "package.json:8", &["react"]),
        (SCRIPT_APP, BUILD, "package.json:6", &["npm run build", "vite build"]),
        (SCRIPT_APP, LICENSE, "package.json:4", &["ISC"]),
        (SCRIPT_APP, CI, ".gitlab-ci.yml:2", &["script:"]),
        (GO_APP, ENTRY, "cmd/tool/main.go:3", &["func main() {"]),
        (GO_APP, NEEDS, "go.mod:5", &["github.com/spf13/cobra"]),
        (GO_APP, BUILD, "go.mod:1", &["go build ./..."]),
        (GO_APP, ABOUT, "go.mod:1", &["example.com/tool"]),
    ];
    for (files, questions, place, words) in cases {
        for question in *questions {
            let mut project = Project::new(files);
            let work = work(&mut project, question, &TOOLS).await;
            let summary = work.summary();
            let first = places(&work.report).swap_remove(0);
            assert_eq!(first, *place, "{question}: {summary}");
            for word in [place].into_iter().chain(*words) {
                assert!(summary.contains(word), "{question}: no {word} in {summary}");
            }
            assert!((3..=8).contains(&work.calls()), "{question}: {} calls", work.calls());
            assert_evidence_was_shown(&project, &work.report);
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_claimed() {
    const NONSENSE: Words = &["colourless green ideas sleep furiously", "量子纠缠", "zxqw?"];
    let cases: &[(Files, Words)] = &[
        (RUST_APP, CI),
        (RUST_APP, LICENSE),
        (RUST_APP, NONSENSE),
        (PYTHON_APP, NONSENSE),
        (SCRIPT_APP, NONSENSE),
        (GO_APP, CI),
        (GO_APP, LICENSE),
        (GO_APP, NONSENSE),
    ];
    for (files, questions) in cases {
        for question in *questions {
            let mut project = Project::new(files);
            let work = work(&mut project, question, &TOOLS).await;
            let summary = work.summary();
            assert_eq!(places(&work.report), ["."], "{question}: {summary}");
            let nothing = ["Nothing in this folder matches", "这个目录里没有与"];
            assert!(nothing.iter().any(|words| summary.starts_with(words)), "{summary}");
            let (path, _) = files.iter().find(|(path, _)| !path.contains('/')).unwrap();
            assert!(summary.contains(path), "{path} was looked at: {summary}");
        }
    }
}

#[tokio::test]
async fn two_matters_get_a_paragraph_each_also_where_one_is_not_there() {
    let mut project = Project::new(RUST_APP);
    let work = work(&mut project, "How is it built, and how is CI set up?", &TOOLS).await;
    let paragraphs: Vec<&str> = work.summary().lines().collect();
    let [build, ci] = paragraphs.as_slice() else { panic!("{paragraphs:?}") };
    assert!(build.contains("`cargo build`"), "{build}");
    assert!(ci.starts_with("Nothing in this folder matches \"CI\""), "{ci}");
    assert_eq!(places(&work.report), ["Cargo.toml:1", "."]);
}

#[tokio::test]
async fn words_that_are_missing_are_named_beside_those_that_are_there() {
    let mut project = Project::new(RUST_APP);
    let work = work(&mut project, "Where is the add frobnicator?", &TOOLS).await;
    assert!(work.summary().contains("src/lib.rs:3"), "{}", work.summary());
    assert!(work.summary().contains("None of these lines has `frobnicator`"), "{}", work.summary());
}

#[tokio::test]
async fn a_manifest_that_declares_nothing_is_an_answer() {
    for (path, text) in [
        ("Cargo.toml", "[package]\nname = \"x\"\n"),
        ("Cargo.toml", "[package]\nname = \"x\"\n\n[dependencies]\n"),
        ("package.json", "{\n  \"name\": \"x\"\n}\n"),
        ("go.mod", "module x\n"),
    ] {
        let files = [(path, text)];
        let mut project = Project::new(&files);
        let work = work(&mut project, "Which dependencies does it have?", &TOOLS).await;
        let summary = work.summary();
        assert_eq!(summary, format!("{path} declares no dependencies."));
        assert_evidence_was_shown(&project, &work.report);
    }
}

#[tokio::test]
async fn without_a_search_nothing_is_said_about_the_whole_folder() {
    let mut project = Project::new(RUST_APP);
    let work = work(&mut project, "zxqw?", &["list_files", "read_file"]).await;
    assert!(work.summary().starts_with("Nothing that was shown matches"), "{}", work.summary());
}

#[tokio::test]
async fn a_word_that_only_generated_files_have_is_told_as_that() {
    let files = [("Cargo.lock", "name = \"zxqw\"\n"), ("Cargo.toml", "[package]\n")];
    let mut project = Project::new(&files);
    let work = work(&mut project, "zxqw?", &TOOLS).await;
    let starts = "Nothing in this folder but generated files matches `zxqw`";
    assert!(work.summary().starts_with(starts), "{}", work.summary());
    assert_eq!(places(&work.report), ["."]);
}
