//! Which data a station's TCP ACKs acknowledge.
//!
//! A receiver acknowledges out-of-order data at once with the number that it still expects, so several receptions may have the same
//! ACK number (RFC 5681, 4.2). The first of them may have been in order with a delayed ACK: then the ACK of the next, out-of-order
//! one covers both. So if there are fewer ACKs with a number than receptions after which it was expected, the last receptions were
//! acknowledged.

use std::collections::BTreeMap;

use evenair_packet::TcpFlags;

use super::events::Events;
use super::flow::{Flow, end, flow};
use super::successes::Success;

/// The event that triggered a station's TCP ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// Data received at this event.
    By(usize),
    /// Data that is in neither capture.
    Unseen,
}

/// Receiver state of one direction of a connection.
#[derive(Default)]
struct Receiver {
    /// The next expected sequence number, once known.
    expected: Option<u32>,
    /// Out-of-order data: first sequence number, and one past the last.
    early: Vec<(u32, u32)>,
    /// Each reception of data: the number expected after it, and the event.
    receipts: Vec<(u32, usize)>,
    /// Pure ACKs: their number, and the frame.
    answers: Vec<(u32, usize)>,
}

/// The trigger of each frame, if it is a station's pure ACK and the trigger is known.
pub(super) fn made(successes: &[Success<'_>], events: &Events) -> Vec<Option<Made>> {
    let mut flows: BTreeMap<Flow, Receiver> = BTreeMap::new();
    for (index, success) in successes.iter().enumerate() {
        let Some((flow, tcp)) = success.packet.and_then(|packet| flow(&packet.meta)) else { continue };
        if success.up {
            let (from, to, source, target) = flow;
            let other = TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0;
            if tcp.payload.0 == 0 && tcp.flags.0 & other == 0 {
                flows.entry((to, from, target, source)).or_default().answer(tcp.ack, index);
            }
        } else if end(tcp) != tcp.seq {
            flows.entry(flow).or_default().receive(tcp.seq, end(tcp), events.of[index]);
        }
    }
    let mut made = vec![None; successes.len()];
    flows.values().for_each(|receiver| receiver.match_answers(successes, events, &mut made));
    made
}

/// Whether a sequence number follows another, modulo 2^32.
fn is_after(number: u32, other: u32) -> bool {
    number.wrapping_sub(other) as i32 > 0
}

impl Receiver {
    fn receive(&mut self, from: u32, to: u32, event: usize) {
        let expected = self.expected.get_or_insert(from);
        if is_after(from, *expected) {
            self.early.push((from, to));
        } else if is_after(to, *expected) {
            *expected = to;
        }
        self.join();
        self.receipts.extend(self.expected.map(|expected| (expected, event)));
    }

    /// Handles an ACK, which confirms data even if the monitor missed it.
    fn answer(&mut self, number: u32, frame: usize) {
        if self.expected.is_none_or(|expected| is_after(number, expected)) {
            self.expected = Some(number);
            self.join();
        }
        self.answers.push((number, frame));
    }

    /// Joins out-of-order data that has become contiguous.
    fn join(&mut self) {
        let Some(expected) = &mut self.expected else { return };
        while let Some(place) = self.early.iter().position(|&(from, _)| !is_after(from, *expected)) {
            let (_, to) = self.early.swap_remove(place);
            if is_after(to, *expected) {
                *expected = to;
            }
        }
    }

    fn match_answers(&self, successes: &[Success<'_>], events: &Events, made: &mut [Option<Made>]) {
        let mut receipts = self.receipts.chunk_by(|one, next| one.0 == next.0).peekable();
        let mut last = None;
        for answers in self.answers.chunk_by(|one, next| one.0 == next.0) {
            let number = answers[0].0;
            while receipts.next_if(|receipts| is_after(number, receipts[0].0)).is_some() {}
            let answered = receipts.peek().filter(|receipts| receipts[0].0 == number).copied().unwrap_or_default();
            let skipped = answered.len().saturating_sub(answers.len());
            for (place, &(_, frame)) in answers.iter().enumerate() {
                let came = |&&(_, event): &&(u32, usize)| events.at[event] <= successes[frame].began;
                let receipt = answered.get(skipped + place).filter(came).or_else(|| answered.get(place).filter(came));
                let is_new = place == 0 && last.is_some_and(|last| is_after(number, last));
                made[frame] = match receipt {
                    Some(&(_, event)) => Some(Made::By(event)),
                    None if is_new => Some(Made::Unseen),
                    None => None,
                };
            }
            last = Some(number);
        }
    }
}
