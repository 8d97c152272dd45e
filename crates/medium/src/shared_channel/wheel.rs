//! EDCAFs by the slot in which they may send: a timing wheel with one bit per slot.
//!
//! Back-off is bounded by the largest contention window, so that all waiting EDCAFs lie within one turn of the wheel,
//! and the next occupied slot is found in a few words of bits. So insertion, removal and search take constant time
//! (timing wheel: Varghese and Lauck, SOSP 1987).

use alloc::vec::Vec;

/// No EDCAF in the slot or link.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct Wheel {
    /// First EDCAF of each slot; the number of slots is a power of two.
    heads: Vec<u32>,
    /// One bit per slot: whether it has an EDCAF.
    taken: Vec<u64>,
    /// The least slot with an EDCAF, if there is any.
    least: u64,
    edcafs: usize,
}

/// An EDCAF's neighbours in the list of its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    before: u32,
    after: u32,
}

/// Elements with links.
pub(crate) trait Linked {
    fn links(&mut self) -> &mut Links;
}

impl Links {
    pub(crate) const NONE: Self = Self { before: NONE, after: NONE };
}

impl Wheel {
    /// An empty wheel for EDCAFs that are at most `span` slots apart.
    pub(crate) fn new(span: u32) -> Self {
        let slots = (span as usize + 1).next_power_of_two().max(64);
        Self { heads: alloc::vec![NONE; slots], taken: alloc::vec![0; slots / 64], least: 0, edcafs: 0 }
    }

    /// Whether EDCAFs may be `span` slots apart.
    pub(crate) fn spans(&self, span: u32) -> bool {
        (span as usize) < self.heads.len()
    }

    /// The least slot with an EDCAF.
    #[inline(always)]
    pub(crate) fn least(&self) -> Option<u64> {
        (self.edcafs > 0).then_some(self.least)
    }

    /// One of the EDCAFs of the least slot.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        (self.edcafs > 0).then(|| self.heads[self.place(self.least)])
    }

    #[inline(always)]
    pub(crate) fn insert<T: Linked>(&mut self, slot: u64, id: u32, all: &mut [T]) {
        debug_assert!(self.edcafs == 0 || slot.abs_diff(self.least) < self.heads.len() as u64, "beyond a turn");
        if self.edcafs == 0 || slot < self.least {
            self.least = slot;
        }
        self.edcafs += 1;
        let place = self.place(slot);
        let after = core::mem::replace(&mut self.heads[place], id);
        self.taken[place / 64] |= 1 << (place % 64);
        *all[id as usize].links() = Links { before: NONE, after };
        if after != NONE {
            all[after as usize].links().before = id;
        }
    }

    /// Removes an EDCAF that waits for `slot`.
    pub(crate) fn remove<T: Linked>(&mut self, slot: u64, id: u32, all: &mut [T]) {
        let Links { before, after } = *all[id as usize].links();
        if after != NONE {
            all[after as usize].links().before = before;
        }
        if before != NONE {
            all[before as usize].links().after = after;
        } else {
            let place = self.place(slot);
            self.heads[place] = after;
        }
        self.edcafs -= 1;
        if before == NONE && after == NONE {
            self.clear(slot);
        }
    }

    /// Removes all EDCAFs of the least slot, and appends them to `taken` in ascending order.
    #[inline(always)]
    pub(crate) fn take_least<T: Linked>(&mut self, all: &mut [T], taken: &mut Vec<u32>) {
        if self.edcafs == 0 {
            return;
        }
        let place = self.place(self.least);
        let head = core::mem::replace(&mut self.heads[place], NONE);
        taken.push(head);
        self.edcafs -= 1;
        let after = all[head as usize].links().after;
        if after != NONE {
            self.take_rest(after, all, taken);
        }
        self.clear(self.least);
    }

    /// Takes the rest of the slot's list after the EDCAF that was taken last.
    #[inline(never)]
    fn take_rest<T: Linked>(&mut self, mut id: u32, all: &mut [T], taken: &mut Vec<u32>) {
        let first = taken.len() - 1;
        while id != NONE {
            taken.push(id);
            self.edcafs -= 1;
            id = all[id as usize].links().after;
        }
        taken[first..].sort_unstable();
    }

    /// Marks a slot as empty.
    #[inline(always)]
    fn clear(&mut self, slot: u64) {
        let place = self.place(slot);
        self.taken[place / 64] &= !(1 << (place % 64));
        if slot == self.least && self.edcafs > 0 {
            self.least = self.next_after(slot);
        }
    }

    /// The first occupied slot after an empty one, if there is one within a turn.
    fn next_after(&self, slot: u64) -> u64 {
        let place = self.place(slot);
        let rest = self.taken[place / 64] >> (place % 64);
        if rest != 0 {
            return slot + u64::from(rest.trailing_zeros());
        }
        self.next_beyond(slot, place)
    }

    /// The first occupied slot beyond the empty slot's word.
    #[inline(never)]
    fn next_beyond(&self, slot: u64, place: usize) -> u64 {
        let (mut word, mut ahead) = (place / 64, 64 - place % 64);
        loop {
            word = (word + 1) & (self.taken.len() - 1);
            let bits = self.taken[word];
            if bits != 0 {
                return slot + (ahead as u64) + u64::from(bits.trailing_zeros());
            }
            ahead += 64;
        }
    }

    #[inline(always)]
    fn place(&self, slot: u64) -> usize {
        slot as usize & (self.heads.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    impl Linked for Links {
        fn links(&mut self) -> &mut Links {
            self
        }
    }

    proptest! {
        /// Comparison with an ordered set, over several turns of the wheel.
        #[test]
        fn it_agrees_with_an_ordered_set(span in 1..300u32, steps in prop::collection::vec((0..3u8, 0..20u32, 0..400u32), 1..400)) {
            let mut wheel = Wheel::new(span);
            let mut all = [Links::NONE; 20];
            let mut expected = BTreeSet::new();
            let mut waits = [None; 20];
            let mut now = 1_000u64;
            for (what, id, ahead) in steps {
                match (what, waits[id as usize]) {
                    (0 | 1, None) => {
                        let slot = now + u64::from(ahead % (span + 1));
                        waits[id as usize] = Some(slot);
                        wheel.insert(slot, id, &mut all);
                        expected.insert((slot, id));
                    }
                    (1, Some(slot)) => {
                        waits[id as usize] = None;
                        wheel.remove(slot, id, &mut all);
                        expected.remove(&(slot, id));
                    }
                    (2, _) => {
                        let mut taken = Vec::new();
                        if let Some(least) = wheel.least() {
                            now = least;
                        }
                        wheel.take_least(&mut all, &mut taken);
                        let first: Vec<u32> = expected.iter().filter(|&&(slot, _)| slot == now).map(|&(_, id)| id).collect();
                        expected.retain(|&(slot, _)| slot != now);
                        prop_assert_eq!(&taken, &first);
                        taken.iter().for_each(|&id| waits[id as usize] = None);
                    }
                    _ => {}
                }
                prop_assert_eq!(wheel.least(), expected.first().map(|&(slot, _)| slot));
                prop_assert_eq!(wheel.first().and_then(|id| waits[id as usize]), wheel.least());
            }
        }
    }
}
