//! A file of the interface offloads that the box has switched off, until they are restored: a killed box cannot restore
//! them itself. The next process does, or systemd when the service has ended (`evenaird restore-offloads`).
//!
//! The file is in the runtime directory of the service (RUNTIME_DIRECTORY in systemd.exec(5)). Without a runtime directory
//! nothing is stored, and only a clean exit restores the interfaces.

use std::fs;
use std::path::{Path, PathBuf};

use evenair_sys::error::OsError;
use evenair_sys::iface;
use tracing::{info, warn};

use evenair_boxfile::small_file::read_text;

/// Longest file that is read, in bytes; far more than needed.
const LONGEST_FILE: u64 = 4096;

/// An offload that the box switches off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offload {
    /// Received segments are merged into super-packets.
    Merging,
    /// The card removes VLAN tags.
    VlanStripping,
}

impl Offload {
    const ALL: [Self; 2] = [Self::Merging, Self::VlanStripping];

    const fn word(self) -> &'static str {
        match self {
            Self::Merging => "merging",
            Self::VlanStripping => "vlan-stripping",
        }
    }

    /// Sets it, and returns its former state.
    fn set(self, name: &str, on: bool) -> Result<bool, OsError> {
        match self {
            Self::Merging => iface::set_receive_merging(name, on),
            Self::VlanStripping => iface::set_vlan_stripping(name, on),
        }
    }
}

/// An offload of an interface, off until this is dropped; or one that was off before.
#[derive(Debug)]
pub(crate) struct SwitchedOff {
    restore: Option<(String, Offload)>,
}

impl SwitchedOff {
    /// Switches it off, if it is on.
    ///
    /// # Errors
    /// As [`iface::set_receive_merging`] and [`iface::set_vlan_stripping`].
    pub(crate) fn of(name: &str, offload: Offload) -> Result<Self, OsError> {
        let was = offload.set(name, false)?;
        if was {
            change_kept(|lines| lines.push(line(name, offload)));
        }
        Ok(Self { restore: was.then(|| (name.to_owned(), offload)) })
    }

    /// Whether it was on.
    pub(crate) fn was_on(&self) -> bool {
        self.restore.is_some()
    }
}

impl Drop for SwitchedOff {
    fn drop(&mut self) {
        let Some((name, offload)) = &self.restore else { return };
        if let Err(error) = offload.set(name, true) {
            warn!("{error}: {} stays off", offload.word());
        }
        change_kept(|lines| lines.retain(|kept| *kept != line(name, *offload)));
    }
}

/// Restores offloads that a killed box has left switched off.
pub fn restore_offloads() {
    let Some(file) = file() else { return };
    for kept in lines(&file) {
        let Some((name, word)) = kept.split_once(' ') else { continue };
        let Some(offload) = Offload::ALL.into_iter().find(|offload| offload.word() == word) else { continue };
        match offload.set(name, true) {
            Ok(_) => info!("{name}: {word} is on again, which a box that was killed had switched off"),
            Err(error) => warn!("{error}: {word} stays off"),
        }
    }
    let _ = fs::remove_file(file);
}

fn line(name: &str, offload: Offload) -> String {
    format!("{name} {}", offload.word())
}

fn file() -> Option<PathBuf> {
    let directories = std::env::var_os("RUNTIME_DIRECTORY")?;
    Some(std::env::split_paths(&directories).next()?.join("offloads"))
}

fn lines(file: &Path) -> Vec<String> {
    read_text(file, LONGEST_FILE).map_or_else(|_| Vec::new(), |text| text.lines().map(str::to_owned).collect())
}

fn change_kept(change: impl Fn(&mut Vec<String>)) {
    let Some(file) = file() else { return };
    let mut lines = lines(&file);
    change(&mut lines);
    // A successor finds the old list or the new one, never a part.
    let new = file.with_extension("new");
    let text = lines.into_iter().map(|line| line + "\n").collect::<String>();
    if let Err(error) = fs::write(&new, text).and_then(|()| fs::rename(&new, &file)) {
        warn!("keep which offloads are off, in {}: {error}", file.display());
    }
}
