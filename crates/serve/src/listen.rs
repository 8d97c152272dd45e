//! Serves the reports of sources on this machine to a box elsewhere: `evenair telemetry --listen`, for access points that
//! are Linux machines. hostapd and the kernel report their stations only to programs on the same machine.
//!
//! `GET /stations` polls the sources and returns their reports (`evenair_telemetry::remote`). Requests are processed one
//! after the other, without a body ([`crate::http`]), and are read-only. The password is checked first. Addresses other
//! than loopback require a password, since the list of stations is confidential. Not here: TLS; use a TLS proxy between box
//! and access point if you need it.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use evenair_boxfile::SourceConfig;
use evenair_telemetry::remote::{authorization, entry};
use evenair_telemetry::{Source, poll_once};
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use serde_json::Value;

use crate::http::{Reply, Server, Site};

/// Time of a reply beyond that of its sources.
const REPLY_TIME: Duration = Duration::from_secs(5);

/// A server of sources for others.
pub struct Listener(Server);

/// The content of `/stations`.
struct Stations {
    /// Sources with their names.
    sources: Mutex<Vec<(String, Box<dyn Source>)>>,
    password: Option<String>,
}

impl Listener {
    /// Listens at an address for clients with the password.
    ///
    /// # Errors
    /// The address is in use or not this machine's, it is open to others without a password, or a source cannot be
    /// polled.
    pub fn new(address: SocketAddr, password: Option<String>, sources: &[SourceConfig]) -> Result<Self> {
        if password.is_none() && !address.ip().is_loopback() {
            bail!("{address} can be reached by others: a password is needed for it, or an address such as 127.0.0.1");
        }
        let open = |source: &SourceConfig| Ok((source.name(), source.open()?));
        let opened = sources.iter().map(open).collect::<Result<_>>()?;
        // They are polled one after the other, and each may make several queries, of at most twice its time-out.
        let reply_time = REPLY_TIME + 4 * sources.iter().map(SourceConfig::timeout).sum::<Duration>();
        let site = Stations { sources: Mutex::new(opened), password };
        let server = Server::start(address, "telemetry", reply_time, site);
        Ok(Self(server.with_context(|| format!("cannot listen at {address}"))?))
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Replies until the process ends.
    pub fn serve(self) {
        self.0.wait();
    }
}

impl Site for Stations {
    fn admit(&self, request: &Parts) -> Result<(), Reply> {
        if !self.is_allowed(request) {
            return Err(json(StatusCode::UNAUTHORIZED, &"a password is needed".into()));
        }
        match (&request.method, request.uri.path()) {
            (&Method::GET, "/stations") => Ok(()),
            (&Method::GET, _) => Err(json(StatusCode::NOT_FOUND, &"there is /stations alone".into())),
            _ => Err(json(StatusCode::METHOD_NOT_ALLOWED, &"only GET".into())),
        }
    }

    fn reply(&self, _: &Parts) -> Reply {
        let ask = |(name, source): &mut (String, Box<dyn Source>)| entry(name, &poll_once(&mut **source));
        // A source that panicked is polled again like any other.
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        json(StatusCode::OK, &sources.iter_mut().map(ask).collect())
    }
}

fn json(status: StatusCode, body: &Value) -> Reply {
    Reply { status, content_type: "application/json", body: body.to_string() }
}

impl Stations {
    fn is_allowed(&self, request: &Parts) -> bool {
        let Some(password) = &self.password else { return true };
        let right = authorization(password);
        // Compared in constant time.
        request.headers.get(AUTHORIZATION).is_some_and(|given| {
            let given = given.as_bytes();
            // Headers lose blanks at their end.
            let right = right.trim_end().as_bytes();
            let differ = given.iter().zip(right).fold(0, |differ, (a, b)| differ | (a ^ b));
            given.len() == right.len() && differ == 0
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;
    use std::thread;

    use evenair_boxfile::BoxConfig;

    use super::*;
    use crate::http::tests_support::{get, survives};

    const HEAD: &str = "[ports]\nwlan = \"a\"\nwire = \"b\"\n[radio]\nstandard = \"802.11g\"\n[[telemetry]]\n";
    const LOOPBACK: &str = "127.0.0.1:0";

    fn source(text: &str) -> SourceConfig {
        let config = BoxConfig::parse(&format!("{HEAD}{text}"), "box.toml").unwrap_or_else(|error| panic!("{error}"));
        config.telemetry.into_iter().next().expect("one")
    }

    #[test]
    fn a_box_gets_the_stations_of_hostapd_here() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("wlan0");
        let hostapd = UnixDatagram::bind(&path).expect("a socket");
        thread::spawn(move || {
            let mut question = [0; 256];
            while let Ok((len, from)) = hostapd.recv_from(&mut question) {
                let answer: &[u8] = match &question[..len] {
                    b"STA-FIRST" => b"02:00:00:00:00:0a\nsignal=-61\ninactive_msec=40\ntx_rate_info=540\n",
                    b"GET_CONFIG" => b"bssid=02:00:00:00:09:01\nssid=home\n",
                    _ => b"",
                };
                let _ = hostapd.send_to_addr(answer, &from);
            }
        });
        let there = source(&format!("kind = \"hostapd\"\nsocket = {path:?}\n"));
        let listener =
            Listener::new(LOOPBACK.parse().expect("one"), Some("hush hush".into()), &[there]).expect("listens");
        let url = format!("http://{}", listener.address());
        thread::spawn(|| listener.serve());

        let secrets = folder.path().join("secrets");
        let ask = |password: &str| {
            std::fs::write(&secrets, format!("password = {password:?}\n")).expect("written");
            source(&format!("kind = \"evenair\"\nurl = {url:?}\nsecrets = {secrets:?}\n")).ask()
        };
        let reading = ask("hush hush").expect("answers");
        let [station] = &reading.stations[..] else { panic!("{reading:?}") };
        assert_eq!((station.transmit_kbps, station.signal_dbm), (Some(54_000), Some(-61)));
        assert_eq!(station.access_point.map(|mac| mac.to_string()).as_deref(), Some("02:00:00:00:09:01"));
        assert_eq!((station.ssid.as_deref(), station.idle.map(|idle| idle.as_millis())), (Some("home"), Some(40)));
        for wrong in ["hush husH", "hush hush!", "h"] {
            let error = ask(wrong).expect_err("wrong").to_string();
            assert!(error.contains("refuses: its password"), "{error}");
        }
        let without = source(&format!("kind = \"evenair\"\nurl = {url:?}\n")).ask();
        assert!(without.expect_err("no password").to_string().contains("refuses"));
        let elsewhere = source(&format!("kind = \"evenair\"\nurl = \"{url}/x\"\nsecrets = {secrets:?}\n")).ask();
        assert!(elsewhere.is_err());
    }

    #[test]
    fn strangers_are_refused_before_their_body_is_read_and_block_no_one() {
        let listener = Listener::new(LOOPBACK.parse().expect("one"), Some("hush".into()), &[]).expect("listens");
        let address = listener.address();
        let answers = || assert!(get(address, &request("GET", "hush")).ends_with("\r\n\r\n[]"));
        survives(address, "/stations", "", answers);
        survives(address, "/stations", "Authorization: Bearer hush\r\n", answers);
        // A body that was announced and never comes is not awaited.
        let promised = format!("{}\r\nContent-Length: 5", request("POST", "wrong"));
        assert!(get(address, &promised).starts_with("HTTP/1.1 401"));
    }

    fn request(method: &str, password: &str) -> String {
        format!("{method} /stations HTTP/1.1\r\nAuthorization: Bearer {password}")
    }

    #[test]
    fn nobody_else_gets_reports_without_a_password() {
        let error = Listener::new("0.0.0.0:0".parse().expect("one"), None, &[]).err().expect("refused").to_string();
        assert!(error.contains("password"), "{error}");
        assert!(Listener::new(LOOPBACK.parse().expect("one"), None, &[]).is_ok());
    }
}
