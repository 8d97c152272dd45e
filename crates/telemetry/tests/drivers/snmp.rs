//! A real net-snmp agent with the vendors' tables.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use evenair_packet::MacAddr;
use evenair_telemetry::snmp::{Agent, Encryption, Hash, Version};
use evenair_telemetry::{Source, StationReading, TelemetryError};

use crate::agent::{AUTHENTICATION, PRIVACY, USER, start};

type Objects = Vec<(String, &'static str, String)>;

const A: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x0a]);
const B: MacAddr = MacAddr([0x02, 0xff, 0, 0, 0, 0x0b]);
/// The BSSIDs of A, at 2.4 GHz, and of B, at 5 GHz.
const BSSID: MacAddr = MacAddr([0x02, 1, 2, 3, 4, 5]);
const OTHER_BSSID: MacAddr = MacAddr([0x02, 1, 2, 3, 4, 0x25]);

fn index(mac: MacAddr) -> String {
    mac.0.map(|octet| octet.to_string()).join(".")
}

fn octets(mac: MacAddr) -> String {
    mac.0.map(|octet| format!("{octet:02x}")).join(" ")
}

fn object(oid: String, kind: &'static str, value: impl ToString) -> (String, &'static str, String) {
    (oid, kind, value.to_string())
}

/// Each vendor's objects for two stations, at 54 Mb/s with -61 dBm and at 6 Mb/s with -80 dBm.
fn cisco() -> Objects {
    [(A, 2, "6c", -61, "10.0.0.1", BSSID, 6), (B, 3, "0c", -80, "10.0.0.2", OTHER_BSSID, 36)]
        .into_iter()
        .flat_map(|(mac, radio, rates, signal, ip, bssid, channel)| {
            let row =
                |column: &str, mac| format!("1.3.6.1.4.1.9.9.273.1.{column}.{radio}.4.104.111.109.101.{}", index(mac));
            [
                object(format!("1.3.6.1.4.1.9.9.272.1.1.2.5.1.3.{radio}"), "integer", channel),
                object(row("3.1.1.1", mac), "octet", rates),
                object(row("3.1.1.3", mac), "integer", signal),
                object(row("2.1.1.2", mac), "octet", octets(bssid)),
                object(
                    row("2.1.1.16", mac),
                    "octet",
                    ip.split('.')
                        .map(|n| format!("{:02x}", n.parse::<u8>().expect("a number")))
                        .collect::<Vec<_>>()
                        .join(" "),
                ),
            ]
        })
        .collect()
}

fn cisco_wlc() -> Objects {
    let row = |column: &str, mac| format!("1.3.6.1.4.1.14179.2.1.{column}.{}", index(mac));
    let radio = |column: u8, slot: u8| format!("1.3.6.1.4.1.14179.2.2.2.1.{column}.{}.{slot}", index(BSSID));
    [(A, 0, -61, "10.0.0.1", 6), (B, 1, -80, "10.0.0.2", 36)]
        .into_iter()
        .flat_map(|(mac, slot, signal, ip, channel)| {
            [
                object(row("4.1.5", mac), "integer", slot),
                object(radio(2, slot), "integer", slot + 1),
                object(radio(4, slot), "integer", channel),
                object(row("4.1.2", mac), "ipaddress", ip),
                object(row("4.1.4", mac), "octet", octets(BSSID)),
                object(row("4.1.7", mac), "string", "home"),
                object(row("6.1.1", mac), "integer", signal),
            ]
        })
        .collect()
}

fn aruba() -> Objects {
    let row = |column: u8, mac| format!("1.3.6.1.4.1.14823.2.3.3.1.2.4.1.{column}.{}", index(mac));
    // A radio's own address is that of its first network.
    let first = |mac: MacAddr| MacAddr([mac.0[0], mac.0[1], mac.0[2], mac.0[3], mac.0[4], mac.0[5] & 0xf0]);
    let radio = |column: u8, slot: u8| format!("1.3.6.1.4.1.14823.2.3.3.1.2.2.1.{column}.2.1.2.3.4.0.{slot}");
    [(A, 0, 54, "10.0.0.1", BSSID, "6"), (B, 1, 6, "10.0.0.2", OTHER_BSSID, "36E")]
        .into_iter()
        .flat_map(|(mac, slot, rate, ip, bssid, channel)| {
            [
                object(radio(3, slot), "octet", octets(first(bssid))),
                object(radio(4, slot), "string", channel),
                object(row(2, mac), "octet", octets(bssid)),
                object(row(3, mac), "ipaddress", ip),
                object(row(11, mac), "integer", rate),
                object(row(15, mac), "integer", rate),
            ]
        })
        .collect()
}

fn mikrotik() -> Objects {
    [(A, 7, 54_000_000, -61, BSSID, 2_437), (B, 8, 6_000_000, -80, OTHER_BSSID, 5_180)]
        .into_iter()
        .flat_map(|(mac, radio, rate, signal, bssid, mhz)| {
            let row = |column: u8, mac| format!("1.3.6.1.4.1.14988.1.1.1.2.1.{column}.{}.{radio}", index(mac));
            let of_radio = |column: u8| format!("1.3.6.1.4.1.14988.1.1.1.3.1.{column}.{radio}");
            [
                object(of_radio(5), "octet", octets(bssid)),
                object(of_radio(7), "integer", mhz),
                object(row(3, mac), "integer", signal),
                object(row(8, mac), "gauge", rate),
                object(row(9, mac), "gauge", rate),
            ]
        })
        .collect()
}

fn aerohive() -> Objects {
    [(1, A, 54_000, -61, BSSID, 6), (2, B, 6_000, -80, OTHER_BSSID, 36)]
        .into_iter()
        .flat_map(|(number, mac, rate, signal, bssid, channel)| {
            let row = |column: u8| format!("1.3.6.1.4.1.26928.1.1.1.2.1.2.1.{column}.5.{number}");
            [
                object(row(1), "octet", octets(mac)),
                object(row(4), "integer", signal),
                object(row(13), "integer", channel),
                object(row(37), "octet", octets(bssid)),
                object(row(14), "gauge", rate),
                object(row(29), "gauge", rate),
            ]
        })
        .collect()
}

/// Two radios, a wired interface, and their losses.
fn radios() -> Objects {
    let row = |column: u8, number: u8| format!("1.3.6.1.2.1.2.2.1.{column}.{number}");
    let mut objects = Vec::new();
    for (number, kind, lost) in [(1, 6, 1_000), (2, 71, 20), (3, 71, 3)] {
        objects.push(object(row(3, number), "integer", kind));
        objects.push(object(row(6, number), "octet", octets(MacAddr([2, 9, 9, 9, 9, number]))));
        objects.push(object(row(19, number), "counter", lost));
    }
    objects.push(object("1.2.840.10036.2.2.1.3.2".into(), "counter", 5));
    objects
}

fn find(stations: &[StationReading], mac: MacAddr) -> &StationReading {
    stations.iter().find(|station| station.mac == mac).unwrap_or_else(|| panic!("{mac} in {stations:?}"))
}

#[test]
fn each_vendors_table_is_found_and_read() {
    let vendors: [(&str, &str, Objects, bool, bool); 5] = [
        ("Cisco, autonomous", "1.3.6.1.4.1.9.1.525", cisco(), true, true),
        ("Cisco, wireless LAN controller", "1.3.6.1.4.1.14179.1.1.4.3", cisco_wlc(), false, true),
        ("Aruba Instant", "1.3.6.1.4.1.14823.1.2.34", aruba(), true, false),
        ("MikroTik", "1.3.6.1.4.1.14988.1", mikrotik(), true, true),
        // Detected by its table, since its identifier is net-snmp's own.
        ("Aerohive, Extreme", "1.3.6.1.4.1.8072.3.2.10", aerohive(), true, true),
    ];
    for (vendor, enterprise, objects, rates, signals) in vendors {
        let Some(net) = start(enterprise, &objects) else { return };
        let mut agent = net.v2c(None);
        for _ in 0..2 {
            let reading = agent.poll().unwrap_or_else(|error| panic!("{vendor}: {error}"));
            assert_eq!((reading.from.as_str(), reading.stations.len()), (vendor, 2));
            for (mac, kbps, dbm, bssid, mhz) in [(A, 54_000, -61, BSSID, 2_437), (B, 6_000, -80, OTHER_BSSID, 5_180)] {
                let station = find(&reading.stations, mac);
                let rate = station.transmit_kbps;
                assert_eq!(rate, rates.then_some(kbps), "{vendor}");
                assert!(station.receive_kbps.is_none() || station.receive_kbps == rate, "{vendor}");
                assert_eq!(station.signal_dbm, signals.then_some(dbm), "{vendor}");
                assert_eq!(station.channel_mhz, Some(mhz), "{vendor}");
                // A controller reports the access point, and the radio by its number.
                let bssid = if vendor.contains("controller") { BSSID } else { bssid };
                assert_eq!(station.access_point, Some(bssid), "{vendor}");
            }
        }
    }
}

#[test]
fn what_radios_lose_is_reported_with_or_without_stations() {
    let Some(net) = start("1.3.6.1.4.1.8072.3.2.10", &radios()) else { return };
    let reading = net.v2c(None).poll().expect("answers");
    assert_eq!(reading.from, "no table of stations");
    let lost: Vec<_> = reading.access_points.iter().map(|radio| (radio.mac.0[5], radio.lost)).collect();
    assert_eq!(lost, [(2, 25), (3, 3)], "discarded and given up; the wired interface is no radio");
}

/// Standard objects of a radio, with a vendor's table of stations that has neither radios nor
/// channels.
#[test]
fn an_access_point_with_one_radio_has_its_stations_there_by_the_standard_tables() {
    let stations = |kept: &str| mikrotik().into_iter().filter(|(oid, ..)| oid.contains(kept)).collect::<Objects>();
    let of_one: Objects = radios().into_iter().filter(|(oid, ..)| !oid.ends_with(".3")).collect();
    let tuned = |table: u8, number: u8, channel: u8| {
        object(format!("1.2.840.10036.4.{table}.1.1.{number}"), "integer", channel)
    };
    // From the tables of DSSS and of OFDM; with two radios the stations' radios are unknown.
    for (own, channel, radio) in [
        (of_one.clone(), tuned(5, 2, 11), Some((MacAddr([2, 9, 9, 9, 9, 2]), Some(2_462)))),
        (of_one.clone(), tuned(11, 2, 44), Some((MacAddr([2, 9, 9, 9, 9, 2]), Some(5_220)))),
        (of_one, tuned(11, 9, 44), Some((MacAddr([2, 9, 9, 9, 9, 2]), None))),
        (radios(), tuned(5, 2, 11), None),
    ] {
        let objects = [stations(".14988.1.1.1.2."), own, vec![channel]].concat();
        let Some(net) = start("1.3.6.1.4.1.14988.1", &objects) else { return };
        let reading = net.v2c(None).poll().expect("answers");
        assert_eq!(reading.stations.len(), 2);
        assert!(reading.stations.iter().all(|station| (station.access_point, station.channel_mhz) == (None, None)));
        assert_eq!(reading.radio.map(|mac| (mac, reading.channel_mhz)), radio);
    }
}

#[test]
fn version_3_authenticates_and_encrypts() {
    let Some(net) = start("1.3.6.1.4.1.14988.1", &mikrotik()) else { return };
    let hidden = |password| net.v3(USER, Some((Encryption::Aes128, password)), Hash::Sha256, AUTHENTICATION);
    let mut agent = hidden(PRIVACY);
    for _ in 0..3 {
        assert_eq!(agent.poll().expect("answers").stations.len(), 2);
    }
    let signed = |password| net.v3("signer", None, Hash::Sha1, password);
    assert_eq!(signed(AUTHENTICATION).poll().expect("answers").stations.len(), 2);
    // Every other configuration is refused, and reported.
    for mut wrong in [
        hidden("another password"),
        signed("another password"),
        net.v3("nobody", None, Hash::Sha1, AUTHENTICATION),
        net.v3(USER, None, Hash::Sha256, AUTHENTICATION),
        net.v3(USER, Some((Encryption::Aes128, PRIVACY)), Hash::Sha1, AUTHENTICATION),
        net.asked_by(Version::V2c { community: "strangers".into() }, None),
    ] {
        assert!(wrong.poll().is_err(), "{wrong:?}");
    }
}

#[test]
fn an_agent_with_many_stations_is_read_whole() {
    let row = |column: u8, mac| format!("1.3.6.1.4.1.14988.1.1.1.2.1.{column}.{}.7", index(mac));
    let objects: Objects = (0..500_u16)
        .flat_map(|number| {
            let [high, low] = number.to_be_bytes();
            let mac = MacAddr([2, 0, 0, 0, high, low]);
            [object(row(3, mac), "integer", -50), object(row(8, mac), "gauge", 24_000_000)]
        })
        .collect();
    let Some(net) = start("1.3.6.1.4.1.14988.1", &objects) else { return };
    let reading = net.v2c(Some("mikrotik")).poll().expect("answers");
    assert_eq!(reading.stations.len(), 500);
    assert!(reading.stations.iter().all(|s| (s.transmit_kbps, s.signal_dbm) == (Some(24_000), Some(-50))));
}

#[test]
fn implausible_values_are_passed_on_unchanged() {
    let row = |column: u8| format!("1.3.6.1.4.1.14988.1.1.1.2.1.{column}.{}.7", index(A));
    for (rate, signal) in [(0_i64, 0_i64), (1, 127), (u32::MAX.into(), -2_147_483_648)] {
        let objects = vec![object(row(3), "integer", signal), object(row(8), "gauge", rate)];
        let Some(net) = start("1.3.6.1.4.1.14988.1", &objects) else { return };
        let reading = net.v2c(None).poll().expect("answers");
        let station = find(&reading.stations, A);
        assert_eq!((station.transmit_kbps, station.signal_dbm), (Some(rate / 1_000), Some(signal)));
    }
}

#[test]
fn silence_and_noise_are_errors_and_end_in_time() {
    // A server that sends anything but SNMP.
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("an address").to_string();
    let timeout = Duration::from_millis(200);
    let community = || Version::V2c { community: "readers".into() };
    let mut agent = Agent::new(&address, community(), None, timeout);
    let began = Instant::now();
    let silent = agent.poll();
    assert!(matches!(silent, Err(TelemetryError::Silent(_))), "{silent:?}");
    assert!(began.elapsed() < timeout * 6, "{:?}", began.elapsed());
    std::thread::spawn(move || {
        let mut question = [0; 2_000];
        let mut state = 1_u32;
        while let Ok((len, from)) = socket.recv_from(&mut question) {
            // The request with a byte or two changed, truncated, or random bytes.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (at, cut) = (state as usize % len, (state >> 8) as usize % len);
            question[at] ^= (state >> 16) as u8;
            let answer = if state & 0x8000_0000 == 0 { &question[..len] } else { &question[..cut] };
            let _ = socket.send_to(answer, from);
        }
    });
    for _ in 0..300 {
        let version = community();
        let outcome = evenair_telemetry::poll_once(&mut Agent::new(&address, version, None, Duration::from_millis(50)));
        assert!(outcome.map_or(true, |reading| reading.stations.is_empty()));
    }
    let version = Version::V3 { user: "x".into(), authentication: Some((Hash::Md5, "12345678".into())), privacy: None };
    for _ in 0..20 {
        let outcome = Agent::new(&address, version.clone(), None, Duration::from_millis(50)).poll();
        assert!(outcome.is_err());
    }
    assert!(Agent::new("no such host.invalid:161", community(), None, timeout).poll().is_err());
    assert!(
        !format!("{:?}", Agent::new(&address, community(), None, timeout)).contains("readers"),
        "no secrets in logs"
    );
}
