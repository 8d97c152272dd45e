//! The warning about settings that do not fit access points that aggregate.

use std::fmt;

use evenair_manager::Config;

/// A service rate or a queue discipline, which release single packets, is configured for access points of 802.11n or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenAggregates;

impl BrokenAggregates {
    /// The problem.
    pub const FOUND: &str = "a service rate or a queue discipline in the box breaks up the aggregates of access points of 802.11n and \
                             later, which then may carry less than half";
    /// The remedy.
    pub const MEND: &str = "use the default: no [manager.controller] and no [manager.queue]";

    /// The warning, if it applies to a configuration.
    pub fn of(config: &Config) -> Option<Self> {
        config.breaks_aggregates().then_some(Self)
    }
}

impl fmt::Display for BrokenAggregates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", Self::FOUND, Self::MEND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_manager::Controller;
    use evenair_manager::controller::{Pi, Published};
    use evenair_units::BitRate;
    use evenair_wifi::{Phy, Standard};

    #[test]
    fn service_rates_break_aggregates_and_the_default_does_not() {
        let breaks = |standard, controller| {
            BrokenAggregates::of(&Config { controller, ..Config::new(Phy::default_for(standard)) }).is_some()
        };
        for standard in [Standard::Dot11n, Standard::Dot11ac, Standard::Dot11ax] {
            assert!(!breaks(standard, Controller::default()) && !breaks(standard, Controller::None), "{standard}");
            for controller in
                [Published::default().into(), Pi::default().into(), Controller::Fixed(BitRate::from_mbps(20))]
            {
                assert!(breaks(standard, controller), "{standard}: {controller:?}");
                assert!(!breaks(Standard::Dot11g, controller), "{controller:?}");
            }
        }
    }
}
