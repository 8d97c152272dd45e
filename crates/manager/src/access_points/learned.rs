//! Media that nobody has configured.
//!
//! - Sources tell for each station the radio (BSSID) and the *channel* that it is on. As long as all of them are on one channel
//!   there is one medium, as there is where nobody tells anything. When a second channel is heard of, each is a medium of
//!   its own from then on: who is on one of them cannot hear the other. Radios on one channel are taken for one medium. They
//!   may not hear each other, and then they wait for each other; but nobody says so, and two that do and are taken apart
//!   would not share fairly. Who knows better configures them, which goes before.
//!
//! A channel of which nothing was told for long is forgotten; when only one is left, all are on one medium again.
//!
//! What is not here: channels that overlap without being the same, which share a part of their time. Name one domain for them.
//!
//! A learned medium stays in the list once it was made, empty where nobody is on it: there are fewer than a hundred channels.

use alloc::format;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use evenair_units::{Instant, Span};

use crate::Label;

/// Where channels are, in MHz: IEEE 802.11-2020, annex E, below 1 GHz too.
const CHANNELS_MHZ: RangeInclusive<u16> = 700..=7_200;
/// More media are not learned.
const MOST: usize = 64;
/// A channel is forgotten when nothing was told of it for so long: longer than the slowest source is asked.
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
    /// Channels, and when something was told of each.
    channels: Vec<(u16, Instant)>,
    /// There are several.
    several: bool,
}

impl Learned {
    /// Somebody is on this channel. True: where stations are is to be found anew.
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

    /// Forgets channels that nothing is told of. True: where stations are is to be found anew.
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
