//! The published seconds, for the threads of clients.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use evenair_api::watch::{Content, History, Line, MOST_FLOWS, Part};
use evenair_api::{FlowStatus, Json, Mode};

use super::events::Log;
use super::request::Parts;
use super::rings::{Range, Rings, Whose};

/// Published seconds.
#[derive(Debug, Default)]
pub(super) struct Feed {
    state: Mutex<State>,
    /// Notified when a second was published, or the box ends.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The last second with all parts except events; `None`: no second yet.
    line: Option<Line>,
    flows: Vec<FlowStatus>,
    rings: Rings,
    log: Log,
    /// Lines of this second that were requested by a client.
    written: Vec<(Key, Arc<[u8]>)>,
    ended: bool,
}

/// What distinguishes the lines of a second: the parts, and the number of the first event, if events are among them.
type Key = (Parts, Option<Option<u64>>);

/// A line for a client.
pub(super) struct Written {
    /// Its bytes, with the end of the line.
    pub(super) bytes: Arc<[u8]>,
    /// Number of the first event after the line.
    pub(super) next_event: u64,
}

impl Feed {
    fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a second, with the next number.
    pub(super) fn publish(&self, line: Line, mode: Mode, flows: Vec<FlowStatus>) {
        let mut state = self.state();
        let seq = state.line.as_ref().map_or(0, |last| last.seq + 1);
        state.rings.add(&line, mode);
        state.line = Some(Line { seq, ..line });
        state.flows = flows;
        state.written.clear();
        drop(state);
        self.changed.notify_all();
    }

    /// Changes the log of events.
    pub(super) fn log(&self, change: impl FnOnce(&mut Log)) {
        change(&mut self.state().log);
    }

    /// Notes that no further second will come.
    pub(super) fn end(&self) {
        self.state().ended = true;
        self.changed.notify_all();
    }

    /// Waits until this instant. Returns whether the box has ended.
    pub(super) fn has_ended_by(&self, then: Instant) -> bool {
        let mut state = self.state();
        loop {
            let left = then.saturating_duration_since(Instant::now());
            if state.ended || left.is_zero() {
                return state.ended;
            }
            state =
                self.changed.wait_timeout(state, left).map_or_else(|error| error.into_inner().0, |(state, _)| state);
        }
    }

    /// Waits for the first second after the one with this number, and returns its number; `None`: the box has ended.
    pub(super) fn wait(&self, after: Option<u64>) -> Option<u64> {
        let mut state = self.state();
        loop {
            if state.ended {
                return None;
            }
            let seq = state.line.as_ref().map(|line| line.seq);
            if seq > after {
                return seq;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The line of the last second with these parts, and with the events from this number on (`None`: the last ones). It
    /// is serialised once for all clients that want the same.
    pub(super) fn line(&self, parts: Parts, events: Option<u64>) -> Option<Written> {
        let mut state = self.state();
        let next_event = state.log.next();
        let key = (parts, parts.has(Part::Events).then_some(events));
        if let Some((_, bytes)) = state.written.iter().find(|(written, _)| *written == key) {
            return Some(Written { bytes: Arc::clone(bytes), next_event });
        }
        let line = selected(state.line.as_ref()?, parts);
        let events = key.1.map(|events| state.log.since(events));
        let bytes: Arc<[u8]> = as_line(&Line { events, ..line }).into();
        state.written.push((key, Arc::clone(&bytes)));
        Some(Written { bytes, next_event })
    }

    /// Points of the past.
    ///
    /// # Errors
    /// There is no such domain or station.
    pub(super) fn history(&self, whose: &Whose, range: Range) -> Result<History, String> {
        self.state().rings.history(whose, range)
    }

    /// Flows of a station, by its MAC address.
    pub(super) fn flows_of(&self, mac: &str) -> Content {
        let state = self.state();
        Content::Flows(state.flows.iter().filter(|flow| flow.station == mac).take(MOST_FLOWS).cloned().collect())
    }
}

fn selected(line: &Line, parts: Parts) -> Line {
    fn part<T: Clone>(wanted: bool, part: &Option<T>) -> Option<T> {
        part.as_ref().filter(|_| wanted).cloned()
    }
    Line {
        health: part(parts.has(Part::Health), &line.health),
        totals: part(parts.has(Part::Totals), &line.totals),
        domains: part(parts.has(Part::Domains), &line.domains),
        access_points: part(parts.has(Part::AccessPoints), &line.access_points),
        stations: part(parts.has(Part::Stations), &line.stations),
        classes: part(parts.has(Part::Classes), &line.classes),
        calls: part(parts.has(Part::Calls), &line.calls),
        events: None,
        histograms: part(parts.has(Part::Histograms), &line.histograms),
        ..*line
    }
}

/// A value as JSON with a line end.
pub(super) fn as_line(value: &impl Json) -> Vec<u8> {
    let mut bytes = value.to_json().into_bytes();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use evenair_api::history::Event;
    use evenair_api::watch::Totals;
    use evenair_live::events::Happened;

    use super::super::request::{Wanted, parse};
    use super::*;

    fn parts(words: &str) -> Parts {
        let Ok(Wanted::Lines(parts, _)) = parse(format!(r#"{{"watch":{words}}}"#).as_bytes()) else {
            panic!("{words}")
        };
        parts
    }

    fn ports() -> Happened {
        Happened::OfBox(Event::Ports { text: "wl0 has gone".into() })
    }

    fn publish(feed: &Feed) {
        let line = Line { totals: Some(Totals::default()), domains: Some(vec![]), ..Line::default() };
        feed.publish(line, Mode::Inserted, vec![]);
    }

    fn read(feed: &Feed, parts: Parts, events: Option<u64>) -> (Line, Written) {
        let written = feed.line(parts, events).expect("published");
        (Line::from_json(&written.bytes).expect("a line"), written)
    }

    #[test]
    fn a_line_has_the_requested_parts_and_is_serialised_once() {
        let feed = Feed::default();
        assert!(feed.line(parts("[\"totals\"]"), None).is_none(), "nothing yet");
        publish(&feed);
        let (line, first) = read(&feed, parts("[\"totals\",\"health\"]"), None);
        assert!(line.totals.is_some() && line.domains.is_none() && line.events.is_none());
        // Without events their number makes no difference.
        let (_, second) = read(&feed, parts("[\"health\",\"totals\"]"), Some(0));
        assert!(Arc::ptr_eq(&first.bytes, &second.bytes));
        publish(&feed);
        assert_eq!((read(&feed, parts("[\"totals\"]"), None).0.seq, feed.wait(Some(0))), (1, Some(1)));
    }

    #[test]
    fn events_are_those_since_the_previous_line() {
        let feed = Feed::default();
        feed.log(|log| log.note(SystemTime::UNIX_EPOCH, &ports()));
        publish(&feed);
        let events = parts("[\"events\"]");
        let (line, first) = read(&feed, events, None);
        assert_eq!(line.events.expect("asked for").len(), 1);
        let (line, _) = read(&feed, events, Some(first.next_event));
        assert_eq!(line.events.expect("asked for"), []);
        feed.log(|log| (0..3).for_each(|_| log.note(SystemTime::UNIX_EPOCH, &ports())));
        publish(&feed);
        assert_eq!(read(&feed, events, Some(first.next_event)).0.events.expect("asked for").len(), 3);
    }

    #[test]
    fn the_end_wakes_all_waiting_clients() {
        let feed = Feed::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| feed.wait(None));
            feed.end();
            assert_eq!(waits.join().expect("woken"), None);
        });
        assert!(feed.has_ended_by(Instant::now() + std::time::Duration::from_secs(600)));
    }
}
