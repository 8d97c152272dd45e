//! Determines the policy class and kind of traffic of a flow. Changes nothing.

use evenair_packet::Vlan;

use super::config::{Application, ClassTree, Rule, Takes, number};
use super::node::PolicyNode;
use super::policy::{Level, Policy};
use crate::flows::{Flow, Key};
use crate::ids::{ClassId, Direction};
use crate::stations::Station;

impl Policy {
    /// The place of a flow in the policy.
    pub(crate) fn place(&self, flow: &Flow, station: &Station) -> PolicyNode {
        let mut place = PolicyNode::default();
        for level in &self.levels {
            match level {
                Level::Class { weights, .. } => {
                    place.class = station.class().filter(|class| weights.iter().any(|(known, _)| known == class));
                }
                Level::Tree(tree) => place.class = tree.class_of(flow, station),
                Level::Application { applications, .. } => {
                    let meets = |application: &Application| application.rules.iter().any(|r| r.is_met(flow, station));
                    place.application = applications.iter().position(meets).map(number);
                }
                Level::Direction { .. } | Level::Station { .. } | Level::Host | Level::Flow => {}
            }
        }
        place
    }
}

impl ClassTree {
    /// The class of a flow.
    fn class_of(&self, flow: &Flow, station: &Station) -> Option<ClassId> {
        let named = station.class().filter(|class| usize::from(class.0) < self.classes.len());
        let mut at = named;
        while let Some(child) = self.child_of(at, flow, station) {
            at = Some(child);
        }
        at
    }

    fn child_of(&self, of: Option<ClassId>, flow: &Flow, station: &Station) -> Option<ClassId> {
        let rest = |class: &ClassId| self.get(*class).takes == Takes::Rest;
        let taking = self.children(of).find(|&class| self.takes(class, flow, station));
        taking.or_else(|| self.children(of).find(rest))
    }

    fn takes(&self, class: ClassId, flow: &Flow, station: &Station) -> bool {
        match &self.get(class).takes {
            Takes::Named => self.children(Some(class)).any(|child| self.takes(child, flow, station)),
            Takes::Rules(rules) => rules.iter().any(|rule| rule.is_met(flow, station)),
            Takes::Rest => false,
        }
    }
}

impl Rule {
    /// Whether all conditions of the rule hold.
    fn is_met(&self, flow: &Flow, station: &Station) -> bool {
        let Key { vlan, flow: key, .. } = &flow.key;
        let [own, far] = flow.ends();
        let ports = |port: u16| self.ports.iter().any(|&(first, last)| (first..=last).contains(&port));
        let fits = |asked: &Vlan, vlan: Vlan| *asked == vlan || asked.inner.is_none() && asked.id == vlan.id;
        let vlans = || vlan.is_some_and(|vlan| self.vlans.iter().any(|asked| fits(asked, vlan)));
        (self.macs.is_empty() || self.macs.contains(&station.mac))
            && (self.addresses.is_empty() || self.addresses.iter().any(|subnet| subnet.contains(own.0)))
            && (self.peers.is_empty() || self.peers.iter().any(|subnet| subnet.contains(far.0)))
            && (self.vlans.is_empty() || vlans())
            && (self.dscps.is_empty() || self.dscps.contains(&flow.dscp))
            && (self.protocols.is_empty() || key.protocol().is_some_and(|protocol| self.protocols.contains(&protocol)))
            && (self.ports.is_empty() || key.names_ports() && (ports(own.1) || ports(far.1)))
            && self.direction.is_none_or(|direction: Direction| direction == flow.direction)
            && (self.ssids.is_empty() || station.ssid.is_some_and(|ssid| self.ssids.contains(&ssid)))
            && (self.groups.is_empty() || station.group.is_some_and(|group| self.groups.contains(&group)))
    }
}
