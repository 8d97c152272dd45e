//! Networks whose speed the examples measure, and the time that they take.

use std::error::Error;

use evenair_scenario::Scenario;

/// A network with stations that are alike.
#[derive(Clone, Copy)]
pub(crate) struct Network {
    /// Keys of `[radio]`.
    pub(crate) radio: &'static str,
    /// Keys of `[lan]`.
    pub(crate) lan: &'static str,
    /// Keys of the stations.
    pub(crate) station: &'static str,
}

/// A wired network that limits nothing.
pub(crate) const LAN_10_GB: &str = r#"rate = "10 Gb/s"
delay = "10 ms""#;

/// 802.11ax with aggregates, with the settings of the comparisons with ns-3.
pub(crate) const HE_7: Network = Network {
    radio: r#"standard = "802.11ax"
profile = "ns-3"
ap_buffer = "1000 packets"
station_buffer = "500 packets""#,
    lan: LAN_10_GB,
    station: "mcs = 7",
};

impl Network {
    /// The scenario of this network with `traffic` of the group of stations "sta" and the server "server".
    pub(crate) fn scenario(
        &self,
        name: &str,
        stations: u32,
        seconds: u32,
        traffic: &str,
    ) -> Result<Scenario, Box<dyn Error>> {
        let Self { radio, lan, station } = self;
        let text = format!(
            r#"version = 1
name = "{name}"
duration = "{seconds} s"
[radio]
{radio}
[lan]
{lan}
[[station]]
name = "sta"
count = {stations}
{station}
[[server]]
name = "server"
{traffic}
"#
        );
        Ok(Scenario::parse(&text, &format!("{name}.toml"))?)
    }
}

/// CPU time of this thread so far, which Linux reports in nanoseconds.
pub(crate) fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let run_ns: f64 = schedstat.split(' ').next().unwrap_or_default().parse()?;
    Ok(run_ns / 1e9)
}
