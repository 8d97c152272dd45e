//! The checked configuration of a box.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use evenair_api::Mode;
use evenair_api::health::Limits;
use evenair_config::BrokenAggregates;
use evenair_manager::Config;
use evenair_packet::MacAddr;
use evenair_reader::{ConfigError, read};

use crate::config::BoxFile;
use crate::history::HistoryConfig;
use crate::io::Io;
use crate::metrics::MetricsConfig;
use crate::shards::Plan;
use crate::small_file::read_text;
use crate::sockets::watch_socket_beside;
use crate::telemetry::SourceConfig;

/// The interfaces of a machine that is the stations' gateway, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterConfig {
    /// The interface with the gateway's addresses.
    pub gateway: String,
    /// Interface toward the Internet.
    pub uplink: String,
}

/// A checked configuration of the box.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxConfig {
    /// The file from which it was read; a reconfiguration reads it again.
    pub file: Option<PathBuf>,
    /// Interface on the side of the access points.
    pub wlan: String,
    /// Interface on the wired side.
    pub wire: String,
    /// The bridge of both ports, which carries the traffic when the box does not.
    pub bridge: Option<String>,
    /// Interfaces of a machine that is the stations' gateway.
    pub router: Option<RouterConfig>,
    /// Start inserted, not bypassed.
    pub inserted: bool,
    /// Start observing the bridge's traffic.
    pub observing: bool,
    /// Number of parallel packet loops.
    pub shards: usize,
    /// How the box receives and sends packets.
    pub io: Io,
    /// Capacity of each receive ring, in packets.
    pub ring_frames: u32,
    /// Capacity of the packet memory of the box, or of each shard, in packets.
    pub pool_frames: u32,
    /// Path of the control socket; `None`: no socket.
    pub control: Option<PathBuf>,
    /// Path of the socket of the watch feed; `None`: beside the control socket.
    pub watch: Option<PathBuf>,
    /// File of the recording of the manager's inputs; `None`: no recording.
    pub record: Option<PathBuf>,
    /// Address of the metrics, and how they name stations; `None`: no metrics.
    pub metrics: Option<MetricsConfig>,
    /// Where and how often statistics and events are stored; `None`: they are not.
    pub history: Option<HistoryConfig>,
    /// Sources of stations and rates.
    pub telemetry: Vec<SourceConfig>,
    /// The manager's configuration, stations included.
    pub manager: Config,
    /// Names of stations.
    pub names: BTreeMap<MacAddr, String>,
    /// Limits of the health of the network.
    pub health: Limits,
}

impl BoxConfig {
    /// Default capacity of a receive ring, in packets: 8 MB of frames, 40 ms at 100,000 packets per second.
    pub const RING_FRAMES: u32 = 4096;
    /// Default packet memory, in packets: several queues of the default limit.
    pub const POOL_FRAMES: u32 = 16_384;

    /// Maximum size of a file, in bytes: room for ten thousand stations.
    pub const LONGEST_FILE: u64 = 1 << 20;

    /// Reads and checks a file.
    ///
    /// # Errors
    /// If it cannot be read, is no regular file or is longer than 1 MiB; otherwise all errors, with line, key and expected values.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = read_text(path, Self::LONGEST_FILE)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let config = Self::parse(&text, &path.display().to_string())?;
        Ok(Self { file: Some(path.to_owned()), ..config })
    }

    /// Checks the text of a file; `file` names it in errors.
    ///
    /// # Errors
    /// All errors, with line, key and expected values.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        let (raw, document, mut problems) = read::<BoxFile>(text, file, &[])?;
        let config = raw.check(&mut problems);
        document.verdict(problems)?;
        Ok(config.expect("what could not be checked is a problem"))
    }

    /// A bypassed box between two interfaces, with defaults for everything else.
    pub fn new(wlan: &str, wire: &str, manager: Config) -> Self {
        Self {
            file: None,
            wlan: wlan.into(),
            wire: wire.into(),
            bridge: None,
            router: None,
            inserted: false,
            observing: false,
            shards: 1,
            io: Io::default(),
            ring_frames: Self::RING_FRAMES,
            pool_frames: Self::POOL_FRAMES,
            control: None,
            watch: None,
            record: None,
            metrics: None,
            history: None,
            telemetry: Vec::new(),
            manager: Config { held_limit: Some(held_limit(Self::POOL_FRAMES)), ..manager },
            names: BTreeMap::new(),
            health: Limits::default(),
        }
    }
}

impl BoxConfig {
    /// A one-line summary.
    pub fn in_short(&self) -> String {
        let start = match (self.inserted, self.observing) {
            (true, _) => Mode::Inserted,
            (_, true) => Mode::Observing,
            _ => Mode::Bypassed,
        };
        let bridge =
            self.bridge.as_deref().map_or_else(|| "without a bridge".into(), |bridge| format!("bridge {bridge}"));
        let standards: Vec<_> = self.manager.standards().iter().map(ToString::to_string).collect();
        format!(
            "access points behind {}, the network behind {}, {bridge}; {}; {} stations configured; starts {start}",
            self.wlan,
            self.wire,
            standards.join(" and "),
            self.manager.stations.len()
        )
    }

    /// Path of the watch feed's socket; `None` without a control socket.
    pub fn watch_socket(&self) -> Option<PathBuf> {
        let control = self.control.as_ref()?;
        Some(self.watch.clone().unwrap_or_else(|| watch_socket_beside(control)))
    }

    /// The warning about settings that do not fit access points that aggregate, if there is one.
    pub fn broken_aggregates(&self) -> Option<BrokenAggregates> {
        BrokenAggregates::of(&self.manager)
    }

    /// The division of contention domains among shards.
    ///
    /// # Errors
    /// If the manager's configuration cannot be divided among this many.
    pub fn plan(&self) -> Result<Plan, (String, String)> {
        Plan::new(self.shards, &self.manager)
    }
}

/// Packets of the pool that the manager may hold. The rest is for packets that are not held, and for those waiting to be
/// sent: if held packets filled the pool, ARP would stop, too.
pub(crate) const fn held_limit(pool_frames: u32) -> u32 {
    pool_frames / 8 * 7
}
