//! Tokens of the API: programs send one with each request, as `Authorization: Bearer TOKEN` (RFC 6750).
//!
//! Each has a file of its own in the state directory, `token-ID.json`, with the token's SHA-256, whose first digits are the ID.
//! `evenair-web token` makes and removes the files, and the server reads the file for each request: a removed token is refused at
//! once.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use axum::http::{HeaderMap, header};
use evenair_reader::{closest, did_you_mean};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::account::Role;
use crate::audit::{command, of_shell};
use crate::clock::Clock;
use crate::config::WebConfig;
use crate::secret::{Digest256, digest, from_hex, hex, new_secret, read_private, write_private};

/// Prefix of tokens, by which secret scanners recognize them.
const PREFIX: &str = "evenair_";
/// Number of digits of an id.
const ID_DIGITS: usize = 8;
/// Seconds of a day.
const DAY_S: u64 = 24 * 60 * 60;
/// Longest note, in characters.
const LONGEST_NOTE: usize = 100;

/// The file of a token.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    /// SHA-256 of the token, in hexadecimal.
    token_sha256: String,
    role: Role,
    made_s: u64,
    expires_s: u64,
    note: String,
}

/// Parameters of a new token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenGrant {
    /// Role of requests with it.
    pub role: Role,
    /// Validity, in days.
    pub days: u32,
    /// Its purpose: 1 to 100 characters.
    pub note: String,
}

/// A token as lists show it: not the token itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Token")]
pub struct TokenEntry {
    /// What `evenair web token remove` knows it by.
    pub id: String,
    /// What who shows it may do.
    pub role: Role,
    /// When it was made, in seconds since 1970, UTC.
    pub made_s: u64,
    /// When it ends, in seconds since 1970, UTC.
    pub expires_s: u64,
    /// What it is for.
    pub note: String,
}

/// The tokens of a state directory.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    state: Arc<Path>,
}

impl Tokens {
    pub(crate) fn of(state: &Path) -> Self {
        Self { state: state.into() }
    }

    fn path(&self, id: &str) -> PathBuf {
        self.state.join(format!("token-{id}.json"))
    }

    /// The role of a valid token. A token with a future time is invalid, because after the clock was set back its age is unknown; so
    /// is one with a damaged file.
    pub(crate) fn role(&self, token: &Digest256, clock: &Clock) -> Option<Role> {
        let file = self.read(&id_of(token)).unwrap_or_else(|error| {
            eprintln!("a token is refused: {error:#}");
            None
        })?;
        let kept: Digest256 = from_hex(&file.token_sha256)?;
        let is_valid = (file.made_s..file.expires_s).contains(&clock.unix());
        (is_valid && bool::from(kept.ct_eq(token))).then_some(file.role)
    }

    /// The file of a token; `None` if it does not exist.
    fn read(&self, id: &str) -> Result<Option<TokenFile>> {
        let path = self.path(id);
        let read = || -> Result<Option<TokenFile>> {
            let Some(text) = read_private(&path)? else { return Ok(None) };
            Ok(Some(serde_json::from_str(&text).context("it is damaged")?))
        };
        read().with_context(|| format!("{}: make another token, and remove this one", path.display()))
    }

    /// The ids of all tokens.
    fn ids(&self) -> Result<Vec<String>> {
        let names = match fs::read_dir(&self.state) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
            entries => entries.and_then(|entries| {
                entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<std::io::Result<Vec<_>>>()
            }),
        };
        let names = names.with_context(|| cannot("read", &self.state))?;
        let id = |name: &str| Some(name.strip_prefix("token-")?.strip_suffix(".json")?.to_owned());
        Ok(names.iter().filter_map(|name| id(name.to_str()?)).collect())
    }

    /// All tokens, the oldest first; including expired ones.
    ///
    /// # Errors
    /// The directory or a file cannot be read, or is damaged.
    pub(crate) fn list(&self) -> Result<Vec<TokenEntry>> {
        let mut list = Vec::new();
        for id in self.ids()? {
            // It may have been removed meanwhile.
            let Some(TokenFile { role, made_s, expires_s, note, .. }) = self.read(&id)? else { continue };
            list.push(TokenEntry { id, role, made_s, expires_s, note });
        }
        list.sort_by(|a, b| (a.made_s, &a.id).cmp(&(b.made_s, &b.id)));
        Ok(list)
    }
}

/// The id of a token.
pub(crate) fn id_of(token: &Digest256) -> String {
    hex(&token[..ID_DIGITS / 2])
}

fn cannot(what: &str, state: &Path) -> String {
    format!("cannot {what} {}: run it with sudo, or as the user of evenair-web", state.display())
}

/// The token of a request, valid or not; `None` without one.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<Digest256> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    scheme.eq_ignore_ascii_case("bearer").then(|| digest(token.trim()))
}

/// Makes a token. Only its hash is stored; it is returned only here.
///
/// # Errors
/// The note is invalid, or the state directory cannot be written.
pub fn add_token(config: &WebConfig, clock: &Clock, grant: TokenGrant) -> Result<(String, TokenEntry)> {
    let TokenGrant { role, days, note } = grant;
    let length = note.chars().count();
    if !(1..=LONGEST_NOTE).contains(&length) || note.chars().any(char::is_control) {
        bail!("the note {note:?} has to have 1 to {LONGEST_NOTE} characters, and no control characters");
    }
    let audit = of_shell(config, clock)?;
    let tokens = Tokens::of(&config.state);
    let (token, hash) = loop {
        let token = PREFIX.to_owned() + &new_secret();
        let hash = digest(&token);
        if !tokens.path(&id_of(&hash)).exists() {
            break (token, hash);
        }
    };
    let made_s = clock.unix();
    let expires_s = made_s + u64::from(days) * DAY_S;
    let file = TokenFile { token_sha256: hex(&hash), role, made_s, expires_s, note };
    let id = id_of(&hash);
    let text = serde_json::to_string_pretty(&file)? + "\n";
    write_private(&tokens.path(&id), &text).with_context(|| cannot("write to", &config.state))?;
    let entry = command("evenair-web token add").with("token", &*id).with("role", role.name());
    audit.write(entry.with("days", days).with("note", &*file.note))?;
    Ok((token, TokenEntry { id, role, made_s, expires_s, note: file.note }))
}

/// All tokens, the oldest first; including expired ones.
///
/// # Errors
/// The state directory or a token's file cannot be read, or is damaged.
pub fn list_tokens(config: &WebConfig) -> Result<Vec<TokenEntry>> {
    Tokens::of(&config.state).list()
}

/// Removes a token: it is refused from now on.
///
/// # Errors
/// There is no token with this id, or its file cannot be removed.
pub fn remove_token(config: &WebConfig, id: &str) -> Result<()> {
    let tokens = Tokens::of(&config.state);
    let ids = tokens.ids()?;
    if !ids.iter().any(|other| other == id) {
        let near = did_you_mean(closest(id, ids.iter().map(String::as_str)));
        bail!("there is no token {id:?}{near}; `evenair web token list` lists all");
    }
    let audit = of_shell(config, &Clock::new())?;
    fs::remove_file(tokens.path(id)).with_context(|| cannot("write to", &config.state))?;
    audit.write(command("evenair-web token remove").with("token", id))
}
