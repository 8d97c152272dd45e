//! Builds the contention domains and their nodes from a checked scenario, for the simulator and the testbed alike, so that
//! both run the same radio.

use evenair_ap::QueueSpec;
use evenair_medium::{Antenna, Beacons, Medium, MediumConfig, NodeConfig, NodeId, Obss, PowerSave};
use evenair_units::{Db, Dbm, Limit, Streams};
use evenair_wifi::{PathLoss, PhyRate};

use crate::{Action, Place, Radio, Scenario};

/// The access points of one contention domain and the stations of a scenario, from which a medium is built.
#[derive(Clone, Debug, PartialEq)]
pub struct AirPlan {
    /// The medium's rules.
    pub medium: MediumConfig,
    /// The access points, in the order of the file.
    pub access_points: Vec<AccessPointPlan>,
    /// All stations, in the order of the hosts: also those in other domains, which may roam here.
    pub stations: Vec<StationPlan>,
    /// The access point's queue in front of its MAC.
    pub ap_queue: Option<QueueSpec>,
    /// The stations' queue in front of their MAC.
    pub station_queue: Option<QueueSpec>,
    /// The access points' beacons.
    pub beacons: Option<Beacons>,
    /// Other networks, each with two nodes after the access points.
    pub obss: Vec<Obss>,
    /// Name of the medium's random streams; `None` if access points have no names.
    streams_of: Option<String>,
    /// Some nodes do not hear each other.
    has_hidden: bool,
}

/// One access point.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessPointPlan {
    /// Its index among the scenario's access points.
    pub number: usize,
    /// Name of its random streams.
    pub name: String,
    /// The access point, as a node.
    pub node: NodeConfig,
    /// Earlier access points that do not hear it, by index in the plan.
    pub hidden_from: Vec<usize>,
}

/// One station.
#[derive(Clone, Debug, PartialEq)]
pub struct StationPlan {
    /// Name of its random streams.
    pub name: String,
    /// Its index among the scenario's hosts.
    pub host: usize,
    /// The PHY rate of its DATA frames both ways, or the highest.
    pub rate: PhyRate,
    /// The station, as a node.
    pub node: NodeConfig,
    /// Probability per 10^9 that DATA to and from it is lost, in addition to other losses.
    pub loss_per_billion: u32,
    /// Signal-to-noise ratio in both directions; `None`: it follows from positions.
    pub snr: Option<Db>,
    /// Its initial access point, by index in the scenario.
    pub access_point: usize,
    /// Stations that do not hear it, by index. Joining a station hides it from them.
    pub hidden_from: Vec<usize>,
    /// Access points that do not hear it, by index in the plan; its own access point always hears it.
    pub hidden_from_points: Vec<usize>,
    /// Its power save, if any.
    pub power_save: Option<PowerSave>,
}

impl AirPlan {
    /// The air of a scenario's first contention domain, which is the only one unless it names several access points. Random
    /// positions depend on its seed.
    pub fn new(scenario: &Scenario) -> Self {
        Self::of_domain(scenario, 0)
    }

    /// The air of each contention domain, by index.
    pub fn all(scenario: &Scenario) -> Vec<Self> {
        (0..scenario.domains()).map(|domain| Self::of_domain(scenario, domain)).collect()
    }

    fn of_domain(scenario: &Scenario, domain: usize) -> Self {
        let Radio { ap_buffer, tx_power, back_off, .. } = scenario.radio;
        let medium = scenario.radio.medium_config();
        let has_places = medium.reception.path_loss.is_some();
        let edca = scenario.radio.edca.map(|edca| edca.access_point);
        let Radio { ap_queue, station_queue, .. } = scenario.radio.clone();
        let buffer = mac_buffer(&scenario.radio, ap_buffer, ap_queue.as_ref());
        let here = scenario.access_points.iter().enumerate().filter(|(_, point)| point.domain == domain);
        let mut streams_of = None;
        let access_points = here.map(|(number, point)| {
            streams_of = point.channel.map(|_| point.domain_name.clone());
            let antenna = has_places.then_some(Antenna { position: point.position, power: tx_power });
            let node = NodeConfig { buffer, edca, back_off: back_off.0, antenna };
            let name = format!("access point {}", point.name);
            AccessPointPlan { number, name, node, hidden_from: Vec::new() }
        });
        let mut access_points: Vec<_> = access_points.collect();
        let mut stations = stations(scenario, has_places);
        if let Some(path_loss) = medium.reception.path_loss {
            let threshold = scenario.radio.carrier_sense;
            hide_distant(&mut stations, &path_loss, threshold);
            hide_distant_points(&mut access_points, &mut stations, &path_loss, threshold);
        }
        let comes = |station: &StationPlan| comes_to(scenario, station.host, domain);
        let hidden = |station: &StationPlan| {
            let others = station.hidden_from.iter().any(|&other| comes(&stations[other]));
            comes(station) && (others || !station.hidden_from_points.is_empty())
        };
        let has_hidden = stations.iter().any(hidden) || access_points.iter().any(|point| !point.hidden_from.is_empty());
        let others = scenario.neighbours.iter().filter(|neighbour| neighbour.domain == domain);
        let (beacons, obss) = (scenario.radio.beacons, others.map(|neighbour| neighbour.sends).collect());
        Self { medium, access_points, stations, ap_queue, station_queue, beacons, obss, streams_of, has_hidden }
    }

    /// Whether some nodes do not hear each other, so that the medium must support hidden nodes.
    pub fn has_hidden(&self) -> bool {
        self.has_hidden
    }

    /// The random streams of its medium: with names, the domain has its own streams, independent of other domains.
    pub fn streams(&self, streams: &Streams) -> Streams {
        self.streams_of.as_ref().map_or(*streams, |name| streams.of(&format!("medium {name}")))
    }

    /// A medium with the access points on it, in their order. It supports hidden nodes only if there are any, since the
    /// other kind is faster. `streams` are those of the run.
    pub fn build<F>(&self, streams: &Streams) -> (Medium<F>, Vec<NodeId>) {
        let new = if self.has_hidden { Medium::with_hidden_nodes } else { Medium::new };
        let mut medium = new(self.medium.clone(), &self.streams(streams));
        let nodes: Vec<_> =
            self.access_points.iter().map(|point| medium.add_named_node(&point.name, point.node)).collect();
        for (point, &node) in self.access_points.iter().zip(&nodes) {
            point.hidden_from.iter().for_each(|&other| medium.hide(node, nodes[other]));
        }
        for &obss in &self.obss {
            medium.add_obss(obss);
        }
        for (beacons, &node) in self.beacons.iter().flat_map(|beacons| nodes.iter().map(move |node| (beacons, node))) {
            medium.send_beacons(node, *beacons);
        }
        (medium, nodes)
    }

    /// Number of nodes that a medium has before any station: access points, and other networks.
    pub fn nodes_before_stations(&self) -> usize {
        self.access_points.len() + 2 * self.obss.len()
    }

    /// Puts a station on the medium, for the first time or again, at one of the access points.
    pub fn join<F>(&self, medium: &mut Medium<F>, access_point: NodeId, station: usize) -> NodeId {
        let &StationPlan { ref name, node, rate, loss_per_billion, snr, power_save, .. } = &self.stations[station];
        let node = medium.add_named_node(name, node);
        if let Some(how) = power_save {
            medium.save_power(node, access_point, rate, how);
        }
        for (from, to) in [(node, access_point), (access_point, node)] {
            if loss_per_billion > 0 {
                medium.set_frame_error(from, to, loss_per_billion);
            }
            if let Some(snr) = snr {
                medium.set_snr(from, to, snr);
            }
        }
        node
    }
}

/// Whether a station is ever in a contention domain.
fn comes_to(scenario: &Scenario, host: usize, domain: usize) -> bool {
    let is_here = |access_point: usize| scenario.access_points[access_point].domain == domain;
    let roams_here = scenario.events.iter().any(|event| match event.action {
        Action::Roam { station, access_point, .. } => station == host && is_here(access_point),
        _ => false,
    });
    roams_here || is_here(scenario.access_point_at(host, evenair_units::Span::ZERO))
}

impl Radio {
    /// The medium's rules.
    pub fn medium_config(&self) -> MediumConfig {
        MediumConfig {
            rts_threshold: self.rts_threshold,
            protection: self.protection,
            short_retry_limit: self.short_retry_limit,
            long_retry_limit: self.long_retry_limit,
            after_collision: self.after_collision,
            idle_before_ack: self.idle_before_ack,
            reception: self.reception,
            rate_control: self.rate_control,
            idle_sense: self.idle_sense,
            aggregation: self.aggregation,
            ..MediumConfig::new(self.phy.clone())
        }
    }
}

/// Capacity of the MAC itself: with a queue above it, only as much as it takes from that. An aggregate's packets are in the MAC
/// until the BlockAck arrives, and the queue hands over the next ones when they are received: there the queue alone sets the bound.
fn mac_buffer(radio: &Radio, buffer: Limit, queue: Option<&QueueSpec>) -> Limit {
    match queue {
        None => buffer,
        Some(_) if radio.aggregation.is_some() => Limit::Unlimited,
        Some(queue) => Limit::Packets(queue.driver),
    }
}

fn stations(scenario: &Scenario, has_places: bool) -> Vec<StationPlan> {
    let radio = &scenario.radio;
    let streams = Streams::new(scenario.seed);
    let all = scenario.hosts.iter().enumerate().filter_map(|(host, spec)| match spec.place {
        Place::Station { rate, link, access_point, .. } => Some((host, rate, link, access_point)),
        Place::Lan | Place::Wan => None,
    });
    let all: Vec<_> = all.collect();
    // A layout is that of the stations of one access point.
    let mut counts = vec![0; scenario.access_points.len()];
    all.iter().for_each(|&(.., access_point)| counts[access_point] += 1);
    let mut before = vec![0; counts.len()];
    let mut plan = |(index, (host, rate, link, access_point)): (usize, (usize, PhyRate, crate::Link, usize))| {
        let name = format!("station {}", scenario.hosts[host].name);
        let place = before[access_point];
        before[access_point] += 1;
        let laid_out = || {
            let mut rng = streams.of(&name).stream("station position");
            let position = |layout: crate::Layout| layout.place(place, counts[access_point], &mut rng);
            radio.layout.map(position).map(|at| at.moved_by(scenario.access_points[access_point].position))
        };
        let position = link.position.or_else(laid_out).filter(|_| has_places);
        let power = link.tx_power.unwrap_or(radio.tx_power);
        let antenna = position.map(|position| Antenna { position, power });
        let buffer = mac_buffer(radio, radio.station_buffer, radio.station_queue.as_ref());
        let node =
            NodeConfig { buffer, edca: radio.edca.map(|edca| edca.stations), back_off: radio.back_off.1, antenna };
        StationPlan {
            name,
            host,
            rate,
            node,
            loss_per_billion: link.loss_per_billion,
            snr: link.snr,
            access_point,
            hidden_from: hidden_from(radio, index).collect(),
            hidden_from_points: Vec::new(),
            power_save: link.power_save,
        }
    };
    all.iter().copied().enumerate().map(&mut plan).collect()
}

/// Hides stations from each other if one receives the other below `threshold`.
fn hide_distant(stations: &mut [StationPlan], path_loss: &PathLoss, threshold: Dbm) {
    for a in 0..stations.len() {
        for b in 0..a {
            let (Some(one), Some(other)) = (stations[a].node.antenna, stations[b].node.antenna) else { continue };
            let weaker = one.power.min(other.power) - path_loss.between(one.position, other.position);
            if weaker < threshold && !stations[a].hidden_from.contains(&b) {
                stations[a].hidden_from.push(b);
                stations[b].hidden_from.push(a);
            }
        }
    }
}

/// The same for access points, from each other and from stations of other ones.
fn hide_distant_points(
    points: &mut [AccessPointPlan],
    stations: &mut [StationPlan],
    path_loss: &PathLoss,
    threshold: Dbm,
) {
    let is_weak = |one: Option<Antenna>, other: Option<Antenna>| {
        let (Some(one), Some(other)) = (one, other) else { return false };
        one.power.min(other.power) - path_loss.between(one.position, other.position) < threshold
    };
    for a in 0..points.len() {
        let antenna = points[a].node.antenna;
        points[a].hidden_from = (0..a).filter(|&b| is_weak(antenna, points[b].node.antenna)).collect();
        for station in stations.iter_mut() {
            // In a scenario with one access point, that hears all stations.
            if station.access_point != points[a].number && is_weak(antenna, station.node.antenna) {
                station.hidden_from_points.push(a);
            }
        }
    }
}

/// The stations that a file hides from a station.
fn hidden_from(radio: &Radio, station: usize) -> impl Iterator<Item = usize> + '_ {
    radio.hidden.iter().filter_map(move |&(a, b)| match station {
        _ if station == a => Some(b),
        _ if station == b => Some(a),
        _ => None,
    })
}
