//! The values that the settings are made of, to bytes and back. The codecs of the settings are above it.

use alloc::string::String;
use alloc::vec::Vec;

use evenair_packet::Subnet;
use evenair_packet::codec::{self, CodecError, Reader, Write};
use evenair_units::{BitRate, Bytes, Limit, Span};
use evenair_wifi::{PhyRate, Standard};

use crate::classes::Label;

pub(crate) fn read_span(reader: &mut Reader<'_>) -> Result<Span, CodecError> {
    reader.u64().map(Span::from_nanos)
}

/// A rate is written as a standard that has it and its bit rate.
pub(crate) fn put_rate(rate: PhyRate, out: &mut Vec<u8>) {
    let standard = Standard::ALL.into_iter().find(|standard| standard.rates().contains(&rate));
    put_standard(standard.expect("every rate is one of some standard"), out);
    out.put_u64(rate.bit_rate().as_bps());
}

pub(crate) fn read_rate(reader: &mut Reader<'_>) -> Result<PhyRate, CodecError> {
    let (tag, standard) = read_standard(reader)?;
    standard.rate(BitRate::from_bps(reader.u64()?)).ok_or(CodecError::Tag(tag))
}

pub(crate) fn put_standard(standard: Standard, out: &mut Vec<u8>) {
    out.put_u8(match standard {
        Standard::Dot11b => 0,
        Standard::Dot11a => 1,
        Standard::Dot11g => 2,
    });
}

pub(crate) fn read_standard(reader: &mut Reader<'_>) -> Result<(u8, Standard), CodecError> {
    match reader.u8()? {
        tag @ 0 => Ok((tag, Standard::Dot11b)),
        tag @ 1 => Ok((tag, Standard::Dot11a)),
        tag @ 2 => Ok((tag, Standard::Dot11g)),
        tag => Err(CodecError::Tag(tag)),
    }
}

pub(crate) fn put_limit(limit: Limit, out: &mut Vec<u8>) {
    match limit {
        Limit::Packets(packets) => {
            out.put_u8(0);
            out.put_u32(packets);
        }
        Limit::Bytes(bytes) => {
            out.put_u8(1);
            out.put_u64(bytes.0);
        }
        Limit::Unlimited => out.put_u8(2),
    }
}

pub(crate) fn read_limit(reader: &mut Reader<'_>) -> Result<Limit, CodecError> {
    Ok(match reader.u8()? {
        0 => Limit::Packets(reader.u32()?),
        1 => Limit::Bytes(Bytes(reader.u64()?)),
        2 => Limit::Unlimited,
        tag => return Err(CodecError::Tag(tag)),
    })
}

pub(crate) fn put_subnet(out: &mut Vec<u8>, subnet: &Subnet) {
    codec::put_address(out, subnet.address());
    out.put_u8(subnet.prefix());
}

pub(crate) fn read_subnet(reader: &mut Reader<'_>) -> Result<Subnet, CodecError> {
    let (address, prefix) = (codec::read_address(reader)?, reader.u8()?);
    Subnet::new(address, prefix).ok_or(CodecError::Tag(prefix))
}

/// A count, then as many items.
pub(crate) fn put_list<T>(out: &mut Vec<u8>, items: &[T], mut put: impl FnMut(&mut Vec<u8>, &T)) {
    out.put_u32(items.len() as u32);
    items.iter().for_each(|item| put(out, item));
}

/// A count, then as many items. Grows as items are read, so that a wrong count cannot ask for memory.
pub(crate) fn read_list<T>(
    reader: &mut Reader<'_>,
    mut read: impl FnMut(&mut Reader<'_>) -> Result<T, CodecError>,
) -> Result<Vec<T>, CodecError> {
    let count = reader.u32()?;
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(read(reader)?);
    }
    Ok(items)
}

pub(crate) fn put_label(out: &mut Vec<u8>, label: Label) {
    out.put_u8(label.as_bytes().len() as u8);
    out.put(label.as_bytes());
}

pub(crate) fn read_label(reader: &mut Reader<'_>) -> Result<Label, CodecError> {
    let len = reader.u8()?;
    Label::new(reader.take(usize::from(len))?).map_err(|_| CodecError::Tag(len))
}

pub(crate) fn put_name(out: &mut Vec<u8>, name: &String) {
    out.put_u32(name.len() as u32);
    out.put(name.as_bytes());
}

pub(crate) fn read_name(reader: &mut Reader<'_>) -> Result<String, CodecError> {
    let len = reader.u32()?;
    let bytes = reader.take(len as usize)?;
    core::str::from_utf8(bytes).map(String::from).map_err(|_| CodecError::OutOfRange(len.into()))
}
