//! Causes of the differences in the classes' goodput: one of our cases, with its settings changed one by one.
//!
//! `ns3 vary "D uncapped n=9"` prints, for each change, the goodput of each group, and in brackets its senders'
//! retransmissions and the segments per ACK of its receivers: means over seeds, of goodput with their 95 % intervals. ns-3's
//! own row comes first if `scripts/ns3` has fetched it. docs/simulator.md has the conclusions.

use std::ops::ControlFlow;

use evenair_results::estimate::{CONFIDENCE, half_width};
use evenair_results::stats::mean;
use evenair_scenario::Scenario;
use evenair_sim::tcp::{Config, Growth, LossRecovery, Quirks, RtoFloor};
use evenair_sim::{SimOptions, run_with};
use evenair_units::{Bytes, Span};

use super::case::Case;
use super::ns3::Ns3;
use super::{Args, cases};

/// Runs of each change, and at most of ns-3.
const SEEDS: u32 = 20;

/// One change of the set-up.
struct Change {
    name: &'static str,
    /// Keys of the scenario, as with `--set`.
    sets: &'static [(&'static str, &'static str)],
    /// Configuration for which there is no key.
    tcp: Option<Config>,
}

/// Results of a group in a run; of ns-3's only the goodput is known.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    /// Goodput, Mb/s.
    goodput: f64,
    retransmissions_per_second: Option<f64>,
    segments_per_ack: Option<f64>,
}

/// The groups of one run, in order.
type Row = Vec<Cell>;

const fn keys(name: &'static str, sets: &'static [(&'static str, &'static str)]) -> Change {
    Change { name, sets, tcp: None }
}

/// A change of the stack that is compared with ns-3.
fn ns3(name: &'static str, change: fn(&mut Config)) -> Change {
    let mut config = Config { quirks: Quirks::NS3, ..Config::ns3() };
    change(&mut config);
    Change { name, sets: &[], tcp: Some(config) }
}

/// A change of the textbook stack with Reno's window, as `stack = "textbook"` has it.
fn textbook(name: &'static str, change: fn(&mut Config)) -> Change {
    let mut config = Config { growth: Growth::PerAck, idle_restart: false, ..Config::rfc() };
    config.rto.floor = RtoFloor::Total(Span::from_millis(200));
    (config.send_buffer, config.receive_buffer) = (Bytes(8_000_000), Bytes(8_000_000));
    change(&mut config);
    Change { name, sets: &[], tcp: Some(config) }
}

/// Changes of ns-3's stack: its quirks, its recovery, its timers, and the path.
fn changes_of_ns3() -> Vec<Change> {
    vec![
        keys("ns-3 stack", &[]),
        ns3("ns-3 stack, no quirk", |config| config.quirks = Quirks::NONE),
        ns3("ns-3 stack, samples as in RFC 6298", |config| config.quirks.sample_every_ack = false),
        ns3("ns-3 stack, each partial ACK restarts the timer", |config| config.quirks.impatient_recovery = false),
        ns3("ns-3 stack, back-off kept", |config| config.quirks.forgets_back_off = false),
        ns3("ns-3 stack, RFC 6675 without PRR", |config| config.recovery = LossRecovery::Sack),
        keys("ns-3 stack, NewReno without SACK", &[("tcp.sack", "false")]),
        ns3("ns-3 stack, RACK-TLP", |config| config.recovery = LossRecovery::Rack),
        ns3("ns-3 stack, no limited transmit", |config| config.limited_transmit = false),
        ns3("ns-3 stack, ACK delay 40 ms", |config| config.ack.delay = Span::from_millis(40)),
        ns3("ns-3 stack, ACK delay 150 ms", |config| config.ack.delay = Span::from_millis(150)),
        ns3("ns-3 stack, ACK delay 200 ms", |config| config.ack.delay = Span::from_millis(200)),
        ns3("ns-3 stack, ACK delay 500 ms", |config| config.ack.delay = Span::from_millis(500)),
        keys("ns-3 stack, each segment acknowledged", &[("tcp.delayed_ack", "false")]),
        keys("ns-3 stack, timeout at least 1 s", &[("tcp.min_rto", "\"1 s\"")]),
        keys("ns-3 stack, timestamps", &[("tcp.timestamps", "true")]),
        keys("ns-3 stack, initial window 2", &[("tcp.initial_window", "2")]),
        ns3("ns-3 stack, growth by bytes", |config| config.growth = Growth::Bytes { limit: 2 }),
        keys("ns-3 stack, buffer 100 packets", &[("radio.ap_buffer", "\"100 packets\"")]),
        keys("ns-3 stack, buffer 400 packets", &[("radio.ap_buffer", "\"400 packets\"")]),
        keys("ns-3 stack, jitter 2 ms before the buffer", &[("ap_path.down.jitter", "\"2 ms\"")]),
        keys("ns-3 stack, jitter 20 ms before the buffer", &[("ap_path.down.jitter", "\"20 ms\"")]),
        keys("ns-3 stack, radio of the standard", &[("radio.profile", "\"standard\"")]),
    ]
}

/// Changes of the textbook stack towards ns-3's.
fn changes_of_the_textbook() -> Vec<Change> {
    vec![
        textbook("textbook, Reno", |_| ()),
        textbook("textbook, every quirk", |config| config.quirks = Quirks::NS3),
        textbook("textbook, a sample from every ACK", |config| config.quirks.sample_every_ack = true),
        textbook("textbook, first partial ACK only", |config| config.quirks.impatient_recovery = true),
        textbook("textbook, back-off forgotten", |config| config.quirks.forgets_back_off = true),
        textbook("textbook, PRR", |config| config.recovery = LossRecovery::SackPrr),
        textbook("textbook, NewReno without SACK", |config| config.recovery = LossRecovery::NewReno),
        textbook("textbook, ACK delay 100 ms", |config| config.ack.delay = Span::from_millis(100)),
        textbook("textbook, no timestamps", |config| config.timestamps = false),
        textbook("textbook, jitter 2 ms before the buffer", |_| ()).with(&[("ap_path.down.jitter", "\"2 ms\"")]),
        textbook("textbook, buffer 100 packets", |_| ()).with(&[("radio.ap_buffer", "\"100 packets\"")]),
        keys("Linux, Reno", &[("tcp.stack", "\"linux\""), ("tcp.congestion_control", "\"reno\"")]),
    ]
}

impl Change {
    fn with(self, sets: &'static [(&'static str, &'static str)]) -> Self {
        Self { sets, ..self }
    }

    fn run(&self, case: &Case, seed: u32) -> Result<Row, String> {
        let scenario = Scenario::parse_with(&case.scenario(seed), &case.name, self.sets);
        let scenario = scenario.map_err(|error| error.to_string())?;
        let options = SimOptions { tcp: self.tcp.clone(), ..SimOptions::default() };
        let result = run_with(&scenario, &options, |_| ControlFlow::Continue(())).map_err(|error| error.to_string())?;
        let phase = result.phases.first().ok_or("the scenario has a phase")?;
        let seconds = f64::from(case.seconds - case.warmup);
        let row = case.groups.iter().map(|group| {
            let of = format!("{}-app", group.name);
            let flows: Vec<_> = phase.flows.iter().filter(|flow| flow.app.starts_with(&of)).collect();
            let again: u64 = flows.iter().map(|flow| flow.retransmits).sum();
            Cell {
                goodput: flows.iter().map(|flow| flow.goodput_mbps).sum(),
                retransmissions_per_second: Some(again as f64 / seconds),
                segments_per_ack: mean(flows.iter().filter_map(|flow| flow.d)),
            }
        });
        Ok(row.collect())
    }
}

/// Prints the table of each selected case.
pub fn vary(args: &Args) -> Result<(), String> {
    let seeds = args.seeds.unwrap_or(SEEDS).max(2);
    let wanted = |case: &Case| args.cases.iter().any(|name| case.name.starts_with(name.as_str()));
    let cases: Vec<Case> = cases::all().into_iter().filter(wanted).collect();
    if cases.is_empty() {
        return Err("which case? `ns3 list` has their names".into());
    }
    for case in &cases {
        println!(
            "{}: goodput in Mb/s of all and of each group (retransmissions a second, segments per ACK); {seeds} seeds",
            case.name
        );
        if let Some(ns3) = Ns3::find() {
            let row = |seed| of_ns3(&ns3, case, seed);
            print("ns-3 3.44", &(1..=seeds.min(SEEDS)).map(row).collect::<Result<Vec<Row>, String>>()?);
        }
        for change in changes_of_ns3().into_iter().chain(changes_of_the_textbook()) {
            let rows = (1..=seeds).map(|seed| change.run(case, seed)).collect::<Result<Vec<_>, _>>()?;
            print(change.name, &rows);
        }
    }
    Ok(())
}

fn of_ns3(ns3: &Ns3, case: &Case, seed: u32) -> Result<Row, String> {
    let run = ns3.run(case, seed)?;
    let cell = |name| {
        let got = run.got.iter().find(|got| got.group == name).ok_or(format!("ns-3 has no group {name}"))?;
        Ok(Cell { goodput: got.goodput, retransmissions_per_second: None, segments_per_ack: None })
    };
    case.groups.iter().map(|group| cell(group.name)).collect()
}

fn print(name: &str, rows: &[Row]) {
    let totals: Vec<f64> = rows.iter().map(|row| row.iter().map(|cell| cell.goodput).sum()).collect();
    print!("{name:50} {}", with_interval(&totals));
    for group in 0..rows[0].len() {
        let cells = || rows.iter().map(|row| row[group]);
        let goodput: Vec<f64> = cells().map(|cell| cell.goodput).collect();
        print!("  {}", with_interval(&goodput));
        let again = mean(cells().filter_map(|cell| cell.retransmissions_per_second));
        if let (Some(again), Some(per_ack)) = (again, mean(cells().filter_map(|cell| cell.segments_per_ack))) {
            print!(" ({again:.1}, {per_ack:.2})");
        }
    }
    println!();
}

fn with_interval(values: &[f64]) -> String {
    let middle = mean(values.iter().copied()).unwrap_or(f64::NAN);
    format!("{middle:5.2} ±{:.2}", half_width(values, CONFIDENCE).unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changed_stacks_are_those_of_the_keys() {
        let case = cases::all().into_iter().find(|case| case.name == "D n=3").expect("there is one");
        let same = |with: &Change, of: &Change| assert_eq!(with.run(&case, 1), of.run(&case, 1), "{}", with.name);
        same(&ns3("capped as the case", |config| *config = config.clone().with_window(Bytes(64_240))), &keys("", &[]));
        let textbook_of_keys = [("tcp.stack", "\"textbook\""), ("tcp.congestion_control", "\"reno\"")];
        let open = [("tcp.window", "\"unlimited\""), ("tcp.send_buffer", "\"8 MB\""), ("tcp.window_scaling", "true")];
        let sets = [&textbook_of_keys[..], &open[..]].concat();
        same(&textbook("textbook", |_| ()), &keys("", sets.leak()));
    }

    #[test]
    fn every_change_can_be_run() {
        let case = cases::all().into_iter().find(|case| case.name.starts_with("D uncapped")).expect("there is one");
        let case = Case { seconds: 3, warmup: 1, ..case };
        for change in changes_of_ns3().into_iter().chain(changes_of_the_textbook()) {
            let row = change.run(&case, 1).unwrap_or_else(|error| panic!("{}: {error}", change.name));
            assert!(row.iter().any(|cell| cell.goodput > 0.1), "{}: {row:?}", change.name);
        }
    }
}
