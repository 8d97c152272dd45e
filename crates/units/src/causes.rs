//! Causes for which the box drops a packet, and counts by cause.
//!
//! They are in this crate because both the manager, which counts drops, and the contract of the box (`evenair-api`), which
//! names them, use them, and neither depends on the other.
//!
//! [`causes!`](crate::causes!) declares each cause once: its variant, the key of its count, its name and its help
//! text. Code that shows counts iterates over [`Cause::ALL`] and names no single cause, so that a new cause is shown
//! everywhere.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Add, Index, IndexMut};

/// A cause for which the box drops a packet: an enumeration made by [`causes!`](crate::causes!).
pub trait Cause: Copy + fmt::Debug + Eq + 'static {
    /// All causes, in the order of their indices.
    const ALL: &'static [Self];

    /// Index of its count, and its code in recordings.
    fn index(self) -> usize;

    /// Key of its count in JSON; never changes.
    fn key(self) -> &'static str;

    /// Its name for people, and its label in metrics and results; never changes.
    fn word(self) -> &'static str;

    /// Its meaning, in one sentence.
    fn help(self) -> &'static str;
}

/// Declares an enumeration of [`Cause`]s. Each variant has a key (JSON), a word (text, metrics and results) and a help
/// text, which is its documentation, too. Indices follow the order of the variants: a new one goes to the end.
#[macro_export]
macro_rules! causes {
    ($(#[$meta:meta])* pub enum $name:ident { $($variant:ident: $key:literal, $word:literal, $help:literal;)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = $help] $variant,)+
        }

        impl $crate::causes::Cause for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn index(self) -> usize {
                self as usize
            }

            fn key(self) -> &'static str {
                match self { $(Self::$variant => $key,)+ }
            }

            fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)+ }
            }
        }
    };
}

causes! {
    /// Why the manager dropped a packet.
    ///
    /// To add a reason, add a line here, at the end, and call `discard` with it where the manager drops the packet: two
    /// files at most. One that a queue discipline drops for comes from `evenair_sched::Cause`, by way of `drop_held`.
    /// Counters, the control socket, the metrics, the history, `evenair status --all`, results and reports
    /// iterate over [`Cause::ALL`].
    pub enum DropReason {
        QueueFull: "dropped_queue_full", "queue full",
            "Its queue was full, or all queues together were.";
        AckSuperseded: "dropped_ack_superseded", "ack superseded",
            "There was no room, and a later pure ACK of the same connection, held in the queue, acknowledges all that it did.";
        SenderAhead: "dropped_sender_ahead", "sender ahead",
            "DATA of an upload whose ACKs wait too long in the queue, or wait for more DATA than a queue may hold: \
             a congestion signal to the sender, once per window.";
        StandingQueue: "dropped_standing_queue", "standing queue",
            "It was the head of a standing queue (CoDel), and its sender does not use ECN.";
        UplinkLimit: "dropped_uplink_limit", "uplink limit",
            "Uploads exceeded their limit.";
        TooOld: "dropped_too_old", "too old",
            "It was held for more than a second. Only where the queues are managed by AQM, the controller is not the published one and no \
             queue discipline replaces the policy tree; and never a pure ACK, by which an upload is held to its share.";
        GroupShare: "dropped_group_share", "group share",
            "It was for a group (multicast or broadcast), and frames for groups had taken their share of the medium.";
    }
}

/// Packets dropped by the manager, by reason.
pub type Drops = Counts<DropReason, { DropReason::ALL.len() }>;

/// Packets by cause: one count for each of the `N` causes `C`. Displays the causes whose count is not zero:
/// "queue full 3, uplink limit 1", or "none".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts<C, const N: usize> {
    packets: [u64; N],
    causes: PhantomData<C>,
}

impl<C: Cause, const N: usize> Counts<C, N> {
    /// Each cause with its count, in the order of [`Cause::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (C, u64)> + '_ {
        C::ALL.iter().copied().zip(self.packets)
    }

    /// Packets of all causes.
    pub fn total(&self) -> u64 {
        self.packets.iter().sum()
    }

    /// No packet was counted.
    pub fn is_zero(&self) -> bool {
        self.total() == 0
    }

    /// Counts since `earlier`, a former state of these counts. A count that went back, since counting restarted, gives
    /// zero.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = *self;
        since.packets.iter_mut().zip(earlier.packets).for_each(|(now, earlier)| *now = now.saturating_sub(earlier));
        since
    }
}

impl<C, const N: usize> Default for Counts<C, N> {
    fn default() -> Self {
        Self { packets: [0; N], causes: PhantomData }
    }
}

impl<C: Cause, const N: usize> Index<C> for Counts<C, N> {
    type Output = u64;

    fn index(&self, cause: C) -> &u64 {
        &self.packets[cause.index()]
    }
}

impl<C: Cause, const N: usize> IndexMut<C> for Counts<C, N> {
    fn index_mut(&mut self, cause: C) -> &mut u64 {
        &mut self.packets[cause.index()]
    }
}

impl<C: Cause, const N: usize> Add for Counts<C, N> {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self.packets.iter_mut().zip(other.packets).for_each(|(sum, more)| *sum += more);
        self
    }
}

impl<C: Cause, const N: usize> fmt::Display for Counts<C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("none");
        }
        for (number, (cause, packets)) in self.iter().filter(|(_, packets)| *packets > 0).enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(f, "{comma}{} {packets}", cause.word())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use alloc::string::ToString;

    use super::*;

    #[test]
    fn each_reason_has_a_count_of_its_own() {
        for (number, &reason) in DropReason::ALL.iter().enumerate() {
            assert_eq!(reason.index(), number, "{reason:?}");
            let mut drops = Drops::default();
            assert_eq!((drops.is_zero(), drops.to_string().as_str()), (true, "none"));
            drops[reason] += 2;
            assert!(drops.iter().all(|(other, packets)| packets == if other == reason { 2 } else { 0 }));
            assert_eq!(drops.to_string(), alloc::format!("{} 2", reason.word()));
            assert_eq!(((drops + drops).total(), (drops + drops).since(&drops)), (4, drops));
            assert!(drops.since(&(drops + drops)).is_zero(), "a count that went back is no drop");
        }
    }

    #[test]
    fn keys_words_and_codes_stay_as_they_were() {
        // Users' scripts, dashboards and recordings have these: a new reason is added at the end.
        let known = ["queue full", "ack superseded", "sender ahead", "standing queue", "uplink limit"];
        let words = DropReason::ALL.iter().map(|reason| reason.word());
        assert!(words.take(known.len()).eq(known));
        for reason in DropReason::ALL {
            assert_eq!(reason.key(), alloc::format!("dropped_{}", reason.word().replace(' ', "_")));
        }
    }
}
