//! Uploads alone: the box releases only their ACKs, and only these wait in the access point.

use crate::site::Site;

/// Uploads of 802.11ax with reported rates: 95th percentile of the ACKs' time in the access point in ms, and their total IP-level
/// rate in Mb/s.
fn uploads(count: u32, inserted: bool) -> (f64, f64) {
    let result = Site::new("uploads", 12)
        .seed(1)
        .radio("802.11ax", "ap_buffer = '1000 packets'")
        .stations("near", count, "mcs = 7")
        .bulk("up", "near", "up")
        .when(inserted, |site| site.insert(2))
        .phase("steady", 5, 12)
        .run();
    let phase = &result.phases[0];
    let ap = phase.nodes.iter().find(|node| node.node == "ap").expect("the access point is a node");
    (ap.sojourn.as_ref().expect("it sends").p95_ms, phase.total_ip_mbps)
}

/// An ACK of a continuing upload is in flight until DATA shows that it has arrived. Otherwise ACKs would count as completed at once,
/// and all of them would wait in the access point as without the box.
#[test]
fn acks_of_uploads_wait_in_the_box() {
    for count in [5, 20] {
        let (before_ms, before) = uploads(count, false);
        let (after_ms, after) = uploads(count, true);
        println!(
            "{count} uploads: {before_ms:.1} ms and {before:.1} Mb/s, with the box {after_ms:.1} ms and {after:.1} Mb/s"
        );
        assert!(before_ms > 100.0, "{before_ms}");
        assert!(after_ms < 20.0, "{after_ms}");
        assert!(after > 0.95 * before, "{after} of {before}");
    }
}

/// At the insertion the stations hold seconds of DATA. A loss among these brings hundreds of duplicate ACKs: each an access of its own, they
/// took a third of the medium from the DATA for four seconds, and the guard bypassed the box.
#[test]
fn a_loss_among_seconds_of_waiting_data_costs_the_uploads_little() {
    let run = |seed: u32, inserted: bool| {
        Site::new("recovery", 20)
            .seed(seed)
            .radio("802.11b", "ap_buffer = '20 packets'")
            .stations("s", 4, "rate = '11 Mb/s'")
            .with("[tcp]\ncongestion_control = 'reno'")
            .wan("1 Gb/s", "25 ms")
            .without_telemetry()
            .server("server", "at = 'wan'")
            .bulk("up", "s", "up")
            .when(inserted, |site| site.insert(5))
            .phase("recovery", 10, 16)
            .run()
    };
    for seed in 1..=3 {
        let without = run(seed, false).phases[0].total_ip_mbps;
        let with = run(seed, true);
        println!("seed {seed}: {without:.2} Mb/s, with the box {:.2}", with.phases[0].total_ip_mbps);
        assert!(with.events.iter().all(|event| !event.what.starts_with("guard")), "{:?}", with.events);
        assert!(with.phases[0].total_ip_mbps > 0.9 * without);
    }
}
