//! Stations and servers: groups expanded, names resolved.

use std::collections::BTreeMap;
use std::fmt;

use evenair_config::ManagerSpec;
use evenair_reader::{Count, List, OrDefault, PerBillion, Problems, Written, closest, did_you_mean};
use evenair_units::Span;

use super::rates::Rates;
use super::{access_points, beacons, radio};
use crate::raw::{ScenarioRaw, ServerRaw, StationRaw};
use crate::words::At;
use crate::{AccessPoint, Host, Link, Place};

/// Maximum number of stations in a scenario: about as many as one access point may associate (IEEE Std 802.11-2016,
/// 9.4.1.8: 2007), rounded. The testbed has its own limit.
const MAX_STATIONS: usize = 2000;
/// Maximum number of servers in a scenario.
const MAX_SERVERS: usize = 50;

/// All hosts, and the meaning of each name.
pub(super) struct Hosts {
    /// In the order of the file.
    pub list: Vec<Host>,
    /// Hosts by name: a host's own, or the members of a group.
    names: BTreeMap<String, Vec<usize>>,
}

/// Kind of host that a list may name.
#[derive(Clone, Copy)]
enum Kind {
    Station,
    Server,
}

impl Kind {
    fn is_of(self, host: &Host) -> bool {
        host.place.is_station() == matches!(self, Self::Station)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Station => "station",
            Self::Server => "server",
        })
    }
}

pub(super) fn check(raw: &ScenarioRaw, access_points: &[AccessPoint], rates: &Rates, problems: &mut Problems) -> Hosts {
    let mut hosts = Hosts { list: Vec::new(), names: BTreeMap::new() };
    for station in &raw.station {
        let access_point = access_points::of_station(station, access_points, problems);
        let place = station_place(station, access_point, rates, &raw.manager, problems);
        let count = station.count.as_ref().map(|count| count.get(problems).unwrap_or(Count(1)));
        hosts.add(&station.name, count, place, problems);
    }
    let stations = hosts.list.len();
    if stations > MAX_STATIONS {
        let span = raw.station.last().map_or(0..0, |station| station.name.span());
        let what = format!("with this there are {stations} stations, too many");
        problems.add(span, what, format!("up to {MAX_STATIONS}"));
    }
    access_points::check_names(raw, &hosts, problems);
    check_places(raw, problems);
    if raw.station.is_empty() {
        problems.add(0..0, "there is no station", "at least one [[station]]");
    }
    for server in &raw.server {
        hosts.add_server(server, raw.wan.is_some(), problems);
    }
    if raw.server.len() > MAX_SERVERS {
        let span = raw.server[MAX_SERVERS].name.span();
        problems.add(span, "too many servers", format!("up to {MAX_SERVERS}"));
    }
    hosts
}

impl Hosts {
    fn add_server(&mut self, raw: &ServerRaw, has_wan: bool, problems: &mut Problems) {
        let place = match raw.at.get_or(At::Lan, problems) {
            Some(At::Wan) => Place::Wan,
            Some(At::Lan) | None => Place::Lan,
        };
        if place == Place::Wan && !has_wan {
            problems.add(raw.at.place(), "there is no Internet link", "[wan.down] and [wan.up], or at = \"lan\"");
        }
        self.add(&raw.name, None, place, problems);
        let delay = raw.delay.get_or(Span::ZERO, problems).unwrap_or_default();
        let jitter = raw.jitter.get_or(Span::ZERO, problems).unwrap_or_default();
        if let Some(server) = self.list.last_mut().filter(|host| host.place == Place::Wan) {
            (server.delay, server.jitter) = (delay, jitter);
        }
    }

    fn add(&mut self, written: &Written<String>, count: Option<Count>, place: Place, problems: &mut Problems) {
        let Some(name) = evenair_reader::name(written, problems) else { return };
        let names = members(&name, count.map(|count| count.0));
        for known in names.iter().chain([&name]) {
            if self.names.contains_key(known) {
                let what = format!("a host or group named \"{known}\" is there already");
                problems.add(written.span(), what, "another name");
                return;
            }
        }
        let first = self.list.len();
        for (i, member) in names.iter().enumerate() {
            self.names.insert(member.clone(), vec![first + i]);
            self.list.push(Host { name: member.clone(), place, delay: Span::ZERO, jitter: Span::ZERO });
        }
        self.names.insert(name, (first..self.list.len()).collect());
    }

    /// The stations that a list names, with groups expanded, each once.
    pub fn stations(&self, list: &List<String>, problems: &mut Problems) -> Vec<usize> {
        let mut stations = Vec::new();
        for (written, name) in list.items().iter().zip(list.get(problems).unwrap_or_default()) {
            let Some(members) = self.find(written, &name, Kind::Station, problems) else {
                continue;
            };
            for &member in members {
                if stations.contains(&member) {
                    let what = format!("station \"{}\" is in this list twice", self.list[member].name);
                    problems.add(written.span(), what, "each station once");
                    break;
                }
                stations.push(member);
            }
        }
        stations
    }

    /// Hosts of this name: one host, or the members of a group.
    pub fn group(&self, name: &str) -> &[usize] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    /// The server of this name.
    pub fn server(&self, written: &Written<String>, problems: &mut Problems) -> Option<usize> {
        let name = written.get(problems)?;
        let found = self.find(written, &name, Kind::Server, problems)?;
        found.first().copied()
    }

    /// Index of the station of this name; reports no error.
    pub fn station_named(&self, name: &str) -> Option<usize> {
        let members = self.names.get(name)?;
        members.iter().copied().find(|&member| self.list[member].name == name && self.list[member].place.is_station())
    }

    /// The count with which a group of stations would have a member of this name; `None` if there is no such group.
    pub fn missing_member(&self, name: &str) -> Option<String> {
        let group = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: usize = name[group.len()..].parse().ok()?;
        let is_group = self.station_named(&format!("{group}1")).is_some() && self.station_named(group).is_none();
        let lacks = is_group && (self.group(group).len() + 1..=MAX_STATIONS).contains(&number);
        lacks.then(|| format!("station.{group}.count = {number} or more"))
    }

    fn find(&self, written: &Written<String>, name: &str, kind: Kind, problems: &mut Problems) -> Option<&[usize]> {
        let fitting = || self.names.iter().filter(|(_, members)| kind.is_of(&self.list[members[0]]));
        let Some(members) = self.names.get(name) else {
            if let Some(allowed) = self.missing_member(name).filter(|_| matches!(kind, Kind::Station)) {
                let what = format!("there is no station \"{name}\" in its group");
                problems.add(written.span(), what, format!("{allowed}, or another station here"));
                return None;
            }
            let names: Vec<_> = fitting().map(|(name, _)| name.as_str()).collect();
            let hint = did_you_mean(closest(name, names.iter().copied()));
            let what = format!("there is no {kind} \"{name}\"{hint}");
            problems.add(written.span(), what, listing(&names));
            return None;
        };
        if !kind.is_of(&self.list[members[0]]) {
            let names: Vec<_> = fitting().map(|(name, _)| name.as_str()).collect();
            problems.add(written.span(), format!("\"{name}\" is not a {kind}"), listing(&names));
            return None;
        }
        Some(members)
    }
}

/// The place of a station, or of all stations of its group.
fn station_place(
    raw: &StationRaw,
    access_point: usize,
    rates: &Rates,
    manager: &ManagerSpec,
    problems: &mut Problems,
) -> Place {
    // A placeholder, so that later checks know the name.
    let rate = rates.of_station(raw, problems).unwrap_or(Rates::stand_in());
    let weight = manager.station_weight(&raw.weight, problems).unwrap_or(1);
    let class = raw.class.as_ref().and_then(|written| {
        let id = manager.class_id(&written.get(problems)?);
        if id.is_none() {
            problems.add(written.span(), format!("there is no class {written}"), "a name in [[manager.class]]");
        }
        id
    });
    Place::Station { rate, weight, class, access_point, link: link(raw, problems) }
}

/// How a station and its access point receive each other.
fn link(raw: &StationRaw, problems: &mut Problems) -> Link {
    let loss = raw.loss.get_or(PerBillion(0), problems).unwrap_or(PerBillion(0));
    Link {
        loss_per_billion: loss.0,
        snr: raw.snr.as_ref().and_then(|snr| snr.get(problems)),
        position: raw.position.as_ref().and_then(|list| radio::position(list, problems)),
        tx_power: radio::tx_power(&raw.tx_power, problems),
        power_save: beacons::power_save(raw, problems),
        answers_late: raw.answers_late.get_or(Span::ZERO, problems).unwrap_or(Span::ZERO),
    }
}

/// Checks that all stations have positions if one has.
fn check_places(raw: &ScenarioRaw, problems: &mut Problems) {
    if raw.radio.layout.is_some() {
        return;
    }
    let (placed, unplaced): (Vec<_>, Vec<_>) = raw.station.iter().partition(|station| station.position.is_some());
    for station in unplaced.iter().filter(|_| !placed.is_empty()) {
        let what = format!("{} has no position, and others have", station.name);
        problems.add(station.name.span(), what, "position = [\"3 m\", \"-4.5 m\"], or [radio.layout] for all");
    }
    for power in raw.station.iter().filter_map(|station| station.tx_power.as_ref()).filter(|_| placed.is_empty()) {
        problems.add(power.span(), "without places, power has no effect", "[radio.layout] or positions beside it");
    }
}

/// Names of the members of a group; without a count, its own name.
pub(super) fn members(name: &str, count: Option<u32>) -> Vec<String> {
    match count {
        Some(count) => (1..=count).map(|i| format!("{name}{i}")).collect(),
        None => vec![name.to_owned()],
    }
}

/// A list for error messages: long ones are cut.
pub(super) fn listing(names: &[&str]) -> String {
    const SHOWN: usize = 12;
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", names[..names.len().min(SHOWN)].join(", "))
}
