//! The settings of the pacer.

use evenair_units::Span;

use super::controller::Controller;
use crate::rate::Charge;

/// What a pacer takes of a configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacerConfig {
    pub(crate) controller: Controller,
    pub(crate) charge: Charge,
    /// How much lateness of releases is made up.
    pub(crate) slack: Span,
}
