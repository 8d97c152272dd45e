//! What payloads tell: a message of SIP with its description of streams, a header of RTP, DHCP; and how it is written down.
#![no_main]

use evenair_packet::{Content, Lease, MacAddr, PacketMeta, Port, RtpMeta, SipMeta};
use evenair_units::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let sip = SipMeta::parse(bytes).map(|sip| Content::Sip(sip.into()));
    let rtp = RtpMeta::parse(bytes).map(Content::Rtp);
    let lease = Lease::parse(bytes).map(|lease| Content::Lease(lease.into()));
    for content in [sip, rtp, lease].into_iter().flatten() {
        let meta = PacketMeta {
            ingress: Port::Wlan,
            frame_len: Bytes(bytes.len() as u64),
            src: MacAddr([2; 6]),
            dst: MacAddr([4; 6]),
            vlan: None,
            ether_type: 0x0800,
            ip: None,
            content,
            control: None,
            encapsulation: None,
        };
        let mut packed = Vec::new();
        minicbor::encode(&meta, &mut packed).expect("a vector takes any bytes");
        let mut decoder = minicbor::Decoder::new(&packed);
        assert_eq!(decoder.decode::<PacketMeta>().expect("just packed"), meta);
        assert_eq!(decoder.position(), packed.len());
    }
});
