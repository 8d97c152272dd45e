//! What the pacer knows of a station.

use super::costs::Cost;
use crate::in_flight::Order;

/// What the pacer knows of a station.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paced {
    pub(super) order: Order,
    pub(super) cost: Cost,
    /// Its rate is reported or configured.
    pub(crate) has_rate: bool,
}

impl Paced {
    /// Its cost was measured.
    pub(crate) fn learn(&mut self, cost: Cost) {
        self.cost.learn(cost);
    }
}
