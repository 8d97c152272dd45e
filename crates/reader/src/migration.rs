//! Migration of files to the current names of keys and values. Keeps comments and order.

use std::fmt;

use toml_edit::{Document as Parsed, DocumentMut, InlineTable, Item, Key, Table, TableLike, Value};

use crate::document::Document;
use crate::error::{ConfigError, Problems};
use crate::renames::{Kind, RENAMES, Rename, path_of};

/// A file with the current names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// Its text.
    pub text: String,
    /// The changes; if empty, the text is unchanged.
    pub changes: Vec<Change>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The line of the old file, from 1.
    pub line: usize,
    /// Old text.
    pub old: String,
    /// New text.
    pub new: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} -> {}", self.line, self.old, self.new)
    }
}

/// The text of a box's configuration, a scenario or a policy with the current names in place of old ones. All else stays:
/// comments, order, blank lines. Other errors in the file are not checked.
///
/// # Errors
/// It is no TOML, has a key under both its names, or an old key with an invalid value; with positions.
pub fn migrate(text: &str, file: &str) -> Result<Migrated, ConfigError> {
    let document = Document::of(text, file)?;
    let mut problems = Problems::default();
    // The output has "
    // " as line ending.
    let plain = text.replace("\r\n", "\n");
    let parsed = match Parsed::parse(plain.as_str()) {
        Ok(parsed) => parsed,
        Err(error) => {
            problems.add(error.span().unwrap_or_default(), format!("not TOML: {}", error.message()), "");
            return Err(document.verdict(problems).expect_err("there is a problem"));
        }
    };
    let kind = Kind::of(|table| parsed.get(table).is_some());
    let renames = || RENAMES.iter().filter(|rename| rename.is_for(kind));

    // Positions are known before the first change only.
    let mut lines = Vec::new();
    let line_of = |key: &Key| key.span().map_or(1, |span| plain[..span.start].matches('\n').count() + 1);
    for rename in renames() {
        in_tables(parsed.as_item(), path_of(rename.old.0), &mut |table| {
            let Some((key, item)) = table.get_key_value(rename.old.1) else { return };
            if is_old(rename, item) {
                lines.push(line_of(key));
            }
        });
    }
    if kind == Kind::Scenario {
        in_tables(parsed.as_item(), "sweep", &mut |table| {
            if let Some((key, _)) = table.get_key_value("key").filter(|(_, item)| swept(item).is_some()) {
                lines.push(line_of(key));
            }
        });
    }

    let mut migration = Migration { lines: lines.into_iter(), changes: Vec::new(), wrong: Vec::new(), made: false };
    let mut root = parsed.into_mut();
    renames().for_each(|rename| migration.apply(&mut root, rename));
    if kind == Kind::Scenario {
        migration.apply_to_sweeps(&mut root);
    }
    let Migration { mut changes, wrong, .. } = migration;
    for (line, key, what) in wrong {
        let from = text.split_inclusive('\n').take(line - 1).map(str::len).sum::<usize>();
        let from = text[from..].find(key).map_or(from, |at| from + at);
        problems.add(from..from + key.len(), what, "");
    }
    document.verdict(problems)?;
    if changes.is_empty() {
        return Ok(Migrated { text: text.to_owned(), changes });
    }
    changes.sort_by_key(|change| change.line);
    let new = root.to_string();
    Ok(Migrated { text: if plain == text { new } else { new.replace('\n', "\r\n") }, changes })
}

/// Calls `f` with each table at `path`; one that is a list of tables has several.
fn in_tables(item: &Item, path: &str, f: &mut dyn FnMut(&dyn TableLike)) {
    match item {
        Item::ArrayOfTables(list) => list.iter().for_each(|table| in_table(table, path, f)),
        Item::Value(Value::Array(list)) => {
            list.iter().filter_map(Value::as_inline_table).for_each(|table| in_table(table, path, f));
        }
        item => item.as_table_like().into_iter().for_each(|table| in_table(table, path, f)),
    }
}

fn in_table(table: &dyn TableLike, path: &str, f: &mut dyn FnMut(&dyn TableLike)) {
    if path.is_empty() {
        return f(table);
    }
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    if let Some(item) = table.get(first) {
        in_tables(item, rest, f);
    }
}

/// As [`in_tables`], with tables that may be changed.
fn in_tables_mut(item: &mut Item, path: &str, f: &mut dyn FnMut(&mut dyn TableLike)) {
    match item {
        Item::ArrayOfTables(list) => list.iter_mut().for_each(|table| in_table_mut(table, path, f)),
        Item::Value(Value::Array(list)) => {
            list.iter_mut().filter_map(Value::as_inline_table_mut).for_each(|table| in_table_mut(table, path, f));
        }
        item => item.as_table_like_mut().into_iter().for_each(|table| in_table_mut(table, path, f)),
    }
}

fn in_table_mut(table: &mut dyn TableLike, path: &str, f: &mut dyn FnMut(&mut dyn TableLike)) {
    if path.is_empty() {
        return f(table);
    }
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    if let Some(item) = table.get_mut(first) {
        in_tables_mut(item, rest, f);
    }
}

/// Whether a rename applies to this item of its key.
fn is_old(rename: &Rename, item: &Item) -> bool {
    if rename.keeps_key() {
        return new_value(rename, item).is_some();
    }
    // A table may have the name of a former value.
    rename.inner() != Some(rename.old.1) || item.is_value() && !item.is_inline_table() && !item.is_array()
}

/// The new name of a value, where it has one.
fn new_value(rename: &Rename, item: &Item) -> Option<&'static str> {
    let word = match item.as_value()? {
        Value::Boolean(value) => value.value().to_string(),
        Value::String(value) => value.value().clone(),
        _ => return None,
    };
    rename.value(&word)
}

/// The current path of the key in a `[[sweep]]` entry, if it is an old one.
fn swept(item: &Item) -> Option<String> {
    let path = item.as_str()?;
    let is_it = |rename: &&Rename| {
        let (table, key) = (path_of(rename.old.0), rename.old.1);
        rename.is_for(Kind::Scenario) && rename.values.is_empty() && path == format!("{table}.{key}")
    };
    RENAMES.iter().find(is_it).map(|rename| format!("{}.{}", path_of(rename.new.0), rename.new.1))
}

/// Replaces the text of a value, keeping its surroundings.
fn replace(item: &mut Item, with: &str) {
    if let Some(value) = item.as_value_mut() {
        let around = value.decor().clone();
        *value = with.into();
        *value.decor_mut() = around;
    }
}

/// The same key with another name, and its comments.
fn named(old: &Key, name: &str) -> Key {
    Key::new(name).with_leaf_decor(old.leaf_decor().clone()).with_dotted_decor(old.dotted_decor().clone())
}

/// Removes a key from a table.
fn take(table: &mut dyn TableLike, key: &str) -> Option<(Key, Item)> {
    let key = table.key(key)?.clone();
    table.remove(key.get()).map(|item| (key, item))
}

/// Renames a key, keeping its position.
fn rename_in(table: &mut dyn TableLike, old: &str, new: &str) {
    let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).skip_while(|name| name != old).collect();
    for name in names {
        let Some((key, item)) = take(table, &name) else { continue };
        let key = if name == old { named(&key, new) } else { key };
        table.entry_format(&key).or_insert(item);
    }
}

/// Moves a key into the table `inner` of its own table, which is made at the key's position, as dotted keys, if missing.
fn nest(table: &mut dyn TableLike, old: &str, inner: &str, new: &str, inline: bool) {
    if inner != old
        && let Some(into) = table.get(inner).map(Item::is_inline_table)
    {
        let Some((key, mut item)) = take(table, old) else { return };
        let mut key = named(&key, new);
        if into && !inline {
            key = Key::new(new);
            item.as_value_mut().into_iter().for_each(|value| value.decor_mut().clear());
        }
        table.get_mut(inner).and_then(Item::as_table_like_mut).into_iter().for_each(|table| {
            table.entry_format(&key).or_insert(std::mem::take(&mut item));
        });
        return;
    }
    let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).skip_while(|name| name != old).collect();
    for name in names {
        let Some((key, item)) = take(table, &name) else { continue };
        if name != old {
            table.entry_format(&key).or_insert(item);
            continue;
        }
        let (mut braces, mut dotted) = (InlineTable::new(), Table::new());
        braces.set_dotted(true);
        dotted.set_dotted(true);
        let mut made = if inline { Item::Value(Value::InlineTable(braces)) } else { Item::Table(dotted) };
        let own = made.as_table_like_mut().expect("it was made as one");
        own.entry_format(&named(&key, new)).or_insert(item);
        table.insert(inner, made);
    }
}

/// The word of the controller in a `[manager]`, in the old form or the new one.
fn controller_of(manager: &dyn TableLike) -> String {
    let written = manager.get("controller");
    let kind = written.and_then(|item| item.as_str().or_else(|| item.get("kind")?.as_str()));
    kind.unwrap_or("queue").to_owned()
}

/// A key being moved to another table.
struct MovedKey {
    line: usize,
    /// Its original text.
    was: String,
    key: Key,
    item: Item,
}

/// State of a migration.
struct Migration<I> {
    /// Lines of the changes, in their order.
    lines: I,
    changes: Vec<Change>,
    /// Items that cannot be migrated: line, key and reason.
    wrong: Vec<(usize, &'static str, String)>,
    /// Whether the table that keys are moved into is new.
    made: bool,
}

impl<I: Iterator<Item = usize>> Migration<I> {
    fn next_line(&mut self) -> usize {
        self.lines.next().unwrap_or(1)
    }

    fn apply(&mut self, root: &mut DocumentMut, rename: &Rename) {
        let (old, new) = (rename.old, rename.new);
        let inline = root.get(path_of(old.0)).is_some_and(Item::is_inline_table);
        let mut moved = Vec::new();
        in_tables_mut(root.as_item_mut(), path_of(old.0), &mut |table| {
            let Some(item) = table.get(old.1).filter(|item| is_old(rename, item)) else { return };
            if rename.keeps_key() {
                let Some(value) = new_value(rename, item) else { return };
                let line = self.next_line();
                self.changed(line, format!("`{} {} = {}`", old.0, old.1, shown(item)), rename, Some(value));
                replace(table.get_mut(old.1).expect("it is there"), value);
                return;
            }
            let line = self.next_line();
            let value = new_value(rename, item);
            let was = match rename.values {
                [] => format!("`{} {}`", old.0, old.1),
                _ => format!("`{} {} = {}`", old.0, old.1, shown(item)),
            };
            if value.is_none() && !rename.values.is_empty() {
                let known: Vec<_> = rename.values.iter().map(|(value, _)| *value).collect();
                self.wrong.push((line, old.1, format!("{} is not {}", shown(item), known.join(" or "))));
                return;
            }
            if rename.inner().is_some() {
                return self.apply_inside(table, rename, inline, line);
            }
            if old.0 != new.0 {
                moved.extend(take(table, old.1).map(|(key, item)| MovedKey { line, was, key, item }));
                return;
            }
            if let Some(there) = table.get(new.1) {
                // A false switch had no meaning beside another key.
                if item.as_bool() == Some(false) || value.is_some() && there.as_str() == value {
                    table.remove(old.1);
                    self.changes.push(Change { line, old: was, new: format!("left out, for `{}` is there", new.1) });
                } else {
                    self.twice(line, rename);
                }
                return;
            }
            if let (Some(value), Some(item)) = (value, table.get_mut(old.1)) {
                replace(item, value);
            }
            rename_in(table, old.1, new.1);
            self.changed(line, was, rename, value);
        });
        for mut moved in moved {
            moved.key = named(&moved.key, new.1);
            if inline {
                moved.key = Key::new(new.1);
                moved.item.as_value_mut().into_iter().for_each(|value| value.decor_mut().clear());
            }
            self.put(root, rename, moved);
        }
    }

    /// Applies a rename into a subtable of the key's table.
    fn apply_inside(&mut self, table: &mut dyn TableLike, rename: &Rename, inline: bool, line: usize) {
        let (old, new) = (rename.old, rename.new);
        let Some(inner) = rename.inner() else { return };
        let kind = controller_of(table);
        if let Some(only) = rename.controller.filter(|only| *only != kind) {
            let what = format!("`{}` went with controller = \"{only}\" alone, and this is \"{kind}\"", old.1);
            self.wrong.push((line, old.1, what));
            return;
        }
        if inner != old.1
            && let Some(there) = table.get(inner)
        {
            let Some(there) = there.as_table_like() else {
                let what = format!("`{}` is now in `{}`, which is no table here", old.1, new.0);
                self.wrong.push((line, old.1, what));
                return;
            };
            if there.contains_key(new.1) {
                self.twice(line, rename);
                return;
            }
        }
        nest(table, old.1, inner, new.1, inline);
        self.changed(line, format!("`{} {}`", old.0, old.1), rename, None);
    }

    /// Puts a key into its new table, which is made beside the old one if missing.
    fn put(&mut self, root: &mut DocumentMut, rename: &Rename, moved: MovedKey) {
        let MovedKey { line, was, key, item } = moved;
        let (old, new) = (path_of(rename.old.0), path_of(rename.new.0));
        if !root.contains_key(new) {
            let mut table = Table::new();
            table.set_position(root.get(old).and_then(Item::as_table).and_then(Table::position));
            table.decor_mut().set_prefix("\n");
            root.insert(new, Item::Table(table));
            self.made = true;
        }
        let Some(table) = root.get_mut(new).and_then(Item::as_table_like_mut) else {
            let what = format!("`{}` is now in `{}`, which is no table here", rename.old.1, rename.new.0);
            self.wrong.push((line, rename.old.1, what));
            return;
        };
        if table.contains_key(key.get()) {
            self.twice(line, rename);
            return;
        }
        table.entry_format(&key).or_insert(item);
        if self.made {
            replace_empty(root, old, new);
        }
        self.changed(line, was, rename, None);
    }

    fn apply_to_sweeps(&mut self, root: &mut DocumentMut) {
        in_tables_mut(root.as_item_mut(), "sweep", &mut |table| {
            let Some(item) = table.get_mut("key") else { return };
            let Some(new) = swept(item) else { return };
            let (line, old) = (self.next_line(), format!("`[[sweep]] key = {}`", shown(item)));
            replace(item, &new);
            self.changes.push(Change { line, old, new: format!("`[[sweep]] key = \"{new}\"`") });
        });
    }

    fn changed(&mut self, line: usize, old: String, rename: &Rename, value: Option<&str>) {
        let value = value.map_or_else(String::new, |value| format!(" = \"{value}\""));
        self.changes.push(Change { line, old, new: format!("`{} {}{value}`", rename.new.0, rename.new.1) });
    }

    fn twice(&mut self, line: usize, rename: &Rename) {
        let (old, new) = (rename.old.1, rename.new);
        let what = format!("`{old}` is now `{} {}`, which is there too: take one of them out", new.0, new.1);
        self.wrong.push((line, old, what));
    }
}

/// Replaces a scenario's table that has become empty by the new one, at its position and with its comments. In a policy an
/// empty `[manager]` has a meaning.
fn replace_empty(root: &mut DocumentMut, old: &str, new: &str) {
    let is_empty = |table: &Table| table.is_empty() && !table.is_dotted() && !table.is_implicit();
    if !root.contains_key("version") || !root.get(old).and_then(Item::as_table).is_some_and(is_empty) {
        return;
    }
    if let (Some(Item::Table(empty)), Some(Item::Table(table))) = (root.remove(old), root.get_mut(new)) {
        *table.decor_mut() = empty.decor().clone();
    }
}

/// A value as written, without its surroundings.
fn shown(item: &Item) -> String {
    let mut value = item.clone();
    value.as_value_mut().into_iter().for_each(|value| value.decor_mut().clear());
    value.to_string()
}
