//! `evenair telemetry`: polls access points once, and prints their reports.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use evenair_boxfile::telemetry::{KindWord, password_in};
use evenair_boxfile::{BoxConfig, SourceConfig, TelemetrySpec};
use evenair_reader::{FromWritten, Problems, Written};
use evenair_serve::Listener;
use evenair_telemetry::remote::entry;
use evenair_telemetry::{Reading, ReportedMode, StationReading};

/// Arguments of `evenair telemetry`.
#[derive(Args)]
pub struct TelemetryArgs {
    /// The box's configuration file with the sources to poll
    #[arg(default_value = super::CONFIG, value_name = "FILE")]
    config: PathBuf,
    // The box's configuration file lists the kinds.
    #[arg(long, value_name = "KIND", help = format!("Poll this kind of source instead: {}", KindWord::allowed()))]
    kind: Option<String>,
    /// snmp: name or address of the agent
    #[arg(long, requires = "kind")]
    address: Option<String>,
    /// snmp: "2c" or "3"
    #[arg(long, requires = "kind")]
    version: Option<String>,
    /// snmp: vendor of its table
    #[arg(long, requires = "kind")]
    vendor: Option<String>,
    /// The account's name
    #[arg(long, requires = "kind")]
    user: Option<String>,
    /// snmp, version 3: authentication protocol
    #[arg(long, requires = "kind", value_name = "HASH")]
    authentication: Option<String>,
    /// snmp, version 3: privacy protocol
    #[arg(long, requires = "kind", value_name = "CIPHER")]
    privacy: Option<String>,
    /// A file with community or passwords
    #[arg(long, requires = "kind", value_name = "FILE")]
    secrets: Option<String>,
    /// Its URL, if it is polled over HTTP
    #[arg(long, requires = "kind")]
    url: Option<String>,
    /// unifi: the site
    #[arg(long, requires = "kind")]
    site: Option<String>,
    /// Accept any certificate over HTTPS
    #[arg(long, requires = "kind")]
    no_verify: bool,
    /// A PEM file with the server's own certificate, trusted over HTTPS whatever name it is for; or with that of the authority
    /// that signed it for the name in the URL
    #[arg(long, requires = "kind", value_name = "FILE", conflicts_with = "no_verify")]
    certificate: Option<String>,
    /// hostapd: its control socket
    #[arg(long, requires = "kind", value_name = "PATH")]
    socket: Option<String>,
    /// nl80211: the interface
    #[arg(long, requires = "kind")]
    interface: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Serve the reports to a box with a source of kind = "evenair", instead of printing; for access points that are Linux
    /// machines
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "json")]
    listen: Option<SocketAddr>,
    /// A file with the password for clients (password = "...")
    #[arg(long, value_name = "FILE", requires = "listen")]
    listen_secrets: Option<PathBuf>,
}

/// Prints the report of each source. The exit status is 0 if all of them responded.
pub fn telemetry(args: &TelemetryArgs) -> Result<ExitCode> {
    let sources = match &args.kind {
        Some(kind) => vec![one(kind, args)?],
        None => BoxConfig::load(&args.config)?.telemetry,
    };
    if sources.is_empty() {
        bail!("{} names no source to poll: add a [[telemetry]], or try one with --kind", args.config.display());
    }
    if let Some(address) = args.listen {
        return listen(address, args, &sources);
    }
    let mut failed = false;
    let mut answers = Vec::new();
    for source in &sources {
        let answer = source.ask();
        failed |= answer.is_err();
        if args.json {
            answers.push(entry(&source.name(), &answer));
            continue;
        }
        match &answer {
            Ok(reading) => print!("{}", table(source, reading)),
            Err(error) => println!("{}: {error}", source.name()),
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&answers)?);
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Serves reports to boxes until it is ended.
fn listen(address: SocketAddr, args: &TelemetryArgs, sources: &[SourceConfig]) -> Result<ExitCode> {
    let password = match &args.listen_secrets {
        None => None,
        Some(path) => Some(password_in(path).map_err(|why| anyhow!("{}: {why}", path.display()))?),
    };
    let listener = Listener::new(address, password, sources).context("cannot serve reports")?;
    eprintln!("boxes may ask http://{}", listener.address());
    listener.serve();
    Ok(ExitCode::FAILURE)
}

/// The source that the options describe.
fn one(kind: &str, args: &TelemetryArgs) -> Result<SourceConfig> {
    let written = |text: &Option<String>| text.clone().map(Written::new);
    let spec = TelemetrySpec {
        access_point: None,
        kind: Written::new(kind.to_owned()),
        interval: None,
        address: written(&args.address),
        version: written(&args.version),
        vendor: written(&args.vendor),
        user: written(&args.user),
        authentication: written(&args.authentication),
        privacy: written(&args.privacy),
        secrets: written(&args.secrets),
        url: written(&args.url),
        site: written(&args.site),
        verify: args.no_verify.then(|| Written::new(false)),
        certificate: written(&args.certificate),
        socket: written(&args.socket),
        interface: written(&args.interface),
    };
    let mut problems = Problems::default();
    if let Some(source) = spec.check(&mut problems) {
        return Ok(source);
    }
    let problems = problems.into_sorted();
    let lines: Vec<_> =
        problems.iter().map(|problem| format!("{}; right: {}", problem.what, problem.allowed)).collect();
    bail!("{}", lines.join("\n"))
}

fn table(source: &SourceConfig, reading: &Reading) -> String {
    let mut text = format!("{} ({}): {} stations\n", source.name(), reading.from, reading.stations.len());
    if !reading.stations.is_empty() {
        text += &format!(
            "  {:<18} {:>9} {:>9} {:>7}  {:<18} {:>5}  {:<18} {}\n",
            "station", "to Mb/s", "from Mb/s", "dBm", "access point", "MHz", "address", "network"
        );
    }
    for station in &reading.stations {
        text += &row(station, reading);
        text += &modes(station);
    }
    for warning in &reading.warnings {
        text += &format!("  warning: {warning}\n");
    }
    for radio in &reading.access_points {
        let channel = radio.channel_mhz.map(|mhz| format!(" at {mhz} MHz")).unwrap_or_default();
        text += &format!("  radio {}{channel}: {} packets lost so far\n", radio.mac, radio.lost);
    }
    text
}

fn row(station: &StationReading, reading: &Reading) -> String {
    let text = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    let mbps = |kbps: Option<i64>| text(kbps.map(|kbps| format!("{:.1}", kbps as f64 / 1e3)));
    format!(
        "  {:<18} {:>9} {:>9} {:>7}  {:<18} {:>5}  {:<18} {}\n",
        station.mac.to_string(),
        mbps(station.transmit_kbps),
        mbps(station.receive_kbps),
        text(station.signal_dbm.map(|dbm| dbm.to_string())),
        text(station.access_point.or(reading.radio).map(|mac| mac.to_string())),
        text(station.channel_mhz.or(reading.channel_mhz).map(|mhz| mhz.to_string())),
        text(station.address.map(|ip| ip.to_string())),
        text(station.ssid.clone()),
    )
}

/// A line with the modes of a station, or why they are refused, where the source has them.
fn modes(station: &StationReading) -> String {
    let text = |mode: ReportedMode| mode.map_or_else(|error| format!("refused ({error})"), |mode| mode.to_string());
    let directions = [("to it", station.transmit_mode), ("from it", station.receive_mode)];
    let known = directions.into_iter().filter_map(|(direction, mode)| Some(format!("{direction} {}", text(mode?))));
    let known: Vec<_> = known.collect();
    if known.is_empty() { String::new() } else { format!("    {}\n", known.join("; ")) }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};
    use evenair_boxfile::SourceKind;
    use evenair_telemetry::Tls;
    use evenair_wifi::{ModeTextError, PhyMode};

    use super::*;

    #[test]
    fn help_lists_the_kinds_of_the_configuration_file() {
        let help = TelemetryArgs::augment_args(clap::Command::new("telemetry")).render_help().to_string();
        assert!(help.contains("\"unifi\", \"ubus\"") && help.contains("\"evenair\""), "{help}");
    }

    #[test]
    fn a_certificate_is_read_as_that_of_the_configuration_file() {
        let parse = |more: &[&str]| {
            let words = ["telemetry", "--kind", "evenair", "--url", "https://127.0.0.1:1"].iter().chain(more);
            let matches = TelemetryArgs::augment_args(clap::Command::new("telemetry")).try_get_matches_from(words)?;
            TelemetryArgs::from_arg_matches(&matches)
        };
        let source = |file: &str| one("evenair", &parse(&["--certificate", file]).expect("options"));
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("ap.pem");
        let path = file.to_str().expect("a path in UTF-8");
        let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        std::fs::write(&file, pem).expect("written");
        let SourceKind::Remote { tls, .. } = source(path).expect("a source").kind else { panic!("another kind") };
        assert_eq!(tls, Tls::Pinned(pem.into()));
        std::fs::write(&file, "a key").expect("written");
        let error = source(path).expect_err("no certificate").to_string();
        assert!(error.contains("ap.pem is no certificate; right: a certificate in PEM"), "{error}");
        let both = parse(&["--certificate", path, "--no-verify"]).err().expect("refused").to_string();
        assert!(both.contains("cannot be used with"), "{both}");
    }

    #[test]
    fn a_table_has_a_line_for_each_station() {
        let kind = SourceKind::Nl80211 { interface: "wlan0".into() };
        let source = SourceConfig { kind, interval: evenair_units::Span::from_secs(5), access_point: None };
        let station = StationReading {
            transmit_kbps: Some(6_500),
            signal_dbm: Some(-61),
            channel_mhz: Some(5_180),
            ..StationReading::new("02:00:00:00:00:01".parse().expect("an address"))
        };
        let reading = Reading { from: "station dump".into(), stations: vec![station], ..Reading::default() };
        let text = table(&source, &reading);
        assert_eq!(text.lines().count(), 3, "{text}");
        let last = text.lines().last().expect("a line");
        assert!(last.contains("02:00:00:00:00:01") && last.contains("6.5") && last.contains("-61"), "{last}");
        assert!(last.contains("5180"), "{last}");
        let warned = Reading { warnings: vec!["column 1.2 left out: it is cut short".into()], ..reading.clone() };
        assert!(table(&source, &warned).ends_with("  warning: column 1.2 left out: it is cut short\n"));
        let refused = "VHT MCS 9".parse::<PhyMode>().err().and_then(|error| match error {
            ModeTextError::Mode(error) => Some(Err(error)),
            _ => None,
        });
        let mode = "HT MCS 0".parse().ok().map(Ok);
        let station = StationReading { transmit_mode: mode, receive_mode: refused, ..reading.stations[0].clone() };
        let text = table(&source, &Reading { stations: vec![station], ..reading });
        let last = text.lines().last().expect("a line");
        assert!(
            last.contains("to it HT MCS 0, 20 MHz, 1 stream, GI 0.8 us; from it refused (VHT has no MCS 9"),
            "{last}"
        );
    }
}
