//! What is counted of the PPDUs from one node to another, where nodes aggregate.

use alloc::vec::Vec;

use evenair_units::Airtime;
use evenair_wifi::PhyRate;

/// PPDUs with packets from one node to another, and what became of their MPDUs. A PPDU is counted when its access ends.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PpduCounters {
    /// PPDUs with MPDUs. Those with a frame of the node's own, and RTS that nothing answered, are none.
    pub ppdus: u64,
    /// Their MPDUs.
    pub mpdus: u64,
    /// Those of the MPDUs that had been sent before.
    pub repeated_mpdus: u64,
    /// PPDUs by how many MPDUs they have: 1, 2 to 3, 4 to 7 and so on, and in the last place all with more.
    pub by_size: [u64; Self::SIZES],
    /// MPDUs that their receiver has: acknowledged, or sent as often as may be.
    pub delivered_mpdus: u64,
    /// MPDUs that were given up after as many transmissions as may be.
    pub lost_mpdus: u64,
    /// BlockAckReq frames.
    pub block_ack_requests: u64,
    /// Times that the receiver gave up to wait for a missing MPDU.
    pub reorder_timeouts: u64,
    /// PPDUs by their rate, in no order.
    pub by_rate: Vec<RateCounters>,
}

/// PPDUs of one rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateCounters {
    /// Their rate.
    pub rate: PhyRate,
    /// How many.
    pub ppdus: u64,
    /// Medium time of their accesses: RTS, CTS, DATA, answer and SIFS between them.
    pub airtime: Airtime,
}

impl PpduCounters {
    /// As many places has [`Self::by_size`].
    pub const SIZES: usize = 8;

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A PPDU with so many MPDUs ends, some of which had been sent before.
    pub(crate) fn count(&mut self, mpdus: usize, repeats: u64) {
        self.ppdus += 1;
        self.mpdus += mpdus as u64;
        self.repeated_mpdus += repeats;
        let place = mpdus.max(1).ilog2() as usize;
        self.by_size[place.min(Self::SIZES - 1)] += 1;
    }

    /// PPDUs of one rate.
    pub(crate) fn count_rate(&mut self, used: RateCounters) {
        match self.by_rate.iter_mut().find(|known| known.rate == used.rate) {
            Some(known) => {
                known.ppdus += used.ppdus;
                known.airtime += used.airtime;
            }
            None => self.by_rate.push(used),
        }
    }

    /// Adds what was counted elsewhere.
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
