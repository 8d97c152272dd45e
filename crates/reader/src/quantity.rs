//! The notation of quantities: a number, a blank, a unit.
//!
//! Each unit has one spelling, so that files look alike. Decimal numbers are converted to integers exactly; numbers that
//! would need rounding (a third of a nanosecond) or do not fit are rejected.

use evenair_units::{BitRate, Bytes, Db, Dbm, Limit, Span};
use evenair_wifi::{Band, GuardInterval, Preamble, Standard, Width};
use schemars::{Schema, json_schema};

use crate::{Scalar, did_you_mean};

/// Something that a leaf of a file can be read as.
pub trait FromWritten: Sized {
    /// Reads it, or says what is wrong.
    ///
    /// # Errors
    /// What is wrong with the value, as a clause that can follow the key's name.
    fn from_written(scalar: &Scalar) -> Result<Self, String>;

    /// What would have been right, with an example.
    fn allowed() -> String;

    /// The schema, for editors.
    fn schema() -> Schema;
}

/// A proportion in thousandths, written in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permille(pub u32);

/// A proportion in 10^-9, written in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerBillion(pub u32);

/// A length or coordinate in millimetres, written in metres.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Metres(pub i64);

/// Units of a quantity: spelling, and the number of smallest units.
pub(crate) type Units = &'static [(&'static str, u64)];

const TIME: Units = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const RATE: Units = &[("b/s", 1), ("kb/s", 1_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000)];
const SIZE: Units = &[
    ("B", 1),
    ("bytes", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
const PACKETS: Units = &[("packets", 1), ("packet", 1)];
/// In thousandths.
const PERCENT: Units = &[("%", 10)];

/// In 10^-9.
const FINE_PERCENT: Units = &[("%", 10_000_000)];
/// In thousandths.
const DECIBELS: Units = &[("dB", 1_000)];
/// In thousandths.
const POWER: Units = &[("dBm", 1_000)];
/// In millimetres.
const LENGTH: Units = &[("cm", 10), ("m", 1_000), ("km", 1_000_000)];

/// Spellings used elsewhere, in lower case, by the intended unit.
const OTHER_SPELLINGS: &[(&str, &[&str])] = &[
    ("b/s", &["bps", "bit", "bit/s", "bits/s"]),
    ("kb/s", &["kbps", "kbit", "kbit/s", "kbits/s"]),
    ("Mb/s", &["mbps", "mbit", "mbit/s", "mbits/s"]),
    ("Gb/s", &["gbps", "gbit", "gbit/s", "gbits/s"]),
    ("ns", &["nsec", "nsecs", "nanosecond", "nanoseconds"]),
    ("us", &["usec", "usecs", "\u{b5}s", "\u{3bc}s", "microsecond", "microseconds"]),
    ("ms", &["msec", "msecs", "millisecond", "milliseconds"]),
    ("s", &["sec", "secs", "second", "seconds"]),
    ("min", &["m", "mins", "minute", "minutes"]),
    ("h", &["hr", "hrs", "hour", "hours"]),
    ("bytes", &["byte"]),
    ("packets", &["p", "pkt", "pkts", "frames"]),
    ("%", &["percent", "pct"]),
    ("m", &["metre", "metres", "meter", "meters"]),
];

/// Parses `"<number> <unit>"` into the smallest unit.
pub(crate) fn quantity(text: &str, units: Units) -> Result<u64, String> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-' || c == '+')).unwrap_or(text.len());
    let (number, unit) = (&text[..split], text[split..].trim_start());
    if number.is_empty() {
        return Err(format!("\"{text}\" does not start with a number"));
    }
    if number.starts_with('-') {
        return Err(format!("\"{text}\" is negative"));
    }
    if unit.is_empty() {
        return Err(format!("\"{text}\" has no unit"));
    }
    let Some(&(_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        let meant = meant(unit, units).map(|meant| format!("{number} {meant}"));
        return Err(format!("\"{unit}\" is not a unit known here{}", did_you_mean(meant.as_deref())));
    };
    decimal(number, scale).map_err(|why| format!("\"{text}\" {why}"))
}

/// The unit that a foreign spelling stands for, if it is one of `units`.
fn meant(unit: &str, units: Units) -> Option<&'static str> {
    let lower = unit.to_lowercase();
    let other = OTHER_SPELLINGS.iter().filter(|(_, others)| others.contains(&lower.as_str()));
    let mut meant = other.filter_map(|(name, _)| units.iter().find(|(known, _)| known == name));
    let same_letters = || units.iter().find(|(known, _)| known.to_lowercase() == lower);
    meant.next().or_else(same_letters).map(|&(name, _)| name)
}

/// The same for a number that may be negative.
fn signed_quantity(scalar: &Scalar, units: Units) -> Result<i64, String> {
    let text = with_unit(scalar)?.trim();
    let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let value = i64::try_from(quantity(rest, units)?).map_err(|_| format!("\"{text}\" is too large"))?;
    Ok(sign * value)
}

/// A value that fits into 32 bits.
fn signed_milli(scalar: &Scalar, units: Units) -> Result<i32, String> {
    i32::try_from(signed_quantity(scalar, units)?).map_err(|_| format!("{scalar} is too large"))
}

/// `number * scale`, exactly.
fn decimal(number: &str, scale: u64) -> Result<u64, &'static str> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || number.ends_with('.') {
        return Err("does not start with a plain decimal number");
    }
    let fraction = fraction.trim_end_matches('0');
    if whole.len() + fraction.len() > 20 {
        return Err("has too many digits");
    }
    // At most 20 digits: below 10^20, so the product with a scale below 2^42 fits 128 bits.
    let mantissa = format!("{whole}{fraction}").parse::<u128>().map_err(|_| "has too many digits")?;
    let shift = 10u128.pow(fraction.len() as u32);
    let scaled = mantissa * u128::from(scale);
    if scaled % shift != 0 {
        return Err("is finer than the smallest unit");
    }
    u64::try_from(scaled / shift).map_err(|_| "is too large")
}

/// The text of a value that must have a unit.
pub(crate) fn with_unit(scalar: &Scalar) -> Result<&str, String> {
    match scalar {
        Scalar::Text(text) => Ok(text),
        Scalar::Integer(_) | Scalar::Float(_) => Err(format!("{scalar} has no unit")),
        Scalar::Bool(_) => Err(format!("{scalar} is not a quantity")),
    }
}

/// An enumeration of unit spellings for a pattern.
fn pattern(units: Units) -> String {
    let names: Vec<_> = units.iter().map(|(name, _)| *name).collect();
    format!("[0-9]+(\\.[0-9]+)? ?({})", names.join("|"))
}

fn signed_schema(units: Units, example: &str) -> Schema {
    json_schema!({ "type": "string", "pattern": format!("^-?{}$", pattern(units)), "examples": [example] })
}

pub(crate) fn quantity_schema(units: Units, example: &str) -> Schema {
    json_schema!({ "type": "string", "pattern": format!("^{}$", pattern(units)), "examples": [example] })
}

impl FromWritten for Span {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        quantity(with_unit(scalar)?, TIME).map(Self::from_nanos)
    }

    fn allowed() -> String {
        "a time such as \"20 s\" or \"2.5 ms\" (ns, us, ms, s, min, h)".into()
    }

    fn schema() -> Schema {
        quantity_schema(TIME, "20 s")
    }
}

impl FromWritten for BitRate {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        let text = with_unit(scalar)?;
        if ["B/s", "Bps"].iter().any(|unit| text.trim_end().ends_with(unit)) {
            return Err(format!("\"{text}\" is in bytes per second"));
        }
        quantity(text, RATE).map(Self::from_bps)
    }

    fn allowed() -> String {
        "a bit rate such as \"5.5 Mb/s\" (b/s, kb/s, Mb/s, Gb/s)".into()
    }

    fn schema() -> Schema {
        quantity_schema(RATE, "5.5 Mb/s")
    }
}

impl FromWritten for Bytes {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        quantity(with_unit(scalar)?, SIZE).map(Self)
    }

    fn allowed() -> String {
        "a size such as \"1500 bytes\" or \"8 MB\" (B, kB, MB, GB, KiB, MiB, GiB)".into()
    }

    fn schema() -> Schema {
        quantity_schema(SIZE, "1500 bytes")
    }
}

impl FromWritten for Limit {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        let text = with_unit(scalar)?;
        if text == "unlimited" {
            return Ok(Self::Unlimited);
        }
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || ". ".contains(c));
        if PACKETS.iter().any(|(name, _)| *name == unit) || meant(unit, PACKETS).is_some() {
            let packets = quantity(text, PACKETS)?;
            return u32::try_from(packets).map(Self::Packets).map_err(|_| format!("\"{text}\" is too large"));
        }
        quantity(text, SIZE).map(|bytes| Self::Bytes(Bytes(bytes)))
    }

    fn allowed() -> String {
        "\"100 packets\", \"150 kB\", or \"unlimited\"".into()
    }

    fn schema() -> Schema {
        let pattern = format!("^({}|{}|unlimited)$", pattern(PACKETS), pattern(SIZE));
        json_schema!({ "type": "string", "pattern": pattern, "examples": ["100 packets", "150 kB", "unlimited"] })
    }
}

impl FromWritten for Permille {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        let permille = quantity(with_unit(scalar)?, PERCENT)?;
        u32::try_from(permille).map(Self).map_err(|_| format!("{scalar} is too large"))
    }

    fn allowed() -> String {
        "a proportion such as \"90 %\"".into()
    }

    fn schema() -> Schema {
        quantity_schema(PERCENT, "90 %")
    }
}

impl FromWritten for PerBillion {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        let per_billion = quantity(with_unit(scalar)?, FINE_PERCENT)?;
        u32::try_from(per_billion).map(Self).map_err(|_| format!("{scalar} is too large"))
    }

    fn allowed() -> String {
        "a proportion such as \"30 %\"".into()
    }

    fn schema() -> Schema {
        quantity_schema(FINE_PERCENT, "30 %")
    }
}

impl FromWritten for Metres {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        signed_quantity(scalar, LENGTH).map(Self)
    }

    fn allowed() -> String {
        "a length such as \"10 m\" (cm, m, km)".into()
    }

    fn schema() -> Schema {
        signed_schema(LENGTH, "10 m")
    }
}

impl FromWritten for Db {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        signed_milli(scalar, DECIBELS).map(Self::from_milli)
    }

    fn allowed() -> String {
        "a ratio such as \"10 dB\"".into()
    }

    fn schema() -> Schema {
        signed_schema(DECIBELS, "10 dB")
    }
}

impl FromWritten for Dbm {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        signed_milli(scalar, POWER).map(Self::from_milli)
    }

    fn allowed() -> String {
        "a power such as \"16 dBm\"".into()
    }

    fn schema() -> Schema {
        signed_schema(POWER, "16 dBm")
    }
}

impl FromWritten for u64 {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match scalar {
            Scalar::Integer(n) => Self::try_from(*n).map_err(|_| format!("{n} is negative")),
            _ => Err(format!("{scalar} is not a whole number")),
        }
    }

    fn allowed() -> String {
        "a whole number such as 5, without quotes".into()
    }

    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": 0 })
    }
}

impl FromWritten for u32 {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        Self::try_from(u64::from_written(scalar)?).map_err(|_| format!("{scalar} is too large"))
    }

    fn allowed() -> String {
        u64::allowed()
    }

    fn schema() -> Schema {
        u64::schema()
    }
}

impl FromWritten for f64 {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match scalar {
            Scalar::Integer(n) => Ok(*n as Self),
            Scalar::Float(x) if x.is_finite() => Ok(*x),
            _ => Err(format!("{scalar} is not a number")),
        }
    }

    fn allowed() -> String {
        "a number such as 1.1, without quotes".into()
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number" })
    }
}

impl FromWritten for bool {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match scalar {
            Scalar::Bool(b) => Ok(*b),
            _ => Err(format!("{scalar} is neither true nor false")),
        }
    }

    fn allowed() -> String {
        "true or false, without quotes".into()
    }

    fn schema() -> Schema {
        json_schema!({ "type": "boolean" })
    }
}

impl FromWritten for String {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match scalar {
            Scalar::Text(text) => Ok(text.clone()),
            _ => Err(format!("{scalar} is not text")),
        }
    }

    fn allowed() -> String {
        "text in quotes".into()
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// Gives an enumeration its spelling in files: `words!(Colour { "red" => Self::Red })`. An enumeration of another crate gets a
/// wrapper type: `words!(ColourWord(Colour) { "red" => Colour::Red })`. A function after them, `else of_word`, may explain an
/// unknown word better than the nearest one does.
#[macro_export]
macro_rules! words {
    ($type:ident($inner:ty) { $($word:literal => $value:expr),+ $(,)? }) => {
        #[doc = concat!("[`", stringify!($inner), "`] as it is written in files.")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $type(pub $inner);

        $crate::words!($type { $($word => Self($value)),+ });
    };
    ($type:ty { $($word:literal => $value:expr),+ $(,)? } $(else $explain:path)?) => {
        impl $crate::FromWritten for $type {
            fn from_written(scalar: &$crate::Scalar) -> Result<Self, String> {
                const WORDS: &[&str] = &[$($word),+];
                let text = match scalar {
                    $crate::Scalar::Text(text) => text,
                    other => return Err(format!("{other} is not text")),
                };
                $(if text == $word { return Ok($value); })+
                $(if let Some(why) = $explain(text) { return Err(why); })?
                let hint = $crate::closest(text, WORDS.iter().copied());
                Err(format!("\"{text}\" is not known{}", $crate::did_you_mean(hint)))
            }

            fn allowed() -> String {
                [$(concat!("\"", $word, "\"")),+].join(", ")
            }

            fn schema() -> $crate::schemars::Schema {
                $crate::schemars::json_schema!({ "enum": [$($word),+] })
            }
        }
    };
}

words!(Standard {
    "802.11b" => Self::Dot11b,
    "802.11a" => Self::Dot11a,
    "802.11g" => Self::Dot11g,
    "802.11n" => Self::Dot11n,
    "802.11ac" => Self::Dot11ac,
    "802.11ax" => Self::Dot11ax,
} else other_standard);

/// Explanation of a standard under another name, or of one that is not modelled; `None` for other words.
fn other_standard(text: &str) -> Option<String> {
    const OTHER_NAMES: &[(&str, &[&str])] = &[
        ("802.11n", &["n", "ht", "wifi4"]),
        ("802.11ac", &["ac", "vht", "wifi5"]),
        ("802.11ax", &["ax", "he", "wifi6", "wifi6e"]),
    ];
    const NOT_MODELLED: &[(&str, &[&str])] = &[
        ("802.11be", &["be", "eht", "wifi7"]),
        ("802.11bn", &["bn", "uhr", "wifi8"]),
        ("802.11ad", &["ad"]),
        ("802.11ah", &["ah"]),
        ("802.11ay", &["ay"]),
    ];
    let plain: String = text.to_lowercase().chars().filter(|c| !"- _".contains(*c)).collect();
    let plain = plain.trim_start_matches("ieee").trim_start_matches("802.11");
    let of = |names: &[(&'static str, &[&str])]| names.iter().find(|(_, names)| names.contains(&plain)).map(|n| n.0);
    if let Some(standard) = of(NOT_MODELLED) {
        let is = if text == standard { String::new() } else { format!(", {standard},") };
        return Some(format!("\"{text}\"{is} is not modelled; the newest standard that is modelled is \"802.11ax\""));
    }
    of(OTHER_NAMES).map(|standard| format!("\"{text}\" is not known{}", did_you_mean(Some(standard))))
}

words!(Band { "2.4 GHz" => Self::Ghz2_4, "5 GHz" => Self::Ghz5 });
words!(Width {
    "20 MHz" => Self::Mhz20,
    "40 MHz" => Self::Mhz40,
    "80 MHz" => Self::Mhz80,
    "160 MHz" => Self::Mhz160,
});
words!(GuardInterval {
    "0.4 us" => Self::Ns400,
    "0.8 us" => Self::Ns800,
    "1.6 us" => Self::Ns1600,
    "3.2 us" => Self::Ns3200,
});
words!(Preamble { "long" => Self::Long, "short" => Self::Short });

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: FromWritten>(text: &str) -> Result<T, String> {
        T::from_written(&Scalar::from(text))
    }

    #[test]
    fn quantities_are_exact() {
        assert_eq!(read("2.5 ms"), Ok(Span::from_micros(2_500)));
        assert_eq!(read("300s"), Ok(Span::from_secs(300)));
        assert_eq!(read("1.5 min"), Ok(Span::from_secs(90)));
        assert_eq!(read("5.5 Mb/s"), Ok(BitRate::from_kbps(5_500)));
        assert_eq!(read("0.1 Mb/s"), Ok(BitRate::from_kbps(100)));
        assert_eq!(read("8 MiB"), Ok(Bytes(8 << 20)));
        assert_eq!(read("100 packets"), Ok(Limit::Packets(100)));
        assert_eq!(read("150 kB"), Ok(Limit::Bytes(Bytes(150_000))));
        assert_eq!(read("unlimited"), Ok(Limit::Unlimited));
        assert_eq!(read("2.5 %"), Ok(Permille(25)));
        assert_eq!(read("0.0001 %"), Ok(PerBillion(1_000)));
        assert_eq!(read("-4.5 m"), Ok(Metres(-4_500)));
        assert_eq!(read("10 dB"), Ok(Db::from_milli(10_000)));
        assert_eq!(read("-82 dBm"), Ok(Dbm::from_milli(-82_000)));
    }

    #[test]
    fn inexact_and_too_large_numbers_are_refused() {
        for bad in ["0.5 ns", "-1 s", "+1 s", "1", "s", "", "1. s", ".5 s", "1.2.3 s", "1 sec", "1e3 s", "6000000 h"] {
            assert!(read::<Span>(bad).is_err(), "{bad}");
        }
        assert!(read::<Span>(&format!("{} s", "9".repeat(400))).is_err());
        assert!(read::<Span>(&format!("0.{}1 s", "0".repeat(400))).is_err());
        assert!(read::<Limit>("5000000000 packets").is_err());
        for bad in ["--1 m", "-", "- m", "1 dB", "99999999999999999999 m", "0.0001 m"] {
            assert!(read::<Metres>(bad).is_err(), "{bad}");
        }
        assert!(read::<Db>("10 dBm").is_err() && read::<Dbm>("3000000 dBm").is_err());
        assert!(read::<BitRate>("11 Mbps").is_err());
        assert_eq!(read::<BitRate>("11 MB/s"), Err("\"11 MB/s\" is in bytes per second".into()));
        assert_eq!(Span::from_written(&Scalar::Integer(10)), Err("10 has no unit".into()));
        assert_eq!(u32::from_written(&Scalar::Integer(-1)), Err("-1 is negative".into()));
        assert!(f64::from_written(&Scalar::Float(f64::NAN)).is_err());
    }

    #[test]
    fn spellings_of_other_programs_are_answered_with_ours() {
        let offered = |error: String| error.split("did you mean ").nth(1).map(str::to_owned);
        let time = |text: &str| offered(read::<Span>(text).expect_err(text));
        let rate = |text: &str| offered(read::<BitRate>(text).expect_err(text));
        let limit = |text: &str| offered(read::<Limit>(text).expect_err(text));
        assert_eq!(time("5 msec").as_deref(), Some("\"5 ms\"?"));
        assert_eq!(time("2.5sec").as_deref(), Some("\"2.5 s\"?"));
        assert_eq!(time("1 m").as_deref(), Some("\"1 min\"?"));
        assert_eq!(time("1 fortnight"), None);
        assert_eq!(rate("10Mbps").as_deref(), Some("\"10 Mb/s\"?"));
        assert_eq!(rate("10 mbit").as_deref(), Some("\"10 Mb/s\"?"));
        assert_eq!(rate("10 mb/s").as_deref(), Some("\"10 Mb/s\"?"));
        assert_eq!(rate("10 MBps"), None, "bytes are no bits");
        assert_eq!(limit("100 pkts").as_deref(), Some("\"100 packets\"?"));
        assert_eq!(limit("150 KB").as_deref(), Some("\"150 kB\"?"));
        assert_eq!(
            read::<Metres>("3 meters"),
            Err("\"meters\" is not a unit known here; did you mean \"3 m\"?".into())
        );
    }

    #[test]
    fn a_standard_that_is_not_modelled_is_answered_with_the_newest_that_is() {
        for name in ["802.11be", "Wi-Fi 7", "wifi7", "EHT", "IEEE 802.11be"] {
            let error = read::<Standard>(name).expect_err(name);
            assert!(error.contains("is not modelled") && error.contains("\"802.11ax\""), "{error}");
            assert!(error.contains("802.11be") && !error.contains("did you mean"), "{error}");
        }
        assert_eq!(read::<Standard>("Wi-Fi 6"), Err("\"Wi-Fi 6\" is not known; did you mean \"802.11ax\"?".into()));
    }

    #[test]
    fn words_offer_the_nearest() {
        assert_eq!(read("802.11g"), Ok(Standard::Dot11g));
        assert_eq!(read::<Standard>("802.11x"), Err("\"802.11x\" is not known; did you mean \"802.11a\"?".into()));
        assert_eq!(read::<Preamble>("shrot"), Err("\"shrot\" is not known; did you mean \"short\"?".into()));
        assert_eq!(read::<Preamble>("zzz"), Err("\"zzz\" is not known".into()));
        assert_eq!(Preamble::allowed(), "\"long\", \"short\"");
    }
}
