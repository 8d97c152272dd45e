//! Conditions of the medium, by contention domain: who starves, who holds the air, how long packets take.
//!
//! They need a manager that sees the traffic: while the box is bypassed there are none.

use super::limits::Limits;
use super::reason::{Code, Finding, Subject, SubjectKind};
use crate::Mode;
use crate::watch::{Domain, Line, Source, Station, Times};

/// Fewer packets of a station in a second say nothing about its wait.
const TIMED_OF_STATION: u64 = 5;
/// Fewer packets of a contention domain in a second are those of sleeping stations, which answer at their next beacon.
const TIMED_OF_DOMAIN: u64 = 20;
/// Stands for degrees that have no bound.
const FAR: f64 = 1e3;

/// A contention domain with its active stations.
struct Scene<'a> {
    domain: &'a Domain,
    active: Vec<&'a Station>,
    /// Charged part of the second.
    air: f64,
    mode: Mode,
    limits: &'a Limits,
}

/// Findings of all domains; `starves`: a station is known to starve, by its MAC address.
pub(super) fn findings(line: &Line, limits: &Limits, starves: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mode = line.totals.as_ref().map(|totals| totals.mode).unwrap_or_default();
    let (domains, stations) = (line.domains.iter().flatten(), line.stations.as_deref().unwrap_or_default());
    let scenes = domains.filter_map(|domain| Scene::of(domain, stations, mode, limits));
    scenes.flat_map(|scene| scene.findings(&starves)).collect()
}

impl<'a> Scene<'a> {
    fn of(domain: &'a Domain, stations: &'a [Station], mode: Mode, limits: &'a Limits) -> Option<Self> {
        let is_here = |station: &&Station| station.domain == domain.name && station.active == Some(true);
        let active: Vec<_> = stations.iter().filter(is_here).collect();
        let parts = [domain.air_down, domain.air_up, domain.air_group].map(|part| part.value);
        let known = parts.iter().any(Option::is_some);
        let air = if known {
            parts.iter().flatten().sum()
        } else {
            active.iter().map(|station| air_of(station)).sum::<f64>()
        };
        (mode == Mode::Inserted || mode == Mode::Observing).then_some(Self { domain, active, air, mode, limits })
    }

    fn findings(&self, starves: &impl Fn(&str) -> bool) -> Vec<Finding> {
        let mut found: Vec<_> = self.active.iter().filter_map(|station| self.starving(station)).collect();
        let latency = self.latency();
        let is_beyond = |finding: &Finding| finding.degree.is_some_and(|degree| degree > 1.0);
        let others_suffer = found.iter().any(is_beyond)
            || latency.as_ref().is_some_and(is_beyond)
            || self.active.iter().any(|station| starves(&station.mac));
        let is_latency_unknown = latency.as_ref().is_some_and(|finding| finding.degree.is_none());
        if others_suffer || is_latency_unknown {
            let holders = self.active.iter().map(|station| self.holds_the_air(station));
            // A holder leaves others so little that in some seconds too few of their packets are timed.
            let degree = |finding: &Finding| finding.degree.filter(|_| others_suffer);
            found.extend(holders.filter(is_beyond).map(|holder| Finding { degree: degree(&holder), ..holder }));
        }
        found.extend(self.active.iter().filter_map(|station| self.slow_link(station)));
        found.extend(self.crowded());
        found.extend(latency);
        found
    }

    /// An active station with packets that wait, which gets far less than an equal share of a busy medium.
    fn starving(&self, station: &Station) -> Option<Finding> {
        if self.active.len() < 2 {
            return None;
        }
        let (air, rate) = (air_of(station), mbps(station));
        let equal = self.air * f64::from(station.weight) / self.weights().max(1.0);
        let mean = self.active.iter().map(|other| mbps(other)).sum::<f64>() / self.active.len() as f64;
        let below = |part: f64, whole: f64| {
            if whole <= 0.0 { 0.0 } else { (self.limits.starving_share * whole / part).min(FAR) }
        };
        // While observing, airtime by assumed rates is an estimate of what others do; goodput is not.
        let observes = self.mode == Mode::Observing;
        let short = if observes { below(rate, mean) } else { below(air, equal) };
        let busy = self.air / self.limits.busy_air;
        let wait = wait_ms(station);
        let degree = wait.map(|wait| (wait / self.limits.starving_wait_ms).min(short).min(busy));
        if short.min(busy) < 0.8 {
            return None;
        }
        let share = if !observes && air > 1e-3 && rate > 0.0 { rate * equal / air } else { mean };
        let name = name_of(station);
        let remedy = if observes {
            "let the box share the air: evenair insert".into()
        } else {
            format!(
                "see in evenair top who holds the air, and give that station a class with a ceiling, or {name} a larger weight"
            )
        };
        Some(Finding {
            code: Code::Starving,
            subject: subject(station),
            degree,
            value: rate,
            limit: share * self.limits.starving_share,
            unit: "Mb/s",
            sentence: match observes {
                true => format!(
                    "{name} gets {rate:.1} Mb/s, where the mean of the active stations of {} is {share:.1} Mb/s",
                    place(self.domain)
                ),
                false => format!(
                    "{name} gets {rate:.1} Mb/s of the {share:.1} Mb/s that an equal share of {} is",
                    place(self.domain)
                ),
            },
            remedy,
        })
    }

    /// A station that takes several times as much of the air as each of the others, by weight.
    fn holds_the_air(&self, station: &Station) -> Finding {
        let air = air_of(station);
        let enough = if self.active.len() >= 3 { FAR } else { 0.0 };
        let degree = (air / self.limits.held_air).min(self.times(station) / self.limits.held_times).min(enough);
        let (name, percent) = (name_of(station), air * 100.0);
        let remedy = if self.mode == Mode::Observing {
            "let the box share the air: evenair insert".into()
        } else {
            format!("give {name} a smaller weight ([[station]]) or a class with a ceiling ([[manager.class]])")
        };
        Finding {
            code: Code::HoldsTheAir,
            subject: subject(station),
            degree: Some(degree),
            value: percent,
            limit: self.limits.held_air * 100.0,
            unit: "%",
            sentence: format!(
                "{name} takes {percent:.0} % of the air of {}, while others wait long",
                place(self.domain)
            ),
            remedy,
        }
    }

    /// How many times the air that each of the others takes, by weight, a station takes.
    fn times(&self, station: &Station) -> f64 {
        let (air, weight) = (air_of(station), f64::from(station.weight));
        let mean = (self.air - air).max(0.0) / (self.weights() - weight).max(1.0) * weight;
        (air / mean.max(1e-6)).min(FAR)
    }

    /// A station with a low reported PHY rate that takes much of a busy medium. Beside an inserted box one that has its share slows no
    /// other down.
    fn slow_link(&self, station: &Station) -> Option<Finding> {
        let rate = reported_rate(station)?;
        let fastest = self.active.iter().filter_map(|other| reported_rate(other)).fold(0.0, f64::max);
        let air = air_of(station);
        let slow = self.limits.slow_rate * fastest / rate;
        let shares = self.mode == Mode::Inserted;
        let beyond_share = if shares { self.times(station) / self.limits.held_times } else { FAR };
        let degree = slow.min(air / self.limits.slow_air).min(self.air / self.limits.busy_air).min(beyond_share);
        let name = name_of(station);
        Some(Finding {
            code: Code::SlowLink,
            subject: subject(station),
            degree: Some(degree),
            value: rate,
            limit: self.limits.slow_rate * fastest,
            unit: "Mb/s",
            sentence: format!(
                "{name} has a PHY rate of {rate:.0} Mb/s where {fastest:.0} Mb/s is possible, and takes {:.0} % of the air of {}",
                air * 100.0,
                place(self.domain)
            ),
            remedy: format!("bring {name} nearer to its access point, or to one with a better signal"),
        })
    }

    /// Medium time that reported PHY rates do not explain, while the medium is busy: others use the channel.
    fn crowded(&self) -> Option<Finding> {
        let is_reported = self.domain.capacity_mbps.source == Source::Reported && !self.active.is_empty();
        let cost = self.domain.air_cost.value.filter(|cost| is_reported && *cost > 1.0)?;
        let unexplained = 1.0 - 1.0 / cost;
        let degree = (unexplained / self.limits.crowded_air).min(self.air / self.limits.busy_air);
        Some(Finding {
            code: Code::ChannelCrowded,
            subject: Subject::named(SubjectKind::Domain, &self.domain.name),
            degree: Some(degree),
            value: unexplained * 100.0,
            limit: self.limits.crowded_air * 100.0,
            unit: "%",
            sentence: format!(
                "{:.0} % of the medium time of packets of {} is more than their reported PHY rates explain",
                unexplained * 100.0,
                place(self.domain)
            ),
            remedy: "choose a channel that other networks use less".into(),
        })
    }

    fn latency(&self) -> Option<Finding> {
        let times = self.domain.latency.wlan?;
        let p95 = times.p95_ms;
        let remedy = if self.mode == Mode::Observing {
            "let the box hold the queues: evenair insert".into()
        } else {
            "lower [manager.controller] target, so that less waits in the access point; look for old or distant stations in evenair top"
                .into()
        };
        Some(Finding {
            code: Code::WifiLatency,
            subject: Subject::named(SubjectKind::Domain, &self.domain.name),
            degree: (times.packets >= TIMED_OF_DOMAIN).then_some(p95 / self.limits.wifi_latency_ms),
            value: p95,
            limit: self.limits.wifi_latency_ms,
            unit: "ms",
            sentence: format!(
                "5 of 100 packets of {} take {p95:.0} ms or more over the WLAN and back",
                place(self.domain)
            ),
            remedy,
        })
    }

    fn weights(&self) -> f64 {
        self.active.iter().map(|station| f64::from(station.weight)).sum()
    }
}

fn air_of(station: &Station) -> f64 {
    station.air_down.value.unwrap_or(0.0) + station.air_up.value.unwrap_or(0.0)
}

fn mbps(station: &Station) -> f64 {
    station.down_mbps.value.unwrap_or(0.0) + station.up_mbps.value.unwrap_or(0.0)
}

fn reported_rate(station: &Station) -> Option<f64> {
    let rate = station.rate_mbps;
    rate.value.filter(|mbps| rate.source == Source::Reported && *mbps > 0.0)
}

/// How long packets of a station take for the WLAN, in milliseconds: as timed, and, where packets are held, by Little's law; `None`:
/// too few were timed to say.
fn wait_ms(station: &Station) -> Option<f64> {
    let timed =
        |times: Option<Times>| times.filter(|times| times.packets >= TIMED_OF_STATION).map(|times| times.p95_ms);
    let released = station.latency.in_box.map_or(0, |times| times.packets);
    let held = (station.held > 0).then(|| 1e3 * station.held as f64 / released.max(1) as f64);
    [timed(station.latency.wlan), timed(station.latency.in_box), held].into_iter().flatten().reduce(f64::max)
}

pub(super) fn name_of(station: &Station) -> &str {
    station.name.as_deref().unwrap_or(&station.mac)
}

pub(super) fn subject(station: &Station) -> Subject {
    Subject { kind: SubjectKind::Station, id: station.mac.clone(), name: name_of(station).into() }
}

/// A contention domain in a sentence.
fn place(domain: &Domain) -> &str {
    if domain.name == "default" { "the WLAN" } else { &domain.name }
}
