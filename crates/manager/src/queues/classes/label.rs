//! Short names from outside: of networks, and of groups of stations.

use core::fmt;
use core::str::FromStr;

use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

/// A name of 1 to 32 bytes, like an SSID (IEEE 802.11, 9.4.2.2): usually text, but any bytes are allowed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    bytes: [u8; Self::MOST],
    len: u8,
}

/// A name that is empty or too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelError;

impl Label {
    /// Bytes, at most.
    pub const MOST: usize = 32;

    /// A name of these bytes.
    ///
    /// # Errors
    /// Empty, or longer than [`Self::MOST`].
    pub fn new(name: &[u8]) -> Result<Self, LabelError> {
        let mut bytes = [0; Self::MOST];
        let len = u8::try_from(name.len()).map_err(|_| LabelError)?;
        bytes.get_mut(..name.len()).filter(|_| len > 0).ok_or(LabelError)?.copy_from_slice(name);
        Ok(Self { bytes, len })
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl<C> Encode<C> for Label {
    fn encode<W: encode::Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        e.bytes(self.as_bytes())?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Label {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        let at = d.position();
        Self::new(d.bytes()?).map_err(|error| decode::Error::message(error).at(at))
    }
}

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        Self::new(text.as_bytes())
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.as_bytes().escape_ascii(), f)
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl fmt::Display for LabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a name has 1 to {} bytes", Label::MOST)
    }
}

impl core::error::Error for LabelError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_have_one_to_32_bytes() {
        let label = |text: &str| text.parse::<Label>();
        assert_eq!(label("Guests").unwrap().to_string(), "Guests");
        assert_eq!(label("caf\u{e9}").unwrap().as_bytes(), "caf\u{e9}".as_bytes());
        assert_eq!((label(""), label(&"x".repeat(33))), (Err(LabelError), Err(LabelError)));
        assert!(label(&"x".repeat(32)).is_ok() && label("a") != label("b"));
    }
}
