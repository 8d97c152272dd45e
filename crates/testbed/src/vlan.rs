//! VLANs of the access points (IEEE Std 802.1Q-2018), on both sides of the box.
//!
//! An access point with a VLAN tags its frames toward the box, and accepts only frames with this tag from there. Access points
//! without one share the native VLAN, whose frames have no tag. The LAN switch's port to the box is a [`Trunk`] of these VLANs;
//! the hosts behind its other ports are in all of them. As no frame leaves a switch by the port of its arrival, stations in
//! different VLANs do not reach each other.
//!
//! Other tags are content: in a scenario without VLANs no frame is changed.

use std::collections::{BTreeMap, BTreeSet};

use evenair_packet::MacAddr;
use evenair_scenario::Scenario;

use crate::switch::addresses;

/// EtherType of a VLAN tag (IEEE Std 802.1Q-2018, table 9-1).
const TAG_TYPE: [u8; 2] = [0x81, 0x00];
/// Offset of the tag in a frame, behind both addresses, and its size, in bytes.
const TAG_AT: usize = 12;
const TAG_BYTES: usize = 4;
/// VLAN identifier in the last two bytes of a tag; above it are priority and drop eligibility.
const ID_MASK: u16 = 0x0fff;
/// Minimum size of an Ethernet frame without FCS in bytes (IEEE Std 802.3-2018, 3.2.8).
const LEAST_FRAME: usize = 60;
/// Content of a Layer 2 Update behind the addresses: length, null DSAP and SSAP (response), XID, and its information field:
/// class 1, a window of 1 (ISO/IEC 8802-2, 5.4.1.1.2).
const LAYER_2_UPDATE: [u8; 8] = [0, 6, 0x00, 0x01, 0xaf, 0x81, 0x01, 0x02];

/// A VLAN by its identifier; `None` is the native VLAN.
pub type Vlan = Option<u16>;

/// VLAN of each access point, in the order of the scenario.
pub fn of_access_points(scenario: &Scenario) -> Vec<Vlan> {
    scenario.access_points.iter().map(|point| point.vlan).collect()
}

/// The frame in a VLAN: with its tag at priority 0, or unchanged in the native VLAN.
pub fn tag(vlan: Vlan, mut frame: Vec<u8>) -> Vec<u8> {
    if let Some(id) = vlan {
        frame.splice(TAG_AT..TAG_AT, TAG_TYPE.into_iter().chain(id.to_be_bytes()));
    }
    frame
}

/// The VLAN of a frame, and the frame without its tag, if the tag is of one of `vlans`; otherwise the native VLAN and the frame
/// as it is.
pub fn untag(vlans: &[Vlan], mut frame: Vec<u8>) -> (Vlan, Vec<u8>) {
    let id = match frame.get(TAG_AT..TAG_AT + TAG_BYTES) {
        Some(&[a, b, high, low]) if [a, b] == TAG_TYPE => Some(u16::from_be_bytes([high, low]) & ID_MASK),
        _ => None,
    };
    let vlan = id.filter(|_| vlans.contains(&id));
    if vlan.is_some() {
        frame.drain(TAG_AT..TAG_AT + TAG_BYTES);
    }
    (vlan, frame)
}

/// The frame that an access point sends in the name of a station that has associated, so that switches learn where the station
/// is: a Layer 2 Update (IEEE Std 802.11F-2003), as hostapd and mac80211 send.
pub fn layer_2_update(station: MacAddr) -> Vec<u8> {
    let mut frame = [&MacAddr::BROADCAST.0[..], &station.0, &LAYER_2_UPDATE].concat();
    frame.resize(LEAST_FRAME, 0);
    frame
}

/// A switch's port whose frames are in several VLANs, and the VLAN of each address there. Addresses do not age.
#[derive(Clone, Debug)]
pub struct Trunk {
    /// The VLANs, each once.
    vlans: Vec<Vlan>,
    /// VLAN of the last frame from each address; empty if there is only one VLAN.
    table: BTreeMap<MacAddr, Vlan>,
}

impl Trunk {
    /// A trunk with the VLANs of these access points.
    pub fn new(of_access_points: &[Vlan]) -> Self {
        let vlans: BTreeSet<_> = of_access_points.iter().copied().collect();
        Self { vlans: vlans.into_iter().collect(), table: BTreeMap::new() }
    }

    /// Learns the sender's VLAN from a frame that arrives on the trunk, and returns the frame without its tag.
    pub fn accept(&mut self, frame: Vec<u8>) -> Vec<u8> {
        let (vlan, frame) = untag(&self.vlans, frame);
        let source = addresses(&frame).map(|(_, source)| source);
        if let Some(source) = source.filter(|source| self.vlans.len() > 1 && !source.is_multicast()) {
            self.table.insert(source, vlan);
        }
        frame
    }

    /// The copies of a frame that leave by the trunk: one in the VLAN of its destination, or one in each VLAN if the destination
    /// is a group or was not heard.
    pub fn copies(&self, frame: Vec<u8>) -> Vec<Vec<u8>> {
        let of_destination = addresses(&frame).and_then(|(destination, _)| self.table.get(&destination));
        match (of_destination, &self.vlans[..]) {
            (Some(&vlan), _) | (None, &[vlan]) => vec![tag(vlan, frame)],
            (None, all) => all.iter().map(|&vlan| tag(vlan, frame.clone())).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const B: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
    const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);
    const HALL: Vlan = Some(11);
    const YARD: Vlan = Some(12);

    fn frame(to: MacAddr, from: MacAddr) -> Vec<u8> {
        [&to.0[..], &from.0, &[8, 0], &[7; 1500]].concat()
    }

    /// The VLANs of the copies of a frame for `to`, each of which must be the frame itself but for the tag.
    fn vlans_toward(trunk: &Trunk, to: MacAddr) -> Vec<Vlan> {
        let sent = frame(to, HOST);
        let copies = trunk.copies(sent.clone()).into_iter();
        copies
            .map(|copy| {
                let (vlan, rest) = untag(&[HALL, YARD], copy);
                assert_eq!(rest, sent);
                vlan
            })
            .collect()
    }

    #[test]
    fn a_tag_is_inserted_behind_the_addresses_and_removed_with_any_priority() {
        let plain = frame(A, B);
        let mut tagged = tag(HALL, plain.clone());
        assert_eq!(
            (&tagged[..12], &tagged[12..16], &tagged[16..]),
            (&plain[..12], &[0x81, 0, 0, 11][..], &plain[12..])
        );
        tagged[14] |= 0xe0;
        assert_eq!(untag(&[HALL, None], tagged), (HALL, plain));
    }

    #[test]
    fn other_tags_are_content_of_the_native_vlan() {
        for frame in [tag(Some(13), frame(A, B)), frame(A, B), frame(A, B)[..14].to_vec(), vec![0; 5]] {
            assert_eq!(untag(&[HALL, YARD], frame.clone()), (None, frame.clone()));
            assert_eq!(Trunk::new(&[None, None]).accept(frame.clone()), frame);
            assert_eq!(Trunk::new(&[None]).copies(frame.clone()), [frame]);
        }
    }

    #[test]
    fn a_trunk_floods_one_copy_in_each_vlan_until_it_has_heard_the_destination() {
        let mut trunk = Trunk::new(&[HALL, YARD, HALL]);
        assert_eq!(vlans_toward(&trunk, A), [HALL, YARD]);
        assert_eq!(trunk.accept(tag(HALL, frame(HOST, A))), frame(HOST, A));
        trunk.accept(tag(YARD, frame(HOST, B)));
        assert_eq!((vlans_toward(&trunk, A), vlans_toward(&trunk, B)), (vec![HALL], vec![YARD]));
        assert_eq!(vlans_toward(&trunk, MacAddr::BROADCAST), [HALL, YARD]);
    }

    #[test]
    fn the_next_frame_of_a_station_moves_it_to_another_vlan() {
        let mut trunk = Trunk::new(&[HALL, YARD, None]);
        trunk.accept(tag(HALL, frame(HOST, A)));
        trunk.accept(tag(YARD, layer_2_update(A)));
        assert_eq!(vlans_toward(&trunk, A), [YARD]);
        trunk.accept(frame(HOST, A));
        assert_eq!(vlans_toward(&trunk, A), [None], "the native VLAN");
        assert_eq!(vlans_toward(&trunk, B), [None, HALL, YARD]);
    }

    #[test]
    fn a_layer_2_update_is_a_broadcast_of_the_station_in_a_whole_frame() {
        let update = layer_2_update(A);
        assert_eq!((addresses(&update), update.len()), (Some((MacAddr::BROADCAST, A)), 60));
        // The length is that of LLC: three bytes of header, three of information.
        assert_eq!(update[12..14], [0, 6]);
        assert!(update[20..].iter().all(|&byte| byte == 0));
    }
}
