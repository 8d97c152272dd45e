//! The radio thread: interface of the real-time loop for the rest of the testbed.
//!
//! The loop owns the medium, the links and all TAP devices. Commands go in and snapshots come out through channels that
//! never block the loop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use evenair_medium::{Counters, MeasuredAirtime, QueueState, Totals};
use evenair_scenario::Scenario;
use evenair_sys::rt::{RealTime, Waker};
use evenair_sys::tap::Tap;
use evenair_units::{Airtime, Instant, Span};
use evenair_wifi::PhyRate;
use evenair_workload::voice::Heard;

use crate::air::{self, BssTotals};
use crate::engine::{Channels, Engine};
use crate::error::TestbedError;
use crate::lateness::Record;
use crate::meter::AppCount;
use crate::senders::Counted;
use crate::topology::Port;
use crate::waiter::Clock;
use crate::wire;

/// Real-time priority of the loop's thread, below that of the kernel's threaded interrupts (50).
const PRIORITY: i32 = 40;

/// A running radio. Dropping it stops the loop and closes the TAP devices.
#[derive(Debug)]
pub struct Radio {
    clock: Clock,
    commands: Sender<Command>,
    waker: Arc<Waker>,
    snapshots: Receiver<Snapshot>,
    granted: RealTime,
    thread: Option<JoinHandle<Result<(), TestbedError>>>,
}

/// Commands to the loop.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    /// Reset the counters at `start`, and send a snapshot at the end of each interval.
    Measure { start: Instant, interval: Span },
    /// A station associates.
    Join(usize),
    /// A station leaves.
    Leave(usize),
    /// A station's PHY rate changes.
    Rate(usize, PhyRate),
    /// A station roams and is not associated until it arrives.
    Go(usize),
    /// A roaming station associates with the access point of this index.
    Come(usize, usize),
    /// Ends the loop.
    Stop,
}

/// All counters of the loop at the end of an interval, since the start of measuring.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Number of the interval, from zero.
    pub index: u64,
    /// End of the interval.
    pub at: Instant,
    /// Traffic of each application.
    pub apps: Vec<AppCount>,
    /// IP-level bytes over the WLAN hop that belong to no application.
    pub other_bytes: u64,
    /// The access points' queues at the end of the interval.
    pub queue: QueueState,
    /// Time average of the access points' queues over the interval, in packets.
    pub queue_mean_packets: f64,
    /// Use of each medium since the start of measuring.
    pub media: Vec<Totals>,
    /// Counters of all senders' attempts since the start of measuring.
    pub senders: Counters,
    /// Counters of the access points' attempts.
    pub access_point: Counters,
    /// Counters of each sender in the interval: access points, then stations.
    pub by_sender: Vec<Counted>,
    /// The present best rate toward each station, if senders choose their rates.
    pub station_rates: Vec<Option<PhyRate>>,
    /// Airtime of each access point's own accesses.
    pub access_point_airtime: Vec<Airtime>,
    /// Totals of each access point with its stations.
    pub bss_totals: Vec<BssTotals>,
    /// Airtime of each station's accesses.
    pub station_airtime: Vec<Airtime>,
    /// Measured airtime of each station, by frames to and from it.
    pub measured_airtime: Vec<MeasuredAirtime>,
    /// Reception so far of calls by telephone programs, by application and phase.
    pub calls: Vec<(usize, Vec<(usize, Heard)>)>,
    /// Punctuality since the start of measuring.
    pub lateness: Record,
    /// Frames lost on the air side.
    pub air_losses: BTreeMap<(air::Place, air::Reason), u64>,
    /// Frames lost at the wired side's buffers.
    pub wire_losses: BTreeMap<wire::Port, u64>,
    /// Frames that a TAP device refused.
    pub refused_by_device: u64,
    /// CPU time of the loop's thread.
    pub cpu: Span,
}

impl Radio {
    /// Starts the loop on a separate thread.
    ///
    /// # Errors
    /// If the thread or its descriptors cannot be created.
    pub fn start(scenario: &Scenario, taps: Vec<(Port, Tap)>) -> Result<Self, TestbedError> {
        let clock = Clock::start();
        let waker = Arc::new(Waker::new()?);
        let (commands, inbox) = channel();
        let (outbox, snapshots) = channel();
        let (granted_to, granted) = channel();
        let scenario = scenario.clone();
        let own_waker = Arc::clone(&waker);
        let body = move || {
            let real_time = evenair_sys::rt::make_real_time(PRIORITY);
            let engine = Engine::new(&scenario, clock, taps, Channels { waker: own_waker, inbox, outbox })?;
            // The receiver waits for exactly this.
            let _ = granted_to.send(real_time);
            let result = engine.run();
            evenair_sys::rt::unlock_memory();
            result
        };
        let thread = std::thread::Builder::new()
            .name("radio".into())
            .spawn(body)
            .map_err(|source| TestbedError::Child { who: "the radio's thread".to_owned(), source })?;
        match granted.recv() {
            Ok(granted) => {
                warn_of_refusals(&granted);
                Ok(Self { clock, commands, waker, snapshots, granted, thread: Some(thread) })
            }
            Err(_) => Err(join(thread).err().unwrap_or_else(ended)),
        }
    }

    /// Clock of the loop.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Which real-time privileges the kernel granted.
    pub fn granted(&self) -> &RealTime {
        &self.granted
    }

    /// Resets the counters at `start`, and sends a snapshot each `interval`.
    pub fn measure(&self, start: Instant, interval: Span) {
        self.send(Command::Measure { start, interval });
    }

    /// Associates a station, by its index.
    pub fn join_station(&self, station: usize) {
        self.send(Command::Join(station));
    }

    /// Removes a station.
    pub fn leave_station(&self, station: usize) {
        self.send(Command::Leave(station));
    }

    /// Sets a station's PHY rate.
    pub fn set_rate(&self, station: usize, rate: PhyRate) {
        self.send(Command::Rate(station, rate));
    }

    /// A station roams to another access point, and is not associated until it has arrived.
    pub fn station_goes(&self, station: usize) {
        self.send(Command::Go(station));
    }

    /// A roaming station associates with an access point, by its index in the scenario.
    pub fn station_comes(&self, station: usize, access_point: usize) {
        self.send(Command::Come(station, access_point));
    }

    /// The snapshots since the last call.
    pub fn snapshots(&self) -> impl Iterator<Item = Snapshot> + '_ {
        self.snapshots.try_iter()
    }

    /// Ends the loop.
    ///
    /// # Errors
    /// The error with which the loop had ended before.
    ///
    /// # Panics
    /// If the loop panicked.
    pub fn stop(mut self) -> Result<(), TestbedError> {
        self.send(Command::Stop);
        self.thread.take().map_or(Ok(()), join)
    }

    /// Checks that the loop is running.
    ///
    /// # Errors
    /// The error with which it ended.
    ///
    /// # Panics
    /// If the loop panicked.
    pub fn check(&mut self) -> Result<(), TestbedError> {
        match self.thread.take_if(|thread| thread.is_finished()) {
            None => Ok(()),
            Some(thread) => join(thread).and_then(|()| Err(ended())),
        }
    }

    fn send(&self, command: Command) {
        // If the loop has ended, joining it gives the reason.
        let _ = self.commands.send(command);
        self.waker.wake();
    }
}

impl Drop for Radio {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.send(Command::Stop);
            // On paths that drop the radio an error is already reported.
            let _ = thread.join();
        }
    }
}

/// Warns of refused privileges. Without them the run may still be punctual; its record shows whether it was.
fn warn_of_refusals(granted: &RealTime) {
    let refused = [granted.fifo.as_ref().err(), granted.core.as_ref().err(), granted.locked.as_ref().err()];
    for error in refused.into_iter().flatten() {
        tracing::warn!("the radio runs without a real-time privilege: {error}");
    }
}

fn join(thread: JoinHandle<Result<(), TestbedError>>) -> Result<(), TestbedError> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn ended() -> TestbedError {
    TestbedError::Protocol { who: "the radio's thread".to_owned(), what: "ended before it was stopped".to_owned() }
}
