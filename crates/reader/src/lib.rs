//! Reading TOML files that people write by hand.
//!
//! A file is read in three steps: into a tree of values that know their place in the text; into a *raw form* (serde) whose
//! leaves are unparsed [`Written`] values; into a checked form, by code that turns each leaf into a quantity and collects every
//! [`Problem`] instead of stopping at the first. An invalid file is rejected as a whole, and each problem is reported with
//! file, line, column, key, and the allowed values.
//!
//! Allowed keys come from the raw form's JSON schema, so that all unknown ones are found at once and a likely spelling can be
//! suggested; the same schema serves editors. The scenario format and the box's configuration are both read this way. Not here:
//! merging files, and environment variables. Only [`migrate`] writes a file, and keeps its comments.

mod document;
mod error;
mod frequency;
mod keys;
mod migration;
mod names;
mod numbers;
mod quantity;
mod range;
mod reference;
mod renames;
mod scalar;
mod schema;
mod settings;
mod spelling;
mod tables;
mod written;

pub use document::{Document, read, with_settings};
pub use error::{ConfigError, Located, Place, Problem, Problems};
pub use frequency::Frequency;
pub use migration::{Change, Migrated, migrate};
pub use names::name;
pub use numbers::{CodePoint, Count};
pub use quantity::{FromWritten, Metres, PerBillion, Permille};
pub use range::{Allowed, Any, bounds_of};
pub use reference::reference;
pub use renames::value_now_called;
pub use scalar::Scalar;
pub use schema::schema_of;
pub use spelling::{closest, did_you_mean, nearest, offered};
pub use tables::Tables;
pub use written::{List, OrDefault, Written};

#[doc(hidden)]
pub use schemars;
