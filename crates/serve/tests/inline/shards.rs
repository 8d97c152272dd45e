//! A box of two shards, each with a contention domain whose frames come in a VLAN, over a real bridge.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::{Carrier, Mode, Status};
use evenair_sys::process;

use crate::lab::{Arrivals, BoxProcess, Frames, Lab, ensure, ip, judged, stream_in};
use crate::switching::{Late, assert_untouched, most_gap};
use crate::traffic::transfer;
use crate::trunk::Trunk;

const VLANS: [u16; 2] = [11, 12];

/// A box of two shards; `more` is added to `[manager]`.
fn start(lab: &Lab, inserted: bool, more: &str) -> BoxProcess {
    let file = lab.file("box.toml");
    std::fs::write(&file, config(lab, inserted, more)).expect("writable");
    lab.start_box(&format!("file={}", file.display()))
}

fn config(lab: &Lab, inserted: bool, more: &str) -> String {
    let mode = if inserted { Mode::Inserted } else { Mode::Bypassed }.word();
    format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\nmode = {mode:?}\n[shards]\ncount = 2\n\
         [radio]\nstandard = \"802.11g\"\n[control]\nsocket = {:?}\n[record]\nfile = {:?}\n\
         [manager]\ncontroller.kind = \"none\"\n{more}\n\
         [[manager.access_point]]\nname = \"a\"\nvlan = [11]\n[[manager.access_point]]\nname = \"b\"\nvlan = [12]\n",
        lab.file("box.sock"),
        lab.file("recording")
    )
}

fn assert_conserved(status: &Status) {
    assert!(status.packets.conserved && status.shards.iter().all(|shard| shard.conserved), "{status:#?}");
    let sum = |of: fn(&evenair_api::ShardStatus) -> u64| status.shards.iter().map(of).sum::<u64>();
    assert_eq!((sum(|s| s.taken), sum(|s| s.received)), (status.packets.taken, status.packets.received));
    assert_eq!((sum(|s| s.sent), sum(|s| s.held)), (status.packets.sent, status.packets.held));
}

#[test]
fn each_connection_is_whole_on_the_shard_of_its_vlan() {
    let Some(lab) = Lab::new() else { return };
    let running = start(&lab, true, "");
    let [stations, servers] = Trunk::both(&lab, &VLANS);
    thread::scope(|scope| {
        for vlan in VLANS {
            let (station, server) = (stations.host(vlan), servers.host(vlan));
            scope.spawn(move || transfer(server, station, &format!("10.{vlan}.0.1:5001"), 2 << 20));
            scope.spawn(move || transfer(station, server, &format!("10.{vlan}.0.2:5002"), 1 << 20));
        }
        // Frames without a VLAN belong to the first shard.
        scope.spawn(|| transfer(&lab.source, &lab.sink, "10.9.0.2:5003", 1 << 20));
    });
    // A reload reaches both, and keeps their state.
    let mut client = running.client();
    std::fs::write(lab.file("box.toml"), config(&lab, true, "queue_limit = \"900 packets\"")).expect("writable");
    client.reconfigure(None).expect("a good file");
    let refused = |text: String| {
        std::fs::write(lab.file("box.toml"), text).expect("writable");
        running.client().reconfigure(None).expect_err("refused").to_string()
    };
    let other = refused(config(&lab, true, "").replace("vlan = [12]", "vlan = [13]"));
    assert!(other.contains("which VLAN is whose shard's cannot change"), "{other}");
    let other = refused(config(&lab, true, "").replace("count = 2", "count = 1"));
    assert!(other.contains("shards.count cannot change"), "{other}");
    let none = refused(config(&lab, true, "").replace("vlan = [12]", "").replace("vlan = [11]", ""));
    assert!(none.contains("the frames of 0 contention domains come in VLANs of their own"), "{none}");
    let status = client.shutdown().expect("ends");
    assert_conserved(&status);
    println!("two shards: {:#?}", status.shards);
    let domains = |shard: usize| status.shards[shard].domains.join(" ");
    assert_eq!((domains(0), domains(1)), ("default a".into(), "b".into()));
    let names: Vec<_> = status.domains.iter().map(|domain| (domain.name.as_str(), domain.stations)).collect();
    assert_eq!(names, [("default", 1), ("a", 1), ("b", 1)]);
    // Each of the five connections is listed once: if its directions were on two shards, both would list it.
    assert_eq!(status.flows.len(), 5, "{:?}", status.flows);
    assert!(status.flows.iter().all(|flow| flow.released_bytes > 0 && flow.from_wlan_bytes > 0), "{:?}", status.flows);
    assert!(status.shards.iter().all(|shard| shard.received > 1000 && shard.cpu_s > 0.0), "{:?}", status.shards);
    // The recorded inputs of each, including its leases, lead to the same decisions.
    for recording in ["recording", "recording.1"] {
        assert!(evenair_live::replay(&lab.file(recording)).expect("readable").is_identical(), "{recording}");
    }
}

/// Streams in both directions in both VLANs while `act` runs.
fn under_traffic(lab: &Lab, rate: u64, act: impl FnOnce()) -> Vec<Arrivals> {
    let stop = AtomicBool::new(false);
    let (source, sink) = (lab.source_end(), lab.sink_end());
    thread::scope(|scope| {
        let ways = VLANS.into_iter().flat_map(|vlan| [(vlan, source, sink), (vlan, sink, source)]);
        let stop = &stop;
        let streams: Vec<_> = ways
            .map(|(vlan, from, to)| {
                scope.spawn(move || stream_in(from, to, Frames { vlan: Some(vlan), len: 64, rate }, stop))
            })
            .collect();
        thread::sleep(Duration::from_millis(300));
        act();
        thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        streams.into_iter().map(|stream| stream.join().expect("no panic")).collect()
    })
}

#[test]
fn changes_of_hands_of_two_shards_touch_no_packet() {
    let Some(lab) = Lab::new() else { return };
    let running = start(&lab, false, "");
    let mut client = running.client();
    let arrivals = under_traffic(&lab, 2_000, || {
        for flip in 0..20 {
            client.insert().expect("inserted");
            thread::sleep(Duration::from_millis(10 + 7 * (flip % 5)));
            client.bypass().expect("bypassed");
            thread::sleep(Duration::from_millis(10 + 7 * (flip % 3)));
        }
    });
    let status = client.shutdown().expect("ends");
    println!("40 changes of hands of two shards: {arrivals:?}, {:?}", status.shards);
    assert_untouched(&arrivals, Late::of(&status));
    assert_conserved(&status);
    assert!(status.shards.iter().all(|shard| shard.taken > 500), "{:?}", status.shards);
}

#[test]
fn the_bridge_takes_over_from_all_shards() {
    let Some(lab) = Lab::new() else { return };
    let mut running = start(&lab, true, "");
    let arrivals = under_traffic(&lab, 1_000, || {
        running.child.kill().expect("it lives");
        running.child.wait().expect("it was a child");
    });
    println!("kill -9: {arrivals:?}");
    for direction in &arrivals {
        assert_eq!((direction.doubled, direction.reordered), (0, 0), "{direction:?}");
        assert!(direction.longest_gap < most_gap(direction), "{direction:?}");
        assert!(direction.received > direction.sent * 3 / 4, "{direction:?}");
    }
    let running = start(&lab, true, "");
    let arrivals = under_traffic(&lab, 1_000, || {
        process::signal(running.child.id(), libc::SIGSTOP).expect("it lives");
        thread::sleep(Duration::from_millis(400));
        process::signal(running.child.id(), libc::SIGCONT).expect("it lives");
        thread::sleep(Duration::from_millis(200));
    });
    let status = running.client().status().expect("it goes on");
    println!("SIGSTOP: {arrivals:?}, {:?}", status.shards);
    assert!(status.shards.iter().all(|shard| shard.lapses >= 1), "{:?}", status.shards);
    assert_eq!(arrivals.iter().map(|direction| direction.lost).sum::<u64>(), Late::of(&status).stale);
    for direction in &arrivals {
        assert_eq!((direction.reordered, direction.doubled), (0, 0), "{direction:?}");
        assert!(direction.longest_gap < most_gap(direction), "{direction:?}");
    }
}

#[test]
fn a_signal_ends_both_shards_without_loss() {
    let Some(lab) = Lab::new() else { return };
    let mut running = start(&lab, true, "");
    let mut late = Late::default();
    let arrivals = under_traffic(&lab, 1_000, || {
        late = Late::of(&running.client().status().expect("answers"));
        process::signal(running.child.id(), libc::SIGTERM).expect("it lives");
        assert!(running.child.wait().expect("it was a child").success());
    });
    assert_untouched(&arrivals, late.unless_held_up(&arrivals));
}

/// IP-level bytes of each station over the Internet link.
fn bytes_of_stations(running: &BoxProcess) -> [u64; 2] {
    let status = running.client().status().expect("answers");
    VLANS.map(|vlan| {
        let flows = status.flows.iter().filter(|flow| flow.vlan == Some(vlan));
        flows.map(|flow| flow.released_bytes).sum()
    })
}

/// IP-level throughput of each station over the Internet link in this time, in Mb/s.
fn got(running: &BoxProcess, span: Duration) -> [f64; 2] {
    let (start, before) = (Instant::now(), bytes_of_stations(running));
    thread::sleep(span);
    let after = bytes_of_stations(running);
    let seconds = start.elapsed().as_secs_f64();
    [0, 1].map(|n| (after[n] - before[n]) as f64 * 8.0 / seconds / 1e6)
}

#[test]
fn shards_share_the_internet_link_and_one_alone_has_it() {
    judged(|| Lab::new().map_or(Ok(()), |lab| shares_of_shards(&lab)));
}

fn shares_of_shards(lab: &Lab) -> Result<(), String> {
    /// Service rate of the link in Mb/s.
    const LINK: f64 = 20.0;
    let wan = "[manager.wan]\ndown = \"20 Mb/s\"\nup = \"20 Mb/s\"\nshare = \"100 %\"\nlan = [\"10.200.0.0/16\"]\n";
    let file = lab.file("box.toml");
    let text = config(lab, true, wan).replace("\"none\"", "\"fixed\"\ncontroller.rate = \"200 Mb/s\"");
    std::fs::write(&file, text).expect("writable");
    let running = lab.start_box(&format!("file={}", file.display()));
    let [stations, servers] = Trunk::both(lab, &VLANS);
    let span = Duration::from_secs(3);
    let (both, alone) = thread::scope(|scope| {
        let start = |vlan, megabytes: usize| {
            let (station, server) = (stations.host(vlan), servers.host(vlan));
            scope.spawn(move || transfer(server, station, &format!("10.{vlan}.0.1:5001"), megabytes << 20))
        };
        // At half the link, 12 MB take ten seconds; the first one's transfer then continues for five.
        let (_, second) = (start(VLANS[0], 24), start(VLANS[1], 12));
        let begin = Instant::now();
        while bytes_of_stations(&running).into_iter().any(|bytes| bytes < 1 << 20) {
            assert!(begin.elapsed() < Duration::from_secs(5), "a transfer does not start");
            thread::sleep(Duration::from_millis(50));
        }
        let both = got(&running, span);
        second.join().expect("no panic");
        (both, got(&running, span))
    });
    let status = running.client().shutdown().expect("ends");
    println!("both: {both:.2?} Mb/s, one alone: {alone:.2?} Mb/s of {LINK}; {:?}", status.hops);
    assert_conserved(&status);
    let jain = (both[0] + both[1]).powi(2) / (2.0 * (both[0].powi(2) + both[1].powi(2)));
    ensure(jain >= 0.98, || format!("{both:?}"))?;
    ensure((0.95 * LINK..1.02 * LINK).contains(&(both[0] + both[1])), || format!("{both:?}"))?;
    ensure(alone[0] >= 0.97 * LINK && alone[1] < 0.1, || format!("{alone:?}"))
}

#[test]
fn both_shards_look_on_while_the_bridge_carries_the_traffic() {
    let Some(lab) = Lab::new() else { return };
    let running = start(&lab, false, "");
    let mut client = running.client();
    let mut seen = None;
    let arrivals = under_traffic(&lab, 1_000, || {
        client.observe().expect("looks on");
        thread::sleep(Duration::from_millis(300));
        seen = Some(client.status().expect("answers"));
        client.insert().expect("inserted");
        thread::sleep(Duration::from_millis(200));
    });
    let status = client.shutdown().expect("ends");
    assert_untouched(&arrivals, Late::of(&status));
    let seen = seen.expect("asked");
    assert_eq!((seen.mode, seen.carrier, seen.packets.taken), (Mode::Observing, Carrier::Bridge, 0));
    assert!(seen.shards.iter().all(|shard| shard.received > 100), "{:?}", seen.shards);
    assert!(status.shards.iter().all(|shard| shard.taken > 100), "{:?}", status.shards);
    assert_conserved(&status);
}

#[test]
fn the_box_ends_where_its_shards_cannot_go_on() {
    let Some(lab) = Lab::new() else { return };
    let mut running = start(&lab, true, "");
    assert_eq!(running.client().status().expect("answers").mode, Mode::Inserted);
    ip(&lab.middle, "link del wl0");
    let begin = Instant::now();
    let end = loop {
        match running.child.try_wait().expect("a child") {
            Some(end) => break end,
            None => assert!(begin.elapsed() < Duration::from_secs(10), "it goes on without an interface"),
        }
        thread::sleep(Duration::from_millis(10));
    };
    assert!(!end.success(), "whoever looks after it is to know");
}
