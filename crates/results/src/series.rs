//! Results of each interval.

use evenair_scenario::{App, Scenario};
use evenair_units::Span;
use evenair_workload::Direction;
use serde::{Deserialize, Serialize};

use super::{AccessPointSeries, DomainSeries, MediumSeries, NodeSeries, PlaceSeries};

/// Values per interval. Every vector has one value per interval; interval `k` ends at `(k + 1) * interval_s`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of an interval.
    pub interval_s: f64,
    /// One entry per application.
    pub flows: Vec<FlowSeries>,
    /// Time average of the access point's queue; of all access points', where there are several.
    pub ap_queue_packets: Vec<f64>,
    /// The box's service rate C; absent while it did not manage.
    pub service_rate_mbps: Vec<Option<f64>>,
    /// Senders on the medium: the access point first.
    #[serde(default)]
    pub nodes: Vec<NodeSeries>,
    /// Access points with their stations, where the scenario names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_points: Vec<AccessPointSeries>,
    /// Contention domains, by their numbers, where the scenario names its access points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<DomainSeries>,
    /// Wired ports and the box.
    #[serde(default)]
    pub places: Vec<PlaceSeries>,
    /// The medium; absent where the engine did not count it.
    #[serde(default)]
    pub medium: Option<MediumSeries>,
}

/// One application per interval. Vectors that an engine cannot fill stay empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSeries {
    /// Name of the application.
    pub app: String,
    /// Name of the station.
    pub station: String,
    /// Which way the data flow.
    pub direction: Direction,
    /// The class of the station, where it is in one.
    #[serde(default)]
    pub class: Option<String>,
    /// The station's PHY rate at the start of the run.
    pub rate_mbps: f64,
    /// DATA and ACKs over the WLAN hop.
    pub ip_mbps: Vec<f64>,
    /// Bytes that the application received.
    pub goodput_mbps: Vec<f64>,
    /// DATA packets over the WLAN hop.
    pub data_packets: Vec<u64>,
    /// Pure ACKs over the WLAN hop.
    pub ack_packets: Vec<u64>,
    /// Congestion window of the sender.
    pub cwnd_segments: Vec<Option<f64>>,
    /// Smoothed round-trip time of the sender.
    pub rtt_ms: Vec<Option<f64>>,
    /// Segments retransmitted in the interval.
    pub retransmits: Vec<u64>,
    /// Datagrams and echo requests sent.
    #[serde(default)]
    pub sent_packets: Vec<u64>,
    /// Datagrams arrived, and echoes that came back.
    #[serde(default)]
    pub received_packets: Vec<u64>,
}

impl FlowSeries {
    /// An application of the scenario, with all counters zero.
    pub fn new(scenario: &Scenario, app: &App) -> Self {
        Self {
            app: app.name.clone(),
            station: scenario.hosts[app.station].name.clone(),
            direction: app.direction,
            class: scenario.class_of(app.station),
            rate_mbps: scenario.rate_at(app.station, Span::ZERO).map_or(0.0, |rate| rate.bit_rate().as_mbps_f64()),
            ip_mbps: Vec::new(),
            goodput_mbps: Vec::new(),
            data_packets: Vec::new(),
            ack_packets: Vec::new(),
            cwnd_segments: Vec::new(),
            rtt_ms: Vec::new(),
            retransmits: Vec::new(),
            sent_packets: Vec::new(),
            received_packets: Vec::new(),
        }
    }
}
