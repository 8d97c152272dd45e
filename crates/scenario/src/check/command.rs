//! Commands to a running simulation: an event of the file without its time, checked as the file's own events are.

use std::collections::BTreeMap;

use evenair_reader::{self as reader, ConfigError, Problems};
use evenair_units::Span;

use super::hosts::{self, Hosts};
use super::timeline::EventChecker;
use super::{access_points, radio};
use crate::raw::EventRaw;
use crate::{Event, Scenario};

/// Name of a command's text in error messages.
const FILE: &str = "command";

impl Scenario {
    /// The events, at `at`, of a command to a run of this scenario. `text` has the keys of an `[[event]]` except `at`: `do = "rate"`,
    /// `stations = ["near"]`, `rate = "6 Mb/s"`, one per line. `happened` is the number of the scenario's events that have happened; the
    /// others follow these.
    ///
    /// # Errors
    /// The errors of the event in the scenario's file; the remaining events of the scenario must stay possible.
    pub fn command(&self, at: Span, happened: usize, text: &str) -> Result<Vec<Event>, ConfigError> {
        let time = format!("{} ns", at.as_nanos());
        let (raw, document, mut problems) = reader::read::<EventRaw>(text, FILE, &[("at", &time)])?;
        if let Some(place) = reader::Document::of(text, FILE)?.place_of("at") {
            problems.add(place, "a command is carried out at once", "no such key");
        }
        let site = Site::of(self);
        let events = site.checker(self.duration).check_command(&raw, self, happened, &mut problems);
        document.verdict(problems)?;
        Ok(events)
    }

    /// Whether each station is present at the start.
    pub(super) fn present_at_start(&self) -> BTreeMap<usize, bool> {
        let stations = (0..self.hosts.len()).filter(|&host| self.hosts[host].place.is_station());
        stations.map(|host| (host, self.is_present(host, Span::ZERO))).collect()
    }
}

/// Resolves the names in an event.
struct Site {
    access_points: Vec<crate::AccessPoint>,
    rates: super::rates::Rates,
    hosts: Hosts,
}

impl Site {
    /// The site of a valid scenario, from its text.
    fn of(scenario: &Scenario) -> Self {
        let (raw, mut problems) = (scenario.raw(), Problems::default());
        let standard = scenario.radio.phy.standard();
        let (_, rates) = radio::check(&raw, standard, &mut problems);
        let access_points = access_points::check(&raw, standard, &mut problems);
        let hosts = hosts::check(&raw, &access_points, &rates, &mut problems);
        Self { access_points, rates, hosts }
    }

    fn checker(&self, duration: Span) -> EventChecker<'_> {
        let Self { access_points, rates, hosts } = self;
        EventChecker { hosts, access_points, rates, duration }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Action;

    const TEXT: &str = "version = 1\nname = \"commanded\"\nduration = \"10 s\"\nradio = { standard = \"802.11g\" }\n\
        station = [{ name = \"near\", rate = \"54 Mb/s\" }, { name = \"far\", rate = \"6 Mb/s\", count = 2 }, \
        { name = \"late\", rate = \"6 Mb/s\" }]\n\
        server = [{ name = \"server\" }]\n\
        ping = [{ name = \"ping\", stations = [\"near\"], server = \"server\", interval = \"1 s\" }]\n\
        event = [{ at = \"4 s\", do = \"join\", stations = [\"late\"] }, { at = \"6 s\", do = \"insert\" }]\n";

    fn scenario() -> Scenario {
        Scenario::parse(TEXT, "commanded.toml").unwrap_or_else(|error| panic!("{error}"))
    }

    fn command(at: Span, text: &str) -> Result<Vec<Event>, ConfigError> {
        let scenario = scenario();
        scenario.command(at, scenario.events.partition_point(|event| event.at < at), text)
    }

    fn refusal(at: Span, text: &str) -> String {
        command(at, text).expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_command_equals_the_same_event_in_a_file() {
        for event in [
            "do = \"rate\"\nstations = [\"near\", \"far\"]\nrate = \"12 Mb/s\"",
            "do = \"leave\"\nstations = [\"far\"]",
            "do = \"bypass\"",
        ] {
            let at = Span::from_secs(7);
            let inline = format!("{{ at = \"7 s\", {} }}", event.replace('\n', ", "));
            let text = TEXT.replace("do = \"insert\" }]", &format!("do = \"insert\" }}, {inline}]"));
            let file = Scenario::parse(&text, "commanded.toml").unwrap_or_else(|error| panic!("{error}"));
            let expected: Vec<_> = file.events.into_iter().filter(|event| event.at == at).collect();
            assert_eq!(command(at, event).unwrap_or_else(|error| panic!("{error}")), expected);
        }
    }

    #[test]
    fn a_command_precedes_the_remaining_events() {
        let (scenario, at) = (scenario(), Span::from_secs(4));
        let leave = "do = \"leave\"\nstations = [\"late\"]";
        let early = scenario.command(at, 0, leave).expect_err("it has not come").to_string();
        assert!(early.contains("has left already"), "{early}");
        let events = scenario.command(at, 1, leave).expect("it is there");
        assert!(matches!(events[..], [Event { action: Action::Leave(_), .. }]), "{events:?}");
    }

    #[test]
    fn a_wrong_command_is_refused_with_the_error_of_a_file() {
        let second = Span::from_secs(1);
        let unknown = refusal(second, "do = \"leave\"\nstations = [\"neer\"]");
        assert!(unknown.contains("command:2:") && unknown.contains("near"), "{unknown}");
        assert!(refusal(second, "do = \"rate\"\nstations = [\"near\"]").contains("rate"));
        assert!(refusal(second, "do = \"rate\"\nstations = [\"near\"]\nrate = \"7 Mb/s\"").contains("7 Mb/s"));
        assert!(refusal(second, "do = \"dance\"").contains("insert"));
        assert!(refusal(second, "do = \"insert\"\nstations = [\"near\"]").contains("stations"));
        assert!(refusal(second, "at = \"2 s\"\ndo = \"insert\"").contains("a command is carried out at once"));
        assert!(refusal(second, "do = ").contains("not TOML"));
    }

    #[test]
    fn a_command_is_checked_against_earlier_and_later_events() {
        let second = Span::from_secs(1);
        let there = refusal(second, "do = \"join\"\nstations = [\"near\"]");
        assert!(there.contains("station \"near\" is there already"), "{there}");
        let absent = refusal(second, "do = \"leave\"\nstations = [\"late\"]");
        assert!(absent.contains("station \"late\" has left already"), "{absent}");
        // An event inserts the box at 6 s.
        assert!(refusal(second, "do = \"insert\"").contains("at 6 s the box is inserted already"));
        assert!(refusal(Span::from_secs(8), "do = \"insert\"").contains("inserted already"));
        assert!(refusal(second, "do = \"bypass\"").contains("bypassed already"));
        assert!(refusal(Span::from_secs(10), "do = \"bypass\"").contains("before the run's end"));
    }
}
