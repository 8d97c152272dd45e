//! Bursts of nodes that aggregate. An MPDU is remembered from its first transmission until its sender drops it: it may be
//! repeated after it was received, when the medium no longer has its packets.

use std::collections::BTreeMap;

use evenair_medium::{AccessCategory, BurstOnAir, MpduOnAir, NodeId, To};

use super::frame::Msdu;

/// Number of sequence numbers, which have twelve bits.
pub(super) const NUMBERS: u64 = 4096;

/// Scope of a sequence counter: domain and sender, category and receiver.
type Key = (usize, NodeId, AccessCategory, To);

/// The MPDUs of all nodes.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    agreements: BTreeMap<Key, Agreement>,
    /// The present or last burst of each node.
    present: BTreeMap<(usize, NodeId), Present>,
}

/// MPDUs that a node has sent to a receiver in a category, and may repeat.
#[derive(Debug, Default)]
struct Agreement {
    /// Number of the oldest MPDU.
    start: u64,
    window: u16,
    mpdus: BTreeMap<u64, Mpdu>,
}

/// An MPDU that is on the air.
#[derive(Debug, Default)]
pub(super) struct Mpdu {
    /// Sequence number; `None` without EDCA, where all receivers share a counter that is kept elsewhere.
    pub(super) sequence: Option<u16>,
    pub(super) msdus: Vec<Msdu>,
    /// It was transmitted before.
    pub(super) sent: bool,
    received: bool,
}

#[derive(Debug)]
struct Present {
    key: Key,
    numbers: Vec<u64>,
}

/// Contents of a BlockAckReq or BlockAck.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) category: AccessCategory,
    /// Sequence number of the first MPDU that it covers.
    pub(super) first: u16,
    /// Whether each MPDU from that one on was received: 64 or 256 bits.
    pub(super) bitmap: Vec<u8>,
}

impl Bursts {
    /// Begins a node's burst. `read` makes an MSDU of a packet.
    pub(super) fn begin<F>(&mut self, key: Key, burst: BurstOnAir<'_, F>, read: impl Fn(&F) -> Msdu) {
        let BurstOnAir { start, window, mpdus } = burst;
        let agreement = self.agreements.entry(key).or_default();
        (agreement.start, agreement.window) = (start, window);
        agreement.mpdus = agreement.mpdus.split_off(&start);
        let numbers = mpdus.iter().map(|mpdu| mpdu.number).collect();
        for MpduOnAir { number, packets } in mpdus {
            let mpdu = agreement.mpdus.entry(number).or_default();
            if mpdu.msdus.is_empty() {
                mpdu.msdus = packets.into_iter().map(&read).collect();
            }
        }
        self.present.insert((key.0, key.1), Present { key, numbers });
    }

    /// Calls `each` for the MPDUs of the node's burst in order, each with its number.
    pub(super) fn each(&mut self, node: (usize, NodeId), mut each: impl FnMut(u64, &mut Mpdu)) {
        let Some(Present { key, numbers }) = self.present.get(&node) else { return };
        let Some(agreement) = self.agreements.get_mut(key) else { return };
        for number in numbers {
            if let Some(mpdu) = agreement.mpdus.get_mut(number) {
                each(*number, mpdu);
            }
        }
    }

    /// Ends a node's burst: its MPDUs were received, except the `lost` ones. Returns which were received.
    pub(super) fn end(&mut self, node: (usize, NodeId), lost: &[bool]) -> Vec<bool> {
        let mut received = Vec::new();
        self.each(node, |_, mpdu| {
            let is_lost = lost.get(received.len()).is_some_and(|&lost| lost);
            mpdu.received |= !is_lost;
            received.push(!is_lost);
        });
        received
    }

    /// The only receiver of the node's present or last burst; `None` for a group.
    pub(super) fn receiver(&self, node: (usize, NodeId)) -> Option<NodeId> {
        match self.present.get(&node)?.key.3 {
            To::Node(receiver) => Some(receiver),
            To::Broadcast => None,
        }
    }

    /// Contents of a node's BlockAckReq, or of the BlockAck that it gets: they begin at its oldest MPDU.
    pub(super) fn said(&self, node: (usize, NodeId)) -> Option<Said> {
        let key = self.present.get(&node)?.key;
        let agreement = self.agreements.get(&key)?;
        let mut bitmap = vec![0; if agreement.window > 64 { 32 } else { 8 }];
        for (number, _) in agreement.mpdus.range(agreement.start..).filter(|(_, mpdu)| mpdu.received) {
            let place = (number - agreement.start) as usize;
            bitmap.get_mut(place / 8).into_iter().for_each(|byte: &mut u8| *byte |= 1 << (place % 8));
        }
        Some(Said { category: key.2, first: (agreement.start % NUMBERS) as u16, bitmap })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: (usize, NodeId) = (0, NodeId(3));
    const KEY: Key = (NODE.0, NODE.1, AccessCategory::Video, To::Node(NodeId(0)));

    /// Begins a burst of these MPDUs, each with the packet of its number, without those that are `gone`.
    fn begin(bursts: &mut Bursts, start: u64, window: u16, numbers: &[u64], gone: &[u64]) {
        let mpdus = numbers.iter().map(|number| MpduOnAir {
            number: *number,
            packets: std::iter::once(number).filter(|&number| !gone.contains(number)).collect(),
        });
        let mpdus = mpdus.collect();
        let read = |number: &u64| Msdu { bytes: vec![*number as u8], ..Msdu::default() };
        bursts.begin(KEY, BurstOnAir { start, window, mpdus }, read);
    }

    #[test]
    fn a_block_ack_covers_the_mpdus_from_the_oldest_missing_one() {
        let mut bursts = Bursts::default();
        begin(&mut bursts, 4094, 64, &[4094, 4095, 4096, 4097], &[]);
        assert_eq!(bursts.end(NODE, &[true, false, false, true]), [false, true, true, false]);
        let said = bursts.said(NODE).unwrap();
        assert_eq!(said, Said { category: AccessCategory::Video, first: 4094, bitmap: vec![6, 0, 0, 0, 0, 0, 0, 0] });
        begin(&mut bursts, 4094, 64, &[4094, 4097, 4098], &[]);
        assert_eq!(bursts.end(NODE, &[true]), [false, true, true]);
        assert_eq!(bursts.said(NODE).unwrap().bitmap, [0b11110, 0, 0, 0, 0, 0, 0, 0]);
        // A BlockAckReq: the window has moved beyond the oldest MPDU, and a window of 256 has more bits.
        begin(&mut bursts, 4097, 256, &[], &[]);
        let said = bursts.said(NODE).unwrap();
        assert_eq!((said.first, said.bitmap.len(), said.bitmap[0]), (1, 32, 3));
    }

    #[test]
    fn an_mpdu_repeated_after_its_reception_is_unchanged() {
        let mut bursts = Bursts::default();
        begin(&mut bursts, 0, 64, &[0, 1], &[]);
        begin(&mut bursts, 0, 64, &[0, 1], &[0]);
        let mut seen = Vec::new();
        bursts.each(NODE, |number, mpdu| seen.push((number, mpdu.msdus[0].bytes[0])));
        assert_eq!(seen, [(0, 0), (1, 1)]);
        // MPDUs that the sender has dropped are forgotten.
        begin(&mut bursts, 2, 64, &[2], &[]);
        assert_eq!(bursts.agreements[&KEY].mpdus.len(), 1);
    }
}
