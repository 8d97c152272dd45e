//! The link that makes an account: who has a shell of the machine asks for it, with `evenair-web setup`.
//!
//! The state directory has the digest of its token and the time at which it was made, in `setup-link.json`: another start of the
//! command replaces it, and its use removes it.

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
/// How long a link is valid, in seconds.
pub(crate) const VALID_S: u64 = 15 * 60;

#[derive(Serialize, Deserialize)]
struct LinkFile {
    /// SHA-256 of the token, hexadecimal.
    token_sha256: String,
    /// Seconds since 1970.
    made: u64,
    #[serde(flatten)]
    grant: Grant,
}

/// What a link makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The role of the account.
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
    /// An account of an admin, with whatever name.
    pub const ADMIN: Self = Self { role: Role::Admin, name: None };
}

impl Link {
    pub(crate) fn of(state: &Path) -> Self {
        Self { path: state.join(FILE) }
    }

    /// Makes a link in place of the one that is there, and returns its token.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn make(&self, clock: &Clock, grant: Grant) -> Result<String> {
        let token = new_secret();
        let file = LinkFile { token_sha256: hex(&digest(&token)), made: clock.unix(), grant };
        write_private(&self.path, &serde_json::to_string(&file).map_err(Error::other)?)?;
        Ok(token)
    }

    /// What it makes, if this is its token, and it was made at most [`VALID_S`] ago. A link of the future is none: the clock was set
    /// back, and nobody knows how old it is. Nor is one whose file is damaged.
    pub(crate) fn grant(&self, token: &str, clock: &Clock) -> Option<Grant> {
        let file: LinkFile = serde_json::from_str(&read_private(&self.path).ok()??).ok()?;
        let age = clock.unix().checked_sub(file.made)?;
        let kept: Digest256 = from_hex(&file.token_sha256)?;
        (age < VALID_S && bool::from(kept.ct_eq(&digest(token)))).then_some(file.grant)
    }

    /// Uses the link up.
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
