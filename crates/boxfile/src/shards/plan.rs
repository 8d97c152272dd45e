//! Division of contention domains among shards.
//!
//! The kernel assigns packets to shards by the outer VLAN tag, so a domain can be on another shard than the first only if its stations'
//! frames have separate VLANs.

use std::collections::BTreeSet;

use evenair_manager::{AccessPoint, Config, Label, Level};
use evenair_sys::fail_open::Steering;

/// Domains of each shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    steering: Steering,
    /// Domains by shard, without the default one, which belongs to the first shard.
    domains: Vec<BTreeSet<Label>>,
}

/// Domains that the outer tag of their stations' frames does not distinguish.
struct Group {
    domains: BTreeSet<Label>,
    vlans: BTreeSet<u16>,
    /// VLANs identify all their access points.
    by_vlan: bool,
}

impl Plan {
    /// Divides the domains of a manager's configuration among this many shards: each except the first gets at least one.
    ///
    /// # Errors
    /// Why it cannot be divided so, and what would be possible.
    pub fn new(shards: usize, config: &Config) -> Result<Self, (String, String)> {
        let mut plan = Self { steering: Steering::new(shards), domains: vec![BTreeSet::new(); shards] };
        let groups = groups(&config.access_points);
        let own = groups.iter().filter(|group| group.by_vlan).count();
        if own + 1 < shards {
            let what = format!(
                "there is nothing to do for {shards} shards: the frames of {own} contention domain{} come in VLANs of \
                 their own, and all others are on one shard",
                if own == 1 { "" } else { "s" }
            );
            return Err((what, format!("{} at most, or vlan = [...] in more [[manager.access_point]]", own + 1)));
        }
        if shards > 1 && config.wan.is_some() && !is_shared_by_station(config) {
            let what = "the Internet link is shared among shards station by station, and classes, which are above stations, would count once for each shard";
            let right = "count = 1 below [shards], or no [[manager.class]], or no [manager.wan]: classes of the WLAN alone, and the \
                         link without classes, go with several shards";
            return Err((what.into(), right.into()));
        }
        let mut next = usize::from(own < shards);
        for group in groups {
            let shard = if group.by_vlan { next % shards } else { 0 };
            next += usize::from(group.by_vlan);
            plan.domains[shard].extend(group.domains);
            if group.by_vlan {
                group.vlans.into_iter().for_each(|vlan| plan.steering.send(vlan, shard));
            }
        }
        Ok(plan)
    }

    /// Assignment of packets to shards.
    pub fn steering(&self) -> &Steering {
        &self.steering
    }

    /// Number of shards.
    pub fn shards(&self) -> usize {
        self.domains.len()
    }

    /// The configuration of a shard's manager, with only its own access points.
    pub fn config_of(&self, shard: usize, config: &Config) -> Config {
        if self.shards() <= 1 {
            return config.clone();
        }
        let is_own = |point: &AccessPoint| match is_default(point) {
            true => shard == 0,
            false => self.domains[shard].contains(&point.domain),
        };
        let mut config = config.with_access_points(is_own);
        config.wan.iter_mut().for_each(|wan| wan.shared = true);
        config
    }
}

fn is_default(point: &AccessPoint) -> bool {
    point.domain.as_bytes() == AccessPoint::DEFAULT_DOMAIN.as_bytes()
}

/// Whether stations, or their flows, are at the top of the tree: only then can weights apply across shards.
fn is_shared_by_station(config: &Config) -> bool {
    let top = config.policy.levels.iter().find(|level| !matches!(level, Level::Direction { .. }));
    matches!(top, None | Some(Level::Station { .. } | Level::Host | Level::Flow))
}

/// The domains, in the order of the configuration; those that share an outer tag are in one group.
fn groups(access_points: &[AccessPoint]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for point in access_points {
        let vlans: BTreeSet<u16> = point.vlans.iter().map(|vlan| vlan.id).collect();
        let by_vlan = !vlans.is_empty() && !is_default(point);
        let mut all = Group { domains: [point.domain].into(), vlans, by_vlan };
        let mut place = groups.len();
        // The groups are merged at the position of the first one.
        for at in (0..groups.len()).rev() {
            let other = &groups[at];
            if !other.domains.is_disjoint(&all.domains) || !other.vlans.is_disjoint(&all.vlans) {
                let other = groups.remove(at);
                all.domains.extend(other.domains);
                all.vlans.extend(other.vlans);
                all.by_vlan &= other.by_vlan;
                place = at;
            }
        }
        groups.insert(place.min(groups.len()), all);
    }
    groups
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use evenair_reader::Allowed;
    use evenair_sys::fail_open::MAX_SHARDS;
    use evenair_wifi::{Phy, Standard};

    use super::*;
    use crate::shards::ShardCounts;

    #[test]
    fn the_maximum_number_of_shards_is_that_of_the_fail_open_gate() {
        assert_eq!(ShardCounts::bounds().1, Bound::Included(MAX_SHARDS as u32));
    }

    fn point(name: &str, domain: &str, vlans: &[u16]) -> AccessPoint {
        let label = |text: &str| text.parse().expect("a short name");
        let vlans = vlans.iter().map(|&id| id.into()).collect();
        AccessPoint { domain: label(domain), vlans, ..AccessPoint::new(label(name)) }
    }

    fn config(access_points: Vec<AccessPoint>) -> Config {
        Config { access_points, ..Config::new(Phy::default_for(Standard::Dot11g)) }
    }

    fn shards_of(plan: &Plan, vlans: &[u16]) -> Vec<usize> {
        vlans.iter().map(|&vlan| plan.steering().shard_of(Some(vlan))).collect()
    }

    #[test]
    fn domains_with_separate_vlans_are_divided_and_all_others_are_on_the_first_shard() {
        let points = vec![point("hall", "hall", &[]), point("a", "a", &[11, 12]), point("b", "b", &[13])];
        let config = config(points);
        let plan = Plan::new(3, &config).expect("two of their own");
        assert_eq!(shards_of(&plan, &[11, 12, 13, 14]), [1, 1, 2, 0]);
        assert_eq!(plan.steering().shard_of(None), 0);
        let names = |shard| {
            let points = plan.config_of(shard, &config).access_points;
            points.iter().map(|point| point.name.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!((names(0), names(1), names(2)), ("hall".into(), "a".into(), "b".into()));
        // With fewer shards than domains the first one gets some, too.
        assert_eq!(shards_of(&Plan::new(2, &config).expect("fits"), &[11, 13]), [0, 1]);
        let one = Plan::new(1, &config).expect("always");
        assert_eq!((shards_of(&one, &[11, 13]), one.config_of(0, &config)), ([0, 0].into(), config.clone()));
        let (what, right) = Plan::new(4, &config).expect_err("nothing for the fourth");
        assert!(what.contains("of 2 contention domains") && right.starts_with("3 at most"), "{what}; {right}");
    }

    #[test]
    fn domains_that_tags_do_not_distinguish_stay_together() {
        let mixed = vec![point("a", "a", &[11]), point("b", "a", &[]), point("c", "c", &[13])];
        let plan = Plan::new(2, &config(mixed)).expect("c");
        assert_eq!(shards_of(&plan, &[11, 13]), [0, 1], "a domain with an access point known from telemetry alone");
        let mut points = vec![point("a", "a", &[]), point("b", "b", &[]), point("c", "c", &[13])];
        points[0].vlans = vec![evenair_packet::Vlan { id: 7, inner: Some(1) }];
        points[1].vlans = vec![evenair_packet::Vlan { id: 7, inner: Some(2) }];
        let plan = Plan::new(2, &config(points)).expect("two groups");
        assert_eq!(shards_of(&plan, &[7, 13]), [0, 1], "inner tags are not looked at");
    }

    #[test]
    fn classes_and_a_shared_link_cannot_be_divided() {
        let mut config = config(vec![point("a", "a", &[11])]);
        let (rate, aqm) = (evenair_units::BitRate::from_mbps(10), evenair_manager::WanConfig::AQM);
        let wan =
            evenair_manager::WanConfig { down: rate, up: rate, lan: vec![], lan_permille: 100, aqm, shared: false };
        config.wan = Some(wan.into());
        assert!(Plan::new(2, &config).is_ok_and(|plan| plan.config_of(1, &config).wan.is_some_and(|wan| wan.shared)));
        config.policy.levels.insert(0, Level::Class { weights: vec![], other: 1 });
        assert!(Plan::new(2, &config).expect_err("refused").0.contains("would count once for each shard"));
        assert!(Plan::new(1, &config).is_ok());
    }
}
