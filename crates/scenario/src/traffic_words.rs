//! The string enums of applications in the scenario format.

use evenair_reader::words;

/// When things come that come again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrivalKind {
    Regular,
    Poisson,
}

/// Which connection a transfer has that follows another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    Persistent,
    Each,
}

/// Which directions of a call there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    Both,
    Up,
    Down,
}

/// Family of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Constant,
    Uniform,
    Exponential,
    Pareto,
    BoundedPareto,
    Lognormal,
    Empirical,
}

/// What makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallProgram {
    Builtin,
    Baresip,
}

words!(CallProgram { "builtin" => Self::Builtin, "baresip" => Self::Baresip });
words!(ArrivalKind { "regular" => Self::Regular, "poisson" => Self::Poisson });
words!(Reuse { "persistent" => Self::Persistent, "each" => Self::Each });
words!(Speech { "both" => Self::Both, "up" => Self::Up, "down" => Self::Down });
words!(Family {
    "constant" => Self::Constant,
    "uniform" => Self::Uniform,
    "exponential" => Self::Exponential,
    "pareto" => Self::Pareto,
    "bounded-pareto" => Self::BoundedPareto,
    "lognormal" => Self::Lognormal,
    "empirical" => Self::Empirical,
});
