//! Slots in the order of use: a doubly linked list, so that a use takes the same time whatever their number.
//!
//! A walk visits slots from the most recently used one on while slots are used, removed and added; [`Recency::look`] is one step. The
//! visited slots are neighbours in the list, except for those that were used since, which are at the newest end. So the walk keeps the two
//! ends of this zone, and continues beyond its newer end first, then beyond its older end. Each step takes the same time; a walk has at
//! most as many steps as there are slots, uses and additions.

use alloc::vec::Vec;
use core::hint::black_box;

use evenair_units::Instant;

use crate::ids::FlowId;

/// The order of use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recency {
    /// Links of each slot.
    places: Vec<Place>,
    oldest: Option<FlowId>,
    newest: Option<FlowId>,
    /// Walks so far.
    walks: u32,
    /// The zone that the walk has visited; `None`: no visited slot is still in its place.
    looked: Option<Zone>,
}

/// A slot's links in the list.
#[derive(Clone, Copy, Debug)]
struct Place {
    last_used: Instant,
    older: Option<FlowId>,
    newer: Option<FlowId>,
    /// The last walk that visited it, counted from 1.
    walk: u32,
}

/// Both ends of a part of the list.
#[derive(Clone, Copy, Debug)]
struct Zone {
    newest: FlowId,
    oldest: FlowId,
}

/// Result of one step of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// A slot that was not visited before.
    First(FlowId),
    /// A slot that was visited, and was used since.
    Again,
}

impl Zone {
    /// The zone without a slot that is removed from between these two.
    fn without(self, id: FlowId, older: Option<FlowId>, newer: Option<FlowId>) -> Option<Self> {
        let Self { newest, oldest } = self;
        match (newest == id, oldest == id) {
            (true, true) => None,
            (true, false) => older.map(|newest| Self { newest, oldest }),
            (false, true) => newer.map(|oldest| Self { newest, oldest }),
            (false, false) => Some(self),
        }
    }
}

impl Recency {
    /// Adds a slot, used now.
    pub(crate) fn add(&mut self, id: FlowId, now: Instant) {
        let place = Place { last_used: now, older: None, newer: None, walk: 0 };
        match self.places.get_mut(id.0 as usize) {
            Some(vacant) => *vacant = place,
            None => self.places.push(place),
        }
        self.link_newest(id);
    }

    /// A slot is used.
    pub(crate) fn touch(&mut self, id: FlowId, now: Instant) {
        self.place(id).last_used = now;
        if self.newest != Some(id) {
            self.move_to_front(id);
        }
    }

    /// Moves a slot to the newest end, although it was not used.
    pub(crate) fn move_to_front(&mut self, id: FlowId) {
        self.remove(id);
        self.link_newest(id);
    }

    /// Removes a slot from the list.
    pub(crate) fn remove(&mut self, id: FlowId) {
        let Place { older, newer, .. } = *self.place(id);
        match older {
            Some(older) => self.place(older).newer = newer,
            None => self.oldest = newer,
        }
        match newer {
            Some(newer) => self.place(newer).older = older,
            None => self.newest = older,
        }
        self.looked = self.looked.and_then(|zone| zone.without(id, older, newer));
    }

    /// The least recently used slot, and when it was used.
    pub(crate) fn oldest(&self) -> Option<(FlowId, Instant)> {
        self.oldest.map(|id| (id, self.places[id.0 as usize].last_used))
    }

    /// Slots used since then, most recent first.
    pub(crate) fn used_since(&self, since: Instant) -> impl Iterator<Item = FlowId> {
        let older = |&id: &FlowId| self.places[id.0 as usize].older;
        let used = move |id: &FlowId| self.places[id.0 as usize].last_used >= since;
        core::iter::successors(self.newest, older).take_while(used)
    }

    /// Prefetches the neighbours of a slot, which change when it is used.
    pub(crate) fn prefetch(&self, id: FlowId) {
        let place = self.places.get(id.0 as usize);
        let neighbours = place.map(|place| [place.older, place.newer]).into_iter().flatten().flatten();
        neighbours.for_each(|id| _ = black_box(self.places[id.0 as usize].last_used));
    }

    /// Begins a walk, in place of the one before.
    pub(crate) fn start_walk(&mut self) {
        self.walks = self.walks.wrapping_add(1);
        self.looked = None;
    }

    /// The next step of the walk; `None`: the walk is complete.
    pub(crate) fn look(&mut self) -> Option<Look> {
        let id = match self.looked {
            None => self.newest?,
            Some(zone) => self.place(zone.newest).newer.or(self.place(zone.oldest).older)?,
        };
        let (walk, newer) = (self.walks, self.place(id).newer);
        self.looked = Some(match self.looked {
            None => Zone { newest: id, oldest: id },
            // The older end is next only where no slot is newer than the zone.
            Some(zone) if newer == Some(zone.oldest) => Zone { oldest: id, ..zone },
            Some(zone) => Zone { newest: id, ..zone },
        });
        let before = core::mem::replace(&mut self.place(id).walk, walk);
        Some(if before == walk { Look::Again } else { Look::First(id) })
    }

    fn place(&mut self, id: FlowId) -> &mut Place {
        &mut self.places[id.0 as usize]
    }

    fn link_newest(&mut self, id: FlowId) {
        let older = self.newest.replace(id);
        let place = self.place(id);
        (place.older, place.newer) = (older, None);
        match older {
            Some(older) => self.place(older).newer = Some(id),
            None => self.oldest = Some(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    const START: Instant = Instant::ZERO;

    fn with(slots: u32) -> Recency {
        let mut recency = Recency::default();
        (0..slots).for_each(|slot| recency.add(FlowId(slot), START));
        recency.start_walk();
        recency
    }

    /// Completes a walk: its steps, and the slots that it had not visited.
    fn walk(recency: &mut Recency) -> (usize, Vec<u32>) {
        let looks: Vec<_> = core::iter::from_fn(|| recency.look()).collect();
        let first = |look: &Look| match look {
            Look::First(id) => Some(id.0),
            Look::Again => None,
        };
        (looks.len(), looks.iter().filter_map(first).collect())
    }

    #[test]
    fn a_walk_goes_from_the_newest_to_the_oldest() {
        let mut recency = with(5);
        recency.touch(FlowId(1), START);
        recency.start_walk();
        assert_eq!(walk(&mut recency), (5, vec![1, 4, 3, 2, 0]));
        assert_eq!(recency.look(), None);
        recency.start_walk();
        assert_eq!(walk(&mut recency).1.len(), 5, "the next walk looks at all again");
    }

    /// A thousand slots in parts of eight, all used between two parts: a walk that began anew each time would visit those before the first
    /// new one again and again.
    #[test]
    fn a_walk_has_as_many_steps_as_there_are_slots_and_uses() {
        let mut recency = with(1_000);
        let mut uses = 0;
        let (mut looks, mut found) = (0, Vec::new());
        for round in 0..20 {
            let part: Vec<_> = core::iter::from_fn(|| recency.look()).take(8).collect();
            looks += part.len();
            found.extend(part.iter().filter_map(|look| matches!(look, Look::First(_)).then_some(*look)));
            for slot in 0..1_000 {
                recency.touch(FlowId((slot * 7 + round) % 1_000), START);
                uses += 1;
            }
        }
        let (rest, last) = walk(&mut recency);
        assert_eq!(found.len() + last.len(), 1_000);
        assert!(rest <= 1_000 && looks + rest <= 1_000 + uses, "{looks} and {rest} looks, {uses} uses");
    }

    #[test]
    fn a_walk_without_uses_visits_no_slot_twice_however_small_its_parts() {
        let mut recency = with(1_000);
        let mut looks = 0;
        // Only the newest slot is used, which stays in its place.
        while recency.look().is_some() {
            recency.touch(FlowId(999), START);
            looks += 1;
        }
        assert_eq!(looks, 1_000);
    }

    proptest! {
        /// Whatever happens between two steps: each slot that stays is found once, with at most one step for each slot, use and addition.
        #[test]
        fn each_slot_that_stays_is_found_once(
            slots in 1u32..40,
            steps in prop::collection::vec((0u32..60, 0..4), 0..200),
        ) {
            let mut recency = with(slots);
            let mut there: Vec<bool> = (0..60).map(|slot| slot < slots).collect();
            let (mut looks, mut changes, mut found) = (0, 0, vec![0; 60]);
            for (slot, action) in steps {
                let id = FlowId(slot);
                match (action, there[slot as usize]) {
                    (0 | 1, true) => {
                        recency.touch(id, START);
                        changes += 1;
                    }
                    (2, true) => {
                        recency.remove(id);
                        (there[slot as usize], found[slot as usize]) = (false, 0);
                    }
                    (2, false) if slot as usize <= recency.places.len() => {
                        recency.add(id, START);
                        there[slot as usize] = true;
                        changes += 1;
                    }
                    _ => {}
                }
                if action == 3 && let Some(look) = recency.look() {
                    looks += 1;
                    if let Look::First(id) = look {
                        found[id.0 as usize] += 1;
                    }
                }
            }
            let (rest, last) = walk(&mut recency);
            last.iter().for_each(|&slot| found[slot as usize] += 1);
            prop_assert!(looks + rest <= slots as usize + changes);
            let once: Vec<_> = there.iter().map(|&there| u32::from(there)).collect();
            prop_assert_eq!(found, once);
        }
    }
}
