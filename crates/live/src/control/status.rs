//! What a box tells of itself.

use evenair_manager::{ClassReport, Counters, FlowReport, Mode, ReceiverReport, Report, StationReport, UplinkReport};
use evenair_packet::FlowKey;
use evenair_scenario::results::HopResult;
use evenair_telemetry::Health;
use evenair_units::{BitRate, Instant, Span};
use serde::{Deserialize, Serialize};
use tracing::info;

use super::calls::CallStatus;
use super::domains::{self, DomainStatus};
use super::shards::ShardStatus;
use super::telemetry::{self, SourceStatus, StationToldStatus, ToldStatus};
use crate::kinds::Kinds;

/// The state of a box. Counts are of packets since the box started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// "bypassed", "observing", "inserted" or "draining".
    pub mode: String,
    /// Who carries the traffic: "bridge", "box", or "releasing" between the two.
    pub carrier: String,
    /// Seconds since the box started.
    pub uptime_s: f64,
    /// Service rate C: IP-level megabits of DATA and ACKs over the WLAN per second.
    pub service_rate_mbps: f64,
    /// Capacity C* of the active stations, by the formula.
    pub capacity_mbps: f64,
    /// What became of every packet.
    pub packets: PacketStatus,
    /// Packets received, by kind.
    #[serde(default)]
    pub kinds: Kinds,
    /// The side of the access points.
    pub wlan: PortStatus,
    /// The wired side.
    pub wire: PortStatus,
    /// Memory for packets.
    pub pool: PoolStatus,
    /// The packet loops, where there are several; what is said elsewhere is of all together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ShardStatus>,
    /// The hold on the path.
    pub hold: HoldStatus,
    /// How punctual the loop is.
    pub pacing: PacingStatus,
    /// The recording, where there is one.
    pub recording: Option<RecordingStatus>,
    /// How long packets have waited here for the WLAN, and for the Internet link where the box serves it.
    #[serde(default)]
    pub hops: Vec<HopResult>,
    /// Calls that go on.
    #[serde(default)]
    pub calls: Vec<CallStatus>,
    /// Control at the receiver, where there is one.
    #[serde(default)]
    pub receiver: Option<ReceiverStatus>,
    /// The limit on uploads, where there is one.
    #[serde(default)]
    pub uplink_limit: Option<UplinkStatus>,
    /// The operator's classes, and last what is in none of them; empty where there are none.
    #[serde(default)]
    pub classes: Vec<ClassStatus>,
    /// Each medium; the first one is that of stations that are not known to be elsewhere. Service rate and capacity above
    /// are those of all together.
    #[serde(default)]
    pub domains: Vec<DomainStatus>,
    /// Access points and controllers that are asked for stations and rates.
    #[serde(default)]
    pub telemetry: Vec<SourceStatus>,
    /// What became of what they told.
    #[serde(default)]
    pub told: ToldStatus,
    /// Stations: of very many the 4096 with the most medium time.
    pub stations: Vec<StationStatus>,
    /// Stations that are known, be they in the list or not.
    #[serde(default)]
    pub stations_known: usize,
    /// Flows, of TCP and of other protocols: the 1000 that were used last, the last one first. To tell of all would take time in proportion
    /// to their number, in which no packet moves.
    pub flows: Vec<FlowStatus>,
}

/// A class, with all below it. Totals are of all time since there was a class of this name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassStatus {
    /// Its name; "other" for what is in none.
    pub name: String,
    /// The name of the class that it is a part of.
    pub parent: Option<String>,
    /// Packets held.
    pub held: u32,
    /// IP-level bytes held.
    pub held_bytes: u64,
    /// It has had what its ceiling allows, and waits.
    pub at_ceiling: bool,
    /// IP-level bytes released toward the WLAN.
    pub released_bytes: u64,
    /// IP-level bytes that came from the WLAN.
    pub from_wlan_bytes: u64,
    /// Medium time that is believed to have been used by what was released, and by what that caused, in seconds.
    pub airtime_s: f64,
    /// Packets dropped.
    pub dropped: u64,
}

/// Control of TCP by what receivers tell senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceiverStatus {
    /// TCP flows used in the last ten seconds and not closed.
    pub flows: u32,
    /// Those of them whose windows are lowered.
    pub clamped_flows: u32,
    /// Largest window that may be advertised now, in bytes.
    pub window_bytes: Option<u64>,
    /// For how long ACKs are held now.
    pub delay_ms: Option<f64>,
    /// Packets held: ACKs, and what waits behind them.
    pub held: u64,
    /// How long packets were seen to wait in the access point lately.
    pub ap_queueing_ms: Option<f64>,
}

/// The limit on uploads, and what it is measured against, at IP level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UplinkStatus {
    /// The limit now, in megabits per second.
    pub limit_mbps: f64,
    /// What comes from the WLAN, before the limit.
    pub up_mbps: f64,
    /// Of it, datagrams: all but TCP.
    pub up_datagrams_mbps: f64,
    /// What comes from the wire toward the WLAN.
    pub down_mbps: f64,
    /// Packets that the access points were found to have lost, told or inferred, since the limit began.
    pub lost_in_access_points: u64,
}

impl From<UplinkReport> for UplinkStatus {
    fn from(report: UplinkReport) -> Self {
        Self {
            limit_mbps: report.limit.as_mbps_f64(),
            up_mbps: report.up.as_mbps_f64(),
            up_datagrams_mbps: report.up_datagrams.as_mbps_f64(),
            down_mbps: report.down.as_mbps_f64(),
            lost_in_access_points: report.lost,
        }
    }
}

/// What became of every packet that was taken from the bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketStatus {
    /// Taken: `ring_full + too_long + pool_full + stale + received`, when the ring is empty.
    pub taken: u64,
    /// Copies of packets that the bridge carried, taken while observing. They count in the sum above as the taken do.
    #[serde(default)]
    pub copied: u64,
    /// Copies that the manager has let go; they end there.
    #[serde(default)]
    pub copies_done: u64,
    /// Lost: the receive ring was full.
    pub ring_full: u64,
    /// Lost: longer than the interface allows (super-packets), or broken.
    pub too_long: u64,
    /// Lost: the pool was full.
    pub pool_full: u64,
    /// Dropped: out of date, since the bridge took over under the box, which was stopped or hung.
    #[serde(default)]
    pub stale: u64,
    /// Handed to the manager: `released + dropped_queue_full + dropped_ack_superseded + dropped_sender_ahead +
    /// dropped_standing_queue + dropped_uplink_limit + held`.
    pub received: u64,
    /// Released by the manager: `sent + send_refused + sending + copies_done + stale_released`.
    pub released: u64,
    /// Dropped: out of date when it was released.
    #[serde(default)]
    pub stale_released: u64,
    /// Dropped by the manager: the queue was full.
    pub dropped_queue_full: u64,
    /// Dropped by the manager: a later ACK says all that it said.
    pub dropped_ack_superseded: u64,
    /// Dropped by the manager: an upload is far ahead of what it is released, and its sender is to slow down.
    pub dropped_sender_ahead: u64,
    /// Dropped by the manager: the head of a standing queue.
    pub dropped_standing_queue: u64,
    /// Dropped by the manager: uploads came faster than their limit.
    #[serde(default)]
    pub dropped_uplink_limit: u64,
    /// Among the released: marked "congestion experienced".
    pub marked: u64,
    /// Among the released: with a lowered TCP window.
    #[serde(default)]
    pub windows_lowered: u64,
    /// Among the released: ACKs that were held for the control at the receiver.
    #[serde(default)]
    pub acks_delayed: u64,
    /// Among the released: of admitted calls, past what waits.
    #[serde(default)]
    pub calls_packets: u64,
    /// Claims of addresses that others use; no packets.
    #[serde(default)]
    pub addresses_contested: u64,
    /// Calls that were admitted so far; no packets.
    #[serde(default)]
    pub calls_admitted: u64,
    /// Calls that were refused so far; no packets.
    #[serde(default)]
    pub calls_refused: u64,
    /// Calls that roamed to a medium where they are too many, and go on all the same.
    #[serde(default)]
    pub calls_over_limit: u64,
    /// Calls that have ended so far, admitted or not; no packets.
    #[serde(default)]
    pub calls_ended: u64,
    /// Among the released: what keeps the network together (ARP, neighbour discovery, DHCP, 802.1X), never held.
    pub control: u64,
    /// Among the released: to groups, never held.
    pub groups: u64,
    /// In the manager's queues.
    pub held: u64,
    /// Sent.
    pub sent: u64,
    /// Lost: the kernel refused to send it.
    pub send_refused: u64,
    /// Released, and waiting for the kernel to take it.
    pub sending: u64,
    /// The sums above are right. While the box carries the traffic, packets that are in the rings right now count as
    /// `taken` only: then `taken` may be larger than its sum by as many as the rings hold, and smaller by those that the
    /// processors are handling right now. When the bridge carries the traffic, the rings are empty and the sum is exact.
    pub conserved: bool,
}

impl PacketStatus {
    /// Lost by the box: for want of room, too long, out of date, or refused by the kernel.
    pub const fn lost(&self) -> u64 {
        self.ring_full + self.too_long + self.pool_full + self.stale + self.stale_released + self.send_refused
    }

    /// Dropped by the manager, for whatever reason.
    pub const fn dropped(&self) -> u64 {
        self.dropped_queue_full
            + self.dropped_ack_superseded
            + self.dropped_sender_ahead
            + self.dropped_standing_queue
            + self.dropped_uplink_limit
    }
}

/// One side of the box.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortStatus {
    /// The interface.
    pub interface: String,
    /// How packets come in: "af-packet", or "af-xdp" with where ("native", in the driver, or "generic") and how ("zero copy" or
    /// "copied").
    #[serde(default)]
    pub io: String,
    /// Why not otherwise, where that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_why: Option<String>,
    /// Packets taken from the bridge here.
    pub taken: u64,
    /// Lost: the receive ring was full.
    pub ring_full: u64,
    /// Merged by the kernel, or left to the network card to split.
    pub super_packets: u64,
    /// Sent here.
    pub sent: u64,
    /// Bytes sent here, Ethernet headers included.
    pub sent_bytes: u64,
    /// Lost: the kernel refused to send it.
    pub send_refused: u64,
}

/// Memory for packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolStatus {
    /// Frames in use.
    pub used: usize,
    /// The most ever in use.
    pub peak: usize,
    /// All frames.
    pub size: usize,
}

/// The hold on the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldStatus {
    /// How often it ran out because the loop was late, so that packets went past the box.
    pub lapses: u64,
}

/// How punctual the loop is: the lateness of the manager's deadlines, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacingStatus {
    /// Deadlines met so far.
    pub deadlines: u64,
    /// Half of them were not later than this (a power of two).
    pub p50_us: u64,
    /// 99 of 100 were not later than this (a power of two).
    pub p99_us: u64,
    /// The latest.
    pub max_us: u64,
}

/// A recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingStatus {
    /// The file.
    pub file: String,
    /// Bytes recorded.
    pub bytes: u64,
    /// Length and digest of the manager's decisions; a replay of the file must come to the same.
    pub digest: String,
    /// Why it stopped, where it did. The traffic went on.
    pub stopped: Option<String>,
}

/// One station.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StationStatus {
    /// MAC address.
    pub mac: String,
    /// The access point that it is at, by its name in the configuration or else as it was told.
    #[serde(default)]
    pub access_point: Option<String>,
    /// PHY rate assumed of it.
    pub rate_mbps: f64,
    /// Its C_i: IP-level TCP capacity of the medium at that rate.
    pub capacity_mbps: f64,
    /// Weight.
    pub weight: u32,
    /// Learned from traffic, not configured.
    pub learned: bool,
    /// Seconds of medium time that are believed to have been used to and from it.
    pub airtime_s: f64,
    /// Of it, what it sent itself.
    #[serde(default)]
    pub airtime_up_s: f64,
    /// IP addresses that it was seen to use, the last one first; eight at most.
    pub addresses: Vec<String>,
    /// What it calls itself (DHCP).
    #[serde(default)]
    pub name: Option<String>,
    /// Its MAC address is a made-up one.
    pub random_mac: bool,
    /// IP-level bytes released toward it, and that came from it.
    pub to_station_bytes: u64,
    /// The same, from it.
    pub from_station_bytes: u64,
    /// It takes more than its share of the medium, and cannot be held back.
    pub over_share: bool,
    /// What is told of it, where something is valid.
    #[serde(default)]
    pub told: Option<StationToldStatus>,
}

/// One flow: a TCP connection, or packets of one protocol between two addresses and ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowStatus {
    /// One end, as `address:port`.
    pub low: String,
    /// The other end.
    pub high: String,
    /// VLAN, by the outermost tag.
    pub vlan: Option<u16>,
    /// The VLAN inside it, where there are two tags.
    #[serde(default)]
    pub inner_vlan: Option<u16>,
    /// The station's MAC address.
    pub station: String,
    /// "up" (from the station) or "down".
    pub direction: String,
    /// DATA segments an ACK covers, d.
    pub d: f64,
    /// IP-level bytes released toward the WLAN.
    pub released_bytes: u64,
    /// IP-level bytes that came from the WLAN.
    pub from_wlan_bytes: u64,
    /// Round trip over the WLAN alone, smoothed, in milliseconds, where it was seen.
    #[serde(default)]
    pub wlan_rtt_ms: Option<f64>,
    /// The shortest one.
    #[serde(default)]
    pub wlan_rtt_least_ms: Option<f64>,
    /// Seconds of medium time that its releases were charged for, or would have been where nothing was held.
    #[serde(default)]
    pub charged_s: f64,
    /// TCP segments of data that came again: from the wire.
    #[serde(default)]
    pub resent_down: u64,
    /// The same, from the WLAN.
    #[serde(default)]
    pub resent_up: u64,
    /// Packets held.
    pub backlog_packets: u32,
    /// Packets dropped.
    pub dropped: u64,
}

/// The loop's raw numbers, from which [`Status`] is made on another thread.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) report: Report,
    /// Packets are looked at that the bridge carries.
    pub(crate) observing: bool,
    pub(crate) kinds: Kinds,
    /// Copies of such packets: taken, let go.
    pub(crate) copied: (u64, u64),
    pub(crate) carrier: &'static str,
    pub(crate) uptime_s: f64,
    pub(crate) wlan: PortStatus,
    pub(crate) wire: PortStatus,
    /// Of both ports: too long, pool full.
    pub(crate) not_admitted: (u64, u64),
    /// Out of date: when they were taken out, when they were released.
    pub(crate) stale: (u64, u64),
    /// Packets that may be counted as taken and not yet be out of the rings, and the other way round, because the ring
    /// gets a packet before the gate counts it. None while the bridge carries the traffic.
    pub(crate) underway: (u64, u64),
    pub(crate) sending: u64,
    pub(crate) pool: PoolStatus,
    pub(crate) hold: HoldStatus,
    pub(crate) pacing: PacingStatus,
    pub(crate) recording: Option<RecordingStatus>,
    pub(crate) telemetry: Vec<Health>,
    /// CPU time of the loop.
    pub(crate) cpu: Span,
    /// Where it is of several loops, each of them.
    pub(crate) shards: Vec<ShardStatus>,
    pub(crate) now: Instant,
}

impl Snapshot {
    /// The balance of all packets.
    pub(crate) fn packets(&self) -> PacketStatus {
        let counters = &self.report.counters;
        let Counters { received, released, held, .. } = *counters;
        let (too_long, pool_full) = self.not_admitted;
        let both = |field: fn(&PortStatus) -> u64| field(&self.wlan) + field(&self.wire);
        let (taken, ring_full) = (both(|p| p.taken), both(|p| p.ring_full));
        let (sent, send_refused) = (both(|p| p.sent), both(|p| p.send_refused));
        let (stale, stale_released) = self.stale;
        let admitted = ring_full + too_long + pool_full + stale + received;
        PacketStatus {
            taken,
            copied: self.copied.0,
            copies_done: self.copied.1,
            ring_full,
            too_long,
            pool_full,
            stale,
            received,
            released,
            stale_released,
            dropped_queue_full: counters.dropped_queue_full,
            dropped_ack_superseded: counters.dropped_ack_superseded,
            dropped_sender_ahead: counters.dropped_sender_ahead,
            dropped_standing_queue: counters.dropped_standing_queue,
            dropped_uplink_limit: counters.dropped_uplink_limit,
            marked: counters.marked,
            windows_lowered: counters.windows_lowered,
            acks_delayed: counters.acks_delayed,
            calls_packets: counters.calls_packets,
            addresses_contested: counters.addresses_contested,
            calls_admitted: counters.calls_admitted,
            calls_refused: counters.calls_refused,
            calls_over_limit: counters.calls_over_limit,
            calls_ended: counters.calls_ended,
            control: counters.control,
            groups: counters.groups,
            held,
            sent,
            send_refused,
            sending: self.sending,
            conserved: taken + self.copied.0 <= admitted + self.underway.0
                && admitted <= taken + self.copied.0 + self.underway.1
                && received == released + counters.dropped() + held
                && released == sent + send_refused + self.sending + self.copied.1 + stale_released
                && self.pool.used as u64 == held + self.sending,
        }
    }
}

impl Status {
    /// Logs what became of every packet, at the end.
    pub(crate) fn log_balance(&self) {
        let p = &self.packets;
        info!(
            "ended: taken {} = ring full {} + too long {} + pool full {} + out of date {} + received {}; released {} + \
             dropped {} + held {}; sent {} + refused {} + sending {} + out of date {}; {}",
            p.taken,
            p.ring_full,
            p.too_long,
            p.pool_full,
            p.stale,
            p.received,
            p.released,
            p.dropped(),
            p.held,
            p.sent,
            p.send_refused,
            p.sending,
            p.stale_released,
            if p.conserved { "every packet is accounted for" } else { "THE SUMS DO NOT AGREE" }
        );
    }
}

impl From<Snapshot> for Status {
    fn from(snapshot: Snapshot) -> Self {
        let packets = snapshot.packets();
        let telemetry = snapshot.telemetry;
        let Report {
            mode,
            service_rate,
            capacity,
            stations,
            stations_known,
            flows,
            hops,
            calls,
            receiver,
            uplink,
            classes,
            domains,
            told,
            ..
        } = snapshot.report;
        Self {
            mode: if snapshot.observing { OBSERVING } else { mode_word(mode) }.into(),
            carrier: snapshot.carrier.into(),
            uptime_s: snapshot.uptime_s,
            service_rate_mbps: BitRate::as_mbps_f64(service_rate),
            capacity_mbps: BitRate::as_mbps_f64(capacity),
            packets,
            kinds: snapshot.kinds,
            wlan: snapshot.wlan,
            wire: snapshot.wire,
            pool: snapshot.pool,
            shards: snapshot.shards,
            hold: snapshot.hold,
            pacing: snapshot.pacing,
            recording: snapshot.recording,
            uplink_limit: uplink.map(UplinkStatus::from),
            hops: hops.iter().map(|hop| HopResult::new(hop.hop, &hop.total)).collect(),
            calls: calls.iter().map(|call| CallStatus::new(call, snapshot.now)).collect(),
            receiver: receiver.as_ref().map(receiver_status),
            classes: classes.iter().map(|report| class(report, &classes)).collect(),
            domains: domains.iter().map(DomainStatus::from).collect(),
            telemetry: telemetry.iter().map(telemetry::source).collect(),
            told: told.into(),
            stations: stations.iter().map(|report| station(report, snapshot.now, &telemetry)).collect(),
            stations_known,
            flows: flows.iter().map(flow).collect(),
        }
    }
}

/// The word for watching what the bridge carries.
pub(crate) const OBSERVING: &str = "observing";

/// The word for a mode.
pub(crate) fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Bypassed => "bypassed",
        Mode::Inserted => "inserted",
        Mode::Draining => "draining",
    }
}

pub(super) fn receiver_status(report: &ReceiverReport) -> ReceiverStatus {
    let ms = |span: Span| span.as_secs_f64() * 1e3;
    ReceiverStatus {
        flows: report.flows,
        clamped_flows: report.clamped_flows,
        window_bytes: report.window.map(|window| window.0),
        delay_ms: report.delay.map(ms),
        held: report.held,
        ap_queueing_ms: report.ap_queueing.map(ms),
    }
}

fn class(report: &ClassReport, all: &[ClassReport]) -> ClassStatus {
    let parent = report.parent.and_then(|parent| all.get(usize::from(parent.0)));
    ClassStatus {
        name: report.name.clone(),
        parent: parent.map(|parent| parent.name.clone()),
        held: report.held,
        held_bytes: report.held_bytes.0,
        at_ceiling: report.at_ceiling,
        released_bytes: report.released.0,
        from_wlan_bytes: report.from_wlan.0,
        airtime_s: report.airtime.as_secs_f64(),
        dropped: report.dropped,
    }
}

fn station(report: &StationReport, now: Instant, sources: &[Health]) -> StationStatus {
    StationStatus {
        mac: report.mac.to_string(),
        access_point: report.access_point.map(domains::text).or(report.told_at.map(domains::place)),
        rate_mbps: report.rate.bit_rate().as_mbps_f64(),
        capacity_mbps: report.capacity.as_mbps_f64(),
        weight: report.weight,
        learned: report.learned,
        airtime_s: report.airtime.as_secs_f64(),
        airtime_up_s: report.airtime_up.as_secs_f64(),
        addresses: report.addresses.iter().map(ToString::to_string).collect(),
        name: report.name.clone(),
        random_mac: report.random_mac,
        to_station_bytes: report.to_station.0,
        from_station_bytes: report.from_station.0,
        over_share: report.over_share,
        told: report.told.map(|told| telemetry::station(&told, now, sources)),
    }
}

pub(super) fn milliseconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}

fn flow(report: &FlowReport) -> FlowStatus {
    let end = |(address, port)| std::net::SocketAddr::new(address, port).to_string();
    FlowStatus {
        low: end(FlowKey::low(&report.key)),
        high: end(FlowKey::high(&report.key)),
        vlan: report.vlan.map(|vlan| vlan.id),
        inner_vlan: report.vlan.and_then(|vlan| vlan.inner),
        station: report.station.to_string(),
        direction: match report.direction {
            evenair_manager::Direction::Up => "up".into(),
            evenair_manager::Direction::Down => "down".into(),
        },
        d: f64::from(report.d_milli) / 1000.0,
        released_bytes: report.released.0,
        from_wlan_bytes: report.from_wlan.0,
        wlan_rtt_ms: report.wlan_rtt.map(milliseconds),
        wlan_rtt_least_ms: report.wlan_rtt_least.map(milliseconds),
        charged_s: report.charged.as_secs_f64(),
        resent_down: report.resent_down,
        resent_up: report.resent_up,
        backlog_packets: report.backlog_packets,
        dropped: report.dropped,
    }
}

/// A state to test with.
#[cfg(test)]
pub(crate) mod tests_support {
    use evenair_manager::{Config, Manager, StationConfig};
    use evenair_packet::MacAddr;
    use evenair_wifi::{Phy, Standard};

    use super::*;

    /// 100 packets came out of the rings or were lost at them; this many were taken. One station is known.
    pub(crate) fn snapshot_of(taken: u64, underway: (u64, u64)) -> Snapshot {
        let mut config = Config::new(Phy::default_for(Standard::Dot11g));
        let (mac, rate) = (MacAddr([2, 0, 0, 0, 0, 1]), config.default_rate);
        config.stations.push(StationConfig { mac, rate, weight: 1, class: None });
        let mut report = Manager::<()>::new(config, Instant::ZERO).report_recent(Instant::ZERO, 0);
        report.counters.received = 90;
        report.counters.released = 90;
        let port = |taken, sent| PortStatus { taken, sent, ring_full: 3, ..PortStatus::default() };
        Snapshot {
            report,
            observing: false,
            kinds: Kinds::default(),
            copied: (0, 0),
            carrier: "bridge",
            uptime_s: 1.0,
            wlan: port(60, 50),
            wire: port(taken - 60, 40),
            not_admitted: (4, 0),
            stale: (0, 0),
            underway,
            sending: 0,
            pool: PoolStatus { used: 0, peak: 10, size: 100 },
            hold: HoldStatus::default(),
            pacing: PacingStatus::default(),
            recording: None,
            telemetry: Vec::new(),
            cpu: Span::ZERO,
            shards: Vec::new(),
            now: Instant::ZERO,
        }
    }

    pub(crate) fn snapshot() -> Snapshot {
        snapshot_of(100, (0, 0))
    }

    pub(crate) fn status() -> Status {
        snapshot().into()
    }
}

#[cfg(test)]
mod tests {
    use super::tests_support::snapshot_of;

    fn conserved(taken: u64, underway: (u64, u64)) -> bool {
        snapshot_of(taken, underway).packets().conserved
    }

    #[test]
    fn copies_count_as_what_they_were_copied_from() {
        let mut snapshot = snapshot_of(70, (0, 0));
        snapshot.copied = (30, 30);
        assert!(!snapshot.packets().conserved, "what was let go as a copy was not sent");
        snapshot.wlan.sent -= 30;
        assert!(snapshot.packets().conserved);
        assert_eq!(super::Status::from(snapshot).mode, "bypassed");
    }

    #[test]
    fn what_is_out_of_date_is_accounted_for() {
        let mut snapshot = snapshot_of(105, (0, 0));
        snapshot.stale = (5, 2);
        assert!(!snapshot.packets().conserved, "two that are out of date were sent");
        snapshot.wlan.sent -= 2;
        assert!(snapshot.packets().conserved);
    }

    #[test]
    fn a_packet_lost_between_gate_and_ring_is_noticed() {
        let none = (0, 0);
        assert!(conserved(100, none) && !conserved(101, none) && !conserved(99, none), "the rings are empty");
        assert!(conserved(108, (8, 1)) && !conserved(109, (8, 1)), "the rings hold eight at most");
        assert!(conserved(99, (8, 1)) && !conserved(98, (8, 1)), "one is being handled");
    }
}
