//! Tells a box elsewhere what sources on this machine say: `evenair telemetry --listen`, for access points that are Linux
//! machines. hostapd and the kernel tell their stations to programs on the same machine only.
//!
//! `GET /stations` asks the sources and answers with what they say (`evenair_telemetry::remote`). One request after the
//! other, and nothing can be changed. Addresses beyond loopback are taken only with a password, since who is there is not
//! everybody's business. What is not here: TLS; whoever needs it between box and access point puts a server with it before.

use std::net::SocketAddr;

use anyhow::{Result, anyhow, bail};
use evenair_telemetry::remote::{authorization, entry};
use evenair_telemetry::{Source, poll_once};
use serde_json::Value;
use tiny_http::{Header, Method, Request, Response, Server};
use tracing::debug;

use super::SourceConfig;

/// Sources that others may ask.
pub struct Listener {
    server: Server,
    sources: Vec<(String, Box<dyn Source>)>,
    password: Option<String>,
}

impl Listener {
    /// Listens at an address for whoever has the password.
    ///
    /// # Errors
    /// The address is in use or not this machine's, it is open to others without a password, or a source cannot be asked.
    pub fn new(address: SocketAddr, password: Option<String>, sources: &[SourceConfig]) -> Result<Self> {
        if password.is_none() && !address.ip().is_loopback() {
            bail!("{address} can be reached by others: a password is needed for it, or an address such as 127.0.0.1");
        }
        let server = Server::http(address).map_err(|error| anyhow!("cannot listen at {address}: {error}"))?;
        let open = |source: &SourceConfig| Ok((source.name(), source.open()?));
        Ok(Self { server, sources: sources.iter().map(open).collect::<Result<_>>()?, password })
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.server.server_addr().to_ip()
    }

    /// Answers until the process ends.
    pub fn serve(mut self) {
        while let Ok(request) = self.server.recv() {
            let (status, body) = self.answer(&request);
            let header = Header::from_bytes("Content-Type", "application/json").expect("a header of letters");
            let response = Response::from_string(body.to_string()).with_status_code(status).with_header(header);
            if let Err(error) = request.respond(response) {
                debug!("a client of telemetry: {error}");
            }
        }
    }

    fn answer(&mut self, request: &Request) -> (u16, Value) {
        if !self.is_allowed(request) {
            return (401, "a password is needed".into());
        }
        match (request.method(), request.url()) {
            (Method::Get, "/stations") => {
                let ask = |(name, source): &mut (String, Box<dyn Source>)| entry(name, &poll_once(&mut **source));
                (200, self.sources.iter_mut().map(ask).collect())
            }
            (Method::Get, _) => (404, "there is /stations alone".into()),
            _ => (405, "only GET".into()),
        }
    }

    fn is_allowed(&self, request: &Request) -> bool {
        let Some(password) = &self.password else { return true };
        let right = authorization(password);
        let given = request.headers().iter().find(|header| header.field.equiv("Authorization"));
        // In the same time wherever they differ.
        given.is_some_and(|given| {
            let given = given.value.as_str().as_bytes();
            // Headers lose what is blank at their end.
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

    use super::*;
    use crate::BoxConfig;

    const HEAD: &str = "[ports]\nwlan = \"a\"\nwire = \"b\"\n[radio]\nstandard = \"802.11g\"\n[[telemetry]]\n";
    const LOOPBACK: &str = "127.0.0.1:0";

    fn source(text: &str) -> SourceConfig {
        let config = BoxConfig::parse(&format!("{HEAD}{text}"), "box.toml").unwrap_or_else(|error| panic!("{error}"));
        config.telemetry.into_iter().next().expect("one")
    }

    #[test]
    fn a_box_is_told_what_hostapd_tells_here() {
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
        let url = format!("http://{}", listener.address().expect("an address"));
        thread::spawn(|| listener.serve());

        let secrets = folder.path().join("secrets");
        let ask = |password: &str| {
            std::fs::write(&secrets, format!("password = {password:?}\n")).expect("written");
            super::super::ask(&source(&format!("kind = \"evenair\"\nurl = {url:?}\nsecrets = {secrets:?}\n")))
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
        let without = super::super::ask(&source(&format!("kind = \"evenair\"\nurl = {url:?}\n")));
        assert!(without.expect_err("no password").to_string().contains("refuses"));
        let elsewhere =
            super::super::ask(&source(&format!("kind = \"evenair\"\nurl = \"{url}/x\"\nsecrets = {secrets:?}\n")));
        assert!(elsewhere.is_err());
    }

    #[test]
    fn nobody_else_is_told_without_a_password() {
        let error = Listener::new("0.0.0.0:0".parse().expect("one"), None, &[]).err().expect("refused").to_string();
        assert!(error.contains("password"), "{error}");
        assert!(Listener::new(LOOPBACK.parse().expect("one"), None, &[]).is_ok());
    }
}
