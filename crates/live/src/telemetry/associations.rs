//! Chooses between sources that report a station at different access points.
//!
//! A roaming station stays in the list of its old access point for a while, with its old rates and signal: with hostapd for
//! five minutes. If several sources list a station, the source that heard it last is used, if both report that; otherwise
//! the one that began to list it last. Other reports of the station are outdated, and ignored until that source hears the
//! station again, or no other source lists it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant as Clock};

use evenair_manager::{Label, Place};
use evenair_packet::MacAddr;
use evenair_telemetry::{Reading, StationReading};

/// Difference by which two sources' times of one frame may differ: each counts milliseconds of its own, and replies
/// after a while.
const LEEWAY: Duration = Duration::from_secs(1);

/// A source's entry of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    place: Option<Place>,
    /// When the station was last heard there.
    heard: Option<Clock>,
}

impl Entry {
    /// Whether the station was heard clearly later than in the other entry.
    fn is_later_than(self, other: Self) -> bool {
        matches!((self.heard, other.heard), (Some(here), Some(there)) if here > there + LEEWAY)
    }
}

/// The last report of each source.
#[derive(Debug, Default)]
pub(super) struct Associations {
    by_source: BTreeMap<u16, BTreeMap<MacAddr, Entry>>,
    chosen: BTreeMap<MacAddr, u16>,
}

/// Changes that follow from a report.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Access points of stations.
    pub(super) associations: Vec<(MacAddr, Place)>,
    /// Stations in the report that have moved elsewhere.
    pub(super) gone: BTreeSet<MacAddr>,
}

impl Associations {
    /// Handles the reply to a query at `asked`. `own`: the access point that the source is, by configuration. A
    /// station's own entry has precedence over it, and the queried radio comes last; a channel is used with either.
    pub(super) fn take(&mut self, source: u16, own: Option<Label>, asked: Clock, reading: &Reading) -> Changes {
        let entry = |station: &StationReading| {
            let mhz = station.channel_mhz.or(reading.channel_mhz);
            let at = |radio| mhz.map_or(Place::Radio(radio), |mhz| Place::Tuned { radio, mhz });
            let place = station.access_point.map(at).or(own.map(Place::Named));
            let heard = station.idle.and_then(|idle| asked.checked_sub(idle));
            (station.mac, Entry { place: place.or(reading.radio.map(at)), heard })
        };
        let now: BTreeMap<MacAddr, Entry> = reading.stations.iter().map(entry).collect();
        let before = self.by_source.insert(source, now.clone()).unwrap_or_default();
        let mut changes = Changes::default();
        for (&mac, &entry) in &now {
            let begun = before.get(&mac).is_none_or(|before| before.place != entry.place);
            let elsewhere = self.elsewhere(source, mac);
            if let Some(other) = elsewhere
                && !entry.is_later_than(other)
                && (!begun || other.is_later_than(entry))
            {
                if other.place != entry.place && other.place.is_some() && entry.place.is_some() {
                    changes.gone.insert(mac);
                }
                continue;
            }
            self.chosen.insert(mac, source);
            changes.associations.extend(entry.place.map(|place| (mac, place)));
        }
        for &mac in before.keys().filter(|mac| !now.contains_key(mac)) {
            if self.chosen.get(&mac) == Some(&source) {
                self.chosen.remove(&mac);
                let place = self.last_source_that_heard(mac);
                changes.associations.extend(place.map(|place| (mac, place)));
            }
        }
        changes
    }

    /// The entry of another source that was chosen for a station.
    fn elsewhere(&self, source: u16, mac: MacAddr) -> Option<Entry> {
        let chosen = self.chosen.get(&mac).filter(|&&chosen| chosen != source)?;
        self.by_source.get(chosen)?.get(&mac).copied()
    }

    /// Chooses another source for a station that the former one no longer lists.
    fn last_source_that_heard(&mut self, mac: MacAddr) -> Option<Place> {
        let entries = self.by_source.iter().filter_map(|(&source, entries)| Some((source, *entries.get(&mac)?)));
        let (source, entry) = entries.max_by_key(|(_, entry)| entry.heard)?;
        self.chosen.insert(mac, source);
        entry.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    fn at(radio: Option<u8>) -> Reading {
        let access_point = radio.map(|last| MacAddr([2, 0, 0, 0, 9, last]));
        Reading {
            stations: vec![StationReading { access_point, ..StationReading::new(STATION) }],
            ..Reading::default()
        }
    }

    fn label(text: &str) -> Label {
        text.parse().expect("short")
    }

    fn is_at(text: &str) -> Changes {
        Changes { associations: vec![(STATION, Place::Named(label(text)))], ..Changes::default() }
    }

    fn gone() -> Changes {
        Changes { gone: [STATION].into(), ..Changes::default() }
    }

    #[test]
    fn the_source_that_began_last_to_list_a_station_is_chosen() {
        let mut associations = Associations::default();
        let (one, two, now) = (Some(label("one")), Some(label("two")), Clock::now());
        let empty = Reading::default();
        assert_eq!(associations.take(0, one, now, &at(None)), is_at("one"));
        assert_eq!(associations.take(1, two, now, &empty), Changes::default());
        assert_eq!(associations.take(0, one, now, &at(None)), is_at("one"), "no other source reports it");
        assert_eq!(associations.take(1, two, now, &at(None)), is_at("two"), "it has come here");
        assert_eq!(associations.take(0, one, now, &at(None)), gone(), "the old one has not noticed");
        assert_eq!(associations.take(1, two, now, &at(None)), is_at("two"));
        assert_eq!(associations.take(0, one, now, &empty), Changes::default(), "now it has");
        assert_eq!(associations.take(0, one, now, &at(None)), is_at("one"), "it is back");
        assert_eq!(associations.take(0, one, now, &empty), is_at("two"), "and has gone again");
        assert_eq!(
            associations.take(1, two, now, &empty),
            Changes::default(),
            "it is nowhere: there is nothing to tell"
        );
        assert!(associations.chosen.is_empty());
    }

    #[test]
    fn the_source_that_heard_a_station_last_is_chosen() {
        let mut associations = Associations::default();
        let (one, two, start) = (Some(label("one")), Some(label("two")), Clock::now());
        // Queried at `at_s` seconds, the station was heard `idle_s` seconds before.
        let mut ask = |source: u16, own, at_s, idle_s| {
            let mut reading = at(None);
            reading.stations[0].idle = Some(Duration::from_secs(idle_s));
            associations.take(source, own, start + Duration::from_secs(at_s), &reading)
        };
        // The box starts when the station has been at the second access point for a while, and the first still lists it.
        assert_eq!(ask(0, one, 200, 100), is_at("one"), "no other source was polled");
        assert_eq!(ask(1, two, 201, 3), is_at("two"));
        assert_eq!(ask(0, one, 205, 105), gone());
        assert_eq!(ask(1, two, 206, 0), is_at("two"));
        // It goes back; neither source has ever removed it from its list.
        assert_eq!(ask(0, one, 210, 1), is_at("one"));
        assert_eq!(ask(1, two, 211, 5), gone());
        // It is silent: no source hears it, and its access point does not change.
        assert_eq!(ask(0, one, 300, 91), is_at("one"));
        assert_eq!(ask(1, two, 301, 95), gone());
    }

    #[test]
    fn a_late_source_with_an_old_entry_is_not_chosen() {
        let mut associations = Associations::default();
        let (one, two, start) = (Some(label("one")), Some(label("two")), Clock::now() + Duration::from_secs(200));
        let heard = |idle_s| {
            let mut reading = at(None);
            reading.stations[0].idle = Some(Duration::from_secs(idle_s));
            reading
        };
        assert_eq!(associations.take(0, one, start, &heard(0)), is_at("one"));
        assert_eq!(associations.take(1, two, start, &heard(100)), gone());
    }

    #[test]
    fn a_stations_own_entry_has_precedence_over_the_queried_source() {
        let (mut associations, now) = (Associations::default(), Clock::now());
        let radio = |last| vec![(STATION, Place::Radio(MacAddr([2, 0, 0, 0, 9, last])))];
        assert_eq!(associations.take(0, Some(label("one")), now, &at(Some(1))).associations, radio(1));
        assert_eq!(associations.take(0, None, now, &at(Some(2))).associations, radio(2));
        assert_eq!(associations.take(0, None, now, &at(None)).associations, [], "no source reports its place");
        // The queried radio, unless the configuration has a name for it.
        let asked = Reading { radio: Some(MacAddr([2, 0, 0, 0, 9, 3])), ..at(None) };
        assert_eq!(associations.take(0, None, now, &asked).associations, radio(3));
        assert_eq!(associations.take(0, Some(label("one")), now, &asked), is_at("one"));
    }

    #[test]
    fn a_channel_is_used_with_the_radio() {
        let (mut associations, now) = (Associations::default(), Clock::now());
        let tuned = |mhz| vec![(STATION, Place::Tuned { radio: MacAddr([2, 0, 0, 0, 9, 1]), mhz })];
        let mut reading = at(Some(1));
        reading.stations[0].channel_mhz = Some(2_437);
        assert_eq!(associations.take(0, None, now, &reading).associations, tuned(2_437));
        let asked = Reading { radio: Some(MacAddr([2, 0, 0, 0, 9, 1])), channel_mhz: Some(5_180), ..at(None) };
        assert_eq!(associations.take(0, None, now, &asked).associations, tuned(5_180), "it has changed its channel");
        assert_eq!(
            associations.take(0, Some(label("one")), now, &asked),
            is_at("one"),
            "one that is known by its name"
        );
    }

    #[test]
    fn two_sources_that_agree_are_both_used() {
        let (mut associations, one, now) = (Associations::default(), Some(label("one")), Clock::now());
        assert_eq!(associations.take(0, one, now, &at(None)), is_at("one"));
        assert_eq!(associations.take(1, one, now, &at(None)), is_at("one"));
        assert_eq!(associations.take(0, one, now, &at(None)), Changes::default());
        assert_eq!(associations.take(2, None, now, &at(None)).gone, BTreeSet::new(), "one that does not know where");
    }
}
