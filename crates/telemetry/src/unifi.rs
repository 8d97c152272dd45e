//! The local API of a UniFi controller.
//!
//! The vendor does not document it; this driver uses the requests of the controller's own pages: a login that returns a
//! cookie, then `stat/sta` of a site, which lists stations with `tx_rate` and `rx_rate` in kb/s from the access point's
//! view, and `signal` in dBm. Consoles with UniFi OS have another login and other paths; the reply to the login
//! distinguishes them.
//!
//! Not here: accounts with two-factor authentication, which a program cannot use. Use a local read-only account.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Answer, Http, Tls};
use crate::source::{Credentials, Reading, Source, StationReading, TelemetryError, channel_mhz, mac, number};

/// A controller.
#[derive(Debug)]
pub struct Unifi {
    url: String,
    site: String,
    user: String,
    password: String,
    http: Http,
    session: Option<Session>,
}

#[derive(Clone, Debug)]
struct Session {
    cookie: String,
    /// Prefix of the paths of the network application.
    prefix: &'static str,
}

impl Unifi {
    /// The one at this URL (scheme, host and port), with a site and a local account.
    ///
    /// # Errors
    /// The certificate to trust is invalid.
    pub fn new(
        url: &str,
        site: &str,
        credentials: Credentials<'_>,
        tls: &Tls,
        timeout: Duration,
    ) -> Result<Self, TelemetryError> {
        Ok(Self {
            url: url.trim_end_matches('/').into(),
            site: site.into(),
            user: credentials.user.into(),
            password: credentials.password.into(),
            http: Http::new(tls, timeout)?,
            session: None,
        })
    }

    fn log_in(&self) -> Result<Session, TelemetryError> {
        let account = json!({ "username": self.user, "password": self.password });
        for (path, prefix) in [("/api/auth/login", "/proxy/network"), ("/api/login", "")] {
            let answer = self.http.post(&format!("{}{path}", self.url), &account)?;
            match answer.status {
                200 if !answer.cookies.is_empty() => {
                    return Ok(Session { cookie: answer.cookies.join("; "), prefix });
                }
                200 => return Err(TelemetryError::nonsense("a login without a cookie")),
                404 | 405 | 301 | 302 => {}
                _ if needs_second_factor(&answer) => {
                    let why = "the account has two-factor authentication, which a program cannot use: \
                               make a local read-only account without it";
                    return Err(TelemetryError::Refused(why.into()));
                }
                400 | 401 | 403 => {
                    return Err(TelemetryError::Refused(format!("user or password (status {})", answer.status)));
                }
                429 => return Err(TelemetryError::Refused("too many logins; it will take them again later".into())),
                status => return Err(TelemetryError::nonsense(format!("status {status} to a login"))),
            }
        }
        Err(TelemetryError::nonsense("no login there: is this a UniFi controller?"))
    }

    /// `None`: the session has expired.
    fn stations(&self, session: &Session) -> Result<Option<Value>, TelemetryError> {
        let url = format!("{}{}/api/s/{}/stat/sta", self.url, session.prefix, self.site);
        let answer = self.http.get(&url, &[("Cookie".into(), session.cookie.clone())])?;
        match answer.status {
            401 | 403 => Ok(None),
            200 => answer.json().map(Some),
            status => {
                let why = answer.json().ok().and_then(|body| Some(body["meta"]["msg"].as_str()?.to_owned()));
                Err(TelemetryError::Refused(format!("{}: status {status} {}", self.site, why.unwrap_or_default())))
            }
        }
    }
}

impl Source for Unifi {
    fn name(&self) -> String {
        format!("unifi {}", self.url)
    }

    fn poll(&mut self) -> Result<Reading, TelemetryError> {
        for _ in 0..2 {
            let session = match self.session.take() {
                Some(session) => session,
                None => self.log_in()?,
            };
            if let Some(answer) = self.stations(&session)? {
                self.session = Some(session);
                return Ok(Reading { from: format!("site {}", self.site), ..read(&answer)? });
            }
        }
        Err(TelemetryError::Refused("the account may not see the stations of this site".into()))
    }
}

/// Parses a response to `stat/sta`, without its wired clients.
///
/// # Errors
/// It has no list `data`.
pub fn read(answer: &Value) -> Result<Reading, TelemetryError> {
    let data = answer["data"].as_array().ok_or_else(|| TelemetryError::nonsense("stat/sta without data"))?;
    let wireless = data.iter().filter(|entry| entry["is_wired"].as_bool() != Some(true));
    let reading = |entry: &Value| {
        let text = |key: &str| entry[key].as_str();
        Some(StationReading {
            transmit_kbps: number(&entry["tx_rate"]),
            receive_kbps: number(&entry["rx_rate"]),
            signal_dbm: number(&entry["signal"]),
            address: text("ip").and_then(|ip| ip.parse().ok()),
            access_point: text("ap_mac").and_then(mac),
            channel_mhz: number(&entry["channel"])
                .and_then(|channel| channel_mhz(channel, text("radio") == Some("6e"))),
            alias: text("name").map(str::to_owned),
            ssid: text("essid").map(str::to_owned),
            ..StationReading::new(mac(text("mac")?)?)
        })
    };
    let mut read = Reading::default();
    read.add_stations("stat/sta", wireless.map(reading));
    Ok(read)
}

/// Whether a login is refused because of two-factor authentication. UniFi OS responds with status 499 and
/// `MFA_AUTH_REQUIRED`, older controllers with `api.err.Ubic2faTokenRequired`.
fn needs_second_factor(answer: &Answer) -> bool {
    let body = answer.json().unwrap_or_default();
    answer.status == 499 || body["code"] == "MFA_AUTH_REQUIRED" || body["meta"]["msg"] == "api.err.Ubic2faTokenRequired"
}
