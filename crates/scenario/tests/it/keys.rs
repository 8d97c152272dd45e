//! The keys of the format, as its schema has them.

use serde_json::Value;

/// A key of the schema.
pub struct Key {
    /// The table of the key, as a path to the first entry of each list, such as `station.1`; empty at the top.
    pub table: String,
    pub name: String,
    pub description: String,
    /// Whether it is itself a table, or a list of tables.
    pub is_table: bool,
}

/// All keys of a schema.
pub fn keys(schema: &Value) -> Vec<Key> {
    let target = |property: &Value| {
        let property = property.get("items").unwrap_or(property);
        schema.pointer(property["$ref"].as_str()?.strip_prefix('#')?).cloned()
    };
    let mut tables = vec![(String::new(), schema.clone())];
    let mut found = Vec::new();
    while let Some((table, node)) = tables.pop() {
        for (name, property) in node["properties"].as_object().unwrap() {
            let inner = target(property);
            let description = property["description"].as_str().unwrap_or_default().replace('\n', " ");
            found.push(Key { table: table.clone(), name: name.clone(), description, is_table: inner.is_some() });
            let first = if property.get("items").is_some() { ".1" } else { "" };
            let dot = if table.is_empty() { "" } else { "." };
            tables.extend(inner.map(|inner| (format!("{table}{dot}{name}{first}"), inner)));
        }
    }
    found
}
