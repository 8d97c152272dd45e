//! Queue lengths: time average and maximum, by interval.
//!
//! A time average needs no sampling: with `n` frames in the queue now, the integral of its length is `n * now + sum of
//! departures - sum of arrivals`, so that each frame costs one subtraction and one addition. Sums wrap around; differences
//! over an interval do not.

use evenair_units::Instant;

/// The frames in one queue.
#[derive(Debug, Default)]
pub(crate) struct Occupancy {
    packets: u32,
    most: u32,
    /// Departures minus arrivals, in wrapping nanoseconds.
    area: u64,
    /// Time of the last departure.
    left: Instant,
}

impl Occupancy {
    pub(crate) fn packets(&self) -> u64 {
        self.packets.into()
    }

    /// Whether a frame left at `begin` or later.
    pub(crate) fn was_left_since(&self, begin: Instant) -> bool {
        self.left >= begin
    }

    /// Counts the arrival of a frame that was due at `due`, which may be past. A frame that finds no room leaves at once.
    pub(crate) fn arrive(&mut self, now: Instant, due: Instant) {
        self.packets += 1;
        self.area = self.area.wrapping_sub(due.as_nanos());
        if due < now {
            // It overlapped with the frame that is just leaving.
            self.most = self.most.max(self.packets + u32::from(self.left == now));
        }
    }

    /// Counts a frame that leaves, or that `found_no_room`.
    pub(crate) fn leave(&mut self, at: Instant, found_no_room: bool) {
        if !found_no_room {
            // A queue is longest just before a frame leaves it, or now.
            self.most = self.most.max(self.packets);
        }
        self.packets -= 1;
        self.left = at;
        self.area = self.area.wrapping_add(at.as_nanos());
    }

    /// Frame-nanoseconds since the last call, and the maximum number of frames.
    pub(crate) fn take(&mut self, now: Instant) -> (u64, u64) {
        let standing = u64::from(self.packets).wrapping_mul(now.as_nanos());
        let since = self.area.wrapping_add(standing);
        // The area counts from here on.
        self.area = standing.wrapping_neg();
        (since, std::mem::replace(&mut self.most, self.packets).max(self.packets).into())
    }
}
