//! Shards: several parallel packet loops.
//!
//! A shard is a loop on its own thread, with its own rings, packet memory and manager. It owns whole contention domains, so
//! that all decisions about one medium are made in one place, as in a box with one loop. The kernel assigns packets to
//! shards by the outer VLAN tag, before they are copied ([`evenair_sys::fail_open::Steering`]): both directions of a connection
//! are in one VLAN, so on one shard, and in order.
//!
//! A domain can therefore be on another shard only if the frames of its stations have VLANs of their own. A station whose
//! access point is known only from telemetry may roam at any moment, while packets for it are queued on one shard and
//! others are arriving. So the domains of such access points, and the domain of stations at an unknown access point, are
//! all on the first shard.
//!
//! Shards share the Internet link by leases ([`evenair_manager::LinkShare`]); with several shards, the control socket and
//! all other threads use `coordinator` instead of a loop.

mod coordinator;
mod link;
mod merge;

pub(crate) use coordinator::Coordinator;
pub(crate) use link::Leases;
