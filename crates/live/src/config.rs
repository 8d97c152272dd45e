//! What a box is told at start.

use std::path::PathBuf;

use evenair_manager::Config;

/// A checked configuration of the box.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxConfig {
    /// The file it was read from, which a reconfiguration reads again.
    pub file: Option<PathBuf>,
    /// Interface on the side of the access points.
    pub wlan: String,
    /// Interface on the wired side.
    pub wire: String,
    /// The bridge of which both are ports, and which carries the traffic when the box does not.
    pub bridge: Option<String>,
    /// Start inserted, not bypassed.
    pub inserted: bool,
    /// Packets that each receive ring has room for.
    pub ring_frames: u32,
    /// Packets that the box has memory for.
    pub pool_frames: u32,
    /// Where the control socket is made; `None`: there is none.
    pub control: Option<PathBuf>,
    /// Where everything that the manager is told is recorded; `None`: nowhere.
    pub record: Option<PathBuf>,
    /// The manager's configuration, stations included.
    pub manager: Config,
}

impl BoxConfig {
    /// Room of a receive ring unless the file says otherwise: 8 MB of frames, 40 ms at 100,000 packets per second.
    pub const RING_FRAMES: u32 = 4096;
    /// Memory for packets unless the file says otherwise: several queues of the default limit.
    pub const POOL_FRAMES: u32 = 16_384;

    /// A bypassed box between two interfaces with defaults everywhere else.
    pub fn new(wlan: &str, wire: &str, manager: Config) -> Self {
        Self {
            file: None,
            wlan: wlan.into(),
            wire: wire.into(),
            bridge: None,
            inserted: false,
            ring_frames: Self::RING_FRAMES,
            pool_frames: Self::POOL_FRAMES,
            control: None,
            record: None,
            manager,
        }
    }
}
