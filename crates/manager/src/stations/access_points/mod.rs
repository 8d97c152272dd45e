//! Access points: how the box learns at which one a station is, and the contention domain of each.
//!
//! Without any information there is one domain, and the access point of a station does not matter. With configured
//! access points, each has a domain of its own unless the operator gives several of them the same *domain* name,
//! because they hear each other on one channel. That default is the safe one. If two access points share a channel
//! but are treated as two domains, they delay each other's completions, and both queues stay short; only fairness
//! across the two is lost, as it is without a box. If two channels are treated as one domain, they wait for each
//! other, and capacity is lost. Therefore equal channel numbers of configured access points do not make a common
//! domain: they do not say which radios hear each other.
//!
//! If no access points are configured, domains are learned from reported channels ([`learned`]). The channel is then
//! the only evidence, and radios on one channel are treated as one domain. Configuration takes precedence.
//!
//! The VLAN of a station's frames takes precedence over reports: frames in the VLAN of an access point show where the
//! station is now, while a poll may be a minute old.
//!
//! Access points of a configuration may be of different standards; a domain has one (see `airtime_model`). A learned
//! domain has that of the configuration.
//!
//! What is not here: what happens when a station moves (see `manager::roaming`).

mod learned;
mod table;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use evenair_packet::{MacAddr, Vlan};
use evenair_wifi::Standard;
use minicbor::{Decode, Encode};

use crate::Label;

pub(crate) use table::Table;

/// An access point of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct AccessPoint {
    /// Its name in reports, also accepted where a station's place is reported.
    #[n(0)]
    pub name: Label,
    /// Its contention domain, which access points of the same name share. [`AccessPoint::DEFAULT_DOMAIN`] is that of stations not known to
    /// be at an access point.
    #[n(1)]
    pub domain: Label,
    /// VLANs of its stations' frames. One without an inner tag includes all with an inner tag.
    #[cbor(n(2), skip_if = "Vec::is_empty")]
    pub vlans: Vec<Vlan>,
    /// Its radios' addresses (BSSIDs).
    #[cbor(n(3), skip_if = "Vec::is_empty")]
    pub radios: Vec<MacPrefix>,
    /// Other names accepted where a station's place is reported.
    #[cbor(n(4), skip_if = "Vec::is_empty")]
    pub aliases: Vec<Label>,
    /// Its standard, with the usual profile ([`evenair_wifi::Phy::default_for`]). `None`, or that of the configuration's PHY: that PHY.
    /// All access points of a domain have the same.
    #[n(5)]
    pub standard: Option<Standard>,
}

/// The first bits of MAC addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct MacPrefix {
    /// An address with this prefix; bits after the prefix are ignored.
    #[n(0)]
    pub mac: MacAddr,
    /// Length of the prefix in bits, 1 to 48.
    #[n(1)]
    pub bits: u8,
}

/// A reported access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Place {
    /// By a name.
    #[n(0)]
    Named(#[n(0)] Label),
    /// By the address of its radio (BSSID).
    #[n(1)]
    Radio(#[n(0)] MacAddr),
    /// By the address of its radio, with the reported channel.
    #[n(2)]
    Tuned {
        /// The BSSID, or another address that names the access point.
        #[n(0)]
        radio: MacAddr,
        /// The channel's frequency, in MHz.
        #[n(1)]
        mhz: u16,
    },
}

/// Why a list of access points is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPointError {
    /// More than [`AccessPoint::MOST`], or more than [`AccessPoint::MOST_MARKS`] VLANs, radios and names in all.
    TooMany,
    /// Two access points have this name.
    Name(Label),
    /// Two access points have this VLAN.
    Vlan(Vlan),
    /// Two access points have this prefix, or it has no bits or more than 48.
    Radio(MacPrefix),
    /// A contention domain has two standards, but slot and inter-frame spaces are those of one.
    Standard {
        /// The access point whose standard differs from its domain's.
        name: Label,
        /// The domain.
        domain: Label,
        /// The access point's standard.
        own: Standard,
        /// The domain's standard: that of its first access point; for the default domain that of the configuration's PHY.
        common: Standard,
    },
}

impl AccessPoint {
    /// The domain of stations that are not known to be in another.
    pub const DEFAULT_DOMAIN: &str = "default";
    /// Access points, and so domains, at most.
    pub const MOST: usize = 1024;
    /// VLANs, radios and names of all access points together, at most.
    pub const MOST_MARKS: usize = 1 << 14;

    /// An access point of this name, in a domain of its own, without other names.
    pub const fn new(name: Label) -> Self {
        Self { name, domain: name, vlans: Vec::new(), radios: Vec::new(), aliases: Vec::new(), standard: None }
    }
}

impl MacPrefix {
    /// The bits of the prefix, followed by zeros.
    fn value(self) -> u64 {
        masked(self.mac, self.bits)
    }
}

/// The first bits of an address as a number, followed by zeros.
fn masked(mac: MacAddr, bits: u8) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    let behind = 48 - u32::from(bits.min(48));
    u64::from_be_bytes([0, 0, a, b, c, d, e, f]) >> behind << behind
}

/// Checks a list of access points.
///
/// # Errors
/// The first error found.
pub(crate) fn check(access_points: &[AccessPoint]) -> Result<(), AccessPointError> {
    let marks = access_points.iter().map(|at| at.vlans.len() + at.radios.len() + at.aliases.len()).sum::<usize>();
    if access_points.len() > AccessPoint::MOST || marks > AccessPoint::MOST_MARKS {
        return Err(AccessPointError::TooMany);
    }
    Table::new(access_points).map(|_| ())
}

impl fmt::Display for MacPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits {
            48 => self.mac.fmt(f),
            bits => write!(f, "{}/{bits}", self.mac),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => name.fmt(f),
            Self::Radio(mac) => mac.fmt(f),
            Self::Tuned { radio, mhz } => write!(f, "{radio} at {mhz} MHz"),
        }
    }
}

impl fmt::Display for AccessPointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(
                f,
                "there are too many access points: {} at most, with {} VLANs, radios and other names",
                AccessPoint::MOST,
                AccessPoint::MOST_MARKS
            ),
            Self::Name(name) => write!(f, "two access points have the name or alias {name}"),
            Self::Vlan(vlan) => match vlan.inner {
                Some(inner) => write!(f, "the VLAN {}.{inner} is of two access points", vlan.id),
                None => write!(f, "the VLAN {} is of two access points", vlan.id),
            },
            Self::Radio(prefix) => write!(f, "the radio {prefix} is of two access points, or not 1 to 48 bits long"),
            Self::Standard { name, domain, own, common } => {
                write!(
                    f,
                    "the access point {name} is {own}, and the contention domain {domain} is {common}: it has one slot time and one set of rates"
                )
            }
        }
    }
}

impl core::error::Error for AccessPointError {}

/// Whether there is a model for the domain of each access point: a contention domain has one slot, one set of inter-frame spaces and one
/// set of rates, and the default domain, where any station may be, has those of the configuration's own PHY (`default`).
///
/// # Errors
/// The first access point with another standard than earlier ones in its domain.
pub(crate) fn check_standards(default: Standard, access_points: &[AccessPoint]) -> Result<(), AccessPointError> {
    let mut standards = BTreeMap::new();
    standards.insert(AccessPoint::DEFAULT_DOMAIN.as_bytes(), default);
    for access_point in access_points {
        let own = access_point.standard.unwrap_or(default);
        let common = *standards.entry(access_point.domain.as_bytes()).or_insert(own);
        if own != common {
            let AccessPoint { name, domain, .. } = *access_point;
            return Err(AccessPointError::Standard { name, domain, own, common });
        }
    }
    Ok(())
}
