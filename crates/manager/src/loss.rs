//! Losses by station: in the box, between the box and the station, and beyond the wire port.
//!
//! Losses outside the box are detected in TCP, whose senders retransmit lost DATA:
//! - DATA that come again although they have passed here and are not acknowledged were lost behind the box, unless they are still held
//!   here.
//! - DATA that come later than their successors, without having passed before, were lost before the box. If they come within 3 ms,
//!   they were overtaken.
//!
//! Not detected: losses of other protocols; of a connection that ends before it retransmits; the second loss of the same DATA beyond the
//! box; the loss before the box of the last DATA that were sent, behind which nothing shows a gap. A needless retransmission, after a
//! timeout, counts as a loss.

use alloc::collections::VecDeque;

use evenair_packet::{Port, TcpMeta};
use evenair_units::{Instant, Span};

use crate::flows::tcp::after;
use crate::ids::{DOWN, UP};

/// Age of a gap up to which DATA that fill it were overtaken and not lost.
const OVERTAKEN: Span = Span::from_millis(3);
/// Holes of a direction that are kept, at most. A full buffer may lose every second packet of a round trip, which makes more holes: then
/// the two closest to each other become one.
const MOST_HOLES: usize = 32;

/// Losses on the way toward a station, or from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCounts {
    /// Segments of TCP DATA that have passed here, including retransmissions.
    pub data: u64,
    /// Packets dropped here, except for ACKs that a later one supersedes.
    pub here: u64,
    /// Segments lost between the box and the station.
    pub wlan: u64,
    /// Segments lost beyond the wire port.
    pub wire: u64,
}

/// Losses toward a station, and from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Toward it.
    pub down: LossCounts,
    /// From it.
    pub up: LossCounts,
}

impl Losses {
    /// The counts of a direction.
    pub(crate) const fn of(&mut self, direction: usize) -> &mut LossCounts {
        if direction == DOWN { &mut self.down } else { &mut self.up }
    }

    /// Notes a segment of DATA that has come in by a port.
    pub(crate) fn note(&mut self, ingress: Port, passage: Passage) {
        let counts = self.of(if ingress == Port::Wire { DOWN } else { UP });
        counts.data += 1;
        let (before, behind) = match ingress {
            Port::Wire => (&mut counts.wire, &mut counts.wlan),
            Port::Wlan => (&mut counts.wlan, &mut counts.wire),
        };
        match passage {
            Passage::First => {}
            Passage::LostBefore => *before += 1,
            Passage::LostBehind => *behind += 1,
        }
    }

    /// These counts plus those of another.
    pub fn plus(self, other: &Self) -> Self {
        Self { down: self.down.plus(&other.down), up: self.up.plus(&other.up) }
    }

    /// The counts since an earlier state. Counts that have decreased were reset.
    pub fn since(&self, before: &Self) -> Self {
        let difference = || Some(Self { down: self.down.since(&before.down)?, up: self.up.since(&before.up)? });
        difference().unwrap_or(*self)
    }
}

impl LossCounts {
    fn plus(self, other: &Self) -> Self {
        Self {
            data: self.data + other.data,
            here: self.here + other.here,
            wlan: self.wlan + other.wlan,
            wire: self.wire + other.wire,
        }
    }

    fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            data: self.data.checked_sub(before.data)?,
            here: self.here.checked_sub(before.here)?,
            wlan: self.wlan.checked_sub(before.wlan)?,
            wire: self.wire.checked_sub(before.wire)?,
        })
    }
}

/// What a segment of DATA shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// Its first passage, or a needless retransmission.
    First,
    /// An earlier copy was lost before the box.
    LostBefore,
    /// An earlier copy has passed here and was lost behind the box.
    LostBehind,
}

/// DATA of one direction of a connection that have come in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed {
    /// Sequence number behind the furthest byte.
    end: Option<u32>,
    /// The last holes: sequence numbers of beginning and end, and since when.
    holes: VecDeque<(u32, u32, Instant)>,
}

impl Passed {
    /// Notes a segment; `acked`: furthest acknowledgment from the other end; `dropped`: packets dropped here that have not come again.
    pub(crate) fn note(&mut self, now: Instant, tcp: &TcpMeta, acked: Option<u32>, dropped: &mut u32) -> Passage {
        let (from, to) = (tcp.seq, tcp.seq_end());
        let Some(end) = self.end.filter(|_| !tcp.begins()) else {
            *self = Self { end: Some(to), holes: VecDeque::new() };
            return Passage::First;
        };
        if !after(end, from) {
            if after(from, end) {
                self.make_room(acked);
                self.holes.push_back((end, from, now));
            }
            self.end = Some(to);
            return Passage::First;
        }
        match self.fill(from, to) {
            Some(since) if now.saturating_since(since) < OVERTAKEN => Passage::First,
            Some(_) => Passage::LostBefore,
            None if acked.is_some_and(|acked| !after(to, acked)) => Passage::First,
            None if *dropped > 0 => {
                *dropped -= 1;
                Passage::First
            }
            None => Passage::LostBehind,
        }
    }

    /// Makes room for a hole: removes those that the other end has acknowledged, or else joins the two with the fewest bytes between them,
    /// the oldest of such pairs.
    fn make_room(&mut self, acked: Option<u32>) {
        if self.holes.len() < MOST_HOLES {
            return;
        }
        self.holes.retain(|&(_, stop, _)| acked.is_none_or(|acked| after(stop, acked)));
        let between = |at: &usize| self.holes[at + 1].0.wrapping_sub(self.holes[*at].1);
        if self.holes.len() == MOST_HOLES
            && let Some(at) = (0..MOST_HOLES - 1).min_by_key(between)
            && let Some((_, stop, _)) = self.holes.remove(at + 1)
        {
            self.holes[at].1 = stop;
        }
    }

    /// Fills a hole, or a part of it. Returns since when it was there; `None`: nothing was missing there.
    fn fill(&mut self, from: u32, to: u32) -> Option<Instant> {
        let within = |&(start, stop, _): &(u32, u32, Instant)| !after(start, from) && !after(to, stop);
        let at = self.holes.iter().position(within)?;
        let (start, stop, since) = self.holes[at];
        match (from == start, to == stop) {
            (true, true) => _ = self.holes.remove(at),
            (true, false) => self.holes[at].0 = to,
            (false, true) => self.holes[at].1 = from,
            // The rest of it is in two parts. Without room for both it stays one hole, including what has come now.
            (false, false) if self.holes.len() == MOST_HOLES => {}
            (false, false) => {
                self.holes[at].1 = from;
                self.holes.insert(at + 1, (to, stop, since));
            }
        }
        Some(since)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::flows::tcp::tests::segment;

    /// The losses before and behind the box of segments that come at these milliseconds, by number.
    fn losses(came: &[(u64, u32)], acked: Option<u32>, mut dropped: u32) -> (u64, u64) {
        let at = |number: u32| (u32::MAX - 1_500).wrapping_add(number * 1_000);
        let (mut passed, mut losses) = (Passed::default(), Losses::default());
        for &(ms, number) in came {
            let now = Instant::ZERO + Span::from_millis(ms);
            let tcp = segment(at(number), 1, 1_000);
            let acked = acked.map(at);
            losses.note(Port::Wire, passed.note(now, &tcp, acked, &mut dropped));
        }
        assert_eq!((losses.down.data, losses.up), (came.len() as u64, LossCounts::default()));
        (losses.down.wire, losses.down.wlan)
    }

    #[test]
    fn late_segments_were_lost_before_the_box_and_repeated_ones_behind() {
        let none = (0, 0);
        assert_eq!(losses(&[(0, 0), (1, 1), (2, 2), (3, 3)], None, 0), none);
        assert_eq!(losses(&[(0, 0), (1, 2), (2, 3), (40, 1), (41, 4)], None, 0), (1, 0), "the second was lost before");
        assert_eq!(losses(&[(0, 0), (1, 3), (40, 1), (40, 2)], None, 0), (2, 0), "two in a row");
        assert_eq!(
            losses(&[(0, 0), (1, 2), (2, 4), (3, 6), (40, 1), (41, 3), (42, 5)], None, 0),
            (3, 0),
            "three holes"
        );
        assert_eq!(
            losses(&[(0, 0), (1, 4), (40, 2), (41, 1), (42, 3), (43, 2)], None, 0),
            (3, 1),
            "filled from the middle"
        );
        assert_eq!(losses(&[(0, 0), (1, 2), (2, 1), (3, 3)], None, 0), none, "it was overtaken");
        assert_eq!(losses(&[(0, 0), (1, 1), (2, 2), (40, 1)], None, 0), (0, 1), "it was lost behind");
        assert_eq!(losses(&[(0, 0), (1, 1), (2, 2), (40, 1)], Some(2), 0), none, "it was acknowledged");
        assert_eq!(losses(&[(0, 0), (1, 1), (2, 2), (40, 1), (41, 2)], None, 1), (0, 1), "one was dropped here");
    }

    #[test]
    fn every_second_segment_is_lost_before_the_box_however_many_there_are() {
        let lost = || (0..400).map(|k| 2 * k + 1);
        let came: Vec<_> = (0..=400).map(|k| (0, 2 * k)).chain(lost().map(|number| (40, number))).collect();
        assert_eq!(losses(&came, None, 0), (400, 0));
    }

    #[test]
    fn counts_that_were_reset_make_no_differences() {
        let of = |data| Losses { down: LossCounts { data, ..<_>::default() }, ..<_>::default() };
        assert_eq!((of(9).since(&of(4)), of(3).since(&of(4))), (of(5), of(3)));
        assert_eq!(of(9).plus(&of(4)), of(13));
    }
}
