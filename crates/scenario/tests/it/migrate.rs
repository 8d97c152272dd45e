//! Files of older versions: the result of `evenair config migrate`, and the errors without it.

use std::path::{Path, PathBuf};

use evenair_reader::{Migrated, migrate};
use evenair_scenario::{Policy, Scenario};

fn old() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/old")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Migrates a text, and checks that a second migration changes nothing.
fn migrated(text: &str) -> Migrated {
    let migrated = migrate(text, "old.toml").unwrap_or_else(|error| panic!("{error}"));
    let again = migrate(&migrated.text, "new.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again, Migrated { text: migrated.text.clone(), changes: Vec::new() });
    migrated
}

fn lines(migrated: &Migrated) -> Vec<String> {
    migrated.changes.iter().map(ToString::to_string).collect()
}

/// Comments from each `#` to the end of its line, sorted.
fn comments(text: &str) -> Vec<&str> {
    let mut comments: Vec<_> = text.lines().filter_map(|line| line.find('#').map(|at| &line[at..])).collect();
    comments.sort_unstable();
    comments
}

fn refusal(text: &str) -> String {
    migrate(text, "old.toml").expect_err("refused").to_string()
}

#[test]
fn old_scenarios_are_refused_with_the_new_names_and_valid_after_migration() {
    for name in ["b05-calls", "b09-roaming", "b12-power-save", "everything", "controller"] {
        let text = read(&old().join(name).with_extension("toml"));
        let error = Scenario::parse(&text, "old.toml").expect_err("it has old keys").to_string();
        assert!(error.contains("`evenair config migrate FILE` rewrites it"), "{name}: {error}");
        let new = migrated(&text);
        assert_eq!(comments(&new.text), comments(&text), "{name}");
        Scenario::parse(&new.text, "new.toml").unwrap_or_else(|error| panic!("{name}: {error}\n{}", new.text));
    }
}

#[test]
fn every_file_of_the_project_has_the_present_names() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|ending| ending == "toml") {
                let text = read(&entry);
                assert_eq!(migrated(&text), Migrated { text, changes: Vec::new() }, "{}", entry.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn each_change_is_reported_and_nothing_else_changes() {
    let text = read(&old().join("everything.toml"));
    let new = migrated(&text);
    assert_eq!(
        lines(&new),
        [
            "line 13: `[manager] ap_target` -> `[manager.controller] target`",
            "line 14: `[manager] know_stations` -> `[telemetry] stations`",
            "line 17: `[manager] know_rates` -> `[telemetry] rates`",
            "line 18: `[manager] know_losses` -> `[telemetry] ap_losses`",
            "line 21: `[manager] know_signals` -> `[telemetry] signal`",
            "line 22: `[manager] know_places` -> `[telemetry] associations`",
            "line 23: `[manager] places_delay` -> `[telemetry] associations_delay`",
            "line 30: `[[manager.access_point]] told_as` -> `[[manager.access_point]] aliases`",
            "line 33: `[[manager.access_point]] told_as` -> `[[manager.access_point]] aliases`",
            "line 59: `[[sweep]] key = \"manager.ap_target\"` -> `[[sweep]] key = \"manager.controller.target\"`",
            "line 63: `[[sweep]] key = 'manager.know_rates'` -> `[[sweep]] key = \"telemetry.rates\"`",
        ]
    );
    let from = text.find("# The box.").unwrap();
    let to = text.find("[manager.uplink_limit]").unwrap();
    let middle = "# The box.\n[manager]   # its settings\n# How much may wait in the access point.\n\
                  controller.target = \"4 ms\"   # a little more\nlevels = [ \"station\",\n  \"flow\" ]   # the tree\n\n\
                  [telemetry]\nstations = true # as at the start\n\n# Rates are not told.\nrates = false\n\
                  associations=true\nassociations_delay   =   \"200 ms\"\nsignal = true\nap_losses = true\n\n";
    let rest = text[to..].replace("\"told_as\"", "aliases").replace("told_as", "aliases");
    let rest = rest.replace("manager.ap_target", "manager.controller.target");
    let rest = rest.replace("'manager.know_rates'", "\"telemetry.rates\"");
    assert_eq!(new.text, [&text[..from], middle, &rest].concat());

    let scenario = Scenario::parse(&new.text, "new.toml").unwrap();
    let told = scenario.telemetry;
    assert!(told.stations && !told.rates && told.signal && told.ap_losses);
    assert_eq!(told.associations.map(|delay| delay.as_nanos()), Some(200_000_000));
}

#[test]
fn inline_tables_dotted_keys_and_other_line_ends() {
    let one = |text: &str| migrated(text).text;
    let site = "version = 1\n[radio]\nstandard = \"802.11g\"\n";
    assert_eq!(
        one("version = 1\nmanager = { aqm = \"none\", know_rates = false, ap_target = \"4 ms\" }  # short\n[radio]\n"),
        "version = 1\nmanager = { aqm = \"none\", controller.target = \"4 ms\" }  # short\n[radio]\n\n[telemetry]\nrates = false\n"
    );
    assert_eq!(
        one(&format!("manager.know_rates = false  # no\nmanager.aqm = \"none\"\n{site}")),
        format!("manager.aqm = \"none\"\n{site}\n[telemetry]\nrates = false  # no\n")
    );
    assert_eq!(
        one("manager = { access_point = [{ name = \"a\", told_as = [\"b\"] }] }\n"),
        "manager = { access_point = [{ name = \"a\", aliases = [\"b\"] }] }\n"
    );
    let windows = format!("{site}[manager]\n# Not.\nknow_rates = false\n").replace('\n', "\r\n");
    assert_eq!(one(&windows), format!("{site}[telemetry]\n# Not.\nrates = false\n").replace('\n', "\r\n"));
    // An up-to-date file stays unchanged, whatever its layout.
    for text in ["", "a.b = 1\nc = 2\na.d = 3", "\u{feff}x = 1\r\ny = 2\n"] {
        assert_eq!(migrated(text), Migrated { text: text.to_owned(), changes: Vec::new() });
    }
    // There is a table already.
    assert_eq!(
        one(&format!("{site}[telemetry]\nsignal = true\n[manager]\nknow_rates = false\n")),
        format!("{site}[telemetry]\nsignal = true\nrates = false\n[manager]\n")
    );
}

#[test]
fn the_keys_of_a_controller_move_with_their_comments() {
    let text = read(&old().join("controller.toml"));
    let new = migrated(&text);
    assert_eq!(
        lines(&new),
        [
            "line 11: `[manager] load_target` -> `[manager.controller] target`",
            "line 15: `[manager] controller` -> `[manager.controller] kind`",
            "line 17: `[manager] load_interval` -> `[manager.controller] interval`",
            "line 35: `[[sweep]] key = \"manager.load_target\"` -> `[[sweep]] key = \"manager.controller.target\"`",
            "line 39: `[[sweep]] key = \"manager.load_interval\"` -> `[[sweep]] key = \"manager.controller.interval\"`",
        ]
    );
    let from = text.find("# How long").unwrap();
    let to = text.find("[manager.voice]").unwrap();
    let middle = "levels = [\"station\", \"flow\"]\n\n# The load is shaped.\n\
                  controller.kind = \"pi\"       # not the default\n# How long packets may wait.\n\
                  controller.target = \"12 ms\"   # a little more\n\
                  controller.interval = \"40 ms\" # often\ncharge = \"airtime\"\n\n";
    let rest = text[to..].replace("manager.load_", "manager.controller.");
    assert_eq!(new.text, [&text[..from], middle, &rest].concat());
    let (_, manager) = Scenario::parse(&new.text, "new.toml").unwrap().box_tables();
    let controller = manager.controller.expect("it has one");
    let said = [controller.kind.unwrap().to_string(), controller.target.unwrap().to_string()];
    assert_eq!(
        (said, controller.interval.unwrap().to_string()),
        (["\"pi\"".into(), "\"12 ms\"".into()], "\"40 ms\"".into())
    );
}

#[test]
fn a_controllers_keys_in_all_layouts() {
    let one = |text: &str| migrated(text).text;
    for (old, new) in [
        ("[manager]\nlatency_target = \"4 ms\"  # low\n", "[manager]\ncontroller.target = \"4 ms\"  # low\n"),
        ("[manager]\n# Off.\ncontroller = \"none\"\n", "[manager]\n# Off.\ncontroller.kind = \"none\"\n"),
        (
            "manager = { controller = 'fixed', aqm = 'none', service_rate = '4 Mb/s' }\n",
            "manager = { controller.kind = 'fixed', controller.rate = '4 Mb/s' , aqm = 'none'}\n",
        ),
        (
            "manager.controller = 'published'\nmanager.step = '1 Mb/s'\nmanager.interval = '2 s'\nmanager.start = '50 %'\n",
            "manager.controller.kind = 'published'\nmanager.controller.interval = '2 s'\n\
             manager.controller.step = '1 Mb/s'\nmanager.controller.start = '50 %'\n",
        ),
        (
            "[manager]\ntolerance = \"1 %\"\n[manager.controller]\nkind = \"published\"\n",
            "[manager]\n[manager.controller]\nkind = \"published\"\ntolerance = \"1 %\"\n",
        ),
        (
            "[manager]\nload_target = \"9 ms\" # low\ncontroller = { kind = \"pi\" }\n",
            "[manager]\ncontroller = { kind = \"pi\" , target = \"9 ms\" }\n",
        ),
    ] {
        assert_eq!(one(old), new);
    }
    for (text, why) in [
        ("[manager]\nload_target = \"9 ms\"\n", "went with controller = \"pi\" alone, and this is \"queue\""),
        (
            "[manager]\ncontroller = \"pi\"\ninterval = \"1 s\"\nload_interval = \"1 s\"\n",
            "old.toml:3:1: manager.interval: ",
        ),
        ("[manager]\nlatency_target = \"9 ms\"\ncontroller = []\n", "which is no table here"),
        ("[manager]\nlatency_target = \"9 ms\"\ncontroller.target = \"9 ms\"\n", "which is there too"),
    ] {
        let error = refusal(text);
        assert!(error.contains(why), "{why}: {error}");
    }
}

#[test]
fn boxes_and_policies() {
    let ports = "[ports]\nwlan = \"a\"\nwire = \"b\"\n";
    let one = |text: &str| migrated(&format!("{ports}{text}")).text[ports.len()..].to_owned();
    assert_eq!(one("inserted = true # yes\n"), "mode = \"inserted\" # yes\n");
    assert_eq!(one("inserted = false\n"), "mode = \"bypassed\"\n");
    assert_eq!(one("mode = 'observe' # first\nio = \"auto\"\n"), "mode = \"observing\" # first\nio = \"auto\"\n");
    assert_eq!(one("inserted = true\nmode = \"insert\"\n"), "mode = \"inserted\"\n");
    assert_eq!(one("inserted = false\nmode = \"insert\"\n"), "mode = \"inserted\"\n");
    assert_eq!(one("pool_packets = 64 # few\nring_packets = 64\n"), "pool_frames = 64 # few\nring_packets = 64\n");
    // Keys of a scenario only do not belong in a box's file: it is still refused.
    assert_eq!(one("[manager]\nknow_rates = false\n"), "[manager]\nknow_rates = false\n");

    let text = read(&old().join("policy.toml"));
    let new = migrated(&text).text;
    // An empty table means that there is a box.
    assert_eq!(
        new,
        "# A policy: the default, told nothing.\n[manager]\n\n[telemetry]\n# Rates are guessed.\nrates = false\n"
    );
    Policy::written("policy.toml", &new).unwrap();
}

#[test]
fn invalid_toml_is_refused_with_its_position() {
    for (text, told) in [
        ("[manager\nknow_rates = false\n", "old.toml:1:"),
        ("[manager]\nknow_rates = = false\n", "old.toml:2:"),
        ("[manager]\nknow_rates = true\nknow_rates = false\n", "old.toml:3:"),
        (
            "version = 1\n[manager]\nap_target = \"1 ms\"\ncontroller.target = \"2 ms\"\n",
            "old.toml:3:1: manager.ap_target: ",
        ),
        ("[manager]\nknow_rates = false\n[telemetry]\nrates = true\n", "which is there too"),
        ("telemetry = 3\n[manager]\nknow_rates = false\n", "which is no table here"),
        ("[[telemetry]]\n[manager]\nknow_rates = false\n", "which is no table here"),
        ("[ports]\ninserted = \"yes\"\n", "old.toml:2:1: ports.inserted: \"yes\" is not true or false"),
        ("[ports]\ninserted = true\nmode = \"observe\"\n", "old.toml:2:1: ports.inserted: "),
    ] {
        let error = refusal(text);
        assert!(error.contains(told), "{told}: {error}");
    }
}

#[test]
fn an_old_key_on_the_command_line_is_reported_with_its_new_name() {
    let text = migrated(&read(&old().join("b12-power-save.toml"))).text;
    let error = Scenario::parse_with(&text, "x.toml", &[("manager.know_rates", "true")]).unwrap_err().to_string();
    assert!(error.contains("--set manager.know_rates=true: `know_rates` is now `[telemetry] rates`"), "{error}");
    assert!(Scenario::parse_with(&text, "x.toml", &[("telemetry.rates", "true")]).is_ok());
}
