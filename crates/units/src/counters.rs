//! Counters of the manager, which the box, its contract (`evenair-api`) and its metrics share by name.

use crate::causes::{Cause, Counts};

crate::causes! {
    /// What the manager counts beside drops and the balance of packets.
    ///
    /// To add a counter, add a line here, at the end, and count it where it happens: two files. Sums over shards, the status,
    /// `evenair status --all`, the metrics and the history iterate over [`Cause::ALL`].
    pub enum Counter {
        Marked: "marked", "marked",
            "Packets, among the released, that were marked: congestion experienced.";
        WindowsLowered: "windows_lowered", "window lowered",
            "Packets, among the released, whose TCP window was lowered.";
        AcksDelayed: "acks_delayed", "ack delayed",
            "ACKs, among the released, that were held for the control at the receiver.";
        CallsPackets: "calls_packets", "of calls",
            "Packets, among the released, that went past what waits because they are of admitted calls.";
        Control: "control", "control",
            "Packets, among the released, that keep the network together (ARP, neighbour discovery, DHCP, 802.1X, spanning tree, group \
             membership) and passed at once, within their budget.";
        Groups: "groups", "groups",
            "Packets to groups that are not of that kind, or were beyond its budget: limited to a share of the medium.";
        Queued: "queued", "queued",
            "Packets, among the released, that were held before.";
        Untracked: "untracked", "untracked",
            "Packets that were not tracked because the table of flows was full of held ones: dropped, where packets are held.";
        AddressesContested: "addresses_contested", "addresses contested",
            "Claims of addresses that others use; of one address, once a minute at most.";
        CallsAdmitted: "calls_admitted", "calls admitted",
            "Calls that were admitted.";
        CallsRefused: "calls_refused", "calls refused",
            "Calls that were refused.";
        CallsOverLimit: "calls_over_limit", "calls over limit",
            "Calls that roamed to a medium where they are too many, and went on.";
        CallsEnded: "calls_ended", "calls ended",
            "Calls that have ended, be they admitted or refused.";
    }
}

/// One count for each [`Counter`].
pub type Counted = Counts<Counter, { Counter::ALL.len() }>;

crate::causes! {
    /// What the manager counts for each station, since it was learned.
    ///
    /// To add a counter, add a line here, at the end, and count it where it happens, by `Manager::count_for_station`: two files. Reports,
    /// sums over shards, the status, the watch feed with REST, the page, `evenair top`, `evenair status --all` and the metrics iterate
    /// over [`Cause::ALL`].
    pub enum StationCounter {
        Dropped: "dropped", "dropped",
            "Dropped by the manager, in both directions.";
        Marked: "marked", "marked",
            "Released with the mark of ECN that congestion was experienced, in both directions.";
    }
}

/// One count for each [`StationCounter`].
pub type StationCounted = Counts<StationCounter, { StationCounter::ALL.len() }>;

impl Counter {
    /// Whether it counts packets; the others count events.
    pub const fn is_of_packets(self) -> bool {
        !matches!(
            self,
            Self::AddressesContested
                | Self::CallsAdmitted
                | Self::CallsRefused
                | Self::CallsOverLimit
                | Self::CallsEnded
        )
    }
}
