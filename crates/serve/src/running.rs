//! The state file of a run: the last command about the mode, and whether the process had a clean exit. The next process reads it, also
//! after a reboot or a power cut.
//!
//! It is in the directory of the history; without a history in the state directory of the service (STATE_DIRECTORY in
//! systemd.exec(5)), or else in its runtime directory, which a stop or a boot removes. Without any of them there is none. A command is
//! written by a thread of its own: no command waits for a slow disk.
//!
//! The file does not decide the mode, which follows from `persisted_mode.rs` or the configuration.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Instant, SystemTime};

use evenair_api::history::Event;
use evenair_api::{Mode, ModeCommand, RunStatus, StartedOtherwise};
use evenair_boxfile::BoxConfig;
use evenair_boxfile::small_file::{read_text, replace};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use crate::wall_clock::seconds;

/// Name of the file in its directory.
const NAME: &str = "run.json";
/// Longest file that is read, in bytes; far more than needed.
const LONGEST_FILE: u64 = 4096;

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    /// The mode in the configuration. If it changes, the last command is no longer valid.
    configured: Mode,
    last_command: Option<ModeCommand>,
    started_otherwise: Option<StartedOtherwise>,
    /// Whether the process had a clean exit.
    clean: bool,
}

/// The run of this process. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// When this process began, if the previous one had no clean exit.
    restarted: Option<Instant>,
    started_at_s: f64,
    /// Whether the previous process had a clean exit, or there was none.
    clean: bool,
}

#[derive(Debug, Default)]
struct State {
    kept: Kept,
    /// Whether [`Running::start`] was called.
    has_started: bool,
    /// `None`: there is no file.
    writer: Option<Writer>,
}

/// The thread that writes the file. It ends when the sender goes.
#[derive(Debug)]
struct Writer {
    texts: Sender<Kept>,
    thread: JoinHandle<()>,
}

impl Default for Kept {
    fn default() -> Self {
        Self { configured: Mode::Bypassed, last_command: None, started_otherwise: None, clean: true }
    }
}

impl Running {
    /// Begins a run.
    pub(crate) fn begin(config: &BoxConfig) -> Self {
        Self::begin_in(directory(config).as_deref(), configured_mode(config))
    }

    fn begin_in(directory: Option<&Path>, configured: Mode) -> Self {
        let file = directory.map(|directory| directory.join(NAME));
        let before = file.as_deref().and_then(read);
        let clean = before.as_ref().is_none_or(|before| before.clean);
        if !clean {
            info!("the box before had not ended in order");
        }
        let valid = before.filter(|before| before.configured == configured);
        let kept = Kept { configured, clean: false, ..valid.unwrap_or_default() };
        let writer = file.and_then(|file| {
            if let Some(directory) = directory {
                // If it cannot be created, the file cannot be written, which is logged.
                let _ = std::fs::create_dir_all(directory);
            }
            write(&file, &kept);
            Writer::start(file)
        });
        Self(Arc::new(Shared {
            state: State { kept, has_started: false, writer }.into(),
            restarted: (!clean).then(Instant::now),
            started_at_s: seconds(SystemTime::now()),
            clean,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the box opens its ports in this mode, for the first time or again.
    pub(crate) fn start(&self, mode: Mode) -> Event {
        let mut state = self.state();
        let is_first = !std::mem::replace(&mut state.has_started, true);
        let clean = self.0.clean || !is_first;
        let kept = &mut state.kept;
        let last_command = kept.last_command;
        if last_command.is_some_and(|command| command.mode() != mode) {
            kept.started_otherwise.get_or_insert(StartedOtherwise { at_s: self.0.started_at_s, clean });
        } else {
            kept.started_otherwise = None;
        }
        state.write();
        Event::Start { mode, last_command, clean }
    }

    /// Notes a command about the mode.
    pub(crate) fn command(&self, command: ModeCommand) {
        let mut state = self.state();
        (state.kept.last_command, state.kept.started_otherwise) = (Some(command), None);
        state.write();
    }

    /// Whether the box is to be inserted by the last command, or else by the configuration.
    pub(crate) fn is_insert_commanded(&self) -> bool {
        let state = self.state();
        state.kept.last_command.map_or(state.kept.configured, ModeCommand::mode) == Mode::Inserted
    }

    /// The status of the run.
    pub(crate) fn status(&self) -> RunStatus {
        let kept = self.state().kept.clone();
        let Kept { last_command, started_otherwise, .. } = kept;
        RunStatus { started_at_s: self.0.started_at_s, last_command, clean: self.0.clean, started_otherwise }
    }

    /// Seconds since this process began, if the previous one had no clean exit.
    pub(crate) fn restarted_s(&self) -> Option<f64> {
        self.0.restarted.map(|since| since.elapsed().as_secs_f64())
    }

    /// Notes a clean exit.
    pub(crate) fn end(self) {
        let writer = {
            let mut state = self.state();
            state.kept.clean = true;
            state.write();
            state.writer.take()
        };
        if let Some(Writer { texts, thread }) = writer {
            drop(texts);
            let _ = thread.join();
        }
    }
}

impl State {
    /// Requests that the file is written.
    fn write(&self) {
        // A thread that could not be started was logged.
        self.writer.iter().for_each(|writer| drop(writer.texts.send(self.kept.clone())));
    }
}

impl Writer {
    fn start(file: PathBuf) -> Option<Self> {
        let (texts, inbox) = mpsc::channel();
        match thread::Builder::new().name("run state".into()).spawn(move || write_latest(&file, &inbox)) {
            Ok(thread) => Some(Self { texts, thread }),
            Err(error) => {
                warn!("no thread that keeps the last command: {error}");
                None
            }
        }
    }
}

/// Writes received contents, of several only the latest.
fn write_latest(file: &Path, inbox: &Receiver<Kept>) {
    while let Ok(first) = inbox.recv() {
        write(file, &inbox.try_iter().last().unwrap_or(first));
    }
}

fn write(file: &Path, kept: &Kept) {
    let text = serde_json::to_string(kept).expect("words and numbers");
    if let Err(error) = replace(file, text.as_bytes()) {
        warn!("{}: {error}: the next start will not know the last command, nor how this run ended", file.display());
    }
}

/// The content left by a previous process.
fn read(file: &Path) -> Option<Kept> {
    let text = match read_text(file, LONGEST_FILE) {
        Ok(text) => text,
        Err(error) => {
            if error.kind() != std::io::ErrorKind::NotFound {
                warn!("{}: {error}: the last command is not known", file.display());
            }
            return None;
        }
    };
    let kept = serde_json::from_str(&text);
    kept.inspect_err(|error| warn!("{}: {error}: the last command is not known", file.display())).ok()
}

/// Directory of the file.
fn directory(config: &BoxConfig) -> Option<PathBuf> {
    let of_service = |variable| {
        let directories = std::env::var_os(variable)?;
        std::env::split_paths(&directories).next()
    };
    let history = config.history.as_ref().map(|history| history.path.clone());
    history.or_else(|| of_service("STATE_DIRECTORY")).or_else(|| of_service("RUNTIME_DIRECTORY"))
}

/// The mode at the start by configuration.
pub(crate) const fn configured_mode(config: &BoxConfig) -> Mode {
    match config {
        BoxConfig { inserted: true, .. } => Mode::Inserted,
        BoxConfig { observing: true, .. } => Mode::Observing,
        _ => Mode::Bypassed,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A process that is killed: its file stays.
    fn kill(running: Running) {
        let writer = running.state().writer.take();
        if let Some(Writer { texts, thread }) = writer {
            drop(texts);
            thread.join().expect("it writes");
        }
    }

    fn text(event: &Event) -> String {
        event.text()
    }

    #[test]
    fn the_last_command_and_the_end_are_known_to_the_next_process() {
        let directory = tempfile::tempdir().expect("a directory");
        let begin = || Running::begin_in(Some(&directory.path().join("history")), Mode::Bypassed);
        let first = begin();
        assert_eq!(text(&first.start(Mode::Bypassed)), "bypassed");
        assert!(first.restarted_s().is_none() && !first.is_insert_commanded());
        first.command(ModeCommand::Insert);
        assert!(first.is_insert_commanded() && first.status().started_otherwise.is_none());
        kill(first);
        let second = begin();
        assert_eq!(
            text(&second.start(Mode::Bypassed)),
            "bypassed, although the last command was insert, after an unclean end: a crash, a kill or a power cut"
        );
        assert_eq!(text(&second.start(Mode::Inserted)), "inserted", "the same process opens its ports again");
        second.start(Mode::Bypassed);
        assert!(second.restarted_s().is_some_and(|seconds| seconds < 60.0) && second.is_insert_commanded());
        let status = second.status();
        assert_eq!((status.last_command, status.clean), (Some(ModeCommand::Insert), false));
        let otherwise = status.started_otherwise.expect("it is bypassed");
        second.end();
        // The bypass continues, since the same time.
        let third = begin();
        assert_eq!(
            text(&third.start(Mode::Bypassed)),
            "bypassed, although the last command was insert, after a stop or a reboot"
        );
        assert_eq!(third.status().started_otherwise.map(|start| start.at_s), Some(otherwise.at_s));
        third.command(ModeCommand::Bypass);
        assert_eq!((third.status().started_otherwise, third.is_insert_commanded()), (None, false));
        third.end();
        assert_eq!(text(&begin().start(Mode::Bypassed)), "bypassed");
    }

    #[test]
    fn a_command_is_valid_until_the_configuration_changes() {
        let directory = tempfile::tempdir().expect("a directory");
        let begin = |configured| Running::begin_in(Some(directory.path()), configured);
        let first = begin(Mode::Bypassed);
        first.command(ModeCommand::Insert);
        kill(first);
        let second = begin(Mode::Observing);
        assert_eq!(
            second.start(Mode::Observing).text(),
            "observing, after an unclean end: a crash, a kill or a power cut"
        );
        assert!(!second.is_insert_commanded() && begin(Mode::Inserted).is_insert_commanded());
    }

    #[test]
    fn an_invalid_file_is_ignored() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join(NAME), "nonsense").expect("written");
        let running = Running::begin_in(Some(directory.path()), Mode::Bypassed);
        assert!(running.restarted_s().is_none() && running.status().last_command.is_none());
        running.end();
        let kept = read(&directory.path().join(NAME)).expect("written anew");
        assert!(kept.clean);
        Running::begin_in(None, Mode::Bypassed).end();
    }
}
