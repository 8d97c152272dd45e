//! Mutated scenarios: the project's files with keys and values changed at random, to invalid values and to limits.
//!
//! Changes are made to the parsed tree, so that most results are TOML and pass the first parser; the format's schema says
//! which keys are possible where, so that keys that no file has are tried, too. Everything depends on a seed, so that
//! failures are reproducible.

use std::path::{Path, PathBuf};

use evenair_units::{Rng, Streams};
use serde_json::Value as Json;
use toml::{Table, Value};

/// Numbers at and beyond the limits of meaningful values.
pub const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "0.5",
    "0.000000001",
    "-0",
    "1e9",
    "nan",
    "inf",
    "100",
    "250",
    "1000",
    "65535",
    "65536",
    "1000000",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999",
    "340282366920938463463374607431768211456",
    "0.00000000000000000001",
];
const UNITS: &[&str] = &[
    "ns", "us", "ms", "s", "min", "h", "b/s", "kb/s", "Mb/s", "Gb/s", "B", "bytes", "kB", "MB", "GB", "GiB", "packets",
    "%", "dB", "dBm", "m", "", "parsec",
];
pub const WORDS: &[&str] =
    &["", " ", "x", "up", "sta", "1", "unlimited", "all", "\u{0}", "é\u{202e}", "../../etc/passwd", "a b", "-", "none"];

/// Mutates scenarios of a corpus.
pub struct Mutator {
    pub rng: Rng,
    schema: Json,
    pub corpus: Vec<Table>,
}

/// A position in the tree: keys and indices from the root.
pub type Place = Vec<Step>;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Key(String),
    Index(usize),
}

impl Mutator {
    /// A mutator of every scenario file of the project.
    pub fn new(seed: u64) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let corpus: Vec<Table> = toml_files(&folder)
            .iter()
            .map(|file| std::fs::read_to_string(file).expect("a file of the project").parse().expect("TOML"))
            .collect();
        assert!(corpus.len() >= 7, "{} files", corpus.len());
        let schema = evenair_scenario::schema();
        Self { rng: Streams::new(seed).stream("mutations"), schema, corpus }
    }

    /// A random number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.rng.below(n as u64) as usize
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// A scenario with one to four changes.
    pub fn scenario(&mut self) -> String {
        let corpus = self.corpus.len();
        let mut tree = Value::Table(self.corpus[self.rng.below(corpus as u64) as usize].clone());
        for _ in 0..=self.below(4) {
            self.change(&mut tree);
        }
        toml::to_string(&tree).expect("a tree of TOML's values")
    }

    fn change(&mut self, tree: &mut Value) {
        match self.below(10) {
            0 => self.remove(tree),
            1 => self.repeat(tree),
            2..=5 => self.add(tree),
            _ => self.replace(tree),
        }
    }

    /// Replaces the value of a leaf.
    fn replace(&mut self, tree: &mut Value) {
        let Some(place) = self.leaf(tree) else { return };
        let schema = self.schema_at(&place);
        let old = at(tree, &place).clone();
        let new = match (&old, self.below(4)) {
            (_, 0) => self.nonsense(),
            (_, 1) => self.sensible(schema.as_ref()),
            (Value::String(text), _) => Value::String(self.spoil(text)),
            (Value::Integer(_), _) => self.number(),
            _ => self.nonsense(),
        };
        *at(tree, &place) = new;
    }

    /// The same quantity with another number or unit.
    fn spoil(&mut self, text: &str) -> String {
        match text.split_once(' ') {
            Some((number, unit)) if number.parse::<f64>().is_ok() => match self.below(5) {
                0 => format!("{number} {}", self.pick(UNITS)),
                1 => format!("{}{unit}", self.pick(NUMBERS)),
                _ => format!("{} {unit}", self.pick(NUMBERS)),
            },
            _ => match self.below(3) {
                0 => format!("{text}{}", self.below(12)),
                1 => text.repeat(1 + self.below(60)),
                _ => self.pick(WORDS).to_owned(),
            },
        }
    }

    fn number(&mut self) -> Value {
        let text = self.pick(NUMBERS);
        match text.parse::<i64>() {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Float(text.parse().expect("each is a number")),
        }
    }

    /// A random value of any kind.
    pub fn nonsense(&mut self) -> Value {
        match self.below(8) {
            0 => Value::Boolean(self.below(2) == 0),
            1 => self.number(),
            2 => Value::Array(vec![]),
            3 => Value::Array(vec![self.nonsense()]),
            4 => Value::Table(Table::new()),
            5 => Value::String(self.pick(WORDS).into()),
            _ => Value::String(format!("{} {}", self.pick(NUMBERS), self.pick(UNITS))),
        }
    }

    /// A value that the schema allows, or nearly.
    fn sensible(&mut self, schema: Option<&Json>) -> Value {
        let Some(schema) = schema else { return self.nonsense() };
        let one_of = |key: &str| schema[key].as_array().filter(|list| !list.is_empty()).cloned();
        if let Some(words) = one_of("enum") {
            return Value::String(self.pick(&words).as_str().unwrap_or("up").into());
        }
        if let Some(examples) = one_of("examples") {
            let example = self.pick(&examples).as_str().unwrap_or("1 s").to_owned();
            return Value::String(if self.below(2) == 0 { example } else { self.spoil(&example) });
        }
        match schema["type"].as_str() {
            Some("integer") => Value::Integer(self.pick(&[0, 1, 2, 3, 7, 100, 250, 251, 1000, 1_000_000])),
            Some("number") => self.number(),
            Some("boolean") => Value::Boolean(self.below(2) == 0),
            Some("array") => {
                let items = resolve(&self.schema, &schema["items"]);
                Value::Array((0..self.below(3)).map(|_| self.sensible(Some(&items))).collect())
            }
            Some("object") => {
                let mut table = Value::Table(Table::new());
                for _ in 0..self.below(4) {
                    self.add_by(&mut table, schema);
                }
                table
            }
            _ => Value::String(self.pick(WORDS).into()),
        }
    }

    fn remove(&mut self, tree: &mut Value) {
        let Some(mut place) = self.leaf(tree) else { return };
        place.truncate(1 + self.below(place.len()));
        let last = place.pop().expect("a place has a step");
        match (at(tree, &place), last) {
            (Value::Table(table), Step::Key(key)) => drop(table.remove(&key)),
            (Value::Array(list), Step::Index(index)) => drop(list.remove(index)),
            _ => unreachable!("a step fits what it steps into"),
        }
    }

    /// Repeats an entry of a list.
    fn repeat(&mut self, tree: &mut Value) {
        let Some(place) = self.leaf(tree) else { return };
        let Some(cut) = place.iter().position(|step| matches!(step, Step::Index(_))) else { return };
        if let Value::Array(list) = at(tree, &place[..cut]) {
            list.push(self.pick(list));
        }
    }

    /// Adds a key of the schema.
    fn add(&mut self, tree: &mut Value) {
        let Some(mut place) = self.leaf(tree) else { return };
        place.truncate(self.below(place.len()));
        if matches!(place.last(), Some(Step::Key(_))) && !at(tree, &place).is_table() {
            place.pop();
        }
        let Some(schema) = self.schema_at(&place) else { return };
        self.add_by(at(tree, &place), &schema);
    }

    fn add_by(&mut self, table: &mut Value, schema: &Json) {
        let (Some(properties), Value::Table(table)) = (schema["properties"].as_object(), table) else { return };
        let keys: Vec<&String> = properties.keys().collect();
        let key = self.pick(&keys).clone();
        let schema = resolve(&self.schema, &properties[&key]);
        let value = self.sensible(Some(&schema));
        table.insert(key, value);
    }

    /// The schema of a position.
    fn schema_at(&self, place: &[Step]) -> Option<Json> {
        let mut schema = self.schema.clone();
        for step in place {
            let next = match step {
                Step::Key(key) => schema["properties"].get(key)?,
                Step::Index(_) => schema.get("items")?,
            };
            schema = resolve(&self.schema, next);
        }
        Some(schema)
    }

    fn leaf(&mut self, tree: &Value) -> Option<Place> {
        let places = leaves(tree);
        (!places.is_empty()).then(|| self.pick(&places))
    }
}

/// Follows a reference.
fn resolve(root: &Json, schema: &Json) -> Json {
    let target = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#"));
    target.and_then(|path| root.pointer(path)).unwrap_or(schema).clone()
}

fn at<'a>(tree: &'a mut Value, place: &[Step]) -> &'a mut Value {
    place.iter().fold(tree, |tree, step| match step {
        Step::Key(key) => &mut tree[key.as_str()],
        Step::Index(index) => &mut tree[*index],
    })
}

/// Positions of all values that contain no others.
pub fn leaves(tree: &Value) -> Vec<Place> {
    fn walk(tree: &Value, place: &mut Place, found: &mut Vec<Place>) {
        let mut into = |step, value| {
            place.push(step);
            walk(value, place, found);
            place.pop();
        };
        match tree {
            Value::Table(table) if !table.is_empty() => {
                table.iter().for_each(|(key, value)| into(Step::Key(key.clone()), value));
            }
            Value::Array(list) if !list.is_empty() => {
                list.iter().enumerate().for_each(|(index, value)| into(Step::Index(index), value));
            }
            _ => found.push(place.clone()),
        }
    }
    let mut found = Vec::new();
    walk(tree, &mut Vec::new(), &mut found);
    found.retain(|place| !place.is_empty());
    found
}

fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(toml_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    files
}
