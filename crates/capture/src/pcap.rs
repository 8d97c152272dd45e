//! pcap: a header, then packets.

use std::time::Duration;

use pcap_file::pcap::PcapParser;
use pcap_file::{Endianness, TsResolution};

use crate::Link;
use crate::error::{Broken, broken};
use crate::input::Input;
use crate::packet::Packet;

/// Length of the file header, in bytes.
const FILE_HEADER: usize = 24;
/// Length of a packet header, in bytes.
const PACKET_HEADER: usize = 16;
/// Largest packet, in bytes: libpcap's MAXIMUM_SNAPLEN, or the file's own snapshot length up to what libpcap allows for any
/// link type (D-Bus, USB).
const USUAL_SNAPLEN: u32 = 262_144;
const LARGEST_SNAPLEN: u32 = 128 * 1024 * 1024;
/// Mask of the link type in its field. It includes the reserved bits, which make the link type unknown, as in libpcap.
const LINK_BITS: u32 = 0x03ff_ffff;
/// Flag in the same field: the bits above it have the length of the frame check sequence, in 16-bit words.
const HAS_FCS_LEN: u32 = 0x0400_0000;
const FCS_LEN_SHIFT: u32 = 28;

/// Byte order, time resolution and link type of a pcap file.
pub(crate) struct Pcap {
    parser: PcapParser,
    /// Link type of all packets.
    pub(crate) link: Link,
    fcs_len: Option<u8>,
}

impl Pcap {
    /// Whether these first bytes are those of a pcap file.
    pub(crate) fn begins_so(bytes: &[u8]) -> bool {
        let (us, ns) = (0xa1b2_c3d4_u32, 0xa1b2_3c4d_u32);
        [us.to_be_bytes(), us.to_le_bytes(), ns.to_be_bytes(), ns.to_le_bytes()]
            .iter()
            .any(|magic| bytes.starts_with(magic))
    }

    /// Reads the file's header.
    pub(crate) fn read(input: &mut Input) -> Result<Self, Broken> {
        if !input.begin(FILE_HEADER)? {
            return Err(Broken::Cut);
        }
        let Ok((_, parser)) = PcapParser::new(input.record()) else { return broken("its header is no header of pcap") };
        let field = u32::from(parser.header().datalink);
        let fcs_len = (field & HAS_FCS_LEN != 0).then_some((field >> FCS_LEN_SHIFT) as u8 * 2);
        Ok(Self { parser, link: Link(field & LINK_BITS), fcs_len })
    }

    /// The next packet; `None` at the end.
    pub(crate) fn next(&self, input: &mut Input) -> Result<Option<Packet>, Broken> {
        if !input.begin(PACKET_HEADER)? {
            return Ok(None);
        }
        let header = self.parser.header();
        let length: [u8; 4] = input.record()[8..12].try_into().expect("four bytes");
        let captured = match header.endianness {
            Endianness::Big => u32::from_be_bytes(length),
            Endianness::Little => u32::from_le_bytes(length),
        };
        let most = header.snaplen.clamp(USUAL_SNAPLEN, LARGEST_SNAPLEN);
        if captured > most {
            return broken(format!("it claims to have {captured} bytes, more than the {most} that a packet can have"));
        }
        input.extend(PACKET_HEADER + captured as usize)?;
        let Ok((_, raw)) = self.parser.next_raw_packet(input.record()) else { return broken("it has no valid header") };
        let (unit, ns_in_unit) = match header.ts_resolution {
            TsResolution::MicroSecond => ("us", 1000),
            TsResolution::NanoSecond => ("ns", 1),
        };
        let Some(ns) = raw.ts_frac.checked_mul(ns_in_unit).filter(|&ns| ns < 1_000_000_000) else {
            return broken(format!("its time is so many seconds and {} {unit}, more than another second", raw.ts_frac));
        };
        Ok(Some(Packet {
            time: Some(Duration::new(u64::from(raw.ts_sec), ns)),
            link: self.link,
            bytes: PACKET_HEADER..PACKET_HEADER + captured as usize,
            original_len: raw.orig_len,
            fcs_len: self.fcs_len,
        }))
    }
}
