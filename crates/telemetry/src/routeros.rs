//! MikroTik RouterOS 7 by its REST API.
//!
//! `GET /rest/interface/wifi/registration-table` lists the stations of the package of 802.11ac wave 2 and 802.11ax
//! (RouterOS 7.13 and later), `GET /rest/interface/wireless/registration-table` those of the older package `wireless`. A
//! device has either or both; a controller (CAPsMAN) lists the stations of its access points in the first. Each is polled,
//! and one that is not there is left out. `tx-rate` and `rx-rate` are from the access point's view: b/s in the first
//! ("1200950000"), text in the second ("573.5Mbps-80MHz/2S", "144.4Mbps-20MHz/2S/SGI", "54Mbps"). The name of the interface
//! leads to its address, the BSSID, in `GET /rest/interface/wifi` or `wireless`. Each value is a JSON string; a refusal has
//! its reason in `detail`. Only the fields that are needed are asked for (`.proplist`), so that no passphrase of an interface
//! is in an answer. The account needs the policies `read`, `api` and `rest-api` (HTTP basic authentication, RFC 7617), the
//! device its service `www-ssl` or `www`.
//!
//! Sources: MikroTik's documentation of the REST API, of WiFi and of Wireless (help.mikrotik.com/docs, ROS), and answers that
//! users of devices published: for `wireless` in collectd's pull request 2854 and in issue 413 of
//! tomaae/homeassistant-mikrotik_router, for `wifi` those of a hAP ax3 with RouterOS 7.24. Checked against these answers,
//! **not against a device**.
//!
//! Not here: channels, which the device tells only to the command `monitor`; modes, since no report has an MCS; the tables of
//! `wifiwave2` (before 7.13) and `caps-man`.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenair_packet::MacAddr;
use serde_json::Value;

use crate::http::{Answer, Http, Tls};
use crate::source::{Credentials, Reading, Source, StationReading, TelemetryError, mac, number};

/// The menus with a table of stations, and the fields of the table.
const MENUS: [(&str, &str); 2] = [
    ("wifi", "mac-address,interface,ssid,signal,tx-rate,rx-rate,last-activity"),
    ("wireless", "mac-address,interface,ap,signal-strength,tx-rate,rx-rate,last-activity"),
];
/// Longest part of a device's explanation in an error, in characters.
const LONGEST_DETAIL: usize = 120;

/// An access point or controller.
pub struct RouterOs {
    url: String,
    headers: [(String, String); 1],
    http: Http,
}

impl fmt::Debug for RouterOs {
    /// Omits the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterOs").field("url", &self.url).finish_non_exhaustive()
    }
}

impl RouterOs {
    /// The one at this URL (scheme, host and port; `/rest` is added).
    ///
    /// # Errors
    /// The certificate to trust is invalid.
    pub fn new(url: &str, credentials: Credentials<'_>, tls: &Tls, timeout: Duration) -> Result<Self, TelemetryError> {
        let Credentials { user, password } = credentials;
        let authorization = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        Ok(Self {
            url: url.trim_end_matches('/').trim_end_matches("/rest").into(),
            headers: [("Authorization".into(), authorization)],
            http: Http::new(tls, timeout)?,
        })
    }

    /// A list of entries with these fields; `None` if the device has no such menu.
    fn list(&self, menu: &str, fields: &str) -> Result<Option<Value>, TelemetryError> {
        let answer = self.http.get(&format!("{}/rest/interface/{menu}?.proplist={fields}", self.url), &self.headers)?;
        match answer.status {
            200 => answer.json().map(Some),
            300..=399 => {
                let why = "it redirects elsewhere, and the password is not sent there: does `url` need https, or another port?";
                Err(TelemetryError::Nonsense(format!("status {}: {why}", answer.status)))
            }
            401 => Err(TelemetryError::Refused("user or password (status 401)".into())),
            status => {
                let detail = detail(&answer);
                if detail.starts_with("no such command") {
                    return Ok(None);
                }
                if status == 403 || detail.starts_with("not enough permissions") {
                    let why = "the account's group needs the policies read, api and rest-api";
                    return Err(TelemetryError::Refused(format!("{why} (status {status} {detail})")));
                }
                let why = "is this RouterOS 7, with its service www-ssl or www?";
                Err(TelemetryError::Nonsense(format!("status {status} {detail}: {why}")))
            }
        }
    }

    /// Adds the stations of a menu. Returns whether the device has it.
    fn table(&self, menu: &str, table: &str, fields: &str, reading: &mut Reading) -> Result<bool, TelemetryError> {
        let Some(answer) = self.list(table, fields)? else { return Ok(false) };
        let stations = read(&answer)?;
        let at = if stations.is_empty() { HashMap::new() } else { self.interfaces(menu, reading) };
        reading.add_stations(table, stations.into_iter().map(|entry| Some(entry?.at(&at))));
        Ok(true)
    }

    /// The interfaces of a menu by name, for the BSSIDs of its stations.
    fn interfaces(&self, menu: &str, reading: &mut Reading) -> HashMap<String, Interface> {
        match self.list(menu, "name,mac-address,ssid") {
            Ok(answer) => answer.as_ref().map(interfaces).unwrap_or_default(),
            Err(error) => {
                reading.warn(format_args!("the interfaces of {menu}"), error.detail());
                HashMap::new()
            }
        }
    }
}

impl Source for RouterOs {
    fn name(&self) -> String {
        format!("routeros {}", self.url)
    }

    fn poll(&mut self) -> Result<Reading, TelemetryError> {
        let mut reading = Reading::default();
        let (mut tables, mut failed) = (Vec::new(), None);
        for (menu, fields) in MENUS {
            let table = format!("{menu}/registration-table");
            match self.table(menu, &table, fields, &mut reading) {
                Ok(true) => tables.push(table),
                Ok(false) => {}
                Err(TelemetryError::Nonsense(why)) => {
                    reading.warn(&table, &why);
                    failed.get_or_insert(TelemetryError::Nonsense(format!("{table}: {why}")));
                }
                Err(error) => return Err(error),
            }
        }
        if tables.is_empty() {
            let none = "it has no table of stations: neither the package wifi (RouterOS 7.13) nor wireless";
            return Err(failed.unwrap_or_else(|| TelemetryError::Nothing(none.into())));
        }
        Ok(Reading { from: tables.join(", "), ..reading }.settled())
    }
}

/// Why the device refuses, in its own words, without control characters.
fn detail(answer: &Answer) -> String {
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let text = body["detail"].as_str().or(body["message"].as_str()).unwrap_or_default();
    text.chars().filter(|letter| !letter.is_control()).take(LONGEST_DETAIL).collect()
}

/// An interface of the access point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    bssid: Option<MacAddr>,
    ssid: Option<String>,
}

/// An entry of a table of stations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The station, without the BSSID.
    pub station: StationReading,
    /// The name of its interface.
    pub interface: Option<String>,
}

impl Entry {
    /// The station with what is known of its interface.
    fn at(self, interfaces: &HashMap<String, Interface>) -> StationReading {
        let at = self.interface.and_then(|name| interfaces.get(&name)).cloned().unwrap_or_default();
        let ssid = self.station.ssid.clone().or(at.ssid);
        StationReading { access_point: at.bssid, ssid, ..self.station }
    }
}

/// Parses a table of stations of either package. An entry without a valid MAC address is `None`; peers that are access points
/// themselves are left out.
///
/// # Errors
/// It is no list.
pub fn read(answer: &Value) -> Result<Vec<Option<Entry>>, TelemetryError> {
    let entries = answer.as_array().ok_or_else(|| TelemetryError::nonsense("no list of stations"))?;
    Ok(entries.iter().filter(|entry| entry["ap"] != "true").map(entry).collect())
}

fn entry(value: &Value) -> Option<Entry> {
    let text = |key: &str| value[key].as_str();
    // "-17" in the newer package, "-51@1Mbps" or "-65dBm@1Mbps" in the older one.
    let signal = [&value["signal"], &value["signal-strength"]].into_iter().find_map(leading_number);
    let station = StationReading {
        transmit_kbps: kbps(&value["tx-rate"]),
        receive_kbps: kbps(&value["rx-rate"]),
        signal_dbm: signal,
        ssid: text("ssid").map(str::to_owned),
        idle: text("last-activity").and_then(duration),
        ..StationReading::new(mac(text("mac-address")?)?)
    };
    Some(Entry { station, interface: text("interface").map(str::to_owned) })
}

/// Parses a list of interfaces, by name.
pub fn interfaces(answer: &Value) -> HashMap<String, Interface> {
    let entries = answer.as_array().into_iter().flatten();
    let interface = |entry: &Value| {
        let text = |key: &str| entry[key].as_str();
        let interface = Interface { bssid: text("mac-address").and_then(mac), ssid: text("ssid").map(str::to_owned) };
        Some((text("name")?.to_owned(), interface))
    };
    entries.filter_map(interface).collect()
}

/// The integer that a text begins with, or a number.
fn leading_number(value: &Value) -> Option<i64> {
    let Some(text) = value.as_str() else { return number(value) };
    let digits = text.strip_prefix('-').unwrap_or(text);
    let len = digits.bytes().take_while(u8::is_ascii_digit).count() + text.len() - digits.len();
    text[..len].parse().ok()
}

/// A rate in kb/s: a number or digits are b/s, "573.5Mbps-80MHz/2S/SGI" has its unit.
fn kbps(value: &Value) -> Option<i64> {
    let Some(text) = value.as_str() else { return number(value).map(|bps| bps / 1_000) };
    if let Ok(bps) = text.parse::<i64>() {
        return Some(bps / 1_000);
    }
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (rate, unit) = text.split_at(end);
    let kilobits = match unit.get(..4)? {
        "kbps" => 1.0,
        "Mbps" => 1e3,
        "Gbps" => 1e6,
        _ => return None,
    };
    // Casting saturates.
    rate.parse::<f64>().ok().map(|rate| (rate * kilobits).round() as i64)
}

/// A duration of RouterOS, such as "1w2d3h4m5s", "4s750ms" or "690ms".
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let (digits, after) = rest.split_at(rest.find(|letter: char| !letter.is_ascii_digit())?);
        let end = after.find(|letter: char| letter.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let unit = match unit {
            "w" => Duration::from_secs(7 * 24 * 3_600),
            "d" => Duration::from_secs(24 * 3_600),
            "h" => Duration::from_secs(3_600),
            "m" => Duration::from_secs(60),
            "s" => Duration::from_secs(1),
            "ms" => Duration::from_millis(1),
            _ => return None,
        };
        sum = sum.checked_add(unit.checked_mul(digits.parse().ok()?)?)?;
        rest = after;
    }
    Some(sum).filter(|_| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rates_of_both_packages_are_read() {
        for (value, expected) in [
            (json!("1200950000"), Some(1_200_950)),
            (json!("6000000"), Some(6_000)),
            (json!(300_000_000), Some(300_000)),
            (json!("573.5Mbps-80MHz/2S"), Some(573_500)),
            (json!("144.4Mbps-20MHz/2S/SGI"), Some(144_400)),
            (json!("54Mbps"), Some(54_000)),
            (json!("5.5Mbps"), Some(5_500)),
            (json!("58.5Mbps-HT"), Some(58_500)),
            (json!("1.2Gbps"), Some(1_200_000)),
            (json!("0"), Some(0)),
            (json!("-5000"), Some(-5)),
            (json!("99999999999999999999999Gbps"), Some(i64::MAX)),
        ] {
            assert_eq!(kbps(&value), expected, "{value}");
        }
        for value in ["", "Mbps", "fast", "1.2.3Mbps", "12", "54 Mbps", "54Mb", ".Mbps", "1\u{20ac}bps", "12.5"] {
            let expected = (value == "12").then_some(0);
            assert_eq!(kbps(&json!(value)), expected, "{value}");
        }
        assert_eq!((kbps(&json!(null)), kbps(&json!([]))), (None, None));
    }

    #[test]
    fn signals_are_the_number_in_front() {
        for (value, expected) in [
            (json!("-17"), Some(-17)),
            (json!("-51@1Mbps"), Some(-51)),
            (json!("-65dBm@1Mbps"), Some(-65)),
            (json!(-60), Some(-60)),
            (json!("dBm"), None),
            (json!("-"), None),
            (json!(""), None),
            (json!("-99999999999999999999"), None),
            (json!(null), None),
        ] {
            assert_eq!(leading_number(&value), expected, "{value}");
        }
    }

    #[test]
    fn durations_are_the_sum_of_their_units() {
        for (text, millis) in [("690ms", 690), ("4s750ms", 4_750), ("0ms", 0), ("1w1d1h1m1s", 694_861_000)] {
            assert_eq!(duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "s", "5y", "1s-2s", "never", "5000000000s"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn the_password_is_not_in_debugging_output() {
        let account = Credentials { user: "reader", password: "hush" };
        let source = RouterOs::new("https://ap/rest/", account, &Tls::Public, Duration::from_secs(1)).expect("valid");
        assert_eq!(source.name(), "routeros https://ap");
        let text = format!("{source:?}");
        assert!(!text.contains("hush") && !text.contains(&STANDARD.encode("reader:hush")), "{text}");
    }
}
