//! A leaf of a configuration file with its position.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use serde::{Serialize, Serializer};
use toml::Spanned;

use crate::range::declare;
use crate::{Allowed, Any, FromWritten, Problems, Scalar};

/// A value that will be read as a `T` in the range `R`, and its place in the file.
///
/// Deserializing accepts any scalar: only [`Written::get`] parses it as a `T`, so that all invalid values of a file are reported
/// together. Two are equal if they are written alike.
pub struct Written<T, R = Any> {
    scalar: Scalar,
    span: Range<usize>,
    kind: PhantomData<fn() -> (T, R)>,
}

impl<T, R> Written<T, R> {
    /// A value that is not from a file: a default, or one made by a program.
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

impl<T: FromWritten, R: Allowed<T>> Written<T, R> {
    /// The value, or `None` and a further problem.
    pub fn get(&self, problems: &mut Problems) -> Option<T> {
        match T::from_written(&self.scalar) {
            Ok(value) if R::admits(&value) => Some(value),
            Ok(_) => self.refuse(problems, R::words().unwrap_or_default()),
            Err(what) => {
                problems.add(self.span(), what, T::allowed());
                None
            }
        }
    }

    /// The value if `accept` does, or `None` and a further problem with `allowed`: for conditions that depend on more than the value.
    /// A fixed range belongs in the type, with [`ranges!`](crate::ranges).
    pub fn get_if(
        &self,
        problems: &mut Problems,
        accept: impl FnOnce(&T) -> bool,
        allowed: impl Into<String>,
    ) -> Option<T> {
        let value = self.get(problems)?;
        if accept(&value) { Some(value) } else { self.refuse(problems, allowed) }
    }

    fn refuse(&self, problems: &mut Problems, allowed: impl Into<String>) -> Option<T> {
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

    /// The value where there is one, or `None` and one more problem.
    fn get_optional(&self, problems: &mut Problems) -> Option<Option<T>>;

    /// The position of the key's value; empty if it is left out.
    fn place(&self) -> Range<usize>;
}

impl<T: FromWritten, R: Allowed<T>> OrDefault<T> for Option<Written<T, R>> {
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

    fn get_optional(&self, problems: &mut Problems) -> Option<Option<T>> {
        self.as_ref().map_or(Some(None), |written| written.get(problems).map(Some))
    }

    fn place(&self) -> Range<usize> {
        self.as_ref().map_or(0..0, Written::span)
    }
}

/// A list of values that will be read as `T`s in the range `R`.
#[derive(Clone, Debug)]
pub struct List<T, R = Any> {
    items: Vec<Written<T, R>>,
    span: Range<usize>,
}

impl<T, R> List<T, R> {
    /// Items without a file.
    pub fn of<S: Into<Scalar>>(items: impl IntoIterator<Item = S>) -> Self {
        Self { items: items.into_iter().map(Written::new).collect(), span: 0..0 }
    }

    /// Its position.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Its items.
    pub fn items(&self) -> &[Written<T, R>] {
        &self.items
    }
}

impl<T: FromWritten, R: Allowed<T>> List<T, R> {
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

impl<T, R> PartialEq for List<T, R> {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl<'de, T, R> Deserialize<'de> for List<T, R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Vec<Written<T, R>>>::deserialize(deserializer)?;
        Ok(Self { span: spanned.span(), items: spanned.into_inner() })
    }
}

impl<T, R> Serialize for List<T, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(serializer)
    }
}

impl<T: FromWritten, R: Allowed<T>> JsonSchema for List<T, R> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "List".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": Written::<T, R>::json_schema(generator), "minItems": 1 })
    }
}

impl<T, R> Clone for Written<T, R> {
    fn clone(&self) -> Self {
        Self { scalar: self.scalar.clone(), span: self.span.clone(), kind: PhantomData }
    }
}

impl<T, R> PartialEq for Written<T, R> {
    fn eq(&self, other: &Self) -> bool {
        self.scalar == other.scalar
    }
}

impl<T, R> fmt::Debug for Written<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.scalar, f)
    }
}

impl<T, R> fmt::Display for Written<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.scalar, f)
    }
}

impl<'de, T, R> Deserialize<'de> for Written<T, R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Scalar>::deserialize(deserializer)?;
        Ok(Self { span: spanned.span(), scalar: spanned.into_inner(), kind: PhantomData })
    }
}

impl<T, R> Serialize for Written<T, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.scalar.serialize(serializer)
    }
}

impl<T: FromWritten, R: Allowed<T>> JsonSchema for Written<T, R> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Written".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = T::schema();
        if let Some(words) = R::words() {
            declare(&words, &mut schema);
        }
        schema
    }
}
