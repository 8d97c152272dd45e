//! The whole box: the packet path, and the threads of the management plane.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use anyhow::{Context, Result};
use evenair_api::{Mode, Status};
use evenair_boxfile::BoxConfig;
use evenair_live::events::EventSink;
use evenair_live::{Ending, PacketPath, PortLost, Surroundings, has_ports, wait_for_ports};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tracing::{error, warn};

use crate::control::{Hangup, Parts, Server, log_balance};
use crate::history::History;
use crate::metrics;
use crate::names::Names;
use crate::persisted_mode::PersistedMode;
use crate::running::{Running, configured_mode};
use crate::state::BoxState;
use crate::vitals::Vitals;
use crate::watch::Watch;

/// Runs a box until SIGTERM, SIGINT or a command ends it, and returns its final state.
///
/// The calling process gets handlers for SIGTERM, SIGINT and SIGHUP; at SIGHUP it reloads its configuration.
///
/// # Errors
/// A missing interface or privilege, a control socket that cannot be created, an interface that is removed. The bridge carries the traffic
/// from then on.
pub fn run(config: BoxConfig) -> Result<Status> {
    let _ending = Ending;
    let running = Running::begin(&config);
    let status = once(config, Signals::catch()?, false, running.clone())?;
    running.end();
    Ok(status)
}

/// Runs a box as [`run`], but waits for its ports while they are missing or unusable, at the start and later. Returns its final state;
/// `None`: it was ended while it waited.
///
/// # Errors
/// A missing privilege, a control socket that cannot be created, anything that does not concern the ports.
pub fn run_when_ready(mut config: BoxConfig) -> Result<Option<Status>> {
    let _ending = Ending;
    let running = Running::begin(&config);
    let signals = Signals::catch()?;
    loop {
        if !wait_for_ports(&config, &signals.end)? {
            running.end();
            return Ok(None);
        }
        let error = match once(config.clone(), signals.try_clone()?, true, running.clone()) {
            Ok(status) => {
                running.end();
                return Ok(Some(status));
            }
            Err(error) => error,
        };
        match error.downcast::<PortLost>() {
            Ok(lost) => {
                error!("{lost}: the box begins again as soon as its ports are there");
                config = again(config, lost.mode);
            }
            // A port was removed while they were opened.
            Err(error) if !has_ports(&config) => warn!("{error:#}"),
            Err(error) => return Err(error),
        }
    }
}

/// The configuration for a new start: the present file, as after a restart, if it is valid; and the present mode, unless the last command
/// is stored elsewhere.
fn again(config: BoxConfig, mode: Mode) -> BoxConfig {
    let new = match config.file.as_deref().map(BoxConfig::load) {
        Some(Ok(new)) => new,
        Some(Err(error)) => {
            warn!("{error}; the configuration of the start stays in force");
            config
        }
        None => config,
    };
    if PersistedMode::of(&new).is_some() {
        return new;
    }
    BoxConfig { inserted: mode == Mode::Inserted, observing: mode == Mode::Observing, ..new }
}

/// Runs a box until it is ended, or, if it `reopens`, must reopen its ports ([`PortLost`]).
fn once(config: BoxConfig, signals: Signals, reopens: bool, running: Running) -> Result<Status> {
    // Dropped after everything that it may wait for, whatever fails: its thread sends requests to the loop, and ends when there is none.
    let mut history = None;
    let path = PacketPath::open(&config)?;
    let control = path.control().clone();
    let vitals = Vitals::new(config.health, running);
    let recalled = match PersistedMode::of(&config) {
        Some(persisted_mode) => persisted_mode.recall(config.clone()),
        None => config.clone(),
    };
    let names = Names::open(&evenair_boxfile::names::file(), config.names.clone());
    let state = BoxState { control: control.clone(), names: names.clone(), vitals: vitals.clone() };
    let watch = Watch::start(&recalled, state.clone())?;
    let (events, queue) = EventSink::new(config.history.is_some(), watch.as_ref().map(Watch::sink));
    let start = vitals.running().start(configured_mode(&recalled));
    events.iter().for_each(|sink| sink.leave_own(start.clone()));
    let parts = Parts { fail_open: Some(Arc::clone(path.fail_open())), events: events.clone(), names, vitals };
    let server = match &config.control {
        Some(path) => Some(Server::start(path, &config, control.clone(), parts)?),
        None => None,
    };
    if let Some(queue) = queue {
        history = History::start(&config, queue, state.clone())?;
    }
    let serve = |metrics| metrics::serve(metrics, config.wlan.clone(), state.clone());
    let metrics = config.metrics.map(serve).transpose()?;
    let hangup = Hangup::start(signals.reload, config.clone(), control, events.clone())?;
    let surroundings = Surroundings { signals: signals.end, events, management: Arc::new(state.clone()), reopens };
    let end = path.run(&recalled, surroundings);
    drop(hangup);
    // The replies to waiting clients are written before the process may end.
    drop((server, watch));
    drop(metrics);
    drop(history);
    let status = state.status(&end?);
    log_balance(&status.packets);
    Ok(status)
}

/// Pipes of signals, with a byte for each signal.
#[derive(Debug)]
struct Signals {
    /// SIGTERM and SIGINT.
    end: UnixStream,
    /// SIGHUP.
    reload: UnixStream,
}

impl Signals {
    /// From now on these signals are reported here, and do not end the process by themselves.
    fn catch() -> Result<Self> {
        Ok(Self { end: pipe_of(&[SIGTERM, SIGINT])?, reload: pipe_of(&[SIGHUP])? })
    }

    fn try_clone(&self) -> Result<Self> {
        Ok(Self { end: self.end.try_clone()?, reload: self.reload.try_clone()? })
    }
}

fn pipe_of(which: &[i32]) -> Result<UnixStream> {
    let (signals, signal_writer) = UnixStream::pair().context("make a pipe for signals")?;
    for &signal in which {
        let writer = signal_writer.try_clone().context("make a pipe for signals")?;
        signal_hook::low_level::pipe::register(signal, writer).context("install a signal handler")?;
    }
    signals.set_nonblocking(true).context("make a pipe for signals")?;
    Ok(signals)
}
