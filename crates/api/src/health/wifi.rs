//! Conditions of the medium, by contention domain: starving stations, stations that hold the air, and latency.
//!
//! They need a manager that sees the traffic: there are none while the box is bypassed.

use super::limits::Limits;
use super::means::{Mean, Means};
use super::reason::{Code, Finding, Subject, SubjectKind};
use crate::Mode;
use crate::watch::{Domain, Line, Source, Station, Times};

/// Minimum number of packets per second of a station to evaluate its wait.
const TIMED_OF_STATION: u64 = 5;
/// Minimum number of packets per second of a contention domain: fewer may be those of sleeping stations, which answer at
/// their next beacon.
const TIMED_OF_DOMAIN: u64 = 20;
/// Replaces an infinite degree.
const FAR: f64 = 1e3;
/// Maximum number of names in a sentence, if at least two more are omitted.
const NAMED: usize = 3;
/// Maximum number of stations that a reason lists: enough to mark the rows of a page.
const LISTED: usize = 32;
/// A station holds the air with the largest one if it has at least this part of that one's airtime...
const CLOSE: f64 = 0.6;
/// ... and at least this many equal shares.
const SEVERAL_SHARES: f64 = 1.5;
/// Remedy for an observing box.
const INSERT: &str =
    "run evenair insert on the box: it then shares the air and holds the queues; evenair observe undoes it";

/// Context of the findings of a second.
pub(super) struct Known<'a> {
    pub(super) limits: &'a Limits,
    /// Means for the sentences.
    pub(super) means: &'a Means,
    /// Whether a station, by MAC address, has a reason of this code.
    pub(super) is_raised: &'a dyn Fn(Code, &str) -> bool,
}

/// A contention domain with its active stations.
struct Scene<'a> {
    domain: &'a Domain,
    active: Vec<&'a Station>,
    /// Charged part of the second.
    air: f64,
    /// Goodput of the active stations, sum of their means, in Mb/s.
    mean_mbps: f64,
    mode: Mode,
    limits: &'a Limits,
    known: &'a Known<'a>,
}

/// Findings of all domains.
pub(super) fn findings(line: &Line, known: &Known) -> Vec<Finding> {
    let mode = line.totals.as_ref().map(|totals| totals.mode).unwrap_or_default();
    let (domains, stations) = (line.domains.iter().flatten(), line.stations.as_deref().unwrap_or_default());
    let scenes = domains.filter_map(|domain| Scene::of(domain, stations, mode, known));
    scenes.flat_map(|scene| scene.findings()).collect()
}

impl<'a> Scene<'a> {
    fn of(domain: &'a Domain, stations: &'a [Station], mode: Mode, known: &'a Known<'a>) -> Option<Self> {
        let is_here = |station: &&Station| station.domain == domain.name && station.active == Some(true);
        let active: Vec<_> = stations.iter().filter(is_here).collect();
        let parts = [domain.air_down, domain.air_up, domain.air_group].map(|part| part.value);
        let is_known = parts.iter().any(Option::is_some);
        let air = if is_known {
            parts.iter().flatten().sum()
        } else {
            active.iter().map(|station| air_of(station)).sum::<f64>()
        };
        let (limits, mean_mbps) = (known.limits, active.iter().map(|one| known.means.of_station(&one.mac).mbps).sum());
        let sees_traffic = mode == Mode::Inserted || mode == Mode::Observing;
        sees_traffic.then_some(Self { domain, active, air, mean_mbps, mode, limits, known })
    }

    fn findings(&self) -> Vec<Finding> {
        let mut found: Vec<_> = self.active.iter().filter_map(|station| self.starving(station)).collect();
        let latency = self.latency();
        let is_beyond = |finding: &Finding| finding.degree.is_some_and(|degree| degree > 1.0);
        let others_suffer = found.iter().any(is_beyond)
            || latency.as_ref().is_some_and(is_beyond)
            || self.active.iter().any(|station| (self.known.is_raised)(Code::Starving, &station.mac));
        let is_latency_unknown = latency.as_ref().is_some_and(|finding| finding.degree.is_none());
        if others_suffer || is_latency_unknown {
            // A holder leaves others so little that in some seconds too few of their packets are timed.
            let holders = self.active.iter().filter_map(|station| Some((station, self.holds_the_air(station)?)));
            found.extend(holders.map(|(station, degree)| Finding {
                degree: others_suffer.then_some(degree),
                ..self.holder_in_words(station)
            }));
        }
        found.extend(self.active.iter().filter_map(|station| self.slow_link(station)));
        found.extend(self.crowded());
        found.extend(latency);
        found
    }

    /// An active station whose packets wait, and which gets far less than an equal share of a busy medium.
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
        // While observing, charged airtime by assumed rates is only an estimate; goodput is measured.
        let observes = self.mode == Mode::Observing;
        let short = if observes { below(rate, mean) } else { below(air, equal) };
        let busy = self.air / self.limits.busy_air;
        let wait = wait_ms(station);
        let degree = wait.map(|wait| (wait / self.limits.starving_wait_ms).min(short).min(busy));
        if short.min(busy) < 0.8 {
            return None;
        }
        Some(Finding { degree, ..self.starving_in_words(station) })
    }

    /// Sentence about a starving station, with means.
    fn starving_in_words(&self, station: &Station) -> Finding {
        let (name, place, Mean { air, mbps: rate, .. }) = (name_of(station), place(self.domain), self.mean(station));
        let mean = self.mean_mbps / self.active.len().max(1) as f64;
        let observes = self.mode == Mode::Observing;
        let share = if !observes && air > 1e-3 && rate > 0.0 { rate * self.equal(station) / air } else { mean };
        let remedy = if observes {
            INSERT.into()
        } else {
            format!(
                "see in evenair top who holds the air, and give that station a class with a ceiling, or {name} a larger weight"
            )
        };
        let of = if observes {
            format!("the mean of the active stations of {place}")
        } else {
            format!("an equal share of {place}")
        };
        Finding {
            code: Code::Starving,
            subject: subject(station),
            value: rate,
            limit: share * self.limits.starving_share,
            unit: "Mb/s",
            sentence: format!("{name} starves: it gets {rate:.1} Mb/s, and {of} is {share:.1} Mb/s"),
            remedy,
            ..Finding::default()
        }
    }

    /// Airtime of a station relative to the limit, if it takes several times as much as each of the others, by weight; also below
    /// the limit while it is a reason, whose sentence has present values.
    fn holds_the_air(&self, station: &Station) -> Option<f64> {
        let degree = (air_of(station) / self.limits.held_air).min(self.times(station) / self.limits.held_times);
        let is_one = degree > 1.0 || (self.known.is_raised)(Code::HoldsTheAir, &station.mac);
        (self.active.len() >= 3 && is_one).then_some(degree)
    }

    /// Sentence about a station that holds the air, with means: starving and waiting stations, and other holders.
    fn holder_in_words(&self, station: &'a Station) -> Finding {
        let holders = self.holders(station);
        let (starving, waiting) = self.suffering(&holders);
        let (name, air) = (name_of(station), self.mean(station).air);
        let all: f64 = holders.iter().map(|holder| self.mean(holder).air).sum();
        let hold = format!(
            "{} {} {:.0} % of the air of {}",
            listed(&holders),
            if holders.len() == 1 { "holds" } else { "hold" },
            all * 100.0,
            place(self.domain)
        );
        let sentence = match (starving.as_slice(), waiting.as_slice()) {
            ([], []) => format!("{hold}, while others wait long"),
            ([], waiting) => format!("{} {} long: {hold}", listed(waiting), verb(waiting, "wait")),
            (starving, []) => format!("{} {}: {hold}", listed(starving), verb(starving, "starve")),
            (starving, waiting) => format!(
                "{} {}, and {} more {} long: {hold}",
                listed(starving),
                verb(starving, "starve"),
                waiting.len(),
                verb(waiting, "wait")
            ),
        };
        let remedy = if self.mode == Mode::Observing {
            INSERT.into()
        } else {
            format!("give {name} a smaller weight ([[station]]) or a class with a ceiling ([[manager.class]])")
        };
        Finding {
            code: Code::HoldsTheAir,
            subject: subject(station),
            value: air * 100.0,
            limit: self.limits.held_air * 100.0,
            unit: "%",
            sentence,
            remedy,
            with: holders.iter().filter(|holder| holder.mac != station.mac).map(|holder| subject(holder)).collect(),
            suffering: starving.iter().chain(&waiting).take(LISTED).map(|station| subject(station)).collect(),
            starves: !starving.is_empty(),
            ..Finding::default()
        }
    }

    /// A station that holds the air and those that hold nearly as much, the largest first.
    fn holders(&self, first: &'a Station) -> Vec<&'a Station> {
        let most = self.mean(first).air;
        let is_close = |other: &&&Station| {
            let air = self.mean(other).air;
            other.mac != first.mac && air >= CLOSE * most && air >= SEVERAL_SHARES * self.equal(other)
        };
        let mut holders: Vec<_> = self.active.iter().filter(is_close).copied().chain([first]).collect();
        holders.sort_by(|a, b| self.mean(b).air.total_cmp(&self.mean(a).air));
        holders
    }

    /// Starving stations, and those that wait long and have less than an equal share; each those with the least airtime first.
    fn suffering(&self, holders: &[&Station]) -> (Vec<&'a Station>, Vec<&'a Station>) {
        let is_other = |station: &&&Station| holders.iter().all(|holder| holder.mac != station.mac);
        let mut others: Vec<_> = self.active.iter().filter(is_other).copied().collect();
        others.sort_by(|a, b| self.mean(a).air.total_cmp(&self.mean(b).air));
        let (starving, others): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|station| (self.known.is_raised)(Code::Starving, &station.mac));
        let waits = |station: &&Station| {
            let Mean { air, in_box_ms, wlan_ms, timed, .. } = self.mean(station);
            let wait_ms = in_box_ms.into_iter().chain(wlan_ms).fold(0.0, f64::max);
            let is_known = timed >= TIMED_OF_STATION as f64;
            is_known && air < self.equal(station) && wait_ms > self.limits.wifi_latency_ms
        };
        (starving, others.into_iter().filter(waits).collect())
    }

    fn mean(&self, station: &Station) -> Mean {
        self.known.means.of_station(&station.mac)
    }

    /// A station's equal share of the airtime by weight, in the mean.
    fn equal(&self, station: &Station) -> f64 {
        self.known.means.of_domain(&self.domain.name).air * f64::from(station.weight) / self.weights().max(1.0)
    }

    /// Ratio of a station's airtime to that of each of the others, by weight.
    fn times(&self, station: &Station) -> f64 {
        let (air, weight) = (air_of(station), f64::from(station.weight));
        let mean = (self.air - air).max(0.0) / (self.weights() - weight).max(1.0) * weight;
        (air / mean.max(1e-6)).min(FAR)
    }

    /// A station with a low reported PHY rate that takes much of a busy medium, or holds the air. Beside an inserted box,
    /// one that has its share slows no other.
    fn slow_link(&self, station: &Station) -> Option<Finding> {
        let rate = reported_rate(station)?;
        let fastest = self.active.iter().filter_map(|other| reported_rate(other)).fold(0.0, f64::max);
        let air = air_of(station);
        let slow = self.limits.slow_rate * fastest / rate;
        let shares = self.mode == Mode::Inserted;
        let beyond_share = if shares { self.times(station) / self.limits.held_times } else { FAR };
        // A station that holds the air slows others, even if collisions or losses leave the charged part below that of a busy medium.
        let busy = (self.air / self.limits.busy_air).max(air / self.limits.held_air);
        let degree = slow.min(air / self.limits.slow_air).min(busy).min(beyond_share);
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
                self.mean(station).air * 100.0,
                place(self.domain)
            ),
            remedy: format!("bring {name} nearer to its access point, or to one with a better signal"),
            ..Finding::default()
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
            ..Finding::default()
        })
    }

    fn latency(&self) -> Option<Finding> {
        let times = self.domain.latency.wlan?;
        let p95 = self.known.means.of_domain(&self.domain.name).wlan_ms.unwrap_or(times.p95_ms);
        let remedy = if self.mode == Mode::Observing {
            INSERT.into()
        } else {
            "lower [manager.controller] target, so that less waits in the access point; look for old or distant stations in evenair top"
                .into()
        };
        Some(Finding {
            code: Code::WifiLatency,
            subject: Subject::named(SubjectKind::Domain, &self.domain.name),
            degree: (times.packets >= TIMED_OF_DOMAIN).then_some(times.p95_ms / self.limits.wifi_latency_ms),
            value: p95,
            limit: self.limits.wifi_latency_ms,
            unit: "ms",
            sentence: format!(
                "5 of 100 packets of {} take {p95:.0} ms or more over the WLAN and back",
                place(self.domain)
            ),
            remedy,
            ..Finding::default()
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

/// Latency of a station's packets over the WLAN in milliseconds: as timed, and, if packets are held, by Little's law; `None` if too
/// few were timed.
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

/// Phrase for a contention domain in a sentence.
fn place(domain: &Domain) -> &str {
    if domain.name == "default" { "the WLAN" } else { &domain.name }
}

/// Names in a sentence, shortened if there are many.
fn listed(stations: &[&Station]) -> String {
    let named = if stations.len() > NAMED + 1 { NAMED } else { stations.len() };
    let mut names: Vec<String> = stations[..named].iter().map(|station| name_of(station).to_owned()).collect();
    if named < stations.len() {
        names.push(format!("{} more", stations.len() - named));
    }
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}

/// The verb for these stations: one waits, several wait.
fn verb(stations: &[&Station], plural: &str) -> String {
    if stations.len() == 1 { format!("{plural}s") } else { plural.into() }
}
