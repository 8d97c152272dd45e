//! Contention domains learned from reported channels, where none is configured.
//!
//! Sources report the radio (BSSID) and the *channel* of each station. As long as all stations are on one channel,
//! there is one domain, as there is without reports. Once a second channel is reported, each channel is a domain of
//! its own, because stations on one cannot hear the other. Radios on one channel are treated as one domain. If they
//! do not hear each other, they wait for each other; but no report says so, and two radios that do hear each other
//! and were treated as two domains would not share fairly. Configured access points take precedence.
//!
//! A channel without reports for a long time is forgotten; if only one is left, all stations are in one domain again.
//!
//! What is not here: channels that overlap without being the same, which share a part of their time. Configure one
//! domain for them.
//!
//! A learned domain stays in the list, empty if no station is in it: there are fewer than a hundred channels.

use alloc::format;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use evenair_units::{Instant, Span};

use crate::Label;

/// Where channels are, in MHz: IEEE 802.11-2020, annex E, below 1 GHz too.
const CHANNELS_MHZ: RangeInclusive<u16> = 700..=7_200;
/// More media are not learned.
const MOST: usize = 64;
/// A channel without reports for this long is forgotten: longer than the longest interval between queries.
const FORGOTTEN: Span = Span::from_secs(900);

/// What makes a medium one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Channel(u16),
}

/// Learned media, in the order in which they were made: behind the configured ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned {
    media: Vec<(Kind, Label)>,
    /// Channels, and when each was reported last.
    channels: Vec<(u16, Instant)>,
    /// There are several.
    several: bool,
}

impl Learned {
    /// Handles a report of a station on this channel. True: the places of stations have to be determined anew.
    pub(crate) fn hear(&mut self, now: Instant, mhz: u16) -> bool {
        if !CHANNELS_MHZ.contains(&mhz) {
            return false;
        }
        match self.channels.iter().position(|(known, _)| *known == mhz) {
            Some(at) => self.channels[at].1 = now,
            None if self.channels.len() < MOST => self.channels.push((mhz, now)),
            None => return false,
        }
        self.review(now)
    }

    /// Forgets channels without reports. True: the places of stations have to be determined anew.
    pub(crate) fn review(&mut self, now: Instant) -> bool {
        self.channels.retain(|(_, heard)| now.saturating_since(*heard) < FORGOTTEN);
        let several = self.channels.len() > 1;
        let mut changed = core::mem::replace(&mut self.several, several) != several;
        for at in 0..if several { self.channels.len() } else { 0 } {
            changed |= self.make(Kind::Channel(self.channels[at].0));
        }
        changed
    }

    /// True: there was none.
    fn make(&mut self, kind: Kind) -> bool {
        if self.media.len() >= MOST || self.media.iter().any(|(known, _)| *known == kind) {
            return false;
        }
        let name = match kind {
            Kind::Channel(mhz) => format!("{mhz} MHz"),
        };
        self.media.push((kind, name.parse().expect("a short name")));
        true
    }

    /// The medium of a channel, by its place in the list.
    pub(crate) fn of_channel(&self, mhz: u16) -> Option<usize> {
        self.media.iter().position(|(kind, _)| self.several && *kind == Kind::Channel(mhz))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = Label> {
        self.media.iter().map(|(_, name)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};

    fn at(s: u64) -> Instant {
        Instant::ZERO + Span::from_secs(s)
    }

    fn names(learned: &Learned) -> Vec<String> {
        learned.names().map(|name| name.to_string()).collect()
    }

    #[test]
    fn one_channel_is_no_reason_and_two_are() {
        let mut learned = Learned::default();
        assert!(!learned.hear(at(0), 2437) && !learned.hear(at(1), 2437));
        assert_eq!((learned.media.len(), learned.of_channel(2437)), (0, None));
        assert!(learned.hear(at(2), 5180));
        assert_eq!(names(&learned), ["2437 MHz", "5180 MHz"]);
        assert_eq!((learned.of_channel(5180), learned.of_channel(2412)), (Some(1), None));
        assert!(!learned.hear(at(3), 5180));
        assert!(learned.hear(at(4), 2412), "an access point that has changed its channel is on another medium");
        // The one that it left is forgotten, and then the second one too.
        assert!(!learned.hear(at(850), 2412) && !learned.hear(at(850), 5180) && !learned.hear(at(904), 2412));
        assert!(learned.hear(at(1_800), 2412), "one is left: it is the only medium");
        assert_eq!((learned.of_channel(2412), learned.media.len()), (None, 3));
        assert!(learned.hear(at(1_900), 5180), "and they are several again");
        assert_eq!(learned.of_channel(5180), Some(1));
    }

    #[test]
    fn what_is_no_channel_makes_none_and_there_are_not_too_many() {
        let mut learned = Learned::default();
        for mhz in [0, 6, 699, 7_201, u16::MAX] {
            assert!(!learned.hear(at(0), mhz));
        }
        (2_000..3_000).for_each(|mhz| _ = learned.hear(at(0), mhz));
        assert_eq!(learned.media.len(), MOST);
    }
}
