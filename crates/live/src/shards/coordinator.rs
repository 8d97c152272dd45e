//! Coordinator of several loops: it forwards each request to all of them, and combines their replies.
//!
//! Each shard gets the requests in order. Requests that one shard might refuse and another accept are checked before any
//! shard gets them. A shard that does not reply delays only the client of that request; the systemd heartbeat requires all
//! shards. When a shard exits or panics, the box exits.

use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as Clock};

use anyhow::{Context, Result, anyhow};
use evenair_api::Mode;
use evenair_boxfile::{BoxConfig, Plan};
use evenair_manager::Config;
use evenair_sys::rt::{Epoll, Waker};
use tracing::warn;

use super::merge::merge;
use crate::control::{Answer, ControlHandle, ControlRequest, HostSettings, QueuedRequest};
use crate::engine::Engine;
use crate::run::{Host, Live, Requests, now};
use crate::snapshot::Snapshot;

const COMMANDS: u64 = 0;
const SIGNALS: u64 = 1;
/// Time within which a loop replies; a loop without a reply hangs.
const PATIENCE: Duration = Duration::from_secs(2);

/// The coordinator of several shards.
pub(crate) struct Coordinator {
    plan: Plan,
    host: Host,
    inbox: mpsc::Receiver<QueuedRequest>,
    waker: Arc<Waker>,
    shards: Vec<Shard>,
    /// Whether the box was asked to end, by these clients among others.
    ending: bool,
    last: Vec<mpsc::Sender<Answer>>,
}

struct Shard {
    control: ControlHandle,
    thread: JoinHandle<Result<Snapshot>>,
}

/// Wakes the coordinator when a thread ends, however it ends.
struct Wakes(Arc<Waker>);

impl Drop for Wakes {
    fn drop(&mut self) {
        self.0.wake();
    }
}

impl Coordinator {
    /// Starts the loops, each on its own thread.
    ///
    /// # Errors
    /// No thread can be created.
    pub(crate) fn start(
        engines: Vec<Engine>,
        config: &BoxConfig,
        plan: Plan,
        host: Host,
        requests: Requests,
    ) -> Result<Self> {
        let Requests { inbox, waker } = requests;
        let mut shards = Vec::new();
        for (number, engine) in engines.into_iter().enumerate() {
            let (sender, inbox) = mpsc::channel();
            let own = Arc::new(Waker::new()?);
            let control = ControlHandle::new(sender, Arc::clone(&own));
            let (config, wakes) = (config.clone(), Wakes(Arc::clone(&waker)));
            let work = move || {
                let _wakes = wakes;
                Live::new(engine, config, None, Requests { inbox, waker: own }).work()
            };
            let thread = thread::Builder::new().name(format!("shard {number}")).spawn(work);
            shards.push(Shard { control, thread: thread.context("start the thread of a shard")? });
        }
        Ok(Self { plan, host, inbox, waker, shards, ending: false, last: Vec::new() })
    }

    /// Runs until the box has ended; returns the final state.
    ///
    /// # Errors
    /// The error that ended a shard.
    pub(crate) fn work(mut self) -> Result<Snapshot> {
        let mut epoll = Epoll::new(4)?;
        epoll.add(&*self.waker, COMMANDS)?;
        epoll.add(&self.host.signals, SIGNALS)?;
        self.host.ready(now());
        self.look_after();
        loop {
            let time = now();
            let due = self.host.deadline();
            let timeout = due.map(|at| Duration::from_nanos(at.saturating_since(time).as_nanos()));
            let ready = epoll.wait(timeout)?.fold(0u64, |set, token| set | 1 << token);
            if ready & 1 << COMMANDS != 0 {
                self.waker.clear();
                while let Ok(asked) = self.inbox.try_recv() {
                    self.pass_on(asked);
                }
            }
            if ready & 1 << SIGNALS != 0 && self.host.signalled() {
                self.end();
            }
            if self.shards.iter().any(|shard| shard.thread.is_finished()) {
                return self.finish();
            }
            if due.is_some_and(|at| at <= now()) {
                self.look_after();
            }
        }
    }

    /// Sends systemd the heartbeat if all shards are alive.
    fn look_after(&mut self) {
        let modes = match self.ask_all(|_| ControlRequest::Mode) {
            Ok(modes) => modes,
            Err(why) => return warn!("{why}"),
        };
        let modes: Vec<_> = modes
            .iter()
            .filter_map(|answer| if let Answer::Mode(mode) = answer { Some(*mode) } else { None })
            .collect();
        let order = [Mode::Draining, Mode::Inserted, Mode::Bypassed];
        let mode = order.into_iter().find(|mode| modes.contains(mode)).unwrap_or(Mode::Observing);
        self.host.tend(now(), mode);
    }

    /// Sends all shards the same request, or nearly so, and waits for their replies.
    fn ask_all(&self, request: impl Fn(usize) -> ControlRequest) -> Result<Vec<Answer>, String> {
        let replies: Vec<_> = self.begin_all(request)?;
        let until = Clock::now() + PATIENCE;
        let answers = replies.into_iter().enumerate().map(|(number, reply)| {
            let left = until.saturating_duration_since(Clock::now());
            reply.recv_timeout(left).map_err(|_| format!("shard {number} does not answer"))
        });
        answers.collect()
    }

    fn begin_all(&self, request: impl Fn(usize) -> ControlRequest) -> Result<Vec<mpsc::Receiver<Answer>>, String> {
        let shards = self.shards.iter().enumerate();
        shards.map(|(number, shard)| shard.control.begin(request(number)).map_err(str::to_owned)).collect()
    }

    fn pass_on(&mut self, QueuedRequest { request, reply }: QueuedRequest) {
        let answer = match request {
            _ if self.ending => Answer::Refused("the box is ending".into()),
            ControlRequest::Shutdown => {
                self.last.push(reply);
                return self.end();
            }
            // These take as long as the queues need to drain.
            ControlRequest::Bypass | ControlRequest::Observe => return self.wait_for_all(&request, reply),
            ControlRequest::Reconfigure(config, settings) => self.reconfigure(&config, settings),
            request => self.ask_all(|_| request.clone()).map_or_else(Answer::Refused, one_of),
        };
        // A disconnected client needs no reply.
        let _ = reply.send(self.completed(answer));
    }

    fn completed(&self, answer: Answer) -> Answer {
        match answer {
            Answer::Status(snapshot) => Answer::Status(Box::new(self.host.complete(*snapshot))),
            other => other,
        }
    }

    /// Sends all shards a request; a separate thread waits for the replies.
    fn wait_for_all(&self, request: &ControlRequest, reply: mpsc::Sender<Answer>) {
        let replies = self.begin_all(|_| request.clone());
        let wait = move || {
            let answers = replies.and_then(|replies| {
                let answers = replies.into_iter().map(|reply| reply.recv().map_err(|_| "the box ended".to_owned()));
                answers.collect::<Result<Vec<_>, _>>()
            });
            let _ = reply.send(answers.map_or_else(Answer::Refused, one_of));
        };
        if let Err(error) = thread::Builder::new().name("control wait".into()).spawn(wait) {
            // The request is carried out; the client gets no reply.
            warn!("no thread to wait for the shards: {error}");
        }
    }

    /// All shards apply a configuration, or none does.
    fn reconfigure(&mut self, config: &Config, settings: HostSettings) -> Answer {
        let shards = 0..self.shards.len();
        let configs: Vec<_> = shards.map(|shard| self.plan.config_of(shard, config)).collect();
        if let Some(error) = configs.iter().find_map(|config| config.check().err()) {
            return Answer::Refused(format!("{error}; the old configuration stays"));
        }
        let request =
            |shard: usize| ControlRequest::Reconfigure(Box::new(configs[shard].clone()), HostSettings::default());
        let answer = self.ask_all(request).map_or_else(Answer::Refused, one_of);
        if matches!(answer, Answer::Done) {
            self.host.take(settings);
        }
        answer
    }

    fn end(&mut self) {
        self.ending = true;
        // A shard that has ended needs no request.
        let _ = self.begin_all(|_| ControlRequest::Shutdown);
    }

    fn finish(mut self) -> Result<Snapshot> {
        if !self.ending {
            warn!("a shard has ended: the box ends");
            self.end();
        }
        let mut ends = Vec::new();
        for (number, shard) in self.shards.into_iter().enumerate() {
            let end = shard.thread.join().map_err(|_| anyhow!("shard {number} panicked"));
            ends.push(end.and_then(|end| end));
        }
        let merged = merge(ends.into_iter().collect::<Result<Vec<_>>>()?);
        let snapshot = self.host.complete(merged);
        for reply in self.last {
            let _ = reply.send(Answer::Status(Box::new(snapshot.clone())));
        }
        Ok(snapshot)
    }
}

/// One reply from those of all shards.
fn one_of(answers: Vec<Answer>) -> Answer {
    let mut states = Vec::new();
    for answer in answers {
        match answer {
            Answer::Refused(why) => return Answer::Refused(why),
            Answer::Status(snapshot) => states.push(*snapshot),
            Answer::Done | Answer::Mode(_) => {}
        }
    }
    if states.is_empty() { Answer::Done } else { Answer::Status(Box::new(merge(states))) }
}
