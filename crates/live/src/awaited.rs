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
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::Result;
use evenair_api::Mode;
use evenair_boxfile::BoxConfig;
use evenair_sys::links::LinkEvents;
use evenair_sys::rt::Epoll;
use tracing::{info, warn};

use crate::port;
use crate::run;
use crate::service::ServiceManager;

/// Interval of checks without a notification.
const CHECK: Duration = Duration::from_secs(2);
/// Pause after each check, so that a flood of changes elsewhere on the machine costs little.
const PAUSE: Duration = Duration::from_millis(50);

/// A port or the bridge was replaced since the box opened it: the box has to reopen them.
#[derive(Debug)]
pub struct PortLost {
    /// The change.
    pub why: String,
    /// The mode of the box at that time.
    pub mode: Mode,
}

impl fmt::Display for PortLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for PortLost {}

/// Waits until the ports can be used. False: a signal to end can be read at `signals`.
///
/// # Errors
/// A refused system call.
pub fn wait_for_ports(config: &BoxConfig, signals: &UnixStream) -> Result<bool> {
    let events = LinkEvents::subscribe()?;
    let mut epoll = Epoll::new(2)?;
    epoll.add(&events, 0)?;
    epoll.add(signals, 1)?;
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

/// Whether all ports exist and are usable.
pub fn has_ports(config: &BoxConfig) -> bool {
    port::look_up_all(config).is_ok()
}
