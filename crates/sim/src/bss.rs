//! Counters of access points with their stations, for scenarios with named access points: traffic and airtime by interval.

use evenair_medium::{Medium, NodeId};
use evenair_results::AccessPointSeries;
use evenair_scenario::{AirPlan, Scenario};
use evenair_units::{Bytes, Span};

use crate::flow_rows::mbps;

/// All access points of one medium, by their numbers on it.
#[derive(Debug)]
pub(crate) struct BssCounters {
    interval: Span,
    /// Access point of each node of the medium, also of nodes that have left; `None` for nodes of other networks.
    of_node: Vec<Option<u32>>,
    /// Bytes delivered in this interval between each access point and its stations.
    bytes: Vec<u64>,
    /// Nanoseconds of accesses up to the end of the last interval.
    airtime_before: Vec<u64>,
    series: Vec<AccessPointSeries>,
    /// Name of the domain.
    pub(crate) domain: String,
    /// Indices of the access points in the scenario.
    pub(crate) numbers: Vec<usize>,
}

impl BssCounters {
    /// Counters of access points without stations.
    pub(crate) fn new(scenario: &Scenario, plan: &AirPlan) -> Self {
        let numbers: Vec<_> = plan.access_points.iter().map(|point| point.number).collect();
        let series = numbers.iter().map(|&number| AccessPointSeries {
            access_point: scenario.access_points[number].name.clone(),
            domain: scenario.access_points[number].domain_name.clone(),
            ..AccessPointSeries::default()
        });
        Self {
            interval: scenario.measure.interval,
            of_node: (0..numbers.len() as u32).map(Some).chain(vec![None; 2 * plan.obss.len()]).collect(),
            bytes: vec![0; numbers.len()],
            airtime_before: vec![0; numbers.len()],
            series: series.collect(),
            domain: scenario.access_points[numbers[0]].domain_name.clone(),
            numbers,
        }
    }

    /// Registers the next node of the medium as a station of this access point.
    pub(crate) fn join(&mut self, point: usize) {
        self.of_node.push(Some(point as u32));
    }

    /// Counts a packet that a node delivered.
    pub(crate) fn deliver(&mut self, from: NodeId, msdu: Bytes) {
        if let Some(point) = self.of_node[from.0 as usize] {
            self.bytes[point as usize] += msdu.0;
        }
    }

    /// Ends an interval.
    pub(crate) fn end_interval<F>(&mut self, medium: &Medium<F>) {
        let mut airtime = vec![0; self.bytes.len()];
        let ours = (0..).zip(&self.of_node).filter_map(|(node, &point)| Some((node, point?)));
        for (node, point) in ours {
            airtime[point as usize] += medium.counters(NodeId(node)).airtime.as_nanos();
        }
        for (point, series) in self.series.iter_mut().enumerate() {
            series.ip_mbps.push(mbps(std::mem::take(&mut self.bytes[point]), self.interval));
            let before = std::mem::replace(&mut self.airtime_before[point], airtime[point]);
            series.airtime_share.push((airtime[point] - before) as f64 / self.interval.as_nanos() as f64);
        }
    }

    /// The series, each with the index of its access point in the scenario.
    pub(crate) fn finish(self) -> impl Iterator<Item = (usize, AccessPointSeries)> {
        self.numbers.into_iter().zip(self.series)
    }
}
