//! Responses with some bytes changed: they are parsed or refused, without panics.

use evenair_packet::MacAddr;
use proptest::prelude::*;

use crate::parsers::read;
use crate::{answers, web_answers};

/// One answer with a single station for each of [`crate::parsers`].
const ANSWERS: [&str; 6] = [
    "02:00:00:00:00:0a\nflags=[AUTH]\nsignal=-61\nrx_rate_info=60\ntx_rate_info=540 mcs 7 shortGI\n",
    "Station 02:00:00:00:00:0a (on wlan0)\n\tsignal:\t-61 [-64, -63] dBm\n\ttx bitrate:\t54.0 MBit/s\n",
    r#"{"data":[{"mac":"02:00:00:00:00:0a","is_wired":false,"signal":-61,"tx_rate":54000,"rx_rate":6000.5,"ip":"10.0.0.1"}]}"#,
    r#"{"clients":{"02:00:00:00:00:0a":{"signal":-61,"rate":{"rx":6000,"tx":54000}}}}"#,
    r#"[{"source":"hostapd a","from":"b","stations":[{"mac":"02:00:00:00:00:0a","signal_dbm":-61,"idle_ms":12}],"radios":[]}]"#,
    r#"[{"mac-address":"02:00:00:00:00:0a","interface":"wlan1","signal":"-61","tx-rate":"573.5Mbps-80MHz/2S","last-activity":"4s750ms"}]"#,
];

#[test]
fn whole_answers_are_read() {
    ANSWERS.iter().for_each(|answer| assert_eq!(read(answer), 1, "{answer}"));
}

/// The index of Mikrotik's table, and its columns: one with a signal for each of two stations, from which [`answers`] makes
/// responses.
fn snmp_answers() -> Vec<u8> {
    let index = |last: u8| [2, 0, 0, 0, 0, last, 7];
    let row = |last: u8| [&index(last)[..], &[0, 1, 0xc3]].concat();
    let table = evenair_telemetry::snmp::tables::TABLES.iter().position(|table| table.name == "mikrotik");
    let column = [vec![2 | 8, 6], row(10), row(11)].concat();
    // The same number of rows in each column of stations and of radios, and nothing after them.
    let columns = [column, END.to_vec()].concat().repeat(6);
    [&[table.expect("it is known") as u8][..], &columns].concat()
}

/// A row at the end of the objects: its tag is not an object's.
const END: [u8; 5] = [2, 0, 0, 7, 0];

#[test]
fn snmp_rows_are_read() {
    let reading = answers::poll(&snmp_answers()).expect("it answers");
    assert!(reading.stations.iter().any(|station| station.mac == MacAddr([2, 0, 0, 0, 0, 10])), "{reading:?}");
}

/// A login to a UniFi controller, and one station.
fn web_answers() -> Vec<u8> {
    let answer = |body: &str| [&[1, body.len() as u8][..], body.as_bytes()].concat();
    let stations = r#"{"data":[{"mac":"02:00:00:00:00:0a","tx_rate":54000}]}"#;
    [vec![0], answer("{}"), answer(stations)].concat()
}

#[test]
fn http_answers_are_read() {
    let reading = web_answers::poll(&web_answers()).expect("it answers");
    assert_eq!(reading.stations[0].transmit_kbps, Some(54_000), "{reading:?}");
}

proptest! {
    #[test]
    fn changed_http_answers_are_read_or_refused(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = web_answers();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = web_answers::poll(&bytes);
    }

    #[test]
    fn changed_snmp_answers_are_read_or_refused(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..8),
    ) {
        let mut bytes = snmp_answers();
        for (at, byte, kind) in changes {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ if bytes.len() > 1 => drop(bytes.remove(at)),
                _ => {}
            }
        }
        let _ = answers::poll(&bytes);
    }

    #[test]
    fn changed_answers_are_read_or_refused(
        which in 0..ANSWERS.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..8),
    ) {
        let mut bytes = ANSWERS[which].as_bytes().to_vec();
        for (at, byte, kind) in changes {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, b"9-.:\"[]{}=\n "[usize::from(byte) % 12]),
                2 if bytes.len() > 1 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        prop_assert!(read(&String::from_utf8_lossy(&bytes)) <= 2);
    }
}
