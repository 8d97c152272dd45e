//! Queues in front of the medium: the purpose of each, and that adding one changes nothing else.

use evenair_results::{RunResult, scalar};

use crate::site::Site;

/// Two stations of 802.11g and an access point with a buffer of 50 packets, and further keys of the radio.
fn site(radio: &str) -> Site {
    site_with("ap_buffer = '50 packets'").and(radio)
}

/// The same with another buffer; the tables end with the radio's.
fn site_with(ap_buffer: &str) -> Site {
    Site::new("queues", 20).lan("100 Mb/s", "10 ms").stations("sta", 2, "rate = '24 Mb/s'").radio("802.11g", ap_buffer)
}

fn goodput(result: &RunResult, app: &str) -> f64 {
    result.phases[0].flows.iter().find(|flow| flow.app == app).expect("there is such an application").goodput_mbps
}

fn ap_queue(words: &str) -> String {
    format!("ap_queue = {{ {words} }}")
}

fn downloads(site: Site) -> Site {
    site.bulk("down", "sta", "down").ping("echo", "sta1")
}

/// One station floods at three times the rate of the other; together they exceed the medium's capacity.
fn floods(site: Site) -> Site {
    site.udp("fast", "sta1", "down", "24 Mb/s").udp("slow", "sta2", "down", "10 Mb/s")
}

#[test]
fn a_drop_tail_queue_above_the_mac_is_a_longer_buffer() {
    let plain = downloads(site_with("ap_buffer = '58 packets'")).run();
    let above = downloads(site(&ap_queue("discipline = 'fifo', driver = 8"))).run();
    assert!(plain.losses.iter().any(|loss| loss.place == "ap" && loss.reason == "buffer full"));
    assert_eq!(plain.series, above.series);
    assert_eq!(plain.losses, above.losses);
}

#[test]
fn fair_queues_share_equally_what_drop_tail_shares_by_arrivals() {
    let ratio = |radio: &str| {
        let result = floods(site(radio)).run();
        goodput(&result, "fast") / goodput(&result, "slow")
    };
    let tail = ratio("");
    assert!(tail > 2.0, "{tail}");
    for discipline in ["drr", "fq-codel"] {
        for by in ["flow", "station"] {
            let fair = ratio(&ap_queue(&format!("discipline = '{discipline}', by = '{by}'")));
            assert!((fair - 1.0).abs() < 0.01, "{discipline} by {by}: {fair}");
        }
    }
}

#[test]
fn codel_keeps_the_queue_short_and_the_medium_busy() {
    let of = |radio: &str| {
        let result = downloads(site(radio)).run();
        let rtt = scalar(&result, "phase.all.flow.echo.rtt_mean_ms");
        (
            scalar(&result, "phase.all.total_ip_mbps").expect("there is a total"),
            rtt.expect("echoes have round-trip times"),
            result.losses,
        )
    };
    let (tail, tail_rtt, _) = of("");
    let (codel, codel_rtt, losses) = of(&ap_queue("discipline = 'codel'"));
    assert!(losses.iter().any(|loss| loss.place == "ap" && loss.reason == "queue delay"), "{losses:?}");
    assert!(codel_rtt < 0.75 * tail_rtt, "{codel_rtt} ms beside {tail_rtt} ms");
    assert!(codel > 0.95 * tail, "{codel} Mb/s beside {tail} Mb/s");
    // A flow's own queue is nearly empty.
    let (_, flow_rtt, _) = of(&ap_queue("discipline = 'fq-codel'"));
    assert!(flow_rtt < codel_rtt, "{flow_rtt} ms beside {codel_rtt} ms");
}

#[test]
fn short_transfers_do_not_wait_behind_long_ones_with_las_ack() {
    let mean = |radio: &str| {
        let site = downloads(site(radio)).app("flows", "short", "sta", "direction = 'down'\nrate = '5 /s'");
        let result = site.and("size = { mean = '30 kB' }").run();
        let times: Vec<f64> = result.transfers.records.iter().filter_map(|transfer| transfer.took_s).collect();
        assert!(times.len() > 60, "{} transfers", times.len());
        times.iter().sum::<f64>() / times.len() as f64
    };
    let (tail, las) = (mean(""), mean(&ap_queue("discipline = 'las-ack'")));
    assert!(las < 0.5 * tail, "{las} s beside {tail} s");
}

#[test]
fn a_station_has_its_queue_too() {
    // Echoes beside an upload of the same station: behind it with drop-tail, with priority in a fair queue.
    let rtt = |radio: &str| {
        let result = site(radio).bulk("up", "sta1", "up").ping("echo", "sta1").run();
        scalar(&result, "phase.all.flow.echo.rtt_mean_ms").expect("echoes have round-trip times")
    };
    let (tail, fair) = (rtt(""), rtt("station_queue = { discipline = 'fq-codel' }"));
    assert!(fair < 0.3 * tail, "{fair} ms beside {tail} ms");
}

/// A tree of 12 Mb/s with these two leaves, and bursts that compensate late turns.
fn tree(one: &str, other: &str) -> String {
    let leaf = |words: &str| format!("{{ parent = 'all', burst = '12 kB', cburst = '12 kB', {words} }}");
    let all = "{ name = 'all', rate = '12 Mb/s', burst = '12 kB', cburst = '12 kB' }";
    ap_queue(&format!("discipline = 'htb', class = [{all}, {}, {}]", leaf(one), leaf(other)))
}

/// Rates of the floods, each with a leaf rate of 2 Mb/s; `rule` assigns one of them to the first leaf.
fn shares(rule: &str, one: &str, other: &str) -> [f64; 2] {
    let one = format!("name = 'one', rate = '2 Mb/s', {rule}, {one}");
    let other = format!("name = 'other', rate = '2 Mb/s', {other}");
    let result = floods(site(&tree(&one, &other))).run();
    ["fast", "slow"].map(|app| scalar(&result, &format!("phase.all.flow.{app}.ip_mbps")).expect("it has a rate"))
}

#[test]
fn a_tree_shares_by_rates_and_lends_what_is_left() {
    let (by_station, by_app) = ("stations = ['sta1']", "apps = ['fast']");
    let ceil = "ceil = '12 Mb/s'";
    let quantum = |bytes| format!("{ceil}, quantum = '{bytes} bytes'");
    let cases = [
        (shares(by_station, &quantum(9000), &quantum(3000)), [8.0, 4.0], "by quanta"),
        (shares(by_app, &quantum(9000), &quantum(3000)), [8.0, 4.0], "by quanta, one for each application"),
        (shares(by_app, "ceil = '3 Mb/s'", ceil), [3.0, 9.0], "up to a ceiling"),
        (shares(by_app, &format!("{ceil}, priority = 1"), ceil), [2.0, 10.0], "to the higher priority"),
    ];
    for (got, expected, how) in cases {
        let near = got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 0.02 * expected);
        assert!(near, "{how}: {got:?} for {expected:?}");
    }
}

#[test]
fn a_tree_distinguishes_uploads_from_downloads() {
    let up = |ceil: &str| {
        let one = format!("name = 'acks', direction = 'up', rate = '50 kb/s', ceil = '{ceil}'");
        let other = "name = 'data', rate = '2 Mb/s', ceil = '12 Mb/s'";
        goodput(&site(&tree(&one, other)).bulk("down", "sta1", "down").bulk("up", "sta2", "up").run(), "up")
    };
    // Lost ACKs only delay the growth of the window: each ACK covers the previous ones.
    let (held, free) = (up("50 kb/s"), up("12 Mb/s"));
    assert!(free > 1.3 * held, "{held} and {free} Mb/s");
}

/// Two downloads under a tree of two equal classes in the box, the second station with this SNR.
fn in_the_box(discipline: &str, snr: &str) -> [f64; 2] {
    let leaf = |name: &str, class: &str| {
        format!(
            "[[manager.queue.class]]\nname = '{name}'\nparent = 'link'\nrate = '4 Mb/s'\nceil = '8 Mb/s'\n\
             station_classes = ['{class}']"
        )
    };
    let result = Site::new("channels", 30)
        .radio("802.11b", "ap_buffer = '100 packets'")
        .with("[telemetry]\nsignal = true")
        .with("[manager.queue]")
        .and(discipline)
        .with("[[manager.class]]\nname = 'near'\n[[manager.class]]\nname = 'far'")
        .with("[[manager.queue.class]]\nname = 'link'\nrate = '8 Mb/s'")
        .with(&leaf("first", "near"))
        .with(&leaf("second", "far"))
        .station("near", "rate = '11 Mb/s'\nsnr = '30 dB'\nclass = 'near'")
        .station("far", &format!("rate = '11 Mb/s'\nsnr = '{snr}'\nclass = 'far'"))
        .bulk("to-near", "near", "down")
        .bulk("to-far", "far", "down")
        .insert(1)
        .phase("managed", 5, 30)
        .run();
    [goodput(&result, "to-near"), goodput(&result, "to-far")]
}

/// The table is a part of that in scenarios/whtb/calibration.toml.
const WHTB: &str = r#"discipline = "whtb"
estimator = "signal"
channel = [
    { snr = "5 dB", goodput = "10 kb/s" },
    { snr = "6 dB", goodput = "1204 kb/s" },
    { snr = "6.5 dB", goodput = "3176 kb/s" },
    { snr = "7 dB", goodput = "4460 kb/s" },
    { snr = "8 dB", goodput = "5041 kb/s" },
    { snr = "12 dB", goodput = "5112 kb/s" },
]"#;

#[test]
fn a_box_with_reported_signals_charges_retries_to_the_far_station() {
    let htb = "discipline = 'htb'";
    let [near, far] = in_the_box(WHTB, "30 dB");
    assert!((0.75..1.35).contains(&(near / far)), "both are near: {near} {far}");
    let [plain, plain_far] = in_the_box(htb, "6.3 dB");
    let [spared, far] = in_the_box(WHTB, "6.3 dB");
    println!("HTB {plain} {plain_far}, WHTB {spared} {far}");
    assert!(spared > 1.15 * plain, "WHTB {spared} {far}, HTB {plain} {plain_far}");
    assert!(far > 0.1 * plain_far, "it is not starved: WHTB {spared} {far}, HTB {plain} {plain_far}");
}

/// A download of one station and an upload of the other, both queued in the box from the start: ratio of their rates.
fn down_to_up(queue: &str) -> f64 {
    // A small window: window growth is charged when the ACKs behind the queued ones are released.
    let result = site("")
        .with("[tcp]\nreceive_buffer = '64 KiB'\n[manager.queue]")
        .and(queue)
        .bulk("down", "sta1", "down")
        .bulk("up", "sta2", "up")
        .insert(0)
        .run();
    goodput(&result, "down") / goodput(&result, "up")
}

#[test]
fn an_ack_is_charged_for_the_data_that_it_releases() {
    // With its usual target of 5 ms CoDel keeps the download below its share, and the upload, of which only ACKs are queued,
    // takes the rest: with a long target the shares are those charged.
    let long = "target = '50 ms'\ninterval = '500 ms'";
    for (discipline, more) in [("drr", ""), ("fq-codel", long), ("cake", long)] {
        let ratio = down_to_up(&format!("discipline = '{discipline}'\n{more}"));
        assert!((0.85..1.15).contains(&ratio), "{discipline}: {ratio}");
    }
    let class = |name: &str, rate: &str| {
        format!("[[manager.queue.class]]\nname = '{name}'\nrate = '{rate}'\ndirection = '{name}'\n")
    };
    for discipline in ["htb", "cbq"] {
        let classes = class("down", "6 Mb/s") + &class("up", "1.5 Mb/s");
        let ratio = down_to_up(&format!("discipline = '{discipline}'\n{classes}"));
        assert!((3.6..4.4).contains(&ratio), "{discipline}: {ratio}");
    }
}
