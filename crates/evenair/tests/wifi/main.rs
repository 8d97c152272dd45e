//! A real Wi-Fi stack beside the box: hostapd and wpa_supplicant over Linux's mac80211, in a small virtual machine whose
//! network port is the box's WLAN side. On the wired side is a host with DHCP, IPv6 and iperf3.
//!
//! The radios of mac80211_hwsim do not simulate airtime. So this tests compatibility: stations join, roam and are reported.
//! Airtime is measured elsewhere, on the simulated medium.
//!
//! `make measure NAME=wifi` and `make test` make the virtual machine, if possible, and run this.

mod guest;
mod site;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::causes::{Counter, LossReason};
use evenair_api::{StationStatus, Status};
use serde_json::Value;

use guest::{Extra, Guest, Machine};
use site::{ACCESS_POINTS, BoxProcess, HOST, HOST_V6, SECRETS, Site};

/// Each station's name, radio and MAC address.
const STATIONS: [(&str, u8, &str); 2] = [("laptop", 2, "02:00:00:00:02:00"), ("phone", 3, "02:00:00:00:03:00")];
const HALL: &str = "02:00:00:00:00:00";
const YARD: &str = "02:00:00:00:01:00";

/// Reports by station: rates toward it and from it in kb/s, signal in dBm.
type Said = BTreeMap<String, (Option<i64>, Option<i64>, Option<i64>)>;

#[test]
#[ignore = "needs the virtual machine that scripts/wifi-vm makes: make measure NAME=wifi"]
fn stations_of_a_real_access_point_behind_the_box() {
    let machine = std::env::var_os("EVENAIR_WIFI_VM")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/wifi-vm")), PathBuf::from);
    assert!(machine.join("stamp").exists(), "there is no machine in {}: make measure NAME=wifi", machine.display());
    let site = Site::new(&machine);
    let running = site.start_box();
    let secrets = Extra { path: "etc/secrets", mode: 0o600, bytes: SECRETS.into() };
    let program = Extra { path: "bin/evenair", mode: 0o755, bytes: program(site.folder.path()) };
    let network = Some((&site.middle, "tap0"));
    let machine = Machine { folder: &machine, memory_mb: 768, network };
    let mut guest = Guest::boot(&machine, site.folder.path(), &[secrets, program]);
    let step = |what: &str, began: &mut Instant| {
        println!("{what}: {:.1} s", began.elapsed().as_secs_f64());
        *began = Instant::now();
    };
    let mut began = Instant::now();
    stations_join(&mut guest);
    step("joined", &mut began);
    stations_get_addresses(&mut guest, &running);
    step("addresses", &mut began);
    connections_cross(&mut guest, &running);
    step("connections", &mut began);
    reports_are_right(&mut guest, &running);
    step("telemetry", &mut began);
    a_station_roams(&mut guest, &running);
    step("roaming", &mut began);
    let last = running.client().shutdown().expect("ends");
    println!("{:?}\n{:?}", last.packets, last.kinds);
    let packets = &last.packets;
    assert!(
        packets.conserved && packets.losses[LossReason::TooLong] == 0 && packets.losses[LossReason::SendRefused] == 0,
        "{packets:?}"
    );
    assert!(
        packets.received > 10_000 && packets.counted[Counter::Groups] > 0 && packets.counted[Counter::Control] > 0,
        "{packets:?}"
    );
    assert_eq!(last.wlan.super_packets + last.wire.super_packets, 0, "{last:?}");
}

/// The program under test, stripped of debug information.
fn program(folder: &Path) -> Vec<u8> {
    let (built, stripped) = (Path::new(env!("CARGO_BIN_EXE_evenair")), folder.join("evenair"));
    let done = Command::new("strip").arg("-o").arg(&stripped).arg(built).status();
    let file = if done.is_ok_and(|status| status.success()) { &stripped } else { built };
    std::fs::read(file).expect("it was built")
}

/// Two access points, each with an evenair that reports its stations, and two stations at the first of them.
fn stations_join(guest: &mut Guest) {
    guest.must("ip link add br0 type bridge");
    guest.must("ip link set br0 address 02:00:00:00:aa:01");
    guest.must("ip link set eth0 master br0; ip link set eth0 up; ip link set br0 up");
    guest.must(&format!("ip addr add {ACCESS_POINTS}/24 dev br0"));
    guest.must("access-point 0 1");
    for (name, radio, _) in STATIONS {
        guest.must(&format!("station {radio} {name} {}", if name == "laptop" { 2_000 } else { 1_000 }));
    }
    for (name, radio, mac) in STATIONS {
        let status = guest.until(&cli(name, radio, "status"), |text| text.contains("wpa_state=COMPLETED"));
        assert!(status.contains(&format!("bssid={HALL}")) && status.contains("key_mgmt=WPA2-PSK"), "{status}");
        // The handshake is complete for the access point, too.
        let station = guest.must(&format!("hostapd_cli -p /run/hostapd -i wlan0 sta {mac}"));
        assert!(station.contains("[AUTHORIZED]"), "{station}");
    }
    guest.must("access-point 1 6");
    for (port, source) in [(9470, "hostapd --socket /run/hostapd/wlan0"), (9471, "nl80211 --interface wlan1")] {
        guest.must(&format!(
            "evenair telemetry --kind {source} --listen {ACCESS_POINTS}:{port} --listen-secrets /etc/secrets \
             >/run/reports-{port}.log 2>&1 </dev/null &"
        ));
    }
}

fn cli(name: &str, radio: u8, command: &str) -> String {
    format!("ip netns exec {name} wpa_cli -p /run/wpa -i wlan{radio} {command}")
}

/// DHCP and router advertisements cross the box, which learns the stations from them.
fn stations_get_addresses(guest: &mut Guest, running: &BoxProcess) {
    for (name, radio, mac) in STATIONS {
        let dhcp = format!("udhcpc -i wlan{radio} -x hostname:{name} -s /bin/dhcp -q -n -f");
        guest.must(&format!("ip netns exec {name} {dhcp}"));
        let is_global = |line: &&str| line.contains("scope global") && !line.contains("tentative");
        let own = |text: &str, family| {
            let line = text.lines().filter(is_global).find(|line| line.trim().starts_with(family))?;
            line.split_whitespace().nth(1)?.split('/').next().map(str::to_owned)
        };
        let shown = guest.until(&format!("ip netns exec {name} ip addr show dev wlan{radio}"), |text| {
            own(text, "inet ").is_some() && own(text, "inet6 ").is_some()
        });
        let addresses = [own(&shown, "inet "), own(&shown, "inet6 ")].map(|address| address.expect("awaited"));
        assert!(addresses[0].starts_with("10.77.0.1") && addresses[1].starts_with("fd77::"), "{addresses:?}");
        for host in [HOST, HOST_V6] {
            guest.must(&format!("ip netns exec {name} ping -c 1 -W 5 {host}"));
        }
        running.until("it knows the station", |status| {
            let Some(station) = station(status, mac) else { return false };
            station.name.as_deref() == Some(name) && addresses.iter().all(|own| station.addresses.contains(own))
        });
    }
}

fn station<'a>(status: &'a Status, mac: &str) -> Option<&'a StationStatus> {
    status.stations.iter().find(|station| station.mac == mac)
}

/// TCP over IPv4 and IPv6, up and down, two at a time.
fn connections_cross(guest: &mut Guest, running: &BoxProcess) {
    const LEN: u64 = 3_000_000;
    // Data in the sender's buffers when it reports completion, in bytes: not counted.
    const UNDER_WAY: u64 = 1_000_000;
    let before = running.client().status().expect("answers").packets.released;
    for (host, laptop, phone) in [(HOST, "", "--reverse"), (HOST_V6, "--reverse", "")] {
        let [first, second] = [("laptop", 5201, laptop), ("phone", 5202, phone)].map(|(name, port, direction)| {
            format!("ip netns exec {name} iperf3 -J -c {host} -p {port} -n {LEN} {direction} >/tmp/{name}.json")
        });
        guest.must(&format!("{first} & {second} && wait $!"));
        for (name, ..) in STATIONS {
            let text = guest.must(&format!("cat /tmp/{name}.json"));
            let result: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            let received = result["end"]["sum_received"]["bytes"].as_u64();
            assert!(received.is_some_and(|bytes| bytes + UNDER_WAY > LEN), "{name} over {host}: {text}");
        }
    }
    let after = running.client().status().expect("answers");
    // Segments of 1,448 bytes at most, four transfers.
    assert!(after.packets.released - before > 4 * (LEN - UNDER_WAY) / 1_448, "{:?}", after.packets);
    for (_, _, mac) in STATIONS {
        let station = station(&after, mac).expect("known");
        assert!(station.to_station_bytes.min(station.from_station_bytes) > LEN - UNDER_WAY, "{station:?}");
    }
}

/// The kernel, hostapd, both drivers and the box report the same about each station at the same time.
fn reports_are_right(guest: &mut Guest, running: &BoxProcess) {
    const ASK: &str = "evenair telemetry --kind hostapd --socket /run/hostapd/wlan0 --json >/tmp/hostapd; \
                       evenair telemetry --kind nl80211 --interface wlan0 --json >/tmp/nl80211; \
                       iw dev wlan0 station dump";
    let began = Instant::now();
    let agreed = loop {
        let dump = as_iw_says(&guest.must(ASK));
        let [hostapd, nl80211] =
            ["hostapd", "nl80211"].map(|name| as_driver_says(&guest.must(&format!("cat /tmp/{name}"))));
        let status = running.client().status().expect("answers");
        let reported = as_box_says(&status);
        // A rate may change between two requests, since the stations send frames now and then.
        if dump.len() == STATIONS.len() && [&hostapd, &nl80211, &reported] == [&dump, &dump, &dump] {
            break dump;
        }
        let all = format!("iw {dump:?}\nhostapd {hostapd:?}\nnl80211 {nl80211:?}\nthe box {reported:?}");
        assert!(began.elapsed() < Duration::from_secs(60), "{all}");
        thread::sleep(Duration::from_millis(500));
    };
    println!("reported alike: {agreed:?}");
    assert!(agreed.values().all(|(to, from, dbm)| to.is_some() && from.is_some() && dbm.is_some()), "{agreed:?}");
    let signals: Vec<_> = agreed.values().map(|(_, _, dbm)| *dbm).collect();
    assert_ne!(signals[0], signals[1], "the phone sends with less power: {agreed:?}");
    let status = running.client().status().expect("answers");
    for (_, _, mac) in STATIONS {
        assert_eq!(station(&status, mac).and_then(|known| known.access_point.as_deref()), Some("hall"));
    }
}

/// Parses iw's output independently of the driver under test.
fn as_iw_says(dump: &str) -> Said {
    let mut said = Said::new();
    for part in dump.split("Station ").skip(1) {
        let value = |key: &str| {
            let line = part.lines().find(|line| line.trim().starts_with(key))?;
            line.split_once(':')?.1.split_whitespace().next()?.parse::<f64>().ok()
        };
        let kbps = |key| value(key).map(|mbps| (mbps * 1e3).round() as i64);
        let signal = value("signal:").map(|dbm| dbm as i64);
        said.insert(part[..17].to_owned(), (kbps("tx bitrate"), kbps("rx bitrate"), signal));
    }
    said
}

fn as_driver_says(json: &str) -> Said {
    let list: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let stations = list[0]["stations"].as_array().unwrap_or_else(|| panic!("{json}"));
    let entry = |station: &Value| {
        assert_eq!((&station["access_point"], &station["ssid"]), (&HALL.into(), &"evenair".into()));
        let number = |key: &str| station[key].as_i64();
        let mac = station["mac"].as_str().expect("text").to_owned();
        (mac, (number("transmit_kbps"), number("receive_kbps"), number("signal_dbm")))
    };
    stations.iter().map(entry).collect()
}

fn as_box_says(status: &Status) -> Said {
    let entry = |station: &StationStatus| {
        let reported = station.reported.as_ref()?;
        let kbps = |mbps: Option<f64>| mbps.map(|mbps| (mbps * 1e3).round() as i64);
        let signal = reported.signal_dbm.map(i64::from);
        Some((station.mac.clone(), (kbps(reported.transmit_mbps), kbps(reported.receive_mbps), signal)))
    };
    status.stations.iter().filter_map(entry).collect()
}

/// A station roams to the other access point and back in the middle of a transfer. The box notices, and ignores the old
/// access point, which still lists it.
fn a_station_roams(guest: &mut Guest, running: &BoxProcess) {
    let (name, radio, mac) = STATIONS[0];
    guest.must(&format!("ip netns exec {name} iperf3 -J -c {HOST} -p 5201 -t 20 --reverse >/tmp/roaming.json 2>&1 &"));
    thread::sleep(Duration::from_secs(2));
    for (bssid, place, port) in [(YARD, "yard", ":9471"), (HALL, "hall", ":9470")] {
        guest.must(&cli(name, radio, "scan"));
        guest.until(&cli(name, radio, "scan_results"), |text| text.contains(bssid));
        guest.must(&cli(name, radio, &format!("roam {bssid}")));
        let is_there = |text: &str| text.contains("wpa_state=COMPLETED") && text.contains(&format!("bssid={bssid}"));
        guest.until(&cli(name, radio, "status"), is_there);
        running.until("the roam is seen", |status| {
            station(status, mac).is_some_and(|station| station.access_point.as_deref() == Some(place))
        });
        let began = Instant::now();
        let mut client = running.client();
        while began.elapsed() < Duration::from_secs(4) {
            let status = client.status().expect("answers");
            let known = station(&status, mac).expect("known");
            assert_eq!(known.access_point.as_deref(), Some(place), "{known:?} {:?}", status.telemetry);
            // The other access point's earlier report remains valid for a while; its current one is not accepted.
            let reported = known.reported.as_ref().expect("reported");
            let is_of_before = reported.age_s + 0.2 >= began.elapsed().as_secs_f64();
            assert!(reported.source.ends_with(port) || is_of_before, "an old report: {reported:?}");
            thread::sleep(Duration::from_millis(100));
        }
        running.until("it is reported by its new access point", |status| {
            let reported = station(status, mac).and_then(|station| station.reported.as_ref());
            reported.is_some_and(|reported| reported.source.ends_with(port))
        });
    }
    let listed =
        ["wlan0", "wlan1"].map(|interface| guest.must(&format!("iw dev {interface} station dump")).contains(mac));
    println!("listed by hall and yard: {listed:?}");
    assert!(listed[0]);
    let text = guest.until("cat /tmp/roaming.json", |text| text.contains("\"end\""));
    let result: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(result.get("error").is_none(), "{text}");
    let seconds: Vec<u64> = result["intervals"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|second| second["sum"]["bytes"].as_u64())
        .collect();
    println!("bytes in each second of the transfer: {seconds:?}");
    assert!(seconds.len() >= 12 && seconds.iter().rev().take(2).all(|&bytes| bytes > 0), "{seconds:?}");
    assert!(seconds.iter().filter(|&&bytes| bytes == 0).count() <= 4, "{seconds:?}");
    let status = running.client().status().expect("answers");
    let roamed: u64 = status.domains.iter().map(|domain| domain.roamed).sum();
    assert!(roamed >= 2, "{:?}", status.domains);
}
