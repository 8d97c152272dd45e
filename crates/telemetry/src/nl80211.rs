//! The kernel's list of stations, for an access point on this machine: `iw dev INTERFACE station dump`.
//!
//! The program `iw` speaks nl80211. Its output is meant for people, but has been stable for long: a line `Station ADDRESS
//! (on INTERFACE)`, then indented `key: value` lines. `iw dev INTERFACE info` has the BSSID in the line `addr`, the SSID in
//! the line `ssid`, and the channel in a line like `channel 36 (5180 MHz), width: 20 MHz`.
//!
//! Behind a rate are the parameters of its mode: "866.7 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 2".
//!
//! Not here: the airtime counters, which only some drivers have.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use evenair_packet::MacAddr;
use evenair_wifi::{Format, Width};

use crate::mode::{Parts, ReportedMode, guard, he_guard};
use crate::source::{Reading, Source, StationReading, TelemetryError, frequency, mac};

/// Longest output, in bytes: a station takes about a kilobyte.
const LONGEST_OUTPUT: u64 = 4 << 20;

/// An interface in access point mode.
#[derive(Debug)]
pub struct StationDump {
    interface: String,
    timeout: Duration,
}

impl StationDump {
    /// The interface of this name.
    pub fn new(interface: &str, timeout: Duration) -> Self {
        Self { interface: interface.into(), timeout }
    }
}

impl Source for StationDump {
    fn name(&self) -> String {
        format!("nl80211 {}", self.interface)
    }

    fn poll(&mut self) -> Result<Reading, TelemetryError> {
        let ask =
            |question: &[&str]| run(Command::new("iw").args(["dev", &self.interface]).args(question), self.timeout);
        let mut reading = parse(&ask(&["station", "dump"])?);
        match ask(&["info"]) {
            Ok(info) => {
                let (radio, network) = own(&info);
                reading.stations.iter_mut().for_each(|station| station.ssid.clone_from(&network));
                (reading.radio, reading.channel_mhz) = (radio, channel(&info));
            }
            Err(error) => reading.warn("BSSID, network and channel", error),
        }
        Ok(reading)
    }
}

/// Parses the output of `iw dev INTERFACE info`: BSSID and network.
pub fn own(output: &str) -> (Option<MacAddr>, Option<String>) {
    let value = |key: &str| output.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(' '));
    (value("addr").and_then(mac), value("ssid").map(str::to_owned))
}

/// The channel in the same output, by its frequency in MHz.
pub fn channel(output: &str) -> Option<u16> {
    let line = output.lines().find_map(|line| line.trim().strip_prefix("channel "))?;
    line.split_once('(')?.1.split_whitespace().next()?.parse().ok().and_then(frequency)
}

/// The output of a program, with a timeout.
fn run(command: &mut Command, timeout: Duration) -> Result<String, TelemetryError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(TelemetryError::io("start iw (is it installed?)"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (sender, done) = mpsc::channel();
    let read = move || {
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        if let (Some(stdout), Some(stderr)) = (stdout, stderr) {
            let _ = stdout.take(LONGEST_OUTPUT).read_to_end(&mut output);
            let _ = stderr.take(1_000).read_to_end(&mut errors);
        }
        // Invalid UTF-8 affects only its own line.
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let _ = sender.send((text(output), text(errors)));
    };
    let reader = match thread::Builder::new().name("iw".into()).spawn(read) {
        Ok(reader) => reader,
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(TelemetryError::io("start a thread to read iw's output")(error));
        }
    };
    let outcome = done.recv_timeout(timeout);
    if outcome.is_err() {
        // Closes the pipes that the reader waits for.
        let _ = child.kill();
    }
    let status = child.wait().map_err(TelemetryError::io("wait for iw"))?;
    let _ = reader.join();
    match outcome {
        Err(_) => Err(TelemetryError::Silent(timeout)),
        Ok((output, _)) if status.success() => Ok(output),
        Ok((_, errors)) => Err(TelemetryError::Refused(format!("iw: {}", errors.trim()))),
    }
}

/// Parses the output of `iw dev INTERFACE station dump`.
pub fn parse(output: &str) -> Reading {
    let mut entries: Vec<Option<StationReading>> = Vec::new();
    for line in output.lines() {
        if let Some(rest) = line.strip_prefix("Station ") {
            entries.push(rest.split_whitespace().next().and_then(mac).map(StationReading::new));
            continue;
        }
        // Lines after an entry without an address belong to no station.
        let Some(Some(station)) = entries.last_mut() else { continue };
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        let word = value.split_whitespace().next().unwrap_or_default();
        match key {
            "signal" => station.signal_dbm = word.parse().ok(),
            "inactive time" => station.idle = word.parse().ok().map(Duration::from_millis),
            "tx bitrate" => (station.transmit_kbps, station.transmit_mode) = (kbps(word), mode(value)),
            "rx bitrate" => (station.receive_kbps, station.receive_mode) = (kbps(word), mode(value)),
            _ => {}
        }
    }
    let mut reading = Reading { from: "station dump".into(), ..Reading::default() };
    reading.add_stations("station dump", entries.into_iter());
    reading
}

/// Parses decimal Mb/s into kb/s.
fn kbps(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let tenths: i64 = fraction.get(..1)?.parse().ok()?;
    whole.parse::<i64>().ok()?.checked_mul(1_000)?.checked_add(tenths * 100)
}

/// Parses the parameters of a rate (iw, `parse_bitrate`). `None`: it has none, or [`PhyMode`] does not support them, such as dual
/// carrier modulation, a part of the channel or 802.11be.
///
/// [`PhyMode`]: evenair_wifi::PhyMode
fn mode(text: &str) -> Option<ReportedMode> {
    let mut words = text.split_whitespace();
    let mut parts: Option<Parts> = None;
    let (mut width, mut streams, mut interval) = (Width::Mhz20, None, guard(false));
    while let Some(word) = words.next() {
        let mut number = || words.next()?.parse::<u8>().ok();
        let format = match word {
            "MCS" => Some(Format::Ht),
            "VHT-MCS" => Some(Format::Vht),
            "HE-MCS" => Some(Format::He),
            _ => None,
        };
        if let Some(format) = format {
            parts = Some(Parts::new(format, number()?));
            continue;
        }
        match word {
            "VHT-NSS" | "HE-NSS" => streams = Some(number()?),
            "short" => interval = guard(true),
            "HE-GI" => interval = he_guard(number()?.into())?,
            "HE-DCM" if number()? != 0 => return None,
            "HE-RU-ALLOC" => width = width_of_unit(number()?)?,
            _ => {
                if let Some(mhz) = word.strip_suffix("MHz") {
                    width = Width::of_mhz(mhz.parse().ok()?)?;
                }
            }
        }
    }
    Parts { streams, width: Some(width), guard: Some(interval), ..parts? }.mode(None)
}

/// Channel width that an HE resource unit fills (`enum nl80211_he_ru_alloc`); smaller units fill none.
fn width_of_unit(number: u8) -> Option<Width> {
    Width::ALL.get(usize::from(number.checked_sub(3)?)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
Station 02:00:00:00:01:00 (on wlan0)
\tinactive time:\t304 ms
\trx bytes:\t18816
\ttx retries:\t12
\ttx failed:\t1
\tsignal:  \t-61 [-64, -63] dBm
\tsignal avg:\t-60 dBm
\ttx bitrate:\t54.0 MBit/s
\trx bitrate:\t6.5 MBit/s MCS 0
\tauthorized:\tyes
Station 02:00:00:00:02:00 (on wlan0)
\tsignal:  \t-30 dBm
\ttx bitrate:\t866.7 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 2
";

    #[test]
    fn the_output_of_iw_is_read() {
        let [first, second] = &parse(OUTPUT).stations[..] else { panic!("two stations") };
        assert_eq!((first.transmit_kbps, first.receive_kbps, first.signal_dbm), (Some(54_000), Some(6_500), Some(-61)));
        assert_eq!((second.transmit_kbps, second.receive_kbps), (Some(866_700), None));
        let text = |mode: Option<ReportedMode>| mode.and_then(Result::ok).map(|mode| mode.to_string());
        assert_eq!((first.transmit_mode, second.receive_mode), (None, None));
        assert_eq!(text(first.receive_mode).as_deref(), Some("HT MCS 0, 20 MHz, 1 stream, GI 0.8 us"));
        assert_eq!(text(second.transmit_mode).as_deref(), Some("VHT MCS 9, 80 MHz, 2 streams, GI 0.4 us"));
        assert_eq!((first.idle, second.idle), (Some(Duration::from_millis(304)), None));
        assert!(parse("").stations.is_empty() && parse("").warnings.is_empty());
    }

    #[test]
    fn one_malformed_station_leaves_the_others() {
        let reading = parse(&format!("Station x (on wlan0)\n\tsignal: -30 dBm\n{OUTPUT}"));
        let signals: Vec<_> = reading.stations.iter().map(|station| station.signal_dbm).collect();
        assert_eq!(signals, [Some(-61), Some(-30)]);
        assert_eq!(reading.warnings, ["1 of the entries of station dump left out: no valid MAC address"]);
    }

    /// As printed by the drivers of mt7921 and others.
    #[test]
    fn stations_without_a_receive_rate_or_with_an_impossible_signal_are_read() {
        let without = "Station 02:00:00:00:00:01 (on wlan0)\n\tsignal:  \t-38 [-40, -41] dBm\n\
                       \ttx bitrate:\t1200.9 MBit/s 80MHz HE-MCS 11 HE-NSS 2 HE-GI 0 HE-DCM 0\n\ttx duration:\t123 us\n";
        let [station] = &parse(without).stations[..] else { panic!("one station") };
        assert_eq!(
            (station.transmit_kbps, station.receive_kbps, station.signal_dbm),
            (Some(1_200_900), None, Some(-38))
        );
        let positive = "Station 02:00:00:00:00:01 (on wlan0)\n        signal:         75 [72, 75] dBm\n";
        assert_eq!(parse(positive).stations[0].signal_dbm, Some(75), "the manager refuses it");
    }

    #[test]
    fn the_parameters_of_a_rate_are_its_mode() {
        // In the format of iw 5.19.
        for (text, expected) in [
            ("866.7 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 2", Some("VHT MCS 9, 80 MHz, 2 streams, GI 0.4 us")),
            ("65.0 MBit/s VHT-MCS 7 VHT-NSS 1", Some("VHT MCS 7, 20 MHz, 1 stream, GI 0.8 us")),
            ("300.0 MBit/s MCS 15 40MHz short GI", Some("HT MCS 15, 40 MHz, 2 streams, GI 0.4 us")),
            ("6.5 MBit/s MCS 0", Some("HT MCS 0, 20 MHz, 1 stream, GI 0.8 us")),
            (
                "1200.9 MBit/s 80MHz HE-MCS 11 HE-NSS 2 HE-GI 0 HE-DCM 0",
                Some("HE MCS 11, 80 MHz, 2 streams, GI 0.8 us"),
            ),
            ("243.7 MBit/s HE-MCS 11 HE-NSS 2 HE-GI 2 HE-DCM 0", Some("HE MCS 11, 20 MHz, 2 streams, GI 3.2 us")),
            (
                "286.8 MBit/s HE-MCS 11 HE-NSS 1 HE-GI 0 HE-DCM 0 HE-RU-ALLOC 4",
                Some("HE MCS 11, 40 MHz, 1 stream, GI 0.8 us"),
            ),
            ("62.5 MBit/s HE-MCS 11 HE-NSS 1 HE-GI 0 HE-DCM 0 HE-RU-ALLOC 2", None),
            ("4.3 MBit/s HE-MCS 0 HE-NSS 1 HE-GI 0 HE-DCM 1", None),
            ("2882.4 MBit/s 160MHz EHT-MCS 13 EHT-NSS 2 EHT-GI 0", None),
            ("5764.8 MBit/s 320MHz EHT-MCS 13 EHT-NSS 2 EHT-GI 0", None),
            ("1560.0 MBit/s VHT-MCS 9 80P80MHz VHT-NSS 2", None),
            ("54.0 MBit/s", None),
            ("MCS", None),
            ("6.5 MBit/s MCS 300", None),
        ] {
            let mode = mode(text).and_then(Result::ok).map(|mode| mode.to_string());
            assert_eq!(mode.as_deref(), expected, "{text}");
        }
        // Some drivers report it: MCS 9 in 20 MHz with two streams.
        let refused =
            mode("173.3 MBit/s VHT-MCS 9 short GI VHT-NSS 2").expect("a mode").expect_err("not of the standard");
        assert!(refused.to_string().starts_with("VHT has no MCS 9 in 20 MHz with 2 streams"), "{refused}");
    }

    #[test]
    fn an_interface_reports_its_bssid_and_channel() {
        let info = "Interface wlan0\n\tifindex 4\n\twdev 0x1\n\taddr 02:00:00:00:00:00\n\tssid a network\n\ttype AP\n";
        assert_eq!(own(info), (Some(MacAddr([2, 0, 0, 0, 0, 0])), Some("a network".into())));
        assert_eq!(own("Interface wlan0\n\taddress unknown\n"), (None, None));
        let tuned = format!("{info}\tchannel 36 (5180 MHz), width: 20 MHz, center1: 5180 MHz\n");
        assert_eq!((channel(&tuned), channel(info), channel("\tchannel 36\n")), (Some(5_180), None, None));
    }

    #[test]
    fn a_program_that_hangs_or_fails_is_reported() {
        let timeout = Duration::from_millis(300);
        let slow = run(Command::new("sleep").arg("30"), timeout);
        assert!(matches!(slow, Err(TelemetryError::Silent(_))), "{slow:?}");
        let failed = run(Command::new("sh").args(["-c", "echo no such device >&2; exit 237"]), timeout);
        assert!(failed.expect_err("failed").to_string().contains("no such device"));
        assert!(run(&mut Command::new("/nonexistent/iw"), timeout).is_err());
    }
}
