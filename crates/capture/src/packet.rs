//! The packet that both formats produce.

use std::ops::Range;
use std::time::Duration;

use crate::Link;

/// A packet, with the position of its bytes in the input's record.
pub(crate) struct Packet {
    pub(crate) time: Option<Duration>,
    pub(crate) link: Link,
    pub(crate) bytes: Range<usize>,
    pub(crate) original_len: u32,
    pub(crate) fcs_len: Option<u8>,
}
