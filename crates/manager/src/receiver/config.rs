//! Settings of receiver control.

use core::fmt;

use evenair_units::{Bytes, Limit, Span};
use minicbor::{Decode, Encode};

/// Settings of receiver control. At least one of the two laws is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ReceiverConfig {
    /// The largest window that a receiver may advertise. `None`: unlimited.
    #[n(0)]
    pub window: Option<WindowLaw>,
    /// The time for which ACKs of downloads are held. `None`: none are held.
    #[n(1)]
    pub delay: Option<DelayLaw>,
    /// Whether the window law holds for uploads too, whose receivers are on the wire.
    #[n(2)]
    pub uploads: bool,
}

/// A law for the largest window that a receiver may advertise. The result is at least a segment: with less, a sender
/// would wait for its persist timer (RFC 9293, 3.8.6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum WindowLaw {
    /// A constant, in segments of the size that both ends agreed on, or in bytes (Choi, Park, Kim).
    #[n(0)]
    Fixed(#[n(0)] Limit),
    /// This buffer of the access point divided by the number of TCP flows: `min(advertised, floor(B/n))`, so that
    /// nothing is lost there (Pilosof et al., INFOCOM 2003; the lossless control of Blefari-Melazzi et al.). In segments
    /// or bytes.
    #[n(1)]
    ShareOf(#[n(0)] Limit),
    /// Adjusted so that packets wait for this time in the access point. The law is ours.
    #[n(2)]
    Target(#[n(0)] Span),
}

/// A law for the time for which ACKs of downloads are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum DelayLaw {
    /// A constant (Choi, Park, Kim).
    #[n(0)]
    Fixed(#[n(0)] Span),
    /// Adjusted so that packets wait for this time in the access point, where senders' windows are limited. The law is
    /// ours.
    #[n(1)]
    Target(#[n(0)] Span),
}

/// Why settings of receiver control are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverError {
    /// It has no law.
    Nothing,
    /// A window or buffer without room for a packet of full size, or one above [`ReceiverConfig::MAX_WINDOW`].
    Window(Limit),
    /// A time of zero, or above [`ReceiverConfig::MAX_DELAY`].
    Time(Span),
    /// Both laws have a target: two loops for one quantity.
    TwoTargets,
}

impl ReceiverConfig {
    /// The largest window that TCP can advertise (RFC 7323, 2.3): 65,535 units of 2^14 bytes.
    pub const MAX_WINDOW: Bytes = Bytes(65_535 << 14);
    /// The most segments that such a window can have, at 536 bytes each (RFC 9293, 3.7.1).
    pub const MAX_SEGMENTS: u32 = (Self::MAX_WINDOW.0 / 536) as u32;
    /// The longest time for which ACKs are held, and the longest target. Senders time out if ACKs are delayed for long,
    /// and throughput falls beyond 1 s (Choi, Park, Kim).
    pub const MAX_DELAY: Span = Span::from_secs(10);

    /// Checks the settings.
    ///
    /// # Errors
    /// The first error found.
    pub fn check(&self) -> Result<(), ReceiverError> {
        match self.window {
            Some(WindowLaw::Fixed(limit) | WindowLaw::ShareOf(limit)) => check_window(limit)?,
            Some(WindowLaw::Target(target)) => check_time(target)?,
            None => {}
        }
        if let Some(DelayLaw::Fixed(time) | DelayLaw::Target(time)) = self.delay {
            check_time(time)?;
        }
        match (self.window, self.delay) {
            (None, None) => Err(ReceiverError::Nothing),
            (Some(WindowLaw::Target(_)), Some(DelayLaw::Target(_))) => Err(ReceiverError::TwoTargets),
            _ => Ok(()),
        }
    }
}

/// Whether a window or a buffer of this size is allowed.
const fn check_window(limit: Limit) -> Result<(), ReceiverError> {
    const FULL_SIZE: Bytes = Bytes(1460);
    let fits = match limit {
        Limit::Packets(packets) => packets <= ReceiverConfig::MAX_SEGMENTS,
        Limit::Bytes(bytes) => bytes.0 <= ReceiverConfig::MAX_WINDOW.0,
        Limit::Unlimited => false,
    };
    if fits && limit.admits(0, Bytes::ZERO, FULL_SIZE) { Ok(()) } else { Err(ReceiverError::Window(limit)) }
}

fn check_time(time: Span) -> Result<(), ReceiverError> {
    if time > Span::ZERO && time <= ReceiverConfig::MAX_DELAY { Ok(()) } else { Err(ReceiverError::Time(time)) }
}

impl fmt::Display for ReceiverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("control at the receiver has no law: it needs a window or a delay"),
            Self::Window(limit) => {
                write!(f, "a window of {limit:?}: it must have room for 1460 bytes, and TCP can tell none above 1 GiB")
            }
            Self::Time(time) => {
                write!(
                    f,
                    "{time} to hold ACKs, or to aim at: it must be above 0 and at most {}",
                    ReceiverConfig::MAX_DELAY
                )
            }
            Self::TwoTargets => f.write_str("window and delay both have a target: one of the two can steer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_settings_are_refused() {
        let none = ReceiverConfig { window: None, delay: None, uploads: false };
        let window = |law| ReceiverConfig { window: Some(law), ..none };
        let delay = |law| ReceiverConfig { delay: Some(law), ..none };
        let second = Span::from_secs(1);
        assert_eq!(none.check(), Err(ReceiverError::Nothing));
        for right in [
            window(WindowLaw::Fixed(Limit::Packets(1))),
            window(WindowLaw::Fixed(Limit::Bytes(Bytes(1460)))),
            window(WindowLaw::ShareOf(Limit::Packets(100))),
            window(WindowLaw::Target(second)),
            delay(DelayLaw::Fixed(second)),
            ReceiverConfig { delay: Some(DelayLaw::Fixed(second)), ..window(WindowLaw::Target(second)) },
        ] {
            assert_eq!(right.check(), Ok(()), "{right:?}");
        }
        for limit in [
            Limit::Packets(0),
            Limit::Bytes(Bytes(1459)),
            Limit::Unlimited,
            Limit::Packets(u32::MAX),
            Limit::Bytes(Bytes(1 << 40)),
        ] {
            assert_eq!(window(WindowLaw::Fixed(limit)).check(), Err(ReceiverError::Window(limit)));
            assert_eq!(window(WindowLaw::ShareOf(limit)).check(), Err(ReceiverError::Window(limit)));
        }
        for time in [Span::ZERO, Span::from_secs(11)] {
            assert_eq!(window(WindowLaw::Target(time)).check(), Err(ReceiverError::Time(time)));
            assert_eq!(delay(DelayLaw::Fixed(time)).check(), Err(ReceiverError::Time(time)));
        }
        let both = ReceiverConfig { delay: Some(DelayLaw::Target(second)), ..window(WindowLaw::Target(second)) };
        assert_eq!(both.check(), Err(ReceiverError::TwoTargets));
    }
}
