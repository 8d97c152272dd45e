//! Rate control: which rate a sender uses toward a receiver, decided for each attempt from the outcomes of earlier ones.
//!
//! All these schemes interpret a missing ACK as a bad signal. With collisions they slow down for nothing, the more so the
//! more stations there are: a published weakness of theirs, not of this model.
//!
//! - [`RateControl::TwoFailures`]: firmware that lowers the rate after two consecutive missing ACKs and raises it after five
//!   consecutive ACKs (observed in products by S. Choi, K. Park, C. Kim, "Performance impact of interlayer dependence in
//!   infrastructure WLANs", IEEE Trans. Mobile Computing 5(7), 2006).
//! - [`RateControl::Arf`]: A. Kamerman, L. Monteban, "WaveLAN-II: a high-performance wireless LAN for the unlicensed
//!   band", Bell Labs Technical Journal 2(3), 1997.
//! - [`RateControl::Aarf`]: M. Lacage, M. H. Manshaei, T. Turletti, "IEEE 802.11 rate adaptation: a practical approach",
//!   MSWiM 2004.
//! - [`RateControl::Minstrel`]: F. Fietkau's algorithm as the Linux kernel documents it (see `minstrel`).
//! - [`RateControl::MinstrelHt`]: Minstrel for 802.11n, ac and ax, where several MPDUs share an access (see `minstrel_ht`).
//!
//! A missing CTS says nothing about the rate of DATA, and is not reported; with bursts it is, as drivers do.

mod delivery;
mod fallback;
mod minstrel;
mod minstrel_ht;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use evenair_units::{Instant, Rng};
use evenair_wifi::{Phy, PhyRate};

use fallback::Fallback;
use minstrel::Minstrel;
use minstrel_ht::MinstrelHt;

use crate::frame::NodePair;

/// Rate control scheme of senders.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RateControl {
    /// The rate that the frame carries.
    #[default]
    Fixed,
    /// Lower after two consecutive missing ACKs, higher after five consecutive ACKs.
    TwoFailures,
    /// Automatic rate fallback: higher after ten consecutive ACKs or a timer; lower at once if the first attempt then fails.
    Arf,
    /// Adaptive ARF: the number of ACKs needed doubles with each first attempt that fails.
    Aarf {
        /// Maximum of that number: 50 in the paper, 60 in ns-3.
        most: u32,
    },
    /// Measured delivery ratio of rates; one frame of ten is a probe.
    Minstrel,
    /// Measured delivery ratio of MPDUs in each mode, for nodes that aggregate and whose frames carry a mode. Other frames
    /// are sent at the rate that they carry.
    MinstrelHt,
}

/// Rate and form of a burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BurstRate {
    pub(crate) rate: PhyRate,
    /// Whether it is limited to one MPDU.
    pub(crate) single: bool,
    /// Whether RTS precedes it, whatever its size.
    pub(crate) reserve: bool,
}

impl BurstRate {
    /// At the rate that its frames carry.
    pub(crate) const fn fixed(rate: PhyRate) -> Self {
        Self { rate, single: false, reserve: false }
    }
}

/// Rate control of all senders.
#[derive(Debug)]
pub(crate) struct Rates {
    control: RateControl,
    phy: Phy,
    /// State for single frames.
    controllers: BTreeMap<NodePair, Controller>,
    /// State for bursts.
    bursts: BTreeMap<NodePair, MinstrelHt>,
    /// Random stream of each sender.
    rngs: Vec<Rng>,
}

impl Rates {
    /// `None` for [`RateControl::Fixed`].
    pub(crate) fn new(control: RateControl, phy: &Phy) -> Option<Self> {
        let (controllers, bursts) = (BTreeMap::new(), BTreeMap::new());
        (control != RateControl::Fixed).then(|| Self {
            control,
            phy: phy.clone(),
            controllers,
            bursts,
            rngs: Vec::new(),
        })
    }

    pub(crate) fn add_node(&mut self, rng: Rng) {
        self.rngs.push(rng);
    }

    /// Removes the state of a node that has left.
    pub(crate) fn remove_node(&mut self, node: u32) {
        let stays = |pair: &NodePair| pair.from != node && pair.to != node;
        self.controllers.retain(|pair, _| stays(pair));
        self.bursts.retain(|pair, _| stays(pair));
    }

    /// Rate of the sender's next attempt at a frame that carries the rate `highest`, after `attempt` failed ones. A frame
    /// that carries another rate than earlier ones restarts the scheme.
    pub(crate) fn choose(&mut self, now: Instant, pair: NodePair, highest: PhyRate, attempt: u32) -> PhyRate {
        if self.control == RateControl::MinstrelHt {
            return highest;
        }
        let new = || Controller::new(self.control, &self.phy, highest);
        let controller = self.controllers.entry(pair).or_insert_with(new);
        if controller.highest() != highest {
            *controller = new();
        }
        controller.rate(now, attempt, &mut self.rngs[pair.from as usize])
    }

    /// Reports the outcome of an attempt with DATA.
    pub(crate) fn report(&mut self, pair: NodePair, rate: PhyRate, acknowledged: bool) {
        // The pair is absent if one of the two left meanwhile; and the rate may now be above the highest.
        if let Some(controller) = self.controllers.get_mut(&pair).filter(|c| rate <= c.highest()) {
            controller.handle_outcome(rate, acknowledged);
        }
    }

    /// Rate of the sender's next burst, whose frames carry the rate `highest`, after `attempt` attempts without a response.
    /// `None` unless with [`RateControl::MinstrelHt`] and if `highest` is no mode.
    pub(crate) fn choose_burst(
        &mut self,
        now: Instant,
        pair: NodePair,
        highest: PhyRate,
        attempt: u32,
    ) -> Option<BurstRate> {
        let mode = highest.mode().filter(|_| self.control == RateControl::MinstrelHt)?;
        let new = || MinstrelHt::new(&self.phy, mode);
        let modes = self.bursts.entry(pair).or_insert_with(new);
        if modes.highest() != highest {
            *modes = new();
        }
        Some(modes.choose(now, attempt, &mut self.rngs[pair.from as usize]))
    }

    /// Reports the MPDUs of a burst.
    pub(crate) fn report_burst(&mut self, pair: NodePair, rate: PhyRate, mpdus: u64, delivered: u64) {
        if let Some(modes) = self.bursts.get_mut(&pair) {
            modes.handle_burst(rate, mpdus, delivered);
        }
    }

    pub(crate) fn current(&self, pair: NodePair) -> Option<PhyRate> {
        let of_burst = self.bursts.get(&pair).map(MinstrelHt::best);
        of_burst.or_else(|| self.controllers.get(&pair).map(Controller::current))
    }
}

/// Rate control of one sender toward one receiver.
#[derive(Debug)]
struct Controller {
    /// In ascending order; the last is the highest that may be used.
    rates: Vec<PhyRate>,
    scheme: Scheme,
}

#[derive(Debug)]
enum Scheme {
    Fallback(Fallback),
    Minstrel(Minstrel),
}

impl Controller {
    /// Starts at `highest`.
    ///
    /// # Panics
    /// For [`RateControl::Fixed`], which needs none, and [`RateControl::MinstrelHt`], which is for bursts.
    fn new(control: RateControl, phy: &Phy, highest: PhyRate) -> Self {
        let rates: Vec<_> = phy.standard().rates().iter().copied().filter(|&rate| rate <= highest).collect();
        let top = rates.len() - 1;
        let scheme = match control {
            RateControl::Fixed | RateControl::MinstrelHt => unreachable!("rates that frames bring need no control"),
            RateControl::TwoFailures => Scheme::Fallback(Fallback::two_failures(top)),
            RateControl::Arf => Scheme::Fallback(Fallback::arf(top)),
            RateControl::Aarf { most } => Scheme::Fallback(Fallback::aarf(top, most)),
            RateControl::Minstrel => Scheme::Minstrel(Minstrel::new(phy, &rates)),
        };
        Self { rates, scheme }
    }

    /// The highest rate that it may use.
    fn highest(&self) -> PhyRate {
        self.rates[self.rates.len() - 1]
    }

    /// Rate of a frame's next attempt, after `attempt` failed ones.
    fn rate(&mut self, now: Instant, attempt: u32, rng: &mut Rng) -> PhyRate {
        let index = match &mut self.scheme {
            Scheme::Fallback(fallback) => fallback.index(),
            Scheme::Minstrel(minstrel) => minstrel.index(now, attempt, rng),
        };
        self.rates[index]
    }

    /// Reports the outcome of the last attempt, at this rate.
    fn handle_outcome(&mut self, rate: PhyRate, acknowledged: bool) {
        match &mut self.scheme {
            Scheme::Fallback(fallback) => fallback.handle_outcome(acknowledged),
            Scheme::Minstrel(minstrel) => {
                let index = self.rates.iter().position(|&known| known == rate).expect("a rate of this controller");
                minstrel.handle_outcome(index, acknowledged);
            }
        }
    }

    /// The rate currently considered best.
    fn current(&self) -> PhyRate {
        self.rates[match &self.scheme {
            Scheme::Fallback(fallback) => fallback.index(),
            Scheme::Minstrel(minstrel) => minstrel.best(),
        }]
    }
}

#[cfg(test)]
mod tests {
    use evenair_units::Streams;
    use evenair_wifi::Standard;

    use super::*;

    #[test]
    fn every_scheme_starts_at_the_highest_rate_and_uses_none_above() {
        let phy = Phy::default_for(Standard::Dot11a);
        let highest = phy.standard().rates()[4];
        let schemes =
            [RateControl::TwoFailures, RateControl::Arf, RateControl::Aarf { most: 50 }, RateControl::Minstrel];
        for control in schemes {
            let mut rng = Streams::new(1).stream("rate control");
            let mut controller = Controller::new(control, &phy, highest);
            assert_eq!((controller.current(), controller.highest()), (highest, highest), "{control:?}");
            let mut now = Instant::ZERO;
            for _ in 0..5_000 {
                let rate = controller.rate(now, 0, &mut rng);
                assert!(rate <= highest, "{control:?}");
                controller.handle_outcome(rate, true);
                now += evenair_units::Span::from_millis(1);
            }
            assert_eq!(controller.current(), highest, "{control:?}: everything arrives");
        }
        assert!(Rates::new(RateControl::Fixed, &phy).is_none());
    }

    #[test]
    fn every_scheme_goes_down_where_fast_frames_fail() {
        let phy = Phy::default_for(Standard::Dot11a);
        let rates = phy.standard().rates();
        for control in
            [RateControl::TwoFailures, RateControl::Arf, RateControl::Aarf { most: 50 }, RateControl::Minstrel]
        {
            let mut rng = Streams::new(2).stream("rate control");
            let mut controller = Controller::new(control, &phy, rates[7]);
            let (mut now, mut attempt, mut slow, frames) = (Instant::ZERO, 0, 0, 4_000);
            for _ in 0..frames {
                let rate = controller.rate(now, attempt, &mut rng);
                // Up to 24 Mb/s all arrives, above that nothing.
                let arrives = rate <= rates[4];
                controller.handle_outcome(rate, arrives);
                attempt = if arrives { 0 } else { (attempt + 1) % 7 };
                slow += u32::from(rate == rates[4]);
                now += evenair_units::Span::from_millis(1);
            }
            assert!(slow > frames / 2, "{control:?}: {slow} of {frames} at the best rate");
        }
    }
}
