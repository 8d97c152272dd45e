//! pcapng: sections of blocks. Interfaces are described before their packets, with the resolution and offset of the
//! packets' times.

use std::time::Duration;

use crate::Link;
use crate::error::{Broken, broken};
use crate::input::Input;
use crate::packet::Packet;

/// Type of a Section Header block, which a file begins with; the same in both byte orders.
pub(crate) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Lengths in bytes of a block's head (type and length) and of its end (the length again).
const BLOCK_BEGIN: usize = 8;
const BLOCK_END: usize = 4;
/// Largest block, in bytes, as in Wireshark.
const LARGEST_BLOCK: usize = 16 * 1024 * 1024;
/// Bytes before the data of an Enhanced Packet block and of an obsolete Packet block.
const PACKET_FIELDS: usize = 20;

/// Option codes of an interface description.
const IF_TSRESOL: u16 = 9;
const IF_FCSLEN: u16 = 13;
const IF_TSOFFSET: u16 = 14;
/// Option of an Enhanced Packet block and of an obsolete Packet block; its bits 5 to 8 are the bytes of the frame check
/// sequence, 0 if unknown.
const FLAGS: u16 = 2;

/// The interfaces of the current section.
#[derive(Default)]
pub(crate) struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
    /// Link types of all sections so far, each once.
    links: Vec<Link>,
}

/// The byte order of a section.
#[derive(Clone, Copy, Default)]
enum Order {
    Big,
    #[default]
    Little,
}

struct Interface {
    link: Link,
    /// Snapshot length of the interface, in bytes; 0: unlimited.
    snaplen: u32,
    clock: Clock,
    fcs_len: Option<u8>,
}

impl Pcapng {
    /// Link types of the interfaces so far.
    pub(crate) fn links(&self) -> &[Link] {
        &self.links
    }

    /// The next packet; `None` at the end.
    pub(crate) fn next(&mut self, input: &mut Input) -> Result<Option<Packet>, Broken> {
        while input.begin(BLOCK_BEGIN)? {
            let end = self.block(input)?;
            let block = &input.record()[..end];
            let body = &block[BLOCK_BEGIN..];
            let packet = match self.order.u32(block, 0) {
                SECTION => {
                    self.section(body)?;
                    continue;
                }
                INTERFACE => {
                    self.interface(body)?;
                    continue;
                }
                ENHANCED_PACKET if body.len() >= PACKET_FIELDS => self.packet(body, self.order.u32(body, 0))?,
                OBSOLETE_PACKET if body.len() >= PACKET_FIELDS => self.packet(body, self.order.u16(body, 0).into())?,
                SIMPLE_PACKET if body.len() >= 4 => self.simple(body)?,
                ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET => {
                    return broken("its block is shorter than its fields");
                }
                _ => continue,
            };
            let bytes = packet.bytes.start + BLOCK_BEGIN..packet.bytes.end + BLOCK_BEGIN;
            return Ok(Some(Packet { bytes, ..packet }));
        }
        Ok(None)
    }

    /// Reads the rest of a block. Returns the offset at which its body ends.
    fn block(&mut self, input: &mut Input) -> Result<usize, Broken> {
        if input.record().starts_with(&MAGIC) {
            input.extend(BLOCK_BEGIN + 4)?;
            self.order = match input.record()[BLOCK_BEGIN..] {
                [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
                [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
                _ => return broken("its section has no valid mark of the byte order"),
            };
        }
        let len = self.order.u32(input.record(), 4) as usize;
        if len < BLOCK_BEGIN + BLOCK_END || !len.is_multiple_of(4) || len > LARGEST_BLOCK {
            return broken(format!("a block of {len} bytes; allowed: multiples of 4 from 12 to {LARGEST_BLOCK}"));
        }
        input.extend(len)?;
        let again = self.order.u32(input.record(), len - BLOCK_END) as usize;
        if again != len {
            return broken(format!("a block whose length is {len} at its begin and {again} at its end"));
        }
        Ok(len - BLOCK_END)
    }

    fn section(&mut self, body: &[u8]) -> Result<(), Broken> {
        self.interfaces.clear();
        if body.len() < 16 {
            return broken("its section's header is too short");
        }
        match self.order.u16(body, 4) {
            1 => Ok(()),
            version => broken(format!("its section is of version {version} of pcapng; version 1 is read")),
        }
    }

    fn interface(&mut self, body: &[u8]) -> Result<(), Broken> {
        if body.len() < 8 {
            return broken("the description of an interface is too short");
        }
        let link = Link(self.order.u16(body, 0).into());
        let options = &body[8..];
        let bits = self.order.option(options, IF_FCSLEN)?.and_then(|value| value.first());
        let interface = Interface {
            link,
            snaplen: self.order.u32(body, 4),
            clock: Clock::of(self.order, options)?,
            fcs_len: bits.map(|bits| bits / 8),
        };
        self.interfaces.push(interface);
        if !self.links.contains(&link) {
            self.links.push(link);
        }
        Ok(())
    }

    fn interface_of(&self, number: u32) -> Result<&Interface, Broken> {
        let unknown = || Broken::Format(format!("interface {number} is not described before it"));
        self.interfaces.get(number as usize).ok_or_else(unknown)
    }

    /// An Enhanced Packet block or an obsolete Packet block, which differ in the first four bytes.
    fn packet(&self, body: &[u8], interface: u32) -> Result<Packet, Broken> {
        let Interface { link, clock, fcs_len, .. } = self.interface_of(interface)?;
        let word = |at| self.order.u32(body, at);
        let captured = word(12) as usize;
        let Some(options) = body[PACKET_FIELDS..].get(captured.next_multiple_of(4)..) else {
            return broken(format!("it claims to have {captured} bytes, more than its block has"));
        };
        let flags = self.order.option(options, FLAGS)?.filter(|value| value.len() == 4);
        let of_packet = flags.map(|value| (self.order.u32(value, 0) >> 5 & 15) as u8).filter(|&len| len > 0);
        Ok(Packet {
            time: Some(clock.time(u64::from(word(4)) << 32 | u64::from(word(8)))),
            link: *link,
            bytes: PACKET_FIELDS..PACKET_FIELDS + captured,
            original_len: word(16),
            fcs_len: of_packet.or(*fcs_len),
        })
    }

    /// A Simple Packet block, which belongs to the first interface. What follows its data is padding.
    fn simple(&self, body: &[u8]) -> Result<Packet, Broken> {
        let Interface { link, snaplen, fcs_len, .. } = self.interface_of(0)?;
        let original_len = self.order.u32(body, 0);
        let captured = if *snaplen == 0 { original_len } else { original_len.min(*snaplen) } as usize;
        if captured > body.len() - 4 {
            return broken(format!("it should have {captured} bytes, more than its block has"));
        }
        Ok(Packet { time: None, link: *link, bytes: 4..4 + captured, original_len, fcs_len: *fcs_len })
    }
}

impl Order {
    fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let bytes = bytes[at..at + 2].try_into().expect("two bytes");
        match self {
            Self::Big => u16::from_be_bytes(bytes),
            Self::Little => u16::from_le_bytes(bytes),
        }
    }

    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = bytes[at..at + 4].try_into().expect("four bytes");
        match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        }
    }

    fn i64(self, bytes: [u8; 8]) -> i64 {
        match self {
            Self::Big => i64::from_be_bytes(bytes),
            Self::Little => i64::from_le_bytes(bytes),
        }
    }

    /// The value of an option, if the block has it. An option with code 0 ends the list.
    fn option(self, mut options: &[u8], code: u16) -> Result<Option<&[u8]>, Broken> {
        while options.len() >= 4 {
            let (found, len) = (self.u16(options, 0), usize::from(self.u16(options, 2)));
            if found == 0 {
                break;
            }
            let Some(value) = options[4..].get(..len) else {
                return broken(format!("an option of {len} bytes, more than its block has"));
            };
            if found == code {
                return Ok(Some(value));
            }
            options = options[4..].get(len.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(None)
    }
}

/// Resolution and offset of an interface's times.
struct Clock {
    /// Time units per second; a million without the option if_tsresol.
    per_second: u64,
    /// Seconds to add to each time (if_tsoffset).
    offset: i64,
}

impl Clock {
    fn of(order: Order, options: &[u8]) -> Result<Self, Broken> {
        let mut clock = Self { per_second: 1_000_000, offset: 0 };
        if let Some(&[resolution]) = order.option(options, IF_TSRESOL)? {
            let base: u64 = if resolution & 0x80 == 0 { 10 } else { 2 };
            let exponent = u32::from(resolution & 0x7f);
            let Some(per_second) = base.checked_pow(exponent) else {
                return broken(format!(
                    "an interface with times in units of {base}^-{exponent} s, which are too small"
                ));
            };
            clock.per_second = per_second;
        }
        if let Some(offset) = order.option(options, IF_TSOFFSET)?.and_then(|value| value.try_into().ok()) {
            clock.offset = order.i64(offset);
        }
        Ok(clock)
    }

    /// The time at `units` of this clock. Times before 1970 become 1970.
    fn time(&self, units: u64) -> Duration {
        let ns = u128::from(units % self.per_second) * 1_000_000_000 / u128::from(self.per_second);
        let time = Duration::new(units / self.per_second, ns as u32);
        let offset = Duration::from_secs(self.offset.unsigned_abs());
        if self.offset < 0 { time.saturating_sub(offset) } else { time.saturating_add(offset) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_the_units_of_their_interface() {
        let time = |options: &[u8], units| Clock::of(Order::Big, options).map(|clock| clock.time(units));
        let ns = |ns| Duration::from_nanos(ns);
        assert_eq!(time(&[], 1_500_001).unwrap(), ns(1_500_001_000));
        assert_eq!(time(&[0, 9, 0, 1, 9, 0, 0, 0], 1_500_000_001).unwrap(), ns(1_500_000_001));
        assert_eq!(time(&[0, 9, 0, 1, 3, 0, 0, 0, 0, 0, 0, 0], 1500).unwrap(), ns(1_500_000_000));
        assert_eq!(time(&[0, 9, 0, 1, 0x8a, 0, 0, 0], 1536).unwrap(), ns(1_500_000_000));
        assert_eq!(time(&[0, 9, 0, 1, 12, 0, 0, 0], 1_500_000_001_999).unwrap(), ns(1_500_000_001));
        assert!(time(&[0, 9, 0, 1, 20, 0, 0, 0], 1).is_err() && time(&[0, 9, 0, 1, 0xc0, 0, 0, 0], 1).is_err());
        let offset = |seconds: i64| [&[0, 14, 0, 8][..], &seconds.to_be_bytes()].concat();
        assert_eq!(time(&offset(3), 1_500_000).unwrap(), ns(4_500_000_000));
        assert_eq!(time(&offset(-1), 1_500_000).unwrap(), ns(500_000_000));
        assert_eq!(time(&offset(-2), 1_500_000).unwrap(), ns(0));
        // Behind an unknown option, and with an option that is cut off.
        assert_eq!(time(&[0, 2, 0, 3, 1, 2, 3, 0, 0, 9, 0, 1, 0, 0, 0, 0], 2).unwrap(), ns(2_000_000_000));
        assert!(time(&[0, 9, 0, 9, 9, 0, 0, 0], 1).is_err());
    }
}
