//! `made.json` in a folder of results: the command, program, machine and day that made them. It is not part of any comparison.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use evenair_results::write_whole;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{FolderError, StoreError, program};

/// Name of the file.
const FILE: &str = "made.json";

/// Origin of a folder of results. Folders of earlier versions lack some fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Made {
    /// The command line, one element per word.
    pub command: Vec<String>,
    /// Working directory of the command, to which relative file names refer.
    pub folder: Option<String>,
    /// Version of the program, with the commit.
    pub version: Option<String>,
    /// The simulator: its version and a hash of its sources.
    pub program: Option<String>,
    /// Name of the machine.
    pub host: Option<String>,
    /// The day in UTC, as 2026-01-31.
    pub date: Option<String>,
    /// Whether an external program controlled the run, or the box was not the scenario's: the folder cannot reproduce that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_commanded: bool,
}

impl Made {
    /// The origin of results that this process makes; `version` is its own, with the commit.
    pub fn now(version: &str) -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned());
        let date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        Self {
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            folder: std::env::current_dir().ok().map(|folder| folder.to_string_lossy().into_owned()),
            version: Some(version.to_owned()),
            program: Some(program().to_owned()),
            host,
            date: date.split('T').next().map(str::to_owned),
            is_commanded: false,
        }
    }

    /// Writes the file into a folder of results.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), FolderError> {
        let file = folder.join(FILE);
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|source| FolderError::Format { file: file.clone(), source })?;
        Ok(write_whole(&file, format!("{text}\n").as_bytes())?)
    }

    /// Writes the file, unless the folder already names the same program, as when an experiment is continued.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn write_once(&self, folder: &Path) -> Result<(), FolderError> {
        let known = Self::read(folder).unwrap_or_default();
        if known.version == self.version && known.program == self.program { Ok(()) } else { self.write(folder) }
    }

    /// Reads the file of a folder; all is unknown without the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(folder: &Path) -> Result<Self, FolderError> {
        let file = folder.join(FILE);
        if !file.exists() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&file).map_err(StoreError::at(&file))?;
        serde_json::from_str(&text).map_err(|source| FolderError::Format { file, source })
    }

    /// Completes missing fields from the description of a run or an experiment.
    #[must_use]
    pub fn or_of(mut self, about: &Value) -> Self {
        let text = |key: &str| about[key].as_str().map(str::to_owned);
        self.version = self.version.or_else(|| text("version"));
        self.program = self.program.or_else(|| text("program"));
        self
    }

    /// Whether this process is the same program: the same simulator or, if that is unknown, the same `version`.
    pub fn is_of(&self, version: &str) -> bool {
        match &self.program {
            Some(made) => made == program(),
            None => self.version.as_deref() == Some(version),
        }
    }

    /// Version and simulator as text.
    pub fn program_text(&self) -> String {
        let version = self.version.as_deref().unwrap_or("of an unknown version");
        let program = self.program.as_ref().map_or_else(String::new, |program| format!(" (simulator {program})"));
        format!("Evenair {version}{program}")
    }

    /// The command line, quoted for a shell; `None` if unknown.
    pub fn command_text(&self) -> Option<String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
        let word = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        };
        (!self.command.is_empty()).then(|| self.command.iter().map(word).collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_printed_as_a_shell_takes_it() {
        let command = ["evenair", "sim", "--set", "duration=2 s", "it's", ""].map(str::to_owned).to_vec();
        let made = Made { command, ..Made::default() };
        assert_eq!(made.command_text().as_deref(), Some(r"evenair sim --set 'duration=2 s' 'it'\''s' ''"));
        assert_eq!(Made::default().command_text(), None);
    }

    #[test]
    fn a_continued_experiment_keeps_what_made_it_and_another_program_replaces_it() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let now = Made::now("1");
        let first = Made { host: Some("first".into()), ..now.clone() };
        first.write_once(folder.path()).expect("written");
        now.write_once(folder.path()).expect("written");
        assert_eq!(Made::read(folder.path()).expect("read"), first);
        let other = Made { program: Some("0 x".into()), ..now };
        other.write_once(folder.path()).expect("written");
        assert_eq!(Made::read(folder.path()).expect("read"), other);
        assert!(first.is_of("1") && !other.is_of("1"));
    }
}
