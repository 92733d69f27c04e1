//! Path scopes: what is understood, and containment by components.

use std::path::PathBuf;

use proptest::prelude::*;

use crate::domain::scope::{PathScope, ScopeError};

use super::cases;

#[test]
fn folders_trees_files_and_the_whole_are_understood() {
    let rows = [
        ("src", "src"),
        ("src/", "src"),
        ("src/**", "src"),
        ("./src//a", "src/a"),
        (".", "."),
        ("**", "."),
        ("./**", "."),
        ("docs/a b.md", "docs/a b.md"),
        ("目录/**", "目录"),
        ("a..b", "a..b"),
        (".github", ".github"),
        ("/srv/data", "/srv/data"),
        ("//srv/./data/**", "/srv/data"),
    ];
    for (text, shown) in rows {
        assert_eq!(PathScope::parse(text).unwrap().to_string(), shown, "{text}");
    }
}

#[test]
fn everything_else_is_a_clear_error() {
    let text = str::to_owned;
    let rows = [
        ("", ScopeError::Blank),
        ("  ", ScopeError::Blank),
        ("/", ScopeError::Absolute(text("/"))),
        ("//.//", ScopeError::Absolute(text("//.//"))),
        ("/**", ScopeError::Absolute(text("/**"))),
        ("/etc/../a", ScopeError::Parent(text("/etc/../a"))),
        ("/etc/*", ScopeError::Pattern(text("/etc/*"))),
        ("\\\\host\\share", ScopeError::Absolute(text("\\\\host\\share"))),
        ("..", ScopeError::Parent(text(".."))),
        ("src/../..", ScopeError::Parent(text("src/../.."))),
        ("src/../**", ScopeError::Parent(text("src/../**"))),
        ("*", ScopeError::Pattern(text("*"))),
        ("src/*.rs", ScopeError::Pattern(text("src/*.rs"))),
        ("src**", ScopeError::Pattern(text("src**"))),
        ("**/src", ScopeError::Pattern(text("**/src"))),
        ("src/[ab]", ScopeError::Pattern(text("src/[ab]"))),
        ("{a,b}", ScopeError::Pattern(text("{a,b}"))),
        ("a\0b", ScopeError::Control),
        ("a\nb", ScopeError::Control),
    ];
    for (text, error) in rows {
        assert_eq!(PathScope::parse(text), Err(error.clone()), "{text}");
        assert!(!error.reason().is_empty() && !error.to_string().is_empty());
    }
}

#[test]
fn a_name_that_begins_the_same_is_outside() {
    let src = PathScope::parse("src").unwrap();
    for (text, inside) in
        [("src", true), ("src/a", true), ("src2", false), ("sr", false), (".", false)]
    {
        assert_eq!(src.contains(&PathScope::parse(text).unwrap()), inside, "{text}");
    }
}

#[test]
fn an_absolute_scope_and_one_of_the_workspace_never_hold_each_other() {
    let scope = |text| PathScope::parse(text).unwrap();
    assert!(scope("/srv").contains(&scope("/srv/data")));
    assert!(!scope("/srv/data").contains(&scope("/srv")));
    assert!(!scope("/srv/data").contains(&scope("/srv/database")));
    assert!(!scope("srv").contains(&scope("/srv")) && !scope("/srv").contains(&scope("srv")));
    assert!(!PathScope::all().contains(&scope("/srv")));
}

fn path() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec("(a|b|ab|src|src2|\\.x|名)", 0..4)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn containment_is_that_of_path_components(outer in path(), inner in path(), tree in any::<bool>()) {
        let parse = |parts: &[String]| {
            let text = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
            PathScope::parse(&if tree { format!("{text}/**") } else { text }).unwrap()
        };
        let (a, b) = (parse(&outer), parse(&inner));
        let (outer, inner) =
            (outer.iter().collect::<PathBuf>(), inner.iter().collect::<PathBuf>());
        prop_assert_eq!(a.contains(&b), inner.starts_with(&outer));
    }

    #[test]
    fn no_text_panics_and_what_is_read_is_read_again_the_same(text in any::<String>()) {
        if let Ok(scope) = PathScope::parse(&text) {
            prop_assert_eq!(PathScope::parse(&scope.to_string()), Ok(scope.clone()));
            prop_assert!(scope.components().iter().all(|part| part != ".." && !part.contains('/')));
            prop_assert_eq!(PathScope::all().contains(&scope), !scope.is_absolute());
        }
    }
}
