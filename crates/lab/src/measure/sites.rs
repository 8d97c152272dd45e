//! `evenair measure sites`: the default controller beside other policies at six sites, of 802.11g and of access points that aggregate,
//! with the same seeds.

use std::path::Path;

use anyhow::Result;
use clap::Args;

use super::page::Measured;
use crate::commands::compare::table_of;

const SITES: [&str; 6] = [
    "sites/cafe-11g",
    "sites/hostel-11g",
    "venues/office-11n",
    "venues/school-11ac",
    "venues/stadium-11ax",
    "demo-room",
];
/// The first is the one that the others are compared with.
const POLICIES: [&str; 7] = ["fifo", "fq-codel", "cake", "ap-mac80211", "las-ack", "adwiser", "evenair"];

/// Arguments of `evenair measure sites`.
#[derive(Args)]
pub struct SitesArgs {
    /// Only sites with this in their names
    #[arg(value_name = "PART", default_value = "")]
    part: String,
    /// Runs of each policy, with the same seeds
    #[arg(long, default_value = "10", value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    replications: u32,
}

/// Measures each site: goodput, pages, calls, delays.
pub fn measure(args: &SitesArgs) -> Result<Measured> {
    let mut text =
        format!("Means of {} runs and 95 % intervals; *: differs from {}.\n", args.replications, POLICIES[0]);
    for site in SITES.into_iter().filter(|site| site.contains(&args.part)) {
        let table = table_of(Path::new(site), &POLICIES, args.replications)?;
        let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        text += &format!("\n## {site}\n\n");
        text += &row(table.columns.iter().map(|column| column.name.clone()).collect());
        text += &row(vec!["---".to_owned(); table.columns.len()]);
        for number in 0..table.rows() {
            text += &row(table.columns.iter().map(|column| column.values.text(number)).collect());
        }
    }
    Ok(text.into())
}
