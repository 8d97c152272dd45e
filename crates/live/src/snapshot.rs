//! A packet loop's snapshot: raw numbers, from which the management plane computes the status.

use evenair_api::causes::lost;
use evenair_api::{
    Carrier, FailOpenStatus, HoldStatus, Kinds, PacingStatus, PacketStatus, PoolStatus, PortStatus, RecordingStatus,
    ShardStatus,
};
use evenair_manager::{Counters, Report};
use evenair_telemetry::Health;
use evenair_units::{Instant, Span};

/// Snapshot of a packet loop, or of several together.
#[derive(Clone)]
pub struct Snapshot {
    /// The manager's report.
    pub report: Report,
    /// Whether packets that the bridge carries are observed.
    pub observing: bool,
    /// Packets by kind.
    pub kinds: Kinds,
    /// Copies of observed packets: received, released.
    pub copied: (u64, u64),
    /// Who carries the traffic.
    pub carrier: Carrier,
    /// Whether the bridge can carry the traffic.
    pub fail_open: FailOpenStatus,
    /// Seconds since the ports were opened.
    pub uptime_s: f64,
    /// The port toward the access points.
    pub wlan: PortStatus,
    /// The port toward the wired side.
    pub wire: PortStatus,
    /// Segments that super-packets were cut into, beyond one each.
    pub more_segments: u64,
    /// Packets that may be counted as taken and not have left the rings yet, at most; and the other way round, because
    /// the ring gets a packet before the gate counts it. Zero while the bridge carries the traffic.
    pub underway: (u64, u64),
    /// Packets queued to be sent.
    pub sending: u64,
    /// Probes that the box has sent or queued.
    pub probes: u64,
    /// Packet memory.
    pub pool: PoolStatus,
    /// Expiries of the lease.
    pub hold: HoldStatus,
    /// Lateness at the manager's deadlines.
    pub pacing: PacingStatus,
    /// The recording, if there is one.
    pub recording: Option<RecordingStatus>,
    /// State of each telemetry source.
    pub telemetry: Vec<Health>,
    /// CPU time of the loop.
    pub cpu: Span,
    /// State of each loop, if there are several.
    pub shards: Vec<ShardStatus>,
    /// When the totals were counted.
    pub now: Instant,
}

impl Snapshot {
    /// A snapshot of a loop that has carried nothing, with this report.
    pub fn new(report: Report, now: Instant) -> Self {
        Self {
            report,
            observing: false,
            kinds: Kinds::default(),
            copied: (0, 0),
            carrier: Carrier::Bridge,
            fail_open: FailOpenStatus { available: true, why: Vec::new() },
            uptime_s: 0.0,
            wlan: PortStatus::default(),
            wire: PortStatus::default(),
            more_segments: 0,
            underway: (0, 0),
            sending: 0,
            probes: 0,
            pool: PoolStatus { used: 0, peak: 0, size: 0 },
            hold: HoldStatus::default(),
            pacing: PacingStatus::default(),
            recording: None,
            telemetry: Vec::new(),
            cpu: Span::ZERO,
            shards: Vec::new(),
            now,
        }
    }

    /// The balance of all packets.
    pub fn packets(&self) -> PacketStatus {
        let counters = &self.report.counters;
        let Counters { received, released, held, .. } = *counters;
        let (taken, sent) = (self.wlan.taken + self.wire.taken, self.wlan.sent + self.wire.sent);
        let losses = self.wlan.losses + self.wire.losses;
        let admitted = received + lost(&losses, false);
        let offered = taken + self.copied.0 + self.more_segments;
        PacketStatus {
            taken,
            copied: self.copied.0,
            copies_done: self.copied.1,
            more_segments: self.more_segments,
            losses,
            probes: self.probes,
            sent,
            sending: self.sending,
            conserved: offered <= admitted + self.underway.0
                && admitted <= offered + self.underway.1
                && received == counters.accounted_for()
                && released + self.probes == sent + self.sending + self.copied.1 + lost(&losses, true)
                && self.pool.used as u64 == held + self.sending,
            ..evenair_view::packets(counters)
        }
    }
}

/// A snapshot for tests.
#[cfg(test)]
pub(crate) mod tests_support {
    use evenair_api::causes::{LossReason, Losses};
    use evenair_manager::{Config, Manager, StationConfig};
    use evenair_packet::MacAddr;
    use evenair_wifi::{Phy, Standard};

    use super::*;

    /// 100 packets came out of the rings or were lost at them; `taken` were taken. One station is known.
    pub(crate) fn snapshot_of(taken: u64, underway: (u64, u64)) -> Snapshot {
        let mut config = Config::new(Phy::default_for(Standard::Dot11g));
        let (mac, rate) = (MacAddr([2, 0, 0, 0, 0, 1]), config.default_rate);
        config.stations.push(StationConfig { mac, rate, weight: 1, class: None });
        let mut report = Manager::<()>::new(config, Instant::ZERO).report(Instant::ZERO);
        report.counters.received = 90;
        report.counters.released = 90;
        let port = |taken, sent| {
            let mut losses = Losses::default();
            losses[LossReason::RingFull] = 3;
            losses[LossReason::TooLong] = 2;
            PortStatus { taken, sent, losses, ..PortStatus::default() }
        };
        Snapshot {
            uptime_s: 1.0,
            wlan: port(60, 50),
            wire: port(taken - 60, 40),
            underway,
            pool: PoolStatus { used: 0, peak: 10, size: 100 },
            ..Snapshot::new(report, Instant::ZERO)
        }
    }

    pub(crate) fn snapshot() -> Snapshot {
        snapshot_of(100, (0, 0))
    }
}

#[cfg(test)]
mod tests {
    use evenair_api::causes::LossReason;

    use super::tests_support::snapshot_of;

    fn conserved(taken: u64, underway: (u64, u64)) -> bool {
        snapshot_of(taken, underway).packets().conserved
    }

    #[test]
    fn copies_count_as_the_packets_they_were_copied_from() {
        let mut snapshot = snapshot_of(70, (0, 0));
        snapshot.copied = (30, 30);
        assert!(!snapshot.packets().conserved, "what was let go as a copy was not sent");
        snapshot.wlan.sent -= 30;
        assert!(snapshot.packets().conserved);
    }

    #[test]
    fn outdated_packets_are_accounted_for() {
        let mut snapshot = snapshot_of(105, (0, 0));
        snapshot.wlan.losses[LossReason::Stale] = 5;
        snapshot.wire.losses[LossReason::StaleReleased] = 2;
        assert!(!snapshot.packets().conserved, "two that are out of date were sent");
        snapshot.wlan.sent -= 2;
        assert!(snapshot.packets().conserved);
    }

    #[test]
    fn a_packet_lost_between_gate_and_ring_is_detected() {
        let none = (0, 0);
        assert!(conserved(100, none) && !conserved(101, none) && !conserved(99, none), "the rings are empty");
        assert!(conserved(108, (8, 1)) && !conserved(109, (8, 1)), "the rings hold eight at most");
        assert!(conserved(99, (8, 1)) && !conserved(98, (8, 1)), "one is being handled");
    }
}
