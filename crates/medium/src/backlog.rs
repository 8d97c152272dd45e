//! How many nodes contend, as a Markov chain over the frames that are received.
//!
//! At each frame that is received for the first time the chain's state is the number of nodes that are backlogged: whose
//! MAC holds a frame not yet delivered, that frame's sender among them. (A frame whose ACK was lost counts until it is
//! repeated or given up.) S. Choi, K. Park, C. Kim, "Performance impact of interlayer dependence in infrastructure WLANs",
//! IEEE Trans. Mobile Computing 5(7), 2006, found with it that TCP keeps two to three stations backlogged however many
//! there are.
//!
//! Only transitions are counted; what follows from them, rates, equilibrium, mean, is for who reports.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// How often one state followed another.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct BacklogChain {
    /// From each state, how often to each; rows and columns up to the highest that occurred. It is written to for every
    /// frame.
    transitions: Vec<Vec<u64>>,
    last: Option<u32>,
}

impl BacklogChain {
    /// The next state. There is no transition to the first one.
    #[inline]
    pub fn push(&mut self, state: u32) {
        if let Some(last) = self.last.replace(state) {
            *self.count(last, state) += 1;
        }
    }

    /// The next state is not known, and so the transition to the one after it is none.
    pub fn interrupt(&mut self) {
        self.last = None;
    }

    /// From which state to which, and how often; sorted.
    pub fn transitions(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        let rows = (0..).zip(&self.transitions);
        let each = rows.flat_map(|(from, row)| (0..).zip(row).map(move |(to, &times)| (from, to, times)));
        each.filter(|&(_, _, times)| times > 0)
    }

    /// Each state and how often it was entered; sorted.
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

    /// What was counted so far; from now on it is counted anew, from the present state.
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
