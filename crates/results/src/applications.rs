//! Calls, datagrams and echoes by entry of the scenario: delay, loss and quality of an application in a phase, all its
//! stations together, and both directions of a call.
//!
//! A packet counts in the phase in which it was sent, and in that in which it arrived; those under way at the ends of a
//! phase make its loss inexact. Calls have an exact account of their own, [`CallResult`], from which their loss is taken.

use evenair_scenario::AppKind;
use serde::{Deserialize, Serialize};

use super::stats::{mean, share};
use super::{CallResult, Distribution, PhaseResult, RunResult};

/// What an application sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplicationKind {
    /// Packets of telephone calls.
    Call,
    /// Other datagrams.
    Datagrams,
    /// Echo requests, which the server sends back.
    Echoes,
}

/// The flows of one entry of the scenario in one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApplicationResult {
    /// Name of the entry.
    pub application: String,
    /// What it sends.
    pub kind: ApplicationKind,
    /// Number of flows; each direction of a call is one.
    pub flows: u64,
    /// One-way delays of packets of calls and of datagrams; absent where none arrived or the engine does not measure them.
    pub delay: Option<Distribution>,
    /// Round-trip times of echoes; absent where none came back or the engine does not measure them.
    pub rtt: Option<Distribution>,
    /// Packets or echo requests sent; zero where the engine does not count them.
    pub sent_packets: u64,
    /// Packets that arrived, echoes that came back.
    pub received_packets: u64,
}

/// Loss and quality of an application in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quality {
    /// Lost of sent packets, 0 to 1; absent where none was sent.
    pub loss_rate: Option<f64>,
    /// Mean rating factor R over the directions of calls; absent of others.
    pub r_factor_mean: Option<f64>,
    /// Their least R.
    pub r_factor_min: Option<f64>,
}

impl ApplicationKind {
    /// Of an application that sends packets at its own pace; `None` of those over TCP.
    pub fn of(kind: &AppKind) -> Option<Self> {
        match kind {
            AppKind::Voip(_) => Some(Self::Call),
            AppKind::Udp(_) => Some(Self::Datagrams),
            AppKind::Ping { .. } => Some(Self::Echoes),
            AppKind::Bulk { .. } | AppKind::Flows(_) | AppKind::OnOff(_) | AppKind::Web { .. } => None,
        }
    }

    /// The word for it in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Call => "calls",
            Self::Datagrams => "datagrams",
            Self::Echoes => "echoes",
        }
    }
}

impl ApplicationResult {
    /// Loss and quality in `phase` of `run`, of which it is a part.
    pub fn quality(&self, run: &RunResult, phase: &PhaseResult) -> Quality {
        if self.kind != ApplicationKind::Call {
            let lost = self.sent_packets.saturating_sub(self.received_packets);
            return Quality { loss_rate: part(lost, self.sent_packets), ..Quality::default() };
        }
        let own = |call: &&CallResult| call.phase == phase.name && call.entry == self.application;
        let calls = || run.calls.iter().filter(own).map(|call| &call.heard);
        let ratings = || calls().map(|heard| heard.r_factor);
        Quality {
            loss_rate: part(calls().map(|heard| heard.lost).sum(), calls().map(|heard| heard.sent).sum()),
            r_factor_mean: mean(ratings()),
            r_factor_min: ratings().reduce(f64::min),
        }
    }
}

/// A part of packets; `None` of none.
fn part(packets: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| share(packets as f64, all as f64))
}

#[cfg(test)]
mod tests {
    use evenair_scenario::Scenario;
    use evenair_units::Span;
    use evenair_workload::voice::Heard;

    use super::super::histogram::Times;
    use super::super::period::{FlowPeriod, Period};
    use super::super::tables::application_rows;
    use super::super::{FlowSeries, Series, sample, scalars};
    use super::*;

    const FILE: &str = r#"
version = 1
name = "applications"
title = "Two calls, datagrams, echoes, and a ping that begins later"
duration = "10 s"
[radio]
standard = "802.11b"
[[station]]
name = "phone"
count = 2
rate = "11 Mb/s"
[[server]]
name = "server"
[[voip]]
name = "call"
stations = ["phone"]
server = "server"
[[udp]]
name = "meter"
stations = ["phone1"]
server = "server"
direction = "up"
rate = "100 kb/s"
[[ping]]
name = "ping"
stations = ["phone"]
server = "server"
[[ping]]
name = "later"
stations = ["phone1"]
server = "server"
start = "9 s"
"#;

    fn times(ms: &[u64]) -> Times {
        let mut times = Times::default();
        ms.iter().for_each(|&ms| times.record(Span::from_millis(ms)));
        times
    }

    /// Calls with delays of 10 ms up and 30 ms down; datagrams that all came; of two pings one half is lost, the other nothing.
    fn run() -> RunResult {
        let scenario = Scenario::parse(FILE, "applications.toml").unwrap();
        let apps: Vec<_> = scenario.apps.iter().map(|app| app.name.as_str()).collect();
        let names = ["meter", "call-up1", "call-up2", "call-down1", "call-down2", "ping1", "ping2", "later"];
        assert_eq!(apps, names);
        let counts = [(50, 50), (100, 100), (100, 100), (100, 80), (100, 100), (10, 5), (10, 10), (0, 0)];
        let flow = |(app, (sent, received)): (&evenair_scenario::App, (u64, u64))| FlowSeries {
            sent_packets: vec![sent],
            received_packets: vec![received],
            ..FlowSeries::new(&scenario, app)
        };
        let flows = scenario.apps.iter().zip(counts).map(flow).collect();
        let series = Series { interval_s: 1.0, flows, ..Series::default() };
        let delays = [&[4][..], &[10], &[10], &[30], &[30], &[], &[], &[]];
        let rtts = [&[][..], &[], &[], &[], &[], &[20], &[40], &[]];
        let flows = delays.iter().zip(rtts);
        let flows = flows.map(|(delay, rtt)| FlowPeriod { delay: times(delay), rtt: times(rtt), ..Default::default() });
        let period = Period { intervals: 0..10, flows: flows.collect(), ..Period::default() };
        let phase = &scenario.measure.phases[0];
        let call = |app: usize, lost, r_factor| {
            CallResult::new(
                &scenario,
                &scenario.apps[app],
                phase,
                Heard { sent: 100, lost, r_factor, ..Heard::default() },
            )
        };
        let (_, sample) = sample::two_flows();
        RunResult {
            phases: vec![PhaseResult::average(&scenario, &series, &[period], phase)],
            series,
            calls: vec![call(1, 0, 90.0), call(2, 0, 80.0), call(3, 20, 40.0), call(4, 0, 70.0)],
            ..sample
        }
    }

    #[test]
    fn each_entry_of_the_scenario_has_a_line_and_a_dash_for_what_does_not_exist() {
        let rows = application_rows(&run());
        let line = |number: usize| rows[number][1..].join(" | ");
        assert_eq!(line(2), "call | calls | 4 | 20.0 | 30.0 | - | - | 5.0 % | 70.0 | 40.0");
        assert_eq!(line(1), "meter | datagrams | 1 | 4.0 | 4.0 | - | - | 0.0 % | - | -");
        assert_eq!(line(3), "ping | echoes | 2 | - | - | 20.1 | 40.0 | 25.0 % | - | -");
        assert_eq!(line(4), "later | echoes | 1 | - | - | - | - | - | - | -");
        assert_eq!(rows.len(), 5);
    }

    #[test]
    fn measures_have_the_same_numbers_and_none_for_what_does_not_exist() {
        let list = scalars(&run());
        let own = |entry: &str| -> Vec<(String, f64)> {
            let path = format!("phase.all.application.{entry}.");
            list.iter().filter_map(|(name, value)| Some((name.strip_prefix(&path)?.to_owned(), *value))).collect()
        };
        let value = |entry: &str, end: &str| own(entry).iter().find(|(name, _)| name == end).map(|(_, value)| *value);
        assert_eq!((value("call", "loss_rate"), value("call", "r_factor_mean")), (Some(0.05), Some(70.0)));
        assert_eq!((value("ping", "loss_rate"), value("ping", "delay_mean_ms")), (Some(0.25), None));
        assert!((value("call", "delay_mean_ms").unwrap() - 20.0).abs() < 1e-9);
        assert_eq!(own("later"), []);
    }
}
