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

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use evenair_packet::MacAddr;
use evenair_units::{Instant, Span};

use crate::Label;

/// Frequencies of channels, in MHz: IEEE 802.11-2020, annex E, including those below 1 GHz.
const CHANNELS_MHZ: RangeInclusive<u16> = 700..=7_200;
/// Learned domains, at most.
const MOST: usize = 64;
/// Time without reports of its old channel after which a radio is taken to have changed it, where reports differ.
const RETUNED: Span = Span::from_secs(30);
/// Radios remembered, at most.
const MOST_RADIOS: usize = 4096;
/// The bit of a MAC address's first octet for local administration (IEEE 802, 8.4).
const LOCAL: u8 = 2;
/// Time without reports after which a channel is forgotten: longer than the longest interval between queries.
const FORGOTTEN: Span = Span::from_secs(900);

/// What a learned domain belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Channel(u16),
}

/// Learned domains, in order of creation; they follow the configured ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned {
    media: Vec<(Kind, Label)>,
    /// Channels, and the last report of each.
    channels: Vec<(u16, Instant)>,
    /// The channel of each radio, and its last report.
    radios: BTreeMap<MacAddr, (u16, Instant)>,
    /// Whether there are several channels.
    several: bool,
}

impl Learned {
    /// Handles a report of a station at this radio and on this channel. True: the places of stations have to be determined anew.
    pub(crate) fn hear(&mut self, now: Instant, radio: MacAddr, mhz: u16) -> bool {
        if !CHANNELS_MHZ.contains(&mhz) {
            return false;
        }
        let Some((mhz, retuned)) = self.tune(now, radio, mhz) else { return false };
        self.note_channel(now, mhz) || retuned
    }

    /// The channel of a radio by all reports, and whether it has changed; `None`: this report contradicts others. A radio has one channel:
    /// where reports differ, the one that is still reported stays.
    fn tune(&mut self, now: Instant, radio: MacAddr, mhz: u16) -> Option<(u16, bool)> {
        let is_full = self.radios.len() >= MOST_RADIOS && !self.radios.contains_key(&radio);
        if is_full {
            return Some((mhz, false));
        }
        let (of_radio, heard) = self.radios.entry(radio).or_insert((mhz, now));
        if *of_radio != mhz && now.saturating_since(*heard) < RETUNED {
            return None;
        }
        let retuned = core::mem::replace(of_radio, mhz) != mhz;
        *heard = now;
        Some((mhz, retuned))
    }

    fn note_channel(&mut self, now: Instant, mhz: u16) -> bool {
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
        self.radios.retain(|_, (_, heard)| now.saturating_since(*heard) < FORGOTTEN);
        let several = self.channels.len() > 1;
        let mut changed = core::mem::replace(&mut self.several, several) != several;
        for at in 0..if several { self.channels.len() } else { 0 } {
            changed |= self.make(Kind::Channel(self.channels[at].0));
        }
        changed
    }

    /// Creates a learned domain. True: it is new.
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

    /// The domain of a channel, by its index in the list.
    fn of_channel(&self, mhz: u16) -> Option<usize> {
        self.media.iter().position(|(kind, _)| self.several && *kind == Kind::Channel(mhz))
    }

    /// The domain of a radio, by its index in the list. One without a known channel is in that of a radio with a similar address, as
    /// virtual access points have: it differs in the bit for local administration, in the last octet, or in both.
    pub(crate) fn of_radio(&self, radio: MacAddr) -> Option<usize> {
        let near = |known: MacAddr| {
            let [first, rest @ .., _] = known.0;
            let [own, own_rest @ .., _] = radio.0;
            first | LOCAL == own | LOCAL && rest == own_rest
        };
        let known = self.radios.get(&radio).map(|(mhz, _)| *mhz);
        let alike = || {
            let mut channels = self.radios.iter().filter(|(known, _)| near(**known)).map(|(_, (mhz, _))| *mhz);
            let first = channels.next()?;
            channels.all(|mhz| mhz == first).then_some(first)
        };
        self.of_channel(known.or_else(alike)?)
    }

    /// Number of channels that are domains of their own; zero: all are one domain.
    pub(crate) fn in_use(&self) -> usize {
        if self.several { self.channels.len() } else { 0 }
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

    impl Learned {
        /// A report of some radio on this channel.
        fn hear_at(&mut self, now: Instant, mhz: u16) -> bool {
            let [high, low] = mhz.to_be_bytes();
            self.hear(now, MacAddr([2, 0, 0, high, low, 0]), mhz)
        }
    }

    fn names(learned: &Learned) -> Vec<String> {
        learned.names().map(|name| name.to_string()).collect()
    }

    #[test]
    fn one_channel_makes_no_domain_and_two_do() {
        let mut learned = Learned::default();
        assert!(!learned.hear_at(at(0), 2437) && !learned.hear_at(at(1), 2437));
        assert_eq!((learned.media.len(), learned.of_channel(2437)), (0, None));
        assert!(learned.hear_at(at(2), 5180));
        assert_eq!(names(&learned), ["2437 MHz", "5180 MHz"]);
        assert_eq!((learned.of_channel(5180), learned.of_channel(2412)), (Some(1), None));
        assert!(!learned.hear_at(at(3), 5180));
        assert!(learned.hear_at(at(4), 2412), "an access point that has changed its channel is on another medium");
        // The channel that it left is forgotten, and then the second one too.
        assert!(!learned.hear_at(at(850), 2412) && !learned.hear_at(at(850), 5180) && !learned.hear_at(at(904), 2412));
        assert!(learned.hear_at(at(1_800), 2412), "one is left: it is the only medium");
        assert_eq!((learned.of_channel(2412), learned.media.len()), (None, 3));
        assert!(learned.hear_at(at(1_900), 5180), "and they are several again");
        assert_eq!(learned.of_channel(5180), Some(1));
    }

    #[test]
    fn invalid_channels_are_ignored_and_their_number_is_bounded() {
        let mut learned = Learned::default();
        for mhz in [0, 6, 699, 7_201, u16::MAX] {
            assert!(!learned.hear_at(at(0), mhz));
        }
        (2_000..3_000).for_each(|mhz| _ = learned.hear_at(at(0), mhz));
        assert_eq!(learned.media.len(), MOST);
    }

    #[test]
    fn a_radio_has_one_channel_whatever_its_stations_are_reported_on() {
        let mut learned = Learned::default();
        let radio = MacAddr([0x4c, 0, 0, 0, 0, 1]);
        for poll in 0..20 {
            for station in 0..5 {
                learned.hear(at(10 * poll), radio, 2_412 + 5 * ((station + poll as u16) % 5));
            }
        }
        assert_eq!((learned.of_radio(radio), learned.in_use()), (None, 0), "one radio is one domain");
        assert!(learned.hear(at(200), MacAddr([0x4c, 0, 0, 0, 9, 2]), 5_180));
        assert_eq!(learned.in_use(), 2);
        // It is retuned: its old channel is not reported any more.
        let before = learned.of_radio(radio);
        assert!(!learned.hear(at(205), radio, 2_462));
        assert_eq!(learned.of_radio(radio), before);
        assert!(learned.hear(at(240), radio, 2_462));
        assert_ne!(learned.of_radio(radio), before);
    }

    #[test]
    fn a_virtual_access_point_without_a_channel_is_on_the_channel_of_its_radio() {
        let mut learned = Learned::default();
        let radio = |text: &str| text.parse::<MacAddr>().expect("an address");
        learned.hear(at(0), radio("4c:5e:0c:00:10:01"), 2_412);
        learned.hear(at(0), radio("4c:5e:0c:00:20:02"), 5_805);
        assert_eq!(learned.of_radio(radio("4e:5e:0c:00:10:01")), learned.of_channel(2_412));
        assert_eq!(learned.of_radio(radio("4e:5e:0c:00:20:07")), learned.of_channel(5_805));
        assert_eq!(learned.of_radio(radio("4e:5e:0c:00:30:07")), None, "of no radio that is known");
    }
}
