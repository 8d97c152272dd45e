//! Wireless hierarchical token bucket: HTB whose classes share medium time and not bytes.
//!
//! A packet over a poor channel takes more of the medium, so its length is stretched before its class is charged:
//!
//! ```text
//! stretched = len * R_MAX / Rhat
//! ```
//!
//! where Rhat is the goodput that the channel allows now and R_MAX that of the best one. Two ways to know Rhat:
//! - [`Estimator::Signal`], as published: a table from signal to goodput, made beforehand by saturating a link, and a
//!   first-order filter, `Rhat = 3/4 Rhat + 1/4 table(signal)`. What is charged is bounded by a quantum.
//! - [`Estimator::Delivery`]: what became of the packets that were sent. The medium time of each, attempts that failed and
//!   packets given up included, is set beside that of a packet over the best channel. A packet is charged what those
//!   before it have cost when it leaves, so that no poor channel's packets fill the card's buffer before their cost is
//!   known, and the difference when its fate is known: over time the charge is exact. Nothing bounds it: what is owed
//!   is a debt that the class's quanta pay before it sends again. A class to which next to nothing comes through leaves its
//!   turns to others and tries one packet after each pause, until one arrives.
//!
//! Source: Garroppo, Giordano, Lucetti, Valori, "The Wireless Hierarchical Token Bucket: a Channel Aware Scheduler for 802.11
//! Networks". The second estimator mends what the authors name as weak: estimates by signal are too good at medium
//! quality, packets lost past the retry limit are not seen, and a round gives a packet at least even to a dead station.
//!
//! Promise (delivery): while two leaves of one priority are backlogged and both green, the medium time they took, over
//! their quanta, differs by at most the time of a few quanta and of what is under way. Not promised: anything of the bytes.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_units::{BitRate, Bytes, Db, Instant, Span};
use minicbor::{Decode, Decoder, Encode, decode};

use crate::htb::Stretch;
use crate::{Discipline, Dropped, Feedback, Htb, HtbConfig, News, Packet};

/// No channel is taken for so many times worse than the best.
const WORST: u64 = 1000;
/// The older part of a mean, in quarters; the newer one has the rest. As published for the filter.
const OLD_QUARTERS: u64 = 3;
/// The same for the distinction between a dead and a poor channel, in sixteenths: packets lost one after the other are common
/// on a channel that still carries a twentieth of the best, some fifteen of them are not.
const OLD_SIXTEENTHS: u64 = 15;
/// Packets whose fate is awaited, of a class; of more the first are taken for as cheap as they were charged.
const MOST_UNDER_WAY: usize = 4096;

/// Goodput by signal over noise, from a calibration.
#[derive(Clone, PartialEq, Eq, Debug, Encode)]
#[cbor(transparent)]
pub struct ChannelTable(#[n(0)] Vec<(Db, BitRate)>);

impl ChannelTable {
    /// A table of these points. `None` if there is none, signals do not rise from one to the next, or a goodput is zero.
    pub fn new(points: Vec<(Db, BitRate)>) -> Option<Self> {
        let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let positive = points.iter().all(|&(_, goodput)| goodput > BitRate::ZERO);
        (!points.is_empty() && rises && positive).then_some(Self(points))
    }

    /// Its points, signals rising.
    pub fn points(&self) -> &[(Db, BitRate)] {
        &self.0
    }

    /// The best goodput.
    pub fn best(&self) -> BitRate {
        self.0.iter().map(|&(_, goodput)| goodput).max().expect("it has points")
    }

    /// Goodput at a signal: on the line between the points beside it, that of the last one beyond.
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
    /// A class that gets less than this many thousandths of what the best channel would carry is taken for dead.
    #[n(0)]
    pub dead_permille: u32,
    /// So long a dead class leaves its turns to others that have packets; then it tries one.
    #[n(1)]
    pub pause: Span,
}

impl Default for DeliveryConfig {
    /// A fiftieth: 100 kb/s beside stations of 802.11b that get 5 Mb/s; in some 20 packets that are lost, each of which takes
    /// as long as 25, it is reached. A second: what a station that has come back waits at most, while a dead one takes a few
    /// hundredths of the medium.
    fn default() -> Self {
        Self { dead_permille: 20, pause: Span::from_secs(1) }
    }
}

/// How the goodput that a channel allows is known.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Estimator {
    /// Published: by signal and a table.
    #[n(0)]
    Signal(#[n(0)] ChannelTable),
    /// By what became of packets.
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
    /// How channels are known.
    #[n(1)]
    pub estimator: Estimator,
}

/// What is known of a leaf's channel.
#[derive(Clone, Debug, Default)]
struct Channel {
    /// Published: Rhat.
    goodput: Option<BitRate>,
    /// Means of the medium time of a packet and of what that would be at best, over a few packets.
    cost: Option<[u64; 2]>,
    /// Over more: means of the medium time, and of what that would be at best for those that were delivered.
    life: Option<[u64; 2]>,
    /// What packets were charged whose fate is awaited.
    under_way: VecDeque<Bytes>,
}

/// A tree of classes that share medium time.
#[derive(Debug)]
pub struct Whtb<P> {
    htb: Htb<P>,
    estimator: Estimator,
    channels: Vec<Channel>,
}

impl<P: Packet + Send + 'static> Whtb<P> {
    /// An empty tree; channels are taken for the best until something is learned. `seed` is for leaves that hash.
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

    /// How many times their size packets of a class are charged, in thousandths.
    pub fn stretch_permille(&self, class: usize) -> u64 {
        self.htb.charged(class, Bytes(1000)).0
    }

    /// A class is held back at this time because its channel is taken for dead.
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
        // Never less than at best: a card's rate may be above the one that is taken for the best.
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
            // It has come back: what it was before says nothing of what it is now.
            stretch.held_until = Instant::ZERO;
            channel.life = None;
        } else if !fate.delivered && is_dead(life, config.dead_permille) {
            stretch.pause = Some(config.pause);
            stretch.held_until = now.saturating_add(config.pause);
        }
    }
}

/// Whether so little of the medium time (first) went into packets that arrived (second).
fn is_dead([took, good]: [u64; 2], dead_permille: u32) -> bool {
    u128::from(good) * 1000 < u128::from(took) * u128::from(dead_permille)
}

/// What became of a packet, as in [`News::Fate`].
#[derive(Clone, Copy, Debug)]
struct Fate {
    size: Bytes,
    took: Span,
    at_best: Span,
    delivered: bool,
}

/// A mean that takes `new` in, of which the older part is `old_parts` of `parts`.
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
