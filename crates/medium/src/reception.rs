//! Reception: bit errors, signals against noise, and overlapping frames.
//!
//! All such decisions, for both engines, are made here. Frames are lost one by one and independently:
//! - with a probability set for a pair of nodes, DATA only;
//! - with a plain bit error rate, which counts all bits of a MAC frame;
//! - by modulation and code at the pair's signal-to-noise ratio, if the signal is known: from a path loss between the
//!   positions of the two nodes, or set for the pair.
//!
//! ACK, CTS and RTS are lost like other frames. A DATA frame whose ACK is lost is sent again, and the receiver drops the
//! duplicate by its sequence number (IEEE Std 802.11-2016, 10.3.2.11).
//!
//! Of frames that overlap at a receiver, one is received (*captured*) if its signal exceeds that of the others by a
//! threshold. Without signals, or among equal ones, none is. Capture is independent of noise: the bit errors of a captured
//! frame are drawn as if it were alone.
//!
//! Probabilities are cached by pair, rate and size, so that a frame costs a look-up, or nothing if no frame is ever lost.
//!
//! Not modelled: bursts of errors, and bystanders that decode a frame when the receiver does not.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use evenair_units::{Bytes, Db, Dbm, Rng};
use evenair_wifi::{BitErrorRate, PathLoss, Phy, PhyRate, Position, Width, errors, power};

/// Reception on a medium.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reception {
    /// Probability that a bit is wrong, whatever the signal.
    pub ber: BitErrorRate,
    /// Path loss between positions; `None`: positions do not matter.
    pub path_loss: Option<PathLoss>,
    /// Whether noise causes losses, by modulation and code, to frames of known signal.
    pub noise: bool,
    /// Whether the strongest of frames that overlap can be received.
    pub capture: Option<Capture>,
    /// Width of the channel: frames without a width of their own are duplicated in each 20 MHz part.
    pub width: Width,
}

/// Rule of capture: when the strongest of overlapping frames is received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capture {
    /// Minimum by which its signal must exceed the interference.
    pub threshold: Db,
    /// The interference that counts.
    pub over: Interference,
}

/// Interference with an overlapped frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interference {
    /// The sum of all other signals.
    Sum,
    /// The strongest other signal: ns-2 compares signals pairwise.
    Strongest,
}

/// A node's position and transmit power.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Antenna {
    /// Position.
    pub position: Position,
    /// Transmit power.
    pub power: Dbm,
}

/// The properties of a frame that matter to its reception.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Sent {
    pub(crate) rate: PhyRate,
    /// Size of the MAC frame with its FCS.
    pub(crate) psdu: Bytes,
    /// Whether it is DATA: losses set for a pair of nodes apply.
    pub(crate) is_data: bool,
}

/// Reception state of all pairs of nodes.
#[derive(Debug)]
pub(crate) struct Receivers {
    rules: Reception,
    antennas: Vec<Option<Antenna>>,
    links: BTreeMap<(u32, u32), Link>,
    /// Random stream of losses to noise for each sender, independent of the number of other nodes.
    errors: Vec<Rng>,
    /// Whether anything but a collision may lose a frame.
    is_lossy: bool,
}

/// State of one pair, sender and receiver.
#[derive(Debug, Default)]
struct Link {
    /// Loss probability of DATA that is set for the pair, per 10^9.
    loss: u32,
    signal: Option<Dbm>,
    /// Cached loss probabilities per 10^9.
    known: BTreeMap<Sent, u32>,
}

impl Receivers {
    pub(crate) fn new(rules: Reception) -> Self {
        let is_lossy = rules.ber != BitErrorRate::ZERO || (rules.noise && rules.path_loss.is_some());
        Self { rules, antennas: Vec::new(), links: BTreeMap::new(), errors: Vec::new(), is_lossy }
    }

    pub(crate) fn add_node(&mut self, antenna: Option<Antenna>, errors: Rng) {
        self.antennas.push(antenna);
        self.errors.push(errors);
    }

    /// Removes the state of a node that has left.
    pub(crate) fn remove_node(&mut self, node: u32) {
        self.links.retain(|&(from, to), _| from != node && to != node);
    }

    /// Whether anything but a collision may lose a frame.
    pub(crate) fn is_lossy(&self) -> bool {
        self.is_lossy
    }

    /// Whether overlapped frames can be received.
    pub(crate) fn can_capture(&self) -> bool {
        self.rules.capture.is_some()
    }

    /// Sets the probability, per 10^9, that DATA from `from` to `to` is lost, in addition to other losses.
    pub(crate) fn set_loss(&mut self, from: u32, to: u32, per_billion: u32) {
        self.is_lossy |= per_billion > 0;
        let link = self.link(from, to);
        link.loss = per_billion;
        link.known.clear();
    }

    /// Sets the signal of frames from `from` at `to`.
    pub(crate) fn set_signal(&mut self, from: u32, to: u32, signal: Dbm) {
        self.is_lossy |= self.rules.noise;
        let link = self.link(from, to);
        link.signal = Some(signal);
        link.known.clear();
    }

    /// The signal of frames from `from` at `to`, if known.
    pub(crate) fn signal(&mut self, from: u32, to: u32) -> Option<Dbm> {
        self.link(from, to).signal
    }

    /// Whether noise spoils a frame that nothing overlaps.
    pub(crate) fn draw_loss(&mut self, phy: &Phy, from: u32, to: u32, sent: Sent) -> bool {
        if !self.is_lossy {
            return false;
        }
        let error = self.error(phy, from, to, sent);
        self.draw(from, error)
    }

    /// Draws whether noise spoils a frame, with this probability per 10^9.
    pub(crate) fn draw(&mut self, from: u32, error: u32) -> bool {
        error > 0 && self.errors[from as usize].chance(error)
    }

    /// Whether a bystander decodes more than half of such frames.
    pub(crate) fn decodes(&mut self, phy: &Phy, from: u32, to: u32, sent: Sent) -> bool {
        let sent = Sent { is_data: false, ..sent };
        !self.is_lossy || self.error(phy, from, to, sent) < 500_000_000
    }

    /// Probability per 10^9 that noise spoils a frame.
    pub(crate) fn error(&mut self, phy: &Phy, from: u32, to: u32, sent: Sent) -> u32 {
        let Reception { ber, noise, width, .. } = self.rules;
        let link = self.link(from, to);
        if let Some(&error) = link.known.get(&sent) {
            return error;
        }
        let plain = ber.frame_error_per_billion(sent.psdu);
        let signal = link.signal.filter(|_| noise);
        let by_noise = signal.map_or(0, |signal| {
            let width = sent.rate.mode().map_or(width, |mode| mode.width());
            let snr = signal - power::noise_floor(phy.standard(), width);
            errors::frame_error_per_billion(phy, sent.rate, sent.psdu, snr)
        });
        let loss = if sent.is_data { link.loss } else { 0 };
        let error = either(either(plain, by_noise), loss);
        link.known.insert(sent, error);
        error
    }

    /// Whether the frame of `from` is captured at `at` among those of `others`.
    pub(crate) fn captures(&mut self, at: u32, from: u32, others: impl Iterator<Item = u32>) -> bool {
        let Some(Capture { threshold, over }) = self.rules.capture else { return false };
        let Some(signal) = self.link(from, at).signal else { return false };
        // An unknown signal counts as infinitely strong.
        let mut against = others.map(|other| self.link(other, at).signal.unwrap_or(Dbm::from_milli(i32::MAX)));
        let against = match over {
            Interference::Sum => power::sum(against),
            Interference::Strongest => {
                let first = against.next();
                first.map(|first| against.fold(first, Dbm::max))
            }
        };
        against.is_none_or(|against| signal - against >= threshold)
    }

    fn link(&mut self, from: u32, to: u32) -> &mut Link {
        let (antennas, path_loss) = (&self.antennas, self.rules.path_loss);
        self.links.entry((from, to)).or_insert_with(|| {
            let place = |node: u32| antennas[node as usize];
            let signal = || Some((place(from)?, place(to)?.position, path_loss?));
            let signal = signal().map(|(sender, to, loss)| sender.power - loss.between(sender.position, to));
            Link { signal, ..Link::default() }
        })
    }
}

/// Probability per 10^9 that at least one of two independent events happens.
fn either(a: u32, b: u32) -> u32 {
    const BILLION: u64 = 1_000_000_000;
    let neither = (BILLION - u64::from(a.min(BILLION as u32))) * (BILLION - u64::from(b.min(BILLION as u32))) / BILLION;
    (BILLION - neither) as u32
}

#[cfg(test)]
mod tests {
    use evenair_units::BitRate;
    use evenair_wifi::Standard;

    use super::*;

    const METRE: i64 = 1_000;

    fn errors() -> Rng {
        evenair_units::Streams::new(1).stream("medium frame errors")
    }

    fn receivers(rules: Reception, places: &[i64]) -> Receivers {
        let mut receivers = Receivers::new(rules);
        for &x_mm in places {
            let position = Position { x_mm: x_mm * METRE, y_mm: 0 };
            receivers.add_node(Some(Antenna { position, power: power::USUAL_POWER }), errors());
        }
        receivers
    }

    fn capture(over: Interference) -> Reception {
        let capture = Some(Capture { threshold: Db::from_milli(10_000), over });
        Reception { path_loss: Some(PathLoss::new(Standard::Dot11b, 3_000)), capture, ..Reception::default() }
    }

    #[test]
    fn the_strongest_is_captured_where_it_exceeds_the_others_by_the_threshold() {
        // Exponent 3: 10 dB are a factor of 2.154 in distance.
        let mut r = receivers(capture(Interference::Sum), &[0, 10, 21, 22, 10]);
        assert!(!r.captures(0, 1, [2].into_iter()));
        assert!(r.captures(0, 1, [3].into_iter()));
        assert!(!r.captures(0, 3, [1].into_iter()));
        assert!(!r.captures(0, 1, [4].into_iter()), "equal");
        assert!(r.captures(0, 1, [].into_iter()));
        assert!(!r.captures(0, 1, [3, 3].into_iter()), "together they are too strong");
        let mut r = receivers(capture(Interference::Strongest), &[0, 10, 22, 22]);
        assert!(r.captures(0, 1, [2, 3].into_iter()), "one by one they are not");
    }

    #[test]
    fn nothing_is_captured_without_signals_or_threshold() {
        let mut r = Receivers::new(Reception { path_loss: None, ..capture(Interference::Sum) });
        (0..3).for_each(|_| r.add_node(None, errors()));
        assert!(!r.captures(0, 1, [2].into_iter()));
        let mut r = receivers(Reception { capture: None, ..capture(Interference::Sum) }, &[0, 1, 1_000]);
        assert!(!r.captures(0, 1, [2].into_iter()));
        let mut r = receivers(capture(Interference::Sum), &[0, 10]);
        r.add_node(None, errors());
        assert!(!r.captures(0, 1, [2].into_iter()), "how strong the other is, is not known");
    }

    #[test]
    fn losses_of_different_causes_add_up_as_independent_ones() {
        let phy = Phy::default_for(Standard::Dot11b);
        let ber = BitErrorRate::new(1e-5).unwrap();
        let mut r = receivers(Reception { ber, ..Reception::default() }, &[0, 10]);
        assert!(r.is_lossy());
        let rate = Standard::Dot11b.rate(BitRate::from_mbps(11)).unwrap();
        let data = Sent { rate, psdu: Bytes(1_000), is_data: true };
        assert_eq!(r.error(&phy, 0, 1, data), 76_884_023);
        r.link(0, 1).loss = 300_000_000;
        r.link(0, 1).known.clear();
        assert_eq!(r.error(&phy, 0, 1, data), 353_818_817);
        assert_eq!(r.error(&phy, 0, 1, Sent { is_data: false, ..data }), 76_884_023, "no DATA");
        assert_eq!(r.error(&phy, 1, 0, data), 76_884_023, "the other way");
        assert!(r.error(&phy, 0, 1, Sent { psdu: Bytes(14), ..data }) < 301_000_000);
    }

    #[test]
    fn a_signal_fades_into_noise() {
        let phy = Phy::default_for(Standard::Dot11b);
        let rules =
            Reception { path_loss: Some(PathLoss::new(Standard::Dot11b, 3_000)), noise: true, ..Reception::default() };
        let mut r = receivers(rules, &[0, 10, 120, 200, 1_000]);
        let rates = Standard::Dot11b.rates();
        let mut error = |to, rate| r.error(&phy, 0, to, Sent { rate, psdu: Bytes(1_536), is_data: true });
        assert_eq!(error(1, rates[3]), 0);
        // 120 m: 62.4 + 40.05 dB of loss, 7.1 dB over noise; 200 m: 0.5 dB; 1 km: 20 dB below.
        assert!((1_000_000..200_000_000).contains(&error(2, rates[3])), "{}", error(2, rates[3]));
        assert_eq!((error(2, rates[1]), error(3, rates[3])), (0, 1_000_000_000));
        assert!(error(3, rates[0]) < 1_000_000);
        assert_eq!(error(4, rates[0]), 1_000_000_000);
    }
}
