//! The configuration of the history: `[history]`.

use std::path::PathBuf;

use evenair_reader::{OrDefault, Problems, Written, ranges};
use evenair_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

ranges! {
    /// Times between two samples.
    pub SampleIntervals: Span = "1 s to 1 h";
    /// Sizes of all files together.
    pub HistoryLimits: Bytes = "64 kB to 100 GB";
}

/// Statistics and events are kept in files. Without this table they are not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HistorySpec {
    /// The directory, which the box creates. Default: "/var/lib/evenair/history".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Written<String>>,
    /// Time between two samples. Default: "60 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Written<Span, SampleIntervals>>,
    /// Size limit of all files together. Default: "64 MB".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Written<Bytes, HistoryLimits>>,
}

/// Checked configuration of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryConfig {
    /// The directory.
    pub path: PathBuf,
    /// Time between two samples.
    pub interval: Span,
    /// Maximum size of all files together.
    pub limit: Bytes,
}

impl HistoryConfig {
    /// Default directory: below the state directory of the service.
    pub const PATH: &str = "/var/lib/evenair/history";
}

impl HistorySpec {
    pub(crate) fn check(&self, problems: &mut Problems) -> Option<HistoryConfig> {
        let fits = |path: &String| path.starts_with('/');
        let path = self.path.get_or_if(HistoryConfig::PATH.into(), problems, fits, "a path that begins with /");
        let interval = self.interval.get_or(Span::from_secs(60), problems);
        let limit = self.limit.get_or(Bytes(64_000_000), problems);
        Some(HistoryConfig { path: path?.into(), interval: interval?, limit: limit? })
    }
}
