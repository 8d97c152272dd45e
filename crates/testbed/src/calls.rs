//! Quality of calls by external programs, measured from their packets: the times at which each leaves its speaker's network
//! device and reaches its listener's, matched by RTP sequence numbers (RFC 3550).
//!
//! A telephone's RTP uses the same port on both hosts, which identifies the call. Packets count as sent when they leave the
//! speaker's host: irregular sending of the program itself is not attributed to the network.

use std::collections::BTreeMap;

use evenair_packet::Transport;
use evenair_scenario::{AppKind, Scenario};
use evenair_units::{Instant, Span};
use evenair_workload::voice::{CallMeter, Heard};
use evenair_workload::{Direction, Phase};

use crate::plan;

/// Time after which a packet counts as lost.
const LOST_AFTER: Span = Span::from_secs(10);

/// All calls of a scenario by telephone programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    /// Applications of each call, from the station and to it, by RTP port.
    by_port: BTreeMap<u16, [usize; 2]>,
    /// Meters by application.
    meters: BTreeMap<usize, CallMeter>,
    /// Packets in transit, by application and sequence number: when they left their host.
    under_way: BTreeMap<(usize, u16), Instant>,
    /// Start of the run, once it has begun.
    origin: Option<Instant>,
}

impl Calls {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let mut calls = Self::default();
        for (port, both) in plan::telephones(scenario) {
            calls.by_port.insert(port, both);
            for number in both {
                let app = &scenario.apps[number];
                let AppKind::Voip(spec) = &app.kind else { continue };
                let phases: Vec<Phase> = scenario.measure.phases.clone();
                let stop = app.stop.unwrap_or(scenario.duration);
                calls.meters.insert(number, CallMeter::new(spec.hearing, app.start, stop, &phases));
            }
        }
        calls
    }

    /// Whether there are no such calls.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_port.is_empty()
    }

    /// Begins the run at `origin`.
    pub(crate) fn begin(&mut self, origin: Instant) {
        self.origin = Some(origin);
    }

    /// Handles a frame that leaves a host: a station (`Up`), or a server.
    pub(crate) fn leave(&mut self, now: Instant, way: Direction, frame: &[u8]) {
        let Some((origin, key)) = self.origin.zip(self.packet(way, frame)) else { return };
        if let Some(meter) = self.meters.get_mut(&key.0) {
            meter.send(now.saturating_since(origin));
            self.under_way.insert(key, now);
        }
    }

    /// Handles a frame that arrives at a host.
    pub(crate) fn come(&mut self, now: Instant, way: Direction, frame: &[u8]) {
        let Some((origin, key)) = self.origin.zip(self.packet(way, frame)) else { return };
        let sent = self.under_way.remove(&key);
        if let (Some(sent), Some(meter)) = (sent, self.meters.get_mut(&key.0)) {
            meter.receive(sent.saturating_since(origin), now.saturating_since(sent));
        }
    }

    /// Reception so far, by application and phase.
    pub(crate) fn heard(&mut self, now: Instant) -> Vec<(usize, Vec<(usize, Heard)>)> {
        self.under_way.retain(|_, sent| now.saturating_since(*sent) < LOST_AFTER);
        self.meters.iter().map(|(&app, meter)| (app, meter.heard_by_number().collect())).collect()
    }

    /// Application and sequence number of an RTP packet.
    fn packet(&self, way: Direction, frame: &[u8]) -> Option<(usize, u16)> {
        let meta = evenair_packet::parse(evenair_packet::Port::Wire, frame);
        let Transport::Udp { src_port, dst_port } = meta.ip.as_ref()?.transport else { return None };
        let [up, down] = *self.by_port.get(&src_port).filter(|_| src_port == dst_port)?;
        let app = if way == Direction::Up { up } else { down };
        Some((app, meta.rtp()?.sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> Scenario {
        let text = "version = 1\nname = \"c\"\nduration = \"10 s\"\n[radio]\nstandard = \"802.11g\"\n\
                    [[station]]\nname = \"a\"\nrate = \"54 Mb/s\"\n[[server]]\nname = \"s\"\n\
                    [[voip]]\nname = \"call\"\nstations = [\"a\"]\nserver = \"s\"\ntool = \"baresip\"\ndscp = 0\n";
        Scenario::parse(text, "c.toml").unwrap_or_else(|error| panic!("{error}"))
    }

    /// An RTP packet between the telephones' ports.
    fn speech(port: u16, sequence: u16) -> Vec<u8> {
        let udp = 8 + 12 + 160u16;
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
        frame.extend((20 + udp).to_be_bytes());
        frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([port, port, udp, 0].map(u16::to_be_bytes).concat());
        frame.extend([0x80, 0]);
        frame.extend(sequence.to_be_bytes());
        frame.extend([0; 168]);
        frame
    }

    #[test]
    fn delays_and_losses_are_those_between_the_hosts() {
        let scenario = scenario();
        let [(port, [up, down])] = plan::telephones(&scenario)[..] else { panic!("one call") };
        let (mut calls, start) = (Calls::new(&scenario), Instant::ZERO + Span::from_secs(3));
        calls.leave(start, Direction::Up, &speech(port, 1));
        assert_eq!(calls.heard(start), [(up, vec![]), (down, vec![])], "the run has not begun");
        calls.begin(start);
        for number in 0..100 {
            let at = start + Span::from_millis(20) * u64::from(number);
            calls.leave(at, Direction::Up, &speech(port, number));
            calls.leave(at, Direction::Down, &speech(port + 2, number));
            if number % 10 > 0 {
                calls.come(at + Span::from_millis(7), Direction::Up, &speech(port, number));
            }
        }
        let heard = calls.heard(start + Span::from_secs(5));
        let [(0, of_up)] = &heard[0].1[..] else { panic!("{heard:?}") };
        assert_eq!((of_up.sent, of_up.lost, heard[1].1.len()), (100, 10, 0), "and nothing of another port");
        assert!((of_up.delay_mean_ms - 7.0).abs() < 0.02, "{of_up:?}");
    }
}
