//! The pacer's state of a station.

use evenair_units::{Instant, Span};

use super::costs::{Cost, Learned, ShownCost, Typical};
use crate::pacer::in_flight::Order;
use crate::pacer::lateness::Lateness;

/// Time since its last DATA within which a station counts as uploading.
const UPLOADS: Span = Span::from_millis(100);

/// The pacer's state of a station.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paced {
    pub(super) order: Order,
    pub(crate) lateness: Lateness,
    pub(super) cost: Cost,
    pub(super) typical: Typical,
    pub(super) shown: ShownCost,
    /// Whether its rate is reported or configured.
    pub(crate) has_rate: bool,
    /// When TCP DATA from it last came from the WLAN.
    data_at: Option<Instant>,
}

impl Paced {
    /// Notes TCP DATA from the station.
    pub(crate) const fn note_data(&mut self, now: Instant) {
        self.data_at = Some(now);
    }

    /// Whether its acknowledgments wait in its own queue, behind the DATA that it sends.
    pub(super) fn uploads(&self, now: Instant) -> bool {
        self.data_at.is_some_and(|at| now.saturating_since(at) < UPLOADS)
    }

    /// Resets its cost to the mean, until it is measured anew.
    pub(super) fn forget_cost(&mut self) {
        (self.cost, self.typical, self.shown) = Default::default();
    }

    /// Applies a measurement of its cost.
    pub(crate) fn learn(&mut self, learned: Learned) {
        match learned {
            Learned::Cost(cost, weight) => {
                self.cost.learn(cost);
                self.typical.learn(cost, weight);
            }
            Learned::Shown(step) => self.shown.step(step),
        }
    }
}
