//! Probes: the box asks a station for an answer, where the traffic gives none.
//!
//! The queue controller keeps the access point's queue short by completions ([`super::standing`]). QUIC and other datagrams
//! give none, and neither do the ACKs of an upload without timestamps. In a queue that serves packets in their order
//! anything that a station has to answer will do: an ARP request, or of a station that is known by an IPv6 address alone
//! a neighbour solicitation. Its answer proves that it has left the access point, and all released before it.
//!
//! A contention domain asks once no completion has come for the interval between two probes, and no sooner, so that traffic
//! with completions of its own has no probes beside it. It asks one station at a time, the one that was not asked for
//! longest of those that something was released to lately. Answers are used once it is known what the path takes without a
//! queue ([`quiet`]). They also tell the medium's speed ([`speed`]). They are not believed for a while where no probe ever
//! waits behind what was released before it ([`trust`]).
//!
//! What is not here: the frames, which a driver makes and parses; what a completion does ([`crate::pacer`]); who has which
//! address ([`crate::stations`]).
//!
//! Source: RFC 5227 (a request with the sender's address 0.0.0.0 changes no cache), RFC 4861, 7.2.

pub(crate) mod config;
mod quiet;
pub(crate) mod speed;
pub(crate) mod trust;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_packet::MacAddr;
use evenair_units::{Bytes, Instant, Span};

use super::marks::Mark;
use crate::stations::neighbours::Address;
use config::ProbeConfig;
use quiet::Quiet;
use speed::Waited;
use trust::{Load, Trust};

/// Nobody asks where completions are expected of one part in so many of what is released, by airtime, and for how long that is
/// remembered: those are as many completions as probes would be.
const COMPLETED_PART: u64 = 16;
const MEMORY: Span = Span::from_millis(200);
/// Where something was completed within the first of these, another completion is waited for for so long.
const COMPLETES: Span = Span::from_secs(1);
const PATIENCE: Span = Span::from_millis(100);
/// As long as the lag is not known, what takes longer than this is a queue, if it gets shorter: by one part in so many of the
/// time that passes, which is looked at after so long.
const NO_LAG: Span = Span::from_millis(400);
const DRAINS_PART: u64 = 4;
const DRAINS_WITHIN: Span = Span::from_secs(3);
/// One station is asked no more often than this.
const EACH: Span = Span::from_millis(40);
/// For so long an answer is waited for before another station is asked; those that come within the second of these are taken
/// all the same.
const WAIT: Span = Span::from_millis(100);
const LATEST: Span = Span::from_secs(5);
/// A probe is lost, and its station may be asked again, after so many times what the last answer took, and this at least:
/// which of two an answer is for nobody can tell.
const LOST_TIMES: u64 = 4;
const LOST: Span = Span::from_millis(300);
/// A station that has not answered so many in a row is not asked for a while.
const UNANSWERED: u32 = 3;
const SPARED: Span = Span::from_secs(60);
/// Stations that are remembered, and for how long something released to one of them is in flight.
const STATIONS: usize = 32;
const RECENT: Span = Span::from_millis(200);
/// Nobody asks where less than one part in so many of the medium is used by what is released.
const USED_PART: u64 = 4;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Probes {
    interval: Span,
    /// The last completion or probe, and the airtime that was released since.
    since: Instant,
    released: Span,
    /// The last completion that was no probe's.
    completed: Option<Instant>,
    /// The airtime of recent releases with and without a completion to come, and since when that is counted.
    mix: [Span; 2],
    mixed: Instant,
    stations: Vec<Asked>,
    /// Those without an answer, the oldest first.
    sent: VecDeque<Sent>,
    /// What the last answer took.
    took: Span,
    /// An answer that took so long that it has to be a queue, and when it came, as long as the lag is not known.
    long: Option<(Instant, Span)>,
    trust: Trust,
    quiet: Quiet,
}

/// A station to which something was released that nobody will acknowledge.
#[derive(Clone, Copy, Debug)]
struct Asked {
    mac: MacAddr,
    released: Instant,
    asked: Option<Instant>,
    /// Probes in a row without an answer.
    unanswered: u32,
    has_answered: bool,
}

/// A probe without an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) station: MacAddr,
    pub(crate) target: Address,
    pub(crate) mark: Mark,
    pub(crate) at: Instant,
    /// The estimated backlog, with it.
    pub(crate) expected: Span,
}

impl Probes {
    pub(crate) fn new(config: &ProbeConfig, now: Instant) -> Self {
        Self {
            interval: interval(config),
            since: now,
            released: Span::ZERO,
            completed: None,
            mix: [Span::ZERO; 2],
            mixed: now,
            stations: Vec::new(),
            sent: VecDeque::new(),
            took: Span::ZERO,
            long: None,
            trust: Trust::default(),
            quiet: Quiet::new(now),
        }
    }

    /// Takes another configuration over.
    pub(crate) fn reconfigure(&mut self, config: &ProbeConfig) {
        self.interval = interval(config);
    }

    /// The box begins to hold packets: what it is to be asked for is seen from what it releases.
    pub(crate) const fn begin(&mut self, now: Instant) {
        self.note_completion(now);
        self.mix = [Span::ZERO; 2];
    }

    /// Whether a station is known to answer.
    pub(crate) fn is_answered_by(&self, station: MacAddr) -> bool {
        self.stations.iter().any(|known| known.mac == station && known.has_answered)
    }

    /// A packet was released that takes this medium time; `unacknowledged`: nobody will acknowledge it.
    pub(crate) fn note_release(&mut self, now: Instant, station: MacAddr, airtime: Span, unacknowledged: bool) {
        self.released += airtime;
        if now.saturating_since(self.mixed) >= MEMORY {
            self.mix = self.mix.map(|airtime| airtime / 2);
            self.mixed = now;
        }
        self.mix[usize::from(unacknowledged)] += airtime;
        if !unacknowledged {
            return;
        }
        if let Some(known) = self.stations.iter_mut().find(|known| known.mac == station) {
            known.released = now;
            return;
        }
        if self.stations.len() == STATIONS {
            let oldest = (0..STATIONS).min_by_key(|&at| self.stations[at].released);
            oldest.into_iter().for_each(|at| _ = self.stations.swap_remove(at));
        }
        self.stations.push(Asked { mac: station, released: now, asked: None, unanswered: 0, has_answered: false });
    }

    /// The part of what was released lately, by airtime, that nobody will acknowledge.
    pub(crate) fn unacknowledged_permille(&self) -> u64 {
        let [acknowledged, rest] = self.mix;
        rest.mul_div(1_000, (acknowledged + rest).as_nanos().max(1)).as_nanos()
    }

    /// Answers are believed.
    pub(crate) fn are_believed(&self, now: Instant) -> bool {
        self.trust.is_given(now)
    }

    /// Until when nothing is released, so that a probe finds no queue.
    pub(crate) fn holds_until(&self) -> Option<Instant> {
        self.quiet.holds_until()
    }

    /// Time has passed.
    pub(crate) fn expire(&mut self, now: Instant) {
        self.quiet.expire(now);
    }

    /// The station that is to be asked now, however long ago the last probe was.
    pub(crate) fn at_once(&self) -> Option<MacAddr> {
        self.quiet.second()
    }

    /// Something was completed, and that without a probe.
    pub(crate) const fn note_completion(&mut self, now: Instant) {
        (self.since, self.released, self.completed) = (now, Span::ZERO, Some(now));
    }

    /// Whether a station is to be asked now; `waits`: packets wait in the box.
    pub(crate) fn is_due(&self, now: Instant, waits: bool) -> bool {
        let elapsed = now.saturating_since(self.since);
        let is_used = waits || self.released * USED_PART >= elapsed;
        let is_completed = self.completed.is_some_and(|at| now.saturating_since(at) < COMPLETES);
        let interval = if is_completed { self.interval.max(PATIENCE) } else { self.interval };
        let [completed, rest] = self.mix;
        let is_needed = completed * COMPLETED_PART < completed + rest;
        let is_alone = self.sent.back().is_none_or(|sent| now.saturating_since(sent.at) >= WAIT);
        elapsed >= interval && is_used && is_needed && is_alone && self.trust.is_given(now)
    }

    /// The stations that may be asked, the one first that was not asked for longest.
    pub(crate) fn stations(&self, now: Instant) -> Vec<MacAddr> {
        let lost = (self.took * LOST_TIMES).max(LOST);
        let is_awaited = |mac| self.sent.iter().any(|sent| sent.station == mac && now.saturating_since(sent.at) < lost);
        let may_be = |station: &&Asked| {
            let pause = if station.unanswered < UNANSWERED { EACH } else { SPARED };
            let is_rested = station.asked.is_none_or(|asked| now.saturating_since(asked) >= pause);
            is_rested && !is_awaited(station.mac) && now.saturating_since(station.released) < RECENT
        };
        let mut stations: Vec<&Asked> = self.stations.iter().filter(may_be).collect();
        stations.sort_by_key(|station| station.asked);
        stations.into_iter().map(|station| station.mac).collect()
    }

    /// A station is asked.
    pub(crate) fn note_sent(&mut self, sent: Sent) {
        let is_old = |old: &Sent| sent.at.saturating_since(old.at) >= LATEST || old.station == sent.station;
        self.sent.retain(|old| !is_old(old));
        (self.since, self.released) = (sent.at, Span::ZERO);
        self.quiet.note_sent(sent.at, sent.station, self.is_answered_by(sent.station));
        if let Some(station) = self.stations.iter_mut().find(|station| station.mac == sent.station) {
            station.asked = Some(sent.at);
            station.unanswered += 1;
        }
        self.sent.push_back(sent);
    }

    /// A station says that it has an address: the oldest probe that this answers.
    pub(crate) fn take_answer(&mut self, station: MacAddr, target: Address) -> Option<Sent> {
        let at = self.sent.iter().position(|sent| sent.station == station && sent.target == target)?;
        let sent = self.sent.remove(at)?;
        if let Some(station) = self.stations.iter_mut().find(|known| known.mac == station) {
            (station.unanswered, station.has_answered) = (0, true);
        }
        Some(sent)
    }

    /// An answer has come: what its probe has waited for, if that is to be believed.
    pub(crate) fn judge(&mut self, now: Instant, sent: &Sent, load: Load) -> Option<Waited> {
        let took = now.saturating_since(sent.at);
        self.took = took;
        self.quiet.note_answer(now, sent.at, took);
        let lag = self.quiet.lag().or_else(|| self.is_draining(now, took).then_some(Span::ZERO))?;
        let waited = Waited::new(took, lag, sent.expected);
        self.trust.judge(now, sent.expected, waited.in_queue, load);
        self.trust.is_given(now).then_some(waited)
    }

    /// The lag is not known: whether it is a queue that an answer took so long for. That gets shorter by and by, and what does
    /// not is the lag of a path that is too long.
    fn is_draining(&mut self, now: Instant, took: Span) -> bool {
        if took < NO_LAG {
            return false;
        }
        let (since, before) = *self.long.get_or_insert((now, took));
        let elapsed = now.saturating_since(since);
        if elapsed >= DRAINS_WITHIN {
            if took + elapsed / DRAINS_PART > before {
                self.trust.lose(now);
            }
            self.long = None;
        }
        true
    }
}

fn interval(config: &ProbeConfig) -> Span {
    Span::from_secs(1) / u64::from(config.most_per_second.max(1))
}

/// What a probe and its answer are long at IP level: ARP padded to the least payload of Ethernet, or a solicitation with
/// the option that names its sender.
pub(crate) fn length(address: &core::net::IpAddr) -> Bytes {
    if address.is_ipv4() { Bytes(46) } else { Bytes(72) }
}
