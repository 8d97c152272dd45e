//! A real HTTP server that responds like RouterOS 7, as its documentation and published answers have it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use evenair_packet::MacAddr;
use evenair_telemetry::routeros::RouterOs;
use evenair_telemetry::{Credentials, Reading, Source, TelemetryError, Tls};
use hyper::header::AUTHORIZATION;

use crate::server::{Asked, Reply, each_misbehaving, reply, serve};

const TIMEOUT: Duration = Duration::from_secs(2);
/// "reader:right" in base64.
const BASIC: &str = "Basic cmVhZGVyOnJpZ2h0";
const UNKNOWN: &str =
    r#"{"detail":"no such command or directory (registration-table)","error":400,"message":"Bad Request"}"#;

/// Stations of the newer package.
const WIFI: &str = r#"[
    {".id":"*1","interface":"wifi1","last-activity":"1s20ms","mac-address":"02:00:00:00:00:0A","rx-rate":"300000000",
     "signal":"-57","ssid":"hall","tx-rate":"1200950000"},
    {".id":"*2","interface":"wifi9","mac-address":"02:00:00:00:00:0B","signal":"-70","ssid":"hall","tx-rate":"6000000"},
    {".id":"*3","interface":"wifi1"}]"#;
/// Its interfaces.
const WIFI_INTERFACES: &str = r#"[{".id":"*5","name":"wifi1","mac-address":"02:00:00:00:09:01"},{".id":"*6"}]"#;
/// Stations of the older package, and an access point that an interface is a client of.
const WIRELESS: &str = r#"[
    {".id":"*1","ap":"false","interface":"wlan1","last-activity":"4s750ms","mac-address":"02:00:00:00:00:0C",
     "rx-rate":"65Mbps-20MHz/1S","signal-strength":"-51@1Mbps","tx-rate":"573.5Mbps-80MHz/2S"},
    {".id":"*2","ap":"true","interface":"wlan2","mac-address":"02:00:00:00:08:01","tx-rate":"54Mbps"}]"#;
/// Its interfaces.
const WIRELESS_INTERFACES: &str = r#"[{".id":"*1","name":"wlan1","mac-address":"02:00:00:00:09:02","ssid":"yard"}]"#;

fn source(url: &str, password: &str) -> RouterOs {
    let account = Credentials { user: "reader", password };
    RouterOs::new(url, account, &Tls::Public, TIMEOUT).expect("no certificate needed")
}

/// A device with these answers by menu below `/rest/interface/`; it has no others. Asks for the password.
fn device(menus: &'static [(&'static str, u16, &'static str)]) -> String {
    serve(move |asked| {
        if asked.header(AUTHORIZATION) != BASIC {
            return reply(401, r#"{"error":401,"message":"Unauthorized"}"#);
        }
        menu(asked)
            .and_then(|name| menus.iter().find(|(menu, ..)| *menu == name))
            .map_or_else(|| reply(400, UNKNOWN), |(_, status, body)| reply(*status, *body))
    })
}

/// The menu that a request is for, if it may be asked as it is.
fn menu(asked: &Asked) -> Option<&str> {
    let (path, fields) = asked.path.split_once("?.proplist=")?;
    let is_clean = asked.method == "GET" && !fields.contains("pass") && fields.contains("mac-address");
    path.strip_prefix("/rest/interface/").filter(|_| is_clean)
}

/// Why a poll fails.
fn error(url: &str) -> TelemetryError {
    source(url, "right").poll().expect_err("it cannot be read")
}

fn last_octets(reading: &Reading) -> Vec<u8> {
    reading.stations.iter().map(|station| station.mac.0[5]).collect()
}

#[test]
fn stations_of_the_newer_package_are_read() {
    let url = device(&[("wifi/registration-table", 200, WIFI), ("wifi", 200, WIFI_INTERFACES)]);
    let mut source = source(&url, "right");
    for _ in 0..2 {
        let reading = source.poll().expect("answers");
        let [first, second] = &reading.stations[..] else { panic!("two stations: {reading:?}") };
        assert_eq!((first.mac, first.access_point), (MacAddr([2, 0, 0, 0, 0, 10]), Some(MacAddr([2, 0, 0, 0, 9, 1]))));
        assert_eq!((first.transmit_kbps, first.receive_kbps), (Some(1_200_950), Some(300_000)));
        assert_eq!((first.signal_dbm, first.ssid.as_deref()), (Some(-57), Some("hall")));
        assert_eq!(first.idle, Some(Duration::from_millis(1_020)));
        assert_eq!((second.transmit_kbps, second.receive_kbps, second.access_point), (Some(6_000), None, None));
        assert_eq!(reading.from, "wifi/registration-table");
        let one = "1 of the entries of wifi/registration-table left out: no valid MAC address";
        assert_eq!(reading.warnings, [one]);
    }
}

#[test]
fn stations_of_the_older_package_are_read_without_access_points() {
    let url = device(&[("wireless/registration-table", 200, WIRELESS), ("wireless", 200, WIRELESS_INTERFACES)]);
    let reading = source(&format!("{url}/rest/"), "right").poll().expect("answers");
    let [station] = &reading.stations[..] else { panic!("one station: {reading:?}") };
    assert_eq!(
        (station.transmit_kbps, station.receive_kbps, station.signal_dbm),
        (Some(573_500), Some(65_000), Some(-51))
    );
    assert_eq!((station.access_point, station.ssid.as_deref()), (Some(MacAddr([2, 0, 0, 0, 9, 2])), Some("yard")));
    assert_eq!(station.idle, Some(Duration::from_millis(4_750)));
    assert_eq!(reading.warnings, [""; 0]);
}

/// The menu of the newer package is there without its drivers too, and then empty.
#[test]
fn both_tables_are_read_where_both_are_there() {
    let url = device(&[
        ("wifi/registration-table", 200, "[]"),
        ("wireless/registration-table", 200, WIRELESS),
        ("wireless", 200, WIRELESS_INTERFACES),
    ]);
    let reading = source(&url, "right").poll().expect("answers");
    assert_eq!(last_octets(&reading), [12]);
    assert_eq!(reading.from, "wifi/registration-table, wireless/registration-table");
    let url = device(&[("wifi/registration-table", 200, WIFI), ("wireless/registration-table", 200, WIRELESS)]);
    assert_eq!(last_octets(&source(&url, "right").poll().expect("answers")), [10, 11, 12]);
}

#[test]
fn interfaces_that_cannot_be_read_leave_the_stations() {
    for (status, body) in [(200, "no JSON"), (500, "{}"), (403, "")] {
        let menus = vec![("wifi/registration-table", 200, WIFI), ("wifi", status, body)].leak();
        let reading = source(&device(menus), "right").poll().expect("answers");
        assert_eq!(last_octets(&reading), [10, 11]);
        let [interfaces, _] = &reading.warnings[..] else { panic!("{:?}", reading.warnings) };
        assert!(interfaces.starts_with("the interfaces of wifi left out: "), "{interfaces}");
    }
}

#[test]
fn refusals_are_named_without_the_password() {
    let url = device(&[("wifi/registration-table", 200, WIFI)]);
    let wrong = source(&url, "hush").poll().expect_err("refused");
    assert!(matches!(wrong, TelemetryError::Refused(_)), "{wrong:?}");
    assert_eq!(wrong.to_string(), "it refuses: user or password (status 401)");
    for (status, body) in [(403, "{}"), (500, r#"{"detail":"not enough permissions (9)","error":500}"#)] {
        let refused = error(&device(vec![("wifi/registration-table", status, body)].leak()));
        assert!(matches!(refused, TelemetryError::Refused(_)), "{refused:?}");
        assert!(refused.to_string().contains("policies read, api and rest-api"), "{refused}");
    }
}

#[test]
fn a_device_without_stations_or_another_server_is_named_as_such() {
    let none = error(&device(&[]));
    assert!(matches!(none, TelemetryError::Nothing(_)), "{none:?}");
    assert!(none.to_string().contains("no table of stations"), "{none}");
    let other = error(&serve(|_| reply(404, "<html>")));
    assert!(other.to_string().contains("status 404 : is this RouterOS 7"), "{other}");
    let loud = format!(r#"{{"detail":"\u001b[31m{}"}}"#, "x".repeat(10_000));
    let loud = error(&serve(move |_| reply(500, loud.clone()))).to_string();
    assert!(loud.len() < 300 && !loud.contains('\u{1b}'), "{loud}");
}

#[test]
fn wrong_json_is_named_with_its_beginning_or_its_table() {
    let broken = error(&device(&[("wifi/registration-table", 200, "<html>hello")])).to_string();
    assert!(broken.contains("no JSON") && broken.contains("<html>hello"), "{broken}");
    let object = error(&device(&[("wifi/registration-table", 200, "{}")])).to_string();
    assert_eq!(object, "it answered what cannot be understood: wifi/registration-table: no list of stations");
}

#[test]
fn one_table_that_fails_leaves_the_other() {
    let url = device(&[
        ("wifi/registration-table", 200, "{}"),
        ("wireless/registration-table", 200, WIRELESS),
        ("wireless", 200, WIRELESS_INTERFACES),
    ]);
    let reading = source(&url, "right").poll().expect("the other answers");
    assert_eq!((last_octets(&reading), reading.from.as_str()), (vec![12], "wireless/registration-table"));
    assert_eq!(reading.warnings, ["wifi/registration-table left out: no list of stations"]);
}

#[test]
fn the_password_does_not_follow_a_redirect() {
    let followed = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&followed);
    let elsewhere = serve(move |asked| {
        seen.lock().expect("no panic").push(asked.path.clone());
        reply(200, "[]")
    });
    for status in [301, 302, 307, 308] {
        let elsewhere = elsewhere.clone();
        let url = serve(move |_| Reply { location: Some(elsewhere.clone()), ..reply(status, "") });
        let redirected = error(&url).to_string();
        assert!(redirected.contains(&format!("status {status}: it redirects elsewhere")), "{redirected}");
    }
    assert_eq!(followed.lock().expect("no panic")[..], [""; 0]);
}

#[test]
fn an_answer_that_is_too_long_is_refused() {
    let long = "[".to_owned() + &" ".repeat(17 << 20) + "]";
    let refused = error(&serve(move |_| reply(200, long.clone())));
    assert!(matches!(refused, TelemetryError::Nonsense(_)), "{refused:?}");
    assert!(refused.to_string().contains("16777216"), "{refused}");
}

#[test]
fn more_stations_than_a_site_has_are_left_out() {
    let entry = |number: u32| format!(r#"{{"mac-address":"02:00:00:00:{:02x}:{:02x}"}}"#, number >> 8, number & 255);
    let many: Vec<String> = (0..5_000).map(entry).collect();
    let many = format!("[{}]", many.join(","));
    let url = serve(move |asked| match menu(asked) {
        Some("wifi/registration-table") => reply(200, many.clone()),
        _ => reply(400, UNKNOWN),
    });
    let reading = source(&url, "right").poll().expect("answers");
    assert_eq!(reading.stations.len(), 4_096);
    assert_eq!(reading.warnings, ["904 stations of wifi/registration-table left out: more than 4096"]);
}

#[test]
fn misbehaving_servers_are_errors_and_end_in_time() {
    each_misbehaving(2, |url, timeout| {
        let account = Credentials { user: "reader", password: "right" };
        RouterOs::new(url, account, &Tls::Public, timeout).expect("valid").poll().is_err()
    });
}
