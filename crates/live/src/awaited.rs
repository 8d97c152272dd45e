//! Waiting for ports: at the start, and when a port is removed and created again (a USB adapter, a container's interface, a
//! recreated bridge).
//!
//! A new interface has another index, even under the old name. The box therefore closes everything and opens it again, in
//! the same process and the same mode. Meanwhile the bridge carries the traffic as far as it can. The box learns stations
//! and connections anew, as after a restart.
//!
//! The box does not add an interface to the bridge: the program that creates the interface must do this, and the box waits
//! for it.

use std::fmt;
use std::time::Duration;

use anyhow::Result;
use evenair_api::{Mode, Status};
use evenair_boxfile::BoxConfig;
use evenair_sys::links::LinkEvents;
use evenair_sys::rt::Epoll;
use tracing::{error, info, warn};

use crate::last_word::LastWord;
use crate::port;
use crate::run::{self, Signals};
use crate::running::Running;
use crate::service::{Ending, ServiceManager};

/// How often it is looked even where nothing was notified.
const CHECK: Duration = Duration::from_secs(2);
/// Pause after each look, so that a flood of changes elsewhere on the machine costs little.
const PAUSE: Duration = Duration::from_millis(50);

/// A port or the bridge is another one than when the box began: it has to open them anew.
#[derive(Debug)]
pub(crate) struct PortLost {
    pub(crate) why: String,
    /// What the box did.
    pub(crate) mode: Mode,
}

impl fmt::Display for PortLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for PortLost {}

/// Runs a box as [`run::run`], but waits for its ports where they are not there or not usable, at the start and whenever that
/// happens later. Returns its final state; none if it was ended while it waited.
///
/// # Errors
/// A missing privilege, a control socket that cannot be created, anything that does not concern the ports.
pub fn run_when_ready(mut config: BoxConfig) -> Result<Option<Status>> {
    let _ending = Ending;
    let running = Running::begin(&config);
    let signals = Signals::catch()?;
    loop {
        if !wait(&config, &signals)? {
            running.end();
            return Ok(None);
        }
        let error = match run::once(config.clone(), signals.try_clone()?, true, running.clone()) {
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
            // One went away while they were opened.
            Err(error) if port::look_up_all(&config).is_err() => warn!("{error:#}"),
            Err(error) => return Err(error),
        }
    }
}

/// Waits until the ports can be used. False: the box was ended.
fn wait(config: &BoxConfig, signals: &Signals) -> Result<bool> {
    let events = LinkEvents::subscribe()?;
    let mut epoll = Epoll::new(2)?;
    epoll.add(&events, 0)?;
    epoll.add(&signals.end, 1)?;
    let (mut said, mut service) = (String::new(), None);
    loop {
        let Err(error) = port::look_up_all(config) else {
            if !said.is_empty() {
                info!("the ports are there");
            }
            return Ok(true);
        };
        let text = format!("{error:#}");
        if text != said {
            warn!("{text}; the box waits until that is so");
            said = text;
        }
        let service = service.get_or_insert_with(|| ServiceManager::ready(run::now()));
        service.tend(run::now(), "waiting for its ports");
        if epoll.wait(Some(CHECK))?.any(|token| token == 1) {
            return Ok(false);
        }
        events.take();
        std::thread::sleep(PAUSE);
    }
}

/// The configuration to begin again with: the file as it is now, as after a restart, where it is right; and the mode that the
/// box was in, unless the last command is stored elsewhere.
fn again(config: BoxConfig, mode: Mode) -> BoxConfig {
    let new = match config.file.as_deref().map(BoxConfig::load) {
        Some(Ok(new)) => new,
        Some(Err(error)) => {
            warn!("{error}; the configuration of the start stays in force");
            config
        }
        None => config,
    };
    if LastWord::of(&new).is_some() {
        return new;
    }
    BoxConfig { inserted: mode == Mode::Inserted, observing: mode == Mode::Observing, ..new }
}
