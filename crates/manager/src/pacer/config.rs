//! The settings of the pacer.

use evenair_units::Span;

use super::controller::Controller;
use crate::aggregating::runs::RunLimit;
use crate::rate::Charge;

/// What a pacer takes of a configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacerConfig {
    pub(crate) controller: Controller,
    pub(crate) charge: Charge,
    /// The longest run of packets to one station.
    pub(crate) run: RunLimit,
    /// The standard is one with aggregation, and the tree of queues releases runs by completions.
    pub(crate) aggregates: bool,
    /// How much lateness of releases is made up.
    pub(crate) slack: Span,
}
