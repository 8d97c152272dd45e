//! Senders on the air in the results: by interval, and by period for values without series.

use evenair_medium::DropReason;
use evenair_results::period::{FlowPeriod, NodePeriod, Period};
use evenair_results::{LossSeries, NodeSeries};
use evenair_scenario::Scenario;

use crate::collect::Collected;
use crate::senders::{Counted, Loss};
use crate::{airtime, topology};

const REASONS: [Loss; 6] = [
    Loss::Medium(DropReason::BufferFull),
    Loss::QueueDelay,
    Loss::Medium(DropReason::RetryLimit),
    Loss::Medium(DropReason::Left),
    Loss::Medium(DropReason::BroadcastCollision),
    Loss::Medium(DropReason::Late),
];

/// Name of a loss reason in results.
pub const fn reason(why: Loss) -> &'static str {
    match why {
        Loss::Medium(DropReason::BufferFull) => "buffer full",
        Loss::QueueDelay => "queue delay",
        Loss::Medium(DropReason::RetryLimit) => "retry limit",
        Loss::Medium(DropReason::Left) => "station left",
        Loss::Medium(DropReason::BroadcastCollision) => "broadcast collided",
        Loss::Medium(DropReason::Late) => "came too late",
    }
}

/// Series of senders: access points, then stations.
pub fn nodes(scenario: &Scenario, collected: &Collected) -> Vec<NodeSeries> {
    let points = scenario.access_points.iter().map(|point| (point.name.clone(), point.channel.is_some()));
    let stations = topology::stations(scenario).into_iter().map(|host| (scenario.hosts[host].name.clone(), false));
    let named = points.chain(stations).enumerate();
    named.map(|(sender, (name, access_point))| node(scenario, collected, sender, name, access_point)).collect()
}

fn node(scenario: &Scenario, collected: &Collected, sender: usize, node: String, access_point: bool) -> NodeSeries {
    let interval_ns = scenario.measure.interval.as_nanos() as f64;
    let counts = |of: fn(&Counted) -> u64| each(collected, sender, of);
    let losses = REASONS.into_iter().map(|why| LossSeries {
        reason: reason(why).to_owned(),
        frames: each(collected, sender, |counted| counted.lost.get(&why).copied().unwrap_or(0)),
    });
    NodeSeries {
        node,
        access_point,
        offered_frames: counts(|counted| counted.offered),
        delivered_frames: counts(|counted| counted.delivered),
        lost_frames: losses.filter(|loss| loss.frames.iter().any(|&frames| frames > 0)).collect(),
        attempts: counts(|counted| counted.counters.attempts),
        successes: counts(|counted| counted.counters.successes),
        collisions: counts(|counted| counted.counters.collisions),
        errors: counts(|counted| counted.counters.losses),
        repeated_failures: counts(|counted| counted.counters.repeated_failures),
        slowed: counts(|counted| counted.counters.slowed),
        airtime_share: each(collected, sender, |counted| counted.counters.airtime.0.as_nanos() as f64 / interval_ns),
        queue_packets: each(collected, sender, |counted| counted.area_ns as f64 / interval_ns),
        queue_max_packets: counts(|counted| counted.most),
    }
}

/// A value for each interval.
fn each<T>(collected: &Collected, sender: usize, of: impl Fn(&Counted) -> T) -> Vec<T> {
    let blank = Counted::default();
    collected.intervals.iter().map(|interval| of(interval.senders.get(sender).unwrap_or(&blank))).collect()
}

/// Values without series; each interval is a period.
pub fn periods(scenario: &Scenario, collected: &Collected) -> Vec<Period> {
    let node = |counted: &Counted| NodePeriod {
        sojourn: counted.sojourn.clone(),
        frames_by_attempts: counted.by_attempts.clone(),
        ..NodePeriod::default()
    };
    let period = |(number, interval): (usize, &crate::collect::Interval)| Period {
        intervals: number..number + 1,
        nodes: interval.senders.iter().map(node).collect(),
        flows: flows(collected, number),
        airtime: Some(airtime::counted(scenario, interval, number)),
        ..Period::default()
    };
    collected.intervals.iter().enumerate().map(period).collect()
}

fn flows(collected: &Collected, interval: usize) -> Vec<FlowPeriod> {
    let echoes = collected.samples.iter().map(|samples| samples.echoes.get(interval).cloned().unwrap_or_default());
    echoes.map(|rtt| FlowPeriod { rtt, ..FlowPeriod::default() }).collect()
}
