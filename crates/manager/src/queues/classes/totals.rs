//! Total traffic of each policy class.

use alloc::vec::Vec;

use evenair_units::{Bytes, Span};

use crate::Policy;
use crate::ids::ClassId;
use crate::latency::Latency;
use crate::loss::Losses;

/// Totals of one class, without its children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Total {
    /// IP-level bytes released toward the WLAN; IP-level bytes from it.
    pub(crate) released: Bytes,
    pub(crate) from_wlan: Bytes,
    /// Charged airtime of the released packets and of the packets that they cause.
    pub(crate) airtime: Span,
    pub(crate) dropped: u64,
    pub(crate) losses: Losses,
    pub(crate) latency: Latency,
}

/// Totals of all classes, and of traffic in none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    none: Total,
    classes: Vec<Total>,
}

impl Total {
    fn add(&mut self, other: Self) {
        self.released += other.released;
        self.from_wlan += other.from_wlan;
        self.airtime += other.airtime;
        self.dropped += other.dropped;
        self.losses = self.losses.plus(&other.losses);
        self.latency.add(&other.latency);
    }
}

impl Totals {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self { none: Total::default(), classes: policy.parents().map(|_| Total::default()).collect() }
    }

    /// The totals of a flow's class.
    pub(crate) fn of(&mut self, class: Option<ClassId>) -> &mut Total {
        let found = class.and_then(|class| self.classes.get_mut(usize::from(class.0)));
        found.unwrap_or(&mut self.none)
    }

    /// The totals under another policy: a class keeps those of the class of the same name; the others' go to traffic in
    /// no class.
    pub(crate) fn moved(self, from: &Policy, to: &Policy) -> Self {
        let mut moved = Self::new(to);
        moved.none = self.none;
        for (at, total) in self.classes.into_iter().enumerate() {
            let name = from.names.get(at);
            let now = name.and_then(|name| to.names.iter().position(|other| other == name));
            moved.of(now.map(super::config::number)).add(total);
        }
        moved
    }

    /// Totals of each class including its descendants, and of traffic in none.
    pub(crate) fn report(&self, policy: &Policy) -> (Vec<Total>, Total) {
        let parents: Vec<_> = policy.parents().collect();
        let mut sums: Vec<Total> = self.classes.iter().map(|_| Total::default()).collect();
        for (at, total) in self.classes.iter().enumerate() {
            let mut up = Some(at);
            while let Some(class) = up {
                sums[class].add(*total);
                up = parents[class].map(|parent| usize::from(parent.0));
            }
        }
        (sums, self.none)
    }
}
