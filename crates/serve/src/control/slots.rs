//! Connections to the control socket: a bounded number of clients, which cannot keep the operator from a bypass.
//!
//! A client keeps its slot only while one of its requests is being processed. When no slot is free, the server disconnects
//! the client that has been idle longest. When all clients wait for a reply, one slot remains, and its client may only
//! request a bypass.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Clients at once, at most, including one that may only bypass.
pub(super) const MOST: usize = 32;

/// All connected clients.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots(Arc<Mutex<Vec<Held>>>);

/// A connected client.
#[derive(Debug)]
struct Held {
    stream: Arc<UnixStream>,
    /// Since when it has been idle; `None`: a request of it is being processed.
    idle: Option<Instant>,
}

/// A client's slot, held while this exists.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Slots,
    stream: Arc<UnixStream>,
    bypass_only: bool,
}

/// A request being processed, while this exists.
pub(super) struct Busy<'a>(&'a Slot);

impl Slots {
    /// A slot for a new client; `None`: every client is waiting for a reply.
    pub(super) fn take(&self, stream: UnixStream) -> Option<Slot> {
        let mut held = self.held();
        while held.len() >= MOST - 1 {
            let idle = held.iter().enumerate().filter_map(|(i, one)| Some((one.idle?, i)));
            let Some((_, longest)) = idle.min() else { break };
            // Its thread will find its connection ended.
            let _ = held.remove(longest).stream.shutdown(Shutdown::Both);
        }
        if held.len() >= MOST {
            return None;
        }
        let bypass_only = held.len() == MOST - 1;
        let stream = Arc::new(stream);
        held.push(Held { stream: Arc::clone(&stream), idle: Some(Instant::now()) });
        drop(held);
        Some(Slot { slots: self.clone(), stream, bypass_only })
    }

    /// Number of requests being processed.
    pub(super) fn busy(&self) -> usize {
        self.held().iter().filter(|one| one.idle.is_none()).count()
    }

    fn held(&self) -> MutexGuard<'_, Vec<Held>> {
        // The list is consistent between any two statements.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    pub(super) fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Whether its client may only request a bypass.
    pub(super) const fn is_bypass_only(&self) -> bool {
        self.bypass_only
    }

    /// Notes the start of a request, which ends when the result is dropped.
    pub(super) fn begin(&self) -> Busy<'_> {
        self.set(None);
        Busy(self)
    }

    fn set(&self, idle: Option<Instant>) {
        let mut held = self.slots.held();
        // It is missing if the server disconnected it.
        held.iter_mut().filter(|one| Arc::ptr_eq(&one.stream, &self.stream)).for_each(|one| one.idle = idle);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.held().retain(|one| !Arc::ptr_eq(&one.stream, &self.stream));
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.set(Some(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn connect(slots: &Slots) -> (Option<Slot>, UnixStream) {
        let (here, there) = UnixStream::pair().expect("a pair");
        here.set_nonblocking(true).expect("a setting");
        (slots.take(there), here)
    }

    #[test]
    fn the_longest_idle_client_makes_room() {
        let slots = Slots::default();
        let all: Vec<_> = (0..MOST - 1).map(|_| connect(&slots)).collect();
        let busy = all[0].0.as_ref().expect("free").begin();
        assert_eq!(slots.busy(), 1);
        let (newcomer, _end) = connect(&slots);
        assert!(newcomer.is_some_and(|slot| !slot.is_bypass_only()));
        assert_eq!((&all[1].1).read(&mut [0]).expect("hung up on"), 0);
        for (_, end) in all.iter().skip(2).chain(&all[..1]) {
            assert!({ end }.read(&mut [0]).is_err(), "the others stay");
        }
        drop(busy);
        assert_eq!(slots.busy(), 0);
    }

    #[test]
    fn while_all_clients_wait_one_more_may_bypass() {
        let slots = Slots::default();
        let all: Vec<_> = (0..MOST - 1).map(|_| connect(&slots)).collect();
        let _busy: Vec<_> = all.iter().map(|(slot, _)| slot.as_ref().expect("free").begin()).collect();
        for _ in 0..2 {
            // The second one finds the first one idle.
            let (last, _end) = connect(&slots);
            let last = last.expect("one is left");
            assert!(last.is_bypass_only());
            let _busy = last.begin();
            assert!(connect(&slots).0.is_none());
        }
    }
}
