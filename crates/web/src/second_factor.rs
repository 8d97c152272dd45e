//! Second factors of accounts: a secret for an app's codes, and recovery codes.
//!
//! Each has a file of its own in the state directory, `totp-NAME.json`, which the command makes and the server changes with each login: a
//! used code is not accepted again, not even after a restart. Both lock the file. If the file is damaged or cannot be written, the
//! account cannot log in.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use evenair_reader::{closest, did_you_mean};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::account::Accounts;
use crate::audit::{command, of_shell};
use crate::clock::Clock;
use crate::config::WebConfig;
use crate::secret::{
    Digest256, digest, from_hex, give_to_owner, hex, make_folder, random, read_private, write_private,
};
use crate::totp::{Secret, base32, new_secret, step_of, uri};

/// Version of the file's format.
const VERSION: u32 = 1;
/// Number of recovery codes.
const RECOVERY_CODES: usize = 10;
/// Random bytes of a recovery code: 80 bits, so that a fast hash suffices.
const RECOVERY_BYTES: usize = 10;
/// Characters between the dashes of a recovery code.
const GROUP: usize = 4;
/// The lock file.
const LOCK: &str = ".totp-lock";

/// The file of a second factor.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FactorFile {
    version: u32,
    /// The secret, in hexadecimal.
    secret: String,
    /// Step of the last used code: it and earlier ones are not accepted any more.
    last_step: u64,
    /// SHA-256 of the unused recovery codes, in hexadecimal.
    recovery_sha256: Vec<String>,
}

/// The factor that confirmed a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Factor {
    /// A code of the app.
    Code,
    /// A recovery code.
    Recovery,
}

impl Factor {
    /// Its name, for the audit log.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Code => "totp",
            Self::Recovery => "recovery",
        }
    }
}

/// The second factors of a state directory.
#[derive(Clone, Debug)]
pub(crate) struct SecondFactors {
    state: Arc<Path>,
}

impl SecondFactors {
    pub(crate) fn of(state: &Path) -> Self {
        Self { state: state.into() }
    }

    fn path(&self, account: &str) -> PathBuf {
        self.state.join(format!("totp-{account}.json"))
    }

    /// Whether an account has a second factor.
    ///
    /// # Errors
    /// Its file cannot be read or is damaged.
    pub(crate) fn has(&self, account: &str) -> Result<bool> {
        Ok(self.read(account)?.is_some())
    }

    fn read(&self, account: &str) -> Result<Option<(FactorFile, Secret)>> {
        let path = self.path(account);
        let read = || -> Result<_> {
            let Some(text) = read_private(&path)? else { return Ok(None) };
            let file: FactorFile = serde_json::from_str(&text).context("it is damaged")?;
            if file.version != VERSION {
                bail!("version {}: this program reads version {VERSION}", file.version);
            }
            let secret = from_hex(&file.secret).context("it is damaged: the secret is not whole")?;
            Ok(Some((file, secret)))
        };
        let remedy = || format!("{}: `evenair web account totp {account} --off` removes it", path.display());
        read().with_context(remedy)
    }

    /// Checks a code and marks it as used; `None`: it is wrong or already used.
    ///
    /// # Errors
    /// The file cannot be read or written, or is damaged.
    pub(crate) fn take(&self, account: &str, code: &str, now_s: u64) -> Result<Option<Factor>> {
        let _lock = self.lock()?;
        let Some((mut file, secret)) = self.read(account)? else { return Ok(None) };
        let code: String = code.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
        let kept = digest(&code.to_ascii_uppercase());
        let is_same = |other: &String| from_hex::<32>(other).is_some_and(|other: Digest256| other.ct_eq(&kept).into());
        let factor = if let Some(step) = step_of(&secret, &code, now_s, file.last_step) {
            file.last_step = step;
            Factor::Code
        } else if let Some(index) = file.recovery_sha256.iter().position(is_same) {
            file.recovery_sha256.remove(index);
            Factor::Recovery
        } else {
            return Ok(None);
        };
        self.write(account, &file)?;
        Ok(Some(factor))
    }

    fn write(&self, account: &str, file: &FactorFile) -> Result<()> {
        let path = self.path(account);
        write_private(&path, &(serde_json::to_string_pretty(file)? + "\n")).with_context(|| path.display().to_string())
    }

    /// Locks the files, waiting for other processes.
    fn lock(&self) -> Result<File> {
        let path = self.state.join(LOCK);
        let lock = || -> std::io::Result<File> {
            make_folder(&self.state)?;
            let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path)?;
            give_to_owner(&file, &self.state)?;
            flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        };
        lock().with_context(|| path.display().to_string())
    }
}

/// A second factor that is not confirmed yet.
#[derive(Clone)]
pub struct NewFactor {
    account: String,
    secret: Secret,
}

impl NewFactor {
    /// For an existing account.
    ///
    /// # Errors
    /// There is no account of this name, or the accounts cannot be read.
    pub fn of(config: &WebConfig, account: &str) -> Result<Self> {
        check_account(config, account)?;
        Ok(Self { account: account.to_owned(), secret: new_secret() })
    }

    /// The `otpauth` URI for the QR code of authenticator apps.
    pub fn uri(&self) -> String {
        uri(&self.secret, &self.account)
    }

    /// The secret in base32, for typing.
    pub fn secret(&self) -> String {
        base32(&self.secret)
    }

    /// Makes it the second factor of the account, replacing an earlier one, if the code is the current one. Returns its recovery codes;
    /// `None`: the code is wrong.
    ///
    /// # Errors
    /// The state directory cannot be written.
    pub fn confirm(&self, config: &WebConfig, clock: &Clock, code: &str) -> Result<Option<Vec<String>>> {
        let Some(last_step) = step_of(&self.secret, code.trim(), clock.unix(), 0) else { return Ok(None) };
        let audit = of_shell(config, clock)?;
        let codes: Vec<_> = (0..RECOVERY_CODES).map(|_| base32(&random::<RECOVERY_BYTES>())).collect();
        let recovery_sha256 = codes.iter().map(|code| hex(&digest(code))).collect();
        let file = FactorFile { version: VERSION, secret: hex(&self.secret), last_step, recovery_sha256 };
        let factors = SecondFactors::of(&config.state);
        let lock = factors.lock()?;
        factors.write(&self.account, &file)?;
        drop(lock);
        audit.write(command("evenair-web account totp").with("name", &*self.account).with("on", true))?;
        let grouped = |code: &String| {
            let parts: Vec<_> = code.as_bytes().chunks(GROUP).map(String::from_utf8_lossy).collect();
            parts.join("-").to_lowercase()
        };
        Ok(Some(codes.iter().map(grouped).collect()))
    }
}

/// Removes the second factor of an account, even if its file is damaged.
///
/// # Errors
/// There is no such account, it has none, or the file cannot be removed.
pub fn remove_factor(config: &WebConfig, account: &str) -> Result<()> {
    check_account(config, account)?;
    let factors = SecondFactors::of(&config.state);
    let audit = of_shell(config, &Clock::new())?;
    let lock = factors.lock()?;
    let path = factors.path(account);
    match fs::remove_file(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("{account} has no second factor"),
        removed => removed.with_context(|| path.display().to_string())?,
    }
    drop(lock);
    audit.write(command("evenair-web account totp").with("name", account).with("on", false))
}

fn check_account(config: &WebConfig, account: &str) -> Result<()> {
    let accounts = Accounts::load(&config.state).context("run it with sudo, or as the user of evenair-web")?;
    if accounts.find(account).is_some() {
        return Ok(());
    }
    let near = did_you_mean(closest(account, accounts.names()));
    bail!("there is no account {account:?}{near}; `evenair web setup` makes one")
}
