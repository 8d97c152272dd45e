//! Access points: resolved names and contention domains.
//!
//! Radios on one channel share a domain unless they are in different areas. Partially overlapping channels, which interfere
//! without being decodable, are not modelled, and so are rejected. Channel spacings are those of IEEE Std 802.11-2016: a
//! channel of 802.11b is 22 MHz wide and 5 MHz from the next (15.4.4.3), one of OFDM 20 MHz (17.3.8.4).

use std::collections::BTreeSet;

use evenair_reader::{Problems, Written, closest, did_you_mean, name};
use evenair_wifi::Standard;

use super::hosts::{Hosts, listing};
use super::{path, radio};
use crate::AccessPoint;
use crate::raw::{AccessPointRaw, ScenarioRaw, StationRaw};
use crate::words::AccessWord;

/// Maximum number of access points in a scenario.
const MAX_ACCESS_POINTS: usize = 50;
/// Maximum length of the names of access points in reports.
const MAX_NAME: usize = 32;

/// All access points, at least one.
pub(super) fn check(raw: &ScenarioRaw, standard: Standard, problems: &mut Problems) -> Vec<AccessPoint> {
    // An invalid position was reported with the radio.
    let of_radio = raw.radio.ap_position.as_ref().and_then(|list| radio::position(list, &mut Problems::default()));
    let of_radio = of_radio.unwrap_or_default();
    let paths = path::of_all(&raw.ap_path, problems);
    if raw.access_point.is_empty() {
        let name = "ap".to_owned();
        let domain_name = name.clone();
        let (position, path) = (of_radio, paths);
        return vec![AccessPoint { name, channel: None, domain: 0, domain_name, position, vlan: None, path }];
    }
    if let Some(one_too_many) = raw.access_point.get(MAX_ACCESS_POINTS) {
        problems.add(one_too_many.name.span(), "too many access points", format!("up to {MAX_ACCESS_POINTS}"));
    }
    let has_places = raw.radio.layout.is_some() || raw.station.iter().any(|station| station.position.is_some());
    let mut list: Vec<AccessPoint> = Vec::new();
    let mut domains: Vec<Domain> = Vec::new();
    for point in &raw.access_point {
        let named = name(&point.name, problems).unwrap_or_default();
        if list.iter().any(|other| other.name == named) {
            problems.add(
                point.name.span(),
                format!("an access point named \"{named}\" is there already"),
                "another name",
            );
        }
        if named.len() > MAX_NAME {
            problems.add(
                point.name.span(),
                format!("{} is too long a name of an access point", point.name),
                "1 to 32 bytes",
            );
        }
        let channel = channel(point, standard, problems);
        let area = point.area.as_ref().and_then(|area| name(area, problems)).unwrap_or_default();
        let own = Domain { channel, area, first: named.clone() };
        apart(point, &own, &domains, standard, problems);
        let domain = domains.iter().position(|known| known.is(&own)).unwrap_or(domains.len());
        let domain_name = own.name();
        if domain == domains.len() {
            domains.push(own);
        } else {
            share(raw, point, problems);
        }
        if let Some(list) = point.position.as_ref().filter(|_| !has_places) {
            let allowed = "[radio.layout], or position of stations, beside it";
            problems.add(list.items().first().map_or(0..0, Written::span), "places do not matter", allowed);
        }
        let position = point.position.as_ref().and_then(|list| radio::position(list, problems)).unwrap_or(of_radio);
        let vlan = point.vlan.as_ref().and_then(|vlan| vlan.get(problems));
        let vlan = vlan.and_then(|id| u16::try_from(id).ok());
        let path = path::of_one(&point.path, paths, problems);
        list.push(AccessPoint { name: named, channel: Some(channel), domain, domain_name, position, vlan, path });
    }
    list
}

/// A contention domain: a channel in an area.
struct Domain {
    channel: u32,
    area: String,
    /// Name of its first access point.
    first: String,
}

impl Domain {
    fn is(&self, other: &Self) -> bool {
        self.channel == other.channel && self.area == other.area
    }

    /// Name of the domain in results.
    fn name(&self) -> String {
        let Self { channel, area, .. } = self;
        if area.is_empty() { format!("channel-{channel}") } else { format!("channel-{channel}-{area}") }
    }
}

fn channel(raw: &AccessPointRaw, standard: Standard, problems: &mut Problems) -> u32 {
    let is_2ghz = matches!(standard, Standard::Dot11b | Standard::Dot11g);
    let allowed = "a channel of the 2.4 GHz band, 1 to 14";
    raw.channel.get_if(problems, |&channel| !is_2ghz || channel <= 14, allowed).unwrap_or(1)
}

/// Reports an access point whose channel overlaps that of an existing domain without being the same.
fn apart(raw: &AccessPointRaw, own: &Domain, domains: &[Domain], standard: Standard, problems: &mut Problems) {
    let least = if standard == Standard::Dot11a { 4 } else { 5 };
    for other in domains.iter().filter(|other| other.area == own.area) {
        let distance = other.channel.abs_diff(own.channel);
        if distance > 0 && distance < least {
            let what =
                format!("channel {} overlaps with channel {} of \"{}\"", own.channel, other.channel, other.first);
            let allowed = format!("the same channel, one that is {least} or more away, or another area");
            problems.add(raw.channel.span(), what, allowed);
            return;
        }
    }
}

/// Checks a second access point in a domain.
fn share(raw: &ScenarioRaw, point: &AccessPointRaw, problems: &mut Problems) {
    let access = raw.radio.access.as_ref().and_then(|access| access.get(&mut Problems::default()));
    if access == Some(AccessWord::Asymmetric) {
        let what =
            format!("{} shares its channel, and the window of \"asymmetric\" is that of one access point", point.name);
        problems.add(point.channel.span(), what, "another channel or area, or access = \"idle-sense\" or \"dcf\"");
    }
}

/// Index of the access point of a station.
pub(super) fn of_station(raw: &StationRaw, access_points: &[AccessPoint], problems: &mut Problems) -> usize {
    match &raw.access_point {
        Some(written) => find(written, access_points, problems).unwrap_or(0),
        None if access_points.len() > 1 => {
            let names: Vec<_> = access_points.iter().map(|point| point.name.as_str()).collect();
            let what = format!("{} is at none of the {} access points", raw.name, names.len());
            problems.add(raw.name.span(), what, format!("access_point = \"NAME\" beside it: {}", listing(&names)));
            0
        }
        None => 0,
    }
}

/// Index of the access point of this name.
pub(super) fn find(written: &Written<String>, all: &[AccessPoint], problems: &mut Problems) -> Option<usize> {
    let named = written.get(problems)?;
    let found = all.iter().position(|point| point.name == named && point.channel.is_some());
    if found.is_none() {
        let names: Vec<_> =
            all.iter().filter(|point| point.channel.is_some()).map(|point| point.name.as_str()).collect();
        let hint = did_you_mean(closest(&named, names.iter().copied()));
        let what = format!("there is no access point \"{named}\"{hint}");
        let allowed = if names.is_empty() { "one of [[access_point]]".to_owned() } else { listing(&names) };
        problems.add(written.span(), what, allowed);
    }
    found
}

/// In results, hosts and access points share a list of names.
pub(super) fn check_names(raw: &ScenarioRaw, hosts: &Hosts, problems: &mut Problems) {
    for point in &raw.access_point {
        if let Some(named) = point.name.get(&mut Problems::default()).filter(|named| !hosts.group(named).is_empty()) {
            problems.add(
                point.name.span(),
                format!("a host or group named \"{named}\" is there already"),
                "another name",
            );
        }
    }
}

/// The box's access points must exist in the scenario.
pub(super) fn check_manager(raw: &ScenarioRaw, access_points: &[AccessPoint], problems: &mut Problems) {
    if raw.access_point.is_empty() {
        return;
    }
    let names: BTreeSet<_> = access_points.iter().map(|point| point.name.as_str()).collect();
    for spec in &raw.manager.access_point {
        let aliases = spec.aliases.iter().flat_map(|list| list.items());
        let known = |written: &Written<String>| {
            written.get(&mut Problems::default()).is_some_and(|name| names.contains(name.as_str()))
        };
        if spec.vlan.is_none() && !known(&spec.name) && !aliases.into_iter().any(known) {
            let what = format!("no source would report a station at {}", spec.name);
            let names: Vec<_> = names.iter().copied().collect();
            problems.add(spec.name.span(), what, format!("a name or aliases of [[access_point]]: {}", listing(&names)));
        }
    }
}
