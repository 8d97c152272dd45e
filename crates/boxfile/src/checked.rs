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
    /// Toward the Internet.
    pub uplink: String,
}

/// A checked configuration of the box.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxConfig {
    /// The file it was read from, which a reconfiguration reads again.
    pub file: Option<PathBuf>,
    /// Interface on the side of the access points.
    pub wlan: String,
    /// Interface on the wired side.
    pub wire: String,
    /// The bridge of both ports, which carries the traffic when the box does not.
    pub bridge: Option<String>,
    /// Where the machine is the stations' gateway, its interfaces.
    pub router: Option<RouterConfig>,
    /// Start inserted, not bypassed.
    pub inserted: bool,
    /// Start to look at what the bridge carries.
    pub observing: bool,
    /// Parallel packet loops.
    pub shards: usize,
    /// How the box receives and sends packets.
    pub io: Io,
    /// Capacity of each receive ring, in packets.
    pub ring_frames: u32,
    /// Capacity of the packet memory of the box, or of each shard, in packets.
    pub pool_frames: u32,
    /// Where the control socket is made; `None`: there is none.
    pub control: Option<PathBuf>,
    /// Where the socket of the watch feed is made; `None`: beside the control socket.
    pub watch: Option<PathBuf>,
    /// File of the recording of the manager's inputs; `None`: no recording.
    pub record: Option<PathBuf>,
    /// Where metrics are served, and how they name stations; `None`: nowhere.
    pub metrics: Option<MetricsConfig>,
    /// Where statistics and events are kept, and how often; `None`: nowhere.
    pub history: Option<HistoryConfig>,
    /// Who is asked for stations and rates.
    pub telemetry: Vec<SourceConfig>,
    /// The manager's configuration, stations included.
    pub manager: Config,
    /// Names of stations.
    pub names: BTreeMap<MacAddr, String>,
    /// Limits beyond which something is wrong.
    pub health: Limits,
}

impl BoxConfig {
    /// Room of a receive ring unless the file says otherwise: 8 MB of frames, 40 ms at 100,000 packets per second.
    pub const RING_FRAMES: u32 = 4096;
    /// Memory for packets unless the file says otherwise: several queues of the default limit.
    pub const POOL_FRAMES: u32 = 16_384;

    /// The longest file that is taken: room for ten thousand stations.
    pub const LONGEST_FILE: u64 = 1 << 20;

    /// Reads and checks a file.
    ///
    /// # Errors
    /// It cannot be read, is no regular file or is longer than 1 MiB; or all that is wrong in it, with line, key and what would be right.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = read_text(path, Self::LONGEST_FILE)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let config = Self::parse(&text, &path.display().to_string())?;
        Ok(Self { file: Some(path.to_owned()), ..config })
    }

    /// Checks the text of a file; `file` names it in errors.
    ///
    /// # Errors
    /// All that is wrong in it, with line, key and what would be right.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        let (raw, document, mut problems) = read::<BoxFile>(text, file, &[])?;
        let config = raw.check(&mut problems);
        document.verdict(problems)?;
        Ok(config.expect("what could not be checked is a problem"))
    }

    /// A bypassed box between two interfaces with defaults everywhere else.
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
    /// A summary, in one line.
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

    /// The socket of the watch feed; none without a control socket.
    pub fn watch_socket(&self) -> Option<PathBuf> {
        let control = self.control.as_ref()?;
        Some(self.watch.clone().unwrap_or_else(|| watch_socket_beside(control)))
    }

    /// The warning about settings that do not fit access points that aggregate, if there is one.
    pub fn broken_aggregates(&self) -> Option<BrokenAggregates> {
        BrokenAggregates::of(&self.manager)
    }

    /// Which shard owns what.
    ///
    /// # Errors
    /// The manager's configuration cannot be divided among so many.
    pub fn plan(&self) -> Result<Plan, (String, String)> {
        Plan::new(self.shards, &self.manager)
    }
}

/// Packets that the manager may hold of the pool. The rest is for what is not held, and for what waits to be sent: a
/// pool full of held packets would stop ARP with them.
pub(crate) const fn held_limit(pool_frames: u32) -> u32 {
    pool_frames / 8 * 7
}
