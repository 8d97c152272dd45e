//! Decides which notices a receiver gets: a pure function of the reasons over time.
//!
//! A reason is identified by code and subject. It is announced once, repeated each `repeat`, and announced again when it becomes bad.
//! Its recovery is announced when it has been absent from the feed's lines for [`HELD_S`], so that a restarted box, which finds the
//! same again within seconds, ends nothing. Without lines nothing changes.

use std::collections::BTreeMap;

use evenair_api::health::{Code, Level, Reason, Subject, SubjectKind};
use serde::{Deserialize, Serialize};

use crate::account::Role;
use crate::receiver::Rule;

/// Time of absence after which a reason has ended, in seconds: a restarted box raises lasting reasons within 10 s.
pub(crate) const HELD_S: u64 = 30;
/// Maximum number of announced reasons per receiver; further ones are not announced. The state is a file of at most a megabyte.
const MOST: usize = 200;
/// Longest text that is kept, in characters; those of the box are shorter.
const LONGEST: usize = 300;

/// Event of a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Event {
    /// It is new, or has become bad.
    Raised,
    /// It still lasts.
    Repeated,
    /// It has ended.
    Recovered,
}

/// A reason with its event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) event: Event,
    /// Its code; "site" for receivers of role view.
    pub(crate) code: String,
    pub(crate) level: Level,
    pub(crate) kind: SubjectKind,
    pub(crate) id: String,
    pub(crate) name: String,
    /// When it began, in seconds since 1970, UTC.
    pub(crate) since_s: u64,
    pub(crate) sentence: String,
    pub(crate) value: f64,
    pub(crate) limit: f64,
    pub(crate) unit: String,
    pub(crate) remedy: String,
}

/// An announced reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Announced {
    level: Level,
    name: String,
    since_s: u64,
    /// Time of its last announcement, in seconds since 1970.
    said_s: u64,
    /// Since when it has been absent, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    absent_s: Option<u64>,
}

/// All announced reasons, by code, kind and id of the subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Known(BTreeMap<String, Announced>);

/// The reasons in one line of the feed, at a time in seconds since 1970.
pub(crate) struct Observed<'a> {
    pub(crate) now_s: u64,
    pub(crate) reasons: &'a [Reason],
    /// Whether a reason is muted.
    pub(crate) is_muted: &'a dyn Fn(&Reason) -> bool,
}

/// Whether receivers of role operate get the code: Wi-Fi, stations, calls and the Internet link.
const fn is_of_network(code: Code) -> bool {
    matches!(
        code,
        Code::HoldsTheAir
            | Code::Starving
            | Code::CallQuality
            | Code::SlowLink
            | Code::ChannelCrowded
            | Code::WifiLatency
            | Code::InternetLatency
            | Code::CallsRefused
    )
}

impl Rule {
    fn least(&self) -> Level {
        if self.watch { Level::Watch } else { Level::Bad }
    }

    /// Whether a receiver with this rule gets a reason.
    fn wants(&self, reason: &Reason) -> bool {
        let is_its = self.role == Role::Admin || self.role == Role::View || is_of_network(reason.code);
        is_its && reason.level >= self.least() && !self.mute.contains(&reason.code)
    }
}

impl Known {
    /// Handles one more line of the feed. Returns the due announcements.
    pub(crate) fn observe(&mut self, rule: &Rule, observed: &Observed<'_>) -> Vec<Item> {
        let wanted: Vec<_> = observed.reasons.iter().filter(|reason| rule.wants(reason)).collect();
        // A mute suppresses new announcements, and does not end reasons announced before.
        let may_say = |reason: &Reason| !(observed.is_muted)(reason);
        let present: Vec<(Reason, bool)> = if rule.role == Role::View {
            let site = site_of(wanted.iter().copied().filter(|reason| may_say(reason)));
            site.into_iter().map(|site| (site, true)).collect()
        } else {
            wanted.iter().map(|reason| ((*reason).clone(), may_say(reason))).collect()
        };
        let mut items: Vec<_> =
            present.iter().filter_map(|(reason, may_say)| self.take(rule, reason, *may_say, observed.now_s)).collect();
        items.extend(self.end(rule, &present, observed.now_s));
        items
    }

    /// Handles a reason that is present.
    fn take(&mut self, rule: &Rule, reason: &Reason, may_say: bool, now_s: u64) -> Option<Item> {
        let key = key(reason);
        let Some(announced) = self.0.get_mut(&key) else {
            if !may_say || self.0.len() >= MOST {
                return None;
            }
            self.0.insert(key, Announced::of(reason, now_s));
            return Some(Item::of(Event::Raised, reason));
        };
        announced.absent_s = None;
        let is_worse = reason.level > announced.level;
        let is_due = rule.repeat_s.is_some_and(|repeat_s| now_s.saturating_sub(announced.said_s) >= repeat_s);
        if !may_say || !(is_worse || is_due) {
            return None;
        }
        *announced = Announced { since_s: announced.since_s, ..Announced::of(reason, now_s) };
        Some(Item::of(if is_worse { Event::Raised } else { Event::Repeated }, reason))
    }

    /// Ends reasons that have been absent for long enough.
    fn end(&mut self, rule: &Rule, present: &[(Reason, bool)], now_s: u64) -> Vec<Item> {
        let present: Vec<_> = present.iter().map(|(reason, _)| key(reason)).collect();
        let mut items = Vec::new();
        self.0.retain(|key, announced| {
            if present.contains(key) {
                return true;
            }
            let since_s = *announced.absent_s.get_or_insert(now_s);
            // After the clock was set back, the time of absence restarts.
            if now_s < since_s {
                announced.absent_s = Some(now_s);
            }
            let is_over = now_s.saturating_sub(since_s) >= HELD_S;
            if is_over && rule.recovery {
                items.push(announced.recovered(key));
            }
            !is_over
        });
        items
    }
}

/// One reason for the whole site, for receivers that get no names and addresses; `None` if nothing is wrong.
fn site_of<'a>(reasons: impl Iterator<Item = &'a Reason>) -> Option<Reason> {
    let level = reasons.map(|reason| reason.level).max()?;
    let sentence = match level {
        Level::Bad => "the network is bad",
        _ => "the network is worse than it could be",
    };
    Some(Reason {
        level,
        sentence: sentence.into(),
        subject: Subject { id: SITE.into(), name: "the network".into(), ..Subject::default() },
        ..Reason::default()
    })
}

/// The code of the whole site.
const SITE: &str = "site";

fn is_site(reason: &Reason) -> bool {
    reason.code == Code::Other && reason.subject.id == SITE
}

fn code_of(reason: &Reason) -> &'static str {
    if is_site(reason) { SITE } else { reason.code.word() }
}

/// The key of a reason.
fn key(reason: &Reason) -> String {
    format!("{} {} {}", code_of(reason), reason.subject.kind, reason.subject.id)
}

/// Truncates a text, and removes line breaks.
fn short(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect()
}

impl Announced {
    fn of(reason: &Reason, now_s: u64) -> Self {
        let since_s = if reason.since_s > 0.0 { reason.since_s as u64 } else { now_s };
        Self { level: reason.level, name: short(&reason.subject.name), since_s, said_s: now_s, absent_s: None }
    }

    fn recovered(&self, key: &str) -> Item {
        let mut parts = key.splitn(3, ' ');
        let (code, kind) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let sentence =
            if code == SITE { "the network is good again".into() } else { format!("{code} is over: {}", self.name) };
        Item {
            event: Event::Recovered,
            code: code.into(),
            level: Level::Good,
            kind: kind.parse().unwrap_or_default(),
            id: parts.next().unwrap_or_default().into(),
            name: self.name.clone(),
            since_s: self.since_s,
            sentence,
            value: 0.0,
            limit: 0.0,
            unit: String::new(),
            remedy: String::new(),
        }
    }
}

impl Item {
    fn of(event: Event, reason: &Reason) -> Self {
        Self {
            event,
            code: code_of(reason).into(),
            level: reason.level,
            kind: reason.subject.kind,
            id: short(&reason.subject.id),
            name: short(&reason.subject.name),
            since_s: reason.since_s.max(0.0) as u64,
            sentence: short(&reason.sentence),
            value: reason.value,
            limit: reason.limit,
            unit: reason.unit.clone(),
            remedy: short(&reason.remedy),
        }
    }
}

#[cfg(test)]
mod tests;
