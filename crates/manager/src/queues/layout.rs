//! The place of a flow's queue in the tree: nodes are created for the first flow that needs them, and removed with the
//! last one.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use evenair_sched::{Codel, CodelConfig, Hsfq, NodeId};
use evenair_units::{BitRate, Bytes, Instant, Span};

use super::attained::{Attained, InLevels, UNANSWERED, count};
use super::classes::nodes::ClassNodes;
use super::config::TreeConfig;
use super::sparse::Credit;
use super::{Node, Queues, Share};
use crate::Level;
use crate::config::without::Mechanism;
use crate::flows::{Answer, Flow};
use crate::ids::{ClassId, Direction, FlowId, StationId};
use crate::stations::Station;
use crate::wan::config::WanConfig;

/// The station of the flow for which a node is made.
#[derive(Clone, Copy)]
struct Member {
    station: StationId,
    /// C_i of the station.
    capacity: BitRate,
}

impl<P> Queues<P> {
    pub(crate) fn new(config: &TreeConfig<'_>, now: Instant) -> Self {
        let origins = config.lan_permille.map(|lan| [lan.into(), (1000 - lan).into()]);
        let classes = config.policy.tree().map(|tree| ClassNodes::new(tree, now));
        let by_time = config.policy.is_by_time();
        Self { origins, classes, by_time, ..Self::with(config, levels(config), config.aqm) }
    }

    /// The queues before one direction of the Internet link: without a level of directions, and without weights by PHY
    /// rates, since the link has one rate. Ceilings apply to the WLAN only.
    pub(crate) fn of_link(config: &TreeConfig<'_>, wan: &WanConfig, now: Instant) -> Self {
        let of_link = |level: Level| match level {
            Level::Direction { .. } => None,
            Level::Station { .. } => Some(Level::Station { time_fair: false }),
            other => Some(other),
        };
        let mut levels: Vec<Level> = levels(config).into_iter().filter_map(of_link).collect();
        if levels.is_empty() {
            levels.push(Level::Flow);
        }
        let tree = config.policy.tree().map(ClassNodes::without_ceilings);
        let classes = tree.map(|tree| ClassNodes::new(&tree, now));
        Self { classes, ..Self::with(config, levels, config.aqm.map(|_| wan.aqm)) }
    }

    fn with(config: &TreeConfig<'_>, levels: Vec<Level>, aqm: Option<CodelConfig>) -> Self {
        let mut below = levels.iter().skip_while(|level| !matches!(level, Level::Station { .. }));
        Self {
            origins: None,
            classes: None,
            lifted: false,
            by_time: false,
            sparse_first: config.sparse_first
                && !config.without.has(Mechanism::Sparse)
                && levels.contains(&Level::Flow),
            urgent: VecDeque::new(),
            by_attained: config.sparse_first && below.any(|level| *level == Level::Flow),
            levels_weigh: !config.without.has(Mechanism::Attained),
            levels,
            limit: config.queue_limit,
            aqm,
            aqm_by_rounds: !config.without.has(Mechanism::Rounds),
            held_limit: config.held_limit.map_or(usize::MAX, |packets| packets as usize),
            hsfq: Hsfq::new(),
            bytes: Bytes::ZERO,
            nodes: Vec::new(),
            children: BTreeMap::new(),
            recent: Vec::new(),
            run_limit: crate::pacer::aggregating::runs::RunLimit::SINGLE,
            run: None,
            pace: (1, 1),
        }
    }

    /// The queue of a flow, created if needed. To be paired with [`Self::detach`].
    pub(crate) fn attach(&mut self, id: FlowId, flow: &Flow, station: &Station) -> NodeId {
        let of_station = Member { station: flow.station, capacity: station.capacity };
        if station.is_shared {
            let at = self.shared_node(flow.station, station);
            self.node(at).users += 1;
            return at;
        }
        let mut at = self.class_node(flow.place.class, of_station);
        if let Some(weights) = self.origins {
            let weight = weights[usize::from(flow.beyond)];
            at = self.child(at, Share::Origin(flow.beyond), weight, of_station);
        }
        for i in 0..self.levels.len() {
            let (share, weight) = match &self.levels[i] {
                Level::Flow if self.by_attained && matches!(flow.answer, Answer::None(_)) => {
                    (Share::Unanswered, UNANSWERED)
                }
                level => share_of(level, self.by_time, id, flow, station),
            };
            at = self.child(at, share, weight, of_station);
        }
        let node = self.node(at);
        node.users += 1;
        node.class = flow.place.class;
        at
    }

    /// The one queue of all unheard stations: in no class, a sibling of stations, or of the last level if stations are
    /// no level.
    fn shared_node(&mut self, id: StationId, station: &Station) -> NodeId {
        let of_station = Member { station: id, capacity: station.capacity };
        let mut at = self.class_node(None, of_station);
        if let Some([_, via_wan]) = self.origins {
            at = self.child(at, Share::Origin(true), via_wan, of_station);
        }
        let Some(last) = self.levels.len().checked_sub(1) else { return at };
        let is_station = |level: &Level| matches!(level, Level::Station { .. });
        let depth = self.levels.iter().position(is_station).unwrap_or(last);
        for i in 0..depth {
            let (share, weight) = match &self.levels[i] {
                Level::Direction { down, .. } => (Share::Direction(Direction::Down), u64::from(*down)),
                Level::Class { other, .. } => (Share::Class(None), u64::from(*other)),
                _ => continue,
            };
            at = self.child(at, share, weight, of_station);
        }
        let weight = station_weight(&self.levels[depth], self.by_time, station);
        self.child(at, Share::Station(id), weight, of_station)
    }

    /// The node of a class, or of its traffic in none of its children.
    fn class_node(&mut self, class: Option<ClassId>, of_station: Member) -> NodeId {
        let Some(classes) = &self.classes else { return NodeId::ROOT };
        let tree = &classes.tree;
        let mut path: Vec<(ClassId, u32)> = tree.path(class).map(|class| (class, tree.get(class).weight)).collect();
        path.reverse();
        let (others, other) = (class.is_none() || tree.has_children(class), tree.other);
        let mut at = NodeId::ROOT;
        for (class, weight) in path {
            at = self.child(at, Share::Class(Some(class)), weight.into(), of_station);
            let pause = self.classes.as_mut().is_some_and(|classes| classes.set_node(class, Some(at)));
            if pause && !self.hsfq.is_paused(at) {
                self.hsfq.pause(at);
            }
        }
        if others {
            at = self.child(at, Share::Class(None), other.into(), of_station);
        }
        at
    }

    fn child(&mut self, parent: NodeId, share: Share, weight: u64, of_station: Member) -> NodeId {
        match self.children.get(&(share, parent)) {
            Some(&child) => child,
            None => self.add(parent, share, weight, of_station),
        }
    }

    fn add(&mut self, parent: NodeId, share: Share, weight: u64, of_station: Member) -> NodeId {
        let Member { station, capacity } = of_station;
        let id = self.hsfq.add(parent, weight);
        if self.nodes.len() <= id.index() {
            self.nodes.resize(id.index() + 1, None);
        }
        let node = Node {
            share,
            station,
            served_bits: 0,
            served_time: Span::ZERO,
            mixture: capacity,
            users: 0,
            class: None,
            bytes: Bytes::ZERO,
            codel: Codel::default(),
            credit: Credit::FULL,
            attained: Attained::default(),
            last_held: Instant::ZERO,
            recent_at: None,
            in_urgent: false,
            in_levels: InLevels::default(),
        };
        self.nodes[id.index()] = Some(node);
        self.children.insert((share, parent), id);
        id
    }

    /// Detaches a flow from its queue, in which it holds nothing.
    pub(crate) fn detach(&mut self, leaf: NodeId) {
        self.node(leaf).users -= 1;
        if self.node(leaf).users > 0 {
            return;
        }
        self.forget_recent(leaf);
        count(&mut self.nodes, self.hsfq.parent(leaf), leaf, None);
        if self.node(leaf).in_urgent {
            self.urgent.retain(|&urgent| urgent != leaf);
            self.tidy_urgent();
        }
        let mut id = leaf;
        while let Some(parent) = self.hsfq.parent(id).filter(|_| !self.hsfq.has_children(id)) {
            self.run = self.run.filter(|run| run.node != id);
            self.hsfq.remove(id);
            let node = self.nodes[id.index()].take().expect("a node of the tree is known here");
            self.children.remove(&(node.share, parent));
            if let (Share::Class(Some(class)), Some(classes)) = (node.share, &mut self.classes) {
                classes.set_node(class, None);
            }
            id = parent;
        }
    }

    /// Updates the weight of a station's nodes after a change of its rate or weight.
    pub(crate) fn update_station(&mut self, id: StationId, station: &Station) {
        let Some(level) = self.levels.iter().find(|level| matches!(level, Level::Station { .. })) else { return };
        let weight = station_weight(level, self.by_time, station);
        let first = (Share::Station(id), NodeId::ROOT);
        for (_, &node) in self.children.range(first..).take_while(|((share, _), _)| *share == first.0) {
            self.hsfq.set_weight(node, weight);
        }
    }
}

/// The policy's levels below its classes. With CoDel each connection has a queue of its own, so that its wait is caused
/// by its own packets.
fn levels(config: &TreeConfig<'_>) -> Vec<Level> {
    let levels = config.policy.levels.iter().filter(|level| !matches!(level, Level::Tree(_)));
    let mut levels: Vec<Level> = levels.cloned().collect();
    if config.aqm.is_some() && !levels.contains(&Level::Flow) {
        levels.push(Level::Flow);
    }
    levels
}

fn share_of(level: &Level, by_time: bool, id: FlowId, flow: &Flow, station: &Station) -> (Share, u64) {
    match level {
        Level::Direction { up, down } => {
            let weight = if flow.direction == Direction::Up { up } else { down };
            (Share::Direction(flow.direction), u64::from(*weight))
        }
        Level::Class { weights, other } => {
            let found = weights.iter().find(|(class, _)| Some(*class) == station.class());
            (Share::Class(found.map(|(class, _)| *class)), u64::from(found.map_or(*other, |(_, weight)| *weight)))
        }
        Level::Station { .. } => (Share::Station(flow.station), station_weight(level, by_time, station)),
        Level::Application { applications, other } => {
            let found = flow.place.application.and_then(|number| applications.get(usize::from(number.0)));
            (Share::Application(flow.place.application), u64::from(found.map_or(*other, |found| found.weight)))
        }
        Level::Host => (Share::Host(flow.own_address()), 1),
        Level::Flow => (Share::Flow(id), 1),
        Level::Tree(_) => unreachable!("classes are above all levels"),
    }
}

/// Weight of a station's node: if shares of medium time count in bits, it is multiplied by C_i in kb/s, which is fine
/// enough and keeps the product with any weight within 64 bits.
fn station_weight(level: &Level, by_time: bool, station: &Station) -> u64 {
    match level {
        Level::Station { time_fair: true } if !by_time => station.weight() * (station.capacity.as_bps() / 1_000).max(1),
        _ => station.weight(),
    }
}
