//! Stations whose packets stand in another queue than those of the rest.
//!
//! The box takes all that it releases on one medium for one queue (see `standing`): who answers tells that all that was
//! released before has left. Where access points on two channels are taken for one medium that is wrong. The answers by
//! the emptier one move the frontier past what stands in the fuller one, and the box goes on filling that.
//!
//! It shows. In one queue the answer to the newest release comes from each station in turn, and none is always far behind:
//! one that slept, or put its ACK off, is the newest the next time. In the fuller queue each answer is of a packet that was
//! released long before others that are answered already. So of the answers of a station in a second the one that is
//! least behind is looked at. Where that is far behind for some seconds, the station stands elsewhere.
//!
//! A station that uploads answers late in any case: its answers wait in its own queue. So it stands elsewhere only where one
//! that does not upload does so too.
//!
//! What follows: it is put on a medium of its own, with the others of which the same is seen (`access_points::learned`). If
//! that was wrong, because its access point has a queue for each station, say, it shares less equally with the others, and
//! its queue is short all the same. After some minutes it is put back, and seen again if it was right.
//!
//! What is not here: stations of which somebody tells where they are.

use evenair_units::{Bytes, Instant, Span};

/// Behind by so many times what is to stand in an access point, and by so many packets, and it is no accident of order.
const FAR_TARGETS: u64 = 2;
const FAR_PACKETS: u64 = 10;
/// Answers in a second by which a station is judged, and seconds in a row.
const ANSWERS: u16 = 8;
const INTERVALS: u8 = 3;
/// ACKs alone are less than one part of so many of what they acknowledge.
const ACKS_PART: u64 = 8;
/// For how long a station is kept apart.
const KEPT: Span = Span::from_secs(600);

/// How far behind a station's answers are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Behind {
    /// In time, and in packets.
    least: Option<(Span, u64)>,
    answers: u16,
    intervals: u8,
    /// Bytes toward it, and from it, at the end of the last interval.
    bytes: (Bytes, Bytes),
    /// When it was put on a medium of its own.
    since: Option<Instant>,
}

/// Whether a station stands elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    No,
    /// Or its answers wait in its own queue.
    Perhaps,
    Yes,
}

impl Behind {
    /// An answer came to a release so much, and so many packets, before the newest one that was answered.
    pub(crate) fn note(&mut self, (time, packets): (Span, u64)) {
        let least = |(least, fewest): (Span, u64)| (least.min(time), fewest.min(packets));
        self.least = Some(self.least.map_or((time, packets), least));
        self.answers = self.answers.saturating_add(1);
    }

    /// An interval has ended; so much is to stand in an access point. `bytes`: toward the station, and from it, so far.
    pub(crate) fn judge(&mut self, target: Span, bytes: (Bytes, Bytes)) -> Elsewhere {
        let before = core::mem::replace(&mut self.bytes, bytes);
        let uploads = (bytes.1 - before.1).0 * ACKS_PART > (bytes.0 - before.0).0;
        let (least, answers) = (self.least.take(), core::mem::take(&mut self.answers));
        if answers < ANSWERS {
            // What is not seen says nothing.
            return Elsewhere::No;
        }
        let is_far = least.is_some_and(|(time, packets)| time >= target * FAR_TARGETS && packets >= FAR_PACKETS);
        self.intervals = if is_far { self.intervals.saturating_add(1) } else { 0 };
        match (self.intervals >= INTERVALS, uploads) {
            (false, _) => Elsewhere::No,
            (true, true) => Elsewhere::Perhaps,
            (true, false) => Elsewhere::Yes,
        }
    }

    /// It was put on another medium.
    pub(crate) fn move_apart(&mut self, now: Instant) {
        *self = Self { since: Some(now), bytes: self.bytes, ..Self::default() };
    }

    /// It was apart for long enough. True once.
    pub(crate) fn is_over(&mut self, now: Instant) -> bool {
        self.since.take_if(|since| now.saturating_since(*since) >= KEPT).is_some()
    }

    pub(crate) const fn is_apart(&self) -> bool {
        self.since.is_some()
    }

    /// Somebody tells where it is.
    pub(crate) fn clear(&mut self) {
        *self = Self { bytes: self.bytes, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds with answers so far behind: whether each is evidence enough.
    fn judge(behind: &mut Behind, seconds: &[&[u64]]) -> alloc::vec::Vec<bool> {
        let second = |ms: &&[u64]| {
            // Packets of 4 ms.
            ms.iter().for_each(|&ms| behind.note((Span::from_millis(ms), ms / 4)));
            behind.judge(Span::from_millis(10), (Bytes::ZERO, Bytes::ZERO)) == Elsewhere::Yes
        };
        seconds.iter().map(second).collect()
    }

    #[test]
    fn one_that_is_always_far_behind_stands_elsewhere() {
        let (far, near) = ([80, 95, 120, 90, 60, 70, 88, 130], [80, 95, 2, 90, 60, 70, 88, 300]);
        assert_eq!(judge(&mut Behind::default(), &[&far, &far, &far]), [false, false, true]);
        assert_eq!(judge(&mut Behind::default(), &[&far, &far, &near, &far, &far]), [false; 5], "it sleeps at times");
        assert_eq!(judge(&mut Behind::default(), &[&far, &far, &[90], &far]), [false, false, false, true], "a pause");
        assert_eq!(judge(&mut Behind::default(), &[&[200], &[200], &[200], &[200]]), [false; 4], "too few to tell");
    }

    #[test]
    fn of_one_that_uploads_nothing_is_said_alone() {
        let mut behind = Behind::default();
        for second in 1..6 {
            (0..20).for_each(|_| behind.note((Span::from_millis(90), 30)));
            let verdict = behind.judge(Span::from_millis(10), (Bytes(50_000 * second), Bytes(900_000 * second)));
            assert_eq!(verdict, if second < 3 { Elsewhere::No } else { Elsewhere::Perhaps });
        }
    }

    #[test]
    fn it_is_tried_again_after_a_while() {
        let mut behind = Behind::default();
        behind.move_apart(Instant::ZERO);
        assert!(behind.is_apart() && !behind.is_over(Instant::ZERO + KEPT - Span::from_secs(1)));
        assert!(behind.is_over(Instant::ZERO + KEPT));
        assert!(!behind.is_apart() && !behind.is_over(Instant::ZERO + KEPT * 2));
    }
}
