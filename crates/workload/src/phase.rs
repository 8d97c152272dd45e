//! Phases of a run.

use evenair_units::Span;

/// A phase of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Unique in the scenario; "bypassed" and "inserted" by custom.
    pub name: String,
    /// Start.
    pub from: Span,
    /// End.
    pub to: Span,
}
