//! Rules for station names.
//!
//! Names are shown on terminals and pages, in CSV files and labels of metrics. So characters are refused that move the cursor, change
//! the direction of surrounding text or are invisible; letters and signs of all scripts are allowed, and the two joiners that
//! Persian, Indic scripts and emoji need.

mod table;

use std::fmt;
use std::path::PathBuf;

use evenair_packet::MacAddr;

pub use table::{BadLine, HEADER, MOST_NAMES, TableError, parse_table, read_table, station_mac};

/// Maximum length of a name, in characters.
pub const LONGEST: usize = 64;

/// Default state directory, if the service manager sets none.
const STATE: &str = "/var/lib/evenair";

/// The file of the operator's names: below the state directory of the service manager, or `/var/lib/evenair`.
#[must_use]
pub fn file() -> PathBuf {
    let directories = std::env::var_os("STATE_DIRECTORY");
    let first = directories.and_then(|all| std::env::split_paths(&all).next());
    first.unwrap_or_else(|| STATE.into()).join("names.csv")
}

/// Why a text is not a valid name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// It is empty, or blank.
    Empty,
    /// It has more than `LONGEST` characters.
    TooLong(usize),
    /// It begins or ends with a blank.
    Blank,
    /// It has a control character, or an invisible or direction-changing one.
    Forbidden(char),
    /// It is a MAC or IP address, and would be mistaken for one.
    Address,
}

impl NameError {
    /// Valid names, in error messages.
    pub const RIGHT: &str = "1 to 64 characters, without control characters and invisible ones";
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the name is empty"),
            Self::TooLong(len) => write!(f, "the name has {len} characters, more than {LONGEST}"),
            Self::Blank => f.write_str("the name begins or ends with a blank"),
            Self::Forbidden(c) => write!(f, "the name has the control or invisible character U+{:04X}", u32::from(*c)),
            Self::Address => f.write_str("the name reads as an address"),
        }
    }
}

impl std::error::Error for NameError {}

/// Checks a name.
///
/// # Errors
/// Why the name is invalid.
pub fn check_name(text: &str) -> Result<(), NameError> {
    if text.trim().is_empty() {
        return Err(NameError::Empty);
    }
    let len = text.chars().count();
    if len > LONGEST {
        return Err(NameError::TooLong(len));
    }
    if let Some(c) = text.chars().find(|&c| is_forbidden(c)) {
        return Err(NameError::Forbidden(c));
    }
    if text.trim() != text {
        return Err(NameError::Blank);
    }
    if text.parse::<MacAddr>().is_ok() || text.parse::<std::net::IpAddr>().is_ok() {
        return Err(NameError::Address);
    }
    Ok(())
}

/// Control characters; separators of lines; marks, embeddings, overrides and isolates of direction (Unicode Standard Annex 9);
/// characters without width; interlinear and tag characters; private use.
const fn is_forbidden(c: char) -> bool {
    c.is_ascii_control()
        || matches!(c,
            '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{ffff}'
            | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_scripts_are_allowed() {
        let long = "ä".repeat(LONGEST);
        for name in ["Anne's laptop", "<b>x</b>", "Küche", "客厅", "مریم", "🖨\u{fe0f} 2", "👩\u{200d}💻", "=1+1", &long]
        {
            assert_eq!(check_name(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn cursor_movements_and_invisible_characters_are_refused() {
        for c in ['\u{1b}', '\n', '\0', '\u{7f}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{200f}', '\u{feff}', '\u{e0041}']
        {
            assert_eq!(check_name(&format!("a{c}b")), Err(NameError::Forbidden(c)));
        }
        assert_eq!(
            check_name("a\u{202e}b").unwrap_err().to_string(),
            "the name has the control or invisible character U+202E"
        );
    }

    #[test]
    fn invalid_names_are_refused() {
        assert_eq!(check_name(""), Err(NameError::Empty));
        assert_eq!(check_name("  "), Err(NameError::Empty));
        assert_eq!(check_name("a "), Err(NameError::Blank));
        assert_eq!(check_name(&"x".repeat(LONGEST + 1)), Err(NameError::TooLong(65)));
        for address in ["02:00:00:00:00:01", "10.0.0.1", "fd00::1"] {
            assert_eq!(check_name(address), Err(NameError::Address), "{address}");
        }
    }
}
