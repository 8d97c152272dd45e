//! A table of names in a CSV file: columns MAC address and name, with or without a header.
//!
//! A table is valid as a whole, or rejected: every bad line is an error with its number and the expected contents.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::io;
use std::path::{Path, PathBuf};

use evenair_packet::MacAddr;

use super::{LONGEST, NameError, check_name};
use crate::small_file::read_text;

/// Maximum number of names in a table, and in a box.
pub const MOST_NAMES: usize = 65_536;
/// Maximum size of a file, in bytes: [`MOST_NAMES`] lines of an address and a quoted name of 64 characters of four bytes each.
const LONGEST_FILE: u64 = MOST_NAMES as u64 * 288;
/// The header of written tables, which is optional in a table.
pub const HEADER: [&str; 2] = ["mac", "name"];
const RIGHT_MAC: &str = "six pairs of hexadecimal digits such as 02:00:00:00:00:01";

/// Why a table is rejected.
#[derive(Debug)]
pub enum TableError {
    /// The file cannot be read.
    Read(PathBuf, io::Error),
    /// Its bad lines.
    Lines(PathBuf, Vec<BadLine>),
}

/// An invalid line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1 on.
    pub line: u64,
    /// What is wrong.
    pub what: String,
    /// Expected contents.
    pub right: &'static str,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Lines(path, lines) => {
                for BadLine { line, what, right } in lines {
                    writeln!(f, "{}:{line}: {what}; right would be: {right}", path.display())?;
                }
                let lines = if let [_] = &lines[..] { "1 problem".into() } else { format!("{} problems", lines.len()) };
                write!(f, "{lines}: no name was taken")
            }
        }
    }
}

impl std::error::Error for TableError {}

/// Reads a table.
///
/// # Errors
/// If it cannot be read, is no regular file of at most 18 MiB, or has bad lines.
pub fn read_table(path: &Path) -> Result<Vec<(MacAddr, String)>, TableError> {
    let text = read_text(path, LONGEST_FILE).map_err(|error| TableError::Read(path.into(), error))?;
    parse_table(&text).map_err(|lines| TableError::Lines(path.into(), lines))
}

/// Reads the text of a table.
///
/// # Errors
/// Its bad lines.
pub fn parse_table(text: &str) -> Result<Vec<(MacAddr, String)>, Vec<BadLine>> {
    // Spreadsheets put a byte order mark at the beginning of a file.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut table = Table::default();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let (mut first, mut lines) = (true, Lines { text, at: 0, line: 1 });
    for record in reader.records() {
        // Errors are impossible: the text is UTF-8, in memory, and its records may have any number of columns.
        let Ok(record) = record else { continue };
        let line = record.position().map_or(0, |position| lines.of(position.byte() as usize));
        let columns: Vec<_> = record.iter().map(str::trim).collect();
        if std::mem::take(&mut first) && is_header(&columns) {
            if columns.len() > HEADER.len() {
                table.bad(line, "a third column".into(), TWO_COLUMNS);
                break;
            }
            continue;
        }
        table.take(line, &columns);
    }
    table.end()
}

const TWO_COLUMNS: &str =
    "the columns MAC and name alone; a class is assigned in the configuration, with `[[station]] class`";

fn is_header(columns: &[&str]) -> bool {
    columns.first().is_some_and(|first| ["mac", "mac address", "mac-address"].contains(&&*first.to_lowercase()))
}

/// Line numbers of increasing positions in a text.
struct Lines<'a> {
    text: &'a str,
    /// Position up to which lines are counted, in bytes.
    at: usize,
    /// Number of the line at that position.
    line: u64,
}

impl Lines<'_> {
    /// The line of the first text at or behind a position: records may be preceded by blank lines.
    fn of(&mut self, byte: usize) -> u64 {
        let bytes = self.text.as_bytes();
        let byte = byte + bytes[byte..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.line += bytes[self.at..byte].iter().filter(|byte| **byte == b'\n').count() as u64;
        self.at = byte;
        self.line
    }
}

/// Names read so far.
#[derive(Default)]
struct Table {
    names: Vec<(MacAddr, String)>,
    /// Line of each address, and of each name in lower case.
    macs: HashMap<MacAddr, u64>,
    lower: HashMap<String, u64>,
    bad: Vec<BadLine>,
}

impl Table {
    fn bad(&mut self, line: u64, what: String, right: &'static str) {
        self.bad.push(BadLine { line, what, right });
    }

    fn take(&mut self, line: u64, columns: &[&str]) {
        let &[mac, name] = columns else {
            let (what, right) = match columns {
                [""] => return,
                [one] if one.contains(';') => {
                    ("columns separated by semicolons".into(), "commas, such as 02:00:00:00:00:01,Anne")
                }
                [_] => ("a single column".into(), "a MAC address and a name, such as 02:00:00:00:00:01,Anne"),
                // A trailing comma makes an empty column.
                [mac, name, ""] => return self.take(line, &[mac, name]),
                _ => ("more than two columns".into(), TWO_COLUMNS),
            };
            return self.bad(line, what, right);
        };
        let mac = self.mac(line, mac);
        let is_name = self.name(line, name);
        if let (Some(mac), true) = (mac, is_name) {
            self.names.push((mac, name.to_owned()));
        }
    }

    fn mac(&mut self, line: u64, text: &str) -> Option<MacAddr> {
        let Some(mac) = station_mac(text) else {
            self.bad(line, format!("{} is not a station's MAC address", quoted(text)), RIGHT_MAC);
            return None;
        };
        if let Some(&before) = self.macs.get(&mac) {
            self.bad(line, format!("{mac} is in line {before} already"), "each station once");
            return None;
        }
        self.macs.insert(mac, line);
        Some(mac)
    }

    fn name(&mut self, line: u64, name: &str) -> bool {
        if let Err(error) = check_name(name) {
            self.bad(line, error.to_string(), NameError::RIGHT);
            return false;
        }
        if let Some(&before) = self.lower.get(&name.to_lowercase()) {
            self.bad(line, format!("the name {} is in line {before} already", quoted(name)), "each name once");
            return false;
        }
        self.lower.insert(name.to_lowercase(), line);
        true
    }

    fn end(mut self) -> Result<Vec<(MacAddr, String)>, Vec<BadLine>> {
        if self.macs.len() > MOST_NAMES {
            let what = format!("the table has {} stations", self.macs.len());
            self.bad(1, what, "at most 65,536");
        }
        if self.bad.is_empty() { Ok(self.names) } else { Err(self.bad) }
    }
}

/// A unicast MAC address; `None` if the text is none.
pub fn station_mac(text: &str) -> Option<MacAddr> {
    text.parse().ok().filter(|mac: &MacAddr| !mac.is_multicast())
}

/// The beginning of a text from a file, with control characters escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    // Writing to a string does not fail.
    text.chars().take(LONGEST).for_each(|c| _ = write!(quoted, "{}", c.escape_debug()));
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(text: &str) -> Vec<String> {
        let lines = parse_table(text).expect_err("bad");
        lines.into_iter().map(|BadLine { line, what, right }| format!("{line}: {what}; {right}")).collect()
    }

    #[test]
    fn tables_are_read_with_and_without_a_header() {
        let right =
            vec![(MacAddr([2, 0, 0, 0, 0, 1]), "Anne, laptop".to_owned()), (MacAddr([2, 0, 0, 0, 0, 2]), "Bo".into())];
        let rows = "02:00:00:00:00:01,\"Anne, laptop\"\r\n02:00:00:00:00:02, Bo \r\n";
        for head in [
            "",
            "mac,name\n",
            "\u{feff}MAC address;x\n".replace(';', ",").as_str(),
            "\r\nMAC,Name,\r\n".trim_end_matches(",\r\n"),
        ] {
            let head = if head.is_empty() || head.ends_with('\n') { head.to_owned() } else { format!("{head}\n") };
            assert_eq!(parse_table(&format!("{head}{rows}")), Ok(right.clone()), "{head:?}");
        }
        assert_eq!(parse_table(""), Ok(Vec::new()));
    }

    #[test]
    fn every_bad_line_is_reported_with_the_expected_contents() {
        let text = "mac,name\r\n02:00:00:00:00:01,Anne\r\n\r\n02:00:00:00:00:01,Bo\r\n03:00:00:00:00:01,Cy\r\n02:00:00:00:00:02,anne\n\
                    02:00:00:00:00:03,\n02:00:00:00:00:04,a\u{1b}[2J\n02:00:00:00:00:05;x\n02:00:00:00:00:06,Di,staff\nx\u{1b},y\n";
        let bad = bad(text);
        let starts = [
            "4: 02:00:00:00:00:01 is in line 2 already; each station once",
            "5: \"03:00:00:00:00:01\" is not a station's MAC address; six pairs",
            "6: the name \"anne\" is in line 2 already; each name once",
            "7: the name is empty; 1 to 64 characters",
            "8: the name has the control or invisible character U+001B",
            "9: columns separated by semicolons; commas",
            "10: more than two columns; the columns MAC and name alone; a class is assigned in the configuration",
            "11: \"x\\u{1b}\" is not a station's MAC address",
        ];
        assert_eq!(bad.len(), starts.len(), "{bad:#?}");
        bad.iter().zip(starts).for_each(|(bad, start)| assert!(bad.starts_with(start), "{bad}"));
    }

    #[test]
    fn a_column_of_classes_is_reported_once() {
        let bad = bad("mac,name,class\n02:00:00:00:00:01,Anne,staff\n02:00:00:00:00:02,Bo,staff\n");
        assert_eq!(bad.len(), 1);
        assert!(bad[0].contains("[[station]] class"), "{bad:?}");
    }

    #[test]
    fn a_table_of_too_many_stations_is_refused() {
        let mac = |n: usize| MacAddr([2, 0, 0, (n >> 16) as u8, (n >> 8) as u8, n as u8]);
        let row = |n| format!("{},n{n}\n", mac(n));
        let text: String = (0..=MOST_NAMES).map(row).collect();
        assert!(bad(&text)[0].contains("65537 stations; at most 65,536"));
        let last = text.rfind("02:").expect("a row");
        assert_eq!(parse_table(&text[..last]).map(|names| names.len()), Ok(MOST_NAMES));
    }
}
