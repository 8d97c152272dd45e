//! A scenario's `[tcp]` settings reach the hosts.

use evenair_results::FlowResult;

use crate::site::Site;

/// A download over a link of 100 ms, with these settings.
fn download(settings: &str) -> FlowResult {
    download_over("50 ms", settings)
}

fn download_over(delay: &str, settings: &str) -> FlowResult {
    let mut result = Site::new("x", 30)
        .radio("802.11a", "")
        .with(&format!("[lan]\ndelay = '{delay}'"))
        .station("s", "rate = '54 Mb/s'")
        .server("t", "")
        .bulk("b", "s", "down")
        .phase("steady", 10, 30)
        .with("[tcp]")
        .and(settings)
        .run();
    result.phases.remove(0).flows.remove(0)
}

#[test]
fn a_window_bounds_the_rate_and_the_segment_counts() {
    // 20 segments of 1460 bytes per round trip of a little more than 100 ms.
    let flow = download("window = '20 packets'\ntimestamps = false\n");
    assert!((2.2..2.336).contains(&flow.goodput_mbps), "{flow:?}");
    let flow = download("window = '20 packets'\nmss = '500 bytes'\ntimestamps = false\n");
    assert!((0.75..0.8).contains(&flow.goodput_mbps), "{flow:?}");
}

#[test]
fn without_delayed_ack_each_segment_is_acknowledged() {
    let d = |settings: &str| download(settings).d.expect("there were ACKs");
    let window = "window = '20 packets'\n";
    assert!((d(&format!("{window}delayed_ack = false")) - 1.0).abs() < 0.01);
    assert!((d(window) - 2.0).abs() < 0.05);
}

#[test]
fn the_textbooks_window_grows_by_acks() {
    // After a loss the window grows by one segment per round trip, or by half of one if growth is per ACK and every second
    // segment is acknowledged.
    let reno = "congestion_control = 'reno'\nsack = false\n";
    let linux = download_over("300 ms", reno).goodput_mbps;
    let textbook = download_over("300 ms", &format!("{reno}stack = 'textbook'\n")).goodput_mbps;
    assert!(textbook > 0.3 && textbook < 0.9 * linux, "{textbook} against {linux}");
}

#[test]
fn a_server_may_be_farther_away_than_others() {
    let result = Site::new("x", 5)
        .radio("802.11a", "")
        .with("[wan]\ndown.delay = '10 ms'\nup.delay = '10 ms'")
        .station("s", "rate = '54 Mb/s'")
        .server("near", "at = 'wan'")
        .ping("a", "s")
        .server("far", "at = 'wan'\ndelay = '70 ms'")
        .ping("b", "s")
        .run();
    let median = |app: &str| result.echoes.iter().find(|echo| echo.app == app).expect("it had answers").p50_ms;
    assert!((median("a") - 20.5).abs() < 1.0, "{}", median("a"));
    assert!((median("b") - median("a") - 70.0).abs() < 0.5, "{}", median("b"));
}
