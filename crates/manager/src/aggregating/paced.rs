//! What the pacer knows of a station.

use super::costs::{Cost, Learned, ShownCost};
use crate::in_flight::Order;
use crate::lateness::Lateness;

/// What the pacer knows of a station.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paced {
    pub(super) order: Order,
    pub(crate) lateness: Lateness,
    pub(super) cost: Cost,
    pub(super) shown: ShownCost,
    /// Its rate is reported or configured.
    pub(crate) has_rate: bool,
}

impl Paced {
    /// Its cost was measured.
    pub(crate) fn learn(&mut self, learned: Learned) {
        match learned {
            Learned::Cost(cost) => self.cost.learn(cost),
            Learned::Shown(step) => self.shown.step(step),
        }
    }
}
