//! Beside a flood of an unresponsive sender: the access point's queue is as short as without it, the medium does not wait
//! for the box, and the rest is shared.

use evenair_results::PhaseResult;

use crate::site::Site;

/// A PHY, and the bound of the 95th percentile of the time in its access point.
struct Network {
    standard: &'static str,
    /// Keys of the radio.
    radio: &'static str,
    rate: &'static str,
    sojourn_ms: f64,
}

const B_11: Network = Network {
    standard: "802.11b",
    radio: "preamble = 'short'\nbasic_rates = ['1 Mb/s', '2 Mb/s']",
    rate: "11 Mb/s",
    sojourn_ms: 10.0,
};
const A_54: Network = Network { standard: "802.11a", radio: "", rate: "54 Mb/s", sojourn_ms: 5.0 };
const SEEDS: u64 = 2;

/// Floods: number of stations, rate of each in Mb/s, and PHY rate.
#[derive(Clone, Copy)]
struct Flood {
    senders: u32,
    mbps: u32,
    rate: &'static str,
}

impl Flood {
    /// A site of this network with the flood.
    fn at(&self, network: &Network, name: &str, seconds: u32) -> Site {
        let Self { senders, mbps, rate } = self;
        Site::new(name, seconds)
            .radio(network.standard, network.radio)
            .and("rts_threshold = '500 bytes'\nap_buffer = '150 kB'")
            .stations("x", senders, &format!("rate = '{rate}'"))
            .udp("flood", "x", "up", &format!("{mbps} Mb/s"))
            .and("payload = '1400 bytes'")
    }
}

/// Number of stations that send, and number that receive.
#[derive(Clone, Copy)]
struct Transfers {
    uploads: u32,
    downloads: u32,
}

const THREE_EACH: Transfers = Transfers { uploads: 3, downloads: 3 };

/// The managed phase of a flood among uploads and downloads; without telemetry.
fn flooded(network: &Network, flood: Flood, transfers: Transfers, manager: &str, seed: u64) -> PhaseResult {
    let rate = format!("rate = '{}'", network.rate);
    let group = |site: Site, (name, count, direction)| {
        site.when(count > 0, |site| site.stations(name, count, &rate).bulk(direction, name, direction))
    };
    let site = flood
        .at(network, "flood", 34)
        .seed(seed)
        .insert(2)
        .phase("managed", 10, 34)
        .without_telemetry()
        .with("[manager]")
        .and(manager)
        .each([("u", transfers.uploads, "up"), ("d", transfers.downloads, "down")], group);
    site.run().phases.remove(0)
}

fn sojourn_p95(phase: &PhaseResult) -> f64 {
    let ap = phase.nodes.iter().find(|node| node.node == "ap").expect("the access point is a node");
    ap.sojourn.as_ref().expect("it sends").p95_ms
}

/// The same without the box, and with only sparse single packets toward a station: 95th percentile of their wait for the access
/// point's turn.
fn turn_p95(network: &Network, flood: Flood) -> f64 {
    let site = flood
        .at(network, "turn", 200)
        .phase("measured", 10, 200)
        .station("y", &format!("rate = '{}'", network.rate))
        .udp("packets", "y", "down", "100 kb/s")
        .and("payload = '1472 bytes'");
    sojourn_p95(&site.run().phases[0])
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_access_point_s_queue_is_as_short_as_without_it() {
    let many = [(3, 3), (1, 1), (6, 6), (6, 0), (0, 6)];
    let many = many.map(|(uploads, downloads)| Transfers { uploads, downloads });
    let at = |network: &'static Network, flood: u32, of: &[Transfers]| {
        of.iter().map(|&of| (network, flood, of)).collect::<Vec<_>>()
    };
    let cases = [
        at(&B_11, 1, &many[..1]),
        at(&B_11, 2, &many),
        at(&B_11, 4, &many),
        at(&B_11, 8, &many[..1]),
        at(&A_54, 4, &many[..1]),
        at(&A_54, 8, &many),
        at(&A_54, 24, &many),
    ];
    for (network, flood, of) in cases.concat() {
        let name = format!("{flood} Mb/s at {}, {} up and {} down", network.rate, of.uploads, of.downloads);
        let flood = Flood { senders: 1, mbps: flood, rate: network.rate };
        let phases: Vec<_> = (1..=SEEDS).map(|seed| flooded(network, flood, of, "", seed)).collect();
        let p95 = mean(&phases.iter().map(sojourn_p95).collect::<Vec<_>>());
        let idle =
            mean(&phases.iter().map(|p| p.medium.as_ref().expect("it is watched").idle_share).collect::<Vec<_>>());
        let mut others = Vec::new();
        for phase in &phases {
            let rates: Vec<f64> =
                phase.flows.iter().filter(|f| !f.app.starts_with("flood")).map(|f| f.ip_mbps).collect();
            let mean = mean(&rates);
            assert!(rates.iter().all(|rate| (rate / mean - 1.0).abs() < 0.05), "{name}: {rates:?}");
            others.push(mean);
        }
        println!("{name}: p95 {p95:.1} ms, idle {idle:.3}, the others {:.3} Mb/s each", mean(&others));
        // Two packets of the access point, between which the flood has its turns.
        assert!(p95 <= 18.0, "{name}: {p95} ms in the access point");
        assert!(idle <= 0.045, "{name}: the medium is idle for {idle}");
    }
    // Canary: with a larger latency target the queue is longer.
    let flood = Flood { senders: 1, mbps: 4, rate: B_11.rate };
    let ahead = flooded(&B_11, flood, THREE_EACH, "controller.target = '8 ms'", 1);
    assert!(sojourn_p95(&ahead) > B_11.sojourn_ms, "{}", sojourn_p95(&ahead));
}

/// If a lone packet waits longer for its turn than the bound of the queue, no box can keep the bound. The box stays near the minimum.
#[test]
fn the_queue_is_near_the_wait_of_a_lone_packet() {
    let flood = |senders, rate| Flood { senders, mbps: 8, rate };
    for (flood, can_be_kept) in [(flood(1, B_11.rate), true), (flood(2, B_11.rate), false), (flood(1, "2 Mb/s"), false)]
    {
        let turn = turn_p95(&B_11, flood);
        let ours: Vec<_> = (1..=SEEDS).map(|seed| sojourn_p95(&flooded(&B_11, flood, THREE_EACH, "", seed))).collect();
        let ours = mean(&ours);
        println!("{} at {}: a lone packet {turn:.1} ms, ours {ours:.1}", flood.senders, flood.rate);
        assert_eq!(turn <= B_11.sojourn_ms, can_be_kept, "{turn}");
        assert!(ours < 2.5 * turn, "{ours} ms, and {turn} for a lone packet");
    }
}
