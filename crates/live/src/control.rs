//! Requests of other threads to the packet path, and its answers. A request wakes the loop, which answers between packets.

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
    /// What is wanted.
    pub request: ControlRequest,
    /// Where the answer is awaited.
    pub reply: mpsc::Sender<Answer>,
}

/// A request, as far as it could be checked outside the loop.
#[derive(Clone)]
pub enum ControlRequest {
    /// The box is to manage the traffic.
    Insert,
    /// The bridge is to carry the traffic.
    Bypass,
    /// The same, and packets are to be looked at.
    Observe,
    /// The state.
    Status,
    /// A station's PHY rate; none: it has left.
    SetRate(MacAddr, Option<RateSpec>),
    /// What an access point has lost in all.
    Losses(MacAddr, u64),
    /// Where a station belongs.
    Membership(Observation),
    /// The reports of a telemetry source.
    Observations(Vec<Observation>),
    /// A new configuration.
    Reconfigure(Box<Config>, HostSettings),
    /// All is well.
    Nothing,
    /// The word for what it does.
    Mode,
    /// The box is to end; answered with its final state.
    Shutdown,
}

/// What a reload changes beside the manager, once for all loops.
#[derive(Clone, Default)]
pub struct HostSettings {
    /// Sources that are polled.
    pub telemetry: Vec<SourceConfig>,
    /// Names of stations in the configuration.
    pub names: BTreeMap<MacAddr, String>,
    /// Limits of its health.
    pub health: Limits,
}

/// The loop's answer, not yet JSON.
pub enum Answer {
    /// It is done.
    Done,
    /// It is not done, and why.
    Refused(String),
    /// The state.
    Status(Box<Snapshot>),
    /// What it does.
    Mode(Mode),
}

/// A control handle: other threads ask the loop through it.
#[derive(Clone)]
pub struct ControlHandle {
    inbox: mpsc::Sender<QueuedRequest>,
    waker: Arc<Waker>,
}

impl ControlHandle {
    /// Its requests come out of the other end of `inbox`; the loop there waits at `waker`.
    pub fn new(inbox: mpsc::Sender<QueuedRequest>, waker: Arc<Waker>) -> Self {
        Self { inbox, waker }
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The box ends before it is done.
    pub fn ask(&self, request: ControlRequest) -> Result<Answer, &'static str> {
        self.begin(request)?.recv().map_err(|_| "the box ended before it was done")
    }

    /// Asks, and gives where the answer will be.
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
