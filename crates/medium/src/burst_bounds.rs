//! Cache of what bounds a burst: most accesses have the rate and the TXOP of an earlier one.

use evenair_units::{Bytes, Span};
use evenair_wifi::{Phy, PhyRate, RateLimits};

use crate::aggregation::Aggregation;

/// Entries for the first frames of TXOPs, and as many for the others.
const PLACES: usize = 16;

/// Direct-mapped cache: a rate has one entry for the first frames of TXOPs and one for the others, which a colliding rate
/// overwrites.
#[derive(Debug)]
pub(crate) struct BurstBounds {
    known: [Option<(BurstCase, Bounds)>; 2 * PLACES],
}

/// What the bounds of a burst depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BurstCase {
    pub(crate) rate: PhyRate,
    /// Rest of the TXOP, if it is limited.
    pub(crate) left: Option<Span>,
    /// Whether RTS and CTS may come first.
    pub(crate) reserves: bool,
    /// Whether it may be an A-MPDU.
    pub(crate) aggregates: bool,
    /// Whether it continues a TXOP.
    pub(crate) goes_on: bool,
}

/// Bounds of a burst, and its responses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// SIFS and BlockAck.
    pub(crate) block_ack: Span,
    /// SIFS and ACK.
    pub(crate) ack: Span,
    /// Limits of the A-MPDU; `None`: the burst is one MPDU.
    pub(crate) a_mpdu: Option<RateLimits>,
    /// Maximum size of a single MPDU.
    pub(crate) mpdu: Bytes,
}

impl BurstBounds {
    pub(crate) const fn new() -> Self {
        Self { known: [None; 2 * PLACES] }
    }

    #[inline]
    pub(crate) fn of(&mut self, phy: &Phy, rules: &Aggregation, case: BurstCase) -> Bounds {
        let known = &mut self.known[usize::from(case.goes_on) * PLACES + case.rate.index() as usize % PLACES];
        match known {
            Some((of, bounds)) if *of == case => *bounds,
            _ => known.insert((case, Bounds::of(phy, rules, case))).1,
        }
    }
}

impl Bounds {
    #[inline(never)]
    fn of(phy: &Phy, rules: &Aggregation, case: BurstCase) -> Self {
        let BurstCase { rate, left, reserves, aggregates, .. } = case;
        let block_ack = phy.sifs() + phy.block_ack(rate, rules.window_at(rate));
        let reservation = if reserves { phy.reservation(rate) } else { Span::ZERO };
        let left =
            left.map(|left| Span::from_nanos(left.as_nanos().saturating_sub((reservation + block_ack).as_nanos())));
        Self {
            block_ack,
            ack: phy.sifs() + phy.ack(rate),
            a_mpdu: aggregates.then(|| rules.limits_at(phy, rate, left)).flatten(),
            mpdu: phy.largest_psdu(rate, left.map_or(rules.max_ppdu, |left| left.min(rules.max_ppdu))),
        }
    }
}

#[cfg(test)]
mod tests {
    use evenair_wifi::Standard;

    use super::*;

    #[test]
    fn cached_bounds_equal_computed_ones() {
        let (phy, rules) = (Phy::default_for(Standard::Dot11g), Aggregation::new());
        let mut cache = BurstBounds::new();
        let lefts = [None, Some(Span::from_micros(2_500)), Some(Span::from_micros(40))];
        // Twice, and more rates than entries have the same index.
        for left in (0..2).flat_map(|_| lefts) {
            for &rate in phy.standard().rates() {
                for flags in 0..8 {
                    let [reserves, aggregates, goes_on] = [1, 2, 4].map(|flag| flags & flag > 0);
                    let case = BurstCase { rate, left, reserves, aggregates, goes_on };
                    let expected = Bounds::of(&phy, &rules, case);
                    for _ in 0..2 {
                        let Bounds { block_ack, ack, a_mpdu, mpdu } = cache.of(&phy, &rules, case);
                        assert_eq!((block_ack, ack), (expected.block_ack, expected.ack));
                        assert_eq!((a_mpdu, mpdu), (expected.a_mpdu, expected.mpdu));
                    }
                }
            }
        }
    }
}
