//! A TCP endpoint in virtual time.
//!
//! Principle: a [`Connection`] is a state machine without clock, socket or memory of the bytes it carries. The stream's bytes
//! are their own positions, so a segment is a small `Copy` record and a transfer of any size costs a few words. Everything that
//! decides *when* a segment is sent (windows, timers, acknowledgments, loss recovery, congestion control) is modelled exactly
//! as in the documents below, or as observed of Linux with the corresponding settings, because it determines the queues of a
//! network; what matters only to hosts is not modelled.
//!
//! Grammar: [`Connection::handle_segment`] and [`Connection::handle_timeout`] change the state, then
//! [`Connection::poll_transmit`] and [`Connection::poll_event`] are called until they return `None`, then
//! [`Connection::poll_deadline`] says when to call `handle_timeout`. Drain after every single input: an endpoint keeps
//! *that* it owes an acknowledgment, not how many, so segments handled in one go without draining would share one
//! duplicate acknowledgment.
//!
//! One file per concern: [`segment`] the segments; `connection` the states; `handshake` the negotiated options; `sender`
//! sending and the processing of acknowledgments; `recovery` loss recovery; `scoreboard` and `ranges` data that the receiver is
//! known to have; `tail` tail loss probes; `batch` the PSH flag; `congestion` the window, one file an algorithm; `prr` the
//! window during recovery; `rto` the retransmission timeout; `receiver` reassembly, acknowledgments and the advertised window.
//!
//! Sources: RFC 9293 (TCP), 5681 (congestion control), 3042 (limited transmit), 6582 (NewReno), 2018 and 6675 (SACK),
//! 8985 (RACK-TLP), 6937 and 9937 (proportional rate reduction), 9438 (CUBIC), 9406 (HyStart++), 6298 (retransmission
//! timeout), 7323 (window scaling, timestamps), 6928 (initial window), 3465 (byte counting), 1122 (delayed acknowledgments, silly windows).
//!
//! Not modelled: simultaneous open, urgent data, ECN, pacing, path-MTU discovery, RACK's reordering window where reordering was
//! seen, undoing of a spurious fast recovery (D-SACK), an auto-tuned receive buffer, checksums, PAWS. Sequence numbers do not
//! wrap.
//!
//! Floats appear in CUBIC only: additions, multiplications, divisions and `libm::cbrt`, which give the same bits on
//! every machine.

mod batch;
mod config;
mod congestion;
mod connection;
mod events;
mod handshake;
mod history;
mod prr;
mod ranges;
mod receiver;
mod recovery;
mod rto;
mod scoreboard;
pub mod segment;
mod sender;
mod tail;

pub use config::{AckPolicy, Algorithm, Config, ConfigError, Growth, LossRecovery, Quirks, RtoConfig, RtoFloor};
pub use connection::{Connection, State};
pub use events::{CloseReason, Event, Stats, Timer};
pub use segment::Segment;
