//! Check whether the telemetry sources respond.

use evenair_boxfile::SourceConfig;
use evenair_telemetry::{Reading, TelemetryError};

use super::Finding;

pub(super) fn examine(source: &SourceConfig) -> Finding {
    judge(&source.name(), source.ask())
}

/// The box works without telemetry, so no failure here is an error of the box.
fn judge(name: &str, answer: Result<Reading, TelemetryError>) -> Finding {
    const SUBJECT: &str = "telemetry";
    let reading = match answer {
        Ok(reading) => reading,
        Err(error) => {
            let mend = match error {
                TelemetryError::Refused(_) => "correct the account or its secrets; the access point distinguishes them",
                TelemetryError::Untrusted(_) => "put the certificate that it presents into the file of `certificate`",
                TelemetryError::Nonsense(_) => "see that the address is that of an access point, and of this kind",
                _ => "see that it is on, that its address is right and that no firewall is between",
            };
            return Finding::warning(SUBJECT, format!("{name}: {error}"), mend);
        }
    };
    let stations = reading.stations.len();
    let rates =
        reading.stations.iter().filter(|s| s.transmit_kbps.or(s.receive_kbps).is_some_and(|kbps| kbps > 0)).count();
    let found = format!("{name} answers ({}): {stations} stations, rates of {rates}", reading.from);
    if !reading.warnings.is_empty() {
        let mend = "see that vendor and kind are right and the software of the access point is up to date; \
                    the box goes by the rest and by what crosses";
        return Finding::warning(SUBJECT, format!("{found}; {}", reading.warnings.join("; ")), mend);
    }
    if stations > 0 && rates == 0 {
        return Finding::warning(SUBJECT, found, "nothing: it tells no rates, and the box goes by what crosses");
    }
    Finding::fine(SUBJECT, found)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use evenair_packet::MacAddr;
    use evenair_telemetry::StationReading;

    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn responses_of_sources_become_findings() {
        let station = |kbps| StationReading { transmit_kbps: kbps, ..StationReading::new(MacAddr([2; 6])) };
        let answer = |kbps| Ok(Reading { stations: vec![station(kbps)], ..Reading::default() });
        assert_eq!(judge("a", answer(Some(54_000))).verdict, Verdict::Fine);
        assert_eq!(judge("a", answer(Some(0))).verdict, Verdict::Warning);
        assert_eq!(judge("a", Ok(Reading::default())).verdict, Verdict::Fine, "nobody may be there");
        let warnings = vec!["the agent (sysObjectID 1.3.6.1.4.1.9.1.1) has no table of stations".to_owned()];
        let without = judge("a", Ok(Reading { warnings, ..Reading::default() }));
        assert_eq!(without.verdict, Verdict::Warning);
        assert!(without.found.contains("0 stations") && without.found.contains("sysObjectID"), "{}", without.found);
        let silent = judge("snmp ap", Err(TelemetryError::Silent(Duration::from_secs(2))));
        assert!(silent.found.contains("snmp ap: no answer") && silent.mend.is_some(), "{silent:?}");
    }
}
