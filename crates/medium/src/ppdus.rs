//! Counters of the PPDUs from one node to another that aggregate.

use alloc::vec::Vec;

use evenair_units::Airtime;
use evenair_wifi::PhyRate;

/// Counters of PPDUs with packets from one node to another, and outcomes of their MPDUs. A PPDU is counted when its
/// access ends.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PpduCounters {
    /// PPDUs with MPDUs. Management frames, and RTS without CTS, do not count.
    pub ppdus: u64,
    /// MPDUs in them.
    pub mpdus: u64,
    /// MPDUs sent again.
    pub repeated_mpdus: u64,
    /// PPDUs by number of MPDUs: 1, 2 to 3, 4 to 7 and so on; the last bin has all larger ones.
    pub by_size: [u64; Self::SIZES],
    /// MPDUs that the receiver has.
    pub delivered_mpdus: u64,
    /// MPDUs dropped after the last permitted transmission.
    pub lost_mpdus: u64,
    /// BlockAckReq frames.
    pub block_ack_requests: u64,
    /// Reorder timeouts at the receiver.
    pub reorder_timeouts: u64,
    /// PPDUs by their rate, in no order.
    pub by_rate: Vec<RateCounters>,
}

/// Counters of the PPDUs of one rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateCounters {
    /// Their rate.
    pub rate: PhyRate,
    /// Number of PPDUs.
    pub ppdus: u64,
    /// Airtime of their accesses: RTS, CTS, DATA, response and SIFS between them.
    pub airtime: Airtime,
}

impl PpduCounters {
    /// Number of bins of [`Self::by_size`].
    pub const SIZES: usize = 8;

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Counts a PPDU with this many MPDUs, `repeats` of them sent before.
    pub(crate) fn count(&mut self, mpdus: usize, repeats: u64) {
        self.ppdus += 1;
        self.mpdus += mpdus as u64;
        self.repeated_mpdus += repeats;
        let place = mpdus.max(1).ilog2() as usize;
        self.by_size[place.min(Self::SIZES - 1)] += 1;
    }

    /// Adds to the counters of a rate.
    pub(crate) fn count_rate(&mut self, used: RateCounters) {
        match self.by_rate.iter_mut().find(|known| known.rate == used.rate) {
            Some(known) => {
                known.ppdus += used.ppdus;
                known.airtime += used.airtime;
            }
            None => self.by_rate.push(used),
        }
    }

    /// Adds other counters.
    pub fn add(&mut self, other: &Self) {
        self.ppdus += other.ppdus;
        self.mpdus += other.mpdus;
        self.repeated_mpdus += other.repeated_mpdus;
        self.by_size.iter_mut().zip(other.by_size).for_each(|(own, other)| *own += other);
        self.delivered_mpdus += other.delivered_mpdus;
        self.lost_mpdus += other.lost_mpdus;
        self.block_ack_requests += other.block_ack_requests;
        self.reorder_timeouts += other.reorder_timeouts;
        other.by_rate.iter().for_each(|&used| self.count_rate(used));
    }
}
