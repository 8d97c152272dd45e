//! `evenair init`: makes a box's configuration from two network ports, and optionally the required bridge or gateway.
//! Without `--apply` it prints the plan, and changes nothing.

use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use evenair_api::Mode;
use evenair_reader::{FromWritten, Scalar};
use evenair_site::setup::{self, Applied, Candidate, Choices, Gateway, InternetLink, Kept, Plan, WAY_BACK};
use evenair_units::BitRate;
use evenair_wifi::Standard;
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::dialogue::Dialogue;

/// Arguments of `evenair init`. At a terminal it asks for the missing ones.
#[derive(Args)]
pub struct InitArgs {
    /// Interface toward the access points
    #[arg(long, value_name = "INTERFACE")]
    wlan: Option<String>,
    /// Interface toward the rest of the network [default: where the router is]
    #[arg(long, value_name = "INTERFACE")]
    wire: Option<String>,
    /// The access points' standard: 802.11a, b, g, n, ac or ax
    #[arg(long, value_name = "STANDARD")]
    standard: Option<String>,
    /// Rate of the Internet link toward the stations, such as "100 Mb/s" [default: the box does not manage the Internet link]
    #[arg(long, value_name = "RATE", requires = "up")]
    down: Option<String>,
    /// Rate of the Internet link from the stations
    #[arg(long, value_name = "RATE", requires = "down")]
    up: Option<String>,
    /// What the box does when it starts: bypassed, observing or inserted [default: bypassed]
    #[arg(long, value_name = "MODE", value_parser = start_mode)]
    mode: Option<Mode>,
    /// Whether a box that is inserted at once may hold no packets for two seconds, to measure what is carried without it [default: true]
    #[arg(long, value_name = "true|false")]
    measure_at_start: Option<bool>,
    /// Name of the bridge of both interfaces
    #[arg(long, default_value = "br0", value_name = "NAME")]
    bridge: String,
    /// Make this machine the stations' gateway, between the access points and the Internet, with NAT
    #[arg(long)]
    router: bool,
    /// Name of the new interface with the gateway's addresses
    #[arg(long, default_value = "gw0", value_name = "NAME", requires = "router", value_parser = gateway_name)]
    gateway: String,
    /// Address of the stations' gateway with its prefix length; repeatable [default: those of the access points' interface]
    #[arg(long, value_name = "ADDRESS/LENGTH", requires = "router")]
    address: Vec<String>,
    /// Where to write the configuration
    #[arg(long, default_value = super::CONFIG, value_name = "FILE")]
    out: PathBuf,
    /// Replace an existing configuration
    #[arg(long)]
    force: bool,
    /// Change the network now, and write the configuration; everything is reverted unless you confirm it. Without this, nothing
    /// is changed or written
    #[arg(long)]
    apply: bool,
    /// Print the plan as JSON, and ask nothing
    #[arg(long, conflicts_with = "apply")]
    json: bool,
    /// How long to wait for the confirmation, in seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(5..=3600), value_name = "S")]
    confirm_within: u64,
}

/// Time for making a change and making it permanent, in addition to the time for the confirmation, before the watchdog reverts
/// it.
const UNCONFIRMED: Duration = Duration::from_secs(60);

/// The description of the site.
#[derive(Debug, PartialEq)]
struct Site {
    wlan: String,
    wire: String,
    choices: Choices,
}

/// Prints the plan; or changes the network and writes a configuration.
pub fn init(args: &InitArgs) -> Result<ExitCode> {
    let is_there = args.out.exists() && !args.force;
    if is_there && args.apply {
        bail!("{} is there already; --force replaces it", args.out.display());
    }
    let ports = setup::interfaces().map_err(anyhow::Error::msg)?;
    // Not locked, because the confirmation reads from it, too.
    let site = site(args, &ports, &mut Dialogue::new(io::stdin().lock(), !args.json && io::stdin().is_terminal()))?;
    let gateway = Gateway { wlan: &site.wlan, uplink: &site.wire, bridge: &args.bridge, gateway: &args.gateway };
    let (plan, text) = match args.router {
        true => (setup::plan_router(gateway, &args.address), setup::router_configuration(gateway, &site.choices)),
        false => (
            setup::plan(&site.wlan, &site.wire, &args.bridge),
            setup::configuration(&site.wlan, &site.wire, &args.bridge, &site.choices),
        ),
    };
    let plan = plan.map_err(anyhow::Error::msg)?;
    if args.json {
        println!("{:#}", in_json(args, &site, &plan, &text));
        return Ok(ExitCode::SUCCESS);
    }
    if !args.apply {
        say_what_would_be(&plan, &text, &args.out);
        if is_there {
            println!("\n{} is there already; --force replaces it.", args.out.display());
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !plan.is_empty() {
        let within = Duration::from_secs(args.confirm_within);
        let applied = plan.apply_guarded(within + UNCONFIRMED).map_err(anyhow::Error::msg)?;
        if !confirmed(within)? {
            bail!("not confirmed: {}; nothing was written", applied.revert());
        }
        keep(applied, &plan)?;
    }
    write(&args.out, &text)?;
    let (wlan, wire, file) = (&site.wlan, &site.wire, args.out.display());
    println!("{file} is written: the access points behind {wlan}, the network behind {wire}.");
    println!("\nNext: evenair doctor --config {file}");
    Ok(ExitCode::SUCCESS)
}

/// Prints the plan and the configuration.
fn say_what_would_be(plan: &Plan, text: &str, out: &Path) {
    println!("Nothing is changed and nothing is written. With --apply this would be done:");
    if !plan.is_empty() {
        println!("\nthe network changed, and taken back unless you confirm it:");
        plan.commands().for_each(|command| println!("  {}", command.replace('\n', "\n  ")));
    }
    if plan.lasts() {
        println!("\nand this when you have confirmed it, so that the machine starts so:");
        plan.lasting_commands().for_each(|command| println!("  {}", command.replace('\n', "\n  ")));
    }
    plan.notice().iter().for_each(|notice| println!("\n{notice}"));
    println!("\nand {} written:\n\n  {}", out.display(), text.trim_end().replace('\n', "\n  "));
}

/// The same for programs: shell commands in order, and the configuration as the text of its file.
fn in_json(args: &InitArgs, site: &Site, plan: &Plan, text: &str) -> Value {
    json!({
        "wlan": site.wlan,
        "wire": site.wire,
        "commands": plan.commands().collect::<Vec<_>>(),
        "lasts": plan.lasts(),
        "lasting_commands": plan.lasting_commands().collect::<Vec<_>>(),
        "notice": plan.notice(),
        "file": args.out,
        "file_exists": args.out.exists(),
        "configuration": text,
    })
}

/// Keeps the network as it is, and makes it survive a reboot where that is possible.
fn keep(applied: Applied, plan: &Plan) -> Result<()> {
    let until = "kept, until the next start of this machine";
    match applied.keep().map_err(anyhow::Error::msg)? {
        Kept::Lastingly if plan.lasts() => {
            println!("kept, and so it will be when this machine starts. To take it back: sh {WAY_BACK}");
        }
        Kept::Lastingly => println!("{until}."),
        Kept::UntilStart(why) => println!("{until}, since: {why}"),
    }
    plan.notice().iter().for_each(|notice| println!("{notice}"));
    Ok(())
}

/// A valid name of the gateway: the name of its port at the bridge is one character longer.
fn gateway_name(name: &str) -> Result<String, String> {
    match name.len() {
        1..=14 if !name.contains(['/', ' ', '"']) => Ok(name.to_owned()),
        _ => Err("the name of an interface to be made, up to 14 bytes".into()),
    }
}

/// The question about `[ports] mode`.
const MODE: &str = "The mode of the box when it starts
  bypassed: the bridge carries the traffic until you run evenair insert
  observing: the bridge carries the traffic, and the box measures it
  inserted: the box manages the traffic, also after a reboot or a power cut
Mode";

/// A mode that a box can start in.
fn start_mode(text: &str) -> Result<Mode, String> {
    match text.parse() {
        Ok(mode @ (Mode::Bypassed | Mode::Observing | Mode::Inserted)) => Ok(mode),
        _ => Err(format!("{text:?} is none of: bypassed, observing, inserted")),
    }
}

/// The question about `[manager.guard] measure_at_start`.
const MEASURE: &str =
    "May the box, if it is inserted at once, hold no packets for two seconds, to measure what is carried without it";

/// The description of the site, from the arguments or the dialogue.
fn site<R: BufRead>(args: &InitArgs, ports: &[Candidate], dialogue: &mut Dialogue<R>) -> Result<Site> {
    if dialogue.asks() && (args.wire.is_none() || args.wlan.is_none()) {
        for port in ports {
            let state = if port.carrier { "connected" } else { "not connected" };
            println!("  {:<12} {}  {state}  {}", port.name, port.mac, port.addresses.join(", "));
        }
    }
    let wired = Side { ports, what: "toward the rest of the network", option: "--wire", other: None };
    let wire = wired.choose(args.wire.as_deref(), |port| port.to_router, dialogue)?;
    let wireless = Side { ports, what: "toward the access points", option: "--wlan", other: Some(&wire) };
    let wlan = wireless.choose(args.wlan.as_deref(), |_| true, dialogue)?;
    let standard = match &args.standard {
        Some(text) => standard(text).map_err(anyhow::Error::msg)?,
        None if dialogue.asks() => {
            dialogue.ask(&format!("The access points' standard ({MODELLED})"), None, standard)?
        }
        None => bail!("which standard do the access points have? Say it with --standard: {MODELLED}"),
    };
    let link = match (&args.down, &args.up) {
        (Some(down), Some(up)) => Some(InternetLink {
            down: rate(down).map_err(anyhow::Error::msg)?,
            up: rate(up).map_err(anyhow::Error::msg)?,
        }),
        _ if dialogue.asks() => ask_link(dialogue)?,
        _ => None,
    };
    let mode = match args.mode {
        Some(mode) => mode,
        None if dialogue.asks() => dialogue.ask(MODE, Some("bypassed"), start_mode)?,
        None => Mode::Bypassed,
    };
    let measure_at_start = match args.measure_at_start {
        Some(measure) => measure,
        None if dialogue.asks() => dialogue.ask(MEASURE, Some("yes"), |answer| match answer {
            "yes" => Ok(true),
            "no" => Ok(false),
            _ => Err("yes or no".to_owned()),
        })?,
        None => true,
    };
    Ok(Site { wlan, wire, choices: Choices { standard, link, mode, measure_at_start } })
}

/// A side of the box, to find its interface.
struct Side<'a> {
    ports: &'a [Candidate],
    what: &'a str,
    option: &'a str,
    /// The interface of the other side.
    other: Option<&'a str>,
}

impl Side<'_> {
    /// An interface, from the arguments, or from the dialogue with a proposal if only one `fits`.
    fn choose<R: BufRead>(
        &self,
        given: Option<&str>,
        fits: impl Fn(&Candidate) -> bool,
        dialogue: &mut Dialogue<R>,
    ) -> Result<String> {
        if let Some(name) = given {
            return Ok(name.to_owned());
        }
        let free = || self.ports.iter().filter(|port| Some(port.name.as_str()) != self.other);
        let names = || free().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ");
        let mut fitting = free().filter(|port| fits(port));
        let proposal = match (fitting.next(), fitting.next()) {
            (Some(only), None) => Some(only.name.as_str()),
            _ => None,
        };
        let Self { what, option, .. } = self;
        ensure!(
            free().next().is_some(),
            "no interface is left {what}: the box needs two ports of its own; name it with {option}"
        );
        match proposal {
            Some(only) if !dialogue.asks() => Ok(only.to_owned()),
            None if !dialogue.asks() => bail!("which interface is {what}? Say it with {option}: {}", names()),
            _ => dialogue.ask(&format!("Interface {what}"), proposal, |answer| {
                let found = free().find(|port| port.name == answer);
                found.map(|port| port.name.clone()).ok_or_else(|| format!("{answer:?} is none of: {}", names()))
            }),
        }
    }
}

const MODELLED: &str = "802.11a, 802.11b, 802.11g, 802.11n, 802.11ac, 802.11ax";

fn standard(text: &str) -> Result<Standard, String> {
    let found = Standard::ALL.into_iter().find(|standard| standard.to_string() == text);
    found.ok_or_else(|| format!("{text:?} is none of: {MODELLED}"))
}

/// A rate in the notation of the configuration.
fn rate(text: &str) -> Result<String, String> {
    match BitRate::from_written(&Scalar::from(text)) {
        Ok(rate) if rate > BitRate::ZERO => Ok(text.to_owned()),
        Ok(_) => Err(format!("{text:?} is no rate of a link; {}", BitRate::allowed())),
        Err(error) => Err(format!("{error}; {}", BitRate::allowed())),
    }
}

fn ask_link<R: BufRead>(dialogue: &mut Dialogue<R>) -> Result<Option<InternetLink>> {
    let question =
        "The Internet link's rate toward the stations, such as 100 Mb/s, or \"none\" to leave that link alone";
    let down = dialogue.ask(question, Some("none"), |answer| match answer {
        "none" => Ok(None),
        _ => rate(answer).map(Some),
    })?;
    let Some(down) = down else { return Ok(None) };
    Ok(Some(InternetLink { down, up: dialogue.ask("Its rate from the stations", None, rate)? }))
}

/// Waits for "yes". Any other line, the end of the input, a signal and the timeout mean no: the change may have disconnected
/// the operator.
fn confirmed(within: Duration) -> Result<bool> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ended)).context("install a signal handler")?;
    }
    println!("The network is changed. If you still reach this machine, type yes within {} s: ", within.as_secs());
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let line = io::stdin().lock().lines().next().and_then(Result::ok).unwrap_or_default();
        // The receiver may no longer exist.
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

/// Writes the file atomically.
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

    fn args(line: &[&str]) -> InitArgs {
        use clap::{Args as _, FromArgMatches as _};
        let command = InitArgs::augment_args(clap::Command::new("init"));
        let matches = command.try_get_matches_from([&["init"], line].concat()).expect("understood");
        InitArgs::from_arg_matches(&matches).expect("understood")
    }

    /// The result of these arguments and answers; without answers there is no dialogue.
    fn site_of(line: &[&str], ports: &[Candidate], answers: Option<&str>) -> Result<Site, String> {
        let mut dialogue = Dialogue::new(answers.unwrap_or_default().as_bytes(), answers.is_some());
        site(&args(line), ports, &mut dialogue).map_err(|error| error.to_string())
    }

    #[test]
    fn sides_that_are_clear_need_no_question() {
        let two = [port("eth0", true), port("eth1", false)];
        let words = ["--standard", "802.11g"];
        let found = site_of(&words, &two, None).expect("clear");
        assert_eq!((found.wire.as_str(), found.wlan.as_str()), ("eth0", "eth1"));
        assert_eq!((found.choices.link, found.choices.measure_at_start), (None, true));
        let found = site_of(&[&words[..], &["--measure-at-start", "false"]].concat(), &two, None).expect("clear");
        assert!(!found.choices.measure_at_start);
        let three = [port("eth0", true), port("eth1", false), port("eth2", false)];
        assert_eq!(found.choices.mode, Mode::Bypassed);
        let found = site_of(&[&words[..], &["--mode", "observing"]].concat(), &two, None).expect("clear");
        assert_eq!(found.choices.mode, Mode::Observing);
        let error = site_of(&words, &three, None).expect_err("not clear");
        assert!(error.contains("--wlan") && error.contains("eth1, eth2"), "{error}");
    }

    #[test]
    fn a_standard_is_never_guessed() {
        let two = [port("eth0", true), port("eth1", false)];
        let error = site_of(&[], &two, None).expect_err("it is not known");
        assert!(error.contains("--standard") && error.contains("802.11ax"), "{error}");
        assert_eq!(site_of(&[], &two, Some("\n\n\n")).expect_err("an empty line is no standard"), "no answer");
        assert_eq!(standard("802.11b"), Ok(Standard::Dot11b));
        assert_eq!(standard("802.11ax"), Ok(Standard::Dot11ax));
        assert!(standard("802.11ad").expect_err("not").contains(MODELLED));
    }

    #[test]
    fn wrong_answers_are_asked_again() {
        let three = [port("eth0", true), port("eth1", false), port("eth2", false)];
        let answers = "wlan9\n\n\neth0\neth2\n802.11ad\n802.11a\nfast\n100 Mb/s\n\n0 Mb/s\n40 Mb/s\ndraining\ninserted\nperhaps\nno\n";
        let link = Some(InternetLink { down: "100 Mb/s".into(), up: "40 Mb/s".into() });
        let choices = Choices { standard: Standard::Dot11a, link, mode: Mode::Inserted, measure_at_start: false };
        let expected = Site { wlan: "eth2".into(), wire: "eth0".into(), choices };
        assert_eq!(site_of(&[], &three, Some(answers)), Ok(expected));
        let skipped = site_of(&["--standard", "802.11g", "--wlan", "eth1"], &three, Some("eth0\n\n\n\n"));
        let choices = skipped.expect("answered").choices;
        assert_eq!((choices.link, choices.mode, choices.measure_at_start), (None, Mode::Bypassed, true));
    }
}
