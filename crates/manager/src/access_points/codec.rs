//! Access points to bytes and back, see `config_codec`.

use alloc::vec::Vec;

use evenair_packet::codec::{self, CodecError, Reader, Write};

use super::{AccessPoint, MacPrefix, Place};
use crate::config_codec::values::{put_label, put_list, put_standard, read_label, read_list, read_standard};

pub(crate) fn put_access_point(out: &mut Vec<u8>, access_point: &AccessPoint) {
    put_label(out, access_point.name);
    put_label(out, access_point.domain);
    put_list(out, &access_point.vlans, |out, &vlan| codec::put_vlan(out, vlan));
    put_list(out, &access_point.radios, |out, radio| {
        out.put(&radio.mac.0);
        out.put_u8(radio.bits);
    });
    put_list(out, &access_point.told_as, |out, &name| put_label(out, name));
    out.put_option(access_point.standard, |out, standard| put_standard(standard, out));
}

pub(crate) fn read_access_point(reader: &mut Reader<'_>) -> Result<AccessPoint, CodecError> {
    Ok(AccessPoint {
        name: read_label(reader)?,
        domain: read_label(reader)?,
        vlans: read_list(reader, codec::read_vlan)?,
        radios: read_list(reader, |r| Ok(MacPrefix { mac: r.mac()?, bits: r.u8()? }))?,
        told_as: read_list(reader, read_label)?,
        standard: reader.option(|r| read_standard(r).map(|(_, standard)| standard))?,
    })
}

pub(crate) fn put_place(out: &mut Vec<u8>, place: Place) {
    match place {
        Place::Named(name) => {
            out.put_u8(0);
            put_label(out, name);
        }
        Place::Radio(mac) => {
            out.put_u8(1);
            out.put(&mac.0);
        }
        Place::Tuned { radio, mhz } => {
            out.put_u8(2);
            out.put(&radio.0);
            out.put_u16(mhz);
        }
    }
}

pub(crate) fn read_place(reader: &mut Reader<'_>) -> Result<Place, CodecError> {
    match reader.u8()? {
        0 => read_label(reader).map(Place::Named),
        1 => reader.mac().map(Place::Radio),
        2 => Ok(Place::Tuned { radio: reader.mac()?, mhz: reader.u16()? }),
        tag => Err(CodecError::Tag(tag)),
    }
}
