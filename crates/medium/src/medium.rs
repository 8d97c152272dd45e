//! The medium as its drivers see it: nodes that join and leave, frames that come, time that passes. What an access does
//! once back-off has run out is in `access` and its end in `settle`, who is next in `contention`, what a node and its
//! access functions keep in `node` and `function`.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use evenair_units::{Db, Dbm, Instant, Span, Streams};
use evenair_wifi::{AccessCategory, PhyRate, power};

use crate::access::Access;
use crate::airtimes::Airtimes;
use crate::backlog::BacklogChain;
use crate::chores::Chores;
use crate::contention::Contention;
use crate::frame::{dropped, lost};
use crate::function::{Function, Rules};
use crate::idle_sense::IdleSense;
use crate::measured::Account;
use crate::node::{self, Node};
use crate::rate_control::Rates;
use crate::reception::Receivers;
use crate::sensing::Sensing;
use crate::watch::Watch;
use crate::{BackOff, Counters, DropReason, Event, MediumConfig, Mpdu, NodeConfig, NodeId, QueueState, To, Totals};

/// One medium and its nodes: access points and stations alike.
///
/// In: [`Self::handle_frame`], [`Self::handle_timeout`], and [`Self::advance`], which is many of the latter. Out:
/// [`Self::poll_event`] until `None`, then [`Self::poll_deadline`]. Time must not go back; a `now` before the latest one
/// counts as the latest one.
#[derive(Debug)]
pub struct Medium<F> {
    pub(crate) config: MediumConfig,
    pub(crate) streams: Streams,
    pub(crate) nodes: Vec<Node>,
    /// Of all nodes: those of a node follow one another.
    pub(crate) functions: Vec<Function<F>>,
    /// All that functions have.
    rules: Vec<Arc<Rules>>,
    /// Whether any node has EDCA.
    pub(crate) has_edca: bool,
    pub(crate) contention: Contention,
    /// Instead of `contention` and `on_air` where not all hear all.
    pub(crate) sensing: Option<Box<Sensing>>,
    /// The accesses that began together; empty while the medium is silent.
    pub(crate) on_air: Vec<Access>,
    /// What happens next.
    pub(crate) stage: Stage,
    /// When it does, but for [`Stage::Sensed`]; [`Instant::MAX`] where nothing will.
    pub(crate) due: Instant,
    /// Where nodes draw their back-off from a window of this.
    pub(crate) idle_sense: Option<Box<IdleSense>>,
    /// What is received of what is sent.
    pub(crate) receivers: Receivers,
    /// Which rates senders choose; `None`: those that frames bring.
    pub(crate) rates: Option<Rates>,
    pub(crate) events: VecDeque<Event<F>>,
    pub(crate) clock: Instant,
    /// Nodes with a frame.
    pub(crate) backlogged: usize,
    /// A frame was received, and its sender did not know.
    pub(crate) has_repeated: bool,
    /// Where it is counted.
    pub(crate) backlog: Option<Box<BacklogChain>>,
    /// Accounts up to `accounted`.
    pub(crate) totals: Totals,
    pub(crate) accounted: Instant,
    /// Where what goes on the air is told.
    pub(crate) watch: Option<Box<Watch>>,
    pub(crate) airtimes: Airtimes,
    /// Of measured airtime.
    pub(crate) account: Account,
    /// Nodes sense for themselves; also while `sensing` is at work.
    pub(crate) sensing_engine: bool,
    /// The rate of the last frame that came, which is one of the standard's.
    known_rate: PhyRate,
    /// Kept for its memory.
    pub(crate) senders: Vec<u32>,
    /// What nodes do by themselves, where they do anything.
    pub(crate) chores: Option<Box<Chores<F>>>,
    /// When they do it next; [`Instant::MAX`] where they do not.
    pub(crate) chores_due: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// The medium is silent until the next function sends.
    Silent,
    /// A DATA frame will have been received.
    Receiving,
    /// The medium falls silent.
    Ending,
    /// It differs from node to node, as `sensing` knows.
    Sensed {
        /// An exchange is under way somewhere.
        busy: bool,
    },
}

impl<F> Medium<F> {
    /// A silent medium without nodes.
    pub fn new(config: MediumConfig, streams: &Streams) -> Self {
        let contention = Contention::new(config.phy.slot());
        let receivers = Receivers::new(config.reception);
        let rates = Rates::new(config.rate_control);
        let (airtimes, known_rate) = (Airtimes::new(&config.phy, config.protection), config.phy.lowest_basic());
        Self {
            config,
            streams: *streams,
            nodes: Vec::new(),
            functions: Vec::new(),
            rules: Vec::new(),
            has_edca: false,
            contention,
            sensing: None,
            on_air: Vec::new(),
            stage: Stage::Silent,
            due: Instant::MAX,
            idle_sense: None,
            receivers,
            rates,
            events: VecDeque::new(),
            clock: Instant::ZERO,
            backlogged: 0,
            has_repeated: false,
            backlog: None,
            totals: Totals::default(),
            accounted: Instant::ZERO,
            watch: None,
            airtimes,
            account: Account::default(),
            sensing_engine: false,
            known_rate,
            senders: Vec::new(),
            chores: None,
            chores_due: Instant::MAX,
        }
    }

    /// The same for nodes that do not all hear each other: [`Self::hide`] says who does not. Where all do, it is slower
    /// than [`Self::new`] and otherwise no different.
    pub fn with_hidden_nodes(config: MediumConfig, streams: &Streams) -> Self {
        let sensing = Some(Box::new(Sensing::new(&config)));
        Self { sensing, sensing_engine: true, stage: Stage::Sensed { busy: false }, ..Self::new(config, streams) }
    }

    /// Its rules.
    pub fn config(&self) -> &MediumConfig {
        &self.config
    }

    /// From now on two nodes do not hear each other: neither senses the other's frames, nor can decode them, nor are
    /// they in the way of what it receives.
    ///
    /// # Panics
    /// If the medium was not made by [`Self::with_hidden_nodes`], or a node was never added.
    pub fn hide(&mut self, a: NodeId, b: NodeId) {
        let sensing = self.sensing.as_mut().expect("a medium with hidden nodes is made as such");
        sensing.hide(self.clock, a.0, b.0);
    }

    /// A node joins, with empty buffers.
    ///
    /// # Panics
    /// If it has Idle Sense and the medium was made by [`Self::with_hidden_nodes`].
    pub fn add_node(&mut self, config: NodeConfig) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes"));
        let first = u32::try_from(self.functions.len()).expect("fewer than 2^32 access functions");
        self.nodes.push(Node::new(&config, first));
        self.has_edca |= config.edca.is_some();
        if config.back_off == BackOff::IdleSense && config.edca.is_none() && self.idle_sense.is_none() {
            assert!(self.sensing.is_none(), "with Idle Sense all hear all");
            self.idle_sense = Some(Box::new(IdleSense::new(self.config.idle_sense)));
        }
        self.receivers.add_node(id.0, config.antenna, &self.streams);
        if let Some(rates) = &mut self.rates {
            rates.add_node(id.0, &self.streams);
        }
        for (rules, waiting, back_off) in node::functions(&config, id, &self.config.phy, &self.streams) {
            match &mut self.sensing {
                None => self.contention.add(waiting, rules.cw_max),
                Some(sensing) => sensing.add_function(self.clock, waiting),
            }
            let rules = share(&mut self.rules, rules);
            self.functions.push(Function::new(id.0, rules, back_off));
        }
        if let Some(sensing) = &mut self.sensing {
            let present = self.nodes.iter().zip(0..id.0).filter(|(node, _)| !node.has_left).map(|(_, other)| other);
            sensing.add_node(self.clock, present);
        }
        id
    }

    /// A node leaves. What its buffers hold comes out as events; frames to it will not be answered any more. What it
    /// has on the air stays there, and is not received.
    pub fn remove_node(&mut self, now: Instant, id: NodeId) {
        self.handle_timeout(now);
        self.account(self.clock);
        let node = &mut self.nodes[id.0 as usize];
        node.has_left = true;
        self.backlogged -= usize::from(node.backlogged > 0);
        node.backlogged = 0;
        for number in node.functions() {
            while let Some((queued, _)) = self.functions[number].pop() {
                self.events.extend(dropped(self.clock, id, queued.mpdu, DropReason::Left));
            }
            self.functions[number].confirm();
            match &mut self.sensing {
                None => self.contention.remove(number as u32),
                Some(sensing) => sensing.remove_function(number as u32),
            }
        }
        if let Some(sensing) = &mut self.sensing {
            let over = sensing.remove_node(id.0);
            self.stage = sensing.stage();
            if let Some(sender) = over {
                self.close_exchange(self.clock, sender);
            }
        }
        if self.stage == Stage::Silent {
            self.due = self.contention.next();
        }
        if self.chores.is_some() {
            self.forget_sleeper(id);
        }
        self.receivers.remove_node(id.0);
        if let Some(rates) = &mut self.rates {
            rates.remove_node(id.0);
        }
    }

    /// `from` gives up what its buffers hold for `to`, as an access point does for a station that has gone to another one:
    /// it comes out as events. What is in service already stays there, and is tried on.
    pub fn forsake(&mut self, now: Instant, from: NodeId, to: NodeId) {
        self.handle_timeout(now);
        for number in self.nodes[from.0 as usize].functions() {
            for queued in self.functions[number].take_waiting(to) {
                self.events.extend(dropped(self.clock, from, queued.mpdu, DropReason::Left));
            }
        }
    }

    /// `from` has a frame to send, of a category that matters where it has EDCA. It is dropped where the buffer is full
    /// or the node has left.
    ///
    /// What was due up to and including `now` happens first.
    ///
    /// # Panics
    /// If a node is named that was never added, or a rate that is not one of the standard's.
    #[inline]
    pub fn handle_frame(&mut self, now: Instant, from: NodeId, mpdu: Mpdu<F>) {
        assert!(!matches!(mpdu.to, To::Node(to) if to.0 as usize >= self.nodes.len()), "{:?} was never added", mpdu.to);
        if mpdu.rate != self.known_rate {
            assert!(self.config.phy.standard().rates().contains(&mpdu.rate), "no rate of this medium: {:?}", mpdu.rate);
            self.known_rate = mpdu.rate;
        }
        self.handle_timeout(now);
        let now = self.clock;
        if self.nodes[from.0 as usize].has_left {
            self.events.push_back(lost(now, from, mpdu, DropReason::Left));
        } else if self.chores.is_none() {
            self.accept(now, from, mpdu);
        } else if let Some(mpdu) = self.meet_sleepers(now, from, mpdu) {
            self.accept(now, from, mpdu);
        }
    }

    /// A packet comes to the MAC of a node that is there.
    #[inline(always)]
    pub(crate) fn accept(&mut self, now: Instant, from: NodeId, mpdu: Mpdu<F>) {
        let node = &self.nodes[from.0 as usize];
        let id = node.function(mpdu.category);
        let function = &mut self.functions[id as usize];
        let had_work = function.has_work();
        if !function.has_room(mpdu.msdu) {
            function.counters.buffer_drops += 1;
            self.events.push_back(lost(now, from, mpdu, DropReason::BufferFull));
            return;
        }
        function.push(now, mpdu);
        if !had_work {
            self.begin_work(now, id);
        }
    }

    /// A function that had nothing to send has got a frame.
    #[inline(always)]
    pub(crate) fn begin_work(&mut self, now: Instant, id: u32) {
        self.account(now);
        self.note_backlog(self.functions[id as usize].node, true);
        self.begin_contention(now, id);
    }

    /// Lets everything happen that is due by `now`, each thing at its own instant.
    #[inline(always)]
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.deadline() <= now {
            self.catch_up(now);
        }
        self.clock = self.clock.max(now);
    }

    /// Apart from the above, which mostly finds nothing due.
    #[inline(never)]
    fn catch_up(&mut self, now: Instant) {
        self.run::<false>(now);
    }

    /// Lets everything happen that is due by `limit`, in order, until something has become of a frame: then
    /// [`Self::poll_event`] tells what, and the instant at which it did is returned; at once while that is not asked. It
    /// is the same as a call of [`Self::handle_timeout`] at each deadline, for a driver that has nothing else to do
    /// before `limit`.
    pub fn advance(&mut self, limit: Instant) -> Instant {
        self.run::<true>(limit);
        self.clock
    }

    /// Lets everything happen that is due by `limit`, where `PAUSES` until something has become of a frame; at one
    /// instant all happens before anybody is told.
    fn run<const PAUSES: bool>(&mut self, limit: Instant) {
        loop {
            let at = self.deadline();
            if at > limit || at == Instant::MAX || PAUSES && at > self.clock && !self.events.is_empty() {
                return;
            }
            self.clock = at;
            if self.chores_due == at {
                self.do_chores(at);
                continue;
            }
            match self.stage {
                Stage::Silent => self.start(at),
                Stage::Receiving => self.receive(at),
                Stage::Ending => self.end(at),
                Stage::Sensed { .. } => self.step_sensing(at),
            }
        }
    }

    /// What became of frames, in the order in which it happened.
    pub fn poll_event(&mut self) -> Option<Event<F>> {
        self.events.pop_front()
    }

    /// When something happens next; `None` where nothing will until a frame comes.
    pub fn poll_deadline(&self) -> Option<Instant> {
        Some(self.deadline()).filter(|&at| at < Instant::MAX)
    }

    /// The same; [`Instant::MAX`] where nothing will happen.
    #[inline]
    pub fn deadline(&self) -> Instant {
        let due = match &self.sensing {
            None => self.due,
            Some(sensing) => sensing.next().unwrap_or(Instant::MAX),
        };
        due.min(self.chores_due)
    }

    /// What a node's buffers hold. A frame counts until it is received, not until its ACK is.
    #[inline]
    pub fn queue(&self, id: NodeId) -> QueueState {
        let node = &self.nodes[id.0 as usize];
        if node.edca {
            return self.functions_of(id).map(Function::queue_state).sum();
        }
        self.functions[node.functions().start].queue_state()
    }

    /// What the buffer of one category holds; without EDCA, the one that all categories share.
    pub fn queue_of(&self, id: NodeId, category: AccessCategory) -> QueueState {
        self.function_of(id, category).queue_state()
    }

    /// The packet at this place in a node's buffer, the first at 0; with EDCA, in that of best effort.
    #[inline]
    pub fn waiting(&self, id: NodeId, place: usize) -> Option<&F> {
        self.function_of(id, AccessCategory::BestEffort).waiting(place)
    }

    /// Says where in memory is what [`Self::waiting`] will be asked for: `fetch` has a piece of memory fetched.
    #[inline]
    pub fn bring_waiting(&self, id: NodeId, place: usize, fetch: impl Fn(*const ())) {
        self.function_of(id, AccessCategory::BestEffort).bring_waiting(place, fetch);
    }

    /// Says where in memory is what is known of a node that will get a frame or send one soon, with EDCA, one of best effort:
    /// `fetch` has a piece of memory fetched. It changes nothing and need not be called; among thousands of nodes it saves
    /// time, as a processor waits for many pieces as long as for one if it is told of them before it needs the first.
    #[inline]
    pub fn bring(&self, id: NodeId, fetch: impl Fn(*const ())) {
        let function = self.nodes[id.0 as usize].function(AccessCategory::BestEffort);
        self.functions[function as usize].bring(&fetch);
        self.contention.bring(function, &fetch);
    }

    /// The same for a node that sends next as things stand, where the medium knows one; which one.
    #[inline]
    pub fn bring_next(&self, fetch: impl Fn(*const ())) -> Option<NodeId> {
        let function = &self.functions[self.contention.first()? as usize];
        function.bring(&fetch);
        function.bring_waiting(0, fetch);
        Some(NodeId(function.node))
    }

    /// Whether a frame was ever received without its sender's knowledge at once, so that it was still to be attempted when
    /// it was in no buffer any more.
    pub fn has_repeated(&self) -> bool {
        self.has_repeated
    }

    /// What happened at a node.
    pub fn counters(&self, id: NodeId) -> Counters {
        let node = &self.nodes[id.0 as usize];
        if node.edca {
            return self.functions_of(id).map(|function| function.counters).sum();
        }
        self.functions[node.functions().start].counters
    }

    /// Attempts of a node by the rate of their DATA since the last call, where senders choose their rates; in no order.
    pub fn take_rates_used(&mut self, id: NodeId) -> Vec<(PhyRate, u64)> {
        let functions = self.nodes[id.0 as usize].functions();
        functions.flat_map(|function| core::mem::take(&mut self.functions[function].rates_used)).collect()
    }

    /// What happened at all nodes, those that have left included.
    pub fn all_counters(&self) -> Counters {
        self.functions.iter().map(|function| function.counters).sum()
    }

    /// What happened at the access function of one category; without EDCA, at the one that all categories share.
    pub fn counters_of(&self, id: NodeId, category: AccessCategory) -> &Counters {
        &self.function_of(id, category).counters
    }

    /// Whether a node has an access function for each category.
    pub fn has_edca(&self, id: NodeId) -> bool {
        self.nodes[id.0 as usize].edca
    }

    /// Nodes that have a frame to send, or one on the air that has not been received.
    pub fn backlogged(&self) -> usize {
        self.backlogged
    }

    /// The rate that `from` now holds for the best toward `to`, where it chooses rates itself and has sent to it.
    pub fn rate_toward(&self, from: NodeId, to: NodeId) -> Option<PhyRate> {
        self.rates.as_ref()?.current(from.0, to.0)
    }

    /// What the medium was used for up to `now`, which is not later than [`Self::poll_deadline`].
    pub fn totals(&self, now: Instant) -> Totals {
        let mut totals = Totals { besides: self.besides(), ..self.totals };
        totals.measured.neighbours = self.neighbours();
        *use_of(&mut totals, self.stage, self.backlogged) += now.saturating_since(self.accounted);
        totals
    }

    /// From now on a DATA frame from `from` to `to` is lost with probability `per_billion / 10^9`, each by itself, beside
    /// what else is lost. Zero until this is called. Broadcasts are not concerned.
    pub fn set_frame_error(&mut self, from: NodeId, to: NodeId, per_billion: u32) {
        self.receivers.set_loss(from.0, to.0, per_billion);
    }

    /// From now on frames from `from` reach `to` with this much above noise, wherever the two are.
    pub fn set_snr(&mut self, from: NodeId, to: NodeId, snr: Db) {
        self.receivers.set_signal(from.0, to.0, power::noise_floor(self.config.phy.standard()) + snr);
    }

    /// The signal with which frames from `from` reach `to`, where it is known.
    pub fn signal(&mut self, from: NodeId, to: NodeId) -> Option<Dbm> {
        self.receivers.signal(from.0, to.0)
    }

    /// From now on the chain is counted.
    pub fn count_backlog(&mut self) {
        self.backlog.get_or_insert_default();
    }

    /// The chain since it is counted, or since it was last taken. `None` where it is not counted.
    pub fn backlog_chain(&self) -> Option<&BacklogChain> {
        self.backlog.as_deref()
    }

    /// The same, and from now on it is counted anew, from the present state.
    pub fn take_backlog_chain(&mut self) -> Option<BacklogChain> {
        self.backlog.as_deref_mut().map(BacklogChain::take)
    }

    /// A frame has come to the head of the function's empty queue.
    fn begin_contention(&mut self, now: Instant, id: u32) {
        let answers = self.config.idle_before_ack && self.is_to_answer(now, id);
        let function = &mut self.functions[id as usize];
        match self.stage {
            // It draws its back-off when its transmission ends.
            _ if function.on_air => {}
            Stage::Silent => {
                self.contention.enter_at(id, now);
                self.due = self.contention.next();
            }
            Stage::Receiving | Stage::Ending => {
                if self.contention.has_run_out(id) {
                    let slots = if answers { 0 } else { self.draw_back_off(id) };
                    self.contention.set(id, slots);
                }
                self.contention.enter(id);
            }
            Stage::Sensed { .. } => {
                let sensing = self.sensing.as_mut().expect("the stage says so");
                sensing.enter(now, id, function);
            }
        }
    }

    /// A new back-off of a function, from its own window or from that which Idle Sense has come to.
    #[inline(always)]
    pub(crate) fn draw_back_off(&mut self, id: u32) -> u64 {
        let function = &mut self.functions[id as usize];
        if let Some(sense) = &self.idle_sense
            && function.has_idle_sense()
        {
            function.set_window(sense.window());
        }
        function.draw_back_off()
    }

    /// Something is due where nodes sense for themselves.
    fn step_sensing(&mut self, at: Instant) {
        self.account(at);
        let mut sensing = self.sensing.take().expect("the stage says so");
        sensing.step(self, at);
        self.stage = sensing.stage();
        self.sensing = Some(sensing);
    }

    /// A function of the node has got a frame, or has lost its last one.
    pub(crate) fn note_backlog(&mut self, node: u32, has_frame: bool) {
        let functions = &mut self.nodes[node as usize].backlogged;
        if has_frame {
            self.backlogged += usize::from(*functions == 0);
            *functions += 1;
        } else {
            *functions -= 1;
            self.backlogged -= usize::from(*functions == 0);
        }
    }

    fn functions_of(&self, id: NodeId) -> impl Iterator<Item = &Function<F>> {
        self.functions[self.nodes[id.0 as usize].functions()].iter()
    }

    fn function_of(&self, id: NodeId, category: AccessCategory) -> &Function<F> {
        &self.functions[self.nodes[id.0 as usize].function(category) as usize]
    }

    /// Adds the time since the last account to what the medium was used for meanwhile.
    #[inline]
    pub(crate) fn account(&mut self, now: Instant) {
        let passed = now.saturating_since(self.accounted);
        self.accounted = now;
        *use_of(&mut self.totals, self.stage, self.backlogged) += passed;
    }
}

/// Rules that some function may have already.
fn share(all: &mut Vec<Arc<Rules>>, rules: Rules) -> Arc<Rules> {
    let known = all.iter().find(|known| ***known == rules).map(Arc::clone);
    known.unwrap_or_else(|| {
        let new = Arc::new(rules);
        all.push(Arc::clone(&new));
        new
    })
}

/// What the medium is used for in a stage, with so many nodes that have a frame.
fn use_of(totals: &mut Totals, stage: Stage, backlogged: usize) -> &mut Span {
    match stage {
        Stage::Receiving | Stage::Ending | Stage::Sensed { busy: true } => &mut totals.busy,
        Stage::Silent | Stage::Sensed { .. } if backlogged == 0 => &mut totals.idle,
        Stage::Silent | Stage::Sensed { .. } => &mut totals.contending,
    }
}
