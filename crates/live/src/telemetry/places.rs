//! Where sources say that stations are.
//!
//! A station that roams is listed by its old access point for as long as that takes to notice, minutes maybe. So where
//! several sources list a station, the one that has begun to is believed, and those that go on are not heard again until
//! they are the only one.

use std::collections::BTreeMap;

use evenair_manager::{Label, Place};
use evenair_packet::MacAddr;
use evenair_telemetry::{Reading, StationReading};

/// What each source said last.
#[derive(Debug, Default)]
pub(super) struct Places {
    by_source: BTreeMap<u16, BTreeMap<MacAddr, Place>>,
}

impl Places {
    /// What is new in an answer, or said by this source alone. `own` is the access point that the source is, as the
    /// configuration says; what a station's entry says goes before.
    pub(super) fn news(&mut self, source: u16, own: Option<Label>, reading: &Reading) -> Vec<(MacAddr, Place)> {
        let place = |station: &StationReading| {
            let place = station.access_point.map(Place::Radio).or(own.map(Place::Named))?;
            Some((station.mac, place))
        };
        let now: BTreeMap<MacAddr, Place> = reading.stations.iter().filter_map(place).collect();
        let before = self.by_source.insert(source, now.clone()).unwrap_or_default();
        let others = |mac: &MacAddr| {
            self.by_source.iter().filter(|(other, _)| **other != source).find_map(|(_, places)| places.get(mac))
        };
        let left = before.keys().filter(|mac| !now.contains_key(mac)).filter_map(|mac| Some((*mac, *others(mac)?)));
        let come = now.iter().filter(|(mac, place)| before.get(mac) != Some(place) || others(mac).is_none());
        left.chain(come.map(|(mac, place)| (*mac, *place))).collect()
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

    #[test]
    fn the_one_that_has_begun_to_list_a_station_is_believed() {
        let mut places = Places::default();
        let label = |text: &str| Some(text.parse::<Label>().expect("short"));
        let (one, two) = (label("one"), label("two"));
        let (in_one, in_two) =
            (vec![(STATION, Place::Named(one.unwrap()))], vec![(STATION, Place::Named(two.unwrap()))]);
        let nobody = Reading::default();
        assert_eq!(places.news(0, one, &at(None)), in_one);
        assert_eq!(places.news(1, two, &nobody), []);
        assert_eq!(places.news(0, one, &at(None)), in_one, "nobody else says anything");
        assert_eq!(places.news(1, two, &at(None)), in_two, "it has come here");
        assert_eq!(places.news(0, one, &at(None)), [], "the old one has not noticed");
        assert_eq!(places.news(1, two, &at(None)), []);
        assert_eq!(places.news(0, one, &nobody), in_two, "now it has");
        assert_eq!(places.news(1, two, &at(None)), in_two);
        assert_eq!(places.news(1, two, &nobody), [], "it is nowhere: there is nothing to tell");
    }

    #[test]
    fn a_station_s_own_entry_goes_before_who_is_asked() {
        let mut places = Places::default();
        let radio = |last| vec![(STATION, Place::Radio(MacAddr([2, 0, 0, 0, 9, last])))];
        assert_eq!(places.news(0, "one".parse().ok(), &at(Some(1))), radio(1));
        assert_eq!(places.news(0, None, &at(Some(2))), radio(2));
        assert_eq!(places.news(0, None, &at(None)), [], "nobody knows where it is");
    }
}
