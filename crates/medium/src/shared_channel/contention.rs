//! Back-off in slots: which EDCAF sends next, and when.
//!
//! Idle slots are not counted one by one. EDCAFs with the same inter-frame space form a group, and their back-off counts
//! down together: each group has one counter of elapsed slots, and each EDCAF's back-off is the value of that counter at
//! which it may send. While the medium is busy the counter stands still. When it falls silent, the group's first slot
//! begins one inter-frame space later, at the period's `origin`, and the group's next transmission is at the least
//! expiry on the slot grid from there. The medium's next transmission is the earliest of all groups. All nodes with DCF
//! are one group; EDCA has one for each AIFS.
//!
//! If another node sends at the end of an EDCAF's t-th slot, DCF has counted t slots (10.3.4.3). EDCA counts at slot
//! boundaries, the first of which is the end of AIFS, and so has counted one more (10.22.2.4).
//!
//! Some EDCAFs resume later or earlier than the rest in one idle period: those of nodes whose frame collided or was lost
//! first wait for a response. They are kept apart for that period, each with its own origin, and rejoin the rest when
//! the medium becomes busy again.
//!
//! All nodes sense a transmission at once: two EDCAFs collide only if they start at the same instant. Since all that
//! resume together share a grid, they do so whenever they start in the same slot. Only where the grids of an idle period are
//! apart by design ([`Contention::resume_late`]) does sensing take time; those that start within it start together.

use alloc::vec::Vec;

use evenair_units::{Instant, Span};

use super::wheel::{Linked, Links, Wheel};
use crate::edcaf::Waiting;

#[derive(Debug)]
pub(crate) struct Contention {
    slot: Span,
    /// Time until nodes sense a transmission in this idle period.
    sensing: Span,
    edcafs: Vec<Edcaf>,
    groups: Vec<Group>,
}

impl Linked for Edcaf {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

#[derive(Debug)]
struct Edcaf {
    /// Value of the group's counter at which it may send; a past value means that back-off has expired.
    expiry: u64,
    group: u32,
    place: Place,
    links: Links,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// It has no frame to send.
    Away,
    /// In its group's wheel.
    Waiting,
    /// In its group's `apart`, at this index.
    Apart(u32),
}

#[derive(Debug)]
struct Group {
    waiting: Waiting,
    slot: Span,
    /// Slots counted when this idle period began.
    count: u64,
    /// Start of this idle period's first slot.
    origin: Instant,
    /// EDCAFs with a frame to send, by expiry, except those in `apart`.
    wheel: Wheel,
    /// EDCAFs with their own origin in this period. Their expiry is relative to that origin.
    apart: Vec<Apart>,
}

#[derive(Debug)]
struct Apart {
    edcaf: u32,
    origin: Instant,
    waits: bool,
}

impl Contention {
    pub(crate) fn new(slot: Span) -> Self {
        Self { slot, sensing: Span::ZERO, edcafs: Vec::new(), groups: Vec::new() }
    }

    /// Adds an EDCAF without pending back-off, which never exceeds `cw_max` slots. EDCAFs are numbered from zero in the
    /// order of addition.
    pub(crate) fn add(&mut self, waiting: Waiting, cw_max: u32) {
        let group = self.groups.iter().position(|group| group.waiting == waiting).unwrap_or_else(|| {
            self.groups.push(Group::new(waiting, self.slot));
            self.groups.len() - 1
        });
        self.groups[group].widen(group as u32, cw_max, &mut self.edcafs);
        let (expiry, group) = (self.groups[group].count, group as u32);
        self.edcafs.push(Edcaf { expiry, group, place: Place::Away, links: Links::NONE });
    }

    /// An EDCAF that sends next in the present state, if all have one inter-frame space.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        if let [group] = &self.groups[..] { group.wheel.first() } else { None }
    }

    /// Prefetches the state of an EDCAF, if it exists.
    #[inline]
    pub(crate) fn prefetch(&self, id: u32, prefetch: impl Fn(*const ())) {
        self.edcafs.get(id as usize).into_iter().for_each(|edcaf| prefetch((&raw const *edcaf).cast()));
    }

    /// The EDCAF stops sending.
    pub(crate) fn remove(&mut self, id: u32) {
        let Edcaf { expiry, group, place, .. } = self.edcafs[id as usize];
        let group = &mut self.groups[group as usize];
        match place {
            Place::Apart(index) => group.apart[index as usize].waits = false,
            Place::Waiting => group.wheel.remove(expiry, id, &mut self.edcafs),
            Place::Away => {}
        }
        self.edcafs[id as usize].place = Place::Away;
    }

    /// The medium fell silent at `from`, or counts as if it had: inter-frame spaces start there.
    #[inline(always)]
    pub(crate) fn resume(&mut self, from: Instant) {
        if let [group] = &mut self.groups[..] {
            group.origin = from + group.waiting.space;
            return;
        }
        for group in &mut self.groups {
            group.origin = from + group.waiting.space;
        }
    }

    /// [`Self::resume`] in an idle period in which some EDCAFs resume earlier ([`Self::set_apart`]), and nodes sense a
    /// transmission only after `sensing`, less than a slot.
    pub(crate) fn resume_late(&mut self, from: Instant, sensing: Span) {
        self.sensing = sensing;
        self.resume(from);
    }

    /// Gives this EDCAF its own start of the inter-frame space in the idle period that begins.
    pub(crate) fn set_apart(&mut self, id: u32, from: Instant) {
        let Edcaf { expiry, group, place, .. } = self.edcafs[id as usize];
        let group = &mut self.groups[group as usize];
        let waits = place == Place::Waiting;
        if waits {
            group.wheel.remove(expiry, id, &mut self.edcafs);
        }
        self.edcafs[id as usize].place = Place::Apart(group.apart.len() as u32);
        group.apart.push(Apart { edcaf: id, origin: from + group.waiting.space, waits });
    }

    /// Sets a back-off of `slots` slots. Only while the EDCAF is not contending, and no slots elapse: the medium is busy
    /// or just fell silent.
    pub(crate) fn set(&mut self, id: u32, slots: u64) {
        let edcaf = &mut self.edcafs[id as usize];
        edcaf.expiry = self.groups[edcaf.group as usize].count + slots;
    }

    /// Sets a back-off as [`Self::set`]; if the EDCAF `waits` to send, then [`Self::enter`].
    #[inline(always)]
    pub(crate) fn begin(&mut self, id: u32, slots: u64, waits: bool) {
        let edcaf = &mut self.edcafs[id as usize];
        let group = &mut self.groups[edcaf.group as usize];
        edcaf.expiry = group.count + slots;
        if waits {
            match edcaf.place {
                Place::Apart(index) => group.apart[index as usize].waits = true,
                Place::Away | Place::Waiting => group.insert(id, &mut self.edcafs),
            }
        }
    }

    /// Slots counted by the EDCAFs with DCF.
    pub(crate) fn slots(&self) -> u64 {
        self.groups.iter().find(|group| !group.waiting.counts_boundaries).map_or(0, |group| group.count)
    }

    /// Whether the EDCAF's back-off had expired when the medium became busy.
    pub(crate) fn has_run_out(&self, id: u32) -> bool {
        let edcaf = &self.edcafs[id as usize];
        edcaf.expiry <= self.groups[edcaf.group as usize].count
    }

    /// The EDCAF, until now without a frame, sends once its back-off has expired. Only while no slots elapse.
    pub(crate) fn enter(&mut self, id: u32) {
        let Edcaf { group, place, .. } = self.edcafs[id as usize];
        let group = &mut self.groups[group as usize];
        match place {
            Place::Apart(index) => group.apart[index as usize].waits = true,
            Place::Away | Place::Waiting => group.insert(id, &mut self.edcafs),
        }
    }

    /// [`Self::enter`] while the medium is silent: if the back-off has expired, the EDCAF sends at the first slot
    /// boundary after `now`, so that EDCAFs whose frames arrive within the same slot collide.
    pub(crate) fn enter_at(&mut self, id: u32, now: Instant) {
        let edcaf = &mut self.edcafs[id as usize];
        let group = &self.groups[edcaf.group as usize];
        let origin = match edcaf.place {
            Place::Apart(index) => group.apart[index as usize].origin,
            Place::Away | Place::Waiting => group.origin,
        };
        let next = now.checked_since(origin).map_or(0, |passed| passed / self.slot + 1);
        edcaf.expiry = edcaf.expiry.max(group.count + next);
        self.enter(id);
    }

    /// When the next EDCAF sends if the medium stays silent; [`Instant::MAX`] if none does.
    #[inline(always)]
    pub(crate) fn next(&self) -> Instant {
        if let [group] = &self.groups[..] {
            return group.next(&self.edcafs);
        }
        let next = self.groups.iter().map(|group| group.next(&self.edcafs));
        next.min().unwrap_or(Instant::MAX)
    }

    /// The medium becomes busy at `at`, which is [`Self::next`]. The EDCAFs that send are appended to `senders`, and
    /// stop contending.
    #[inline(always)]
    pub(crate) fn start(&mut self, at: Instant, senders: &mut Vec<u32>) {
        let sensed = at + core::mem::take(&mut self.sensing);
        if let [group] = &mut self.groups[..] {
            return group.start(sensed, &mut self.edcafs, senders);
        }
        for group in &mut self.groups {
            group.start(sensed, &mut self.edcafs, senders);
        }
    }
}

impl Group {
    fn new(waiting: Waiting, slot: Span) -> Self {
        Self { waiting, slot, count: 0, origin: Instant::ZERO, wheel: Wheel::new(0), apart: Vec::new() }
    }

    /// Makes room for a back-off of `cw_max` slots plus one: an EDCAF whose back-off has expired may wait for the next
    /// boundary.
    fn widen(&mut self, number: u32, cw_max: u32, edcafs: &mut [Edcaf]) {
        if self.wheel.spans(cw_max + 1) {
            return;
        }
        self.wheel = Wheel::new(cw_max + 1);
        for id in 0..edcafs.len() {
            let Edcaf { group, place, .. } = edcafs[id];
            if group == number && place == Place::Waiting {
                self.insert(id as u32, edcafs);
            }
        }
    }

    #[inline(always)]
    fn insert(&mut self, id: u32, edcafs: &mut [Edcaf]) {
        let edcaf = &mut edcafs[id as usize];
        edcaf.place = Place::Waiting;
        self.wheel.insert(edcaf.expiry, id, edcafs);
    }

    #[inline(always)]
    fn next(&self, edcafs: &[Edcaf]) -> Instant {
        let of = |origin: Instant, expiry: u64| origin + self.slot * expiry.saturating_sub(self.count);
        let waiting = self.wheel.least().map_or(Instant::MAX, |expiry| of(self.origin, expiry));
        if self.apart.is_empty() {
            return waiting;
        }
        let apart = self.apart.iter().filter(|apart| apart.waits);
        apart.map(|apart| of(apart.origin, edcafs[apart.edcaf as usize].expiry)).fold(waiting, Instant::min)
    }

    /// The medium is sensed busy at `sensed`; EDCAFs whose back-off has expired by then send.
    #[inline(always)]
    fn start(&mut self, sensed: Instant, edcafs: &mut [Edcaf], senders: &mut Vec<u32>) {
        let before = self.count;
        let left = self.wheel.least().map(|expiry| expiry.saturating_sub(before));
        match left {
            Some(left) if self.origin + self.slot * left <= sensed => {
                let first = senders.len();
                self.wheel.take_least(edcafs, senders);
                for &id in &senders[first..] {
                    edcafs[id as usize].place = Place::Away;
                }
                // The same number as `counted` would find by a division.
                self.count += left + u64::from(self.waiting.counts_boundaries);
            }
            _ => self.count += self.counted(self.origin, sensed),
        }
        if !self.apart.is_empty() {
            self.rejoin(before, sensed, edcafs, senders);
        }
    }

    /// The EDCAFs apart send or rejoin the rest; `before` is the count when the period began.
    #[inline(never)]
    fn rejoin(&mut self, before: u64, sensed: Instant, edcafs: &mut [Edcaf], senders: &mut Vec<u32>) {
        while let Some(Apart { edcaf: id, origin, waits }) = self.apart.pop() {
            let edcaf = &mut edcafs[id as usize];
            edcaf.place = Place::Away;
            let left = edcaf.expiry.saturating_sub(before);
            if waits && origin + self.slot * left <= sensed {
                senders.push(id);
                continue;
            }
            edcaf.expiry = self.count + left.saturating_sub(self.counted(origin, sensed));
            if waits {
                self.insert(id, edcafs);
            }
        }
    }

    /// Slots counted from `origin` until the medium was sensed busy.
    fn counted(&self, origin: Instant, sensed: Instant) -> u64 {
        let boundary = u64::from(self.waiting.counts_boundaries);
        sensed.checked_since(origin).map_or(0, |passed| passed / self.slot + boundary)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    /// EDCAFs without an inter-frame space, so that the first slot begins at once.
    fn contention(edcafs: u32) -> Contention {
        let mut contention = Contention::new(Span::from_micros(10));
        (0..edcafs).for_each(|_| contention.add(Waiting { space: Span::ZERO, counts_boundaries: false }, 40));
        contention
    }

    /// One EDCAF with EDCA for each of these inter-frame spaces.
    fn boundaries(spaces_us: &[u64]) -> Contention {
        let mut contention = Contention::new(Span::from_micros(10));
        for &us in spaces_us {
            contention.add(Waiting { space: Span::from_micros(us), counts_boundaries: true }, 40);
        }
        contention
    }

    fn start(contention: &mut Contention) -> (Instant, Vec<u32>) {
        let at = contention.next();
        let mut senders = vec![];
        contention.start(at, &mut senders);
        (at, senders)
    }

    #[test]
    fn back_off_stands_while_the_medium_is_busy() {
        let mut c = contention(2);
        c.set(0, 3);
        c.set(1, 5);
        c.enter(0);
        c.enter(1);
        c.resume(at_us(100));
        assert_eq!(start(&mut c), (at_us(130), vec![0]));
        c.resume(at_us(1_000));
        assert_eq!(start(&mut c), (at_us(1_020), vec![1]));
    }

    #[test]
    fn back_off_runs_out_without_a_frame_and_frames_then_wait_for_the_next_slot() {
        let mut c = contention(2);
        c.set(0, 2);
        c.resume(at_us(100));
        c.enter_at(0, at_us(109));
        assert_eq!(c.next(), at_us(120), "one slot of two was left");
        c.enter_at(1, at_us(110));
        assert_eq!(start(&mut c), (at_us(120), vec![0, 1]));
    }

    #[test]
    fn a_frame_that_comes_in_the_inter_frame_space_goes_at_its_end() {
        let mut c = contention(1);
        c.resume(at_us(100));
        c.enter_at(0, at_us(60));
        assert_eq!(c.next(), at_us(100));
    }

    #[test]
    fn nodes_apart_count_from_their_own_origin_for_one_period() {
        let mut c = contention(3);
        c.resume(at_us(100));
        c.set_apart(0, at_us(127));
        c.set_apart(1, at_us(80));
        [(0, 4), (1, 9), (2, 5)].into_iter().for_each(|(node, slots)| c.set(node, slots));
        (0..3).for_each(|node| c.enter(node));
        // Node 2 at 150; by then node 0 has counted 2 of 4 slots, node 1 has counted 7 of 9.
        assert_eq!(start(&mut c), (at_us(150), vec![2]));
        c.resume(at_us(500));
        assert_eq!(start(&mut c), (at_us(520), vec![0, 1]));
    }

    #[test]
    fn a_node_apart_with_a_head_start_can_send_before_the_rest_count() {
        let mut c = contention(2);
        c.set(1, 1);
        c.enter(1);
        c.resume(at_us(300));
        c.set_apart(0, at_us(100));
        c.set(0, 2);
        c.enter(0);
        assert_eq!(start(&mut c), (at_us(120), vec![0]));
        c.resume(at_us(500));
        assert_eq!(start(&mut c), (at_us(510), vec![1]));
    }

    #[test]
    fn boundaries_of_grids_less_apart_than_sensing_takes_are_one() {
        for (sensing_us, second) in [(0, vec![1]), (3, vec![1]), (4, vec![1, 0])] {
            let mut c = boundaries(&[30, 30, 30]);
            [(0, 0), (1, 2), (2, 3)].into_iter().for_each(|(id, slots)| c.set(id, slots));
            (0..3).for_each(|id| c.enter(id));
            c.resume_late(at_us(124), Span::from_micros(sensing_us));
            c.set_apart(1, at_us(100));
            let (at, mut senders) = start(&mut c);
            senders.sort_unstable_by(|a, b| b.cmp(a));
            assert_eq!((at, senders), (at_us(150), second), "sensed after {sensing_us} us");
            // The others count the boundary at 154 if they come to it before they sense the frame.
            c.resume(at_us(300));
            let left = if sensing_us == 4 { 2 } else { 3 };
            c.remove(0);
            assert_eq!(c.next(), at_us(330 + 10 * left));
        }
    }

    #[test]
    fn removed_nodes_do_not_send() {
        let mut c = contention(2);
        c.resume(at_us(100));
        c.set_apart(1, at_us(200));
        c.enter(0);
        c.enter(1);
        c.remove(0);
        assert_eq!(c.next(), at_us(200));
        c.remove(1);
        assert_eq!(c.next(), Instant::MAX);
    }

    #[test]
    fn groups_wait_for_spaces_of_their_own_and_meet_on_the_grid() {
        let mut c = boundaries(&[30, 30, 70]);
        [(0, 5), (1, 4), (2, 0)].into_iter().for_each(|(id, slots)| c.set(id, slots));
        (0..3).for_each(|id| c.enter(id));
        c.resume(at_us(100));
        // EDCAF 1 at 100 + 30 + 4 slots, where EDCAF 2 has its first boundary.
        assert_eq!(start(&mut c), (at_us(170), vec![1, 2]));
    }

    #[test]
    fn edca_counts_one_slot_more_than_dcf_in_each_busy_period() {
        let mut c = boundaries(&[30, 30, 70]);
        [(0, 3), (1, 5), (2, 2)].into_iter().for_each(|(id, slots)| c.set(id, slots));
        (0..3).for_each(|id| c.enter(id));
        c.resume(at_us(100));
        assert_eq!(start(&mut c), (at_us(160), vec![0]));
        c.resume(at_us(200));
        // EDCAF 1 had counted at 130, 140, 150 and 160: one of five is left. EDCAF 2 had not begun.
        assert_eq!(start(&mut c), (at_us(240), vec![1]));
        c.resume(at_us(300));
        assert_eq!(start(&mut c), (at_us(390), vec![2]));
    }

    #[test]
    fn a_function_that_counts_to_zero_as_another_sends_is_first_in_the_next_period() {
        let mut c = boundaries(&[30, 30]);
        [(0, 0), (1, 1)].into_iter().for_each(|(id, slots)| c.set(id, slots));
        (0..2).for_each(|id| c.enter(id));
        c.resume(at_us(100));
        assert_eq!(start(&mut c), (at_us(130), vec![0]));
        assert!(c.has_run_out(1));
        c.resume(at_us(200));
        assert_eq!(start(&mut c), (at_us(230), vec![1]));
    }

    #[test]
    fn a_waiting_function_can_be_set_apart_and_rejoins_the_rest() {
        let mut c = boundaries(&[30, 30]);
        [(0, 2), (1, 4)].into_iter().for_each(|(id, slots)| c.set(id, slots));
        (0..2).for_each(|id| c.enter(id));
        c.resume(at_us(100));
        c.set_apart(0, at_us(150));
        assert_eq!(start(&mut c), (at_us(170), vec![1]));
        c.resume(at_us(300));
        assert_eq!(start(&mut c), (at_us(350), vec![0]), "its two slots were not begun");
        assert_eq!(c.next(), Instant::MAX);
    }
}
