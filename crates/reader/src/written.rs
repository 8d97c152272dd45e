//! A leaf of a configuration file with its position.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use toml::Spanned;

use crate::{FromWritten, Problems};

/// A value that will be read as a `T`, and its place in the file.
///
/// Deserializing accepts any scalar: that the value is a `T` is for [`Written::get`] to say, which can then name all
/// the wrong values of a file together and what each should have been. Two are equal when they were written alike.
pub struct Written<T> {
    scalar: Scalar,
    span: Range<usize>,
    kind: PhantomData<fn() -> T>,
}

/// What TOML makes of a leaf.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// Text in quotes.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
}

impl<T> Written<T> {
    /// A value without a file: a default, or one made by a program.
    pub fn new(scalar: impl Into<Scalar>) -> Self {
        Self { scalar: scalar.into(), span: 0..0, kind: PhantomData }
    }

    /// Another value with the position of this one.
    pub fn with(&self, scalar: impl Into<Scalar>) -> Self {
        Self { scalar: scalar.into(), span: self.span(), kind: PhantomData }
    }

    /// Its position in the file; empty for a default.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

impl<T: FromWritten> Written<T> {
    /// The value, or `None` and one more problem.
    pub fn get(&self, problems: &mut Problems) -> Option<T> {
        match T::from_written(&self.scalar) {
            Ok(value) => Some(value),
            Err(what) => {
                problems.add(self.span(), what, T::allowed());
                None
            }
        }
    }

    /// The value where `accept` says it may be, or `None` and one more problem that says `allowed`.
    pub fn get_if(
        &self,
        problems: &mut Problems,
        accept: impl FnOnce(&T) -> bool,
        allowed: impl Into<String>,
    ) -> Option<T> {
        let value = self.get(problems)?;
        if accept(&value) {
            return Some(value);
        }
        let is_number = !matches!(&self.scalar, Scalar::Text(text) if !text.starts_with(|c: char| c.is_ascii_digit()));
        let what = if is_number { "is out of range" } else { "does not fit" };
        problems.add(self.span(), format!("{} {what}", self.scalar), allowed);
        None
    }
}

/// A key that may be left out.
pub trait OrDefault<T> {
    /// The value, `default` where the key is left out, or `None` and one more problem.
    fn get_or(&self, default: T, problems: &mut Problems) -> Option<T>;

    /// As [`OrDefault::get_or`], where a value that is there must be accepted, as in [`Written::get_if`].
    fn get_or_if(
        &self,
        default: T,
        problems: &mut Problems,
        accept: impl FnOnce(&T) -> bool,
        allowed: impl Into<String>,
    ) -> Option<T>;

    /// The position of the key's value; empty if it is left out.
    fn place(&self) -> Range<usize>;
}

impl<T: FromWritten> OrDefault<T> for Option<Written<T>> {
    fn get_or(&self, default: T, problems: &mut Problems) -> Option<T> {
        self.as_ref().map_or(Some(default), |written| written.get(problems))
    }

    fn get_or_if(
        &self,
        default: T,
        problems: &mut Problems,
        accept: impl FnOnce(&T) -> bool,
        allowed: impl Into<String>,
    ) -> Option<T> {
        self.as_ref().map_or(Some(default), |written| written.get_if(problems, accept, allowed))
    }

    fn place(&self) -> Range<usize> {
        self.as_ref().map_or(0..0, Written::span)
    }
}

/// A list of values that will be read as `T`s.
#[derive(Clone, Debug)]
pub struct List<T> {
    items: Vec<Written<T>>,
    span: Range<usize>,
}

impl<T> List<T> {
    /// Items without a file.
    pub fn of<S: Into<Scalar>>(items: impl IntoIterator<Item = S>) -> Self {
        Self { items: items.into_iter().map(Written::new).collect(), span: 0..0 }
    }

    /// Its position.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Its items.
    pub fn items(&self) -> &[Written<T>] {
        &self.items
    }
}

impl<T: FromWritten> List<T> {
    /// The values, at least one, or `None` and more problems.
    pub fn get(&self, problems: &mut Problems) -> Option<Vec<T>> {
        if self.items.is_empty() {
            problems.add(self.span.clone(), "the list is empty", format!("at least one: {}", T::allowed()));
            return None;
        }
        // Collected before the check, so that every invalid item is reported.
        let values: Vec<_> = self.items.iter().map(|item| item.get(problems)).collect();
        values.into_iter().collect()
    }
}

impl<T> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl<'de, T> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Vec<Written<T>>>::deserialize(deserializer)?;
        Ok(Self { span: spanned.span(), items: spanned.into_inner() })
    }
}

impl<T> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(serializer)
    }
}

impl<T: FromWritten> JsonSchema for List<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "List".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": T::schema(), "minItems": 1 })
    }
}

impl<T> Clone for Written<T> {
    fn clone(&self) -> Self {
        Self { scalar: self.scalar.clone(), span: self.span.clone(), kind: PhantomData }
    }
}

impl<T> PartialEq for Written<T> {
    fn eq(&self, other: &Self) -> bool {
        self.scalar == other.scalar
    }
}

impl<T> fmt::Debug for Written<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.scalar, f)
    }
}

impl<T> fmt::Display for Written<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.scalar, f)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Integer(n) => write!(f, "{n}"),
            Self::Float(x) => write!(f, "{x}"),
            Self::Bool(b) => write!(f, "{b}"),
        }
    }
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Scalar {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u32> for Scalar {
    fn from(n: u32) -> Self {
        Self::Integer(i64::from(n))
    }
}

impl From<bool> for Scalar {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl<'de, T> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Scalar>::deserialize(deserializer)?;
        Ok(Self { span: spanned.span(), scalar: spanned.into_inner(), kind: PhantomData })
    }
}

impl<T> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.scalar {
            Scalar::Text(text) => serializer.serialize_str(text),
            Scalar::Integer(n) => serializer.serialize_i64(*n),
            Scalar::Float(x) => serializer.serialize_f64(*x),
            Scalar::Bool(b) => serializer.serialize_bool(*b),
        }
    }
}

impl<T: FromWritten> JsonSchema for Written<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Written".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyScalar;

        impl Visitor<'_> for AnyScalar {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a single value")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(text.to_owned()))
            }

            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Scalar, E> {
                Ok(Scalar::Integer(n))
            }

            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Scalar, E> {
                Ok(Scalar::Float(x))
            }

            fn visit_bool<E: de::Error>(self, b: bool) -> Result<Scalar, E> {
                Ok(Scalar::Bool(b))
            }
        }

        deserializer.deserialize_any(AnyScalar)
    }
}
