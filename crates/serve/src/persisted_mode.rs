//! The last mode that the operator commanded, stored for the next process: a box that systemd restarts after a crash, a
//! hang or an upgrade continues in that mode.
//!
//! The file is in the runtime directory of the service, which exists while the service runs or restarts (RUNTIME_DIRECTORY
//! in systemd.exec(5), RuntimeDirectoryPreserve=restart), and is removed when the service is stopped or the machine boots:
//! then the configuration applies. The configuration also applies if its mode has changed since. Without a runtime
//! directory nothing is stored.

use std::path::{Path, PathBuf};

use evenair_boxfile::BoxConfig;
use evenair_boxfile::small_file::{read_text, replace};
use evenair_live::control::ControlRequest;
use tracing::{info, warn};

/// The file of the persisted mode.
#[derive(Clone, Debug)]
pub(crate) struct PersistedMode {
    file: PathBuf,
    /// The mode in the configuration.
    configured: &'static str,
}

/// Longest file that is read, in bytes; far more than needed.
const LONGEST_FILE: u64 = 1024;
const INSERT: &str = "insert";
const OBSERVE: &str = "observe";
const BYPASS: &str = "bypass";

impl PersistedMode {
    /// The file, if the service manager provides a directory.
    pub(crate) fn of(config: &BoxConfig) -> Option<Self> {
        let directories = std::env::var_os("RUNTIME_DIRECTORY")?;
        Some(Self::below(&std::env::split_paths(&directories).next()?, config))
    }

    fn below(directory: &Path, config: &BoxConfig) -> Self {
        let configured = match config {
            BoxConfig { inserted: true, .. } => INSERT,
            BoxConfig { observing: true, .. } => OBSERVE,
            _ => BYPASS,
        };
        Self { file: directory.join("last-word"), configured }
    }

    /// The configuration, with the persisted mode in place of its own.
    pub(crate) fn recall(&self, config: BoxConfig) -> BoxConfig {
        let Ok(text) = read_text(&self.file, LONGEST_FILE) else { return config };
        let said = match text.split_once(" instead of ") {
            Some((said, instead)) if instead.trim_end() == self.configured => said,
            _ => return config,
        };
        if said != self.configured {
            info!("the box continues in the mode last requested: {said}");
        }
        BoxConfig { inserted: said == INSERT, observing: said == OBSERVE, ..config }
    }

    /// Stores the mode that a request commands, if it commands one.
    pub(crate) fn keep(&self, request: &ControlRequest) {
        let said = match request {
            ControlRequest::Insert => INSERT,
            ControlRequest::Bypass => BYPASS,
            ControlRequest::Observe => OBSERVE,
            _ => return,
        };
        let text = format!("{said} instead of {}\n", self.configured);
        if let Err(error) = replace(&self.file, text.as_bytes()) {
            warn!("keep that the box is to {said}, in {}: {error}", self.file.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use evenair_manager::Config;
    use evenair_wifi::{Phy, Standard};

    use std::fs;

    use super::*;

    #[test]
    fn the_persisted_mode_outlives_the_box_until_the_configuration_changes() {
        let directory = tempfile::tempdir().expect("a directory");
        let config = BoxConfig::new("a", "b", Config::new(Phy::default_for(Standard::Dot11g)));
        let start = |config: &BoxConfig| {
            let BoxConfig { inserted, observing, .. } =
                PersistedMode::below(directory.path(), config).recall(config.clone());
            (inserted, observing)
        };
        assert_eq!(start(&config), (false, false), "nothing was said");
        let mode = PersistedMode::below(directory.path(), &config);
        mode.keep(&ControlRequest::Insert);
        mode.keep(&ControlRequest::Status);
        assert_eq!(start(&config), (true, false));
        mode.keep(&ControlRequest::Observe);
        assert_eq!(start(&config), (false, true));
        let changed = BoxConfig { inserted: true, ..config.clone() };
        assert_eq!(start(&changed), (true, false), "the file was changed since");
        PersistedMode::below(directory.path(), &changed).keep(&ControlRequest::Bypass);
        assert_eq!(start(&changed), (false, false));
        fs::write(directory.path().join("last-word"), "nonsense").expect("written");
        assert_eq!(start(&changed), (true, false));
    }
}
