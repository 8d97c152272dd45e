//! PPDUs and MPDUs by station and direction, compared with closed forms and with the totals.

use evenair_results::{NodeResult, PhaseResult, PpduResult, RunResult, scalar};
use evenair_workload::Direction;

use crate::site::Site;

/// Stations of 802.11n at MCS 7 in 20 MHz (65 Mb/s) with datagrams of 1,500 bytes, more than the medium carries. `more` are further
/// keys of `[radio.aggregation]`, and `loss` is the part of the MPDUs to each station that noise corrupts.
fn run(stations: u32, directions: &[&str], more: &str, loss: u32) -> RunResult {
    Site::new("ppdus", 4)
        .seed(3)
        .radio("802.11n", "edca_parameters = 'ns-3'\nap_buffer = '400 packets'\nstation_buffer = '200 packets'")
        .with("[radio.aggregation]")
        .and(more)
        .lan("1 Gb/s", "1 ms")
        .stations("sta", stations, &format!("mcs = 7\nloss = '{loss} %'"))
        .each(directions, |site, way| site.udp(way, "sta", way, "80 Mb/s").and("payload = '1472 bytes'"))
        .with("[measure]\ninterval = '100 ms'")
        .phase("steady", 1, 4)
        .run()
}

fn access_point(phase: &PhaseResult) -> &NodeResult {
    phase.nodes.iter().find(|node| node.is_access_point()).unwrap()
}

/// The first station.
fn station(phase: &PhaseResult) -> &NodeResult {
    phase.nodes.iter().find(|node| !node.is_access_point()).unwrap()
}

fn way(node: &NodeResult, direction: Direction) -> &PpduResult {
    node.ppdus.iter().find(|ppdus| ppdus.direction == direction).unwrap()
}

/// Without errors every PPDU is as long as the rules allow. An MPDU of 1,538 bytes with its delimiter takes 1,544, the last one 1,542
/// (IEEE Std 802.11-2020, 9.7.1); a PPDU of 5,484 us with a preamble of 36 us has 1,362 symbols of 260 bits, 22 of them for SERVICE
/// and tail (19.4.3): 44,262 bytes.
#[test]
fn a_saturated_sender_fills_its_ppdus() {
    for (more, mpdus, size) in [
        ("", (44_262 + 2) / 1_544, "16_to_31"),
        ("bytes = '20000 bytes'", (20_000 + 2) / 1_544, "8_to_15"),
        ("window = 5", 5, "4_to_7"),
        ("bytes = '0 bytes'", 1, "1"),
        // A TXOP of 2,528 us, minus SIFS and BlockAck of 48 us: 611 symbols.
        ("[radio.ac.be]\ntxop = '2528 us'", (19_854 + 2) / 1_544, "8_to_15"),
    ] {
        let run = run(1, &["down"], more, 0);
        let station = &station(&run.phases[0]).node;
        let value = |name: &str| scalar(&run, &format!("phase.steady.station.{station}.down.{name}"));
        assert_eq!(value("mpdus_per_ppdu"), Some(f64::from(mpdus)), "{more}");
        assert_eq!(value(&format!("mpdus_per_ppdu.{size}.share")), Some(1.0), "{more}");
        assert_eq!((value("retries_per_mpdu"), value("mpdu_loss_rate")), (Some(0.0), Some(0.0)), "{more}");
        assert_eq!((value("block_ack_requests"), value("reorder_timeouts")), (Some(0.0), Some(0.0)), "{more}");
        let rate = (value("rate_used.65.ppdu_share"), value("rate_used.65.airtime_share"));
        assert_eq!(rate, (Some(1.0), Some(1.0)), "{more}");
        assert_eq!(scalar(&run, &format!("phase.steady.station.{station}.up.ppdus")), None, "nothing goes up");
        let delivered = value("delivered_mpdus").unwrap();
        let frames = access_point(&run.phases[0]).delivered_frames as f64;
        assert!((delivered - frames).abs() <= f64::from(mpdus), "{more}: {delivered} MPDUs, {frames} frames");
    }
}

/// Each transmission of an MPDU fails independently with probability p. Without a limit there are p/(1 - p) retries per
/// delivered MPDU; with at most two transmissions, p * p of all are dropped, and p is the ratio of retries to completed MPDUs.
#[test]
fn retries_and_losses_are_those_of_independent_errors() {
    let p = 0.2f64;
    let steady = |more: &str| run(1, &["down"], more, 20).phases.remove(0);
    let unlimited = steady("attempts = 255");
    let counted = way(station(&unlimited), Direction::Down);
    let retries = counted.retries_per_mpdu().unwrap();
    // The variance of a geometric number is p/(1 - p)^2: four standard deviations of the mean.
    let within = 4.0 * (p / (1.0 - p).powi(2) / counted.delivered_mpdus as f64).sqrt();
    assert!(counted.delivered_mpdus > 5_000 && within < 0.04, "{counted:?}");
    assert!((retries - p / (1.0 - p)).abs() < within, "{retries} of {counted:?}");
    assert_eq!(counted.mpdu_loss_rate(), Some(0.0));

    let twice = steady("attempts = 2");
    let counted = way(station(&twice), Direction::Down);
    let decided = (counted.delivered_mpdus + counted.lost_mpdus) as f64;
    let lost = counted.mpdu_loss_rate().unwrap();
    assert!((lost - p * p).abs() < 4.0 * (p * p * (1.0 - p * p) / decided).sqrt(), "{lost} of {counted:?}");
    let retries = counted.repeated_mpdus as f64 / decided;
    assert!((retries - p).abs() < 4.0 * (p * (1.0 - p) / decided).sqrt(), "{retries} of {counted:?}");
    // A BlockAckReq follows every access in which an MPDU was dropped; without them the receiver's timeout applies.
    assert!(counted.block_ack_requests > 100 && counted.reorder_timeouts == 0, "{counted:?}");
    assert_eq!(access_point(&twice).access.retry_drops, counted.lost_mpdus);
    let silent = steady("attempts = 2\nrequest_after_drop = false\nreorder_timeout = '5 ms'");
    let counted = way(station(&silent), Direction::Down);
    assert!(counted.block_ack_requests == 0 && counted.reorder_timeouts > 10, "{counted:?}");
}

/// Counters of stations add up to those of the senders, with collisions and errors.
#[test]
fn stations_add_up_to_their_senders() {
    let run = run(3, &["down", "up"], "attempts = 3", 5);
    for node in &run.series.nodes {
        let sum = |series: &[u64]| series.iter().sum::<u64>();
        let lost: u64 = node.lost_frames.iter().map(|loss| sum(&loss.frames)).sum();
        let left = sum(&node.offered_frames) - sum(&node.delivered_frames) - lost;
        // The buffer, and frames that receivers hold for reordering.
        assert!(left <= 400 + 3 * 64, "{left} frames are left at {}", node.node);
    }
    for phase in &run.phases {
        let duration_ms = (phase.to_s - phase.from_s) * 1e3;
        let stations: Vec<_> = phase.nodes.iter().filter(|node| !node.is_access_point()).collect();
        let check = |sender: &NodeResult, ways: &[&PpduResult]| {
            let sum = |of: fn(&PpduResult) -> u64| ways.iter().map(|&ppdus| of(ppdus)).sum::<u64>();
            assert!(sum(|ppdus| ppdus.ppdus) > 100 && sender.access.collisions > 10, "{sender:?}");
            assert_eq!(sum(|ppdus| ppdus.ppdus + ppdus.block_ack_requests), sender.access.ended, "{}", sender.node);
            assert_eq!(sum(|ppdus| ppdus.lost_mpdus), sender.access.retry_drops, "{}", sender.node);
            for ppdus in ways {
                assert_eq!(ppdus.by_size.iter().sum::<u64>(), ppdus.ppdus);
                assert_eq!(ppdus.by_rate.iter().map(|rate| rate.ppdus).sum::<u64>(), ppdus.ppdus);
            }
            // One block-ack window at each edge of the phase, and BlockAckReq have airtime too.
            let delivered = sum(|ppdus| ppdus.delivered_mpdus).abs_diff(sender.delivered_frames);
            assert!(delivered <= 2 * 64 * stations.len() as u64, "{delivered} at {}", sender.node);
            let airtime_ms: f64 =
                ways.iter().flat_map(|ppdus| &ppdus.by_rate).map(|rate| rate.airtime_ms).sum::<f64>() / duration_ms;
            assert!(
                (airtime_ms / sender.airtime_share - 1.0).abs() < 0.05,
                "{airtime_ms} for {}",
                sender.airtime_share
            );
        };
        let down: Vec<_> = stations.iter().map(|station| way(station, Direction::Down)).collect();
        check(access_point(phase), &down);
        stations.iter().for_each(|station| check(station, &[way(station, Direction::Up)]));
    }
}
