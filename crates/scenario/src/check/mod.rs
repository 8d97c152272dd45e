//! Converts the raw form to a checked scenario.
//!
//! Every part is checked even if others have errors. A placeholder replaces an invalid value so that later checks can
//! continue; the scenario is rejected at the end, so no placeholder is used.

mod access;
mod access_points;
mod aggregation;
mod apps;
mod beacons;
mod command;
mod distribution;
mod edca;
mod hidden;
mod hosts;
mod neighbours;
mod path;
mod published;
pub(crate) mod queue;
mod radio;
mod rates;
mod shortened;
mod tcp;
mod telemetry;
mod timeline;
mod traffic;
pub(crate) use std::fs;
use std::path::Path;

use evenair_config::manager::QueueLimits;
use evenair_config::queue::QueueRaw;
use evenair_config::{ManagerSpec, PhySpec};
use evenair_manager::Config;
use evenair_reader::{self as reader, ConfigError, OrDefault, Problems, Written};
use evenair_units::{Limit, Span};
use evenair_wifi::Standard;

use self::shortened::Length;
use crate::raw::{LinkRaw, ScenarioRaw, WanRaw};
use crate::{LinkSpec, Radio, Scenario, Source, WanSpec, sweep};

/// Version of the format that this program reads.
const VERSION: u32 = 1;
/// Maximum size of a scenario's file, which normally has a few kilobytes.
const MAX_FILE_BYTES: u64 = 1_000_000;

/// Reads the text of a scenario's file, unchecked.
///
/// # Errors
/// If it cannot be read, or is too large for a scenario.
pub fn text_of(path: &Path) -> Result<String, ConfigError> {
    let read_error = |source| ConfigError::Read { path: path.to_owned(), source };
    let size = fs::metadata(path).map_err(read_error)?.len();
    if size > MAX_FILE_BYTES {
        return Err(read_error(std::io::Error::other(format!("{size} bytes are too many for a scenario"))));
    }
    fs::read_to_string(path).map_err(read_error)
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// If the file cannot be read or is invalid: all errors, with their positions.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        Self::load_with(path, &[])
    }

    /// As [`Scenario::load`], after setting each `(key, value)` as if it were in the file: `("seed", "7")`,
    /// `("radio.ap_buffer", "50 packets")`, `("station.slow.rate", "1 Mb/s")`.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn load_with(path: impl AsRef<Path>, sets: &[(&str, &str)]) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        Self::parse_with(&text_of(path)?, &path.to_string_lossy(), sets)
    }

    /// Reads a scenario from text. `file` is its name in error messages.
    ///
    /// # Errors
    /// All errors, with their positions.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        Self::parse_with(text, file, &[])
    }

    /// As [`Scenario::parse`], with values set as in [`Scenario::load_with`].
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse_with(text: &str, file: &str, sets: &[(&str, &str)]) -> Result<Self, ConfigError> {
        let (raw, document, mut problems) = reader::read::<ScenarioRaw>(text, file, sets)?;
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let length = Length::of(&raw, text, &mut problems);
        let check = |standard, problems: &mut _| scenario(&raw, standard, folder, length, problems);
        let scenario = raw.radio.phy_spec().with_standard(&mut problems, check);
        document.verdict(problems)?;
        let mut scenario = scenario.expect("a wrong standard is a problem");
        if length.run < length.checked {
            shortened::cut(&mut scenario, &raw);
        }
        let settings = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let source = Source { file: file.to_owned(), text: text.to_owned(), settings };
        Ok(Scenario { source, ..scenario })
    }

    /// `[radio]` and `[manager]` of the configuration of a box in this scenario, from its text.
    pub fn box_tables(&self) -> (PhySpec, ManagerSpec) {
        let raw = self.raw();
        (radio::phy_spec(&raw.radio, self.radio.phy.standard()), manager(&raw))
    }

    /// Its text as read, with the values set.
    fn raw(&self) -> ScenarioRaw {
        let Source { file, text, settings } = &self.source;
        let settings: Vec<_> = settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        reader::read(text, file, &settings).expect("the text of a scenario was read before").0
    }
}

/// The networks of a scenario's stations and LAN; others are beyond its Internet link.
const SITE_NETWORKS: [&str; 2] = ["10.234.0.0/16", "fdea:0:0:1::/64"];

/// Checks a scenario. Files that it names are in `folder`.
fn scenario(raw: &ScenarioRaw, standard: Standard, folder: &Path, length: Length, problems: &mut Problems) -> Scenario {
    raw.version.get_if(problems, |&version| version == VERSION, "1, the only version there is so far");
    let name = file_name(&raw.name, problems).unwrap_or_default();
    let duration = length.checked;

    let (radio, rates) = radio::check(raw, standard, problems);
    let access_points = access_points::check(raw, standard, problems);
    let hosts = hosts::check(raw, &access_points, &rates, problems);
    let neighbours = neighbours::check(&raw.neighbour, &access_points, &radio.phy, duration, problems);
    let hidden = hidden::check(&raw.station, &hosts, problems);
    let timeline = timeline::EventChecker { hosts: &hosts, access_points: &access_points, rates: &rates, duration };
    let events = timeline.check(&raw.event, problems);
    let apps = apps::Checker::new(&hosts, &events, duration).check(raw, folder, problems);
    let aggregates = radio.aggregation.is_some();
    let mut queue = |raw: &Option<QueueRaw>, limit, is_of_access_points| {
        let below = queue::Below { limit, aggregates, is_of_access_points };
        queue::check(raw.as_ref()?, below, &hosts, &apps, problems)
    };
    let ap_queue = queue(&raw.radio.ap_queue, radio.ap_buffer, true);
    let station_queue = queue(&raw.radio.station_queue, radio.station_buffer, false);
    let measure = timeline::measure(raw, length, &apps.list, &hosts, problems);
    let names = published::Names { hosts: &hosts, apps: &apps, phases: &measure.phases };
    let published = published::published(&raw.published, names, problems);
    let manager = manager(raw).check(&radio.phy, radio.rts_threshold, problems);
    access_points::check_manager(raw, &access_points, problems);
    let wan = raw.wan.as_ref();

    Scenario {
        title: title(raw, &name, problems),
        name,
        description: raw.description.get_or(String::new(), problems).unwrap_or_default(),
        seed: raw.seed.get_or(1, problems).unwrap_or(1),
        duration: length.run,
        lan: link(&raw.lan, problems),
        wan: wan.map(|wan| WanSpec { down: link(&wan.down, problems), up: link(&wan.up, problems) }),
        manager: manager.unwrap_or_else(|| Config::new(radio.phy.clone())),
        radio: Radio { hidden, ap_queue, station_queue, ..radio },
        access_points,
        neighbours,
        hosts: hosts.list,
        apps: apps.list,
        warnings: apps.warnings,
        telemetry: telemetry::check(&raw.telemetry, problems),
        events,
        measure,
        tcp: tcp::check(&raw.tcp, problems),
        published,
        sweep: sweep::check(&raw.sweep, problems),
        left_out: Vec::new(),
        source: Source::default(),
    }
}

/// The settings of the manager, with the rates of the Internet link and the networks of the site.
fn manager(raw: &ScenarioRaw) -> ManagerSpec {
    let of_wan = [|wan: &WanRaw| wan.down.rate.clone(), |wan: &WanRaw| wan.up.rate.clone()];
    let of_wan = of_wan.map(|rate| raw.wan.as_ref().and_then(rate)?.get(&mut Problems::default()));
    raw.manager.at_site(of_wan, &SITE_NETWORKS)
}

/// Checks the title, a line for headings.
fn title(raw: &ScenarioRaw, name: &str, problems: &mut Problems) -> String {
    let is_line = |title: &String| title.chars().count() <= 200 && !title.contains(char::is_control);
    raw.title.get_or_if(name.to_owned(), problems, is_line, "one line of up to 200 characters").unwrap_or_default()
}

/// Checks a name that must be usable in file names.
fn file_name(written: &Written<String>, problems: &mut Problems) -> Option<String> {
    let fits = |name: &String| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        (1..=80).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with('.')
    };
    written.get_if(problems, fits, "1 to 80 letters, digits, \"-\", \"_\", \".\", not starting with \".\"")
}

fn buffer(written: &Option<Written<Limit, QueueLimits>>, default: Limit, problems: &mut Problems) -> Limit {
    written.get_or(default, problems).unwrap_or(default)
}

fn link(raw: &LinkRaw, problems: &mut Problems) -> LinkSpec {
    let rate = raw.rate.as_ref().and_then(|rate| rate.get(problems));
    let delay = raw.delay.get_or(Span::ZERO, problems);
    let buffer = buffer(&raw.buffer, Limit::Packets(1000), problems);
    LinkSpec { rate, delay: delay.unwrap_or_default(), buffer }
}
