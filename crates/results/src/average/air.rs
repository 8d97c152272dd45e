//! Averages of senders on the medium, of the medium itself, and of other loss sites.

use std::collections::BTreeMap;
use std::ops::Range;

use evenair_wifi::AccessCategory;
use evenair_workload::Direction;

use super::sum;
use crate::air::{AccessResult, CategoryResult, QueueLevels, RateUse, UsedRate};
use crate::period::{CategoryPeriod, NodePeriod, Period};
use crate::stats::{mean, part};
use crate::{DropCount, LossSeries, MediumResult, NodeResult, NodeSeries, PlaceResult, PpduResult, Series};

/// The reason of frames that were given up at a retry limit.
pub(crate) const RETRY_LIMIT: &str = "retry limit";

/// Every sender.
pub(super) fn nodes(series: &Series, counted: &Period, intervals: &Range<usize>) -> Vec<NodeResult> {
    let blank = NodePeriod::default();
    let period = |number: usize| counted.nodes.get(number).unwrap_or(&blank);
    series.nodes.iter().enumerate().map(|(number, node)| node_result(node, period(number), intervals)).collect()
}

fn node_result(series: &NodeSeries, counted: &NodePeriod, intervals: &Range<usize>) -> NodeResult {
    let delivered_frames = sum(&series.delivered_frames, intervals);
    let lost_frames = losses(&series.lost_frames, intervals);
    let lost = total(&lost_frames);
    NodeResult {
        node: series.node.clone(),
        access_point: series.access_point,
        offered_frames: sum(&series.offered_frames, intervals),
        delivered_frames,
        loss_rate: rate(lost, delivered_frames + lost),
        access: access(series, counted, retry_drops(&lost_frames), intervals),
        lost_frames,
        airtime_share: average(&series.airtime_share, intervals),
        queue_mean_packets: average(&series.queue_packets, intervals),
        queue_max_packets: part(&series.queue_max_packets, intervals).iter().copied().max().unwrap_or(0),
        queue: levels(&counted.time_at_level),
        sojourn: counted.sojourn.distribution(),
        categories: AccessCategory::ALL
            .into_iter()
            .zip(&counted.categories)
            .map(|(category, counted)| category_result(category, counted))
            .collect(),
        ppdus: ppdus(counted),
    }
}

/// PPDUs by direction, where there are any.
fn ppdus(counted: &NodePeriod) -> Vec<PpduResult> {
    let ways = [Direction::Down, Direction::Up].into_iter().zip(&counted.ppdus);
    ways.filter(|(_, counted)| !counted.is_empty()).map(|(way, counted)| PpduResult::of(way, counted)).collect()
}

fn category_result(category: AccessCategory, counted: &CategoryPeriod) -> CategoryResult {
    CategoryResult {
        category: category.name().to_owned(),
        offered_frames: counted.offered,
        delivered_frames: counted.delivered,
        lost_frames: counted.lost,
        loss_rate: rate(counted.lost, counted.delivered + counted.lost),
        queue_mean_packets: rate(counted.area_ns, counted.length_ns).unwrap_or(0.0),
        queue_max_packets: counted.most,
        sojourn: counted.sojourn.distribution(),
    }
}

fn rate(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The mean over the intervals of a series that may be left empty for zeros.
fn average(values: &[f64], intervals: &Range<usize>) -> f64 {
    mean(part(values, intervals).iter().copied()).unwrap_or(0.0)
}

fn losses(series: &[LossSeries], intervals: &Range<usize>) -> Vec<DropCount> {
    let of = |loss: &LossSeries| DropCount { reason: loss.reason.clone(), packets: sum(&loss.frames, intervals) };
    series.iter().map(of).filter(|loss| loss.packets > 0).collect()
}

/// Losses for all reasons.
fn total(lost: &[DropCount]) -> u64 {
    lost.iter().map(|loss| loss.packets).sum()
}

fn retry_drops(lost: &[DropCount]) -> u64 {
    lost.iter().filter(|loss| loss.reason == RETRY_LIMIT).map(|loss| loss.packets).sum()
}

fn access(series: &NodeSeries, counted: &NodePeriod, retry_drops: u64, intervals: &Range<usize>) -> AccessResult {
    let [collisions, errors] = [&series.collisions, &series.errors].map(|counts| sum(counts, intervals));
    AccessResult {
        attempts: sum(&series.attempts, intervals),
        ended: sum(&series.successes, intervals) + collisions + errors,
        collisions,
        errors,
        repeated_failures: sum(&series.repeated_failures, intervals),
        slowed: sum(&series.slowed, intervals),
        retry_drops,
        frames_by_attempts: counted.frames_by_attempts.clone(),
        by_rate: counted.attempts_by_rate.iter().map(|(&rate, &attempts)| rate_use(rate, attempts)).collect(),
        ..AccessResult::default()
    }
    .with_rates()
}

fn rate_use(rate: UsedRate, attempts: u64) -> RateUse {
    RateUse { rate_mbps: rate.bps as f64 / 1e6, scheme: rate.scheme, attempts }
}

impl AccessResult {
    /// What follows from the counts.
    fn with_rates(mut self) -> Self {
        let failed = self.collisions + self.errors;
        self.collision_rate = rate(self.collisions, self.ended);
        self.failure_rate = rate(failed, self.ended);
        // At the edges of a phase a frame may be given up whose last failure was counted before.
        self.retries = failed.saturating_sub(self.retry_drops);
        let delivered: u64 = self.frames_by_attempts.iter().sum();
        let attempts: u64 = self.frames_by_attempts.iter().zip(1..).map(|(frames, attempts)| frames * attempts).sum();
        self.attempts_per_frame = rate(attempts, delivered);
        self.back_to_back_share = rate(self.repeated_failures, self.ended);
        self.slowed_share = rate(self.slowed, self.attempts);
        self
    }

    fn add(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.ended += other.ended;
        self.collisions += other.collisions;
        self.errors += other.errors;
        self.retry_drops += other.retry_drops;
        self.repeated_failures += other.repeated_failures;
        self.slowed += other.slowed;
        let (own, other) = (&mut self.frames_by_attempts, &other.frames_by_attempts);
        own.resize(own.len().max(other.len()), 0);
        own.iter_mut().zip(other).for_each(|(own, other)| *own += other);
    }
}

/// Attempts of all senders by rate.
fn by_rate(counted: &Period) -> Vec<RateUse> {
    let mut all = BTreeMap::new();
    for (&rate, attempts) in counted.nodes.iter().flat_map(|node| &node.attempts_by_rate) {
        *all.entry(rate).or_default() += attempts;
    }
    all.iter().map(|(&rate, &attempts)| rate_use(rate, attempts)).collect()
}

/// Levels that were not exceeded for parts of the time; `None` where no time was counted.
fn levels(time_at_level: &[u64]) -> Option<QueueLevels> {
    let whole: u128 = time_at_level.iter().map(|&ns| u128::from(ns)).sum();
    let at = |permille: u128| {
        let mut passed = 0;
        let reached = |&ns: &u64| {
            passed += u128::from(ns) * 1000;
            passed >= whole * permille
        };
        time_at_level.iter().position(reached).unwrap_or(0) as f64
    };
    (whole > 0).then(|| QueueLevels { p50_packets: at(500), p90_packets: at(900), p99_packets: at(990) })
}

/// The medium, with the accesses of all senders; `None` where the engine did not count it.
pub(super) fn medium(
    series: &Series,
    counted: &Period,
    nodes: &[NodeResult],
    intervals: &Range<usize>,
) -> Option<MediumResult> {
    let medium = series.medium.as_ref()?;
    let mut access = AccessResult { by_rate: by_rate(counted), ..AccessResult::default() };
    nodes.iter().for_each(|node| access.add(&node.access));
    Some(MediumResult {
        busy_share: average(&medium.busy_share, intervals),
        contending_share: average(&medium.contending_share, intervals),
        idle_share: average(&medium.idle_share, intervals),
        transmissions: sum(&medium.transmissions, intervals),
        collisions: sum(&medium.collisions, intervals),
        access: access.with_rates(),
        active_stations: average(&medium.active_stations, intervals),
    })
}

/// Wired ports and the box.
pub(super) fn places(series: &Series, intervals: &Range<usize>) -> Vec<PlaceResult> {
    let of = |place: &crate::PlaceSeries| {
        let offered_packets = sum(&place.offered_packets, intervals);
        let lost_packets = losses(&place.lost_packets, intervals);
        let lost = total(&lost_packets);
        PlaceResult {
            place: place.place.clone(),
            offered_packets,
            loss_rate: rate(lost, offered_packets.max(lost)),
            lost_packets,
        }
    };
    series.places.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> (NodeSeries, NodePeriod) {
        let series = NodeSeries {
            node: "sta".into(),
            offered_frames: vec![10, 10, 0],
            delivered_frames: vec![6, 8, 2],
            lost_frames: vec![
                LossSeries { reason: "buffer full".into(), frames: vec![1, 1, 0] },
                LossSeries { reason: RETRY_LIMIT.into(), frames: vec![0, 1, 0] },
            ],
            attempts: vec![9, 13, 2],
            successes: vec![6, 8, 2],
            collisions: vec![3, 4, 0],
            errors: vec![0, 1, 0],
            repeated_failures: vec![0, 2, 1],
            slowed: vec![11, 0, 2],
            queue_packets: vec![2.0, 4.0, 0.0],
            queue_max_packets: vec![3, 5, 2],
            ..NodeSeries::default()
        };
        let counted = NodePeriod {
            // Nine at once, three at the second attempt, two at the third.
            frames_by_attempts: vec![9, 3, 2],
            time_at_level: vec![500, 0, 390, 110],
            ..NodePeriod::default()
        };
        (series, counted)
    }

    #[test]
    fn a_sender_by_hand() {
        let (series, counted) = node();
        let result = node_result(&series, &counted, &(0..2));
        assert_eq!((result.offered_frames, result.delivered_frames, result.loss_rate), (20, 14, Some(3.0 / 17.0)));
        assert_eq!((result.queue_mean_packets, result.queue_max_packets), (3.0, 5));
        let access = &result.access;
        assert_eq!((access.attempts, access.retries, access.retry_drops), (22, 7, 1));
        assert_eq!(access.collision_rate, Some(7.0 / 22.0));
        assert_eq!(access.failure_rate, Some(8.0 / 22.0));
        assert_eq!(access.attempts_per_frame, Some(21.0 / 14.0));
        assert_eq!((access.back_to_back_share, access.slowed_share), (Some(2.0 / 22.0), Some(0.5)));
        // 1000 ns in all: half of it empty, 90 % with two or fewer after 890 and so not quite.
        let levels = result.queue.unwrap();
        assert_eq!((levels.p50_packets, levels.p90_packets, levels.p99_packets), (0.0, 3.0, 3.0));
    }

    /// Frames and attempts that are of before the phase end in it.
    #[test]
    fn rates_are_proportions_of_what_ended() {
        let series = NodeSeries {
            offered_frames: vec![3],
            delivered_frames: vec![2],
            lost_frames: vec![LossSeries { reason: "station left".into(), frames: vec![6] }],
            attempts: vec![1],
            successes: vec![1],
            collisions: vec![2],
            errors: vec![1],
            repeated_failures: vec![2],
            ..NodeSeries::default()
        };
        let result = node_result(&series, &NodePeriod::default(), &(0..1));
        assert_eq!((result.loss_rate, result.access.ended), (Some(0.75), 4));
        let access = &result.access;
        assert_eq!(
            (access.collision_rate, access.failure_rate, access.back_to_back_share),
            (Some(0.5), Some(0.75), Some(0.5))
        );
        let place = crate::PlaceSeries {
            offered_packets: vec![3],
            lost_packets: vec![LossSeries { reason: "queue delay".into(), frames: vec![6] }],
            ..crate::PlaceSeries::default()
        };
        let of_places = places(&Series { places: vec![place], ..Series::default() }, &(0..1));
        assert_eq!(of_places[0].loss_rate, Some(1.0));
    }

    #[test]
    fn the_medium_has_the_accesses_of_all() {
        let (series, counted) = node();
        let all = Series {
            nodes: vec![series.clone(), series],
            medium: Some(super::super::super::MediumSeries { busy_share: vec![0.5, 0.7, 0.0], ..Default::default() }),
            ..Series::default()
        };
        let counted = Period { nodes: vec![counted.clone(), counted], ..Period::default() };
        let nodes = nodes(&all, &counted, &(0..2));
        let medium = medium(&all, &counted, &nodes, &(0..2)).unwrap();
        assert!((medium.busy_share - 0.6).abs() < 1e-12);
        assert_eq!(medium.access.attempts, 44);
        assert_eq!(medium.access.collision_rate, nodes[0].access.collision_rate);
        assert_eq!(medium.access.frames_by_attempts, [18, 6, 4]);
        let nothing = super::medium(&Series::default(), &counted, &[], &(0..2));
        assert_eq!(nothing, None);
    }
}
