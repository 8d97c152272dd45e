//! Minstrel: measures the delivery ratio of each rate, and uses the rate with the highest throughput.
//!
//! After the documentation of the Linux kernel's mac80211 (F. Fietkau and D. Smithies, "Minstrel", linux-wireless wiki;
//! net/mac80211/rc80211_minstrel.c describes the same): every 100 ms the delivery ratio of each rate is averaged with a
//! weight of 75 % for the past. A frame goes through a chain of rates: the one with the highest expected throughput,
//! the second, the most reliable, the slowest; each for as many attempts as fit into 6 ms. One frame of ten is a probe:
//! a rate in random order is tried first, or, if it is slower than the best, second.
//!
//! Throughput is that of frames of 1200 bytes. Rates that deliver less than 10 % have a throughput of zero.
//!
//! For 802.11n, ac and ax there is `minstrel_ht`.

use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Rng, Span};
use evenair_wifi::{Phy, PhyRate};

use super::delivery::{Delivery, SCALE};

/// Interval between evaluations.
const PERIOD: Span = Span::from_millis(100);
/// Share of frames that probe another rate, per cent.
const LOOK_AROUND_PERCENT: u64 = 10;
/// Maximum duration of the attempts at one rate of a chain.
const SEGMENT: Span = Span::from_millis(6);
/// Maximum number of attempts at one rate of a chain.
const MOST_TRIES: u32 = 7;
/// Frame size for which throughputs are compared.
const FRAME: Bytes = Bytes(1_200);
/// Delivery ratio below which a rate's throughput counts as zero, and from which on a rate counts as reliable.
const USELESS: u64 = SCALE / 10;
const RELIABLE: u64 = SCALE * 95 / 100;

#[derive(Debug)]
pub(super) struct Minstrel {
    rates: Vec<Rate>,
    /// Indices of the rates with the highest and the second highest throughput, and of the most reliable one.
    best: usize,
    second: usize,
    reliable: usize,
    evaluated: Option<Instant>,
    frames: u64,
    /// Frames that probed at their first attempt, and frames that probe only after the best rate fails.
    looked: u64,
    deferred: u64,
    /// Probing order of the rates, and the position in it.
    order: Vec<usize>,
    next: usize,
    /// Chain of the frame in service: rates with their numbers of attempts.
    chain: [(usize, u32); 4],
}

#[derive(Debug)]
struct Rate {
    /// Airtime of DATA, SIFS and ACK for [`FRAME`].
    airtime: Span,
    /// Attempts that fit into [`SEGMENT`].
    tries: u32,
    delivery: Delivery,
}

impl Minstrel {
    /// `rates` are in ascending order; the highest is the initial choice.
    pub(super) fn new(phy: &Phy, rates: &[PhyRate]) -> Self {
        let top = rates.len() - 1;
        let mut minstrel = Self {
            rates: rates.iter().map(|&rate| Rate::new(phy, rate)).collect(),
            best: top,
            second: top.saturating_sub(1),
            reliable: top.saturating_sub(1),
            evaluated: None,
            frames: 0,
            looked: 0,
            deferred: 0,
            order: (0..rates.len()).collect(),
            next: 0,
            chain: [(0, 0); 4],
        };
        minstrel.chain = minstrel.usual_chain();
        minstrel
    }

    pub(super) fn best(&self) -> usize {
        self.best
    }

    /// Rate of a frame's next attempt, after `attempt` failed ones.
    pub(super) fn index(&mut self, now: Instant, attempt: u32, rng: &mut Rng) -> usize {
        if attempt == 0 {
            let since = *self.evaluated.get_or_insert(now);
            if now.saturating_since(since) >= PERIOD {
                self.evaluated = Some(now);
                self.evaluate();
            }
            self.begin_frame(rng);
        }
        let mut left = attempt;
        for (index, tries) in self.chain {
            if left < tries {
                return index;
            }
            left -= tries;
        }
        self.chain[3].0
    }

    pub(super) fn handle_outcome(&mut self, index: usize, acknowledged: bool) {
        self.rates[index].delivery.add(1, u64::from(acknowledged));
    }

    fn usual_chain(&self) -> [(usize, u32); 4] {
        [self.best, self.second, self.reliable, 0].map(|index| (index, self.rates[index].tries))
    }

    fn begin_frame(&mut self, rng: &mut Rng) {
        self.frames += 1;
        self.chain = self.usual_chain();
        let due = self.frames * LOOK_AROUND_PERCENT / 100;
        if due <= self.looked + self.deferred / 2 {
            return;
        }
        let sample = self.next_sample(rng);
        if sample == self.best {
            // The best rate needs no probe.
            self.looked += 1;
            return;
        }
        let slower = self.rates[sample].airtime > self.rates[self.best].airtime;
        let [best, ..] = self.chain;
        let tried = (sample, 1);
        if slower {
            self.deferred += 1;
            self.chain[1] = tried;
        } else {
            self.looked += 1;
            (self.chain[0], self.chain[1]) = (tried, best);
        }
    }

    /// Iterates over all rates in random order, then again in another order.
    fn next_sample(&mut self, rng: &mut Rng) -> usize {
        if self.next == 0 {
            for last in (1..self.order.len()).rev() {
                self.order.swap(last, rng.below(last as u64 + 1) as usize);
            }
        }
        let sample = self.order[self.next];
        self.next = (self.next + 1) % self.order.len();
        sample
    }

    fn evaluate(&mut self) {
        self.rates.iter_mut().for_each(|rate| rate.delivery.evaluate());
        let throughput = |index: usize| self.rates[index].throughput();
        // Of equals the faster one, which comes later.
        let indices = 0..self.rates.len();
        if indices.clone().all(|index| throughput(index) == 0) {
            (self.best, self.second, self.reliable) = (0, 0, 0);
            return;
        }
        self.best = indices.clone().max_by_key(|&index| throughput(index)).expect("there is a rate");
        let others = indices.clone().filter(|&index| index != self.best);
        self.second = others.max_by_key(|&index| throughput(index)).unwrap_or(self.best);
        let delivered = |index: usize| self.rates[index].delivery.part.unwrap_or(0);
        let key = |&index: &usize| match delivered(index) {
            RELIABLE.. => (RELIABLE, throughput(index)),
            less => (less, 0),
        };
        self.reliable = indices.max_by_key(key).expect("there is a rate");
    }
}

impl Rate {
    fn new(phy: &Phy, rate: PhyRate) -> Self {
        let airtime = phy.exchange(FRAME, rate, false).0;
        let (mut window, mut tries, mut spent) = (phy.cw_min(), 1, airtime);
        loop {
            window = (2 * window + 1).min(phy.cw_max());
            spent += airtime + phy.slot() * u64::from(window) / 2;
            if spent >= SEGMENT || tries == MOST_TRIES {
                break;
            }
            tries += 1;
        }
        Self { airtime, tries: tries.max(2), delivery: Delivery::default() }
    }

    /// Throughput in arbitrary units.
    fn throughput(&self) -> u64 {
        match self.delivery.part {
            Some(delivered) if delivered >= USELESS => delivered * 1_000_000 / self.airtime.as_nanos(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use evenair_units::Streams;
    use evenair_wifi::Standard;

    use super::*;

    /// Sends frames, each attempt of which succeeds with the rate's chance, per cent. Returns how many frames began at
    /// each rate.
    fn run(minstrel: &mut Minstrel, chances: &[u64], frames: u64) -> Vec<u64> {
        let mut rng = Streams::new(5).stream("minstrel");
        let mut luck = Streams::new(5).stream("luck");
        let mut first = alloc::vec![0; chances.len()];
        let mut now = Instant::ZERO;
        for _ in 0..frames {
            for attempt in 0..7 {
                let index = minstrel.index(now, attempt, &mut rng);
                first[index] += u64::from(attempt == 0);
                let arrived = luck.below(100) < chances[index];
                minstrel.handle_outcome(index, arrived);
                now += Span::from_millis(1);
                if arrived {
                    break;
                }
            }
        }
        first
    }

    fn minstrel() -> Minstrel {
        let phy = Phy::default_for(Standard::Dot11a);
        Minstrel::new(&phy, phy.standard().rates())
    }

    #[test]
    fn it_finds_the_rate_of_the_highest_throughput_and_not_the_safest() {
        // 36 Mb/s with 80 % delivered beats 24 Mb/s with all.
        let mut m = minstrel();
        let first = run(&mut m, &[100, 100, 100, 100, 100, 80, 20, 5], 5_000);
        assert_eq!(m.best(), 5);
        assert_eq!(m.reliable, 4);
        assert!(first[5] > 3_500, "{first:?}");
    }

    #[test]
    fn one_frame_of_ten_probes() {
        let mut m = minstrel();
        let frames = 10_000;
        run(&mut m, &[100; 8], frames);
        let looked = m.looked + m.deferred / 2;
        assert!(looked.abs_diff(frames / 10) <= 1, "{looked}");
    }

    #[test]
    fn it_moves_when_the_channel_does() {
        let mut m = minstrel();
        run(&mut m, &[100; 8], 2_000);
        assert_eq!(m.best(), 7);
        run(&mut m, &[100, 100, 100, 60, 0, 0, 0, 0], 2_000);
        assert_eq!(m.best(), 2);
        run(&mut m, &[100; 8], 5_000);
        assert_eq!(m.best(), 7);
        run(&mut m, &[0; 8], 3_000);
        assert_eq!(m.best(), 0, "nothing arrives: the slowest");
    }

    #[test]
    fn a_segment_of_a_chain_lasts_at_most_6_ms() {
        let m = minstrel();
        let tries: Vec<_> = m.rates.iter().map(|rate| rate.tries).collect();
        assert!(tries.is_sorted() && tries[0] >= 2 && tries[7] <= MOST_TRIES, "{tries:?}");
        // 1200 bytes at 6 Mb/s take 1.73 ms with their ACK: three take 5.6 ms with their back-off.
        assert_eq!(tries[0], 3);
    }
}
