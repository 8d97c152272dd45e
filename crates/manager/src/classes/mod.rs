//! The operator's tree of policy classes: which flows are in which class, and what each class may have.
//!
//! Classification takes a flow down the tree from its root: at each class to the first child, in the order of
//! configuration, that matches it, until none does. So a parent's conditions bound its children's, and the first
//! matching rule decides. Flows that match no child are in the *others* of that class, together one more child.
//!
//! A class matches:
//! - with rules, the flows that match one of them, that is, all conditions that the rule names;
//! - without rules, the flows of stations that name it, and the flows that one of its children matches;
//! - as the rest: the flows that its siblings leave, at whichever position it is among them.
//!
//! A station that the configuration assigns to a class is in it whatever the rules say, and is classified further
//! from there.
//!
//! A flow is classified when it begins, when its station or direction changes, when new information about its station
//! arrives, and when its code point changes while none of its packets is held: a sender must not be able to make the
//! box move queues with every packet.
//!
//! What is not here: queues and their order (see `nodes` and `queues`).

pub(crate) mod codec;
mod config;
mod label;
mod node;
pub(crate) mod nodes;
pub(crate) mod totals;

pub(crate) use config::check_rules;
pub use config::{Amount, Application, Class, ClassError, ClassTree, Rule, Takes};
pub use label::{Label, LabelError};
pub(crate) use node::PolicyNode;

use evenair_packet::Vlan;

use crate::flow::Flow;
use crate::ids::{ClassId, Direction};
use crate::station::Station;
use crate::{Level, Policy};

impl Policy {
    /// Where a flow of a station is.
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

    /// Whether code points decide where a flow is.
    pub(crate) fn reads_dscp(&self) -> bool {
        let reads = |rules: &[Rule]| rules.iter().any(|rule| !rule.dscps.is_empty());
        self.levels.iter().any(|level| match level {
            Level::Tree(tree) => tree.classes.iter().any(|class| reads(class.rules())),
            Level::Application { applications, .. } => applications.iter().any(|application| reads(&application.rules)),
            _ => false,
        })
    }

    /// Its tree of classes, where it has one.
    pub(crate) fn tree(&self) -> Option<&ClassTree> {
        self.levels.iter().find_map(|level| if let Level::Tree(tree) = level { Some(tree) } else { None })
    }

    /// How many classes there are, and the parent of each.
    pub(crate) fn parents(&self) -> impl Iterator<Item = Option<ClassId>> {
        let count = match self.levels.iter().find(|level| matches!(level, Level::Class { .. } | Level::Tree(_))) {
            Some(Level::Class { weights, .. }) => weights.iter().map(|(class, _)| usize::from(class.0) + 1).max(),
            Some(Level::Tree(tree)) => Some(tree.classes.len()),
            _ => None,
        };
        (0..count.unwrap_or(0)).map(|at| self.tree().and_then(|tree| tree.classes[at].parent))
    }
}

impl ClassTree {
    /// A class by its number.
    pub(crate) fn get(&self, class: ClassId) -> &Class {
        &self.classes[usize::from(class.0)]
    }

    /// A class and all above it, upward.
    pub(crate) fn path(&self, class: Option<ClassId>) -> impl Iterator<Item = ClassId> + '_ {
        core::iter::successors(class, |&class| self.get(class).parent)
    }

    pub(crate) fn has_children(&self, class: Option<ClassId>) -> bool {
        self.children(class).next().is_some()
    }

    pub(crate) fn children(&self, of: Option<ClassId>) -> impl Iterator<Item = ClassId> + '_ {
        let classes = self.classes.iter().enumerate();
        classes.filter(move |(_, class)| class.parent == of).map(|(at, _)| number(at))
    }

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
    /// All conditions that it names hold.
    fn is_met(&self, flow: &Flow, station: &Station) -> bool {
        let (vlan, key, _) = &flow.key;
        let [own, far] = flow.ends();
        let ports = |port: u16| self.ports.iter().any(|&(first, last)| (first..=last).contains(&port));
        let fits = |asked: &Vlan, vlan: Vlan| *asked == vlan || asked.inner.is_none() && asked.id == vlan.id;
        let vlans = || vlan.is_some_and(|vlan| self.vlans.iter().any(|asked| fits(asked, vlan)));
        (self.macs.is_empty() || self.macs.contains(&station.mac))
            && (self.addresses.is_empty() || self.addresses.iter().any(|subnet| subnet.contains(own.0)))
            && (self.peers.is_empty() || self.peers.iter().any(|subnet| subnet.contains(far.0)))
            && (self.vlans.is_empty() || vlans())
            && (self.dscps.is_empty() || self.dscps.contains(&flow.dscp))
            && (self.protocols.is_empty() || self.protocols.contains(&key.protocol()))
            && (self.ports.is_empty() || key.names_ports() && (ports(own.1) || ports(far.1)))
            && self.direction.is_none_or(|direction: Direction| direction == flow.direction)
            && (self.ssids.is_empty() || station.ssid.is_some_and(|ssid| self.ssids.contains(&ssid)))
            && (self.groups.is_empty() || station.group.is_some_and(|group| self.groups.contains(&group)))
    }
}

/// There are no more than fit.
fn number(at: usize) -> ClassId {
    ClassId(u8::try_from(at).unwrap_or(u8::MAX))
}
