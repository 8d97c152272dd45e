//! The link that makes an account: who has a shell of the machine asks for it, with `evenair-web setup`.
//!
//! The state directory has the digest of its token and the time at which it was made, in `setup-link.json`: another start of the
//! command replaces it, and its use removes it.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::clock::Clock;
use crate::secret::{Digest256, digest, from_hex, hex, new_secret, read_private, write_private};

/// The name of the file.
const FILE: &str = "setup-link.json";
/// How long a link is valid, in seconds.
pub(crate) const VALID_S: u64 = 15 * 60;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkFile {
    /// SHA-256 of the token, hexadecimal.
    token_sha256: String,
    /// Seconds since 1970.
    made: u64,
}

/// The link of a state directory.
#[derive(Debug)]
pub(crate) struct Link {
    path: PathBuf,
}

impl Link {
    pub(crate) fn of(state: &Path) -> Self {
        Self { path: state.join(FILE) }
    }

    /// Makes a link in place of the one that is there, and returns its token.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn make(&self, clock: &Clock) -> Result<String> {
        let token = new_secret();
        let file = LinkFile { token_sha256: hex(&digest(&token)), made: clock.unix() };
        write_private(&self.path, &serde_json::to_string(&file).map_err(Error::other)?)?;
        Ok(token)
    }

    /// Whether this is its token, and it was made at most [`VALID_S`] ago. A link of the future is none: the clock was set back, and
    /// nobody knows how old it is. Nor is one whose file is damaged.
    pub(crate) fn is_valid(&self, token: &str, clock: &Clock) -> bool {
        let Ok(Some(text)) = read_private(&self.path) else { return false };
        let Ok(file) = serde_json::from_str::<LinkFile>(&text) else { return false };
        let age = clock.unix().checked_sub(file.made);
        let kept: Option<Digest256> = from_hex(&file.token_sha256);
        age.is_some_and(|age| age < VALID_S) && kept.is_some_and(|kept| kept.ct_eq(&digest(token)).into())
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
