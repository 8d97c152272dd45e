//! `evenair doctor`: problems on this machine, and how to fix them.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use evenair_site::doctor::{Finding, Verdict, examine};

/// Arguments of `evenair doctor`.
#[derive(Args)]
pub struct DoctorArgs {
    /// The box's configuration file
    #[arg(long, default_value = super::CONFIG, value_name = "FILE")]
    config: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the findings. The exit status is 1 if there is a problem.
pub fn doctor(args: &DoctorArgs) -> Result<ExitCode> {
    let findings = examine(&args.config);
    if args.json {
        println!("{}", serde_json::to_string_pretty(&findings)?);
    } else {
        let colours = std::io::stdout().is_terminal();
        findings.iter().for_each(|finding| println!("{}", in_words(finding, colours)));
        println!("{}", summary(&findings));
    }
    let wrong = findings.iter().any(|finding| finding.verdict == Verdict::Wrong);
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn in_words(finding: &Finding, colours: bool) -> String {
    let (word, colour) = match finding.verdict {
        Verdict::Fine => ("ok", 32),
        Verdict::Unknown => ("?", 36),
        Verdict::Warning => ("warning", 33),
        Verdict::Wrong => ("WRONG", 31),
    };
    let mark = if colours { format!("\x1b[{colour}m{word:<8}\x1b[0m") } else { format!("{word:<8}") };
    let mend = finding.mend.as_ref().map_or_else(String::new, |mend| format!("\n{:24}-> {mend}", ""));
    format!("{mark}{:<16}{}{mend}", finding.subject, finding.found)
}

fn summary(findings: &[Finding]) -> String {
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    match (count(Verdict::Wrong), count(Verdict::Warning)) {
        (0, 0) => "Nothing is wrong.".into(),
        (0, warnings) => format!("The box can run; {warnings} to look at."),
        (wrong, warnings) => {
            format!("{wrong} to mend before the box and the network are as they should be, {warnings} to look at.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_come_with_their_remedies() {
        let finding = |verdict, mend: Option<&str>| Finding {
            subject: "MTU".into(),
            verdict,
            found: "1500 and 1400".into(),
            mend: mend.map(str::to_owned),
        };
        let wrong = finding(Verdict::Wrong, Some("run: ip link set wi0 mtu 1500"));
        let text = in_words(&wrong, false);
        assert!(text.starts_with("WRONG   MTU") && text.ends_with("-> run: ip link set wi0 mtu 1500"), "{text}");
        assert_eq!(in_words(&finding(Verdict::Fine, None), false).lines().count(), 1);
        assert!(summary(&[wrong, finding(Verdict::Warning, None)]).starts_with("1 to mend"));
        assert_eq!(summary(&[finding(Verdict::Unknown, None)]), "Nothing is wrong.");
    }
}
