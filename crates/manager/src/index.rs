//! A cache of the numbers that a search tree maps keys to: a lookup reads one cache line, where a tree of tens of
//! thousands of entries needs many memory accesses.
//!
//! It is never the authority: each bucket has eight entries, and a key that does not fit is not in it. So the cost is
//! bounded by that of the tree whatever keys an attacker makes up, and the choice of buckets needs no secret. It does
//! not affect decisions: with or without it a manager does the same.
//!
//! What is not here: the keys. The caller compares them, since two may have the same hash.

use alloc::vec::Vec;
use core::hint::black_box;

/// Entries in a bucket: as many as fill a cache line of 64 bytes.
const WAYS: usize = 8;
/// Entries per known number, so that few buckets are full.
const ROOM: usize = 2;
/// Value of an unused entry.
const NOBODY: u32 = u32::MAX;

/// Parts of hashes, and the numbers that belong to them.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket {
    marks: [u32; WAYS],
    numbers: [u32; WAYS],
}

/// Numbers by the hashes of their keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// Buckets: none, or a power of two.
    buckets: Vec<Bucket>,
}

impl Bucket {
    const EMPTY: Self = Self { marks: [0; WAYS], numbers: [NOBODY; WAYS] };
}

impl Index {
    /// The number noted for this hash for which `is_it` holds; `None`: ask the tree.
    pub(crate) fn get(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let bucket = self.buckets.get(self.place(hash))?;
        // All entries are compared without branches, since a mispredicted branch would wait for this cache line before
        // the next one is requested. Of two entries with the same mark either will do.
        let hits = bucket.marks.iter().rev().fold(0u32, |hits, &mark| hits << 1 | u32::from(mark == hash as u32));
        let number = bucket.numbers[hits.trailing_zeros() as usize % WAYS];
        (hits != 0 && number != NOBODY && is_it(number)).then_some(number)
    }

    /// Prefetches the bucket of this hash.
    pub(crate) fn ask(&self, hash: u64) {
        black_box(self.buckets.get(self.place(hash)).map(|bucket| bucket.marks[0]));
    }

    /// Notes a new number; `known`: numbers in the tree, at least one.
    pub(crate) fn note(&mut self, hash: u64, number: u32, known: usize) {
        if self.buckets.len() * WAYS < known * ROOM {
            // Earlier entries return when they are next looked up.
            self.buckets.clear();
            self.buckets.resize((known * ROOM * 2).div_ceil(WAYS).next_power_of_two(), Bucket::EMPTY);
        }
        let place = self.place(hash);
        let bucket = &mut self.buckets[place];
        // In a full bucket any entry is replaced: those that are looked up more often return more often.
        let at = bucket.numbers.iter().position(|&number| number == NOBODY).unwrap_or(number as usize % WAYS);
        (bucket.marks[at], bucket.numbers[at]) = (hash as u32, number);
    }

    /// Forgets a number whose key has gone or gets another number.
    pub(crate) fn forget(&mut self, hash: u64, number: u32) {
        let place = self.place(hash);
        let Some(bucket) = self.buckets.get_mut(place) else { return };
        for noted in bucket.numbers.iter_mut().filter(|noted| **noted == number) {
            *noted = NOBODY;
        }
    }

    /// Bucket by the upper half of a hash; the lower half distinguishes the entries of a bucket.
    fn place(&self, hash: u64) -> usize {
        (hash >> 32) as usize & self.buckets.len().wrapping_sub(1)
    }
}

/// The hash of some words: each is folded into the others by the two halves of a product, as in wyhash (Wang Yi, 2019).
pub(crate) fn hash(words: impl IntoIterator<Item = u64>) -> u64 {
    const START: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 over the golden ratio
    const FACTOR: u64 = 0xd6e8_feb8_6659_fd93; // odd, with as many ones as zeros
    let fold = |state: u64, word: u64| {
        let product = u128::from(state ^ word) * u128::from(FACTOR);
        (product as u64) ^ (product >> 64) as u64 ^ state.rotate_left(23)
    };
    fold(words.into_iter().fold(START, fold), START)
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// After any history a lookup returns the right number or none: with well-spread keys, keys that share a bucket,
        /// keys with the same hash.
        #[test]
        fn it_never_has_a_wrong_number(
            steps in prop::collection::vec((0u64..64, any::<bool>()), 1..400),
            kind in 0..3,
        ) {
            let hash_of = |key: u64| match kind {
                0 => hash([key]),
                1 => key,
                _ => 7,
            };
            let (mut tree, mut index, mut next) = (BTreeMap::new(), Index::default(), 0);
            for (key, remove) in steps {
                let found = |index: &Index, tree: &BTreeMap<u64, u32>, key: u64| {
                    index.get(hash_of(key), |number| tree.get(&key) == Some(&number))
                };
                match tree.get(&key).copied() {
                    Some(number) if remove => {
                        tree.remove(&key);
                        index.forget(hash_of(key), number);
                    }
                    Some(_) => {}
                    None => {
                        tree.insert(key, next);
                        index.note(hash_of(key), next, tree.len());
                        prop_assert!(kind == 2 || found(&index, &tree, key) == Some(next), "it is there at once");
                        next += 1;
                    }
                }
                for key in 0..64 {
                    let found = found(&index, &tree, key);
                    prop_assert!(found.is_none() || found == tree.get(&key).copied());
                }
            }
        }
    }

    #[test]
    fn few_entries_are_missing_where_keys_spread_and_eight_remain_where_they_do_not() {
        let mut index = Index::default();
        // Its final size first, so that it does not restart meanwhile.
        index.note(hash([0]), 0, 50_000);
        for key in 1..50_000u32 {
            index.note(hash([key.into()]), key, 50_000);
        }
        let found = |key: &u32| index.get(hash([u64::from(*key)]), |number| number == *key).is_some();
        let missing = (0..50_000).filter(|key| !found(key)).count();
        assert!(missing < 500, "{missing}");
        let mut index = Index::default();
        (0..100u32).for_each(|key| index.note(key.into(), key, 100));
        assert_eq!((0..100u32).filter(|key| index.get((*key).into(), |number| number == *key).is_some()).count(), WAYS);
    }

    #[test]
    fn hashes_of_neighbours_differ_in_both_halves() {
        let hashes: Vec<u64> = (0..4096u64).map(|n| hash([n, 1])).collect();
        for shift in [0, 32] {
            let mut buckets = [0u32; 256];
            hashes.iter().for_each(|hash| buckets[(hash >> shift) as usize & 255] += 1);
            assert!(buckets.iter().all(|&n| (1..48).contains(&n)), "{buckets:?}");
        }
        assert_ne!(hash([1, 2]), hash([2, 1]));
        assert_ne!(hash([0]), hash([0, 0]));
    }
}
