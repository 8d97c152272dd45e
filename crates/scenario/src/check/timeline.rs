//! Events, phases, and what was published of them.

use std::collections::BTreeMap;

use evenair_units::Span;
use evenair_wifi::Standard;

use super::apps::{Apps, seconds};
use super::hosts::Hosts;
use super::name;
use crate::config::{Problems, Written};
use crate::manager_spec::phy_rate;
use crate::raw::{EventRaw, PhaseRaw, PublishedRaw};
use crate::words::{Do, Measured, What};
use crate::{Action, Event, Phase, Published, Quantity};

pub(super) fn events(
    raw: &[EventRaw],
    hosts: &Hosts,
    standard: Option<Standard>,
    duration: Span,
    problems: &mut Problems,
) -> Vec<Event> {
    let mut events = Vec::new();
    for raw in raw {
        let allowed = format!("before the run's end at {}", seconds(duration));
        let at = raw.at.get_if(problems, |&at| at < duration, allowed);
        let actions = actions(raw, hosts, standard, problems);
        if let Some(at) = at {
            events.extend(actions.into_iter().map(|action| (Event { at, action }, raw.action.span())));
        }
    }
    events.sort_by_key(|(event, _)| event.at);
    check_order(&events, hosts, problems);
    events.into_iter().map(|(event, _)| event).collect()
}

fn actions(raw: &EventRaw, hosts: &Hosts, standard: Option<Standard>, problems: &mut Problems) -> Vec<Action> {
    let Some(what) = raw.action.get(problems) else { return Vec::new() };
    if let Some(rate) = raw.rate.as_ref().filter(|_| what != Do::Rate) {
        problems.add(rate.span(), format!("{} has no rate", raw.action), "only without this key");
    }
    if let Do::Insert | Do::Bypass = what {
        if let Some(first) = raw.stations.as_ref().and_then(|list| list.items().first()) {
            problems.add(
                first.span(),
                format!("{} is about the box, not stations", raw.action),
                "only without this key",
            );
        }
        return vec![if what == Do::Insert { Action::Insert } else { Action::Bypass }];
    }
    let Some(stations) = &raw.stations else {
        problems.add(raw.action.span(), format!("{} needs stations", raw.action), "stations = [\"NAME\"] beside it");
        return Vec::new();
    };
    let stations = hosts.stations(stations, problems).into_iter();
    match what {
        Do::Join => stations.map(Action::Join).collect(),
        Do::Leave => stations.map(Action::Leave).collect(),
        Do::Rate => {
            let Some(rate) = &raw.rate else {
                problems.add(raw.action.span(), "\"rate\" needs a rate", "rate = \"5.5 Mb/s\" beside it");
                return Vec::new();
            };
            let rate = standard.and_then(|standard| phy_rate(standard, rate, problems));
            rate.map(|rate| stations.map(|station| Action::Rate(station, rate)).collect()).unwrap_or_default()
        }
        Do::Insert | Do::Bypass => unreachable!("returned above"),
    }
}

/// Nothing is inserted twice, no station joins that is there or leaves that is not.
fn check_order(events: &[(Event, std::ops::Range<usize>)], hosts: &Hosts, problems: &mut Problems) {
    let mut inserted = false;
    let mut present: BTreeMap<usize, bool> = BTreeMap::new();
    for (event, span) in events {
        let wrong = match event.action {
            Action::Insert => std::mem::replace(&mut inserted, true).then(|| "the box is inserted already".to_owned()),
            Action::Bypass => {
                (!std::mem::replace(&mut inserted, false)).then(|| "the box is bypassed already".to_owned())
            }
            Action::Join(host) => (present.insert(host, true) == Some(true))
                .then(|| format!("station \"{}\" is there already", hosts.list[host].name)),
            Action::Leave(host) => (present.insert(host, false) == Some(false))
                .then(|| format!("station \"{}\" has left already", hosts.list[host].name)),
            Action::Rate(..) => None,
        };
        if let Some(what) = wrong {
            problems.add(span.clone(), format!("at {} {what}", seconds(event.at)), "");
        }
    }
}

pub(super) fn phases(raw: &[PhaseRaw], interval: Span, duration: Span, problems: &mut Problems) -> Vec<Phase> {
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
        let to = Span::from_nanos(duration / interval * interval.as_nanos());
        phases.push(Phase { name: "all".into(), from: Span::ZERO, to });
    }
    phases.sort_by_key(|phase| phase.from);
    phases
}

pub(super) fn published(
    raw: &[PublishedRaw],
    hosts: &Hosts,
    apps: &Apps,
    phases: &[Phase],
    problems: &mut Problems,
) -> Vec<Published> {
    raw.iter().filter_map(|raw| one_published(raw, hosts, apps, phases, problems)).collect()
}

fn one_published(
    raw: &PublishedRaw,
    hosts: &Hosts,
    apps: &Apps,
    phases: &[Phase],
    problems: &mut Problems,
) -> Option<Published> {
    let note = raw.note.get(problems);
    let phase = match &raw.phase {
        Some(written) => {
            let names: Vec<_> = phases.iter().map(|phase| phase.name.as_str()).collect();
            Some(written.get_if(problems, |name| names.contains(&name.as_str()), names.join(", "))?)
        }
        None => None,
    };
    let what = raw.what.get(problems)?;
    if let Some(of) = raw.of.as_ref().filter(|_| !matches!(what, What::App | What::Station)) {
        problems.add(of.span(), format!("{} is not of one host", raw.what), "only without this key");
    }
    let of = |problems: &mut Problems| {
        let Some(of) = &raw.of else {
            problems.add(raw.what.span(), format!("{} needs a name", raw.what), "of = \"NAME\" beside it");
            return None;
        };
        let is_app = what == What::App;
        let known = |name: &String| if is_app { apps.has(name) } else { hosts.station_named(name).is_some() };
        of.get_if(problems, known, format!("the name of one {}", if is_app { "application" } else { "station" }))
    };
    let what_of = match what {
        What::Total => Quantity::Total,
        What::Up => Quantity::Up,
        What::Down => Quantity::Down,
        What::Capacity => Quantity::Capacity,
        What::JainFlows => Quantity::JainFlows,
        What::App => Quantity::App(of(problems)?),
        What::Station => Quantity::Station(of(problems)?),
        What::Finding => Quantity::Finding,
    };
    let (value, unit) = value(raw, what, problems)?;
    Some(Published { what: what_of, phase, value, unit, note: note? })
}

/// The number in the unit that results have, and that unit.
fn value(raw: &PublishedRaw, what: What, problems: &mut Problems) -> Option<(Option<f64>, String)> {
    let Some(written) = &raw.value else {
        if what != What::Finding {
            problems.add(raw.what.span(), format!("{} needs a value", raw.what), "value = \"4.8 Mb/s\", for instance");
        }
        return Some((None, String::new()));
    };
    match (what, written.get(problems)?) {
        (What::Finding, _) => {
            problems.add(written.span(), "a finding is in words", "only without this key");
            None
        }
        (What::JainFlows, Measured::Number(value)) if (0.0..=1.0).contains(&value) => {
            Some((Some(value), String::new()))
        }
        (What::JainFlows, _) => {
            problems.add(written.span(), format!("{written} is no fairness index"), "a number from 0 to 1");
            None
        }
        (_, Measured::Rate(rate)) => Some((Some(rate.as_mbps_f64()), "Mb/s".to_owned())),
        (_, Measured::Number(_)) => {
            problems.add(written.span(), format!("{written} has no unit"), "a rate such as \"4.8 Mb/s\"");
            None
        }
    }
}
