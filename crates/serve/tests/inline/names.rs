//! Names of stations in a running box.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use evenair_api::{NameOrigin, Request, StationName};
use evenair_boxfile::names::read_table;
use evenair_client::lookup::Directory;
use evenair_packet::MacAddr;

use crate::lab::{BoxProcess, Lab};

const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fn box_file(lab: &Lab, name: &str) -> String {
    let file = lab.file("box.toml");
    let text = format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\n[control]\nsocket = {:?}\n[radio]\nstandard = \"802.11g\"\n\
         [[station]]\nmac = \"02:00:00:00:00:01\"\nname = {name:?}\n",
        lab.file("box.sock")
    );
    fs::write(&file, text).expect("writable");
    format!("file={}", file.display())
}

/// The station's name in the status.
fn shown(running: &BoxProcess) -> Option<String> {
    let status = running.client().status().expect("a status");
    let station = status.stations.into_iter().find(|station| station.mac == STATION.to_string());
    station.expect("configured").name
}

fn start(lab: &Lab, file: &str, state: &Path) -> BoxProcess {
    lab.start_box_with(file, &[("STATE_DIRECTORY", state.to_str().expect("text"))])
}

#[test]
fn a_name_is_shown_at_once_and_outlives_the_box() {
    let Some(lab) = Lab::beside_others() else { return };
    let (file, state) = (box_file(&lab, "from the file"), lab.file("state"));
    let running = start(&lab, &file, &state);
    assert_eq!(shown(&running).as_deref(), Some("from the file"));
    running.client().name(STATION, Some("Anne's laptop")).expect("named");
    assert_eq!(shown(&running).as_deref(), Some("Anne's laptop"));
    drop(running);

    let running = start(&lab, &file, &state);
    assert_eq!(shown(&running).as_deref(), Some("Anne's laptop"));
    let mut client = running.client();
    let [named] = &client.names().expect("listed")[..] else { panic!("one name") };
    assert_eq!((named.name.as_str(), named.origin), ("Anne's laptop", NameOrigin::Operator));
    let directory = Directory::of_box(&mut client).expect("answers");
    assert_eq!(directory.find("ANNE'S LAPTOP"), Ok(STATION));
    let unknown = directory.find("annes laptop").expect_err("misspelt").to_string();
    assert!(unknown.contains("the nearest names: \"Anne's laptop\""), "{unknown}");

    client.name(STATION, None).expect("removed");
    assert_eq!(shown(&running).as_deref(), Some("from the file"));
    box_file(&lab, "changed");
    client.reconfigure(None).expect("reloaded");
    assert_eq!(shown(&running).as_deref(), Some("changed"));
}

#[test]
fn fifty_thousand_names_are_imported_in_seconds_and_a_wrong_table_changes_nothing() {
    let Some(lab) = Lab::beside_others() else { return };
    let (file, state) = (box_file(&lab, "from the file"), lab.file("state"));
    let running = start(&lab, &file, &state);
    let mac = |n: usize| MacAddr([2, 0, 0, (n >> 16) as u8, (n >> 8) as u8, n as u8]);
    let rows: String = (1..=50_000).map(|n| format!("{},\"Gerät {n}\"\n", mac(n))).collect();
    let table = lab.file("stations.csv");
    fs::write(&table, format!("mac,name\n{rows}")).expect("writable");
    let begin = Instant::now();
    running.client().import_names(&read_table(&table).expect("right")).expect("imported");
    let took = begin.elapsed();
    eprintln!("50,000 names were imported in {took:?}");
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert_eq!(shown(&running).as_deref(), Some("Gerät 1"));
    assert_eq!(running.client().names().expect("listed").len(), 50_000);

    let part = |at, name: &str| {
        let names = vec![StationName { mac: mac(at + 1).to_string(), name: name.into() }];
        Request::ImportNames { at, total: 2, names }
    };
    let mut client = running.client();
    client.ask(&part(0, "new")).expect("the first part");
    let why = client.ask(&part(1, "evil\u{1b}[2J")).expect_err("no name").to_string();
    assert!(why.contains("U+001B"), "{why}");
    assert_eq!(shown(&running).as_deref(), Some("Gerät 1"));
}
