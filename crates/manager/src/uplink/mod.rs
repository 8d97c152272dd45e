//! The upload limiter: it drops packets from the WLAN that exceed a limit on their way to the wire.
//!
//! Principle: an access point's backlog consists of DATA of downloads and ACKs of uploads, and when its buffer is
//! full it loses both. A lost ACK costs its upload nothing, while lost DATA cost their download half of its window.
//! Dropping some DATA of uploads in the box makes their senders slow down to the limit, and leaves the rest of the
//! medium to the downloads. The limiter queues no packet and, except for loss detection, reads no header, so that it
//! also works for encrypted traffic.
//!
//! Source: Blefari-Melazzi, Detti, Habib, Ordine, Salsano, "Detailed Analysis of TCP Fairness Issues in IEEE 802.11
//! Networks and their Solution using a Rate Control Approach", University of Roma Tor Vergata. [`LimitRule::Static`]
//! and [`LimitRule::Published`] follow it to the letter; rates count IP packets, ACKs included, before the bucket and
//! before the access point. Not published, and so ours: the theoretical maximum is C*, and the limit starts at the
//! uploads' part of it.
//!
//! Improvements of [`LimitRule::Adaptive`]:
//! - Losses are a reason to limit uploads only while there are downloads that have less than their part of the WLAN
//!   traffic: ACKs of uploads are lost as well, and without downloads fewer of these losses help no one.
//! - A few downloads lose rarely, and an interval without a loss does not show that they have enough. While they have
//!   less than their part, and the medium is used as before, the limit rises only after a long time without losses.
//! - A reported loss that is not repaired yet counts in each interval, like an inferred one.
//! - The limit falls by half of the distance to the uploads' part, and rises by a quarter of the idle capacity,
//!   measured by the recent traffic of the WLAN, if that is more than a step, since a step is right for one speed
//!   only. Above C*, which is a formula, it follows the arriving traffic.
//! - How much of a limit TCP uses depends on the number of connections on either side: a few windows that are halved
//!   leave some of it unused, many fill it. So while both directions want more than they get, the accumulated error
//!   of the split corrects the uploads' part, slowly and by a fifth at most, and the limit rises by no more than the
//!   downloads' excess over their part.
//! - The parts are those of the traffic that crosses the WLAN: packets from it, and DATA that stations have
//!   acknowledged. Repeated retransmissions toward the stations are no reason for a higher limit. TCP DATA dropped by
//!   the limiter have used airtime all the same, and lower the limit.
//! - Datagrams, which need not slow down, have a bucket of their own. Each of the two buckets has its part of the
//!   limit and what the other leaves, so that a flood of datagrams does not take TCP's tokens. Dropped datagrams,
//!   which no limit prevents from using airtime, are left out of the divided total: uploads and downloads of other
//!   flows share that loss equally.
//! - TCP packets without data are never dropped: they are the ACKs of downloads, and the beginnings of connections.
//!
//! What it does not do: it guarantees no share to a station or a connection; TCP decides among the uploads, as it
//! does among the downloads. Control of the network (ARP, DHCP), group-addressed packets, and flows beyond the number
//! that is tracked pass.

mod config;
mod losses;
mod report;

pub use config::{LimitRule, Steps, UplinkLimit};
pub(crate) use losses::{Losses, Released};
pub use report::UplinkReport;

use evenair_sched::{RateMeter, TokenBucket};
use evenair_units::{BitRate, Bytes, Instant, Rng, Span, Streams};

use crate::uplink::losses::Lost;

/// The kind of a packet for the limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// TCP with data.
    Data,
    /// TCP without data.
    Answer,
    /// Everything else.
    Datagram,
}

/// Time since the last DATA of a download within which downloads count as wanting more.
const WANTING: Span = losses::UNREPAIRED;
/// Time without losses after which downloads with less than their part are taken to want no more: with windows of tens
/// of packets, each loses about once in that time.
const CALM: Span = Span::from_secs(3);
/// Percentage of the recent peak of traffic from which on the medium counts as used as before. Less than a window halved
/// among few, more than a direction that has ended.
const USED_PERCENT: u64 = 80;
/// Time in which the recent peak is forgotten, as the rates and numbers of stations change.
const FORGOTTEN: Span = Span::from_secs(32);
/// Bound of the reduction of the limit by dropped TCP DATA: the uploads' part divided by this. More is dropped only for
/// moments, before senders notice.
const DROPPED_PARTS: u64 = 8;
/// Part of the idle capacity, as a divisor, that the limit takes up in an interval: most of it in two seconds.
const IDLE_PARTS: u64 = 4;
/// Correction of the uploads' part: its unit, the part of the error that is corrected in an interval (as a divisor),
/// and its bound, a fifth. What TCP makes of a limit depends on the numbers of connections.
const TRIM_UNIT: i128 = 1_000_000;
const TRIM_PARTS: i128 = 16;
const MOST_TRIM: i128 = TRIM_UNIT / 5;
/// Index of TCP.
const TCP: usize = 0;
/// Index of datagrams.
const DATAGRAMS: usize = 1;

#[derive(Clone, Debug)]
pub(crate) struct Limiter {
    config: UplinkLimit,
    limit: BitRate,
    /// Whether nothing was lost at the last evaluation.
    at_ease: bool,
    /// The second one is used if datagrams have a bucket of their own.
    buckets: [TokenBucket; 2],
    rng: Rng,
    arrived: [RateMeter; 2],
    passed: [RateMeter; 2],
    from_wire: RateMeter,
    /// Useful traffic toward the stations.
    crossed: RateMeter,
    pub(crate) losses: Losses,
    lost: u64,
    /// When something was last lost, and when DATA of a download last came.
    last_loss: Option<Instant>,
    last_download: Option<Instant>,
    /// Correction of the uploads' part, in millionths of it.
    trim: i64,
    /// Recent peak of traffic over the WLAN.
    most: BitRate,
    next: Instant,
}

impl Limiter {
    /// `capacity`: C*.
    pub(crate) fn new(config: &UplinkLimit, capacity: BitRate, now: Instant) -> Self {
        let limit = config.start(capacity);
        let meter = || RateMeter::new(config.memory, now);
        let bucket = || TokenBucket::new(config.bucket, limit, now);
        let mut this = Self {
            config: *config,
            limit,
            at_ease: true,
            buckets: [bucket(), bucket()],
            // Random numbers must be the same on each replay; they need not be secret.
            rng: Streams::new(0).stream("uplink limit"),
            arrived: [meter(), meter()],
            passed: [meter(), meter()],
            from_wire: meter(),
            crossed: meter(),
            losses: Losses::default(),
            lost: 0,
            last_loss: None,
            last_download: None,
            trim: 0,
            most: BitRate::ZERO,
            next: now,
        };
        this.begin(now);
        this.set_rates(now);
        this
    }

    /// Applies another configuration. Measurements, losses and the limit are kept as far as they have a meaning there.
    pub(crate) fn reconfigure(&mut self, config: &UplinkLimit, capacity: BitRate, now: Instant) {
        let old = core::mem::replace(&mut self.config, *config);
        let moved = old.steps().is_some() && config.steps().is_some() && old.rate == config.rate;
        if !moved || old.split_permille != config.split_permille {
            self.limit = config.start(capacity);
        }
        self.limit = self.limit.min(self.ceiling(capacity));
        if old.memory != config.memory {
            let meter = || RateMeter::new(config.memory, now);
            (self.arrived, self.passed) = ([meter(), meter()], [meter(), meter()]);
            (self.from_wire, self.crossed) = (meter(), meter());
        }
        self.buckets.iter_mut().for_each(|bucket| bucket.set_config(now, config.bucket));
        self.begin(now);
        self.set_rates(now);
    }

    /// Begins the first interval of limiting.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.next = now.saturating_add(self.config.interval());
    }

    /// The time of the next evaluation.
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    /// Notes a packet from the wire; `opens`: it accepts or opens a connection.
    pub(crate) fn note_from_wire(&mut self, now: Instant, ip_len: Bytes, kind: Kind, opens: bool) {
        self.from_wire.note(now, ip_len);
        match kind {
            // Their ACKs will show whether they arrive.
            Kind::Data => {}
            Kind::Answer | Kind::Datagram => self.crossed.note(now, ip_len),
        }
        if kind != Kind::Answer || opens {
            self.last_download = Some(now);
        }
    }

    /// Notes that a station has acknowledged this much of a download.
    pub(crate) fn note_crossed(&mut self, now: Instant, bits: u64) {
        if bits > 0 {
            self.crossed.note(now, Bytes(bits / 8));
        }
    }

    /// Handles a packet from the WLAN: whether it may pass.
    pub(crate) fn admits(&mut self, now: Instant, ip_len: Bytes, kind: Kind) -> bool {
        let of = if kind == Kind::Datagram { DATAGRAMS } else { TCP };
        self.arrived[of].note(now, ip_len);
        let bucket = &mut self.buckets[if self.config.separates() { of } else { TCP }];
        let passes = if kind == Kind::Answer && self.config.separates() {
            bucket.charge(now, ip_len);
            true
        } else {
            bucket.admits(now, ip_len, &mut self.rng)
        };
        if passes {
            self.passed[of].note(now, ip_len);
        }
        passes
    }

    /// Ends an interval.
    pub(crate) fn judge(&mut self, now: Instant, capacity: BitRate) {
        let due = self.next.saturating_add(self.config.interval());
        self.next = if due > now { due } else { now.saturating_add(self.config.interval()) };
        let lost = self.losses.take(now);
        if let Lost::Packets(lost) = lost {
            self.lost = self.lost.saturating_add(lost);
        }
        match (self.config.rule, lost) {
            (LimitRule::Static, _) => self.limit = self.config.start(capacity),
            (_, Lost::Unknown) => {}
            (LimitRule::Published(steps), Lost::Packets(lost)) => self.step_as_published(now, steps, lost, capacity),
            (LimitRule::Adaptive { steps, .. }, Lost::Packets(lost)) => {
                self.step(now, steps, lost.max(self.losses.unrepaired()), capacity);
            }
        }
        self.set_rates(now);
    }

    /// The published rule, to the letter.
    fn step_as_published(&mut self, now: Instant, Steps { step, .. }: Steps, lost: u64, capacity: BitRate) {
        if lost == 0 {
            self.at_ease = true;
            self.limit = (self.limit + step).min(self.ceiling(capacity));
            return;
        }
        let up = self.up(now);
        let target = self.uploads_part(self.from_wire.rate(now) + up);
        let first = core::mem::replace(&mut self.at_ease, false);
        let mut lower = self.limit.saturating_sub(step);
        if first {
            lower = lower.min(up.saturating_sub(step));
            self.buckets[TCP].cut_to_threshold(now);
        }
        self.limit = lower.max(target);
    }

    /// The published rule with our improvements.
    fn step(&mut self, now: Instant, Steps { step, interval, .. }: Steps, lost: u64, capacity: BitRate) {
        let (tcp, down) = (self.arrived[TCP].rate(now), self.crossed.rate(now));
        let used = tcp + self.passed[DATAGRAMS].rate(now) + down;
        let fair = self.uploads_part(used);
        let held = tcp > self.passed[TCP].rate(now);
        let part = self.trimmed(fair);
        let dropped = tcp.saturating_sub(self.passed[TCP].rate(now)).min(part.mul_div(1, DROPPED_PARTS));
        let faded = self.most.mul_div(interval.as_nanos().min(FORGOTTEN.as_nanos()), FORGOTTEN.as_nanos());
        self.most = self.most.saturating_sub(faded).max(used);
        if lost > 0 {
            self.last_loss = Some(now);
        }
        self.trim(now, [down + fair, used], held);
        if !within(self.last_download, WANTING, now) {
            return self.rise(now, step, used, capacity);
        }
        if let Some(more) = (down + part).as_bps().checked_sub(used.as_bps()) {
            // The downloads have their part. The limit rises by no more than their excess, or each evaluation with a
            // small excess would push them below their part.
            return self.rise(now, step.min(BitRate::from_bps(more)), used, capacity);
        }
        if lost > 0 {
            let least = part.saturating_sub(dropped);
            let half_way = self.limit.saturating_sub(least).mul_div(1, 2);
            self.limit = self.limit.saturating_sub(step.max(half_way)).max(least);
            if core::mem::replace(&mut self.at_ease, false) {
                self.buckets.iter_mut().for_each(|bucket| bucket.cut_to_threshold(now));
            }
            return;
        }
        self.at_ease = true;
        let is_used = used >= self.most.mul_div(USED_PERCENT, 100);
        if !is_used || !within(self.last_loss, CALM, now) {
            self.rise(now, step, used, capacity);
        }
    }

    /// Corrects the uploads' part by a little of the error of the split, so that the mean error becomes zero; while both
    /// directions want more than they get, and else back to no correction. `crosses`: throughput of downloads plus the
    /// uploads' part, and total throughput.
    fn trim(&mut self, now: Instant, crosses: [BitRate; 2], held: bool) {
        let [with_part, used] = crosses.map(|rate| i128::from(rate.as_bps()));
        let wants = held && within(self.last_download, WANTING, now) && within(self.last_loss, CALM, now);
        let off = if wants { (with_part - used) * TRIM_UNIT / used.max(1) } else { i128::from(-self.trim) };
        let trim = i128::from(self.trim) + off / TRIM_PARTS;
        self.trim = i64::try_from(trim.clamp(-MOST_TRIM, MOST_TRIM)).unwrap_or(0);
    }

    fn trimmed(&self, part: BitRate) -> BitRate {
        let parts = TRIM_UNIT + i128::from(self.trim);
        part.mul_div(u64::try_from(parts).unwrap_or(0), TRIM_UNIT as u64)
    }

    /// Raises the limit by a step, or by a part of the idle capacity; `used`: traffic over the WLAN.
    fn rise(&mut self, now: Instant, step: BitRate, used: BitRate, capacity: BitRate) {
        let idle = self.most.saturating_sub(used);
        let ceiling = self.ceiling(capacity).max(self.up(now) + step);
        self.limit = (self.limit + step.max(idle.mul_div(1, IDLE_PARTS))).min(ceiling);
    }

    /// Sets the buckets' rates: each has its part, and what the other one leaves.
    fn set_rates(&mut self, now: Instant) {
        let LimitRule::Adaptive { datagrams_permille, .. } = self.config.rule else {
            return self.buckets[TCP].set_rate(now, self.limit);
        };
        let datagrams = self.limit.mul_div(datagrams_permille.into(), 1_000);
        let parts = [self.limit.saturating_sub(datagrams), datagrams];
        for (of, other) in [(TCP, DATAGRAMS), (DATAGRAMS, TCP)] {
            let left = self.limit.saturating_sub(self.arrived[other].rate(now));
            self.buckets[of].set_rate(now, parts[of].max(left));
        }
    }

    fn uploads_part(&self, of: BitRate) -> BitRate {
        of.mul_div(self.config.split_permille.into(), 1_000)
    }

    fn ceiling(&self, capacity: BitRate) -> BitRate {
        match self.config.steps() {
            Some(Steps { ceiling, .. }) => ceiling.unwrap_or(capacity),
            None => self.limit,
        }
    }

    fn up(&self, now: Instant) -> BitRate {
        self.arrived[TCP].rate(now) + self.arrived[DATAGRAMS].rate(now)
    }

    pub(crate) fn report(&self, now: Instant) -> UplinkReport {
        UplinkReport {
            limit: self.limit,
            up: self.up(now),
            up_datagrams: self.arrived[DATAGRAMS].rate(now),
            down: self.from_wire.rate(now),
            lost: self.lost,
        }
    }
}

impl UplinkLimit {
    /// The initial limit.
    fn start(&self, capacity: BitRate) -> BitRate {
        let part = capacity.mul_div(self.split_permille.into(), 1_000);
        self.rate.unwrap_or(part).max(BitRate::from_bps(1))
    }

    /// Interval of evaluation, even of a constant limit, since C* may change.
    fn interval(&self) -> Span {
        self.steps().unwrap_or(Steps::PUBLISHED).interval
    }

    /// Whether datagrams have a bucket of their own.
    const fn separates(&self) -> bool {
        matches!(self.rule, LimitRule::Adaptive { .. })
    }
}

/// Whether `at` was no longer ago than `span`.
fn within(at: Option<Instant>, span: Span, now: Instant) -> bool {
    at.is_some_and(|at| now.saturating_since(at) < span)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Bytes = Bytes(1500);

    /// Parts, in thousandths, of TCP's data and of datagrams that pass, at these packets per second for 30 s, under a
    /// limit of 2.4 Mb/s, which is 200 packets a second.
    fn passed(rule: LimitRule, per_second: [u64; 2]) -> [u64; 2] {
        let limit = BitRate::from_kbps(2_400);
        let bucket = evenair_sched::BucketConfig { depth: Bytes(20 * FULL.0), threshold_permille: 0 };
        let config = UplinkLimit { rule, rate: Some(limit), bucket, ..UplinkLimit::default() };
        let mut limiter = Limiter::new(&config, limit, Instant::ZERO);
        let (mut passed, mut all) = ([0; 2], [0; 2]);
        for ms in 0..30_000u64 {
            let now = Instant::ZERO + Span::from_millis(ms);
            if ms % 300 == 0 {
                limiter.set_rates(now);
            }
            for (of, kind) in [(TCP, Kind::Data), (DATAGRAMS, Kind::Datagram)] {
                if ms * per_second[of] / 1_000 != (ms + 1) * per_second[of] / 1_000 {
                    all[of] += 1;
                    passed[of] += u64::from(limiter.admits(now, FULL, kind));
                }
            }
        }
        [passed[TCP] * 1_000 / all[TCP], passed[DATAGRAMS] * 1_000 / all[DATAGRAMS]]
    }

    /// The downloads' part, in thousandths, of a medium of 400 packets a second where uploads use these percentages of a
    /// limit, in turns of 300 ms, and downloads take the rest and lose in each interval. The last minute of two.
    fn share(of_limit: [u64; 4]) -> (u64, i64) {
        let rule = LimitRule::Adaptive { steps: Steps::PUBLISHED, datagrams_permille: 500 };
        let bucket = evenair_sched::BucketConfig { depth: Bytes(20 * FULL.0), threshold_permille: 0 };
        let config = UplinkLimit { rule, bucket, ..UplinkLimit::default() };
        let capacity = BitRate::from_kbps(4_800);
        let mut limiter = Limiter::new(&config, capacity, Instant::ZERO);
        let (mut owed, mut got) = ([0; 2], [0; 2]);
        for ms in 0..120_000u64 {
            let now = Instant::ZERO + Span::from_millis(ms);
            if ms % 300 == 0 {
                limiter.losses.handle_report(evenair_packet::MacAddr([2; 6]), ms / 300);
                limiter.judge(now, capacity);
            }
            let per_second = limiter.limit.as_bps() / FULL.bits() * of_limit[(ms / 300) as usize % 4] / 100;
            let rates = [per_second.min(400), 400_u64.saturating_sub(per_second)];
            for (way, rate) in rates.into_iter().enumerate() {
                owed[way] += rate;
                while owed[way] >= 1_000 {
                    owed[way] -= 1_000;
                    let crossed = if way == 0 {
                        u64::from(limiter.admits(now, FULL, Kind::Data))
                    } else {
                        limiter.note_from_wire(now, FULL, Kind::Data, false);
                        limiter.note_crossed(now, FULL.bits());
                        1
                    };
                    got[way] += if ms >= 60_000 { crossed } else { 0 };
                }
            }
        }
        (got[1] * 1_000 / (got[0] + got[1]), limiter.trim)
    }

    #[test]
    fn the_split_holds_whatever_tcp_makes_of_the_limit() {
        let got = [[100; 4], [140, 60, 70, 80], [150, 120, 50, 60], [130, 110, 95, 100]]
            .map(|of_limit| (of_limit, share(of_limit)));
        for (of_limit, (share, trim)) in &got {
            assert!((450..=550).contains(share), "{of_limit:?}: downloads get {share}, with {trim}; {got:?}");
        }
    }

    #[test]
    fn a_flood_of_datagrams_does_not_take_the_tokens_of_tcp() {
        let adaptive = |datagrams_permille| LimitRule::Adaptive { steps: Steps::PUBLISHED, datagrams_permille };
        let [tcp, datagrams] = passed(adaptive(500), [95, 800]);
        assert!(tcp == 1_000 && datagrams < 200, "{tcp}, {datagrams}");
        let [tcp, datagrams] = passed(adaptive(500), [800, 95]);
        assert!(tcp < 200 && datagrams == 1_000, "{tcp}, {datagrams}");
        assert_eq!(passed(adaptive(500), [180, 15]), [1_000; 2], "what one leaves the other may use");
        let [tcp, datagrams] = passed(adaptive(100), [800, 800]);
        // Of 200 packets a second 180 and 20, and the initial content of the buckets.
        assert!((225..=232).contains(&tcp) && (25..=32).contains(&datagrams), "{tcp}, {datagrams}");
        let [tcp, _] = passed(LimitRule::Static, [95, 800]);
        assert!(tcp < 400, "in one bucket both lose alike: {tcp}");
    }
}
