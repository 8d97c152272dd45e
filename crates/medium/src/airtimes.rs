//! Cache of airtimes by frame size and rate: a network sends few kinds of frames, each many times.

use evenair_units::{Bytes, Span};
use evenair_wifi::{Phy, PhyRate, Preamble};

/// Entries of the cache; a power of two, so that the index is a mask.
const PLACES: usize = 32;

/// Direct-mapped cache of airtimes: each size and rate has one entry, which a colliding pair overwrites.
#[derive(Debug)]
pub(crate) struct Airtimes {
    known: [Known; PLACES],
    /// Duration of the protection in front of each frame.
    protection: Span,
}

/// Cached airtimes of a DATA frame and its response.
#[derive(Clone, Copy, Debug)]
struct Known {
    psdu: Bytes,
    rate: PhyRate,
    data: Span,
    answer: Span,
}

impl Airtimes {
    pub(crate) fn new(phy: &Phy, protection: Option<Preamble>) -> Self {
        let protection = protection.map_or(Span::ZERO, |preamble| phy.protection(preamble));
        Self { known: [Known::of(phy, Bytes::ZERO, phy.lowest_basic(), protection); PLACES], protection }
    }

    /// Airtime of DATA (with protection, header and FCS), and of SIFS and ACK.
    #[inline(always)]
    pub(crate) fn of(&mut self, phy: &Phy, psdu: Bytes, rate: PhyRate) -> (Span, Span) {
        let known = &mut self.known[(psdu.0 as usize ^ rate.index() as usize) % PLACES];
        if known.psdu != psdu || known.rate != rate {
            *known = Known::of(phy, psdu, rate, self.protection);
        }
        (known.data, known.answer)
    }
}

impl Known {
    #[cold]
    fn of(phy: &Phy, psdu: Bytes, rate: PhyRate, protection: Span) -> Self {
        Self { psdu, rate, data: protection + phy.ppdu(psdu, rate), answer: phy.sifs() + phy.ack(rate) }
    }
}

#[cfg(test)]
mod tests {
    use evenair_wifi::Standard;

    use super::*;

    #[test]
    fn cached_airtimes_equal_those_of_the_phy() {
        let phy = Phy::default_for(Standard::Dot11g);
        let mut airtimes = Airtimes::new(&phy, None);
        // Twice, and more kinds than the cache has entries.
        for size in (0..2).flat_map(|_| (0..200).map(|k| Bytes(64 + 7 * k))) {
            for &rate in phy.standard().rates() {
                let expected = (phy.ppdu(size, rate), phy.sifs() + phy.ack(rate));
                assert_eq!(airtimes.of(&phy, size, rate), expected);
                assert_eq!(airtimes.of(&phy, size, rate), expected);
            }
        }
    }
}
