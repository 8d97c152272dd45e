//! Number of backlogged nodes, as a Markov chain over the received frames.
//!
//! The chain takes a step at each frame received for the first time. Its state is the number of backlogged nodes, those
//! whose MAC holds an undelivered frame; the sender of the received frame is included. (A frame whose ACK was lost counts
//! until it is repeated or dropped.) With this chain S. Choi, K. Park, C. Kim, "Performance impact of interlayer
//! dependence in infrastructure WLANs", IEEE Trans. Mobile Computing 5(7), 2006, found that TCP keeps two to three
//! stations backlogged whatever their number.
//!
//! The chain only counts transitions; reports derive rates, equilibrium and mean from them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Counts of transitions between states.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct BacklogChain {
    /// Count of each transition, by source and then target state, up to the highest state seen. Updated for every frame.
    transitions: Vec<Vec<u64>>,
    last: Option<u32>,
}

impl BacklogChain {
    /// Moves to the next state. The first state counts no transition.
    #[inline]
    pub fn push(&mut self, state: u32) {
        if let Some(last) = self.last.replace(state) {
            *self.count(last, state) += 1;
        }
    }

    /// The next state is unknown: the transition to the state after it does not count.
    pub fn interrupt(&mut self) {
        self.last = None;
    }

    /// Each transition and its count, sorted: source, target, count.
    pub fn transitions(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        let rows = (0..).zip(&self.transitions);
        let each = rows.flat_map(|(from, row)| (0..).zip(row).map(move |(to, &times)| (from, to, times)));
        each.filter(|&(_, _, times)| times > 0)
    }

    /// Each state and how often it was entered, sorted.
    pub fn states(&self) -> impl Iterator<Item = (u32, u64)> {
        let mut states = BTreeMap::<u32, u64>::new();
        for (_, to, times) in self.transitions() {
            *states.entry(to).or_default() += times;
        }
        states.into_iter()
    }

    /// Adds the transitions of another chain.
    pub fn add(&mut self, other: &Self) {
        other.transitions().for_each(|(from, to, times)| *self.count(from, to) += times);
    }

    /// Takes the counts; counting goes on from the present state.
    pub(crate) fn take(&mut self) -> Self {
        let last = self.last;
        core::mem::replace(self, Self { last, ..Self::default() })
    }

    fn count(&mut self, from: u32, to: u32) -> &mut u64 {
        let (from, to) = (from as usize, to as usize);
        if from >= self.transitions.len() {
            self.transitions.resize(from + 1, Vec::new());
        }
        let row = &mut self.transitions[from];
        if to >= row.len() {
            row.resize(to + 1, 0);
        }
        &mut row[to]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transitions_are_between_successive_states() {
        let mut chain = BacklogChain::default();
        [1, 2, 3, 2, 3].into_iter().for_each(|state| chain.push(state));
        chain.interrupt();
        [2, 3].into_iter().for_each(|state| chain.push(state));
        assert_eq!(chain.transitions().collect::<Vec<_>>(), [(1, 2, 1), (2, 3, 3), (3, 2, 1)]);
        assert_eq!(chain.states().collect::<Vec<_>>(), [(2, 2), (3, 3)]);
    }
}
