//! Types of the contract as JSON. What reads and writes them is compiled here, once, and not in each crate that does so: derived forms
//! are large.

use crate::history::Record;
use crate::{Request, Response, watch};

/// A type that crosses a socket or is kept in a file as a line of JSON.
pub trait Json: Sized {
    /// As JSON on one line, without its end.
    fn to_json(&self) -> String;

    /// # Errors
    /// Where the text is not JSON, or not this type's: line, column, and what was expected.
    fn from_json(text: &[u8]) -> Result<Self, serde_json::Error>;
}

macro_rules! json {
    ($($name:ty),*) => {
        $(impl Json for $name {
            fn to_json(&self) -> String {
                serde_json::to_string(self).expect("numbers, texts, lists and maps with texts as keys")
            }

            fn from_json(text: &[u8]) -> Result<Self, serde_json::Error> {
                serde_json::from_slice(text)
            }
        })*
    };
}
json!(Record, Request, Response, watch::Answer, watch::Line, watch::Request);
