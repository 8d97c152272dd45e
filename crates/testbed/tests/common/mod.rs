//! Scenarios for the tests, and whether this machine lets them run.
#![allow(dead_code)]

use evenair_scenario::{
    AfterCollision, App, AppKind, Direction, Host, IpVersion, LinkSpec, ManagerSpec, Measure, Phase, Place, Radio,
    Scenario, TcpSpec, Tool,
};
use evenair_units::{BitRate, Bytes, Limit, Span};
use evenair_wifi::{Phy, Preamble, Standard};

/// 802.11b at 11 Mb/s, short preamble, with `stations` stations and one LAN server.
pub fn scenario(stations: usize) -> Scenario {
    let rates = Standard::Dot11b.rates();
    let phy = Phy::new(Standard::Dot11b, Preamble::Short, &rates[..2]).expect("a profile");
    let rate = Standard::Dot11b.rate(BitRate::from_mbps(11)).expect("a rate of 802.11b");
    let station = |i| Host { name: format!("sta{i}"), place: Place::Station { rate, weight: 1 } };
    let mut hosts: Vec<_> = (0..stations).map(station).collect();
    hosts.push(Host { name: "server".into(), place: Place::Lan });
    Scenario {
        name: "test".into(),
        title: "Test".into(),
        description: String::new(),
        seed: 1,
        duration: Span::from_secs(5),
        radio: Radio {
            phy,
            rts_threshold: Some(Bytes(500)),
            short_retry_limit: 7,
            long_retry_limit: 4,
            after_collision: AfterCollision::Eifs,
            ap_buffer: Limit::Bytes(Bytes(150_000)),
            station_buffer: Limit::Packets(1000),
        },
        lan: LinkSpec { rate: Some(BitRate::from_mbps(100)), delay: Span::ZERO, buffer: Limit::Packets(1000) },
        wan: None,
        hosts,
        apps: Vec::new(),
        manager: ManagerSpec::default(),
        events: Vec::new(),
        measure: Measure {
            interval: Span::from_secs(1),
            phases: vec![Phase { name: "all".into(), from: Span::from_secs(1), to: Span::from_secs(5) }],
        },
        tcp: TcpSpec {
            congestion_control: "cubic".into(),
            rmem_max: Bytes(8 << 20),
            wmem_max: Bytes(4 << 20),
            timestamps: true,
            sack: true,
            window_scaling: true,
            ecn: false,
        },
        published: Vec::new(),
    }
}

/// A bulk transfer between station `station` and the server.
pub fn bulk(scenario: &Scenario, station: usize, direction: Direction) -> App {
    let kind = AppKind::Bulk { tool: Tool::Builtin, congestion_control: None, bytes: None };
    let name = format!("{direction:?}{station}").to_lowercase();
    let peer = scenario.hosts.len() - 1;
    App { name, station, peer, direction, kind, start: Span::ZERO, stop: None, ip: IpVersion::V4 }
}

/// False, with a reason printed, where network namespaces or TAP devices are not to be had.
pub fn machine_allows() -> bool {
    use evenair_sys::{netns::Netns, tap::Tap};
    let refused = match Netns::new() {
        Err(error) => Some(error),
        Ok(namespace) => match namespace.run(|| Tap::create("probe0")) {
            Err(error) | Ok(Err(error)) => Some(error),
            Ok(Ok(_)) => None,
        },
    };
    match refused {
        None => true,
        Some(error) => {
            eprintln!("skipped: {error} (needs root, or a user namespace and an open /dev/net/tun)");
            false
        }
    }
}
