//! The public interface of the medium: nodes join and leave, frames arrive, time passes.
//!
//! State shared by all nodes is in `mac`, medium access in `engine`, management traffic in `management`.

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
/// In: [`Self::handle_frame`], [`Self::handle_timeout`], and [`Self::advance`], which covers many of the latter. Out:
/// [`Self::poll_event`] until `None`, then [`Self::poll_deadline`]. Time must not go back; a `now` before the latest one
/// counts as the latest one.
#[derive(Debug)]
pub struct Medium<F> {
    mac: Mac<F>,
    engine: Engine,
    /// Management traffic, if there is any.
    management: Option<Box<Management<F>>>,
    streams: Streams,
    /// Random streams of each node.
    node_streams: Vec<NodeStreams>,
    /// Number of nodes that joined with each name.
    names: BTreeMap<String, u64>,
    clock: Instant,
    /// Rate of the last frame, known to be one of the standard's.
    known_rate: PhyRate,
}

impl<F> Medium<F> {
    /// A silent medium without nodes.
    pub fn new(config: MediumConfig, streams: &Streams) -> Self {
        let engine = Engine::shared(&config);
        Self::with_engine(config, streams, engine)
    }

    /// A medium on which nodes may be hidden from each other by [`Self::hide`]. While all nodes hear each other it behaves
    /// like [`Self::new`], but is slower.
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

    /// Its configuration.
    pub fn config(&self) -> &MediumConfig {
        &self.mac.config
    }

    /// Makes two nodes hidden from each other: neither senses, decodes, or is disturbed by the other's frames.
    ///
    /// # Panics
    /// If the medium was not made by [`Self::with_hidden_nodes`], or a node was never added.
    pub fn hide(&mut self, a: NodeId, b: NodeId) {
        self.engine.hide(self.clock, a.0, b.0);
    }

    /// A node joins, with empty buffers. Its random streams depend on how many nodes joined before it.
    ///
    /// # Panics
    /// If it has Idle Sense and the medium was made by [`Self::with_hidden_nodes`].
    pub fn add_node(&mut self, config: NodeConfig) -> NodeId {
        let streams = NodeStreams { streams: self.streams, number: self.node_streams.len() as u64 };
        self.join(config, streams)
    }

    /// A node with a name joins: its random streams depend on the name and on how many nodes of that name joined before, and
    /// on no other node.
    ///
    /// # Panics
    /// As [`Self::add_node`].
    pub fn add_named_node(&mut self, name: &str, config: NodeConfig) -> NodeId {
        let joined = self.names.entry(name.to_owned()).or_insert(0);
        let streams = NodeStreams { streams: self.streams.of(name), number: *joined };
        *joined += 1;
        self.join(config, streams)
    }

    /// A random stream of a node for a purpose outside of the medium, such as the queue above its MAC.
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

    /// A node leaves. The frames in its buffers come out as events; frames to it are no longer acknowledged. Its frame on the
    /// air stays there, and is not received.
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

    /// `from` drops the frames in its buffers for `to`, as an access point does for a station that has roamed: they come out
    /// as events. The frame in service stays, with its remaining attempts.
    pub fn flush(&mut self, now: Instant, from: NodeId, to: NodeId) {
        self.handle_timeout(now);
        for queued in self.mac.nodes.take_waiting(from, to) {
            self.mac.events.extend(dropped(self.clock, from, queued.mpdu, DropReason::Left));
        }
    }

    /// `from` has a frame to send; its category matters only with EDCA. The frame is dropped if the buffer is full or the
    /// node has left.
    ///
    /// Events due up to and including `now` happen first.
    ///
    /// # Panics
    /// If a node was never added, or the rate is not one of the standard's.
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

    /// An EDCAF without work has got a frame.
    #[inline(always)]
    fn begin_work(&mut self, now: Instant, id: u32) {
        let mac = &mut self.mac;
        mac.account(now, self.engine.is_busy());
        mac.nodes.note_backlog(mac.nodes.edcafs[id as usize].node, true);
        self.engine.begin_contention(mac, now, id);
    }

    /// Handles all events due by `now`, each at its own instant.
    #[inline(always)]
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.deadline() <= now {
            self.catch_up(now);
        }
        self.clock = self.clock.max(now);
    }

    /// Slow path of [`Self::handle_timeout`], which mostly finds nothing due.
    #[inline(never)]
    fn catch_up(&mut self, now: Instant) {
        self.run::<false>(now);
    }

    /// Handles the events due by `limit`, in order, and stops after the first instant with an outcome of a frame.
    /// [`Self::poll_event`] returns that outcome, and this method the instant; until all outcomes are polled it makes no
    /// progress. It equals a call of [`Self::handle_timeout`] at each deadline, for a driver that has nothing else to do
    /// before `limit`.
    pub fn advance(&mut self, limit: Instant) -> Instant {
        self.run::<true>(limit);
        self.clock
    }

    /// Handles the events due by `limit`; if `PAUSES`, up to the first instant with an outcome of a frame, inclusive.
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

    /// Runs management traffic.
    #[inline(never)]
    fn run_management(&mut self, at: Instant) {
        let Some(mut management) = self.management.take() else { return };
        for &id in management.run(&mut self.mac, at) {
            self.begin_work(at, id);
        }
        self.management = Some(management);
    }

    /// The next outcome of a frame, in order of time.
    pub fn poll_event(&mut self) -> Option<Event<F>> {
        self.mac.events.pop_front()
    }

    /// Time of the next event; `None` if there is none until a frame arrives.
    pub fn poll_deadline(&self) -> Option<Instant> {
        Some(self.deadline()).filter(|&at| at < Instant::MAX)
    }

    /// [`Self::poll_deadline`]; [`Instant::MAX`] if there is none.
    #[inline]
    pub fn deadline(&self) -> Instant {
        self.engine.due().min(self.mac.feedback.due).min(self.mac.reorder.due)
    }

    /// Occupancy of a node's buffers. A frame counts until it is received, not until it is acknowledged.
    #[inline]
    pub fn queue(&self, id: NodeId) -> QueueState {
        self.mac.nodes.queue(id)
    }

    /// Occupancy of the buffer of one category; without EDCA, of the one that all categories share.
    pub fn queue_of(&self, id: NodeId, category: AccessCategory) -> QueueState {
        self.mac.nodes.edcaf_of(id, category).queue_state()
    }

    /// Occupancy that counts against the limit of one category's buffer: [`Self::queue_of`], plus, with aggregation, MPDUs
    /// that were received and not yet acknowledged.
    #[inline]
    pub fn held_of(&self, id: NodeId, category: AccessCategory) -> QueueState {
        self.mac.nodes.edcaf_of(id, category).held()
    }

    /// The packet at this place in a node's buffer, from 0; with EDCA, in that of best effort.
    #[inline]
    pub fn waiting(&self, id: NodeId, place: usize) -> Option<&F> {
        self.mac.nodes.edcaf_of(id, AccessCategory::BestEffort).waiting(place)
    }

    /// Prefetches what [`Self::waiting`] will read; `fetch` prefetches one address.
    #[inline]
    pub fn prefetch_waiting(&self, id: NodeId, place: usize, prefetch: impl Fn(*const ())) {
        self.mac.nodes.edcaf_of(id, AccessCategory::BestEffort).prefetch_waiting(place, prefetch);
    }

    /// Prefetches the state of a node that will soon get or send a frame, with EDCA one of best effort; `fetch` prefetches
    /// one address. Optional and without effect on the run: among thousands of nodes it saves time, since cache misses that
    /// are requested early overlap.
    #[inline]
    pub fn prefetch(&self, id: NodeId, prefetch: impl Fn(*const ())) {
        let edcaf = self.mac.nodes.edcaf_id(id.0, AccessCategory::BestEffort);
        self.mac.nodes.edcafs[edcaf as usize].prefetch(&prefetch);
        self.engine.prefetch(edcaf, &prefetch);
    }

    /// Prefetches the state of a node that sends next in the present state, and returns the node, if known.
    #[inline]
    pub fn prefetch_next(&self, prefetch: impl Fn(*const ())) -> Option<NodeId> {
        let edcaf = &self.mac.nodes.edcafs[self.engine.first()? as usize];
        edcaf.prefetch(&prefetch);
        edcaf.prefetch_waiting(0, prefetch);
        Some(NodeId(edcaf.node))
    }

    /// Whether a frame was ever received without the sender's knowledge, so that it was repeated while it counted in no
    /// buffer.
    pub fn has_repeated(&self) -> bool {
        self.mac.has_repeated
    }

    /// Counters of a node.
    pub fn counters(&self, id: NodeId) -> Counters {
        self.mac.nodes.counters(id)
    }

    /// Attempts of a node by the rate of DATA since the last call, if senders choose rates; in no order.
    pub fn take_rates_used(&mut self, id: NodeId) -> Vec<(PhyRate, u64)> {
        let edcafs = self.mac.nodes.edcaf_ids(id.0);
        edcafs.flat_map(|edcaf| core::mem::take(&mut self.mac.nodes.edcafs[edcaf].rates_used)).collect()
    }

    /// Whether the medium's nodes may aggregate.
    pub fn aggregates(&self) -> bool {
        self.mac.config.aggregation.is_some()
    }

    /// Counters of PPDUs from one node to another since the last call, if the medium aggregates.
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

    /// Counters of all nodes, those that have left included.
    pub fn all_counters(&self) -> Counters {
        self.mac.nodes.edcafs.iter().map(|edcaf| edcaf.counters).sum()
    }

    /// Counters of the EDCAF of one category; without EDCA, of the one that all categories share.
    pub fn counters_of(&self, id: NodeId, category: AccessCategory) -> &Counters {
        &self.mac.nodes.edcaf_of(id, category).counters
    }

    /// Whether a node has EDCA.
    pub fn has_edca(&self, id: NodeId) -> bool {
        self.mac.nodes.is_qos(id.0)
    }

    /// Number of nodes with a frame to send, or with an unreceived one on the air.
    pub fn backlogged(&self) -> usize {
        self.mac.nodes.backlogged
    }

    /// The rate that the rate control of `from` considers best toward `to`, if it has sent to it.
    pub fn rate_toward(&self, from: NodeId, to: NodeId) -> Option<PhyRate> {
        self.mac.rates.as_ref()?.current(NodePair { from: from.0, to: to.0 })
    }

    /// Use of the medium up to `now`, which is not later than [`Self::poll_deadline`].
    pub fn totals(&self, now: Instant) -> Totals {
        let mut totals = self.mac.accounts.totals(now, self.engine.is_busy(), self.mac.nodes.backlogged);
        if let Some(management) = &self.management {
            totals.overhead = management.overhead(&self.mac.nodes);
            totals.measured.neighbours = management.neighbours(&self.mac.nodes);
        }
        totals
    }

    /// Splits the time up to `now`, which is not later than [`Self::poll_deadline`], among the exchanges in progress, so that
    /// [`Self::counters`] and [`Self::totals`] have all measured airtime up to then. Without other effects.
    pub fn split_airtime(&mut self, now: Instant) {
        let until = now.min(self.deadline());
        self.engine.split_airtime(&mut self.mac, until);
    }

    /// Sets the probability, per 10^9, that a DATA frame from `from` to `to` is lost, independently of others and in addition
    /// to other losses. Initially zero. Broadcasts are not affected.
    pub fn set_frame_error(&mut self, from: NodeId, to: NodeId, per_billion: u32) {
        self.mac.receivers.set_loss(from.0, to.0, per_billion);
    }

    /// Sets the signal-to-noise ratio, in the whole channel, of frames from `from` at `to`, whatever their positions. A frame
    /// in a part of the channel has less noise.
    pub fn set_snr(&mut self, from: NodeId, to: NodeId, snr: Db) {
        let noise = self.noise_floor();
        self.mac.receivers.set_signal(from.0, to.0, noise + snr);
    }

    /// Noise floor of the channel at a typical receiver.
    pub fn noise_floor(&self) -> Dbm {
        power::noise_floor(self.mac.config.phy.standard(), self.mac.config.reception.width)
    }

    /// Signal of frames from `from` at `to`, if known.
    pub fn signal(&mut self, from: NodeId, to: NodeId) -> Option<Dbm> {
        self.mac.receivers.signal(from.0, to.0)
    }

    /// Starts counting the backlog chain.
    pub fn count_backlog(&mut self) {
        self.mac.backlog.get_or_insert_default();
    }

    /// Takes the backlog chain since counting started or since the last call; counting goes on from the present state. `None` if it is not
    /// counted.
    pub fn take_backlog_chain(&mut self) -> Option<BacklogChain> {
        self.mac.backlog.as_deref_mut().map(BacklogChain::take)
    }

    /// Starts recording the frames on the air; see [`Self::poll_on_air`].
    pub fn watch(&mut self) {
        self.mac.watch.get_or_insert_default();
    }

    /// The next event on the air, past or already certain; `None` if there is none, or nothing is recorded.
    pub fn poll_on_air(&mut self) -> Option<OnAir> {
        self.mac.watch.as_deref_mut().and_then(Watch::poll)
    }

    /// Payload of the frame in service of a node's category. `None` if there is none, or if the receiver has it and only its
    /// sender does not know.
    pub fn in_service(&self, id: NodeId, category: AccessCategory) -> Option<&F> {
        self.mac.nodes.edcaf_of(id, category).in_service()
    }

    /// What the present access of a node's category sends, possibly after RTS. `None` if the node does not aggregate.
    pub fn burst_on_air(&self, id: NodeId, category: AccessCategory) -> Option<BurstOnAir<'_, F>> {
        let rules = self.mac.config.aggregation?;
        let queues = self.mac.nodes.edcaf_of(id, category).tx_queues()?;
        Some(queues.on_air(|rate| rules.window_at(rate)))
    }

    /// For each MPDU of that access, in order, whether noise spoils it; empty: none is spoiled. Known when the end of the
    /// PPDU is reported.
    pub fn lost_of_burst(&self, id: NodeId, category: AccessCategory) -> &[bool] {
        self.mac.nodes.edcaf_of(id, category).tx_queues().map_or(&[], |queues| &queues.burst.lost)
    }

    /// Whether the frame in service of a node's category is a management frame: a beacon, a null frame, or a frame of an
    /// overlapping BSS.
    pub fn is_own(&self, id: NodeId, category: AccessCategory) -> bool {
        self.mac.nodes.edcaf_of(id, category).serves_own()
    }

    /// Starts the beacons of a node; the first one comes at a random point of its interval.
    ///
    /// # Panics
    /// If the interval is zero, or the DTIM period.
    pub fn send_beacons(&mut self, id: NodeId, beacons: Beacons) {
        assert!(beacons.interval > Span::ZERO && beacons.dtim_period > 0, "{beacons:?}");
        let (now, start) = (self.clock, self.stream_of(id, "medium beacons"));
        self.manage(|management| management.send_beacons(now, id, beacons, start));
    }

    /// Starts power saving of a station, which is awake. Its access point must send beacons; its null frames use this rate
    /// until a packet carries another.
    ///
    /// # Panics
    /// If the access point sends no beacons, or the listen interval is zero.
    pub fn save_power(&mut self, station: NodeId, access_point: NodeId, rate: PhyRate, how: PowerSave) {
        assert!(how.listen_interval > 0, "{how:?}");
        let sleeper = Sleeper::new(self.clock, access_point, rate, how);
        self.manage(|management| management.save_power(station, sleeper));
    }

    /// Packets that an access point buffers for sleeping stations and for groups, outside of its queues.
    pub fn kept(&self, access_point: NodeId) -> QueueState {
        self.management.as_ref().map_or(QueueState::default(), |management| management.kept(access_point))
    }

    /// Adds an overlapping BSS as two nodes, its sender and its receiver. Their frames produce no events.
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

    /// Changes the management traffic.
    fn manage(&mut self, change: impl FnOnce(&mut Management<F>)) {
        let management = self.management.get_or_insert_with(|| Box::new(Management::new()));
        change(management);
        self.mac.feedback.is_wanted = true;
        self.mac.feedback.due = management.next();
    }
}
