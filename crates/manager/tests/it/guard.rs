//! The guard against harm, from the bridge's byte counts to the bypass.

use evenair_manager::{Command, Config, Event, GuardState, GuardStep, Manager, Mode, Observation, Output};
use evenair_packet::{PacketMeta, Port, TcpFlags, Transport};
use evenair_recording::{DecisionLog, Recorder, replay};
use evenair_units::{BitRate, Bytes, Instant, Span};

use crate::world::{Segment, config, packet, rate};

const PACKET: Span = Span::from_micros(800);
const LEN: Bytes = Bytes(1_440);

/// A stream to a station that answers nothing, and that the operator has said to be at 1 Mb/s: 14.4 Mb/s.
struct Stream {
    manager: Manager<u64>,
    recorder: Recorder,
    log: DecisionLog,
    now: Instant,
    sent: u64,
    released: u64,
    steps: Vec<(Instant, GuardStep)>,
}

impl Stream {
    fn new() -> Self {
        let config = Config {
            controller: Config::new(evenair_wifi::Phy::default_for(evenair_wifi::Standard::Dot11b)).controller,
            ..config(&[rate(1_000)])
        };
        let (recorder, log) = (Recorder::new(&config, Instant::ZERO), DecisionLog::default());
        let manager = Manager::new(config, Instant::ZERO);
        Self { manager, recorder, log, now: Instant::ZERO, sent: 0, released: 0, steps: Vec::new() }
    }

    fn drain(&mut self) {
        while let Some(output) = self.manager.poll_output() {
            self.log.decision(self.now, &output, |number| *number);
            match output {
                Output::Release { .. } => self.released += 1,
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

    /// Meets the manager's deadlines up to then.
    fn wait(&mut self, until: Instant) {
        while let Some((at, _)) = self.manager.poll_deadline().filter(|(at, _)| *at <= until) {
            self.now = self.now.max(at);
            self.recorder.timeout(self.now);
            self.manager.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
    }

    /// The bridge carries the stream for so long, and is looked at twice a second.
    fn bridge(&mut self, halves: u64) {
        const HALF: Span = Span::from_millis(500);
        for _ in 0..halves {
            self.wait(self.now + HALF);
            let carried = Bytes(LEN.0 * HALF.as_nanos() / PACKET.as_nanos());
            self.observe(Observation::Bridged { carried, elapsed: HALF });
        }
    }

    /// The stream goes through the manager for so long, or until it has bypassed itself.
    fn cross(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end && self.manager.mode() != Mode::Bypassed {
            self.wait(self.now + PACKET);
            let meta = datagram();
            self.recorder.packet(self.now, self.sent, &meta);
            self.manager.handle_packet(self.now, self.sent, &meta);
            self.sent += 1;
            self.drain();
        }
    }

    fn state(&self) -> GuardState {
        self.manager.report_recent(self.now, 0).guard.state
    }
}

fn datagram() -> PacketMeta {
    let mut meta = packet(Port::Wire, 0, 0, Segment::new(TcpFlags::ACK, 0, 0, LEN.0 - 40));
    let ip = meta.ip.as_mut().expect("it is IP");
    (ip.protocol, ip.transport, ip.total_len) = (17, Transport::Udp { src_port: 1, dst_port: 2 }, LEN);
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
    let guard = stream.manager.report_recent(stream.now, 0).guard;
    assert_eq!((guard.state, guard.bypasses, guard.steps), (GuardState::Bypassed, 1, steps.len() as u64));
    let stream_rate = BitRate::from_bits_over(LEN.bits(), PACKET);
    assert!(guard.before.as_bps() * 10 > stream_rate.as_bps() * 9, "{guard:?}");
    // What is carried now, the bridge's counters say.
    stream.bridge(8);
    let guard = stream.manager.report_recent(stream.now, 0).guard;
    assert!(guard.now.as_bps() * 10 > stream_rate.as_bps() * 9 && guard.state == GuardState::Bypassed, "{guard:?}");
    // The same is not the guard's doing once an operator has commanded it, and what was counted is still there.
    stream.command(Command::Bypass);
    assert_eq!((stream.state(), stream.manager.report_recent(stream.now, 0).guard.bypasses), (GuardState::Watching, 1));
    // All of it follows from the recording.
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
