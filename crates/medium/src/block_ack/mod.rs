//! Immediate block acknowledgement (IEEE Std 802.11-2020, 10.25): what the two ends of an agreement know of the MPDUs
//! between them.
//!
//! There is one agreement for each sender's access category and receiver, and it stands from the first frame on: the
//! exchange of ADDBA frames is left out. Both ends count sequence numbers without bound; on the air they are modulo 4096,
//! and no window is that large.
//!
//! Neither end knows the medium, or any clock but `now`.

mod originator;
mod recipient;

#[cfg(test)]
mod tests;

pub(crate) use self::originator::{Completion, Load, Originator};
pub(crate) use self::recipient::Recipient;
