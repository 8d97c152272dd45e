//! hostapd's control socket.
//!
//! hostapd has a Unix datagram socket for each of its interfaces, by default in /var/run/hostapd. `STA-FIRST` and
//! `STA-NEXT` with the previous address list the stations, one reply each: the address in the first line, then `key=value`.
//! Rates are in 100 kb/s, in `rx_rate_info` and `tx_rate_info`, followed by the parameters of the rate: `mcs` of HT, or
//! `vhtmcs` and `vhtnss`, and `shortGI`. The width of the channel is not among them, and follows from the rate; of HE there
//! are no parameters. `inactive_msec` is the time since the station was last heard (hostapd, `ctrl_iface_ap.c`). `GET_CONFIG` has the BSSID and the SSID,
//! `STATUS` the frequency of the channel.
//!
//! A station that has roamed to another access point stays in the list until hostapd detects this, by default after five
//! minutes.
//!
//! Not here: events, which hostapd sends to attached clients.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use evenair_wifi::Format;

use crate::mode::{Parts, ReportedMode, guard};
use crate::source::{MOST_STATIONS, Reading, Source, StationReading, TelemetryError, frequency, mac};

/// Receive buffer, in bytes. hostapd's replies have at most 4096 bytes.
const LONGEST_ANSWER: usize = 8192;
/// Time limit of a whole poll, in timeouts of one request.
const POLL: u32 = 4;

/// A control socket.
#[derive(Debug)]
pub struct Hostapd {
    path: PathBuf,
    timeout: Duration,
}

impl Hostapd {
    /// The socket of an interface, such as /var/run/hostapd/wlan0.
    pub fn new(path: &Path, timeout: Duration) -> Self {
        Self { path: path.to_owned(), timeout }
    }

    /// Connects with an own address, to which hostapd replies. An abstract address leaves no file behind.
    fn connect(&self) -> std::io::Result<UnixDatagram> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("evenair-hostapd-{}-{number}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        socket.connect(&self.path)?;
        socket.set_read_timeout(Some(self.timeout))?;
        socket.set_write_timeout(Some(self.timeout))?;
        Ok(socket)
    }
}

impl Source for Hostapd {
    fn name(&self) -> String {
        format!("hostapd {}", self.path.display())
    }

    fn poll(&mut self) -> Result<Reading, TelemetryError> {
        let socket = self.connect().map_err(TelemetryError::io(format!("connect to {}", self.path.display())))?;
        let mut answer = vec![0; LONGEST_ANSWER];
        let deadline = Instant::now() + POLL * self.timeout;
        let mut ask = |question: &str| {
            // A slow reply for each of thousands of stations would take hours.
            if Instant::now() > deadline {
                return Err(TelemetryError::Silent(self.timeout));
            }
            let exchange = socket.send(question.as_bytes()).and_then(|_| socket.recv(&mut answer));
            let len = exchange.map_err(|error| match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => TelemetryError::Silent(self.timeout),
                _ => TelemetryError::io(format!("ask {question}"))(error),
            })?;
            Ok(String::from_utf8_lossy(&answer[..len]).into_owned())
        };
        let mut reading = Reading { from: "STA-FIRST".into(), ..Reading::default() };
        let mut text: String = ask("STA-FIRST")?;
        let mut next = station(&text)?;
        while let Some(station) = next {
            let again = reading.stations.iter().any(|known: &StationReading| known.mac == station.mac);
            if again || reading.stations.len() >= MOST_STATIONS {
                return Err(TelemetryError::nonsense(format!("{} comes twice in its list", station.mac)));
            }
            let address = station.mac;
            reading.stations.push(station);
            text = ask(&format!("STA-NEXT {address}"))?;
            next = self::station(&text).unwrap_or_else(|error| {
                reading.warn(format_args!("stations behind {address}"), error.detail());
                None
            });
            // hostapd replies so if the station has left since; at the end of its list the reply is empty.
            if text.trim() == "FAIL" {
                reading.warn(format_args!("stations behind {address}"), "it left during the poll");
            }
        }
        if let Err(error) = details(&mut reading, ask) {
            reading.warn("BSSID, network or channel", error.detail());
        }
        Ok(reading)
    }
}

/// Requests BSSID, network and channel. Stops after a failure, because a late reply would be taken for the next one's.
fn details(
    reading: &mut Reading,
    mut ask: impl FnMut(&str) -> Result<String, TelemetryError>,
) -> Result<(), TelemetryError> {
    let config: String = ask("GET_CONFIG")?;
    let value = |key: &str| config.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    reading.radio = value("bssid").and_then(mac);
    let network = value("ssid").map(str::to_owned);
    reading.stations.iter_mut().for_each(|station| station.ssid.clone_from(&network));
    let status: String = ask("STATUS")?;
    let mhz = status.lines().find_map(|line| line.strip_prefix("freq="));
    reading.channel_mhz = mhz.and_then(|mhz| mhz.trim().parse().ok()).and_then(frequency);
    Ok(())
}

/// Parses a reply to `STA-FIRST` or `STA-NEXT`; `None` after the last station.
///
/// # Errors
/// It does not begin with an address.
pub fn station(text: &str) -> Result<Option<StationReading>, TelemetryError> {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().trim();
    if first.is_empty() || first == "FAIL" {
        return Ok(None);
    }
    let Some(address) = mac(first) else {
        let start: String = first.chars().take(40).collect();
        return Err(TelemetryError::nonsense(format!("{start:?} where an address was expected")));
    };
    let mut station = StationReading::new(address);
    for (key, value) in lines.filter_map(|line| line.split_once('=')) {
        let number = || value.split_whitespace().next()?.parse::<i64>().ok();
        match key {
            "signal" => station.signal_dbm = number(),
            "inactive_msec" => station.idle = value.parse().ok().map(Duration::from_millis),
            "rx_rate_info" => (station.receive_kbps, station.receive_mode) = rate(value),
            "tx_rate_info" => (station.transmit_kbps, station.transmit_mode) = rate(value),
            _ => {}
        }
    }
    Ok(Some(station))
}

/// Parses a rate with its parameters: "8667 vhtmcs 9 vhtnss 2 shortGI".
fn rate(text: &str) -> (Option<i64>, Option<ReportedMode>) {
    let mut words = text.split_whitespace();
    let kbps = words.next().and_then(|word| word.parse::<i64>().ok()?.checked_mul(100));
    let (mut ht, mut vht, mut streams, mut is_short) = (None, None, None, false);
    while let Some(word) = words.next() {
        let mut number = || words.next()?.parse().ok();
        match word {
            "mcs" => ht = number(),
            "vhtmcs" => vht = number(),
            "vhtnss" => streams = number(),
            "shortGI" => is_short = true,
            _ => {}
        }
    }
    let parts = vht.map(|mcs| Parts::new(Format::Vht, mcs)).or(ht.map(|mcs| Parts::new(Format::Ht, mcs)));
    let mode = parts.and_then(|parts| Parts { streams, guard: Some(guard(is_short)), ..parts }.mode(kbps));
    (kbps, mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_a_rate_are_its_mode() {
        // As hostapd 2.10 has them.
        for (text, kbps, expected) in [
            ("8667 vhtmcs 9 vhtnss 2 shortGI", 866_700, Some("VHT MCS 9, 80 MHz, 2 streams, GI 0.4 us")),
            ("4000 vhtmcs 9 vhtnss 2 shortGI", 400_000, Some("VHT MCS 9, 40 MHz, 2 streams, GI 0.4 us")),
            ("1300 mcs 15", 130_000, Some("HT MCS 15, 20 MHz, 2 streams, GI 0.8 us")),
            ("3000 mcs 15 shortGI", 300_000, Some("HT MCS 15, 40 MHz, 2 streams, GI 0.4 us")),
            ("540", 54_000, None),
            ("12009", 1_200_900, None),
            ("60 mcs 7 shortGI", 6_000, None),
            ("1733 vhtmcs 9 vhtnss 2 shortGI", 173_300, None),
        ] {
            let (rate, mode) = rate(text);
            let mode = mode.and_then(Result::ok).map(|mode| mode.to_string());
            assert_eq!((rate, mode.as_deref()), (Some(kbps), expected), "{text}");
        }
        assert_eq!(rate(""), (None, None));
        assert_eq!(rate("x mcs"), (None, None));
    }
}
