//! Facts about a box that are not in a line of the watch feed.

use std::collections::VecDeque;

use crate::causes::{Counter, Losses};
use crate::{GuardStatus, SourceStatus, Status};

/// Seconds over which counters are compared.
const WINDOW: usize = 60;

/// Counters of the box, from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// IP-level bytes that the manager received.
    pub received_bytes: u64,
    /// IP-level bytes of packets that it cannot read.
    pub unread_bytes: u64,
    /// Packets that the box lost, by reason.
    pub losses: Losses,
    /// Number of fail-open leases that expired because the loop was late.
    pub lapses: u64,
    /// Claims of addresses that other stations use.
    pub addresses_contested: u64,
    /// Calls that were refused.
    pub calls_refused: u64,
}

/// Facts beyond a line, at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Why the bridge cannot carry the traffic, each with its remedy.
    pub fail_open_why: Vec<String>,
    /// The guard against harm.
    pub guard: GuardStatus,
    /// The last command, or without one the configuration, was to insert the box.
    pub is_insert_commanded: bool,
    /// Seconds since the box started; `None`: the previous process ended normally, or there was none.
    pub restarted_s: Option<f64>,
    /// Counters.
    pub counters: Counters,
    /// Configured telemetry sources.
    pub telemetry: Vec<Source>,
    /// Stations whose traffic contradicts the reported rate.
    pub set_aside: Vec<SetAside>,
    /// The last write of the history failed.
    pub is_history_failing: bool,
}

impl Facts {
    /// Facts that are in a status. Not included: the last command, a restart, the history.
    pub fn of(status: &Status) -> Self {
        Self {
            fail_open_why: status.fail_open.why.clone(),
            guard: status.guard.clone(),
            counters: counters(status),
            telemetry: sources(status),
            set_aside: set_aside(status),
            ..Self::default()
        }
    }
}

fn counters(status: &Status) -> Counters {
    let packets = &status.packets;
    Counters {
        received_bytes: packets.received_bytes,
        unread_bytes: packets.unread_bytes,
        losses: packets.losses,
        lapses: status.hold.lapses,
        addresses_contested: packets.counted[Counter::AddressesContested],
        calls_refused: packets.counted[Counter::CallsRefused],
    }
}

fn sources(status: &Status) -> Vec<Source> {
    let source = |source: &SourceStatus| Source {
        name: source.name.clone(),
        silent_s: source.age_s.unwrap_or(status.uptime_s),
        interval_s: source.interval_s,
        error: source.error.clone(),
    };
    status.telemetry.iter().map(source).collect()
}

fn set_aside(status: &Status) -> Vec<SetAside> {
    let stations = status.stations.iter().filter_map(|station| Some((station, station.reported.as_ref()?)));
    let set_aside = stations.filter(|(_, reported)| reported.set_aside).map(|(station, reported)| SetAside {
        station: station.name.clone().unwrap_or_else(|| station.mac.clone()),
        rate_mbps: reported.transmit_mbps,
        source: reported.source.clone(),
    });
    set_aside.collect()
}

/// A telemetry source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// Its kind and address.
    pub name: String,
    /// Seconds since its last answer, or since the box started.
    pub silent_s: f64,
    /// Seconds between two polls.
    pub interval_s: f64,
    /// Error of the last poll.
    pub error: Option<String>,
}

/// A station whose reported rate is set aside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetAside {
    /// Its name, or else its MAC address.
    pub station: String,
    /// Reported PHY rate toward it, in Mb/s.
    pub rate_mbps: Option<f64>,
    /// The source of the report.
    pub source: String,
}

/// Counters of the last minute.
#[derive(Debug, Default)]
pub(super) struct Recent(VecDeque<Counters>);

impl Recent {
    /// Counts of the last minute. Counters that were reset count as zero.
    pub(super) fn add(&mut self, now: Counters) -> Counters {
        if self.0.len() > WINDOW {
            self.0.pop_front();
        }
        self.0.push_back(now);
        let then = self.0.front().copied().unwrap_or(now);
        let mut losses = Losses::default();
        for (reason, packets) in now.losses.iter() {
            losses[reason] = packets.saturating_sub(then.losses[reason]);
        }
        Counters {
            received_bytes: now.received_bytes.saturating_sub(then.received_bytes),
            unread_bytes: now.unread_bytes.saturating_sub(then.unread_bytes),
            losses,
            lapses: now.lapses.saturating_sub(then.lapses),
            addresses_contested: now.addresses_contested.saturating_sub(then.addresses_contested),
            calls_refused: now.calls_refused.saturating_sub(then.calls_refused),
        }
    }
}
