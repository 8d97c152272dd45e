//! Beacons of access points.
//!
//! A beacon is sent before all waiting frames of the access point, behind the frame in service, as from a hardware beacon
//! queue. It is skipped while the previous one is still queued. It contends with the back-off of the access point's other
//! frames; the shorter back-off that some hardware uses for beacons is not modelled.

use alloc::collections::BTreeMap;

use evenair_units::{Bytes, Span};
use evenair_wifi::{AccessCategory, LLC_SNAP};

use super::tasks::{Context, Task};
use crate::frame::{Mpdu, NodeId, Own, Queued, To};

/// Approximate body of a beacon of 802.11a, b or g with the elements of RSN and WMM (IEEE Std 802.11-2016, table 9-27).
const BEACON_BODY: Bytes = Bytes(110);

/// Beacons of an access point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beacons {
    /// Interval between beacons; usually 100 time units of 1024 us.
    pub interval: Span,
    /// DTIM period: every n-th beacon announces group frames, which follow it; one or more.
    pub dtim_period: u32,
}

/// An access point with beacons.
#[derive(Debug)]
struct Beaconing {
    beacons: Beacons,
    /// Number of beacons due so far.
    count: u64,
    /// Whether the last beacon is still queued.
    waits: bool,
}

/// All access points with beacons.
#[derive(Debug, Default)]
pub(super) struct BeaconSchedule {
    points: BTreeMap<u32, Beaconing>,
}

impl BeaconSchedule {
    /// Starts the beacons of a node.
    pub(super) fn add(&mut self, id: NodeId, beacons: Beacons) {
        self.points.insert(id.0, Beaconing { beacons, count: 0, waits: false });
    }

    /// Whether a node sends beacons.
    pub(super) fn has(&self, id: NodeId) -> bool {
        self.points.contains_key(&id.0)
    }

    /// Handles a due beacon. Returns whether group frames follow it.
    pub(super) fn send<F>(&mut self, ctx: &mut Context<'_, F>, id: NodeId) -> bool {
        let Some(point) = self.points.get_mut(&id.0) else { return false };
        let number = point.count;
        point.count += 1;
        ctx.timers.schedule(ctx.at + point.beacons.interval, Task::Beacon(id.0));
        if !core::mem::replace(&mut point.waits, true) {
            let body = BEACON_BODY.saturating_sub(LLC_SNAP);
            let beacon =
                ctx.own(To::Broadcast, body, Own::Beacon(u32::try_from(number).expect("fewer than 2^32 beacons")));
            let mpdu = Mpdu { category: AccessCategory::Voice, ..beacon.mpdu };
            ctx.send_first(id, Queued { mpdu, ..beacon });
        }
        number.is_multiple_of(u64::from(point.beacons.dtim_period))
    }

    /// A beacon was sent or dropped.
    pub(super) fn note_sent(&mut self, id: NodeId) {
        if let Some(point) = self.points.get_mut(&id.0) {
            point.waits = false;
        }
    }
}
