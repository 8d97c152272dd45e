//! Right edges of the receiver's window that were advertised to a station recently.
//!
//! A sender that the window limits, and whose window is no multiple of its segments, fills it with a short segment (Linux: 375 bytes
//! behind 45 of 1448 in 65,535). Its application has more to send, although a short segment otherwise suggests the end of its data. PSH
//! does not distinguish the two, since Linux sets it whenever half a window has been filled.

use alloc::collections::VecDeque;

use evenair_packet::TcpMeta;

use crate::flows::tcp::after;

/// ACKs remembered, at most: with one for every second segment, those of a window of 180 kB.
const MOST: usize = 64;
/// Largest window scale, a shift (RFC 7323, 2.3).
const MOST_SCALE: u32 = 14;

/// Acknowledgment number and window as on the wire, by ascending numbers. The scale was negotiated in the SYNs, which a box may not have
/// seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct RightEdges(VecDeque<(u32, u16)>);

impl RightEdges {
    /// Notes an ACK that is released toward the station.
    pub(crate) fn note_ack(&mut self, ack: &TcpMeta) {
        if self.0.back().is_some_and(|&(last, _)| !after(ack.ack, last)) {
            return;
        }
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back((ack.ack, ack.window));
    }

    /// Whether any ACK is remembered.
    pub(crate) fn are_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether a window ended at this sequence number, at any scale. If so, forgets earlier edges.
    pub(crate) fn end_at(&mut self, seq_end: u32) -> bool {
        let is_edge = |&(ack, window): &(u32, u16)| {
            let room = seq_end.wrapping_sub(ack);
            (0..=MOST_SCALE).any(|scale| room == u32::from(window) << scale)
        };
        let place = self.0.iter().position(is_edge);
        self.0.drain(..place.map_or(0, |place| place + 1));
        place.is_some()
    }
}
