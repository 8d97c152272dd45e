//! From a checked scenario to its medium and the nodes on it: one step for the simulator and the testbed, so that both
//! run the same radio.

use evenair_medium::{Antenna, Medium, MediumConfig, NodeConfig, NodeId};
use evenair_units::{Db, Dbm, Limit, Streams};
use evenair_wifi::{PathLoss, PhyRate};

use crate::{Place, QueueSpec, Radio, Scenario};

/// The access point and the stations of a scenario, to be put on a medium.
#[derive(Clone, Debug, PartialEq)]
pub struct AirPlan {
    /// The medium's rules.
    pub medium: MediumConfig,
    /// The access point, as a node.
    pub access_point: NodeConfig,
    /// The stations, in the order of the hosts.
    pub stations: Vec<StationPlan>,
    /// The access point's queue in front of its MAC.
    pub ap_queue: Option<QueueSpec>,
    /// The same at each station.
    pub station_queue: Option<QueueSpec>,
    /// Some stations do not hear each other.
    has_hidden: bool,
}

/// One station.
#[derive(Clone, Debug, PartialEq)]
pub struct StationPlan {
    /// Its index among the scenario's hosts.
    pub host: usize,
    /// The PHY rate of its DATA frames both ways, or the highest.
    pub rate: PhyRate,
    /// The station, as a node.
    pub node: NodeConfig,
    /// Probability per 10^9 that DATA to and from it is lost, beside other losses.
    pub loss_per_billion: u32,
    /// Signal over noise both ways, where it does not follow from places.
    pub snr: Option<Db>,
    /// Those that do not hear it, by their numbers among the stations. Who joins a station hides it from them.
    pub hidden_from: Vec<usize>,
}

impl AirPlan {
    /// The scenario's air. Random places are those of its seed.
    pub fn new(scenario: &Scenario) -> Self {
        let Radio { ap_buffer, ap_position, tx_power, back_off, .. } = scenario.radio;
        let medium = scenario.radio.medium_config();
        let has_places = medium.reception.path_loss.is_some();
        let antenna = has_places.then_some(Antenna { position: ap_position, power: tx_power });
        let edca = scenario.radio.edca.map(|edca| edca.access_point);
        let Radio { ap_queue, station_queue, .. } = scenario.radio.clone();
        let access_point =
            NodeConfig { buffer: mac_buffer(ap_buffer, ap_queue.as_ref()), edca, back_off: back_off.0, antenna };
        let mut stations = stations(scenario, has_places);
        if let Some(path_loss) = medium.reception.path_loss {
            hide_distant(&mut stations, &path_loss, scenario.radio.carrier_sense);
        }
        let has_hidden = stations.iter().any(|station| !station.hidden_from.is_empty());
        Self { medium, access_point, stations, ap_queue, station_queue, has_hidden }
    }

    /// A medium with the access point on it: one on which nodes may be hidden from each other only where some are, for
    /// the other is faster.
    pub fn build<F>(&self, streams: &Streams) -> (Medium<F>, NodeId) {
        let new = if self.has_hidden { Medium::with_hidden_nodes } else { Medium::new };
        let mut medium = new(self.medium.clone(), streams);
        let access_point = medium.add_node(self.access_point);
        (medium, access_point)
    }

    /// Puts a station on the medium, or puts it there again.
    pub fn join<F>(&self, medium: &mut Medium<F>, access_point: NodeId, station: usize) -> NodeId {
        let &StationPlan { node, loss_per_billion, snr, .. } = &self.stations[station];
        let node = medium.add_node(node);
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
            ..MediumConfig::new(self.phy.clone())
        }
    }
}

/// What the MAC itself holds: with a queue above it, only as much as it takes from that.
fn mac_buffer(buffer: Limit, queue: Option<&QueueSpec>) -> Limit {
    queue.map_or(buffer, |queue| Limit::Packets(queue.driver))
}

fn stations(scenario: &Scenario, has_places: bool) -> Vec<StationPlan> {
    let radio = &scenario.radio;
    let streams = Streams::new(scenario.seed);
    let count = scenario.hosts.iter().filter(|host| host.place.is_station()).count();
    let all = scenario.hosts.iter().enumerate().filter_map(|(host, spec)| match spec.place {
        Place::Station { rate, link, .. } => Some((host, rate, link)),
        Place::Lan | Place::Wan => None,
    });
    let plan = |(index, (host, rate, link)): (usize, (usize, PhyRate, crate::Link))| {
        let laid_out = || {
            let mut rng = streams.numbered("station position", index as u64);
            radio.layout.map(|layout| layout.place(index, count, &mut rng).moved_by(radio.ap_position))
        };
        let position = link.position.or_else(laid_out).filter(|_| has_places);
        let power = link.tx_power.unwrap_or(radio.tx_power);
        let antenna = position.map(|position| Antenna { position, power });
        let buffer = mac_buffer(radio.station_buffer, radio.station_queue.as_ref());
        let node =
            NodeConfig { buffer, edca: radio.edca.map(|edca| edca.stations), back_off: radio.back_off.1, antenna };
        let hidden_from = hidden_from(radio, index).collect();
        StationPlan { host, rate, node, loss_per_billion: link.loss_per_billion, snr: link.snr, hidden_from }
    };
    all.enumerate().map(plan).collect()
}

/// Hides from each other the stations of which one reaches the other with less than `threshold`.
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

/// The stations that a file hides from a station.
fn hidden_from(radio: &Radio, station: usize) -> impl Iterator<Item = usize> + '_ {
    radio.hidden.iter().filter_map(move |&(a, b)| match station {
        _ if station == a => Some(b),
        _ if station == b => Some(a),
        _ => None,
    })
}
