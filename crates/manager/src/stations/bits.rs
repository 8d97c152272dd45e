//! A set of slot numbers: one bit for each.

use alloc::vec::Vec;

/// Bits of a word.
const WORD: u32 = u64::BITS;

#[derive(Clone, Debug, Default)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// Adds a number.
    pub(crate) fn insert(&mut self, number: u32) {
        let (word, bit) = place(number);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= bit;
    }

    /// Adds all numbers below this one.
    pub(crate) fn insert_below(&mut self, end: u32) {
        (0..end).for_each(|number| self.insert(number));
    }

    /// Removes and returns the lowest number that is not below this one.
    pub(crate) fn take_from(&mut self, start: u32) -> Option<u32> {
        let (first, bit) = place(start);
        let from = self.0.get(first)? & !(bit - 1);
        let later = self.0.iter().enumerate().skip(first + 1).map(|(at, &bits)| (at, bits));
        let (word, bits) = core::iter::once((first, from)).chain(later).find(|&(_, bits)| bits != 0)?;
        let lowest = bits.trailing_zeros();
        self.0[word] &= !(1 << lowest);
        u32::try_from(word).ok().map(|word| word * WORD + lowest)
    }
}

const fn place(number: u32) -> (usize, u64) {
    ((number / WORD) as usize, 1 << (number % WORD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_taken_once_in_order() {
        let mut bits = Bits::default();
        assert_eq!(bits.take_from(0), None);
        [700, 3, 64, 63, 3].into_iter().for_each(|number| bits.insert(number));
        assert_eq!([4, 4, 4, 4].map(|start| bits.take_from(start)), [Some(63), Some(64), Some(700), None]);
        assert_eq!([0, 0].map(|start| bits.take_from(start)), [Some(3), None]);
        bits.insert_below(2);
        assert_eq!([0, 0, 0].map(|start| bits.take_from(start)), [Some(0), Some(1), None]);
    }
}
