//! How long frames of a size and a rate take: worked out once, since a network sends few kinds of frames, and each many
//! times over.

use evenair_units::{Bytes, Span};
use evenair_wifi::{Phy, PhyRate, Preamble};

/// How many kinds are kept; a power of two, so that the place is a mask.
const PLACES: usize = 32;

/// The kinds that were asked for last, by size and rate: each has one place, where it displaces another.
#[derive(Debug)]
pub(crate) struct Airtimes {
    known: [Known; PLACES],
    /// In front of each frame.
    protection: Span,
}

/// A DATA frame that is answered.
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

    /// Time on air of DATA with its header and FCS and with what protects it, and of SIFS and the ACK to it.
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
    fn what_is_known_is_what_the_phy_says() {
        let phy = Phy::default_for(Standard::Dot11g);
        let mut airtimes = Airtimes::new(&phy, None);
        // Twice, and more kinds than places.
        for size in (0..2).flat_map(|_| (0..200).map(|k| Bytes(64 + 7 * k))) {
            for &rate in phy.standard().rates() {
                let expected = (phy.ppdu(size, rate), phy.sifs() + phy.ack(rate));
                assert_eq!(airtimes.of(&phy, size, rate), expected);
                assert_eq!(airtimes.of(&phy, size, rate), expected);
            }
        }
    }
}
