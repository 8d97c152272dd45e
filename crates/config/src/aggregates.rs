//! The warning about settings that do not fit access points that aggregate.

use std::fmt;

use evenair_manager::Config;

/// Packets are held for access points of 802.11n or later by a service rate or a queue discipline, which release single packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenAggregates;

impl BrokenAggregates {
    /// What is the matter.
    pub const FOUND: &str = "a service rate or a queue discipline in the box breaks up the aggregates of access points of 802.11n and \
                             later, which then may carry less than half";
    /// What to use instead.
    pub const MEND: &str = "use the default: no [manager.controller] and no [manager.queue]";

    /// The warning, if a configuration deserves it.
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
    use evenair_units::BitRate;
    use evenair_wifi::{Phy, Standard};

    #[test]
    fn service_rates_break_aggregates_and_the_default_does_not() {
        let breaks = |standard, controller| {
            BrokenAggregates::of(&Config { controller, ..Config::new(Phy::default_for(standard)) }).is_some()
        };
        for standard in [Standard::Dot11n, Standard::Dot11ac, Standard::Dot11ax] {
            assert!(!breaks(standard, Controller::default()) && !breaks(standard, Controller::None), "{standard}");
            for controller in [Controller::PUBLISHED, Controller::PI, Controller::Fixed(BitRate::from_mbps(20))] {
                assert!(breaks(standard, controller), "{standard}: {controller:?}");
                assert!(!breaks(Standard::Dot11g, controller), "{controller:?}");
            }
        }
    }
}
