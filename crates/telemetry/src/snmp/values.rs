//! Values of agents, which write numbers and addresses in various notations.

use std::net::{IpAddr, Ipv6Addr};

use evenair_packet::MacAddr;

use super::session::Object;
use super::tables::Unit;
use crate::source::{channel_mhz, frequency};

pub(super) fn mac_of(value: &Object) -> Option<MacAddr> {
    let Object::Octets(octets) = value else { return None };
    match <[u8; 6]>::try_from(octets.as_slice()) {
        Ok(octets) => Some(MacAddr(octets)),
        // Some agents write it as text.
        Err(_) => crate::source::mac(std::str::from_utf8(octets).ok()?),
    }
}

pub(super) fn ip_of(value: &Object) -> Option<IpAddr> {
    match value {
        Object::Address(octets) => Some((*octets).into()),
        Object::Octets(octets) => match octets.len() {
            4 => Some(<[u8; 4]>::try_from(octets.as_slice()).ok()?.into()),
            16 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(octets.as_slice()).ok()?).into()),
            _ => std::str::from_utf8(octets).ok()?.parse().ok(),
        },
        _ => None,
    }
}

pub(super) fn text_of(value: &Object) -> Option<String> {
    let Object::Octets(octets) = value else { return None };
    Some(String::from_utf8_lossy(&octets[..octets.len().min(32)]).into_owned())
}

/// An integer, also if an agent writes it as text.
pub(super) fn number_of(value: &Object) -> Option<i64> {
    match value {
        Object::Number(number) => Some(*number),
        Object::Octets(octets) => std::str::from_utf8(octets).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// Highest rate of airMAX radios, in kb/s; no rate in a channel of 20 MHz is as low as this in bit/s.
const FASTEST_AIRMAX_KBPS: i64 = 2_500_000;

pub(super) fn kbps(value: &Object, unit: Unit) -> Option<i64> {
    match (unit, value) {
        (Unit::RateSet, Object::Octets(octets)) => octets.iter().map(|octet| i64::from(octet & 0x7f) * 500).max(),
        (Unit::RateSet, _) => None,
        (Unit::Bits, value) => Some(number_of(value)? / 1_000),
        (Unit::Kilobits, value) => number_of(value),
        (Unit::Megabits, value) => number_of(value)?.checked_mul(1_000),
        (Unit::KilobitsOrBits, value) => {
            let number = number_of(value)?;
            Some(if number > FASTEST_AIRMAX_KBPS { number / 1_000 } else { number })
        }
    }
}

/// The frequency of a channel in MHz, from its number; agents may append the channel width (`36E`, `44+`).
pub(super) fn channel_of(value: &Object) -> Option<u16> {
    let number = match value {
        Object::Octets(octets) => {
            let text = std::str::from_utf8(octets).ok()?.trim();
            let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            text[..digits].parse().ok()?
        }
        value => number_of(value)?,
    };
    channel_mhz(number, false)
}

/// A frequency in MHz.
pub(super) fn frequency_of(value: &Object) -> Option<u16> {
    frequency(number_of(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_converted() {
        let number = Object::Number(54_000_000);
        assert_eq!(kbps(&number, Unit::Bits), Some(54_000));
        assert_eq!(kbps(&Object::Number(54_000), Unit::Kilobits), Some(54_000));
        assert_eq!(kbps(&Object::Number(54), Unit::Megabits), Some(54_000));
        assert_eq!(kbps(&Object::Number(i64::MAX), Unit::Megabits), None);
        assert_eq!(kbps(&Object::Number(866_000), Unit::KilobitsOrBits), Some(866_000));
        assert_eq!(kbps(&Object::Number(6_500_000), Unit::KilobitsOrBits), Some(6_500));
        assert_eq!(kbps(&Object::Octets(vec![0x82, 0x0b, 0x6c]), Unit::RateSet), Some(54_000));
        assert_eq!(kbps(&Object::Octets(Vec::new()), Unit::RateSet), None);
        assert_eq!(kbps(&number, Unit::RateSet), None);
        assert_eq!(number_of(&Object::Octets(b" -61 ".to_vec())), Some(-61), "written out");
    }

    #[test]
    fn channels_are_read_with_and_without_their_width() {
        let written = |text: &str| channel_of(&Object::Octets(text.as_bytes().to_vec()));
        assert_eq!(
            (written("36E"), written(" 44+"), written("6"), written("149S")),
            (Some(5_180), Some(5_220), Some(2_437), Some(5_745))
        );
        assert_eq!((channel_of(&Object::Number(11)), channel_of(&Object::Number(36))), (Some(2_462), Some(5_180)));
        for none in ["", "E36", "0", "99999999999999999999", "\u{662}"] {
            assert_eq!(written(none), None, "{none}");
        }
        assert_eq!((channel_of(&Object::Number(-1)), channel_of(&Object::Other)), (None, None));
        let mhz = |number| frequency_of(&Object::Number(number));
        assert_eq!((mhz(2_412), mhz(0), mhz(-5), mhz(1 << 40)), (Some(2_412), None, None, None));
    }
}
