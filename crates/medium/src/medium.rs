//! The medium as its drivers see it: nodes that join and leave, frames that come, time that passes. What an access does
//! once back-off has run out is in `access`, who is next in `contention`, what a node keeps in `node`.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use evenair_units::{Instant, Span, Streams};

use crate::access::Access;
use crate::contention::Contention;
use crate::node::Node;
use crate::{Counters, DropReason, Event, MediumConfig, Mpdu, NodeConfig, NodeId, QueueState, To, Totals};

/// One medium and its nodes: access points and stations alike.
///
/// In: [`Self::handle_frame`], [`Self::handle_timeout`]. Out: [`Self::poll_event`] until `None`, then
/// [`Self::poll_deadline`]. Time must not go back; a `now` before the latest one counts as the latest one.
#[derive(Debug)]
pub struct Medium<F> {
    pub(crate) config: MediumConfig,
    pub(crate) streams: Streams,
    pub(crate) nodes: Vec<Node<F>>,
    pub(crate) contention: Contention,
    /// The accesses that began together; empty while the medium is silent.
    pub(crate) on_air: Vec<Access>,
    /// While the medium is busy, what happens next.
    pub(crate) stage: Stage,
    pub(crate) frame_errors: BTreeMap<(NodeId, NodeId), u32>,
    pub(crate) events: VecDeque<Event<F>>,
    pub(crate) clock: Instant,
    /// Nodes with a frame.
    pub(crate) backlogged: usize,
    /// Accounts up to `accounted`.
    pub(crate) totals: Totals,
    pub(crate) accounted: Instant,
    /// Kept for its memory.
    pub(crate) senders: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    Silent,
    /// A DATA frame will have been received at this instant.
    Receiving(Instant),
    /// The medium falls silent at this instant.
    Ending(Instant),
}

impl<F> Medium<F> {
    /// A silent medium without nodes.
    pub fn new(config: MediumConfig, streams: &Streams) -> Self {
        let contention = Contention::new(config.phy.slot());
        Self {
            config,
            streams: *streams,
            nodes: Vec::new(),
            contention,
            on_air: Vec::new(),
            stage: Stage::Silent,
            frame_errors: BTreeMap::new(),
            events: VecDeque::new(),
            clock: Instant::ZERO,
            backlogged: 0,
            totals: Totals::default(),
            accounted: Instant::ZERO,
            senders: Vec::new(),
        }
    }

    /// A node joins, with an empty buffer.
    pub fn add_node(&mut self, config: NodeConfig) -> NodeId {
        let id = u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes");
        self.nodes.push(Node::new(config, id, self.config.phy.cw_min(), &self.streams));
        self.contention.add();
        NodeId(id)
    }

    /// A node leaves. What its buffer holds comes out as events; frames to it will not be answered any more. What it
    /// has on the air stays there, and is not received.
    pub fn remove_node(&mut self, now: Instant, id: NodeId) {
        self.handle_timeout(now);
        self.account(self.clock);
        let node = &mut self.nodes[id.0 as usize];
        node.has_left = true;
        self.backlogged -= usize::from(node.has_frame());
        while let Some((queued, _)) = node.pop() {
            self.events.push_back(dropped(self.clock, id, queued.mpdu, DropReason::Left));
        }
        self.contention.remove(id.0);
    }

    /// From now on a DATA frame from `from` to `to` is lost with probability `per_billion / 10^9`, each by itself.
    /// Zero until this is called. Broadcasts are not concerned.
    pub fn set_frame_error(&mut self, from: NodeId, to: NodeId, per_billion: u32) {
        self.frame_errors.insert((from, to), per_billion);
    }

    /// `from` has a frame to send. It is dropped where the buffer is full or the node has left.
    ///
    /// What was due up to and including `now` happens first.
    ///
    /// # Panics
    /// If a node is named that was never added, or a rate that is not one of the standard's.
    pub fn handle_frame(&mut self, now: Instant, from: NodeId, mpdu: Mpdu<F>) {
        assert!(!matches!(mpdu.to, To::Node(to) if to.0 as usize >= self.nodes.len()), "{:?} was never added", mpdu.to);
        assert!(self.config.phy.standard().rates().contains(&mpdu.rate), "no rate of this medium: {:?}", mpdu.rate);
        self.handle_timeout(now);
        let now = self.clock;
        let node = &mut self.nodes[from.0 as usize];
        if node.has_left {
            self.events.push_back(dropped(now, from, mpdu, DropReason::Left));
            return;
        }
        let had_frame = node.has_frame();
        if let Err(mpdu) = node.push(now, mpdu) {
            self.events.push_back(dropped(now, from, mpdu, DropReason::BufferFull));
            return;
        }
        if !had_frame {
            self.account(now);
            self.backlogged += 1;
            self.begin_contention(now, from.0);
        }
    }

    /// Lets everything happen that is due by `now`, each thing at its own instant.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(at) = self.poll_deadline().filter(|&at| at <= now) {
            self.clock = at;
            match self.stage {
                Stage::Silent => self.start(at),
                Stage::Receiving(_) => self.receive(at),
                Stage::Ending(_) => self.end(at),
            }
        }
        self.clock = self.clock.max(now);
    }

    /// What became of frames, in the order in which it happened.
    pub fn poll_event(&mut self) -> Option<Event<F>> {
        self.events.pop_front()
    }

    /// When something happens next; `None` where nothing will until a frame comes.
    pub fn poll_deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Silent => self.contention.next(),
            Stage::Receiving(at) | Stage::Ending(at) => Some(at),
        }
    }

    /// What a node's buffer holds. A frame counts until it is received, not until its ACK is.
    pub fn queue(&self, id: NodeId) -> QueueState {
        self.nodes[id.0 as usize].queue_state()
    }

    /// What happened at a node.
    pub fn counters(&self, id: NodeId) -> &Counters {
        &self.nodes[id.0 as usize].counters
    }

    /// What the medium was used for up to `now`, which is not later than [`Self::poll_deadline`].
    pub fn totals(&self, now: Instant) -> Totals {
        let mut totals = self.totals;
        *self.use_of(&mut totals) += now.saturating_since(self.accounted);
        totals
    }

    /// A frame has come to the head of the node's empty queue.
    fn begin_contention(&mut self, now: Instant, id: u32) {
        let node = &mut self.nodes[id as usize];
        match self.stage {
            // It draws its back-off when its transmission ends.
            _ if node.on_air => {}
            Stage::Silent => self.contention.enter_at(id, now),
            Stage::Receiving(_) | Stage::Ending(_) => {
                if self.contention.has_run_out(id) {
                    self.contention.set(id, node.draw_back_off());
                }
                self.contention.enter(id);
            }
        }
    }

    /// Adds the time since the last account to what the medium was used for meanwhile.
    pub(crate) fn account(&mut self, now: Instant) {
        self.totals = self.totals(now);
        self.accounted = now;
    }

    fn use_of<'a>(&self, totals: &'a mut Totals) -> &'a mut Span {
        match self.stage {
            Stage::Silent if self.backlogged == 0 => &mut totals.idle,
            Stage::Silent => &mut totals.contending,
            Stage::Receiving(_) | Stage::Ending(_) => &mut totals.busy,
        }
    }
}

pub(crate) fn dropped<F>(at: Instant, from: NodeId, mpdu: Mpdu<F>, reason: DropReason) -> Event<F> {
    Event::Dropped { at, from, to: mpdu.to, msdu: mpdu.msdu, reason, frame: mpdu.frame }
}
