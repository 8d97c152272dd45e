//! Converts the collected data to results.

use evenair_api::{Mode, Status};
use evenair_medium::Totals;
use evenair_results::histogram::Times;
use evenair_results::stats::share;
use evenair_results::{
    AirtimeShare, BoxCounters, CallResult, CountedAirtime, DropCount, EchoResult, FlowProgress, FlowSeries, Lateness,
    LossCount, MediumAirtime, MediumUse, PhaseResult, Progress, RunResult, Series,
};
use evenair_scenario::{App, Scenario};
use evenair_units::Span;

use crate::collect::{Collected, Interval};
use crate::lateness::Record;
use crate::middlebox::managing_rate_mbps;
use crate::radio::Snapshot;
use crate::reported_senders as senders;
use crate::{air, airtime, domains, topology, wire};

/// Faults of a run other than its lateness, as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Faults of the run itself, which must be repeated.
    pub run: Vec<String>,
    /// Faults of the box.
    pub middlebox: Vec<String>,
}

/// The report of a run.
pub fn report(scenario: &Scenario, collected: &Collected, length: Span, faults: Faults) -> RunResult {
    let last = collected.last.as_ref();
    let mut invalid_because = last.map_or_else(Vec::new, |last| last.lateness.faults(length));
    invalid_because.extend(faults.run);
    let series = series(scenario, collected);
    let phases = scenario.measure.phases.iter();
    let periods = senders::periods(scenario, collected);
    let phases: Vec<_> = phases.map(|phase| PhaseResult::average(scenario, &series, &periods, phase)).collect();
    RunResult {
        scenario: scenario.name.clone(),
        title: scenario.title.clone(),
        seed: scenario.seed,
        engine: "testbed".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        valid: invalid_because.is_empty() && faults.middlebox.is_empty(),
        invalid_because,
        box_faults: faults.middlebox,
        duration_s: length.as_secs_f64(),
        series,
        lateness: last.map(|last| lateness(&last.lateness, length)),
        box_counters: collected.last_status.as_ref().map(box_counters),
        box_hops: collected.last_status.as_ref().map_or_else(Vec::new, |status| status.hops.clone()),
        events: collected.events.clone(),
        medium: last.map(|last| medium_use(scenario, last, &airtime::of_run(scenario, collected, length), length)),
        losses: last.map_or_else(Vec::new, |last| losses(scenario, last)),
        pages: collected.pages.clone(),
        page_times: Vec::new(),
        transfers: collected.transfers.clone().finish(scenario, &phases),
        phases,
        calls: calls(scenario, collected),
        echoes: echoes(scenario, collected),
        published: scenario.published.clone(),
        left_out: scenario.left_out.clone(),
    }
}

/// State of the run after its last interval.
pub fn progress(scenario: &Scenario, collected: &Collected, faults: &Faults) -> Progress {
    let seconds = scenario.measure.interval.as_secs_f64();
    let number = collected.intervals.len();
    let blank = Interval::default();
    let interval = collected.intervals.last().unwrap_or(&blank);
    let tcp = |app: usize| collected.samples.get(app)?.tcp.get(number.checked_sub(1)?).copied().flatten();
    let flows: Vec<_> = scenario
        .apps
        .iter()
        .zip(&interval.apps)
        .enumerate()
        .map(|(index, (app, count))| FlowProgress {
            app: app.name.clone(),
            direction: app.direction,
            ip_mbps: mbps(count.ip_bytes, seconds),
            rtt_ms: tcp(index).map(|tcp| f64::from(tcp.srtt_us) / 1e3),
        })
        .collect();
    let at = scenario.measure.interval * number as u64;
    let last = collected.last.as_ref();
    let late = last.iter().flat_map(|last| last.lateness.faults(at));
    Progress {
        at_s: at.as_secs_f64(),
        mode: collected.last_status.as_ref().map_or(Mode::Bypassed, |status| status.mode),
        total_ip_mbps: flows.iter().map(|flow| flow.ip_mbps).sum(),
        flows,
        ap_queue_packets: last.map_or(0, |last| last.queue.packets as u64),
        service_rate_mbps: collected.last_status.as_ref().and_then(managing_rate_mbps),
        lateness_p99_us: last.map(|last| micros(last.lateness.lateness.quantile(990))),
        invalid_because: late.chain(faults.run.iter().chain(&faults.middlebox).cloned()).collect(),
    }
}

fn series(scenario: &Scenario, collected: &Collected) -> Series {
    let interval_s = scenario.measure.interval.as_secs_f64();
    let numbers = 0..collected.intervals.len();
    let flow = |(index, app): (usize, &App)| {
        let counts = || collected.intervals.iter().map(move |interval| &interval.apps[index]);
        let tcp = |k: usize| collected.samples[index].tcp.get(k).copied().flatten();
        FlowSeries {
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
            ..FlowSeries::new(scenario, app)
        }
    };
    Series {
        interval_s,
        flows: scenario.apps.iter().enumerate().map(flow).collect(),
        ap_queue_packets: collected.intervals.iter().map(|interval| interval.queue_mean_packets).collect(),
        service_rate_mbps: collected.intervals.iter().map(service_rate).collect(),
        access_points: domains::access_points(scenario, collected),
        domains: domains::domains(scenario, collected),
        nodes: senders::nodes(scenario, collected),
        medium: Some(domains::medium(scenario, collected)),
        ..Series::default()
    }
}

fn service_rate(interval: &Interval) -> Option<f64> {
    interval.middlebox.as_ref().and_then(managing_rate_mbps)
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
        bounds_exceeded: record.faults(length).len() as u32,
    }
}

fn box_counters(status: &Status) -> BoxCounters {
    let packets = &status.packets;
    BoxCounters {
        received: packets.received,
        released: packets.released,
        dropped: DropCount::each(&packets.drops),
        probe_answers: packets.probe_answers,
        held: packets.held,
        losses: packets.losses,
    }
}

fn medium_use(scenario: &Scenario, last: &Snapshot, counted: &CountedAirtime, length: Span) -> MediumUse {
    let part = |span: Span| share(span.as_secs_f64(), length.as_secs_f64());
    let stations = topology::stations(scenario).into_iter().zip(&last.station_airtime);
    let stations = stations.map(|(host, airtime)| (scenario.hosts[host].name.clone(), airtime));
    let points = scenario.access_points.iter().map(|point| point.name.clone()).zip(&last.access_point_airtime);
    // Mean over several media.
    let mean =
        |of: fn(&Totals) -> Span| last.media.iter().map(|media| part(of(media))).sum::<f64>() / last.media.len() as f64;
    MediumUse {
        busy_share: mean(|medium| medium.busy),
        contending_share: mean(|medium| medium.contending),
        idle_share: mean(|medium| medium.idle),
        transmissions: last.media.iter().map(|medium| medium.transmissions).sum(),
        collisions: last.media.iter().map(|medium| medium.collisions).sum(),
        management_share: mean(|medium| medium.overhead.management.0),
        group_share: mean(|medium| medium.overhead.groups.0),
        foreign_share: mean(|medium| medium.overhead.obss.0),
        attempts: last.senders.attempts,
        repeated_failures: last.senders.repeated_failures,
        duplicates: last.senders.duplicates,
        slowed: last.senders.slowed,
        ap_attempts: last.access_point.attempts,
        ap_repeated_failures: last.access_point.repeated_failures,
        ap_slowed: last.access_point.slowed,
        airtime: points
            .chain(stations)
            .map(|(sender, airtime)| AirtimeShare { sender, share: part(airtime.0) })
            .collect(),
        measured_airtime: Some(MediumAirtime::of_run(scenario, counted)),
        charged_airtime: counted.charged(scenario),
    }
}

fn losses(scenario: &Scenario, last: &Snapshot) -> Vec<LossCount> {
    let stations = topology::stations(scenario);
    let air = last.air_losses.iter().map(|(&(place, reason), &frames)| LossCount {
        place: match place {
            air::Place::AccessPoint(point) => scenario.access_points[point].name.clone(),
            air::Place::Station(station) => scenario.hosts[stations[station]].name.clone(),
        },
        reason: match reason {
            air::Reason::Air(why) => senders::reason(why),
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
    let all = collected.samples.iter().map(|samples| Times::sum(&samples.echoes));
    let with_echoes = scenario.apps.iter().zip(all).filter(|(_, echoes)| echoes.count() > 0);
    with_echoes
        .map(|(app, echoes)| EchoResult {
            app: app.name.clone(),
            answers: echoes.count(),
            p50_ms: millis(echoes.quantile(500)),
            p99_ms: millis(echoes.quantile(990)),
            max_ms: millis(echoes.quantile(1000)),
        })
        .collect()
}

fn calls(scenario: &Scenario, collected: &Collected) -> Vec<CallResult> {
    let all = collected.calls.iter().flat_map(|(&app, heard)| heard.iter().map(move |heard| (app, heard)));
    all.map(|(app, (phase, heard))| {
        let phase = &scenario.measure.phases[*phase];
        CallResult::new(scenario, &scenario.apps[app], phase, heard.clone())
    })
    .collect()
}

fn mbps(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds / 1e6 } else { 0.0 }
}

fn micros(span: Span) -> f64 {
    span.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use evenair_api::causes::{Cause, DropReason, LossReason};

    use super::*;

    #[test]
    fn every_drop_cause_of_the_box_is_in_the_results() {
        for &reason in DropReason::ALL {
            let mut status = Status::default();
            status.packets.drops[reason] = 7;
            let dropped = box_counters(&status).dropped;
            let counted: Vec<_> = dropped.iter().filter(|count| count.packets > 0).collect();
            assert_eq!(counted, [&DropCount { reason: reason.word().to_owned(), packets: 7 }]);
        }
        for &reason in LossReason::ALL {
            let mut status = Status::default();
            status.packets.losses[reason] = 7;
            let counters = box_counters(&status);
            assert_eq!((counters.lost(), counters.losses[reason]), (7, 7));
            let written = serde_json::to_value(&counters).expect("serialises");
            assert_eq!(written[reason.key()], 7, "{written}");
        }
    }
}
