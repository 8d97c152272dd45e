//! Errors of a configuration, and the checks that several settings share.

use core::fmt;

use evenair_packet::MacAddr;
use evenair_units::{BitRate, Span};
use evenair_wifi::PhyRate;

use super::limits::{MAX_FLOWS, MAX_PROBES, MAX_RATE, MAX_SPAN};
use crate::ids::ClassId;
use crate::queues::classes::ClassError;
use crate::receiver::ReceiverError;
use crate::stations::access_points::AccessPointError;
use crate::stations::reports::RssiError;
use crate::voice::VoiceError;

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The policy has no level.
    NoLevel,
    /// A kind of level appears twice.
    LevelTwice,
    /// A weight is zero: its queue would never be served.
    ZeroWeight,
    /// A class has two weights.
    ClassTwice(ClassId),
    /// An error in the tree of classes, or in the kinds of traffic.
    Classes(ClassError),
    /// Two stations have one address.
    StationTwice(MacAddr),
    /// A station's address is a group address.
    GroupAddress(MacAddr),
    /// A PHY rate is not one of the standard's.
    UnknownRate(PhyRate),
    /// A fixed service rate or a step of zero: nothing would ever be served.
    ZeroRate,
    /// An interval, or a drain limit, of zero.
    ZeroSpan,
    /// The CoDel target is zero, or above the interval.
    Target(Span),
    /// A rate above [`Config::MAX_RATE`](crate::Config::MAX_RATE).
    HighRate(BitRate),
    /// A span above [`Config::MAX_SPAN`](crate::Config::MAX_SPAN).
    LongSpan(Span),
    /// The tolerance must be below 1000 thousandths.
    Tolerance(u32),
    /// The start must be between 1 and 1000 thousandths.
    Start(u32),
    /// The queue discipline is refused; the text says why.
    Discipline(&'static str),
    /// A limit of one queue, or of all, that admits no packet of full size.
    QueueLimit,
    /// The part of the WLAN that the LAN keeps must be between 1 and 999 thousandths.
    LanPart(u32),
    /// A number of flows that is zero, or above [`Config::MAX_FLOWS`](crate::Config::MAX_FLOWS).
    FlowLimit(u32),
    /// An error in the access points.
    AccessPoints(AccessPointError),
    /// An error in the settings of calls.
    Voice(VoiceError),
    /// An error in the rate classes by signal.
    Rssi(RssiError),
    /// An error in the settings of receiver control.
    Receiver(ReceiverError),
    /// A part that the upload limiter leaves to uploads or to datagrams must be between 1 and 999 thousandths.
    UplinkPart(u32),
    /// A part of the medium for frames to groups must be between 1 and 1000 thousandths.
    GroupPart(u32),
    /// The number of probes a second is out of range.
    ProbeRate(u32),
    /// A run of no packet: nothing would ever be released.
    RunFrames,
    /// The upload limiter has a bucket that admits no packet of full size, is deeper than 1 GiB, or has a threshold
    /// above its depth.
    Bucket,
}

pub(crate) fn not_high(rate: BitRate) -> Result<(), ConfigError> {
    if rate <= MAX_RATE { Ok(()) } else { Err(ConfigError::HighRate(rate)) }
}

pub(crate) fn not_long(span: Span) -> Result<(), ConfigError> {
    if span <= MAX_SPAN { Ok(()) } else { Err(ConfigError::LongSpan(span)) }
}

pub(crate) const fn nonzero(weight: u32) -> Result<(), ConfigError> {
    if weight == 0 { Err(ConfigError::ZeroWeight) } else { Ok(()) }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLevel => f.write_str("the policy has no level: at least one is needed, for instance `flow`"),
            Self::LevelTwice => f.write_str("the policy names a kind of level twice"),
            Self::ZeroWeight => f.write_str("a weight is zero: weights are 1 or more"),
            Self::ClassTwice(class) => write!(f, "class {} has two weights", class.0),
            Self::Classes(error) => error.fmt(f),
            Self::StationTwice(mac) => write!(f, "station {mac} is given twice"),
            Self::GroupAddress(mac) => write!(f, "{mac} is a group address: a station has an individual one"),
            Self::UnknownRate(rate) => write!(f, "{rate} Mb/s is not a rate of the PHY's standard"),
            Self::ZeroRate => f.write_str("a service rate or step is zero: it must be positive"),
            Self::ZeroSpan => {
                f.write_str("an interval, target, run, limit in flight or drain limit is zero: it must be positive")
            }
            Self::Target(span) => write!(f, "a queue's target is {span}: it must be above zero and up to its interval"),
            Self::HighRate(rate) => write!(f, "a service rate or step is {rate}: the most is {}", MAX_RATE),
            Self::LongSpan(span) => write!(
                f,
                "an interval, target, run, limit in flight, slack or drain limit is {span}: the most is a day"
            ),
            Self::Tolerance(t) => write!(f, "the tolerance is {t} thousandths: it must be below 1000"),
            Self::Start(s) => write!(f, "the start is {s} thousandths of C*: it must be 1 to 1000"),
            Self::Discipline(what) => write!(f, "a queue discipline {what}"),
            Self::FlowLimit(n) => write!(f, "{n} flows: it must be 1 to {}", MAX_FLOWS),
            Self::QueueLimit => f.write_str("a queue limit admits no packet of 1500 bytes"),
            Self::UplinkPart(p) => write!(f, "a part of the limit on uploads is {p} thousandths: it must be 1 to 999"),
            Self::GroupPart(p) => write!(f, "a share of frames to groups is {p} thousandths: it must be 1 to 1000"),
            Self::ProbeRate(n) => write!(f, "{n} probes a second: it must be 1 to {MAX_PROBES}"),
            Self::RunFrames => f.write_str("a run has no packet: it must have 1 or more"),
            Self::Bucket => {
                f.write_str("the bucket must admit 1500 bytes, 1 GiB at most, its threshold up to its depth")
            }
            Self::LanPart(p) => write!(f, "the LAN's part of the WLAN is {p} thousandths: it must be 1 to 999"),
            Self::AccessPoints(error) => error.fmt(f),
            Self::Voice(error) => error.fmt(f),
            Self::Rssi(error) => error.fmt(f),
            Self::Receiver(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ConfigError {}
