//! `evenair status --all`: packets, ports, classes, calls, contention domains, shards, telemetry, stations and connections.

use evenair_api::causes::in_lines;
use evenair_api::health::{HealthStatus, Reason};
use evenair_api::{Carrier, Mode, Status};
use evenair_site::doctor::not_inserted;

use super::stations;

/// Number of printed connections, the largest first.
const MOST_FLOWS: usize = 20;

/// The reasons of the health, each with its remedy, the most important first.
fn health_lines(health: &HealthStatus) -> Vec<String> {
    let line =
        |reason: &Reason| format!("  {}: {}: {}\n    -> {}", reason.level, reason.code, reason.sentence, reason.remedy);
    std::iter::once(format!("health: {}", health.level)).chain(health.reasons.iter().map(line)).collect()
}

/// Prints the whole status, including what `evenair status` leaves out.
pub fn print(status: &Status) {
    let the = if status.carrier == Carrier::Nobody { "" } else { "the " };
    println!("{}, carried by {the}{}, up {:.0} s", status.mode, status.carrier, status.uptime_s);
    if let Some(text) = not_inserted(status) {
        println!("WARNING: {text}: run evenair insert");
    }
    status.health.iter().for_each(|health| health_lines(health).iter().for_each(|line| println!("{line}")));
    if let Some(guard) = status.guard.in_short() {
        println!("{guard}");
    }
    for why in &status.fail_open.why {
        println!("NO FAIL-OPEN: {why}");
    }
    println!("service rate C {:.3} Mb/s of C* {:.3} Mb/s", status.service_rate_mbps, status.capacity_mbps);
    println!("{}", status.packets.in_short());
    if status.packets.unread() >= 0.01 {
        println!(
            "  {:.0} % of the traffic cannot be read (not IP, or unknown tunnels): it is queued by MAC or outer addresses",
            status.packets.unread() * 100.0
        );
    }
    in_lines(&status.packets.drops, &status.packets.losses).iter().for_each(|line| println!("  {line}"));
    println!("  counted: {}", status.packets.counted);
    for port in [&status.wlan, &status.wire] {
        let why = port.io_why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
        println!("  {:<16} {}{why}", port.interface, port.io);
    }
    for class in &status.classes {
        println!(
            "  class {:<16} {:>8.1} s charged airtime, {} kB to, {} kB from the WLAN, {} held, {} dropped{}",
            class.parent.as_ref().map_or_else(|| class.name.clone(), |parent| format!("{parent} > {}", class.name)),
            class.charged_airtime_s,
            class.released_bytes / 1000,
            class.from_wlan_bytes / 1000,
            class.held,
            class.dropped,
            if class.at_ceiling { ", at its ceiling" } else { "" }
        );
    }
    for call in &status.calls {
        println!(
            "  call {} with {} ({}, {:.0} s){}",
            call.station,
            call.peer,
            call.codec,
            call.lasts_s,
            call.refused.as_ref().map_or_else(String::new, |why| format!(", refused: {why}"))
        );
        println!("    to the station: {}", call.down.in_short());
        println!("    from it:        {}", call.up.in_short());
    }
    for domain in status.domains.iter().filter(|_| status.domains.len() > 1) {
        println!(
            "  domain {:<16} C {:.3} of C* {:.3} Mb/s, {} stations, {} held, {} roamed to it; {}{}",
            domain.name,
            domain.service_rate_mbps,
            domain.capacity_mbps,
            domain.stations,
            domain.held,
            domain.roamed,
            if domain.learned { "learned " } else { "" },
            domain.access_points.join(", ")
        );
    }
    for domain in status.domains.iter().filter(|_| status.mode == Mode::Inserted) {
        let name = if status.domains.len() > 1 { format!("{}: ", domain.name) } else { String::new() };
        domain.path.iter().for_each(|path| println!("  {name}{}", path.in_short()));
        domain.groups.iter().for_each(|groups| println!("  {name}{}", groups.in_short()));
    }
    for (number, shard) in status.shards.iter().enumerate() {
        println!(
            "  shard {number}: {:.1} s of CPU time, {} received, {} sent, {} held, {} lost or dropped; {}",
            shard.cpu_s,
            shard.received,
            shard.sent,
            shard.held,
            shard.lost,
            shard.domains.join(", ")
        );
    }
    for source in &status.telemetry {
        let age = source.age_s.map_or("never answered".into(), |age| format!("answered {age:.0} s ago"));
        let error = source.error.as_ref().map_or_else(String::new, |error| format!("; now: {error}"));
        println!("telemetry: {} ({}): {} stations, {age}{error}", source.name, source.from, source.stations);
    }
    stations::lines(status).iter().for_each(|line| println!("{line}"));
    let mut flows: Vec<_> = status.flows.iter().collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.released_bytes + flow.from_wlan_bytes));
    for flow in flows.iter().take(MOST_FLOWS) {
        println!(
            "  {} {:<4} {} - {}  d {:.2}  {} kB to, {} kB from the WLAN{}, {} resent, {} held, {} dropped",
            flow.station,
            flow.direction,
            flow.low,
            flow.high,
            flow.d,
            flow.released_bytes / 1000,
            flow.from_wlan_bytes / 1000,
            flow.wlan_rtt_ms.map_or_else(String::new, |rtt| format!(", RTT over it {rtt:.1} ms")),
            flow.resent_down + flow.resent_up,
            flow.backlog_packets,
            flow.dropped
        );
    }
    if flows.len() > MOST_FLOWS {
        println!("  and {} smaller connections (--json shows up to 1000)", flows.len() - MOST_FLOWS);
    }
}

#[cfg(test)]
mod tests {
    use evenair_api::health::Code;

    use super::*;

    #[test]
    fn health_has_a_line_for_each_reason_with_its_remedy() {
        assert_eq!(health_lines(&HealthStatus::default()), ["health: good"]);
        let reason = Reason {
            code: Code::Starving,
            level: Code::Starving.level(),
            sentence: "anne gets 0.4 Mb/s".into(),
            remedy: "evenair insert".into(),
            ..Reason::default()
        };
        let lines = health_lines(&HealthStatus::of(vec![reason]));
        assert_eq!(lines, ["health: bad", "  bad: starving: anne gets 0.4 Mb/s\n    -> evenair insert"]);
    }
}
