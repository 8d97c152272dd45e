//! From what was collected to what is reported.

use evenair_medium::DropReason;
use evenair_scenario::results::{
    AirtimeShare, BoxCounters, Directions, DropCount, EchoResult, FlowProgress, FlowResult, FlowSeries, Lateness,
    LossCount, MediumUse, PhaseResult, Progress, RunResult, Series, StationResult,
};
use evenair_scenario::{Action, App, AppKind, Direction, IpVersion, Phase, Place, Scenario};
use evenair_units::{BitRate, Bytes, Span};
use evenair_wifi::{PhyRate, TcpShape, mixed_capacity, tcp_capacity, time_fair_weight};

use crate::air;
use crate::collect::{Collected, Interval};
use crate::lateness::Record;
use crate::meter::AppCount;
use crate::middlebox::Status;
use crate::radio::Snapshot;
use crate::topology;
use crate::wire;

/// The whole report. `faults` are reasons against the run beside its lateness.
pub fn report(scenario: &Scenario, collected: &Collected, length: Span, faults: Vec<String>) -> RunResult {
    let last = collected.last.as_ref();
    let mut invalid_because = last.map_or_else(Vec::new, |last| last.lateness.faults(length));
    invalid_because.extend(faults);
    RunResult {
        scenario: scenario.name.clone(),
        title: scenario.title.clone(),
        seed: scenario.seed,
        engine: "testbed".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        valid: invalid_because.is_empty(),
        invalid_because,
        duration_s: length.as_secs_f64(),
        phases: scenario.measure.phases.iter().map(|phase| phase_result(scenario, collected, phase)).collect(),
        series: series(scenario, collected),
        lateness: last.map(|last| lateness(&last.lateness, length)),
        box_counters: collected.last_status.as_ref().map(box_counters),
        events: collected.events.clone(),
        medium: last.map(|last| medium_use(scenario, last, length)),
        losses: last.map_or_else(Vec::new, |last| losses(scenario, last)),
        pages: collected.pages.clone(),
        echoes: echoes(scenario, collected),
        published: scenario.published.clone(),
    }
}

/// How the run stands after its last interval; `faults` as in [`report`].
pub fn progress(scenario: &Scenario, collected: &Collected, faults: &[String]) -> Progress {
    let seconds = scenario.measure.interval.as_secs_f64();
    let number = collected.intervals.len();
    let blank = Interval::default();
    let interval = collected.intervals.last().unwrap_or(&blank);
    let flows: Vec<_> = scenario
        .apps
        .iter()
        .zip(&interval.apps)
        .map(|(app, count)| FlowProgress {
            app: app.name.clone(),
            direction: app.direction,
            ip_mbps: mbps(count.ip_bytes, seconds),
        })
        .collect();
    let at = scenario.measure.interval * number as u64;
    let last = collected.last.as_ref();
    Progress {
        at_s: at.as_secs_f64(),
        mode: collected.last_status.as_ref().map_or_else(|| "bypassed".to_owned(), |status| status.mode.clone()),
        total_ip_mbps: flows.iter().map(|flow| flow.ip_mbps).sum(),
        flows,
        ap_queue_packets: last.map_or(0, |last| last.queue.packets as u64),
        service_rate_mbps: collected.last_status.as_ref().and_then(Status::managing_rate_mbps),
        lateness_p99_us: last.map(|last| micros(last.lateness.lateness.quantile(990))),
        invalid_because: last.iter().flat_map(|last| last.lateness.faults(at)).chain(faults.iter().cloned()).collect(),
    }
}

fn series(scenario: &Scenario, collected: &Collected) -> Series {
    let interval_s = scenario.measure.interval.as_secs_f64();
    let numbers = 0..collected.intervals.len();
    let flow = |(index, app): (usize, &App)| {
        let counts = || collected.intervals.iter().map(move |interval| &interval.apps[index]);
        let tcp = |k: usize| collected.samples[index].tcp.get(k).copied().flatten();
        FlowSeries {
            app: app.name.clone(),
            station: scenario.hosts[app.station].name.clone(),
            direction: app.direction,
            rate_mbps: phy_rate(scenario, app.station, Span::ZERO).bit_rate().as_mbps_f64(),
            ip_mbps: counts().map(|count| mbps(count.ip_bytes, interval_s)).collect(),
            goodput_mbps: numbers
                .clone()
                .map(|k| mbps(collected.goodput_bytes(scenario, index, k), interval_s))
                .collect(),
            data_packets: counts().map(|count| count.data_packets).collect(),
            ack_packets: counts().map(|count| count.ack_packets).collect(),
            cwnd_segments: numbers.clone().map(|k| tcp(k).map(|tcp| f64::from(tcp.cwnd_segments))).collect(),
            rtt_ms: numbers.clone().map(|k| tcp(k).map(|tcp| f64::from(tcp.srtt_us) / 1e3)).collect(),
            retransmits: numbers.clone().map(|k| collected.retransmits(index, k)).collect(),
        }
    };
    Series {
        interval_s,
        flows: scenario.apps.iter().enumerate().map(flow).collect(),
        ap_queue_packets: collected.intervals.iter().map(|interval| interval.queue_mean_packets).collect(),
        service_rate_mbps: collected.intervals.iter().map(service_rate).collect(),
    }
}

fn phase_result(scenario: &Scenario, collected: &Collected, phase: &Phase) -> PhaseResult {
    let numbers = intervals_of(phase, scenario.measure.interval, collected.intervals.len());
    let intervals = &collected.intervals[numbers.clone()];
    let seconds = (scenario.measure.interval * intervals.len() as u64).as_secs_f64();
    let mut flows: Vec<_> = (0..scenario.apps.len())
        .map(|app| flow_result(scenario, collected, phase, app, numbers.clone(), seconds))
        .collect();
    let total_ip_mbps: f64 = flows.iter().map(|flow| flow.ip_mbps).sum();
    flows.iter_mut().for_each(|flow| flow.share = share(flow.ip_mbps, total_ip_mbps));
    let of_direction = |direction| flows.iter().filter(|f| f.direction == direction).map(|f| f.ip_mbps).sum();
    let rates: Vec<f64> = intervals.iter().filter_map(service_rate).collect();
    let queues = || intervals.iter().map(|interval| interval.queue_mean_packets);
    PhaseResult {
        name: phase.name.clone(),
        from_s: phase.from.as_secs_f64(),
        to_s: phase.to.as_secs_f64(),
        total_ip_mbps,
        total_goodput_mbps: flows.iter().map(|flow| flow.goodput_mbps).sum(),
        capacity_cstar_mbps: capacity(scenario, phase, intervals),
        service_rate_mbps: mean(&rates),
        stations: station_results(scenario, &flows, total_ip_mbps),
        directions: Directions { up_ip_mbps: of_direction(Direction::Up), down_ip_mbps: of_direction(Direction::Down) },
        jain_flows: jain(flows.iter().map(|flow| flow.ip_mbps)),
        ap_queue_mean_packets: queues().sum::<f64>() / intervals.len().max(1) as f64,
        ap_queue_max_packets: queues().fold(0.0, f64::max),
        flows,
    }
}

/// The intervals that a phase covers, its ends rounded to the nearest boundary, as far as the run went.
fn intervals_of(phase: &Phase, interval: Span, had: usize) -> std::ops::Range<usize> {
    let nearest = |at: Span| ((at + interval / 2) / interval) as usize;
    let to = nearest(phase.to).min(had);
    nearest(phase.from).min(to)..to
}

fn flow_result(
    scenario: &Scenario,
    collected: &Collected,
    phase: &Phase,
    index: usize,
    numbers: std::ops::Range<usize>,
    seconds: f64,
) -> FlowResult {
    let app = &scenario.apps[index];
    let count = sum(&collected.intervals[numbers.clone()], index);
    let goodput: u64 = numbers.clone().map(|k| collected.goodput_bytes(scenario, index, k)).sum();
    let samples = &collected.samples[index].tcp;
    let tcp: Vec<_> = numbers.clone().filter_map(|k| samples.get(k).copied().flatten()).collect();
    FlowResult {
        app: app.name.clone(),
        station: scenario.hosts[app.station].name.clone(),
        direction: app.direction,
        rate_mbps: phy_rate(scenario, app.station, phase.from).bit_rate().as_mbps_f64(),
        ip_mbps: mbps(count.ip_bytes, seconds),
        goodput_mbps: mbps(goodput, seconds),
        share: 0.0,
        d: acknowledged_ratio(&count),
        cwnd_segments: mean(&tcp.iter().map(|tcp| f64::from(tcp.cwnd_segments)).collect::<Vec<_>>()),
        rtt_ms: mean(&tcp.iter().map(|tcp| f64::from(tcp.srtt_us) / 1e3).collect::<Vec<_>>()),
        retransmits: numbers.map(|k| collected.retransmits(index, k)).sum(),
    }
}

fn sum(intervals: &[Interval], app: usize) -> AppCount {
    intervals.iter().map(|interval| &interval.apps[app]).fold(AppCount::default(), |sum, count| AppCount {
        ip_bytes: sum.ip_bytes + count.ip_bytes,
        data_packets: sum.data_packets + count.data_packets,
        ack_packets: sum.ack_packets + count.ack_packets,
        goodput_bytes: sum.goodput_bytes + count.goodput_bytes,
    })
}

fn acknowledged_ratio(count: &AppCount) -> Option<f64> {
    (count.ack_packets > 0).then(|| count.data_packets as f64 / count.ack_packets as f64)
}

fn station_results(scenario: &Scenario, flows: &[FlowResult], total: f64) -> Vec<StationResult> {
    let stations = topology::stations(scenario).into_iter().filter_map(|host| {
        let name = &scenario.hosts[host].name;
        let own: Vec<_> = flows.iter().filter(|flow| flow.station == *name).collect();
        let ip_mbps = own.iter().map(|flow| flow.ip_mbps).sum();
        let rate_mbps = own.first()?.rate_mbps;
        Some(StationResult { station: name.clone(), rate_mbps, ip_mbps, share: share(ip_mbps, total) })
    });
    stations.collect()
}

/// C* of the TCP flows that were active in the phase, time fair by the stations' weights, with each flow's measured
/// ratio of DATA to ACKs.
fn capacity(scenario: &Scenario, phase: &Phase, intervals: &[Interval]) -> Option<f64> {
    let parts: Vec<(u64, BitRate)> = scenario
        .apps
        .iter()
        .enumerate()
        .filter_map(|(index, app)| {
            let count = sum(intervals, index);
            let is_tcp = matches!(app.kind, AppKind::Bulk { .. } | AppKind::Web { .. });
            let d = acknowledged_ratio(&count).filter(|_| is_tcp && count.data_packets > 0)?;
            let Place::Station { weight, .. } = scenario.hosts[app.station].place else { return None };
            let shape = tcp_shape(scenario, app, d);
            let rate = tcp_capacity(&scenario.radio.phy, phy_rate(scenario, app.station, phase.from), &shape);
            Some((time_fair_weight(weight, rate), rate))
        })
        .collect();
    (!parts.is_empty()).then(|| mixed_capacity(&parts).as_mbps_f64())
}

fn tcp_shape(scenario: &Scenario, app: &App, d: f64) -> TcpShape {
    // IP and TCP headers, and the timestamps option with its padding.
    let headers = if app.ip == IpVersion::V4 { 40 } else { 60 };
    let ack_ip = Bytes(headers + if scenario.tcp.timestamps { 12 } else { 0 });
    TcpShape {
        data_ip: Bytes(1500),
        ack_ip,
        d_milli: (d * 1e3).round().clamp(1.0, 1e6) as u32,
        rts_threshold: scenario.radio.rts_threshold,
    }
}

/// A station's PHY rate at an instant of the run.
fn phy_rate(scenario: &Scenario, host: usize, at: Span) -> PhyRate {
    let Place::Station { rate, .. } = scenario.hosts[host].place else {
        unreachable!("applications belong to stations");
    };
    let earlier = scenario.events.iter().filter(|event| event.at <= at);
    let changes = earlier.filter_map(|event| match event.action {
        Action::Rate(of, rate) if of == host => Some(rate),
        _ => None,
    });
    changes.last().unwrap_or(rate)
}

fn service_rate(interval: &Interval) -> Option<f64> {
    interval.middlebox.as_ref().and_then(Status::managing_rate_mbps)
}

fn lateness(record: &Record, length: Span) -> Lateness {
    let (late, lag) = (&record.lateness, &record.ingress_lag);
    Lateness {
        frames: late.count(),
        p50_us: micros(late.quantile(500)),
        p99_us: micros(late.quantile(990)),
        p999_us: micros(late.quantile(999)),
        max_us: micros(late.max()),
        idle_for_late_permille: record.idle_permille(length),
        ingress_lag_p50_us: micros(lag.quantile(500)),
        ingress_lag_p99_us: micros(lag.quantile(990)),
        ingress_lag_max_us: micros(lag.max()),
    }
}

fn box_counters(status: &Status) -> BoxCounters {
    let packets = &status.packets;
    let drop = |reason: &str, packets| DropCount { reason: reason.to_owned(), packets };
    BoxCounters {
        received: packets.received,
        released: packets.released,
        dropped: vec![
            drop("queue full", packets.dropped_queue_full),
            drop("ack superseded", packets.dropped_ack_superseded),
        ],
        held: packets.held,
    }
}

fn medium_use(scenario: &Scenario, last: &Snapshot, length: Span) -> MediumUse {
    let part = |span: Span| share(span.as_secs_f64(), length.as_secs_f64());
    let stations = topology::stations(scenario).into_iter().zip(&last.station_airtime);
    let stations = stations.map(|(host, airtime)| (scenario.hosts[host].name.clone(), airtime));
    let senders = [("ap".to_owned(), &last.access_point_airtime)].into_iter().chain(stations);
    MediumUse {
        busy_share: part(last.medium.busy),
        contending_share: part(last.medium.contending),
        idle_share: part(last.medium.idle),
        transmissions: last.medium.transmissions,
        collisions: last.medium.collisions,
        airtime: senders.map(|(sender, airtime)| AirtimeShare { sender, share: part(airtime.0) }).collect(),
    }
}

fn losses(scenario: &Scenario, last: &Snapshot) -> Vec<LossCount> {
    let stations = topology::stations(scenario);
    let air = last.air_losses.iter().map(|(&(place, reason), &frames)| LossCount {
        place: match place {
            air::Place::AccessPoint => "ap".to_owned(),
            air::Place::Station(station) => scenario.hosts[stations[station]].name.clone(),
        },
        reason: match reason {
            air::Reason::Medium(DropReason::BufferFull) => "buffer full",
            air::Reason::Medium(DropReason::RetryLimit) => "retry limit",
            air::Reason::Medium(DropReason::Left) => "station left",
            air::Reason::Medium(DropReason::BroadcastCollision) => "broadcast collided",
            air::Reason::NotAssociated => "not associated",
            air::Reason::Malformed => "malformed",
        }
        .to_owned(),
        frames,
    });
    let wired = last.wire_losses.iter().map(|(port, &frames)| LossCount {
        place: match *port {
            wire::Port::Box => "lan to the box".to_owned(),
            wire::Port::RouterLan => "lan to the router".to_owned(),
            wire::Port::RouterWan => "internet link".to_owned(),
            wire::Port::LanHost(host) | wire::Port::WanHost(host) => format!("lan to {}", scenario.hosts[host].name),
        },
        reason: "buffer full".to_owned(),
        frames,
    });
    let devices =
        LossCount { place: "devices".to_owned(), reason: "refused".to_owned(), frames: last.refused_by_device };
    air.chain(wired).chain([devices]).filter(|loss| loss.frames > 0).collect()
}

fn echoes(scenario: &Scenario, collected: &Collected) -> Vec<EchoResult> {
    let millis = |span: Span| span.as_secs_f64() * 1e3;
    let with_echoes = scenario.apps.iter().zip(&collected.samples).filter(|(_, samples)| samples.echoes.count() > 0);
    with_echoes
        .map(|(app, samples)| EchoResult {
            app: app.name.clone(),
            answers: samples.echoes.count(),
            p50_ms: millis(samples.echoes.quantile(500)),
            p99_ms: millis(samples.echoes.quantile(990)),
            max_ms: millis(samples.echoes.max()),
        })
        .collect()
}

fn mbps(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds / 1e6 } else { 0.0 }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn micros(span: Span) -> f64 {
    span.as_secs_f64() * 1e6
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Jain's index: 1 where all are equal, 1/n where one has everything (Jain, Chiu, Hawe, DEC-TR-301, 1984).
fn jain(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let squares: f64 = values.clone().map(|x| x * x).sum();
    let n = values.clone().count() as f64;
    let sum: f64 = values.sum();
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_one_for_equals_and_one_nth_for_a_monopoly() {
        assert_eq!(jain([2.0; 5].into_iter()), Some(1.0));
        assert_eq!(jain([7.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
        assert_eq!(jain([0.0; 3].into_iter()), None);
    }

    #[test]
    fn phases_cover_whole_intervals_that_were_run() {
        let second = Span::from_secs(1);
        let phase =
            |from_ms, to_ms| Phase { name: "p".into(), from: Span::from_millis(from_ms), to: Span::from_millis(to_ms) };
        assert_eq!(intervals_of(&phase(1000, 4000), second, 10), 1..4);
        assert_eq!(intervals_of(&phase(1400, 3600), second, 10), 1..4);
        assert_eq!(intervals_of(&phase(1000, 4000), second, 2), 1..2);
        assert_eq!(intervals_of(&phase(5000, 9000), second, 2), 2..2);
    }
}
