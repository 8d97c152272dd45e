//! `evenair scenario`: checks files without running them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Subcommand, ValueEnum};
use evenair_scenario::Scenario;
use evenair_testbed::preflight;

use super::library::{folders, scenario_file, scenario_files};
use super::scenario_run::{key_and_value, load, load_with_points};

/// Subcommands of `evenair scenario`.
#[derive(Subcommand)]
pub enum ScenarioCommand {
    /// Check files, including the points of their sweeps, and describe each file
    Check {
        /// Scenarios: files, or names
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Replace a value, for example `--set seed=7`
        #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
        sets: Vec<(String, String)>,
        /// The engine to run them: features that it does not support are errors [default: either; unsupported features are
        /// notes]
        #[arg(long, value_name = "ENGINE")]
        engine: Option<Engine>,
    },
    /// List the scenarios in a folder and its subfolders, by file; other commands also take the name of the file
    List {
        /// The folder [default: `scenarios` here, or else the installed one]
        folder: Option<PathBuf>,
    },
    /// Print the JSON schema of scenario files, for editors
    Schema,
    /// Print the reference of all keys, in Markdown
    Reference,
}

/// Engines that run scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// The simulator.
    Sim,
    /// Real hosts on a simulated radio.
    Testbed,
    /// Each of them.
    Both,
}

impl Engine {
    /// Features of a scenario that the engine does not support.
    fn refusals(self, scenario: &Scenario) -> Vec<String> {
        let mut found = vec![];
        if self != Self::Testbed {
            found.extend(evenair_sim::refusals(scenario).iter().map(|why| format!("the simulator cannot: {why}")));
        }
        if self != Self::Sim {
            found.extend(preflight::refusals(scenario).iter().map(|why| format!("the testbed cannot: {why}")));
        }
        found
    }
}

/// Executes the command.
pub fn run(command: ScenarioCommand) -> Result<ExitCode> {
    match command {
        ScenarioCommand::Schema => {
            println!("{:#}", evenair_scenario::schema());
            Ok(ExitCode::SUCCESS)
        }
        ScenarioCommand::Reference => {
            print!("{}", evenair_scenario::reference());
            Ok(ExitCode::SUCCESS)
        }
        ScenarioCommand::List { folder } => {
            let here = PathBuf::from("scenarios");
            let folder = folder.or_else(|| if here.is_dir() { None } else { folders().into_iter().next() });
            let folder = folder.unwrap_or(here);
            let files = scenario_files(&folder)?;
            if files.is_empty() {
                bail!("{}: no scenario files (*.toml)", folder.display());
            }
            for file in files {
                match load(&file, &[]) {
                    Ok(scenario) => println!("{:<52} {}", file.display(), describe(&scenario)),
                    Err(error) => {
                        let text = error.to_string();
                        println!("{:<52} WRONG: {}", file.display(), text.lines().next().unwrap_or_default());
                    }
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        ScenarioCommand::Check { files, sets, engine } => {
            let mut right = true;
            for file in &files {
                let loaded = scenario_file(file).and_then(|file| Ok((load_with_points(&file, &sets)?, file)));
                match loaded {
                    Ok((scenario, file)) => right &= judge(&file, &scenario, engine),
                    Err(error) => {
                        right = false;
                        eprintln!("{error}");
                    }
                }
            }
            Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// Describes a scenario and the engines that cannot run it. Returns whether the requested ones can.
fn judge(file: &Path, scenario: &Scenario, engine: Option<Engine>) -> bool {
    let file = file.display();
    let is_right = match engine {
        Some(engine) => engine.refusals(scenario).is_empty(),
        None => [Engine::Sim, Engine::Testbed].iter().any(|engine| engine.refusals(scenario).is_empty()),
    };
    if is_right {
        println!("{file}: right: {}", describe(scenario));
    }
    for why in engine.unwrap_or(Engine::Both).refusals(scenario) {
        if is_right { println!("  {why}") } else { eprintln!("{file}: {why}") }
    }
    is_right
}

fn describe(scenario: &Scenario) -> String {
    let stations = scenario.hosts.iter().filter(|host| host.place.is_station()).count();
    format!(
        "{} ({stations} stations, {} applications, {:.0} s)",
        scenario.title,
        scenario.apps.len(),
        scenario.duration.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_features_of_each_engine_are_listed() {
        let text = "version = 1\nname = \"q\"\nduration = \"1 s\"\n[radio]\nstandard = \"802.11b\"\n\
                    [[station]]\nname = \"a\"\nrate = \"11 Mb/s\"\n[[server]]\nname = \"s\"\n\
                    [[ping]]\nname = \"p\"\nstations = [\"a\"]\nserver = \"s\"\n\
                    [tcp]\ncongestion_control = \"bbr\"\n[telemetry]\nsignal = true\n";
        let scenario = Scenario::parse(text, "q.toml").expect("it is sound");
        let simulator = Engine::Sim.refusals(&scenario);
        assert!(simulator.len() == 1 && simulator[0].contains("the simulator cannot") && simulator[0].contains("bbr"));
        let testbed = Engine::Testbed.refusals(&scenario);
        assert!(testbed.len() == 1 && testbed[0].contains("the testbed cannot: telemetry.signal"), "{testbed:?}");
        assert_eq!(Engine::Both.refusals(&scenario), [simulator, testbed].concat());
        let is_right = |sets: &[(&str, &str)], engine| {
            judge(Path::new("q.toml"), &Scenario::parse_with(text, "q.toml", sets).expect("sound"), engine)
        };
        let (cubic, silent) = (("tcp.congestion_control", "cubic"), ("telemetry.signal", "false"));
        assert!(!is_right(&[], None), "none of them can");
        assert!(is_right(&[cubic], None) && is_right(&[silent], None), "one of them can");
        assert!(is_right(&[cubic], Some(Engine::Sim)) && !is_right(&[cubic], Some(Engine::Testbed)));
        assert!(!is_right(&[silent], Some(Engine::Sim)) && is_right(&[silent], Some(Engine::Testbed)));
        assert!(!is_right(&[cubic], Some(Engine::Both)) && is_right(&[cubic, silent], Some(Engine::Both)));
    }
}
