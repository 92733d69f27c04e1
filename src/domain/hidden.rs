//! Files whose content the rules keep from being read, for tools that show content without being
//! `read_file`: each leaves such a file out and says how many it left out. Names and sizes are not
//! content. It compares names and looks at no file; who follows links asks about both names.

use super::matching;
use super::rules::{Pattern, Rule, Rules};

/// What a rule hides. By default nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hidden(Vec<Pattern>);

impl Hidden {
    /// What these rules hide: the files and folders whose reading they deny, and those whose reading
    /// they ask about, because a call about many files has no question to put for each of them.
    pub fn by(rules: &Rules) -> Self {
        let all = rules.deny.iter().chain(&rules.ask).filter(|rule| rule.tool() == "read_file");
        let named = all.map(Rule::pattern).filter(|pattern| **pattern != Pattern::Any);
        Self(named.cloned().collect())
    }

    /// True if nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True for a file that is hidden, or lies in a folder that is. The path is from the workspace's
    /// root down, or absolute for one in a folder beside it.
    pub fn hides(&self, path: &str) -> bool {
        let names = path.split('/').filter(|name| !name.is_empty() && *name != ".");
        let root = path.starts_with('/').then_some("/");
        let names: Vec<String> = root.into_iter().chain(names).map(str::to_owned).collect();
        self.0.iter().any(|pattern| matching::covers_path(pattern, &names))
    }

    /// The hidden files and folders of the workspace, from its root down; `.` for all of it.
    pub fn in_workspace(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter_map(|pattern| match pattern {
            Pattern::Path(scope) if !scope.is_absolute() => Some(scope.to_string()),
            Pattern::Path(_) | Pattern::Any | Pattern::Words(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_may_not_be_read_without_a_word_is_hidden_and_nothing_else() {
        let rules = Rules::parse(
            &["read_file(open)"],
            &["read_file(asked)", "read_file"],
            &["read_file(.env)", "read_file(/abs/keys)", "write_file(src)", "bash(ls)"],
        )
        .unwrap();
        let hidden = Hidden::by(&rules);
        for (path, hides) in [
            (".env", true),
            ("./.env", true),
            (".envrc", false),
            ("sub/.env", false),
            ("asked/a/b", true),
            ("open/a", false),
            ("src/a", false),
            ("/abs/keys/a", true),
            ("abs/keys/a", false),
            ("/.env", false),
            (".", false),
        ] {
            assert_eq!(hidden.hides(path), hides, "{path}");
        }
        assert_eq!(hidden.in_workspace().collect::<Vec<_>>(), [".env", "asked"]);
        assert!(Hidden::by(&Rules::default()).is_empty());
    }
}
