//! The results of every engine: one JSON document per run.
//!
//! Units are in the names of the fields. Rates named `ip_mbps` count IP-level bits of DATA and ACKs that crossed the WLAN hop;
//! `goodput_mbps` counts bytes that an application received. Numbers here are for people and scripts, so they are floats; no
//! engine computes with them.

pub mod air;
mod airtime;
mod applications;
mod average;
pub mod backlog;
mod calls;
mod curves;
mod domains;
pub mod estimate;
pub mod groups;
pub mod histogram;
mod measures;
mod packet;
mod pages;
pub mod paired;
pub mod period;
pub mod ppdus;
pub mod quantiles;
pub mod rates;
pub mod replicate;
#[cfg(test)]
pub(crate) mod sample;
mod series;
mod series_tables;
pub mod stats;
mod store;
pub mod summary;
mod table;
pub mod tables;
mod transfers;
pub mod warm_up;

pub use air::{
    AccessResult, CategoryResult, LossSeries, MediumResult, MediumSeries, NodeResult, NodeSeries, PlaceResult,
    PlaceSeries, RateUse, Scheme, UsedRate,
};
pub use airtime::{Charge, ChargedAirtime, CountedAirtime, CountedStation, MediumAirtime, StationAirtime};
pub use applications::{ApplicationKind, ApplicationResult, Quality};
pub use backlog::Backlog;
pub use calls::CallResult;
pub use curves::{Curve, Curves};
pub use domains::{AccessPointResult, AccessPointSeries, DomainResult, DomainSeries};
use evenair_api::causes::{Cause, Drops, Losses};
use evenair_api::{HopResult, Mode};
use evenair_scenario::Published;
use evenair_workload::Direction;
pub use groups::{Evenness, GroupResult};
pub use histogram::Distribution;
pub use measures::{Measure, measures, scalar, scalars};
pub use packet::{DELIVERED, PacketRecord};
pub use pages::{PageLoad, PageLog, PageSummary, PageTimes};
pub use ppdus::{PPDU_SIZES, PpduRate, PpduResult};
use serde::{Deserialize, Serialize};
pub use series::{FlowSeries, Series};
pub use series_tables::SeriesKind;
pub use store::{StoreError, write_whole};
pub use summary::{in_words, summary};
pub use table::{Column, Table, Values};
pub use transfers::{TransferCount, TransferEnd, TransferLog, TransferRecord, TransferSizes, Transfers};

/// As many transfers, web pages and notes are listed one by one, of each kind: files of some megabytes.
pub const LISTED: usize = 100_000;

/// Everything that one run has to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`evenair_scenario::Scenario::name`].
    pub scenario: String,
    /// [`evenair_scenario::Scenario::title`].
    pub title: String,
    /// Seed of the run.
    pub seed: u64,
    /// "testbed" or "sim".
    pub engine: String,
    /// Version of the program.
    pub version: String,
    /// Whether the numbers may be used at all: nothing is in `invalid_because` or `box_faults`.
    pub valid: bool,
    /// Why not, in words: the run itself went wrong, and says nothing about the box.
    pub invalid_because: Vec<String>,
    /// What the box did wrong, in words; to run again would not excuse it.
    pub box_faults: Vec<String>,
    /// Length of the run.
    pub duration_s: f64,
    /// Averages over the scenario's phases.
    pub phases: Vec<PhaseResult>,
    /// Values per interval.
    pub series: Series,
    /// How far behind its simulated time the testbed's radio ran; absent from the simulator.
    pub lateness: Option<Lateness>,
    /// The box's account of packets; absent where no box was in the path.
    pub box_counters: Option<BoxCounters>,
    /// How long packets waited in the box for each hop, over the whole run; empty where no box was in the path.
    #[serde(default)]
    pub box_hops: Vec<HopResult>,
    /// What happened when.
    pub events: Vec<EventRecord>,
    /// What the medium was used for; absent where the engine did not count it.
    pub medium: Option<MediumUse>,
    /// Frames lost, by place and reason.
    pub losses: Vec<LossCount>,
    /// Web pages read, in the order of their ends: the first [`LISTED`].
    pub pages: Vec<PageRecord>,
    /// Times of all pages by phase, where there are more than are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub page_times: Vec<PageTimes>,
    /// Transfers of known size.
    #[serde(default)]
    pub transfers: Transfers,
    /// Telephone calls, by direction and phase.
    #[serde(default)]
    pub calls: Vec<CallResult>,
    /// Echoes, one entry per application that sent them.
    pub echoes: Vec<EchoResult>,
    /// What others published, copied from the scenario.
    pub published: Vec<Published>,
    /// What of the scenario's file lies beyond a duration that was set, see [`evenair_scenario::Scenario::left_out`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// Averages over one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseResult {
    /// Name of the phase.
    pub name: String,
    /// Its start.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// What was found to be the initial transient and left out: `from_s` comes after it. Only where the scenario asks
    /// for that.
    #[serde(default)]
    pub transient_s: Option<f64>,
    /// Sum over all flows, IP level.
    pub total_ip_mbps: f64,
    /// Sum over all flows, goodput.
    pub total_goodput_mbps: f64,
    /// The medium's computed capacity C* for the flows of this phase.
    pub capacity_cstar_mbps: Option<f64>,
    /// Mean of the box's service rate C while it managed.
    pub service_rate_mbps: Option<f64>,
    /// Every flow.
    pub flows: Vec<FlowResult>,
    /// Every station that had a flow.
    pub stations: Vec<StationResult>,
    /// Sums by direction of the data.
    pub directions: Directions,
    /// Jain's index over the flows' IP-level rates; absent without flows.
    pub jain_flows: Option<f64>,
    /// Time average of the access point's queue.
    pub ap_queue_mean_packets: f64,
    /// Largest of the queue's interval averages.
    pub ap_queue_max_packets: f64,
    /// How many greedy flows had not received anything yet at the phase's end.
    #[serde(default)]
    pub flows_not_started: u64,
    /// How evenly greedy flows share: uploads.
    #[serde(default)]
    pub evenness_up: Option<Evenness>,
    /// How evenly greedy flows share: downloads.
    #[serde(default)]
    pub evenness_down: Option<Evenness>,
    /// How evenly the stations share that have greedy flows or datagrams.
    #[serde(default)]
    pub evenness_stations: Option<Evenness>,
    /// Names of the backlogged stations: packets to it or from it were queued, in the box, at an access point or in its own MAC,
    /// for more than half of the phase. Absent where the engine does not count that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlogged_stations: Option<Vec<String>>,
    /// How evenly the backlogged stations share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evenness_backlogged: Option<Evenness>,
    /// Flows by direction: "up" and "down", as far as there are any.
    #[serde(default)]
    pub groups_direction: Vec<GroupResult>,
    /// Flows by the class of their station.
    #[serde(default)]
    pub groups_class: Vec<GroupResult>,
    /// Flows by the PHY rate of their station, lowest first.
    #[serde(default)]
    pub groups_rate: Vec<GroupResult>,
    /// Calls, datagrams and echoes by entry of the scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<ApplicationResult>,
    /// Senders on the medium: the access point first.
    #[serde(default)]
    pub nodes: Vec<NodeResult>,
    /// Access points with their stations, where the scenario names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_points: Vec<AccessPointResult>,
    /// Contention domains, where the scenario names its access points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<DomainResult>,
    /// Wired ports and the box.
    #[serde(default)]
    pub places: Vec<PlaceResult>,
    /// The medium.
    #[serde(default)]
    pub medium: Option<MediumResult>,
    /// Backlogged nodes at successful transmissions.
    #[serde(default)]
    pub backlog: Option<Backlog>,
    /// Measured airtime of each station and direction, and all else that the phase's time went to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_airtime: Option<MediumAirtime>,
    /// With a box, the airtime that it charged each station that it knew: its estimate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charged_airtime: Vec<ChargedAirtime>,
}

/// One application's flow in one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// Name of the application.
    pub app: String,
    /// Name of the station.
    pub station: String,
    /// Which way the data flow.
    pub direction: Direction,
    /// The station's PHY rate.
    pub rate_mbps: f64,
    /// DATA and ACKs over the WLAN hop.
    pub ip_mbps: f64,
    /// Bytes that the application received.
    pub goodput_mbps: f64,
    /// Part of the phase's total IP-level rate, 0 to 1.
    pub share: f64,
    /// DATA packets per ACK; absent where there were no ACKs.
    pub d: Option<f64>,
    /// Mean congestion window of the sender.
    pub cwnd_segments: Option<f64>,
    /// Mean smoothed round-trip time of the sender.
    pub rtt_ms: Option<f64>,
    /// Retransmitted segments in the phase.
    pub retransmits: u64,
    /// Round-trip times that its TCP sender or its echoes measured.
    #[serde(default)]
    pub rtt: Option<Distribution>,
    /// One-way delays of its datagrams.
    #[serde(default)]
    pub delay: Option<Distribution>,
    /// Jitter of its datagrams' delays (RFC 3550).
    #[serde(default)]
    pub jitter_ms: Option<f64>,
    /// Datagrams and echo requests that it sent.
    #[serde(default)]
    pub sent_packets: u64,
    /// Datagrams that arrived, and echoes that came back.
    #[serde(default)]
    pub received_packets: u64,
    /// Standard deviation over mean of its IP-level rate from interval to interval; absent where it got nothing.
    #[serde(default)]
    pub variation: Option<f64>,
}

impl FlowResult {
    /// The part of datagrams or echo requests that did not arrive or come back in the phase they were sent in; those
    /// under way at its ends count for nothing.
    pub fn loss_rate(&self) -> f64 {
        if self.sent_packets == 0 {
            return 0.0;
        }
        (1.0 - self.received_packets as f64 / self.sent_packets as f64).max(0.0)
    }
}

/// All flows of one station in one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StationResult {
    /// Name of the station.
    pub station: String,
    /// Its PHY rate.
    pub rate_mbps: f64,
    /// DATA and ACKs over the WLAN hop.
    pub ip_mbps: f64,
    /// Part of the phase's total, 0 to 1.
    pub share: f64,
    /// Bytes that its applications received, either end.
    #[serde(default)]
    pub goodput_mbps: f64,
    /// Standard deviation over mean of its IP-level rate from interval to interval; absent where it got nothing.
    #[serde(default)]
    pub variation: Option<f64>,
}

/// Sums by direction of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Directions {
    /// Uploads, their ACKs included.
    pub up_ip_mbps: f64,
    /// Downloads, their ACKs included.
    pub down_ip_mbps: f64,
}

impl RunResult {
    /// Whether the run is invalid for no other reason than that this machine was too busy to keep real time: it shows what it
    /// is to show, with numbers that must not be published.
    pub fn was_only_late(&self) -> bool {
        let exceeded = self.lateness.map_or(0, |lateness| lateness.bounds_exceeded as usize);
        exceeded > 0 && exceeded == self.invalid_because.len() && self.box_faults.is_empty()
    }

    /// What an invalid run says before all its numbers; `None` of a valid one.
    pub fn warning(&self) -> Option<&'static str> {
        match (self.valid, self.was_only_late()) {
            (true, _) => None,
            (false, true) => Some("This machine was busy: not fit for publication"),
            (false, false) => Some("NOT VALID, do not use these numbers"),
        }
    }
}

/// How late the testbed's radio handed frames over, against their simulated instants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Frames delivered.
    pub frames: u64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Worst.
    pub max_us: f64,
    /// Share of the run, in thousandths, in which the medium was idle only because the testbed was late.
    pub idle_for_late_permille: f64,
    /// From a packet's arrival at the testbed's device to its entry into the model: median.
    pub ingress_lag_p50_us: f64,
    /// The same: 99th percentile.
    pub ingress_lag_p99_us: f64,
    /// The same: worst.
    pub ingress_lag_max_us: f64,
    /// Reasons in [`RunResult::invalid_because`] that are bounds of lateness exceeded.
    #[serde(default)]
    pub bounds_exceeded: u32,
}

/// The box's account: `received = released + dropped + probe_answers + held`. Its losses are counted beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxCounters {
    /// Packets that entered.
    pub received: u64,
    /// Packets that left.
    pub released: u64,
    /// Packets dropped, by reason.
    pub dropped: Vec<DropCount>,
    /// Packets that answered a probe of the box, and were sent nowhere.
    #[serde(default)]
    pub probe_answers: u64,
    /// Packets still held at the end.
    pub held: u64,
    /// Packets that the box lost without the manager's decision, by reason; each under its own key.
    #[serde(flatten, with = "evenair_api::causes::flat")]
    pub losses: Losses,
}

impl DropCount {
    /// A count for each reason.
    pub fn each(drops: &Drops) -> Vec<Self> {
        drops.iter().map(|(reason, packets)| Self { reason: reason.word().to_owned(), packets }).collect()
    }
}

impl BoxCounters {
    /// Packets that the box lost where it should not have.
    pub fn lost(&self) -> u64 {
        self.losses.total()
    }

    /// By how many packets the account does not add up.
    pub fn unaccounted(&self) -> u64 {
        let dropped: u64 = self.dropped.iter().map(|drop| drop.packets).sum();
        self.received.abs_diff(self.released + dropped + self.probe_answers + self.held)
    }
}

/// How many packets were dropped for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropCount {
    /// The reason's name.
    pub reason: String,
    /// How many.
    pub packets: u64,
}

/// Something that happened in the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// When.
    pub at_s: f64,
    /// "insert", "bypass", "inserted", "bypassed", "join", "leave", "rate", "roam", "roamed", "over its share",
    /// "within its share".
    pub what: String,
    /// Station or detail; empty where there is none.
    pub detail: String,
}

/// What the medium was used for over the whole run. The three shares add up to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MediumUse {
    /// Frames, and the gaps inside of exchanges.
    pub busy_share: f64,
    /// No frame on the medium, while a node had a frame to send: inter-frame spaces, back-off.
    pub contending_share: f64,
    /// Silence with nothing to send.
    pub idle_share: f64,
    /// Times that the medium became busy.
    pub transmissions: u64,
    /// Those in which two or more sent at once.
    pub collisions: u64,
    /// What beacons took, and what stations say of their sleep. It is part of the airtime of their senders.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub management_share: f64,
    /// Group-addressed packets: part of the access point's airtime.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub group_share: f64,
    /// Airtime of other networks, which belongs to no station here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub foreign_share: f64,
    /// Attempts to deliver a frame, by all senders.
    pub attempts: u64,
    /// Those that failed right after another attempt of the same frame had failed.
    pub repeated_failures: u64,
    /// Those that repeated a frame which had been received, for its ACK was lost.
    pub duplicates: u64,
    /// Those with DATA at a lower rate than the station's.
    pub slowed: u64,
    /// Of the attempts those of the access point.
    pub ap_attempts: u64,
    /// Of the repeated failures those of the access point.
    pub ap_repeated_failures: u64,
    /// Of the slowed attempts those of the access point.
    pub ap_slowed: u64,
    /// Medium time of each sender's own accesses, failed ones included; an access point without a name is called "ap".
    pub airtime: Vec<AirtimeShare>,
    /// Measured airtime of each station and direction, and all else that the time went to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_airtime: Option<MediumAirtime>,
    /// With a box, the airtime that it charged each station that it knew: its estimate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charged_airtime: Vec<ChargedAirtime>,
}

/// Medium time of one sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AirtimeShare {
    /// Name of the station, or "ap".
    pub sender: String,
    /// Part of the run's time.
    pub share: f64,
}

/// How many frames were lost in one place for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossCount {
    /// "ap", the name of a station, or a wired port ("lan to the box", "lan to server", "internet down" ...).
    pub place: String,
    /// "buffer full", "retry limit" ...
    pub reason: String,
    /// How many.
    pub frames: u64,
}

/// One web page that was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageRecord {
    /// Name of the application.
    pub app: String,
    /// When its first connection was opened.
    pub at_s: f64,
    /// Until the last object was complete.
    pub took_s: f64,
    /// Objects, the main one included.
    pub objects: u32,
    /// Bytes of all objects.
    pub bytes: u64,
}

/// The echoes of one application over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EchoResult {
    /// Name of the application.
    pub app: String,
    /// How many came back.
    pub answers: u64,
    /// Median round-trip time.
    pub p50_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Longest.
    pub max_ms: f64,
}

/// The state of a run, for a live view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Time since the start of the run.
    pub at_s: f64,
    /// What the box does with the traffic; without a box, the bridge carries it.
    pub mode: Mode,
    /// Every flow over the last interval.
    pub flows: Vec<FlowProgress>,
    /// Sum over the flows.
    pub total_ip_mbps: f64,
    /// The access point's queue now.
    pub ap_queue_packets: u64,
    /// The box's service rate C while it manages.
    pub service_rate_mbps: Option<f64>,
    /// 99th percentile of lateness so far; absent from the simulator.
    pub lateness_p99_us: Option<f64>,
    /// Why the run is already invalid; empty while it is not.
    pub invalid_because: Vec<String>,
}

/// One flow over the last interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowProgress {
    /// Name of the application.
    pub app: String,
    /// Which way the data flow.
    pub direction: Direction,
    /// DATA and ACKs over the WLAN hop.
    pub ip_mbps: f64,
    /// Smoothed round-trip time of its TCP sender; absent where it has none, or none yet.
    #[serde(default)]
    pub rtt_ms: Option<f64>,
}

/// A share that most runs do not have.
fn is_zero(share: &f64) -> bool {
    *share == 0.0
}
