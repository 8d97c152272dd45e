//! Loss rates in a phase so short that most frames completed in it were offered before: they are proportions even then.

use evenair_results::{RunResult, scalars};

use crate::site::Site;

/// Two stations fill their buffers of 30 packets. One of them leaves in the middle of a phase of 20 ms, in which it is offered
/// fewer packets than that.
fn run() -> RunResult {
    Site::new("short-phases", 3)
        .seed(5)
        .radio("802.11b", "ap_buffer = '20 packets'\nstation_buffer = '30 packets'")
        .lan("100 Mb/s", "1 ms")
        .station("leaves", "rate = '11 Mb/s'")
        .station("stays", "rate = '11 Mb/s'")
        .udp("up", "leaves, stays", "up", "4 Mb/s")
        .and("payload = '972 bytes'")
        .event(2, "leave")
        .and("stations = ['leaves']")
        .with("[measure]\ninterval = '10 ms'")
        .phase("short", 1.99, 2.01)
        .phase("long", 0.5, 2.5)
        .run()
}

#[test]
fn rates_are_proportions_where_more_is_lost_than_offered() {
    let run = run();
    for phase in &run.phases {
        let node = phase.nodes.iter().find(|node| node.node == "leaves").unwrap();
        let lost: u64 = node.lost_frames.iter().map(|lost| lost.packets).sum();
        let expected = lost as f64 / (lost + node.delivered_frames) as f64;
        assert_eq!(node.loss_rate, Some(expected), "{}", phase.name);
        // Canary: lost frames over frames offered in the short phase would exceed one.
        assert_eq!(lost > node.offered_frames, phase.name == "short", "{}: {node:?}", phase.name);
        if phase.name == "long" {
            // Nearly all frames offered in the phase were completed in it.
            assert!((expected * node.offered_frames as f64 / lost as f64 - 1.0).abs() < 0.05, "{node:?}");
        }
    }
    let rates = scalars(&run).into_iter().filter(|(name, _)| name.ends_with("_rate") || name.ends_with("share"));
    for (name, value) in rates {
        assert!((0.0..=1.0 + 1e-12).contains(&value), "{name} is {value}");
    }
}
