//! Settings of calls.

use alloc::vec::Vec;
use core::fmt;

use minicbor::{Decode, Encode};

use super::Codec;

/// Calls are detected, admitted up to a limit, and then have strict priority.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct VoiceConfig {
    /// Calls at once, of any codec, at most; `None`: as many as leave other traffic its part.
    #[n(0)]
    pub calls: Option<u32>,
    /// Calls at once of these codecs, at most.
    #[n(1)]
    pub codecs: Vec<(Codec, u32)>,
    /// The part of the medium's time, in thousandths, that calls leave to other traffic: a call that would exceed it is
    /// refused.
    #[n(2)]
    pub data_permille: u32,
    /// Differentiated services code point that packets of admitted calls get toward the WLAN, from which access
    /// points take their access category.
    #[n(3)]
    pub dscp: u8,
    /// Combinations of codecs that the WLAN carries: calls are admitted together only if at least one of these covers
    /// them. Not convex: a mixture between two of them is not admitted. Empty: any combination.
    #[n(4)]
    #[cbor(default)]
    pub combinations: Vec<Combination>,
}

/// Numbers of calls by codec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Combination {
    /// Calls with [`Codec::G711`].
    #[n(0)]
    pub g711: u32,
    /// Calls with [`Codec::G729`].
    #[n(1)]
    pub g729: u32,
    /// Calls with [`Codec::Other`].
    #[n(2)]
    pub other: u32,
}

impl Combination {
    /// Whether it has at least as many calls of each codec as `calls`.
    pub(crate) const fn covers(&self, calls: &Self) -> bool {
        self.g711 >= calls.g711 && self.g729 >= calls.g729 && self.other >= calls.other
    }

    pub(crate) const fn of(&self, codec: Codec) -> u32 {
        match codec {
            Codec::G711 => self.g711,
            Codec::G729 => self.g729,
            Codec::Other => self.other,
        }
    }

    /// Adds a call with this codec.
    pub(crate) const fn add(&mut self, codec: Codec) {
        let count = match codec {
            Codec::G711 => &mut self.g711,
            Codec::G729 => &mut self.g729,
            Codec::Other => &mut self.other,
        };
        *count += 1;
    }
}

/// Why a [`VoiceConfig`] is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoiceError {
    /// The part of other traffic must be 0 to 1000 thousandths.
    DataPart(u32),
    /// A code point has 6 bits.
    Dscp(u8),
    /// A codec has two limits.
    CodecTwice(Codec),
    /// There are more combinations than [`VoiceConfig::MAX_COMBINATIONS`].
    Combinations(usize),
    /// The combination with this index has no call.
    CombinationEmpty(usize),
    /// The combination with the first index admits nothing that the one with the second does not.
    CombinationCovered(usize, usize),
}

impl VoiceConfig {
    /// Expedited forwarding (RFC 3246), which access points map to AC_VO (RFC 8325).
    const EXPEDITED: u8 = 46;
    /// Most combinations of codecs: all of them are checked when a call begins.
    pub const MAX_COMBINATIONS: usize = 100;

    pub(crate) fn check(&self) -> Result<(), VoiceError> {
        if self.data_permille > 1000 {
            return Err(VoiceError::DataPart(self.data_permille));
        }
        if self.dscp > 63 {
            return Err(VoiceError::Dscp(self.dscp));
        }
        for (at, (codec, _)) in self.codecs.iter().enumerate() {
            if self.codecs[..at].iter().any(|(earlier, _)| earlier == codec) {
                return Err(VoiceError::CodecTwice(*codec));
            }
        }
        self.check_combinations()
    }

    fn check_combinations(&self) -> Result<(), VoiceError> {
        if self.combinations.len() > Self::MAX_COMBINATIONS {
            return Err(VoiceError::Combinations(self.combinations.len()));
        }
        for (at, combination) in self.combinations.iter().enumerate() {
            if *combination == Combination::default() {
                return Err(VoiceError::CombinationEmpty(at));
            }
            if let Some(other) = self.covering(at) {
                return Err(VoiceError::CombinationCovered(at, other));
            }
        }
        Ok(())
    }

    /// The index of the first other combination that covers the one with this index. Of equal ones the first covers the
    /// later ones, and is not covered itself.
    pub fn covering(&self, at: usize) -> Option<usize> {
        let combination = self.combinations.get(at)?;
        let covers = |&(other, covering): &(usize, &Combination)| {
            other != at && covering.covers(combination) && (covering != combination || other < at)
        };
        self.combinations.iter().enumerate().find(covers).map(|(other, _)| other)
    }

    /// Whether these calls are allowed together by the combinations.
    pub(crate) fn combines(&self, calls: &Combination) -> bool {
        self.combinations.is_empty() || self.combinations.iter().any(|combination| combination.covers(calls))
    }
}

impl Default for VoiceConfig {
    /// Half of the medium for other traffic.
    fn default() -> Self {
        let (codecs, combinations) = (Vec::new(), Vec::new());
        Self { calls: None, codecs, data_permille: 500, dscp: Self::EXPEDITED, combinations }
    }
}

impl fmt::Display for VoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DataPart(part) => write!(f, "calls leave {part} thousandths to all else: it must be 0 to 1000"),
            Self::Dscp(dscp) => write!(f, "a code point of {dscp}: it must be 0 to 63"),
            Self::CodecTwice(codec) => write!(f, "codec {codec:?} has two limits"),
            Self::Combinations(count) => {
                write!(f, "{count} combinations of codecs: at most {} are possible", VoiceConfig::MAX_COMBINATIONS)
            }
            Self::CombinationEmpty(at) => write!(f, "combination {} of codecs has no call", at + 1),
            Self::CombinationCovered(at, other) => {
                write!(f, "combination {} of codecs admits nothing that combination {} does not", at + 1, other + 1)
            }
        }
    }
}
