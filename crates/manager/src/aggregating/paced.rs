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
    /// It is taken to cost what all cost on average, until its cost is measured anew.
    pub(super) fn forget_cost(&mut self) {
        (self.cost, self.shown) = (Cost::default(), ShownCost::default());
    }

    /// Its cost was measured.
    pub(crate) fn learn(&mut self, learned: Learned) {
        match learned {
            Learned::Cost(cost) => self.cost.learn(cost),
            Learned::Shown(step) => self.shown.step(step),
        }
    }
}
