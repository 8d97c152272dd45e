//! Backlogged nodes at each event: lower and upper bound.

use std::collections::BTreeMap;

use evenair_medium::BacklogChain;
use evenair_packet::MacAddr;

use super::standing::Standing;

/// Earliest and latest event from which a node was backlogged, up to one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Since {
    pub(super) earliest: usize,
    pub(super) latest: usize,
}

impl Since {
    pub(super) fn exactly(event: usize) -> Self {
        Self { earliest: event, latest: event }
    }
}

/// Spans of events, from first to last, in which a node was backlogged.
#[derive(Default)]
struct Spans {
    certain: Vec<(usize, usize)>,
    possible: Vec<(usize, usize)>,
}

/// The spans of all nodes.
pub(super) struct Timeline {
    nodes: BTreeMap<MacAddr, Spans>,
    events: usize,
}

/// Results of a timeline.
#[derive(Default)]
pub(super) struct States {
    /// The chain of the certain states.
    pub(super) chain: BacklogChain,
    /// Lower and upper bound of the mean of all states.
    pub(super) mean: (f64, f64),
}

impl Timeline {
    pub(super) fn new(events: usize) -> Self {
        Self { nodes: BTreeMap::new(), events }
    }

    pub(super) fn add(&mut self, node: MacAddr, since: Since, until: usize) {
        let spans = self.nodes.entry(node).or_default();
        spans.certain.push((since.latest.min(until), until));
        spans.possible.push((since.earliest.min(until), until));
    }

    /// The states. `standing` gives the minimum proportion of uncertain time in which a node was backlogged; the chain counts
    /// apparently always backlogged nodes as backlogged.
    pub(super) fn states(self, standing: &Standing) -> States {
        let (mut certain, mut possible) = (Changes::new(self.events), Changes::new(self.events));
        let mut least = 0.0;
        for (node, spans) in self.nodes {
            // A node with several frames counts once.
            let (low, high) = (cover(spans.certain), cover(spans.possible));
            let (few, many) = (length(&low), length(&high));
            least += few + standing.least(node) * (many - few);
            certain.add(if standing.is_standing(node) { &high } else { &low });
            possible.add(&high);
        }
        let (certain, possible) = (certain.states(), possible.states());
        let mut chain = BacklogChain::default();
        for (&low, &high) in certain.iter().zip(&possible) {
            if low == high {
                chain.push(low);
            } else {
                chain.interrupt();
            }
        }
        let events = self.events as f64;
        let most: f64 = possible.iter().map(|&state| f64::from(state)).sum();
        States { chain, mean: (least / events, most / events) }
    }
}

/// Changes of the number of backlogged nodes at each event.
struct Changes(Vec<i64>);

impl Changes {
    fn new(events: usize) -> Self {
        Self(vec![0; events + 1])
    }

    fn add(&mut self, spans: &[(usize, usize)]) {
        for &(from, to) in spans {
            self.0[from] += 1;
            self.0[to + 1] -= 1;
        }
    }

    fn states(&self) -> Vec<u32> {
        let sum = |state: &mut i64, change: &i64| {
            *state += change;
            Some(*state as u32)
        };
        self.0[..self.0.len() - 1].iter().scan(0, sum).collect()
    }
}

/// Total number of events in disjoint spans.
fn length(spans: &[(usize, usize)]) -> f64 {
    spans.iter().map(|(from, to)| to - from + 1).sum::<usize>() as f64
}

/// The union of spans, as disjoint spans.
fn cover(mut spans: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    spans.sort_unstable();
    let mut out: Vec<(usize, usize)> = Vec::new();
    for (from, to) in spans {
        match out.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_one_node_count_once_and_uncertain_states_are_left_out_of_the_chain() {
        assert_eq!(cover(vec![(3, 5), (0, 1), (4, 9), (1, 1)]), [(0, 1), (3, 9)]);
        let (a, b) = (MacAddr([1; 6]), MacAddr([2; 6]));
        let mut timeline = Timeline::new(6);
        timeline.add(a, Since::exactly(0), 0);
        timeline.add(b, Since::exactly(1), 2);
        timeline.add(a, Since::exactly(1), 1);
        timeline.add(a, Since::exactly(2), 3);
        timeline.add(b, Since { earliest: 4, latest: 5 }, 5);
        // States 1, 2, 2, 1, none or one, 1.
        let states = timeline.states(&Standing::default());
        assert_eq!(states.chain.transitions().collect::<Vec<_>>(), [(1, 2, 1), (2, 1, 1), (2, 2, 1)]);
        assert_eq!(states.mean, (7.0 / 6.0, 8.0 / 6.0));
    }
}
