//! The text of a configuration, with comments for the operator.

use evenair_api::Mode;
use evenair_wifi::Standard;

use super::Gateway;

/// The rates of a site's Internet link, in the notation of configurations: `"100 Mb/s"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InternetLink {
    /// Rate toward the stations.
    pub down: String,
    /// Rate from the stations.
    pub up: String,
}

/// The operator's choices besides the ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Standard of the access points.
    pub standard: Standard,
    /// Rates of the Internet link; `None`: the box does not manage it.
    pub link: Option<InternetLink>,
    /// Mode of the box when it starts: bypassed, observing or inserted.
    pub mode: Mode,
    /// Whether the guard may release all packets for two seconds to measure the throughput without
    /// the box.
    pub measure_at_start: bool,
}

fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

/// A commented configuration of a box on a machine that is the stations' gateway.
pub fn router_configuration(names: Gateway<'_>, choices: &Choices) -> String {
    let (gateway, uplink) = (quoted(names.gateway), quoted(names.uplink));
    let router = format!(
        r#"
[router]
gateway = {gateway}    # where the stations' gateway is; its other end is the wired side above
uplink = {uplink}    # toward the Internet; stations go there by its address
"#
    );
    configuration(names.wlan, &names.port(), names.bridge, choices) + &router
}

/// A commented configuration of a box between these interfaces.
pub fn configuration(wlan: &str, wire: &str, bridge: &str, choices: &Choices) -> String {
    let (wlan, wire, bridge) = (quoted(wlan), quoted(wire), quoted(bridge));
    let Choices { standard, link, mode, measure_at_start } = choices;
    let wan = internet_link(link.as_ref());
    format!(
        r#"# The box's configuration. After a change: evenair reload. What is wrong on this machine: evenair doctor.

[ports]
wlan = {wlan}      # toward the access points
wire = {wire}      # toward the rest of the network
bridge = {bridge}    # both are its ports; it carries the traffic whenever the box does not
mode = "{mode}"    # at the start: bypassed until `evenair insert`, observing (measures only), or inserted (manages)

[control]
socket = "/run/evenair/control.sock"

[radio]
standard = "{standard}"    # of the access points

{wan}
[manager.guard]
measure_at_start = {measure_at_start}    # inserted at once, hold nothing for two seconds to measure the throughput without the box

[history]    # statistics and events, in /var/lib/evenair/history; `evenair history` prints them
limit = "64 MB"

# Stations are learned from their traffic. Those that are to get more than others can be said:
# [[station]]
# mac = "02:00:00:00:00:01"
# weight = 2
"#
    )
}

/// The section of the Internet link, commented out if its rates are unknown.
fn internet_link(link: Option<&InternetLink>) -> String {
    let (mark, down, up) = match link {
        Some(link) => ("", quoted(&link.down), quoted(&link.up)),
        None => ("# ", quoted("100 Mb/s"), quoted("40 Mb/s")),
    };
    format!(
        "# The Internet link, whose queue the box then draws into itself, too.\n{mark}[manager.wan]\n\
         {mark}down = {down}    # toward the stations\n{mark}up = {up}\n\
         # lan = [\"10.0.0.0/8\"]    # what is not beyond it, unless that is where the bridge has addresses\n"
    )
}

#[cfg(test)]
mod tests {
    use evenair_boxfile::BoxConfig;

    use super::*;

    fn choices(standard: Standard, link: Option<InternetLink>) -> Choices {
        Choices { standard, link, mode: Mode::Bypassed, measure_at_start: true }
    }

    #[test]
    fn it_is_a_configuration() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("box.toml");
        for standard in [Standard::Dot11a, Standard::Dot11b, Standard::Dot11g] {
            std::fs::write(&path, configuration("eth1", "eth0", "br0", &choices(standard, None))).expect("writable");
            let config = BoxConfig::load(&path).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((config.wlan.as_str(), config.wire.as_str()), ("eth1", "eth0"));
            assert!(config.manager.guard.measure_at_start);
            assert_eq!((config.bridge.as_deref(), config.manager.phy.standard()), (Some("br0"), standard));
        }
    }

    #[test]
    fn the_box_starts_in_the_chosen_mode() {
        let modes =
            [(Mode::Bypassed, (false, false)), (Mode::Observing, (false, true)), (Mode::Inserted, (true, false))];
        for (mode, expected) in modes {
            let choices = Choices { mode, ..choices(Standard::Dot11g, None) };
            let text = configuration("eth1", "eth0", "br0", &choices);
            let config = BoxConfig::parse(&text, "box.toml").unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((config.inserted, config.observing), expected, "{mode}");
        }
    }

    #[test]
    fn the_internet_link_is_in_force_where_its_rates_are_known() {
        let link = InternetLink { down: "100 Mb/s".into(), up: "40 Mb/s".into() };
        let text = |link| configuration("eth1", "eth0", "br0", &choices(Standard::Dot11g, link));
        assert_eq!(BoxConfig::parse(&text(None), "box.toml").expect("good").manager.wan, None);
        let with = text(Some(link)).replace("# lan = ", "lan = ");
        let wan = BoxConfig::parse(&with, "box.toml").expect("good").manager.wan.expect("a link");
        // The box limits it to 90 %.
        assert_eq!((wan.down.as_mbps_f64(), wan.up.as_mbps_f64()), (90.0, 36.0));
    }

    #[test]
    fn that_of_a_gateway_is_one() {
        let names = Gateway { wlan: "eth1", uplink: "eth0", bridge: "br0", gateway: "gw0" };
        let text = router_configuration(names, &choices(Standard::Dot11g, None));
        let config = BoxConfig::parse(&text, "box.toml").unwrap_or_else(|error| panic!("{error}"));
        let router = config.router.expect("it is one");
        assert_eq!((config.wire.as_str(), router.gateway.as_str(), router.uplink.as_str()), ("gw0p", "gw0", "eth0"));
    }
}
