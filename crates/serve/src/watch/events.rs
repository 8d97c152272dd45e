//! Events of the feed: the history's events, in the same words, except those about stations.
//!
//! They come through an [`evenair_live::events::FeedSink`], which the sampler empties once a second.

use std::collections::VecDeque;
use std::time::SystemTime;

use evenair_api::Mode;
use evenair_api::health::{Code, HealthStatus, Reason};
use evenair_api::history::Event as Recorded;
use evenair_api::watch::{Event, FIRST_EVENTS};
use evenair_live::events::Happened;

use crate::wall_clock::seconds;

/// Events kept, at most.
const KEPT: usize = 256;

/// The last events, numbered from the start of the box.
#[derive(Debug, Default)]
pub(super) struct Log {
    events: VecDeque<Event>,
    /// Number of the next event.
    next: u64,
}

impl Log {
    /// Number of the next event.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// The events from this number on; `None`: the last ones.
    pub(super) fn since(&self, number: Option<u64>) -> Vec<Event> {
        let wanted = number.map_or(FIRST_EVENTS, |number| usize::try_from(self.next - number).unwrap_or(KEPT));
        let skipped = self.events.len().saturating_sub(wanted);
        self.events.iter().skip(skipped).cloned().collect()
    }

    /// Notes an event. Draining is no event, but its result is.
    pub(super) fn note(&mut self, at: SystemTime, happened: &Happened) {
        let Some(event) = happened.event() else { return };
        let text = event.text();
        match event {
            Recorded::Mode { mode: Mode::Draining, .. } => {}
            Recorded::Mode { mode, .. } => self.add(at, mode.word(), text),
            Recorded::Start { .. } => {
                self.add(at, "start", format!("the box has started, version {}: {text}", env!("CARGO_PKG_VERSION")));
            }
            event => self.add(at, event.name(), text),
        }
    }

    /// Notes reasons that were raised or cleared in a second, one event for each code. Reasons that a change of mode to `new` has ended
    /// are one event together, since they are judged anew.
    pub(super) fn note_health(&mut self, at: SystemTime, before: &HealthStatus, now: &HealthStatus, new: Option<Mode>) {
        let gone = only_in(before, now);
        let (anew, cleared): (Vec<_>, Vec<_>) =
            gone.into_iter().partition(|(first, _)| new.is_some() && first.code.is_about_wifi());
        if let Some(mode) = new.filter(|_| !anew.is_empty()) {
            let codes: Vec<_> = anew.iter().map(|(first, _)| first.code.to_string()).collect();
            let what = match mode {
                Mode::Inserted => "judged anew after insert",
                Mode::Observing => "judged anew after observe",
                _ => "no longer judged",
            };
            self.add(at, "health", format!("{what}: {}", codes.join(", ")));
        }
        for (first, more) in cleared {
            let of = if first.subject.id.is_empty() { String::new() } else { format!(" of {}", first.subject.name) };
            self.add(at, "health", format!("cleared: {}{of}{more}", first.code));
        }
        for (first, more) in only_in(now, before) {
            self.add(at, "health", format!("raised: {}: {}{more}", first.code, first.sentence));
        }
    }

    fn add(&mut self, at: SystemTime, event: &str, text: String) {
        if self.events.len() == KEPT {
            self.events.pop_front();
        }
        self.events.push_back(Event { at: seconds(at), event: event.into(), text });
        self.next += 1;
    }
}

/// The first reason of each code that is not in `others`, and how many more there are.
fn only_in<'a>(these: &'a HealthStatus, others: &HealthStatus) -> Vec<(&'a Reason, String)> {
    let is_new = |reason: &&Reason| {
        !others.reasons.iter().any(|other| (other.code, &other.subject.id) == (reason.code, &reason.subject.id))
    };
    let of_code = |code: &Code| {
        let mut of_code = these.reasons.iter().filter(|reason| reason.code == *code).filter(is_new);
        let first = of_code.next()?;
        let more = match of_code.count() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        Some((first, more))
    };
    Code::ALL.iter().filter_map(of_code).collect()
}

#[cfg(test)]
mod tests {
    use evenair_api::ModeCommand;
    use evenair_api::history::Author;

    use super::*;

    fn ports() -> Happened {
        Happened::OfBox(Recorded::Ports { text: "wl0 has gone".into() })
    }

    #[test]
    fn mode_changes_and_reloads_name_their_author() {
        let anne = Some(Author::User { uid: 1000, name: Some("anne".into()) });
        let mode = |mode, by| Happened::OfBox(Recorded::Mode { mode, by });
        let start = Recorded::Start { mode: Mode::Bypassed, last_command: Some(ModeCommand::Insert), clean: true };
        let happened = [
            Happened::OfBox(start),
            mode(Mode::Inserted, anne.clone()),
            mode(Mode::Draining, None),
            mode(Mode::Bypassed, None),
            Happened::OfBox(Recorded::Reload { by: Some(Author::Signal) }),
        ];
        let mut log = Log::default();
        happened.iter().for_each(|happened| log.note(SystemTime::UNIX_EPOCH, happened));
        let texts: Vec<_> =
            log.since(Some(0)).into_iter().map(|event| format!("{}: {}", event.event, event.text)).collect();
        assert!(texts[0].starts_with("start: the box has started, version "), "{texts:?}");
        assert!(texts[0].ends_with(": bypassed, although the last command was insert, after a stop or a reboot"));
        assert_eq!(
            texts[1..],
            ["inserted: inserted by anne (uid 1000)", "bypassed: bypassed", "reload: reload by a signal"]
        );
    }

    #[test]
    fn reasons_are_events_when_they_are_raised_and_cleared() {
        let reason = |code, id: &str| {
            let mut reason = Reason { code, sentence: format!("{id} starves"), ..Reason::default() };
            (reason.subject.id, reason.subject.name) = (id.into(), id.into());
            reason
        };
        let of = |ids: &[&str]| HealthStatus::of(ids.iter().map(|id| reason(Code::Starving, id)).collect());
        let mut log = Log::default();
        let courses: [&[&str]; 5] = [&[], &["anne", "max", "eve"], &["anne", "max", "eve"], &["max", "eve"], &[]];
        courses.windows(2).for_each(|pair| log.note_health(SystemTime::UNIX_EPOCH, &of(pair[0]), &of(pair[1]), None));
        let texts: Vec<_> = log.since(Some(0)).into_iter().map(|event| event.text).collect();
        let expected = [
            "raised: starving: anne starves, and 2 more",
            "cleared: starving of anne",
            "cleared: starving of max, and 1 more",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn reasons_that_a_change_of_mode_ends_are_judged_anew() {
        let reason = |code| Reason { code, ..Reason::default() };
        let before = HealthStatus::of([Code::HoldsTheAir, Code::WifiLatency, Code::LostInBox].map(reason).into());
        let now = HealthStatus::of(vec![]);
        let mut log = Log::default();
        for mode in [Mode::Inserted, Mode::Bypassed] {
            log.note_health(SystemTime::UNIX_EPOCH, &before, &now, Some(mode));
        }
        let texts: Vec<_> = log.since(Some(0)).into_iter().map(|event| event.text).collect();
        let expected = [
            "judged anew after insert: holds-the-air, wifi-latency",
            "cleared: lost-in-box",
            "no longer judged: holds-the-air, wifi-latency",
            "cleared: lost-in-box",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn events_are_returned_from_a_number_on_and_memory_is_bounded() {
        let mut log = Log::default();
        (0..KEPT + 3).for_each(|_| log.note(SystemTime::UNIX_EPOCH, &ports()));
        assert_eq!((log.events.len(), log.next(), log.since(None).len()), (KEPT, KEPT as u64 + 3, FIRST_EVENTS));
        assert_eq!((log.since(Some(log.next())).len(), log.since(Some(log.next() - 2)).len()), (0, 2));
        assert_eq!(log.since(Some(0)).len(), KEPT);
    }
}
