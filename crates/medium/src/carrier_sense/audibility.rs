//! Who hears whom.
//!
//! Hearing is mutual, as path loss is: what keeps a station from sensing another keeps the other from sensing it. Those
//! that hear each other sense and can decode each other's frames; those that do not, do neither.

use alloc::vec::Vec;

#[derive(Debug, Default)]
pub(super) struct Audibility {
    /// Whom each node hears, in their order.
    heard: Vec<Vec<u32>>,
}

impl Audibility {
    /// A node that hears all of `present` and is heard by them.
    pub(super) fn add(&mut self, present: impl Iterator<Item = u32>) {
        let id = self.heard.len() as u32;
        let heard: Vec<u32> = present.collect();
        for &other in &heard {
            self.heard[other as usize].push(id);
        }
        self.heard.push(heard);
    }

    /// From now on the two do not hear each other.
    pub(super) fn hide(&mut self, a: u32, b: u32) {
        self.heard[a as usize].retain(|&other| other != b);
        self.heard[b as usize].retain(|&other| other != a);
    }

    /// Nobody hears the node any more.
    pub(super) fn remove(&mut self, id: u32) {
        for other in core::mem::take(&mut self.heard[id as usize]) {
            self.heard[other as usize].retain(|&node| node != id);
        }
    }

    /// Those who hear `id`, and whom it hears.
    pub(super) fn of(&self, id: u32) -> &[u32] {
        &self.heard[id as usize]
    }

    pub(super) fn hears(&self, a: u32, b: u32) -> bool {
        self.heard[a as usize].binary_search(&b).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hearing_is_mutual_and_ends() {
        let mut audibility = Audibility::default();
        (0..4).for_each(|id| audibility.add(0..id));
        audibility.hide(3, 1);
        assert_eq!(
            [0, 1, 2, 3].map(|id| audibility.of(id).to_vec()),
            [vec![1, 2, 3], vec![0, 2], vec![0, 1, 3], vec![0, 2]]
        );
        assert!(audibility.hears(3, 2) && audibility.hears(2, 3) && !audibility.hears(1, 3) && !audibility.hears(3, 1));
        audibility.remove(0);
        assert_eq!([0, 1, 2, 3].map(|id| audibility.of(id).to_vec()), [vec![], vec![2], vec![1, 3], vec![2]]);
    }

    use alloc::vec;
}
