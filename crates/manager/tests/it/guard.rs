//! The harm guard, from the throughput of the bridge to the bypass.

use evenair_manager::{
    Command, Config, Event, GuardState, GuardStep, Manager, Mode, Observation, Output, StationConfig,
};
use evenair_packet::{PacketMeta, Port, TcpFlags, Transport};
use evenair_recording::{DecisionLog, Recorder, replay};
use evenair_units::{BitRate, Bytes, Instant, Span};
use evenair_wifi::{Phy, Standard};

use crate::world::{Segment, config, mac, packet, rate};

const PACKET: Span = Span::from_millis(2);
const LEN: Bytes = Bytes(1_440);
/// Received datagrams for each reply of the station, the most with QUIC.
const REPLY_EVERY: u64 = 10;

/// A stream of 5.8 Mb/s to a station whose replies do not confirm single packets, and that is configured at 1 Mb/s. The medium carries it
/// all.
struct Stream {
    manager: Manager<u64>,
    recorder: Recorder,
    log: DecisionLog,
    now: Instant,
    sent: u64,
    /// Datagrams that have reached the station without a reply yet.
    released: u64,
    unreplied: u64,
    steps: Vec<(Instant, GuardStep)>,
}

impl Stream {
    fn new() -> Self {
        let controller = Config::new(Phy::default_for(Standard::Dot11b)).controller;
        Self::with(Config { controller, ..config(&[rate(1_000)]) })
    }

    fn with(config: Config) -> Self {
        let (recorder, log) = (Recorder::new(&config, Instant::ZERO), DecisionLog::default());
        let manager = Manager::new(config, Instant::ZERO);
        Self { manager, recorder, log, now: Instant::ZERO, sent: 0, released: 0, unreplied: 0, steps: Vec::new() }
    }

    fn packet(&mut self, meta: &PacketMeta) {
        self.recorder.packet(self.now, self.sent, meta);
        self.manager.handle_packet(self.now, self.sent, meta);
        self.sent += 1;
        self.drain();
    }

    fn reply(&mut self) {
        while self.unreplied >= REPLY_EVERY {
            self.unreplied -= REPLY_EVERY;
            self.packet(&datagram(Port::Wlan, Bytes(80)));
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.manager.poll_output() {
            self.log.decision(self.now, &output, |number| *number);
            match output {
                Output::Release { port: Port::Wlan, .. } => {
                    self.released += 1;
                    self.unreplied += 1;
                }
                Output::Event(Event::Guard { step, .. }) => self.steps.push((self.now, step)),
                _ => {}
            }
        }
    }

    fn command(&mut self, command: Command) {
        self.recorder.command(self.now, &command);
        self.manager.handle_command(self.now, command);
        self.drain();
    }

    fn observe(&mut self, observation: Observation) {
        self.recorder.observation(self.now, &observation);
        self.manager.handle_observation(self.now, observation);
        self.drain();
    }

    /// Meets the manager's deadlines up to this instant.
    fn wait(&mut self, until: Instant) {
        while let Some((at, _)) = self.manager.poll_deadline().filter(|(at, _)| *at <= until) {
            self.now = self.now.max(at);
            self.recorder.timeout(self.now);
            self.manager.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
    }

    /// The bridge carries the stream for so many half seconds, or until the guard inserts the box. The manager gets copies.
    fn bridge(&mut self, halves: u64) {
        self.bridge_at(PACKET, halves);
    }

    fn bridge_at(&mut self, between: Span, halves: u64) {
        const HALF: Span = Span::from_millis(500);
        for _ in 0..halves {
            if self.manager.mode() == Mode::Inserted {
                return;
            }
            for _ in 0..HALF.as_nanos() / between.as_nanos() {
                self.wait(self.now + between);
                self.packet(&datagram(Port::Wire, LEN));
                self.reply();
            }
        }
    }

    /// The stream goes through the manager for this time, or until it has bypassed itself.
    fn cross(&mut self, span: Span) {
        self.cross_at(PACKET, span);
    }

    /// The same with this time between two packets.
    fn cross_at(&mut self, between: Span, span: Span) {
        let end = self.now + span;
        while self.now < end && self.manager.mode() != Mode::Bypassed {
            self.wait(self.now + between);
            self.packet(&datagram(Port::Wire, LEN));
            self.reply();
        }
    }

    /// The last step, and the time of the next trial.
    fn last(&self) -> (Option<GuardStep>, Option<Span>) {
        let next = self.manager.report_totals(self.now).guard.next_try;
        (self.steps.last().map(|(_, step)| *step), next.map(|next| next.saturating_since(self.now)))
    }

    fn state(&self) -> GuardState {
        self.manager.report_totals(self.now).guard.state
    }
}

fn datagram(ingress: Port, len: Bytes) -> PacketMeta {
    let mut meta = packet(ingress, 0, 0, Segment::new(TcpFlags::ACK, 0, 0, len.0 - 40));
    let ip = meta.ip.as_mut().expect("it is IP");
    let (src_port, dst_port) = if ingress == Port::Wire { (1, 2) } else { (2, 1) };
    (ip.protocol, ip.transport, ip.total_len) = (17, Transport::Udp { src_port, dst_port }, len);
    meta
}

#[test]
fn a_box_that_carries_next_to_nothing_bypasses_itself_within_five_seconds() {
    let mut stream = Stream::new();
    stream.bridge(8);
    stream.command(Command::Insert);
    stream.cross(Span::from_secs(20));
    let after = stream.now.saturating_since(Instant::ZERO + Span::from_secs(4));
    let steps: Vec<_> = stream.steps.iter().map(|(_, step)| *step).collect();
    println!("{} of {} released, {:?} after {after}", stream.released, stream.sent, stream.steps);
    assert_eq!((steps.last(), stream.manager.mode()), (Some(&GuardStep::Bypassed), Mode::Bypassed));
    assert!(after <= Span::from_secs(6), "{after}");
    let guard = stream.manager.report_totals(stream.now).guard;
    assert_eq!((guard.state, guard.bypasses, guard.steps), (GuardState::Bypassed, 1, steps.len() as u64));
    let stream_rate = BitRate::from_bits_over(LEN.bits(), PACKET);
    assert!(guard.before.as_bps() * 10 > stream_rate.as_bps() * 9, "{guard:?}");
    // Present throughput is that of the copies.
    stream.bridge(8);
    let guard = stream.manager.report_totals(stream.now).guard;
    assert!(guard.now.as_bps() * 10 > stream_rate.as_bps() * 9 && guard.state == GuardState::Bypassed, "{guard:?}");
    // A bypass by command does not count as the guard's, and its counts remain.
    stream.command(Command::Bypass);
    assert_eq!((stream.state(), stream.manager.report_totals(stream.now).guard.bypasses), (GuardState::Watching, 1));
    // All of it is reproduced from the recording.
    let (replayed, end) = replay(&stream.recorder.take()).expect("a recording");
    assert_eq!((end, replayed.as_bytes()), (Ok(()), stream.log.as_bytes()));
}

#[test]
fn a_box_that_was_inserted_at_its_start_does_not_bypass_itself() {
    let mut stream = Stream::new();
    stream.command(Command::Insert);
    stream.cross(Span::from_secs(60));
    println!("{:?}", stream.steps);
    assert_eq!(stream.manager.mode(), Mode::Inserted);
    assert!(stream.steps.iter().all(|(_, step)| !matches!(step, GuardStep::Opened | GuardStep::Bypassed)));
}

const fn minutes(minutes: u64) -> Span {
    Span::from_secs(60 * minutes)
}

/// A bypassed box after so many failed trials of the guard. Until a minute before a trial the bridge carries one packet of 25.
fn after_failed_trials(between: Span, trials: usize) -> Stream {
    let mut stream = Stream::new();
    stream.bridge_at(between, 8);
    stream.command(Command::Insert);
    stream.cross_at(between, Span::from_secs(30));
    for _ in 0..trials {
        let (_, next) = stream.last();
        let halves = 2 * next.expect("a trial is to come").as_nanos() / 1_000_000_000 + 4;
        stream.bridge_at(between * 25, halves.saturating_sub(120));
        stream.bridge_at(between, halves.min(120));
        assert_eq!((stream.last(), stream.state()), ((Some(GuardStep::Trying), None), GuardState::Trying));
        let start = stream.now;
        stream.cross_at(between, Span::from_secs(30));
        let after = stream.now.saturating_since(start);
        assert!(after <= Span::from_secs(6), "{after}");
    }
    assert_eq!((stream.manager.mode(), stream.state()), (Mode::Bypassed, GuardState::Bypassed));
    stream
}

#[test]
fn after_a_bypass_by_the_guard_it_tries_again_ever_more_rarely() {
    for (trials, pause) in [(0, minutes(1)), (1, minutes(10)), (2, minutes(60)), (3, minutes(60))] {
        let mut stream = after_failed_trials(PACKET, trials);
        let (step, next) = stream.last();
        let next = next.expect("a trial is to come");
        assert_eq!(step, Some(GuardStep::Bypassed));
        assert!(next <= pause && next + Span::from_secs(2) >= pause, "{next} after {trials} trials");
        assert_eq!(stream.manager.report_totals(stream.now).guard.bypasses, trials as u64 + 1);
        let (replayed, end) = replay(&stream.recorder.take()).expect("a recording");
        assert_eq!((end, replayed.as_bytes()), (Ok(()), stream.log.as_bytes()));
    }
}

/// The fault is fixed: the configured rate.
#[test]
fn a_trial_that_succeeds_leaves_the_box_inserted() {
    let between = Span::from_millis(4);
    let mut stream = after_failed_trials(between, 1);
    stream.observe(Observation::StationRate { mac: mac(0), rate: rate(11_000) });
    stream.bridge_at(between, 2 * 600 + 4);
    assert_eq!((stream.manager.mode(), stream.state()), (Mode::Inserted, GuardState::Trying));
    stream.cross_at(between, Span::from_secs(590));
    assert_eq!(stream.state(), GuardState::Trying);
    stream.cross_at(between, Span::from_secs(20));
    assert_eq!((stream.last(), stream.state()), ((Some(GuardStep::Proven), None), GuardState::Watching));
    stream.cross_at(between, Span::from_secs(60));
    assert_eq!((stream.manager.mode(), stream.state()), (Mode::Inserted, GuardState::Watching));
    let (replayed, end) = replay(&stream.recorder.take()).expect("a recording");
    assert_eq!((end, replayed.as_bytes()), (Ok(()), stream.log.as_bytes()));
}

#[test]
fn an_operator_ends_the_trials() {
    let mut stream = after_failed_trials(PACKET, 0);
    stream.command(Command::Bypass);
    stream.bridge_at(PACKET * 25, 2 * 4_000);
    assert_eq!((stream.manager.mode(), stream.last()), (Mode::Bypassed, (Some(GuardStep::Bypassed), None)));
    // Inserted by an operator, it stays bypassed for a minute again.
    let mut stream = after_failed_trials(PACKET, 2);
    stream.command(Command::Insert);
    assert_eq!((stream.state(), stream.last().1), (GuardState::Watching, None));
    stream.cross(Span::from_secs(30));
    assert_eq!((stream.manager.mode(), stream.state()), (Mode::Bypassed, GuardState::Bypassed));
    assert!(stream.last().1.is_some_and(|next| next <= minutes(1)), "{:?}", stream.last());
    // So does a running trial.
    stream.bridge(2 * 60 + 4);
    assert_eq!(stream.state(), GuardState::Trying);
    stream.command(Command::Insert);
    assert_eq!((stream.manager.mode(), stream.state()), (Mode::Inserted, GuardState::Watching));
}

/// A box that paces at a little less than half, since the station is configured at 12 Mb/s. When the guard compared byte counts of the
/// port, it bypassed such a box after 14 s.
#[test]
fn a_box_that_paces_at_half_bypasses_itself_within_fourteen_seconds() {
    let between = Span::from_micros(600);
    for halves in [8, 120] {
        let rate = Standard::Dot11g.rate(BitRate::from_mbps(12)).expect("a rate of 802.11g");
        let stations = vec![StationConfig { mac: mac(0), rate, weight: 1, class: None }];
        let mut stream = Stream::with(Config { stations, ..Config::new(Phy::default_for(Standard::Dot11g)) });
        stream.bridge_at(between, halves);
        stream.command(Command::Insert);
        let (start, sent, released) = (stream.now, stream.sent, stream.released);
        stream.cross_at(between, Span::from_secs(3));
        let part = (stream.released - released) as f64 / (stream.sent - sent) as f64;
        assert!((0.35..0.5).contains(&part), "{part}");
        stream.cross_at(between, Span::from_secs(60));
        let after = stream.now.saturating_since(start);
        println!("{part:.2} for 3 s, {:?} after {after}", stream.steps);
        assert_eq!(stream.manager.mode(), Mode::Bypassed);
        assert!(after < Span::from_millis(14_010), "{after}");
    }
}
