//! Several access points, and a station that roams between them with real TCP.

use anyhow::ensure;
use evenair_results::{PhaseResult, RunResult};

use crate::common;

/// `sta1` and `sta2` at the hall, `sta3` in the yard on another channel; `sta2` roams there at 4 s. All download and `sta2`
/// uploads, too, with the box from 1 s on, which gets reports of the associations.
const ROAMING: &str = r#"
    version = 1
    name = "roaming"
    duration = "9 s"
    [radio]
    standard = "802.11b"
    preamble = "short"
    [[access_point]]
    name = "hall"
    channel = 1
    [[access_point]]
    name = "yard"
    channel = 6
    [[manager.access_point]]
    name = "hall"
    [[manager.access_point]]
    name = "yard"
    [[station]]
    name = "sta"
    count = 2
    rate = "11 Mb/s"
    access_point = "hall"
    [[station]]
    name = "out"
    rate = "11 Mb/s"
    access_point = "yard"
    [[server]]
    name = "server"
    [[bulk]]
    name = "down"
    stations = ["sta", "out"]
    server = "server"
    direction = "down"
    [[bulk]]
    name = "up"
    stations = ["sta2"]
    server = "server"
    direction = "up"
    [[event]]
    at = "1 s"
    do = "insert"
    [[event]]
    at = "4 s"
    do = "roam"
    stations = ["sta2"]
    access_point = "yard"
    gap = "100 ms"
    [[phase]]
    name = "before"
    from = "2 s"
    to = "4 s"
    [[phase]]
    name = "after"
    from = "6 s"
    to = "9 s"
"#;

#[test]
fn tcp_connections_survive_roaming() {
    let Some(_turn) = common::turn_with_box() else { return };
    let result = common::judged(&common::parse(ROAMING), judge);
    let what: Vec<_> = result.events.iter().map(|event| event.what.as_str()).collect();
    assert!(what.contains(&"roam") && what.contains(&"roamed"), "{what:?}");
    assert!(result.box_faults.is_empty(), "{:?}", result.box_faults);
    for phase in &result.phases {
        let (points, flows) = (points(phase), phase.flows.iter().map(|flow| flow.ip_mbps).sum::<f64>());
        eprintln!("{}: {points:?} Mb/s", phase.name);
        assert!((points.iter().sum::<f64>() - flows).abs() < 0.2, "{points:?} of {flows}");
        for domain in &phase.domains {
            let time = domain.busy_share + domain.contending_share + domain.idle_share;
            assert!((time - 1.0).abs() < 0.05, "{domain:?}");
        }
    }
}

/// Traffic of each access point with its stations, Mb/s.
fn points(phase: &PhaseResult) -> Vec<f64> {
    phase.access_points.iter().map(|point| point.ip_mbps).collect()
}

/// Two media carry twice as much as one: a station alone on a channel has all of it, and two on one channel about half each.
fn judge(result: &RunResult) -> anyhow::Result<()> {
    let [before, after] = &result.phases[..] else { anyhow::bail!("not two phases") };
    for phase in [before, after] {
        let points = points(phase);
        ensure!(points.iter().all(|&mbps| mbps > 4.5 && mbps < 6.5), "{}: {points:?} Mb/s", phase.name);
    }
    let rate = |phase: &PhaseResult, name: &str| {
        phase.stations.iter().find(|station| station.station == name).map_or(0.0, |station| station.ip_mbps)
    };
    ensure!(rate(before, "out") > 1.4 * rate(before, "sta1"), "before: alone in the yard");
    ensure!(rate(after, "sta1") > 1.4 * rate(after, "out"), "after: alone at the hall");
    for flow in after.flows.iter().filter(|flow| ["down2", "up"].contains(&flow.app.as_str())) {
        ensure!(flow.goodput_mbps > 0.5, "{}: {} Mb/s after the roam", flow.app, flow.goodput_mbps);
    }
    Ok(())
}
