//! The medium against independent figures: closed forms, an exact slotted simulation, ns-3.

use evenair_medium::{
    AccessCategory, AfterCollision, Event, Limit, Medium, MediumConfig, Mpdu, NodeConfig, NodeId, To,
};
use evenair_units::{Bytes, Instant, Streams};
use evenair_wifi::bianchi::Model;
use evenair_wifi::{LLC_SNAP, Preamble, Standard};

use crate::saturation::{Saturation, assert_near, saturate};
use crate::{config, rate, unlimited};

const SEED: u64 = 1;

/// Bianchi's assumptions: all resume together, and no frame is dropped.
fn slotted(standard: Standard) -> MediumConfig {
    MediumConfig { short_retry_limit: u32::MAX, ..config(standard, AfterCollision::DifsForAll) }
}

/// 802.11a at 54 Mb/s with packets of 1500 bytes.
fn dot11a(config: MediumConfig, stations: usize) -> Saturation {
    saturate(config, SEED, Bytes(1_500), &vec![rate(Standard::Dot11a, 54); stations], 300)
}

#[test]
fn exact_simulation_in_slots() {
    for (stations, mbps, p) in [(5, 29.674, 0.2647), (10, 28.068, 0.3674)] {
        let ours = dot11a(slotted(Standard::Dot11a), stations);
        assert_near("throughput", ours.mbps(1_500), mbps, 0.001);
        assert!((ours.p - p).abs() < 0.001, "collision probability {} against {p}", ours.p);
    }
}

#[test]
fn timeouts_and_a_retry_limit_change_saturation_by_less_than_three_per_mille() {
    for (stations, mbps) in [(5, 29.674), (10, 28.068)] {
        let ours = dot11a(config(Standard::Dot11a, AfterCollision::Difs), stations);
        assert_near("throughput", ours.mbps(1_500), mbps, 0.003);
    }
}

#[test]
fn bianchis_model_is_near() {
    // The model is an approximation: 0.5 % at five 802.11a stations is its own error.
    for (standard, mbps) in [(Standard::Dot11a, 54), (Standard::Dot11b, 11)] {
        let rate = rate(standard, mbps);
        for stations in [2, 5, 20, 50] {
            let config = slotted(standard);
            let model = Model::basic_access(&config.phy, stations, Bytes(1_500), rate).solve();
            let ours = saturate(config.clone(), SEED, Bytes(1_500), &vec![rate; stations as usize], 200);
            assert_near("throughput", ours.mbps(1_500), model.throughput_bps / 1e6, 0.007);
            // The model's p counts slots in which all nodes count down. A success is followed at once by another one of the
            // same station, which cannot collide, with probability 1/(CWmin + 1). (With two stations the model's
            // independence assumption is at its worst: 0.0115.)
            let run = 1.0 / (1.0 - 1.0 / f64::from(config.phy.cw_min() + 1));
            let p = model.p / (model.p + (1.0 - model.p) * run);
            assert!((ours.p - p).abs() < 0.012, "{stations} at {mbps} Mb/s: p {} against {p}", ours.p);
        }
    }
}

#[test]
fn ns3_saturated_80211b() {
    // ns-3 3.44 with preamble detection, 1000-byte frame bodies at 11 Mb/s, long preamble.
    for (stations, mbps, p) in [(1, 5.138, 0.0), (5, 5.512, 0.1757), (10, 5.318, 0.2807)] {
        let config = config(Standard::Dot11b, AfterCollision::Difs);
        let ours = saturate(config, SEED, Bytes(1_000 - LLC_SNAP.0), &vec![rate(Standard::Dot11b, 11); stations], 500);
        assert_near("throughput", ours.mbps(1_000), mbps, 0.005);
        assert!((ours.p - p).abs() < 0.005, "collision probability {} against {p}", ours.p);
    }
}

#[test]
fn eifs_costs_what_ns3_says_it_costs() {
    // "With it off they use EIFS (figures fall 1-5 %)".
    let of = |after| {
        let rates = vec![rate(Standard::Dot11b, 11); 10];
        saturate(config(Standard::Dot11b, after), SEED, Bytes(992), &rates, 300).mbps(1_000)
    };
    let ratio = of(AfterCollision::Eifs) / of(AfterCollision::Difs);
    assert!((0.95..0.99).contains(&ratio), "{ratio}");
}

#[test]
fn one_station_as_the_published_formula() {
    let config = config(Standard::Dot11b, AfterCollision::Eifs);
    let ours = saturate(config, SEED, Bytes(1_000 - LLC_SNAP.0), &[rate(Standard::Dot11b, 11)], 500);
    assert_near("throughput", ours.mbps(1_000), 5.136, 0.002);
}

#[test]
fn one_slow_station_pulls_a_fast_one_down_to_itself() {
    let config = config(Standard::Dot11b, AfterCollision::Eifs);
    let rates = [rate(Standard::Dot11b, 11), rate(Standard::Dot11b, 1)];
    let ours = saturate(config, SEED, Bytes(1_500), &rates, 2_000);
    for frames_per_s in ours.frames_per_s {
        assert_near("each station", frames_per_s * 12_000.0 / 1e6, 0.78, 0.03);
    }
}

/// Downlink UDP of 1024 bytes, 750 packets per second to each of two stations, from one queue of 100 packets; frames to the
/// second station are lost with this probability. Returns Mb/s of each.
fn downlink(loss_per_billion: u32) -> [f64; 2] {
    const SECONDS: u64 = 500;
    let mut medium = Medium::new(config(Standard::Dot11b, AfterCollision::Difs), &Streams::new(SEED));
    let access_point = medium.add_node(NodeConfig::dcf(Limit::Packets(100)));
    let stations = [medium.add_node(unlimited()), medium.add_node(unlimited())];
    medium.set_frame_error(access_point, stations[1], loss_per_billion);
    let mut jitter = Streams::new(SEED).stream("jitter");
    let mut bytes = [0u64; 2];
    for tick in 0..SECONDS * 750 {
        for (which, &station) in stations.iter().enumerate() {
            // Synchronous sources would fill the last place of the queue with packets of the first one only.
            let at = Instant::from_nanos((tick * 2 + which as u64) * 666_667 + jitter.below(600_000));
            let frame = Mpdu {
                to: To::Node(station),
                msdu: Bytes(1_052),
                rate: rate(Standard::Dot11b, 11),
                category: AccessCategory::BestEffort,
                frame: (),
            };
            medium.handle_frame(at, access_point, frame);
        }
        while let Some(event) = medium.poll_event() {
            if let Event::Delivered { to: To::Node(NodeId(id)), .. } = event {
                bytes[id as usize - 1] += 1_024;
            }
        }
    }
    bytes.map(|bytes| bytes as f64 * 8.0 / SECONDS as f64 / 1e6)
}

#[test]
fn ns3_downlink_to_a_station_that_loses_frames() {
    let [good, bad] = downlink(0);
    assert_near("good station", good, 2.56, 0.02);
    assert_near("both", good + bad, 5.114, 0.02);
    let [good, bad] = downlink(300_000_000);
    assert_near("good station", good, 1.951, 0.02);
    assert_near("both", good + bad, 3.898, 0.02);
}

/// One station at 54 Mb/s, without collisions. Without protection a frame takes, in us: DIFS 28, mean back-off 7.5 slots of
/// 9, DATA 254, SIFS 10, ACK 34. Protected, 96 + 11 + 10 more.
#[test]
fn protection_costs_each_frame_a_cts_of_80211b() {
    for (protection, us) in [(None, 28.0 + 67.5 + 254.0 + 10.0 + 34.0), (Some(Preamble::Short), 510.5)] {
        let config = MediumConfig { protection, ..config(Standard::Dot11g, AfterCollision::Eifs) };
        let ours = saturate(config, SEED, Bytes(1_500), &[rate(Standard::Dot11g, 54)], 20);
        assert_near("frames a second", ours.frames_per_s[0], 1e6 / us, 0.002);
    }
}
