//! Numbers with a range of their own.

use schemars::{Schema, json_schema};

use crate::range::declare;
use crate::{FromWritten, Scalar};

/// A number of things, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u32);

/// A differentiated services code point, by its number or name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePoint(pub u8);

/// Largest number of stations or flows of one entry.
const MAX_COUNT: u32 = 2000;

impl FromWritten for Count {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match u32::from_written(scalar)? {
            n @ 1..=MAX_COUNT => Ok(Self(n)),
            n => Err(format!("{n} is out of range")),
        }
    }

    fn allowed() -> String {
        format!("1 to {MAX_COUNT}")
    }

    fn schema() -> Schema {
        let mut schema = u32::schema();
        declare(&Self::allowed(), &mut schema);
        schema
    }
}

/// Names of code points: RFC 2474 (CS), RFC 2597 (AF), RFC 3246 (EF), RFC 5865 (VA, voice with admission), RFC 8622 (LE).
const CODE_POINTS: &[(&str, u8)] = &[
    ("DF", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];
/// The largest code point: they have 6 bits.
const MAX_CODE_POINT: u32 = 63;

impl FromWritten for CodePoint {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        if let Scalar::Text(text) = scalar {
            let known = CODE_POINTS.iter().find(|(name, _)| name == text);
            return known.map(|&(_, number)| Self(number)).ok_or_else(|| format!("\"{text}\" is not known"));
        }
        match u32::from_written(scalar)? {
            number @ 0..=MAX_CODE_POINT => Ok(Self(number as u8)),
            number => Err(format!("{number} is out of range")),
        }
    }

    fn allowed() -> String {
        let names: Vec<_> = CODE_POINTS.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        format!("{}, or 0 to {MAX_CODE_POINT}", names.join(", "))
    }

    fn schema() -> Schema {
        let names: Vec<_> = CODE_POINTS.iter().map(|&(name, _)| name).collect();
        json_schema!({ "anyOf": [{ "enum": names }, { "type": "integer", "minimum": 0, "maximum": MAX_CODE_POINT }] })
    }
}
