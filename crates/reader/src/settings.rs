//! Values from the command line (`--set KEY=VALUE`), put into the tree of a file.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::keys;
use crate::spelling::{closest, did_you_mean};

/// Maximum number of list entries that a message names.
const ENTRIES_SHOWN: usize = 12;

/// A value from the command line. Its span lies after the text, from `start` on.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub(crate) start: usize,
    pub(crate) key: String,
    pub(crate) value: String,
}

/// The file that values are set in.
pub(crate) struct File<'a> {
    /// Its name in errors.
    pub(crate) name: &'a str,
    /// Its schema; `Null` if keys are not checked.
    pub(crate) schema: &'a Value,
}

/// What is wrong, and what would be right.
type Wrong = (String, String);

impl Set {
    /// Keys with their values, whose spans follow a text of `length` bytes and each other.
    pub(crate) fn all(sets: &[(&str, &str)], length: usize) -> Vec<Self> {
        let mut start = length + 1;
        let one = |&(key, value): &(&str, &str)| {
            let set = Self { start, key: key.to_owned(), value: value.to_owned() };
            start += set.padded().len() - set.start + 1;
            set
        };
        sets.iter().map(one).collect()
    }

    /// The value as TOML, padded with blanks to the position of its span.
    pub(crate) fn padded(&self) -> String {
        format!("{}v={}", " ".repeat(self.start), self.value)
    }

    pub(crate) fn span(&self) -> Range<usize> {
        self.start..self.start + 2 + self.value.len()
    }
}

/// Puts the value of `set` into the tree of a file.
pub(crate) fn apply<'i>(root: &mut DeTable<'i>, set: &Set, padded: &'i str, file: &File<'_>) -> Result<(), Wrong> {
    let value = match DeTable::parse(padded) {
        Ok(mut table) if table.get_ref().len() == 1 && !set.value.contains('\n') => table.get_mut().remove("v"),
        _ => None,
    };
    let text = || Spanned::new(set.span(), DeValue::String(Cow::Owned(set.value.clone())));
    let value = value.unwrap_or_else(text);

    let segments: Vec<_> = set.key.split('.').collect();
    let (last, path) = segments.split_last().expect("splitting gives at least one part");
    let table = Way { set, file }.descend(root, path, file.schema)?;
    table.insert(Spanned::new(set.span(), Cow::Owned((*last).to_owned())), value);
    Ok(())
}

/// The path to a key, for messages.
struct Way<'a> {
    set: &'a Set,
    file: &'a File<'a>,
}

impl Way<'_> {
    /// The table at `path` below `table`, whose schema is `schema`; missing tables on the path are made.
    fn descend<'t, 'i>(
        &self,
        table: &'t mut DeTable<'i>,
        path: &[&str],
        schema: &Value,
    ) -> Result<&'t mut DeTable<'i>, Wrong> {
        let [segment, rest @ ..] = path else { return Ok(table) };
        let schema = keys::resolve(self.file.schema, &schema["properties"][*segment]);
        if !table.contains_key(*segment) {
            if let (Some(_), [wanted, ..]) = (schema.get("items"), rest) {
                let what = format!("\"{segment}\" has no entry \"{wanted}\": {} has no [[{segment}]]", self.file.name);
                return Err((what, String::new()));
            }
            let empty = Spanned::new(self.set.span(), DeValue::Table(DeTable::new()));
            table.insert(Spanned::new(self.set.span(), Cow::Owned((*segment).to_owned())), empty);
        }
        match table.get_mut(*segment).map(Spanned::get_mut) {
            Some(DeValue::Table(inner)) => self.descend(inner, rest, schema),
            Some(DeValue::Array(array)) => {
                let [wanted, rest @ ..] = rest else {
                    let what = format!("\"{segment}\" is a list: name the entry, as in {segment}.NAME.key");
                    return Err((what, String::new()));
                };
                let names: Vec<_> = array.iter().enumerate().map(|(i, e)| element_name(e.get_ref(), i)).collect();
                let number = names.iter().position(|name| name == wanted);
                let number = number.or_else(|| wanted.parse::<usize>().ok()?.checked_sub(1));
                match number.and_then(|number| array.get_mut(number)).map(Spanned::get_mut) {
                    Some(DeValue::Table(inner)) => {
                        self.descend(inner, rest, keys::resolve(self.file.schema, &schema["items"]))
                    }
                    _ => Err(self.no_entry(segment, wanted, &names)),
                }
            }
            _ => Err((format!("\"{segment}\" is a value, not a table"), String::new())),
        }
    }

    /// The error for a list `segment` without the wanted entry, with the existing names.
    fn no_entry(&self, segment: &str, wanted: &str, names: &[String]) -> Wrong {
        let hint = closest(wanted, names.iter().map(String::as_str).filter(|name| name.len() > 1));
        let hint = did_you_mean(hint);
        let mut allowed: Vec<_> = names.iter().take(ENTRIES_SHOWN).map(|name| format!("{segment}.{name}")).collect();
        allowed.extend((names.len() > ENTRIES_SHOWN).then(|| "...".to_owned()));
        (format!("\"{segment}\" has no entry \"{wanted}\" in {}{hint}", self.file.name), allowed.join(", "))
    }
}

/// The name of an array element in paths: its own name, or its number from 1.
pub(crate) fn element_name(element: &DeValue<'_>, index: usize) -> String {
    let name = element.get("name").and_then(|name| name.get_ref().as_str());
    name.map_or_else(|| (index + 1).to_string(), str::to_owned)
}
