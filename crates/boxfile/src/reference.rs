//! The reference of the box's configuration, and its JSON schema, both generated from the types that read it.
//!
//! `evenair config` prints both.

use evenair_reader::schema_of;
use serde_json::Value;

use crate::config::BoxFile;

const INTRODUCTION: &str = r#"# The box's configuration

All keys of the file that `evenaird` reads, by default `/etc/evenair/box.toml`. `evenair init` writes a first version with comments,
`evenair config check FILE` reports its errors, `evenair config migrate FILE` renames the keys of an older version, and `evenair reload`
makes a running box read it again. [box.md](box.md) describes how the parts work together. `evenair config reference` prints this page.

A minimal file:

```toml
[ports]
wlan = "eth1"      # toward the access points
wire = "eth0"      # toward the rest of the network
bridge = "br0"     # the bridge that both are ports of

[control]
socket = "/run/evenair/control.sock"

[radio]
standard = "802.11g"
```

Quantities are strings with their unit: `"20 ms"`, `"5.5 Mb/s"` (bits, powers of 1000), `"8 MB"`, `"90 %"`, `"100 packets"`.
A heading with double brackets, `[[list]]`, is a list of tables. The box rejects an invalid file as a whole, and reports each problem
with its line and the allowed values; a running box then keeps its configuration. For completion and checks in an editor (Taplo, Even
Better TOML): `evenair config schema > box.schema.json`, and `#:schema box.schema.json` as the first line of the file.
"#;

/// The JSON schema of the box's configuration: keys, kinds of values, units, and descriptions.
pub fn schema() -> Value {
    schema_of::<BoxFile>("Evenair box")
}

/// All tables and keys of the box's configuration, in Markdown.
pub fn reference() -> String {
    evenair_reader::reference(INTRODUCTION, &schema(), &[])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_key_is_described_once_and_its_example_is_valid() {
        let text = reference();
        for part in
            ["## `[ports]`", "## `[[station]]`", "## `[manager.wan]`", "## `[[manager.class]]`", "## `[[telemetry]]`"]
        {
            assert_eq!(text.matches(&format!("\n{part}\n")).count(), 1, "{part}");
        }
        for heading in text.lines().filter(|line| line.starts_with('#')) {
            assert_eq!(text.matches(&format!("{heading}\n")).count(), 1, "{heading}");
        }
        let schema = schema();
        for table in schema["$defs"].as_object().into_iter().flat_map(|tables| tables.values()) {
            for key in table["properties"].as_object().into_iter().flat_map(|keys| keys.keys()) {
                assert!(text.contains(&format!("\n| `{key}` | ")), "{key} is missing");
            }
        }
        for row in text.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<_> = row.replace("\\|", "").split(" | ").map(str::to_owned).collect();
            assert!(cells.len() == 4 && cells.iter().all(|cell| cell.len() > 1 || cell == "-"), "{row}");
            assert!(cells[3].len() > 10, "no meaning: {row}");
        }
        assert!(!text.contains("`rates`"), "a box's file has no such key");
        let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("there is one");
        crate::BoxConfig::parse(example, "box.toml").expect("good");
    }

    /// Settings with which a key has an effect; a default is right if it changes nothing in one of these contexts.
    const BESIDE: &[&[(&str, &str)]] = &[
        &[],
        &[("radio.standard", "802.11b")],
        &[("shards", "{}")],
        &[("history", "{}")],
        &[("metrics", "{ listen = \"127.0.0.1:9469\" }")],
        &[("station", "[{ mac = \"02:00:00:00:00:01\" }]")],
        &[("telemetry", "[{ kind = \"snmp\", address = \"192.0.2.1\" }]")],
        &[("telemetry", "[{ kind = \"unifi\", url = \"https://192.0.2.1\", user = \"a\", secrets = \"SECRETS\" }]")],
        &[("manager.controller.kind", "published")],
        &[("manager.controller.kind", "pi")],
        &[("manager.wan", "{ down = \"8 Mb/s\", up = \"1 Mb/s\", lan = [\"10.0.0.0/8\"] }")],
        &[("manager.voice", "{}")],
        &[("manager.voice", "{ combinations = [{ g711 = 1 }] }")],
        &[("manager.voice", "{ combinations = [{ g729 = 1 }] }")],
        &[("manager.rssi", "{ classes = [{ above = \"-70 dBm\", rate = \"54 Mb/s\" }, { rate = \"6 Mb/s\" }] }")],
        &[("manager.receiver", "{ window = \"20 packets\" }")],
        &[("manager.uplink_limit", "{}")],
        &[("manager.class", "[{ name = \"gold\", match = { dscp = [46] } }]")],
        &[("manager.application", "[{ name = \"calls\", match = { dscp = [46] } }]")],
        &[("manager.access_point", "[{ name = \"ap\" }]")],
        &[("manager.queue", "{ discipline = \"codel\" }")],
        &[("manager.queue", "{ discipline = \"drr\" }")],
        &[("manager.queue", "{ discipline = \"fq-codel\" }")],
        &[("manager.queue", "{ discipline = \"las-ack\" }")],
        &[("manager.queue", "{ discipline = \"htb\", class = [{ name = \"all\", rate = \"1 Mb/s\" }] }")],
        &[("manager.queue", "{ discipline = \"whtb\", class = [{ name = \"all\", rate = \"1 Mb/s\" }] }")],
        &[("manager.queue", "{ discipline = \"cbq\", class = [{ name = \"all\", rate = \"1 Mb/s\" }] }")],
    ];

    /// The configuration of a minimal file with these keys set.
    fn with(sets: &[(&str, &str)]) -> Result<crate::BoxConfig, String> {
        let text = "[ports]\nwlan = \"eth1\"\nwire = \"eth0\"\nbridge = \"br0\"\n[radio]\nstandard = \"802.11g\"\n";
        let read = evenair_reader::read::<BoxFile>(text, "box.toml", sets);
        let (raw, document, mut problems) = read.map_err(|error| error.to_string())?;
        let config = raw.check(&mut problems);
        document.verdict(problems).map_err(|error| error.to_string())?;
        config.ok_or_else(|| "no configuration".to_owned())
    }

    /// Defaults in the printed reference, each with the path to its key in the first entry of each list.
    fn documented(text: &str) -> Vec<(String, String)> {
        let (mut table, mut found) = (String::new(), vec![]);
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("## `") {
                table = heading.trim_matches(['[', ']', '`']).to_owned();
            }
            let cells: Vec<_> = line.split(" | ").collect();
            if let (Some(key), Some(default)) = (cells[0].strip_prefix("| `"), cells.get(2))
                && let Some(default) = default.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'))
                && !cells[3].contains("not in the manager")
            {
                found.push((format!("{table}.{}", key.trim_end_matches('`')), default.to_owned()));
            }
        }
        found
    }

    #[test]
    fn every_documented_default_is_accepted_and_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let secrets = folder.path().join("secrets.toml");
        fs::write(&secrets, "password = \"x\"\n").expect("writable");
        let secrets = secrets.display().to_string();
        let lists = [
            "station",
            "telemetry",
            "manager.class",
            "manager.application",
            "manager.access_point",
            "manager.queue.class",
            "manager.voice.combinations",
            "manager.rssi.classes",
        ];
        let (mut wrong, defaults) = (vec![], documented(&reference()));
        assert!(
            defaults.len() > 60 && defaults.contains(&("manager.flow_limit".into(), "131072".into())),
            "{defaults:?}"
        );
        for (path, default) in &defaults {
            let (table, key) = path.rsplit_once('.').expect("in a table");
            let path = if lists.contains(&table) { format!("{table}.1.{key}") } else { path.clone() };
            let attempts = BESIDE.iter().map(|beside| {
                let beside: Vec<_> =
                    beside.iter().map(|(key, value)| (*key, value.replace("SECRETS", &secrets))).collect();
                let mut sets: Vec<_> = beside.iter().map(|(key, value)| (*key, value.as_str())).collect();
                let without = with(&sets)?;
                sets.push((&path, default));
                if with(&sets)? == without { Ok(()) } else { Err(format!("another meaning beside {sets:?}")) }
            });
            let results: Vec<_> = attempts.collect();
            if results.iter().all(Result::is_err) {
                let mut why: Vec<_> = results.into_iter().filter_map(Result::err).collect();
                why.sort();
                why.dedup();
                wrong.push(format!("{path} = {default}: {}", why.join("\n")));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    }
}
