//! How long each station was backlogged: packets to it or from it were in the box, at an access point or in its own MAC.
//!
//! Packets on wires and delaying paths are not queued, and do not count. As with `occupancy`, a transition costs an addition,
//! and sums wrap around; differences do not.

use evenair_units::Instant;

/// Queued packets of all stations, by their numbers.
#[derive(Debug)]
pub(crate) struct Backlogged {
    stations: Vec<Queued>,
}

/// Queued packets of one station.
#[derive(Clone, Copy, Debug, Default)]
struct Queued {
    packets: u32,
    /// Ends minus beginnings of backlogged periods, in wrapping nanoseconds.
    time: u64,
}

impl Backlogged {
    pub(crate) fn new(stations: usize) -> Self {
        Self { stations: vec![Queued::default(); stations] }
    }

    /// Counts a packet of a station that enters a queue.
    #[inline]
    pub(crate) fn enter(&mut self, station: u32, now: Instant) {
        let queued = &mut self.stations[station as usize];
        if queued.packets == 0 {
            queued.time = queued.time.wrapping_sub(now.as_nanos());
        }
        queued.packets += 1;
    }

    /// Counts a packet of a station that leaves a queue.
    #[inline]
    pub(crate) fn leave(&mut self, station: u32, at: Instant) {
        let queued = &mut self.stations[station as usize];
        queued.packets -= 1;
        if queued.packets == 0 {
            queued.time = queued.time.wrapping_add(at.as_nanos());
        }
    }

    /// Nanoseconds that each station was backlogged since the last call.
    pub(crate) fn take(&mut self, now: Instant) -> Vec<u64> {
        self.stations.iter_mut().map(|queued| queued.take(now)).collect()
    }

    /// Packets of a station in all queues.
    pub(crate) fn packets_of(&self, station: usize) -> u64 {
        self.stations[station].packets.into()
    }

    /// Packets in all queues.
    pub(crate) fn packets(&self) -> u64 {
        self.stations.iter().map(|queued| u64::from(queued.packets)).sum()
    }
}

impl Queued {
    fn take(&mut self, now: Instant) -> u64 {
        let open = if self.packets > 0 { now.as_nanos() } else { 0 };
        let time = self.time.wrapping_add(open);
        self.time = open.wrapping_neg();
        time
    }
}

#[cfg(test)]
mod tests {
    use evenair_units::Span;

    use super::*;

    #[test]
    fn time_with_packets_counts_once_however_many_there_are() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut backlogged = Backlogged::new(2);
        backlogged.enter(0, at(10));
        backlogged.enter(0, at(12));
        backlogged.leave(0, at(15));
        backlogged.leave(0, at(20));
        backlogged.enter(0, at(30));
        assert_eq!((backlogged.take(at(35)), backlogged.packets()), (vec![15_000_000, 0], 1));
        backlogged.leave(0, at(36));
        assert_eq!(backlogged.take(at(50)), [1_000_000, 0]);
    }
}
