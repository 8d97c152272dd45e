//! One station: all legs of its path with their losses, and its flows.

use evenair_api::FlowStatus;
use evenair_api::watch::{LossCounts, Station, Times, Value};

use super::samples::Samples;
use super::table::rate;
use super::text::{UNKNOWN, ms, number, percent, shortened, sum};

/// The flows of a station, or why they are unknown.
pub type Flows = Result<Vec<FlowStatus>, String>;

/// The lines about the station with this MAC address.
pub fn lines(samples: &Samples, mac: &str, flows: &Flows, width: usize) -> Vec<String> {
    let station = samples.line.stations.iter().flatten().find(|station| station.mac == mac);
    let Some(station) = station else {
        return vec![format!("{mac} is not among the stations of the last second")];
    };
    let mut lines = about(station);
    lines.push(String::new());
    lines.extend(latencies(station));
    lines.push(String::new());
    lines.extend(losses(samples, mac));
    lines.push(String::new());
    lines.extend(flow_lines(flows, width));
    lines.iter().map(|line| shortened(line, width)).collect()
}

fn about(station: &Station) -> Vec<String> {
    let name = station.name.as_ref().map_or_else(String::new, |name| format!("{}  ", shortened(name, 40)));
    let made_up = if station.random_mac { " (random MAC)" } else { "" };
    let place = station.access_point.as_deref().unwrap_or("an unknown access point");
    let mode = station.mode.as_ref().map_or_else(String::new, |mode| format!(", {mode}"));
    let counted = station.counted.filter(|counted| !counted.counts.is_zero());
    let counted = counted.map_or_else(String::new, |counted| format!("   last second: {}", counted.counts));
    let signal = station.signal_dbm.value.map_or_else(|| UNKNOWN.into(), |dbm| format!("{dbm:.0}"));
    vec![
        format!("{name}{}{made_up}", station.mac),
        format!("at {place}, domain {}, weight {}{counted}", station.domain, station.weight),
        format!("rate {}{mode}, signal {signal} dBm", rate_with_unit(station.rate_mbps)),
        format!(
            "down {}  up {} Mb/s   air {} %: {} down, {} up   {} packets held",
            number(station.down_mbps.value),
            number(station.up_mbps.value),
            percent(sum(&[station.air_down, station.air_up])),
            percent(station.air_down.value),
            percent(station.air_up.value),
            station.held
        ),
    ]
}

fn rate_with_unit(value: Value) -> String {
    if value.value.is_some() { format!("{} Mb/s", rate(value)) } else { "unknown".into() }
}

fn latencies(station: &Station) -> Vec<String> {
    let latency = station.latency;
    let legs = [
        ("box", latency.in_box),
        ("access point and air", latency.wlan),
        ("Internet link's queue", latency.internet_queue),
        ("Internet", latency.internet),
    ];
    let line = |(leg, times): (&str, Option<Times>)| {
        let packets = times.map_or_else(|| UNKNOWN.into(), |times| times.packets.to_string());
        let [p50, p95] = [times.map(|times| times.p50_ms), times.map(|times| times.p95_ms)].map(ms);
        format!("{leg:<22}{p50:>9}{p95:>9}{packets:>9}")
    };
    let headings = format!("{:<22}{:>9}{:>9}{:>9}", "latency", "p50 ms", "p95 ms", "packets");
    std::iter::once(headings).chain(legs.map(line)).collect()
}

fn losses(samples: &Samples, mac: &str) -> Vec<String> {
    let headings = format!("{:<22}{:>9}{:>9}{:>9}{:>9}", "lost in 10 s", "in box", "Wi-Fi", "Internet", "of TCP");
    let losses = samples.losses_of(mac);
    let line = |way: &str, counts: Option<LossCounts>| {
        // Losses elsewhere are unknown without TCP data.
        let seen = counts.filter(|counts| counts.data > 0);
        let or_dash = |count: Option<u64>| count.map_or_else(|| UNKNOWN.into(), |count| count.to_string());
        let cells = [
            counts.map(|counts| counts.here),
            seen.map(|counts| counts.wlan),
            seen.map(|counts| counts.wire),
            counts.map(|counts| counts.data),
        ];
        cells.into_iter().fold(format!("{way:<22}"), |line, cell| line + &format!("{:>9}", or_dash(cell)))
    };
    vec![
        headings,
        line("toward the station", losses.map(|losses| losses.down)),
        line("from the station", losses.map(|losses| losses.up)),
    ]
}

/// Width of a flow's line without its two endpoints, in characters.
const FLOW_NUMBERS: usize = 42;

fn flow_lines(flows: &Flows, width: usize) -> Vec<String> {
    let flows = match flows {
        Ok(flows) if flows.is_empty() => return vec!["no flows".into()],
        Ok(flows) => flows,
        Err(why) => return vec![format!("flows are unknown: {why}")],
    };
    let ends = width.saturating_sub(FLOW_NUMBERS).clamp(20, 84);
    let end = (ends - 3) / 2;
    let line = |flow: &FlowStatus| {
        format!(
            "{:<ends$}{:>9}{:>9}{:>8}{:>8}{:>8}",
            format!("{} - {}", shortened(&flow.low, end), shortened(&flow.high, end)),
            flow.released_bytes / 1000,
            flow.from_wlan_bytes / 1000,
            ms(flow.wlan_rtt_ms),
            flow.resent_down + flow.resent_up,
            flow.backlog_packets
        )
    };
    let count = format!("{} flows, the last used first", flows.len());
    let headings = format!("{count:<ends$}{:>9}{:>9}{:>8}{:>8}{:>8}", "kB down", "kB up", "RTT ms", "resent", "held");
    std::iter::once(headings).chain(flows.iter().map(line)).collect()
}
