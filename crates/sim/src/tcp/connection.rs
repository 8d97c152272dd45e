//! One end of a connection: handshake, teardown, and the traffic between its two halves.
//!
//! The states are those of RFC 9293, section 3.3.2. The sending half and the receiving half are independent of each other;
//! this file parses and composes their segments.

use std::sync::Arc;

use evenair_units::hint::prefetch;
use evenair_units::{Bytes, Instant, Span};

use super::config::{Config, ConfigError};
use super::events::{CloseReason, Event, Events, Stats, Timer};
use super::handshake::{Agreed, Handshake, SynTimeout, offer};
use super::receiver::Receiver;
use super::segment::{Flags, MAX_SACK_BLOCKS, Segment, SynOptions, Timestamps};
use super::sender::{Chunk, Progress, Sender};

/// State of a connection (RFC 9293, section 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waits for a SYN.
    Listen,
    /// Sent a SYN.
    SynSent,
    /// Received a SYN and answered it.
    SynReceived,
    /// Data flows.
    Established,
    /// Closed here, the FIN is not acknowledged.
    FinWait1,
    /// Closed here, the FIN is acknowledged.
    FinWait2,
    /// Closed by the other end.
    CloseWait,
    /// Closed by both at once, the FIN is not acknowledged.
    Closing,
    /// Closed by the other end, then here; the FIN is not acknowledged.
    LastAck,
    /// All is acknowledged; waits for stray segments.
    TimeWait,
    /// Gone.
    Closed,
}

/// One end of a connection. With thousands of connections, each segment finds its connection outside the caches: so the
/// fields and parts that every segment needs come first, each aligned to a cache line, and `prefetch` requests them
/// together.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Connection {
    state: State,
    reset_due: bool,
    /// Negotiated options.
    agreed: Agreed,
    /// The timestamp to echo (TS.Recent).
    stamp_to_echo: u32,
    /// Largest acknowledgment sent so far (Last.ACK.sent).
    last_ack_sent: u64,
    events: Events,
    receiver: Receiver,
    sender: Sender,
    stats: Stats,
    time_wait_until: Option<Instant>,
    /// Shared by connections with the same configuration: hardly read after the handshake.
    config: Arc<Config>,
    handshake: Handshake,
}

impl Connection {
    /// The end that opens the connection: its SYN is ready at once.
    ///
    /// # Errors
    /// If the settings cannot work.
    pub fn connect(config: impl Into<Arc<Config>>) -> Result<Self, ConfigError> {
        let mut connection = Self::new(config.into(), State::SynSent)?;
        connection.handshake.request();
        Ok(connection)
    }

    /// The end that waits for one SYN.
    ///
    /// # Errors
    /// If the settings cannot work.
    pub fn listen(config: impl Into<Arc<Config>>) -> Result<Self, ConfigError> {
        Self::new(config.into(), State::Listen)
    }

    fn new(config: Arc<Config>, state: State) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            state,
            handshake: Handshake::default(),
            sender: Sender::new(&config),
            receiver: Receiver::new(&config, u32::from(config.mss), 0, 0),
            last_ack_sent: 0,
            stamp_to_echo: 0,
            agreed: Agreed::default(),
            time_wait_until: None,
            reset_due: false,
            events: Events::default(),
            stats: Stats::default(),
            config,
        })
    }

    /// Prefetches all cache lines that a segment needs, with data or with an acknowledgment: in parallel, not one after the
    /// other.
    #[inline]
    pub(crate) fn prefetch(&self, is_data: bool) {
        prefetch(self);
        prefetch(&self.stats);
        self.receiver.prefetch();
        self.sender.prefetch(is_data);
    }

    /// Prefetches what the state prefetched by [`Self::prefetch`] points to; call it when that has arrived in the cache.
    #[inline]
    pub(crate) fn prefetch_more(&self, is_data: bool) {
        if is_data {
            self.receiver.prefetch_more();
        } else {
            self.sender.prefetch_more();
        }
    }

    /// State of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Counters since the connection was made.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Congestion window.
    pub fn cwnd(&self) -> Bytes {
        Bytes(self.sender.window().cwnd())
    }

    /// Slow start threshold; `None` while it is arbitrarily high.
    pub fn ssthresh(&self) -> Option<Bytes> {
        Some(self.sender.window().ssthresh()).filter(|&bytes| bytes != u64::MAX).map(Bytes)
    }

    /// Bytes estimated to be in flight (the pipe of RFC 6675).
    pub fn in_flight(&self) -> Bytes {
        Bytes(self.sender.pipe())
    }

    /// Bytes (SYN and FIN count as one each) acknowledged by the other end.
    pub fn acknowledged(&self) -> Bytes {
        Bytes(self.sender.una())
    }

    /// Payload of a full segment: the smaller segment size less the options of every segment (RFC 6691).
    pub fn segment_payload(&self) -> Bytes {
        Bytes(u64::from(self.sender.mss()))
    }

    /// Smoothed round-trip time.
    pub fn srtt(&self) -> Option<Span> {
        self.sender.rtt.srtt()
    }

    /// The latest sample of the round-trip time, if there was one since the last call.
    pub(crate) fn take_rtt_sample(&mut self) -> Option<Span> {
        self.sender.rtt.take_sample()
    }

    /// Retransmission timeout.
    pub fn rto(&self) -> Span {
        self.sender.rtt.rto()
    }

    /// The application has `bytes` more to send.
    ///
    /// # Panics
    /// If it closed its direction before.
    pub fn write(&mut self, bytes: Bytes) {
        assert!(!self.sender.is_closing(), "write after close");
        self.sender.write(bytes.0);
    }

    /// The application has an endless amount of data to send.
    ///
    /// # Panics
    /// If it closed its direction before.
    pub fn write_endlessly(&mut self) {
        assert!(!self.sender.is_closing(), "write after close");
        self.sender.write_endlessly();
    }

    /// The application reads up to `bytes` of the received data; returns how many there were. For configurations without
    /// [`auto_read`](Config::auto_read).
    pub fn read(&mut self, bytes: Bytes) -> Bytes {
        Bytes(self.receiver.read(bytes.0))
    }

    /// Received bytes not yet [read](Self::read).
    pub fn readable(&self) -> Bytes {
        Bytes(self.receiver.unread())
    }

    /// The application writes no more: a FIN follows what it wrote. Data of an endless writer that was never sent is
    /// dropped.
    pub fn close(&mut self) {
        self.sender.close();
    }

    /// Ends the connection at once with a reset (RFC 9293, section 3.10.5).
    pub fn abort(&mut self) {
        self.reset_due = !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::TimeWait);
        self.state = State::Closed;
    }

    /// Bytes received in order since the last call, as [`Event::Received`] would report them.
    #[inline]
    pub(crate) fn take_received(&mut self) -> Bytes {
        Bytes(std::mem::take(&mut self.events.received))
    }

    /// The next event since the last call.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.take()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), and why.
    pub fn poll_deadline(&self) -> Option<(Instant, Timer)> {
        match self.state {
            State::Listen | State::Closed => None,
            State::SynSent | State::SynReceived => self.handshake.deadline().map(|at| (at, Timer::Retransmit)),
            _ => {
                let ack = self.receiver.deadline().map(|at| (at, Timer::DelayedAck));
                let ends = self.state == State::TimeWait;
                let end = self.time_wait_until.filter(|_| ends).map(|at| (at, Timer::TimeWait));
                let earlier = |a: Option<(Instant, Timer)>, b: Option<(Instant, Timer)>| match (a, b) {
                    (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
                    (a, b) => a.or(b),
                };
                earlier(earlier(self.sender.timer(), ack), end)
            }
        }
    }

    /// Handles the deadlines that have passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self.state {
            State::Listen | State::Closed => {}
            State::SynSent | State::SynReceived => self.handle_syn_timeout(now),
            _ => {
                self.receiver.handle_timeout(now);
                if let Some(retries) = self.sender.handle_timeout(now, &mut self.stats) {
                    self.stats.timeouts += 1;
                    if retries > self.config.data_retries {
                        self.reset_due = true;
                        self.finish(CloseReason::TimedOut); // RFC 9293, section 3.8.3
                    }
                }
                if self.state == State::TimeWait && self.time_wait_until.is_some_and(|at| at <= now) {
                    self.finish(CloseReason::Normal);
                }
            }
        }
    }

    fn handle_syn_timeout(&mut self, now: Instant) {
        let outcome = self.handshake.handle_timeout(now, self.config.syn_retries);
        self.stats.timeouts += u64::from(outcome != SynTimeout::NotYet);
        match outcome {
            SynTimeout::NotYet => {}
            SynTimeout::SendAgain => self.sender.rtt.on_timeout(), // RFC 6298, rule 5.5, for a SYN as well
            SynTimeout::GiveUp => self.finish(CloseReason::TimedOut),
        }
    }

    /// Handles a segment that arrived.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment) {
        match self.state {
            State::Closed => {}
            State::Listen => self.handle_in_listen(segment),
            State::SynSent => self.handle_in_syn_sent(now, segment),
            _ if segment.flags.rst => self.finish(CloseReason::Reset),
            // The other end did not get the answer to its SYN (RFC 9293, section 3.10.7.4).
            State::SynReceived if segment.flags.syn => self.handshake.request(),
            _ if segment.flags.syn => self.receiver.ack_now(),
            _ if segment.flags.ack => self.handle_synchronized(now, segment),
            _ => {}
        }
    }

    fn handle_in_listen(&mut self, segment: &Segment) {
        let Some(options) = segment.syn.as_ref().filter(|_| !segment.flags.ack && !segment.flags.rst) else { return };
        self.agree(options, segment);
        self.handshake.request();
        self.state = State::SynReceived;
    }

    fn handle_in_syn_sent(&mut self, now: Instant, segment: &Segment) {
        if !segment.flags.ack || segment.ack != 1 {
            return;
        }
        if segment.flags.rst {
            self.finish(CloseReason::Reset);
        } else if let Some(options) = &segment.syn {
            self.agree(options, segment);
            self.establish(now, segment);
            self.handle_ack(now, segment, None);
            self.receiver.ack_now();
        }
    }

    fn agree(&mut self, options: &SynOptions, segment: &Segment) {
        self.agreed = Agreed::new(&self.config, options, segment);
        self.stamp_to_echo = segment.timestamps.map_or(0, |stamps| stamps.value);
        let (payload, shift) = (self.agreed.payload(), self.agreed.own_shift());
        self.receiver = Receiver::new(&self.config, payload, segment.end(), shift);
    }

    /// Completes the handshake at this end.
    fn establish(&mut self, now: Instant, segment: &Segment) {
        if let Some(rtt) = self.stamp_rtt(now, segment).or_else(|| self.handshake.sample(now)) {
            self.sender.rtt.on_sample(rtt, 0, 0);
        }
        self.sender.on_established(&self.config, &self.agreed, self.handshake.repetitions());
        self.state = State::Established;
        self.events.established = true;
    }

    /// The sample of the round-trip time in a segment's timestamps.
    fn stamp_rtt(&self, now: Instant, segment: &Segment) -> Option<Span> {
        let stamps = segment.timestamps.filter(|_| self.agreed.timestamps)?;
        Some(Span::from_micros(u64::from(clock(now).wrapping_sub(stamps.echo))))
    }

    fn handle_synchronized(&mut self, now: Instant, segment: &Segment) {
        if self.state == State::SynReceived {
            if segment.ack == 0 {
                return;
            }
            self.establish(now, segment);
        }
        if let Some(stamps) = segment.timestamps.filter(|_| segment.seq <= self.last_ack_sent) {
            self.stamp_to_echo = stamps.value; // RFC 7323, section 4.3
        }
        let sample = self.stamp_rtt(now, segment);
        let progress = self.handle_ack(now, segment, sample);
        self.events.drained |= progress.drained;
        if progress.fin_acked {
            self.on_fin_acked(now);
        }
        self.take_data(now, segment);
    }

    /// Hands an acknowledgment to the sender, with the sample that its timestamps give.
    fn handle_ack(&mut self, now: Instant, segment: &Segment, sample: Option<Span>) -> Progress {
        let size = self.agreed.peer_window(segment);
        let progress = self.sender.handle_ack(now, segment, size, sample);
        self.stats.fast_recoveries += u64::from(progress.entered_fast);
        progress
    }

    fn take_data(&mut self, now: Instant, segment: &Segment) {
        if segment.seq_len() == 0 {
            if segment.seq < self.receiver.next() {
                self.receiver.ack_now(); // a probe, or a late segment
            }
            return;
        }
        self.stats.data_segments_received += u64::from(segment.len > 0);
        let data = segment.seq..segment.seq + u64::from(segment.len);
        self.receiver.set_rto(self.sender.rtt.rto());
        let arrival = self.receiver.handle(now, data, segment.flags);
        self.stats.bytes_received += arrival.in_order;
        self.events.received += arrival.in_order;
        if arrival.finished {
            self.events.peer_finished = true;
            self.on_peer_finished(now);
        } else if self.state == State::TimeWait && segment.flags.fin {
            self.enter_time_wait(now); // its FIN again: our acknowledgment was lost
        }
    }

    fn on_fin_acked(&mut self, now: Instant) {
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.finish(CloseReason::Normal),
            _ => {}
        }
    }

    fn on_peer_finished(&mut self, now: Instant) {
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }

    fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.time_wait_until = Some(now + self.config.time_wait);
    }

    fn finish(&mut self, reason: CloseReason) {
        if self.state != State::Closed {
            self.state = State::Closed;
            self.events.closed = Some(reason);
        }
    }

    /// The next segment to send now.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        let mut segment = Segment::EMPTY;
        self.transmit(now, &mut segment).then_some(segment)
    }

    /// As [`Self::poll_transmit`], but writes the segment in place, so that it is never moved. Returns whether there is
    /// one; if not, the contents are meaningless.
    pub(crate) fn transmit(&mut self, now: Instant, segment: &mut Segment) -> bool {
        segment.sack.clear();
        let made = match self.state {
            State::Listen => false,
            State::Closed => {
                let is_due = std::mem::take(&mut self.reset_due);
                if is_due {
                    self.write_reset(now, segment);
                }
                is_due
            }
            State::SynSent | State::SynReceived => self.write_syn(now, segment),
            _ => self.write_data_or_ack(now, segment),
        };
        self.stats.segments_sent += u64::from(made);
        made
    }

    #[inline(never)]
    fn write_syn(&mut self, now: Instant, segment: &mut Segment) -> bool {
        if !self.handshake.take(now, self.sender.rtt.rto()) {
            return false;
        }
        self.stats.retransmissions += u64::from(self.handshake.repetitions() > 0);
        let answer = self.state == State::SynReceived;
        let (options, stamps) = if answer {
            (self.agreed.answer(&self.config), self.agreed.timestamps)
        } else {
            (offer(&self.config), self.config.timestamps)
        };
        self.last_ack_sent = self.receiver.next();
        *segment = Segment {
            ack: self.receiver.next(),
            window: self.receiver.window().min(u64::from(u16::MAX)) as u16,
            flags: Flags { syn: true, ack: answer, ..Flags::default() },
            syn: Some(options),
            timestamps: stamps.then(|| self.stamps(now)),
            ..Segment::EMPTY
        };
        true
    }

    #[inline]
    fn write_data_or_ack(&mut self, now: Instant, segment: &mut Segment) -> bool {
        if self.receiver.holds_any() && self.agreed.sack {
            // The timestamps leave room for three (RFC 2018, section 3).
            self.receiver.report(MAX_SACK_BLOCKS - usize::from(self.agreed.timestamps), &mut segment.sack);
        }
        let taken = if segment.sack.is_empty() { 0 } else { 4 + 8 * segment.sack.len() as u32 };
        let room = self.sender.mss().saturating_sub(taken).max(1);
        if let Some(chunk) = self.sender.next_chunk(now, room, &mut self.stats) {
            if chunk.len > 0 {
                self.stats.data_segments_sent += 1;
                self.receiver.on_data_sent(now);
            }
            if chunk.fin {
                self.on_fin_sent();
            }
            self.write_segment(now, chunk, segment);
            return true;
        }
        let nothing = |seq| Chunk { seq, ..Chunk::default() };
        let chunk = if self.sender.take_probe() {
            // An old position and no data: unacceptable, so the other end must answer (RFC 9293, section 3.10.7.4), and
            // nothing has to be retransmitted if it does not.
            nothing(self.sender.una() - 1)
        } else if self.receiver.ack_due() {
            nothing(self.sender.nxt())
        } else {
            return false;
        };
        self.stats.acks_sent += 1;
        self.write_segment(now, chunk, segment);
        true
    }

    fn on_fin_sent(&mut self) {
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            state => state,
        };
    }

    /// All of a segment but its SACK blocks.
    #[inline]
    fn write_segment(&mut self, now: Instant, chunk: Chunk, segment: &mut Segment) {
        self.receiver.on_ack_sent();
        self.last_ack_sent = self.receiver.next();
        let shift = self.agreed.own_shift();
        segment.seq = chunk.seq;
        segment.ack = self.receiver.next();
        segment.len = chunk.len;
        segment.window = (self.receiver.window() >> shift).min(u64::from(u16::MAX)) as u16;
        segment.flags = Flags { ack: true, fin: chunk.fin, psh: chunk.psh, ..Flags::default() };
        segment.syn = None;
        segment.timestamps = self.agreed.timestamps.then(|| self.stamps(now));
    }

    #[inline(never)]
    fn write_reset(&mut self, now: Instant, segment: &mut Segment) {
        let chunk = Chunk { seq: self.sender.nxt(), ..Chunk::default() };
        self.write_segment(now, chunk, segment);
        segment.flags.rst = true;
    }

    fn stamps(&self, now: Instant) -> Timestamps {
        Timestamps { value: clock(now), echo: self.stamp_to_echo }
    }
}

/// The timestamp clock: microseconds, modulo 2^32.
fn clock(now: Instant) -> u32 {
    (now.as_nanos() / 1_000) as u32
}
