//! Contention domains and the guard against harm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{GuardState, ProbeState};

/// A contention domain: one medium.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// What kind of path was found, where the controller is "queue".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathStatus>,
    /// Frames to groups toward the WLAN that exceeded their share of the medium, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupStatus>,
}

/// Frames to groups (multicast and broadcast) toward the WLAN that exceeded their share of the medium.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupStatus {
    /// Frames that wait now.
    pub waiting: u64,
    /// Frames dropped since the domain was configured.
    pub dropped: u64,
    /// MAC address of the group that most of what was dropped lately was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Who sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
}

impl GroupStatus {
    /// A text of one line.
    pub fn in_short(&self) -> String {
        let (Some(group), Some(sender)) = (&self.group, &self.sender) else {
            return format!("groups: {} frames wait for their share of the medium", self.waiting);
        };
        format!(
            "GROUPS EXCEED THEIR SHARE: {} frames dropped, {} wait; most lately from {sender} to {group}",
            self.dropped, self.waiting
        )
    }
}

/// What the queue controller has found of the path between the box and the stations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathStatus {
    /// What the path delays: medium time that has to be in flight beyond the target of backlog.
    pub lag_ms: f64,
    /// The access points' estimated backlog.
    pub backlog_ms: f64,
    /// Medium time that packets take, as a multiple of what the known PHY rates explain: retries and other networks make it larger.
    /// Absent: it is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The part of what was released lately, by airtime, of which the traffic shows no completion, 0 to 1. Absent: unknown, since
    /// there are no probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unacknowledged: Option<f64>,
    /// What probes are used for.
    pub probes: ProbeState,
}

impl PathStatus {
    /// A text of one line.
    pub fn in_short(&self) -> String {
        let unacknowledged = match self.unacknowledged {
            Some(part) if part >= 0.005 => format!(", {:.0} % of the airtime without completions", part * 100.0),
            _ => String::new(),
        };
        format!(
            "path: {:.1} ms of lag, {:.1} ms of backlog{unacknowledged}; probes: {}",
            self.lag_ms, self.backlog_ms, self.probes
        )
    }
}

/// The guard against harm: what it is at, in the contention domain where it does most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GuardStatus {
    /// What it is at.
    pub state: GuardState,
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
    /// Where it has bypassed the box: seconds until it inserts it again for a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try_s: Option<f64>,
}

/// Control of TCP by the windows and ACKs of receivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// The upload limiter, and the rates that it is based on, at IP level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UplinkStatus {
    /// The limit now, in megabits per second.
    pub limit_mbps: f64,
    /// What comes from the WLAN, before the limit.
    pub up_mbps: f64,
    /// Of it, datagrams: all but TCP.
    pub up_datagrams_mbps: f64,
    /// What comes from the wire toward the WLAN.
    pub down_mbps: f64,
    /// Losses at the access points, reported or inferred, since the limit began.
    pub lost_in_access_points: u64,
}

impl GuardStatus {
    /// Whether it has bypassed the box.
    pub fn has_bypassed(&self) -> bool {
        self.state == GuardState::Bypassed
    }

    /// A text for the operator; `None` while it only watches.
    pub fn in_short(&self) -> Option<String> {
        let before = self.before_mbps.map_or_else(String::new, |before| format!(", {before:.1} before"));
        let rates = format!("for {:.0} s: {:.1} Mb/s carried{before}", self.since_s, self.now_mbps);
        match self.state {
            GuardState::Loosened => Some(format!("guard: holds nothing {rates}")),
            GuardState::Trying => Some(format!("guard: inserted again, on trial {rates}")),
            GuardState::Bypassed => {
                let next = self.next_try_s.map_or_else(String::new, |next| format!(", next trial in {next:.0} s"));
                Some(format!("BYPASSED BY THE GUARD {rates}{next}"))
            }
            GuardState::Watching => None,
        }
    }
}
