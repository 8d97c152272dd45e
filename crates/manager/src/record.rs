//! Recording and replay: every input of a manager to bytes, and bytes back to decisions.
//!
//! A driver passes each input of its manager to a [`Recorder`] too and stores the bytes that this returns; it passes
//! each decision to a [`DecisionLog`]. [`replay`] runs a new manager on a recording and returns the log of its
//! decisions, which is the same to the byte: that proves that both ran the same code, and shows what the recorded
//! manager did.
//!
//! Packets are named by numbers that the driver assigns. A recording begins with a header and the configuration, so
//! that it needs nothing else. The replay drains the decisions after each input; a driver may pass several inputs at
//! one instant and drain then, because a decision carries no other time than that instant, and the order is the same.
//! A truncated or damaged recording is replayed as far as it can be read, and the error gives the position.

use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use evenair_packet::codec::{self, CodecError, Reader, Write};
use evenair_packet::{MacAddr, PacketMeta, Port};
use evenair_units::{Bytes, Instant, Span};

use crate::access_points::{put_place, read_place};
use crate::config_codec::values::{put_label, put_rate, read_label, read_rate};
use crate::config_codec::{decode_config, encode_config};
use crate::{
    Cause, Command, Config, ConfigError, Event, Hop, Lease, Manager, Mode, Observation, Output, SpeechReport, Told,
};

/// First bytes of a recording: what it is, and the version of its format.
const MAGIC: [u8; 8] = *b"evenair\x0e";

/// No clock that begins with the machine gets this far, to ten years; computations have room beyond it.
const LATEST: Instant = Instant::from_nanos(10 * 365 * 86_400 * 1_000_000_000);

const TAG_PACKET: u8 = 1;
const TAG_TIMEOUT: u8 = 2;
const TAG_INSERT: u8 = 3;
const TAG_BYPASS: u8 = 4;
const TAG_RECONFIGURE: u8 = 5;
const TAG_STATION_RATE: u8 = 6;
const TAG_STATION_GONE: u8 = 7;
const TAG_LOSSES: u8 = 8;
const TAG_TOLD: u8 = 9;
const TAG_NETWORK: u8 = 20;
const TAG_GROUP: u8 = 21;
const TAG_PLACE: u8 = 22;
const TAG_LEASE: u8 = 23;
const TAG_BRIDGED: u8 = 24;

const TAG_RELEASE: u8 = 1;
const TAG_DROP: u8 = 2;
const TAG_EVENT: u8 = 3;

/// Turns the inputs of a manager into bytes.
#[derive(Clone, Debug)]
pub struct Recorder {
    out: Vec<u8>,
}

/// One recorded input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// [`Manager::handle_packet`] with the packet of this number.
    Packet(u64, PacketMeta),
    /// [`Manager::handle_timeout`].
    Timeout,
    /// [`Manager::handle_command`].
    Command(Command),
    /// [`Manager::handle_observation`].
    Observation(Observation),
    /// [`Manager::handle_lease`].
    Lease(Hop, Lease),
}

/// Reads a recording.
#[derive(Clone, Debug)]
pub struct Player<'a> {
    reader: Reader<'a>,
    bytes: &'a [u8],
    config: Config,
    start: Instant,
    /// The latest instant so far.
    now: Instant,
}

/// Why a recording cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// It is not a recording, or one of another version.
    NotARecording,
    /// Its bytes have no meaning from this offset on.
    Broken {
        /// Offset of the input that cannot be read.
        at: usize,
        /// What is wrong with it.
        error: CodecError,
    },
    /// It begins with a configuration that no manager can have been made with.
    Config(ConfigError),
    /// Time goes back in it.
    TimeGoesBack {
        /// Offset of the input that is earlier than the one before.
        at: usize,
    },
}

/// What a manager decided, as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionLog {
    bytes: Vec<u8>,
}

impl Recorder {
    /// Begins a recording of a manager made with this configuration at this instant.
    pub fn new(config: &Config, now: Instant) -> Self {
        let mut out = MAGIC.to_vec();
        out.put_u64(now.as_nanos());
        encode_config(config, &mut out);
        Self { out }
    }

    /// The manager is given the packet of this number.
    pub fn packet(&mut self, now: Instant, number: u64, meta: &PacketMeta) {
        self.input(now, TAG_PACKET);
        self.out.put_u64(number);
        codec::encode(meta, &mut self.out);
    }

    /// The manager is called at its deadline.
    pub fn timeout(&mut self, now: Instant) {
        self.input(now, TAG_TIMEOUT);
    }

    /// The manager is given a command.
    pub fn command(&mut self, now: Instant, command: &Command) {
        match command {
            Command::Insert => self.input(now, TAG_INSERT),
            Command::Bypass => self.input(now, TAG_BYPASS),
            Command::Reconfigure(config) => {
                self.input(now, TAG_RECONFIGURE);
                encode_config(config, &mut self.out);
            }
        }
    }

    /// The manager is given an observation.
    pub fn observation(&mut self, now: Instant, observation: &Observation) {
        match observation {
            Observation::StationRate { mac, rate } => {
                self.input(now, TAG_STATION_RATE);
                self.out.put(&mac.0);
                put_rate(*rate, &mut self.out);
            }
            Observation::StationGone { mac } => {
                self.input(now, TAG_STATION_GONE);
                self.out.put(&mac.0);
            }
            Observation::Told(told) => {
                self.input(now, TAG_TOLD);
                put_told(told, &mut self.out);
            }
            Observation::AccessPointLosses { access_point, total } => {
                self.input(now, TAG_LOSSES);
                self.out.put(&access_point.0);
                self.out.put_u64(*total);
            }
            Observation::Bridged { carried, elapsed } => {
                self.input(now, TAG_BRIDGED);
                self.out.put_u64(carried.0);
                self.out.put_u64(elapsed.as_nanos());
            }
            Observation::StationNetwork { mac, ssid } => {
                self.input(now, TAG_NETWORK);
                self.out.put(&mac.0);
                self.out.put_option(*ssid, put_label);
            }
            Observation::StationAt { mac, place } => {
                self.input(now, TAG_PLACE);
                self.out.put(&mac.0);
                self.out.put_option(*place, put_place);
            }
            Observation::StationGroup { mac, group } => {
                self.input(now, TAG_GROUP);
                self.out.put(&mac.0);
                self.out.put_option(*group, put_label);
            }
        }
    }

    /// The manager is given a lease.
    pub fn lease(&mut self, now: Instant, hop: Hop, lease: Lease) {
        self.input(now, TAG_LEASE);
        self.out.put_u8(match hop {
            Hop::Wlan => 0,
            Hop::InternetDown => 1,
            Hop::InternetUp => 2,
        });
        self.out.put_u64(lease.from.as_nanos());
        self.out.put_u64(lease.until.as_nanos());
    }

    /// The bytes since the last call, to be stored behind the earlier ones.
    pub fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.out)
    }

    fn input(&mut self, now: Instant, tag: u8) {
        self.out.put_u8(tag);
        self.out.put_u64(now.as_nanos());
    }
}

impl<'a> Player<'a> {
    /// Begins to read a recording.
    ///
    /// # Errors
    /// If it does not begin as one.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ReplayError> {
        let mut reader = Reader::new(bytes);
        if reader.take(MAGIC.len()) != Ok(&MAGIC) {
            return Err(ReplayError::NotARecording);
        }
        let mut header = || Ok((read_instant(&mut reader)?, decode_config(&mut reader)?));
        let (start, config) = header().map_err(|error| ReplayError::Broken { at: MAGIC.len(), error })?;
        config.check().map_err(ReplayError::Config)?;
        Ok(Self { reader, bytes, config, start, now: start })
    }

    /// What the recorded manager was made with.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// When the recorded manager was made.
    pub const fn start(&self) -> Instant {
        self.start
    }

    /// The next input; `None` at the end.
    ///
    /// # Errors
    /// If the bytes from here on have no meaning, or go back in time.
    pub fn next_input(&mut self) -> Result<Option<(Instant, Input)>, ReplayError> {
        if self.reader.is_empty() {
            return Ok(None);
        }
        let at = self.reader.consumed();
        let (now, input) = self.read().map_err(|error| ReplayError::Broken { at, error })?;
        if now < self.now {
            return Err(ReplayError::TimeGoesBack { at });
        }
        self.now = now;
        Ok(Some((now, input)))
    }

    fn read(&mut self) -> Result<(Instant, Input), CodecError> {
        let tag = self.reader.u8()?;
        let now = read_instant(&mut self.reader)?;
        let input = match tag {
            TAG_PACKET => {
                let number = self.reader.u64()?;
                let (meta, len) = codec::decode(&self.bytes[self.reader.consumed()..])?;
                self.reader.take(len)?;
                Input::Packet(number, meta)
            }
            TAG_TIMEOUT => Input::Timeout,
            TAG_INSERT => Input::Command(Command::Insert),
            TAG_BYPASS => Input::Command(Command::Bypass),
            TAG_RECONFIGURE => Input::Command(Command::Reconfigure(decode_config(&mut self.reader)?.into())),
            TAG_STATION_RATE => {
                let mac = self.reader.mac()?;
                Input::Observation(Observation::StationRate { mac, rate: read_rate(&mut self.reader)? })
            }
            TAG_STATION_GONE => Input::Observation(Observation::StationGone { mac: self.reader.mac()? }),
            TAG_TOLD => Input::Observation(Observation::Told(read_told(&mut self.reader)?)),
            TAG_LOSSES => {
                let access_point = self.reader.mac()?;
                Input::Observation(Observation::AccessPointLosses { access_point, total: self.reader.u64()? })
            }
            TAG_BRIDGED => {
                let (carried, elapsed) = (Bytes(self.reader.u64()?), Span::from_nanos(self.reader.u64()?));
                Input::Observation(Observation::Bridged { carried, elapsed })
            }
            TAG_NETWORK => {
                let (mac, ssid) = (self.reader.mac()?, self.reader.option(read_label)?);
                Input::Observation(Observation::StationNetwork { mac, ssid })
            }
            TAG_GROUP => {
                let (mac, group) = (self.reader.mac()?, self.reader.option(read_label)?);
                Input::Observation(Observation::StationGroup { mac, group })
            }
            TAG_PLACE => {
                let (mac, place) = (self.reader.mac()?, self.reader.option(read_place)?);
                Input::Observation(Observation::StationAt { mac, place })
            }
            TAG_LEASE => {
                let hop = match self.reader.u8()? {
                    0 => Hop::Wlan,
                    1 => Hop::InternetDown,
                    2 => Hop::InternetUp,
                    unknown => return Err(CodecError::Tag(unknown)),
                };
                let (from, until) = (read_instant(&mut self.reader)?, read_instant(&mut self.reader)?);
                Input::Lease(hop, Lease { from, until })
            }
            unknown => return Err(CodecError::Tag(unknown)),
        };
        Ok((now, input))
    }
}

fn put_told(told: &Told, out: &mut Vec<u8>) {
    out.put(&told.mac.0);
    out.put_u16(told.source);
    out.put_u64(told.measured.as_nanos());
    out.put_u64(told.valid_for.as_nanos());
    for value in [told.transmit_kbps, told.receive_kbps, told.signal_dbm] {
        out.put_option(value, |out, value| out.put_u64(value as u64));
    }
}

fn read_told(reader: &mut Reader<'_>) -> Result<Told, CodecError> {
    let (mac, source) = (reader.mac()?, reader.u16()?);
    let (measured, valid_for) = (Instant::from_nanos(reader.u64()?), Span::from_nanos(reader.u64()?));
    let mut value = || reader.option(|reader| reader.u64().map(|value| value as i64));
    let (transmit_kbps, receive_kbps, signal_dbm) = (value()?, value()?, value()?);
    Ok(Told { mac, source, measured, valid_for, transmit_kbps, receive_kbps, signal_dbm })
}

fn read_instant(reader: &mut Reader<'_>) -> Result<Instant, CodecError> {
    reader.u64_up_to(LATEST.as_nanos()).map(Instant::from_nanos)
}

/// Runs a new manager on a recording, and gives its decisions and how the recording ended.
///
/// # Errors
/// If the recording does not even begin as one; how it goes on is told beside the decisions made until then.
pub fn replay(bytes: &[u8]) -> Result<(DecisionLog, Result<(), ReplayError>), ReplayError> {
    let mut player = Player::new(bytes)?;
    let mut manager = Manager::<u64>::new(player.config().clone(), player.start());
    let mut log = DecisionLog::default();
    loop {
        let (now, input) = match player.next_input() {
            Ok(Some(next)) => next,
            Ok(None) => return Ok((log, Ok(()))),
            Err(error) => return Ok((log, Err(error))),
        };
        match input {
            Input::Packet(number, meta) => manager.handle_packet(now, number, &meta),
            Input::Timeout => manager.handle_timeout(now),
            Input::Command(command) => manager.handle_command(now, command),
            Input::Observation(observation) => manager.handle_observation(now, observation),
            Input::Lease(hop, lease) => manager.handle_lease(now, hop, lease),
        }
        while let Some(output) = manager.poll_output() {
            log.decision(now, &output, |number| *number);
        }
    }
}

impl DecisionLog {
    /// A decision that came out after the input of this instant; `number` tells a packet's number.
    pub fn decision<P>(&mut self, now: Instant, output: &Output<P>, number: impl FnOnce(&P) -> u64) {
        self.bytes.put_u64(now.as_nanos());
        match output {
            Output::Release { packet, port, edits } => {
                self.bytes.put_u8(TAG_RELEASE);
                self.bytes.put_u64(number(packet));
                self.bytes.put_u8((*port == Port::Wlan).into());
                self.bytes.put_option(edits.dscp, Write::put_u8);
                self.bytes.put_u8(edits.congestion.into());
                self.bytes.put_option(edits.window, Write::put_u16);
            }
            Output::Drop { packet, reason } => {
                self.bytes.put_u8(TAG_DROP);
                self.bytes.put_u64(number(packet));
                self.bytes.put_u8(u8::try_from(reason.index()).expect("there are few reasons"));
            }
            Output::Event(event) => {
                self.bytes.put_u8(TAG_EVENT);
                put_event(event, &mut self.bytes);
            }
        }
    }

    /// The log.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The log in 64 bits (FNV-1a): to tell logs apart, not to protect them.
    pub fn digest(&self) -> u64 {
        let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
    }
}

fn put_call(out: &mut Vec<u8>, station: MacAddr, peer: IpAddr) {
    out.put(&station.0);
    codec::put_address(out, peer);
}

fn put_speech(out: &mut Vec<u8>, speech: &SpeechReport) {
    out.put_u64(speech.packets);
    out.put_option(speech.lost, Write::put_u64);
    out.put_u64(speech.dropped);
    let put_span = |out: &mut Vec<u8>, span: Span| out.put_u64(span.as_nanos());
    out.put_option(speech.jitter, put_span);
    out.put_option(speech.hop_mean, put_span);
    [speech.waited_mean, speech.waited_most, speech.gap].into_iter().for_each(|span| put_span(out, span));
}

fn put_event(event: &Event, out: &mut Vec<u8>) {
    match event {
        Event::ModeChanged(mode) => {
            out.put_u8(0);
            out.put_u8(match mode {
                Mode::Bypassed => 0,
                Mode::Inserted => 1,
                Mode::Draining => 2,
            });
        }
        // Which configuration was refused is in the recording; why follows from it.
        Event::ConfigRefused(_) => out.put_u8(1),
        Event::ObservationRefused(_) => out.put_u8(2),
        Event::StationLearned(mac) => {
            out.put_u8(3);
            out.put(&mac.0);
        }
        Event::RateChanged { service_rate, capacity } => {
            out.put_u8(4);
            out.put_u64(service_rate.as_bps());
            out.put_u64(capacity.as_bps());
        }
        Event::StationOverShare { mac, over } => {
            out.put_u8(5);
            out.put(&mac.0);
            out.put_u8((*over).into());
        }
        Event::Guard { domain, step, before, held } => {
            out.put_u8(12);
            put_label(out, *domain);
            out.put_u8(*step as u8);
            out.put_u64(before.as_bps());
            out.put_u64(held.as_bps());
        }
        Event::ToldContradicted { mac, rate } => {
            out.put_u8(9);
            out.put(&mac.0);
            out.put_option(*rate, |out, rate| put_rate(rate, out));
        }
        Event::AddressContested { address, holder, claimant } => {
            out.put_u8(10);
            codec::put_address(out, *address);
            out.put(&holder.0);
            out.put(&claimant.0);
        }
        Event::CallAdmitted { station, peer, codec } => {
            out.put_u8(6);
            put_call(out, *station, *peer);
            out.put_u8(*codec as u8);
        }
        Event::CallRefused { station, peer, codec, why } => {
            out.put_u8(7);
            put_call(out, *station, *peer);
            out.put_u8(*codec as u8);
            out.put_u8(*why as u8);
        }
        Event::CallRoamed { station, peer, codec, domain, over } => {
            out.put_u8(11);
            put_call(out, *station, *peer);
            out.put_u8(*codec as u8);
            put_label(out, *domain);
            out.put_option(*over, |out, why| out.put_u8(why as u8));
        }
        Event::CallEnded { station, peer, codec, admitted, lasted, speech } => {
            out.put_u8(8);
            put_call(out, *station, *peer);
            out.put_u8(*codec as u8);
            out.put_u8((*admitted).into());
            out.put_u64(lasted.as_nanos());
            speech.iter().for_each(|speech| put_speech(out, speech));
        }
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecording => f.write_str("not a recording of this version"),
            Self::Broken { at, error } => write!(f, "the recording is broken at byte {at}: {error}"),
            Self::Config(error) => write!(f, "the recorded configuration cannot be: {error}"),
            Self::TimeGoesBack { at } => write!(f, "the recording goes back in time at byte {at}"),
        }
    }
}

impl core::error::Error for ReplayError {}
