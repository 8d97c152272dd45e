//! A learning Ethernet switch (IEEE 802.1D, clause 7, without spanning tree).
//!
//! Addresses do not age: a testbed's hosts do not move from port to port.

use std::collections::BTreeMap;

use evenair_packet::MacAddr;

/// Forwarding decision for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward<P> {
    /// To this port.
    To(P),
    /// To all ports except the one at which it arrived.
    Flood,
    /// Nowhere: the destination is at the port at which it arrived.
    Filter,
}

/// The table of a switch with ports of type `P`.
#[derive(Clone, Debug)]
pub struct Switch<P> {
    table: BTreeMap<MacAddr, P>,
}

impl<P> Default for Switch<P> {
    /// A switch with an empty address table.
    fn default() -> Self {
        Self { table: BTreeMap::new() }
    }
}

impl<P: Copy + Eq> Switch<P> {
    /// Learns the sender's port and returns the forwarding decision.
    pub fn forward(&mut self, source: MacAddr, destination: MacAddr, port: P) -> Forward<P> {
        if !source.is_multicast() {
            self.table.insert(source, port);
        }
        match self.table.get(&destination) {
            _ if destination.is_multicast() => Forward::Flood,
            Some(&known) if known == port => Forward::Filter,
            Some(&known) => Forward::To(known),
            None => Forward::Flood,
        }
    }
}

/// Destination and source address of an Ethernet frame; `None` if it is shorter than the header.
pub fn addresses(frame: &[u8]) -> Option<(MacAddr, MacAddr)> {
    let (destination, rest) = frame.split_first_chunk::<6>()?;
    let source = rest.first_chunk::<6>()?;
    (frame.len() >= HEADER_BYTES).then_some((MacAddr(*destination), MacAddr(*source)))
}

/// Size of an Ethernet header in bytes: destination, source and type.
pub const HEADER_BYTES: usize = 14;

#[cfg(test)]
mod tests {
    use super::*;

    const A: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const B: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
    const ALL: MacAddr = MacAddr([0xff; 6]);

    #[test]
    fn floods_until_it_has_heard_from_the_destination() {
        let mut switch = Switch::default();
        assert_eq!(switch.forward(A, B, 1), Forward::Flood);
        assert_eq!(switch.forward(B, A, 2), Forward::To(1));
        assert_eq!(switch.forward(A, B, 1), Forward::To(2));
        assert_eq!(switch.forward(B, ALL, 2), Forward::Flood);
    }

    #[test]
    fn filters_frames_for_the_port_of_arrival_and_follows_a_move() {
        let mut switch = Switch::default();
        switch.forward(A, ALL, 1);
        assert_eq!(switch.forward(B, A, 1), Forward::Filter);
        switch.forward(A, ALL, 3);
        assert_eq!(switch.forward(B, A, 1), Forward::To(3));
    }

    #[test]
    fn a_group_address_as_source_is_not_learnt() {
        let mut switch = Switch::default();
        switch.forward(ALL, A, 1);
        assert_eq!(switch.forward(A, ALL, 2), Forward::Flood);
    }

    #[test]
    fn a_short_frame_has_no_addresses() {
        assert_eq!(addresses(&[0; 13]), None);
        let mut frame = [0; 14];
        frame[..6].copy_from_slice(&A.0);
        frame[6..12].copy_from_slice(&B.0);
        assert_eq!(addresses(&frame), Some((A, B)));
    }
}
