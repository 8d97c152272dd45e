//! The measures of a run by name, with unit and meaning.
//!
//! A name is a path: `phase.inserted.flow.upload1.goodput_mbps` is the goodput of the application `upload1` in the phase
//! `inserted`. `phase.PHASE.` prefixes an average over a phase, `run.` a number of the whole run. In the patterns below `*`
//! is one name. The unit is the end of the last name; a name without unit is a plain number, a share or a rate from 0 to 1,
//! or a count. docs/measures.md describes the measures in full sentences; a test compares it with this list.

mod airtime;
mod domains;
mod key;
mod list;
mod ppdus;
mod traffic;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use key::{Key, Kind};

/// Declaration of a measure, the same for all runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Its name, with `*` for each name of a phase, a flow, a station and so on.
    pub pattern: &'static str,
    /// Its unit; empty if it has none.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

const fn measure(pattern: &'static str, unit: &'static str, meaning: &'static str) -> Declaration {
    Declaration { pattern, unit, meaning }
}

/// Declarations of all measures of a run.
pub fn measures() -> impl Iterator<Item = &'static Declaration> {
    [list::LIST, traffic::LIST, domains::LIST, airtime::LIST, ppdus::LIST].into_iter().flatten()
}

/// Lookup key of a name: the last part of its pattern, and the number of its parts.
type Shape = (&'static str, usize);

/// The declarations by shape: a sweep looks up tens of thousands of names.
static SHAPES: LazyLock<HashMap<Shape, Vec<&'static Declaration>>> = LazyLock::new(|| {
    let mut shapes: HashMap<_, Vec<_>> = HashMap::new();
    measures().for_each(|declaration| shapes.entry(shape(declaration.pattern)).or_default().push(declaration));
    shapes
});

fn shape(name: &str) -> (&str, usize) {
    (name.rsplit('.').next().unwrap_or(name), name.split('.').count())
}

/// Declaration of the measure with this full name.
pub fn measure_named(name: &str) -> Option<&'static Declaration> {
    SHAPES.get(&shape(name))?.iter().copied().find(|declaration| matches(declaration.pattern, name))
}

/// Whether `name` is a full name of `pattern`.
fn matches(pattern: &str, name: &str) -> bool {
    let (mut patterns, mut parts) = (pattern.split('.'), name.split('.'));
    loop {
        match (patterns.next(), parts.next()) {
            (None, None) => return true,
            (Some("*"), Some(part)) if !part.is_empty() => {}
            (Some(pattern), Some(part)) if pattern == part => {}
            _ => return false,
        }
    }
}

/// The full name of a measure that may leave out its phase: `ap.loss_rate` in the phase `all` is
/// `phase.all.ap.loss_rate`. Full names stay as they are.
pub fn full_name(name: &str, phase: &str) -> String {
    if name.starts_with("phase.") || name.starts_with("run.") {
        name.to_owned()
    } else {
        format!("phase.{phase}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../../../docs/measures.md");

    #[test]
    fn a_star_matches_one_name() {
        assert!(matches("phase.*.flow.*.d", "phase.all.flow.up.d"));
        for other in ["phase.all.flow.d", "phase.all.flow.a.b.d", "phase.all.flow..d", "phase.all.flow.up.share"] {
            assert!(!matches("phase.*.flow.*.d", other), "{other}");
        }
    }

    /// The document has a row for each kind and no other.
    #[test]
    fn the_document_lists_every_measure() {
        let rows: Vec<_> = DOCUMENT
            .lines()
            .filter_map(|line| line.strip_prefix("| `"))
            .filter_map(|line| line.split_once('`').map(|(name, _)| name))
            .filter(|name| name.starts_with("phase.") || name.starts_with("run."))
            .collect();
        for measure in measures() {
            let found = rows.iter().filter(|row| **row == measure.pattern).count();
            assert_eq!(found, 1, "docs/measures.md has {found} rows for `{}`", measure.pattern);
        }
        for row in rows {
            assert!(measures().any(|measure| measure.pattern == row), "docs/measures.md: no measure `{row}`");
        }
    }
}
