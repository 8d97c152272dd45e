//! Backlogged nodes: a chain whose steps are successful transmissions.
//!
//! The state is the number of backlogged nodes, including the access point, at each successful transmission: nodes whose
//! MAC holds an undelivered frame, including the frame in delivery (Choi, Park, Kim, "Performance Impact of Inter-Layer
//! Dependence in Infrastructure WLANs"). A path leaves a state as often as it enters it, within one, so that the
//! frequencies of visits are the equilibrium of the measured transition rates.

use std::collections::BTreeMap;

use evenair_medium::BacklogChain;
use serde::{Deserialize, Serialize};

/// Backlog statistics of one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Backlog {
    /// Successful transmissions after the first, each a visit of a state.
    pub successes: u64,
    /// Mean state.
    pub mean: f64,
    /// Standard deviation of the state.
    pub sigma: f64,
    /// Mean plus two standard deviations.
    pub mean_plus_2_sigma: f64,
    /// Highest state.
    pub max: u64,
    /// The visited states.
    pub states: Vec<BacklogState>,
}

/// One state of the chain: so many backlogged nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BacklogState {
    /// Backlogged nodes, the access point included.
    pub nodes: u64,
    /// Visits.
    pub visits: u64,
    /// Proportion of all visits: the chain's equilibrium.
    pub share: f64,
    /// Next states, with their proportions of the visits.
    pub next: Vec<(u64, f64)>,
    /// Mean change of the state from here.
    pub drift: f64,
}

impl Backlog {
    /// Statistics of a chain; `None` without a transition.
    pub fn of(chain: &BacklogChain) -> Option<Self> {
        let states: Vec<(u32, u64)> = chain.states().collect();
        let successes: u64 = states.iter().map(|(_, visits)| visits).sum();
        let max = u64::from(states.last()?.0);
        let weighed = |value: &dyn Fn(f64) -> f64| {
            let sum: f64 = states.iter().map(|&(state, visits)| visits as f64 * value(f64::from(state))).sum();
            sum / successes as f64
        };
        let mean = weighed(&|state| state);
        let sigma = weighed(&|state| (state - mean) * (state - mean)).sqrt();
        let mut followed: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        for (from, to, times) in chain.transitions() {
            followed.entry(from).or_default().push((u64::from(to), times));
        }
        let state = |&(state, visits): &(u32, u64)| {
            let followed = followed.get(&state).map_or(&[][..], Vec::as_slice);
            let left: u64 = followed.iter().map(|(_, times)| times).sum();
            let next: Vec<_> = followed.iter().map(|&(to, times)| (to, times as f64 / left as f64)).collect();
            BacklogState {
                nodes: u64::from(state),
                visits,
                share: visits as f64 / successes as f64,
                drift: next.iter().map(|&(to, part)| part * (to as f64 - f64::from(state))).sum(),
                next,
            }
        };
        let states = states.iter().map(state).collect();
        Some(Self { successes, mean, sigma, mean_plus_2_sigma: mean + 2.0 * sigma, max, states })
    }
}

#[cfg(test)]
mod tests {
    use evenair_units::Streams;

    use super::*;

    fn of(path: impl IntoIterator<Item = u32>) -> Backlog {
        let mut chain = BacklogChain::default();
        path.into_iter().for_each(|nodes| chain.push(nodes));
        Backlog::of(&chain).unwrap()
    }

    #[test]
    fn a_short_path_by_hand() {
        let backlog = of([7, 2, 1, 2, 3, 2, 1]);
        assert_eq!((backlog.successes, backlog.max), (6, 3));
        assert!((backlog.mean - 11.0 / 6.0).abs() < 1e-12);
        // Squares about the mean: (25 * 2 + 1 * 3 + 49) / 36 = 102/36, over six.
        assert!((backlog.sigma - (102.0f64 / 36.0 / 6.0).sqrt()).abs() < 1e-12);
        let two = backlog.states.iter().find(|state| state.nodes == 2).unwrap();
        assert_eq!(two.visits, 3);
        assert_eq!(two.next, [(1, 2.0 / 3.0), (3, 1.0 / 3.0)]);
        assert!((two.drift + 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(Backlog::of(&BacklogChain::default()), None);
    }

    /// TCP downloads without delayed ACK: each of the k backlogged stations and the access point win alike, a frame of
    /// the access point makes a station backlogged, a station's frame unburdens it. In equilibrium
    /// pi(k+1) / pi(k) = (k+2) / (k+1)^2, so that 2.5 nodes are backlogged, the access point included, whatever their
    /// number: the mean of 1 + k with weights 1, 2, 3/2, 2/3, 5/24 ... is 13.6/5.44.
    #[test]
    fn the_chain_of_a_known_process() {
        let mut rng = Streams::new(7).stream("chain");
        let mut stations = 0u32;
        let backlog = of((0..400_000).map(|_| {
            let state = 1 + stations;
            match rng.below(u64::from(stations) + 1) {
                0 => stations += 1,
                _ => stations -= 1,
            }
            state
        }));
        let weights: Vec<f64> = (0..30u32)
            .scan(1.0, |weight, k| {
                let own = *weight;
                *weight *= f64::from(k + 2) / (f64::from(k + 1) * f64::from(k + 1));
                Some(own)
            })
            .collect();
        let total: f64 = weights.iter().sum();
        for state in backlog.states.iter().filter(|state| state.nodes <= 6) {
            let exact = weights[state.nodes as usize - 1] / total;
            assert!((state.share - exact).abs() < 0.005, "{state:?} against {exact}");
        }
        assert!((backlog.mean - 2.5).abs() < 0.02, "{}", backlog.mean);
        // Proportions of visits are the equilibrium of the transition rates.
        for state in &backlog.states {
            let to = |from: &BacklogState| from.next.iter().find(|(to, _)| *to == state.nodes).map_or(0.0, |n| n.1);
            let entered: f64 = backlog.states.iter().map(|from| from.share * to(from)).sum();
            assert!((entered - state.share).abs() < 1e-4, "{state:?}: {entered}");
        }
    }
}
