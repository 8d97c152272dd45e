//! Series of the stored history.

use std::path::PathBuf;
use std::time::SystemTime;

use axum::http::StatusCode;
use evenair_api::watch::Event;
use tokio::task::spawn_blocking;

use super::parameter::{Parameter, Query};
use super::problem::{InputError, Problem};
use crate::history::{self, Question, Refusal, Series, Steps, Subject};

const DAY_S: i64 = 24 * 3600;
const HOUR_S: i64 = 3600;

impl Query {
    /// The requested series, if any.
    ///
    /// # Errors
    /// All conflicts among the parameters.
    pub(crate) fn question(&self) -> Result<Option<Question>, Problem> {
        let Some(measure) = self.measure else {
            let given = [
                (Parameter::Subject, self.subject.is_some()),
                (Parameter::From, self.from.is_some()),
                (Parameter::To, self.to.is_some()),
                (Parameter::Every, self.every.is_some()),
                (Parameter::Busiest, self.busiest.is_some()),
            ];
            let errors = given.into_iter().filter(|(_, is_given)| *is_given);
            let errors: Vec<_> =
                errors.map(|(parameter, _)| InputError::new(parameter.name(), "it needs a `measure`")).collect();
            return if errors.is_empty() { Ok(None) } else { Err(Problem::of_input(errors)) };
        };
        let (from, to) = self.time();
        let steps = Steps { from, to, every: self.every.unwrap_or(HOUR_S) };
        let mut errors = Vec::new();
        if self.span.is_some() {
            errors.push(InputError::new(Parameter::Span.name(), "it is for requests without a `measure`"));
        }
        errors.extend(not_before(from, to));
        if !errors.is_empty() {
            return Err(Problem::of_input(errors));
        }
        let subject = self.subject.clone().unwrap_or(Subject::BOX);
        Ok(Some(Question { measure, subject, steps, is_busiest: self.busiest.unwrap_or(false) }))
    }

    /// The requested time range, in seconds since 1970; by default the last day.
    fn time(&self) -> (i64, i64) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs() as i64;
        let to = self.to.unwrap_or(now);
        (self.from.unwrap_or(to - DAY_S), to)
    }
}

fn not_before(from: i64, to: i64) -> Option<InputError> {
    (from >= to).then(|| InputError::new(Parameter::From.name(), "it is not before `to`, or before now"))
}

/// The stored events of the requested time range; `None` without one.
pub(crate) async fn events(state: PathBuf, query: &Query) -> Result<Option<Vec<Event>>, Problem> {
    if query.from.is_none() && query.to.is_none() {
        return Ok(None);
    }
    let (from, to) = query.time();
    if let Some(error) = not_before(from, to) {
        return Err(Problem::of_input(vec![error]));
    }
    match spawn_blocking(move || history::events(&state, from, to)).await {
        Ok(Ok(events)) => Ok(Some(events)),
        Ok(Err(refusal)) => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, refusal.to_string())),
        Err(error) => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
    }
}

/// The response from the database in a state directory.
pub(crate) async fn series(state: PathBuf, question: Question) -> Result<Series, Problem> {
    let wanted = question.subject.to_string();
    let answer = spawn_blocking(move || history::answer(&state, &question)).await;
    let refusal = match answer {
        Ok(Ok(series)) => return Ok(series),
        Ok(Err(refusal)) => refusal,
        Err(error) => Refusal::NoHistory(error.to_string()),
    };
    Err(match refusal {
        Refusal::NoHistory(why) => Problem::new(StatusCode::SERVICE_UNAVAILABLE, why),
        Refusal::NoSubject(near) => Problem::missing("history of", &wanted, near.as_deref()),
        Refusal::TooMany(_) => Problem::of_input(vec![InputError::new(Parameter::Every.name(), refusal.to_string())]),
    })
}
