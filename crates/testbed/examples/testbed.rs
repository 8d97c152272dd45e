//! The testbed on the command line: `testbed run FILE [RESULT.json]`, `testbed agent` (what its hosts run).

use std::path::Path;

use anyhow::{Context, bail};
use evenair_scenario::Scenario;
use evenair_testbed::{TestbedOptions, agent};

fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["agent"] => agent::main().map_err(anyhow::Error::msg),
        ["run", file] => run(file, None),
        ["run", file, result] => run(file, Some(result)),
        _ => bail!("usage: testbed run FILE [RESULT.json]"),
    }
}

fn run(file: &str, result: Option<&str>) -> anyhow::Result<()> {
    let scenario = Scenario::load(Path::new(file)).map_err(|e| anyhow::anyhow!("{e}"))?;
    let mut options = TestbedOptions::new(std::env::current_exe()?);
    if let Ok(program) = std::env::var("EVENAIR_BOX") {
        options.box_command = program.split_whitespace().map(str::to_owned).collect();
    }
    let report = evenair_testbed::run(&scenario, &options, |progress| {
        let flows: Vec<_> = progress.flows.iter().map(|flow| format!("{:.2}", flow.ip_mbps)).collect();
        eprintln!(
            "{:5.1} s {:9} total {:6.2} Mb/s queue {:4} C {:?} late p99 {:?} us [{}]",
            progress.at_s,
            progress.mode,
            progress.total_ip_mbps,
            progress.ap_queue_packets,
            progress.service_rate_mbps,
            progress.lateness_p99_us,
            flows.join(" ")
        );
    })?;
    let text = serde_json::to_string_pretty(&report)?;
    match result {
        Some(path) => std::fs::write(path, text).with_context(|| format!("write {path}")),
        None => {
            println!("{text}");
            Ok(())
        }
    }
}
