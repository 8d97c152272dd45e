//! Policies to manage a WLAN, to compare in one experiment.
//!
//! A policy is a set of tables of a scenario. It replaces the scenario's mechanisms, and keeps its description of the site:
//! stations and their classes, links, telemetry. A policy with a box manages from the scenario's `insert` on, or from the
//! start if there is none; without a box, the box stays bypassed.

use std::fmt;
use std::path::Path;

use evenair_reader::{self as reader, ConfigError, Document, Located, Place, Problems};
use toml::{Table, Value};

use crate::sweep::Settings;

/// A way to manage a WLAN.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name in tables and figures.
    pub name: String,
    /// Its description in one line.
    pub meaning: String,
    /// Its tables.
    tables: Table,
    /// The policy's file, or its name as a document.
    document: Document,
}

/// Why there is no such policy, or a scenario cannot use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError(String);

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PolicyError {}

/// A discipline with equal classes for both directions, whose last arguments set borrowing.
macro_rules! both_directions {
    ($discipline:literal, $borrows:literal) => {
        concat!(
            "manager.queue = { discipline = '",
            $discipline,
            "', class = [ { name = 'all', rate = '1 Gb/s' }, { name = 'down', direction = 'down', parent = 'all', rate = '500 kb/s', ",
            $borrows,
            " }, { name = 'up', direction = 'up', parent = 'all', rate = '500 kb/s', ",
            $borrows,
            " } ] }"
        )
    };
}

/// Known policies: name, meaning, tables.
const KNOWN: &[(&str, &str, &str)] = &[
    ("fifo", "no box: the access point's own drop-tail queue", ""),
    (
        "ap-drr",
        "no box: DRR between stations at the access point",
        "radio.ap_queue = { discipline = 'drr', by = 'station' }",
    ),
    ("ap-fq-codel", "no box: FQ-CoDel at the access point", "radio.ap_queue = { discipline = 'fq-codel' }"),
    ("ap-cake", "no box: CAKE's queues at the access point", "radio.ap_queue = { discipline = 'cake' }"),
    (
        "ap-station-fifo",
        "no box: a FIFO for each station at the access point",
        "radio.ap_queue = { discipline = 'station-fifo' }",
    ),
    (
        "ap-mac80211",
        "no box: Linux's intermediate queues at the access point",
        "radio.ap_queue = { discipline = 'mac80211' }",
    ),
    ("ap-las-ack", "no box: LAS-ACK at the access point, as published", "radio.ap_queue = { discipline = 'las-ack' }"),
    ("box-fifo", "the queue drawn into the box, drop-tail", "manager.queue = { discipline = 'fifo' }"),
    ("codel", "CoDel in the box", "manager.queue = { discipline = 'codel' }"),
    ("drr", "DRR between stations in the box", "manager.queue = { discipline = 'drr', by = 'station' }"),
    ("fq-codel", "FQ-CoDel in the box", "manager.queue = { discipline = 'fq-codel' }"),
    ("cake", "CAKE's queues in the box", "manager.queue = { discipline = 'cake' }"),
    (
        "htb",
        "HTB in the box: 500 kb/s for each direction, and half of the rest",
        both_directions!("htb", "ceil = '1 Gb/s'"),
    ),
    (
        "whtb",
        "WHTB in the box: as `htb`, charged by what the channel of a station makes of a packet",
        both_directions!("whtb", "ceil = '1 Gb/s'"),
    ),
    (
        "cbq",
        "CBQ in the box: 500 kb/s for each direction, more where the other leaves it",
        both_directions!("cbq", "borrows = true"),
    ),
    (
        "las-ack",
        "LAS-ACK in the box, with a floor against starvation",
        "manager.queue = { discipline = 'las-ack', floor = 8 }",
    ),
    (
        "las-ack-published",
        "LAS-ACK in the box as published: 100 packets, no floor",
        "manager = { queue = { discipline = 'las-ack' }, queue_limit = '100 packets' }",
    ),
    (
        "uplink-limit",
        "uploads limited by the adaptive token bucket, nothing held",
        "manager = { controller.kind = 'none', uplink_limit = {} }",
    ),
    (
        "uplink-limit-published",
        "uploads limited by the published rule, nothing held",
        "manager = { controller.kind = 'none', uplink_limit = { rule = 'published' } }",
    ),
    (
        "receiver-window",
        "windows of connections begun under it lowered so that packets wait 50 ms in the access point, nothing held",
        "manager = { controller.kind = 'none', receiver = { window_target = '50 ms' } }",
    ),
    (
        "adwiser",
        "ADWISER as published: directions above stations, virtual bits, the additive rule, no AQM, no sparse-flow priority",
        "manager = { controller.kind = 'published', charge = 'bits', aqm = 'none', sparse_first = false, \
         queue_limit = '100 packets', levels = ['direction', 'station', 'flow'] }",
    ),
    (
        "evenair",
        "the box as it comes: the same airtime for every station, the queue controller, CoDel, sparse-flow priority",
        "manager = {}",
    ),
];

/// Keys of `[manager]` that describe the site and not the mechanism.
const OF_SITE: &[&str] = &["wan", "voice", "class", "application", "default_rate", "access_point"];
/// Keys of `[manager]` about shares, for mechanisms that support them.
const OF_SHARES: &[&str] = &["levels", "up_weight", "down_weight", "station_fairness", "other_weight"];

impl Policy {
    /// All known policies.
    pub fn known() -> impl Iterator<Item = Self> {
        KNOWN.iter().map(|(name, meaning, text)| {
            let tables = text.parse().expect("the text of a known policy");
            let document = Document::of("", &format!("policy {name}")).expect("an empty text");
            Self { name: (*name).to_owned(), meaning: (*meaning).to_owned(), tables, document }
        })
    }

    /// The known policy of this name.
    ///
    /// # Errors
    /// If there is none; the error lists those available.
    pub fn named(name: &str) -> Result<Self, PolicyError> {
        Self::known().find(|policy| policy.name == name).ok_or_else(|| {
            let names: Vec<_> = KNOWN.iter().map(|(name, ..)| *name).collect();
            let hint = reader::did_you_mean(reader::closest(&name.to_lowercase(), names.iter().copied()));
            let names = names.join(", ");
            PolicyError(format!("there is no policy {name:?}{hint}; there are {names}, and files that end in .toml"))
        })
    }

    /// A custom policy with the name of its file: `text` has `[manager]`, `[radio]` and `[telemetry]`, or some of them, as in a
    /// scenario.
    ///
    /// # Errors
    /// If it is no TOML, or has other tables: file, line and key.
    pub fn written(file: &str, text: &str) -> Result<Self, PolicyError> {
        let refuse = |error: ConfigError| PolicyError(error.to_string());
        let document = Document::of(text, file).map_err(refuse)?;
        let tables: Table = text.parse().map_err(|error| PolicyError(format!("{file}: {error}")))?;
        let mut problems = Problems::default();
        for (key, value) in &tables {
            let place = document.place_of(key).unwrap_or_default();
            if !["manager", "radio", "telemetry"].contains(&key.as_str()) {
                problems.add(place, format!("{key:?} is no part of a policy"), "[manager], [radio] and [telemetry]");
            } else if !value.is_table() {
                problems.add(place, format!("{key:?} is to be a table"), format!("[{key}]"));
            }
        }
        document.verdict(problems).map_err(refuse)?;
        let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, meaning: "of a file".to_owned(), tables, document })
    }

    /// Moves the errors of the scenario `file` under this policy to their positions in the policy, since the merged text of the
    /// scenario exists in no file. Errors of command-line settings are reported there.
    #[must_use]
    pub fn at_its_places(&self, error: ConfigError, file: &str) -> ConfigError {
        let place = |problem: &Located| {
            if problem.key.is_empty() && problem.place.file.starts_with("--set ") {
                let place = Place::whole(format!("{file} under the policy {}: {}", self.name, problem.place));
                return Located { place, ..problem.clone() };
            }
            self.document.relocate(problem)
        };
        match error {
            ConfigError::Invalid(problems) => ConfigError::Invalid(problems.iter().map(place).collect()),
            read @ ConfigError::Read { .. } => read,
        }
    }

    /// The tables of a custom policy as TOML; `None` for a known policy.
    pub fn own_tables(&self) -> Option<String> {
        let is_known = KNOWN.iter().any(|(name, _, text)| {
            *name == self.name && text.parse::<Table>().is_ok_and(|tables| tables == self.tables)
        });
        (!is_known).then(|| toml::to_string(&self.tables).expect("tables that were read"))
    }

    /// Whether the policy has a box that manages.
    fn manages(&self) -> bool {
        self.tables.contains_key("manager")
    }

    /// The scenario in `text` under this policy.
    ///
    /// # Errors
    /// If the text is no TOML.
    pub fn apply(&self, text: &str) -> Result<String, PolicyError> {
        self.of_tables(text.parse().map_err(|error: toml::de::Error| PolicyError(error.to_string()))?)
    }

    /// The scenario in `text` under this policy, and the remaining `sets`, to be applied to the result. Events are set first, by
    /// their indices in the file, since a policy without a box drops some, and one with a box may add one.
    ///
    /// # Errors
    /// If the text is no TOML, or has no such event.
    pub fn apply_with(&self, file: &str, text: &str, sets: &Settings) -> Result<(String, Settings), PolicyError> {
        let (of_events, others): (Settings, Settings) =
            sets.iter().cloned().partition(|(key, _)| key.starts_with("event."));
        let of_events: Vec<_> = of_events.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let scenario = reader::with_settings(text, file, &of_events);
        let scenario = scenario.map_err(|error| PolicyError(error.to_string()))?;
        Ok((self.of_tables(scenario)?, others))
    }

    /// The text of a scenario with these tables under this policy.
    fn of_tables(&self, mut scenario: Table) -> Result<String, PolicyError> {
        if let Some(Value::Table(radio)) = scenario.get_mut("radio") {
            radio.remove("ap_queue");
        }
        let own = self.tables.get("manager").and_then(Value::as_table);
        let divides = own.is_some_and(|manager| !manager.contains_key("queue"));
        let mut tables = self.tables.clone();
        if let Some(Value::Table(manager)) = scenario.get_mut("manager") {
            manager.retain(|key, _| OF_SITE.contains(&key) || divides && OF_SHARES.contains(&key));
            if let Some(Value::Table(own)) = tables.get_mut("manager") {
                fit_levels(own, manager);
            }
        }
        merge(&mut scenario, &tables);
        drop_weights_of_no_effect(&mut scenario);
        self.switch_the_box(&mut scenario);
        toml::to_string(&scenario).map_err(|error| PolicyError(format!("policy {}: {error}", self.name)))
    }

    /// Adapts the events of the box: it manages from some time on, or never.
    fn switch_the_box(&self, scenario: &mut Table) {
        let does = |event: &Value, what: &[&str]| {
            event.get("do").and_then(Value::as_str).is_some_and(|word| what.contains(&word))
        };
        let events = scenario.entry("event").or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(events) = events else { return };
        if !self.manages() {
            events.retain(|event| !does(event, &["insert", "bypass"]));
        } else if !events.iter().any(|event| does(event, &["insert"])) {
            let insert = [("at", "0 s"), ("do", "insert")].map(|(key, value)| (key.to_owned(), value.into()));
            events.insert(0, Value::Table(insert.into_iter().collect()));
        }
        if events.is_empty() {
            scenario.remove("event");
        }
    }
}

/// Fits the levels of a policy to the site's `[manager]`: its own levels stay, and a level is added for the site's classes
/// and kinds of traffic if they have one by default.
fn fit_levels(own: &mut Table, site: &Table) {
    if site.contains_key("levels") {
        own.remove("levels");
    }
    let Some(Value::Array(levels)) = own.get_mut("levels") else { return };
    let lacks = |levels: &[Value], level: &str| site.contains_key(level) && !levels.contains(&level.into());
    if lacks(levels, "class") {
        levels.insert(0, "class".into());
    }
    if lacks(levels, "application") {
        let flow = levels.iter().position(|level| level.as_str() == Some("flow")).unwrap_or(levels.len());
        levels.insert(flow, "application".into());
    }
}

/// Drops the weights of stations if a queue discipline takes the place of all that knows them.
fn drop_weights_of_no_effect(scenario: &mut Table) {
    let manager = scenario.get("manager").and_then(Value::as_table);
    if !manager.is_some_and(|manager| manager.contains_key("queue") && !manager.contains_key("wan")) {
        return;
    }
    let stations = scenario.get_mut("station").and_then(Value::as_array_mut);
    for station in stations.into_iter().flatten().filter_map(Value::as_table_mut) {
        station.remove("weight");
    }
}

/// Sets in `into` the values of `from`, table by table.
fn merge(into: &mut Table, from: &Table) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use evenair_manager::Level;

    use super::*;
    use crate::Scenario;

    const TEXT: &str = "version = 1\nname = \"x\"\nduration = \"10 s\"\n[radio]\nstandard = \"802.11b\"\n\
        ap_queue = { discipline = \"codel\" }\n[manager]\ncontroller.kind = \"fixed\"\ncontroller.rate = \"4 Mb/s\"\n\
        levels = [\"station\", \"flow\"]\n[telemetry]\nrates = false\n[[station]]\nname = \"s\"\nrate = \"11 Mb/s\"\n\
        [[server]]\nname = \"v\"\n[[bulk]]\nname = \"b\"\nstations = [\"s\"]\nserver = \"v\"\ndirection = \"up\"\n\
        [[event]]\nat = \"3 s\"\ndo = \"insert\"\n";

    fn applied(policy: &Policy, text: &str) -> String {
        policy.apply(text).unwrap()
    }

    fn under(policy: &Policy, text: &str) -> Scenario {
        Scenario::parse(&applied(policy, text), "x.toml").unwrap()
    }

    #[test]
    fn every_known_policy_makes_a_scenario() {
        for policy in Policy::known() {
            let scenario = under(&policy, TEXT);
            assert_eq!(scenario.events.is_empty(), !policy.manages(), "{}", policy.name);
            assert_eq!(Policy::named(&policy.name).unwrap().tables, policy.tables);
        }
    }

    #[test]
    fn a_policy_replaces_the_mechanism_and_keeps_the_site() {
        let text = applied(&Policy::named("evenair").unwrap(), TEXT);
        assert!(
            text.contains("[telemetry]\nrates = false")
                && text.contains("levels")
                && !text.contains("[manager.controller]"),
            "{text}"
        );
        assert!(!text.contains("ap_queue"), "{text}");
        let las = under(&Policy::named("las-ack").unwrap(), TEXT);
        let (_, manager) = las.box_tables();
        assert!(manager.levels.is_none() && manager.queue.is_some_and(|queue| queue.floor.is_some()));
        let weighted = TEXT.replace("rate = \"11 Mb/s\"\n", "rate = \"11 Mb/s\"\nweight = 3\n");
        let weights = |name: &str| applied(&Policy::named(name).unwrap(), &weighted).matches("weight = 3").count();
        assert_eq!((weights("evenair"), weights("ap-drr"), weights("las-ack")), (1, 1, 0));
        under(&Policy::named("las-ack").unwrap(), &weighted);
        assert!(under(&Policy::named("ap-drr").unwrap(), TEXT).radio.ap_queue.is_some());
    }

    #[test]
    fn adwiser_has_the_published_tree_and_evenair_is_fair_to_stations() {
        let levels = |name: &str, text: &str| under(&Policy::named(name).unwrap(), text).manager.policy.levels;
        let (direction, station) = (Level::Direction { up: 1, down: 1 }, Level::Station { time_fair: true });
        let silent = TEXT.replace("levels = [\"station\", \"flow\"]\n", "");
        assert_eq!(levels("adwiser", &silent), [direction.clone(), station.clone(), Level::Flow]);
        assert_eq!(levels("evenair", &silent), [station.clone(), direction.clone(), Level::Flow]);
        assert_eq!(levels("adwiser", TEXT), [station, Level::Flow], "the site's own");
        let classes = silent.replace("[[station]]", "[[manager.class]]\nname = \"a\"\n[[station]]");
        assert!(matches!(
            levels("adwiser", &classes)[..],
            [Level::Class { .. }, Level::Direction { .. }, _, Level::Flow]
        ));
        let kinds = "[[manager.application]]\nname = \"a\"\nmatch = { port = [53] }\n[[station]]";
        let kinds = silent.replace("[[station]]", kinds);
        assert!(matches!(
            levels("adwiser", &kinds)[..],
            [Level::Direction { .. }, _, Level::Application { .. }, Level::Flow]
        ));
    }

    #[test]
    fn a_policy_with_a_box_inserts_it() {
        let without = TEXT.replace("[[event]]\nat = \"3 s\"\ndo = \"insert\"\n", "");
        let scenario = under(&Policy::named("adwiser").unwrap(), &without);
        assert_eq!(scenario.events.len(), 1);
        assert_eq!(under(&Policy::named("adwiser").unwrap(), TEXT).events.len(), 1);
        assert!(under(&Policy::named("fifo").unwrap(), TEXT).events.is_empty());
    }

    #[test]
    fn events_are_set_by_their_numbers_in_the_file() {
        let sets = |at: &str| vec![("event.1.at".to_owned(), at.to_owned()), ("seed".to_owned(), "7".to_owned())];
        let late = TEXT.replace("do = \"insert\"", "do = \"rate\"\nstations = [\"s\"]\nrate = \"1 Mb/s\"");
        for name in ["fifo", "evenair"] {
            let (text, rest) = Policy::named(name).unwrap().apply_with("x.toml", &late, &sets("5 s")).unwrap();
            assert_eq!(rest, sets("5 s")[1..]);
            let events = Scenario::parse(&text, "x.toml").unwrap().events;
            let seconds: Vec<_> = events.iter().map(|event| event.at.as_secs_f64()).collect();
            assert_eq!(seconds, if name == "fifo" { vec![5.0] } else { vec![0.0, 5.0] }, "{name}");
        }
        let (text, _) = Policy::named("fifo").unwrap().apply_with("x.toml", TEXT, &sets("5 s")).unwrap();
        assert!(!text.contains("event"), "{text}");
    }

    #[test]
    fn errors_of_settings_are_reported_at_the_command_line() {
        let policy = Policy::named("fifo").unwrap();
        let error = Scenario::parse_with(&applied(&policy, TEXT), "x.toml", &[("manager.queu_limit", "3")]);
        let error = policy.at_its_places(error.unwrap_err(), "x.toml").to_string();
        let place = "x.toml under the policy fifo: --set manager.queu_limit=3: no such key; did you mean";
        assert!(error.starts_with(place), "{error}");
    }

    #[test]
    fn errors_are_reported_at_their_line_of_the_policys_file() {
        let text =
            "# mine\n[radio]\nap_buffer = \"9 parrots\"\n\n[manager]\naqm_target = \"5 ms\"\nlatency_traget = 3\n";
        let own = Policy::written("dir/mine.toml", text).unwrap();
        assert_eq!(own.name, "mine");
        let error = Scenario::parse(&applied(&own, TEXT), "x.toml").unwrap_err();
        let error = own.at_its_places(error, "x.toml").to_string();
        for part in ["dir/mine.toml:3:", "radio.ap_buffer", "dir/mine.toml:7:", "manager.latency_traget"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(!error.contains("x.toml"), "{error}");
        let error = Policy::written("mine.toml", "[manager]\n[station]\n").unwrap_err().to_string();
        assert!(error.contains("mine.toml:2:"), "{error}");
    }

    #[test]
    fn a_custom_policy() {
        let own = Policy::written("mine", "[manager.controller]\nkind = \"none\"\n").unwrap();
        assert!(applied(&own, TEXT).contains("kind = \"none\""));
        let error = |text| Policy::written("mine", text).unwrap_err().to_string();
        assert!(error("[station]\n").contains("no part of a policy"));
        assert!(error("manager = 3\n").contains("is to be a table"));
        assert!(error("[manager\n").contains("mine:1:"), "{}", error("[manager\n"));
        assert!(Policy::named("red").unwrap_err().to_string().contains("fq-codel"));
        let error = Policy::named("FQ_CoDel").unwrap_err().to_string();
        assert!(error.contains("did you mean \"fq-codel\"?"), "{error}");
    }
}
