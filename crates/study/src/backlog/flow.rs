//! TCP segments and their flows.

use std::net::IpAddr;

use evenair_packet::{PacketMeta, TcpMeta};

/// One direction of a connection: from, to, ports.
pub(super) type Flow = (IpAddr, IpAddr, u16, u16);

/// Flow and sequence range of a segment with data, which a retransmission has in common with it.
pub(super) fn segment(meta: &PacketMeta) -> Option<(Flow, u32, u32)> {
    let (flow, tcp) = flow(meta)?;
    (end(tcp) != tcp.seq).then(|| (flow, tcp.seq, end(tcp)))
}

/// The flow of a TCP segment.
pub(super) fn flow(meta: &PacketMeta) -> Option<(Flow, &TcpMeta)> {
    let (ip, tcp) = (meta.ip.as_ref()?, meta.tcp()?);
    Some(((ip.src, ip.dst, tcp.src_port, tcp.dst_port), tcp))
}

/// The sequence number after a segment's last byte.
pub(super) fn end(tcp: &TcpMeta) -> u32 {
    tcp.seq.wrapping_add(tcp.payload.0 as u32)
}
