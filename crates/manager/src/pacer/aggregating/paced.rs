//! What the pacer knows of a station.

use evenair_units::{Instant, Span};

use super::costs::{Cost, Learned, ShownCost};
use crate::pacer::in_flight::Order;
use crate::pacer::lateness::Lateness;

/// A station that has sent DATA within this time uploads.
const UPLOADS: Span = Span::from_millis(100);

/// What the pacer knows of a station.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paced {
    pub(super) order: Order,
    pub(crate) lateness: Lateness,
    pub(super) cost: Cost,
    pub(super) shown: ShownCost,
    /// Its rate is reported or configured.
    pub(crate) has_rate: bool,
    /// When TCP DATA of it last came from the WLAN.
    data_at: Option<Instant>,
}

impl Paced {
    /// TCP DATA of it came from the WLAN.
    pub(crate) const fn note_data(&mut self, now: Instant) {
        self.data_at = Some(now);
    }

    /// What it acknowledges waits in its own queue, behind the DATA that it sends.
    pub(super) fn uploads(&self, now: Instant) -> bool {
        self.data_at.is_some_and(|at| now.saturating_since(at) < UPLOADS)
    }

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
