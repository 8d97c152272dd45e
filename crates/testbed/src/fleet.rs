//! The agents of all hosts: starts them in their namespaces, sends them commands, reads their reports, and always ends
//! them.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use evenair_scenario::Scenario;
use evenair_sys::process::tie;

use crate::agent::protocol::{Report, Request};
use crate::error::TestbedError;
use crate::tasks;
use crate::topology::Topology;

/// Time within which an agent must have prepared a part.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes kept from the end of a child's standard error.
const LAST_WORDS_BYTES: usize = 4096;

/// The agents. Dropping them ends them.
#[derive(Debug)]
pub struct Fleet {
    agents: Vec<Agent>,
    heard: Receiver<(usize, Heard)>,
}

/// A message of an agent.
#[derive(Debug)]
enum Heard {
    Report(Report),
    /// The agent closed its output: it has ended, or is about to.
    Closed,
}

#[derive(Debug)]
struct Agent {
    host: String,
    child: Child,
    stdin: Option<ChildStdin>,
    last_words: LastWords,
    listener: Option<JoinHandle<()>>,
}

impl Fleet {
    /// Starts one agent in each host that has a part, and prepares it. The agents are tied to the calling thread: they die
    /// when it ends.
    ///
    /// # Errors
    /// If an agent cannot be started or cannot prepare.
    pub fn start(scenario: &Scenario, topology: &Topology, program: &Path) -> Result<Self, TestbedError> {
        let parts = tasks::parts(scenario);
        let (speak, heard) = channel();
        let mut fleet = Self { agents: Vec::new(), heard };
        let mut hosts: Vec<_> = parts.iter().map(|&(host, _)| host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        for &host in &hosts {
            let machine = &topology.hosts[host];
            let agent = Agent::start(&machine.name, machine.netns.as_fd(), program, fleet.agents.len(), speak.clone())?;
            fleet.agents.push(agent);
        }
        let count = parts.len();
        for (host, part) in parts {
            let agent = hosts.binary_search(&host).expect("collected above");
            fleet.agents[agent].tell(&Request::Prepare(Box::new(part)))?;
        }
        fleet.await_prepared(count)?;
        Ok(fleet)
    }

    /// Begins the run.
    ///
    /// # Errors
    /// If an agent has ended.
    pub fn begin(&mut self, origin_ns: u64, interval_ns: u64) -> Result<(), TestbedError> {
        self.agents.iter_mut().try_for_each(|agent| agent.tell(&Request::Begin { origin_ns, interval_ns }))
    }

    /// The next report, waiting at most `timeout`.
    ///
    /// # Errors
    /// If an agent has ended or a part failed.
    pub fn hear(&mut self, timeout: Duration) -> Result<Option<Report>, TestbedError> {
        match self.heard.recv_timeout(timeout) {
            Ok((agent, Heard::Report(Report::Failed { app, error }))) => Err(TestbedError::Protocol {
                who: format!("the agent of {}", self.agents[agent].host),
                what: format!("cannot do its part of application {app}: {error}"),
            }),
            Ok((_, Heard::Report(report))) => Ok(Some(report)),
            Ok((agent, Heard::Closed)) => Err(self.agents[agent].obituary()),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                // No agents: a scenario without applications.
                thread::sleep(timeout);
                Ok(None)
            }
        }
    }

    fn await_prepared(&mut self, mut count: usize) -> Result<(), TestbedError> {
        let deadline = Instant::now() + PREPARE_TIMEOUT;
        while count > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.hear(left)? {
                Some(Report::Prepared { .. }) => count -= 1,
                Some(_) => {}
                None => {
                    let what = format!("{count} parts are not ready after {PREPARE_TIMEOUT:?}");
                    return Err(TestbedError::Protocol { who: "the hosts' agents".to_owned(), what });
                }
            }
        }
        Ok(())
    }
}

impl Agent {
    fn start(
        host: &str,
        netns: std::os::fd::BorrowedFd<'_>,
        program: &Path,
        index: usize,
        speak: Sender<(usize, Heard)>,
    ) -> Result<Self, TestbedError> {
        let mut command = Command::new(program);
        command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // In its own process group: Ctrl-C at the terminal is for the run, which ends its agents itself.
        let started = tie(command.process_group(0), Some(netns)).spawn();
        let who = || format!("start the agent of {host} ({} agent)", program.display());
        let mut child = started.map_err(|source| TestbedError::Child { who: who(), source })?;
        let last_words = LastWords::of(child.stderr.take().expect("piped"));
        let stdout = child.stdout.take().expect("piped");
        let stdin = child.stdin.take();
        let listener = thread::spawn(move || listen(index, stdout, &speak));
        Ok(Self { host: host.to_owned(), child, stdin, last_words, listener: Some(listener) })
    }

    fn tell(&mut self, request: &Request) -> Result<(), TestbedError> {
        let mut line = serde_json::to_string(request).expect("requests are plain data");
        line.push('\n');
        let stdin = self.stdin.as_mut().expect("taken only when dropped");
        if stdin.write_all(line.as_bytes()).is_ok() { Ok(()) } else { Err(self.obituary()) }
    }

    fn obituary(&mut self) -> TestbedError {
        child_died(format!("the agent of {}", self.host), &mut self.child, &self.last_words)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // The end of its input ends it; SIGKILL makes sure. Errors mean that it has ended already.
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

fn listen(index: usize, stdout: impl Read, speak: &Sender<(usize, Heard)>) {
    for line in BufReader::new(stdout).lines() {
        let Ok(line) = line else { break };
        let heard = match serde_json::from_str(&line) {
            Ok(report) => Heard::Report(report),
            Err(error) => {
                let error = format!("not a report: {line}: {error}");
                Heard::Report(Report::Failed { app: usize::MAX, error })
            }
        };
        if speak.send((index, heard)).is_err() {
            return;
        }
    }
    // The receiver is gone: the fleet is being dropped.
    let _ = speak.send((index, Heard::Closed));
}

/// The error for a child that ended. Waits briefly for it: its output closes before it is gone.
pub(crate) fn child_died(who: String, child: &mut Child, last_words: &LastWords) -> TestbedError {
    let mut status = "still running, but it closed its output".to_owned();
    for _ in 0..50 {
        if let Ok(Some(ended)) = child.try_wait() {
            status = ended.to_string();
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    TestbedError::ChildDied { who, status, stderr: last_words.complete() }
}

/// The end of a child's standard error.
#[derive(Clone, Debug)]
pub(crate) struct LastWords {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    /// The pipe is closed.
    closed: bool,
}

impl LastWords {
    /// Reads `stderr` on a separate thread until it is closed.
    pub(crate) fn of(mut stderr: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let shared = Arc::clone(&kept);
        thread::spawn(move || {
            let mut buffer = [0; 1024];
            loop {
                let n = stderr.read(&mut buffer).unwrap_or(0);
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.bytes.extend_from_slice(&buffer[..n]);
                let excess = kept.bytes.len().saturating_sub(LAST_WORDS_BYTES);
                kept.bytes.drain(..excess);
                if n == 0 {
                    kept.closed = true;
                    return;
                }
            }
        });
        Self { kept }
    }

    /// All of it, after a short wait: when a child has ended its last output is still in the pipe.
    fn complete(&self) -> String {
        let deadline = Instant::now() + Duration::from_millis(500);
        loop {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.closed || Instant::now() > deadline {
                return String::from_utf8_lossy(&kept.bytes).trim().to_owned();
            }
            drop(kept);
            thread::sleep(Duration::from_millis(5));
        }
    }
}
