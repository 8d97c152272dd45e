//! The medium as its drivers see it: nodes that join and leave, frames that come, time that passes.
//!
//! What nodes have in common is in `mac`, medium access in `engine`, what nodes send by themselves in `management`.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use evenair_units::{Db, Dbm, Instant, Limit, Rng, Span, Streams};
use evenair_wifi::{AccessCategory, PhyRate, power};

use crate::backlog::BacklogChain;
use crate::config::{BackOff, MediumConfig, NodeConfig};
use crate::counters::{Counters, QueueState, Totals};
use crate::engine::Engine;
use crate::frame::{DropReason, Event, Mpdu, NodeId, NodePair, To, dropped, lost};
use crate::mac::Mac;
use crate::management::{Beacons, Management, Obss, PowerSave, Sleeper};
use crate::node::{self, NodeStreams};
use crate::ppdus::PpduCounters;
use crate::watch::{BurstOnAir, OnAir, Watch};

/// One medium and its nodes: access points and stations alike.
///
/// In: [`Self::handle_frame`], [`Self::handle_timeout`], and [`Self::advance`], which is many of the latter. Out:
/// [`Self::poll_event`] until `None`, then [`Self::poll_deadline`]. Time must not go back; a `now` before the latest one
/// counts as the latest one.
#[derive(Debug)]
pub struct Medium<F> {
    mac: Mac<F>,
    engine: Engine,
    /// What nodes send by themselves, where they send anything.
    management: Option<Box<Management<F>>>,
    streams: Streams,
    /// Of each node.
    node_streams: Vec<NodeStreams>,
    /// How many nodes of a name have joined.
    names: BTreeMap<String, u64>,
    clock: Instant,
    /// The rate of the last frame that came, which is one of the standard's.
    known_rate: PhyRate,
}

impl<F> Medium<F> {
    /// A silent medium without nodes.
    pub fn new(config: MediumConfig, streams: &Streams) -> Self {
        let engine = Engine::shared(&config);
        Self::with_engine(config, streams, engine)
    }

    /// The same for nodes that do not all hear each other: [`Self::hide`] says who does not. Where all do, it is slower
    /// than [`Self::new`] and otherwise no different.
    pub fn with_hidden_nodes(config: MediumConfig, streams: &Streams) -> Self {
        let engine = Engine::per_node(&config);
        Self::with_engine(config, streams, engine)
    }

    fn with_engine(config: MediumConfig, streams: &Streams, engine: Engine) -> Self {
        let known_rate = config.phy.lowest_basic();
        Self {
            mac: Mac::new(config),
            engine,
            management: None,
            streams: *streams,
            node_streams: Vec::new(),
            names: BTreeMap::new(),
            clock: Instant::ZERO,
            known_rate,
        }
    }

    /// Its rules.
    pub fn config(&self) -> &MediumConfig {
        &self.mac.config
    }

    /// From now on two nodes do not hear each other: neither senses the other's frames, nor can decode them, nor are
    /// they in the way of what it receives.
    ///
    /// # Panics
    /// If the medium was not made by [`Self::with_hidden_nodes`], or a node was never added.
    pub fn hide(&mut self, a: NodeId, b: NodeId) {
        self.engine.hide(self.clock, a.0, b.0);
    }

    /// A node joins, with empty buffers. What it draws depends on how many nodes there are before it.
    ///
    /// # Panics
    /// If it has Idle Sense and the medium was made by [`Self::with_hidden_nodes`].
    pub fn add_node(&mut self, config: NodeConfig) -> NodeId {
        let streams = NodeStreams { streams: self.streams, number: self.node_streams.len() as u64 };
        self.join(config, streams)
    }

    /// The same for a node with a name: what it draws depends on that alone, and on how often a node of this name has joined
    /// before, whatever others there are.
    ///
    /// # Panics
    /// As [`Self::add_node`].
    pub fn add_named_node(&mut self, name: &str, config: NodeConfig) -> NodeId {
        let joined = self.names.entry(name.to_owned()).or_insert(0);
        let streams = NodeStreams { streams: self.streams.of(name), number: *joined };
        *joined += 1;
        self.join(config, streams)
    }

    /// A stream of random numbers of a node for a purpose outside of the medium, such as the queue above its MAC.
    ///
    /// # Panics
    /// If the node was never added.
    pub fn stream_of(&self, node: NodeId, purpose: &str) -> Rng {
        self.node_streams[node.0 as usize].stream(purpose)
    }

    fn join(&mut self, config: NodeConfig, streams: NodeStreams) -> NodeId {
        self.node_streams.push(streams);
        let mac = &mut self.mac;
        let id = mac.nodes.add_node(&config);
        if config.back_off == BackOff::IdleSense && config.edca.is_none() {
            self.engine.use_idle_sense(mac.config.idle_sense);
        }
        mac.receivers.add_node(config.antenna, streams.stream("medium frame errors"));
        if let Some(rates) = &mut mac.rates {
            rates.add_node(streams.stream("medium rate control"));
        }
        for (rules, waiting, back_off) in node::edcafs(&config, &mac.config.phy, streams) {
            self.engine.add_edcaf(self.clock, waiting, rules.cw_max);
            mac.nodes.add_edcaf(id.0, rules, back_off, mac.config.aggregation.is_some() && config.edca.is_some());
        }
        self.engine.add_node(mac, self.clock, id.0);
        id
    }

    /// A node leaves. What its buffers hold comes out as events; frames to it will not be answered any more. What it
    /// has on the air stays there, and is not received.
    pub fn remove_node(&mut self, now: Instant, id: NodeId) {
        self.handle_timeout(now);
        let mac = &mut self.mac;
        mac.account(self.clock, self.engine.is_busy());
        mac.remove_node(self.clock, id);
        self.engine.remove_node(mac, self.clock, id.0);
        if let Some(management) = &mut self.management {
            management.forget(self.clock, id, &mut mac.events);
        }
    }

    /// `from` gives up what its buffers hold for `to`, as an access point does for a station that has gone to another one:
    /// it comes out as events. What is in service already stays there, and is tried on.
    pub fn flush(&mut self, now: Instant, from: NodeId, to: NodeId) {
        self.handle_timeout(now);
        for queued in self.mac.nodes.take_waiting(from, to) {
            self.mac.events.extend(dropped(self.clock, from, queued.mpdu, DropReason::Left));
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
        assert!(
            !matches!(mpdu.to, To::Node(to) if to.0 as usize >= self.mac.nodes.count()),
            "{:?} was never added",
            mpdu.to
        );
        if mpdu.rate != self.known_rate {
            assert!(self.mac.config.phy.takes(mpdu.rate), "no rate of this medium: {:?}", mpdu.rate);
            self.known_rate = mpdu.rate;
        }
        self.handle_timeout(now);
        let now = self.clock;
        if self.mac.nodes.has_left(from.0) {
            return self.mac.events.push_back(lost(now, from, mpdu, DropReason::Left));
        }
        let mpdu = match &mut self.management {
            None => mpdu,
            Some(management) => match management.keep(&mut self.mac, now, from, mpdu) {
                Some(mpdu) => mpdu,
                None => return,
            },
        };
        if let Some(id) = self.mac.nodes.accept(now, from, mpdu, &mut self.mac.events) {
            self.begin_work(now, id);
        }
    }

    /// An EDCAF that had nothing to send has got a frame.
    #[inline(always)]
    fn begin_work(&mut self, now: Instant, id: u32) {
        let mac = &mut self.mac;
        mac.account(now, self.engine.is_busy());
        mac.nodes.note_backlog(mac.nodes.edcafs[id as usize].node, true);
        self.engine.begin_contention(mac, now, id);
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
    /// instant all happens before it returns.
    fn run<const PAUSES: bool>(&mut self, limit: Instant) {
        loop {
            let at = self.deadline();
            if at > limit || at == Instant::MAX || PAUSES && at > self.clock && !self.mac.events.is_empty() {
                return;
            }
            self.clock = at;
            if self.mac.feedback.due == at {
                self.run_management(at);
            } else if self.mac.reorder.due == at {
                self.mac.expire_reorder(at);
            } else {
                self.engine.step(&mut self.mac, at);
            }
        }
    }

    /// Management traffic has something to do.
    #[inline(never)]
    fn run_management(&mut self, at: Instant) {
        let Some(mut management) = self.management.take() else { return };
        for &id in management.run(&mut self.mac, at) {
            self.begin_work(at, id);
        }
        self.management = Some(management);
    }

    /// What became of frames, in the order in which it happened.
    pub fn poll_event(&mut self) -> Option<Event<F>> {
        self.mac.events.pop_front()
    }

    /// When something happens next; `None` where nothing will until a frame comes.
    pub fn poll_deadline(&self) -> Option<Instant> {
        Some(self.deadline()).filter(|&at| at < Instant::MAX)
    }

    /// The same; [`Instant::MAX`] where nothing will happen.
    #[inline]
    pub fn deadline(&self) -> Instant {
        self.engine.due().min(self.mac.feedback.due).min(self.mac.reorder.due)
    }

    /// What a node's buffers hold. A frame counts until it is received, not until its ACK is.
    #[inline]
    pub fn queue(&self, id: NodeId) -> QueueState {
        self.mac.nodes.queue(id)
    }

    /// What the buffer of one category holds; without EDCA, the one that all categories share.
    pub fn queue_of(&self, id: NodeId, category: AccessCategory) -> QueueState {
        self.mac.nodes.edcaf_of(id, category).queue_state()
    }

    /// What counts against the limit of the buffer of one category when a packet comes: as [`Self::queue_of`], and with aggregates
    /// what was received, too, until the sender knows.
    #[inline]
    pub fn held_of(&self, id: NodeId, category: AccessCategory) -> QueueState {
        self.mac.nodes.edcaf_of(id, category).held()
    }

    /// The packet at this place in a node's buffer, the first at 0; with EDCA, in that of best effort.
    #[inline]
    pub fn waiting(&self, id: NodeId, place: usize) -> Option<&F> {
        self.mac.nodes.edcaf_of(id, AccessCategory::BestEffort).waiting(place)
    }

    /// Says where in memory is what [`Self::waiting`] will be asked for: `prefetch` has a piece of memory fetched.
    #[inline]
    pub fn prefetch_waiting(&self, id: NodeId, place: usize, prefetch: impl Fn(*const ())) {
        self.mac.nodes.edcaf_of(id, AccessCategory::BestEffort).prefetch_waiting(place, prefetch);
    }

    /// Says where in memory is what is known of a node that will get a frame or send one soon, with EDCA, one of best effort:
    /// `prefetch` has a piece of memory fetched. It changes nothing and need not be called; among thousands of nodes it saves
    /// time, as a processor waits for many pieces as long as for one if they are prefetched before it needs the first.
    #[inline]
    pub fn prefetch(&self, id: NodeId, prefetch: impl Fn(*const ())) {
        let edcaf = self.mac.nodes.edcaf_id(id.0, AccessCategory::BestEffort);
        self.mac.nodes.edcafs[edcaf as usize].prefetch(&prefetch);
        self.engine.prefetch(edcaf, &prefetch);
    }

    /// The same for a node that sends next as things stand, where the medium knows one; which one.
    #[inline]
    pub fn prefetch_next(&self, prefetch: impl Fn(*const ())) -> Option<NodeId> {
        let edcaf = &self.mac.nodes.edcafs[self.engine.first()? as usize];
        edcaf.prefetch(&prefetch);
        edcaf.prefetch_waiting(0, prefetch);
        Some(NodeId(edcaf.node))
    }

    /// Whether a frame was ever received without its sender's knowledge at once, so that it was still to be attempted when
    /// it was in no buffer any more.
    pub fn has_repeated(&self) -> bool {
        self.mac.has_repeated
    }

    /// What happened at a node.
    pub fn counters(&self, id: NodeId) -> Counters {
        self.mac.nodes.counters(id)
    }

    /// Attempts of a node by the rate of their DATA since the last call, where senders choose their rates; in no order.
    pub fn take_rates_used(&mut self, id: NodeId) -> Vec<(PhyRate, u64)> {
        let edcafs = self.mac.nodes.edcaf_ids(id.0);
        edcafs.flat_map(|edcaf| core::mem::take(&mut self.mac.nodes.edcafs[edcaf].rates_used)).collect()
    }

    /// Whether its nodes may aggregate.
    pub fn aggregates(&self) -> bool {
        self.mac.config.aggregation.is_some()
    }

    /// What was counted of PPDUs from one node to another since the last call, where the medium aggregates.
    pub fn take_ppdus(&mut self, from: NodeId, to: NodeId) -> PpduCounters {
        let mut sum = PpduCounters::default();
        for edcaf in self.mac.nodes.edcaf_ids(from.0) {
            let queues = self.mac.nodes.edcafs[edcaf].tx_queues_mut();
            if let Some(queue) = queues.and_then(|queues| queues.of_receiver(To::Node(to))) {
                sum.add(&core::mem::take(&mut queue.counters));
            }
        }
        sum
    }

    /// What happened at all nodes, those that have left included.
    pub fn all_counters(&self) -> Counters {
        self.mac.nodes.edcafs.iter().map(|edcaf| edcaf.counters).sum()
    }

    /// What happened at the access function of one category; without EDCA, at the one that all categories share.
    pub fn counters_of(&self, id: NodeId, category: AccessCategory) -> &Counters {
        &self.mac.nodes.edcaf_of(id, category).counters
    }

    /// Whether a node has an access function for each category.
    pub fn has_edca(&self, id: NodeId) -> bool {
        self.mac.nodes.is_qos(id.0)
    }

    /// Nodes that have a frame to send, or one on the air that has not been received.
    pub fn backlogged(&self) -> usize {
        self.mac.nodes.backlogged
    }

    /// The rate that `from` now holds for the best toward `to`, where it chooses rates itself and has sent to it.
    pub fn rate_toward(&self, from: NodeId, to: NodeId) -> Option<PhyRate> {
        self.mac.rates.as_ref()?.current(NodePair { from: from.0, to: to.0 })
    }

    /// What the medium was used for up to `now`, which is not later than [`Self::poll_deadline`].
    pub fn totals(&self, now: Instant) -> Totals {
        let mut totals = self.mac.accounts.totals(now, self.engine.is_busy(), self.mac.nodes.backlogged);
        if let Some(management) = &self.management {
            totals.overhead = management.overhead(&self.mac.nodes);
            totals.measured.neighbours = management.neighbours(&self.mac.nodes);
        }
        totals
    }

    /// Splits the time up to `now`, which is not later than [`Self::poll_deadline`], among the exchanges that are under
    /// way, so that [`Self::counters`] and [`Self::totals`] have all measured airtime up to then. It changes nothing else.
    pub fn split_airtime(&mut self, now: Instant) {
        let until = now.min(self.deadline());
        self.engine.split_airtime(&mut self.mac, until);
    }

    /// From now on a DATA frame from `from` to `to` is lost with probability `per_billion / 10^9`, each by itself, beside
    /// what else is lost. Zero until this is called. Broadcasts are not concerned.
    pub fn set_frame_error(&mut self, from: NodeId, to: NodeId, per_billion: u32) {
        self.mac.receivers.set_loss(from.0, to.0, per_billion);
    }

    /// From now on frames from `from` reach `to` with this much above the noise of the channel, wherever the two are. In a part of
    /// the channel there is less noise.
    pub fn set_snr(&mut self, from: NodeId, to: NodeId, snr: Db) {
        let noise = self.noise_floor();
        self.mac.receivers.set_signal(from.0, to.0, noise + snr);
    }

    /// Noise in the channel, as a usual receiver has it.
    pub fn noise_floor(&self) -> Dbm {
        power::noise_floor(self.mac.config.phy.standard(), self.mac.config.reception.width)
    }

    /// The signal with which frames from `from` reach `to`, where it is known.
    pub fn signal(&mut self, from: NodeId, to: NodeId) -> Option<Dbm> {
        self.mac.receivers.signal(from.0, to.0)
    }

    /// From now on the chain is counted.
    pub fn count_backlog(&mut self) {
        self.mac.backlog.get_or_insert_default();
    }

    /// The chain since it is counted, or since it was last taken. `None` where it is not counted.
    pub fn backlog_chain(&self) -> Option<&BacklogChain> {
        self.mac.backlog.as_deref()
    }

    /// The same, and from now on it is counted anew, from the present state.
    pub fn take_backlog_chain(&mut self) -> Option<BacklogChain> {
        self.mac.backlog.as_deref_mut().map(BacklogChain::take)
    }

    /// From now on tells what goes on the air; see [`Self::poll_on_air`].
    pub fn watch(&mut self) {
        self.mac.watch.get_or_insert_default();
    }

    /// What has happened, or is certain to happen, on the air; `None` where there is nothing more, or nobody watches.
    pub fn poll_on_air(&mut self) -> Option<OnAir> {
        self.mac.watch.as_deref_mut().and_then(Watch::poll)
    }

    /// What the frame carries that a node's category has in service. `None` where there is none, or where the receiver has
    /// it and only its sender does not know.
    pub fn in_service(&self, id: NodeId, category: AccessCategory) -> Option<&F> {
        self.mac.nodes.edcaf_of(id, category).in_service()
    }

    /// What the present access of a node's category sends, or sends after its RTS. `None` where the node does not aggregate.
    pub fn burst_on_air(&self, id: NodeId, category: AccessCategory) -> Option<BurstOnAir<'_, F>> {
        let rules = self.mac.config.aggregation?;
        let queues = self.mac.nodes.edcaf_of(id, category).tx_queues()?;
        Some(queues.on_air(|rate| rules.window_at(rate)))
    }

    /// For each MPDU of that access, in their order, whether noise spoils it; empty: for none. It is known when the PPDU's end
    /// is reported.
    pub fn lost_of_burst(&self, id: NodeId, category: AccessCategory) -> &[bool] {
        self.mac.nodes.edcaf_of(id, category).tx_queues().map_or(&[], |queues| &queues.burst.lost)
    }

    /// Whether what a node's category has in service is no packet of the driver's: a beacon, a null frame, a frame of another
    /// network.
    pub fn is_own(&self, id: NodeId, category: AccessCategory) -> bool {
        self.mac.nodes.edcaf_of(id, category).serves_own()
    }

    /// From now on a node sends beacons; the first one at a random point of its interval.
    ///
    /// # Panics
    /// If the interval is zero, or the DTIM period.
    pub fn send_beacons(&mut self, id: NodeId, beacons: Beacons) {
        assert!(beacons.interval > Span::ZERO && beacons.dtim_period > 0, "{beacons:?}");
        let (now, start) = (self.clock, self.stream_of(id, "medium beacons"));
        self.manage(|management| management.send_beacons(now, id, beacons, start));
    }

    /// From now on a station saves power, which is awake. Its access point sends beacons; its null frames go at this rate
    /// until a packet brings another.
    ///
    /// # Panics
    /// If the access point sends no beacons, or the listen interval is zero.
    pub fn save_power(&mut self, station: NodeId, access_point: NodeId, rate: PhyRate, how: PowerSave) {
        assert!(how.listen_interval > 0, "{how:?}");
        let sleeper = Sleeper::new(self.clock, access_point, rate, how);
        self.manage(|management| management.save_power(station, sleeper));
    }

    /// What an access point keeps for stations that sleep, and for groups, beside its queues.
    pub fn kept(&self, access_point: NodeId) -> QueueState {
        self.management.as_ref().map_or(QueueState::default(), |management| management.kept(access_point))
    }

    /// A network of others, as two nodes that come after those that are there: who sends, and who answers. What they send
    /// does not come out as events.
    ///
    /// # Panics
    /// If the mean gap is zero.
    pub fn add_obss(&mut self, what: Obss) -> [NodeId; 2] {
        assert!(what.gap > Span::ZERO, "{what:?}");
        let nodes = ["sender of others", "receiver of others"]
            .map(|name| self.add_named_node(name, NodeConfig::dcf(Limit::Unlimited)));
        let gaps = self.stream_of(nodes[0], "medium foreign");
        self.manage(|management| management.add_obss(nodes, what, gaps));
        nodes
    }

    /// Changes what management traffic there is.
    fn manage(&mut self, change: impl FnOnce(&mut Management<F>)) {
        let management = self.management.get_or_insert_with(|| Box::new(Management::new()));
        change(management);
        self.mac.feedback.is_wanted = true;
        self.mac.feedback.due = management.next();
    }
}
