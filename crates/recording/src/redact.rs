//! Redacts recordings: addresses and names, which identify people and places, are replaced one to one.
//!
//! - MAC addresses keep their first octet, with the bits of groups and of random addresses; IP addresses keep their kind
//!   (private, link-local, multicast, ...). Two addresses have as many leading bits in common as before, so that networks and
//!   prefixes of a configuration match the same addresses (Xu et al., "Prefix-preserving IP address anonymization", 2002).
//! - Names become `name-0001` and so on, in the same order.
//! - Times, sizes, ports, sequence numbers, rates and signals stay: a replay decides the same about each packet.
//!
//! Bits are flipped by SHA-256 of a secret key and the bits before them: without the key, the real address cannot be found by trying
//! all of them.

use std::collections::{BTreeMap, BTreeSet};

use evenair_manager::{AccessPoint, Command, Config, Label, Level, Observation, Place, Rule, Takes};
use minicbor::data::Type;
use minicbor::{Decoder, Encoder, decode};
use sha2::{Digest, Sha256};

use crate::{Appender, Input, MAGIC, Player, ReplayError, broken};

/// A redacted recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Why the recording could not be read to its end; the part before is redacted.
    pub cut: Option<ReplayError>,
}

/// Redacts a recording. The key must be secret, and random for each recording, or shared by recordings whose addresses are to be
/// compared.
///
/// # Errors
/// The recording does not begin as one.
pub fn redact(bytes: &[u8], key: &[u8; 32]) -> Result<Redacted, ReplayError> {
    let mut player = Player::new(bytes)?;
    let mut labels = Labels::default();
    labels.config(player.config());
    let start = MAGIC.len() + 1;
    let mut items = vec![(start..player.decoder.position(), false)];
    let cut = loop {
        let at = player.decoder.position();
        match player.next_input() {
            Ok(Some((_, input))) => {
                labels.input(&input);
                items.push((at..player.decoder.position(), matches!(input, Input::Packet(..))));
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let mut names: BTreeSet<Vec<u8>> = labels.0.clone();
    for (item, _) in &items {
        texts(bytes, item.clone(), &mut names).map_err(|error| broken(item.start, &error))?;
    }
    let names = names.into_iter().zip(1..).map(|(name, number)| (name, format!("name-{number:04}"))).collect();
    let mut writer = Writer { out: bytes[..start].to_vec(), labels: labels.0, names, addresses: Addresses::new(*key) };
    for (item, is_packet) in items {
        let at = item.start;
        writer.item(&bytes[..item.end], at, is_packet).map_err(|error| broken(at, &error))?;
    }
    Ok(Redacted { bytes: writer.out, cut })
}

/// Names that are written as bytes, like addresses.
#[derive(Default)]
struct Labels(BTreeSet<Vec<u8>>);

impl Labels {
    fn add(&mut self, label: &Label) {
        self.0.insert(label.as_bytes().to_vec());
    }

    fn config(&mut self, config: &Config) {
        for AccessPoint { name, domain, aliases, .. } in &config.access_points {
            [name, domain].into_iter().chain(aliases).for_each(|label| self.add(label));
        }
        for level in &config.policy.levels {
            match level {
                Level::Tree(tree) => {
                    let takes = tree.classes.iter().map(|class| &class.takes);
                    takes.for_each(|takes| {
                        if let Takes::Rules(rules) = takes {
                            self.rules(rules)
                        }
                    });
                }
                Level::Application { applications, .. } => {
                    applications.iter().for_each(|application| self.rules(&application.rules));
                }
                _ => {}
            }
        }
    }

    fn rules(&mut self, rules: &[Rule]) {
        rules.iter().flat_map(|rule| rule.ssids.iter().chain(&rule.groups)).for_each(|label| self.add(label));
    }

    fn input(&mut self, input: &Input) {
        match input {
            Input::Command(Command::Reconfigure(config)) => self.config(config),
            Input::Observation(
                Observation::StationNetwork { ssid: Some(label), .. }
                | Observation::StationGroup { group: Some(label), .. }
                | Observation::StationAt { place: Some(Place::Named(label)), .. },
            ) => self.add(label),
            Input::Packet(..) | Input::Timeout | Input::Command(_) | Input::Observation(_) | Input::Lease(..) => {}
        }
    }
}

/// Adds the texts of an item: names of hosts and classes.
fn texts(bytes: &[u8], item: std::ops::Range<usize>, names: &mut BTreeSet<Vec<u8>>) -> Result<(), decode::Error> {
    let mut decoder = Decoder::new(&bytes[..item.end]);
    decoder.set_position(item.start);
    while decoder.position() < item.end {
        match decoder.datatype()? {
            Type::String => {
                names.insert(decoder.str()?.as_bytes().to_vec());
            }
            other => pass(&mut decoder, other)?,
        }
    }
    Ok(())
}

/// Skips the head of a list or a map, or a value.
fn pass(decoder: &mut Decoder<'_>, head: Type) -> Result<(), decode::Error> {
    match head {
        Type::Array => decoder.array().map(drop),
        Type::Map => decoder.map().map(drop),
        Type::Tag => decoder.tag().map(drop),
        Type::ArrayIndef | Type::MapIndef | Type::BytesIndef | Type::StringIndef | Type::Break | Type::Unknown(_) => {
            Err(decode::Error::message("of a kind that recordings do not have"))
        }
        _ => decoder.skip(),
    }
}

/// Writes redacted items.
struct Writer {
    out: Vec<u8>,
    labels: BTreeSet<Vec<u8>>,
    names: BTreeMap<Vec<u8>, String>,
    addresses: Addresses,
}

impl Writer {
    /// Writes an item, which ends with the bytes. Items of packets have no labels.
    fn item(&mut self, bytes: &[u8], at: usize, is_packet: bool) -> Result<(), decode::Error> {
        let mut decoder = Decoder::new(bytes);
        decoder.set_position(at);
        while decoder.position() < bytes.len() {
            let at = decoder.position();
            match decoder.datatype()? {
                Type::Bytes => {
                    let value = decoder.bytes()?;
                    let new = self.bytes(value, is_packet)?;
                    let written = Encoder::new(Appender(&mut self.out)).bytes(&new).map(drop);
                    written.expect("a vector takes any bytes");
                }
                Type::String => {
                    let new = self.name(decoder.str()?.as_bytes());
                    let written = Encoder::new(Appender(&mut self.out)).str(&new).map(drop);
                    written.expect("a vector takes any bytes");
                }
                other => {
                    pass(&mut decoder, other)?;
                    self.out.extend_from_slice(&bytes[at..decoder.position()]);
                }
            }
        }
        Ok(())
    }

    fn bytes(&mut self, value: &[u8], is_packet: bool) -> Result<Vec<u8>, decode::Error> {
        if !is_packet && self.labels.contains(value) {
            return Ok(self.name(value).into_bytes());
        }
        self.addresses.replace(value).ok_or_else(|| decode::Error::message("bytes that are no address and no name"))
    }

    fn name(&self, name: &[u8]) -> String {
        let is_kept = name.is_empty() || name == AccessPoint::DEFAULT_DOMAIN.as_bytes();
        let new = self.names.get(name).filter(|_| !is_kept);
        new.cloned().unwrap_or_else(|| String::from_utf8_lossy(name).into_owned())
    }
}

/// A range of addresses with a special meaning, by their first bits.
struct Range {
    value: u128,
    /// Length of the prefix, in bits.
    length: u32,
    /// Whether the bits after the prefix are kept, too.
    is_kept: bool,
}

/// Special ranges of IPv4 addresses (RFC 6890, RFC 5771).
const V4: [Range; 10] = [
    v4([0, 0, 0, 0], 8, true),
    v4([10, 0, 0, 0], 8, false),
    v4([100, 64, 0, 0], 10, false),
    v4([127, 0, 0, 0], 8, true),
    v4([169, 254, 0, 0], 16, false),
    v4([172, 16, 0, 0], 12, false),
    v4([192, 168, 0, 0], 16, false),
    v4([224, 0, 0, 0], 4, true),
    v4([240, 0, 0, 0], 4, true),
    v4([255, 255, 255, 255], 32, true),
];

const fn v4(value: [u8; 4], length: u32, is_kept: bool) -> Range {
    Range { value: u32::from_be_bytes(value) as u128, length, is_kept }
}

/// Special ranges of IPv6 addresses (RFC 4291, RFC 4193). Addresses in ::/8 belong to no interface, except IPv4-mapped ones.
const V6: [Range; 5] =
    [v6(0, 8, true), v6(0x2000, 3, false), v6(0xfc00, 7, false), v6(0xfe80, 64, false), v6(0xff00, 8, true)];

const fn v6(first: u16, length: u32, is_kept: bool) -> Range {
    Range { value: (first as u128) << 112, length, is_kept }
}

/// MAC addresses keep the first octet.
const MAC_OCTET: u32 = 8;

/// 96-bit prefixes of IPv6 addresses that contain an IPv4 address (RFC 4291, 2.5.5.2; RFC 6052).
const V4_IN_V6: [u128; 2] = [0xffff, 0x0064_ff9b << 64];
/// ff02::1:ff00:0/104, the solicited-node groups: their members share the last 24 bits of an address (RFC 4291, 2.7.1).
const SOLICITED: u128 = 0xff02_0000_0000_0000_0000_0001_ff00_0000;
/// The MAC addresses of these groups (RFC 2464, 7): 33:33:ff and 24 bits.
const SOLICITED_MAC: [u8; 3] = [0x33, 0x33, 0xff];

/// Replaces addresses consistently.
struct Addresses {
    key: [u8; 32],
    known: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Addresses {
    const fn new(key: [u8; 32]) -> Self {
        Self { key, known: BTreeMap::new() }
    }

    /// The replacement; `None` if the length is not that of an address.
    fn replace(&mut self, value: &[u8]) -> Option<Vec<u8>> {
        if let Some(new) = self.known.get(value) {
            return Some(new.clone());
        }
        let new = match value.len() {
            4 => self.v4(u32::from_be_bytes(value.try_into().ok()?)).to_be_bytes().to_vec(),
            6 => self.mac(value.try_into().ok()?).to_vec(),
            16 => self.v6(u128::from_be_bytes(value.try_into().ok()?)).to_be_bytes().to_vec(),
            _ => return None,
        };
        self.known.insert(value.to_vec(), new.clone());
        Some(new)
    }

    fn mac(&self, mac: [u8; 6]) -> [u8; 6] {
        let [a, b, c, d, e, f] = mac;
        if [a, b, c] == SOLICITED_MAC {
            let [_, d, e, f] = self.last_24(u32::from_be_bytes([0, d, e, f])).to_be_bytes();
            return [a, b, c, d, e, f];
        }
        let is_group = a & 1 == 1;
        if is_group || mac == [0; 6] {
            return mac;
        }
        let bits = u128::from(u64::from_be_bytes([0, 0, a, b, c, d, e, f]));
        let new = (MAC_OCTET..48).fold(bits, |new, bit| new ^ self.flip(b"mac", bits, 48, bit));
        let [_, _, a, b, c, d, e, f] = u64::try_from(new).unwrap_or_default().to_be_bytes();
        [a, b, c, d, e, f]
    }

    fn v4(&self, address: u32) -> u32 {
        u32::try_from(self.within(b"ip4", address.into(), 32, &V4)).unwrap_or_default()
    }

    fn v6(&self, address: u128) -> u128 {
        const LAST_24: u128 = (1 << 24) - 1;
        const LAST_32: u128 = (1 << 32) - 1;
        let low = |bits: u128| u32::try_from(address & bits).unwrap_or_default();
        if V4_IN_V6.contains(&(address >> 32)) {
            return address & !LAST_32 | u128::from(self.v4(low(LAST_32)));
        }
        if address & !LAST_24 == SOLICITED {
            return SOLICITED | u128::from(self.last_24(low(LAST_24)));
        }
        self.within(b"ip6", address, 128, &V6)
    }

    fn last_24(&self, bits: u32) -> u32 {
        let bits = u128::from(bits);
        u32::try_from((0..24).fold(bits, |new, bit| new ^ self.flip(b"l24", bits, 24, bit))).unwrap_or_default()
    }

    /// Flips bits, except those at which the leading bits match the beginning of a special range with a longer prefix.
    fn within(&self, kind: &[u8; 3], address: u128, width: u32, ranges: &[Range]) -> u128 {
        let begins_alike = |range: &Range, bits: u32| {
            let behind = width - bits;
            range.value.checked_shr(behind).unwrap_or(0) == address.checked_shr(behind).unwrap_or(0)
        };
        if ranges.iter().any(|range| range.is_kept && begins_alike(range, range.length)) {
            return address;
        }
        let is_fixed = |bit: u32| ranges.iter().any(|range| range.length > bit && begins_alike(range, bit));
        (0..width).filter(|&bit| !is_fixed(bit)).fold(address, |new, bit| new ^ self.flip(kind, address, width, bit))
    }

    /// The mask that flips this bit of a value, counted from its first one, or zero, depending on the bits before it.
    fn flip(&self, kind: &[u8; 3], value: u128, width: u32, bit: u32) -> u128 {
        let before = value.checked_shr(width - bit).unwrap_or(0);
        let mut hash = Sha256::new_with_prefix(self.key);
        hash.update(kind);
        hash.update(bit.to_be_bytes());
        hash.update(before.to_be_bytes());
        u128::from(hash.finalize()[0] & 1) << (width - 1 - bit)
    }
}

#[cfg(test)]
mod tests {
    use core::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn addresses() -> Addresses {
        Addresses::new([3; 32])
    }

    /// Checks that pairs of addresses have as many leading bits in common as before.
    fn alike<T: Copy>(all: &[T], bits: impl Fn(T) -> u128, new: impl Fn(T) -> T) {
        for (n, &a) in all.iter().enumerate() {
            for &b in &all[n..] {
                let common = |a: T, b: T| (bits(a) ^ bits(b)).leading_zeros();
                assert_eq!(common(a, b), common(new(a), new(b)));
            }
        }
    }

    #[test]
    fn ipv4_addresses_keep_their_kind_and_what_they_have_in_common() {
        let addresses = addresses();
        let texts = [
            "10.0.0.1",
            "10.0.0.2",
            "10.200.3.4",
            "172.16.5.5",
            "172.31.255.254",
            "172.32.0.1",
            "192.168.0.1",
            "192.168.7.9",
            "192.167.0.1",
            "100.64.0.1",
            "100.128.0.1",
            "169.254.9.9",
            "8.8.8.8",
            "8.8.4.4",
            "1.1.1.1",
            "203.0.113.9",
            "223.255.1.2",
        ];
        let all = texts.map(|text| text.parse::<Ipv4Addr>().expect("an address").to_bits());
        alike(&all, u128::from, |address| addresses.v4(address));
        for address in all {
            let kind = |bits: u32| {
                let ip = Ipv4Addr::from_bits(bits);
                let shared = bits >> 22 == 0b01_1001_0001;
                (ip.is_private(), ip.is_link_local(), ip.is_loopback(), ip.is_multicast(), shared)
            };
            assert_eq!(kind(address), kind(addresses.v4(address)), "{}", Ipv4Addr::from_bits(address));
        }
        for kept in ["0.0.0.0", "255.255.255.255", "224.0.0.251", "127.0.0.1"] {
            let kept: Ipv4Addr = kept.parse().expect("an address");
            assert_eq!(addresses.v4(kept.to_bits()), kept.to_bits());
        }
        assert!(all.iter().filter(|&&address| addresses.v4(address) == address).count() <= 1);
    }

    #[test]
    fn ipv6_addresses_keep_their_kind_and_what_they_have_in_common() {
        let addresses = addresses();
        let texts =
            ["fe80::1", "fe80::2:3", "2001:db8::1", "2001:db8:0:1::1", "2a00:1450:4001::5", "fd00:9::1", "fd00:9::2"];
        let all = texts.map(|text| text.parse::<Ipv6Addr>().expect("an address").to_bits());
        alike(&all, |bits| bits, |address| addresses.v6(address));
        for address in all {
            let kind = |bits: u128| {
                let ip = Ipv6Addr::from_bits(bits);
                (ip.is_unicast_link_local(), ip.is_unique_local(), bits >> 125)
            };
            assert_eq!(kind(address), kind(addresses.v6(address)), "{}", Ipv6Addr::from_bits(address));
            assert_ne!(addresses.v6(address), address);
        }
        for kept in ["::", "::1", "ff02::1", "ff02::fb"] {
            let kept: Ipv6Addr = kept.parse().expect("an address");
            assert_eq!(addresses.v6(kept.to_bits()), kept.to_bits());
        }
        let mapped = |v4: &str| format!("::ffff:{v4}").parse::<Ipv6Addr>().expect("an address").to_bits();
        let inner = addresses.v4(Ipv4Addr::new(10, 1, 2, 3).to_bits());
        assert_eq!(addresses.v6(mapped("10.1.2.3")), mapped(&Ipv4Addr::from_bits(inner).to_string()));
    }

    #[test]
    fn mac_addresses_keep_their_first_octet_and_groups_stay() {
        let addresses = addresses();
        let mac = [0x3c, 0x22, 0xfb, 1, 2, 3];
        let new = addresses.mac(mac);
        assert!(new[0] == mac[0] && new != mac && new == addresses.mac(mac));
        let near = addresses.mac([0x3c, 0x22, 0xfb, 1, 2, 4]);
        assert_eq!(near[..5], new[..5]);
        for kept in [[0xff; 6], [0; 6], [1, 0, 0x5e, 0, 0, 0xfb], [0x33, 0x33, 0, 0, 0, 1]] {
            assert_eq!(addresses.mac(kept), kept);
        }
        // The solicited-node group and its MAC address share the 24 bits.
        let [_, _, _, d, e, f] = addresses.mac([0x33, 0x33, 0xff, 7, 8, 9]);
        let group = addresses.v6(SOLICITED | 0x0007_0809);
        assert_eq!(group, SOLICITED | u128::from(u32::from_be_bytes([0, d, e, f])));
        assert_ne!([d, e, f], [7, 8, 9]);
    }

    #[test]
    fn addresses_stay_different() {
        let addresses = addresses();
        let new: BTreeSet<_> = (0..4_096).map(|n| addresses.v4(0xc0a8_0000 + n)).collect();
        assert_eq!(new.len(), 4_096);
        assert!(new.iter().all(|address| address >> 12 == addresses.v4(0xc0a8_0000) >> 12));
    }
}
