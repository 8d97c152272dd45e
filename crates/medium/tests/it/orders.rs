//! Which frames an access takes ([`Order`]): the aggregates of packets that are all queued at an access point, compared with
//! a division of the list by hand, and their times, to the slot. VHT MCS 8 with two streams at 80 MHz, where an A-MPDU has 64
//! packets of 1,500 bytes.

use evenair_medium::{
    AccessCategory, Aggregation, Event, Limit, Medium, MediumConfig, Mpdu, NodeConfig, NodeId, Order, To,
};
use evenair_units::{Bytes, Instant, Span, Streams};
use evenair_wifi::{Phy, PhyRate, Standard, a_mpdu_bytes};

use crate::aggregates::mode;

const PACKET: Bytes = Bytes(1_500);
/// Size of [`PACKET`] with MAC header, FCS, QoS control and LLC/SNAP.
const MPDU: Bytes = Bytes(1_538);
/// MPDUs of a full A-MPDU: the block-ack window.
const FULL: usize = 64;

fn rate() -> PhyRate {
    mode("VHT 8x2", 80).into()
}

/// Configuration of an access point and its stations.
struct Site {
    rules: Aggregation,
    stations: usize,
    /// Loss probability of each MPDU, per 10^9.
    loss: u32,
    seed: u64,
}

/// Packets delivered at one instant.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Group {
    at: Instant,
    station: usize,
    /// Indices of the packets.
    packets: Vec<usize>,
}

impl Site {
    fn new(order: Order, seed: u64) -> Self {
        Self { rules: Aggregation { order, ..Aggregation::new() }, stations: 2, loss: 0, seed }
    }

    fn config(&self) -> MediumConfig {
        MediumConfig { aggregation: Some(self.rules), ..MediumConfig::new(Phy::default_for(Standard::Dot11ac)) }
    }

    /// Sends a packet to each of these stations, all at the beginning. Returns the deliveries, and the number of drops.
    fn send(&self, to: &[usize]) -> (Vec<Group>, usize) {
        let config = self.config();
        // Without TXOP limit: each aggregate has its own access.
        let edca = config.phy.default_edca().map(|set| evenair_wifi::EdcaParameters { txop: Span::ZERO, ..set });
        let mut medium = Medium::new(config, &Streams::new(self.seed));
        let ap = medium.add_node(NodeConfig::edca(Limit::Unlimited, edca));
        let stations: Vec<NodeId> =
            (0..self.stations).map(|_| medium.add_node(NodeConfig::edca(Limit::Unlimited, edca))).collect();
        stations.iter().for_each(|&station| medium.set_frame_error(ap, station, self.loss));
        for (packet, &station) in to.iter().enumerate() {
            let (to, category) = (To::Node(stations[station]), AccessCategory::BestEffort);
            let mpdu = Mpdu { to, msdu: PACKET, rate: rate(), category, frame: (packet, station) };
            medium.handle_frame(Instant::ZERO, ap, mpdu);
        }
        medium.handle_timeout(Instant::ZERO + Span::from_secs(60));
        assert_eq!(medium.queue(ap).packets, 0);
        let (mut groups, mut dropped) = (Vec::<Group>::new(), 0);
        while let Some(event) = medium.poll_event() {
            let Event::Delivered { at, frame: (packet, station), .. } = event else {
                dropped += 1;
                continue;
            };
            match groups.last_mut().filter(|last| (last.at, last.station) == (at, station)) {
                Some(last) => last.packets.push(packet),
                None => groups.push(Group { at, station, packets: vec![packet] }),
            }
        }
        (groups, dropped)
    }

    /// The aggregates of a run without losses: receiver, and number of packets.
    fn aggregates(&self, to: &[usize]) -> Vec<(usize, usize)> {
        let (groups, dropped) = self.send(to);
        assert_eq!(dropped, 0);
        groups.iter().map(|group| (group.station, group.packets.len())).collect()
    }
}

/// `runs` runs of `run` packets each, for two stations in turn.
fn alternating(run: usize, runs: usize) -> Vec<usize> {
    (0..run * runs).map(|packet| packet / run % 2).collect()
}

/// Expected aggregates with [`Order::Neighbours`]: each takes the first remaining packet and those for the same station, up
/// to the first for another one.
fn by_neighbours(to: &[usize]) -> Vec<(usize, usize)> {
    let runs = to.chunk_by(|a, b| a == b);
    runs.flat_map(|run| run.chunks(FULL)).map(|aggregate| (aggregate[0], aggregate.len())).collect()
}

/// Expected aggregates with [`Order::Arrival`]: each takes the packets for the same station wherever they are.
fn by_arrival(to: &[usize]) -> Vec<(usize, usize)> {
    let (mut left, mut aggregates) = (to.to_vec(), Vec::new());
    while let Some(&station) = left.first() {
        let mut taken = 0;
        left.retain(|&other| {
            let is_taken = other == station && taken < FULL;
            taken += usize::from(is_taken);
            !is_taken
        });
        aggregates.push((station, taken));
    }
    aggregates
}

/// Packets to `stations` stations in runs of 1 to `longest`.
fn random(seed: u64, stations: u64, longest: u64) -> Vec<usize> {
    let mut rng = Streams::new(seed).stream("runs");
    let mut to = Vec::new();
    while to.len() < 2_000 {
        let (station, run) = (rng.below(stations) as usize, 1 + rng.below(longest) as usize);
        to.extend(std::iter::repeat_n(station, run));
    }
    to
}

#[test]
fn packets_that_alternate_between_two_stations_are_not_aggregated_with_neighbours_alone() {
    let to = alternating(1, 640);
    let of = |order| Site::new(order, 1).aggregates(&to);
    assert_eq!(of(Order::Neighbours), (0..640).map(|packet| (packet % 2, 1)).collect::<Vec<_>>());
    assert_eq!(of(Order::Arrival), (0..10).map(|aggregate| (aggregate % 2, FULL)).collect::<Vec<_>>());
}

#[test]
fn a_run_is_an_aggregate() {
    for run in [2, 7, 63, 64] {
        let expected: Vec<_> = (0..20).map(|aggregate| (aggregate % 2, run)).collect();
        assert_eq!(Site::new(Order::Neighbours, 2).aggregates(&alternating(run, 20)), expected, "runs of {run}");
    }
    // The rest is an aggregate of its own: no packet behind the other station's run joins it.
    let expected: Vec<_> = (0..10).flat_map(|run| [(run % 2, FULL), (run % 2, 36)]).collect();
    assert_eq!(Site::new(Order::Neighbours, 3).aggregates(&alternating(100, 10)), expected);
}

#[test]
fn random_runs_to_five_stations_are_aggregated_run_by_run() {
    for seed in 1..=5 {
        for longest in [1, 10, 150] {
            let to = random(seed, 5, longest);
            let of = |order| Site { stations: 5, ..Site::new(order, seed) }.aggregates(&to);
            assert_eq!(of(Order::Neighbours), by_neighbours(&to), "seed {seed}, runs up to {longest}");
            assert_eq!(of(Order::Arrival), by_arrival(&to), "seed {seed}, runs up to {longest}");
        }
    }
}

/// Time from the end of one PPDU to the end of the next: SIFS, the response, AIFS (43 us for the access point's best effort),
/// whole slots of 9 us, at most 15 of them, and the PPDU.
#[test]
fn each_aggregate_takes_a_whole_number_of_slots() {
    for (run, seed) in [(1, 1), (1, 2), (5, 3), (40, 4)] {
        let site = Site::new(Order::Neighbours, seed);
        let (groups, _) = site.send(&alternating(run, 400));
        let phy = site.config().phy;
        let (psdu, answer) = match run {
            1 => (phy.single_mpdu(MPDU, rate()), phy.ack(rate())),
            _ => (a_mpdu_bytes(run as u16, MPDU), phy.block_ack(rate(), 64)),
        };
        let fixed = phy.sifs() + answer + Span::from_micros(43) + phy.ppdu(psdu, rate());
        let mut slots = 0;
        for pair in groups.windows(2) {
            let backoff = pair[1].at.saturating_since(pair[0].at).as_nanos() - fixed.as_nanos();
            assert!(backoff.is_multiple_of(9_000) && backoff / 9_000 <= 15, "runs of {run}: {backoff} ns of back-off");
            slots += backoff / 9_000;
        }
        // Five standard deviations of the mean of 399 draws of 0 to 15 slots (4.6) around 7.5.
        let mean = slots as f64 / 399.0;
        assert!(groups.len() == 400 && (mean - 7.5).abs() < 5.0 * 4.61 / 20.0, "runs of {run}: {mean} slots");
    }
}

/// Packets of an A-MSDU are neighbours, too: runs of two form MPDUs of two packets, and single packets are not joined across
/// others.
#[test]
fn an_a_msdu_has_packets_of_one_run() {
    let joined = |order, run| {
        let mut site = Site::new(order, 1);
        site.rules.a_msdu = Bytes(3_839);
        site.aggregates(&alternating(run, 128))
    };
    assert_eq!(joined(Order::Neighbours, 1), (0..128).map(|packet| (packet % 2, 1)).collect::<Vec<_>>());
    assert_eq!(joined(Order::Neighbours, 2), (0..128).map(|run| (run % 2, 2)).collect::<Vec<_>>());
    assert_eq!(joined(Order::Arrival, 1), [(0, 64), (1, 64)]);
}

/// Repetitions keep the head of the FIFO: whatever is lost, packets come out in the order of arrival, over all stations. With
/// one deep queue they do not.
#[test]
fn frames_to_be_repeated_keep_the_head_of_the_fifo() {
    for seed in 1..=4 {
        let to = random(seed, 3, 40);
        let of = |order| {
            let (groups, dropped) = Site { stations: 3, loss: 200_000_000, ..Site::new(order, seed) }.send(&to);
            let packets: Vec<usize> = groups.into_iter().flat_map(|group| group.packets).collect();
            assert_eq!(packets.len() + dropped, to.len(), "seed {seed}, {order:?}");
            packets.windows(2).all(|pair| pair[0] < pair[1])
        };
        assert!(of(Order::Neighbours), "seed {seed}");
        assert!(!of(Order::Arrival), "seed {seed}: the oracle tells the orders apart");
    }
}

#[test]
fn with_one_receiver_all_packets_are_neighbours() {
    for (seed, loss) in [(1, 0), (2, 100_000_000), (3, 300_000_000)] {
        let of = |order| Site { stations: 1, loss, ..Site::new(order, seed) }.send(&[0; 1_000]);
        assert_eq!(of(Order::Neighbours), of(Order::Arrival), "seed {seed}");
    }
}
