//! Hidden stations.

use std::collections::BTreeSet;

use evenair_reader::Problems;

use super::hosts::Hosts;
use crate::raw::StationRaw;

/// Pairs of stations that do not hear each other, by index, the lower one first. The relation is mutual, so it may be
/// written at one of the two or at both.
pub(super) fn check(raw: &[StationRaw], hosts: &Hosts, problems: &mut Problems) -> Vec<(usize, usize)> {
    let mut pairs = BTreeSet::new();
    for station in raw {
        let Some(list) = &station.hidden_from else { continue };
        let from = hosts.stations(list, problems);
        let Some(own) = station.name.get(problems) else { continue };
        let own = hosts.group(&own);
        if let ([only], true) = (own, from.iter().any(|other| own == [*other])) {
            let what = format!("\"{}\" is one station, and hears itself", hosts.list[*only].name);
            problems.add(list.items()[0].span(), what, "other stations, or the name of a group with a count");
        }
        let others = own.iter().flat_map(|&a| from.iter().map(move |&b| (a, b)));
        pairs.extend(others.filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))));
    }
    pairs.into_iter().collect()
}
