//! Another evenair, at an access point that is a Linux machine: `evenair telemetry --listen` there polls hostapd or the
//! kernel, and serves the reports over HTTP.
//!
//! `GET /stations` returns a JSON list with one entry for each source that is polled there, as `evenair telemetry --json`
//! prints it ([`entry`], [`read`]): `source`, and either `error` or `from`, `stations` and `radios`. If a password is set,
//! clients must send it (RFC 6750, 2.1).

use std::time::Duration;

use evenair_wifi::ModeTextError;
use serde_json::{Value, json};

use crate::http::{Http, Tls};
use crate::mode::ReportedMode;
use crate::source::{AccessPointReading, Reading, Source, StationReading, TelemetryError, frequency, mac, number};

/// Another evenair that listens.
#[derive(Debug)]
pub struct Remote {
    url: String,
    headers: Vec<(String, String)>,
    http: Http,
}

impl Remote {
    /// The one at this URL (scheme, host and port).
    ///
    /// # Errors
    /// The certificate to trust is invalid.
    pub fn new(url: &str, password: Option<&str>, tls: &Tls, timeout: Duration) -> Result<Self, TelemetryError> {
        let headers = password.map(|password| ("Authorization".into(), authorization(password)));
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { url, headers: headers.into_iter().collect(), http: Http::new(tls, timeout)? })
    }
}

/// The value of the header `Authorization` with this password.
pub fn authorization(password: &str) -> String {
    format!("Bearer {password}")
}

impl Source for Remote {
    fn name(&self) -> String {
        format!("evenair {}", self.url)
    }

    fn poll(&mut self) -> Result<Reading, TelemetryError> {
        let answer = self.http.get(&format!("{}/stations", self.url), &self.headers)?;
        match answer.status {
            200 => read(&answer.json()?),
            401 | 403 => Err(TelemetryError::Refused("its password".into())),
            status => {
                let why = format!("status {status}: does evenair telemetry --listen run there?");
                Err(TelemetryError::nonsense(why))
            }
        }
    }
}

/// A valid mode as text.
fn has(mode: Option<ReportedMode>) -> Option<String> {
    Some(mode?.ok()?.to_string())
}

/// Why a mode is invalid.
fn refused(station: &StationReading) -> Option<String> {
    let modes = [station.transmit_mode, station.receive_mode];
    modes.into_iter().flatten().find_map(Result::err).map(|error| error.to_string())
}

/// A source's report or error as JSON. Modes are as in "HE MCS 7, 80 MHz, 2 streams, GI 0.8 us".
pub fn entry(source: &str, answer: &Result<Reading, TelemetryError>) -> Value {
    let reading = match answer {
        Ok(reading) => reading,
        Err(error) => return json!({ "source": source, "error": error.to_string() }),
    };
    let station = |station: &StationReading| {
        json!({
            "mac": station.mac.to_string(),
            "transmit_kbps": station.transmit_kbps,
            "receive_kbps": station.receive_kbps,
            "transmit_mode": has(station.transmit_mode),
            "receive_mode": has(station.receive_mode),
            "refused_mode": refused(station),
            "signal_dbm": station.signal_dbm,
            "idle_ms": station.idle.map(|idle| u64::try_from(idle.as_millis()).unwrap_or(u64::MAX)),
            "access_point": station.access_point.or(reading.radio).map(|mac| mac.to_string()),
            "channel_mhz": station.channel_mhz.or(reading.channel_mhz),
            "address": station.address.map(|ip| ip.to_string()),
            "alias": station.alias,
            "ssid": station.ssid,
        })
    };
    let stations: Vec<_> = reading.stations.iter().map(station).collect();
    let radio = |radio: &AccessPointReading| {
        json!({
            "mac": radio.mac.to_string(),
            "interface": radio.interface,
            "channel_mhz": radio.channel_mhz,
            "lost": radio.lost,
        })
    };
    let radios: Vec<_> = reading.access_points.iter().map(radio).collect();
    json!({
        "source": source,
        "from": reading.from,
        "stations": stations,
        "radios": radios,
        "warnings": reading.warnings,
    })
}

/// Parses a list of [`entry`]s: all stations and radios of the successful sources, and a warning for each failed one.
///
/// # Errors
/// It is no such list, or all of its sources failed.
pub fn read(answer: &Value) -> Result<Reading, TelemetryError> {
    let entries = answer.as_array().ok_or_else(|| TelemetryError::nonsense("no list of sources"))?;
    let mut reading = Reading::default();
    let mut error = None;
    let mut names = Vec::new();
    for (number, entry) in (0..).zip(entries) {
        let name = entry["source"].as_str().unwrap_or("source");
        let (stations, why) = (entry["stations"].as_array(), entry["error"].as_str());
        let (Some(stations), None) = (stations, why) else {
            let why = why.unwrap_or("no list of stations");
            reading.warn(format_args!("its {name}"), why);
            error = Some(TelemetryError::Nothing(format!("its {name}: {why}")));
            continue;
        };
        names.push(name);
        reading.add_stations(name, stations.iter().map(station));
        let radios = (0..).zip(entry["radios"].as_array().into_iter().flatten());
        reading.access_points.extend(radios.filter_map(|(at, value)| radio(number, at, value)));
        let warnings = entry["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
        warnings.for_each(|warning| reading.add_warning(format!("{name}: {warning}")));
    }
    match error {
        Some(error) if names.is_empty() => Err(error),
        _ => Ok(Reading { from: names.join(", "), ..reading }),
    }
}

/// A radio of the source with this index. Several sources may number their interfaces alike.
fn radio(source: u64, at: u64, value: &Value) -> Option<AccessPointReading> {
    let mac = mac(value["mac"].as_str()?)?;
    // Older versions list radios without a number.
    let interface = value["interface"].as_u64().unwrap_or(at) & u64::from(u32::MAX) | source << 32;
    Some(AccessPointReading { mac, interface, channel_mhz: mhz(value), lost: value["lost"].as_u64()? })
}

fn station(value: &Value) -> Option<StationReading> {
    let text = |key: &str| value[key].as_str();
    Some(StationReading {
        transmit_kbps: number(&value["transmit_kbps"]),
        receive_kbps: number(&value["receive_kbps"]),
        transmit_mode: text("transmit_mode").and_then(mode),
        receive_mode: text("receive_mode").and_then(mode),
        signal_dbm: number(&value["signal_dbm"]),
        idle: value["idle_ms"].as_u64().map(Duration::from_millis),
        access_point: text("access_point").and_then(mac),
        channel_mhz: mhz(value),
        address: text("address").and_then(|ip| ip.parse().ok()),
        alias: text("alias").map(str::to_owned),
        ssid: text("ssid").map(str::to_owned),
        ..StationReading::new(mac(text("mac")?)?)
    })
}

/// Parses a mode; `None` if malformed.
fn mode(text: &str) -> Option<ReportedMode> {
    match text.parse() {
        Ok(mode) => Some(Ok(mode)),
        Err(ModeTextError::Mode(error)) => Some(Err(error)),
        Err(_) => None,
    }
}

fn mhz(value: &Value) -> Option<u16> {
    number(&value["channel_mhz"]).and_then(frequency)
}

#[cfg(test)]
mod tests {
    use evenair_packet::MacAddr;

    use super::*;

    #[test]
    fn written_entries_are_read_back() {
        let station = StationReading {
            transmit_kbps: Some(54_000),
            receive_kbps: Some(-100),
            transmit_mode: mode("HE MCS 7, 80 MHz, 2 streams, GI 1.6 us"),
            receive_mode: mode("HT MCS 15, 40 MHz"),
            signal_dbm: Some(-61),
            address: "fd00::1".parse().ok(),
            access_point: Some(MacAddr([2, 0, 0, 0, 9, 1])),
            channel_mhz: Some(2_437),
            alias: Some("Anne's laptop".into()),
            ssid: Some("home".into()),
            idle: Some(Duration::from_millis(1_234)),
            ..StationReading::new(MacAddr([2, 0, 0, 0, 0, 1]))
        };
        let reported = Reading {
            from: "STA-FIRST".into(),
            stations: vec![station.clone(), StationReading::new(MacAddr([2, 0, 0, 0, 0, 2]))],
            access_points: vec![AccessPointReading {
                mac: MacAddr([2, 0, 0, 0, 9, 1]),
                interface: 4,
                channel_mhz: Some(2_437),
                lost: 7,
            }],
            radio: Some(MacAddr([2, 0, 0, 0, 9, 2])),
            channel_mhz: Some(5_180),
            warnings: vec!["STATUS left out: no answer".into()],
        };
        let silent = Err(TelemetryError::Silent(Duration::from_secs(1)));
        let list = json!([entry("hostapd wlan0", &Ok(reported.clone())), entry("hostapd wlan1", &silent)]);
        let reading = read(&list).expect("one has answered");
        assert_eq!(reading.from, "hostapd wlan0");
        let [first, second] = &reading.stations[..] else { panic!("{reading:?}") };
        assert_eq!(*first, station, "its own entry goes before the radio that was asked");
        assert_eq!(
            (second.access_point, second.idle, second.channel_mhz),
            (reported.radio, None, reported.channel_mhz)
        );
        assert_eq!(reading.access_points, reported.access_points);
        let [own, other] = &reading.warnings[..] else { panic!("{:?}", reading.warnings) };
        assert_eq!(own, "hostapd wlan0: STATUS left out: no answer");
        assert!(other.starts_with("its hostapd wlan1 left out: no answer within 1s"), "{other}");
    }

    #[test]
    fn impossible_modes_are_refused_with_a_reason() {
        let station = station(&json!({
            "mac": "02:00:00:00:00:01", "transmit_mode": "VHT MCS 9, 20 MHz", "receive_mode": "warp 9",
        }));
        let station = station.expect("a station");
        assert!(matches!(station.transmit_mode, Some(Err(_))) && station.receive_mode.is_none(), "{station:?}");
        let reading = Reading { stations: vec![station], ..Reading::default() };
        let written = entry("hostapd wlan0", &Ok(reading));
        let why = written["stations"][0]["refused_mode"].as_str().expect("a reason");
        assert!(why.starts_with("VHT has no MCS 9 in 20 MHz"), "{why}");
        assert!(written["stations"][0]["transmit_mode"].is_null());
    }

    #[test]
    fn one_malformed_source_or_station_leaves_the_others() {
        let list = json!([
            { "source": "a", "stations": [{ "mac": "none" }, 7, { "mac": "02:00:00:00:00:01", "channel_mhz": 0 }] },
            { "source": "b" },
            { "source": "c", "stations": [], "radios": [{ "mac": "02:00:00:00:00:09", "interface": 4, "lost": 3 }] },
        ]);
        let reading = read(&list).expect("two have answered");
        assert_eq!((reading.stations.len(), reading.stations[0].channel_mhz, reading.from.as_str()), (1, None, "a, c"));
        assert_eq!(reading.access_points[0].interface, 2 << 32 | 4, "another source may have an interface 4 too");
        assert_eq!(
            reading.warnings,
            ["2 of the entries of a left out: no valid MAC address", "its b left out: no list of stations"]
        );
    }

    #[test]
    fn lists_without_an_answer_are_errors() {
        let silent = Err(TelemetryError::Silent(Duration::from_secs(1)));
        let error = read(&json!([entry("hostapd wlan1", &silent)])).expect_err("nobody has answered").to_string();
        assert!(error.contains("hostapd wlan1") && error.contains("no answer"), "{error}");
        assert!(read(&json!({})).is_err() && read(&json!([{ "source": "x" }])).is_err());
        assert_eq!(read(&json!([])).expect("nobody was asked").stations, []);
    }
}
