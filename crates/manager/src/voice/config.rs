//! What the operator wants of calls.

use alloc::vec::Vec;
use core::fmt;

use minicbor::{Decode, Encode};

use super::Codec;

/// Calls are found, admitted up to a limit, and then go first.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct VoiceConfig {
    /// Calls at once at most, of whatever codec; `None`: as many as leave the rest its part.
    #[n(0)]
    pub calls: Option<u32>,
    /// Calls of these codecs at once at most.
    #[n(1)]
    pub codecs: Vec<(Codec, u32)>,
    /// The part of the medium's time, in thousandths, that calls leave to all else: a call that would take from it is
    /// refused.
    #[n(2)]
    pub data_permille: u32,
    /// Differentiated services code point that packets of admitted calls get toward the WLAN, from which access
    /// points take their access category.
    #[n(3)]
    pub dscp: u8,
}

/// What is wrong with a [`VoiceConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoiceError {
    /// The part of all else must be 0 to 1000 thousandths.
    DataPart(u32),
    /// A code point has 6 bits.
    Dscp(u8),
    /// A codec has two limits.
    CodecTwice(Codec),
}

impl VoiceConfig {
    /// Expedited forwarding (RFC 3246), which access points map to AC_VO (RFC 8325).
    pub const EXPEDITED: u8 = 46;

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
        Ok(())
    }
}

impl Default for VoiceConfig {
    /// Half of the medium is for all else.
    fn default() -> Self {
        Self { calls: None, codecs: Vec::new(), data_permille: 500, dscp: Self::EXPEDITED }
    }
}

impl fmt::Display for VoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DataPart(part) => write!(f, "calls leave {part} thousandths to all else: it must be 0 to 1000"),
            Self::Dscp(dscp) => write!(f, "a code point of {dscp}: it must be 0 to 63"),
            Self::CodecTwice(codec) => write!(f, "codec {codec:?} has two limits"),
        }
    }
}
