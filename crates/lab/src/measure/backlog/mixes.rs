//! Mixes of traffic whose chain of backlogged nodes is inferred from their captures.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Result};
use evenair_scenario::Scenario;
use evenair_sim::{SimOptions, run_with};
use evenair_study::backlog::{Inferred, infer};

/// A traffic mix, and the widest acceptable interval for it.
pub struct Mix {
    pub name: &'static str,
    text: String,
    pub widest: f64,
}

/// Widest interval, in nodes, where half of the stations are uncertain.
const HALF: f64 = 2.5;
/// Widest interval, in nodes, where the medium is mostly idle.
const PACED: f64 = 0.3;
const SATURATED: f64 = 0.1;

/// Five 802.11g stations with this traffic; `radio`: further keys of the radio.
fn mix(name: &'static str, widest: f64, radio: &str, traffic: &str) -> Mix {
    let text = format!(
        r#"version = 1
name = "mix"
duration = "10 s"
[radio]
standard = "802.11g"
ap_buffer = "100 packets"
{radio}
[[station]]
name = "sta"
count = 5
rate = "54 Mb/s"
[lan]
rate = "1 Gb/s"
delay = "5 ms"
[[server]]
name = "server"
{traffic}
"#
    );
    Mix { name, text, widest }
}

fn paced(name: &'static str, widest: f64, rate: &str, more: &str) -> Mix {
    mix(name, widest, "", &udp("up", rate, more))
}

fn udp(direction: &str, rate: &str, more: &str) -> String {
    format!(
        "[[udp]]\nname = \"{direction}\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"{direction}\"\n\
         rate = \"{rate}\"\nstagger = \"3 ms\"\n{more}\n"
    )
}

fn bulk(direction: &str) -> String {
    format!(
        "[[bulk]]\nname = \"bulk-{direction}\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"{direction}\"\n\
         stagger = \"50 ms\"\n"
    )
}

fn application(kind: &str, more: &str) -> String {
    format!("[[{kind}]]\nname = \"{kind}\"\nstations = [\"sta\"]\nserver = \"server\"\n{more}\n")
}

/// All mixes.
pub fn mixes() -> Vec<Mix> {
    let calls = application("voip", "codec = \"g711\"");
    let pages = application("web", "think = \"500 ms\"");
    let idle = application("ping", "interval = \"1 s\"");
    let edca = "edca = true";
    let ax = |text: Mix| Mix {
        text: text.text.replace("802.11g", "802.11ax").replace("rate = \"54 Mb/s\"\n[lan]", "mcs = 7\n[lan]"),
        ..text
    };
    vec![
        paced("paced, 5 x 0.5 Mb/s", PACED, "500 kb/s", ""),
        paced("paced, 5 x 2 Mb/s", HALF, "2 Mb/s", ""),
        paced("paced, 5 x 3.5 Mb/s", HALF, "3500 kb/s", ""),
        paced("paced, 5 x 8 Mb/s", HALF, "8 Mb/s", ""),
        paced("Poisson, 5 x 2 Mb/s", HALF, "2 Mb/s", "arrivals = \"poisson\""),
        mix("pages and a call", PACED, "", &format!("{pages}{calls}")),
        mix("calls", HALF, "", &format!("{calls}per_station = 4\n")),
        mix("pings, else idle", HALF, "", &idle),
        mix("EDCA: calls beside uploads", HALF, edca, &format!("{calls}{}", udp("up", "2 Mb/s", ""))),
        mix("EDCA: calls beside downloads", HALF, edca, &format!("{calls}{}", bulk("down"))),
        ax(mix("802.11ax: calls and pages", HALF, "", &format!("{pages}{calls}"))),
        ax(mix("802.11ax: downloads", HALF, "", &bulk("down"))),
        ax(paced("802.11ax: paced, 5 x 5 Mb/s", HALF, "5 Mb/s", "")),
        mix("downloads", SATURATED, "", &bulk("down")),
        mix("uploads", SATURATED, "", &bulk("up")),
        mix("uploads and downloads", SATURATED, "", &format!("{}{}", bulk("up"), bulk("down"))),
    ]
}

impl Mix {
    /// Runs the mix. Returns the mean that the run counted, and the result inferred from its captures.
    ///
    /// # Errors
    /// The captures cannot be written or read.
    pub fn run(&self, seed: u64, folder: &Path) -> Result<(f64, Inferred)> {
        let text = self.text.replace("version = 1", &format!("version = 1\nseed = {seed}"));
        let scenario = Scenario::parse(&text, self.name)?;
        let options = SimOptions { trace: Some(folder.to_owned()), ..SimOptions::default() };
        let result = run_with(&scenario, &options, |_| ControlFlow::Continue(()))?;
        let backlog =
            result.phases.first().and_then(|phase| phase.backlog.as_ref()).context("no frame was received")?;
        Ok((backlog.mean, infer(&folder.join("air.pcap"), &folder.join("ap-wire.pcap"))?))
    }
}
