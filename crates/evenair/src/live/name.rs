//! `evenair name`: names of stations, kept by the box.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use evenair_api::NamedStation;
use evenair_boxfile::names::read_table;
use evenair_boxfile::names::{NameError, check_name};
use evenair_client::control::Client;
use evenair_client::lookup::Directory;

use super::ControlArgs;

/// Arguments of `evenair name`.
#[derive(Args)]
pub struct NameArgs {
    /// The station, by its MAC address or present name; without it the names are listed
    #[arg(value_name = "STATION")]
    station: Option<String>,
    /// Its name: 1 to 64 characters; without it the present name is printed
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Take away the name that was set with `evenair name`
    #[arg(long, requires = "station", conflicts_with_all = ["name", "import"])]
    remove: bool,
    /// Name the stations of a CSV file with the columns MAC and name: all of them, or none if a line is wrong
    #[arg(long, value_name = "FILE", conflicts_with = "station")]
    import: Option<PathBuf>,
    #[command(flatten)]
    control: ControlArgs,
}

/// Names stations, or lists the names.
pub fn name(args: &NameArgs) -> Result<ExitCode> {
    let socket = &args.control.socket;
    if let Some(file) = &args.import {
        let names = read_table(file)?;
        Client::connect(socket)?.import_names(&names)?;
        println!("{} stations are named", names.len());
        return Ok(ExitCode::SUCCESS);
    }
    let name = args.name.as_deref().map(str::trim);
    if let Some(Err(error)) = name.map(check_name) {
        bail!("{error}; right would be: {}", NameError::RIGHT);
    }
    let mut client = Client::connect(socket)?;
    let names = match &args.station {
        None => client.names()?,
        Some(station) => {
            let mac = Directory::of_box(&mut client)?.find(station)?;
            if args.remove || name.is_some() {
                client.name(mac, name)?;
            }
            let mac = mac.to_string();
            let named: Vec<_> = client.names()?.into_iter().filter(|named| named.mac == mac).collect();
            if named.is_empty() && !args.remove {
                bail!("{mac} has no name of the operator's, of the configuration or of a controller");
            }
            named
        }
    };
    if args.control.json {
        println!("{}", serde_json::to_string_pretty(&names)?);
    } else {
        names.iter().for_each(|named| println!("{}", line(named)));
    }
    Ok(ExitCode::SUCCESS)
}

fn line(NamedStation { mac, name, origin }: &NamedStation) -> String {
    format!("{mac}  {origin:<13}  {name}")
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use evenair_api::NameOrigin;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        name: NameArgs,
    }

    fn parsed(words: &[&str]) -> bool {
        Line::try_parse_from(["name"].iter().chain(words)).is_ok()
    }

    #[test]
    fn a_name_is_set_removed_imported_or_listed() {
        for right in [&["x", "Anne"][..], &["x", "--remove"], &["--import", "f.csv"], &["x"], &[], &["--json"]] {
            assert!(parsed(right), "{right:?}");
        }
        for wrong in [&["x", "Anne", "--remove"][..], &["--remove"], &["x", "--import", "f.csv"], &["x", "y", "z"]] {
            assert!(!parsed(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn the_list_says_where_a_name_comes_from() {
        let named = NamedStation { mac: "02:00:00:00:00:01".into(), name: "Anne".into(), origin: NameOrigin::Operator };
        assert_eq!(line(&named), "02:00:00:00:00:01  operator       Anne");
    }
}
