//! Events and phases.

use std::collections::BTreeMap;

use evenair_reader::{OrDefault, Problems, Written, name};
use evenair_units::Span;
use evenair_workload::Phase;

use super::access_points;
use super::apps::seconds;
use super::hosts::Hosts;
use super::rates::Rates;
use super::shortened::Length;
use crate::raw::{EventRaw, PhaseRaw, ScenarioRaw};
use crate::words::Do;
use crate::{AccessPoint, Action, App, Event, Host, Measure, Place, Scenario, WarmUp};

/// Default gap of a roam: as with fast transition or a cached key; a full authentication takes some hundred milliseconds.
const ROAMING: Span = Span::from_millis(50);
/// Maximum number of intervals of all applications and stations together: time series are kept in memory, at less than a
/// hundred bytes per interval.
const MAX_INTERVALS: u64 = 20_000_000;

/// Checks the events of a run of this length, with these hosts and access points.
pub(super) struct EventChecker<'a> {
    pub hosts: &'a Hosts,
    pub access_points: &'a [AccessPoint],
    pub rates: &'a Rates,
    pub duration: Span,
}

impl EventChecker<'_> {
    /// Checks the events, and returns them in the order of their times.
    pub fn check(&self, raw: &[EventRaw], problems: &mut Problems) -> Vec<Event> {
        let mut events: Vec<_> = raw.iter().flat_map(|raw| self.check_one(raw, problems)).collect();
        events.sort_by_key(|(event, _)| event.at);
        self.check_order(&events, BTreeMap::new(), problems);
        events.into_iter().map(|(event, _)| event).collect()
    }

    /// Events of a command to a run of `scenario` of which `happened` events have happened.
    pub fn check_command(
        &self,
        raw: &EventRaw,
        scenario: &Scenario,
        happened: usize,
        problems: &mut Problems,
    ) -> Vec<Event> {
        let commanded = self.check_one(raw, problems);
        let mut events: Vec<_> = scenario.events.iter().map(|event| (event.clone(), raw.action.span())).collect();
        events.splice(happened..happened, commanded.iter().cloned());
        self.check_order(&events, scenario.present_at_start(), problems);
        commanded.into_iter().map(|(event, _)| event).collect()
    }

    /// Expands an event of the file station by station.
    fn check_one(&self, raw: &EventRaw, problems: &mut Problems) -> Vec<PlacedEvent> {
        let Self { hosts, access_points, rates, duration } = *self;
        let allowed = format!("before the run's end at {}", seconds(duration));
        let at = raw.at.get_if(problems, |&at| at < duration, allowed);
        let roam = roam(raw, access_points, problems);
        let actions = actions(raw, hosts, rates, roam, problems);
        let Some(at) = at else { return Vec::new() };
        actions.into_iter().map(|action| (Event { at, action }, raw.action.span())).collect()
    }
}

/// An event, and its position in the text.
type PlacedEvent = (Event, std::ops::Range<usize>);

/// Access point and gap of a roam.
fn roam(raw: &EventRaw, access_points: &[AccessPoint], problems: &mut Problems) -> Option<(usize, Span)> {
    let what = raw.action.get(&mut Problems::default());
    if what != Some(Do::Roam) {
        return None;
    }
    let gap = raw.gap.get_or(ROAMING, problems);
    Some((access_points::find(raw.access_point.as_ref()?, access_points, problems)?, gap?))
}

/// The actions of an event; `roam` is the destination of a roam.
fn actions(
    raw: &EventRaw,
    hosts: &Hosts,
    rates: &Rates,
    roam: Option<(usize, Span)>,
    problems: &mut Problems,
) -> Vec<Action> {
    let Some(what) = raw.action.get(problems) else { return Vec::new() };
    if let Do::Insert | Do::Bypass = what {
        return vec![if what == Do::Insert { Action::Insert } else { Action::Bypass }];
    }
    let Some(stations) = &raw.stations else { return Vec::new() };
    let stations = hosts.stations(stations, problems).into_iter();
    match what {
        Do::Join => stations.map(Action::Join).collect(),
        Do::Leave => stations.map(Action::Leave).collect(),
        Do::Rate => {
            let Some(rate) = &raw.rate else { return Vec::new() };
            let rate = rates.find(rate, problems);
            rate.map(|rate| stations.map(|station| Action::Rate(station, rate)).collect()).unwrap_or_default()
        }
        Do::Roam => {
            let Some((access_point, gap)) = roam else { return Vec::new() };
            stations.map(|station| Action::Roam { station, access_point, gap }).collect()
        }
        Do::Insert | Do::Bypass => unreachable!("returned above"),
    }
}

impl EventChecker<'_> {
    /// Checks that nothing is inserted twice, that stations that join are absent and those that leave present, and that
    /// roams go elsewhere. `present` says which stations are present at the start, if the events do not imply it.
    fn check_order(&self, events: &[PlacedEvent], mut present: BTreeMap<usize, bool>, problems: &mut Problems) {
        let Self { hosts, access_points, .. } = *self;
        let mut inserted = false;
        let mut roaming = Roaming::default();
        for (event, span) in events {
            let name = |host: usize| &hosts.list[host].name;
            let wrong = match event.action {
                Action::Insert => {
                    std::mem::replace(&mut inserted, true).then(|| "the box is inserted already".to_owned())
                }
                Action::Bypass => {
                    (!std::mem::replace(&mut inserted, false)).then(|| "the box is bypassed already".to_owned())
                }
                Action::Join(host) => (present.insert(host, true) == Some(true))
                    .then(|| format!("station \"{}\" is there already", name(host)))
                    .or_else(|| roaming.busy(host, event.at, hosts)),
                Action::Leave(host) => (present.insert(host, false) == Some(false))
                    .then(|| format!("station \"{}\" has left already", name(host)))
                    .or_else(|| roaming.busy(host, event.at, hosts)),
                Action::Rate(..) => None,
                Action::Roam { station, access_point, gap } => {
                    let first_join = || matches!(first_move(events, station), Some(at) if at > event.at);
                    let absent = present.get(&station).map_or_else(first_join, |&present| !present);
                    absent
                        .then(|| format!("station \"{}\" is not there", name(station)))
                        .or_else(|| roaming.busy(station, event.at, hosts))
                        .or_else(|| roaming.go(station, (access_point, event.at + gap), hosts, access_points))
                }
            };
            if let Some(what) = wrong {
                problems.add(span.clone(), format!("at {} {what}", seconds(event.at)), "");
            }
        }
    }
}

/// When a station joins, if that is its first join or leave.
fn first_move(events: &[PlacedEvent], station: usize) -> Option<Span> {
    let mut moves = events.iter().filter_map(|(event, _)| match event.action {
        Action::Join(host) if host == station => Some(Some(event.at)),
        Action::Leave(host) if host == station => Some(None),
        _ => None,
    });
    moves.next().flatten()
}

/// Destinations of roaming stations.
#[derive(Default)]
struct Roaming {
    /// Access point and time of arrival, by host.
    places: BTreeMap<usize, (usize, Span)>,
}

impl Roaming {
    /// The error if another event concerns a station while it roams.
    fn busy(&self, host: usize, at: Span, hosts: &Hosts) -> Option<String> {
        let &(_, until) = self.places.get(&host).filter(|&&(_, until)| until > at)?;
        Some(format!("station \"{}\" roams until {}", hosts.list[host].name, seconds(until)))
    }

    /// Records a roam; returns the error if its destination is where the station is.
    fn go(&mut self, host: usize, to: (usize, Span), hosts: &Hosts, access_points: &[AccessPoint]) -> Option<String> {
        let Host { name, place, .. } = &hosts.list[host];
        let at_start = match place {
            Place::Station { access_point, .. } => Some(*access_point),
            Place::Lan | Place::Wan => None,
        };
        let from = self.places.insert(host, to).map(|(access_point, _)| access_point).or(at_start);
        let is_there = from == Some(to.0);
        is_there.then(|| format!("station \"{name}\" is at \"{}\" already", access_points[to.0].name))
    }
}

/// Checks the intervals, phases and warm-up.
pub(super) fn measure(
    raw: &ScenarioRaw,
    length: Length,
    apps: &[App],
    hosts: &Hosts,
    problems: &mut Problems,
) -> Measure {
    let duration = length.run;
    let intervals = Span::from_millis(10)..=duration.max(Span::from_millis(10));
    let accept = |span: &Span| intervals.contains(span);
    let second = Span::from_secs(1);
    let interval = raw.measure.interval.get_or_if(second, problems, accept, "10 ms up to the run's duration");
    let interval = interval.unwrap_or(second);
    let apps = apps.len();
    let stations = hosts.list.iter().filter(|host| host.place.is_station()).count();
    let series = (apps + stations).max(1) as u64;
    if series * (duration.as_nanos() / interval.as_nanos()) > MAX_INTERVALS {
        let least = Span::from_nanos((duration.as_nanos() * series).div_ceil(MAX_INTERVALS));
        let place = if raw.measure.interval.is_some() { raw.measure.interval.place() } else { raw.duration.span() };
        let who = format!("{apps} applications and {stations} stations");
        let what = format!("{who} over {} in intervals of {}", seconds(duration), seconds(interval));
        problems.add(place, format!("{what} make too long a time series"), format!("{} or more", seconds(least)));
    }
    let mut phases = phases(&raw.phase, interval, length, problems);
    let warm_up = warm_up(raw, interval, &mut phases, problems);
    Measure { interval, phases, warm_up }
}

/// Cuts the warm-up from phases if its length is given.
fn warm_up(raw: &ScenarioRaw, interval: Span, phases: &mut [Phase], problems: &mut Problems) -> WarmUp {
    let nothing = WarmUp::Until(Span::ZERO);
    let Some(written) = &raw.measure.warm_up else { return nothing };
    let Some(warm_up) = written.get(problems) else { return nothing };
    let WarmUp::Until(until) = warm_up else { return warm_up };
    if until.as_nanos() % interval.as_nanos() != 0 {
        let allowed = format!("a multiple of {}", seconds(interval));
        problems.add(written.span(), format!("{written} is not at the edge of an interval"), allowed);
    } else if let Some(phase) = phases.iter().find(|phase| phase.to <= until) {
        let what = format!("{written} leaves nothing of the phase \"{}\"", phase.name);
        problems.add(written.span(), what, format!("less than {}", seconds(phase.to)));
    }
    phases.iter_mut().for_each(|phase| phase.from = phase.from.max(until));
    warm_up
}

fn phases(raw: &[PhaseRaw], interval: Span, length: Length, problems: &mut Problems) -> Vec<Phase> {
    let duration = length.checked;
    let mut phases: Vec<Phase> = Vec::new();
    for raw in raw {
        let name = name(&raw.name, problems);
        let bound = |written: &Written<Span>, problems: &mut Problems| {
            let within = format!("up to the run's end at {}", seconds(duration));
            let at = written.get_if(problems, |&at| at <= duration, within)?;
            if at.as_nanos() % interval.as_nanos() != 0 {
                let allowed = format!("a multiple of {}", seconds(interval));
                problems.add(written.span(), format!("{written} is not at the edge of an interval"), allowed);
            }
            Some(at)
        };
        let (from, to) = (bound(&raw.from, problems), bound(&raw.to, problems));
        let (Some(name), Some(from), Some(to)) = (name, from, to) else { continue };
        if to <= from {
            problems.add(raw.to.span(), format!("the phase ends at {}, not after its start", raw.to), "a later time");
        }
        if phases.iter().any(|phase| phase.name == name) {
            problems.add(raw.name.span(), format!("a phase named \"{name}\" is there already"), "another name");
        }
        phases.push(Phase { name, from, to });
    }
    if raw.is_empty() {
        let to = Span::from_nanos(length.run / interval * interval.as_nanos());
        phases.push(Phase { name: "all".into(), from: Span::ZERO, to });
    }
    phases.sort_by_key(|phase| phase.from);
    phases
}
