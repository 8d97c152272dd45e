//! From what was written to a checked scenario.
//!
//! Every part is checked whatever is wrong with the others. Where a value is wrong, a stand-in takes its place so that
//! the checks which follow can go on; the scenario is refused at the end all the same, so no stand-in gets out.

mod apps;
mod hosts;
mod timeline;

use std::fs;
use std::path::Path;

use evenair_units::{BitRate, Bytes, Limit, Span};
use evenair_wifi::{Phy, Standard};

use crate::config::{self, ConfigError, OrDefault, Problems, Written};
use crate::raw::{LinkRaw, RadioRaw, ScenarioRaw, TcpRaw};
use crate::{AfterCollision, LinkSpec, Measure, Radio, Scenario, TcpSpec, WanSpec};

/// The format's version that this program reads.
const VERSION: u32 = 1;
/// The longest run: a day.
const MAX_DURATION: Span = Span::from_secs(86_400);
/// No one-way delay on Earth is longer.
const MAX_DELAY: Span = Span::from_secs(10);
/// A scenario's file is a few kilobytes; what is much larger is something else.
const MAX_FILE_BYTES: u64 = 1_000_000;
/// A packet of full size, for which every buffer must have room.
const FULL_SIZE: Bytes = Bytes(1500);

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// The file cannot be read, or is wrong: all that is wrong, with places.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        Self::load_with(path, &[])
    }

    /// As [`Scenario::load`], after setting each `(key, value)` as if the file said so: `("seed", "7")`,
    /// `("radio.ap_buffer", "50 packets")`, `("station.slow.rate", "1 Mb/s")`.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn load_with(path: impl AsRef<Path>, sets: &[(&str, &str)]) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let read_error = |source| ConfigError::Read { path: path.to_owned(), source };
        let size = fs::metadata(path).map_err(read_error)?.len();
        if size > MAX_FILE_BYTES {
            return Err(read_error(std::io::Error::other(format!("{size} bytes are too many for a scenario"))));
        }
        let text = fs::read_to_string(path).map_err(read_error)?;
        Self::parse_with(&text, &path.to_string_lossy(), sets)
    }

    /// Reads a scenario from text. `file` is what error messages call it.
    ///
    /// # Errors
    /// All that is wrong, with places.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        Self::parse_with(text, file, &[])
    }

    /// As [`Scenario::parse`], with values set as in [`Scenario::load_with`].
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse_with(text: &str, file: &str, sets: &[(&str, &str)]) -> Result<Self, ConfigError> {
        let (raw, document, mut problems) = config::read::<ScenarioRaw>(text, file, sets)?;
        let scenario = scenario(&raw, &mut problems);
        document.verdict(problems)?;
        Ok(scenario)
    }
}

fn scenario(raw: &ScenarioRaw, problems: &mut Problems) -> Scenario {
    raw.version.get_if(problems, |&version| version == VERSION, "1, the only version there is so far");
    let name = file_name(&raw.name, problems).unwrap_or_default();
    let durations = Span::from_millis(1)..=MAX_DURATION;
    let duration = raw.duration.get_if(problems, |span| durations.contains(span), "above 0 and up to 24 h");
    let duration = duration.unwrap_or(MAX_DURATION);

    let radio = radio(&raw.radio, problems);
    let phy = radio.as_ref().map(|radio| &radio.phy);
    let hosts = hosts::check(raw, phy.map(Phy::standard), problems);
    let events = timeline::events(&raw.event, &hosts, phy.map(Phy::standard), duration, problems);
    let apps = apps::check(raw, &hosts, &events, duration, problems);
    let measure = measure(raw, duration, problems);
    let published = timeline::published(&raw.published, &hosts, &apps, &measure.phases, problems);
    if let Some(radio) = &radio {
        raw.manager.check(&radio.phy, radio.rts_threshold, problems);
    }
    let wan = raw.wan.as_ref();

    Scenario {
        title: title(raw, &name, problems),
        name,
        description: raw.description.get_or(String::new(), problems).unwrap_or_default(),
        seed: raw.seed.get_or(1, problems).unwrap_or(1),
        duration,
        lan: link(&raw.lan, problems),
        wan: wan.map(|wan| WanSpec { down: link(&wan.down, problems), up: link(&wan.up, problems) }),
        radio: radio.unwrap_or_else(|| stand_in_radio(&raw.radio)),
        hosts: hosts.list,
        apps: apps.list,
        manager: raw.manager.clone(),
        events,
        measure,
        tcp: tcp(&raw.tcp, problems),
        published,
    }
}

/// A line for headings.
fn title(raw: &ScenarioRaw, name: &str, problems: &mut Problems) -> String {
    let is_line = |title: &String| title.chars().count() <= 200 && !title.contains(char::is_control);
    raw.title.get_or_if(name.to_owned(), problems, is_line, "one line of up to 200 characters").unwrap_or_default()
}

/// A name that can be part of a file's name.
fn file_name(written: &Written<String>, problems: &mut Problems) -> Option<String> {
    let fits = |name: &String| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        (1..=80).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with('.')
    };
    written.get_if(problems, fits, "1 to 80 letters, digits, \"-\", \"_\", \".\", not starting with \".\"")
}

/// A name of a host, an application or a phase.
fn name(written: &Written<String>, problems: &mut Problems) -> Option<String> {
    let fits = |name: &String| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        name.len() <= 40 && name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.bytes().all(plain)
    };
    written.get_if(problems, fits, "a letter, then up to 39 letters, digits, \"-\", \"_\"")
}

fn radio(raw: &RadioRaw, problems: &mut Problems) -> Option<Radio> {
    let phy_spec = raw.phy_spec();
    let phy = phy_spec.check(problems);
    let retries = |n: &u32| (1..=255).contains(n);
    let short = raw.short_retry_limit.get_or_if(7, problems, retries, "1 to 255");
    let long = raw.long_retry_limit.get_or_if(4, problems, retries, "1 to 255");
    let after_collision = raw.after_collision.get_or(AfterCollision::Eifs, problems);
    let ap_buffer = buffer(&raw.ap_buffer, Limit::Packets(100), problems);
    let station_buffer = buffer(&raw.station_buffer, Limit::Packets(1000), problems);
    let (phy, rts_threshold) = phy?;
    Some(Radio {
        phy,
        phy_spec,
        rts_threshold,
        short_retry_limit: short?,
        long_retry_limit: long?,
        after_collision: after_collision?,
        ap_buffer,
        station_buffer,
    })
}

fn stand_in_radio(raw: &RadioRaw) -> Radio {
    Radio {
        phy: Phy::default_for(Standard::Dot11b),
        phy_spec: raw.phy_spec(),
        rts_threshold: None,
        short_retry_limit: 7,
        long_retry_limit: 4,
        after_collision: AfterCollision::Eifs,
        ap_buffer: Limit::Unlimited,
        station_buffer: Limit::Unlimited,
    }
}

fn buffer(written: &Option<Written<Limit>>, default: Limit, problems: &mut Problems) -> Limit {
    let admits = |limit: &Limit| limit.admits(0, Bytes::ZERO, FULL_SIZE);
    let allowed = "room for a packet of 1500 bytes at least, such as \"100 packets\" or \"150 kB\"";
    written.get_or_if(default, problems, admits, allowed).unwrap_or(default)
}

fn link(raw: &LinkRaw, problems: &mut Problems) -> LinkSpec {
    let rates = BitRate::from_bps(1)..=BitRate::from_mbps(100_000);
    let rate = raw.rate.as_ref().and_then(|w| w.get_if(problems, |rate| rates.contains(rate), "1 b/s to 100 Gb/s"));
    let delay = raw.delay.get_or_if(Span::ZERO, problems, |&delay| delay <= MAX_DELAY, "0 to 10 s");
    let buffer = buffer(&raw.buffer, Limit::Packets(1000), problems);
    LinkSpec { rate, delay: delay.unwrap_or_default(), buffer }
}

fn tcp(raw: &TcpRaw, problems: &mut Problems) -> TcpSpec {
    let sizes = Bytes(4096)..=Bytes(1 << 30);
    let default = Bytes(8_000_000);
    let buffer = |written: &Option<Written<Bytes>>, problems: &mut Problems| {
        written.get_or_if(default, problems, |size| sizes.contains(size), "4 KiB to 1 GiB").unwrap_or(default)
    };
    TcpSpec {
        congestion_control: congestion_control(raw.congestion_control.as_ref(), problems)
            .unwrap_or_else(|| "cubic".to_owned()),
        rmem_max: buffer(&raw.receive_buffer, problems),
        wmem_max: buffer(&raw.send_buffer, problems),
        timestamps: raw.timestamps.get_or(true, problems).unwrap_or(true),
        sack: raw.sack.get_or(true, problems).unwrap_or(true),
        window_scaling: raw.window_scaling.get_or(true, problems).unwrap_or(true),
        ecn: raw.ecn.get_or(false, problems).unwrap_or(false),
    }
}

/// A name as kernels have them: TCP_CA_NAME_MAX is 16 with its end.
fn congestion_control(written: Option<&Written<String>>, problems: &mut Problems) -> Option<String> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let fits = |name: &String| (1..=15).contains(&name.len()) && name.bytes().all(plain);
    written?.get_if(problems, fits, "the kernel's name of one, such as \"cubic\", \"reno\", \"bbr\"")
}

fn measure(raw: &ScenarioRaw, duration: Span, problems: &mut Problems) -> Measure {
    let intervals = Span::from_millis(10)..=duration.max(Span::from_millis(10));
    let accept = |span: &Span| intervals.contains(span);
    let second = Span::from_secs(1);
    let interval = raw.measure.interval.get_or_if(second, problems, accept, "10 ms up to the run's duration");
    let interval = interval.unwrap_or(second);
    Measure { interval, phases: timeline::phases(&raw.phase, interval, duration, problems) }
}
