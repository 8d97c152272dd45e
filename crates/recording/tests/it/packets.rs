//! TCP packets of stations of 802.11b.

use std::net::{IpAddr, Ipv4Addr};

use evenair_packet::{Content, IpMeta, MacAddr, PacketMeta, Port, TcpFlags, TcpMeta, Transport};
use evenair_units::{BitRate, Bytes};
use evenair_wifi::{PhyRate, Standard};

/// IP and TCP header with timestamps.
const HEADER: u64 = 52;

pub fn rate(kbps: u64) -> PhyRate {
    Standard::Dot11b.rate(BitRate::from_kbps(kbps)).expect("a rate of 802.11b")
}

pub fn mac(station: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 1, station as u8])
}

/// The fields of a TCP packet.
#[derive(Clone, Copy)]
pub struct Segment {
    flags: TcpFlags,
    seq: u32,
    ack: u32,
    payload: u64,
}

impl Segment {
    pub fn new(flags: TcpFlags, seq: u32, ack: u32, payload: u64) -> Self {
        Self { flags, seq, ack, payload }
    }
}

/// A TCP packet between a station and a wired host, connection `flow`.
pub fn packet(ingress: Port, station: usize, flow: u16, segment: Segment) -> PacketMeta {
    let Segment { flags, seq, ack, payload } = segment;
    let station_end = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, station as u8)), 40_000 + flow, mac(station));
    let wired_end = (IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1)), 5001, MacAddr([2, 0, 0, 0, 9, 1]));
    let (src, dst) = if ingress == Port::Wlan { (station_end, wired_end) } else { (wired_end, station_end) };
    let total_len = Bytes(payload + HEADER);
    let tcp = TcpMeta {
        src_port: src.1,
        dst_port: dst.1,
        seq,
        ack,
        flags,
        window: 60_000,
        payload: Bytes(payload),
        window_scale: None,
        mss: None,
        sacked_to: None,
        timestamps: None,
    };
    let transport = Transport::Tcp(tcp);
    let ip = IpMeta { src: src.0, dst: dst.0, protocol: 6, dscp: 0, ecn: 0, total_len, fragment: false, transport };
    let frame_len = Bytes(total_len.0 + 14);
    let content = Content::Opaque;
    PacketMeta {
        ingress,
        frame_len,
        src: src.2,
        dst: dst.2,
        vlan: None,
        ether_type: 0x0800,
        ip: Some(ip),
        content,
        control: None,
        encapsulation: None,
    }
}
