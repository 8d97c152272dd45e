//! Measured airtime: whose frames took the medium, and for how long.
//!
//! An exchange is what an access sends with what answers it: RTS, CTS, DATA, ACK and the SIFS between them. Its airtime is
//! the time in which it is under way, with the inter-frame space (DIFS or AIFS) before it. Time in which several
//! exchanges are under way is split equally among them, so that a collision is shared by its senders and each instant
//! counts once; so is the inter-frame space of those that begin together. What is left of silence is back-off while some
//! node has a frame, with what is waited after failures (EIFS beyond DIFS, timeouts), and idle otherwise.
//!
//! The inter-frame space is charged to every access, as far as the medium was silent before it: first from silence in
//! which some node had a frame, then from silence in which none had.
//!
//! Where some nodes are hidden from others it is the same: an exchange is under way wherever it is heard. A single access
//! point hears all exchanges of its network, and so this is the medium as it is there. Of access points that do not hear
//! each other, exchanges at the same time share that time.

use evenair_units::{Instant, Span};

use crate::Medium;
use crate::access::Access;
use crate::frame::To;

/// An exchange that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) function: u32,
    pub(crate) to: To,
    /// When it ends, or later than anything where that is not known yet.
    ends: Instant,
}

/// What is known of time that has no owner yet.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// Under way; where all hear all, only while several are looked at.
    exchanges: alloc::vec::Vec<Exchange>,
    /// Up to when their time is split.
    split: Instant,
    /// `contending` and `idle` when an exchange last began in silence.
    silence: [Span; 2],
}

impl<F> Medium<F> {
    /// Splits the time up to `now`, which is not later than [`Self::poll_deadline`], among the exchanges that are under
    /// way, so that [`Self::counters`] and [`Self::totals`] have all measured airtime up to then. It changes nothing else.
    pub fn settle_airtime(&mut self, now: Instant) {
        self.split_airtime(now.min(self.deadline()));
    }

    /// Accesses begin together where all hear all: those on the air.
    #[inline]
    pub(crate) fn begin_airtime(&mut self, at: Instant) {
        self.account.split = at;
        if let [Access { function, attempt, .. }] = self.on_air[..] {
            let space = self.take_space(self.functions[function as usize].space());
            return self.charge_measured(function, attempt.to, space, false);
        }
        self.look_at_on_air();
        self.charge_spaces();
        self.account.exchanges.clear();
    }

    /// An exchange begins where nodes sense for themselves.
    pub(crate) fn open_exchange(&mut self, at: Instant, function: u32, to: To) {
        self.split_airtime(at);
        self.account.exchanges.push(Exchange { function, to, ends: Instant::MAX });
    }

    /// A TXOP goes on with a frame for `to` where nodes sense for themselves. After a broadcast, which nothing answers, its
    /// exchange has ended already.
    pub(crate) fn continue_exchange(&mut self, at: Instant, function: u32, to: To) {
        self.split_airtime(at);
        match self.account.exchanges.iter_mut().find(|exchange| exchange.function == function) {
            Some(exchange) => exchange.to = to,
            None => self.open_exchange(at, function, to),
        }
    }

    /// The exchange of an access of `node` is over.
    pub(crate) fn close_exchange(&mut self, at: Instant, node: u32) {
        self.split_airtime(at);
        let functions = self.nodes[node as usize].functions();
        let mine = |exchange: &Exchange| functions.contains(&(exchange.function as usize));
        if let Some(place) = self.account.exchanges.iter().position(mine) {
            self.account.exchanges.remove(place);
        }
    }

    /// How many exchanges are under way where nodes sense for themselves.
    pub(crate) fn exchanges(&self) -> usize {
        self.account.exchanges.len()
    }

    /// Charges the time since the last split to the exchanges that were under way in it.
    #[inline]
    pub(crate) fn split_airtime(&mut self, until: Instant) {
        if self.sensing_engine {
            return self.split_among_exchanges(until);
        }
        match self.on_air[..] {
            [] => {}
            [Access { function, attempt, .. }] => {
                let span = until.saturating_since(self.account.split);
                self.charge_measured(function, attempt.to, span, false);
            }
            _ => {
                self.look_at_on_air();
                self.split_among_exchanges(until);
                self.account.exchanges.clear();
            }
        }
        self.account.split = self.account.split.max(until);
    }

    /// Takes those on the air for the exchanges under way.
    fn look_at_on_air(&mut self) {
        let exchange = |access: &Access| {
            let &Access { function, attempt, answered, .. } = access;
            Exchange { function, to: attempt.to, ends: answered }
        };
        self.account.exchanges.clear();
        self.account.exchanges.extend(self.on_air.iter().map(exchange));
    }

    fn split_among_exchanges(&mut self, until: Instant) {
        while self.account.split < until {
            let from = self.account.split;
            let under_way = |exchange: &&Exchange| exchange.ends > from;
            let next = self.account.exchanges.iter().filter(under_way).map(|exchange| exchange.ends).min();
            let Some(next) = next else { break };
            let next = next.min(until);
            self.share(next - from, |exchange| exchange.ends > from);
            self.account.split = next;
        }
        self.account.split = self.account.split.max(until);
    }

    /// Charges the inter-frame space to the exchanges under way, which begin together in silence.
    pub(crate) fn charge_spaces(&mut self) {
        let spaces = self.account.exchanges.iter().map(|exchange| exchange.function);
        let longest = spaces.map(|function| self.functions[function as usize].space()).max();
        let space = self.take_space(longest.unwrap_or(Span::ZERO));
        self.share(space, |_| true);
    }

    /// Charges a span to some of the exchanges in equal parts; what does not divide goes to the lowest function.
    fn share(&mut self, span: Span, takes_part: impl Fn(&Exchange) -> bool) {
        let exchanges = core::mem::take(&mut self.account.exchanges);
        let sharing = || exchanges.iter().filter(|&exchange| takes_part(exchange));
        let count = sharing().count() as u64;
        let first = sharing().map(|exchange| exchange.function).min();
        for exchange in sharing() {
            let whole = span.as_nanos() / count;
            let rest = if Some(exchange.function) == first { span.as_nanos() % count } else { 0 };
            self.charge_measured(exchange.function, exchange.to, Span::from_nanos(whole + rest), count > 1);
        }
        self.account.exchanges = exchanges;
    }

    /// Takes an inter-frame space out of the silence before an exchange; how much of it there was.
    fn take_space(&mut self, space: Span) -> Span {
        let [contending, idle] =
            core::mem::replace(&mut self.account.silence, [self.totals.contending, self.totals.idle]);
        let contending = space.min(self.totals.contending - contending);
        let idle = (space - contending).min(self.totals.idle - idle);
        self.totals.measured.contending_spaces += contending;
        self.totals.measured.idle_spaces += idle;
        contending + idle
    }

    #[inline]
    fn charge_measured(&mut self, function: u32, to: To, span: Span, shared: bool) {
        let collided = if shared { span } else { Span::ZERO };
        self.totals.measured.sent += span;
        self.totals.measured.collisions += collided;
        let sender = &mut self.functions[function as usize].counters.measured;
        sender.sent += span;
        sender.sent_collided += collided;
        match to {
            To::Broadcast => {
                sender.groups += span;
                self.totals.measured.groups += span;
            }
            To::Node(receiver) => {
                let first = self.nodes[receiver.0 as usize].functions().start;
                let receiver = &mut self.functions[first].counters.measured;
                receiver.received += span;
                receiver.received_collided += collided;
            }
        }
    }
}
