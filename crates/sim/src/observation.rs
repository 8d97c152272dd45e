//! The state of a run at an instant.

use std::collections::HashMap;

use evenair_api::Mode;
use evenair_manager::Report;
use evenair_scenario::App as AppSpec;
use evenair_units::Instant;
use evenair_workload::Direction;
use serde::Serialize;

use crate::apps::App;
use crate::middlebox::station_of;
use crate::world::World;

/// What a run looks like now. Nothing in it changes by looking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observation {
    /// Time since the start of the run.
    pub at_s: f64,
    /// What the box does with the traffic; without a box, the bridge carries it.
    pub mode: Mode,
    /// The box's service rate C while it manages.
    pub service_rate_mbps: Option<f64>,
    /// Packets in the box's queues.
    pub held_packets: u64,
    /// Packets in the access points' queues and MACs: their backlog.
    pub ap_queue_packets: u64,
    /// Every station, in the scenario's order.
    pub stations: Vec<StationState>,
    /// Every application, in the scenario's order.
    pub flows: Vec<FlowState>,
}

/// A station now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StationState {
    /// Its name.
    pub station: String,
    /// Name of its access point; absent while it is not associated.
    pub access_point: Option<String>,
    /// PHY rate toward it, as the senders' rate control has it now; absent while it is not associated.
    pub rate_mbps: Option<f64>,
    /// Its packets in the box's queues, in both directions.
    pub held_packets: u64,
    /// Its packets at the access point, in its own MAC and on the air, in both directions.
    pub in_flight_packets: u64,
    /// IP-level bytes from it that have been delivered over the air since the start.
    pub delivered_up_bytes: u64,
    /// IP-level bytes to it that have been delivered over the air since the start.
    pub delivered_down_bytes: u64,
}

/// An application now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowState {
    /// Its name.
    pub app: String,
    /// Name of its station.
    pub station: String,
    /// Which way the data flow.
    pub direction: Direction,
    /// Bytes of data that its receiver has got since the start.
    pub delivered_bytes: u64,
    /// Smoothed round-trip time of the TCP sender of a bulk transfer; absent where it has none, or none yet.
    pub rtt_ms: Option<f64>,
    /// Its congestion window, in full segments.
    pub cwnd_segments: Option<f64>,
}

impl Observation {
    pub(crate) fn of(world: &World) -> Self {
        let report = world.middlebox.as_ref().map(|middlebox| middlebox.report(world.now));
        let mode = report.as_ref().map_or(Mode::Bypassed, |report| evenair_view::mode(report.mode));
        let managing = report.as_ref().filter(|_| mode != Mode::Bypassed);
        Self {
            at_s: world.now.saturating_since(Instant::ZERO).as_secs_f64(),
            mode,
            service_rate_mbps: managing.map(|report| report.service_rate.as_mbps_f64()),
            held_packets: report.as_ref().map_or(0, |report| report.counters.held),
            ap_queue_packets: world.domains.queued() as u64,
            stations: stations(world, report.as_ref()),
            flows: flows(world),
        }
    }
}

fn stations(world: &World, report: Option<&Report>) -> Vec<StationState> {
    let scenario = &*world.scenario;
    let mut held = HashMap::<usize, u64>::new();
    for queue in report.iter().flat_map(|report| &report.queues) {
        if let Some(host) = queue.station.and_then(station_of) {
            *held.entry(host).or_default() += u64::from(queue.packets);
        }
    }
    let mut delivered = vec![(0, 0); world.domains.first.hosts().count()];
    for (number, way) in world.ways.iter().enumerate() {
        let moved = world.meter.moved(number);
        let of_station = &mut delivered[way.station as usize];
        of_station.0 += moved.up_bytes;
        of_station.1 += moved.ip_bytes - moved.up_bytes;
    }
    let state = |((number, host), (up, down))| {
        let held_packets = held.get(&host).copied().unwrap_or_default();
        let rate = world.domains.of(number).rate(number);
        let access_point = &scenario.access_points[world.domains.access_point_of(number)].name;
        StationState {
            station: scenario.hosts[host].name.clone(),
            access_point: rate.map(|_| access_point.clone()),
            rate_mbps: rate.map(|rate| rate.bit_rate().as_mbps_f64()),
            held_packets,
            in_flight_packets: world.backlogged.packets_of(number).saturating_sub(held_packets),
            delivered_up_bytes: up,
            delivered_down_bytes: down,
        }
    };
    world.domains.first.hosts().enumerate().zip(delivered).map(state).collect()
}

fn flows(world: &World) -> Vec<FlowState> {
    let apps = world.scenario.apps.iter().zip(&world.apps).enumerate();
    let state = |(number, (spec, app)): (usize, (&AppSpec, &App))| {
        let sender = app.sample(&world.connections);
        FlowState {
            app: spec.name.clone(),
            station: world.scenario.hosts[spec.station].name.clone(),
            direction: spec.direction,
            delivered_bytes: world.meter.moved(number).received_bytes,
            rtt_ms: sender.and_then(|sender| Some(sender.rtt?.as_secs_f64() * 1e3)),
            cwnd_segments: sender.map(|sender| sender.cwnd_segments),
        }
    };
    apps.map(state).collect()
}
