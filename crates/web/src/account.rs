//! Accounts and their file, `accounts.json` in the state directory.
//!
//! The server reads it at its start, and only the server writes it. A damaged file is an error: without its accounts the page would be
//! open.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::password::PasswordHash;
use crate::secret::{read_private, write_private};

/// The name of the file.
const FILE: &str = "accounts.json";
/// Version of its format.
const VERSION: u32 = 1;
/// Longest name, in characters.
const LONGEST_NAME: usize = 32;
/// The form of a valid name, for messages.
pub(crate) const NAMES: &str = "1 to 32 of a to z, 0 to 9, '.', '_' and '-', a letter or digit first";

/// What an account may do; each role may do what those before may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// See the page.
    View,
    /// Change what the box does.
    Operate,
    /// Change accounts and settings.
    Admin,
}

impl Role {
    /// Name of the role.
    pub const fn name(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Account {
    /// Its name, see [`NAMES`].
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Hash of its password.
    pub password: PasswordHash,
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AccountsFile {
    version: u32,
    accounts: Vec<Account>,
}

/// All accounts.
#[derive(Debug)]
pub(crate) struct Accounts {
    path: PathBuf,
    list: Vec<Account>,
}

impl Accounts {
    /// Reads the accounts of a state directory; none without a file.
    ///
    /// # Errors
    /// The file cannot be read, others may read it, or it is damaged (with the position).
    pub(crate) fn load(state: &Path) -> Result<Self> {
        let path = state.join(FILE);
        let read = || {
            let Some(text) = read_private(&path)? else { return Ok(Vec::new()) };
            parse(&text)
        };
        let remedy = || format!("the accounts of the page, {}, cannot be read: restore the file", path.display());
        let list = read().with_context(remedy)?;
        Ok(Self { path, list })
    }

    /// Whether there is no account.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The names of all accounts.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|account| &*account.name)
    }

    /// The account of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&Account> {
        self.list.iter().find(|account| account.name == name)
    }

    /// Adds an account, or replaces the one with its name, and writes the file.
    ///
    /// # Errors
    /// The file cannot be written; then the accounts are unchanged.
    pub(crate) fn put(&mut self, account: Account) -> std::io::Result<()> {
        let mut accounts = self.list.clone();
        accounts.retain(|other| other.name != account.name);
        accounts.push(account);
        let file = AccountsFile { version: VERSION, accounts };
        let text = serde_json::to_string_pretty(&file).map_err(std::io::Error::other)?;
        write_private(&self.path, &(text + "\n"))?;
        self.list = file.accounts;
        Ok(())
    }
}

/// Whether an account may have this name.
pub(crate) fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= LONGEST_NAME
        && name.starts_with(is_plain)
        && name.chars().all(|c| is_plain(c) || matches!(c, '.' | '_' | '-'))
}

/// Parses the file's text. Errors of serde name line and column.
fn parse(text: &str) -> Result<Vec<Account>> {
    let AccountsFile { version, accounts } = serde_json::from_str(text).context("it is damaged")?;
    if version != VERSION {
        bail!("version {version}: this program reads version {VERSION}");
    }
    if accounts.is_empty() {
        bail!("it is damaged: it has no account, and never is written so");
    }
    let mut names = HashSet::new();
    for (index, Account { name, password, .. }) in accounts.iter().enumerate() {
        let damage = match () {
            () if !is_name(name) => format!("the name is not {NAMES}"),
            () if !password.is_whole() => "the hash of its password is not whole".into(),
            () if !names.insert(name) => "its name is that of another".into(),
            () => continue,
        };
        bail!("it is damaged: account {} ({name:?}): {damage}", index + 1);
    }
    Ok(accounts)
}
