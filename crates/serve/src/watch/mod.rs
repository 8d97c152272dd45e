//! The watch feed: the state of the box, second by second, for pages and other programs without the right to command. The lines are
//! described in [`evenair_api::watch`].
//!
//! One thread requests the packet loop's state once a second (which the loop copies in slices: `slices.rs`), computes the differences to
//! the previous second ([`evenair_view::line`]), and keeps points in rings of bounded memory (`rings`). Clients' threads wait for the next
//! second (`feed`); clients with the same parts get the same bytes. So the loop's work does not depend on the number of clients.
//!
//! Not here: times before the box reopened its ports, since stations and counters begin anew then as well.

mod events;
mod facts;
mod feed;
mod request;
mod rings;
mod sampler;
mod server;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use evenair_boxfile::BoxConfig;
use evenair_live::events::FeedSink;
use tracing::warn;

use crate::control::{Door, End, Purpose};
use crate::state::BoxState;

use feed::Feed;
use sampler::Sampler;
use server::Clients;

/// Members of the group may watch without the right to command.
const PURPOSE: Purpose = Purpose { name: "watch socket", key: "[control] watch", group: Some("evenair-watch") };

/// Serves the watch socket until dropped.
pub(crate) struct Watch {
    path: PathBuf,
    sink: FeedSink,
    feed: Arc<Feed>,
    end: Arc<End>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts measuring and listening; `None`: the box has no control socket, and so no watch socket, or cannot create one that the
    /// configuration does not name, which is logged.
    ///
    /// # Errors
    /// The configured socket cannot be created, or a running box replies there already; no thread can be created.
    pub(crate) fn start(config: &BoxConfig, state: BoxState) -> Result<Option<Self>> {
        let Some(path) = config.watch_socket() else { return Ok(None) };
        let door = match Door::open(&path, PURPOSE) {
            Ok(door) => door,
            Err(error) if config.watch.is_none() => {
                warn!("{error:#}; the box goes on without a watch socket");
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let (sink, entries) = FeedSink::new();
        let (feed, end) = (Arc::new(Feed::default()), Arc::new(End::new()?));
        // It ends with the loop to which it sends requests.
        let sampler = Sampler::new(state, entries, Arc::clone(&feed), config);
        thread::Builder::new().name("watch".into()).spawn(|| sampler.work()).context("start the watch thread")?;
        let (clients, ended) = (Clients::new(Arc::clone(&feed)), Arc::clone(&end));
        let accept = move || {
            if let Err(error) = door.accept(&ended, |stream| clients.admit(stream)) {
                warn!("the watch socket is not served any more: {error}");
            }
        };
        let thread = thread::Builder::new().name("watch socket".into()).spawn(accept);
        let thread = Some(thread.context("start the thread of the watch socket")?);
        Ok(Some(Self { path, sink, feed, end, thread }))
    }

    /// Sink of events and commands for the feed.
    pub(crate) fn sink(&self) -> FeedSink {
        self.sink.clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.feed.end();
        self.end.reach();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // A remaining file is harmless: the next box replaces it.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use evenair_manager::Config;
    use evenair_wifi::{Phy, Standard};

    use super::*;
    use crate::tests_support;

    #[test]
    fn a_watch_socket_that_cannot_be_created_is_an_error_only_if_configured() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = BoxConfig::new("a", "b", Config::new(Phy::default_for(Standard::Dot11b)));
        let start = |config: &BoxConfig| Watch::start(config, tests_support::state(tests_support::control().0));
        assert!(start(&config).expect("no control socket").is_none());
        // The name of the control socket fits into an address, that of the watch socket does not.
        let long = folder.path().join("x".repeat(98 - folder.path().as_os_str().len())).with_extension("sock");
        let config = BoxConfig { control: Some(long), ..config };
        assert!(start(&config).expect("the box goes on").is_none());
        let named = BoxConfig { watch: config.watch_socket(), ..config.clone() };
        let error = start(&named).err().expect("it was asked for");
        assert!(format!("{error:#}").starts_with("[control] watch = "), "{error:#}");
        let named = BoxConfig { watch: Some(folder.path().join("watch.sock")), ..config };
        let watch = start(&named).expect("it can be made").expect("there is one");
        assert!(folder.path().join("watch.sock").exists());
        drop(watch);
        assert!(!folder.path().join("watch.sock").exists());
    }
}
