//! OpenWrt's remote procedure calls over HTTP (rpcd with uhttpd-mod-ubus).
//!
//! JSON-RPC 2.0 at `/ubus`: a login returns a session, `list` names hostapd's objects, one for each of its interfaces, and
//! `get_clients` of each lists its stations with `signal` in dBm, and `rate.tx`, `rate.rx` in kb/s from the access point's
//! view; `freq` is the channel's frequency in MHz; `get_status` has the BSSID. The account needs read access to `hostapd.*`
//! `get_clients` (a file in /usr/share/rpcd/acl.d). Modes are in `assoclist` of `iwinfo` (rpcd-mod-iwinfo), where the account may
//! call it: `rx` and `tx` with `mcs`, `nss`, `mhz`, `short_gi`, `he_gi` and `he_dcm`.

use std::time::Duration;

use evenair_packet::MacAddr;
use evenair_wifi::{Format, Width};
use serde_json::{Value, json};

use crate::http::{Http, Tls};
use crate::mode::{Parts, ReportedMode, guard, he_guard};
use crate::source::{
    Credentials, MOST_STATIONS, Reading, Source, StationReading, TelemetryError, frequency, mac, number,
};

/// The session id of unauthenticated calls.
const NOBODY: &str = "00000000000000000000000000000000";
/// Maximum number of interfaces polled per access point.
const MOST_INTERFACES: usize = 64;
/// JSON-RPC's error for an expired session or missing rights (rpcd, `uh_ubus.c`).
const ACCESS_DENIED: i64 = -32002;
/// ubus status for the same (libubus, `ubus_msg_status`).
const PERMISSION_DENIED: i64 = 6;

/// An access point.
#[derive(Debug)]
pub struct Ubus {
    url: String,
    user: String,
    password: String,
    http: Http,
    session: Option<String>,
}

/// A station's modes.
struct Modes {
    mac: MacAddr,
    transmit: Option<ReportedMode>,
    receive: Option<ReportedMode>,
}

/// A response without its envelope.
enum Outcome {
    Data(Value),
    Denied,
    /// The object or method does not exist, or the call failed. Others may still succeed.
    Failed(String),
}

/// Text of a ubus status (libubus, `ubus_msg_status`).
fn status_text(status: i64) -> &'static str {
    match status {
        3 => " (there is no such method)",
        4 => " (the object is gone, as while its radio is reloaded)",
        7 => " (it took too long)",
        _ => "",
    }
}

impl Ubus {
    /// The one at this URL (scheme, host and port; `/ubus` is added) with an account of rpcd.
    ///
    /// # Errors
    /// The certificate to trust is invalid.
    pub fn new(url: &str, credentials: Credentials<'_>, tls: &Tls, timeout: Duration) -> Result<Self, TelemetryError> {
        let url = format!("{}/ubus", url.trim_end_matches('/').trim_end_matches("/ubus"));
        let http = Http::new(tls, timeout)?;
        let Credentials { user, password } = credentials;
        Ok(Self { url, user: user.into(), password: password.into(), http, session: None })
    }

    fn request(&self, method: &str, params: &Value) -> Result<Outcome, TelemetryError> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self.http.post(&self.url, &body)?;
        if answer.status == 404 {
            return Err(TelemetryError::nonsense("there is no /ubus: is uhttpd-mod-ubus installed?"));
        }
        let answer = answer.json()?;
        if let Some(error) = answer["error"]["code"].as_i64() {
            return match error {
                ACCESS_DENIED => Ok(Outcome::Denied),
                code => Ok(Outcome::Failed(format!("error {code} of JSON-RPC"))),
            };
        }
        if method == "list" {
            return Ok(Outcome::Data(answer["result"].clone()));
        }
        match answer["result"][0].as_i64() {
            Some(0) => Ok(Outcome::Data(answer["result"][1].clone())),
            Some(PERMISSION_DENIED) => Ok(Outcome::Denied),
            Some(status) => Ok(Outcome::Failed(format!("status {status} of ubus{}", status_text(status)))),
            None => Ok(Outcome::Failed("a result without a status".into())),
        }
    }

    fn log_in(&self) -> Result<String, TelemetryError> {
        let account = json!({ "username": self.user, "password": self.password });
        match self.request("call", &json!([NOBODY, "session", "login", account]))? {
            Outcome::Denied => Err(TelemetryError::Refused("user or password".into())),
            Outcome::Failed(why) => Err(TelemetryError::nonsense(format!("{why} to a login"))),
            Outcome::Data(data) => data["ubus_rpc_session"]
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| TelemetryError::nonsense("a login without a session")),
        }
    }

    /// The stations of one interface with all that is known of them. `None`: the session has expired, or the account lacks
    /// rights.
    fn interface(&self, session: &str, name: &str, reading: &mut Reading) -> Result<Option<()>, TelemetryError> {
        let clients = match self.request("call", &json!([session, name, "get_clients", {}]))? {
            Outcome::Data(clients) => clients,
            Outcome::Denied => return Ok(None),
            Outcome::Failed(why) => return Err(TelemetryError::Nonsense(why)),
        };
        let (access_point, modes) = self.details(session, name, reading);
        let channel_mhz = number(&clients["freq"]).and_then(frequency);
        let complete = |station: StationReading| {
            let own = modes.iter().find(|modes| modes.mac == station.mac);
            let [transmit_mode, receive_mode] = own.map_or([None; 2], |own| [own.transmit, own.receive]);
            StationReading { channel_mhz, access_point, transmit_mode, receive_mode, ..station }
        };
        if !clients["clients"].is_object() {
            reading.warn(format_args!("stations of {name}"), "get_clients has no list of clients");
        }
        reading.add_stations(name, stations(&clients).map(|station| station.map(complete)));
        Ok(Some(()))
    }

    /// The BSSID of an interface, if hostapd supports `get_status` (since OpenWrt 21.02), and the modes of its stations, if
    /// rpcd-mod-iwinfo is installed and the account has the rights.
    fn details(&self, session: &str, name: &str, reading: &mut Reading) -> (Option<MacAddr>, Vec<Modes>) {
        let device = json!({ "device": name.trim_start_matches("hostapd.") });
        let calls = [(name, "get_status", json!({})), ("iwinfo", "assoclist", device)];
        let [status, list] = calls.map(|(object, method, arguments)| {
            match self.request("call", &json!([session, object, method, arguments])) {
                Ok(Outcome::Data(data)) => data,
                Ok(Outcome::Denied | Outcome::Failed(_)) => Value::Null,
                Err(error) => {
                    reading.warn(format_args!("{method} of {name}"), error.detail());
                    Value::Null
                }
            }
        });
        (status["bssid"].as_str().and_then(mac), modes(&list).take(MOST_STATIONS).collect())
    }

    /// `None`: the session has expired, or the account lacks rights for all interfaces.
    fn read(&self, session: &str) -> Result<Option<Reading>, TelemetryError> {
        let objects = match self.request("list", &json!([session, "hostapd.*"]))? {
            Outcome::Data(objects) => objects,
            Outcome::Denied => return Ok(None),
            Outcome::Failed(why) => return Err(TelemetryError::nonsense(format!("list: {why}"))),
        };
        let names = objects.as_object().into_iter().flat_map(|objects| objects.keys());
        let names: Vec<_> = names.filter(|name| name.starts_with("hostapd.")).take(MOST_INTERFACES).collect();
        let mut reading = Reading::default();
        let (mut read, mut denied, mut failure) = (Vec::new(), 0, None);
        for name in &names {
            match self.interface(session, name, &mut reading) {
                Ok(Some(())) => read.push(name.as_str()),
                Ok(None) => {
                    denied += 1;
                    reading.warn(name, "the account may not call its get_clients");
                }
                Err(error) => {
                    reading.warn(name, error.detail());
                    let TelemetryError::Nonsense(why) = error else {
                        // Each further request would wait as long.
                        failure = Some(error);
                        break;
                    };
                    failure = Some(TelemetryError::Nonsense(format!("{name}: {why}")));
                }
            }
        }
        reading.from = if read.is_empty() { "no interface of hostapd".into() } else { read.join(", ") };
        match failure {
            Some(error) if read.is_empty() => Err(error),
            _ if denied > 0 && read.is_empty() => Ok(None),
            _ => Ok(Some(reading)),
        }
    }
}

impl Source for Ubus {
    fn name(&self) -> String {
        format!("ubus {}", self.url)
    }

    fn poll(&mut self) -> Result<Reading, TelemetryError> {
        for _ in 0..2 {
            let session = match self.session.take() {
                Some(session) => session,
                None => self.log_in()?,
            };
            if let Some(reading) = self.read(&session)? {
                self.session = Some(session);
                return Ok(reading);
            }
        }
        let why = "the account may not call get_clients of hostapd.*: it needs a file in /usr/share/rpcd/acl.d";
        Err(TelemetryError::Refused(why.into()))
    }
}

/// Parses the response to `get_clients`; `None` for a malformed entry.
pub fn stations(clients: &Value) -> impl Iterator<Item = Option<StationReading>> + '_ {
    clients["clients"].as_object().into_iter().flatten().map(|(address, client)| {
        Some(StationReading {
            transmit_kbps: number(&client["rate"]["tx"]),
            receive_kbps: number(&client["rate"]["rx"]),
            signal_dbm: number(&client["signal"]),
            ..StationReading::new(mac(address)?)
        })
    })
}

/// Parses the response to `assoclist`.
fn modes(list: &Value) -> impl Iterator<Item = Modes> + '_ {
    list["results"].as_array().into_iter().flatten().filter_map(|entry| {
        let mac = mac(entry["mac"].as_str()?)?;
        Some(Modes { mac, transmit: mode(&entry["tx"]), receive: mode(&entry["rx"]) })
    })
}

/// Parses a rate of `assoclist` (rpcd, `rpc_iwinfo_add_rateinfo`), if it is a mode.
fn mode(rate: &Value) -> Option<ReportedMode> {
    let is = |key: &str| rate[key].as_bool() == Some(true);
    let small = |key: &str| number(&rate[key]).and_then(|number| u8::try_from(number).ok());
    let format = match () {
        () if is("ht") => Format::Ht,
        () if is("vht") => Format::Vht,
        () if is("he") => Format::He,
        () => return None,
    };
    // With dual carrier modulation, half of the subcarriers repeat the bits of the others: no mode supports that.
    if number(&rate["he_dcm"]).is_some_and(|dcm| dcm != 0) {
        return None;
    }
    let guard = match format {
        Format::Ht | Format::Vht => guard(is("short_gi")),
        Format::He => he_guard(number(&rate["he_gi"])?)?,
    };
    let width = number(&rate["mhz"]).and_then(|mhz| u32::try_from(mhz).ok());
    let width = match width {
        Some(mhz) => Some(Width::of_mhz(mhz)?),
        None => None,
    };
    Parts { streams: small("nss"), width, guard: Some(guard), ..Parts::new(format, small("mcs")?) }
        .mode(number(&rate["rate"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_iwinfo_has_modes() {
        let rate = |text: &str| -> Option<String> {
            let rate = serde_json::from_str(text).expect("JSON");
            mode(&rate).and_then(Result::ok).map(|mode| mode.to_string())
        };
        // Responses of rpcd in OpenWrt 23.05.
        for (text, expected) in [
            (
                r#"{"ht":false,"vht":false,"he":true,"eht":false,"mhz":80,"rate":1200900,"mcs":11,"nss":2,"he_gi":0,"he_dcm":0}"#,
                Some("HE MCS 11, 80 MHz, 2 streams, GI 0.8 us"),
            ),
            (
                r#"{"ht":false,"vht":true,"he":false,"eht":false,"mhz":80,"rate":780000,"mcs":8,"nss":2,"short_gi":true}"#,
                Some("VHT MCS 8, 80 MHz, 2 streams, GI 0.4 us"),
            ),
            (
                r#"{"ht":true,"vht":false,"he":false,"eht":false,"mhz":40,"rate":270000,"mcs":15,"40mhz":true,"short_gi":false}"#,
                Some("HT MCS 15, 40 MHz, 2 streams, GI 0.8 us"),
            ),
            (r#"{"ht":false,"vht":false,"he":false,"eht":false,"mhz":20,"rate":54000}"#, None),
            (r#"{"eht":true,"mhz":160,"rate":2882400,"mcs":13,"nss":2,"eht_gi":0}"#, None),
            (r#"{"he":true,"mhz":20,"rate":4300,"mcs":0,"nss":1,"he_gi":0,"he_dcm":1}"#, None),
            (r#"{"vht":true,"mhz":30,"rate":1,"mcs":8,"nss":2}"#, None),
            (r#"{"vht":true,"mhz":20,"rate":173300,"mcs":9,"nss":2,"short_gi":true}"#, None),
            ("7", None),
        ] {
            assert_eq!(rate(text).as_deref(), expected, "{text}");
        }
    }
}
