//! Queues in front of the medium.

use std::collections::BTreeMap;

use evenair_ap::QueueSpec;
use evenair_config::queue::{AirtimeWeightRaw, Checked, DisciplineWord, QueueClassRaw, QueueRaw, Tree, discipline};
use evenair_reader::{List, OrDefault, Problems};
use evenair_units::Limit;
use evenair_workload::Direction;

use super::apps::Apps;
use super::hosts::Hosts;
use crate::Place;

/// Packets in ath9k below Linux's intermediate queues, without aggregates: one on the air, and one ready.
const BELOW_MAC80211: u32 = 2;
/// With aggregates: not a limit, since airtime limits apply below this.
const BELOW_MAC80211_WITH_AGGREGATES: u32 = 8_192;
/// Below other queues, and without airtime limits: two aggregates of 802.11n and 802.11ac.
const BELOW_WITH_AGGREGATES: u32 = 128;

/// The MAC below a queue.
#[derive(Clone, Copy)]
pub(super) struct Below {
    /// Capacity of the queue.
    pub limit: Limit,
    /// The MAC aggregates.
    pub aggregates: bool,
    /// The MAC is that of access points, which send to several stations.
    pub is_of_access_points: bool,
}

pub(super) fn check(
    raw: &QueueRaw,
    below: Below,
    hosts: &Hosts,
    apps: &Apps,
    problems: &mut Problems,
) -> Option<QueueSpec> {
    for class in raw.class.iter().filter_map(|class| class.station_classes.as_ref()) {
        problems.add(class.span(), "only the manager knows classes of stations", "stations, direction or apps");
    }
    if let Some(noise) = &raw.noise {
        problems.add(noise.span(), "a radio's own receiver knows its noise", "only for the manager's queue");
    }
    let is_mac80211 = raw.discipline.get(&mut Problems::default()) == Some(DisciplineWord::Mac80211);
    let Below { limit, aggregates, is_of_access_points } = below;
    let has_airtime_limits = raw.aql.get_or(true, &mut Problems::default()).unwrap_or(true);
    let usual = match (is_mac80211, aggregates) {
        (true, false) => BELOW_MAC80211,
        (true, true) if has_airtime_limits => BELOW_MAC80211_WITH_AGGREGATES,
        (false, false) => 1,
        (_, true) => BELOW_WITH_AGGREGATES,
    };
    let driver = raw.driver.get_or(usual, problems);
    let checked = discipline(raw, limit, problems);
    let class_of_app = match &checked {
        Some(Checked { tree: Some(tree), .. }) => class_of_app(&raw.class, tree, hosts, apps, problems),
        _ => Vec::new(),
    };
    let weights = airtime_weights(&raw.airtime_weight, is_of_access_points, hosts, problems);
    let Checked { config, by_station, tree, .. } = checked?.with_airtime_weights(weights);
    let default_class = tree.map_or(0, |tree| tree.default as u32);
    Some(QueueSpec { config, driver: driver?, by_station, class_of_app, default_class })
}

/// Weights other than 1, by index of the station.
fn airtime_weights(
    raw: &[AirtimeWeightRaw],
    is_of_access_points: bool,
    hosts: &Hosts,
    problems: &mut Problems,
) -> BTreeMap<u64, u32> {
    let mut weights = BTreeMap::new();
    for AirtimeWeightRaw { stations, weight } in raw {
        if !is_of_access_points {
            problems.add(stations.span(), "a station sends to its access point alone", "only in [radio.ap_queue]");
        }
        let weight = weight.get(problems);
        for host in hosts.stations(stations, problems) {
            if weights.insert(host, weight.unwrap_or(1)).is_some() {
                let what = format!("station \"{}\" has a weight already", hosts.list[host].name);
                problems.add(stations.span(), what, "each station in one list");
            }
        }
    }
    // Queues know stations by their index among all stations.
    let all = hosts.list.iter().enumerate().filter(|(_, host)| matches!(host.place, Place::Station { .. }));
    (0..).zip(all).filter_map(|(number, (host, _))| Some((number, *weights.get(&host)?))).collect()
}

/// The leaf of each application: the first one with conditions that the application meets.
fn class_of_app(raw: &[QueueClassRaw], tree: &Tree, hosts: &Hosts, apps: &Apps, problems: &mut Problems) -> Vec<u32> {
    let mut leaves = vec![None; apps.list.len()];
    for (number, class) in raw.iter().enumerate() {
        let QueueClassRaw { stations, direction, apps: named, .. } = class;
        if stations.is_none() && direction.is_none() && named.is_none() {
            continue;
        }
        if !tree.is_leaf(number) {
            let what = format!("class {} has children, and so no packets of its own", class.name);
            problems.add(class.name.span(), what, "stations, direction and apps in its leaves");
            continue;
        }
        let stations = stations.as_ref().map(|list| hosts.stations(list, problems));
        let direction = direction.as_ref().and_then(|direction| direction.get(problems)).map(|word| which_way(word.0));
        let named = named.as_ref().map(|list| named_apps(list, apps, problems));
        for (app, leaf) in apps.list.iter().zip(0..).zip(&mut leaves).filter(|(_, leaf)| leaf.is_none()) {
            let (app, at): (_, u32) = app;
            let meets = stations.as_ref().is_none_or(|stations| stations.contains(&app.station))
                && direction.is_none_or(|direction| direction == app.direction)
                && named.as_ref().is_none_or(|named| named.contains(&at));
            *leaf = meets.then_some(number as u32);
        }
    }
    leaves.into_iter().map(|leaf| leaf.unwrap_or(tree.default as u32)).collect()
}

/// The direction of the data, as a type of the workload.
fn which_way(direction: evenair_manager::Direction) -> Direction {
    match direction {
        evenair_manager::Direction::Up => Direction::Up,
        evenair_manager::Direction::Down => Direction::Down,
    }
}

fn named_apps(list: &List<String>, apps: &Apps, problems: &mut Problems) -> Vec<u32> {
    let mut named = Vec::new();
    for item in list.items() {
        let Some(name) = item.get(problems) else { continue };
        let found = apps.named(&name);
        if found.is_empty() {
            let what = format!("there is no application named {item}");
            problems.add(item.span(), what, "the name of an application or of a group of them");
        }
        named.extend(found);
    }
    named
}
