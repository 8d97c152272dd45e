//! Mechanisms of the default controller that an experiment leaves out, to see what each is good for.
//!
//! A manager reads them when it is made. No key of a box or a scenario sets them; a program that makes a [`Config`](crate::Config)
//! itself may. Nothing is written into a recording where none is left out.
//!
//! Not here: what is done without a mechanism, which is beside the mechanism.

use minicbor::decode::{Decoder, Error};
use minicbor::encode::{self, Encoder, Write};
use minicbor::{Decode, Encode};

/// A mechanism of the default controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Runs of one station before access points that aggregate. Without it each run is of one packet.
    Runs,
    /// The cost of each station, measured by completions. Without it only the domain's mean cost is measured, and stations differ as
    /// their rates say.
    Cost,
    /// What the lag of the path allows in flight beyond the target. Without it nothing is allowed, and nothing is drained.
    Lag,
    /// What the age of the last completion says while one is due. Without it nothing leaves by time for a second without news.
    Age,
    /// Probes. Without it none are sent.
    Probes,
    /// `CoDel`'s target by the length of a round of all queues. Without it the target is the configured one.
    Rounds,
    /// Weights by attained service. Without it all flows of a station weigh the same.
    Attained,
    /// Sparse-flow priority. Without it each queue has its turn only.
    Sparse,
    /// The guard against harm. Without it nothing is tested, and the box is never bypassed.
    Guard,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Runs,
        Self::Cost,
        Self::Lag,
        Self::Age,
        Self::Probes,
        Self::Rounds,
        Self::Attained,
        Self::Sparse,
        Self::Guard,
    ];

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// Mechanisms that are left out; by default none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without(u16);

impl Without {
    /// The whole controller.
    pub const NOTHING: Self = Self(0);

    /// Without this one, too.
    #[must_use]
    pub const fn and(self, mechanism: Mechanism) -> Self {
        Self(self.0 | mechanism.bit())
    }

    /// Whether this one is left out.
    pub const fn has(self, mechanism: Mechanism) -> bool {
        self.0 & mechanism.bit() != 0
    }
}

impl<C> Encode<C> for Without {
    fn encode<W: Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        e.u16(self.0)?.ok()
    }

    /// The whole controller takes no bytes in a map.
    fn is_nil(&self) -> bool {
        *self == Self::NOTHING
    }
}

impl<'b, C> Decode<'b, C> for Without {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, Error> {
        let bits = d.u16()?;
        let known = Mechanism::ALL.into_iter().fold(Self::NOTHING, Self::and);
        if bits & !known.0 == 0 { Ok(Self(bits)) } else { Err(Error::message("a mechanism that is not known")) }
    }

    fn nil() -> Option<Self> {
        Some(Self::NOTHING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mechanism_is_left_out_alone() {
        for mechanism in Mechanism::ALL {
            let without = Without::NOTHING.and(mechanism);
            assert!(!Without::NOTHING.has(mechanism));
            assert!(Mechanism::ALL.into_iter().all(|other| without.has(other) == (other == mechanism)));
        }
    }

    #[test]
    fn a_mechanism_of_a_later_build_is_refused() {
        let bytes = minicbor::to_vec(1_u16 << 15).expect("into memory");
        assert!(minicbor::decode::<Without>(&bytes).is_err());
    }
}
