//! The range of a key's values, declared in the key's type: `Written<Span, Delays>`.
//!
//! A range is declared by its words, and these are read with the reader of the key's values: `"1 kb/s to 100 Gb/s"`,
//! `"above 0 and up to 60 s"`, `"0 to below 95"`, `"1 or more"`, `"above 0 b/s"`. So errors, the schema and the reference say what is
//! checked. A bound without a unit has that of the other, and "1 byte" is one of several bytes; after numbers without a
//! unit there may be a noun (`"1 to 100 beacons"`).

use std::ops::Bound::{self, Excluded, Included, Unbounded};

use schemars::Schema;

use crate::{FromWritten, Scalar};

/// Keyword of a key's range in the schema.
pub(crate) const RANGE: &str = "x-range";

/// The values that a key may have, among those that parse as a `T`. [`ranges!`](crate::ranges) makes intervals.
pub trait Allowed<T> {
    /// The range as text; `None` if every value is allowed.
    fn words() -> Option<String>;

    /// Whether a value is in the range.
    fn admits(value: &T) -> bool;

    /// Lower and upper bound of an interval.
    fn bounds() -> (Bound<T>, Bound<T>) {
        (Unbounded, Unbounded)
    }
}

/// Every value of the type.
#[derive(Clone, Copy, Debug)]
pub enum Any {}

impl<T> Allowed<T> for Any {
    fn words() -> Option<String> {
        None
    }

    fn admits(_: &T) -> bool {
        true
    }
}

/// Declares ranges by their words, each as a type for the second parameter of [`Written`](crate::Written): `ranges! { /// How long a
/// packet may be delayed. pub Delays: Span = "0 to 10 s"; }`. If the words declare no interval, a function follows: `pub Even: u32 =
/// "even numbers" if |n: &u32| n % 2 == 0;`.
#[macro_export]
macro_rules! ranges {
    ($($(#[$meta:meta])* $visibility:vis $name:ident: $type:ty = $words:literal $(if $admits:expr)?;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        $visibility enum $name {}

        $crate::ranges!(@allowed $name: $type = $words $(if $admits)?);
    )+};
    (@allowed $name:ident: $type:ty = $words:literal if $admits:expr) => {
        impl $crate::Allowed<$type> for $name {
            fn words() -> Option<String> {
                Some($words.to_owned())
            }

            fn admits(value: &$type) -> bool {
                $admits(value)
            }
        }
    };
    (@allowed $name:ident: $type:ty = $words:literal) => {
        impl $crate::Allowed<$type> for $name {
            fn words() -> Option<String> {
                Some($words.to_owned())
            }

            fn admits(value: &$type) -> bool {
                std::ops::RangeBounds::contains(&<Self as $crate::Allowed<$type>>::bounds(), value)
            }

            fn bounds() -> (std::ops::Bound<$type>, std::ops::Bound<$type>) {
                $crate::bounds_of($words)
            }
        }
    };
}

/// The bounds that `words` declare.
///
/// # Panics
/// They are no range of `T`s.
#[doc(hidden)]
pub fn bounds_of<T: FromWritten>(words: &str) -> (Bound<T>, Bound<T>) {
    let Some((lower, upper)) = split(words) else { panic!("\"{words}\" is no range") };
    let unit = match upper {
        Included(text) | Excluded(text) => text.split_once(' ').map_or("", |(_, unit)| unit),
        Unbounded => "",
    };
    let read = |bound: &str| {
        let texts = [bound.to_owned(), format!("{bound} {unit}"), format!("{bound}s")].map(Scalar::Text);
        let value = number(bound).into_iter().chain(texts).find_map(|scalar| T::from_written(&scalar).ok());
        value.unwrap_or_else(|| panic!("\"{bound}\" in \"{words}\" is not {}", T::allowed()))
    };
    (lower.map(read), upper.map(read))
}

/// The lower and the upper bound in a range's words.
fn split(words: &str) -> Option<(Bound<&str>, Bound<&str>)> {
    if let Some(above) = words.strip_prefix("above ") {
        return Some(match above.split_once(" and up to ") {
            Some((lower, upper)) => (Excluded(lower), Included(upper)),
            None => (Excluded(above), Unbounded),
        });
    }
    if let Some(lower) = words.strip_suffix(" or more") {
        return Some((Included(lower), Unbounded));
    }
    let (lower, upper) = words.split_once(" to ")?;
    let upper = upper.strip_prefix("below ").map_or(Included(upper), Excluded);
    Some((Included(lower), upper))
}

/// The number that a bound starts with.
fn number(bound: &str) -> Option<Scalar> {
    let number = bound.split(' ').next()?;
    let whole = number.parse().map(Scalar::Integer);
    whole.or_else(|_| number.parse().map(Scalar::Float)).ok()
}

/// Puts a range into the schema of the values: its words, and the bounds of numbers.
pub(crate) fn declare(words: &str, schema: &mut Schema) {
    schema.insert(RANGE.into(), words.into());
    let is_number = schema.get("type").is_some_and(|kind| kind == "integer" || kind == "number");
    let Some((lower, upper)) = split(words).filter(|_| is_number) else { return };
    for (bound, included, excluded) in [(lower, "minimum", "exclusiveMinimum"), (upper, "maximum", "exclusiveMaximum")]
    {
        let (key, text) = match bound {
            Included(text) => (included, text),
            Excluded(text) => (excluded, text),
            Unbounded => continue,
        };
        schema.remove(included);
        match number(text) {
            Some(Scalar::Integer(n)) => schema.insert(key.into(), n.into()),
            Some(Scalar::Float(x)) => schema.insert(key.into(), x.into()),
            _ => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use evenair_units::{BitRate, Bytes, Dbm, Span};
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;
    use crate::{Count, Frequency, OrDefault, Problems, Written, read, reference, schema_of};

    ranges! {
        /// Both bounds.
        Rates: BitRate = "1 kb/s to 100 Gb/s";
        /// Excluding the lower bound.
        Limits: Span = "above 0 and up to 60 s";
        /// A noun after numbers.
        Beacons: u32 = "1 to 100 beacons";
        /// Excluding the upper bound.
        Impairments: f64 = "0 to below 95.5";
        /// Only a lower bound.
        Several: u64 = "1 or more";
        /// Only an excluded lower bound.
        Fast: BitRate = "above 0 b/s";
        /// Negative numbers.
        Levels: Dbm = "-120 dBm to -30 dBm";
        /// A unit in the singular.
        Sizes: Bytes = "1 byte to 1 MB";
        /// No interval.
        Even: u32 = "even numbers" if |n: &u32| n.is_multiple_of(2);
        /// Units that differ.
        Arrivals: Frequency = "1 /h to 1000000 /s";
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct File {
        /// Its rate.
        rate: Written<BitRate, Rates>,
        /// How long. Default: "1 s".
        limit: Option<Written<Span, Limits>>,
        /// How often. Default: 1.
        beacons: Option<Written<u32, Beacons>>,
        /// How bad. Default: 0.
        impairment: Option<Written<f64, Impairments>>,
        /// How many. Default: 1.
        count: Option<Written<Count>>,
    }

    fn check(text: &str) -> Result<(), String> {
        let (file, document, mut problems) = read::<File>(text, "file.toml", &[]).map_err(|error| error.to_string())?;
        file.rate.get(&mut problems);
        file.count.get_optional(&mut problems);
        file.limit.get_or(Span::from_secs(1), &mut problems);
        file.beacons.get_or(1, &mut problems);
        file.impairment.get_or(0.0, &mut problems);
        document.verdict(problems).map_err(|error| error.to_string())
    }

    fn admits<T: FromWritten, R: Allowed<T>>(scalar: impl Into<Scalar>) -> bool {
        Written::<T, R>::new(scalar).get(&mut Problems::default()).is_some()
    }

    #[test]
    fn the_words_of_a_range_are_its_bounds() {
        assert_eq!(Rates::bounds(), (Included(BitRate::from_kbps(1)), Included(BitRate::from_mbps(100_000))));
        assert_eq!(Limits::bounds(), (Excluded(Span::ZERO), Included(Span::from_secs(60))));
        assert_eq!(Beacons::bounds(), (Included(1), Included(100)));
        assert_eq!(Impairments::bounds(), (Included(0.0), Excluded(95.5)));
        assert_eq!(Several::bounds(), (Included(1), Unbounded));
        assert_eq!(Fast::bounds(), (Excluded(BitRate::ZERO), Unbounded));
        assert_eq!(Levels::bounds(), (Included(Dbm::from_milli(-120_000)), Included(Dbm::from_milli(-30_000))));
        assert_eq!(Sizes::bounds(), (Included(Bytes(1)), Included(Bytes(1_000_000))));
        assert!(!admits::<_, Even>(3) && admits::<_, Even>(4));
        assert!(!admits::<_, Fast>("0 b/s") && admits::<_, Fast>("1 b/s"));
        assert!(!admits::<_, Several>(0) && admits::<_, Several>(1));
        for (frequency, is_allowed) in [("59 /min", true), ("1 /h", true), ("0.9 /h", false), ("1000001 /s", false)] {
            assert_eq!(admits::<_, Arrivals>(frequency), is_allowed, "{frequency}");
        }
    }

    #[test]
    #[should_panic(expected = "\"1 kg\" in \"1 kg to 2 kg\" is not a time")]
    fn words_that_are_no_range_of_the_keys_values_are_refused() {
        bounds_of::<Span>("1 kg to 2 kg");
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_the_range_in_words() {
        assert_eq!(check("rate = \"1 kb/s\"\nlimit = \"60 s\"\nbeacons = 100\nimpairment = 95.4\n"), Ok(()));
        for (line, problem) in [
            ("limit = \"0 s\"", "2:9: limit: \"0 s\" is out of range; allowed: above 0 and up to 60 s"),
            ("limit = \"61 s\"", "2:9: limit: \"61 s\" is out of range; allowed: above 0 and up to 60 s"),
            ("beacons = 101", "2:11: beacons: 101 is out of range; allowed: 1 to 100 beacons"),
            ("impairment = 95.5", "2:14: impairment: 95.5 is out of range; allowed: 0 to below 95.5"),
        ] {
            let error = check(&format!("rate = \"1 Mb/s\"\n{line}\n")).unwrap_err();
            assert_eq!(error.lines().next(), Some(format!("file.toml:{problem}").as_str()));
        }
        let error = check("rate = \"999 b/s\"\n").unwrap_err();
        assert!(error.contains("rate: \"999 b/s\" is out of range; allowed: 1 kb/s to 100 Gb/s\n"), "{error}");
    }

    #[test]
    fn schema_and_reference_have_the_range() {
        let schema = schema_of::<File>("Files");
        let of = |key: &str| &schema["properties"][key];
        assert_eq!(of("rate")["x-range"], "1 kb/s to 100 Gb/s");
        assert!(of("rate").get("minimum").is_none(), "a text has no minimum");
        let numbers = |key: &str| {
            ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"].map(|word| of(key)[word].as_f64())
        };
        assert_eq!(numbers("beacons"), [Some(1.0), None, Some(100.0), None]);
        assert_eq!(numbers("impairment"), [Some(0.0), None, None, Some(95.5)]);
        let text = reference("Keys.\n", &schema, &[]);
        for row in [
            "| `rate` | bit rate, 1 kb/s to 100 Gb/s | required | Its rate. |",
            "| `limit` | time, above 0 and up to 60 s | `\"1 s\"` | How long. |",
            "| `beacons` | whole number, 1 to 100 beacons | `1` | How often. |",
            "| `impairment` | number, 0 to below 95.5 | `0` | How bad. |",
            "| `count` | whole number, 1 to 2000 | `1` | How many. |",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
    }
}
