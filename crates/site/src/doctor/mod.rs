//! Problems of a box on this machine, and how to fix them.
//!
//! [`examine`] only reads: the kernel's state of the interfaces, kernel settings, the output of `tc`, `ip` and `bridge`
//! (iproute2) about other programs on the path, and the telemetry sources, which it polls. State that it cannot
//! determine is reported as unknown.

mod host;
mod io;
mod lasting;
mod losses;
mod path;
mod ports;
mod router;
mod run;
mod telemetry;

use std::fmt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use evenair_api::health::{Code, HealthStatus, Level, Reason};
use evenair_api::{DomainStatus, GuardState, GuardStatus, Mode, PacketStatus, ProbeState, Status};
use evenair_boxfile::BoxConfig;
use evenair_client::control::Client;
use evenair_config::BrokenAggregates;
use evenair_reader::ConfigError;
use serde::{Deserialize, Serialize};

pub use run::not_inserted;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No problem.
    Fine,
    /// The state could not be determined.
    Unknown,
    /// The box works, but worse than it could, or not after certain events.
    Warning,
    /// The box does not start, or does harm.
    Wrong,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The checked subject, in a word or two.
    pub subject: String,
    /// Its severity.
    pub verdict: Verdict,
    /// The result, as text.
    pub found: String,
    /// The remedy, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

impl Finding {
    fn fine(subject: &str, found: impl fmt::Display) -> Self {
        Self { subject: subject.into(), verdict: Verdict::Fine, found: found.to_string(), mend: None }
    }

    fn unknown(subject: &str, why: impl fmt::Display) -> Self {
        Self { subject: subject.into(), verdict: Verdict::Unknown, found: why.to_string(), mend: None }
    }

    fn warning(subject: &str, found: impl fmt::Display, mend: impl fmt::Display) -> Self {
        Self {
            subject: subject.into(),
            verdict: Verdict::Warning,
            found: found.to_string(),
            mend: Some(mend.to_string()),
        }
    }

    fn wrong(subject: &str, found: impl fmt::Display, mend: impl fmt::Display) -> Self {
        Self { verdict: Verdict::Wrong, ..Self::warning(subject, found, mend) }
    }
}

/// Examines this machine for a box with the configuration in `file`. Findings come in the order in which to fix them.
pub fn examine(file: &Path) -> Vec<Finding> {
    let mut findings = host::examine();
    match BoxConfig::load(file) {
        Ok(config) => {
            findings.push(Finding::fine("configuration", format!("{} can be used", file.display())));
            findings.extend(examine_for(&config));
        }
        Err(error @ ConfigError::Read { .. }) => {
            findings.push(Finding::wrong("configuration", error, "write it by sudo evenair init --apply, or by hand: docs/box.md (/usr/share/doc/evenair/box.md) has one that is enough"));
        }
        Err(error) => findings.push(Finding::wrong("configuration", error, "correct these lines of the file")),
    }
    findings
}

/// Whether the settings fit access points that aggregate.
fn aggregates(config: &BoxConfig) -> Option<Finding> {
    let warning = |_| Finding::warning("controller", BrokenAggregates::FOUND, BrokenAggregates::MEND);
    config.broken_aggregates().map(warning)
}

/// Whether traffic would continue without the running box.
fn fail_open(status: &Status) -> Finding {
    const SUBJECT: &str = "fail-open";
    if status.fail_open.available {
        return Finding::fine(SUBJECT, "the bridge can carry the traffic");
    }
    let why = status.fail_open.why.join("; and ");
    Finding::wrong(SUBJECT, format!("lost, the traffic is carried by: {}; {why}", status.carrier), "mend the bridge")
}

/// Whether the box's guard has detected harm.
fn guard(guard: &GuardStatus) -> Option<Finding> {
    const SUBJECT: &str = "guard";
    const MEND: &str = "look between the box and the access points for what delays frames in batches or by chance: an overloaded \
                        switch, a tunnel to a controller, a wireless bridge, energy saving of a port (EEE), a rate set for a station \
                        that is too low; then run: evenair insert, or wait for the guard's next trial. Where that cannot be mended, a larger latency target may do";
    let before = guard.before_mbps.map_or_else(String::new, |before| format!(" of {before:.1} Mb/s before"));
    let now = format!("{:.1} Mb/s{before}", guard.now_mbps);
    let next = guard.next_try_s.map_or_else(String::new, |next| format!("; it tries again in {next:.0} s"));
    match guard.state {
        GuardState::Bypassed => Some(Finding::wrong(
            SUBJECT,
            format!(
                "the box has bypassed itself {:.0} s ago, because much more was carried without it; now {now} are carried by the bridge{next}",
                guard.since_s
            ),
            MEND,
        )),
        GuardState::Trying => Some(Finding::warning(
            SUBJECT,
            format!(
                "the box, which had bypassed itself, was inserted again {:.0} s ago, to see whether it may help now: it carries {now}",
                guard.since_s
            ),
            MEND,
        )),
        GuardState::Loosened => Some(Finding::warning(
            SUBJECT,
            format!("the box has held nothing for {:.0} s, to see what is carried: it carries {now}", guard.since_s),
            MEND,
        )),
        GuardState::Watching if guard.bypasses > 0 => Some(Finding::warning(
            SUBJECT,
            format!("the box has bypassed itself {} times since it started", guard.bypasses),
            MEND,
        )),
        GuardState::Watching => None,
    }
}

/// Proportion of unreadable traffic, whose stations and flows the box cannot see, from which on it is a warning.
const UNREAD: f64 = 0.1;

/// The proportion of traffic that the box cannot read.
fn unread(packets: &PacketStatus) -> Finding {
    const SUBJECT: &str = "unmanaged traffic";
    let found = format!(
        "{:.1} % of the traffic cannot be read (neither IP nor a known protocol of the network, or an unknown or encrypted tunnel)",
        packets.unread() * 100.0
    );
    if packets.unread() < UNREAD {
        return Finding::fine(SUBJECT, found);
    }
    let mend = "stations inside of such frames share one queue: put the box where the traffic is plain IP, PPPoE, MPLS, GRE, VXLAN or \
                unencrypted CAPWAP, or have the access points bridge locally";
    Finding::warning(SUBJECT, found, mend)
}

/// The health reasons of the running box, without those that are examined here anyway.
fn health(health: &HealthStatus) -> Vec<Finding> {
    const EXAMINED: [Code; 3] = [Code::NoFailOpen, Code::GuardBypassed, Code::UnmanagedTraffic];
    let reasons = health.reasons.iter().filter(|reason| !EXAMINED.contains(&reason.code));
    let finding = |reason: &Reason| Finding::warning(reason.code.word(), &reason.sentence, &reason.remedy);
    reasons
        .map(|reason| match reason.level {
            Level::Bad => Finding { verdict: Verdict::Wrong, ..finding(reason) },
            Level::Good | Level::Watch => finding(reason),
        })
        .collect()
}

/// Proportion of unacknowledged traffic from which on a short backlog is hard to keep without completions.
const UNACKNOWLEDGED: f64 = 0.25;

/// The kind of path detected in a contention domain where packets are held.
fn found_path(domain: &DomainStatus) -> Option<Finding> {
    let path = domain.path.as_ref()?;
    let subject = format!("path to {}", domain.name);
    let unacknowledged = path.unacknowledged.unwrap_or(0.0);
    let finding = match path.probes {
        ProbeState::Disbelieved if unacknowledged >= UNACKNOWLEDGED => Finding::warning(
            &subject,
            format!("{}; stations answer probes without waiting behind what the box has released", path.in_short()),
            "turn off proxy ARP (ARP suppression, \"multicast optimisation\") at the access points, if they have it; where they queue by \
             station or flow, nothing is to be done: QUIC and other datagrams wait in their queues",
        ),
        ProbeState::Off if unacknowledged >= UNACKNOWLEDGED => {
            Finding::warning(&subject, path.in_short(), "set [manager] probes_per_second = 25")
        }
        _ => Finding::fine(&subject, path.in_short()),
    };
    Some(finding)
}

fn examine_for(config: &BoxConfig) -> Vec<Finding> {
    let mut findings = ports::examine(config);
    findings.extend(host::shards(config.shards));
    findings.extend(aggregates(config));
    findings.extend(io::examine(config));
    let running =
        config.control.as_ref().map(|socket| (socket, Client::connect(socket).and_then(|mut client| client.status())));
    let status = running.as_ref().and_then(|(_, status)| status.as_ref().ok());
    findings.extend(path::examine(config, status));
    findings.extend(config.router.iter().flat_map(|router| router::examine(config, router)));
    findings.extend(lasting::examine(config));
    findings.extend(config.telemetry.iter().map(telemetry::examine));
    let mut reasons = Vec::new();
    if let Some((socket, status)) = running {
        let running = match status {
            Ok(status) => {
                findings.push(fail_open(&status));
                let history = config.history.as_ref().map(|history| history.path.as_path());
                let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
                findings.push(losses::examine(&status, history, now_s));
                findings.push(unread(&status.packets));
                findings.extend(guard(&status.guard));
                let not_inserted = run::examine(&status);
                let is_said = |finding: &Finding| not_inserted.is_some() && finding.subject == Code::NotManaging.word();
                reasons.extend(status.health.iter().flat_map(health).filter(|finding| !is_said(finding)));
                findings.extend(not_inserted);
                let holds = status.mode == Mode::Inserted;
                findings.extend(status.domains.iter().filter(|_| holds).filter_map(found_path));
                let ways = [&status.wlan, &status.wire].map(|port| {
                    let why = port.io_why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
                    format!("{} {}{why}", port.interface, port.io)
                });
                let (socket, ways) = (socket.display(), ways.join("; "));
                format!("one answers at {socket}: {}, up {:.0} s; {ways}", status.mode, status.uptime_s)
            }
            Err(_) => format!("none answers at {}", socket.display()),
        };
        findings.push(Finding::fine("running box", running));
    }
    findings.extend(reasons);
    findings
}

#[cfg(test)]
mod tests {
    use evenair_api::PathStatus;

    use super::*;

    #[test]
    fn a_path_without_completions_is_a_warning_where_probes_do_not_help() {
        let of = |probes, unacknowledged| {
            let path = PathStatus { lag_ms: 2.0, backlog_ms: 3.0, cost: None, unacknowledged, probes };
            found_path(&DomainStatus { name: "default".into(), path: Some(path), ..DomainStatus::default() })
        };
        let verdict = |probes, unacknowledged| of(probes, Some(unacknowledged)).map(|finding| finding.verdict);
        assert_eq!(verdict(ProbeState::Used, 1.0), Some(Verdict::Fine));
        assert_eq!(verdict(ProbeState::Idle, 0.0), Some(Verdict::Fine));
        assert_eq!(verdict(ProbeState::Disbelieved, 0.1), Some(Verdict::Fine));
        assert_eq!(verdict(ProbeState::Disbelieved, 0.9), Some(Verdict::Warning));
        assert_eq!(verdict(ProbeState::Off, 0.9), Some(Verdict::Warning));
        assert_eq!(
            of(ProbeState::Off, None).map(|finding| finding.verdict),
            Some(Verdict::Fine),
            "unknown is no fault"
        );
        let found = of(ProbeState::Used, Some(0.4)).expect("a finding").found;
        assert_eq!(
            found,
            "path: 2.0 ms of lag, 3.0 ms of backlog, 40 % of the airtime without completions; probes: used"
        );
        assert_eq!(found_path(&DomainStatus::default()), None);
    }

    #[test]
    fn reasons_of_a_running_box_are_findings() {
        let reason = |code: Code| Reason { code, level: code.level(), sentence: code.to_string(), ..Reason::default() };
        let codes = [Code::NoFailOpen, Code::Starving, Code::SlowLink];
        let found = health(&HealthStatus::of(codes.map(reason).into()));
        let found: Vec<_> = found.iter().map(|finding| (finding.subject.as_str(), finding.verdict)).collect();
        assert_eq!(
            found,
            [("starving", Verdict::Wrong), ("slow-link", Verdict::Warning)],
            "fail-open is examined anyway"
        );
    }

    #[test]
    fn a_service_rate_before_access_points_that_aggregate_is_a_warning() {
        let of = |standard: &str, kind: &str| {
            let text = format!(
                "[ports]\nwlan = \"eth1\"\nwire = \"eth0\"\n[radio]\nstandard = \"{standard}\"\n\
                 [manager.controller]\nkind = \"{kind}\"\n"
            );
            aggregates(&BoxConfig::parse(&text, "box.toml").unwrap_or_else(|error| panic!("{error}")))
        };
        let finding = of("802.11ac", "published").expect("a finding");
        assert_eq!(finding.verdict, Verdict::Warning);
        assert!(finding.found.contains("aggregates"), "{finding:?}");
        assert!(finding.mend.is_some_and(|mend| mend.contains("the default")));
        assert_eq!((of("802.11ac", "queue"), of("802.11g", "published")), (None, None));
    }

    #[test]
    fn traffic_that_cannot_be_read_is_a_warning_where_it_is_much() {
        let of =
            |unread_bytes| unread(&PacketStatus { received_bytes: 1_000, unread_bytes, ..PacketStatus::default() });
        assert_eq!((of(99).verdict, of(100).verdict), (Verdict::Fine, Verdict::Warning));
        assert!(of(994).found.starts_with("99.4 % of the traffic"), "{}", of(994).found);
        assert_eq!(unread(&PacketStatus::default()).verdict, Verdict::Fine, "nothing came yet");
    }

    #[test]
    fn a_bypass_by_the_guard_is_wrong_and_by_an_operator_is_not() {
        let guard_of = |state, bypasses| GuardStatus {
            state,
            since_s: 12.0,
            before_mbps: Some(20.0),
            now_mbps: 19.5,
            bypasses,
            next_try_s: (state == GuardState::Bypassed).then_some(48.0),
            ..GuardStatus::default()
        };
        let verdict = |state, bypasses| guard(&guard_of(state, bypasses)).map(|finding| finding.verdict);
        assert_eq!(verdict(GuardState::Watching, 0), None);
        assert_eq!(
            (verdict(GuardState::Watching, 1), verdict(GuardState::Loosened, 0)),
            (Some(Verdict::Warning), Some(Verdict::Warning))
        );
        assert_eq!(verdict(GuardState::Trying, 1), Some(Verdict::Warning));
        let finding = guard(&guard_of(GuardState::Bypassed, 1)).expect("a finding");
        assert_eq!(finding.verdict, Verdict::Wrong);
        assert!(finding.found.contains("12 s ago") && finding.found.contains("19.5 Mb/s of 20.0"), "{finding:?}");
        assert!(finding.found.ends_with("it tries again in 48 s"), "{finding:?}");
        assert!(finding.mend.is_some_and(|mend| mend.contains("evenair insert")));
    }
}
