//! Axis labels of keys and measures in figures.

use std::fmt;

use serde_json::Value;

use crate::measures::Declaration;

/// Label of an axis: words, and a unit, which may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// "MCS of station slow".
    pub words: String,
    /// "Mb/s".
    pub unit: String,
}

impl fmt::Display for Label {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joint = if self.unit.is_empty() { "" } else { ", " };
        write!(out, "{}{joint}{}", self.words, self.unit)
    }
}

/// Columns of tables other than keys of a scenario, with their labels.
const COLUMNS: [(&str, &str, &str); 11] = [
    ("policy", "policy", ""),
    ("model", "closed form", ""),
    ("variant", "variant", ""),
    ("seed", "seed", ""),
    ("name", "name", ""),
    ("phase", "phase", ""),
    ("took_s", "time that it took", "s"),
    ("bytes", "size", "bytes"),
    ("at_s", "end", "s"),
    ("delay_mean_ms", "mean delay of a call's packets", "ms"),
    ("mos", "mean opinion score of a call", ""),
];

/// Parts of keys with a different spelling in labels.
const PARTS: [(&str, &str); 14] = [
    ("ap", "access point"),
    ("mcs", "MCS"),
    ("lan", "LAN"),
    ("wan", "Internet link"),
    ("tcp", "TCP"),
    ("udp", "UDP"),
    ("rtt", "RTT"),
    ("snr", "SNR"),
    ("rts", "RTS"),
    ("mss", "largest segment"),
    ("edca", "EDCA"),
    ("rmem", "receive buffer"),
    ("wmem", "send buffer"),
    ("at", "time"),
];

/// Units in names of columns, with their spelling in labels.
const UNITS: [(&str, &str); 5] =
    [("mbps", "Mb/s"), ("kbps", "kb/s"), ("gbps", "Gb/s"), ("bps", "b/s"), ("percent", "%")];

/// Maximum length of a meaning on an axis, in characters.
const LONG: usize = 60;

/// Label of a column in a table of points: `station_slow_mcs` is "MCS of station slow", `lan_delay_ms` "delay of LAN" in ms.
pub fn column_label(column: &str) -> Label {
    if let Some((_, words, unit)) = COLUMNS.iter().find(|(name, ..)| *name == column) {
        return Label { words: (*words).to_owned(), unit: (*unit).to_owned() };
    }
    let Some(Meant { table, of, key, unit }) = key_of_column(column) else {
        return Label { words: in_words(column), unit: String::new() };
    };
    let place = [in_words(&table), of].join(" ");
    // Keys of the radio and of the scenario itself need no table in the label.
    let place =
        if ["", "radio"].contains(&table.as_str()) { String::new() } else { format!(" of {}", place.trim_end()) };
    Label { words: format!("{}{place}", in_words(&key)), unit: written_unit(&unit).to_owned() }
}

/// Label of a measure: the first part of a long meaning, and the unit.
pub fn measure_label(declared: &Declaration) -> Label {
    let meaning = declared.meaning;
    let first = match meaning.find([',', ';']) {
        Some(end) if meaning.len() > LONG => &meaning[..end],
        _ => meaning,
    };
    Label { words: first.to_owned(), unit: declared.unit.to_owned() }
}

/// Meaning of the column of a varied key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Meant {
    /// Table of the scenario; empty for a key outside of tables.
    table: String,
    /// Name of the entry in the table, such as a station's.
    of: String,
    key: String,
    /// Rest of the column's name behind the key.
    unit: String,
}

fn key_of_column(column: &str) -> Option<Meant> {
    let schema = crate::schema();
    let mut found = Vec::new();
    for (table, written) in schema["properties"].as_object()? {
        let Some(rest) = column.strip_prefix(table.as_str()) else { continue };
        let parts = resolved(&schema, written);
        let Some(keys) = parts["properties"].as_object() else {
            if rest.is_empty() || rest.starts_with('_') {
                let unit = rest.trim_start_matches('_').to_owned();
                found.push(Meant { key: table.clone(), unit, ..Meant::default() });
            }
            continue;
        };
        let Some(rest) = rest.strip_prefix('_') else { continue };
        for key in keys.keys() {
            for (at, _) in rest.match_indices(key.as_str()) {
                let (before, after) = (&rest[..at], &rest[at + key.len()..]);
                if (before.is_empty() || before.ends_with('_')) && (after.is_empty() || after.starts_with('_')) {
                    let of = before.trim_end_matches('_').to_owned();
                    let unit = after.trim_start_matches('_').to_owned();
                    found.push(Meant { table: table.clone(), of, key: key.clone(), unit });
                }
            }
        }
    }
    // The longest key, and of equal ones that with the shortest rest.
    found.into_iter().max_by_key(|meant| (meant.key.len(), std::cmp::Reverse(meant.unit.len())))
}

/// Follows a reference of the schema; for a list, returns the schema of its entries.
fn resolved<'a>(schema: &'a Value, part: &'a Value) -> &'a Value {
    if let Some(name) = part["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return resolved(schema, &schema["$defs"][name]);
    }
    if part["items"].is_object() { resolved(schema, &part["items"]) } else { part }
}

fn in_words(key: &str) -> String {
    let word = |part| PARTS.iter().find(|(short, _)| *short == part).map_or(part, |(_, words)| *words);
    key.split('_').map(word).collect::<Vec<_>>().join(" ")
}

fn written_unit(unit: &str) -> &str {
    UNITS.iter().find(|(column, _)| *column == unit).map_or(unit, |(_, written)| *written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::{measure_named, measures};

    #[test]
    fn columns_of_keys_have_labels() {
        let label = |column| column_label(column).to_string();
        assert_eq!(label("station_slow_mcs"), "MCS of station slow");
        assert_eq!(label("station_slow_rate_mbps"), "rate of station slow, Mb/s");
        assert_eq!(label("lan_delay_ms"), "delay of LAN, ms");
        assert_eq!(label("radio_ap_buffer_packets"), "access point buffer, packets");
        assert_eq!(label("radio_standard"), "standard");
        assert_eq!(label("duration_s"), "duration, s");
        assert_eq!(label("policy"), "policy");
        assert_eq!(label("took_s"), "time that it took, s");
        assert_eq!(label("something_else"), "something else");
        assert_eq!(label(""), "");
    }

    #[test]
    fn a_long_meaning_is_cut_at_an_axis() {
        for declared in measures() {
            let Label { words, unit } = measure_label(declared);
            assert!(!words.is_empty() && declared.meaning.starts_with(&words) && unit == declared.unit, "{words}");
        }
        let shared = measure_label(measure_named("phase.x.backlogged_stations").unwrap());
        assert_eq!(shared.words, "stations to or from which packets were queued");
    }
}
