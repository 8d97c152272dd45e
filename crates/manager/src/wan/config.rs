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
    /// The part of the WLAN, in thousandths, that traffic of the LAN keeps where traffic over the link, which goes
    /// first, could use all.
    #[n(3)]
    pub lan_permille: u32,
    /// When a queue before the link is a standing one. Round trips over the Internet are long, and a queue that is to
    /// keep the link busy while a sender recovers is a good part of one; others do not wait for it.
    #[n(4)]
    pub aqm: CodelConfig,
    /// Other managers share the link: each direction is served only while this one holds a lease of it
    /// ([`Manager::handle_lease`](crate::Manager::handle_lease)).
    #[n(5)]
    pub shared: bool,
}

impl WanConfig {
    /// The part of the WLAN that the LAN keeps by default.
    pub const LAN_PERMILLE: u32 = 100;
    /// Half of a long round trip, of 300 ms, may stand. The interval is to be no less than the round trip of a sender
    /// that a standing queue is held against (RFC 8289), which is the long one, what may stand, and as much again as
    /// the queue grows by until the sender reacts: with less, such a sender got two signals, its queue ran empty, and
    /// those with shorter round trips had what it left.
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

    /// Whether a flow's other end, not the station, is beyond the link; `low_is_station`: the lower end is the station.
    pub(crate) fn is_beyond(&self, key: &FlowKey, low_is_station: bool) -> bool {
        let (other, _): (IpAddr, u16) = if low_is_station { key.high() } else { key.low() };
        !is_link_local(other) && !self.lan.iter().any(|subnet| subnet.contains(other))
    }
}
