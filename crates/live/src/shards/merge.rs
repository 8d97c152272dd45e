//! Status of several shards, separately and in total.
//!
//! Counters are summed. Percentiles of waiting times and of lateness cannot be combined; the total has those of the worst
//! shard, which are an upper bound.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenair_api::{Carrier, HoldStatus, PacingStatus, PoolStatus, PortStatus, RecordingStatus, ShardStatus};
use evenair_manager::{
    ClassReport, DelayReport, FlowReport, GuardReport, HopReport, Latency, Mode, ReceiverReport, Report, ReportCounts,
    StationReport, UplinkReport,
};
use evenair_packet::MacAddr;

use crate::snapshot::Snapshot;

/// The state of all shards from that of each, in the order of their numbers.
///
/// # Panics
/// There is no shard.
pub(crate) fn merge(each: Vec<Snapshot>) -> Snapshot {
    let shards = each.iter().enumerate().map(|(number, snapshot)| shard(number, snapshot)).collect();
    let mut each = each.into_iter().enumerate().map(|(number, snapshot)| alone(number, snapshot));
    let first = each.next().expect("a box has a shard");
    Snapshot { shards, ..each.fold(first, add) }
}

fn shard(number: usize, snapshot: &Snapshot) -> ShardStatus {
    let packets = snapshot.packets();
    let domains = snapshot.report.domains.iter().skip(usize::from(number > 0));
    ShardStatus {
        domains: domains.map(|domain| evenair_view::label_text(domain.name)).collect(),
        cpu_s: snapshot.cpu.as_secs_f64(),
        taken: packets.taken,
        received: packets.received,
        sent: packets.sent,
        held: packets.held,
        lost: packets.lost() + packets.dropped(),
        pool_used: snapshot.pool.used,
        lapses: snapshot.hold.lapses,
        conserved: packets.conserved,
    }
}

/// Removes domains without content from other shards' snapshots: the default domain and learned ones belong to the first shard.
fn alone(number: usize, mut snapshot: Snapshot) -> Snapshot {
    let report = &mut snapshot.report;
    if number > 0 && !report.domains.is_empty() {
        let default = report.domains.remove(0);
        report.domains.retain(|domain| !domain.learned);
        let without = |sum: evenair_units::BitRate, part: evenair_units::BitRate| {
            evenair_units::BitRate::from_bps(sum.as_bps().saturating_sub(part.as_bps()))
        };
        report.service_rate = without(report.service_rate, default.service_rate);
        report.capacity = without(report.capacity, default.capacity);
    }
    snapshot
}

fn add(a: Snapshot, b: Snapshot) -> Snapshot {
    Snapshot {
        report: reports(a.report, b.report),
        observing: a.observing && b.observing,
        kinds: a.kinds + b.kinds,
        copied: (a.copied.0 + b.copied.0, a.copied.1 + b.copied.1),
        carrier: if a.carrier == b.carrier { a.carrier } else { Carrier::Releasing },
        fail_open: a.fail_open,
        uptime_s: a.uptime_s.max(b.uptime_s),
        wlan: ports(a.wlan, &b.wlan),
        wire: ports(a.wire, &b.wire),
        more_segments: a.more_segments + b.more_segments,
        underway: (a.underway.0 + b.underway.0, a.underway.1 + b.underway.1),
        sending: a.sending + b.sending,
        probes: a.probes + b.probes,
        pool: PoolStatus {
            used: a.pool.used + b.pool.used,
            peak: a.pool.peak + b.pool.peak,
            size: a.pool.size + b.pool.size,
        },
        hold: HoldStatus { lapses: a.hold.lapses + b.hold.lapses },
        pacing: PacingStatus {
            deadlines: a.pacing.deadlines + b.pacing.deadlines,
            p50_us: a.pacing.p50_us.max(b.pacing.p50_us),
            p99_us: a.pacing.p99_us.max(b.pacing.p99_us),
            max_us: a.pacing.max_us.max(b.pacing.max_us),
        },
        recording: a.recording.into_iter().chain(b.recording).reduce(recordings),
        telemetry: a.telemetry,
        cpu: a.cpu + b.cpu,
        shards: Vec::new(),
        now: a.now.max(b.now),
    }
}

fn ports(a: PortStatus, b: &PortStatus) -> PortStatus {
    PortStatus {
        interface: a.interface,
        io: a.io,
        io_why: a.io_why,
        taken: a.taken + b.taken,
        super_packets: a.super_packets + b.super_packets,
        sent: a.sent + b.sent,
        sent_bytes: a.sent_bytes + b.sent_bytes,
        losses: a.losses + b.losses,
    }
}

fn recordings(a: RecordingStatus, b: RecordingStatus) -> RecordingStatus {
    RecordingStatus {
        file: format!("{} {}", a.file, b.file),
        bytes: a.bytes + b.bytes,
        digest: format!("{} {}", a.digest, b.digest),
        stopped: a.stopped.or(b.stopped),
    }
}

fn reports(a: Report, b: Report) -> Report {
    let (before, known) = (a.stations.len() + b.stations.len(), a.stations_known + b.stations_known);
    let stations = stations(a.stations, b.stations);
    let same = before - stations.len();
    Report {
        // The box drains until the last shard has drained.
        mode: match (a.mode, b.mode) {
            (Mode::Draining, _) | (_, Mode::Draining) => Mode::Draining,
            (Mode::Inserted, _) | (_, Mode::Inserted) => Mode::Inserted,
            (Mode::Bypassed, Mode::Bypassed) => Mode::Bypassed,
        },
        service_rate: a.service_rate + b.service_rate,
        capacity: a.capacity + b.capacity,
        throughput: a.throughput + b.throughput,
        domains: a.domains.into_iter().chain(b.domains).collect(),
        stations,
        stations_known: known - same,
        flows: in_turn(a.flows, b.flows),
        classes: classes(a.classes, b.classes),
        queues: a.queues.into_iter().chain(b.queues).collect(),
        hops: hops(a.hops, &b.hops),
        calls: a.calls.into_iter().chain(b.calls).collect(),
        calls_watched: a.calls_watched || b.calls_watched,
        receiver: both(a.receiver, b.receiver, receivers),
        uplink: both(a.uplink, b.uplink, limits),
        rate_reports: rate_reports(a.rate_reports, b.rate_reports),
        guard: guards(a.guard, b.guard),
        counters: a.counters + b.counters,
    }
}

fn both<T>(a: Option<T>, b: Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (a, b) => a.or(b),
    }
}

/// Combined like the domains of one manager.
fn receivers(a: ReceiverReport, b: ReceiverReport) -> ReceiverReport {
    ReceiverReport {
        clamped_flows: a.clamped_flows + b.clamped_flows,
        flows: a.flows + b.flows,
        window: a.window.into_iter().chain(b.window).min(),
        delay: a.delay.max(b.delay),
        held: a.held + b.held,
        ap_queueing: a.ap_queueing.max(b.ap_queueing),
    }
}

/// The report of the guard in the most severe state.
fn guards(a: GuardReport, b: GuardReport) -> GuardReport {
    let (steps, bypasses) = (a.steps + b.steps, a.bypasses + b.bypasses);
    let next_try = a.next_try.into_iter().chain(b.next_try).min();
    GuardReport { steps, bypasses, next_try, ..if b.state > a.state { b } else { a } }
}

fn limits(a: UplinkReport, b: UplinkReport) -> UplinkReport {
    UplinkReport {
        limit: a.limit + b.limit,
        up: a.up + b.up,
        up_datagrams: a.up_datagrams + b.up_datagrams,
        down: a.down + b.down,
        lost: a.lost + b.lost,
    }
}

/// A station that several shards know was in several VLANs, or was reported: it belongs to the shard where it had most traffic.
fn stations(a: Vec<StationReport>, b: Vec<StationReport>) -> Vec<StationReport> {
    let mut all: BTreeMap<MacAddr, StationReport> = a.into_iter().map(|station| (station.mac, station)).collect();
    for station in b {
        let merged = match all.remove(&station.mac) {
            None => station,
            Some(other) => {
                let (most, least) = if other.airtime >= station.airtime { (other, station) } else { (station, other) };
                let new = least.addresses.iter().filter(|address| !most.addresses.contains(address)).copied();
                let addresses = most.addresses.iter().copied().chain(new).collect();
                StationReport {
                    airtime: most.airtime + least.airtime,
                    airtime_up: most.airtime_up + least.airtime_up,
                    to_station: most.to_station + least.to_station,
                    from_station: most.from_station + least.from_station,
                    over_share: most.over_share || least.over_share,
                    counted: most.counted + least.counted,
                    losses: most.losses.plus(&least.losses),
                    latency: latency(most.latency, least.latency),
                    name: most.name.clone().or(least.name),
                    reported: most.reported.or(least.reported),
                    addresses,
                    ..most
                }
            }
        };
        all.insert(merged.mac, merged);
    }
    all.into_values().collect()
}

fn latency(a: Option<Arc<Latency>>, b: Option<Arc<Latency>>) -> Option<Arc<Latency>> {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            Arc::make_mut(&mut a).add(&b);
            Some(a)
        }
        (a, b) => a.or(b),
    }
}

/// The most recently used flows of both, as far as their order is known.
fn in_turn(a: Vec<FlowReport>, b: Vec<FlowReport>) -> Vec<FlowReport> {
    let most = a.len().max(b.len());
    let (mut a, mut b) = (a.into_iter(), b.into_iter());
    (0..most).flat_map(|_| [a.next(), b.next()]).flatten().collect()
}

fn classes(a: Vec<ClassReport>, b: Vec<ClassReport>) -> Vec<ClassReport> {
    // All shards have the same ones.
    let both = a.into_iter().zip(b);
    let sum = |(a, b): (ClassReport, ClassReport)| ClassReport {
        held: a.held + b.held,
        held_bytes: a.held_bytes + b.held_bytes,
        at_ceiling: a.at_ceiling || b.at_ceiling,
        released: a.released + b.released,
        from_wlan: a.from_wlan + b.from_wlan,
        airtime: a.airtime + b.airtime,
        dropped: a.dropped + b.dropped,
        losses: a.losses.plus(&b.losses),
        latency: a.latency.plus(&b.latency),
        ..a
    };
    both.map(sum).collect()
}

fn hops(a: Vec<HopReport>, b: &[HopReport]) -> Vec<HopReport> {
    let sum = |hop: HopReport| match b.iter().find(|other| other.hop == hop.hop) {
        None => hop,
        Some(other) => HopReport {
            hop: hop.hop,
            held: hop.held + other.held,
            recent: delays(hop.recent, other.recent),
            total: delays(hop.total, other.total),
        },
    };
    a.into_iter().map(sum).collect()
}

fn delays(a: DelayReport, b: DelayReport) -> DelayReport {
    let packets = a.packets + b.packets;
    if packets == 0 {
        return a;
    }
    let part = |of: DelayReport| of.mean.mul_div(of.packets, packets);
    DelayReport {
        packets,
        mean: part(a) + part(b),
        p50: a.p50.max(b.p50),
        p95: a.p95.max(b.p95),
        most: a.most.max(b.most),
    }
}

fn rate_reports(a: ReportCounts, b: ReportCounts) -> ReportCounts {
    ReportCounts {
        taken: a.taken + b.taken,
        absurd: a.absurd + b.absurd,
        refused_modes: a.refused_modes + b.refused_modes,
        untimely: a.untimely + b.untimely,
        unknown: a.unknown + b.unknown,
        contradicted: a.contradicted + b.contradicted,
    }
}

#[cfg(test)]
mod tests {
    use evenair_manager::{Cause, StationCounter};
    use evenair_units::Span;

    use super::*;
    use crate::snapshot::tests_support::snapshot;

    #[test]
    fn counters_are_summed_and_stations_are_listed_once() {
        let mut other = snapshot();
        other.report.stations[0].airtime = Span::from_millis(3);
        other.report.stations[0].to_station.0 = 7;
        StationCounter::ALL.iter().for_each(|&counter| other.report.stations[0].counted[counter] = 5);
        other.carrier = Carrier::Box;
        let each = other.packets();
        let merged = merge(vec![snapshot(), other]);
        let packets = merged.packets();
        assert_eq!((packets.taken, packets.received, packets.sent), (2 * each.taken, 2 * each.received, 2 * each.sent));
        assert!(packets.conserved);
        assert_eq!(merged.report.domains.len(), 1, "the default one is the first shard's");
        let stations = &merged.report.stations;
        assert_eq!((stations.len(), merged.report.stations_known), (1, 1));
        assert_eq!((stations[0].airtime, stations[0].to_station.0), (Span::from_millis(3), 7));
        assert!(stations[0].counted.iter().all(|(_, count)| count == 5));
        assert_eq!((merged.carrier, merged.shards.len()), (Carrier::Releasing, 2));
        assert_eq!((&merged.shards[0].domains, merged.shards[1].domains.len()), (&vec!["default".to_owned()], 0));
    }

    #[test]
    fn a_lost_packet_of_one_shard_breaks_the_balance_of_all() {
        let mut bad = snapshot();
        bad.wlan.taken += 1;
        let merged = merge(vec![snapshot(), bad]);
        assert!(!merged.packets().conserved && merged.shards[0].conserved && !merged.shards[1].conserved);
    }

    #[test]
    fn combined_waiting_times_are_those_of_the_worst_shard() {
        let delay = |packets, ms| {
            let span = Span::from_millis(ms);
            DelayReport { packets, mean: span, p50: span, p95: span, most: span }
        };
        let both = delays(delay(1, 1), delay(3, 5));
        assert_eq!((both.packets, both.mean, both.p95), (4, Span::from_millis(4), Span::from_millis(5)));
        assert_eq!(delays(delay(0, 0), delay(0, 0)).packets, 0);
    }
}
