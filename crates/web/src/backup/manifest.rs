//! The manifest of a backup, its first entry.

use std::io::{Read, Result};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::is_kept;
use crate::secret::hex;

/// The name of the entry.
pub(super) const MANIFEST: &str = "manifest.json";
/// Version of the format. Later ones are not understood.
const FORMAT: u32 = 1;
/// Bytes read at a time.
const BLOCK: usize = 64 << 10;

/// The manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// Version of the format.
    pub format: u32,
    /// Version of the program that made the backup.
    pub version: String,
    /// When it was made, in seconds since 1970, UTC.
    pub made_s: u64,
    /// All files, in their order in the archive.
    pub files: Vec<Listed>,
}

/// Only the version, for any format.
#[derive(Deserialize)]
struct AnyFormat {
    format: u32,
    version: String,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listed {
    /// Its path below the state directory.
    pub path: String,
    /// Its length, in bytes.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

impl Manifest {
    pub(super) fn of(made_s: u64, files: Vec<Listed>) -> Self {
        Self { format: FORMAT, version: evenair_cli::VERSION.to_owned(), made_s, files }
    }

    /// Parses a manifest.
    ///
    /// # Errors
    /// It is of a later format, or damaged.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let AnyFormat { format, version } = serde_json::from_str(text).context("its manifest is damaged")?;
        if format != FORMAT {
            bail!(
                "it is of format {format}, made by evenair-web {version}, and this program ({}) reads format {FORMAT}: restore it with \
                 that version or a later one",
                evenair_cli::VERSION
            );
        }
        let manifest: Self = serde_json::from_str(text).context("its manifest is damaged")?;
        for Listed { path, .. } in &manifest.files {
            if !is_plain(path) || !path.split('/').next().is_some_and(is_kept) {
                bail!("its manifest is damaged: {path:?} is no file that a backup has");
            }
        }
        Ok(manifest)
    }
}

/// Whether a relative path stays below its folder.
fn is_plain(path: &str) -> bool {
    path.split('/').all(|part| !part.is_empty() && part != "." && part != "..") && !path.contains('\0')
}

impl Listed {
    /// The entry of a file, read to its end.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn of(path: &str, file: &mut impl Read) -> Result<Self> {
        let (mut digest, mut bytes, mut block) = (Sha256::new(), 0, vec![0; BLOCK]);
        loop {
            let length = file.read(&mut block)?;
            if length == 0 {
                break;
            }
            digest.update(&block[..length]);
            bytes += length as u64;
        }
        Ok(Self { path: path.to_owned(), bytes, sha256: hex(&digest.finalize()) })
    }
}
