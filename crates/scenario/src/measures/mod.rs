//! The measures of a run by name, with unit and meaning.
//!
//! A name is a path: `phase.inserted.flow.upload1.goodput_mbps` is the goodput of the application `upload1` in the phase
//! `inserted`. `phase.PHASE.` prefixes an average over a phase, `run.` a number of the whole run. In the patterns below `*`
//! is one name. The unit is the end of the last name; a name without unit is a plain number, a share or a rate from 0 to 1,
//! or a count. docs/measures.md describes the measures in full sentences; a test compares it with this list.

mod airtime;
mod domains;
mod list;
mod traffic;

/// One kind of measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its name, with `*` for each name of a phase, a flow, a station and so on.
    pub pattern: &'static str,
    /// Its unit; empty where it has none.
    pub unit: &'static str,
    /// Its name.
    pub meaning: &'static str,
}

const fn measure(pattern: &'static str, unit: &'static str, meaning: &'static str) -> Measure {
    Measure { pattern, unit, meaning }
}

/// Every kind of measure of a run.
pub fn measures() -> impl Iterator<Item = &'static Measure> {
    [list::LIST, traffic::LIST, domains::LIST, airtime::LIST].into_iter().flatten()
}

/// The kind of measure that a full name belongs to.
pub fn measure_named(name: &str) -> Option<&'static Measure> {
    measures().find(|measure| matches(measure.pattern, name))
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
    fn a_star_stands_for_one_name() {
        assert!(matches("phase.*.flow.*.d", "phase.all.flow.up.d"));
        for other in ["phase.all.flow.d", "phase.all.flow.a.b.d", "phase.all.flow..d", "phase.all.flow.up.share"] {
            assert!(!matches("phase.*.flow.*.d", other), "{other}");
        }
    }

    /// The document has a row for each kind and no other.
    #[test]
    fn the_document_lists_what_there_is() {
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
