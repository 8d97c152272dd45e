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
use crate::source::{AccessPointReading, MOST_STATIONS, Reading, Source, StationReading, TelemetryError, mac};
use crate::unifi::number;

/// One that listens elsewhere.
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
    /// The certificate to be trusted is none.
    pub fn new(url: &str, password: Option<&str>, tls: &Tls, timeout: Duration) -> Result<Self, TelemetryError> {
        let headers = password.map(|password| ("Authorization".into(), authorization(password)));
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { url, headers: headers.into_iter().collect(), http: Http::new(tls, timeout)? })
    }
}

/// The value of the header `Authorization` that proves this password.
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

/// A mode that the standard has.
fn has(mode: Option<ReportedMode>) -> Option<String> {
    Some(mode?.ok()?.to_string())
}

/// Why a mode is not reported.
fn refused(station: &StationReading) -> Option<String> {
    let modes = [station.transmit_mode, station.receive_mode];
    modes.into_iter().flatten().find_map(Result::err).map(|error| error.to_string())
}

/// What a source has said, as JSON. Modes are as in "HE MCS 7, 80 MHz, 2 streams, GI 0.8 us".
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
            "ssid": station.ssid,
        })
    };
    let stations: Vec<_> = reading.stations.iter().map(station).collect();
    let radio = |radio: &AccessPointReading| json!({ "mac": radio.mac.to_string(), "channel_mhz": radio.channel_mhz, "lost": radio.lost });
    let radios: Vec<_> = reading.access_points.iter().map(radio).collect();
    json!({ "source": source, "from": reading.from, "stations": stations, "radios": radios })
}

/// Reads a list of [`entry`]s: all stations and radios of those sources that answered.
///
/// # Errors
/// It is no such list, or none of its sources has answered.
pub fn read(answer: &Value) -> Result<Reading, TelemetryError> {
    let entries = answer.as_array().ok_or_else(|| TelemetryError::nonsense("no list of sources"))?;
    let mut reading = Reading::default();
    let mut error = None;
    let mut names = Vec::new();
    for entry in entries {
        if let Some(why) = entry["error"].as_str() {
            error =
                Some(TelemetryError::Nothing(format!("its {}: {why}", entry["source"].as_str().unwrap_or("source"))));
            continue;
        }
        let stations = entry["stations"].as_array();
        let stations = stations.ok_or_else(|| TelemetryError::nonsense("a source without stations"))?;
        names.push(entry["source"].as_str().unwrap_or("a source"));
        let room = MOST_STATIONS.saturating_sub(reading.stations.len());
        reading.stations.extend(stations.iter().filter_map(station).take(room));
        let radio = |radio: &Value| {
            let mac = mac(radio["mac"].as_str()?)?;
            Some(AccessPointReading { mac, channel_mhz: mhz(radio), lost: radio["lost"].as_u64()? })
        };
        reading.access_points.extend(entry["radios"].as_array().into_iter().flatten().filter_map(radio));
    }
    match error {
        Some(error) if names.is_empty() => Err(error),
        _ => Ok(Reading { from: names.join(", "), ..reading }),
    }
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
        ssid: text("ssid").map(str::to_owned),
        ..StationReading::new(mac(text("mac")?)?)
    })
}

/// One that is not written as a mode is none.
fn mode(text: &str) -> Option<ReportedMode> {
    match text.parse() {
        Ok(mode) => Some(Ok(mode)),
        Err(ModeTextError::Mode(error)) => Some(Err(error)),
        Err(_) => None,
    }
}

fn mhz(value: &Value) -> Option<u16> {
    value["channel_mhz"].as_u64().and_then(|mhz| u16::try_from(mhz).ok())
}

#[cfg(test)]
mod tests {
    use evenair_packet::MacAddr;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let station = StationReading {
            transmit_kbps: Some(54_000),
            receive_kbps: Some(-100),
            transmit_mode: mode("HE MCS 7, 80 MHz, 2 streams, GI 1.6 us"),
            receive_mode: mode("HT MCS 15, 40 MHz"),
            signal_dbm: Some(-61),
            address: "fd00::1".parse().ok(),
            access_point: Some(MacAddr([2, 0, 0, 0, 9, 1])),
            channel_mhz: Some(2_437),
            ssid: Some("home".into()),
            idle: Some(Duration::from_millis(1_234)),
            ..StationReading::new(MacAddr([2, 0, 0, 0, 0, 1]))
        };
        let reported = Reading {
            from: "STA-FIRST".into(),
            stations: vec![station.clone(), StationReading::new(MacAddr([2, 0, 0, 0, 0, 2]))],
            access_points: vec![AccessPointReading {
                mac: MacAddr([2, 0, 0, 0, 9, 1]),
                channel_mhz: Some(2_437),
                lost: 7,
            }],
            radio: Some(MacAddr([2, 0, 0, 0, 9, 2])),
            channel_mhz: Some(5_180),
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
    }

    #[test]
    fn modes_that_cannot_be_are_refused_with_a_reason() {
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
    fn lists_without_an_answer_are_errors() {
        let silent = Err(TelemetryError::Silent(Duration::from_secs(1)));
        let error = read(&json!([entry("hostapd wlan1", &silent)])).expect_err("nobody has answered").to_string();
        assert!(error.contains("hostapd wlan1") && error.contains("no answer"), "{error}");
        assert!(read(&json!({})).is_err() && read(&json!([{ "source": "x" }])).is_err());
        assert_eq!(read(&json!([])).expect("nobody was asked").stations, []);
    }
}
