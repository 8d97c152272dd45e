//! Reading TOML files that people write by hand.
//!
//! A file is read in three steps: into a tree of values that know their place in the text; into a *raw form* (serde)
//! whose leaves are [`Written`] values, still as the author wrote them; into a checked form, by code that turns each
//! leaf into a quantity and collects every [`Problem`] instead of stopping at the first. A bad file is refused whole,
//! each problem with file, line, column, key, and what would be right.
//!
//! Allowed keys come from the raw form's JSON schema, so that unknown ones are all found at once and a likely
//! spelling can be offered; the same schema serves editors. The scenario format and the box's configuration are both
//! read this way. What this does not do: merge files or read the environment. [`migrate`] alone writes a file back, with its
//! comments.

mod document;
mod error;
mod frequency;
mod keys;
mod quantity;
mod renames;
mod schema;
mod spelling;
mod written;

pub use document::{Document, read};
pub use error::{ConfigError, Located, Problem, Problems};
pub use frequency::Frequency;
pub(crate) use quantity::words;
pub use quantity::{FromWritten, Metres, PerBillion, Permille};
pub use renames::{Change, Migrated, migrate, value_now_called};
pub use schema::schema_of;
pub use spelling::closest;
pub use written::{List, OrDefault, Scalar, Written};
