//! Which of a run's scopes a path falls under. Compares components only; opening is the jail's
//! matter.

use crate::domain::scope::PathScope;

use super::path::components;

/// Where a path lies as seen from a run's scopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach<'a> {
    /// In this scope, the widest one that holds it.
    Inside(&'a PathScope),
    /// Above these scopes: of such a folder the run may see nothing but them.
    Above(Vec<String>),
    /// Nowhere near them.
    Outside,
}

/// Places a normalised path. The workspace's root counts as above every added folder: whoever asks
/// for everything means those, too.
pub fn reach<'a>(scopes: &'a [PathScope], path: &str) -> Reach<'a> {
    let names: Vec<&str> = components(path).collect();
    let absolute = path.starts_with('/');
    let holds = |scope: &&PathScope| {
        let parts = scope.components();
        scope.is_absolute() == absolute
            && parts.len() <= names.len()
            && parts.iter().zip(&names).all(|(part, name)| part == name)
    };
    if let Some(scope) = scopes.iter().filter(holds).min_by_key(|scope| scope.components().len()) {
        return Reach::Inside(scope);
    }
    let below = |scope: &&PathScope| {
        (scope.is_absolute() == absolute || names.is_empty())
            && names.len() < scope.components().len()
            && names.iter().zip(scope.components()).all(|(name, part)| name == part)
    };
    let mut above: Vec<&PathScope> = scopes.iter().filter(below).collect();
    above.sort_by_key(|scope| scope.components().len());
    let mut widest: Vec<&PathScope> = Vec::new();
    for scope in above {
        if !widest.iter().any(|other| other.contains(scope)) {
            widest.push(scope);
        }
    }
    if widest.is_empty() {
        return Reach::Outside;
    }
    let mut paths: Vec<String> = widest.into_iter().map(ToString::to_string).collect();
    paths.sort();
    Reach::Above(paths)
}

/// The scopes in words, for a refusal.
pub fn in_words(scopes: &[PathScope]) -> String {
    if scopes.is_empty() {
        return "nothing".to_owned();
    }
    scopes.iter().map(|scope| format!("`{scope}`")).collect::<Vec<_>>().join(", ")
}
