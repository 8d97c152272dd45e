//! The author of a change of mode: the command, the guard or the signal before it.

use evenair_api::history::{Author, Event};
use evenair_api::{Mode, ModeCommand, Request};
use evenair_manager::{self as manager, GuardStep};

/// A command that is recorded as an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commanded {
    /// A mode.
    Mode(ModeCommand),
    /// A reload of the configuration.
    Reload,
}

impl Commanded {
    /// The command in a request; `None`: it is not recorded as an event.
    pub const fn of(request: &Request) -> Option<Self> {
        match request {
            Request::Insert => Some(Self::Mode(ModeCommand::Insert)),
            Request::Bypass { .. } | Request::Shutdown { .. } => Some(Self::Mode(ModeCommand::Bypass)),
            Request::Observe { .. } => Some(Self::Mode(ModeCommand::Observe)),
            Request::Reconfigure { check: false, .. } => Some(Self::Reload),
            _ => None,
        }
    }
}

/// The cause of the next change of mode.
#[derive(Debug, Default)]
pub(super) struct Attribution {
    cause: Option<(ModeCommand, Author)>,
    /// Whether the mode has changed. The mode that the manager starts in has no event.
    has_changed: bool,
}

impl Attribution {
    /// Notes a command that is about to be carried out.
    pub(super) fn begin(&mut self, command: ModeCommand, author: Author) {
        self.cause = Some((command, author));
    }

    /// Notes that it was carried out. Returns its event if the manager had none: its mode is the same for observing and
    /// bypassed.
    pub(super) fn done(&mut self, command: ModeCommand, author: &Author) -> Option<Event> {
        let waits = |cause: &mut (ModeCommand, Author)| {
            cause.0 == command && cause.1 == *author && command != ModeCommand::Insert
        };
        let (_, author) = self.cause.take_if(waits)?;
        self.has_changed = true;
        Some(Event::Mode { mode: command.mode(), by: Some(author) })
    }

    /// The event of a new mode of the manager, with its author.
    pub(super) fn changed(&mut self, mode: manager::Mode) -> Event {
        if mode == manager::Mode::Draining {
            let by = self.cause.as_ref().filter(|(command, _)| *command != ModeCommand::Insert);
            return Event::Mode { mode: Mode::Draining, by: by.map(|(_, author)| author.clone()) };
        }
        let is_at_start = !std::mem::replace(&mut self.has_changed, true);
        let leads_to_it = |(command, _): &mut (ModeCommand, Author)| {
            (*command == ModeCommand::Insert) == (mode == manager::Mode::Inserted)
        };
        match self.cause.take_if(leads_to_it) {
            Some((command, author)) => Event::Mode { mode: command.mode(), by: Some(author) },
            None => Event::Mode { mode: evenair_view::mode(mode), by: is_at_start.then_some(Author::Start) },
        }
    }

    /// Notes a step of the guard.
    pub(super) fn guard(&mut self, step: GuardStep) {
        match step {
            GuardStep::Bypassed => self.begin(ModeCommand::Bypass, Author::Guard),
            GuardStep::Trying => self.begin(ModeCommand::Insert, Author::Guard),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_mode_is_attributed_to_its_command() {
        let mut attribution = Attribution::default();
        let user = |uid| Author::User { uid, name: None };
        let mut texts = vec![attribution.changed(manager::Mode::Inserted).text()];
        attribution.begin(ModeCommand::Bypass, user(1000));
        texts.push(attribution.changed(manager::Mode::Draining).text());
        texts.push(attribution.changed(manager::Mode::Bypassed).text());
        assert_eq!(attribution.done(ModeCommand::Bypass, &user(1000)), None, "the manager had an event");
        attribution.begin(ModeCommand::Observe, user(1000));
        texts.extend(attribution.done(ModeCommand::Observe, &user(1000)).map(|event| event.text()));
        attribution.begin(ModeCommand::Insert, user(0));
        texts.push(attribution.changed(manager::Mode::Inserted).text());
        assert_eq!(attribution.done(ModeCommand::Insert, &user(0)), None);
        texts.push(attribution.changed(manager::Mode::Bypassed).text());
        let expected = [
            "inserted at the start",
            "draining by uid 1000",
            "bypassed by uid 1000",
            "observing by uid 1000",
            "inserted by uid 0",
            "bypassed",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_bypass_by_the_guard_is_attributed_to_it() {
        let mut attribution = Attribution::default();
        attribution.guard(GuardStep::Bypassed);
        assert_eq!(attribution.changed(manager::Mode::Draining).text(), "draining by the guard");
        assert_eq!(attribution.changed(manager::Mode::Bypassed).text(), "bypassed by the guard");
    }
}
