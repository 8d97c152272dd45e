//! The configuration of a queue discipline in the manager, instead of its tree of queues.

use evenair_manager::{LeafRule, QueueConfig};
use evenair_reader::{OrDefault, Problems};
use evenair_units::Limit;
use evenair_wifi::power::noise_floor;
use evenair_wifi::{Phy, Width};

use crate::ManagerSpec;
use crate::queue::{Checked, QueueClassRaw, QueueRaw, discipline, is_of_access_points};

/// The discipline with a limit, for this medium. `seed`: see [`QueueConfig`].
pub(crate) fn check(
    manager: &ManagerSpec,
    raw: &QueueRaw,
    limit: Limit,
    phy: &Phy,
    problems: &mut Problems,
) -> Option<QueueConfig> {
    refuse_what_is_the_trees(manager, problems);
    let above = [(raw.driver.place(), "the manager has no MAC below")];
    let of_class = raw.class.iter().flat_map(|class| {
        [class.stations.as_ref().map(|list| list.span()), class.apps.as_ref().map(|list| list.span())]
    });
    let of_class =
        of_class.flatten().map(|place| (place, "the manager classifies packets by direction and class of station"));
    for (place, what) in above.into_iter().filter(|(place, _)| !place.is_empty()).chain(of_class) {
        problems.add(place, what, "only for a queue of [radio]");
    }
    let Checked { mut config, by_station, tree } = discipline(raw, limit, problems)?;
    refuse_queues_of_access_points(raw, problems)?;
    refuse_fates(raw, problems);
    let floor = noise_floor(phy.standard(), Width::Mhz20);
    let noise = raw.noise.get_or(floor, problems);
    // In the manager, ECN-capable packets are marked rather than dropped.
    config.mark_with_ecn();
    let mut leaves = Vec::new();
    for (number, class) in raw.class.iter().enumerate() {
        if class.station_classes.is_none() && class.direction.is_none() {
            continue;
        }
        if tree.as_ref().is_some_and(|tree| !tree.is_leaf(number)) {
            let what = format!("class {} has children, and so no packets of its own", class.name);
            problems.add(class.name.span(), what, "station_classes and direction in its leaves");
            continue;
        }
        leaves.push(rule(manager, number, class, problems)?);
    }
    let default_leaf = tree.map_or(0, |tree| tree.default as u32);
    Some(QueueConfig { discipline: config, by_station, leaves, default_leaf, noise: noise?, seed: 0 })
}

/// Refuses disciplines of access points, which need stations and reports of the MAC below. In the box, the
/// manager's own tree has that role.
fn refuse_queues_of_access_points(raw: &QueueRaw, problems: &mut Problems) -> Option<()> {
    let word = raw.discipline.get(problems)?;
    if is_of_access_points(word) {
        let what = format!("{} is a queue of access points, in front of their MAC", raw.discipline);
        problems.add(
            raw.discipline.span(),
            what,
            "only for a queue of [radio]; without [manager.queue] stations share airtime",
        );
        return None;
    }
    Some(())
}

/// Refuses keys that need TX status, which the box does not see, so that no channel counts as dead.
fn refuse_fates(raw: &QueueRaw, problems: &mut Problems) {
    for place in [raw.dead.place(), raw.pause.place()].into_iter().filter(|place| !place.is_empty()) {
        problems.add(place, "the box does not learn what became of a packet", "only for a queue of [radio]");
    }
}

fn rule(manager: &ManagerSpec, number: usize, class: &QueueClassRaw, problems: &mut Problems) -> Option<LeafRule> {
    let mut classes = Vec::new();
    for item in class.station_classes.iter().flat_map(|list| list.items()) {
        let name: String = item.get(problems)?;
        let Some(id) = manager.class_id(&name) else {
            problems.add(item.span(), format!("there is no class {item}"), "the name of one of [[manager.class]]");
            return None;
        };
        classes.push(id);
    }
    let direction = match &class.direction {
        Some(written) => Some(written.get(problems)?.0),
        None => None,
    };
    Some(LeafRule { leaf: number as u32, classes, direction })
}

/// Refuses keys of the queue tree if nothing uses it: the Internet link's queues use the same levels.
fn refuse_what_is_the_trees(manager: &ManagerSpec, problems: &mut Problems) {
    if manager.wan.is_some() {
        return;
    }
    let keys = [
        manager.levels.as_ref().map(|levels| levels.span()).unwrap_or_default(),
        manager.up_weight.place(),
        manager.down_weight.place(),
        manager.station_fairness.place(),
        manager.other_weight.place(),
        manager.aqm.place(),
        manager.aqm_target.place(),
        manager.aqm_interval.place(),
        manager.sparse_first.place(),
    ];
    for place in keys.into_iter().filter(|place| !place.is_empty()) {
        problems.add(place, "a queue discipline takes the place of the tree that has this", "without [manager.queue]");
    }
}
