//! The settings of the Internet link.

use alloc::vec::Vec;
use core::net::IpAddr;

use evenair_packet::{FlowKey, Subnet, is_link_local};
use evenair_sched::CodelConfig;
use evenair_units::{BitRate, Span};
use minicbor::{Decode, Encode};

use crate::config::error::{ConfigError, not_high, not_long};

/// The Internet link, and the servers before it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct WanConfig {
    /// Service rate toward the stations, in IP-level bits per second: a little below the link's, so that the queue is
    /// here.
    #[n(0)]
    pub down: BitRate,
    /// Service rate from the stations.
    #[n(1)]
    pub up: BitRate,
    /// Networks that are not beyond the link. Link-local addresses never are.
    #[n(2)]
    pub lan: Vec<Subnet>,
    /// The part of the WLAN, in thousandths, that traffic of the LAN keeps if traffic over the link, which has priority,
    /// could use all.
    #[n(3)]
    pub lan_permille: u32,
    /// CoDel of the queues before the link. Round trips over the Internet are long, and a queue that is to keep the link
    /// busy while a sender recovers is a good part of one; other flows do not wait for it.
    #[n(4)]
    pub aqm: CodelConfig,
    /// Whether other managers share the link: then each direction is served only while this one holds a lease of it
    /// ([`Manager::handle_lease`](crate::Manager::handle_lease)).
    #[n(5)]
    pub shared: bool,
}

impl WanConfig {
    /// Default of `lan_permille`: the part of the WLAN that the LAN keeps, in thousandths.
    pub const LAN_PERMILLE: u32 = 100;
    /// Default CoDel settings. Target: half of a long round trip of 300 ms. Interval: no less than the round trip of a
    /// sender with a standing queue (RFC 8289), which is the long round trip, the target, and as much again as the queue
    /// grows until the sender reacts. With a shorter interval such a sender got two signals, its queue ran empty, and
    /// senders with shorter round trips used what it left.
    pub const AQM: CodelConfig = CodelConfig { target: Span::from_millis(150), interval: Span::from_secs(1) };

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        for rate in [self.down, self.up] {
            if rate == BitRate::ZERO {
                return Err(ConfigError::ZeroRate);
            }
            not_high(rate)?;
        }
        not_long(self.aqm.interval)?;
        if self.aqm.target == Span::ZERO || self.aqm.target > self.aqm.interval {
            return Err(ConfigError::Target(self.aqm.target));
        }
        if !(1..1000).contains(&self.lan_permille) {
            return Err(ConfigError::LanPart(self.lan_permille));
        }
        Ok(())
    }

    /// Whether a flow's far end is beyond the link; `low_is_station`: the lower end is the station.
    pub(crate) fn is_beyond(&self, key: &FlowKey, low_is_station: bool) -> bool {
        let (other, _): (IpAddr, u16) = if low_is_station { key.high() } else { key.low() };
        !is_link_local(other) && !self.lan.iter().any(|subnet| subnet.contains(other))
    }
}
