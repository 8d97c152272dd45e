//! The configuration of the history: `[history]`.

use std::path::PathBuf;

use evenair_reader::{OrDefault, Problems, Written};
use evenair_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Statistics and events are kept in files. Without this table they are not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HistorySpec {
    /// The directory, which the box creates. Default: "/var/lib/evenair/history".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Written<String>>,
    /// Time between two samples, 1 s to 1 h. Default: "60 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Written<Span>>,
    /// Size limit of all files together, 64 kB to 100 GB. Default: "64 MB".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Written<Bytes>>,
}

/// Where, how often and how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryConfig {
    /// The directory.
    pub path: PathBuf,
    /// Time between two samples.
    pub interval: Span,
    /// What all files together may take.
    pub limit: Bytes,
}

impl HistoryConfig {
    /// Where history is unless something else is said: below the state directory of the service.
    pub const PATH: &str = "/var/lib/evenair/history";
}

impl HistorySpec {
    pub(crate) fn check(&self, problems: &mut Problems) -> Option<HistoryConfig> {
        let fits = |path: &String| path.starts_with('/');
        let path = self.path.get_or_if(HistoryConfig::PATH.into(), problems, fits, "a path that begins with /");
        let intervals = Span::from_secs(1)..=Span::from_secs(3600);
        let fits = |interval: &Span| intervals.contains(interval);
        let interval = self.interval.get_or_if(Span::from_secs(60), problems, fits, "1 s to 1 h");
        let fits = |limit: &Bytes| (64_000..=100_000_000_000).contains(&limit.0);
        let limit = self.limit.get_or_if(Bytes(64_000_000), problems, fits, "64 kB to 100 GB");
        Some(HistoryConfig { path: path?.into(), interval: interval?, limit: limit? })
    }
}
