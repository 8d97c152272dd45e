//! Requests of other threads to the packet path, and its replies. A request wakes the loop, which replies between
//! packets.

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};

use evenair_api::Mode;
use evenair_api::health::Limits;
use evenair_boxfile::SourceConfig;
use evenair_config::RateSpec;
use evenair_manager::{Config, Observation};
use evenair_packet::MacAddr;
use evenair_sys::rt::Waker;

use crate::snapshot::Snapshot;

/// A request on its way to the loop.
pub struct QueuedRequest {
    /// The request.
    pub request: ControlRequest,
    /// Receiver of the reply.
    pub reply: mpsc::Sender<Answer>,
}

/// A request, checked as far as possible outside the loop.
#[derive(Clone)]
pub enum ControlRequest {
    /// The box has to manage the traffic.
    Insert,
    /// The bridge has to carry the traffic.
    Bypass,
    /// The bridge has to carry the traffic, and the box to observe it.
    Observe,
    /// A snapshot of the state.
    Status,
    /// A station's PHY rate; `None`: it has left.
    SetRate(MacAddr, Option<RateSpec>),
    /// Total losses of an access point.
    Losses(MacAddr, u64),
    /// A station's network, group or access point.
    Membership(Observation),
    /// The reports of a telemetry source.
    Observations(Vec<Observation>),
    /// A new configuration.
    Reconfigure(Box<Config>, HostSettings),
    /// No request, only a check that the loop replies.
    Nothing,
    /// The present mode.
    Mode,
    /// The box has to end; the reply is its final state.
    Shutdown,
}

/// Parts of a configuration that do not concern the manager, applied once for all loops.
#[derive(Clone, Default)]
pub struct HostSettings {
    /// Sources that are polled.
    pub telemetry: Vec<SourceConfig>,
    /// Names of stations in the configuration.
    pub names: BTreeMap<MacAddr, String>,
    /// Limits of the health checks.
    pub health: Limits,
}

/// The loop's reply, not yet JSON.
pub enum Answer {
    /// The request was carried out.
    Done,
    /// The request was refused, for this reason.
    Refused(String),
    /// The snapshot.
    Status(Box<Snapshot>),
    /// The mode.
    Mode(Mode),
}

/// A control handle, by which other threads send requests to the loop.
#[derive(Clone)]
pub struct ControlHandle {
    inbox: mpsc::Sender<QueuedRequest>,
    waker: Arc<Waker>,
}

impl ControlHandle {
    /// A handle whose requests come out at the other end of `inbox`; `waker` wakes the loop there.
    pub fn new(inbox: mpsc::Sender<QueuedRequest>, waker: Arc<Waker>) -> Self {
        Self { inbox, waker }
    }

    /// Sends a request and waits for the reply.
    ///
    /// # Errors
    /// The box ends before the request is done.
    pub fn ask(&self, request: ControlRequest) -> Result<Answer, &'static str> {
        self.begin(request)?.recv().map_err(|_| "the box ended before it was done")
    }

    /// Sends a request, and returns the receiver of the reply.
    ///
    /// # Errors
    /// The box is ending.
    pub fn begin(&self, request: ControlRequest) -> Result<mpsc::Receiver<Answer>, &'static str> {
        let (reply, replies) = mpsc::channel();
        self.inbox.send(QueuedRequest { request, reply }).map_err(|_| "the box is ending")?;
        self.waker.wake();
        Ok(replies)
    }
}
