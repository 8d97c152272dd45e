//! The performance anomaly in closed form: the throughput of each station if a slow one has as many packets, or accesses, as
//! the others, and if all have equal airtime.
//!
//! Source: M. Heusse, F. Rousseau, G. Berger-Sabbatel, A. Duda, "Performance Anomaly of 802.11b", INFOCOM 2003: DCF gives each
//! station the same number of accesses, so that the throughput of all is that of a round of one access each. Times of packets are
//! those of `evenair_wifi`: [`tcp_capacity`] of single frames, [`AggregateSender`](evenair_wifi::AggregateSender) of A-MPDUs, both
//! with the ACKs of TCP; for uploads of datagrams Bianchi's model with the exchange of each station, instead of the paper's
//! approximation of contention.
//!
//! - *Equal packets*: downloads through one FIFO at the access point, whose flows each have the same number of packets in it;
//!   for datagrams in proportion to their offered rates.
//! - *Equal accesses*: uploads. Each station has the same number of accesses, and sends a packet or an aggregate in each.
//! - *Equal airtime*: each station has the same time, divided equally among its flows.
//!
//! An aggregate has as many packets as the format, the scenario's limits and its flow's part of the buffer allow. A TXOP limit bounds
//! its time; several aggregates in one TXOP are not modelled. Senders always have packets: [`Scenario::anomaly`] refuses flows with
//! an offered rate below their throughput. Losses, beacons, encryption and TCP windows are not modelled.

mod flows;

use evenair_units::{Bytes, Span};
use evenair_wifi::bianchi::Model;
use evenair_wifi::{AccessCategory, AggregateTcp, collision_millionths, tcp_capacity};
use evenair_workload::{Direction, Phase};

use crate::{Place, Scenario};

use self::flows::Flow;

/// How stations share the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Each flow has the same number of packets, as in one FIFO.
    EqualPackets,
    /// Each station has the same number of accesses, as with DCF.
    EqualAccesses,
    /// Each station has the same time.
    EqualAirtime,
}

/// Throughput of an application by the closed form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Its index in [`Scenario::apps`].
    pub app: usize,
    /// Goodput in Mb/s.
    pub goodput_mbps: f64,
}

/// Results of the closed form for a phase and one way of sharing.
#[derive(Clone, Debug, PartialEq)]
pub struct Anomaly {
    /// The way of sharing.
    pub sharing: Sharing,
    /// Its applications, in the order of the file.
    pub apps: Vec<Expected>,
}

impl Sharing {
    /// Its description.
    pub const fn words(self) -> &'static str {
        match self {
            Self::EqualPackets => "equal packets",
            Self::EqualAccesses => "equal accesses",
            Self::EqualAirtime => "equal airtime",
        }
    }
}

impl Anomaly {
    /// Total goodput of all applications, Mb/s.
    pub fn total_goodput_mbps(&self) -> f64 {
        self.apps.iter().map(|app| app.goodput_mbps).sum()
    }
}

impl Scenario {
    /// The closed form of the performance anomaly for the flows of a phase: with the sharing that results from the access
    /// method or a FIFO, then with equal airtime.
    ///
    /// # Errors
    /// Why the closed form does not apply.
    pub fn anomaly(&self, phase: &Phase) -> Result<[Anomaly; 2], String> {
        self.is_in_the_model()?;
        let (flows, direction) = self.flows(phase)?;
        let is_upload = direction == Direction::Up;
        let sharing = if is_upload { Sharing::EqualAccesses } else { Sharing::EqualPackets };
        let packets = match (is_upload, flows[0].tcp) {
            (true, None) => self.saturated(&flows),
            _ => {
                let times: Vec<f64> = flows.iter().map(|flow| self.time_of_packet(flow)).collect();
                let weights: Vec<f64> = flows.iter().map(|flow| flow.weight(is_upload, &flows)).collect();
                let round: f64 = weights.iter().zip(&times).map(|(weight, time)| weight * time).sum();
                weights.into_iter().map(|weight| weight / round).collect()
            }
        };
        let alone = flows.iter().map(|flow| match (is_upload, flow.tcp) {
            (true, None) => self.saturated_alike(flow, &flows),
            _ => 1.0 / self.time_of_packet(flow) / flow.parts(&flows),
        });
        let of = |(sharing, packets): (Sharing, Vec<f64>)| Anomaly { sharing, apps: expected(&flows, &packets) };
        let found = [(sharing, packets), (Sharing::EqualAirtime, alone.collect())].map(of);
        self.are_saturated(&flows, &found)?;
        Ok(found)
    }

    /// Refuses features that the closed form omits and that change its results much.
    fn is_in_the_model(&self) -> Result<(), String> {
        let radio = &self.radio;
        let usual = radio.phy.default_edca()[AccessCategory::BestEffort.index()];
        let is_usual = |set: &evenair_wifi::EdcaSet| {
            let best_effort = set[AccessCategory::BestEffort.index()];
            (best_effort.aifsn, best_effort.cw_min) == (usual.aifsn, usual.cw_min)
        };
        let links = self.hosts.iter().filter_map(|host| match host.place {
            Place::Station { link, .. } => Some(link),
            Place::Lan | Place::Wan => None,
        });
        let mut links = links.peekable();
        let reasons = [
            (self.access_points.len() > 1, "several access points"),
            (!self.neighbours.is_empty(), "networks of others"),
            (radio.rate_control != Default::default(), "senders that choose their rates"),
            (
                radio.reception.path_loss.is_some() || !radio.hidden.is_empty(),
                "places, and stations that do not hear each other",
            ),
            (radio.reception.ber != Default::default(), "bit errors"),
            (
                links.any(|link| link.loss_per_billion > 0 || link.snr.is_some() || link.power_save.is_some()),
                "stations with losses or power save",
            ),
            (radio.protection.is_some(), "protection by CTS"),
            (radio.back_off != Default::default(), "other back-off than the standard's"),
            (
                radio.edca.is_some_and(|edca| !is_usual(&edca.stations) || !is_usual(&edca.access_point)),
                "other AIFS or first window of best effort than the standard's",
            ),
            (radio.aggregation.is_some_and(|rules| rules.a_msdu > Bytes::ZERO), "A-MSDUs"),
            (
                radio.aggregation.is_some_and(|rules| rules.order == evenair_medium::Order::Neighbours),
                "aggregates of neighbours in the queue alone",
            ),
        ];
        let found = reasons.into_iter().find(|(is_there, _)| *is_there);
        found.map_or(Ok(()), |(_, what)| Err(format!("the closed form has no {what}")))
    }

    /// Airtime in seconds of a packet with its part of the ACKs, without contention.
    fn time_of_packet(&self, flow: &Flow) -> f64 {
        let phy = &self.radio.phy;
        let Some(shape) = flow.tcp else { return self.time_of_access(flow).as_secs_f64() / f64::from(flow.aggregate) };
        let bits = flow.ip.bits() as f64 + shape.ack_ip.bits() as f64 * 1e3 / f64::from(shape.d_milli);
        let capacity = if self.radio.edca.is_some() {
            let collision_millionths = if flow.aggregate > 1 { collision_millionths(phy) } else { 0 };
            let tcp = AggregateTcp { shape, acks: None, collision_millionths };
            self.sender(flow.rate).tcp_capacity(flow.aggregate, &tcp)
        } else {
            tcp_capacity(phy, flow.rate, &shape)
        };
        bits / capacity.as_bps() as f64
    }

    /// Airtime of an access with its back-off.
    fn time_of_access(&self, flow: &Flow) -> Span {
        let needs_rts = self.radio.rts_threshold.is_some_and(|threshold| flow.ip > threshold);
        match self.radio.edca {
            Some(_) => self.sender(flow.rate).cycle(flow.aggregate, flow.ip),
            None => self.radio.phy.access_cost(flow.ip, flow.rate, needs_rts).0,
        }
    }

    /// Packets per second of each flow if each station always contends: Bianchi's chain, with each station's exchange. Flows of
    /// one station take turns. A collision takes as long as the longest exchange in it.
    fn saturated(&self, flows: &[Flow]) -> Vec<f64> {
        let phy = &self.radio.phy;
        let own = |flow: &Flow| self.time_of_access(flow).as_secs_f64() - phy.mean_backoff().as_secs_f64();
        // A station's exchange is the mean of its flows'.
        let stations: Vec<&Flow> = flows.iter().filter(|flow| flow.is_first_of_station(flows)).collect();
        let mean = |station: &&Flow| {
            let its = flows.iter().filter(|flow| flow.station == station.station);
            its.map(own).sum::<f64>() / station.siblings(flows)
        };
        let mut exchanges: Vec<f64> = stations.iter().map(mean).collect();
        let count = exchanges.len() as u32;
        let tau = Model::basic_access(phy, count, flows[0].ip, flows[0].rate).solve().tau;
        let silent = |others: u32| (1.0 - tau).powi(others as i32);
        let run = 1.0 / (1.0 - 1.0 / f64::from(phy.cw_min() + 1));
        let slot = phy.slot().as_secs_f64();
        let one = tau * silent(count - 1);
        let successes: f64 = exchanges.iter().map(|exchange| one * (exchange * run + slot)).sum();
        exchanges.sort_by(|a, b| b.total_cmp(a));
        let longest = |(longer, exchange): (usize, &f64)| {
            let longer = longer as u32;
            tau * silent(longer) * (1.0 - silent(count - 1 - longer)) * exchange
        };
        let collisions: f64 = exchanges.iter().enumerate().map(longest).sum();
        let accesses = one * run / (silent(count) * slot + successes + collisions);
        flows.iter().map(|flow| accesses * f64::from(flow.aggregate) / flow.siblings(flows)).collect()
    }

    /// The same for a flow if all stations are like its own.
    fn saturated_alike(&self, flow: &Flow, flows: &[Flow]) -> f64 {
        let stations = flows.iter().filter(|other| other.is_first_of_station(flows));
        let alike: Vec<Flow> = stations.map(|station| Flow { station: station.station, ..*flow }).collect();
        self.saturated(&alike)[0] / flow.siblings(flows)
    }

    /// Refuses flows with an offered rate below their throughput.
    fn are_saturated(&self, flows: &[Flow], found: &[Anomaly; 2]) -> Result<(), String> {
        for (at, flow) in flows.iter().enumerate() {
            let Some(offered) = flow.offered.map(|packets| packets * flow.payload.bits() as f64 / 1e6) else {
                continue;
            };
            if let Some(more) = found.iter().map(|found| found.apps[at].goodput_mbps).find(|&mbps| mbps > offered) {
                let name = &self.apps[flow.app].name;
                return Err(format!(
                    "application {name:?} sends {offered:.3} Mb/s where {more:.3} would be carried: the closed form \
                                    is of senders that always have packets"
                ));
            }
        }
        Ok(())
    }
}

fn expected(flows: &[Flow], packets: &[f64]) -> Vec<Expected> {
    let one = |(flow, packets): (&Flow, &f64)| Expected {
        app: flow.app,
        goodput_mbps: packets * flow.payload.bits() as f64 / 1e6,
    };
    flows.iter().zip(packets).map(one).collect()
}
