//! Renamed keys and values.
//!
//! [`RENAMES`] is the only list: it produces the error for an old key or value, and [`migrate`](crate::migrate) applies it.

use serde_json::Value;
use toml::de::DeTable;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The box's configuration.
    Box,
    /// A scenario, or the tables of one that are a policy.
    Scenario,
}

/// A renamed key.
#[derive(Debug)]
pub(crate) struct Rename {
    /// The only kind of file that it applies to; `None`: both.
    pub(crate) only: Option<Kind>,
    /// The table's heading and the key.
    pub(crate) old: (&'static str, &'static str),
    pub(crate) new: (&'static str, &'static str),
    /// Renamed values, old and new; if empty, the value stays.
    pub(crate) values: &'static [(&'static str, &'static str)],
    /// The controller with which the old key was used; the new one is also used with others.
    pub(crate) controller: Option<&'static str>,
}

const fn key(only: Option<Kind>, old: (&'static str, &'static str), new: (&'static str, &'static str)) -> Rename {
    Rename { only, old, new, values: &[], controller: None }
}

/// A renamed key of one controller, formerly in the manager's table.
const fn of_controller(kind: &'static str, old: &'static str, new: &'static str) -> Rename {
    Rename { controller: Some(kind), ..key(None, ("[manager]", old), ("[manager.controller]", new)) }
}

const SCENARIO: Option<Kind> = Some(Kind::Scenario);
const BOX: Option<Kind> = Some(Kind::Box);

/// All renames. A value of a key is renamed before another key takes over the key's name.
pub(crate) const RENAMES: &[Rename] = &[
    key(None, ("[manager]", "controller"), ("[manager.controller]", "kind")),
    of_controller("queue", "ap_target", "target"),
    of_controller("queue", "latency_target", "target"),
    of_controller("pi", "load_target", "target"),
    of_controller("pi", "load_interval", "interval"),
    of_controller("fixed", "service_rate", "rate"),
    of_controller("published", "interval", "interval"),
    of_controller("published", "step", "step"),
    of_controller("published", "tolerance", "tolerance"),
    of_controller("published", "start", "start"),
    key(None, ("[[manager.access_point]]", "told_as"), ("[[manager.access_point]]", "aliases")),
    key(SCENARIO, ("[manager]", "know_stations"), ("[telemetry]", "stations")),
    key(SCENARIO, ("[manager]", "know_rates"), ("[telemetry]", "rates")),
    key(SCENARIO, ("[manager]", "know_places"), ("[telemetry]", "associations")),
    key(SCENARIO, ("[manager]", "places_delay"), ("[telemetry]", "associations_delay")),
    key(SCENARIO, ("[manager]", "know_signals"), ("[telemetry]", "signal")),
    key(SCENARIO, ("[manager]", "know_losses"), ("[telemetry]", "ap_losses")),
    key(BOX, ("[ports]", "pool_packets"), ("[ports]", "pool_frames")),
    Rename {
        only: BOX,
        old: ("[ports]", "mode"),
        new: ("[ports]", "mode"),
        values: &[("insert", "inserted"), ("observe", "observing"), ("bypass", "bypassed")],
        controller: None,
    },
    Rename {
        only: BOX,
        old: ("[ports]", "inserted"),
        new: ("[ports]", "mode"),
        values: &[("true", "inserted"), ("false", "bypassed")],
        controller: None,
    },
];

impl Kind {
    /// Detected by the tables of a file or of its schema.
    pub(crate) fn of(has_table: impl Fn(&str) -> bool) -> Self {
        if has_table("ports") { Self::Box } else { Self::Scenario }
    }

    /// Error message if `root` is of another kind than `schema`.
    pub(crate) fn mistaken(root: &DeTable<'_>, schema: &Value, file: &str) -> Option<String> {
        let asked = |key: &str| schema["properties"].get(key).is_some();
        let has = |key: &str| root.contains_key(key);
        if asked("ports") && !has("ports") && has("duration") {
            Some(format!("this is a scenario: evenair sim run {file}"))
        } else if asked("duration") && !has("duration") && has("ports") {
            Some(format!("this is the configuration of a box: evenair run --config {file}"))
        } else {
            None
        }
    }
}

/// The path of a table, from its heading.
pub(crate) fn path_of(heading: &str) -> &str {
    heading.trim_matches(['[', ']'])
}

impl Rename {
    pub(crate) fn is_for(&self, kind: Kind) -> bool {
        self.only.is_none_or(|only| only == kind)
    }

    /// Whether only values are renamed.
    pub(crate) fn keeps_key(&self) -> bool {
        self.old == self.new
    }

    /// The key in the new table, if that is a subtable of the old one.
    pub(crate) fn inner(&self) -> Option<&'static str> {
        path_of(self.new.0).strip_prefix(path_of(self.old.0))?.strip_prefix('.').filter(|rest| !rest.contains('.'))
    }

    /// The new name of a value; `None` if it is not renamed.
    pub(crate) fn value(&self, old: &str) -> Option<&'static str> {
        self.values.iter().find(|(value, _)| *value == old).map(|(_, new)| *new)
    }
}

/// Error message for an old key in the table at `path` of a file of this kind; `None` if it is not renamed.
pub(crate) fn now_called(kind: Kind, path: &str, key: &str) -> Option<String> {
    let is_it = |rename: &&Rename| !rename.keeps_key() && (path_of(rename.old.0), rename.old.1) == (path, key);
    let Rename { only, new: (table, name), .. } = RENAMES.iter().find(is_it)?;
    Some(match only {
        Some(only) if *only != kind => format!("`{key}` is a key of scenarios, where it is now `{table} {name}`"),
        _ => format!("`{key}` is now `{table} {name}`; `evenair config migrate FILE` rewrites it"),
    })
}

/// The current name of a value of the key at `path`, such as `ports.mode`; `None` if it is not renamed.
pub fn value_now_called(path: &str, value: &str) -> Option<&'static str> {
    let (table, key) = path.rsplit_once('.')?;
    let of = |rename: &&Rename| rename.keeps_key() && (path_of(rename.old.0), rename.old.1) == (table, key);
    RENAMES.iter().find(of)?.value(value)
}
