//! Probes: the box requests replies from stations whose traffic shows no completions.
//!
//! The queue controller keeps the access point's queue short by completions ([`super::standing`]). QUIC and other datagrams show none, and
//! neither do the ACKs of an upload without timestamps. In a FIFO queue any request that a station has to answer will do: an ARP request,
//! or a neighbour solicitation for a station with a known IPv6 address only. The reply proves that the request has left the access point,
//! and so have all earlier releases.
//!
//! A contention domain sends a probe once no completion has come for the interval between two probes, and no sooner, so that traffic with
//! completions of its own gets no probes. It probes one station at a time: of those with recent releases, the one that was probed longest
//! ago. Replies are used once the lag of the path is known ([`quiet`]). They also measure the medium's speed ([`speed`]). They are not
//! trusted for a while if no probe ever waits behind earlier releases ([`trust`]).
//!
//! What is not here: the frames, which a driver makes and parses; the effect of a completion ([`crate::pacer`]); the addresses of stations
//! ([`crate::stations`]).
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

/// No probes are sent if completions are expected for more than 1/`COMPLETED_PART` of the airtime released, over the last `MEMORY`: these
/// are as many completions as probes would give.
const COMPLETED_PART: u64 = 16;
const MEMORY: Span = Span::from_millis(200);
/// After a completion within the last `COMPLETES`, the next one is awaited for `PATIENCE`.
const COMPLETES: Span = Span::from_secs(1);
const PATIENCE: Span = Span::from_millis(100);
/// While the lag is unknown, a reply that takes longer than `NO_LAG` shows a queue, if later replies are faster: by one part in
/// `DRAINS_PART` of the elapsed time, judged after `DRAINS_WITHIN`.
const NO_LAG: Span = Span::from_millis(400);
const DRAINS_PART: u64 = 4;
const DRAINS_WITHIN: Span = Span::from_secs(3);
/// Shortest time between two probes of one station.
const EACH: Span = Span::from_millis(40);
/// Time for which a reply is awaited before another station is probed; latest reply that still counts.
const WAIT: Span = Span::from_millis(100);
const LATEST: Span = Span::from_secs(5);
/// A probe is lost after this multiple of the time that the last reply took, and at least `LOST`. Only then its station may be probed
/// again, since a reply does not show which of two probes it answers.
const LOST_TIMES: u64 = 4;
const LOST: Span = Span::from_millis(300);
/// Probes in a row without a reply after which a station is not probed for `SPARED`.
const UNANSWERED: u32 = 3;
const SPARED: Span = Span::from_secs(60);
/// Stations remembered, at most; time for which a release to one of them counts as in flight.
const STATIONS: usize = 32;
const RECENT: Span = Span::from_millis(200);
/// No probes are sent if releases use less than 1/`USED_PART` of the medium.
const USED_PART: u64 = 4;

/// The probes of a contention domain; see the module.
#[derive(Clone, Debug)]
pub(crate) struct Probes {
    interval: Span,
    /// The last completion or probe, and the airtime released since.
    since: Instant,
    released: Span,
    /// The last completion that was not by a probe.
    completed: Option<Instant>,
    /// Airtime of recent releases with and without a completion expected, and when it was last halved.
    mix: [Span; 2],
    mixed: Instant,
    stations: Vec<Asked>,
    /// Probes without a reply, oldest first.
    sent: VecDeque<Sent>,
    /// Time that the last reply took.
    took: Span,
    /// A reply that took so long that it shows a queue, and when it came, while the lag is unknown.
    long: Option<(Instant, Span)>,
    trust: Trust,
    quiet: Quiet,
}

/// A station with releases that will not be acknowledged.
#[derive(Clone, Copy, Debug)]
struct Asked {
    mac: MacAddr,
    released: Instant,
    asked: Option<Instant>,
    /// Probes in a row without a reply.
    unanswered: u32,
    has_answered: bool,
}

/// A probe without a reply yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) station: MacAddr,
    pub(crate) target: Address,
    pub(crate) mark: Mark,
    pub(crate) at: Instant,
    /// The estimated backlog, including the probe.
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

    /// Applies another configuration.
    pub(crate) fn reconfigure(&mut self, config: &ProbeConfig) {
        self.interval = interval(config);
    }

    /// The box begins to hold packets: its own releases show whether probes are needed.
    pub(crate) const fn begin(&mut self, now: Instant) {
        self.note_completion(now);
        self.mix = [Span::ZERO; 2];
    }

    /// Whether a station is known to reply.
    pub(crate) fn is_answered_by(&self, station: MacAddr) -> bool {
        self.stations.iter().any(|known| known.mac == station && known.has_answered)
    }

    /// Notes a release of this medium time; `unacknowledged`: no acknowledgment will come for it.
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

    /// Part of recent releases, by airtime and in thousandths, without a completion expected.
    pub(crate) fn unacknowledged_permille(&self) -> u64 {
        let [acknowledged, rest] = self.mix;
        rest.mul_div(1_000, (acknowledged + rest).as_nanos().max(1)).as_nanos()
    }

    /// Whether replies are trusted.
    pub(crate) fn are_believed(&self, now: Instant) -> bool {
        self.trust.is_given(now)
    }

    /// Until when nothing is released, so that a probe finds no queue.
    pub(crate) fn holds_until(&self) -> Option<Instant> {
        self.quiet.holds_until()
    }

    /// Ends an overdue measurement.
    pub(crate) fn expire(&mut self, now: Instant) {
        self.quiet.expire(now);
    }

    /// The station to be probed now, however recent the last probe is.
    pub(crate) fn at_once(&self) -> Option<MacAddr> {
        self.quiet.second()
    }

    /// Notes a completion that was not by a probe.
    pub(crate) const fn note_completion(&mut self, now: Instant) {
        (self.since, self.released, self.completed) = (now, Span::ZERO, Some(now));
    }

    /// Whether a station is to be probed now; `waits`: packets wait in the box.
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

    /// The stations that may be probed, the one first that was probed longest ago.
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

    /// Notes a probe.
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

    /// Takes a station's announcement of its address: the oldest probe that it answers.
    pub(crate) fn take_answer(&mut self, station: MacAddr, target: Address) -> Option<Sent> {
        let at = self.sent.iter().position(|sent| sent.station == station && sent.target == target)?;
        let sent = self.sent.remove(at)?;
        if let Some(station) = self.stations.iter_mut().find(|known| known.mac == station) {
            (station.unanswered, station.has_answered) = (0, true);
        }
        Some(sent)
    }

    /// Handles a reply: returns how long its probe waited, if that is to be trusted.
    pub(crate) fn judge(&mut self, now: Instant, sent: &Sent, load: Load) -> Option<Waited> {
        let took = now.saturating_since(sent.at);
        self.took = took;
        self.quiet.note_answer(now, sent.at, took);
        let lag = self.quiet.lag().or_else(|| self.is_draining(now, took).then_some(Span::ZERO))?;
        let waited = Waited::new(took, lag, sent.expected);
        self.trust.judge(now, sent.expected, waited.in_queue, load);
        self.trust.is_given(now).then_some(waited)
    }

    /// While the lag is unknown: whether a queue made a reply take so long. A queue drains by and by; a lag that is too long does not.
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

/// Length of a probe and its reply at IP level: ARP padded to the least payload of Ethernet, or a solicitation with the option that names
/// its sender.
pub(crate) fn length(address: &core::net::IpAddr) -> Bytes {
    if address.is_ipv4() { Bytes(46) } else { Bytes(72) }
}
