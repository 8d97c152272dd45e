//! Telemetry reports about stations: rates and signals as access points and controllers report them.
//!
//! No source is trusted alone, and the manager works without any. A report passes four checks before a packet is
//! charged by it:
//! - **plausibility**: the manager rejects a rate of zero, a negative or an absurd one, a signal outside the range of
//!   radios, a measurement from the future, an expired one, a report about a group address and reports about too many
//!   stations;
//! - **traffic**: a rate is weighted by the traffic since the previous report. For a silent station, access points
//!   report the rate of its last management or null frame, which says nothing about its data;
//! - **time**: the rate in force is the mean over the last samples, and it moves only when the mean has clearly left
//!   it. So a sender's rate adaptation, which tries rates packet by packet, does not make the rate class of a station
//!   flap;
//! - **evidence**: a rate that contradicts the observed traffic is not used, and the manager reports that
//!   (`consistency`, `outliers`).
//!
//! The mean is that of the medium: total bits over total time, which is the harmonic mean by volume, with each
//! direction at its own rate. An expired report is forgotten. The station then has its configured rate again, or, if
//! only other stations are reported, the mean rate of these, so that a station without reports is charged like the
//! rest.
//!
//! A report without rates gives the station the rate of the class of its signal, if the operator gives such classes
//! (`rssi`).
//!
//! In a domain of 802.11n or later, a report may say the mode: MCS, streams, width and guard interval. Then the mode
//! counts, and not the rate in kb/s beside it, unless the domain's standard does not have it in its band. While the mean is
//! at a reported mode, the station is charged at exactly that mode; else the mean counts as the nearest rate class. A station whose
//! reports all say rates of OFDM or DSSS, and no mode, counts as one that sends a frame at a time.
//!
//! What is not here: how sources are queried (the drivers), and rates beyond those of the standard in force: a packet
//! at a faster rate is charged as at the standard's fastest, until the medium is measured to be faster (`standing`).

mod consistency;
mod outliers;
mod report;
mod rssi;
mod said;

use alloc::vec::Vec;

use evenair_units::{BitRate, Bytes, Dbm, Instant, Span};
use evenair_wifi::{PhyMode, PhyRate};

use crate::airtime_model::rate_classes::{RateClasses, is_near, nearest};
pub(crate) use consistency::{ConsistencyCheck, Shares};
pub(crate) use outliers::{OutlierCheck, Seen, check_outliers};
pub use report::{RateReport, ReportCounts, ReportedRate};
pub use rssi::{RssiClass, RssiConfig, RssiError};
use said::{Said, sensible};

/// Sources for one station, at most: the access point it left, the one it is at, a controller, and one to spare.
const MAX_SOURCES: usize = 4;
/// Samples of the mean, at most, and their largest age: with a poll every five seconds, half a minute. A walking station is elsewhere
/// after that.
const MAX_SAMPLES: usize = 6;
const MAX_AGE: Span = Span::from_secs(30);
/// Least traffic between two samples for one to count: a few ACKs, or keep-alives, are less.
const LEAST_TRAFFIC: Bytes = Bytes(6_000);
/// The longest validity of a report.
const LONGEST_VALIDITY: Span = Span::from_secs(600);
/// Distance of the mean from the rate in force from which on the class changes: on its way to a neighbouring rate, in hundredths of it,
/// and in hundredths of the rate in force. The latter is for modes, which are close together; rates of OFDM or DSSS are not.
const LEAVES_AT_PERCENT: u64 = 75;
const LEAVES_BEYOND_PERCENT: u64 = 6;

/// Plausible signals of stations, in dBm: above the noise of a narrow channel, below the power of an access point.
const SIGNALS_DBM: core::ops::RangeInclusive<i64> = -115..=-1;

/// The accepted reports about a station.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportHistory {
    /// The preferred source first; the others in any order.
    sources: Vec<Source>,
    pub(crate) check: ConsistencyCheck,
    /// Whether the class by signal has precedence over a reported rate.
    signal_first: bool,
}

/// One source's reports about one station.
#[derive(Clone, Debug)]
struct Source {
    id: u16,
    measured: Instant,
    expires: Instant,
    transmit: Option<Said>,
    receive: Option<Said>,
    refused: Option<PhyMode>,
    signal_dbm: Option<i8>,
    samples: Vec<Sample>,
    class: Option<PhyRate>,
    /// Its class by signal, if classes are configured: index, and rate of the standard in force.
    by_signal: Option<(usize, PhyRate)>,
    /// Whether a rate above the standard was reported, so that the computed airtime is no lower bound.
    beyond: bool,
    /// The station's bytes at the last sample, to it and from it.
    seen: (Bytes, Bytes),
}

/// The traffic between two measurements, and its airtime at the reported rates, in ns.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    bits: u64,
    nanos: u64,
    /// Whether the station was silent.
    idle: bool,
    /// Whether the rates are those of single frames.
    is_single: bool,
    /// Reported modes: toward it, from it.
    modes: [Option<PhyMode>; 2],
}

impl ReportHistory {
    /// Handles a report; `crossed`: bytes to the station and from it so far. Returns its outcome, with its impossible values.
    pub(crate) fn accept(
        &mut self,
        now: Instant,
        report: &RateReport,
        crossed: (Bytes, Bytes),
        classes: &RateClasses,
    ) -> ReportCounts {
        let mut counts = ReportCounts::default();
        let expires = report.measured.saturating_add(report.valid_for.min(LONGEST_VALIDITY));
        if report.measured > now || expires <= now {
            counts.untimely += 1;
            return counts;
        }
        let Some(at) = self.place_of(report, crossed) else {
            counts.unknown += 1;
            return counts;
        };
        let source = &mut self.sources[at];
        if report.measured < source.measured {
            counts.untimely += 1;
            return counts;
        }
        let transmit = Said::accept(report.transmit_kbps, report.transmit_mode, classes, &mut counts);
        let receive = Said::accept(report.receive_kbps, report.receive_mode, classes, &mut counts);
        let signal = sensible(report.signal_dbm, &SIGNALS_DBM, &mut counts);
        if transmit.is_none() && receive.is_none() && signal.is_none() {
            return counts;
        }
        counts.taken += 1;
        (source.measured, source.expires) = (report.measured, expires);
        source.signal_dbm = signal.or(source.signal_dbm);
        if let Some(one) = transmit.or(receive) {
            (source.transmit, source.receive) = (transmit, receive);
            let modes = [report.transmit_mode, report.receive_mode];
            source.refused = modes.into_iter().flatten().find(|&mode| !classes.has(mode.into()));
            source.beyond = source.is_beyond(classes);
            source.sample(report.measured, transmit.unwrap_or(one), receive.unwrap_or(one), crossed);
            source.update_class(classes);
        }
        self.put_first(at);
        counts
    }

    /// The entry of a source, created if needed.
    fn place_of(&mut self, report: &RateReport, seen: (Bytes, Bytes)) -> Option<usize> {
        if let Some(at) = self.sources.iter().position(|source| source.id == report.source) {
            return Some(at);
        }
        if self.sources.len() >= MAX_SOURCES {
            return None;
        }
        self.sources.push(Source {
            id: report.source,
            measured: Instant::ZERO,
            expires: Instant::ZERO,
            transmit: None,
            receive: None,
            refused: None,
            signal_dbm: None,
            samples: Vec::new(),
            class: None,
            by_signal: None,
            beyond: false,
            seen,
        });
        Some(self.sources.len() - 1)
    }

    /// Prefers a source that has just reported to the first one, if the first has not reported for half of its
    /// validity: the station has moved, or the first source is late. Two sources that both keep reporting do not
    /// alternate.
    fn put_first(&mut self, at: usize) {
        let (first, other) = (&self.sources[0], &self.sources[at]);
        let patience = first.expires.saturating_since(first.measured) / 2;
        let silent = other.measured.saturating_since(first.measured) > patience;
        if silent || (first.class.is_none() && other.class.is_some()) {
            self.sources.swap(0, at);
        }
    }

    /// Forgets expired reports. True: there were some.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        let before = self.sources.len();
        self.sources.retain(|source| source.expires > now);
        self.sources.len() != before
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The rate in force, unless it is contradicted.
    pub(crate) fn class(&self, now: Instant) -> Option<PhyRate> {
        self.reported_rate().filter(|_| !self.check.is_set_aside(now))
    }

    /// The reported rate, contradicted or not.
    pub(crate) fn reported_rate(&self) -> Option<PhyRate> {
        let source = self.sources.first()?;
        let by_signal = source.by_signal.map(|(_, rate)| rate);
        if self.signal_first { by_signal.or(source.class) } else { source.class.or(by_signal) }
    }

    /// Whether the reported rate is that of a class by signal.
    fn is_by_signal(&self) -> bool {
        self.sources
            .first()
            .is_some_and(|source| source.by_signal.is_some() && (self.signal_first || source.class.is_none()))
    }

    /// Puts each source's signal into its class; `None`: there are no such classes. A class's rate that the standard in
    /// force does not have counts as the nearest one of its kind.
    pub(crate) fn classify_signals(&mut self, rssi: Option<&RssiConfig>, classes: &RateClasses) {
        self.signal_first = rssi.is_some_and(|rssi| rssi.before_rates);
        for source in &mut self.sources {
            source.by_signal = rssi.zip(source.signal_dbm).and_then(|(rssi, dbm)| {
                let present = source.by_signal.map(|(at, _)| at);
                let at = rssi.class_of(Dbm::from_milli(i32::from(dbm) * 1_000), present);
                Some((at, classes.nearest(rssi.classes.get(at)?.rate)))
            });
        }
    }

    /// Forgets classes by signal, because their configuration changes.
    pub(crate) fn forget_signal_classes(&mut self) {
        self.signal_first = false;
        self.sources.iter_mut().for_each(|source| source.by_signal = None);
    }

    /// Whether traffic can contradict the report: the rate is one of the standard in force.
    pub(crate) fn can_be_checked(&self, now: Instant) -> bool {
        self.class(now).is_some() && (self.is_by_signal() || self.sources.first().is_some_and(|source| !source.beyond))
    }

    /// A reported rate in kb/s above the standard's highest: the station is at least as fast as that.
    pub(crate) fn above_standard(&self) -> Option<u32> {
        let source = self.sources.first().filter(|source| source.beyond && !self.is_by_signal())?;
        source.fastest_kbps()
    }

    /// Applies another standard.
    pub(crate) fn reclassify(&mut self, classes: &RateClasses) {
        for source in &mut self.sources {
            source.class = None;
            source.beyond = source.is_beyond(classes);
            source.update_class(classes);
            source.by_signal = source.by_signal.map(|(at, rate)| (at, classes.nearest(rate)));
        }
    }

    pub(crate) fn report(&self, now: Instant) -> Option<ReportedRate> {
        let first = self.sources.first()?;
        Some(ReportedRate {
            source: first.id,
            measured: first.measured,
            transmit_kbps: first.transmit.map(|said| said.kbps),
            receive_kbps: first.receive.map(|said| said.kbps),
            transmit_mode: first.transmit.and_then(|said| said.mode),
            receive_mode: first.receive.and_then(|said| said.mode),
            refused_mode: first.refused,
            signal_dbm: first.signal_dbm,
            class: self.class(now),
            set_aside: self.check.is_set_aside(now),
        })
    }
}

impl Source {
    fn sample(&mut self, at: Instant, transmit: Said, receive: Said, crossed: (Bytes, Bytes)) {
        let to = crossed.0.0.saturating_sub(self.seen.0.0);
        let from = crossed.1.0.saturating_sub(self.seen.1.0);
        self.samples.retain(|sample| at.saturating_since(sample.at) <= MAX_AGE);
        let idle = to + from < LEAST_TRAFFIC.0;
        if idle && self.samples.iter().any(|sample| !sample.idle) {
            return;
        }
        if !idle {
            self.seen = crossed;
            self.samples.retain(|sample| !sample.idle);
        }
        // At least one packet, so that the first report about a silent station is a sample.
        let (to, from) = if idle { (1_500, 0) } else { (to, from) };
        let is_single = transmit.is_single() && receive.is_single();
        let nanos = |bytes: u64, kbps: u32| bytes.saturating_mul(8_000_000) / u64::from(kbps);
        let nanos = nanos(to, transmit.kbps) + nanos(from, receive.kbps);
        if self.samples.len() >= MAX_SAMPLES {
            self.samples.remove(0);
        }
        let modes = [transmit.mode, receive.mode];
        self.samples.push(Sample { at, bits: (to + from) * 8, nanos: nanos.max(1), idle, is_single, modes });
    }

    /// Whether a rate above all of these classes was reported.
    fn is_beyond(&self, classes: &RateClasses) -> bool {
        let fastest = classes.usual().iter().map(kbps).max().unwrap_or(u64::MAX);
        self.fastest_kbps().is_some_and(|kbps| u64::from(kbps) > fastest)
    }

    /// The faster of both rates, in kb/s.
    fn fastest_kbps(&self) -> Option<u32> {
        [self.transmit, self.receive].into_iter().flatten().map(|said| said.kbps).max()
    }

    /// Total bits over total time, in kb/s.
    fn mean_kbps(&self) -> Option<u64> {
        let bits: u128 = self.samples.iter().map(|sample| u128::from(sample.bits)).sum();
        let nanos: u128 = self.samples.iter().map(|sample| u128::from(sample.nanos)).sum();
        (nanos > 0).then(|| u64::try_from(bits * 1_000_000 / nanos).unwrap_or(u64::MAX))
    }

    fn update_class(&mut self, classes: &RateClasses) {
        let Some(mean) = self.mean_kbps() else { return };
        if let Some(mode) = self.mode_at(mean, classes) {
            self.class = Some(mode);
            return;
        }
        let is_single = self.samples.iter().all(|sample| sample.is_single);
        let rates = classes.of_kind(is_single);
        let nearest = nearest(rates, BitRate::from_kbps(mean));
        let is_mode = |rate: PhyRate| !is_single && rate.mode().is_some() && classes.has(rate);
        let Some(own) = self.class.filter(|&class| rates.contains(&class) || is_mode(class)).map(|class| kbps(&class))
        else {
            self.class = nearest;
            return;
        };
        let next = match mean > own {
            true => rates.iter().map(kbps).find(|&next| next > own),
            false => rates.iter().map(kbps).rfind(|&next| next < own),
        };
        let left = next.is_some_and(|next| mean.abs_diff(own) * 100 >= next.abs_diff(own) * LEAVES_AT_PERCENT);
        if left && mean.abs_diff(own) * 100 >= own * LEAVES_BEYOND_PERCENT {
            self.class = nearest;
        }
    }

    /// A reported mode whose rate is the mean: the one in force, if it is, or else the latest one.
    fn mode_at(&self, mean: u64, classes: &RateClasses) -> Option<PhyRate> {
        let reported = || self.samples.iter().rev().flat_map(|sample| sample.modes).flatten();
        let near = || reported().filter(|&mode| is_near(mode, BitRate::from_kbps(mean))).map(PhyRate::from);
        let mut there = near().filter(|&rate| classes.has(rate));
        self.class.filter(|&class| near().any(|rate| rate == class) && classes.has(class)).or_else(|| there.next())
    }
}

fn kbps(rate: &PhyRate) -> u64 {
    rate.bit_rate().as_bps() / 1_000
}

#[cfg(test)]
mod tests;
