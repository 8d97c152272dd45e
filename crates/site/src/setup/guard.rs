//! A watchdog for an unconfirmed change: it reverts the change when the process that made it ends in any way.
//!
//! It is a shell script in a separate process, with systemd in a separate unit, so that it survives a session whose
//! processes are all killed. Its file below `/run` is the claim: the process that removes the file decides, so that only
//! one does. A power loss needs no watchdog, since an unconfirmed change does not survive a reboot.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, id};
use std::time::Duration;
use std::{fs, io};

use evenair_sys::iproute;

use super::act::Act;
use super::keeper::Machine;

/// Polling interval, in milliseconds.
const INTERVAL_MS: u128 = 200;

/// An armed watchdog. It stays armed when dropped.
#[derive(Debug)]
pub(super) struct Guard {
    file: PathBuf,
    process: Option<Child>,
}

impl Guard {
    /// Arms a watchdog that runs this shell script when this process has ended, or after `within`.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn arm(undo: &str, within: Duration) -> Result<Self, String> {
        let file = PathBuf::from(format!("/run/evenair-init.{}", id()));
        let describe = |error: io::Error| format!("{}: {error}", file.display());
        fs::write(&file, script(&file, within, undo)).map_err(describe)?;
        let name = file.display().to_string();
        let unit = format!("--unit=evenair-init-{}", id());
        if Machine::this().has_systemd()
            && iproute::run(&["systemd-run", "--quiet", "--collect", &unit, "sh", &name]).is_ok()
        {
            return Ok(Self { file, process: None });
        }
        let mut shell = Command::new("sh");
        // In a separate process group, so that terminal signals do not reach it.
        shell.arg(&file).process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match shell.spawn() {
            Ok(process) => Ok(Self { file, process: Some(process) }),
            Err(error) => {
                // The error of the start is what matters.
                let _ = fs::remove_file(&file);
                Err(format!("start a shell: {error}"))
            }
        }
    }

    /// Disarms it. `false`: it has reverted the change, or is about to.
    pub(super) fn disarm(mut self) -> bool {
        let is_ours = fs::remove_file(&self.file).is_ok();
        if let Some(mut process) = self.process.take() {
            // It ends within an interval, or once it has reverted the change.
            let _ = process.wait();
        }
        is_ours
    }
}

fn script(file: &Path, within: Duration, undo: &str) -> String {
    let file = Act::quoted(&file.to_string_lossy());
    let looks = within.as_millis() / INTERVAL_MS;
    format!(
        "#!/bin/sh\n# Takes back what evenair init --apply makes, if that ends before it is confirmed.\ntrap '' HUP INT TERM\n\
         left={looks}\n\
         while [ -e {file} ] && [ -e /proc/{pid}/exe ] && [ $left -gt 0 ]; do sleep 0.{INTERVAL_MS}; left=$((left - 1)); done\n\
         rm {file} 2>/dev/null || exit 0\n{undo}",
        pid = id(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The claim is named after the process, so there is only one test.
    #[test]
    fn it_acts_after_the_timeout_and_not_when_disarmed() {
        let folder = tempfile::tempdir().expect("a folder");
        let mark = folder.path().join("taken back");
        let undo = format!("echo so >{}\n", Act::quoted(&mark.to_string_lossy()));
        let Ok(guard) = Guard::arm(&undo, Duration::from_secs(600)) else {
            return eprintln!("skipped: needs to write to /run");
        };
        assert!(guard.disarm(), "nobody else has claimed it");
        assert!(!mark.exists());
        let mut guard = Guard::arm(&undo, Duration::ZERO).expect("as before");
        if let Some(process) = &mut guard.process {
            process.wait().expect("it ends");
            assert_eq!(fs::read_to_string(&mark).expect("made"), "so\n");
            assert!(!guard.disarm(), "too late");
        }
    }
}
