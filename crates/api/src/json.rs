//! JSON of the contract's types. Their serialisation is compiled here, once, and not in each crate that uses it: derived code is
//! large.

use crate::history::Record;
use crate::{Request, Response, watch};

/// A type that is sent over a socket or stored in a file as a line of JSON.
pub trait Json: Sized {
    /// JSON on one line, without the line end.
    fn to_json(&self) -> String;

    /// # Errors
    /// If the text is not JSON, or not of this type: line, column, and what was expected.
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
