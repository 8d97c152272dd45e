//! Contention domains in the status.

use evenair_manager::{DomainReport, GuardReport, GuardState, GuardStep, Label, Place};
use evenair_units::{BitRate, Instant};
use serde::{Deserialize, Serialize};

use super::status::{ReceiverStatus, UplinkStatus, receiver_status};

/// A contention domain: one medium.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DomainStatus {
    /// Its name: "default", or what the configuration calls it.
    pub name: String,
    /// The access points that the configuration puts there; for a learned domain, the reported BSSIDs of stations.
    pub access_points: Vec<String>,
    /// It is not in the configuration: it was learned from reported channels.
    #[serde(default)]
    pub learned: bool,
    /// Stations that are known there.
    pub stations: usize,
    /// Stations that came to it from another one, since it was configured.
    pub roamed: u64,
    /// Service rate C: IP-level megabits of DATA and ACKs per second.
    pub service_rate_mbps: f64,
    /// Capacity C* of its active stations, by the formula.
    pub capacity_mbps: f64,
    /// IP-level megabits of flows seen to cross it per second, in the last interval of the controller.
    pub throughput_mbps: f64,
    /// Packets that wait for it.
    pub held: u64,
    /// How long those waited that left in the last interval: 95 of 100 no longer than this.
    pub wait_p95_ms: f64,
    /// Control at the receiver, where that is asked for; what it holds is counted for all media together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<ReceiverStatus>,
    /// The upload limiter, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<UplinkStatus>,
}

/// The guard against harm: what it is at, in the contention domain where it does most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GuardStatus {
    /// "watching"; "loosened": it holds fewer packets than usual, or none, to see whether more is carried, or because that has
    /// been found out; "bypassed": the box has bypassed itself, without a command.
    pub state: String,
    /// Seconds since it has been so.
    pub since_s: f64,
    /// The contention domain.
    pub domain: String,
    /// IP-level megabits per second carried before: while the box was bypassed, where that is known. Absent: nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_mbps: Option<f64>,
    /// IP-level megabits per second carried now: the mean of three seconds.
    pub now_mbps: f64,
    /// Steps that it has taken since the box started.
    pub steps: u64,
    /// How often it has bypassed the box since then.
    pub bypasses: u64,
}

impl GuardStatus {
    /// The states, as the status, the metrics and the testbed call them.
    pub const STATES: [&str; 3] = ["watching", "loosened", "bypassed"];

    pub(super) fn new(report: &GuardReport, now: Instant) -> Self {
        let [watching, loosened, bypassed] = Self::STATES;
        let state = match report.state {
            GuardState::Watching => watching,
            GuardState::Loosened => loosened,
            GuardState::Bypassed => bypassed,
        };
        Self {
            state: state.into(),
            since_s: now.saturating_since(report.since).as_secs_f64(),
            domain: text(report.domain),
            before_mbps: (report.before > BitRate::ZERO).then(|| report.before.as_mbps_f64()),
            now_mbps: report.now.as_mbps_f64(),
            steps: report.steps,
            bypasses: report.bypasses,
        }
    }

    /// It has bypassed the box.
    pub fn has_bypassed(&self) -> bool {
        self.state == Self::STATES[2]
    }

    /// What an operator is to hear of it; nothing while it only watches.
    pub fn in_short(&self) -> Option<String> {
        let before = self.before_mbps.map_or_else(String::new, |before| format!(", {before:.1} before"));
        let rates = format!("for {:.0} s: {:.1} Mb/s carried{before}", self.since_s, self.now_mbps);
        match self.state.as_str() {
            "loosened" => Some(format!("guard: holds fewer packets {rates}")),
            "bypassed" => Some(format!("BYPASSED BY THE GUARD {rates}")),
            _ => None,
        }
    }
}

/// A name as text. Most are; what is none is shown with escapes.
pub(super) fn text(name: Label) -> String {
    std::str::from_utf8(name.as_bytes()).map_or_else(|_| name.to_string(), str::to_owned)
}

pub(super) fn place(place: Place) -> String {
    match place {
        Place::Named(name) => text(name),
        Place::Radio(_) | Place::Tuned { .. } => place.to_string(),
    }
}

impl From<&DomainReport> for DomainStatus {
    fn from(report: &DomainReport) -> Self {
        Self {
            name: text(report.name),
            access_points: report.access_points.iter().map(|&name| text(name)).collect(),
            learned: report.learned,
            stations: report.stations,
            roamed: report.roamed,
            service_rate_mbps: report.service_rate.as_mbps_f64(),
            capacity_mbps: report.capacity.as_mbps_f64(),
            throughput_mbps: report.throughput.as_mbps_f64(),
            held: report.hop.held,
            wait_p95_ms: report.hop.recent.p95.as_nanos() as f64 / 1e6,
            receiver: report.receiver.as_ref().map(receiver_status),
            uplink: report.uplink.map(UplinkStatus::from),
        }
    }
}

/// What the guard against harm did, in words.
pub(crate) fn guard_text(step: GuardStep, before: BitRate, held: BitRate) -> String {
    let carried =
        format!("{:.1} Mb/s are carried while packets wait, {:.1} before", held.as_mbps_f64(), before.as_mbps_f64());
    match step {
        GuardStep::Loosened => format!("{carried}: twice as much may be in the access point for now"),
        GuardStep::Opened => format!("{carried}: nothing is held for a few seconds, to see whether more is carried"),
        GuardStep::Restored => format!("{carried}, and no more when less was held: the box is not the cause"),
        GuardStep::Probing => format!(
            "{:.1} Mb/s are carried while packets wait, less than their rates allow: twice as much may be in the access point for a few seconds, to see whether more is carried",
            held.as_mbps_f64()
        ),
        GuardStep::Bypassed => {
            format!(
                "{carried}, and much more without holding: the box bypasses itself; evenair insert takes the traffic up again"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_is_told_of_in_a_line_unless_it_watches() {
        let guard = |state: &str, before_mbps| GuardStatus {
            state: state.into(),
            since_s: 12.4,
            before_mbps,
            now_mbps: 18.26,
            ..GuardStatus::default()
        };
        assert_eq!(guard("watching", Some(20.0)).in_short(), None);
        let line = |state, before| guard(state, before).in_short().expect("to be told of");
        assert_eq!(line("loosened", Some(20.0)), "guard: holds fewer packets for 12 s: 18.3 Mb/s carried, 20.0 before");
        assert_eq!(line("loosened", None), "guard: holds fewer packets for 12 s: 18.3 Mb/s carried");
        assert_eq!(line("bypassed", Some(20.0)), "BYPASSED BY THE GUARD for 12 s: 18.3 Mb/s carried, 20.0 before");
    }
}
