//! Audibility: which nodes hear each other.
//!
//! Hearing is mutual, as path loss is. Nodes that hear each other sense and can decode each other's frames; others do
//! neither.

use alloc::vec::Vec;

#[derive(Debug, Default)]
pub(super) struct Audibility {
    /// Nodes that each node hears, in ascending order.
    heard: Vec<Vec<u32>>,
}

impl Audibility {
    /// Adds a node that hears all of `present` and is heard by them.
    pub(super) fn add(&mut self, present: impl Iterator<Item = u32>) {
        let id = self.heard.len() as u32;
        let heard: Vec<u32> = present.collect();
        for &other in &heard {
            self.heard[other as usize].push(id);
        }
        self.heard.push(heard);
    }

    /// Makes two nodes inaudible to each other.
    pub(super) fn hide(&mut self, a: u32, b: u32) {
        self.heard[a as usize].retain(|&other| other != b);
        self.heard[b as usize].retain(|&other| other != a);
    }

    /// Removes a node: no other hears it any more.
    pub(super) fn remove(&mut self, id: u32) {
        for other in core::mem::take(&mut self.heard[id as usize]) {
            self.heard[other as usize].retain(|&node| node != id);
        }
    }

    /// The nodes that hear `id`, and that it hears.
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
