//! The Internet checksum (RFC 1071).

/// The ones' complement sum of the 16-bit words of `bytes`, an odd last byte padded with zero, added to `start`.
pub fn sum(bytes: &[u8], start: u64) -> u16 {
    let (pairs, last) = bytes.as_chunks::<2>();
    let words = pairs.iter().map(|pair| u64::from(u16::from_be_bytes(*pair)));
    let mut sum = start + words.sum::<u64>() + last.first().map_or(0, |&byte| u64::from(byte) << 8);
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
