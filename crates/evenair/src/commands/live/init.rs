//! `evenair init`: from two network ports to a box's configuration, and if wanted to the bridge or the gateway that it
//! needs.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use evenair_live::setup::{self, Applied, Candidate, Gateway, Plan, WAY_BACK};
use evenair_wifi::Standard;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// What `evenair init` is told. What it is not told it asks, at a terminal.
#[derive(Args)]
pub struct InitArgs {
    /// Interface toward the access points
    #[arg(long, value_name = "INTERFACE")]
    wlan: Option<String>,
    /// Interface toward the rest of the network [default: where the router is]
    #[arg(long, value_name = "INTERFACE")]
    wire: Option<String>,
    /// The access points' standard: 802.11a, b or g
    #[arg(long, value_name = "STANDARD")]
    standard: Option<String>,
    /// Name of the bridge that joins both
    #[arg(long, default_value = "br0", value_name = "NAME")]
    bridge: String,
    /// Make this machine the stations' gateway, between the access points and the Internet, with translation of addresses
    #[arg(long)]
    router: bool,
    /// Name of the interface where the stations' gateway is to be
    #[arg(long, default_value = "gw0", value_name = "NAME", requires = "router", value_parser = gateway_name)]
    gateway: String,
    /// Address of the stations' gateway with its prefix length, once for each
    /// [default: those that the access points' interface has]
    #[arg(long, value_name = "ADDRESS/LENGTH", requires = "router")]
    address: Vec<String>,
    /// Where to write the configuration
    #[arg(long, default_value = super::CONFIG, value_name = "FILE")]
    out: PathBuf,
    /// Replace a configuration that is there
    #[arg(long)]
    force: bool,
    /// Change the network now; everything is taken back unless it is confirmed
    #[arg(long)]
    apply: bool,
    /// How long to wait for the confirmation, in seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(5..=3600), value_name = "S")]
    confirm_within: u64,
}

/// Writes a configuration, and says or does what the network needs.
pub fn init(args: &InitArgs) -> Result<ExitCode> {
    if args.out.exists() && !args.force {
        bail!("{} is there already; --force replaces it", args.out.display());
    }
    let ports = setup::interfaces().map_err(anyhow::Error::msg)?;
    let wire = choose(args.wire.as_deref(), &ports, "toward the rest of the network", "--wire", |port| port.to_router)?;
    let wlan = choose(args.wlan.as_deref(), &ports, "toward the access points", "--wlan", |port| port.name != wire)?;
    let standard = standard(args.standard.as_deref())?;
    let gateway = Gateway { wlan: &wlan, uplink: &wire, bridge: &args.bridge, gateway: &args.gateway };
    let plan = match args.router {
        true => setup::plan_router(gateway, &args.address),
        false => setup::plan(&wlan, &wire, &args.bridge),
    };
    let plan = plan.map_err(anyhow::Error::msg)?;
    if args.apply && !plan.is_empty() {
        let applied = plan.apply().map_err(|error| anyhow!("{error}; the network is as it was"))?;
        if !confirmed(Duration::from_secs(args.confirm_within))? {
            drop(applied);
            bail!("not confirmed: the network is as it was, and nothing was written");
        }
        keep(applied, &plan);
    }
    let text = match args.router {
        true => setup::router_configuration(gateway, standard),
        false => setup::configuration(&wlan, &wire, &args.bridge, standard),
    };
    write(&args.out, &text)?;
    println!("{} is written: the access points behind {wlan}, the network behind {wire}.", args.out.display());
    if !args.apply && !plan.is_empty() {
        println!("\nThe network is not so yet. With --apply this is done, and taken back unless you confirm it:");
        plan.commands().for_each(|command| println!("  {}", command.replace('\n', "\n  ")));
        if plan.lasts() {
            println!("\nand this when you have confirmed it, so that the machine starts so:");
            plan.lasting_commands().for_each(|command| println!("  {}", command.replace('\n', "\n  ")));
        }
        plan.notice().iter().for_each(|notice| println!("\n{notice}"));
    }
    println!("\nNext: evenair doctor --config {}", args.out.display());
    Ok(ExitCode::SUCCESS)
}

/// Leaves the network as it is, over the next start of the machine where this can be done from here.
fn keep(applied: Applied, plan: &Plan) {
    let until = "kept, until the next start of this machine";
    match (applied.keep(), plan.lasts()) {
        (Ok(()), true) => println!("kept, and so it will be when this machine starts. To take it back: sh {WAY_BACK}"),
        (Ok(()), false) => println!("{until}."),
        (Err(error), _) => println!("{until}, since: {error}"),
    }
    plan.notice().iter().for_each(|notice| println!("{notice}"));
}

/// The name of its port at the bridge is one longer.
fn gateway_name(name: &str) -> Result<String, String> {
    match name.len() {
        1..=14 if !name.contains(['/', ' ', '"']) => Ok(name.to_owned()),
        _ => Err("the name of an interface to be made, up to 14 bytes".into()),
    }
}

/// An interface: as told, or asked for with a proposal.
fn choose(
    told: Option<&str>,
    ports: &[Candidate],
    what: &str,
    option: &str,
    fits: impl Fn(&Candidate) -> bool,
) -> Result<String> {
    if let Some(name) = told {
        return Ok(name.to_owned());
    }
    let mut fitting = ports.iter().filter(|port| fits(port));
    let proposal = match (fitting.next(), fitting.next()) {
        (Some(only), None) => Some(only.name.as_str()),
        _ => None,
    };
    if !io::stdin().is_terminal() {
        let names: Vec<_> = ports.iter().map(|port| port.name.as_str()).collect();
        return proposal
            .map(str::to_owned)
            .ok_or_else(|| anyhow!("which interface is {what}? Say it with {option}: {}", names.join(", ")));
    }
    for port in ports {
        let state = if port.carrier { "connected" } else { "not connected" };
        println!("  {:<12} {}  {state}  {}", port.name, port.mac, port.addresses.join(", "));
    }
    let answer = ask(&format!("Interface {what}"), proposal)?;
    match ports.iter().find(|port| port.name == answer) {
        Some(port) => Ok(port.name.clone()),
        None => bail!("{answer:?} is none of them"),
    }
}

fn standard(told: Option<&str>) -> Result<Standard> {
    let all = [Standard::Dot11a, Standard::Dot11b, Standard::Dot11g];
    let text = match told {
        Some(text) => text.to_owned(),
        None if io::stdin().is_terminal() => ask("The access points' standard", Some("802.11g"))?,
        None => "802.11g".to_owned(),
    };
    let found = all.into_iter().find(|standard| standard.to_string() == text);
    found.ok_or_else(|| anyhow!("{text:?} is not a standard that is modelled: 802.11a, 802.11b, 802.11g"))
}

fn ask(question: &str, proposal: Option<&str>) -> Result<String> {
    match proposal {
        Some(proposal) => print!("{question} [{proposal}]: "),
        None => print!("{question}: "),
    }
    io::stdout().flush()?;
    let mut line = String::new();
    if io::stdin().read_line(&mut line)? == 0 {
        bail!("no answer");
    }
    match (line.trim(), proposal) {
        ("", Some(proposal)) => Ok(proposal.to_owned()),
        (answer, _) => Ok(answer.to_owned()),
    }
}

/// Waits for "yes". A line that says something else, the end of the input, a signal and the end of the time are a no: the
/// change may have cut off who would have confirmed it.
fn confirmed(within: Duration) -> Result<bool> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ended)).context("install a signal handler")?;
    }
    println!("The network is changed. If you still reach this machine, type yes within {} s: ", within.as_secs());
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let line = io::stdin().lock().lines().next().and_then(Result::ok).unwrap_or_default();
        // Who waits may have gone.
        let _ = sender.send(line);
    });
    let end = Instant::now() + within;
    while Instant::now() < end && !ended.load(Ordering::Relaxed) {
        if let Ok(line) = lines.recv_timeout(Duration::from_millis(100)) {
            return Ok(line.trim().eq_ignore_ascii_case("yes"));
        }
    }
    Ok(false)
}

/// Whole or not at all, whatever was there before.
fn write(path: &Path, text: &str) -> Result<()> {
    let describe = || format!("write {}", path.display());
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).with_context(describe)?;
    }
    let beside = path.with_extension("toml.new");
    fs::write(&beside, text).and_then(|()| fs::rename(&beside, path)).with_context(describe)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, to_router: bool) -> Candidate {
        Candidate {
            name: name.into(),
            mac: String::new(),
            carrier: true,
            bridge: None,
            addresses: vec![],
            to_router,
            is_leased: false,
        }
    }

    #[test]
    fn sides_that_are_clear_need_no_question() {
        let two = [port("eth0", true), port("eth1", false)];
        let choose =
            |ports: &[Candidate], wire: bool| choose(None, ports, "there", "--there", |port| port.to_router == wire);
        // Tests have no terminal.
        if !io::stdin().is_terminal() {
            assert_eq!(choose(&two, true).expect("clear"), "eth0");
            assert_eq!(choose(&two, false).expect("clear"), "eth1");
            let three = [port("eth0", true), port("eth1", false), port("eth2", false)];
            let error = choose(&three, false).expect_err("not clear").to_string();
            assert!(error.contains("--there") && error.contains("eth1, eth2"), "{error}");
        }
    }

    #[test]
    fn a_standard_is_one_that_is_modelled() {
        assert_eq!(standard(Some("802.11b")).expect("modelled"), Standard::Dot11b);
        assert!(standard(Some("802.11ax")).expect_err("not").to_string().contains("802.11g"));
    }
}
