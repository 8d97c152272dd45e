//! The audit log: logins and changes, successful and failed ones.
//!
//! Each line is a JSON object ([`AuditEntry`]) in a file of its month, `audit-YEAR-MONTH.jsonl` in the state directory, with mode 0600.
//! The server and the commands of the program append (O_APPEND, one write a line); nothing changes or shortens a file. The file of a
//! month is removed when its last line is a year old. Lines never contain a password, a token or the token of a link.
//!
//! Lines are not flushed to disk: after a power cut those of the last seconds may be missing.

mod failures;
mod reading;

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::failures::Failures;
use crate::account::Role;
use crate::clock::Clock;
use crate::config::WebConfig;
use crate::secret::{give_to_owner, make_folder};

pub(crate) use self::reading::AuditPlace;

/// Retention of lines, in seconds: a year of 366 days.
const KEPT_S: u64 = 366 * 24 * 60 * 60;
/// Result of a successful request.
pub(crate) const DONE: &str = "done";

/// By what somebody was known who did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Actor {
    /// An account, by its session, or one whose password was tried.
    Account,
    /// A token of the API, by its id.
    Token,
    /// A user of the machine, in a shell.
    Shell,
    /// No login.
    Anonymous,
}

/// Who does something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doer {
    /// By what `who` is known.
    pub by: Actor,
    /// Name of the account, id of the token or name of the user; empty: anonymous, or no account of the name that was tried.
    pub who: String,
    /// The role at that time; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
}

/// A line of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// When, in seconds since 1970, UTC.
    pub at: u64,
    /// Who.
    #[serde(flatten)]
    pub doer: Doer,
    /// Address that the request came from; absent: the shell of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What: method and route, or the command.
    pub what: String,
    /// Its values, without secrets.
    pub values: Map<String, Value>,
    /// Status of the answer; absent: of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// "done", or why not.
    pub result: String,
    /// Failed attempts since the line before that have no line of their own, since there were more than 60 a minute.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Doer {
    /// The doer of a request without a login.
    pub(crate) const fn anonymous() -> Self {
        Self { by: Actor::Anonymous, who: String::new(), role: None }
    }

    /// An account as the doer.
    pub(crate) fn account(name: &str, role: Option<Role>) -> Self {
        Self { by: Actor::Account, who: name.to_owned(), role }
    }

    /// The user who typed the command: the caller of `sudo`, or the user of this process.
    fn shell() -> Self {
        let name = ["SUDO_USER", "USER"].into_iter().find_map(|name| std::env::var(name).ok());
        let number = || fs::metadata("/proc/self").map_or_else(|_| String::new(), |own| format!("uid {}", own.uid()));
        Self { by: Actor::Shell, who: name.unwrap_or_else(number), role: None }
    }
}

impl AuditEntry {
    /// An entry about a request, successful or not.
    pub(crate) fn request(doer: Doer, from: IpAddr, what: impl Into<String>) -> Self {
        let from = Some(from.to_canonical().to_string());
        let (values, result) = (Map::new(), DONE.to_owned());
        Self { at: 0, doer, from, what: what.into(), values, status: Some(200), result, left_out: 0 }
    }

    /// Adds a value.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.values.insert(key.to_owned(), value.into());
        self
    }

    /// Sets the status and its meaning.
    pub(crate) fn ended(self, status: u16, result: impl Into<String>) -> Self {
        Self { status: Some(status), result: result.into(), ..self }
    }
}

/// The log of a state directory; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Audit {
    folder: Arc<Path>,
    clock: Clock,
    failures: Arc<Mutex<Failures>>,
}

impl Audit {
    pub(crate) fn of(state: &Path, clock: Clock) -> Self {
        Self { folder: state.into(), clock, failures: Arc::default() }
    }

    /// Checks that a line could be written now: changes that cannot be logged are not made.
    ///
    /// # Errors
    /// The reason why not.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.open().map(drop).with_context(|| self.cannot("write to"))
    }

    /// Adds a line.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(&self, mut entry: AuditEntry) -> anyhow::Result<()> {
        entry.at = self.clock.unix();
        entry.left_out = self.failures().take_left_out();
        let line = serde_json::to_string(&entry)? + "\n";
        self.open().and_then(|mut file| file.write_all(line.as_bytes())).with_context(|| self.cannot("write to"))
    }

    /// Adds a line about something that has already happened. Failures go to the service's log.
    pub(crate) fn note(&self, entry: AuditEntry) {
        if let Err(error) = self.write(entry) {
            eprintln!("not in the audit log: {error:#}");
        }
    }

    /// Adds a line about a failed attempt; the number per minute is limited, since attempts cost nothing.
    pub(crate) fn note_failure(&self, entry: AuditEntry) {
        if self.failures().has_room(self.clock.uptime()) {
            self.note(entry);
        }
    }

    fn failures(&self) -> std::sync::MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the file of this month for appending. Terminates a line that a crash has cut short.
    fn open(&self) -> Result<File> {
        make_folder(&self.folder)?;
        let path = self.path(&month(self.clock.unix()));
        let is_new = !path.exists();
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path)?;
        if is_new {
            give_to_owner(&file, &self.folder)?;
            self.prune();
        }
        if file.metadata()?.len() > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        Ok(file)
    }

    /// Removes files whose last line is more than a year old.
    pub(crate) fn prune(&self) {
        let first = month(self.clock.unix().saturating_sub(KEPT_S));
        for month in self.months().unwrap_or_default().into_iter().filter(|month| *month < first) {
            if let Err(error) = fs::remove_file(self.path(&month)) {
                eprintln!("{}: {error}", self.path(&month).display());
            }
        }
    }

    fn path(&self, month: &str) -> PathBuf {
        self.folder.join(format!("audit-{month}.jsonl"))
    }

    /// The months that have a file, the earliest first.
    fn months(&self) -> Result<Vec<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
            entries => entries?,
        };
        let month = |name: &str| Some(name.strip_prefix("audit-")?.strip_suffix(".jsonl")?.to_owned());
        let mut months = Vec::new();
        for entry in entries {
            months.extend(entry?.file_name().to_str().and_then(month));
        }
        months.sort_unstable();
        Ok(months)
    }

    fn cannot(&self, what: &str) -> String {
        format!("cannot {what} the audit log in {}", self.folder.display())
    }
}

/// The month of a time in seconds since 1970, UTC: "2026-11".
fn month(unix_s: u64) -> String {
    let mut date = humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + Duration::from_secs(unix_s)).to_string();
    date.truncate("2026-11".len());
    date
}

/// The audit log for changes by shell commands, after a check that it can be written.
///
/// # Errors
/// It cannot be written.
pub(crate) fn of_shell(config: &WebConfig, clock: &Clock) -> anyhow::Result<Audit> {
    let audit = Audit::of(&config.state, clock.clone());
    audit.check().context("run it with sudo, or as the user of evenair-web")?;
    Ok(audit)
}

/// An entry about a shell command.
pub(crate) fn command(what: &str) -> AuditEntry {
    let (values, result) = (Map::new(), DONE.to_owned());
    AuditEntry {
        at: 0,
        doer: Doer::shell(),
        from: None,
        what: what.to_owned(),
        values,
        status: None,
        result,
        left_out: 0,
    }
}

/// The newest entries of the log, at most `most`, the oldest of them first.
///
/// # Errors
/// It cannot be read.
pub fn newest_entries(config: &WebConfig, most: usize) -> anyhow::Result<Vec<AuditEntry>> {
    let audit = Audit::of(&config.state, Clock::new());
    let (mut entries, mut before) = (Vec::new(), None);
    while entries.len() < most {
        let page = audit.page(most - entries.len(), before.as_ref()).context("run it with sudo")?;
        entries.extend(page.entries);
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    entries.reverse();
    Ok(entries)
}

#[cfg(test)]
mod tests;
