//! The setup link, which makes an account. `evenair-web setup` prints it, on a shell of the machine.
//!
//! The state directory has the digest of its token and its creation time, in `setup-link.json`. Another call of the command replaces
//! it; using the link removes it.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::account::Role;
use crate::clock::Clock;
use crate::secret::{Digest256, digest, from_hex, hex, new_secret, read_private, write_private};

/// The name of the file.
pub(crate) const FILE: &str = "setup-link.json";
/// Validity of a link, in seconds.
pub(crate) const VALID_S: u64 = 15 * 60;

#[derive(Serialize, Deserialize)]
struct LinkFile {
    /// SHA-256 of the token, in hexadecimal.
    token_sha256: String,
    /// Creation time, in seconds since 1970.
    made: u64,
    #[serde(flatten)]
    grant: Grant,
}

/// The account that a link makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its role.
    pub role: Role,
    /// Its name; `None`: the browser chooses.
    pub name: Option<String>,
}

/// The link of a state directory.
#[derive(Debug)]
pub(crate) struct Link {
    path: PathBuf,
}

impl Grant {
    /// An admin account with any name.
    pub const ADMIN: Self = Self { role: Role::Admin, name: None };
}

impl Link {
    pub(crate) fn of(state: &Path) -> Self {
        Self { path: state.join(FILE) }
    }

    /// Makes a link, which replaces an earlier one, and returns its token.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn make(&self, clock: &Clock, grant: Grant) -> Result<String> {
        let token = new_secret();
        let file = LinkFile { token_sha256: hex(&digest(&token)), made: clock.unix(), grant };
        write_private(&self.path, &serde_json::to_string(&file).map_err(Error::other)?)?;
        Ok(token)
    }

    /// The grant of the link, if this is its token and it is at most [`VALID_S`] old. A link with a future time is invalid, because
    /// after the clock was set back its age is unknown; so is one with a damaged file.
    pub(crate) fn grant(&self, token: &str, clock: &Clock) -> Option<Grant> {
        let file: LinkFile = serde_json::from_str(&read_private(&self.path).ok()??).ok()?;
        let age = clock.unix().checked_sub(file.made)?;
        let kept: Digest256 = from_hex(&file.token_sha256)?;
        (age < VALID_S && bool::from(kept.ct_eq(&digest(token)))).then_some(file.grant)
    }

    /// Invalidates the link.
    ///
    /// # Errors
    /// The file cannot be removed: then the link must not be used.
    pub(crate) fn remove(&self) -> Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}
