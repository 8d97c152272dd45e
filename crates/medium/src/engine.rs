//! The two engines of medium access behind one type: where all hear all, one state of the medium for all nodes
//! (`shared_channel`); where some are hidden from others, each node senses for itself (`carrier_sense`).

use alloc::boxed::Box;

use evenair_units::Instant;

use crate::carrier_sense::CarrierSense;
use crate::config::MediumConfig;
use crate::edcaf::Waiting;
use crate::idle_sense::IdleSenseConfig;
use crate::mac::Mac;
use crate::shared_channel::SharedChannel;

/// Who sends when, and what is received.
#[derive(Debug)]
pub(crate) enum Engine {
    /// All hear all.
    Shared(SharedChannel),
    /// Each node senses for itself.
    PerNode(Box<CarrierSense>),
}

impl Engine {
    pub(crate) fn shared(config: &MediumConfig) -> Self {
        Self::Shared(SharedChannel::new(config.phy.slot()))
    }

    pub(crate) fn per_node(config: &MediumConfig) -> Self {
        Self::PerNode(Box::new(CarrierSense::new(config)))
    }

    /// When something happens next; [`Instant::MAX`] where nothing will.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        match self {
            Self::Shared(channel) => channel.due(),
            Self::PerNode(sense) => sense.due(),
        }
    }

    /// Whether anything is on the air, or an exchange is under way.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Self::Shared(channel) => channel.is_busy(),
            Self::PerNode(sense) => sense.is_busy(),
        }
    }

    /// What is due at `at`, which is [`Self::due`].
    #[inline(always)]
    pub(crate) fn step<F>(&mut self, mac: &mut Mac<F>, at: Instant) {
        match self {
            Self::Shared(channel) => channel.step(mac, at),
            Self::PerNode(sense) => {
                mac.account(at, sense.is_busy());
                sense.step(mac, at);
            }
        }
    }

    /// A frame has come to the head of the EDCAF's empty queue.
    #[inline]
    pub(crate) fn begin_contention<F>(&mut self, mac: &mut Mac<F>, now: Instant, id: u32) {
        match self {
            Self::Shared(channel) => channel.begin_contention(mac, now, id),
            Self::PerNode(sense) => sense.enter(now, id, &mut mac.nodes.edcafs[id as usize]),
        }
    }

    /// An EDCAF of the node that joins next, whose back-off is never one of more than `cw_max` slots.
    pub(crate) fn add_edcaf(&mut self, now: Instant, waiting: Waiting, cw_max: u32) {
        match self {
            Self::Shared(channel) => channel.add_edcaf(waiting, cw_max),
            Self::PerNode(sense) => sense.add_edcaf(now, waiting),
        }
    }

    /// A node joins, with the EDCAFs that were added since the last one.
    pub(crate) fn add_node<F>(&mut self, mac: &Mac<F>, now: Instant, id: u32) {
        if let Self::PerNode(sense) = self {
            sense.add_node(now, (0..id).filter(|&other| !mac.nodes.has_left(other)));
        }
    }

    /// From now on two nodes do not hear each other.
    ///
    /// # Panics
    /// If all hear all.
    pub(crate) fn hide(&mut self, now: Instant, a: u32, b: u32) {
        match self {
            Self::Shared(_) => panic!("a medium with hidden nodes is made as such"),
            Self::PerNode(sense) => sense.hide(now, a, b),
        }
    }

    /// Some node has Idle Sense.
    ///
    /// # Panics
    /// If nodes sense for themselves.
    pub(crate) fn use_idle_sense(&mut self, config: IdleSenseConfig) {
        match self {
            Self::Shared(channel) => channel.use_idle_sense(config),
            Self::PerNode(_) => panic!("with Idle Sense all hear all"),
        }
    }

    /// A node leaves. What it has on the air stays there.
    pub(crate) fn remove_node<F>(&mut self, mac: &mut Mac<F>, now: Instant, id: u32) {
        let edcafs = mac.nodes.edcaf_ids(id);
        match self {
            Self::Shared(channel) => channel.remove_edcafs(edcafs),
            Self::PerNode(sense) => {
                edcafs.for_each(|number| sense.remove_edcaf(number as u32));
                if let Some(sender) = sense.remove_node(id) {
                    mac.accounts.close(now, sender, &mut mac.nodes);
                }
            }
        }
    }

    /// Splits the time up to `until` among the exchanges that are under way.
    pub(crate) fn split_airtime<F>(&self, mac: &mut Mac<F>, until: Instant) {
        match self {
            Self::Shared(channel) => channel.split_airtime(mac, until),
            Self::PerNode(_) => mac.accounts.split(until, &mut mac.nodes),
        }
    }

    /// An EDCAF that sends next as things stand, where one is known.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        match self {
            Self::Shared(channel) => channel.first(),
            Self::PerNode(_) => None,
        }
    }

    /// Prefetches the state of an EDCAF.
    #[inline]
    pub(crate) fn prefetch(&self, id: u32, prefetch: impl Fn(*const ())) {
        if let Self::Shared(channel) = self {
            channel.prefetch(id, prefetch);
        }
    }
}
