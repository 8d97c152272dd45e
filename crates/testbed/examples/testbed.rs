//! The testbed on the command line: `testbed scenario FILE [RESULT.json]`; the testbed itself starts `testbed agent` in the hosts. Its box
//! is the daemon `evenaird`, which cargo builds into the parent folder. `testbed exec HOST COMMAND...` runs a command in a host of a
//! running testbed.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use evenair_scenario::Scenario;
use evenair_testbed::{TestbedOptions, agent};

fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["agent"] => agent::main().map_err(anyhow::Error::msg),
        ["exec", host, .., _] => {
            let status = evenair_testbed::exec(None, host, &arguments[2..])?;
            std::process::exit(status.code().unwrap_or(1))
        }
        ["scenario", file] => run(file, None),
        ["scenario", file, result] => run(file, Some(result)),
        _ => bail!("usage: testbed scenario FILE [RESULT.json]"),
    }
}

fn run(file: &str, result: Option<&str>) -> anyhow::Result<()> {
    let scenario = Scenario::load(Path::new(file)).map_err(|e| anyhow::anyhow!("{e}"))?;
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(Path::parent).context("target/PROFILE/examples/testbed")?;
    let options = TestbedOptions::new(&program, target.join("evenaird"));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&options.cancel))?;
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
