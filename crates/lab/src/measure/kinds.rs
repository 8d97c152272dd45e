//! Kinds of access point, as keys of a scenario.

/// Keys of a scenario with their values.
pub type Keys = &'static [(&'static str, &'static str)];

/// A kind of access point: its name in tables, and the keys that make it.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    pub keys: Keys,
}

/// An access takes the packets of one receiver after the other, wherever in the queue they are.
pub const STATIONS: Keys = &[("radio.aggregation.order", "\"stations\"")];
/// An access takes the packets at the head of the queue that have one receiver.
pub const NEIGHBOURS: Keys = &[("radio.aggregation.order", "\"neighbours\"")];
/// With AQL, at Linux's limits.
pub const MAC80211: Keys =
    &[("radio.ap_buffer", "\"8192 packets\""), ("radio.ap_queue", "{ discipline = \"mac80211\" }")];
/// Access points that do not aggregate.
pub const SINGLE_FRAMES: Keys = &[("radio.aggregation.bytes", "\"0 bytes\"")];
/// mac80211 that does not aggregate.
pub const MAC80211_SINGLE_FRAMES: Keys = &[MAC80211[0], MAC80211[1], SINGLE_FRAMES[0]];
