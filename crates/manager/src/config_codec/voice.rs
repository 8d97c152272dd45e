//! What the operator wants of calls, to bytes and back.

use alloc::vec::Vec;

use evenair_packet::codec::{CodecError, Reader, Write};

use super::values::read_list;
use crate::{Codec, VoiceConfig};

const CODECS: [Codec; 3] = [Codec::G711, Codec::G729, Codec::Other];

pub(super) fn put(out: &mut Vec<u8>, voice: &VoiceConfig) {
    out.put_option(voice.calls, Write::put_u32);
    out.put_u32(voice.codecs.len() as u32);
    for (codec, calls) in &voice.codecs {
        out.put_u8(CODECS.iter().position(|known| known == codec).expect("all are listed") as u8);
        out.put_u32(*calls);
    }
    out.put_u32(voice.data_permille);
    out.put_u8(voice.dscp);
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<VoiceConfig, CodecError> {
    let limit = |r: &mut Reader<'_>| {
        let tag = r.u8()?;
        let codec = CODECS.get(usize::from(tag)).ok_or(CodecError::Tag(tag))?;
        Ok((*codec, r.u32()?))
    };
    Ok(VoiceConfig {
        calls: reader.option(Reader::u32)?,
        codecs: read_list(reader, limit)?,
        data_permille: reader.u32()?,
        dscp: reader.u8()?,
    })
}
