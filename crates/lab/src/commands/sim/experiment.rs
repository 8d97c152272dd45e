//! Which experiment the folder of `--store` is of: `experiment.json` in it, and what differs from another one's.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The file in a folder that says what it has results of.
const FILE: &str = "experiment.json";

/// The experiment of a folder, if it is one's.
pub fn of_folder(folder: &Path) -> Result<Option<Value>> {
    let file = folder.join(FILE);
    match fs::read_to_string(&file) {
        Ok(text) => Ok(Some(serde_json::from_str(&text).with_context(|| format!("cannot read {}", file.display()))?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

/// Makes a folder, which exists, that of this experiment, unless it is already. `writer` is a name that no other process has for this
/// folder at this time.
///
/// # Errors
/// It is another experiment's, or cannot be read or written.
pub fn claim(folder: &Path, experiment: &Value, writer: &str) -> Result<()> {
    let known = match of_folder(folder)? {
        Some(known) => known,
        None => {
            // Parts begin at the same time on several machines: each writes a file of its own, and the last one stays.
            let (part, file) = (folder.join(format!("{FILE}.{writer}.part")), folder.join(FILE));
            fs::write(&part, format!("{experiment:#}\n"))
                .and_then(|()| fs::rename(&part, &file))
                .with_context(|| format!("cannot write {}", file.display()))?;
            of_folder(folder)?.unwrap_or_else(|| experiment.clone())
        }
    };
    match difference(&known, experiment) {
        Some(what) => bail!("{} is the store of another experiment: {what}; name another folder", folder.display()),
        None => Ok(()),
    }
}

/// What distinguishes two experiments, the first as "there" and the second as "here", if anything does.
pub fn difference(there: &Value, here: &Value) -> Option<String> {
    let both = |field: &str| Some((there.get(field)?.as_str()?, here.get(field)?.as_str()?));
    if let Some((there, here)) = both("program").filter(|(there, here)| there != here) {
        return Some(format!("the version of the simulator is {there} there and {here} here"));
    }
    if both("identity").is_some_and(|(there, here)| there == here) {
        return None;
    }
    let line = both("text").and_then(|(there, here)| line_difference(there, here));
    let found = line.or_else(|| settings_difference(there, here)).or_else(|| axes_difference(there, here));
    Some(found.unwrap_or_else(|| "the scenario, or the order of settings, is another".to_owned()))
}

/// The first line that differs.
fn line_difference(there: &str, here: &str) -> Option<String> {
    let (mut a, mut b) = (there.lines(), here.lines());
    for number in 1.. {
        let quoted = |line: Option<&str>| line.map_or_else(|| "absent".to_owned(), |line| format!("`{}`", line.trim()));
        match (a.next(), b.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                return Some(format!("line {number} of the scenario is {} there and {} here", quoted(a), quoted(b)));
            }
        }
    }
    (there != here).then(|| "the ends of the scenario's lines".to_owned())
}

/// The first key of `--set` that has two values.
fn settings_difference(there: &Value, here: &Value) -> Option<String> {
    let pair = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
    let settings = |of: &Value| -> Vec<(String, String)> {
        of["settings"].as_array().into_iter().flatten().filter_map(pair).collect()
    };
    key_difference("--set", &settings(there), &settings(here))
}

/// The first key that has two lists of values.
fn axes_difference(there: &Value, here: &Value) -> Option<String> {
    let axis = |axis: &Value| {
        let values = axis["values"].as_array()?.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
        let together = if axis["together"] == true { " (--zip)" } else { "" };
        Some((axis["key"].as_str()?.to_owned(), values + together))
    };
    let axes = |of: &Value| -> Vec<(String, String)> {
        of["sweep"].as_array().into_iter().flatten().filter_map(axis).collect()
    };
    key_difference("--vary", &axes(there), &axes(here))
}

/// The first key with two values; the last value of a key counts.
fn key_difference(option: &str, there: &[(String, String)], here: &[(String, String)]) -> Option<String> {
    let value = |of: &[(String, String)], key: &str| {
        of.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.clone())
    };
    let (key, values) = there.iter().chain(here).find_map(|(key, _)| {
        let values = [value(there, key), value(here, key)];
        (values[0] != values[1]).then_some((key, values))
    })?;
    let mut text = if key == "policy" { "--policies is".to_owned() } else { format!("{option} {key} is") };
    for (value, place) in values.iter().zip(["there and", "here"]) {
        let value = value.as_ref().map_or("absent", String::as_str);
        write!(text, " {value} {place}").expect("a string takes all");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn experiment(identity: &str, text: &str) -> Value {
        json!({ "identity": identity, "text": text, "program": "1 a", "settings": [["seed", "7"]],
            "sweep": [{ "key": "lan.delay", "values": ["1 ms", "2 ms"], "together": false }] })
    }

    #[test]
    fn what_differs_is_named() {
        let base = experiment("a", "x = 1\ny = 2\n");
        assert_eq!(difference(&base, &base), None);
        let of = |other: &Value| difference(&base, other).unwrap();
        let lines = of(&experiment("b", "x = 1\n  y = 3\n"));
        assert_eq!(lines, "line 2 of the scenario is `y = 2` there and `y = 3` here");
        assert!(of(&experiment("b", "x = 1\n")).contains("line 2 of the scenario is `y = 2` there and absent here"));
        assert!(of(&experiment("b", "x = 1\r\ny = 2\n")).contains("ends of the scenario's lines"));
        let change = |field: &str, value: Value| {
            let mut other = experiment("b", "x = 1\ny = 2\n");
            other[field] = value;
            of(&other)
        };
        assert_eq!(change("settings", json!([["seed", "8"]])), "--set seed is 7 there and 8 here");
        assert_eq!(change("settings", json!([])), "--set seed is 7 there and absent here");
        let fewer = json!([{ "key": "lan.delay", "values": ["1 ms"], "together": false }]);
        assert_eq!(change("sweep", fewer), "--vary lan.delay is 1 ms, 2 ms there and 1 ms here");
        let policies = |names: [&str; 2]| json!([{ "key": "policy", "values": names, "together": false }]);
        let [there, here] = [["fifo", "evenair"], ["fifo", "codel"]].map(policies);
        assert_eq!(
            difference(&json!({ "sweep": there, "identity": "a" }), &json!({ "sweep": here, "identity": "b" }))
                .as_deref(),
            Some("--policies is fifo, evenair there and fifo, codel here")
        );
        assert!(change("program", json!("2 b")).contains("version of the simulator is 1 a there and 2 b here"));
        assert!(change("title", json!("t")).contains("order of settings"));
        // A folder of results without the text: what it is known by decides.
        let brief = json!({ "identity": "a" });
        assert!(difference(&brief, &base).is_none() && difference(&json!({ "identity": "c" }), &base).is_some());
    }
}
