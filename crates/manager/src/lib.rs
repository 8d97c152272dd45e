//! The inline manager, sans I/O.
//!
//! After Hegde et al., "Experiences With a Centralized Scheduling Approach for Performance Management of IEEE 802.11
//! Wireless LANs", IEEE/ACM ToN 21(2), 2013.

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

extern crate alloc;

mod api;
mod config;

use alloc::collections::VecDeque;

use evenair_packet::{Edits, PacketMeta};
use evenair_units::{BitRate, Instant};

pub use api::{
    Command, Counters, Direction, DropReason, Event, FlowReport, Mode, Observation, Output, QueueReport, Reason,
    Report, StationReport,
};
pub use config::{Charge, ClassId, Config, ConfigError, Controller, Level, Policy, StationConfig};

/// The inline manager. `P` is the driver's handle of a packet.
#[derive(Debug)]
pub struct Manager<P> {
    mode: Mode,
    counters: Counters,
    outputs: VecDeque<Output<P>>,
}

impl<P> Manager<P> {
    /// A bypassed manager.
    ///
    /// # Panics
    /// If `config` does not pass [`Config::check`].
    pub fn new(config: Config, _now: Instant) -> Self {
        config.check().expect("a driver hands in a checked configuration");
        Self { mode: Mode::Bypassed, counters: Counters::default(), outputs: VecDeque::new() }
    }

    /// Takes a packet that came in.
    pub fn handle_packet(&mut self, _now: Instant, packet: P, meta: &PacketMeta) {
        self.counters.received += 1;
        self.counters.released += 1;
        self.outputs.push_back(Output::Release { packet, port: meta.ingress.opposite(), edits: Edits::NONE });
    }

    /// To be called at, or after, the deadline.
    pub fn handle_timeout(&mut self, _now: Instant) {}

    /// Takes a command.
    pub fn handle_command(&mut self, _now: Instant, command: Command) {
        match command {
            Command::Insert => self.mode = Mode::Inserted,
            Command::Bypass => self.mode = Mode::Bypassed,
            Command::Reconfigure(_) => {}
        }
    }

    /// Takes an observation.
    pub fn handle_observation(&mut self, _now: Instant, _observation: Observation) {}

    /// The next decision.
    pub fn poll_output(&mut self) -> Option<Output<P>> {
        self.outputs.pop_front()
    }

    /// When, and why, [`Self::handle_timeout`] is to be called.
    pub fn poll_deadline(&self) -> Option<(Instant, Reason)> {
        None
    }

    /// The state now.
    pub fn report(&self, _now: Instant) -> Report {
        Report {
            mode: self.mode,
            service_rate: BitRate::ZERO,
            capacity: BitRate::ZERO,
            stations: [].into(),
            flows: [].into(),
            queues: [].into(),
            counters: self.counters,
        }
    }
}
