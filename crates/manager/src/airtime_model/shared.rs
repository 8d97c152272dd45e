//! Airtime of packets where several share an access: aggregation, from 802.11n on.
//!
//! An access toward a backlogged station carries as many packets as an aggregate has at the station's rate, and a station
//! without aggregation one. The expected number counts, not one that was seen: a short backlog makes short aggregates. The
//! ACKs of an aggregate come back in one access, however many they are.
//!
//! Not here: stations whose limits are smaller than those of their format, encryption, and what lone packets of other
//! traffic cost: they are charged as those of a backlogged station, unless they are known to be alone.

use alloc::vec::Vec;

use evenair_units::{BitRate, Bytes, Span};
use evenair_wifi::{AggregateCost, AggregateLimits, AggregateSender, AggregateTcp, Phy, PhyRate, TcpShape};

use super::rate_classes::RateClasses;
use crate::packet_cost::PacketCost;

/// Largest packet that counts as an ACK, at IP level: TCP without DATA, with all its options, over IPv6.
const LARGEST_ACK: Bytes = Bytes(100);

/// Airtime of packets at each noted rate; see the module.
#[derive(Clone, Debug)]
pub(super) struct SharedAccesses {
    phy: Phy,
    tcp: AggregateTcp,
    /// Noted rates, in the order in which they were noted.
    rates: Vec<AtRate>,
    /// Position in `rates` of each rate, by [`PhyRate::index`], or [`NOWHERE`]. A table, since each packet looks up a
    /// few rates.
    places: Vec<u16>,
}

/// Position of a rate that is not noted.
const NOWHERE: u16 = u16::MAX;

/// What packets cost at one rate, computed once.
#[derive(Clone, Copy, Debug)]
struct AtRate {
    cost: AggregateCost,
    capacity: BitRate,
}

impl SharedAccesses {
    /// Costs at the rates of these classes.
    pub(super) fn new(phy: &Phy, shape: &TcpShape, classes: &RateClasses) -> Self {
        let tcp = AggregateTcp { shape: *shape, acks: None, collision_millionths: 0 };
        let mut this = Self { phy: phy.clone(), tcp, rates: Vec::new(), places: Vec::new() };
        classes.iter().for_each(|rate| this.note(rate));
        this
    }

    /// Computes once what packets cost at a rate: that of a class, or the mode of a station.
    pub(super) fn note(&mut self, rate: PhyRate) {
        let index = rate.index() as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, NOWHERE);
        }
        if self.places[index] == NOWHERE {
            self.places[index] = u16::try_from(self.rates.len()).expect("there are a few hundred rates");
            self.rates.push(at_rate(&self.phy, &self.tcp, rate));
        }
    }

    fn at(&self, rate: PhyRate) -> Option<&AtRate> {
        let place = *self.places.get(rate.index() as usize)?;
        self.rates.get(usize::from(place))
    }

    fn cost(&self, rate: PhyRate) -> AggregateCost {
        self.at(rate).map_or_else(|| self.anew(rate).cost, |at| at.cost)
    }

    /// The cost at a rate that is not noted: one of another standard, while a station moves.
    #[cold]
    fn anew(&self, rate: PhyRate) -> AtRate {
        at_rate(&self.phy, &self.tcp, rate)
    }

    pub(super) fn capacity(&self, rate: PhyRate) -> BitRate {
        self.at(rate).map_or_else(|| self.anew(rate).capacity, |at| at.capacity)
    }

    /// Airtime of a packet that shares its access with no other.
    pub(super) fn alone(&self, ip_len: Bytes, rate: PhyRate) -> Span {
        self.cost(rate).alone(ip_len)
    }

    /// Airtime of packets with their parts of accesses: DATA have the part of one among the expected number, and ACKs
    /// together no larger part than the DATA that they belong to.
    pub(super) fn airtime(&self, cost: &PacketCost, rate: PhyRate) -> Span {
        let at = self.cost(rate);
        let expected = u64::from(at.expected);
        // In thousandths of packets.
        let (mut frames, mut data, mut acks) = (Span::ZERO, 0, 0);
        for packets in cost.0.iter().filter(|packets| packets.milli > 0) {
            frames += at.frame(packets.ip_len).mul_div(packets.milli, 1_000);
            *(if packets.ip_len > LARGEST_ACK { &mut data } else { &mut acks }) += packets.milli;
        }
        let of_acks = match data {
            0 => acks * expected / u64::from(at.expected_acks),
            _ => data.min(acks * expected),
        };
        frames + at.per_access.mul_div(data + of_acks, expected * 1_000)
    }
}

fn at_rate(phy: &Phy, tcp: &AggregateTcp, rate: PhyRate) -> AtRate {
    let limits = AggregateLimits::of_rate(rate);
    let sender = AggregateSender { phy, rate, limits, rts_threshold: tcp.shape.rts_threshold };
    let full = sender.full(tcp.shape.data_ip);
    AtRate { cost: sender.cost(full, tcp), capacity: sender.tcp_capacity(full, tcp) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::airtime_model::AirtimeModel;
    use crate::packet_cost::Packets;
    use evenair_wifi::{PhyMode, Standard};

    const FULL_SIZE: Bytes = Bytes(1_500);
    const ACK: Bytes = Bytes(52);
    const NONE: Packets = Packets { milli: 0, ip_len: Bytes::ZERO };

    fn models() -> impl Iterator<Item = (Phy, AirtimeModel)> {
        [Standard::Dot11n, Standard::Dot11ac, Standard::Dot11ax].into_iter().map(|standard| {
            let phy = Phy::default_for(standard);
            (phy.clone(), AirtimeModel::new(phy, None))
        })
    }

    fn sender(phy: &Phy, rate: PhyRate) -> AggregateSender<'_> {
        AggregateSender { phy, rate, limits: AggregateLimits::of_rate(rate), rts_threshold: None }
    }

    fn assert_near(ours: Span, expected: Span, permille: u64, of: PhyRate) {
        let (ours, expected) = (ours.as_nanos(), expected.as_nanos());
        assert!(ours.abs_diff(expected) * 1_000 <= expected * permille, "{of}: {ours} against {expected} ns");
    }

    #[test]
    fn a_full_size_load_takes_its_virtual_length_over_c_i() {
        for (_, model) in models() {
            for rate in model.classes().iter() {
                let ack = Packets { milli: 500, ip_len: ACK };
                let cost = PacketCost([Packets::one(FULL_SIZE), ack, NONE, NONE]);
                let exact = model.capacity(rate).time_for_bits(cost.bits());
                // Half a symbol of an access; where that has few frames, its ACKs may be one more than there are.
                assert_near(model.airtime(&cost, rate), exact, 40, rate);
            }
        }
    }

    /// Airtime of the accesses of so many ACKs; between whole numbers, in proportion.
    fn accesses_of_acks(sender: &AggregateSender, acks: f64) -> f64 {
        let cycle = |k: f64| sender.cycle(k as u16, ACK).as_secs_f64();
        match acks {
            ..1.0 => acks * cycle(1.0),
            _ => cycle(acks.floor()) + acks.fract() * (cycle(acks.ceil()) - cycle(acks.floor())),
        }
    }

    #[test]
    fn the_acks_of_an_aggregate_share_an_access_however_many_they_are() {
        for (phy, model) in models() {
            for &rate in model.rates().iter().step_by(5) {
                for d in [1, 2, 44] {
                    let sender = sender(&phy, rate);
                    let n = sender.full(FULL_SIZE);
                    let in_all =
                        sender.cycle(n, FULL_SIZE).as_secs_f64() + accesses_of_acks(&sender, f64::from(n) / d as f64);
                    // A download's DATA and what they elicit; an upload's ACK and what it releases.
                    let data = Packets { milli: d * 1_000, ip_len: FULL_SIZE };
                    let download = PacketCost([data, Packets { milli: 1_000, ip_len: ACK }, NONE, NONE]);
                    let upload = PacketCost([Packets::one(ACK), NONE, data, NONE]);
                    let expected = Span::from_secs_f64(in_all * d as f64 / f64::from(n));
                    for cost in [download, upload] {
                        assert_near(model.airtime(&cost, rate), expected, 40, rate);
                    }
                }
            }
        }
    }

    #[test]
    fn a_station_at_a_rate_of_ofdm_sends_one_frame_at_a_time() {
        for (phy, model) in models() {
            for &rate in phy.standard().rates() {
                let exact = sender(&phy, rate).cycle(1, FULL_SIZE);
                for ours in [model.packet_airtime(FULL_SIZE, rate), model.lone_airtime(FULL_SIZE, rate)] {
                    assert_near(ours, exact, 1, rate);
                }
                // With as many ACKs in an access as DATA: one.
                assert_near(model.packet_airtime(ACK, rate), sender(&phy, rate).cycle(1, ACK), 40, rate);
            }
        }
    }

    #[test]
    fn a_lone_packet_pays_for_its_access() {
        for (_, model) in models() {
            let fastest = model.fastest();
            let (alone, shared) = (model.lone_airtime(Bytes(200), fastest), model.packet_airtime(Bytes(200), fastest));
            assert!(alone > Span::from_micros(180) && shared * 20 < alone, "{fastest}: {alone} and {shared}");
            assert!(model.shortest_lone_airtime(Bytes(200)) > Span::from_micros(180));
        }
    }

    #[test]
    fn a_noted_mode_costs_what_it_costs_computed_anew() {
        let (_, mut ac) = models().nth(1).unwrap();
        let mode = PhyRate::from("VHT MCS 4, 80 MHz, 2 streams, GI 0.4 us".parse::<PhyMode>().unwrap());
        assert!(ac.classes().iter().all(|rate| rate != mode));
        let costs = |model: &AirtimeModel| {
            let rates = model.classes().iter().chain([mode]);
            rates.map(|rate| (model.packet_airtime(FULL_SIZE, rate), model.capacity(rate))).collect::<Vec<_>>()
        };
        let anew = costs(&ac);
        (0..2).for_each(|_| ac.note(mode));
        assert_eq!(costs(&ac), anew);
        assert_eq!(ac.shared.unwrap().rates.len(), ac.classes.iter().count() + 1);
    }

    #[test]
    fn a_rate_of_another_standard_has_a_cost_too() {
        let (_, n) = models().next().unwrap();
        for (_, other) in models() {
            for rate in other.classes().iter() {
                let ns = n.packet_airtime(FULL_SIZE, rate).as_nanos();
                assert_eq!(ns, other.packet_airtime(FULL_SIZE, rate).as_nanos(), "{rate}");
                assert!(n.classes().has(n.nearest(rate)), "{rate}");
            }
        }
    }
}
