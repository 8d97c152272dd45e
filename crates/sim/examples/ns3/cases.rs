//! The cases: families of a set of figures measured with ns-3 (A to F), others like them, hidden stations (H), TXOPs (T), and
//! small windows (W).
//!
//! Durations are just long enough for the difference of the means to be known to well within the band: ns-3 simulates some
//! five seconds per second of CPU time. If uncapped windows meet a full drop-tail queue at several rates, the seed decides
//! which flow is locked out, and no affordable single run shows anything. D has both: cases with capped windows, and
//! "uncapped" ones, whose totals and shares are compared like all others, by means over seeds, of which ns-3 has 20 and
//! ours 100: they may differ by 5 % of ns-3's mean, or by the half width of the difference's 95 % interval if that is
//! wider, up to twice the 5 %.

use super::case::{Band, Case, Group, LAN_MBPS, Metric, Traffic, WIDTH_MHZ, What};

const DOT11B: &[&str] = &["1", "2"];
const OFDM: &[&str] = &["6", "12", "24"];
/// Tolerance of datagram throughput.
const UDP: Band = Band::Percent(2.0);
/// Tolerance of TCP totals and shares.
const TCP: Band = Band::Percent(5.0);
/// Tolerance of TCP with a small window.
const WINDOWS: Band = Band::Percent(3.0);
/// Tolerance of a share of nearly zero, of which 5 % would be less than a packet.
const TRACE: Band = Band::Absolute(0.005);
/// Window of 44 segments of 1460 bytes: the largest whole number below 65 536 bytes. ns-3 fills the rest of a window with a
/// small segment, which our sender does not send (RFC 9293, section 3.8.6.2.1, silly windows).
const WINDOW: u32 = 44 * 1460;

/// Datagrams of `payload` bytes from each of `n` stations, `total` Mb/s together.
fn uploads(n: u32, payload: u32, total: f64) -> Traffic {
    Traffic::UpUdp(payload, total / f64::from(n))
}

/// Stations saturated with datagrams: twice the capacity of the medium at `rate` Mb/s.
fn saturated(standard: &'static str, n: u32, rate: &'static str, traffic: Traffic, seconds: u32) -> Case {
    Case {
        name: String::new(),
        standard,
        basic: if standard == "802.11b" { DOT11B } else { OFDM },
        width_mhz: WIDTH_MHZ,
        groups: vec![Group { name: "up", count: n, rate, traffic }],
        rts: false,
        short_preamble: false,
        losses: Vec::new(),
        hidden: Vec::new(),
        edca: false,
        txop_us: 0,
        ap_queue: 200,
        lan_mbps: LAN_MBPS,
        delay_ms: 1,
        window: None,
        ack_every: 2,
        seconds,
        warmup: 1,
        in_short: false,
        metrics: vec![Metric { what: What::Goodput, band: UDP }],
    }
}

/// TCP between the server and the stations of these groups.
fn tcp(standard: &'static str, groups: Vec<Group>, seconds: u32, warmup: u32) -> Case {
    Case {
        groups,
        warmup,
        metrics: vec![Metric { what: What::Goodput, band: TCP }],
        ..saturated(standard, 1, "11", uploads(1, 1000, 1.0), seconds)
    }
}

fn named(name: impl Into<String>, case: Case) -> Case {
    Case { name: name.into(), ..case }
}

fn group(name: &'static str, count: u32, rate: &'static str, traffic: Traffic) -> Group {
    Group { name, count, rate, traffic }
}

/// A: saturated datagrams at 11 Mb/s, and at 54 Mb/s in 802.11a and g, and after RTS/CTS.
fn datagrams() -> Vec<Case> {
    let b = |n, seconds| saturated("802.11b", n, "11", uploads(n, 964, 10.0), seconds);
    let ofdm = |standard, n| saturated(standard, n, "54", uploads(n, 1000, 60.0), 3);
    let mut cases: Vec<Case> =
        [(1, 6), (2, 6), (5, 8), (10, 8), (20, 8)].map(|(n, s)| named(format!("A b n={n}"), b(n, s))).into();
    // ns-3 always sends frames of 2 Mb/s with the long preamble, so answers are at 11 Mb/s.
    let short = Case { short_preamble: true, basic: &["1", "2", "5.5", "11"], ..b(5, 6) };
    cases.push(named("A b short preamble n=5", short));
    cases.push(named("A b RTS n=10", Case { rts: true, ..b(10, 6) }));
    cases.push(named("A b 1 Mb/s beside 11", mixed_datagrams()));
    cases.extend([1, 5, 10].map(|n| named(format!("A a n={n}"), ofdm("802.11a", n))));
    cases.extend([1, 5, 10].map(|n| named(format!("A g n={n}"), ofdm("802.11g", n))));
    cases.push(named("A a RTS n=5", Case { rts: true, ..ofdm("802.11a", 5) }));
    cases
}

/// The performance anomaly: both stations get the throughput of the slow one.
fn mixed_datagrams() -> Case {
    let groups =
        vec![group("fast", 1, "11", Traffic::UpUdp(964, 5.0)), group("slow", 1, "1", Traffic::UpUdp(964, 5.0))];
    Case {
        groups,
        metrics: vec![Metric { what: What::Goodput, band: UDP }, Metric { what: What::Share("fast"), band: UDP }],
        ..saturated("802.11b", 1, "11", uploads(1, 964, 1.0), 20)
    }
}

/// B: downloads at 11 Mb/s from 10 ms away, with an ACK for each segment and with delayed ones.
fn downloads() -> Vec<Case> {
    let mut cases = Vec::new();
    for (n, seconds) in [(1, 30), (2, 20), (5, 20), (10, 16), (20, 16)] {
        for (ack_every, words) in [(1, "each segment"), (2, "delayed ACK")] {
            let case = tcp("802.11b", vec![group("down", n, "11", Traffic::DownTcp)], seconds, 4);
            cases.push(named(format!("B n={n} {words}"), Case { ack_every, delay_ms: 10, ..case }));
        }
    }
    cases
}

/// C: uploads beside downloads, which starve.
fn uploads_beside_downloads() -> Vec<Case> {
    let case = |n, seconds, band| {
        let groups = vec![group("up", n, "11", Traffic::UpTcp), group("down", n, "11", Traffic::DownTcp)];
        let metrics = vec![Metric { what: What::Ip, band: TCP }, Metric { what: What::Share("down"), band }];
        let case = Case { metrics, ..tcp("802.11b", groups, seconds, 8) };
        named(format!("C N={n}"), Case { ap_queue: 100, window: Some(WINDOW), ack_every: 1, ..case })
    };
    vec![case(1, 20, TCP), case(2, 30, TCP), case(3, 30, TRACE), case(5, 30, TRACE)]
}

/// D: downloads in 802.11a at unequal rates.
fn unequal_rates() -> Vec<Case> {
    let mixed = |third: u32, seconds| {
        let groups = [("fast", "54"), ("middle", "24"), ("slow", "6")]
            .map(|(name, rate)| group(name, third, rate, Traffic::DownTcp));
        let share = |name| Metric { what: What::Share(name), band: TCP };
        Case {
            metrics: vec![Metric { what: What::Goodput, band: TCP }, share("fast"), share("middle"), share("slow")],
            window: Some(if third == 1 { WINDOW } else { 30 * 1460 }),
            delay_ms: 10,
            ..tcp("802.11a", groups.into(), seconds, 4)
        }
    };
    // Ten seconds for the overshoot of the first slow starts to pass.
    let uncapped = |third| Case { window: None, warmup: 10, ..mixed(third, 50) };
    let fast = tcp("802.11a", vec![group("down", 3, "54", Traffic::DownTcp)], 12, 4);
    let uploads = tcp("802.11a", vec![group("up", 5, "54", Traffic::UpTcp)], 10, 4);
    vec![
        named("D n=3", mixed(1, 14)),
        named("D n=6", mixed(2, 14)),
        named("D uncapped n=6", uncapped(2)),
        named("D uncapped n=9", uncapped(3)),
        named("D uncapped n=12", uncapped(4)),
        named("D n=3 all at 54", Case { delay_ms: 10, ..fast }),
        named("D uploads n=5 at 54", Case { delay_ms: 10, window: Some(WINDOW), ..uploads }),
    ]
}

/// E: one download beside calls with priority. Calls begin at random instants within a packet interval.
fn calls() -> Vec<Case> {
    let case = |k, seconds| {
        let mut groups = vec![group("down", 1, "54", Traffic::DownTcp)];
        groups.extend((k > 0).then(|| group("calls", k, "54", Traffic::Voice)));
        let metrics = vec![Metric { what: What::GoodputOf("down"), band: TCP }];
        named(format!("E k={k}"), Case { edca: true, metrics, ..tcp("802.11g", groups, seconds, 3) })
    };
    vec![case(0, 8), case(5, 6), case(10, 6)]
}

/// F: frames to a station are lost. Two datagram flows through one full buffer would compare the phases of their senders,
/// so there is one, and downloads whose windows do not fill the buffer.
fn losses() -> Vec<Case> {
    let one = |percent| Case {
        groups: vec![group("down", 1, "11", Traffic::DownUdp(1024, 10.0))],
        losses: vec![("down", percent)],
        ..saturated("802.11b", 1, "11", uploads(1, 964, 1.0), 10)
    };
    let groups = vec![group("good", 1, "11", Traffic::DownTcp), group("bad", 1, "11", Traffic::DownTcp)];
    let share = Metric { what: What::Share("bad"), band: TCP };
    let pair = tcp("802.11b", groups, 20, 4);
    let metrics = vec![Metric { what: What::Goodput, band: TCP }, share];
    let pair = Case { losses: vec![("bad", 30)], window: Some(WINDOW), metrics, ..pair };
    vec![
        named("F one, 10 % lost", one(10)),
        named("F one, 30 % lost", one(30)),
        named("F downloads, 30 % of one lost", pair),
    ]
}

/// H: hidden stations. At 54 Mb/s, since neither ns-3's error model nor ours decodes a frame there that another of equal
/// power overlaps.
fn hidden_stations() -> Vec<Case> {
    let of = |n, seconds| Case { hidden: vec!["up"], ..saturated("802.11a", n, "54", uploads(n, 1000, 60.0), seconds) };
    vec![
        named("H hidden n=2", of(2, 6)),
        named("H hidden n=2 RTS", Case { rts: true, ..of(2, 5) }),
        named("H hidden n=5 RTS", Case { rts: true, ..of(5, 4) }),
    ]
}

/// T: a third of the stations each at MCS 7, 3 and 0, all saturated with datagrams, with TXOPs and without.
fn txops() -> Vec<Case> {
    let mixed = |standard: &'static str, third: u32, txop_us| {
        let rates =
            if standard == "802.11ax" { ["HeMcs7", "HeMcs3", "HeMcs0"] } else { ["VhtMcs7", "VhtMcs3", "VhtMcs0"] };
        // More than any of them gets.
        let offered = [40.0, 20.0, 6.0].map(|mbps| uploads(third, 1_472, mbps));
        let names = ["fast", "middle", "slow"];
        let groups = [0, 1, 2].map(|at| group(names[at], third, rates[at], offered[at]));
        let metrics = names.map(|name| Metric { what: What::GoodputOf(name), band: UDP });
        let plain = aggregating(standard, 20);
        Case { groups: groups.into(), metrics: metrics.into(), txop_us, seconds: 31, ..plain }
    };
    let mut cases = Vec::new();
    for (standard, format) in [("802.11ax", "HE"), ("802.11ac", "VHT")] {
        for third in [1, 2] {
            let each = [0, 2_528, 4_096].map(|txop_us| {
                let words = if txop_us == 0 { "no TXOP".into() } else { format!("TXOP {txop_us} us") };
                named(format!("T {format} n={} {words}", 3 * third), mixed(standard, third, txop_us))
            });
            cases.extend(each);
        }
    }
    cases
}

/// W: a download whose window of 3 to 44 segments seldom fills an A-MPDU, so that slot boundaries decide which segments share one.
fn small_windows() -> Vec<Case> {
    let case = |segments: u32| {
        let groups = vec![group("down", 1, "HeMcs7", Traffic::DownTcp)];
        let metrics = vec![Metric { what: What::Goodput, band: WINDOWS }];
        let case = Case { groups, metrics, window: Some(segments * 1460), ..aggregating("802.11ax", 20) };
        named(format!("W HE window of {segments}"), case)
    };
    [3, 4, 6, 8, 12, 16, 32, 44].map(case).into()
}

/// 802.11ax or ac through a fast wired network, without stations; callers add groups.
pub fn aggregating(standard: &'static str, width_mhz: u32) -> Case {
    let case = saturated(standard, 1, "6", uploads(1, 1_472, 10.0), 10);
    Case { width_mhz, lan_mbps: 10_000, ap_queue: 1_000, ..case }
}

/// 802.11b without stations; callers add groups.
pub fn plain() -> Case {
    saturated("802.11b", 1, "11", uploads(1, 964, 10.0), 10)
}

/// Every case, cheap ones first within a family.
pub fn all() -> Vec<Case> {
    let short = ["A b n=1", "A b n=5", "A a n=5", "B n=1 delayed ACK", "C N=1", "D n=3"];
    let first =
        [datagrams(), losses(), hidden_stations(), txops(), small_windows(), calls(), uploads_beside_downloads()];
    let cases = first.into_iter().chain([unequal_rates(), downloads()]);
    let mark = |case: Case| Case { in_short: short.contains(&case.name.as_str()), ..case };
    cases.flatten().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use evenair_scenario::Scenario;

    use super::*;

    #[test]
    fn every_case_is_a_valid_scenario_with_a_unique_name() {
        let mut names: Vec<String> = all().into_iter().map(|case| case.name).collect();
        for case in all() {
            let scenario = Scenario::parse(&case.scenario(1), &case.name);
            let scenario = scenario.unwrap_or_else(|error| panic!("{}: {error}", case.name));
            let refused = evenair_sim::refusals(&scenario);
            assert!(refused.is_empty(), "{}: {refused:?}", case.name);
            assert!(case.warmup < case.seconds && !case.metrics.is_empty(), "{}", case.name);
        }
        assert!(all().iter().filter(|case| case.in_short).count() == 6);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
    }
}
