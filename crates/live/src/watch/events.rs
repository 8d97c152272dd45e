//! Events of the feed: what the history records as events, unless it is about a station, and who commanded a mode.
//!
//! The loop and the control socket leave entries in a bounded queue, which the sampler empties once a second. What does not
//! fit is lost to the feed.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::SystemTime;

use evenair_api::health::{Code, HealthStatus, Reason};
use evenair_api::watch::{Event, FIRST_EVENTS};
use evenair_api::{self as api, Request};
use evenair_manager::{self as manager, GuardStep, Mode};

use crate::history::{Happened, seconds};

/// Entries that may wait for the sampler.
const WAITING: usize = 256;
/// Events that are kept.
const KEPT: usize = 256;

/// A command that the feed has an event of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commanded {
    Insert,
    Bypass,
    Observe,
    Reload,
}

impl Commanded {
    /// What a request commands; `None`: nothing that the feed has an event of.
    pub(crate) const fn of(request: &Request) -> Option<Self> {
        match request {
            Request::Insert => Some(Self::Insert),
            Request::Bypass { .. } | Request::Shutdown { .. } => Some(Self::Bypass),
            Request::Observe { .. } => Some(Self::Observe),
            Request::Reconfigure { check: false, .. } => Some(Self::Reload),
            _ => None,
        }
    }

    /// The mode that it leads to, as the manager calls it.
    const fn mode(self) -> Option<Mode> {
        match self {
            Self::Insert => Some(Mode::Inserted),
            Self::Bypass | Self::Observe => Some(Mode::Bypassed),
            Self::Reload => None,
        }
    }

    /// The name of the event.
    fn word(self) -> &'static str {
        match self {
            Self::Insert => api::Mode::Inserted.word(),
            Self::Bypass => api::Mode::Bypassed.word(),
            Self::Observe => api::Mode::Observing.word(),
            Self::Reload => "reload",
        }
    }
}

/// What is left for the sampler.
#[derive(Clone)]
pub(super) enum Entry {
    Happened(Happened),
    /// A client commands it.
    Begun(Commanded, By),
    /// It was done.
    Done(Commanded, By),
}

/// Who commanded something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The user of this number, on the control socket.
    User(u32),
    /// A client whose user the kernel does not name, or a signal.
    Unnamed,
    Guard,
}

impl By {
    fn of(uid: Option<u32>) -> Self {
        uid.map_or(Self::Unnamed, Self::User)
    }

    /// The words that end the text of an event.
    fn words(self) -> String {
        match self {
            Self::User(uid) => format!(" by uid {uid}"),
            Self::Guard => " by the guard".into(),
            Self::Unnamed => String::new(),
        }
    }
}

/// Where the loop, or several, and the control socket leave entries.
#[derive(Clone)]
pub(crate) struct Tap(SyncSender<(SystemTime, Entry)>);

impl Tap {
    pub(super) fn new() -> (Self, Receiver<(SystemTime, Entry)>) {
        let (sender, entries) = mpsc::sync_channel(WAITING);
        (Self(sender), entries)
    }

    /// Leaves what happened, unless it is about a station: of these there may be very many.
    pub(crate) fn leave(&self, at: SystemTime, what: &Happened) {
        use manager::Event::{ConfigRefused, DomainsChanged, Guard, ModeChanged};
        let wanted = match what {
            Happened::Managed(event) => {
                matches!(event, ModeChanged(_) | ConfigRefused(_) | DomainsChanged { .. } | Guard { .. })
            }
            Happened::OfBox(_) => true,
        };
        if wanted {
            let _ = self.0.try_send((at, Entry::Happened(what.clone())));
        }
    }

    /// Leaves that a user commands something.
    pub(crate) fn leave_command(&self, command: Commanded, uid: Option<u32>) {
        let _ = self.0.try_send((SystemTime::now(), Entry::Begun(command, By::of(uid))));
    }

    /// Leaves that it was done. Without a user it was a signal.
    pub(crate) fn leave_done(&self, command: Commanded, uid: Option<u32>) {
        let _ = self.0.try_send((SystemTime::now(), Entry::Done(command, By::of(uid))));
    }
}

/// The last events, numbered from the start of the box.
#[derive(Debug, Default)]
pub(super) struct Log {
    events: VecDeque<Event>,
    /// Number of the next event.
    next: u64,
    /// What leads to the next change of mode.
    cause: Option<(Commanded, By)>,
    /// The mode that the manager starts in has no event.
    has_changed: bool,
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

    pub(super) fn start(&mut self, at: SystemTime) {
        self.add(at, "start", format!("the box has started, version {}", env!("CARGO_PKG_VERSION")));
    }

    pub(super) fn note(&mut self, at: SystemTime, entry: Entry) {
        match entry {
            Entry::Begun(command, by) if command.mode().is_some() => self.cause = Some((command, by)),
            Entry::Begun(..) => {}
            // Between observing and bypassed the manager's mode stays as it is.
            Entry::Done(command @ (Commanded::Observe | Commanded::Bypass), by)
                if self.cause == Some((command, by)) =>
            {
                self.changed(at, Mode::Bypassed);
            }
            Entry::Done(Commanded::Reload, By::Unnamed) => self.add(at, "reload", "reload by a signal".into()),
            Entry::Done(Commanded::Reload, by) => self.add(at, "reload", format!("reload{}", by.words())),
            Entry::Done(..) => {}
            Entry::Happened(Happened::Managed(manager::Event::ModeChanged(mode))) => self.changed(at, mode),
            Entry::Happened(happened) => self.happened(at, &happened),
        }
    }

    /// The manager's mode is another one, or the box begins or ceases to observe. Draining is no event: what it leads to is.
    fn changed(&mut self, at: SystemTime, mode: Mode) {
        if mode == Mode::Draining {
            return;
        }
        let at_start = !std::mem::replace(&mut self.has_changed, true);
        match self.cause.take_if(|(command, _)| command.mode() == Some(mode)) {
            Some((command, by)) => self.add(at, command.word(), format!("{}{}", command.word(), by.words())),
            None => {
                let when = if at_start { " at the start" } else { "" };
                let word = evenair_view::mode(mode).word();
                self.add(at, word, format!("{word}{when}"));
            }
        }
    }

    fn happened(&mut self, at: SystemTime, happened: &Happened) {
        if let Happened::Managed(manager::Event::Guard { step, .. }) = happened {
            match step {
                GuardStep::Bypassed => self.cause = Some((Commanded::Bypass, By::Guard)),
                GuardStep::Trying => self.cause = Some((Commanded::Insert, By::Guard)),
                _ => {}
            }
        }
        if let Some(event) = happened.event() {
            self.add(at, event.name(), event.text());
        }
    }

    /// Notes reasons that were raised or cleared in a second: of each code one event.
    pub(super) fn note_health(&mut self, at: SystemTime, before: &HealthStatus, now: &HealthStatus) {
        for (what, these, others) in [("cleared", before, now), ("raised", now, before)] {
            let is_new = |reason: &&Reason| {
                !others.reasons.iter().any(|other| (other.code, &other.subject.id) == (reason.code, &reason.subject.id))
            };
            for code in Code::ALL {
                let mut of_code = these.reasons.iter().filter(|reason| reason.code == *code).filter(is_new);
                let Some(first) = of_code.next() else { continue };
                let more = match of_code.count() {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                self.add(at, "health", format!("{what}: {code}: {}{more}", first.sentence));
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(entries: impl IntoIterator<Item = Entry>) -> Vec<String> {
        let mut log = Log::default();
        entries.into_iter().for_each(|entry| log.note(SystemTime::UNIX_EPOCH, entry));
        log.since(Some(0)).into_iter().map(|event| format!("{}: {}", event.event, event.text)).collect()
    }

    fn mode(mode: Mode) -> Entry {
        Entry::Happened(Happened::Managed(manager::Event::ModeChanged(mode)))
    }

    #[test]
    fn a_mode_has_the_command_as_its_cause() {
        let anne = By::User(1000);
        let entries = [
            mode(Mode::Inserted),
            Entry::Begun(Commanded::Bypass, anne),
            mode(Mode::Draining),
            mode(Mode::Bypassed),
            Entry::Done(Commanded::Bypass, anne),
            Entry::Begun(Commanded::Observe, anne),
            Entry::Done(Commanded::Observe, anne),
            Entry::Begun(Commanded::Insert, By::User(0)),
            mode(Mode::Inserted),
            Entry::Done(Commanded::Insert, By::User(0)),
            mode(Mode::Bypassed),
        ];
        let expected = [
            "inserted: inserted at the start",
            "bypassed: bypassed by uid 1000",
            "observing: observing by uid 1000",
            "inserted: inserted by uid 0",
            "bypassed: bypassed",
        ];
        assert_eq!(texts(entries), expected);
    }

    #[test]
    fn a_bypass_by_the_guard_is_the_guards() {
        let step = manager::Event::Guard {
            domain: "default".parse().expect("a name"),
            step: GuardStep::Bypassed,
            before: evenair_units::BitRate::from_mbps(20),
            held: evenair_units::BitRate::from_mbps(5),
        };
        let entries = [Entry::Happened(Happened::Managed(step)), mode(Mode::Draining), mode(Mode::Bypassed)];
        let texts = texts(entries);
        assert!(texts[0].starts_with("guard: 5.0 Mb/s"), "{texts:?}");
        assert_eq!(texts[1..], ["bypassed: bypassed by the guard"]);
    }

    #[test]
    fn a_reload_says_who_asked() {
        let done = |uid| Entry::Done(Commanded::Reload, By::of(uid));
        assert_eq!(texts([done(Some(7)), done(None)]), ["reload: reload by uid 7", "reload: reload by a signal"]);
    }

    #[test]
    fn stations_are_not_in_the_feed() {
        let (tap, entries) = Tap::new();
        let station = manager::Event::StationLearned(evenair_packet::MacAddr([2; 6]));
        for _ in 0..2 * WAITING {
            tap.leave(SystemTime::now(), &Happened::Managed(station.clone()));
        }
        tap.leave(SystemTime::now(), &Happened::OfBox(api::history::Event::Ports { text: "wl0 has gone".into() }));
        assert_eq!(entries.try_iter().count(), 1);
    }

    #[test]
    fn reasons_are_events_when_they_are_raised_and_cleared() {
        let reason = |code, id: &str| {
            let mut reason = Reason { code, sentence: format!("{id} starves"), ..Reason::default() };
            reason.subject.id = id.into();
            reason
        };
        let of = |ids: &[&str]| HealthStatus::of(ids.iter().map(|id| reason(Code::Starving, id)).collect());
        let mut log = Log::default();
        let courses: [&[&str]; 5] = [&[], &["anne", "max", "eve"], &["anne", "max", "eve"], &["max", "eve"], &[]];
        courses.windows(2).for_each(|pair| log.note_health(SystemTime::UNIX_EPOCH, &of(pair[0]), &of(pair[1])));
        let texts: Vec<_> = log.since(Some(0)).into_iter().map(|event| event.text).collect();
        let expected = [
            "raised: starving: anne starves, and 2 more",
            "cleared: starving: anne starves",
            "cleared: starving: max starves, and 1 more",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_number_gives_what_came_since_and_memory_is_bounded() {
        let mut log = Log::default();
        (0..KEPT + 3).for_each(|_| log.start(SystemTime::UNIX_EPOCH));
        assert_eq!((log.events.len(), log.next(), log.since(None).len()), (KEPT, KEPT as u64 + 3, FIRST_EVENTS));
        assert_eq!((log.since(Some(log.next())).len(), log.since(Some(log.next() - 2)).len()), (0, 2));
        assert_eq!(log.since(Some(0)).len(), KEPT);
    }
}
