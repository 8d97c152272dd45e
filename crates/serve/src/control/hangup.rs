//! SIGHUP: the box reloads its configuration, as with the reload request, and logs the result.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use evenair_api::Request;
use evenair_api::history::Author;
use evenair_boxfile::BoxConfig;
use evenair_live::control::{Answer, ControlHandle};
use evenair_live::events::{Commanded, EventSink};
use evenair_sys::rt::{Epoll, Waker};
use tracing::{info, warn};

use super::server::check;

/// The thread that waits for the signal, until this is dropped. It reads the file instead of the packet loop.
pub(crate) struct Hangup {
    end: Arc<(AtomicBool, Waker)>,
    thread: Option<JoinHandle<()>>,
}

impl Hangup {
    /// Waits at `signals`, which gets a byte for each signal.
    ///
    /// # Errors
    /// A refused system call; no room for the thread.
    pub(crate) fn start(
        signals: UnixStream,
        config: BoxConfig,
        control: ControlHandle,
        events: Option<EventSink>,
    ) -> Result<Self> {
        let end = Arc::new((AtomicBool::new(false), Waker::new()?));
        let mut epoll = Epoll::new(2)?;
        epoll.add(&signals, 0)?;
        epoll.add(&end.1, 1)?;
        let ended = Arc::clone(&end);
        let work = move || {
            let mut signals = signals;
            while epoll.wait(None).is_ok() && !ended.0.load(Ordering::Acquire) {
                let mut bytes = [0; 16];
                if matches!(signals.read(&mut bytes), Ok(1..)) {
                    reload(&config, &control, events.as_ref());
                }
            }
        };
        let thread = thread::Builder::new().name("reload".into()).spawn(work);
        Ok(Self { end, thread: Some(thread.context("start the thread that waits for SIGHUP")?) })
    }
}

impl Drop for Hangup {
    fn drop(&mut self) {
        self.end.0.store(true, Ordering::Release);
        self.end.1.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn reload(config: &BoxConfig, control: &ControlHandle, events: Option<&EventSink>) {
    let request = check(Request::Reconfigure { file: None, check: false }, config);
    let answer = request.and_then(|request| control.ask(request).map_err(str::to_owned));
    match answer {
        Ok(Answer::Refused(why)) | Err(why) => warn!("asked to reload by a signal: the old configuration stays: {why}"),
        Ok(_) => {
            info!("asked to reload by a signal: done");
            events.inspect(|events| events.leave_done(Commanded::Reload, Some(Author::Signal)));
        }
    }
}
