//! One number of a run, with its keys.

use evenair_scenario::measures::{Key, Kind, measure_named};

/// One number of a run, and its keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The phase that it is an average over; absent for the whole run.
    pub phase: Option<String>,
    /// Kind of the object that it describes.
    pub kind: Kind,
    /// Name of that object, such as a station or an application; absent if there is only one, or for all together.
    pub name: Option<String>,
    /// The measure, such as `ip_mbps` or `lost.retry_limit.frames`.
    pub measure: String,
    /// Its unit; empty where it has none.
    pub unit: &'static str,
    /// The number.
    pub value: f64,
}

impl Measure {
    /// Parses the keys of a full name. An undeclared name is a measure of the run, without a unit.
    pub fn named(full_name: &str, value: f64) -> Self {
        let Some((key, declaration)) = Key::parse(full_name) else {
            let measure = full_name.to_owned();
            return Self { phase: None, kind: Kind::Run, name: None, measure, unit: "", value };
        };
        Self {
            phase: key.phase.map(str::to_owned),
            kind: key.kind,
            name: key.name.map(str::to_owned),
            measure: key.measure.into_owned(),
            unit: declaration.unit,
            value,
        }
    }

    /// The keys, joined: `phase.all.flow.up.ip_mbps`.
    pub fn full_name(&self) -> String {
        self.key().full_name()
    }

    /// All keys except unit and value.
    pub fn key(&self) -> Key<'_> {
        let measure = self.measure.as_str().into();
        Key { phase: self.phase.as_deref(), kind: self.kind, name: self.name.as_deref(), measure }
    }
}

/// The declared unit of a key; empty without any.
pub(super) fn unit_of(key: &Key<'_>) -> &'static str {
    let name = key.full_name();
    let declaration = measure_named(&name);
    debug_assert!(declaration.is_some(), "{name} is not declared");
    declaration.map_or("", |declaration| declaration.unit)
}
