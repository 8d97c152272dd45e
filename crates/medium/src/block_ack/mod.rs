//! Immediate block acknowledgement (IEEE Std 802.11-2020, 10.25): the state of originator and recipient.
//!
//! There is one agreement for each sender's access category and receiver, from the first frame on: the exchange of ADDBA
//! frames is left out. Both ends count sequence numbers without bound; on the air they are modulo 4096, which is more
//! than any window.
//!
//! Neither end uses the medium, or any clock but `now`.

mod originator;
mod recipient;

#[cfg(test)]
mod tests;

pub(crate) use self::originator::{Completion, Load, Originator};
pub(crate) use self::recipient::Recipient;
