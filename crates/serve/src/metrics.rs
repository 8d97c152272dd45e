//! Metrics for a monitoring system: `http://ADDRESS/metrics`, as OpenMetrics 1.0 for clients that ask for it, which Prometheus does, and
//! otherwise in the text format 0.0.4 of Prometheus, which `promtool check metrics` reads.
//!
//! Counters start with the box. Metrics that other exporters have too use the common names (`wifi_stations`,
//! `wifi_station_signal_dbm`), unless those have other units than the base units of Prometheus (bytes, seconds); the others begin with
//! `evenair_`. Separate threads serve the page
//! ([`crate::http`]), one request after the other: they request only raw numbers from the loop, like the control socket.
//!
//! The server listens on loopback addresses only, without passwords; for access from elsewhere use a TLS proxy.

mod health;
mod labels;
mod page;
mod stations;
mod totals;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use evenair_api::causes::{Cause, DropReason, LossReason};
use evenair_api::{GuardState, Hop, Mode, PacketStatus, ShardStatus, SourceStatus, SpeechStatus, Status};
use evenair_boxfile::MetricsConfig;
use evenair_live::Snapshot;
use evenair_live::control::{Answer, ControlRequest};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};

use crate::http::{Reply, Server, Site};
use crate::state::BoxState;
use labels::Labels;
use page::{Format, Kind, Page};
use stations::Shown;
use totals::Totals;

/// Time for the loop to return its state; a monitoring system waits as long.
const REPLY_TIME: Duration = Duration::from_secs(10);

/// Bytes per second of a megabit per second: Prometheus's base unit of data is the byte.
const MBPS: f64 = 125_000.0;

/// The content of `/metrics`.
struct Metrics {
    /// The port toward the access points.
    interface: String,
    labels: Labels,
    state: BoxState,
    totals: Mutex<Totals>,
}

/// Serves `/metrics` until dropped. `interface` is the port toward the access points.
///
/// # Errors
/// The address is in use, or not this machine's.
pub(crate) fn serve(config: MetricsConfig, interface: String, state: BoxState) -> Result<Server> {
    let MetricsConfig { listen, stations } = config;
    let labels = Labels::new(stations, &labels::key_file());
    let metrics = Metrics { interface, labels, state, totals: Mutex::default() };
    let server = Server::start(listen, "metrics", REPLY_TIME, metrics);
    server.with_context(|| format!("[metrics] listen = \"{listen}\""))
}

impl Metrics {
    /// The page of a state, whose counts are added to the totals.
    fn page(&self, snapshot: &Snapshot, format: Format) -> String {
        let latencies = totals::latencies(&snapshot.report);
        let status = Status { health: self.state.vitals.latest(), ..self.state.status(snapshot) };
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.update(&status, latencies);
        written(&status, &self.interface, &self.labels, &totals, format)
    }
}

impl Site for Metrics {
    fn admit(&self, request: &Parts) -> Result<(), Reply> {
        match (&request.method, request.uri.path()) {
            (&Method::GET | &Method::HEAD, "/metrics") => Ok(()),
            (&Method::GET | &Method::HEAD, _) => Err(Reply::text(StatusCode::NOT_FOUND, "there is /metrics alone")),
            _ => Err(Reply::text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD")),
        }
    }

    fn reply(&self, request: &Parts) -> Reply {
        let format = Format::wanted(request);
        let unavailable = |why| Reply::text(StatusCode::SERVICE_UNAVAILABLE, why);
        match self.state.control.ask(ControlRequest::Status) {
            Ok(Answer::Status(snapshot)) => Reply {
                status: StatusCode::OK,
                content_type: format.content_type(),
                body: self.page(&snapshot, format),
            },
            Ok(_) => unavailable("the box did not tell its state"),
            Err(error) => unavailable(error),
        }
    }
}

/// The text of the page. `interface`: the port toward the access points.
fn written(status: &Status, interface: &str, labels: &Labels, totals: &Totals, format: Format) -> String {
    let mut page = Page::default();
    page.single("evenair_uptime_seconds", Kind::Gauge, "Time since the box started.", status.uptime_s);
    page.family("evenair_mode", Kind::Gauge, "1 for the mode that the box is in.");
    for &mode in Mode::ALL {
        page.sample(&[("mode", mode.word())], status.mode == mode);
    }
    page.family("evenair_guard_state", Kind::Gauge, "1 for the state that the guard against harm is in.");
    for &state in GuardState::ALL {
        page.sample(&[("state", state.word())], status.guard.state == state);
    }
    let help = "How often the guard against harm has bypassed the box.";
    page.single("evenair_guard_bypasses_total", Kind::Counter, help, status.guard.bypasses);
    if let Some(next) = status.guard.next_try_s {
        let help = "Time until the guard against harm inserts the box again for a trial; absent unless it has bypassed the box.";
        page.single("evenair_guard_next_try_seconds", Kind::Gauge, help, next);
    }
    let (rate, capacity) = (status.service_rate_mbps * MBPS, status.capacity_mbps * MBPS);
    let help = "Service rate C: IP-level bytes of DATA and ACKs over the WLAN.";
    page.single("evenair_service_rate_bytes_per_second", Kind::Gauge, help, rate);
    let help = "Capacity C* of the active stations, by the formula.";
    page.single("evenair_capacity_bytes_per_second", Kind::Gauge, help, capacity);
    health::write(&mut page, status, labels);
    packets(&mut page, status);
    hops(&mut page, status);
    totals.write(&mut page);
    calls(&mut page, status, labels);
    receiver(&mut page, status);
    uplink_limit(&mut page, status);
    classes(&mut page, status);
    domains(&mut page, status);
    shards(&mut page, status);
    telemetry(&mut page, status);
    stations::write(&mut page, status, &Shown::of(status, interface, labels, totals));
    page.into_text(format)
}

fn packets(page: &mut Page, status: &Status) {
    let packets = &status.packets;
    page.family("evenair_packets_total", Kind::Counter, "Packets, by what became of them.");
    for (what, count) in [
        ("received", packets.received),
        ("released", packets.released),
        ("probe", packets.probes),
        ("probe_answer", packets.probe_answers),
        ("sent", packets.sent),
    ] {
        page.sample(&[("what", what)], count);
    }
    for (counter, count) in packets.counted.iter().filter(|(counter, _)| counter.is_of_packets()) {
        page.sample(&[("what", label(counter))], count);
    }
    for (counter, count) in packets.counted.iter().filter(|(counter, _)| !counter.is_of_packets()) {
        page.single(&format!("evenair_{}_total", counter.key()), Kind::Counter, counter.help(), count);
    }
    dropped(page, packets);
    let help = "Bytes at IP level handed to the manager, by whether it can read them.";
    page.family("evenair_bytes_total", Kind::Counter, help);
    page.sample(&[("what", "received")], packets.received_bytes);
    page.sample(&[("what", "unread")], packets.unread_bytes);
    page.family("evenair_kinds_total", Kind::Counter, "Packets received, by kind; some are of more than one.");
    for (kind, count) in status.kinds.named() {
        page.sample(&[("kind", kind)], count);
    }
    let help = "Copies of packets that the bridge carried, taken while bypassed or observing.";
    page.single("evenair_observed_packets_total", Kind::Counter, help, packets.copied);
    page.single("evenair_pool_frames", Kind::Gauge, "Frames of the packet memory in use.", status.pool.used);
    let help = "1 while the bridge can carry the traffic: it goes on if the box dies, hangs or is bypassed.";
    let available = u64::from(status.fail_open.available);
    page.single("evenair_fail_open_available", Kind::Gauge, help, available);
    let help = "How often the fail-open lease expired because the box was late.";
    page.single("evenair_hold_lapses_total", Kind::Counter, help, status.hold.lapses);
}

/// Drops and losses by cause, for every cause of [`DropReason`] and [`LossReason`], with explanations.
fn dropped(page: &mut Page, packets: &PacketStatus) {
    fn reasons<C: Cause>() -> String {
        C::ALL.iter().map(|&cause| format!(" {}: {}", label(cause), cause.help())).collect()
    }
    let help = format!(
        "Packets that did not come out of the box, by the reason. Dropped by the manager:{} Lost by the box:{}",
        reasons::<DropReason>(),
        reasons::<LossReason>()
    );
    page.family("evenair_dropped_packets_total", Kind::Counter, &help);
    packets.drops.iter().for_each(|(cause, count)| page.sample(&[("reason", label(cause))], count));
    packets.losses.iter().for_each(|(cause, count)| page.sample(&[("reason", label(cause))], count));
}

/// The label of a cause or counter: its key in JSON, without the common prefix of causes of drops.
fn label(cause: impl Cause) -> &'static str {
    let key = cause.key();
    key.strip_prefix("dropped_").unwrap_or(key)
}

fn uplink_limit(page: &mut Page, status: &Status) {
    let Some(limit) = &status.uplink_limit else { return };
    for (name, help, mbps) in [
        ("evenair_uplink_limit_bytes_per_second", "Limit on uploads, at IP level.", limit.limit_mbps),
        ("evenair_uplink_bytes_per_second", "What comes from the WLAN, at IP level.", limit.up_mbps),
        ("evenair_uplink_datagrams_bytes_per_second", "Of it, all but TCP.", limit.up_datagrams_mbps),
        ("evenair_downlink_bytes_per_second", "What comes from the wire toward the WLAN.", limit.down_mbps),
    ] {
        page.single(name, Kind::Gauge, help, mbps * MBPS);
    }
    let help = "Packets that the access points were found to have lost toward stations, reported or inferred.";
    page.single("evenair_access_point_losses_total", Kind::Counter, help, limit.lost_in_access_points);
}

/// A hop's label, without blanks.
const fn hop_label(hop: Hop) -> &'static str {
    match hop {
        Hop::Wlan => "wlan",
        Hop::InternetDown => "internet_down",
        Hop::InternetUp => "internet_up",
    }
}

fn hops(page: &mut Page, status: &Status) {
    let help = "How long packets waited in the box for the WLAN and for each direction of the Internet link.";
    page.family("evenair_wait_seconds", Kind::Summary, help);
    for hop in &status.hops {
        for (quantile, ms) in [("0.5", hop.p50_ms), ("0.95", hop.p95_ms), ("1", hop.max_ms)] {
            page.sample(&[("hop", hop_label(hop.hop)), ("quantile", quantile)], ms / 1e3);
        }
    }
    page.family("evenair_wait_seconds_sum", Kind::SummaryPart, "The sum of all these waits.");
    for hop in &status.hops {
        page.sample(&[("hop", hop_label(hop.hop))], hop.mean_ms * hop.packets as f64 / 1e3);
    }
    page.family("evenair_wait_seconds_count", Kind::SummaryPart, "The number of all these waits.");
    for hop in &status.hops {
        page.sample(&[("hop", hop_label(hop.hop))], hop.packets);
    }
    page.single("evenair_held_packets", Kind::Gauge, "Packets in the box's queues.", status.packets.held);
}

fn calls(page: &mut Page, status: &Status, labels: &Labels) {
    let refused = status.calls.iter().filter(|call| call.refused.is_some()).count();
    page.family("evenair_calls", Kind::Gauge, "Calls that go on, by whether they go first.");
    page.sample(&[("state", "admitted")], status.calls.len() - refused);
    page.sample(&[("state", "refused")], refused);
    let mut of_each = |name: &str, help: &str, value: fn(&SpeechStatus) -> Option<f64>| {
        page.family(name, Kind::Gauge, help);
        for call in &status.calls {
            for (direction, speech) in [("down", &call.down), ("up", &call.up)] {
                if let (Some(value), Some(mac), Some(peer)) =
                    (value(speech), labels.of(&call.station), labels.of(&call.peer))
                {
                    page.sample(&[("mac", &*mac), ("peer", &*peer), ("direction", direction)], value);
                }
            }
        }
    };
    let help = "Rating factor R (ITU-T G.107) of a call, for what the box can tell.";
    of_each("evenair_call_r_factor", help, |speech| speech.r_factor);
    of_each("evenair_call_mos", "The mean opinion score for this R.", |speech| speech.mos);
    let help = "Part of a call's packets that was lost before the box or in it.";
    of_each("evenair_call_loss_ratio", help, |speech| Some(speech.loss_percent / 100.0));
    let help = "Interarrival jitter of a call (RFC 3550), where its packets are of RTP.";
    of_each("evenair_call_jitter_seconds", help, |speech| speech.jitter_ms.map(|ms| ms / 1e3));
    let help = "How long a call's packets waited in the box, mean.";
    of_each("evenair_call_wait_seconds", help, |speech| Some(speech.waited_mean_ms / 1e3));
    let help = "How long a call's packets wait in the access point, mean, by what stands there.";
    of_each("evenair_call_wlan_wait_seconds", help, |speech| speech.wlan_mean_ms.map(|ms| ms / 1e3));
}

fn receiver(page: &mut Page, status: &Status) {
    let Some(receiver) = &status.receiver else { return };
    let help = "TCP flows in use whose advertised windows are lowered.";
    page.single("evenair_receiver_clamped_flows", Kind::Gauge, help, receiver.clamped_flows);
    if let Some(bytes) = receiver.window_bytes {
        page.single("evenair_receiver_window_bytes", Kind::Gauge, "Largest window that may be advertised.", bytes);
    }
    if let Some(ms) = receiver.delay_ms {
        page.single("evenair_receiver_delay_seconds", Kind::Gauge, "For how long ACKs are held.", ms / 1e3);
    }
    page.single("evenair_receiver_held_packets", Kind::Gauge, "ACKs held, and what waits behind them.", receiver.held);
    if let Some(ms) = receiver.ap_queueing_ms {
        let help = "How long packets were seen to wait in the access point.";
        page.single("evenair_receiver_ap_queueing_seconds", Kind::Gauge, help, ms / 1e3);
    }
}

fn classes(page: &mut Page, status: &Status) {
    if status.classes.is_empty() {
        return;
    }
    let mut of_each = |name: &str, kind: Kind, help: &str, value: fn(&evenair_api::ClassStatus) -> f64| {
        page.family(name, kind, help);
        for class in &status.classes {
            let parent = class.parent.as_deref().unwrap_or_default();
            page.sample(&[("class", &class.name), ("parent", parent)], value(class));
        }
    };
    let help = "Medium time that the class and those in it are charged: an estimate.";
    of_each("evenair_class_charged_airtime_seconds_total", Kind::Counter, help, |class| class.charged_airtime_s);
    let help = "IP-level bytes released toward stations.";
    of_each("evenair_class_transmit_bytes_total", Kind::Counter, help, |class| class.released_bytes as f64);
    let help = "IP-level bytes that came from stations.";
    of_each("evenair_class_receive_bytes_total", Kind::Counter, help, |class| class.from_wlan_bytes as f64);
    let help = "Packets dropped.";
    of_each("evenair_class_dropped_packets_total", Kind::Counter, help, |class| class.dropped as f64);
    of_each("evenair_class_held_packets", Kind::Gauge, "Packets held.", |class| f64::from(class.held));
    let help = "1 for a class that has had what its ceiling allows.";
    of_each("evenair_class_at_ceiling", Kind::Gauge, help, |class| f64::from(u8::from(class.at_ceiling)));
}

fn domains(page: &mut Page, status: &Status) {
    let mut of_each = |name: &str, kind: Kind, help: &str, value: fn(&evenair_api::DomainStatus) -> f64| {
        page.family(name, kind, help);
        for domain in &status.domains {
            page.sample(&[("domain", &domain.name)], value(domain));
        }
    };
    let help = "Service rate C of one medium.";
    of_each("evenair_domain_service_rate_bytes_per_second", Kind::Gauge, help, |domain| {
        domain.service_rate_mbps * MBPS
    });
    let help = "Capacity C* of the active stations of one medium, by the formula.";
    of_each("evenair_domain_capacity_bytes_per_second", Kind::Gauge, help, |domain| domain.capacity_mbps * MBPS);
    let help = "IP-level bytes of flows seen to cross one medium.";
    of_each("evenair_domain_throughput_bytes_per_second", Kind::Gauge, help, |domain| domain.throughput_mbps * MBPS);
    of_each("evenair_domain_held_packets", Kind::Gauge, "Packets that wait for one medium.", |domain| {
        domain.held as f64
    });
    of_each("evenair_domain_stations", Kind::Gauge, "Stations known on one medium.", |domain| domain.stations as f64);
    let help = "1 for a medium that was learned, and is not in the configuration.";
    of_each("evenair_domain_learned", Kind::Gauge, help, |domain| f64::from(u8::from(domain.learned)));
    let help = "Stations that came to one medium from another.";
    of_each("evenair_domain_roamed_total", Kind::Counter, help, |domain| domain.roamed as f64);
    let mut of_some = |name: &str, help: &str, value: fn(&evenair_api::DomainStatus) -> Option<f64>| {
        let values: Vec<_> = status.domains.iter().filter_map(|domain| Some((&domain.name, value(domain)?))).collect();
        if !values.is_empty() {
            page.family(name, Kind::Gauge, help);
            values.into_iter().for_each(|(domain, value)| page.sample(&[("domain", domain)], value));
        }
    };
    let help = "The upload limit of one contention domain.";
    of_some("evenair_domain_uplink_limit_bytes_per_second", help, |domain| Some(domain.uplink?.limit_mbps * MBPS));
    let help = "How long packets were seen to wait in the access points of one medium.";
    of_some("evenair_domain_ap_queueing_seconds", help, |domain| Some(domain.receiver?.ap_queueing_ms? / 1e3));
    let help = "What the path between the box and the stations of one medium delays, beyond its backlog.";
    of_some("evenair_domain_lag_seconds", help, |domain| Some(domain.path.as_ref()?.lag_ms / 1e3));
    let help = "Estimated backlog of the access points of one medium, as time that it takes.";
    of_some("evenair_domain_backlog_seconds", help, |domain| Some(domain.path.as_ref()?.backlog_ms / 1e3));
    let help = "The part of released airtime of which the traffic shows no completion.";
    of_some("evenair_domain_unacknowledged_ratio", help, |domain| domain.path.as_ref()?.unacknowledged);
}

fn shards(page: &mut Page, status: &Status) {
    if status.shards.is_empty() {
        return;
    }
    let mut of_each = |name: &str, kind: Kind, help: &str, value: fn(&ShardStatus) -> f64| {
        page.family(name, kind, help);
        for (number, shard) in status.shards.iter().enumerate() {
            page.sample(&[("shard", &number.to_string())], value(shard));
        }
    };
    of_each("evenair_shard_cpu_seconds_total", Kind::Counter, "CPU time of a packet loop.", |shard| shard.cpu_s);
    let help = "Packets that a packet loop has received.";
    of_each("evenair_shard_received_packets_total", Kind::Counter, help, |shard| shard.received as f64);
    let help = "Packets that a packet loop has sent.";
    of_each("evenair_shard_sent_packets_total", Kind::Counter, help, |shard| shard.sent as f64);
    let help = "Packets that a packet loop has lost or dropped.";
    of_each("evenair_shard_lost_packets_total", Kind::Counter, help, |shard| shard.lost as f64);
    of_each("evenair_shard_held_packets", Kind::Gauge, "Packets in its queues.", |shard| shard.held as f64);
    let help = "How often its fail-open lease expired because it was late.";
    of_each("evenair_shard_hold_lapses_total", Kind::Counter, help, |shard| shard.lapses as f64);
}

fn telemetry(page: &mut Page, status: &Status) {
    if status.telemetry.is_empty() {
        return;
    }
    let mut of_each = |name: &str, kind: Kind, help: &str, value: fn(&SourceStatus) -> Option<f64>| {
        page.family(name, kind, help);
        for source in &status.telemetry {
            if let Some(value) = value(source) {
                page.sample(&[("source", &source.name)], value);
            }
        }
    };
    let help = "1 for a source of telemetry whose last answer was right.";
    of_each("evenair_telemetry_up", Kind::Gauge, help, |source| {
        Some(f64::from(u8::from(source.error.is_none() && source.age_s.is_some())))
    });
    let help = "Time since a source of telemetry last answered.";
    of_each("evenair_telemetry_age_seconds", Kind::Gauge, help, |source| source.age_s);
    let help = "Stations that a source of telemetry last reported.";
    of_each("evenair_telemetry_stations", Kind::Gauge, help, |source| Some(source.stations as f64));
    let help = "How often a source of telemetry was asked.";
    of_each("evenair_telemetry_polls_total", Kind::Counter, help, |source| Some(source.polls as f64));
    let help = "How often a source of telemetry did not answer as it should.";
    of_each("evenair_telemetry_failures_total", Kind::Counter, help, |source| Some(source.failures as f64));
    let help = "Telemetry reports about stations, by outcome.";
    page.family("evenair_telemetry_reports_total", Kind::Counter, help);
    let reports = &status.rate_reports;
    for (outcome, count) in [
        ("taken", reports.taken),
        ("absurd", reports.absurd),
        ("refused_mode", reports.refused_modes),
        ("untimely", reports.untimely),
        ("unknown", reports.unknown),
        ("contradicted", reports.contradicted),
    ] {
        page.sample(&[("outcome", outcome)], count);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpStream;
    use std::process::{Command, Stdio};
    use std::thread;

    use evenair_api::health::{Code, HealthStatus, Reason, Subject, SubjectKind};
    use evenair_api::{CallStatus, HopResult, RateSource, StationReportStatus, StationStatus};
    use evenair_boxfile::StationLabels;

    use super::*;
    use crate::http::tests_support::{get, survives};
    use crate::tests_support::{self, snapshot, status};

    /// The Accept header of Prometheus 2.42.
    const PROMETHEUS_ACCEPTS: &str = "\r\nAccept: application/openmetrics-text;version=1.0.0;q=0.75,\
        application/openmetrics-text;version=0.0.1;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.4";

    /// The page of a status, with MAC addresses and names of stations, at the first reading.
    fn render(status: &Status, interface: &str, format: Format) -> String {
        let mut totals = Totals::default();
        totals.update(status, totals::ByStation::new());
        written(status, interface, &Labels::Names, &totals, format)
    }

    /// Whether a line is a sample: a name, labels, a number.
    fn is_sample(line: &str) -> bool {
        let Some((name, value)) = line.rsplit_once(' ') else { return false };
        let bare = name.split('{').next().unwrap_or_default();
        let named = bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !bare.is_empty();
        let labelled = !name.contains('{') || name.ends_with("\"}");
        named && labelled && value.parse::<f64>().is_ok()
    }

    #[test]
    fn a_bypass_by_the_guard_is_distinguished_from_another() {
        let mut status = status();
        let samples = |status: &Status| -> Vec<String> {
            let page = render(status, "eth1", Format::OpenMetrics);
            page.lines().filter(|line| line.starts_with("evenair_guard_")).map(str::to_owned).collect()
        };
        let watching = samples(&status);
        assert!(watching[0].contains("watching") && watching[0].ends_with(" 1"), "{watching:?}");
        (status.guard.state, status.guard.bypasses) = (GuardState::Bypassed, 2);
        status.guard.next_try_s = Some(48.5);
        let bypassed = samples(&status);
        assert!(bypassed[3].contains("bypassed") && bypassed[3].ends_with(" 1"), "{bypassed:?}");
        assert!(bypassed[0].ends_with(" 0") && bypassed[4].ends_with("total 2"), "{bypassed:?}");
        assert!(bypassed[5].ends_with("next_try_seconds 48.5") && watching.len() == 5, "{bypassed:?} {watching:?}");
    }

    #[test]
    fn airtime_is_charged_by_direction_and_an_unreported_rate_has_no_sample() {
        let mut status = status();
        let station = &mut status.stations[0];
        (station.charged_airtime_down_s, station.charged_airtime_up_s) = (3.0, 1.5);
        (station.rate_mbps, station.rate_source, station.reported) = (Some(54.0), RateSource::Inferred, None);
        let page = render(&status, "eth1", Format::OpenMetrics);
        let samples = |name: &str| -> Vec<String> {
            page.lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect()
        };
        let airtime = samples("evenair_station_charged_airtime_seconds_total{");
        assert!(
            airtime[0].ends_with("direction=\"down\"} 3.0") && airtime[1].ends_with("direction=\"up\"} 1.5"),
            "{airtime:?}"
        );
        let rates = ["evenair_station_transmit_rate_bytes_per_second{", "evenair_station_rate_bytes_per_second{"];
        assert_eq!(rates.map(samples), [const { Vec::<String>::new() }; 2]);
        status.stations[0].rate_source = RateSource::Reported;
        assert_eq!(
            render(&status, "eth1", Format::OpenMetrics)
                .lines()
                .filter(|line| line.contains("_bytes_per_second{") && line.contains("} 6750000"))
                .count(),
            2
        );
    }

    /// A status of which every kind of metric has samples.
    fn rich() -> Status {
        let staff = evenair_api::ClassStatus { name: "staff".into(), held: 3, ..Default::default() };
        let reported = StationReportStatus {
            source: "snmp ap".into(),
            receive_mbps: Some(6.0),
            signal_dbm: Some(-61),
            ..StationReportStatus::default()
        };
        let source = SourceStatus { name: "snmp ap".into(), age_s: Some(2.0), ..SourceStatus::default() };
        let speech =
            |r_factor| SpeechStatus { r_factor: Some(r_factor), jitter_ms: Some(2.0), ..SpeechStatus::default() };
        let call = CallStatus {
            station: "02:00:00:00:00:01".into(),
            peer: "10.9.0.1".into(),
            down: speech(91.5),
            up: SpeechStatus::default(),
            ..CallStatus::default()
        };
        let mut status = Status { telemetry: vec![source], classes: vec![staff], calls: vec![call], ..status() };
        let about = |code, kind, id: &str| {
            let subject = Subject { kind, id: id.into(), ..Subject::default() };
            Reason { code, level: Code::level(code), subject, ..Reason::default() }
        };
        status.health = Some(HealthStatus::of(vec![
            about(Code::NoFailOpen, SubjectKind::Box, ""),
            about(Code::Starving, SubjectKind::Station, "02:00:00:00:00:01"),
        ]));
        status.stations[0].reported = Some(reported);
        status.stations[0].name = Some("phone".into());
        status.uplink_limit = Some(evenair_api::UplinkStatus::default());
        status.receiver = Some(evenair_api::ReceiverStatus::default());
        status.shards = vec![ShardStatus::default()];
        status
    }

    #[test]
    fn every_line_is_a_comment_or_a_sample_and_every_sample_has_a_type() {
        let page = render(&rich(), "eth1", Format::OpenMetrics);
        for line in page.lines() {
            let is_comment = line.starts_with("# HELP ") || line.starts_with("# TYPE ") || line == "# EOF";
            assert!(is_comment || is_sample(line), "{line:?}");
        }
        for line in page.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split(['{', ' ']).next().expect("a name");
            let is_counter = |name| page.contains(&format!("# TYPE {name} counter\n"));
            let is_histogram = |name| page.contains(&format!("# TYPE {name} histogram\n"));
            let parts = ["_bucket", "_sum", "_count"].iter().filter_map(|part| name.strip_suffix(part));
            let has_type = page.contains(&format!("# TYPE {name} "))
                || name.strip_suffix("_total").is_some_and(is_counter)
                || parts.into_iter().any(is_histogram);
            assert!(has_type, "{name} has no type");
        }
        let mut names: Vec<_> =
            page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "no two metrics have one name");
        assert!(page.ends_with("\n# EOF\n"));
        for part in [
            "evenair_mode{mode=\"bypassed\"} 1",
            "wifi_stations{ifname=\"eth1\"} 1",
            "evenair_packets_total{what=\"received\"} 90",
            "evenair_class_held_packets{class=\"staff\",parent=\"\"} 3",
            "evenair_telemetry_up{source=\"snmp ap\"} 1",
            "wifi_station_signal_dbm{ifname=\"eth1\",mac=\"02:00:00:00:00:01\",source=\"snmp ap\"} -61",
            "evenair_station_receive_rate_bytes_per_second{ifname=\"eth1\",mac=\"02:00:00:00:00:01\",source=\"snmp ap\"} 750000",
            "evenair_calls{state=\"admitted\"} 1",
            "evenair_call_r_factor{mac=\"02:00:00:00:00:01\",peer=\"10.9.0.1\",direction=\"down\"} 91.5",
            "evenair_call_jitter_seconds{mac=\"02:00:00:00:00:01\",peer=\"10.9.0.1\",direction=\"down\"} 0.002",
            "evenair_station_info{ifname=\"eth1\",mac=\"02:00:00:00:00:01\",name=\"phone\",address=\"\",random_mac=\"1\"} 1",
            "evenair_health_level{level=\"bad\"} 1",
            "evenair_health{code=\"no-fail-open\",level=\"bad\",kind=\"box\",subject=\"box\"} 1",
            "evenair_health{code=\"starving\",level=\"bad\",kind=\"station\",subject=\"02:00:00:00:00:01\"} 1",
            "evenair_stations_left_out 0",
            "evenair_access_point_transmit_bytes_total{access_point=\"unknown\"} 0",
            "evenair_station_over_share{ifname=\"eth1\",mac=\"02:00:00:00:00:01\"} 0",
            "evenair_station_packets_total{ifname=\"eth1\",mac=\"02:00:00:00:00:01\",what=\"dropped\"} 0",
        ] {
            assert!(page.contains(part), "{part} is missing in:\n{page}");
        }
    }

    #[test]
    fn stations_are_labelled_as_configured() {
        let of = |labels: &Labels| written(&rich(), "eth1", labels, &Totals::default(), Format::Prometheus);
        let shown = |page: &str| ["02:00:00:00:00:01", "phone", "10.9.0.1"].map(|part| page.contains(part));
        assert_eq!(shown(&of(&Labels::Names)), [true; 3]);
        assert_eq!(shown(&of(&Labels::Mac)), [true, false, true], "the peer of a call tells two calls apart");
        let hashed = Labels::Hashed([7; 16]);
        let page = of(&hashed);
        assert_eq!(shown(&page), [false; 3], "{page}");
        let hash = hashed.of("02:00:00:00:00:01").expect("a label");
        for name in ["evenair_station_transmit_bytes_total", "evenair_call_r_factor", "evenair_station_info"] {
            assert!(page.lines().any(|line| line.starts_with(name) && line.contains(&*hash)), "{name} in {page}");
        }
        let none = of(&Labels::None);
        assert_eq!(shown(&none), [false; 3], "{none}");
        assert!(!none.contains("mac=") && none.contains("evenair_stations_left_out 1\n"), "{none}");
        assert!(none.contains("code=\"starving\",level=\"bad\",kind=\"station\",subject=\"\"} 1"), "{none}");
        assert_eq!(lint(&none), [""; 0], "{none}");
    }

    #[test]
    fn of_very_many_stations_the_most_important_are_shown() {
        let mac = |k: usize| format!("02:00:00:00:{:02x}:{:02x}", k / 256, k % 256);
        let station = |k| StationStatus { mac: mac(k), charged_airtime_s: k as f64, ..StationStatus::default() };
        let mut status = Status { stations: (0..400).map(station).collect(), stations_known: 500, ..Status::default() };
        let mut totals = Totals::default();
        status.stations[1].to_station_bytes = 1;
        totals.update(&status, totals::ByStation::new());
        let subject = Subject { kind: SubjectKind::Station, id: mac(0), ..Subject::default() };
        status.health = Some(HealthStatus::of(vec![Reason { code: Code::Starving, subject, ..Reason::default() }]));
        let page = written(&status, "eth1", &Labels::Mac, &totals, Format::Prometheus);
        let shows = |k| page.contains(&format!("evenair_station_over_share{{ifname=\"eth1\",mac=\"{}\"}}", mac(k)));
        assert_eq!((0..400).filter(|&k| shows(k)).count(), 256);
        assert!([0, 1, 399, 146].into_iter().all(shows), "the harmed one, the active one and those with most airtime");
        assert!(!shows(145) && page.contains("evenair_stations_left_out 244\n"));
    }

    #[test]
    fn labels_of_causes_and_hops_have_no_blanks() {
        let mut status = rich();
        let hop = |hop| HopResult { hop, ..HopResult::default() };
        status.hops = Hop::ALL.iter().map(|&of| hop(of)).collect();
        let page = render(&status, "eth1", Format::Prometheus);
        for label in ["reason", "what", "hop", "state", "mode", "kind", "outcome", "code", "level"] {
            for text in page.split(&format!("{label}=\"")).skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(!text.contains(' '), "{label}=\"{text}\"");
            }
        }
        assert!(page.contains("hop=\"internet_down\"") && page.contains("reason=\"queue_full\""), "{page}");
    }

    /// Errors of a page in text format 0.0.4, by rules of `promtool check metrics` (Prometheus 2.42, promlint).
    fn lint(page: &str) -> Vec<String> {
        let mut problems = Vec::new();
        let (mut begun, mut kind) = ("", "");
        for line in page.lines() {
            if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
                begun = name;
                if help.is_empty() {
                    problems.push(format!("{name}: no help"));
                }
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                kind = rest.strip_prefix(begun).map_or("another's", str::trim_start);
                if begun.contains("bits_") || ["_milliseconds", "_percent"].iter().any(|unit| begun.contains(unit)) {
                    problems.push(format!("{begun}: no base unit"));
                }
                if (kind == "counter") != begun.ends_with("_total") {
                    problems.push(format!("{begun}: a {kind}"));
                }
            } else {
                let name = line.split(['{', ' ']).next().unwrap_or_default();
                let is_part = |parts: &[&str]| parts.iter().any(|part| name.strip_suffix(part) == Some(begun));
                let of_family = match kind {
                    "summary" => is_part(&["_sum", "_count"]),
                    "histogram" => is_part(&["_bucket", "_sum", "_count"]),
                    _ => false,
                };
                if name != begun && !of_family {
                    problems.push(format!("{name}: no help and no type"));
                }
            }
        }
        problems
    }

    #[test]
    fn the_text_format_follows_the_rules_of_prometheus() {
        let page = render(&rich(), "eth1", Format::Prometheus);
        assert_eq!(lint(&page), [""; 0], "{page}");
        for part in ["# TYPE evenair_wait_seconds summary", "# TYPE evenair_calls_refused_total counter"] {
            assert!(page.contains(part), "{part} is missing in:\n{page}");
        }
        // The linter works: in OpenMetrics the names of counters differ.
        assert!(lint(&render(&rich(), "eth1", Format::OpenMetrics)).len() > 20);
        // `promtool` itself, if it is installed: its package includes a server.
        assert_eq!(promtool(&page).unwrap_or_default(), "");
    }

    /// Output of `promtool check metrics` for a page; `None`: it is not installed.
    fn promtool(page: &str) -> Option<String> {
        let mut command = Command::new("promtool");
        command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().ok()?;
        // Dropped, so that it ends.
        running.stdin.take().expect("piped").write_all(page.as_bytes()).expect("it reads");
        let said = running.wait_with_output().expect("it ends");
        Some(String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned())
    }

    #[test]
    fn every_cause_has_a_sample_and_is_explained() {
        fn check<C: Cause>(count: impl Fn(&mut PacketStatus, C)) {
            for &cause in C::ALL {
                let mut status = Status::default();
                count(&mut status.packets, cause);
                let page = render(&status, "eth1", Format::OpenMetrics);
                let samples: Vec<_> =
                    page.lines().filter(|line| line.starts_with("evenair_dropped_packets_total{")).collect();
                let own = format!("evenair_dropped_packets_total{{reason=\"{}\"}} 7", label(cause));
                assert!(samples.contains(&own.as_str()), "{own} is missing in {samples:?}");
                assert_eq!(samples.iter().filter(|line| line.ends_with(" 7")).count(), 1, "{samples:?}");
                let help = page.lines().find(|line| line.starts_with("# HELP evenair_dropped_packets ")).expect("help");
                assert!(help.contains(&format!("{}: {}", label(cause), cause.help())), "{help}");
            }
        }
        check(|packets, cause: DropReason| packets.drops[cause] = 7);
        check(|packets, cause: LossReason| packets.losses[cause] = 7);
    }

    #[test]
    fn only_the_metrics_are_served_whatever_clients_send() {
        let (control, inbox) = tests_support::control();
        let answering = thread::spawn(move || {
            while let Ok(asked) = inbox.recv() {
                let _ = asked.reply.send(Answer::Status(Box::new(snapshot())));
            }
        });
        let listen = "127.0.0.1:0".parse().expect("an address");
        let config = MetricsConfig { listen, stations: StationLabels::default() };
        let server = serve(config, "eth1".into(), tests_support::state(control)).expect("free");
        let address = server.address();
        let served = || {
            for (header, format) in [
                ("", Format::Prometheus),
                ("\r\nAccept: text/plain;version=0.0.4;q=0.5,*/*;q=0.1", Format::Prometheus),
                (PROMETHEUS_ACCEPTS, Format::OpenMetrics),
            ] {
                let page = get(address, &format!("GET /metrics HTTP/1.1{header}"));
                assert!(page.starts_with("HTTP/1.1 200") && page.contains(format.content_type()), "{page}");
                assert!(page.contains("evenair_packets_total{what=\"released\"} 90"), "{page}");
                assert_eq!(page.ends_with("# EOF\n"), format == Format::OpenMetrics, "{page}");
            }
        };
        served();
        assert!(get(address, "GET / HTTP/1.1").starts_with("HTTP/1.1 404"));
        assert!(get(address, "POST /metrics HTTP/1.1").starts_with("HTTP/1.1 405"));
        survives(address, "/metrics", "", served);
        drop(server);
        assert!(TcpStream::connect(address).is_err(), "it is closed with the box");
        answering.join().expect("it ends with the control handle");
    }

    #[test]
    fn a_box_that_ends_is_reported_as_such() {
        let (control, inbox) = tests_support::control();
        drop(inbox);
        let (labels, state) = (Labels::Names, tests_support::state(control));
        let site = Metrics { interface: "eth1".into(), labels, state, totals: Mutex::default() };
        let (request, ()) = hyper::Request::new(()).into_parts();
        assert_eq!(site.reply(&request).status, StatusCode::SERVICE_UNAVAILABLE);
    }
}
