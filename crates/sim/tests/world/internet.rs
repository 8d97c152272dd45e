//! The box before the Internet link: transfers over the link have priority and a fair queue with short delays for sparse
//! flows, those of the LAN get the rest.

use evenair_api::Hop;
use evenair_results::{PhaseResult, RunResult};

use crate::site::{Site, phase};

/// 802.11a at 54 Mb/s and an Internet link of 8 Mb/s with 300 ms of round-trip time.
fn site(duration: u32) -> Site {
    site_at(150, duration)
}

/// The same with another one-way delay of the link, in ms.
fn site_at(delay_ms: u32, duration: u32) -> Site {
    Site::new("internet", duration)
        .radio("802.11a", "rts_threshold = '500 bytes'\nap_buffer = '150 kB'")
        .with(&format!("[wan]\nup = {{ rate = '8 Mb/s', delay = '{delay_ms} ms' }}"))
        .and(&format!("down = {{ rate = '8 Mb/s', delay = '{delay_ms} ms', buffer = '600 kB' }}"))
        .stations("far", 2, "rate = '54 Mb/s'")
        .stations("near", 2, "rate = '54 Mb/s'")
        .server("server", "")
        .server("internet", "at = 'wan'")
        .insert(2)
        .with("[manager.wan]\nshare = '90 %'")
}

fn idle(phase: &PhaseResult) -> f64 {
    phase.medium.as_ref().expect("the simulator watches it").idle_share
}

/// IP-level rate of DATA toward the stations by all applications whose names begin with `name`, in Mb/s, and the variation
/// of the sum from second to second.
fn steadiness(result: &RunResult, name: &str, from: usize) -> (f64, f64) {
    let flows = result.series.flows.iter().filter(|flow| flow.app.starts_with(name));
    let mut sums = vec![0.0; result.series.ap_queue_packets.len()];
    for flow in flows {
        for (sum, value) in sums.iter_mut().zip(&flow.ip_mbps) {
            *sum += value;
        }
    }
    let sums = &sums[from..];
    let mean = sums.iter().sum::<f64>() / sums.len() as f64;
    let variance = sums.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / sums.len() as f64;
    (mean, variance.sqrt() / mean)
}

#[test]
fn transfers_over_the_link_have_its_rate_and_the_lan_the_rest() {
    let with =
        site(180).bulk("wan", "far", "down").to("server").bulk("lan", "near", "down").phase("managed", 60, 180).run();
    let managed = phase(&with, "managed");
    let (wan, variation) = steadiness(&with, "wan", 60);
    let (lan, _) = steadiness(&with, "lan", 60);
    println!("over the link {wan:.3} Mb/s, variation {variation:.4}; LAN {lan:.3}; idle {:.4}", idle(managed));
    for hop in &with.box_hops {
        println!("{hop:?}");
    }
    // 7.2 Mb/s of DATA toward the stations; their ACKs, 52 bytes for every two of 1500, count as well.
    let ceiling = 7.2 * (1.0 + 52.0 / 3000.0);
    assert!(wan >= 0.97 * ceiling, "{wan} of {ceiling} Mb/s");
    assert!(variation <= 0.05, "{variation}");
    assert!(idle(managed) <= 0.03, "{}", idle(managed));
    let waited = |hop| with.box_hops.iter().find(|result| result.hop == hop).expect("there is one").p50_ms;
    assert!(waited(Hop::InternetDown) > 10.0 && waited(Hop::InternetUp) < 1.0, "the queue of the downloads is here");
}

/// Mean and 95th percentile of page times in a period, in seconds, and the number of pages.
fn pages(result: &RunResult, from: f64, to: f64) -> (f64, f64, usize) {
    let mut took: Vec<f64> =
        result.pages.iter().filter(|page| page.at_s >= from && page.at_s < to).map(|page| page.took_s).collect();
    took.sort_by(f64::total_cmp);
    (took.iter().sum::<f64>() / took.len() as f64, took[took.len() * 95 / 100], took.len())
}

#[test]
fn pages_over_the_link_are_as_quick_beside_a_transfer_of_the_lan() {
    let web = site(600).app("web", "pages", "far1", "size_cap = '2 MB'").with("[tcp]\ninitial_window = 3").to("server");
    let (alone, p95, count) = pages(&web.run(), 10.0, 600.0);
    assert!(count >= 200, "{count} pages");
    for direction in ["down", "up"] {
        let beside = web.clone().bulk("bulk", "near1", direction).run();
        let (mean, high, count) = pages(&beside, 10.0, 600.0);
        println!(
            "alone {alone:.3} s, p95 {p95:.3}; beside a transfer {direction} {mean:.3} s, p95 {high:.3}, {count} pages"
        );
        assert!(mean <= 1.15 * alone, "{direction}: {mean} for {alone} s");
        assert!(high <= 1.5 * p95, "{direction}: {high} for {p95} s");
    }
}

/// Two stations of weight four and two of weight one share the link in that ratio, though their servers' round trips differ.
#[test]
fn the_link_is_shared_by_weights() {
    let result = site(180)
        .stations("gold", 2, "rate = '54 Mb/s'\nweight = 4")
        .bulk("gold", "gold", "down")
        .bulk("bronze", "far", "down")
        .run();
    let (gold, _) = steadiness(&result, "gold", 60);
    let (bronze, _) = steadiness(&result, "bronze", 60);
    println!("gold {gold:.3}, bronze {bronze:.3} Mb/s");
    assert!((gold / bronze / 4.0 - 1.0).abs() < 0.05, "{gold} to {bronze}");
    assert!(gold + bronze >= 0.95 * 7.2, "{}", gold + bronze);
}

/// A sender with a long round trip gets a congestion signal late, and must not get a second one for the same queue: its queue
/// would run empty, and senders with shorter round trips would take its share.
#[test]
fn weights_hold_for_long_round_trips() {
    let result = site_at(100, 240)
        .stations("gold", 2, "rate = '54 Mb/s'\nweight = 4")
        .server("farther", "at = 'wan'\ndelay = '100 ms'")
        .bulk("gold", "gold", "down")
        .to("internet")
        .bulk("bronze", "far", "down")
        .run();
    let (gold, _) = steadiness(&result, "gold", 60);
    let (bronze, _) = steadiness(&result, "bronze", 60);
    println!("gold {gold:.3}, bronze {bronze:.3} Mb/s");
    assert!((gold / bronze / 4.0 - 1.0).abs() < 0.03, "{gold} to {bronze}");
}
