//! Minstrel for 802.11n, ac and ax: what each mode delivers of its MPDUs is measured, and the mode that carries most is used.
//!
//! After Linux's `net/mac80211/rc80211_minstrel_ht.c` (F. Fietkau). Modes are in groups by their number of streams; width and
//! guard interval are the station's. Every 50 ms the part of the MPDUs that each mode delivered is averaged with a weight of 75 %
//! for the past. A mode's throughput is that of packets of 1200 bytes in aggregates as long as those that were sent. What nothing
//! answers goes through a chain: the mode of the highest throughput, the second, the most probable one; each at least twice, and
//! while its attempts fit into 6 ms; the modes behind the first after RTS. Every 20 ms one access probes another mode with a single
//! MPDU, as ath9k sends probes: in turn the next faster one of a group, any faster one, and a slower one that lies above the most
//! probable. Where of more than 30 MPDUs in the best mode less than a quarter are delivered, it has a stream less at once.
//!
//! Unlike Linux, which begins at the slowest mode, the first guess is the highest. Not here: other widths and guard intervals than
//! the station's, limits of A-MSDUs by rate, and what Linux knows of the frames of 802.11b and g.

use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Rng, Span};
use evenair_wifi::{Phy, PhyMode, PhyRate};

use super::BurstRate;
use super::delivery::{Delivery, SCALE, average};

/// Interval between evaluations.
const PERIOD: Span = Span::from_millis(50);
/// Interval between probes.
const PROBES: Span = Span::from_millis(20);
/// Maximum duration of the attempts in one mode of a chain.
const SEGMENT: Span = Span::from_millis(6);
/// Maximum number of attempts in one mode of a chain.
const MOST_TRIES: u32 = 7;
/// Packet size for which throughputs are compared, and number of packets over which their airtime is averaged.
const PACKET: Bytes = Bytes(1_200);
const PACKETS: u64 = 16;
/// Delivery ratios: below `USELESS` a mode's throughput counts as zero; above `CERTAIN` the ratio counts as `CERTAIN`; from
/// `KNOWN` on a mode is not probed.
const USELESS: u64 = SCALE / 10;
const CERTAIN: u64 = SCALE * 9 / 10;
const KNOWN: u64 = SCALE * 95 / 100;
/// Delivery ratio from which on modes count as equally probable, so that throughput decides among them.
const PROBABLE: u64 = SCALE * 3 / 4;
/// If fewer than a quarter of more MPDUs than this are delivered, the mode is left at once.
const JUDGED: u64 = 30;

/// Order of the kinds of probes.
const TURNS: [Probe; 6] = [Probe::Next, Probe::Faster, Probe::Next, Probe::Faster, Probe::Next, Probe::Slower];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Probe {
    /// The next faster mode of a group, the groups in turn.
    Next,
    /// Any faster mode.
    Faster,
    /// Any mode between the most probable one and the best.
    Slower,
}

/// Mode selection of one sender toward one receiver.
#[derive(Debug)]
pub(super) struct MinstrelHt {
    /// In ascending order.
    modes: Vec<Mode>,
    best: usize,
    second: usize,
    probable: usize,
    evaluated: Option<Instant>,
    next_probe: Instant,
    turn: usize,
    /// Number of streams of the group to probe next.
    group: u8,
    /// Accesses and MPDUs since the last evaluation; average MPDUs per access, in units of 1 / [`SCALE`].
    accesses: u64,
    mpdus: u64,
    length: Option<u64>,
    /// Chain of the burst in service: modes with their numbers of attempts; the last one has no limit.
    chain: [(usize, u32); 3],
    probing: bool,
}

#[derive(Debug)]
struct Mode {
    rate: PhyRate,
    streams: u8,
    /// Airtime of DIFS, a mean back-off, preamble, SIFS and BlockAck.
    overhead: Span,
    /// Airtime of a packet in an aggregate.
    packet: Span,
    /// Delivery ratio of its MPDUs.
    delivery: Delivery,
}

/// Modes that a sender may use if its frames carry this one: those with no more streams and no higher MCS, in ascending
/// order.
fn modes_up_to(highest: PhyMode) -> Vec<PhyRate> {
    let fits = |mode: &PhyMode| {
        mode.width() == highest.width()
            && mode.guard_interval() == highest.guard_interval()
            && mode.streams() <= highest.streams()
            && mode.mcs() <= highest.mcs()
    };
    let mut modes: Vec<_> = PhyMode::all(highest.format()).filter(fits).map(PhyRate::from).collect();
    modes.sort_unstable();
    modes
}

impl MinstrelHt {
    /// Modes up to `highest`, which is the initial choice.
    pub(super) fn new(phy: &Phy, highest: PhyMode) -> Self {
        let modes: Vec<_> = modes_up_to(highest).into_iter().map(|rate| Mode::new(phy, rate)).collect();
        let top = modes.len() - 1;
        let mut minstrel = Self {
            modes,
            best: top,
            second: top.saturating_sub(1),
            probable: 0,
            evaluated: None,
            next_probe: Instant::ZERO,
            turn: 0,
            group: 1,
            accesses: 0,
            mpdus: 0,
            length: None,
            chain: [(0, 0); 3],
            probing: false,
        };
        minstrel.chain = minstrel.usual_chain();
        minstrel
    }

    /// The mode currently considered best.
    pub(super) fn best(&self) -> PhyRate {
        self.modes[self.best].rate
    }

    /// The highest mode that it may use.
    pub(super) fn highest(&self) -> PhyRate {
        self.modes[self.modes.len() - 1].rate
    }

    /// Mode of the next attempt at a burst, after `attempt` ones without a response.
    pub(super) fn choose(&mut self, now: Instant, attempt: u32, rng: &mut Rng) -> BurstRate {
        if attempt == 0 {
            let since = *self.evaluated.get_or_insert(now);
            if now.saturating_since(since) >= PERIOD {
                self.evaluated = Some(now);
                self.evaluate();
            }
            self.begin(now, rng);
        }
        let (mut left, mut place) = (attempt, 0);
        while place + 1 < self.chain.len() && left >= self.chain[place].1 {
            left -= self.chain[place].1;
            place += 1;
        }
        let rate = self.modes[self.chain[place].0].rate;
        BurstRate { rate, single: self.probing && place == 0, reserve: place > 0 }
    }

    /// Reports the MPDUs of an access in this mode; ignored if the mode is no longer used.
    pub(super) fn handle_burst(&mut self, rate: PhyRate, mpdus: u64, delivered: u64) {
        let Some(index) = self.modes.iter().position(|mode| mode.rate == rate) else { return };
        let mode = &mut self.modes[index];
        mode.delivery.add(mpdus, delivered);
        if index != self.best {
            return;
        }
        let (streams, fails) = (mode.streams, mode.delivery.is_poor_of(JUDGED));
        // Probes have one MPDU, and so do not count toward the average.
        self.accesses += 1;
        self.mpdus += mpdus;
        if fails && streams > 1 {
            self.drop_stream(streams - 1);
        }
    }

    fn usual_chain(&self) -> [(usize, u32); 3] {
        [self.best, self.second, self.probable].map(|index| (index, self.tries(index)))
    }

    fn begin(&mut self, now: Instant, rng: &mut Rng) {
        self.chain = self.usual_chain();
        self.probing = false;
        if now < self.next_probe {
            return;
        }
        self.next_probe = now + PROBES;
        if let Some(probe) = self.next_mode(rng) {
            self.chain[0] = (probe, 1);
            self.probing = true;
        }
    }

    /// The mode to probe, if one is worth it.
    fn next_mode(&mut self, rng: &mut Rng) -> Option<usize> {
        let probe = TURNS[self.turn];
        self.turn = (self.turn + 1) % TURNS.len();
        let best = self.modes[self.best].packet;
        let unknown = |index: &usize| self.modes[*index].delivery.part.is_none_or(|delivered| delivered < KNOWN);
        let others = (0..self.modes.len()).filter(|&index| index != self.best).filter(unknown);
        let (faster, slower): (Vec<_>, Vec<_>) = others.partition(|&index| self.modes[index].packet < best);
        let any = |of: &[usize], rng: &mut Rng| (!of.is_empty()).then(|| of[rng.below(of.len() as u64) as usize]);
        match probe {
            Probe::Faster => any(&faster, rng),
            Probe::Slower => {
                let between: Vec<_> = slower.into_iter().filter(|&index| index > self.probable).collect();
                any(&between, rng)
            }
            Probe::Next => {
                let groups = self.modes.iter().map(|mode| mode.streams).max().unwrap_or(1);
                let order = (0..groups).map(|more| (self.group - 1 + more) % groups + 1);
                let mut firsts =
                    order.filter_map(|group| faster.iter().copied().find(|&index| self.modes[index].streams == group));
                let found = firsts.next()?;
                self.group = self.modes[found].streams % groups + 1;
                Some(found)
            }
        }
    }

    fn evaluate(&mut self) {
        self.modes.iter_mut().for_each(|mode| mode.delivery.evaluate());
        if let Some(now) = (self.mpdus * SCALE).checked_div(self.accesses) {
            self.length = Some(self.length.map_or(now, |past| average(past, now)));
        }
        (self.accesses, self.mpdus) = (0, 0);
        let indices = 0..self.modes.len();
        if indices.clone().all(|index| self.throughput(index) == 0) {
            (self.best, self.second, self.probable) = (0, 0, 0);
            return;
        }
        // Of equals the faster one, which comes later.
        self.best = indices.clone().max_by_key(|&index| self.throughput(index)).expect("there is a mode");
        let others = indices.clone().filter(|&index| index != self.best);
        self.second = others.max_by_key(|&index| self.throughput(index)).unwrap_or(self.best);
        let key = |&index: &usize| match self.modes[index].delivery.part.unwrap_or(0) {
            PROBABLE.. => (PROBABLE, self.throughput(index)),
            less => (less, 0),
        };
        let most = self.modes[self.best].streams;
        let probable = indices.filter(|&index| self.modes[index].streams <= most).max_by_key(key);
        self.probable = probable.expect("the best one is one of them");
    }

    /// The best mode fails: replaces it by the best with this number of streams.
    fn drop_stream(&mut self, streams: u8) {
        let fewer = (0..self.modes.len()).filter(|&index| self.modes[index].streams == streams);
        let best = fewer.max_by_key(|&index| (self.throughput(index), self.modes[index].packet));
        self.best = best.unwrap_or(self.probable);
    }

    /// Throughput in arbitrary units.
    fn throughput(&self, index: usize) -> u64 {
        let Some(delivered) = self.modes[index].delivery.part.filter(|&delivered| delivered >= USELESS) else {
            return 0;
        };
        delivered.min(CERTAIN) * SCALE / self.time_of_one(index)
    }

    /// Airtime of a packet with its share of the overhead, in nanoseconds.
    fn time_of_one(&self, index: usize) -> u64 {
        let mode = &self.modes[index];
        mode.packet.as_nanos() + mode.overhead.as_nanos() * SCALE / self.length_in(mode)
    }

    /// MPDUs per access, in units of 1 / [`SCALE`]; before the first access estimated from the airtime of a packet.
    fn length_in(&self, mode: &Mode) -> u64 {
        self.length.unwrap_or(match mode.packet.as_micros() {
            0..=150 => 16 * SCALE,
            151..=250 => 8 * SCALE,
            251..=400 => 4 * SCALE,
            _ => 2 * SCALE,
        })
    }

    /// Attempts in a mode that fit into [`SEGMENT`].
    fn tries(&self, index: usize) -> u32 {
        let mode = &self.modes[index];
        if mode.delivery.part.is_some_and(|delivered| delivered < USELESS) {
            return 1;
        }
        let access = self.time_of_one(index) * self.length_in(mode) / SCALE;
        (SEGMENT.as_nanos() / access.max(1)).clamp(2, u64::from(MOST_TRIES)) as u32
    }
}

impl Mode {
    fn new(phy: &Phy, rate: PhyRate) -> Self {
        let preamble = phy.ppdu(Bytes::ZERO, rate);
        let all = phy.ppdu(Bytes(PACKET.0 * PACKETS), rate).as_nanos() - preamble.as_nanos();
        let back_off = phy.slot() * u64::from(phy.cw_min()) / 2;
        Self {
            rate,
            streams: rate.mode().map_or(1, PhyMode::streams),
            overhead: phy.difs() + back_off + preamble + phy.sifs() + phy.block_ack(rate, 64),
            packet: Span::from_nanos(all / PACKETS),
            delivery: Delivery::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use evenair_units::Streams;
    use evenair_wifi::{Format, GuardInterval, Standard, Width};

    use super::*;

    /// Two streams of 802.11n at most, and its 16 modes.
    fn minstrel() -> (MinstrelHt, Vec<PhyRate>) {
        let highest = PhyMode::new(Format::Ht, 7, 2, Width::Mhz20, GuardInterval::Ns800).unwrap();
        (MinstrelHt::new(&Phy::default_for(Standard::Dot11n), highest), modes_up_to(highest))
    }

    fn place(modes: &[PhyRate], mcs: u8, streams: u8) -> usize {
        let is = |rate: &PhyRate| rate.mode().is_some_and(|mode| (mode.mcs(), mode.streams()) == (mcs, streams));
        modes.iter().position(is).unwrap()
    }

    /// Sends accesses of 20 MPDUs for the duration `lasts`; each MPDU arrives with its mode's chance, per cent. Returns the
    /// accesses in each mode, and the number of those with a single MPDU.
    fn run(minstrel: &mut MinstrelHt, from: Instant, lasts: Span, chance: impl Fn(usize) -> u64) -> (Vec<u64>, u64) {
        let mut rng = Streams::new(5).stream("minstrel");
        let mut luck = Streams::new(5).stream("luck");
        let (mut used, mut singles) = (alloc::vec![0; minstrel.modes.len()], 0);
        let (mut now, mut attempt) = (from, 0);
        while now < from + lasts {
            let BurstRate { rate, single, .. } = minstrel.choose(now, attempt, &mut rng);
            let index = minstrel.modes.iter().position(|mode| mode.rate == rate).unwrap();
            let mpdus = if single { 1 } else { 20 };
            let delivered = (0..mpdus).filter(|_| luck.below(100) < chance(index)).count() as u64;
            minstrel.handle_burst(rate, mpdus, delivered);
            used[index] += 1;
            singles += u64::from(single);
            attempt = if delivered > 0 { 0 } else { (attempt + 1) % 7 };
            now += Span::from_millis(2);
        }
        (used, singles)
    }

    #[test]
    fn modes_are_those_of_the_station_slowest_first() {
        let (_, modes) = minstrel();
        assert_eq!(modes.len(), 16);
        assert!(modes.is_sorted());
        // 802.11ac has no MCS 9 of one or two streams at 20 MHz.
        let highest = PhyMode::new(Format::Vht, 9, 2, Width::Mhz40, GuardInterval::Ns400).unwrap();
        let all = modes_up_to(highest);
        assert_eq!(all.len(), 20);
        assert!(all.iter().all(|rate| rate.mode().unwrap().guard_interval() == GuardInterval::Ns400));
    }

    #[test]
    fn it_finds_the_mode_that_carries_most_and_not_the_safest() {
        let (mut m, modes) = minstrel();
        // MCS 5 x 2, 104 Mb/s, with 73 %; MCS 4 x 2, 78 Mb/s, with all; above nothing.
        let [good, safe] = [5, 4].map(|mcs| place(&modes, mcs, 2));
        let chance = |index: usize| match index {
            _ if index == good => 73,
            _ if index > good => 0,
            _ => 100,
        };
        let (used, _) = run(&mut m, Instant::ZERO, Span::from_secs(5), chance);
        let all: u64 = used.iter().sum();
        assert_eq!((m.best, m.probable), (good, safe));
        assert!(used[good] * 10 > all * 7, "{used:?}");
    }

    #[test]
    fn it_probes_every_20_ms_while_there_is_something_to_learn() {
        let (mut m, modes) = minstrel();
        let middle = place(&modes, 4, 1);
        let (_, singles) = run(&mut m, Instant::ZERO, Span::from_secs(10), |index| if index > middle { 0 } else { 90 });
        assert!((400..=500).contains(&singles), "{singles} in 10 s");
        // All faster modes are known to arrive: none is faster than the best.
        let (mut m, _) = minstrel();
        let (used, _) = run(&mut m, Instant::ZERO, Span::from_secs(10), |_| 100);
        assert_eq!(m.best, modes.len() - 1);
        assert!(used[modes.len() - 1] * 100 > used.iter().sum::<u64>() * 97, "{used:?}");
    }

    #[test]
    fn it_moves_when_the_channel_does() {
        let (mut m, modes) = minstrel();
        let second = Span::from_secs(1);
        run(&mut m, Instant::ZERO, second, |_| 100);
        assert_eq!(m.best, modes.len() - 1);
        let middle = place(&modes, 2, 1);
        let at = Instant::ZERO + second;
        let (used, _) = run(&mut m, at, Span::from_secs(2), |index| if index > middle { 0 } else { 100 });
        assert_eq!(m.best, middle, "{used:?}");
        let (used, _) = run(&mut m, at + Span::from_secs(2), Span::from_secs(3), |_| 100);
        assert_eq!(m.best, modes.len() - 1, "{used:?}");
        run(&mut m, at + Span::from_secs(5), second, |_| 0);
        assert_eq!(m.best, 0, "nothing arrives: the slowest");
    }

    #[test]
    fn a_best_mode_that_fails_loses_a_stream_at_once() {
        let (mut m, _) = minstrel();
        run(&mut m, Instant::ZERO, Span::from_secs(1), |_| 100);
        let best = m.best();
        m.handle_burst(best, 30_000, 7);
        assert_eq!(m.best().mode().unwrap().streams(), 1);
    }

    #[test]
    fn what_fails_goes_down_the_chain_and_after_rts() {
        let (mut m, _) = minstrel();
        run(&mut m, Instant::ZERO, Span::from_secs(1), |_| 100);
        let mut rng = Streams::new(1).stream("minstrel");
        let at = Instant::ZERO + Span::from_secs(1);
        let choices: Vec<_> = (0..20).map(|attempt| m.choose(at, attempt, &mut rng)).collect();
        let rates = [m.best, m.second, m.probable].map(|index| m.modes[index].rate);
        assert!(choices.iter().skip(1).all(|choice| rates.contains(&choice.rate) && !choice.single));
        assert!(!choices[0].reserve && choices[19].reserve && choices[19].rate == rates[2]);
        assert!(m.chain.iter().all(|&(_, tries)| (1..=MOST_TRIES).contains(&tries)));
    }
}
