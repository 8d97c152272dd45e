//! Published values: the result to compare with, and the value in that result's unit.

use evenair_reader::{Problems, Written, name};
use evenair_workload::Phase;

use super::apps::Apps;
use super::hosts::Hosts;
use crate::measures::{full_name, measure_named};
use crate::raw::PublishedRaw;
use crate::words::{Measured, What};
use crate::{Published, Quantity};

const A_RATE: &str = "a rate such as \"4.8 Mb/s\"";
const A_TIME: &str = "a time such as \"1.76 s\"";

/// Names that a published value may refer to.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub hosts: &'a Hosts,
    pub apps: &'a Apps,
    pub phases: &'a [Phase],
}

pub(super) fn published(raw: &[PublishedRaw], names: Names<'_>, problems: &mut Problems) -> Vec<Published> {
    let published = raw.iter().filter_map(|raw| one_published(raw, names, problems)).collect();
    for (index, raw_one) in raw.iter().enumerate() {
        let Some(id) = &raw_one.id else { continue };
        let same = |other: &PublishedRaw| other.id.as_ref().is_some_and(|other| other.to_string() == id.to_string());
        if raw[..index].iter().any(same) {
            problems.add(id.span(), format!("a published value with the id {id} is there already"), "another id");
        }
    }
    published
}

fn one_published(raw: &PublishedRaw, names: Names<'_>, problems: &mut Problems) -> Option<Published> {
    let note = raw.note.get(problems);
    let phase = match &raw.phase {
        Some(written) => {
            let known: Vec<_> = names.phases.iter().map(|phase| phase.name.as_str()).collect();
            Some(written.get_if(problems, |name| known.contains(&name.as_str()), known.join(", "))?)
        }
        None => None,
    };
    let what = raw.what.get(problems)?;
    if let Some(of) = raw.of.as_ref().filter(|_| !matches!(what, What::App | What::Station)) {
        problems.add(of.span(), format!("{} is not of one host", raw.what), "only without this key");
    }
    let value = value(raw, &what, problems)?;
    let what = match what {
        What::Total => Quantity::Total,
        What::Up => Quantity::Up,
        What::Down => Quantity::Down,
        What::Capacity => Quantity::Capacity,
        What::JainFlows => Quantity::JainFlows,
        What::App => Quantity::App(of(raw, true, names, problems)?),
        What::Station => Quantity::Station(of(raw, false, names, problems)?),
        What::Figure => Quantity::Figure,
        What::Finding => Quantity::Finding,
        What::Measure(name) => {
            check_names(raw, &name, names, problems)?;
            Quantity::Measure(name)
        }
    };
    let id = raw.id.as_ref().and_then(|written| name(written, problems));
    let at = raw.at.as_ref().and_then(|written| written.get(problems));
    let (value, unit) = value.map_or((None, ""), |(value, unit)| (Some(value), unit));
    Some(Published { what, phase, value, unit: unit.to_owned(), note: note?, id, at })
}

/// The application or station of the value.
fn of(raw: &PublishedRaw, is_app: bool, names: Names<'_>, problems: &mut Problems) -> Option<String> {
    let Some(of) = &raw.of else {
        problems.add(raw.what.span(), format!("{} needs a name", raw.what), "of = \"NAME\" beside it");
        return None;
    };
    let known = |name: &String| if is_app { names.apps.has(name) } else { names.hosts.station_named(name).is_some() };
    let missing = of.get(&mut Problems::default()).and_then(|name| names.hosts.missing_member(&name));
    let allowed = match missing {
        Some(count) if !is_app => format!("{count}, or the name of another station"),
        _ => format!("the name of one {}", if is_app { "application" } else { "station" }),
    };
    of.get_if(problems, known, allowed)
}

/// Checks that the phase, application or station in a measure's name exists.
fn check_names(raw: &PublishedRaw, name: &str, names: Names<'_>, problems: &mut Problems) -> Option<()> {
    let Names { hosts, apps, phases } = names;
    let mut parts = name.split('.');
    while let Some(part) = parts.next() {
        let (what, known): (_, &dyn Fn(&str) -> bool) = match part {
            "phase" => ("phase", &|name| phases.iter().any(|phase| phase.name == name)),
            "flow" => ("application", &|name| apps.has(name)),
            "station" => ("station", &|name| hosts.station_named(name).is_some()),
            _ => continue,
        };
        if let Some(unknown) = parts.next().filter(|name| !known(name)) {
            let missing = hosts.missing_member(unknown).filter(|_| what == "station");
            let allowed = missing.unwrap_or_else(|| format!("the name of one {what}"));
            problems.add(raw.what.span(), format!("\"{unknown}\" is no {what}"), allowed);
            return None;
        }
    }
    Some(())
}

/// The number in the unit of results, and that unit: nothing for a finding, `None` if it is invalid.
fn value(raw: &PublishedRaw, what: &What, problems: &mut Problems) -> Option<Option<(f64, &'static str)>> {
    let Some(written) = &raw.value else {
        if *what != What::Finding {
            problems.add(raw.what.span(), format!("{} needs a value", raw.what), "value = \"4.8 Mb/s\", for instance");
            return None;
        }
        return Some(None);
    };
    let unit = match what {
        What::Finding => {
            problems.add(written.span(), "a finding is in words", "only without this key");
            return None;
        }
        What::JainFlows => "",
        What::Figure => return figure(written, problems).map(Some),
        What::Measure(name) => measure_named(&full_name(name, "any")).map_or("", |measure| measure.unit),
        _ => "Mb/s",
    };
    let measured = written.get(problems)?;
    let value = match (unit, measured) {
        ("Mb/s", Measured::Rate(rate)) => rate.as_mbps_f64(),
        ("s", Measured::Time(time)) => time.as_secs_f64(),
        ("ms", Measured::Time(time)) => time.as_secs_f64() * 1e3,
        ("Mb/s", Measured::Number(_)) => return wrong(written, "has no unit", A_RATE, problems),
        ("Mb/s", Measured::Time(_)) => return wrong(written, "is no rate", A_RATE, problems),
        ("s" | "ms", Measured::Number(_)) => return wrong(written, "has no unit", A_TIME, problems),
        ("s" | "ms", Measured::Rate(_)) => return wrong(written, "is no time", A_TIME, problems),
        (_, Measured::Number(value)) if *what != What::JainFlows || (0.0..=1.0).contains(&value) => value,
        _ if *what == What::JainFlows => {
            return wrong(written, "is no fairness index", "a number from 0 to 1", problems);
        }
        _ => return wrong(written, "has a unit", "a number such as 0.2", problems),
    };
    Some(Some((value, unit)))
}

/// A figure has the unit that is written.
fn figure(written: &Written<Measured>, problems: &mut Problems) -> Option<(f64, &'static str)> {
    Some(match written.get(problems)? {
        Measured::Rate(rate) => (rate.as_mbps_f64(), "Mb/s"),
        Measured::Time(time) => (time.as_secs_f64(), "s"),
        Measured::Number(value) => (value, ""),
    })
}

fn wrong<T>(written: &Written<Measured>, what: &str, allowed: &str, problems: &mut Problems) -> Option<T> {
    problems.add(written.span(), format!("{written} {what}"), allowed);
    None
}
