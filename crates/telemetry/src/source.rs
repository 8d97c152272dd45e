//! The common interface of the drivers.

use std::fmt::Display;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use evenair_packet::MacAddr;
use serde_json::Value;

use crate::mode::ReportedMode;

/// A source of reports about stations.
pub trait Source: Send {
    /// Its name in logs and in the status: its kind and location.
    fn name(&self) -> String;

    /// Polls once. Takes at most twice its timeout per request, and reports at most 4096 stations. If an optional part
    /// fails, or one station or interface of several, the rest is reported with a warning.
    ///
    /// # Errors
    /// It does not respond, refuses, or its list of stations is malformed.
    fn poll(&mut self) -> Result<Reading, TelemetryError>;
}

/// Maximum number of stations per source: a controller of a large site has some thousands.
pub const MOST_STATIONS: usize = 4096;
/// Maximum number of warnings per poll.
const MOST_WARNINGS: usize = 16;

/// The report of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The table or interface that responded, as text.
    pub from: String,
    /// Its stations.
    pub stations: Vec<StationReading>,
    /// Its radios, if it reports their losses.
    pub access_points: Vec<AccessPointReading>,
    /// The BSSID of all its stations, if a single radio was polled.
    pub radio: Option<MacAddr>,
    /// The channel of that radio, by its frequency in MHz.
    pub channel_mhz: Option<u16>,
    /// Failures of optional parts, each as a sentence.
    pub warnings: Vec<String>,
}

impl Reading {
    /// Adds a warning about an optional part that failed.
    pub(crate) fn warn(&mut self, part: impl Display, why: impl Display) {
        self.add_warning(format!("{part} left out: {why}"));
    }

    /// Adds a warning about malformed entries.
    pub(crate) fn warn_of_entries(&mut self, count: usize, part: &str) {
        if count > 0 {
            self.warn(format_args!("{count} of the entries of {part}"), "no valid MAC address");
        }
    }

    pub(crate) fn add_warning(&mut self, warning: String) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(warning);
        }
    }

    /// Adds stations, up to [`MOST_STATIONS`] in all, and counts malformed entries.
    pub(crate) fn add_stations(&mut self, part: &str, entries: impl Iterator<Item = Option<StationReading>>) {
        let (mut malformed, mut surplus) = (0, 0);
        for entry in entries {
            match entry {
                None => malformed += 1,
                Some(_) if self.stations.len() >= MOST_STATIONS => surplus += 1,
                Some(station) => self.stations.push(station),
            }
        }
        self.warn_of_entries(malformed, part);
        if surplus > 0 {
            self.warn(format_args!("{surplus} stations of {part}"), format_args!("more than {MOST_STATIONS}"));
        }
    }

    /// Removes duplicate stations. After roaming between radios of an access point, a station may be listed by both for
    /// minutes: the entry with the shortest idle time is kept.
    pub(crate) fn settled(mut self) -> Self {
        self.stations.sort_by_key(|station| (station.mac, station.idle.unwrap_or(Duration::MAX)));
        self.stations.dedup_by_key(|station| station.mac);
        self
    }
}

/// A source's report of one station. Numbers are as reported, in the units named here, plausible or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationReading {
    /// Its MAC address.
    pub mac: MacAddr,
    /// PHY rate toward it, in kb/s.
    pub transmit_kbps: Option<i64>,
    /// PHY rate from it, in kb/s.
    pub receive_kbps: Option<i64>,
    /// Mode toward it, if reported and one of 802.11n, ac or ax.
    pub transmit_mode: Option<ReportedMode>,
    /// Mode from it, if reported and one of 802.11n, ac or ax.
    pub receive_mode: Option<ReportedMode>,
    /// Signal strength at the access point, in dBm.
    pub signal_dbm: Option<i64>,
    /// Its IP address.
    pub address: Option<IpAddr>,
    /// The BSSID of its access point.
    pub access_point: Option<MacAddr>,
    /// Its channel, by its frequency in MHz.
    pub channel_mhz: Option<u16>,
    /// The name that the operator gave it at the controller.
    pub alias: Option<String>,
    /// The name of its network.
    pub ssid: Option<String>,
    /// Time since it was last heard.
    pub idle: Option<Duration>,
}

impl StationReading {
    /// A station of which only the address is known.
    pub const fn new(mac: MacAddr) -> Self {
        Self {
            mac,
            transmit_kbps: None,
            receive_kbps: None,
            transmit_mode: None,
            receive_mode: None,
            signal_dbm: None,
            address: None,
            access_point: None,
            channel_mhz: None,
            alias: None,
            ssid: None,
            idle: None,
        }
    }
}

/// A source's report of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessPointReading {
    /// Its MAC address. Several interfaces may have the same.
    pub mac: MacAddr,
    /// The number of the interface, unique within its source, such as `ifIndex`.
    pub interface: u64,
    /// Its channel, by its frequency in MHz.
    pub channel_mhz: Option<u16>,
    /// Total of packets lost on the way to its stations, from any start: dropped because its queue was full, or given up
    /// after too many retries.
    pub lost: u64,
}

/// User name and password at a source.
#[derive(Clone, Copy)]
pub struct Credentials<'a> {
    /// Its name.
    pub user: &'a str,
    /// Its password.
    pub password: &'a str,
}

/// Why a poll failed.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// It could not be reached, or did not respond in time.
    #[error("{what}: {source}")]
    Io {
        /// The failed operation.
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// It did not respond in time.
    #[error("no answer within {0:?}: is the address right, and may this machine ask it?")]
    Silent(Duration),
    /// It rejected the user name, community or password.
    #[error("it refuses: {0}")]
    Refused(String),
    /// Its response is malformed or unexpected.
    #[error("it answered what cannot be understood: {0}")]
    Nonsense(String),
    /// Its certificate is not trusted.
    #[error("its certificate is not trusted: {0}")]
    Untrusted(String),
    /// It responds, but has none of the required data.
    #[error("{0}")]
    Nothing(String),
}

impl TelemetryError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    pub(crate) fn nonsense(what: impl ToString) -> Self {
        Self::Nonsense(what.to_string())
    }

    /// The error without its context, for a part that is named before.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::Nonsense(what) => what.clone(),
            other => other.to_string(),
        }
    }
}

/// The frequency of a channel in MHz by its number (IEEE 802.11-2020, annex E): up to 14 at 2.4 GHz, all others at 5 GHz,
/// unless the radio is known to be at 6 GHz.
pub(crate) fn channel_mhz(number: i64, at_6_ghz: bool) -> Option<u16> {
    let number = u16::try_from(number).ok()?;
    match number {
        1..=233 if at_6_ghz => Some(5_950 + 5 * number),
        1..=13 => Some(2_407 + 5 * number),
        14 => Some(2_484),
        32..=177 => Some(5_000 + 5 * number),
        _ => None,
    }
}

/// A valid frequency in MHz. Sources report 0 without a radio.
pub(crate) fn frequency(mhz: i64) -> Option<u16> {
    u16::try_from(mhz).ok().filter(|&mhz| mhz > 0)
}

/// An integer, also if it is written with a fraction.
pub(crate) fn number(value: &Value) -> Option<i64> {
    // Casting saturates, and turns NaN into zero.
    value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))
}

/// Parses a MAC address in any common notation: with colons, hyphens or dots, or bare.
pub(crate) fn mac(text: &str) -> Option<MacAddr> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b':' | b'-' | b'.')).collect();
    if digits.len() != 12 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut octets = [0; 6];
    for (octet, pair) in octets.iter_mut().zip(digits.chunks(2)) {
        *octet = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(MacAddr(octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_heard_last_is_kept() {
        let entry = |last, idle, kbps| StationReading {
            idle: Option::map(idle, Duration::from_millis),
            transmit_kbps: Some(kbps),
            ..StationReading::new(MacAddr([2, 0, 0, 0, 0, last]))
        };
        let stations = vec![entry(2, None, 1), entry(1, Some(90_000), 2), entry(1, Some(20), 3), entry(2, Some(5), 4)];
        let settled = Reading { stations, ..Reading::default() }.settled();
        assert_eq!(settled.stations, [entry(1, Some(20), 3), entry(2, Some(5), 4)]);
    }

    #[test]
    fn channels_have_frequencies() {
        let mhz = |number| channel_mhz(number, false);
        assert_eq!(
            (mhz(1), mhz(11), mhz(14), mhz(36), mhz(165)),
            (Some(2412), Some(2462), Some(2484), Some(5180), Some(5825))
        );
        assert_eq!((channel_mhz(1, true), channel_mhz(37, true)), (Some(5955), Some(6135)));
        for number in [0, -1, 15, 31, 200, i64::MAX] {
            assert_eq!(mhz(number), None, "{number}");
        }
    }

    #[test]
    fn addresses_are_read_as_programs_write_them() {
        let expected = Some(MacAddr([0x02, 0xab, 0, 0, 0x0c, 0x01]));
        for text in ["02:ab:00:00:0c:01", "02-AB-00-00-0C-01", "02ab.0000.0c01", "02AB00000C01"] {
            assert_eq!(mac(text), expected, "{text}");
        }
        for text in ["", "02:ab:00:00:0c", "02:ab:00:00:0c:0g", "02:ab:00:00:0c:01:02", "zz"] {
            assert_eq!(mac(text), None, "{text}");
        }
    }
}
