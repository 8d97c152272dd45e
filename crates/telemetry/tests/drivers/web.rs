//! A real HTTP server that responds like a UniFi controller and like OpenWrt.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evenair_packet::MacAddr;
use evenair_telemetry::ubus::Ubus;
use evenair_telemetry::unifi::Unifi;
use evenair_telemetry::{Credentials, Source, TelemetryError, Tls};
use hyper::header::COOKIE;

use crate::server::{Reply, each_misbehaving, reply};

const TIMEOUT: Duration = Duration::from_secs(2);

/// Serves on loopback until the process ends; `answer` gets method, path, cookie and body.
fn serve(answer: impl Fn(&str, &str, &str, &str) -> Reply + Send + Sync + 'static) -> String {
    crate::server::serve(move |asked| answer(&asked.method, &asked.path, asked.header(COOKIE), &asked.body))
}

const STATIONS: &str = r#"{"meta":{"rc":"ok"},"data":[
    {"mac":"02:00:00:00:00:0a","is_wired":false,"ap_mac":"02:01:02:03:04:05","essid":"home","ip":"10.0.0.1",
     "signal":-61,"rssi":34,"tx_rate":54000,"rx_rate":6000,"tx_retries":12},
    {"mac":"02:00:00:00:00:0c","is_wired":true,"ip":"10.0.0.3"},
    {"mac":"02:00:00:00:00:0b","channel":36,"radio":"na","tx_rate":866700.0,"rx_rate":-5,"signal":null},
    {"mac":"not one","tx_rate":1}, 7, null]}"#;

fn unifi(url: &str, password: &str) -> Unifi {
    Unifi::new(url, "default", Credentials { user: "reader", password }, &Tls::Public, TIMEOUT)
        .expect("no certificate needed")
}

fn check_unifi(reading: &evenair_telemetry::Reading) {
    let [first, second] = &reading.stations[..] else { panic!("two stations: {reading:?}") };
    assert_eq!((first.mac, first.access_point), (MacAddr([2, 0, 0, 0, 0, 10]), Some(MacAddr([2, 1, 2, 3, 4, 5]))));
    assert_eq!((first.transmit_kbps, first.receive_kbps, first.signal_dbm), (Some(54_000), Some(6_000), Some(-61)));
    assert_eq!((first.ssid.as_deref(), first.address), (Some("home"), "10.0.0.1".parse().ok()));
    assert_eq!((second.transmit_kbps, second.receive_kbps, second.signal_dbm), (Some(866_700), Some(-5), None));
    assert_eq!((first.channel_mhz, second.channel_mhz), (None, Some(5_180)));
}

#[test]
fn a_unifi_controller_is_logged_in_to_and_read() {
    for (login, prefix) in [("/api/login", ""), ("/api/auth/login", "/proxy/network")] {
        let logins = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&logins);
        let url = serve(move |method, path, cookie, body| match (method, path) {
            ("POST", path) if path == login && body.contains("\"password\":\"right\"") => {
                counted.fetch_add(1, Ordering::Relaxed);
                Reply { cookie: Some("session=s1; Path=/; HttpOnly"), ..reply(200, "{}") }
            }
            ("POST", path) if path == login => reply(401, r#"{"meta":{"rc":"error"}}"#),
            ("GET", path) if path == format!("{prefix}/api/s/default/stat/sta") && cookie == "session=s1" => {
                reply(200, STATIONS)
            }
            ("GET", path) if path.ends_with("/stat/sta") => reply(401, "{}"),
            _ => reply(404, ""),
        });
        let mut source = unifi(&url, "right");
        for _ in 0..3 {
            check_unifi(&source.poll().unwrap_or_else(|error| panic!("{login}: {error}")));
        }
        assert_eq!(logins.load(Ordering::Relaxed), 1, "the session is kept");
        let wrong = unifi(&url, "wrong").poll();
        assert!(matches!(wrong, Err(TelemetryError::Refused(_))), "{wrong:?}");
        assert!(!wrong.expect_err("refused").to_string().contains("wrong"), "no secrets in logs");
    }
}

#[test]
fn an_account_with_two_factor_authentication_is_named_as_such() {
    let os = r#"{"code":"MFA_AUTH_REQUIRED","message":"MFA authentication required","data":{"mfaCookie":"x"}}"#;
    let old = r#"{"meta":{"rc":"error","msg":"api.err.Ubic2faTokenRequired"},"data":[]}"#;
    for (status, body) in [(499, os), (499, "{}"), (403, os), (400, old)] {
        let url = serve(move |method, _, _, _| reply(if method == "POST" { status } else { 404 }, body));
        let error = unifi(&url, "right").poll().expect_err("a second factor is wanted");
        assert!(matches!(error, TelemetryError::Refused(_)), "{error:?}");
        assert!(error.to_string().contains("two-factor authentication"), "{status}: {error}");
    }
}

#[test]
fn a_station_at_6_ghz_is_on_its_channel() {
    let sta = r#"{"data":[{"mac":"02:00:00:00:00:01","radio":"6e","channel":37,"signal":-61,"tx_rate":2402000}, {}]}"#;
    let url = serve(move |method, _, _, _| match method {
        "POST" => Reply { cookie: Some("T=t"), ..reply(200, "{}") },
        _ => reply(200, sta),
    });
    let reading = unifi(&url, "right").poll().expect("answers");
    assert_eq!((reading.stations.len(), reading.stations[0].channel_mhz), (1, Some(6_135)));
    assert_eq!(reading.warnings, ["1 of the entries of stat/sta left out: no valid MAC address"]);
}

#[test]
fn the_alias_at_the_controller_is_reported_and_not_the_host_name() {
    let sta = r#"{"data":[{"mac":"02:00:00:00:00:01","name":"Anne's laptop","hostname":"android-1"},
        {"mac":"02:00:00:00:00:02","hostname":"android-2"}]}"#;
    let url = serve(move |method, _, _, _| match method {
        "POST" => Reply { cookie: Some("T=t"), ..reply(200, "{}") },
        _ => reply(200, sta),
    });
    let reading = unifi(&url, "right").poll().expect("answers");
    let aliases: Vec<_> = reading.stations.iter().map(|station| station.alias.as_deref()).collect();
    assert_eq!(aliases, [Some("Anne's laptop"), None]);
}

/// Responses of ubus: to `list`, and to calls of these objects and methods, in this order; all other calls fail as
/// unknown methods.
fn ubus_of(list: &'static str, calls: &'static [(&'static str, &'static str, &'static str)]) -> String {
    serve(move |_, _, _, body| {
        let result = |result: &str| reply(200, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
        if body.contains("\"login\"") {
            return result(r#"[0,{"ubus_rpc_session":"abc"}]"#);
        }
        if body.contains("\"list\"") {
            return result(list);
        }
        let call = calls.iter().find(|(object, method, _)| body.contains(object) && body.contains(method));
        match call {
            Some((.., "hang up")) => reply(200, "no JSON"),
            Some((.., answer)) if answer.starts_with('{') => reply(200, *answer),
            Some((.., answer)) => result(answer),
            None => result("[3]"),
        }
    })
}

const TWO: &str = r#"{"hostapd.wlan0":{},"hostapd.wlan1":{}}"#;
const CLIENTS: &str =
    r#"[0,{"freq":5180,"clients":{"02:00:00:00:00:06":{"signal":-60,"rate":{"rx":6000,"tx":54000}}}}]"#;

#[test]
fn one_interface_that_fails_leaves_the_others() {
    const GONE: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Object not found"}}"#;
    let failing: [&'static [_]; 5] = [
        &[("hostapd.wlan0", "get_clients", CLIENTS), ("hostapd.wlan1", "get_clients", "[4]")],
        &[("hostapd.wlan0", "get_clients", CLIENTS), ("hostapd.wlan1", "get_clients", GONE)],
        &[("hostapd.wlan0", "get_clients", CLIENTS), ("hostapd.wlan1", "get_clients", "[6]")],
        &[("hostapd.wlan0", "get_clients", CLIENTS), ("hostapd.wlan1", "get_clients", "hang up")],
        // In the other order.
        &[("hostapd.wlan1", "get_clients", CLIENTS), ("hostapd.wlan0", "get_clients", "[4]")],
    ];
    for calls in failing {
        let reading = ubus(&ubus_of(TWO, calls), "right").poll().unwrap_or_else(|error| panic!("{calls:?}: {error}"));
        let [station] = &reading.stations[..] else { panic!("{calls:?}: {reading:?}") };
        assert_eq!((station.transmit_kbps, station.channel_mhz), (Some(54_000), Some(5_180)));
        assert_eq!(reading.from, calls[0].0);
        let [warning] = &reading.warnings[..] else { panic!("{calls:?}: {:?}", reading.warnings) };
        assert!(warning.starts_with(&format!("{} left out: ", calls[1].0)), "{warning}");
    }
    let all = ubus_of(TWO, &[("hostapd", "get_clients", "[4]")]);
    let error = ubus(&all, "right").poll().expect_err("nothing is left").to_string();
    assert!(error.contains("hostapd.wlan1: status 4 of ubus (the object is gone"), "{error}");
}

#[test]
fn optional_parts_of_an_interface_may_fail() {
    let calls: &[_] = &[
        ("hostapd.wlan0", "get_clients", CLIENTS),
        ("hostapd.wlan1", "get_clients", r#"[0,{"freq":0,"clients":{"02:00:00:00:00:07":{},"none":{}}}]"#),
        ("hostapd.wlan0", "get_status", "hang up"),
        ("iwinfo", "assoclist", "[2]"),
    ];
    let reading = ubus(&ubus_of(TWO, calls), "right").poll().expect("answers");
    let channels: Vec<_> = reading.stations.iter().map(|station| station.channel_mhz).collect();
    assert_eq!(channels, [Some(5_180), None], "0 MHz is no channel");
    let [status, entries] = &reading.warnings[..] else { panic!("{:?}", reading.warnings) };
    assert!(status.starts_with("get_status of hostapd.wlan0 left out: "), "{status}");
    assert_eq!(entries, "1 of the entries of hostapd.wlan1 left out: no valid MAC address");
}

/// OpenWrt 21.02 and later: own names for interfaces, and further objects of hostapd.
#[test]
fn objects_beside_the_interfaces_are_not_asked() {
    let list = r#"{"hostapd":{"reload":{}},"hostapd-auth":{},"hostapd_cli":{},"hostapd.phy0-ap0":{"get_clients":{}}}"#;
    let reading =
        ubus(&ubus_of(list, &[("hostapd.phy0-ap0", "get_clients", CLIENTS)]), "right").poll().expect("answers");
    assert_eq!((reading.from.as_str(), reading.stations.len()), ("hostapd.phy0-ap0", 1));
    assert_eq!(reading.warnings, [""; 0]);
}

#[test]
fn a_session_that_is_over_is_begun_again() {
    let valid = Arc::new(AtomicUsize::new(0));
    let url = serve(move |method, path, _, _| match (method, path) {
        ("POST", "/api/auth/login") => {
            valid.store(2, Ordering::Relaxed);
            Reply { cookie: Some("TOKEN=t"), ..reply(200, "{}") }
        }
        ("GET", _) if valid.load(Ordering::Relaxed) > 0 => {
            valid.fetch_sub(1, Ordering::Relaxed);
            reply(200, STATIONS)
        }
        _ => reply(401, "{}"),
    });
    let mut source = unifi(&url, "right");
    for _ in 0..5 {
        check_unifi(&source.poll().expect("answers"));
    }
}

fn ubus(url: &str, password: &str) -> Ubus {
    Ubus::new(url, Credentials { user: "reader", password }, &Tls::Public, TIMEOUT).expect("no certificate needed")
}

/// Responses of uhttpd's ubus; `may`: whether the account may list clients.
fn openwrt(may: bool) -> String {
    let asked = Arc::new(Mutex::new(0_u32));
    serve(move |method, path, _, body| {
        if (method, path) != ("POST", "/ubus") {
            return reply(404, "");
        }
        let result = |result: &str| reply(200, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
        if body.contains("\"login\"") {
            return if body.contains("\"right\"") {
                result(r#"[0,{"ubus_rpc_session":"abc"}]"#)
            } else {
                result("[6]")
            };
        }
        if !body.contains("\"abc\"") {
            return reply(200, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Access denied"}}"#);
        }
        *asked.lock().expect("no panic") += 1;
        if body.contains("\"list\"") {
            return result(r#"{"hostapd.wlan0":{"get_clients":{}},"hostapd.wlan1":{"get_clients":{}}}"#);
        }
        match may {
            false => result("[6]"),
            true if body.contains("get_status") && body.contains("hostapd.wlan0") => {
                result(r#"[0,{"status":"ENABLED","bssid":"02:00:00:00:09:01","ssid":"home","freq":2412}]"#)
            }
            true if body.contains("get_status") => result("[3]"),
            true if body.contains("assoclist") && body.contains(r#"{"device":"wlan0"}"#) => result(
                r#"[0,{"results":[{"mac":"02:00:00:00:00:0A","signal":-61,"noise":-95,
                   "rx":{"ht":false,"vht":false,"he":false,"eht":false,"mhz":20,"rate":6000},
                   "tx":{"ht":false,"vht":true,"he":false,"eht":false,"mhz":40,"rate":54000,"mcs":3,"nss":1,"short_gi":false}}]}]"#,
            ),
            true if body.contains("assoclist") => result("[6]"),
            true if body.contains("hostapd.wlan0") => result(
                r#"[0,{"freq":2412,"clients":{"02:00:00:00:00:0a":{"auth":true,"signal":-61,"rate":{"rx":6000,"tx":54000},
                   "airtime":{"rx":0,"tx":0}}, "junk":{"signal":-1}}}]"#,
            ),
            true => result(r#"[0,{"freq":5180,"clients":{"02:00:00:00:00:0b":{"signal":"strong","rate":{"tx":0}}}}]"#),
        }
    })
}

#[test]
fn openwrt_reports_the_clients_of_each_interface() {
    let url = openwrt(true);
    let mut source = ubus(&url, "right");
    for _ in 0..2 {
        let reading = source.poll().expect("answers");
        assert_eq!(reading.from, "hostapd.wlan0, hostapd.wlan1");
        let reported: Vec<_> =
            reading.stations.iter().map(|s| (s.mac.0[5], s.transmit_kbps, s.receive_kbps, s.signal_dbm)).collect();
        assert_eq!(reported, [(10, Some(54_000), Some(6_000), Some(-61)), (11, Some(0), None, None)]);
        let modes: Vec<_> = reading.stations.iter().map(|s| (s.transmit_mode, s.receive_mode)).collect();
        let mode = "VHT MCS 3, 40 MHz".parse().ok().map(Ok);
        assert_eq!(modes, [(mode, None), (None, None)], "the second one may not be listed");
        let at: Vec<_> = reading.stations.iter().map(|s| (s.access_point, s.channel_mhz)).collect();
        let radio = Some(MacAddr([2, 0, 0, 0, 9, 1]));
        assert_eq!(at, [(radio, Some(2_412)), (None, Some(5_180))], "the second one's hostapd has no get_status");
    }
    assert!(matches!(ubus(&url, "wrong").poll(), Err(TelemetryError::Refused(_))));
    let error = ubus(&openwrt(false), "right").poll().expect_err("refused").to_string();
    assert!(error.contains("acl.d"), "{error}");
}

#[test]
fn misbehaving_servers_are_errors_and_end_in_time() {
    let account = Credentials { user: "a", password: "b" };
    each_misbehaving(4, |url, timeout| {
        let mut unifi = Unifi::new(url, "default", account, &Tls::Public, timeout).expect("valid");
        let mut ubus = Ubus::new(url, account, &Tls::Public, timeout).expect("valid");
        unifi.poll().is_err() && ubus.poll().is_err()
    });
    let list = serve(|_, _, _, _| Reply { cookie: Some("a=b"), ..reply(200, "[]") });
    assert!(unifi(&list, "b").poll().is_err() && ubus(&list, "b").poll().is_err());
    let pinned = Tls::Pinned("no PEM".into());
    assert!(Unifi::new("https://a", "default", account, &pinned, TIMEOUT).is_err());
}
