//! Recording and replay: every input of a manager to bytes, and bytes back to decisions.
//!
//! A driver passes each input of its manager to a [`Recorder`] too and stores the bytes that this returns; it passes each decision to a
//! [`DecisionLog`]. [`replay`] runs a new manager on a recording and returns the log of its decisions, which is equal to the byte: that
//! proves that both ran the same code, and shows the decisions of the recorded manager.
//!
//! Packets are named by numbers that the driver assigns. A recording begins with a header and the configuration, so that it is
//! self-contained. The replay drains the decisions after each input; a driver may pass several inputs at one instant and drain then,
//! because a decision carries no other time than that instant, and the order is the same. The inputs are CBOR items (RFC 8949) behind
//! eight bytes that name the format. The codecs are derived on the types themselves, by the numbers of their fields: recordings of
//! earlier builds stay readable, because a field that they lack has a default, and in recordings of later builds new fields are
//! skipped. A new variant is an error, or absent if it is optional. `tests/it/main.rs` describes how to extend the format.
//!
//! A truncated or damaged recording is replayed as far as it can be read, and the error gives the position.

mod decisions;
mod redact;

use core::convert::Infallible;
use core::fmt;

use evenair_manager::{Command, Config, ConfigError, Hop, Lease, Manager, Observation, Output};
use evenair_packet::PacketMeta;
use evenair_units::Instant;
use minicbor::{Decode, Decoder, Encode, decode, encode};

pub use decisions::DecisionLog;
pub use redact::{Redacted, redact};

/// First bytes of a recording.
const MAGIC: [u8; 7] = *b"evenair";

/// Version of the format, in the byte after [`MAGIC`]. Increased only for changes that make older recordings unreadable, which a new
/// field never does.
const VERSION: u8 = 15;

/// Latest valid instant, ten years: beyond any clock that starts with the machine, with room for computations.
const LATEST: Instant = Instant::from_nanos(10 * 365 * 86_400 * 1_000_000_000);

/// Header before the inputs.
#[derive(Encode, Decode)]
struct Header<C> {
    #[n(0)]
    start: Instant,
    #[n(1)]
    config: C,
}

/// An input with its instant.
#[derive(Encode, Decode)]
struct Entry<I> {
    #[n(0)]
    now: Instant,
    #[n(1)]
    input: I,
}

/// Encodes the inputs of a manager.
#[derive(Clone, Debug)]
pub struct Recorder {
    out: Vec<u8>,
}

/// One recorded input. The recorder encodes one with references to the manager's arguments.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum Input<P = PacketMeta, C = Command, O = Observation> {
    /// [`Manager::handle_packet`] with the packet of this number.
    #[n(1)]
    Packet(#[n(0)] u64, #[n(1)] P),
    /// [`Manager::handle_timeout`].
    #[n(2)]
    Timeout,
    /// [`Manager::handle_command`].
    #[n(3)]
    Command(#[n(0)] C),
    /// [`Manager::handle_observation`].
    #[n(4)]
    Observation(#[n(0)] O),
    /// [`Manager::handle_lease`].
    #[n(5)]
    Lease(#[n(0)] Hop, #[n(1)] Lease),
}

/// An input with references.
type InputRef<'a> = Input<&'a PacketMeta, &'a Command, &'a Observation>;

/// Reads a recording.
#[derive(Clone, Debug)]
pub struct Player<'a> {
    decoder: Decoder<'a>,
    config: Config,
    start: Instant,
    /// The latest instant so far.
    now: Instant,
}

/// Why a recording cannot be read further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// It is not a recording.
    NotARecording,
    /// It is a recording in a format of this version, which this build does not read.
    Version(u8),
    /// Its bytes are malformed from this offset on.
    Broken {
        /// Offset of the input that cannot be read.
        at: usize,
        /// What is wrong with it.
        error: String,
    },
    /// It begins with an invalid configuration.
    Config(ConfigError),
    /// Time goes back in it.
    TimeGoesBack {
        /// Offset of the input that is earlier than the previous one.
        at: usize,
    },
}

impl Recorder {
    /// Starts a recording of a manager made with this configuration at this instant.
    pub fn new(config: &Config, now: Instant) -> Self {
        let mut recorder = Self { out: MAGIC.to_vec() };
        recorder.out.push(VERSION);
        recorder.put(&Header { start: now, config });
        recorder
    }

    /// Records that the manager gets the packet of this number.
    pub fn packet(&mut self, now: Instant, number: u64, meta: &PacketMeta) {
        self.input(now, Input::Packet(number, meta));
    }

    /// Records a call of the manager at its deadline.
    pub fn timeout(&mut self, now: Instant) {
        self.input(now, Input::Timeout);
    }

    /// Records a command to the manager.
    pub fn command(&mut self, now: Instant, command: &Command) {
        self.input(now, Input::Command(command));
    }

    /// Records an observation for the manager.
    pub fn observation(&mut self, now: Instant, observation: &Observation) {
        self.input(now, Input::Observation(observation));
    }

    /// Records a lease for the manager.
    pub fn lease(&mut self, now: Instant, hop: Hop, lease: Lease) {
        self.input(now, Input::Lease(hop, lease));
    }

    /// The bytes since the last call, to be appended to the earlier ones.
    pub fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.out)
    }

    fn input(&mut self, now: Instant, input: InputRef<'_>) {
        self.put(&Entry { now, input });
    }

    fn put(&mut self, value: &impl Encode<()>) {
        encode(value, Appender(&mut self.out)).expect("a vector takes any bytes");
    }
}

/// Appends to a vector, as the vector's own [`Write`](encode::Write) does, but always inlined: nearly all writes are a few bytes, for
/// which a call would take longer.
struct Appender<'a>(&'a mut Vec<u8>);

impl encode::Write for Appender<'_> {
    type Error = Infallible;

    #[inline(always)]
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

impl<'a> Player<'a> {
    /// Starts reading a recording.
    ///
    /// # Errors
    /// It does not begin as a recording.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ReplayError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(ReplayError::NotARecording)?;
        match rest.first() {
            Some(&VERSION) => {}
            Some(&other) => return Err(ReplayError::Version(other)),
            None => return Err(ReplayError::NotARecording),
        }
        let at = MAGIC.len() + 1;
        let mut decoder = Decoder::new(bytes);
        decoder.set_position(at);
        let Header { start, config } = decode_item(&mut decoder).map_err(|error| broken(at, &error))?;
        check_instants(&[start]).map_err(|error| broken(at, &error))?;
        Config::check(&config).map_err(ReplayError::Config)?;
        Ok(Self { decoder, config, start, now: start })
    }

    /// Configuration of the recorded manager.
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
    /// The following bytes are malformed, or go back in time.
    pub fn next_input(&mut self) -> Result<Option<(Instant, Input)>, ReplayError> {
        let at = self.decoder.position();
        if at == self.decoder.input().len() {
            return Ok(None);
        }
        let (now, input) = self.read().map_err(|error| broken(at, &error))?;
        if now < self.now {
            return Err(ReplayError::TimeGoesBack { at });
        }
        self.now = now;
        Ok(Some((now, input)))
    }

    fn read(&mut self) -> Result<(Instant, Input), decode::Error> {
        let Entry { now, input } = decode_item(&mut self.decoder)?;
        check_instants(&[now])?;
        if let Input::Lease(_, Lease { from, until }) = input {
            check_instants(&[from, until])?;
        }
        Ok((now, input))
    }
}

/// Decodes a whole item. Within an optional field, a variant of a later build may leave the decoder in the middle of the item, and the
/// following bytes would be misread.
fn decode_item<'b, T: Decode<'b, ()>>(decoder: &mut Decoder<'b>) -> Result<T, decode::Error> {
    let mut end = decoder.clone();
    end.skip()?;
    let item = decoder.decode()?;
    if decoder.position() == end.position() { Ok(item) } else { Err(decode::Error::message("an unknown variant")) }
}

fn broken(at: usize, error: &decode::Error) -> ReplayError {
    ReplayError::Broken { at, error: error.to_string() }
}

fn check_instants(instants: &[Instant]) -> Result<(), decode::Error> {
    if instants.iter().all(|&instant| instant <= LATEST) {
        Ok(())
    } else {
        Err(decode::Error::message("an instant later than any clock's"))
    }
}

/// Runs a new manager on a recording. Returns its decisions, and how the recording ended.
///
/// # Errors
/// The recording does not begin as one. A later fault is returned with the decisions until then.
pub fn replay(bytes: &[u8]) -> Result<(DecisionLog, Result<(), ReplayError>), ReplayError> {
    let mut log = DecisionLog::default();
    let end = run(bytes, |now, output| log.decision(now, output, |number| *number))?;
    Ok((log, end))
}

/// Runs a new manager on a recording. Returns how the recording ended.
fn run(bytes: &[u8], mut decided: impl FnMut(Instant, &Output<u64>)) -> Result<Result<(), ReplayError>, ReplayError> {
    let mut player = Player::new(bytes)?;
    let mut manager = Manager::<u64>::new(player.config().clone(), player.start());
    loop {
        let (now, input) = match player.next_input() {
            Ok(Some(next)) => next,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        match input {
            Input::Packet(number, meta) => manager.handle_packet(now, number, &meta),
            Input::Timeout => manager.handle_timeout(now),
            Input::Command(command) => manager.handle_command(now, command),
            Input::Observation(observation) => manager.handle_observation(now, observation),
            Input::Lease(hop, lease) => manager.handle_lease(now, hop, lease),
        }
        while let Some(output) = manager.poll_output() {
            decided(now, &output);
        }
    }
}

/// Whether new managers make equal decisions about each packet of two recordings, at the same instants; addresses and names in events
/// may differ.
///
/// # Errors
/// One of them cannot be read.
pub fn decide_alike(one: &[u8], other: &[u8]) -> Result<bool, ReplayError> {
    let (one, other) = (decisions_on_packets(one)?, decisions_on_packets(other)?);
    Ok(one == other)
}

/// As [`replay`], without events and probes, as far as the recording can be read.
fn decisions_on_packets(bytes: &[u8]) -> Result<DecisionLog, ReplayError> {
    let (mut log, of_packets) =
        (DecisionLog::default(), |output: &Output<u64>| !matches!(output, Output::Event(_) | Output::Probe { .. }));
    run(bytes, |now, output| {
        if of_packets(output) {
            log.decision(now, output, |number| *number);
        }
    })?
    .ok();
    Ok(log)
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecording => f.write_str("not a recording"),
            Self::Version(version) => {
                write!(f, "a recording in a format of version {version}: this build reads version {VERSION}")
            }
            Self::Broken { at, error } => write!(f, "the recording is broken at byte {at}: {error}"),
            Self::Config(error) => write!(f, "the recorded configuration cannot be: {error}"),
            Self::TimeGoesBack { at } => write!(f, "the recording goes back in time at byte {at}"),
        }
    }
}

impl core::error::Error for ReplayError {}
