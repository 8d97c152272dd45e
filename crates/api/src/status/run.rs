//! How a box came to its mode: the last command, and how the previous process ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Mode, ModeCommand, Status};

/// How the box came to its mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunStatus {
    /// When this process started, in seconds since 1970, UTC.
    pub started_at_s: f64,
    /// The last command about the mode, to this process or one before; absent: none since the mode of the configuration was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_command: Option<ModeCommand>,
    /// The process before ended in order, or there was none.
    pub clean: bool,
    /// Present if the box started in another mode than that of the last command, and got no command since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_otherwise: Option<StartedOtherwise>,
}

/// A start in another mode than that of the last command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartedOtherwise {
    /// When, in seconds since 1970, UTC: the first one of several.
    pub at_s: f64,
    /// The process before that start ended in order.
    pub clean: bool,
}

impl Status {
    /// The start since which the box is not inserted, although the last command was to insert it; `None` if it is inserted, or was
    /// bypassed by a command or by the guard.
    pub fn not_inserted_since(&self) -> Option<StartedOtherwise> {
        let run = self.run.as_ref().filter(|run| run.last_command == Some(ModeCommand::Insert))?;
        run.started_otherwise.filter(|_| matches!(self.mode, Mode::Bypassed | Mode::Observing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_that_did_not_start_as_commanded_is_not_inserted_until_it_is() {
        let of = |mode, command, otherwise: bool| {
            let started_otherwise = otherwise.then_some(StartedOtherwise { at_s: 7.0, clean: false });
            let run = RunStatus { last_command: Some(command), started_otherwise, ..RunStatus::default() };
            Status { mode, run: Some(run), ..Status::default() }.not_inserted_since().map(|start| start.at_s)
        };
        assert_eq!(of(Mode::Bypassed, ModeCommand::Insert, true), Some(7.0));
        assert_eq!(of(Mode::Observing, ModeCommand::Insert, true), Some(7.0));
        assert_eq!(of(Mode::Inserted, ModeCommand::Insert, true), None);
        assert_eq!(of(Mode::Bypassed, ModeCommand::Insert, false), None, "the guard, or a drain");
        assert_eq!(of(Mode::Bypassed, ModeCommand::Bypass, true), None);
        assert_eq!(Status::default().not_inserted_since(), None, "a box from before that");
    }
}
