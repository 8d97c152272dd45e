//! Measures of whole runs: sums are consistent, and counters agree with theory.

use evenair_results::{LossCount, NodeResult, PhaseResult, RunResult, scalar, scalars};
use evenair_scenario::measures::measure_named;

use crate::site::{Site, phase};

/// Stations at 11 Mb/s of 802.11b and a server on the LAN.
fn cell(stations: u32, seconds: u32) -> Site {
    cell_with(stations, seconds, "ap_buffer = '20 packets'")
}

/// The same with other keys of the radio.
fn cell_with(stations: u32, seconds: u32, radio: &str) -> Site {
    Site::new("cell", seconds)
        .radio("802.11b", "station_buffer = '10 packets'")
        .and(radio)
        .lan("100 Mb/s", "2 ms")
        .stations("sta", stations, "rate = '11 Mb/s'")
}

/// Datagrams from each station.
fn datagrams(site: Site, rate: &str) -> Site {
    site.udp("up", "sta", "up", rate).and("payload = '972 bytes'")
}

fn both_ways(site: Site) -> Site {
    site.bulk("up", "sta", "up")
        .bulk("down", "sta", "down")
        .ping("echo", "sta1")
        .insert(10)
        .phase("first", 2, 10)
        .phase("second", 10, 20)
}

fn lost(node: &NodeResult) -> u64 {
    node.lost_frames.iter().map(|lost| lost.packets).sum()
}

/// Offered frames were delivered, lost, or are still in the queue, which is no longer than its buffer.
#[test]
fn offered_frames_are_accounted_for_at_each_site() {
    let run = both_ways(cell(3, 20)).run();
    for node in &run.series.nodes {
        let sum = |series: &[u64]| series.iter().sum::<u64>();
        let lost: u64 = node.lost_frames.iter().map(|loss| sum(&loss.frames)).sum();
        let left = sum(&node.offered_frames) - sum(&node.delivered_frames) - lost;
        let room = if node.node == "ap" { 20 } else { 10 };
        assert!(left <= room, "{} frames are left at {}", left, node.node);
        assert!(sum(&node.attempts) - sum(&node.collisions) - sum(&node.errors) - sum(&node.delivered_frames) <= 1);
    }
    let (first, second) = (phase(&run, "first"), phase(&run, "second"));
    let full = |loss: &&LossCount| loss.place == "ap" && loss.reason == "buffer full";
    let whole: u64 = run.losses.iter().filter(full).map(|loss| loss.frames).sum();
    let ap = |phase: &PhaseResult| phase.nodes[0].clone();
    assert!(lost(&ap(first)) > 100 && lost(&ap(first)) + lost(&ap(second)) <= whole);
    assert!(ap(first).loss_rate.unwrap() > 0.02 && ap(first).queue_max_packets == 20);
    // With the box the queue and the losses are in the box.
    assert!(ap(second).queue_mean_packets < 0.7 * ap(first).queue_mean_packets);
    let in_box = second.places.iter().find(|place| place.place == "box").unwrap();
    assert!(in_box.offered_packets > 1000 && in_box.loss_rate.unwrap() > 0.0, "{in_box:?}");
    let counters = run.box_counters.as_ref().unwrap();
    let boxed = run.series.places.iter().find(|place| place.place == "box").unwrap();
    assert_eq!(boxed.offered_packets.iter().sum::<u64>(), counters.received);
    // The medium's time has three uses.
    let medium = first.medium.as_ref().unwrap();
    assert!((medium.busy_share + medium.contending_share + medium.idle_share - 1.0).abs() < 1e-9);
    // Every echo that was sent came back or was lost.
    let echo = first.flows.iter().find(|flow| flow.app == "echo").unwrap();
    assert!(echo.sent_packets == 40 && echo.received_packets <= 41 && echo.rtt.is_some());
    assert!(first.flows.iter().all(|flow| flow.rtt.is_some()), "TCP measures round trips");
    for (name, _) in scalars(&run) {
        assert!(measure_named(&name).is_some(), "{name} is of no listed kind");
    }
}

/// Alone and far from saturation each datagram is sent on arrival: its sojourn is DIFS and DATA without further waiting,
/// the queue length follows Little's law, and the one-way delay adds the wire.
#[test]
fn a_lightly_loaded_station_by_hand() {
    let run = datagrams(cell(1, 20), "1 Mb/s").run();
    let all = phase(&run, "all");
    let station = &all.nodes[1];
    let sojourn = station.sojourn.as_ref().unwrap();
    // 192 us of preamble and header, (1000 + 36) * 8 / 11 us, DIFS and up to 31 slots of remaining back-off.
    let frame_ms = 0.192 + 1036.0 * 8.0 / 11e3;
    assert!(sojourn.min_ms > frame_ms && sojourn.max_ms < frame_ms + 0.05 + 31.0 * 0.02 + 0.01, "{sojourn:?}");
    let per_ms = station.delivered_frames as f64 / 20e3;
    assert!((station.queue_mean_packets - per_ms * sojourn.mean_ms).abs() < 1e-3);
    assert_eq!((station.queue_max_packets, station.access.collision_rate), (1, Some(0.0)));
    assert_eq!(station.access.frames_by_attempts, [station.delivered_frames]);
    let delay = all.flows[0].delay.as_ref().unwrap();
    let wire_ms = 2.0 + (1000.0 + 38.0) * 8.0 / 100e3;
    assert!((delay.mean_ms - sojourn.mean_ms - wire_ms).abs() < 0.01, "{delay:?} {sojourn:?}");
    assert!((all.medium.as_ref().unwrap().active_stations - station.queue_mean_packets).abs() < 1e-9);
    let flow = &all.flows[0];
    assert!(flow.sent_packets - flow.received_packets <= 1 && flow.jitter_ms.unwrap() < 0.3);
    assert_eq!(all.evenness_stations.unwrap().min_over_max, Some(1.0));
}

/// A saturated station's queue is always full, and a frame waits for all earlier ones, even though its sender sleeps while
/// the buffer is occupied.
#[test]
fn a_saturated_station_by_hand() {
    let run = datagrams(cell(2, 62), "8 Mb/s").with("[measure]\nwarm_up = '2 s'").run();
    let all = phase(&run, "all");
    assert_eq!((all.from_s, all.to_s), (2.0, 62.0));
    for station in &all.nodes[1..] {
        assert!((9.3..=10.0).contains(&station.queue_mean_packets), "{station:?}");
        assert_eq!(station.queue_max_packets, 10);
        let each_ms = 60e3 / station.delivered_frames as f64;
        let sojourn = station.sojourn.as_ref().unwrap();
        assert!((sojourn.mean_ms / each_ms / station.queue_mean_packets - 1.0).abs() < 0.02, "{sojourn:?} {each_ms}");
        // 8 Mb/s in packets of 972 bytes for 60 s.
        let offered = 8e6 / 8.0 / 972.0 * 60.0;
        assert!((station.offered_frames as f64 / offered - 1.0).abs() < 0.002, "{offered}: {station:?}");
    }
    assert!((all.medium.as_ref().unwrap().active_stations - 2.0).abs() < 0.01);
    let backlog = all.backlog.as_ref().unwrap();
    assert!(backlog.mean > 1.99 && backlog.max == 2, "{backlog:?}");
    // Each sends in a slot with a probability of nearly 2/(31 + 2), and collides if the other one does, too (Bianchi).
    let rate = scalar(&run, "phase.all.collision_rate").unwrap();
    assert!((0.054..0.064).contains(&rate), "{rate}");
    assert_eq!(all.medium.as_ref().unwrap().access.collisions, 2 * all.medium.as_ref().unwrap().collisions);
}

/// TCP keeps two to three nodes backlogged, for any number of stations (Choi, Park, Kim).
#[test]
fn tcp_keeps_few_nodes_backlogged() {
    let site = cell_with(15, 30, "ap_buffer = '200 packets'").bulk("down", "sta", "down");
    let run = site.with("[measure]\nwarm_up = '5 s'").run();
    let backlog = phase(&run, "all").backlog.clone().unwrap();
    assert!((1.8..3.0).contains(&backlog.mean) && backlog.mean_plus_2_sigma < 5.0, "{backlog:?}");
    let state = |nodes: u64| backlog.states.iter().find(|state| state.nodes == nodes).unwrap();
    assert!(state(1).drift > 0.0 && state(4).drift < 0.0, "{backlog:?}");
}

/// With an automatic warm-up the start of a TCP transfer, which takes a while to fill its window, is omitted.
#[test]
fn an_automatic_warm_up_omits_the_start_of_a_transfer() {
    let slow = cell(1, 60).bulk("down", "sta", "down").and("start = '12 s'");
    let run = slow.with("[measure]\nwarm_up = 'auto'").run();
    let all = phase(&run, "all");
    // The transient is detected in batches of five seconds; the phase after slow start may vary as much.
    let left_out = all.from_s;
    assert!(all.transient_s == Some(left_out) && (left_out == 15.0 || left_out == 20.0), "{left_out}");
    assert!(all.total_goodput_mbps > 4.5 && all.nodes[0].sojourn.as_ref().unwrap().count > 10_000);
    let delivered: u64 = run.series.nodes[0].delivered_frames[left_out as usize..].iter().sum();
    assert_eq!(all.nodes[0].delivered_frames, delivered);
    assert_eq!(all.nodes[0].sojourn.as_ref().unwrap().count, delivered);
}

fn measured(run: &RunResult, name: &str) -> f64 {
    scalar(run, name).unwrap_or_else(|| panic!("{name} is not measured"))
}

/// The same with EDCA: datagrams that a sleeping sender makes late count as queued in their category, too.
#[test]
fn a_saturated_category_has_the_queue_of_its_station() {
    let run = datagrams(cell_with(1, 20, "ap_buffer = '20 packets'\nedca = true"), "20 Mb/s").run();
    let station = &phase(&run, "all").nodes[1];
    let best_effort = station.categories.iter().find(|category| category.category == "be").unwrap();
    assert_eq!((station.queue_max_packets, best_effort.queue_max_packets), (10, 10));
    assert!(best_effort.queue_mean_packets > 9.8, "{best_effort:?}");
    assert!((best_effort.queue_mean_packets - station.queue_mean_packets).abs() < 1e-9, "{station:?}");
}

/// The counters of a node's access categories add up to those of the node, and voice does not queue.
#[test]
fn access_categories_add_up_to_their_node() {
    let run = datagrams(cell_with(3, 20, "ap_buffer = '20 packets'\nedca = true"), "2 Mb/s")
        .bulk("down", "sta", "down")
        .app("voip", "call", "sta1", "")
        .phase("early", 3, 10)
        .phase("late", 10, 20)
        .run();
    for phase in &run.phases {
        for node in &phase.nodes {
            let names: Vec<_> = node.categories.iter().map(|category| category.category.as_str()).collect();
            assert_eq!(names, ["bk", "be", "vi", "vo"]);
            let sum =
                |of: &dyn Fn(&evenair_results::CategoryResult) -> u64| -> u64 { node.categories.iter().map(of).sum() };
            assert_eq!(sum(&|c| c.offered_frames), node.offered_frames, "{node:?}");
            assert_eq!(sum(&|c| c.delivered_frames), node.delivered_frames, "{node:?}");
            assert_eq!(sum(&|c| c.lost_frames), lost(node), "{node:?}");
            let mean: f64 = node.categories.iter().map(|category| category.queue_mean_packets).sum();
            assert!((mean / node.queue_mean_packets - 1.0).abs() < 1e-6, "{mean}: {node:?}");
        }
        let at_access_point = |what: &str| measured(&run, &format!("phase.{}.ap.category.{what}", phase.name));
        assert!(at_access_point("vo.sojourn_p90_ms") < 0.2 * at_access_point("be.sojourn_p90_ms"));
        assert!(at_access_point("be.loss_rate") > 0.0 && at_access_point("be.queue_max_packets") == 20.0);
        let voice = measured(&run, &format!("phase.{}.station.sta1.category.vo.delivered_frames", phase.name));
        // 50 packets per second.
        assert!((voice / (phase.to_s - phase.from_s) - 50.0).abs() < 0.5, "{voice}");
        assert!(measured(&run, &format!("phase.{}.call.call-down.mos", phase.name)) > 4.0);
        assert_eq!(measured(&run, &format!("phase.{}.calls.count", phase.name)), 2.0);
        let worst = measured(&run, &format!("phase.{}.calls.r_factor_min", phase.name));
        assert!(worst <= measured(&run, &format!("phase.{}.call.call-up.r_factor", phase.name)));
    }
    for (name, _) in scalars(&run) {
        assert!(measure_named(&name).is_some(), "{name} is of no listed kind");
    }
}

/// Used rates are reported only if senders choose them, and then add up.
#[test]
fn rates_used_add_up() {
    let of = |control: &str| {
        let radio = format!("ap_buffer = '20 packets'\nrate_control = '{control}'");
        datagrams(cell_with(8, 12, &radio), "2 Mb/s").event(5, "leave").and("stations = ['sta1']").run()
    };
    let fixed = of("fixed");
    assert!(scalars(&fixed).iter().all(|(name, _)| !name.contains("rate_used")));
    let run = of("two-failures");
    for of in ["", "station.sta1.", "station.sta2."] {
        let share = |rate: &str| scalar(&run, &format!("phase.all.{of}rate_used.{rate}.share")).unwrap_or(0.0);
        let slow = share("1") + share("2") + share("5_5");
        assert!((slow + share("11") - 1.0).abs() < 1e-9);
        let slowed = measured(&run, &format!("phase.all.{of}slowed_share"));
        assert!(slow > 0.02 && (slow - slowed).abs() < 1e-9, "{of} {slow} {slowed}");
    }
}

/// Response times by size: each transfer is in one size class, and larger ones take longer.
#[test]
fn transfers_are_counted_by_size() {
    let run = cell(2, 100)
        .app("flows", "files", "sta", "direction = 'down'\nrate = '4 /s'")
        .and("size = { distribution = 'pareto', alpha = 1.2, min = '500 bytes', max = '5 MB' }")
        .run();
    let name = |sizes: &str, what: &str| format!("phase.all.transfer.down.{sizes}.{what}");
    let classes = ["to_1_kB", "to_10_kB", "to_100_kB", "to_1_MB", "to_10_MB"];
    let of = |what: &str| classes.map(|sizes| scalar(&run, &name(sizes, what)).unwrap_or(0.0));
    assert_eq!(of("count").iter().sum::<f64>(), measured(&run, &name("all", "count")));
    assert!(measured(&run, &name("all", "count")) > 300.0);
    let listed = run.transfers.records.iter().filter(|transfer| transfer.took_s.is_some());
    assert_eq!(listed.count() as f64, measured(&run, &name("all", "count")));
    assert!(of("p50_s")[..3].windows(2).all(|pair| pair[0] < pair[1]), "{:?}", of("p50_s"));
    let longest = run.transfers.records.iter().filter_map(|transfer| transfer.took_s).fold(0.0, f64::max);
    assert!((measured(&run, &name("all", "max_s")) - longest).abs() < 1e-6);
}

#[test]
fn measured_airtime_has_both_directions_and_charged_airtime_is_near_it() {
    let result = both_ways(cell(2, 40)).run();
    let medium = result.medium.as_ref().expect("there is a medium");
    let measured = medium.measured_airtime.as_ref().expect("it is measured");
    let sum: f64 = measured.stations.iter().map(|station| station.down_share + station.up_share).sum();
    let lines = measured.groups_share + measured.neighbours_share + measured.back_off_share + measured.idle_share;
    assert!((sum + lines + measured.departed_share - 1.0).abs() < 1e-9, "{measured:?}");
    assert_eq!((measured.groups_share, measured.neighbours_share, measured.departed_share), (0.0, 0.0, 0.0));
    assert!(measured.jain.expect("they are used") > 0.9, "{measured:?}");
    for station in &measured.stations {
        assert!(station.down_share > 0.1 && station.up_share > 0.1 && station.collisions_share > 0.0, "{station:?}");
        let charged = medium.charged_airtime.iter().find(|charged| charged.station == station.station);
        let charged = charged.expect("the box knows the station");
        // The box charges the mean back-off as well, and nothing before its insertion.
        assert!(charged.down_share > 0.05 && charged.up_share > 0.05, "{charged:?} of {station:?}");
    }
    assert_eq!(scalar(&result, "run.medium.measured_airtime.jain"), measured.jain);
}

/// Two uploads of one station beside a download of another: without a box the uploads have most of the medium, with it each
/// station has half.
#[test]
fn measured_airtime_of_each_phase_adds_up_and_shows_the_box() {
    let result = cell(2, 40)
        .bulk("up", "sta1", "up")
        .bulk("down", "sta2", "down")
        .bulk("up-too", "sta1", "up")
        .insert(10)
        .phase("first", 2, 10)
        .phase("second", 12, 40)
        .run();
    let [before, after] = ["first", "second"].map(|name| phase(&result, name));
    for phase in [before, after] {
        let measured = phase.measured_airtime.as_ref().expect("it is measured");
        let sum: f64 = measured.stations.iter().map(|station| station.down_share + station.up_share).sum();
        let lines = measured.groups_share + measured.neighbours_share + measured.back_off_share + measured.idle_share;
        assert!((sum + lines + measured.departed_share - 1.0).abs() < 1e-9, "{measured:?}");
        assert_eq!(scalar(&result, &format!("phase.{}.measured_airtime.jain", phase.name)), measured.jain);
    }
    let jain = |phase: &PhaseResult| phase.measured_airtime.as_ref().and_then(|measured| measured.jain).unwrap();
    assert!(jain(before) < 0.97 && jain(after) > 0.999, "{} {}", jain(before), jain(after));
    assert!(!before.charged_airtime.is_empty(), "the guard's reference comes from copies of what the bridge carries");
    // The box charges back-off, too: half of it to each of these equal stations.
    let measured = after.measured_airtime.as_ref().unwrap();
    for (station, charged) in measured.stations.iter().zip(&after.charged_airtime) {
        let expected = station.down_share + station.up_share + measured.back_off_share / 2.0;
        let of_it = (charged.down_share + charged.up_share) / expected;
        assert!(charged.station == station.station && (0.85..1.15).contains(&of_it), "{charged:?} of {station:?}");
    }
    assert_eq!(after.charged_airtime.len(), 2);
}

/// A station is backlogged if packets for it are queued at the access point or in the box, or its own packets in its MAC; one
/// with only a call is not, and does not lower an index over the others.
#[test]
fn jain_of_backlogged_stations_leaves_out_those_with_little_to_send() {
    let run = cell(3, 20)
        .bulk("down", "sta1", "down")
        .bulk("up", "sta2", "up")
        .app("voip", "call", "sta3", "")
        .insert(10)
        .phase("bypassed", 4, 10)
        .phase("inserted", 14, 20)
        .run();
    let stations = |name: &str| phase(&run, name).backlogged_stations.clone().expect("the simulator counts them");
    assert_eq!(stations("inserted"), ["sta1", "sta2"]);
    assert_eq!(measured(&run, "phase.inserted.backlogged_stations"), 2.0);
    // With one queue at the access point, each packet of the call waits there for longer than until the next one.
    assert_eq!(stations("bypassed"), ["sta1", "sta2", "sta3"]);
    let airtime = |end: &str| measured(&run, &format!("phase.inserted.measured_airtime.{end}"));
    assert!(airtime("jain") < 0.8, "{}", airtime("jain"));
    assert!(airtime("jain_backlogged") > 0.95, "{}", airtime("jain_backlogged"));
    assert!(measured(&run, "phase.inserted.fairness.backlogged.jain") > 0.9);
    for (name, _) in scalars(&run) {
        assert!(measure_named(&name).is_some(), "{name} is of no listed kind");
    }
}

/// Without a backlogged station there is no index.
#[test]
fn a_call_backlogs_no_station() {
    let run = cell(1, 10).app("voip", "call", "sta", "").run();
    assert_eq!(measured(&run, "phase.all.backlogged_stations"), 0.0);
    let indices = ["measured_airtime.jain_backlogged", "fairness.backlogged.jain"];
    assert!(indices.iter().all(|index| scalar(&run, &format!("phase.all.{index}")).is_none()));
    assert!(evenair_results::summary(&run).contains("\n  backlogged stations"), "{}", evenair_results::summary(&run));
}

/// Measures of applications in the summary and in comparisons are those of their flows.
#[test]
fn applications_have_the_delays_of_their_flows() {
    let run = datagrams(cell(2, 20), "1 Mb/s").ping("echo", "sta1").run();
    let all = phase(&run, "all");
    let [up, echo] = &all.applications[..] else { panic!("{:?}", all.applications) };
    let delays = |flow: usize| all.flows[flow].delay.as_ref().expect("datagrams arrive");
    let mean = (delays(0).mean_ms * delays(0).count as f64 + delays(1).mean_ms * delays(1).count as f64)
        / (delays(0).count + delays(1).count) as f64;
    assert!((up.delay.as_ref().unwrap().mean_ms - mean).abs() < 1e-9 && up.flows == 2, "{up:?}");
    assert_eq!(echo.rtt, all.flows[2].rtt);
    assert!(measured(&run, "phase.all.application.echo.rtt_p95_ms") > 4.0, "twice the 2 ms to the server");
    assert!(measured(&run, "phase.all.application.up.loss_rate") < 0.01);
}
