//! Any path, any scopes, any arguments: nothing panics and nothing gets out.

use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::json;

use crate::escapes::{leaks, prison, tools_on};
use crate::ground::{Ground, scopes};
use crate::soak::rounds;

fn shared_prison() -> &'static Ground {
    static PRISON: OnceLock<Ground> = OnceLock::new();
    PRISON.get_or_init(prison)
}

fn any_path() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "..",
        ".",
        "",
        "in",
        "src",
        "srcx",
        "docs",
        "deep",
        "out",
        "up",
        "to-in",
        "to-root",
        "to-file",
        "within",
        "parent",
        "root",
        "etc",
        "passwd",
        "cwd",
        "a.rs",
        "i.txt",
        "a.md",
        "outside",
        "s.txt",
        "loop-a",
        "scope-link",
        "~",
        "\0",
        "é",
        "ws",
    ]);
    prop_oneof![
        4 => prop::collection::vec(name, 0..7).prop_map(|names| names.join("/")),
        1 => ".*",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(300, 20_000), ..ProptestConfig::default() })]

    #[test]
    fn no_path_in_any_scope_reads_what_lies_elsewhere(
        path in any_path(),
        absolute in any::<bool>(),
        chosen in prop::sample::subsequence(vec!["src", "docs/a.md", "srcx", "src/deep", "out"], 0..4),
    ) {
        let ground = shared_prison();
        let path = if absolute { format!("{}/{path}", ground.root().display()) } else { path };
        let holds = |mark: &str| chosen.iter().any(|scope| match mark {
            "MARK-src" => *scope == "src" || *scope == "src/deep",
            "MARK-xcrs" => *scope == "srcx",
            "MARK-docs-a" => *scope == "docs/a.md",
            _ => false,
        });
        for (_, text) in tools_on(ground, &chosen, &path) {
            prop_assert!(!leaks(&text), "{text}");
            for mark in ["MARK-in", "MARK-src", "MARK-xcrs", "MARK-docs-a", "MARK-docs-b"] {
                prop_assert!(holds(mark) || !text.contains(mark), "{text}");
            }
        }
        ground.workspace().exists(&scopes(&chosen), &path);
    }
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|flag| json!(flag)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        any_path().prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        let field = prop::sample::select(vec![
            "path", "pattern", "offset", "limit", "depth", "hidden", "glob", "context", "other",
        ]);
        prop_oneof![
            3 => prop::collection::vec((field, inner.clone()), 0..4).prop_map(|fields| {
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }),
            1 => prop::collection::vec(inner, 0..3).prop_map(serde_json::Value::Array),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(300, 20_000), ..ProptestConfig::default() })]

    #[test]
    fn any_arguments_are_answered(arguments in any_json(), as_text in any::<bool>()) {
        let arguments = if as_text { json!(arguments.to_string()) } else { arguments };
        for tool in ["read_file", "list_files", "search"] {
            let output = shared_prison().call(tool, arguments.clone());
            prop_assert!(!leaks(&output.text), "{}", output.text);
        }
    }
}
