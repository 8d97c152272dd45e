//! Wireless hierarchical token bucket: HTB whose classes share airtime instead of bytes.
//!
//! A packet over a poor channel takes more airtime, so its length is stretched before its class is charged:
//!
//! ```text
//! stretched = len * R_MAX / Rhat
//! ```
//!
//! where Rhat is the goodput that the channel allows now and R_MAX that of the best channel. Rhat is estimated in two ways:
//! - [`Estimator::Signal`], as published: a table from signal to goodput, measured beforehand by saturating a link, and a
//!   first-order filter, `Rhat = 3/4 Rhat + 1/4 table(signal)`. The charge is limited to a quantum.
//! - [`Estimator::Delivery`]: the outcomes of sent packets. The airtime of each, failed attempts and dropped packets
//!   included, is compared with that over the best channel. When a packet leaves it is charged by the cost of earlier ones,
//!   so that no poor channel's packets fill the card's buffer before their cost is known; when its outcome is known, the
//!   difference is charged. So long-term charges are exact. They are not limited: a class's quanta pay its debt before it
//!   sends again. A class that delivers next to nothing skips its turns and probes with one packet after each pause, until
//!   one arrives.
//!
//! Source: Garroppo, Giordano, Lucetti, Valori, "The Wireless Hierarchical Token Bucket: a Channel Aware Scheduler for 802.11
//! Networks". The second estimator fixes what the authors name as weaknesses: estimates by signal are too optimistic at
//! medium quality, packets lost past the retry limit are not seen, and each round serves at least one packet even to a dead
//! station.
//! Bound (delivery): while two leaves of one priority are backlogged and both green, their airtime, over their quanta,
//! differs by at most the airtime of a few quanta and of the packets in flight. There is no bound for bytes.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_units::{BitRate, Bytes, Db, Instant, Span};
use minicbor::{Decode, Decoder, Encode, decode};

use crate::htb::Stretch;
use crate::{Discipline, Dropped, Feedback, Htb, HtbConfig, News, Packet};

/// Maximum ratio by which a channel counts as worse than the best.
const WORST: u64 = 1000;
/// Weight of the past in a mean, in quarters. As published for the filter.
const OLD_QUARTERS: u64 = 3;
/// Weight of the past in the mean that distinguishes a dead from a poor channel, in sixteenths: runs of lost packets are
/// common on a channel that still carries a twentieth of the best, but runs of some fifteen are not.
const OLD_SIXTEENTHS: u64 = 15;
/// Maximum number of a class's packets with pending outcome; beyond it the charges of the oldest stand.
const MOST_UNDER_WAY: usize = 4096;

/// Goodput by signal-to-noise ratio, from a calibration.
#[derive(Clone, PartialEq, Eq, Debug, Encode)]
#[cbor(transparent)]
pub struct ChannelTable(#[n(0)] Vec<(Db, BitRate)>);

impl ChannelTable {
    /// A table of these points. `None` if there is none, signals do not ascend, or a goodput is zero.
    pub fn new(points: Vec<(Db, BitRate)>) -> Option<Self> {
        let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let positive = points.iter().all(|&(_, goodput)| goodput > BitRate::ZERO);
        (!points.is_empty() && rises && positive).then_some(Self(points))
    }

    /// Its points, in ascending order of signal.
    pub fn points(&self) -> &[(Db, BitRate)] {
        &self.0
    }

    /// The highest goodput.
    pub fn best(&self) -> BitRate {
        self.0.iter().map(|&(_, goodput)| goodput).max().expect("it has points")
    }

    /// Goodput at a signal, interpolated linearly between the adjacent points; constant beyond the last ones.
    pub fn at(&self, signal: Db) -> BitRate {
        let above = self.0.partition_point(|&(known, _)| known <= signal);
        let (Some(&(from, low)), Some(&(to, high))) = (above.checked_sub(1).map(|i| &self.0[i]), self.0.get(above))
        else {
            return self.0[above.min(self.0.len() - 1)].1;
        };
        let part = i128::from(signal.as_milli() - from.as_milli());
        let whole = i128::from(to.as_milli() - from.as_milli());
        let (low, high) = (i128::from(low.as_bps()), i128::from(high.as_bps()));
        BitRate::from_bps(u64::try_from(low + (high - low) * part / whole).expect("between two rates"))
    }
}

impl<'b, C> Decode<'b, C> for ChannelTable {
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Self, decode::Error> {
        let at = d.position();
        Self::new(d.decode_with(ctx)?)
            .ok_or_else(|| decode::Error::message("a channel table that does not rise").at(at))
    }
}

/// Parameters of the estimator by delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct DeliveryConfig {
    /// A class counts as dead if it gets less than this many thousandths of the goodput of the best channel.
    #[n(0)]
    pub dead_permille: u32,
    /// How long a dead class skips its turns while others have packets, before it probes with one packet.
    #[n(1)]
    pub pause: Span,
}

impl Default for DeliveryConfig {
    /// A fiftieth: 100 kb/s beside stations of 802.11b that get 5 Mb/s; some 20 lost packets reach it, each of which takes as
    /// long as 25. A second: the maximum wait of a station that has recovered, while a dead one takes a few hundredths of the
    /// airtime.
    fn default() -> Self {
        Self { dead_permille: 20, pause: Span::from_secs(1) }
    }
}

/// How a channel's goodput is estimated.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Estimator {
    /// As published: by signal and a table.
    #[n(0)]
    Signal(#[n(0)] ChannelTable),
    /// By outcomes of packets.
    #[n(1)]
    Delivery(#[n(0)] DeliveryConfig),
}

/// Parameters of WHTB.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct WhtbConfig {
    /// The tree. Each leaf is for packets over one channel.
    #[n(0)]
    pub tree: HtbConfig,
    /// Estimator of the channels.
    #[n(1)]
    pub estimator: Estimator,
}

/// State of a leaf's channel.
#[derive(Clone, Debug, Default)]
struct Channel {
    /// Estimator by signal: Rhat.
    goodput: Option<BitRate>,
    /// Means, over a few packets, of a packet's airtime and of its airtime over the best channel, in nanoseconds.
    cost: Option<[u64; 2]>,
    /// Means, over more packets, of the airtime, and of the airtime at best of delivered packets, in nanoseconds.
    life: Option<[u64; 2]>,
    /// Charges of the packets with pending outcome.
    under_way: VecDeque<Bytes>,
}

/// A tree of classes that share airtime.
#[derive(Debug)]
pub struct Whtb<P> {
    htb: Htb<P>,
    estimator: Estimator,
    channels: Vec<Channel>,
}

impl<P: Packet + Send + 'static> Whtb<P> {
    /// An empty tree; channels count as the best until there is feedback. `seed` is for leaves that hash.
    ///
    /// # Panics
    /// As [`Htb::new`].
    pub fn new(config: WhtbConfig, seed: u64) -> Self {
        let classes = config.tree.classes.len();
        let mut htb = Htb::new(config.tree, seed);
        for class in 0..classes {
            let quantum = htb.quantum(class);
            *htb.stretch_mut(class) = match config.estimator {
                Estimator::Signal(_) => Stretch { most: Some(quantum), ..Stretch::NONE },
                Estimator::Delivery(_) => Stretch { pays_debts: true, ..Stretch::NONE },
            };
        }
        Self { htb, estimator: config.estimator, channels: (0..classes).map(|_| Channel::default()).collect() }
    }

    /// Present ratio of charge to size of a class's packets, in thousandths.
    pub fn stretch_permille(&self, class: usize) -> u64 {
        self.htb.charged(class, Bytes(1000)).0
    }

    /// Whether a class is held at this time because its channel counts as dead.
    pub fn is_held(&mut self, now: Instant, class: usize) -> bool {
        now < self.htb.stretch_mut(class).held_until
    }

    fn hear(&mut self, class: usize, signal: Db) {
        let Estimator::Signal(table) = &self.estimator else { return };
        let (now, best) = (table.at(signal).as_bps(), table.best().as_bps());
        let channel = &mut self.channels[class];
        let old = channel.goodput.map_or(now, BitRate::as_bps);
        let goodput = mean(old, now, OLD_QUARTERS, 4).max(1);
        channel.goodput = Some(BitRate::from_bps(goodput));
        self.htb.stretch_mut(class).ratio = (best, goodput);
    }

    fn learn(&mut self, now: Instant, class: usize, fate: Fate) {
        let Estimator::Delivery(config) = self.estimator else { return };
        let channel = &mut self.channels[class];
        let Some(charged) = channel.under_way.pop_front() else { return };
        let best = fate.at_best.as_nanos().max(1);
        // Never less than at best: a card's rate may be above the assumed best.
        let took = match fate.took.as_nanos() {
            0 => 0,
            took => took.clamp(best, best.saturating_mul(WORST)),
        };
        let cost = u128::from(fate.size.0) * u128::from(took) / u128::from(best);
        let more = i64::try_from(i128::try_from(cost).unwrap_or(i128::MAX) - i128::from(charged.0));
        self.htb.settle(now, class, more.unwrap_or(i64::MAX / 4));
        if took == 0 {
            return;
        }
        let was = channel.cost.unwrap_or([best; 2]);
        let cost = [mean(was[0], took, OLD_QUARTERS, 4), mean(was[1], best, OLD_QUARTERS, 4)];
        channel.cost = Some(cost);
        let good = if fate.delivered { best } else { 0 };
        let was = channel.life.unwrap_or([best; 2]);
        let life = [mean(was[0], took, OLD_SIXTEENTHS, 16), mean(was[1], good, OLD_SIXTEENTHS, 16)];
        channel.life = Some(life);
        let stretch = self.htb.stretch_mut(class);
        stretch.ratio = (cost[0], cost[1].max(1));
        if fate.delivered && stretch.pause.take().is_some() {
            // It has recovered: its past is no longer relevant.
            stretch.held_until = Instant::ZERO;
            channel.life = None;
        } else if !fate.delivered && is_dead(life, config.dead_permille) {
            stretch.pause = Some(config.pause);
            stretch.held_until = now.saturating_add(config.pause);
        }
    }
}

/// Whether the airtime of delivered packets (second) is too small a share of all airtime (first).
fn is_dead([took, good]: [u64; 2], dead_permille: u32) -> bool {
    u128::from(good) * 1000 < u128::from(took) * u128::from(dead_permille)
}

/// Outcome of a packet, as in [`News::Fate`].
#[derive(Clone, Copy, Debug)]
struct Fate {
    size: Bytes,
    took: Span,
    at_best: Span,
    delivered: bool,
}

/// Moving average of `old` with weight `old_parts` of `parts`, and `new`.
fn mean(old: u64, new: u64, old_parts: u64, parts: u64) -> u64 {
    let sum = u128::from(old) * u128::from(old_parts) + u128::from(new) * u128::from(parts - old_parts);
    u64::try_from(sum / u128::from(parts)).expect("between the two")
}

impl<P: Packet + Send + 'static> Discipline<P> for Whtb<P> {
    fn handle_packet(&mut self, now: Instant, packet: P) {
        self.htb.handle_packet(now, packet);
    }

    fn poll_packet(&mut self, now: Instant) -> Option<P> {
        let packet = self.htb.poll_packet(now)?;
        if matches!(self.estimator, Estimator::Delivery(_)) {
            let leaf = self.htb.classify(&packet);
            let charged = self.htb.charged(leaf, packet.cost());
            let under_way = &mut self.channels[leaf].under_way;
            under_way.push_back(charged);
            if under_way.len() > MOST_UNDER_WAY {
                under_way.pop_front();
            }
        }
        Some(packet)
    }

    fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.htb.poll_drop()
    }

    fn poll_deadline(&self, now: Instant) -> Option<Instant> {
        self.htb.poll_deadline(now)
    }

    fn handle_feedback(&mut self, now: Instant, feedback: &Feedback) {
        let class = feedback.class as usize;
        if class >= self.channels.len() || !self.htb.is_leaf(class) {
            return;
        }
        match feedback.news {
            News::Signal(signal) => self.hear(class, signal),
            News::Fate { size, took, at_best, delivered } => {
                self.learn(now, class, Fate { size, took, at_best, delivered });
            }
        }
    }

    fn take_all(&mut self) -> Vec<P> {
        self.htb.take_all()
    }

    fn len(&self) -> usize {
        self.htb.len()
    }

    fn bytes(&self) -> Bytes {
        self.htb.bytes()
    }
}
