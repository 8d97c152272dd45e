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
use crate::source::{Credentials, MOST_STATIONS, Reading, Source, StationReading, TelemetryError, mac};
use crate::unifi::number;

/// The session of those who have none.
const NOBODY: &str = "00000000000000000000000000000000";
/// Interfaces of one access point that are asked.
const MOST_INTERFACES: usize = 64;
/// JSON-RPC's error for a session that is over or may not (rpcd, `uh_ubus.c`).
const ACCESS_DENIED: i64 = -32002;
/// ubus' status for the same (libubus, `ubus_msg_status`).
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

/// An answer without its envelope.
enum Outcome {
    Data(Value),
    Denied,
}

impl Ubus {
    /// The one at this URL (scheme, host and port; `/ubus` is added) with an account of rpcd.
    ///
    /// # Errors
    /// The certificate to be trusted is none.
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
                code => Err(TelemetryError::nonsense(format!("error {code} of JSON-RPC"))),
            };
        }
        if method == "list" {
            return Ok(Outcome::Data(answer["result"].clone()));
        }
        match answer["result"][0].as_i64() {
            Some(0) => Ok(Outcome::Data(answer["result"][1].clone())),
            Some(PERMISSION_DENIED) => Ok(Outcome::Denied),
            Some(status) => Err(TelemetryError::nonsense(format!("status {status} of ubus"))),
            None => Err(TelemetryError::nonsense("a result without a status")),
        }
    }

    fn log_in(&self) -> Result<String, TelemetryError> {
        let account = json!({ "username": self.user, "password": self.password });
        match self.request("call", &json!([NOBODY, "session", "login", account]))? {
            Outcome::Denied => Err(TelemetryError::Refused("user or password".into())),
            Outcome::Data(data) => data["ubus_rpc_session"]
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| TelemetryError::nonsense("a login without a session")),
        }
    }

    /// The BSSID of an interface, where hostapd has `get_status` (since OpenWrt 21.02) and the account may call it.
    fn bssid(&self, session: &str, name: &str) -> Result<Option<MacAddr>, TelemetryError> {
        match self.request("call", &json!([session, name, "get_status", {}])) {
            Ok(Outcome::Data(status)) => Ok(status["bssid"].as_str().and_then(mac)),
            // An older one has no such method.
            Ok(Outcome::Denied) | Err(TelemetryError::Nonsense(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The modes of an interface's stations, where there is rpcd-mod-iwinfo and the account may call it.
    fn modes(&self, session: &str, name: &str) -> Result<Vec<Modes>, TelemetryError> {
        let device = json!({ "device": name.trim_start_matches("hostapd.") });
        match self.request("call", &json!([session, "iwinfo", "assoclist", device])) {
            Ok(Outcome::Data(list)) => Ok(modes(&list).take(MOST_STATIONS).collect()),
            Ok(Outcome::Denied) | Err(TelemetryError::Nonsense(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// `None`: the session is over, or the account may not.
    fn read(&self, session: &str) -> Result<Option<Reading>, TelemetryError> {
        let Outcome::Data(objects) = self.request("list", &json!([session, "hostapd.*"]))? else { return Ok(None) };
        let names = objects.as_object().into_iter().flat_map(|objects| objects.keys());
        let names: Vec<_> = names.filter(|name| name.starts_with("hostapd.")).take(MOST_INTERFACES).collect();
        let mut reading = Reading { from: "no interface of hostapd".into(), ..Reading::default() };
        for (i, name) in names.into_iter().enumerate() {
            let call = self.request("call", &json!([session, name, "get_clients", {}]))?;
            let Outcome::Data(clients) = call else { return Ok(None) };
            reading.from = if i == 0 { name.clone() } else { format!("{}, {name}", reading.from) };
            let room = MOST_STATIONS.saturating_sub(reading.stations.len());
            let channel_mhz = number(&clients["freq"]).and_then(|mhz| u16::try_from(mhz).ok());
            let access_point = self.bssid(session, name)?;
            let modes = self.modes(session, name)?;
            let on_it = stations(&clients).map(|station| {
                let own = modes.iter().find(|modes| modes.mac == station.mac);
                let [transmit_mode, receive_mode] = own.map_or([None; 2], |own| [own.transmit, own.receive]);
                StationReading { channel_mhz, access_point, transmit_mode, receive_mode, ..station }
            });
            reading.stations.extend(on_it.take(room));
        }
        Ok(Some(reading))
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

/// Reads what `get_clients` answers.
pub fn stations(clients: &Value) -> impl Iterator<Item = StationReading> + '_ {
    clients["clients"].as_object().into_iter().flatten().filter_map(|(address, client)| {
        Some(StationReading {
            transmit_kbps: number(&client["rate"]["tx"]),
            receive_kbps: number(&client["rate"]["rx"]),
            signal_dbm: number(&client["signal"]),
            ..StationReading::new(mac(address)?)
        })
    })
}

/// Reads what `assoclist` answers.
fn modes(list: &Value) -> impl Iterator<Item = Modes> + '_ {
    list["results"].as_array().into_iter().flatten().filter_map(|entry| {
        let mac = mac(entry["mac"].as_str()?)?;
        Some(Modes { mac, transmit: mode(&entry["tx"]), receive: mode(&entry["rx"]) })
    })
}

/// A rate of `assoclist` (rpcd, `rpc_iwinfo_add_rateinfo`), as far as it is a mode.
fn mode(rate: &Value) -> Option<ReportedMode> {
    let is = |key: &str| rate[key].as_bool() == Some(true);
    let small = |key: &str| number(&rate[key]).and_then(|number| u8::try_from(number).ok());
    let format = match () {
        () if is("ht") => Format::Ht,
        () if is("vht") => Format::Vht,
        () if is("he") => Format::He,
        () => return None,
    };
    // Half the bits of each subcarrier are those of the other half again: no mode has that.
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
        // As rpcd of OpenWrt 23.05 answers.
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
