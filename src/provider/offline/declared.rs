//! Which dependencies the shown manifests declare, section by section. It reads the layout that
//! people write by hand and leaves out what it does not understand.

use std::collections::BTreeMap;

use super::findings::is_noise;
use super::observed::{Line, Observed};
use super::plan::WHOLE_LINES;

/// A part of a manifest that declares dependencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The line that opens it.
    pub line: Line,
    /// What it declares, in its order.
    pub names: Vec<String>,
}

/// How a manifest is laid out.
#[derive(Debug, Clone, Copy)]
enum Layout {
    /// `[dependencies]`, then `name = ...`.
    Cargo,
    /// `"dependencies": {`, then `"name": ...`.
    Json,
    /// `dependencies = [`, then `"name>=1"`; or groups of such lists under a heading.
    Python,
    /// A name in each line.
    Lines,
    /// `require (`, then a name and a version in each line.
    Go,
}

/// The sections of all shown manifests, those near the root first.
pub fn sections(observed: &Observed) -> Vec<Section> {
    let mut sections = Vec::new();
    for (path, lines) in manifests(observed) {
        if let Some(layout) = Layout::of(path) {
            sections.extend(read(layout, &lines));
        }
    }
    sections.sort_by_key(|section| section.line.path.matches('/').count());
    sections
}

/// The first line of a manifest that was shown whole, if none of them declares anything.
pub fn nothing_declared(observed: &Observed) -> Option<Line> {
    manifests(observed).into_iter().find_map(|(path, lines)| {
        let whole = lines.first()?.number == 1 && (lines.len() as u64) < WHOLE_LINES;
        let first = lines.iter().find(|line| !line.text.trim().is_empty())?;
        (whole && Layout::of(path).is_some()).then(|| (*first).clone())
    })
}

/// The shown lines of each file, each once and in order.
fn manifests(observed: &Observed) -> BTreeMap<&str, Vec<&Line>> {
    let mut files: BTreeMap<&str, BTreeMap<u64, &Line>> = BTreeMap::new();
    for line in observed.lines.iter().filter(|line| !is_noise(&line.path)) {
        files.entry(&line.path).or_default().insert(line.number, line);
    }
    files.into_iter().map(|(path, lines)| (path, lines.into_values().collect())).collect()
}

impl Layout {
    fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        match name.as_str() {
            "cargo.toml" => Some(Self::Cargo),
            "package.json" | "composer.json" => Some(Self::Json),
            "pyproject.toml" | "setup.py" => Some(Self::Python),
            "go.mod" => Some(Self::Go),
            _ => {
                let kind = name.strip_prefix("requirements")?.rsplit_once('.')?.1;
                (kind == "txt").then_some(Self::Lines)
            }
        }
    }

    /// True if a line opens a section.
    fn opens(self, text: &str) -> bool {
        let before = |end: char| text.split(end).next().unwrap_or(text).trim();
        match self {
            Self::Cargo => text.starts_with('[') && before(']').contains("dependencies"),
            Self::Json => {
                let key = before(':').trim_matches('"').to_ascii_lowercase();
                key.ends_with("dependencies") || key == "require" || key == "require-dev"
            }
            Self::Python => {
                let heading = before(']');
                let groups = ["[project.optional-dependencies", "[dependency-groups"];
                before('=') == "dependencies"
                    || before('=') == "install_requires"
                    || groups.contains(&heading)
                    || (heading.starts_with("[tool.poetry") && heading.ends_with("dependencies"))
            }
            Self::Lines => is_requirement(text),
            Self::Go => text.starts_with("require"),
        }
    }

    /// True if a line ends the open section.
    fn closes(self, opened_by: &str, text: &str) -> bool {
        match self {
            Self::Cargo => text.starts_with('['),
            Self::Json => text.starts_with('}'),
            Self::Python if opened_by.starts_with('[') => text.starts_with('['),
            Self::Python => text.starts_with(']'),
            Self::Lines => false,
            Self::Go => text.starts_with(')'),
        }
    }

    /// What the line that opens a section declares itself.
    fn names_in_opening(self, text: &str) -> Vec<String> {
        match self {
            Self::Cargo => {
                let heading = text.trim_matches(['[', ']']);
                let name = heading.rsplit_once("dependencies.").map(|(_, name)| name.to_owned());
                name.into_iter().collect()
            }
            Self::Json => {
                let inside = text.split_once('{').map_or("", |(_, inside)| inside);
                inside.split(',').filter_map(|pair| self.name(pair)).collect()
            }
            Self::Python => {
                let inside = text.split_once('[').filter(|_| !text.starts_with('['));
                quoted(inside.map_or("", |(_, inside)| inside))
            }
            Self::Lines => self.name(text).into_iter().collect(),
            Self::Go => {
                let rest = text.trim_start_matches("require").trim();
                self.name(rest.trim_start_matches('(')).into_iter().collect()
            }
        }
    }

    fn is_closed_by_its_opening(self, text: &str) -> bool {
        match self {
            Self::Cargo => text.contains("dependencies."),
            Self::Json => text.contains('}'),
            Self::Python => !text.starts_with('[') && text.ends_with(']'),
            Self::Lines => false,
            Self::Go => !text.ends_with('('),
        }
    }

    fn names(self, opened_by: &str, text: &str) -> Vec<String> {
        match self {
            Self::Python if opened_by.starts_with("[tool.poetry") => {
                key(text).into_iter().collect()
            }
            Self::Python => quoted(text),
            Self::Cargo | Self::Json | Self::Lines | Self::Go => {
                self.name(text).into_iter().collect()
            }
        }
    }

    fn name(self, text: &str) -> Option<String> {
        let text = text.trim();
        match self {
            Self::Cargo => key(text),
            Self::Json => {
                let (name, value) = text.strip_prefix('"')?.split_once('"')?;
                value.trim_start().starts_with(':').then(|| name.to_owned())
            }
            Self::Python => None,
            Self::Lines => is_requirement(text).then(|| requirement(text).to_owned()),
            Self::Go => {
                let name = text.split_whitespace().next()?;
                (!name.starts_with("//")).then(|| name.to_owned())
            }
        }
    }
}

fn read(layout: Layout, lines: &[&Line]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut open: Option<Section> = None;
    let mut next = 0;
    for line in lines {
        let text = line.text.trim();
        // What is not shown may close a section.
        let is_cut = line.number != next;
        next = line.number + 1;
        if let Some(section) = &mut open {
            let opening = section.line.text.trim();
            if !is_cut && !layout.closes(opening, text) {
                section.names.extend(layout.names(opening, text));
                continue;
            }
            sections.extend(open.take());
        }
        if layout.opens(text) {
            let section = Section { line: (*line).clone(), names: layout.names_in_opening(text) };
            let closed = layout.is_closed_by_its_opening(text);
            if closed { sections.push(section) } else { open = Some(section) }
        }
    }
    sections.extend(open);
    sections
}

/// The key of `key = value` in TOML.
fn key(text: &str) -> Option<String> {
    let (key, _) = text.split_once('=')?;
    let key = key.trim().trim_matches('"');
    let key = key.split('.').next().unwrap_or(key);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    (!key.is_empty() && key.chars().all(plain)).then(|| key.to_owned())
}

/// The requirements in quotes that a line of Python or TOML holds.
fn quoted(text: &str) -> Vec<String> {
    let code = text.split(" #").next().unwrap_or(text);
    if code.trim_start().starts_with('#') {
        return Vec::new();
    }
    let pieces = code.split(['"', '\'']).skip(1).step_by(2);
    pieces.map(requirement).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The name in `name[extra]>=1; python_version > "3"`.
fn requirement(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c)));
    &text[..end.unwrap_or(text.len())]
}

fn is_requirement(text: &str) -> bool {
    text.starts_with(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections_of(path: &str, text: &str) -> Vec<(u64, Vec<String>)> {
        let lines = (1..).zip(text.lines()).map(|(number, text)| Line {
            path: path.to_owned(),
            number,
            text: text.to_owned(),
        });
        let observed = Observed { lines: lines.collect(), ..Observed::default() };
        let sections = sections(&observed).into_iter();
        sections.map(|section| (section.line.number, section.names)).collect()
    }

    /// A path, its text, and the line and names of each section.
    type Case = (&'static str, &'static str, &'static [(u64, &'static [&'static str])]);

    #[test]
    fn every_layout_is_read_section_by_section() {
        let cases: &[Case] = &[
            (
                "Cargo.toml",
                "[dependencies]\nserde = \"1\"\n# x = 1\ntokio = { version = \"1\" }\n\n\
                 [dependencies.clap]\nversion = \"4\"\n\n[dev-dependencies]\nproptest.workspace = true\n",
                &[(1, &["serde", "tokio"]), (6, &["clap"]), (9, &["proptest"])],
            ),
            (
                "web/package.json",
                "{\n  \"dependencies\": {\n    \"react\": \"^18\",\n    \"@a/b\": \"1\"\n  },\n  \
                 \"devDependencies\": { \"jest\": \"29\", \"tsc\": \"5\" }\n}\n",
                &[(2, &["react", "@a/b"]), (6, &["jest", "tsc"])],
            ),
            (
                "pyproject.toml",
                "[project]\ndependencies = [\n  \"requests[socks]>=2\",  # 'no'\n  'rich'\n]\n\n\
                 [dependency-groups]\ndev = [\"pytest>=8\"]\n\n[tool.x]\na = \"b\"\n",
                &[(2, &["requests", "rich"]), (7, &["pytest"])],
            ),
            ("pyproject.toml", "dependencies = [\"a>1\", \"b\"]\nx = \"c\"\n", &[(1, &["a", "b"])]),
            (
                "pyproject.toml",
                "[tool.poetry.dependencies]\npython = \"^3\"\nrich = \"1\"\n",
                &[(1, &["python", "rich"])],
            ),
            (
                "requirements-dev.txt",
                "# all\n-r x.txt\nflask==2\nrich\n",
                &[(3, &["flask", "rich"])],
            ),
            (
                "go.mod",
                "module demo\n\nrequire a.org/x v1\n\nrequire (\n\tb.org/y v2 // indirect\n)\n",
                &[(3, &["a.org/x"]), (5, &["b.org/y"])],
            ),
            ("package.json", "{\n  \"name\": \"demo\"\n}\n", &[]),
            ("notes.txt", "dependencies\n", &[]),
        ];
        for (path, text, expected) in cases {
            let expected: Vec<(u64, Vec<String>)> = expected
                .iter()
                .map(|(line, names)| (*line, names.iter().map(ToString::to_string).collect()))
                .collect();
            assert_eq!(sections_of(path, text), expected, "{path}: {text}");
        }
    }

    #[test]
    fn a_gap_in_what_was_shown_ends_a_section() {
        let line = |number, text: &str| Line {
            path: "Cargo.toml".to_owned(),
            number,
            text: text.to_owned(),
        };
        let lines = vec![line(1, "[dependencies]"), line(2, "a = \"1\""), line(9, "b = \"1\"")];
        let found = sections(&Observed { lines, ..Observed::default() });
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].names, ["a"]);
    }
}
