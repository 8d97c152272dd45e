//! Telephone calls: the packets of codecs, and the quality of a call.
//!
//! A direction of a call is a stream of RTP packets. Its receiver measures delay, jitter (RFC 3550), loss and late packets;
//! from these follow the rating R of the E-model (ITU-T G.107) with its default values, `R = 93.2 - Id - Ie`, and the
//! corresponding mean opinion score. `Id` is Cole and Rosenbluth's fit of G.107 ("Voice over IP Performance Monitoring",
//! ACM CCR 31(2), 2001).
//!
//! Talk spurts and silences of the two directions are independent here.

use evenair_reader::words;
use evenair_units::{Bytes, Span};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::written_units::as_nanos;
use crate::{Bursts, DatagramSpec, Distribution, Phase, Spacing};

/// Length of the RTP header without extensions (RFC 3550).
pub const RTP_HEADER: Bytes = Bytes(12);
/// Mean lengths of talk spurts and pauses in conversational speech (ITU-T P.59, table 1), in nanoseconds.
const TALK_SPURT: f64 = 1.004e9;
const PAUSE: f64 = 1.587e9;
/// Default playout delay of a receiver: enough for the jitter of most networks.
const PLAYOUT: Span = Span::from_millis(60);
/// Packets sent in this last part of a call may still be in flight at its end, and are not counted.
const UNJUDGED: Span = Span::from_secs(1);
/// Resolution of delays: 10 us or 1 %, up to 100 s.
const DELAY_UNIT_NS: u64 = 10_000;
const LONGEST_DELAY: u64 = 10_000_000;

/// A speech codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// ITU-T G.711: 64 kb/s.
    G711,
    /// ITU-T G.729 (annex A): 8 kb/s.
    G729,
    /// Opus, RFC 6716: any rate, frames of varying size.
    Opus,
}

words!(Codec { "g711" => Self::G711, "g729" => Self::G729, "opus" => Self::Opus });

/// The program that makes a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallTool {
    /// The engine's own implementation.
    #[default]
    Builtin,
    /// baresip with this codec, which must be installed (testbed only).
    Baresip(BaresipCodec),
}

/// A codec of baresip, by its SDP name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BaresipCodec {
    /// G.711 with mu-law.
    Pcmu,
    /// Opus.
    Opus,
}

/// One direction of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VoipSpec {
    /// Payload (including the RTP header) and times of the packets.
    pub packets: DatagramSpec,
    /// Parameters of the quality.
    pub hearing: Hearing,
    /// The program that makes it.
    #[serde(default)]
    pub tool: CallTool,
}

/// Parameters of the quality of a call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hearing {
    /// Coding delay: the frames in a packet, and the codec's look-ahead.
    #[serde(with = "as_nanos")]
    pub coding: Span,
    /// Playout delay after the fastest possible arrival; later packets are lost.
    #[serde(with = "as_nanos")]
    pub playout: Span,
    /// Equipment impairment factor Ie of the codec, ITU-T G.113.
    pub impairment: f64,
    /// Packet-loss robustness factor Bpl of the codec, ITU-T G.113.
    pub robustness: f64,
}

impl Codec {
    /// Bytes of speech per packet of this interval; `None` if the codec has no such packets. `bit_rate` is for Opus.
    pub fn speech(self, interval: Span, bit_rate: u64) -> Option<Bytes> {
        let frame = match self {
            // 8000 samples of a byte each second.
            Self::G711 => Span::from_millis(1),
            // Frames of 10 ms, 10 bytes each.
            Self::G729 => Span::from_millis(10),
            Self::Opus => Span::from_micros(2500),
        };
        let frames = interval / frame;
        if frames == 0 || frame * frames != interval {
            return None;
        }
        match self {
            Self::G711 => Some(Bytes(8 * frames)),
            Self::G729 => Some(Bytes(10 * frames)),
            // RFC 6716, section 2.1.4.
            Self::Opus if [1, 2, 4, 8, 16, 24].contains(&frames) => {
                Some(Bytes((bit_rate * interval.as_micros() / 8_000_000).max(1)))
            }
            Self::Opus => None,
        }
    }

    /// Look-ahead: 5 ms for G.729, 6.5 ms for Opus.
    pub fn look_ahead(self) -> Span {
        match self {
            Self::G711 => Span::ZERO,
            Self::G729 => Span::from_millis(5),
            Self::Opus => Span::from_micros(6500),
        }
    }

    /// Ie and Bpl of ITU-T G.113, appendix I: G.711 with loss concealment, G.729A with silence suppression. Opus is not
    /// listed and uses those of G.711.
    pub fn impairment(self) -> (f64, f64) {
        match self {
            Self::G711 | Self::Opus => (0.0, 25.1),
            Self::G729 => (11.0, 19.0),
        }
    }

    /// Default quality parameters: packets of this interval, played 60 ms after the fastest arrival.
    pub fn hearing(self, interval: Span) -> Hearing {
        let (impairment, robustness) = self.impairment();
        Hearing { coding: interval + self.look_ahead(), playout: PLAYOUT, impairment, robustness }
    }

    /// The packets of one direction, with `speech` bytes each (on average for Opus) and an RTP header.
    pub fn packets(self, interval: Span, speech: Bytes, suppresses_silence: bool) -> DatagramSpec {
        let exponential = |mean| Distribution::Exponential { min: 0.0, excess: mean, max: None };
        let spacing = match self {
            Self::G711 | Self::G729 => Spacing::Regular { gap: interval },
            // Variable bit rate: a frame has half to one and a half times the mean.
            Self::Opus => {
                let (header, mean) = (RTP_HEADER.0 as f64, speech.0 as f64);
                let size = Distribution::Uniform { min: header + 0.5 * mean, max: header + 1.5 * mean };
                Spacing::Frames { interval, size }
            }
        };
        let payload = match self {
            Self::G711 | Self::G729 => RTP_HEADER + speech,
            Self::Opus => RTP_HEADER + speech * 2,
        };
        let bursts = Bursts { on: exponential(TALK_SPURT), off: exponential(PAUSE) };
        DatagramSpec { spacing, payload, bursts: suppresses_silence.then_some(bursts) }
    }
}

/// The delay impairment Id for a one-way delay from mouth to ear (Cole and Rosenbluth).
pub fn delay_impairment(delay_ms: f64) -> f64 {
    0.024 * delay_ms + if delay_ms > 177.3 { 0.11 * (delay_ms - 177.3) } else { 0.0 }
}

/// The effective equipment impairment Ie-eff for packets lost at random, `loss` from 0 to 1 (ITU-T G.107, with a burst
/// ratio of 1).
pub fn equipment_impairment(impairment: f64, robustness: f64, loss: f64) -> f64 {
    let percent = 100.0 * loss;
    impairment + (95.0 - impairment) * percent / (percent + robustness)
}

/// The rating factor R for a mouth-to-ear delay and a proportion of packets that are not played.
pub fn rating(delay_ms: f64, loss: f64, hearing: &Hearing) -> f64 {
    93.2 - delay_impairment(delay_ms) - equipment_impairment(hearing.impairment, hearing.robustness, loss)
}

/// The mean opinion score for a rating (ITU-T G.107, annex B).
pub fn opinion(rating: f64) -> f64 {
    let r = rating.clamp(0.0, 100.0);
    // Between R = 0 and 6.5 the formula gives less than 1, the lowest score.
    (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
}

/// Quality of one direction in one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// Packets sent in the phase, without those of the call's last second, which may still be in flight.
    pub sent: u64,
    /// Of these, packets that did not arrive.
    pub lost: u64,
    /// Of these, packets that arrived too late to be played.
    pub late: u64,
    /// One-way delay in the network: mean.
    pub delay_mean_ms: f64,
    /// One-way delay in the network: median.
    pub delay_p50_ms: f64,
    /// One-way delay in the network: 95th percentile.
    pub delay_p95_ms: f64,
    /// One-way delay in the network: 99th percentile.
    pub delay_p99_ms: f64,
    /// One-way delay in the network: maximum.
    pub delay_max_ms: f64,
    /// Interarrival jitter of RFC 3550, mean over the packets.
    pub jitter_ms: f64,
    /// Largest interarrival jitter.
    pub jitter_max_ms: f64,
    /// Mouth-to-ear delay: coding, the fastest packet's delay, and the playout delay.
    pub mouth_to_ear_ms: f64,
    /// Rating factor R of the E-model, 0 to 93.2.
    pub r_factor: f64,
    /// Mean opinion score, 1 to 4.5.
    pub mos: f64,
}

/// Measures one direction of a call, phase by phase, in constant memory.
#[derive(Clone, Debug)]
pub struct CallMeter {
    hearing: Hearing,
    /// Packets sent later than this are not counted.
    until: Span,
    phases: Vec<(Phase, Account)>,
}

#[derive(Clone, Debug)]
struct Account {
    sent: u64,
    delays: Histogram<u64>,
    fastest: Span,
    slowest: Span,
    sum_ns: u128,
    jitter: Jitter,
}

/// RFC 3550, section 6.4.1, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Jitter {
    last: Option<Span>,
    now: f64,
    sum: f64,
    max: f64,
    count: u64,
}

impl CallMeter {
    /// A meter for a call from `start` to `stop`.
    pub fn new(hearing: Hearing, start: Span, stop: Span, phases: &[Phase]) -> Self {
        let length = stop.saturating_sub(start);
        let until = stop.saturating_sub(UNJUDGED.min(length / 2));
        let account = Account {
            sent: 0,
            delays: Histogram::new_with_max(LONGEST_DELAY, 2).expect("these bounds are in order"),
            fastest: Span::MAX,
            slowest: Span::ZERO,
            sum_ns: 0,
            jitter: Jitter::default(),
        };
        Self { hearing, until, phases: phases.iter().map(|phase| (phase.clone(), account.clone())).collect() }
    }

    /// Records a packet sent.
    pub fn send(&mut self, now: Span) {
        self.accounts(now).for_each(|account| account.sent += 1);
    }

    /// Records a packet sent at `sent` that arrives after `delay`.
    pub fn receive(&mut self, sent: Span, delay: Span) {
        self.accounts(sent).for_each(|account| account.receive(delay));
    }

    fn accounts(&mut self, sent: Span) -> impl Iterator<Item = &mut Account> {
        let judged = sent <= self.until;
        let phases = self.phases.iter_mut().filter(move |(phase, _)| judged && (phase.from..phase.to).contains(&sent));
        phases.map(|(_, account)| account)
    }

    /// The quality in each phase with packets.
    pub fn heard(&self) -> impl Iterator<Item = (&Phase, Heard)> {
        self.heard_by_number().map(|(number, heard)| (&self.phases[number].0, heard))
    }

    /// The quality in each phase with packets, with the phase's number.
    pub fn heard_by_number(&self) -> impl Iterator<Item = (usize, Heard)> {
        let spoken = self.phases.iter().enumerate().filter(|(_, (_, account))| account.sent > 0);
        spoken.map(|(number, (_, account))| (number, account.heard(&self.hearing)))
    }
}

impl Account {
    fn receive(&mut self, delay: Span) {
        self.delays.saturating_record(delay.as_nanos() / DELAY_UNIT_NS);
        self.fastest = self.fastest.min(delay);
        self.slowest = self.slowest.max(delay);
        self.sum_ns += u128::from(delay.as_nanos());
        self.jitter.note(delay);
    }

    fn heard(&self, hearing: &Hearing) -> Heard {
        let arrived = self.delays.len();
        if arrived == 0 {
            return Heard { sent: self.sent, lost: self.sent, r_factor: 0.0, mos: 1.0, ..Heard::default() };
        }
        let ms = |span: Span| span.as_secs_f64() * 1e3;
        let latest = (self.fastest + hearing.playout).as_nanos() / DELAY_UNIT_NS;
        let in_time = self.delays.count_between(0, latest.min(LONGEST_DELAY));
        let mouth_to_ear_ms = ms(hearing.coding + self.fastest + hearing.playout);
        let unheard = 1.0 - in_time as f64 / self.sent.max(arrived) as f64;
        let r_factor = rating(mouth_to_ear_ms, unheard, hearing).clamp(0.0, 100.0);
        let quantile = |q| self.delays.value_at_quantile(q) as f64 * DELAY_UNIT_NS as f64 / 1e6;
        Heard {
            sent: self.sent,
            lost: self.sent.saturating_sub(arrived),
            late: arrived - in_time,
            delay_mean_ms: self.sum_ns as f64 / arrived as f64 / 1e6,
            delay_p50_ms: quantile(0.5),
            delay_p95_ms: quantile(0.95),
            delay_p99_ms: quantile(0.99),
            delay_max_ms: ms(self.slowest),
            jitter_ms: self.jitter.sum / self.jitter.count.max(1) as f64 / 1e6,
            jitter_max_ms: self.jitter.max / 1e6,
            mouth_to_ear_ms,
            r_factor,
            mos: opinion(r_factor),
        }
    }
}

impl Jitter {
    /// Records a delay. The difference of two transit times is that of the delays.
    fn note(&mut self, delay: Span) {
        if let Some(last) = self.last.replace(delay) {
            let difference = (delay.as_nanos() as f64 - last.as_nanos() as f64).abs();
            self.now += (difference - self.now) / 16.0;
            self.sum += self.now;
            self.max = self.max.max(self.now);
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const G711: Hearing =
        Hearing { coding: Span::from_millis(20), playout: Span::from_millis(60), impairment: 0.0, robustness: 25.1 };

    #[test]
    fn codecs_send_the_published_packets() {
        let twenty = Span::from_millis(20);
        assert_eq!(Codec::G711.speech(twenty, 0), Some(Bytes(160)));
        assert_eq!(Codec::G729.speech(twenty, 0), Some(Bytes(20)));
        assert_eq!(Codec::Opus.speech(twenty, 24_000), Some(Bytes(60)));
        assert_eq!(Codec::G729.speech(Span::from_millis(15), 0), None);
        assert_eq!(Codec::Opus.speech(Span::from_millis(30), 24_000), None);
        // G.711 makes IP packets of 200 bytes: 20 of IP, 8 of UDP, 12 of RTP, 160 of speech.
        let packets = Codec::G711.packets(twenty, Bytes(160), false);
        assert_eq!((packets.payload, packets.mean_bps()), (Bytes(172), 172.0 * 8.0 * 50.0));
        // Speech is there for 38.7 % of the time (P.59: 38.53 %).
        let suppressed = Codec::G729.packets(twenty, Bytes(20), true);
        assert!((suppressed.bursts.expect("it has pauses").share() - 0.3853).abs() < 0.003);
        let opus = Codec::Opus.packets(twenty, Bytes(60), false);
        assert!((opus.mean_bps() - 72.0 * 8.0 * 50.0).abs() < 1e-6);
    }

    #[test]
    fn the_e_model_has_its_published_points() {
        // No delay and no loss: R = 93.2, a score of 4.41.
        assert_eq!(rating(0.0, 0.0, &G711), 93.2);
        assert!((opinion(93.2) - 4.41).abs() < 0.005);
        // G.107, annex B: categories of quality begin at these.
        for (r, mos) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            // (The table's 4.03 is 4.024 by the formula.)
            assert!((opinion(r) - mos).abs() < 0.007, "{r}: {}", opinion(r));
        }
        assert_eq!((opinion(-5.0), opinion(0.0), opinion(100.0)), (1.0, 1.0, 4.5));
        // Cole and Rosenbluth's knee: 0.024 a millisecond up to 177.3, 0.134 beyond.
        assert!((delay_impairment(177.3) - 4.2552).abs() < 1e-9);
        assert!((delay_impairment(277.3) - delay_impairment(177.3) - 13.4).abs() < 1e-9);
        // G.113: Ie-eff of G.729A is 11 without loss and, with Bpl = 19, half way to 95 at 19 % loss.
        assert_eq!(equipment_impairment(11.0, 19.0, 0.0), 11.0);
        assert!((equipment_impairment(11.0, 19.0, 0.19) - 53.0).abs() < 1e-9);
    }

    fn phase(name: &str, from: u64, to: u64) -> Phase {
        Phase { name: name.to_owned(), from: Span::from_secs(from), to: Span::from_secs(to) }
    }

    #[test]
    fn a_call_is_judged_by_phase_and_its_last_second_is_not() {
        let phases = [phase("before", 0, 5), phase("after", 5, 10)];
        let mut meter = CallMeter::new(G711, Span::ZERO, Span::from_secs(10), &phases);
        for k in 0..500u64 {
            let sent = Span::from_millis(20 * k);
            meter.send(sent);
            // At first every tenth packet is lost; later every tenth is 100 ms slower.
            match (k < 250, k % 10 == 0) {
                (true, true) => {}
                (false, true) => meter.receive(sent, Span::from_millis(130)),
                _ => meter.receive(sent, Span::from_millis(30)),
            }
        }
        let heard: Vec<_> = meter.heard().map(|(_, heard)| heard).collect();
        let (before, after) = (&heard[0], &heard[1]);
        assert_eq!((before.sent, before.lost, before.late), (250, 25, 0));
        assert_eq!((after.sent, after.lost, after.late), (201, 0, 21));
        assert_eq!((before.delay_max_ms, before.jitter_ms), (30.0, 0.0));
        assert!((after.delay_p50_ms - 30.0).abs() < 0.3 && (after.delay_p99_ms - 130.0).abs() < 1.3);
        // 20 ms of coding, 30 ms of the fastest packet, 60 ms of playout delay.
        assert!((before.mouth_to_ear_ms - 110.0).abs() < 1e-9);
        let expected = 93.2 - 0.024 * 110.0 - 95.0 * 10.0 / (10.0 + 25.1);
        assert!((before.r_factor - expected).abs() < 1e-9, "{} {expected}", before.r_factor);
        // Of ten differences two are 100 ms: where that repeats, the largest J is 100 (1 - a^2) / (1 - a^10).
        let a = 15.0f64 / 16.0;
        let largest = 100.0 * (1.0 - a.powi(2)) / (1.0 - a.powi(10));
        assert!((after.jitter_max_ms / largest - 1.0).abs() < 0.001, "{} {largest}", after.jitter_max_ms);
    }

    #[test]
    fn a_call_without_arrivals_has_the_lowest_quality() {
        let mut meter = CallMeter::new(G711, Span::ZERO, Span::from_secs(1), &[phase("all", 0, 1)]);
        meter.send(Span::from_millis(20));
        let (_, heard) = meter.heard().next().expect("something was sent");
        assert_eq!((heard.sent, heard.lost, heard.r_factor, heard.mos), (1, 1, 0.0, 1.0));
    }
}
