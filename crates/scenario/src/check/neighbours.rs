//! Other networks: resolved names, and their frame rates.

use std::collections::BTreeSet;

use evenair_config::phy_rate;
use evenair_medium::Obss;
use evenair_reader::{OrDefault, Problems, name};
use evenair_units::{Bytes, Instant, Span};
use evenair_wifi::Phy;

use super::hosts::listing;
use crate::raw::NeighbourRaw;
use crate::{AccessPoint, Neighbour};

/// Maximum number of other networks in a scenario.
const MAX_NEIGHBOURS: usize = 50;

pub(super) fn check(
    raw: &[NeighbourRaw],
    access_points: &[AccessPoint],
    phy: &Phy,
    duration: Span,
    problems: &mut Problems,
) -> Vec<Neighbour> {
    if let Some(one_too_many) = raw.get(MAX_NEIGHBOURS) {
        problems.add(one_too_many.name.span(), "too many networks of others", format!("up to {MAX_NEIGHBOURS}"));
    }
    let mut names = BTreeSet::new();
    let mut one = |raw: &NeighbourRaw| {
        let name = name(&raw.name, problems);
        if let Some(name) = name.as_ref().filter(|name| !names.insert((*name).clone())) {
            problems.add(raw.name.span(), format!("a network named \"{name}\" is there already"), "another name");
        }
        let domain = domain(raw, access_points, problems);
        let sends = sends(raw, phy, duration, problems);
        Some(Neighbour { name: name?, domain: domain?, sends: sends? })
    };
    raw.iter().filter_map(&mut one).collect()
}

/// The contention domain of the access point that it disturbs.
fn domain(raw: &NeighbourRaw, access_points: &[AccessPoint], problems: &mut Problems) -> Option<usize> {
    let names: Vec<_> = access_points.iter().map(|point| point.name.as_str()).collect();
    let Some(written) = &raw.access_point else {
        if access_points.len() > 1 {
            let what = format!("on whose channel {} is, is not said", raw.name);
            problems.add(raw.name.span(), what, format!("access_point, one of {}", listing(&names)));
        }
        return access_points.first().map(|point| point.domain);
    };
    let name = written.get(problems)?;
    let found = access_points.iter().find(|point| point.name == name);
    if found.is_none() {
        problems.add(written.span(), format!("there is no access point \"{name}\""), listing(&names));
    }
    found.map(|point| point.domain)
}

fn sends(raw: &NeighbourRaw, phy: &Phy, duration: Span, problems: &mut Problems) -> Option<Obss> {
    let load = raw.load.get(problems);
    let size = raw.size.get_or(Bytes(1500), problems);
    let begins = |start: &Span| *start <= duration;
    let start = raw.start.get_or_if(Span::ZERO, problems, begins, "within the run")?;
    let ends = |stop: &Span| *stop > start && *stop <= duration;
    let stop = raw.stop.get_or_if(duration, problems, ends, "after its start, within the run");
    let rate = phy_rate(phy.standard(), &raw.rate, problems);
    let (rate, msdu) = (rate?, size?);
    let gap = phy.exchange(msdu, rate, false).0.mul_div(1000, u64::from(load?.0));
    Some(Obss { msdu, rate, gap, start: Instant::ZERO + start, stop: Instant::ZERO + stop? })
}
