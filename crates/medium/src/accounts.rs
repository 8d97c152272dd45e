//! Measured airtime: which exchanges occupied the medium, and for how long.
//!
//! An exchange is the frames of an access and their responses: RTS, CTS, DATA, ACK and the SIFS between them. Its airtime
//! is its duration, plus the inter-frame space (DIFS or AIFS) before it. Time in which several exchanges overlap is split
//! equally among them, so that the senders of a collision share it and each instant counts once; so is the inter-frame
//! space of exchanges that begin together. The rest of the silence, including waits after failures (EIFS beyond DIFS,
//! timeouts), is back-off while some node has a frame, and idle otherwise.
//!
//! Every access is charged the inter-frame space, up to the length of the silence before it: first from silence in which
//! some node had a frame, then from silence in which none had.
//!
//! With hidden nodes the rules are the same: an exchange counts wherever it is heard. A single access point hears all
//! exchanges of its network, so this is the medium as the access point sees it. Access points that do not hear each other
//! share the time in which their exchanges overlap.

use alloc::vec::Vec;

use evenair_units::{Instant, Span};

use crate::counters::Totals;
use crate::frame::To;
use crate::nodes::Nodes;

/// An exchange in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) edcaf: u32,
    pub(crate) to: To,
    /// When it ends; [`Instant::MAX`] while that is not known.
    pub(crate) ends: Instant,
}

/// Use of a medium so far, and the exchanges in progress.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    /// Totals up to `accounted`.
    pub(crate) totals: Totals,
    accounted: Instant,
    /// Exchanges in progress. The shared-channel engine fills this only while it splits time among several.
    exchanges: Vec<Exchange>,
    /// Airtime is split up to this instant.
    split: Instant,
    /// `contending` and `idle` at the last start of an exchange in silence.
    silence: [Span; 2],
}

impl Accounts {
    /// Adds the time since the last call to the totals: as busy, or as silence with this many backlogged nodes.
    #[inline]
    pub(crate) fn account(&mut self, now: Instant, busy: bool, backlogged: usize) {
        let passed = now.saturating_since(self.accounted);
        self.accounted = now;
        *use_of(&mut self.totals, busy, backlogged) += passed;
    }

    /// Totals up to `now`.
    pub(crate) fn totals(&self, now: Instant, busy: bool, backlogged: usize) -> Totals {
        let mut totals = self.totals;
        *use_of(&mut totals, busy, backlogged) += now.saturating_since(self.accounted);
        totals
    }

    /// An exchange begins in silence, alone.
    #[inline]
    pub(crate) fn begin_alone<F>(&mut self, at: Instant, edcaf: u32, to: To, nodes: &mut Nodes<F>) {
        self.split = at;
        let space = self.take_space(nodes.edcafs[edcaf as usize].space());
        self.charge(edcaf, to, space, nodes);
    }

    /// Exchanges begin together in silence.
    pub(crate) fn begin_together<F>(
        &mut self,
        at: Instant,
        exchanges: impl Iterator<Item = Exchange>,
        nodes: &mut Nodes<F>,
    ) {
        self.split = at;
        self.exchanges.clear();
        self.exchanges.extend(exchanges);
        self.charge_spaces(nodes);
        self.exchanges.clear();
    }

    /// Charges the time up to `until` to the only exchange in progress.
    #[inline]
    pub(crate) fn split_alone<F>(&mut self, until: Instant, edcaf: u32, to: To, nodes: &mut Nodes<F>) {
        let span = until.saturating_since(self.split);
        self.charge(edcaf, to, span, nodes);
        self.split = self.split.max(until);
    }

    /// Splits the time up to `until` among these exchanges, each up to its end.
    pub(crate) fn split_together<F>(
        &mut self,
        until: Instant,
        exchanges: impl Iterator<Item = Exchange>,
        nodes: &mut Nodes<F>,
    ) {
        self.exchanges.clear();
        self.exchanges.extend(exchanges);
        self.split(until, nodes);
        self.exchanges.clear();
    }

    /// Skips the time up to `until`, in which no exchange was in progress.
    #[inline]
    pub(crate) fn skip(&mut self, until: Instant) {
        self.split = self.split.max(until);
    }

    /// An exchange begins, in the per-node engine.
    pub(crate) fn open<F>(&mut self, at: Instant, edcaf: u32, to: To, nodes: &mut Nodes<F>) {
        self.split(at, nodes);
        self.exchanges.push(Exchange { edcaf, to, ends: Instant::MAX });
    }

    /// A TXOP goes on with a frame for `to`, in the per-node engine. After a broadcast, which has no response, its exchange
    /// has ended already.
    pub(crate) fn resume<F>(&mut self, at: Instant, edcaf: u32, to: To, nodes: &mut Nodes<F>) {
        self.split(at, nodes);
        match self.exchanges.iter_mut().find(|exchange| exchange.edcaf == edcaf) {
            Some(exchange) => exchange.to = to,
            None => self.open(at, edcaf, to, nodes),
        }
    }

    /// Ends the exchange of an access of `node`.
    pub(crate) fn close<F>(&mut self, at: Instant, node: u32, nodes: &mut Nodes<F>) {
        self.split(at, nodes);
        let edcafs = nodes.edcaf_ids(node);
        let mine = |exchange: &Exchange| edcafs.contains(&(exchange.edcaf as usize));
        if let Some(place) = self.exchanges.iter().position(mine) {
            self.exchanges.remove(place);
        }
    }

    /// Number of exchanges in progress, in the per-node engine.
    pub(crate) fn exchanges(&self) -> usize {
        self.exchanges.len()
    }

    /// Splits the time since the last split among the exchanges that were in progress.
    pub(crate) fn split<F>(&mut self, until: Instant, nodes: &mut Nodes<F>) {
        while self.split < until {
            let from = self.split;
            let under_way = |exchange: &&Exchange| exchange.ends > from;
            let next = self.exchanges.iter().filter(under_way).map(|exchange| exchange.ends).min();
            let Some(next) = next else { break };
            let next = next.min(until);
            self.share(next - from, |exchange| exchange.ends > from, nodes);
            self.split = next;
        }
        self.split = self.split.max(until);
    }

    /// Charges the longest inter-frame space of exchanges that begin together to them in equal parts.
    pub(crate) fn charge_spaces<F>(&mut self, nodes: &mut Nodes<F>) {
        let spaces = self.exchanges.iter().map(|exchange| nodes.edcafs[exchange.edcaf as usize].space());
        let longest = spaces.max();
        let space = self.take_space(longest.unwrap_or(Span::ZERO));
        self.share(space, |_| true, nodes);
    }

    /// Charges a span to the selected exchanges in equal parts; the remainder goes to the lowest EDCAF.
    fn share<F>(&mut self, span: Span, takes_part: impl Fn(&Exchange) -> bool, nodes: &mut Nodes<F>) {
        let exchanges = core::mem::take(&mut self.exchanges);
        let sharing = || exchanges.iter().filter(|&exchange| takes_part(exchange));
        let count = sharing().count() as u64;
        let first = sharing().map(|exchange| exchange.edcaf).min();
        for exchange in sharing() {
            let whole = span.as_nanos() / count;
            let rest = if Some(exchange.edcaf) == first { span.as_nanos() % count } else { 0 };
            let part = Span::from_nanos(whole + rest);
            self.charge(exchange.edcaf, exchange.to, part, nodes);
            if count > 1 {
                self.charge_collision(exchange.edcaf, exchange.to, part, nodes);
            }
        }
        self.exchanges = exchanges;
    }

    /// Takes an inter-frame space out of the silence before an exchange. Returns how much of it there was.
    fn take_space(&mut self, space: Span) -> Span {
        let [contending, idle] = core::mem::replace(&mut self.silence, [self.totals.contending, self.totals.idle]);
        let contending = space.min(self.totals.contending - contending);
        let idle = (space - contending).min(self.totals.idle - idle);
        self.totals.measured.contending_spaces += contending;
        self.totals.measured.idle_spaces += idle;
        contending + idle
    }

    /// Charges a span to an exchange's sender and receiver.
    #[inline]
    fn charge<F>(&mut self, edcaf: u32, to: To, span: Span, nodes: &mut Nodes<F>) {
        self.totals.measured.sent += span;
        nodes.edcafs[edcaf as usize].counters.measured.sent += span;
        match to {
            To::Broadcast => {
                nodes.edcafs[edcaf as usize].counters.measured.groups += span;
                self.totals.measured.groups += span;
            }
            To::Node(receiver) => {
                let first = nodes.edcaf_ids(receiver.0).start;
                nodes.edcafs[first].counters.measured.received += span;
            }
        }
    }

    /// Charges the time in which several exchanges were in progress; [`Self::charge`] has charged it, too.
    fn charge_collision<F>(&mut self, edcaf: u32, to: To, span: Span, nodes: &mut Nodes<F>) {
        self.totals.measured.collisions += span;
        nodes.edcafs[edcaf as usize].counters.measured.sent_collided += span;
        if let To::Node(receiver) = to {
            let first = nodes.edcaf_ids(receiver.0).start;
            nodes.edcafs[first].counters.measured.received_collided += span;
        }
    }
}

/// The total that time counts toward while the medium is busy, or silent with this many backlogged nodes.
fn use_of(totals: &mut Totals, busy: bool, backlogged: usize) -> &mut Span {
    match (busy, backlogged) {
        (true, _) => &mut totals.busy,
        (false, 0) => &mut totals.idle,
        (false, _) => &mut totals.contending,
    }
}
