//! Alerts: sends the reasons of a degraded health to webhooks and mailboxes, as `[[alert]]` in `web.toml` says.
//!
//! A thread reads the feed's lines and decides which notices each receiver gets (`due.rs`). Messages go into a queue on disk, together
//! with the reasons already announced (`queue.rs`, `state.rs`): a restart neither loses nor repeats one. Another thread delivers them,
//! so that neither the page nor the feed waits for a server. A process that is killed between a delivery and its record delivers the
//! message again, with the same id.
//!
//! Not here: escalation to a second receiver, and acknowledgment; services such as PagerDuty have both.

mod body;
mod command;
mod due;
mod mailer;
mod mute;
mod notice;
mod queue;
mod sender;
mod state;
mod webhook;
mod weekly;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use evenair_api::health::{Code, HealthStatus, Level, Reason, Subject, SubjectKind};
use serde::Deserialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use self::body::Envelope;
pub use self::command::{MuteRequest, check_alerts, list_mutes, mute, test_alerts, unmute};
use self::due::Observed;
pub use self::mute::Mute;
use self::mute::Mutes;
use self::notice::{Notice, date};
use self::queue::{Delivery, GivenUp, MOST_ITEMS};
use self::sender::Sender;
use self::state::{State, StateFile};
use crate::account::Role;
use crate::clock::Clock;
use crate::config::WebConfig;
use crate::feed::{Feed, Message};
use crate::history::week;
use crate::receiver::ReceiverConfig;
use crate::secret::{hex, random};

/// Polling interval of the queue.
const LOOK: Duration = Duration::from_millis(200);

/// Stops the alerts when dropped. Waits for a running delivery attempt, so that its message is not sent again.
pub(crate) struct Alerting {
    book: Book,
    courier: Option<JoinHandle<()>>,
}

impl Drop for Alerting {
    fn drop(&mut self) {
        {
            // With the lock held, no further decisions are made.
            let _kept = self.book.lock();
            self.book.ended.store(true, Ordering::Relaxed);
        }
        if let Some(courier) = self.courier.take() {
            _ = courier.join();
        }
    }
}

/// State that both threads share.
#[derive(Clone)]
struct Book {
    kept: Arc<Mutex<(State, StateFile)>>,
    clock: Clock,
    ended: Arc<AtomicBool>,
}

impl Book {
    fn lock(&self) -> MutexGuard<'_, (State, StateFile)> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and writes it if it differs.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut kept = self.lock();
        let before = kept.0.clone();
        let result = change(&mut kept.0);
        if kept.0 != before {
            let (state, file) = &mut *kept;
            file.write(state);
        }
        result
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

/// Starts both threads; `None` without receivers.
///
/// # Errors
/// A secret or a certificate cannot be used, or a thread cannot be made.
pub(crate) fn start(config: &WebConfig, feed: &Feed, clock: Clock) -> Result<Option<Alerting>> {
    if config.alerts.is_empty() {
        return Ok(None);
    }
    let senders = sender::load(config)?;
    let file = StateFile::of(&config.state);
    let mut state = file.read();
    state.known.retain(|receiver, _| senders.contains_key(receiver));
    state.queue.keep_only(|receiver| senders.contains_key(receiver));
    let ended = Arc::new(AtomicBool::new(false));
    let book = Book { kept: Arc::new(Mutex::new((state, file))), clock, ended };
    let (_, messages) = feed.join();
    let watcher = Watcher {
        book: book.clone(),
        receivers: config.alerts.clone(),
        mutes: Mutes::of(&config.state),
        feed: feed.clone(),
        state: config.state.clone(),
    };
    let courier = Courier { book: book.clone(), senders, site: sender::site(config) };
    let spawn = |name: &str| thread::Builder::new().name(name.into());
    spawn("alerts").spawn(move || watcher.work(messages)).context("cannot watch for alerts")?;
    let courier = spawn("deliveries").spawn(move || courier.work()).context("cannot deliver alerts")?;
    Ok(Some(Alerting { book, courier: Some(courier) }))
}

/// Watches the feed.
struct Watcher {
    book: Book,
    receivers: Vec<ReceiverConfig>,
    mutes: Mutes,
    feed: Feed,
    /// The directory of the history.
    state: PathBuf,
}

/// The fields of a line that alerts need.
#[derive(Deserialize)]
struct Heard {
    health: Option<HealthStatus>,
}

impl Watcher {
    fn work(mut self, mut messages: Receiver<Message>) {
        loop {
            let message = messages.blocking_recv();
            if self.book.has_ended() {
                return;
            }
            match message {
                Ok(message) if message.kind == "line" => self.hear(&message.json),
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Handles a line of the feed.
    fn hear(&mut self, line: &str) {
        let Ok(Heard { health: Some(health) }) = serde_json::from_str(line) else { return };
        self.mutes.refresh();
        let now_s = self.book.clock.unix();
        let (receivers, mutes) = (&self.receivers, &self.mutes);
        let (lost, failing) = self.book.change(|state| {
            let mut lost = Vec::new();
            let receivers = if self.book.has_ended() { &[][..] } else { &receivers[..] };
            for receiver in receivers {
                // A receiver is not notified of its own failure.
                let is_its_own =
                    |reason: &Reason| reason.code == Code::AlertFailing && reason.subject.id == receiver.name;
                let reasons: Vec<_> = health.reasons.iter().filter(|reason| !is_its_own(reason)).cloned().collect();
                let is_muted = |reason: &Reason| mutes.has(reason, now_s);
                let known = state.known.entry(receiver.name.clone()).or_default();
                let items = known.observe(&receiver.rule, &Observed { now_s, reasons: &reasons, is_muted: &is_muted });
                for items in items.chunks(MOST_ITEMS) {
                    lost.extend(state.queue.add(delivery(receiver, now_s, Notice::Alert(items.to_vec()))));
                }
            }
            (lost, failing(state))
        });
        lost.iter().for_each(log);
        self.feed.set_own(Code::AlertFailing, failing);
        self.sum_up(now_s);
    }

    /// Sends the summary of a week that has ended.
    fn sum_up(&self, now_s: u64) {
        let last_s = self.book.lock().0.week_s;
        let Some(end_s) = weekly::ended(last_s, now_s) else { return };
        let is_due = last_s > 0 && now_s - end_s < weekly::LATEST_S;
        let mut receivers = self.receivers.iter().filter(|receiver| receiver.weekly).peekable();
        let week = (is_due && receivers.peek().is_some()).then(|| week(&self.state, end_s));
        let week = week.and_then(|week| week.inspect_err(|why| eprintln!("weekly summary: {why}")).ok());
        let lost = self.book.change(|state| {
            let before = state.week.take();
            state.week_s = end_s;
            state.week.clone_from(&week);
            let mut lost = Vec::new();
            for (receiver, week) in receivers.zip(week.iter().cycle()) {
                let text = weekly::text(week, before.as_ref(), receiver.rule.role > Role::View);
                lost.extend(state.queue.add(delivery(receiver, now_s, Notice::Weekly(text))));
            }
            lost
        });
        lost.iter().for_each(log);
    }
}

fn delivery(receiver: &ReceiverConfig, now_s: u64, notice: Notice) -> Delivery {
    let (id, receiver) = (hex(&random::<8>()), receiver.name.clone());
    Delivery { id, receiver, made_s: now_s, failed: 0, next_s: now_s, notice }
}

/// A reason for each unreachable receiver.
fn failing(state: &State) -> Vec<Reason> {
    let reason = |(name, failing): (&String, &queue::Failing)| {
        let lost = match failing.lost {
            0 => String::new(),
            lost => format!(", and {lost} were given up"),
        };
        Reason {
            code: Code::AlertFailing,
            level: Level::Watch,
            subject: Subject { kind: SubjectKind::Box, id: name.clone(), name: format!("the alert \"{name}\"") },
            since_s: failing.since_s as f64,
            sentence: format!("messages of the alert \"{name}\" are not delivered{lost}: {}", failing.why),
            value: failing.lost as f64,
            remedy: format!("try it with evenair web alert test {name}, and correct [[alert]] or [mail] in web.toml"),
            ..Reason::default()
        }
    };
    state.queue.failing.iter().map(reason).collect()
}

/// Delivers messages.
struct Courier {
    book: Book,
    senders: BTreeMap<String, Sender>,
    site: String,
}

impl Courier {
    fn work(self) {
        while !self.book.has_ended() {
            let due = self.book.lock().0.queue.due(self.book.clock.unix()).cloned();
            match due {
                None => thread::sleep(LOOK),
                Some(delivery) => self.deliver(&delivery),
            }
        }
    }

    fn deliver(&self, delivery: &Delivery) {
        let Delivery { id, receiver, made_s, notice, .. } = delivery;
        let Some(sender) = self.senders.get(receiver) else { return };
        let envelope = Envelope { id, site: &self.site, made_s: *made_s };
        let sent = sender.send(notice, &envelope, self.book.clock.unix());
        let now_s = self.book.clock.unix();
        let chance = f64::from(random::<1>()[0]) / 255.0;
        let lost = self.book.change(|state| match &sent {
            Ok(()) => {
                state.queue.delivered(id, now_s);
                None
            }
            Err(why) => state.queue.failed(id, why, now_s, chance),
        });
        if let (Err(why), 0) = (&sent, delivery.failed) {
            eprintln!("alert-failing: {receiver}: {why}; it is tried again for 24 h");
        }
        if let Some(lost) = lost {
            log(&lost);
        }
    }
}

fn log(GivenUp { receiver, made_s, why }: &GivenUp) {
    eprintln!("alert-failing: {receiver}: the message of {} UTC is given up: {why}", date(*made_s));
}
