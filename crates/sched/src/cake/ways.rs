//! A set-associative table of keys, as in processor caches: a key hashes to a set of eight entries and takes a free one, so
//! that two keys share an entry only when all eight are in use.
//!
//! Source: Høiland-Jørgensen, Täht, Morton (see the module above), section III-B.

use alloc::boxed::Box;

use evenair_units::mix;

/// Entries of a set.
const WAYS: usize = 8;

/// The key that was last given each entry.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    keys: Box<[u64]>,
    /// Whether other keys than its owner were assigned to the entry. They stay until it is free, so that no key has two
    /// entries at once.
    is_shared: Box<[bool]>,
    seed: u64,
}

impl Ways {
    /// A table of this many entries, at least one.
    pub(super) fn new(places: usize, seed: u64) -> Self {
        Self { keys: (0..places).map(|_| 0).collect(), is_shared: (0..places).map(|_| false).collect(), seed }
    }

    /// The entry of `key`, which then owns it unless all entries of its set are in use by others.
    pub(super) fn place(&mut self, key: u64, is_in_use: impl Fn(usize) -> bool) -> usize {
        let hash = mix(key ^ self.seed);
        // Uniform over all entries, without a division.
        let first_choice = ((u128::from(hash) * self.keys.len() as u128) >> 64) as usize;
        let set = first_choice - first_choice % WAYS;
        let places = (0..WAYS).map(|way| set + (first_choice + way) % WAYS).filter(|&place| place < self.keys.len());
        let mut free = None;
        for place in places {
            let used = is_in_use(place);
            if used && self.keys[place] == hash {
                return place;
            }
            if !used && free.is_none() {
                free = Some(place);
            }
        }
        match free {
            Some(place) if !(self.is_shared[first_choice] && is_in_use(first_choice)) => {
                (self.keys[place], self.is_shared[place]) = (hash, false);
                place
            }
            _ => {
                self.is_shared[first_choice] = true;
                first_choice
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec;

    #[test]
    fn few_keys_share_a_place() {
        let (mut ways, mut used) = (Ways::new(1024, 7), vec![false; 1024]);
        let mut places = BTreeSet::new();
        for key in 0..512 {
            let place = ways.place(key, |place| used[place]);
            used[place] = true;
            places.insert(place);
            assert_eq!(ways.place(key, |place| used[place]), place, "it is found again");
        }
        // With one way a fifth of the keys would share (1 - (1 - e^-0.5)/0.5); here sharing takes nine keys in a set.
        assert!(places.len() >= 500, "{}", places.len());
    }

    #[test]
    fn a_table_of_any_size_has_a_place() {
        for size in 1..40 {
            let mut ways = Ways::new(size, 3);
            assert!((0..200).all(|key| ways.place(key, |place| place % 2 == 0) < size));
        }
    }
}
