//! OpenWrt's remote procedure calls over HTTP (rpcd with uhttpd-mod-ubus).
//!
//! JSON-RPC 2.0 at `/ubus`: a login returns a session, `list` names hostapd's objects, one for each of its interfaces, and
//! `get_clients` of each lists its stations with `signal` in dBm, and `rate.tx`, `rate.rx` in kb/s from the access point's
//! view; `freq` is the channel's frequency in MHz; `get_status` has the BSSID. The account needs read access to `hostapd.*`
//! `get_clients` (a file in /usr/share/rpcd/acl.d).

use std::time::Duration;

use evenair_packet::MacAddr;
use serde_json::{Value, json};

use crate::http::{Http, Tls};
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
            let on_it = stations(&clients).map(|station| StationReading { channel_mhz, access_point, ..station });
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
