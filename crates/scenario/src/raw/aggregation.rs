//! How nodes of 802.11n and later aggregate.

use std::ops::Range;

use evenair_reader::{OrDefault, Written};
use evenair_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::ranges::{AggregateSizes, Attempts, BlockAckWindows, MpduSpacings, MsduAggregateSizes, PpduDurations};
use crate::words::{DeliverWord, EncryptionWord, OrderWord, RecoverWord, Timeout};

/// How nodes of 802.11n and later aggregate.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AggregationRaw {
    /// Most bytes of an A-MPDU. "0 bytes": none. Default: what the format of its frames allows (65535 bytes with 802.11n).
    pub bytes: Option<Written<Bytes, AggregateSizes>>,
    /// Block-ack window: MPDUs that may be outstanding. Default: 64, and 256 with 802.11ax.
    pub window: Option<Written<u32, BlockAckWindows>>,
    /// Longest PPDU with an A-MPDU. Default: "5484 us".
    pub max_ppdu: Option<Written<Span, PpduDurations>>,
    /// Least time from the start of one MPDU of an A-MPDU to the next (Minimum MPDU Start Spacing). Default: "0 us".
    pub min_spacing: Option<Written<Span, MpduSpacings>>,
    /// Most bytes of an A-MSDU. "0 bytes": none. Default: "0 bytes".
    pub a_msdu: Option<Written<Bytes, MsduAggregateSizes>>,
    /// "ccmp": 16 bytes more in each MPDU to one station, as with WPA2 and WPA3. Default: "none".
    pub encryption: Option<Written<EncryptionWord>>,
    /// After an A-MPDU that nothing answered: "data" repeats it, "request" first sends a BlockAckReq. Default: "data", or
    /// "request" with the profile "ns-3".
    pub recover: Option<Written<RecoverWord>>,
    /// Transmissions of an MPDU. Default: 7.
    pub attempts: Option<Written<u32, Attempts>>,
    /// After an MPDU that was given up, a BlockAckReq tells its receiver not to wait for it. Default: true.
    #[schemars(extend("default" = true))]
    pub request_after_drop: Option<Written<bool>>,
    /// How long a receiver holds packets for the sake of missing ones before them, or "off". Default: "100 ms", or "off" with
    /// the profile "ns-3".
    pub reorder_timeout: Option<Written<Timeout>>,
    /// When a receiver hands packets up: with the end of the "ppdu", or with that of each "mpdu" (where all hear all). Default:
    /// "ppdu", or "mpdu" with the profile "ns-3".
    pub deliver: Option<Written<DeliverWord>>,
    /// Whose frames an access takes: "arrival", those for the receiver of the oldest one (one deep queue), "stations", one
    /// receiver's after the other's (a queue for each), or "neighbours", those for the receiver of the oldest one up to the first
    /// for another receiver (a FIFO in hardware). Default: "arrival".
    pub order: Option<Written<OrderWord>>,
}

impl AggregationRaw {
    /// Where the first of its keys is, where there is any.
    pub fn first_place(&self) -> Option<Range<usize>> {
        let Self { bytes, window, max_ppdu, min_spacing, a_msdu, encryption, .. } = self;
        let Self { recover, attempts, request_after_drop, reorder_timeout, deliver, order, .. } = self;
        let sizes = [bytes.place(), window.place(), max_ppdu.place(), min_spacing.place(), a_msdu.place()];
        let others = [encryption.place(), recover.place(), attempts.place(), request_after_drop.place()];
        let last = [reorder_timeout.place(), deliver.place(), order.place()];
        sizes.into_iter().chain(others).chain(last).filter(|place| *place != (0..0)).min_by_key(|place| place.start)
    }
}
