//! The persistent state, in `alerts.json` of the state directory: announced reasons of each receiver, and queued messages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::due::Known;
use super::queue::Queue;
use crate::history::Week;
use crate::secret::{read_private, write_private};

/// The name of the file.
const FILE: &str = "alerts.json";

/// The persistent state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct State {
    /// Announced reasons by receiver.
    pub(crate) known: BTreeMap<String, Known>,
    pub(crate) queue: Queue,
    /// End of the last week with a summary, initially the one before the first start, in seconds since 1970.
    pub(crate) week_s: u64,
    /// Results of that week, for comparison.
    pub(crate) week: Option<Week>,
}

/// The file of the state.
#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
    /// Whether the last write failed; logged once.
    is_failing: bool,
}

impl StateFile {
    pub(crate) fn of(state: &Path) -> Self {
        Self { path: state.join(FILE), is_failing: false }
    }

    /// Reads the state. An unreadable file is set aside: lasting reasons are then announced once more.
    pub(crate) fn read(&self) -> State {
        let read = read_private(&self.path).map_err(|error| error.to_string());
        let read = read.and_then(|text| {
            text.map_or(Ok(State::default()), |text| serde_json::from_str(&text).map_err(|error| error.to_string()))
        });
        read.unwrap_or_else(|why| {
            let aside = self.path.with_extension("json.aside");
            _ = std::fs::rename(&self.path, &aside);
            eprintln!("alerts: {}: {why}; it is now {}", self.path.display(), aside.display());
            State::default()
        })
    }

    /// Writes the state. If that fails, alerts continue; after a restart some may be repeated.
    pub(crate) fn write(&mut self, state: &State) {
        let written = serde_json::to_string(state).map_err(std::io::Error::other);
        match written.and_then(|text| write_private(&self.path, &text)) {
            Ok(()) => self.is_failing = false,
            Err(error) => {
                if !self.is_failing {
                    eprintln!("alerts: {}: {error}", self.path.display());
                }
                self.is_failing = true;
            }
        }
    }
}
