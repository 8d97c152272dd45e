//! An agent that replays recorded objects of real devices: tables out of order, virtual access points, radios that share
//! an address.

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use evenair_packet::MacAddr;
use evenair_telemetry::snmp::{Agent, Version};
use evenair_telemetry::{Reading, Source};

use crate::answers::{COMMUNITY, behind_community, message, name_asked, request_number, row};

/// Tag at the end of a walk (RFC 3416, `endOfMibView`).
const END: u8 = 0x82;
const GET_REQUEST: u8 = 0xa0;
/// Objects per response.
const AT_ONCE: usize = 20;
const MIKROTIK: &str = "1.3.6.1.2.1.1.2.0 o 1.3.6.1.4.1.14988.1\n";

/// A name as bytes (X.690, 8.19).
fn name(oid: &str) -> Vec<u8> {
    let numbers: Vec<u64> = oid.split('.').map(|number| number.parse().expect("a number")).collect();
    let mut bytes = vec![(numbers[0] * 40 + numbers[1]) as u8];
    for &number in &numbers[2..] {
        let mut groups = vec![(number & 0x7f) as u8];
        let mut rest = number >> 7;
        while rest > 0 {
            groups.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        bytes.extend(groups.iter().rev());
    }
    bytes
}

/// The tag and bytes of a value: an integer, a counter, hexadecimal octets, text or a name.
fn value(kind: &str, text: &str) -> (u8, Vec<u8>) {
    let number = || text.parse::<i64>().expect("a number").to_be_bytes().to_vec();
    let octets =
        || (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal"));
    match kind {
        "i" => (0x02, number()),
        "c" => (0x41, number()[3..].to_vec()),
        "g" => (0x42, number()[3..].to_vec()),
        "x" => (0x04, octets().collect()),
        "a" => (0x40, octets().collect()),
        "t" => (0x04, text.as_bytes().to_vec()),
        "o" => (0x06, name(text)),
        // No type of RFC 3416.
        "?" => (0x1f, octets().collect()),
        other => panic!("{other}"),
    }
}

struct Object {
    name: Vec<u8>,
    encoded: Vec<u8>,
}

/// Serves objects, one per line: name, kind, value. They keep their order, which may be wrong, as in real agents. The
/// response to `broken` is malformed.
fn play(objects: &str, broken: Option<&str>) -> String {
    let objects: Vec<Object> = objects
        .lines()
        .map(|line| {
            let [oid, kind, text] = line.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{line}") };
            let (tag, content) = value(kind, text);
            Object { name: name(oid), encoded: row(&name(oid), tag, &content) }
        })
        .collect();
    let broken = broken.map(name);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        let mut question = [0; 2_000];
        while let Ok((len, from)) = socket.recv_from(&mut question) {
            let question = &question[..len];
            let (number, asked) = (request_number(question).expect("SNMP"), name_asked(question).expect("a name"));
            // All other requests here are GetBulkRequest.
            let is_get = behind_community(question).is_some_and(|pdu| pdu[0] == GET_REQUEST);
            let at = objects.iter().position(|object| object.name == asked);
            let first = match (is_get, at) {
                (true, at) => at,
                (false, Some(at)) => Some(at + 1),
                // In sorted order like a real agent, or in file order below a table's name.
                (false, None) => objects
                    .iter()
                    .position(|object| object.name.starts_with(&asked))
                    .or_else(|| objects.iter().position(|object| object.name > asked)),
            };
            let count = if is_get { 1 } else { AT_ONCE };
            let mut rows: Vec<u8> = objects[first.unwrap_or(objects.len())..]
                .iter()
                .take(count)
                .flat_map(|object| object.encoded.clone())
                .collect();
            if rows.is_empty() {
                rows = row(&asked, END, &[]);
            }
            let answer = match &broken {
                Some(broken) if asked.starts_with(broken) => message(&number, &[0x30, 0x7f]),
                _ => message(&number, &rows),
            };
            let _ = socket.send_to(&answer, from);
        }
    });
    address
}

fn agent(objects: &str, table: Option<&str>) -> Agent {
    let version = Version::V2c { community: COMMUNITY.into() };
    let table = table.map(|table| Agent::table(table).expect("it is known"));
    Agent::new(&play(objects, None), version, table, Duration::from_millis(500))
}

fn poll(objects: &str) -> Reading {
    agent(objects, None).poll().unwrap_or_else(|error| panic!("{error}"))
}

/// Each station's last octet, rates in kb/s, signal in dBm, and channel in MHz.
type Seen = (u8, Option<i64>, Option<i64>, Option<i64>, Option<u16>);

fn seen(reading: &Reading) -> Vec<Seen> {
    let of = |s: &evenair_telemetry::StationReading| {
        (s.mac.0[5], s.transmit_kbps, s.receive_kbps, s.signal_dbm, s.channel_mhz)
    };
    reading.stations.iter().map(of).collect()
}

#[test]
fn a_virtual_access_point_without_frequency_is_on_its_radio_s_channel() {
    let station = |column: u8, last: u8, radio: u8, kind: &str, value: i64| {
        format!("1.3.6.1.4.1.14988.1.1.1.2.1.{column}.2.0.0.0.1.{last}.{radio} {kind} {value}\n")
    };
    let radio = |column: u8, number: u8, kind: &str, value: &str| {
        format!("1.3.6.1.4.1.14988.1.1.1.3.1.{column}.{number} {kind} {value}\n")
    };
    let at = [(1, 1), (2, 2), (3, 8), (4, 9)];
    let signals: String = at.map(|(last, number)| station(3, last, number, "i", -55)).concat();
    let rates: String = at.map(|(last, number)| station(8, last, number, "g", 65_000_000)).concat();
    // The virtual one of radio 1, and one that may belong to either.
    let addresses = [(1, "020000001001"), (2, "020000001002"), (8, "060000001001"), (9, "060000001007")];
    let addresses: String = addresses.map(|(number, mac)| radio(5, number, "x", mac)).concat();
    let frequencies = [(1, "2412"), (2, "5805"), (8, "0"), (9, "0")];
    let frequencies: String = frequencies.map(|(number, mhz)| radio(7, number, "i", mhz)).concat();
    let reading = poll(&[MIKROTIK, &signals, &rates, &addresses, &frequencies].concat());
    let channels: Vec<_> = seen(&reading).into_iter().map(|(last, .., mhz)| (last, mhz)).collect();
    assert_eq!(channels, [(1, Some(2_412)), (2, Some(5_805)), (3, Some(2_412)), (4, None)]);
    assert_eq!(reading.stations[2].access_point, Some(MacAddr([6, 0, 0, 0, 0x10, 1])), "its own BSSID");
    assert_eq!(reading.warnings, [""; 0]);
}

/// As in RouterOS 6.39.
const NOT_IN_ORDER: &str = "\
1.3.6.1.4.1.14988.1.1.1.2.1.3.2.0.0.0.1.1.12 i -55
1.3.6.1.4.1.14988.1.1.1.2.1.8.2.0.0.0.1.1.12 g 65000000
1.3.6.1.4.1.14988.1.1.1.2.1.9.2.0.0.0.1.1.12 g 65000000
1.3.6.1.4.1.14988.1.1.1.3.1.5.12 x 020000001001
1.3.6.1.4.1.14988.1.1.1.3.1.5.11 x 020000001002
1.3.6.1.4.1.14988.1.1.1.3.1.7.12 i 2412
1.3.6.1.4.1.14988.1.1.1.3.1.7.11 i 5180
";

#[test]
fn an_optional_table_out_of_order_is_left_out_with_a_warning() {
    // As FortiOS sorts ifTable.
    let interfaces = "1.3.6.1.2.1.2.2.1.3.2 i 71\n1.3.6.1.2.1.2.2.1.3.1 i 6\n";
    let reading = poll(&[MIKROTIK, interfaces, NOT_IN_ORDER].concat());
    assert_eq!(seen(&reading), [(1, Some(65_000), Some(65_000), Some(-55), None)]);
    let [types, addresses, frequencies] = &reading.warnings[..] else { panic!("{:?}", reading.warnings) };
    for (warning, column) in
        [(types, "2.2.1.3 "), (addresses, "14988.1.1.1.3.1.5 "), (frequencies, "14988.1.1.1.3.1.7 ")]
    {
        assert!(warning.contains(column) && warning.contains("not in ascending order"), "{warning}");
    }
}

#[test]
fn stations_out_of_order_are_all_read() {
    let row = |column: u8, last: u8| format!("1.3.6.1.4.1.14988.1.1.1.2.1.{column}.2.0.0.0.1.{last}.7 i -55\n");
    let reading = poll(&[MIKROTIK, &row(3, 3), &row(3, 1), &row(3, 2)].concat());
    assert_eq!(seen(&reading).iter().map(|seen| seen.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(reading.warnings[0].contains("not in ascending order"), "{:?}", reading.warnings);
}

#[test]
fn an_answer_that_is_cut_short_leaves_the_other_columns() {
    let version = || Version::V2c { community: COMMUNITY.into() };
    let poll = |broken: &str| {
        let address = play(&[MIKROTIK, NOT_IN_ORDER].concat(), Some(broken));
        Agent::new(&address, version(), Agent::table("mikrotik"), Duration::from_millis(500)).poll()
    };
    let reading = poll("1.3.6.1.4.1.14988.1.1.1.2.1.8").expect("its signals are read");
    assert_eq!(seen(&reading), [(1, None, Some(65_000), Some(-55), None)]);
    assert!(reading.warnings[0].contains("14988.1.1.1.2.1.8 of its stations left out"), "{:?}", reading.warnings);
    assert!(poll("1.3.6.1.4.1.14988.1.1.1.2").is_err(), "without its table of stations there is nothing to report");
}

#[test]
fn a_malformed_row_leaves_the_others() {
    let row = |column: u8, last: u8, kind: &str, value: &str| {
        format!("1.3.6.1.4.1.14988.1.1.1.2.1.{column}.2.0.0.0.1.{last}.7 {kind} {value}\n")
    };
    let signals = [row(3, 1, "i", "-51"), row(3, 2, "?", "ff"), row(3, 3, "t", "weak"), row(3, 4, "i", "-54")].concat();
    let rates: String = (1..5).map(|last| row(8, last, "g", "65000000")).collect();
    let reading = poll(&[MIKROTIK, &signals, &rates].concat());
    let signals: Vec<_> =
        seen(&reading).into_iter().map(|(last, rate, _, dbm, _)| (last, rate.is_some(), dbm)).collect();
    assert_eq!(signals, [(1, true, Some(-51)), (2, true, None), (3, true, None), (4, true, Some(-54))]);
    assert_eq!(reading.warnings, ["rows of column 1.3.6.1.4.1.14988.1.1.1.2.1.3 left out: they cannot be understood"]);
}

#[test]
fn radios_with_one_address_are_reported_by_interface() {
    let reading = poll(
        "1.3.6.1.2.1.1.2.0 o 1.3.6.1.4.1.14988.1\n\
         1.3.6.1.2.1.2.2.1.3.1 i 71\n1.3.6.1.2.1.2.2.1.3.2 i 6\n1.3.6.1.2.1.2.2.1.3.4 i 71\n\
         1.3.6.1.2.1.2.2.1.6.1 x 020000001001\n1.3.6.1.2.1.2.2.1.6.2 x 020000001000\n\
         1.3.6.1.2.1.2.2.1.6.4 x 020000001001\n\
         1.3.6.1.2.1.2.2.1.19.1 c 0\n1.3.6.1.2.1.2.2.1.19.4 c 119\n",
    );
    let lost: Vec<_> =
        reading.access_points.iter().map(|radio| (radio.mac.0[5], radio.interface, radio.lost)).collect();
    assert_eq!(lost, [(1, 1, 0), (1, 4, 119)]);
}

#[test]
fn a_counter_that_cannot_be_read_makes_no_smaller_total() {
    let interfaces = "1.3.6.1.2.1.2.2.1.3.1 i 71\n1.3.6.1.2.1.2.2.1.6.1 x 020000001001\n";
    let discards = "1.3.6.1.2.1.2.2.1.19.1 c 119\n";
    let address = play(&[MIKROTIK, interfaces, discards].concat(), Some("1.3.6.1.2.1.2.2.1.19"));
    let version = Version::V2c { community: COMMUNITY.into() };
    let reading = Agent::new(&address, version, None, Duration::from_millis(500)).poll().expect("answers");
    assert_eq!(reading.access_points, []);
    assert!(reading.warnings.iter().any(|warning| warning.contains("2.2.1.19 left out")), "{:?}", reading.warnings);
}

#[test]
fn airos_is_read() {
    let reading = poll(
        "1.3.6.1.2.1.1.2.0 o 1.3.6.1.4.1.41112.1.4\n\
         1.3.6.1.4.1.41112.1.4.1.1.4.1 i 5860\n\
         1.3.6.1.4.1.41112.1.4.5.1.4.1 x 020000001001\n\
         1.3.6.1.4.1.41112.1.4.7.1.1.1.2.0.0.0.0.33 x 020000000021\n\
         1.3.6.1.4.1.41112.1.4.7.1.3.1.2.0.0.0.0.33 i -64\n\
         1.3.6.1.4.1.41112.1.4.7.1.10.1.2.0.0.0.0.33 a 0a420121\n\
         1.3.6.1.4.1.41112.1.4.7.1.11.1.2.0.0.0.0.33 i 162000\n\
         1.3.6.1.4.1.41112.1.4.7.1.12.1.2.0.0.0.0.33 i 108000\n",
    );
    assert_eq!(reading.from, "Ubiquiti airOS");
    assert_eq!(seen(&reading), [(33, Some(162_000), Some(108_000), Some(-64), Some(5_860))]);
    let [station] = &reading.stations[..] else { panic!("{reading:?}") };
    assert_eq!(station.access_point, Some(MacAddr([2, 0, 0, 0, 0x10, 1])));
    assert_eq!(station.address, "10.66.1.33".parse().ok());
    assert_eq!(reading.warnings, [""; 0]);
}

#[test]
fn a_controller_with_arubaos_is_read() {
    let station = |column: u8, last: u8, kind: &str, value: &str| {
        format!("1.3.6.1.4.1.14823.2.2.1.5.2.2.1.1.{column}.2.0.0.0.0.{last} {kind} {value}\n")
    };
    // `wlanAPBssidChannel` by access point, radio and BSSID.
    let channel = "1.3.6.1.4.1.14823.2.2.1.5.2.1.7.1.8.2.0.0.0.16.0.1.2.0.0.0.16.2 i 149\n";
    let id = "1.3.6.1.2.1.1.2.0 o 1.3.6.1.4.1.14823.1.1.20\n";
    let objects = [
        id,
        channel,
        &station(2, 1, "x", "020000001001"),
        &station(2, 2, "x", "020000001002"),
        &station(6, 1, "i", "44"),
        &station(10, 1, "g", "866"),
        &station(10, 2, "g", "54"),
        &station(12, 1, "t", "site"),
        // `wlanStaRSSI`, a signal-to-noise ratio.
        &station(14, 1, "i", "41"),
    ];
    let reading = poll(&objects.concat());
    assert_eq!(reading.from, "ArubaOS, mobility controller");
    assert_eq!(
        seen(&reading),
        [(1, Some(866_000), None, None, Some(5_220)), (2, Some(54_000), None, None, Some(5_745))]
    );
    let at = reading.stations.iter().map(|station| station.access_point);
    assert!(at.eq([1, 2].map(|last| Some(MacAddr([2, 0, 0, 0, 0x10, last])))));
    assert_eq!(reading.stations[0].ssid.as_deref(), Some("site"));
    let idle = poll(&[id, channel].concat());
    assert_eq!((idle.from.as_str(), idle.warnings.len()), ("ArubaOS, mobility controller", 0), "it has no stations");
}

#[test]
fn an_agent_without_a_known_table_is_warned_of() {
    let other = "1.3.6.1.2.1.1.2.0 o 1.3.6.1.4.1.2356.11\n1.3.6.1.2.1.2.2.1.3.1 i 6\n";
    let reading = poll(other);
    let [warning] = &reading.warnings[..] else { panic!("{:?}", reading.warnings) };
    assert!(warning.contains("(sysObjectID 1.3.6.1.4.1.2356.11) has no table of stations"), "{warning}");
    assert!(warning.ends_with("tried: cisco, cisco-wlc, aruba, arubaos, mikrotik, airos, aerohive"), "{warning}");
    let configured = agent(other, Some("mikrotik")).poll().expect("answers");
    assert!(configured.warnings[0].ends_with("tried: mikrotik"), "{:?}", configured.warnings);
    // An agent with the vendor's table of radios has no stations; RouterOS with other drivers has neither table.
    let idle = "1.3.6.1.4.1.14988.1.1.1.3.1.5.1 x 020000001001\n1.3.6.1.4.1.14988.1.1.1.3.1.7.1 i 2412\n";
    let reading = poll(&[MIKROTIK, idle].concat());
    assert_eq!((reading.from.as_str(), reading.warnings.len()), ("MikroTik", 0));
    assert_eq!(poll(MIKROTIK).warnings.len(), 1);
}
