//! One node's view of the medium: physical carrier sense, the NAV, and the frame that it receives.
//!
//! Clause numbers are those of IEEE Std 802.11-2016. The medium is busy for a node while it senses another's frame, while
//! its NAV has not expired (10.3.2.1), and while it takes part in an exchange. Then it waits an inter-frame space, and
//! its back-off counts.

use evenair_units::{Instant, Span};

#[derive(Debug, Default)]
pub(super) struct Carrier {
    /// Number of sensed frames of other nodes on the air.
    sensed: u32,
    /// End of the last of them.
    quiet: Instant,
    /// Whether the last received frame, or a later one that could not be received, was not decoded.
    erred: bool,
    /// End of the NAV.
    nav: Instant,
    /// End of the RTS that set the NAV last, if an RTS did.
    nav_by_rts: Option<Instant>,
    /// End of the node's own last part in an exchange.
    own: Instant,
    /// Whether the node sends, is about to send, or waits for a response.
    engaged: bool,
    /// Whether the node sends; it hears nothing meanwhile.
    sends: bool,
    /// The frame that it receives.
    receiving: Option<Receiving>,
    /// Start of the last frame that it began to receive.
    began: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Receiving {
    pub(super) from: u32,
    /// No other frame on the air spoils it.
    pub(super) intact: bool,
}

impl Carrier {
    /// Whether the node senses a frame of another.
    pub(super) fn senses(&self) -> bool {
        self.sensed > 0
    }

    /// Whether the medium is busy for the node: physically, by its NAV, or by its own exchange.
    pub(super) fn is_busy(&self, now: Instant) -> bool {
        self.sensed > 0 || self.engaged || now < self.nav.max(self.own)
    }

    /// Whether the NAV lets the node answer an RTS (10.3.2.7).
    pub(super) fn may_answer(&self, now: Instant) -> bool {
        self.nav <= now
    }

    /// The instant at which the medium becomes, or became, idle: back-off counts an inter-frame space later. `None` while
    /// the node senses a frame or takes part in an exchange. `after_error` is EIFS minus DIFS.
    ///
    /// EIFS counts from the end of the sensed frame whatever the NAV, DIFS from the end of both (10.3.2.3.7, 10.3.4.2).
    pub(super) fn idle_from(&self, after_error: Span) -> Option<Instant> {
        let physical = if self.erred { self.quiet + after_error } else { self.quiet };
        (self.sensed == 0 && !self.engaged).then(|| physical.max(self.nav).max(self.own))
    }

    /// The frame of `from` begins. Returns whether the node receives it: either it senses no other frame and does not
    /// send, or it captures the frame (`gets_through`) while no earlier one is being received. Any other frame spoils the
    /// one being received, unless that is captured (`keeps`).
    pub(super) fn begin(&mut self, now: Instant, from: u32, gets_through: bool, keeps: bool) -> bool {
        let is_free = !self.sends && (self.receiving.is_none() || self.began == now);
        let receives = is_free && (self.sensed == 0 || gets_through);
        self.sensed += 1;
        if receives {
            self.receiving = Some(Receiving { from, intact: true });
            self.began = now;
        } else if let Some(receiving) = &mut self.receiving {
            receiving.intact &= keeps;
        }
        receives
    }

    /// Sender of the frame that the node receives.
    pub(super) fn receives(&self) -> Option<u32> {
        self.receiving.map(|receiving| receiving.from)
    }

    /// The node joins while a frame is on the air.
    pub(super) fn join_late(&mut self) {
        self.sensed += 1;
    }

    /// The node takes part in an exchange.
    pub(super) fn engage(&mut self) {
        self.engaged = true;
    }

    /// The node's part in an exchange ends at `end`.
    pub(super) fn disengage(&mut self, end: Instant) {
        self.engaged = false;
        self.own = end;
    }

    /// The node begins to send, as part of an exchange. A reception in progress is abandoned.
    pub(super) fn begin_own(&mut self) {
        self.engaged = true;
        self.erred = false;
        self.sends = true;
        self.receiving = None;
    }

    /// The node stops sending.
    pub(super) fn end_own(&mut self) {
        self.sends = false;
    }

    /// The frame of `from` ends. Returns its reception, if the node was receiving it.
    pub(super) fn end(&mut self, now: Instant, from: u32) -> Option<Receiving> {
        self.sensed -= 1;
        self.quiet = now;
        self.receiving.take_if(|receiving| receiving.from == from)
    }

    /// A received frame could not be decoded: EIFS applies.
    pub(super) fn set_erred(&mut self) {
        self.erred = true;
    }

    /// A received frame was decoded, which ends EIFS (10.3.2.3.7).
    pub(super) fn set_decoded(&mut self) {
        self.erred = false;
    }

    /// A frame for another node reserves the medium (10.3.2.4); the NAV is never shortened. Returns whether the NAV was
    /// set.
    pub(super) fn reserve(&mut self, now: Instant, until: Instant, by_rts: bool) -> bool {
        let longer = until > self.nav;
        if longer {
            self.nav = until;
            self.nav_by_rts = by_rts.then_some(now);
        }
        longer
    }

    /// Resets the NAV if it was last set by an RTS that ended at `rts` and no frame has begun since (10.3.2.4). Returns
    /// whether it was reset.
    pub(super) fn give_up(&mut self, now: Instant, rts: Instant) -> bool {
        let unused = self.nav_by_rts == Some(rts) && self.began <= rts && self.nav > now;
        if unused {
            self.nav = now;
        }
        unused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EIFS minus DIFS.
    const MORE: Span = Span::from_micros(314);

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    #[test]
    fn idle_counts_from_the_last_of_frames_nav_and_own_exchange() {
        let mut c = Carrier::default();
        assert_eq!(c.idle_from(MORE), Some(at(0)));
        assert!(c.begin(at(10), 1, false, false));
        assert!(!c.begin(at(20), 2, false, false));
        assert_eq!(c.end(at(30), 1), Some(Receiving { from: 1, intact: false }), "spoiled");
        assert!(c.is_busy(at(30)) && c.idle_from(MORE).is_none());
        assert_eq!(c.end(at(40), 2), None, "it came while another was sensed");
        assert_eq!(c.idle_from(MORE), Some(at(40)));
        c.reserve(at(40), at(100), false);
        c.reserve(at(40), at(90), false);
        assert!(c.is_busy(at(99)) && !c.is_busy(at(100)) && c.may_answer(at(100)) && !c.may_answer(at(99)));
        assert_eq!(c.idle_from(MORE), Some(at(100)));
        c.engage();
        assert_eq!(c.idle_from(MORE), None);
        c.disengage(at(150));
        assert_eq!(c.idle_from(MORE), Some(at(150)));
    }

    #[test]
    fn a_frame_that_was_not_decoded_lengthens_the_wait_until_one_is() {
        let mut c = Carrier::default();
        c.begin(at(0), 1, false, false);
        c.end(at(10), 1);
        c.set_erred();
        assert_eq!(c.idle_from(MORE), Some(at(10) + MORE));
        c.reserve(at(10), at(1_000), false);
        assert_eq!(c.idle_from(MORE), Some(at(1_000)), "EIFS passes while the NAV stands");
        c.begin(at(1_020), 2, false, false);
        c.end(at(1_030), 2);
        c.set_decoded();
        assert_eq!(c.idle_from(MORE), Some(at(1_030)));
    }

    #[test]
    fn an_unused_reservation_of_an_rts_is_reset() {
        let rts_at_50 = || {
            let mut c = Carrier::default();
            c.begin(at(0), 1, false, false);
            c.end(at(50), 1);
            c.reserve(at(50), at(2_000), true);
            c
        };
        let mut unused = rts_at_50();
        assert!(unused.give_up(at(400), at(50)));
        assert_eq!(unused.idle_from(MORE), Some(at(400)));
        let mut used = rts_at_50();
        used.begin(at(330), 1, false, false);
        assert!(!used.give_up(at(400), at(50)));
        let mut set_again = rts_at_50();
        set_again.reserve(at(60), at(3_000), false);
        assert!(!set_again.give_up(at(400), at(50)), "the CTS of that exchange was heard");
    }

    #[test]
    fn the_frame_that_is_captured_is_received() {
        let mut c = Carrier::default();
        c.begin(at(0), 1, false, false);
        assert!(c.begin(at(0), 2, true, false), "stronger, at the same instant");
        assert!(!c.begin(at(5), 3, true, false), "stronger, but later");
        assert_eq!(c.end(at(10), 2), Some(Receiving { from: 2, intact: false }));
        assert!(c.begin(at(11), 4, true, false), "in spite of those still on the air");
        assert!(!c.begin(at(12), 5, false, true));
        assert_eq!(c.end(at(20), 4), Some(Receiving { from: 4, intact: true }));
    }

    #[test]
    fn a_node_that_sends_receives_nothing_and_no_rest_of_a_frame() {
        let mut c = Carrier::default();
        c.begin(at(0), 1, false, false);
        c.begin_own();
        assert_eq!(c.end(at(10), 1), None);
        c.begin(at(15), 2, false, false);
        c.end_own();
        c.disengage(at(20));
        assert!(c.senses());
        assert_eq!(c.end(at(30), 2), None);
        assert_eq!(c.idle_from(MORE), Some(at(30)), "no EIFS after what was not begun to receive");
    }
}
