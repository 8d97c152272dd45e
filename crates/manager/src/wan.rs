//! The Internet link: a virtual server for each of its directions, a little slower than the link.
//!
//! The link is the bottleneck, and its queue is a FIFO in the router. A server at 90 % of the link's rate draws that
//! queue into the box, where the policy decides the order and sparse flows have priority. Packets that have passed
//! the server toward the stations wait for the medium with all others, but have priority over those from the LAN, up
//! to a part of the medium that the LAN keeps (`lan_permille`): transfers over the link get what they can use of the
//! medium, transfers of the LAN share the rest.
//!
//! The link carries bits, from whichever station: here the weights of stations are those of the operator, independent
//! of PHY rates.
//!
//! Source: Hegde et al., IEEE/ACM ToN 21(2), 2013: A-WAN in, A-WAN out, and their coordination with A-WLAN. There the
//! measured rate of the link's transfers is subtracted from the rate of the WLAN's server; here it is taken from the
//! medium's time, packet by packet.
//!
//! If several managers share the link, each serves it only while it holds a lease (`leases`).
//!
//! What is not here: more than one link; the link's own queue, which is empty as long as only the box feeds it.

pub(crate) mod config;
pub(crate) mod leases;

use evenair_units::{BitRate, Bytes, Instant, Span};

use crate::api::{Hop, HopReport};
use crate::held::{Held, Service};
use crate::ids::{DOWN, UP};
use crate::latency::delays::Delays;
use crate::queues::{Queues, TreeConfig};
use crate::{DelayReport, Lease, LinkNeed};
use config::WanConfig;

/// The server of one direction of the link.
#[derive(Clone, Debug)]
pub(crate) struct Link<P> {
    pub(crate) queues: Queues<P>,
    pub(crate) waits: Waits,
    rate: BitRate,
    slack: Span,
    free_at: Instant,
    /// Whether other managers serve it, too; until when it is leased to this one.
    shared: bool,
    leased_until: Option<Instant>,
}

/// Both directions of the link.
#[derive(Clone, Debug)]
pub(crate) struct Wan<P> {
    /// Toward the stations; from them.
    pub(crate) links: [Link<P>; 2],
}

/// Waiting times of packets for a hop: in this interval, in the last one, and in total.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    interval: Delays,
    recent: DelayReport,
    total: Delays,
}

impl Waits {
    pub(crate) fn note(&mut self, waited: Span) {
        self.interval.note(waited);
        self.total.note(waited);
    }

    pub(crate) fn end_interval(&mut self) {
        self.recent = core::mem::take(&mut self.interval).report();
    }

    pub(crate) fn report(&self, hop: Hop, held: usize) -> HopReport {
        HopReport { hop, held: held as u64, recent: self.recent, total: self.total.report() }
    }
}

impl<P> Wan<P> {
    /// `slack`: lateness that is made up, at most.
    pub(crate) fn new(tree: &TreeConfig<'_>, slack: Span, wan: &WanConfig, now: Instant) -> Self {
        let link = |rate| Link {
            queues: Queues::of_link(tree, wan, now),
            waits: Waits::default(),
            rate,
            slack,
            free_at: now,
            shared: wan.shared,
            leased_until: None,
        };
        Self { links: [link(wan.down), link(wan.up)] }
    }

    pub(crate) fn held(&self) -> usize {
        self.links.iter().map(|link| link.queues.len()).sum()
    }

    /// When a packet may next leave one of the queues.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.links
            .iter()
            .filter(|link| !link.queues.is_empty() && link.may_serve(link.free_at))
            .map(|l| l.free_at)
            .min()
    }
}

impl<P> Link<P> {
    pub(crate) fn is_ready(&self, now: Instant) -> bool {
        !self.queues.is_empty() && self.free_at <= now && self.may_serve(self.begins(now))
    }

    /// When the service of a packet that leaves now is taken to have begun: some lateness is made up.
    fn begins(&self, now: Instant) -> Instant {
        self.free_at.max(now.saturating_sub(self.slack))
    }

    fn may_serve(&self, at: Instant) -> bool {
        !self.shared || self.leased_until.is_some_and(|until| at < until)
    }

    /// What it needs of a shared link.
    pub(crate) fn need(&self) -> Option<LinkNeed> {
        let weight = if self.queues.is_empty() { 0 } else { self.queues.ready_weight().max(1) };
        self.shared.then_some(LinkNeed { weight, used: self.free_at, leased: self.leased_until.is_some() })
    }

    pub(crate) fn lease(&mut self, lease: Lease) {
        if self.shared {
            (self.free_at, self.leased_until) = (lease.from, Some(lease.until));
        }
    }

    /// Ends a lease that has run out.
    pub(crate) fn end_late_lease(&mut self, now: Instant) {
        if self.leased_until.is_some_and(|until| self.begins(now) >= until) {
            self.leased_until = None;
        }
    }

    /// Forgets the link's load after a release of all packets regardless of it.
    pub(crate) fn forget_service(&mut self, now: Instant) {
        (self.free_at, self.leased_until) = (now, None);
    }

    /// Takes out the next packet, and uses the time that the link needs for it.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Held<P>> {
        let rate = self.rate;
        let held = self.queues.pop(now, |held| Service::by_length(held.ip_len, rate))?;
        self.free_at = self.begins(now).saturating_add(self.time_for(held.ip_len));
        self.waits.note(now.saturating_since(held.since));
        Some(held)
    }

    /// Notes the first packet of a busy period: an idle link has not been late.
    pub(crate) fn wake(&mut self, now: Instant) {
        if self.queues.is_empty() && self.free_at <= now {
            self.free_at = now;
            self.queues.end_service();
        }
        if self.queues.is_empty() {
            // An empty queue leaves the rest of its lease to others.
            self.leased_until = None;
        }
    }

    fn time_for(&self, len: Bytes) -> Span {
        self.rate.time_for_bits(len.bits())
    }
}

/// The hop of a direction.
pub(crate) const fn hop(direction: usize) -> Hop {
    if direction == DOWN { Hop::InternetDown } else { Hop::InternetUp }
}

/// The direction of a hop; `None`: the WLAN.
pub(crate) const fn direction_of(hop: Hop) -> Option<usize> {
    match hop {
        Hop::Wlan => None,
        Hop::InternetDown => Some(DOWN),
        Hop::InternetUp => Some(UP),
    }
}
