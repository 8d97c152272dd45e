//! `evenair calibrate`: the table from signal to goodput for WHTB, of a simulated or a real link.

mod link;
mod sink;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use evenair_report::{Page, draw_curves};
use evenair_scenario::Scenario;
use evenair_study::calibration::{Calibration, Calibrator, Point, WINDOW, channel_key, curves, points_table};

use super::scenario_run::key_and_value;
use crate::output;

/// Default port of the receiver on a station, from the range for private use (RFC 6335, section 6).
const PORT: u16 = 49_571;

/// Arguments of `evenair calibrate`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct CalibrateArgs {
    #[command(subcommand)]
    real: Option<Real>,
    #[command(flatten)]
    simulated: SimulatedArgs,
}

/// The ends of a real link.
#[derive(Subcommand)]
enum Real {
    /// Measure a real link: saturate the link to a station, and poll its access point for the signal
    Link(link::LinkArgs),
    /// The receiver of `calibrate link`, to run on the station
    Sink(sink::SinkArgs),
}

#[derive(Args)]
struct SimulatedArgs {
    /// A scenario with one `[[udp]]` application that saturates the link to its station, for example
    /// scenarios/whtb/calibration.toml
    #[arg(required = true)]
    file: Option<PathBuf>,
    /// The SNRs to measure, in dB: 5,5.5,6 or FROM..TO or FROM..TO/STEP
    #[arg(long, default_value = "0..30/0.5", value_name = "SIGNALS", value_parser = signals, allow_hyphen_values = true)]
    snr: Signals,
    /// Packets per window; each window gives a pair of signal and goodput
    #[arg(long, default_value_t = WINDOW, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    window: u64,
    /// Replace a value of the file
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    sets: Vec<(String, String)>,
    /// Parent directory of the table
    #[arg(long, default_value = "results", value_name = "DIR")]
    out: PathBuf,
}

/// Signal-to-noise ratios, in decibels.
#[derive(Clone, Debug, PartialEq)]
struct Signals(Vec<f64>);

/// Largest number of signals.
const MOST_SIGNALS: usize = 1000;

/// Measures, writes and prints the table.
pub fn calibrate(args: &CalibrateArgs) -> Result<ExitCode> {
    match &args.real {
        None => simulated(&args.simulated),
        Some(Real::Link(args)) => link::link(args),
        Some(Real::Sink(args)) => sink::sink(args),
    }
}

fn simulated(args: &SimulatedArgs) -> Result<ExitCode> {
    let path = args.file.as_ref().context("a scenario is needed, for instance scenarios/whtb/calibration.toml")?;
    let file = path.to_string_lossy();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {file}"))?;
    let sets: Vec<_> = args.sets.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let scenario = Scenario::parse_with(&text, &file, &sets)?;
    let calibrator = Calibrator { text: &text, file: &file, settings: &args.sets, window: args.window };
    let calibration = calibrator.run(&args.snr.0)?;
    let silent = calibration.steps.iter().filter(|step| step.windows_kbps.is_empty()).count();
    let facts = format!("{}, simulated, windows of {} packets", scenario.title, args.window);
    write(&calibration, &args.out, &scenario.name, &facts, &silence(silent))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes and prints the table and its data; `remark` describes what it leaves out.
fn write(calibration: &Calibration, out: &Path, name: &str, facts: &str, remark: &str) -> Result<()> {
    let points = calibration.points()?;
    let directory = output::new_directory(out, name)?;
    let table = points_table(&points);
    output::write_file(&directory, "channel.toml", channel_key(&points).as_bytes())?;
    output::write_table(&directory, "channel", &table)?;
    output::write_table(&directory, "pairs", &calibration.pairs_table())?;
    let pictures: Vec<_> = draw_curves(&curves(&points, facts)).into_iter().collect();
    output::write_pictures(&directory, &pictures)?;
    let mut page = Page::new("Calibration", facts);
    page.paragraph(remark);
    pictures.iter().for_each(|picture| page.picture(picture));
    page.table("The table", &table);
    output::write_file(&directory, "report.html", page.finish().as_bytes())?;

    print_points(&points);
    println!("\n{remark}");
    println!(
        "results: {} (channel.toml: for [radio.ap_queue] of a scenario; channel.csv; report.html)",
        directory.display()
    );
    Ok(())
}

fn silence(silent: usize) -> String {
    match silent {
        0 => "Something arrived at every signal.".to_owned(),
        _ => format!("At {silent} of the signals nothing arrived: they are not in the table."),
    }
}

fn print_points(points: &[Point]) {
    println!("signal, dB  measured, kb/s  table, kb/s  windows");
    for point in points {
        let half = point.half_width_kbps.map_or_else(String::new, |half| format!(" ± {half:.0}"));
        let measured = format!("{:.0}{half}", point.measured_kbps);
        println!("{:>10}  {measured:>14}  {:>11.0}  {:>7}", point.snr_db, point.goodput_kbps, point.windows);
    }
}

fn signals(text: &str) -> Result<Signals, String> {
    let number = |text: &str| {
        let number = text.trim().parse::<f64>().ok().filter(|db| (-100.0..=100.0).contains(db));
        // Scenarios have a resolution of a thousandth of a decibel.
        number.map(|db| (db * 1e3).round() / 1e3).ok_or(format!("\"{text}\" is no number of decibels from -100 to 100"))
    };
    let Some((from, rest)) = text.split_once("..") else {
        return text.split(',').map(number).collect::<Result<_, _>>().map(Signals);
    };
    let (to, step) = rest.split_once('/').unwrap_or((rest, "1"));
    let (from, to, step) = (number(from)?, number(to)?, number(step)?);
    if step < 1e-3 || to < from || (to - from) / step >= MOST_SIGNALS as f64 {
        return Err(format!("\"{text}\" is no range of up to {MOST_SIGNALS} rising signals"));
    }
    let count = ((to - from) / step + 1e-6).floor() as usize;
    Ok(Signals((0..=count).map(|n| ((from + n as f64 * step) * 1e3).round() / 1e3).collect()))
}

#[cfg(test)]
mod tests {
    use evenair_sched::{Config, Estimator};

    use super::*;

    const CALIBRATION: &str = include_str!("../../../../../scenarios/whtb/calibration.toml");
    /// The SNRs of the positions in the experiments, and between.
    const SNRS: &str = "5.695,5.8,5.915,6,6.1,6.26,6.5,6.75,7,7.5,8,9,12,30";

    #[test]
    fn the_tables_of_the_experiments_are_those_of_the_calibration() {
        let calibrator = Calibrator { text: CALIBRATION, file: "calibration.toml", settings: &[], window: WINDOW };
        let points = calibrator.run(&signals(SNRS).unwrap().0).unwrap().points().unwrap();
        let expected: Vec<_> = points
            .iter()
            .map(|point| ((point.snr_db * 1e3).round() as i32, point.goodput_kbps.round().max(1.0) as u64))
            .collect();
        for text in [
            include_str!("../../../../../scenarios/whtb/w01-four-to-one.toml"),
            include_str!("../../../../../scenarios/whtb/w02-one-to-one.toml"),
        ] {
            let scenario = Scenario::parse(text, "w.toml").unwrap();
            let Config::Whtb(config) = scenario.radio.ap_queue.unwrap().config else { panic!("it is WHTB") };
            let Estimator::Signal(table) = config.estimator else { panic!("it is the published one") };
            let own: Vec<_> =
                table.points().iter().map(|&(snr, rate)| (snr.as_milli(), rate.as_bps() / 1000)).collect();
            assert_eq!(own, expected, "evenair calibrate scenarios/whtb/calibration.toml --snr {SNRS}");
        }
    }

    #[test]
    fn signals_are_lists_and_ranges() {
        assert_eq!(signals("5, 5.5,-1").unwrap().0, [5.0, 5.5, -1.0]);
        assert_eq!(signals("0..3").unwrap().0, [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(signals("-1..0/0.5").unwrap().0, [-1.0, -0.5, 0.0]);
        assert_eq!(signals("5..6/0.3").unwrap().0, [5.0, 5.3, 5.6, 5.9]);
        for wrong in ["", "a", "5..", "6..5", "0..100/0.01", "0..1/0", "inf", "5,,6"] {
            assert!(signals(wrong).is_err(), "{wrong}");
        }
    }
}
