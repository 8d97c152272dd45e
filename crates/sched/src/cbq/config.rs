//! Parameters of a CBQ tree, and the conversion of bursts to times.

use alloc::boxed::Box;
use alloc::vec::Vec;

use evenair_units::{BitRate, Bytes, Span};
use minicbor::{Decode, Encode};

use super::{LONGEST_NS, PRIORITIES};
use crate::Config;

/// Largest n of a gain 2^-n: a mean over more packets would hardly change.
const MOST_GAIN: u32 = 16;
/// Packet size assumed for bursts (`avpkt` in the examples of `tc`).
const USUAL_PACKET: Bytes = Bytes(1000);
/// Binary places of a power.
const POINT: u32 = 32;

/// Which classes may send above their own rate. Names and rules are those of the paper's guidelines; each passes unused
/// bandwidth of a class to classes below it, through classes that borrow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(index_only)]
pub enum Sharing {
    /// A class lends if no class at a lower level is *unsatisfied*, that is, within its rate and with packets waiting. Exact,
    /// and checks the whole tree for each packet.
    #[n(0)]
    Formal,
    /// A class lends whenever it is within its own rate, whatever other classes wait.
    #[n(1)]
    AncestorsOnly,
    /// Classes lend up to a level that follows which class was within its rate last. The approximation of the formal rule
    /// that implementations use.
    #[n(2)]
    TopLevel,
}

/// One class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct CbqClass {
    /// Number of its parent class, which is lower than its own.
    #[n(0)]
    pub parent: Option<usize>,
    /// Its share of the link.
    #[n(1)]
    pub rate: BitRate,
    /// For a leaf: bytes that it sends in a round.
    #[n(2)]
    pub quantum: Bytes,
    /// For a leaf: priority, from 0 (highest) to 7.
    #[n(3)]
    pub priority: u8,
    /// Whether it may borrow while over limit, if the sharing rule allows it; otherwise it is *bounded*.
    #[n(4)]
    pub borrows: bool,
    /// Whether it lends only to its descendants.
    #[n(5)]
    pub isolated: bool,
    /// Maximum of its mean idle time.
    #[n(6)]
    pub max_idle: Span,
    /// Minimum of its mean idle time, below zero; `None`: unbounded.
    #[n(7)]
    pub min_idle: Option<Span>,
    /// How much longer than its rate requires a regulated class waits, after which it sends several packets at once. `None`:
    /// it waits until its mean has recovered.
    #[n(8)]
    pub extra_delay: Option<Span>,
}

/// Parameters of a tree.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct CbqConfig {
    /// Parents precede their children. Classes without children are leaves.
    #[n(0)]
    pub classes: Vec<CbqClass>,
    /// Leaf for packets whose class is no leaf.
    #[n(1)]
    pub default: usize,
    /// The queue in each leaf.
    #[cbor(n(2), decode_with = "crate::config::decode_leaf")]
    pub leaf: Box<Config>,
    /// n of the gain 2^-n of all means.
    #[n(3)]
    pub gain: u32,
    /// Rule of borrowing.
    #[n(4)]
    pub sharing: Sharing,
}

impl CbqConfig {
    /// The gain of 1/32 that Floyd and Linux use.
    pub const GAIN: u32 = 5;

    /// Whether the tree is valid.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        for (number, class) in self.classes.iter().enumerate() {
            if class.parent.is_some_and(|parent| parent >= number) {
                return Err("has a class before its parent");
            }
            if usize::from(class.priority) >= PRIORITIES {
                return Err("has a priority above 7");
            }
            if class.rate == BitRate::ZERO || class.quantum == Bytes::ZERO {
                return Err("has a class that would never send");
            }
            if self.lent_by(number) == BitRate::ZERO {
                return Err("has a class of which isolated ones have all");
            }
        }
        if self.gain > MOST_GAIN {
            return Err("has a gain below 2^-16");
        }
        if !self.leaf.is_for_leaves() {
            return Err("shapes in a leaf of another that shapes");
        }
        if self.default >= self.classes.len() || !self.is_leaf(self.default) {
            return Err("has a default class that is no leaf");
        }
        self.leaf.check()
    }

    pub(super) fn is_leaf(&self, number: usize) -> bool {
        self.classes.iter().all(|class| class.parent != Some(number))
    }

    /// Rate of a class for its descendants that are not isolated.
    pub(super) fn lent_by(&self, number: usize) -> BitRate {
        let isolated = self.classes.iter().filter(|class| class.isolated && class.parent == Some(number));
        isolated.fold(self.classes[number].rate, |rest, class| rest.saturating_sub(class.rate))
    }

    /// Level of each class: 1 for leaves, otherwise one above the highest child.
    pub(super) fn levels(&self) -> Vec<usize> {
        let mut levels = alloc::vec![1; self.classes.len()];
        for (number, class) in self.classes.iter().enumerate().rev() {
            if let Some(parent) = class.parent {
                levels[parent] = levels[parent].max(levels[number] + 1);
            }
        }
        levels
    }

    /// The `max_idle` with which a class of this rate, on a link of that one, sends `burst` packets of 1000 bytes at once:
    /// `(s / rate - s / link) * (g^-burst - 1)` with g = 1 - 2^-gain, and at least the link's time for one packet.
    pub fn max_idle(link: BitRate, rate: BitRate, burst: u32, gain: u32) -> Span {
        let idle = (short_of(link, rate) * (inverse_power(burst, gain) - (1 << POINT))) >> POINT;
        let least = link.time_for(USUAL_PACKET).as_nanos() >> gain;
        Span::from_nanos(u64::try_from(idle).unwrap_or(u64::MAX).clamp(least, LONGEST_NS as u64))
    }

    /// The extra delay with which a class of this rate, on a link of that one, sends `burst` packets of 1000 bytes at once,
    /// time after time: `(s / rate - s / link) * (1 + (g^-(burst - 1) - 1) / (1 - g))`. Since the mean decays, such a class
    /// gets somewhat less than its rate, the less the longer its bursts are.
    pub fn extra_delay(link: BitRate, rate: BitRate, burst: u32, gain: u32) -> Span {
        let parts = (1 << POINT) + ((inverse_power(burst.saturating_sub(1), gain) - (1 << POINT)) << gain);
        let delay = (short_of(link, rate) * parts) >> POINT;
        Span::from_nanos(u64::try_from(delay).unwrap_or(u64::MAX).min(LONGEST_NS as u64))
    }
}

/// Difference of a packet's transmission times at the class's rate and at the link's, in nanoseconds.
fn short_of(link: BitRate, rate: BitRate) -> u128 {
    let time = |rate: BitRate| rate.time_for(USUAL_PACKET).as_nanos();
    u128::from(time(rate).saturating_sub(time(link)))
}

/// `g^-n` with g = 1 - 2^-gain, as fixed point with `POINT` binary places, at most 2^32.
fn inverse_power(n: u32, gain: u32) -> u128 {
    let whole = 1u128 << gain;
    (0..n).fold(1u128 << POINT, |power, _| (power * whole / (whole - 1).max(1)).min(1 << 64))
}
