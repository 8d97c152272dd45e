//! A box for tests.

use std::sync::{Arc, mpsc};

use evenair_api::causes::{LossReason, Losses};
use evenair_api::{PoolStatus, PortStatus, Status};
use evenair_live::Snapshot;
use evenair_live::control::{ControlHandle, QueuedRequest};
use evenair_manager::{Config, Manager, StationConfig};
use evenair_packet::MacAddr;
use evenair_sys::rt::Waker;
use evenair_units::Instant;
use evenair_wifi::{Phy, Standard};

use crate::control::status_of;
use crate::names::Names;
use crate::state::BoxState;
use crate::vitals::Vitals;

/// A box that has carried 90 packets and lost 10. One station is known.
pub(crate) fn snapshot() -> Snapshot {
    let mut config = Config::new(Phy::default_for(Standard::Dot11g));
    let (mac, rate) = (MacAddr([2, 0, 0, 0, 0, 1]), config.default_rate);
    config.stations.push(StationConfig { mac, rate, weight: 1, class: None });
    let mut report = Manager::<()>::new(config, Instant::ZERO).report(Instant::ZERO);
    report.counters.received = 90;
    report.counters.released = 90;
    let port = |taken, sent| {
        let mut losses = Losses::default();
        losses[LossReason::RingFull] = 3;
        losses[LossReason::TooLong] = 2;
        PortStatus { taken, sent, losses, ..PortStatus::default() }
    };
    Snapshot {
        uptime_s: 1.0,
        wlan: port(60, 50),
        wire: port(40, 40),
        pool: PoolStatus { used: 0, peak: 10, size: 100 },
        ..Snapshot::new(report, Instant::ZERO)
    }
}

/// Its status.
pub(crate) fn status() -> Status {
    status_of(&snapshot(), &Names::default())
}

/// A control handle, and the receiver of its requests, in place of a loop.
pub(crate) fn control() -> (ControlHandle, mpsc::Receiver<QueuedRequest>) {
    let (inbox, asked) = mpsc::channel();
    (ControlHandle::new(inbox, Arc::new(Waker::new().expect("a waker"))), asked)
}

/// The state of a box with this control handle.
pub(crate) fn state(control: ControlHandle) -> BoxState {
    BoxState { control, names: Names::default(), vitals: Vitals::default() }
}
