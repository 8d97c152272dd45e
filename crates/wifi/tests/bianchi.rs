//! Bianchi's model against an independent exact solution of it (`data/bianchi.csv`).

use std::collections::BTreeMap;

use evenair_units::{Bytes, Span};
use evenair_wifi::bianchi::Model;
use evenair_wifi::{Phy, Standard};

type Row = BTreeMap<String, String>;

fn rows() -> Vec<Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/bianchi.csv");
    csv::Reader::from_path(path).unwrap().into_deserialize().map(Result::unwrap).collect()
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap()
}

fn micros(row: &Row, column: &str) -> Span {
    Span::from_secs_f64(number(row, column) * 1e-6)
}

/// The model of a row: a collision costs the frame and DIFS. In the rows called EIFS it costs as much as a success,
/// and 0.1 us of propagation are added to both.
fn model(row: &Row) -> Model {
    let success = micros(row, "t_data_us") + micros(row, "sifs_us") + micros(row, "t_ack_us") + micros(row, "difs_us");
    let propagation = Span::from_nanos(100);
    let (success, collision) = match row["collision_model"].as_str() {
        "DIFS" => (success, micros(row, "t_data_us") + micros(row, "difs_us")),
        "EIFS" => (success + propagation, success + propagation),
        other => panic!("unknown collision model {other}"),
    };
    Model {
        stations: number(row, "n_stas") as u32,
        cw_min: number(row, "cwmin") as u32,
        stages: number(row, "backoff_stages_m") as u32,
        slot: micros(row, "slot_us"),
        payload: Bytes(number(row, "payload_bytes") as u64),
        success,
        collision,
    }
}

#[test]
fn the_model_agrees_with_every_row_of_the_table() {
    let rows = rows();
    assert_eq!(rows.len(), 80);
    for row in &rows {
        let ours = model(row).solve().throughput_bps / 1e6;
        let theirs = number(row, "recomputed_exact_mbps");
        assert!((ours / theirs - 1.0).abs() < 1e-6, "{ours} {theirs} {row:?}");
    }
}

#[test]
fn phy_times_agree_with_the_csv() {
    for row in rows() {
        let standard: Standard = row["standard"][2..].parse().unwrap();
        let phy = Phy::default_for(standard);
        let mbps: f64 = row["phy_mode"].split("Rate").nth(1).unwrap().trim_end_matches("Mbps").parse().unwrap();
        let rate = standard.rate(evenair_units::BitRate::from_mbps(mbps as u64)).unwrap();
        let msdu = Bytes(number(&row, "payload_bytes") as u64);
        assert_eq!(phy.data(msdu, rate), micros(&row, "t_data_us"));
        assert_eq!(phy.ack(rate), micros(&row, "t_ack_us"));
        assert_eq!(phy.slot(), micros(&row, "slot_us"));
        assert_eq!(phy.sifs(), micros(&row, "sifs_us"));
        assert_eq!(phy.difs(), micros(&row, "difs_us"));
        if row["collision_model"] == "DIFS" {
            assert_eq!(Model::basic_access(&phy, number(&row, "n_stas") as u32, msdu, rate), model(&row));
        }
    }
}

#[test]
fn a_lone_station_never_collides_and_a_crowd_nearly_always() {
    let phy = Phy::default_for(Standard::Dot11a);
    let rate = phy.lowest_basic();
    let alone = Model::basic_access(&phy, 1, Bytes(1_500), rate).solve();
    assert_eq!(alone.p, 0.0);
    assert_eq!(alone.tau, 2.0 / 17.0);
    let crowd = Model::basic_access(&phy, 100_000, Bytes(1_500), rate).solve();
    assert!(crowd.p > 0.999 && crowd.p < 1.0 && crowd.throughput_bps >= 0.0);
}
