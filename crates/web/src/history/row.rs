//! Counters of a subject in an interval: sums, and latencies as histograms, packed into some hundred bytes.
//!
//! A packed row begins with a bit mask of the non-zero sums, followed by these, a bit mask of the legs with packets, and for each of
//! these legs the first bucket, the number of buckets, and their counts. All are integers in LEB128. A later version may have further
//! sums and legs.

use evenair_api::histogram::{BUCKETS, Histogram};
use evenair_api::watch::LegHistograms;

/// A sum over an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    /// Time with known rates, in ms; of the box only.
    KnownMs,
    /// Time in which the box saw the traffic, in ms; of the box only.
    SeenMs,
    /// Time in which the health was "watch", in ms; of the box only.
    WatchMs,
    /// Time in which the health was "bad", in ms; of the box only.
    BadMs,
    /// IP-level bytes toward stations.
    DownBytes,
    /// IP-level bytes from stations.
    UpBytes,
    /// Charged airtime, in us; for the box that of the busiest contention domain in each second.
    AirUs,
    /// Active time of stations, in station-milliseconds.
    ActiveMs,
    /// TCP data segments toward stations.
    DataDown,
    /// Packets toward stations that the box dropped.
    BoxDown,
    /// TCP segments lost between box and stations.
    WlanDown,
    /// TCP segments toward stations lost beyond the wire port.
    WireDown,
    /// TCP data segments from stations.
    DataUp,
    /// Packets from stations that the box dropped.
    BoxUp,
    /// TCP segments lost between stations and box.
    WlanUp,
    /// TCP segments from stations lost beyond the wire port.
    WireUp,
}

/// Number of sums.
const SUMS: usize = Sum::WireUp as usize + 1;
/// Number of legs.
pub(crate) const LEGS: usize = 4;

/// A leg of a packet's path, as in the watch feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leg {
    /// Time in the box, for the WLAN.
    Box,
    /// Access point and air.
    Wlan,
    /// Time in the box, for the Internet link.
    InternetQueue,
    /// Beyond the wire port.
    Internet,
}

/// Counters of a subject in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    sums: [u64; SUMS],
    legs: [Histogram; LEGS],
}

impl Row {
    /// A sum.
    pub(crate) const fn get(&self, sum: Sum) -> u64 {
        self.sums[sum as usize]
    }

    /// Adds to a sum.
    pub(crate) const fn add(&mut self, sum: Sum, value: u64) {
        self.sums[sum as usize] = self.sums[sum as usize].saturating_add(value);
    }

    /// Latencies of a leg.
    pub(crate) const fn leg(&self, leg: Leg) -> &Histogram {
        &self.legs[leg as usize]
    }

    /// Adds latencies of all legs.
    pub(crate) fn add_latencies(&mut self, legs: &LegHistograms) {
        let LegHistograms { in_box, wlan, internet_queue, internet } = legs;
        self.legs.iter_mut().zip([in_box, wlan, internet_queue, internet]).for_each(|(sum, leg)| sum.merge(leg));
    }

    /// Adds another row.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.sums.iter_mut().zip(other.sums).for_each(|(sum, value)| *sum = sum.saturating_add(value));
        self.legs.iter_mut().zip(&other.legs).for_each(|(sum, leg)| sum.merge(leg));
    }

    /// Whether there was any traffic, airtime, loss or latency sample.
    pub(crate) fn has_traffic(&self) -> bool {
        self.sums[Sum::DownBytes as usize..].iter().any(|sum| *sum > 0) || self.legs.iter().any(|leg| !leg.is_empty())
    }

    /// The row as bytes.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128);
        put(&mut bytes, bits(self.sums.iter().map(|sum| *sum > 0)));
        self.sums.iter().filter(|sum| **sum > 0).for_each(|sum| put(&mut bytes, *sum));
        put(&mut bytes, bits(self.legs.iter().map(|leg| !leg.is_empty())));
        for counts in self.legs.iter().map(Histogram::counts).filter(|counts| !counts.is_empty()) {
            let first = counts.iter().take_while(|count| **count == 0).count();
            put(&mut bytes, first as u64);
            put(&mut bytes, (counts.len() - first) as u64);
            counts[first..].iter().for_each(|count| put(&mut bytes, *count));
        }
        bytes
    }

    /// Parses the output of [`pack`](Self::pack); `None` if malformed.
    pub(crate) fn unpack(bytes: &[u8]) -> Option<Self> {
        let (mut row, mut rest) = (Self::default(), bytes);
        let sums = take(&mut rest)?;
        for sum in 0..u64::BITS as usize {
            if sums & 1 << sum != 0 {
                *row.sums.get_mut(sum)? = take(&mut rest)?;
            }
        }
        let legs = take(&mut rest)?;
        for leg in 0..u64::BITS as usize {
            if legs & 1 << leg != 0 {
                let histogram = row.legs.get_mut(leg)?;
                let first = usize::try_from(take(&mut rest)?).ok()?;
                let count = usize::try_from(take(&mut rest)?).ok()?;
                let buckets = first..first.checked_add(count).filter(|end| *end <= BUCKETS)?;
                for bucket in buckets {
                    histogram.add(bucket, take(&mut rest)?);
                }
            }
        }
        rest.is_empty().then_some(row)
    }
}

fn bits(set: impl Iterator<Item = bool>) -> u64 {
    set.enumerate().fold(0, |bits, (at, is_set)| bits | u64::from(is_set) << at)
}

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let mut row = Row::default();
        row.add(Sum::SeenMs, 60_000);
        row.add(Sum::DownBytes, 1 << 40);
        row.add(Sum::WireUp, 1);
        let legs =
            LegHistograms { wlan: vec![10, 3, 0, 700].into(), internet: vec![57, 9].into(), ..Default::default() };
        row.add_latencies(&legs);
        row
    }

    #[test]
    fn a_packed_row_is_small_and_read_back() {
        let packed = row().pack();
        assert_eq!(Row::unpack(&packed), Some(row()));
        assert!(packed.len() < 32, "{}", packed.len());
        assert_eq!(Row::unpack(&Row::default().pack()), Some(Row::default()));
        let mut extreme = Row::default();
        extreme.add(Sum::AirUs, u64::MAX);
        assert_eq!(Row::unpack(&extreme.pack()), Some(extreme));
    }

    #[test]
    fn damaged_bytes_are_no_row() {
        let packed = row().pack();
        for length in 0..packed.len() {
            assert_eq!(Row::unpack(&packed[..length]), None, "{length}");
        }
        assert_eq!(Row::unpack(&[packed, vec![0]].concat()), None);
        assert_eq!(Row::unpack(&[0, 1, 57, 2, 1, 1]), None, "a bucket beyond the last");
        assert_eq!(Row::unpack(&[0x80; 20]), None);
    }

    #[test]
    fn merging_adds_sums_and_packets() {
        let mut twice = row();
        twice.merge(&row());
        assert_eq!((twice.get(Sum::SeenMs), twice.leg(Leg::Wlan).packets()), (120_000, 1406));
        assert!(twice.has_traffic());
        let mut idle = Row::default();
        idle.add(Sum::SeenMs, 60_000);
        assert!(!idle.has_traffic());
    }
}
