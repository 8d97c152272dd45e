//! Checked requests of the watch socket: an error names the valid values.

use evenair_api::watch::Part;
use evenair_packet::MacAddr;
use evenair_reader::closest;
use serde_json::{Map, Value};

use super::rings::{Range, Whose};

/// The kinds of requests, by their keys.
const KINDS: [&str; 3] = ["watch", "history", "flows_of"];
/// Longest time between two lines, in seconds.
const LONGEST: u64 = 60;

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Lines with these parts, at this interval in seconds.
    Lines(Parts, u64),
    History(Whose, Range),
    /// The flows of a station, by its MAC address.
    FlowsOf(String),
}

/// A set of parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts(u16);

impl Parts {
    pub(super) const fn has(self, part: Part) -> bool {
        self.0 & 1 << part as u8 != 0
    }

    const fn with(self, part: Part) -> Self {
        Self(self.0 | 1 << part as u8)
    }
}

/// Parses a line of a client.
///
/// # Errors
/// The error, with the valid values.
pub(super) fn parse(line: &[u8]) -> Result<Wanted, String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| format!("not a request: {error}"))?;
    let Value::Object(request) = value else { return Err(not_one_of("request", "", &KINDS)) };
    let kinds: Vec<_> = KINDS.into_iter().filter(|kind| request.contains_key(*kind)).collect();
    match *kinds {
        ["watch"] => {
            check_keys(&request, &["watch", "every"])?;
            Ok(Wanted::Lines(parts(&request["watch"])?, request.get("every").map_or(Ok(1), every)?))
        }
        ["history"] => history(&request),
        ["flows_of"] => {
            check_keys(&request, &["flows_of"])?;
            Ok(Wanted::FlowsOf(mac("flows_of", &request["flows_of"])?))
        }
        [] => Err(not_one_of("request", request.keys().next().map_or("", String::as_str), &KINDS)),
        _ => Err(format!("{} in one request: each has a line of its own", kinds.join(" and "))),
    }
}

/// The error for a word that is not among the valid ones.
fn not_one_of(what: &str, word: &str, words: &[&str]) -> String {
    let hint = closest(word, words.iter().copied()).map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
    format!("no {what} {:?}{hint}; {what}s are: {}", shortened(word), words.join(", "))
}

/// The beginning of a client's text.
fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

fn check_keys(request: &Map<String, Value>, keys: &[&str]) -> Result<(), String> {
    match request.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(not_one_of("key", key, keys)),
        None => Ok(()),
    }
}

fn text<'a>(key: &str, value: &'a Value, right: &str) -> Result<&'a str, String> {
    value
        .as_str()
        .ok_or_else(|| format!("{key}: {} is no text; right would be: {right}", shortened(&value.to_string())))
}

fn parts(value: &Value) -> Result<Parts, String> {
    let words = Part::ALL.map(Part::word);
    let list = value.as_array().filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| format!("watch: a list of parts, of which there are: {}", words.join(", ")))?;
    list.iter().try_fold(Parts::default(), |parts, word| {
        let word = text("watch", word, "[\"totals\"]")?;
        let part = Part::ALL.into_iter().find(|part| part.word() == word);
        part.map(|part| parts.with(part)).ok_or_else(|| not_one_of("part", word, &words))
    })
}

fn every(value: &Value) -> Result<u64, String> {
    let right = "whole seconds, \"1 s\" to \"60 s\"";
    let text = text("every", value, right)?;
    let seconds = text.strip_suffix('s').and_then(|number| number.trim_end().parse().ok());
    let wrong = || format!("every: {:?}; right would be: {right}", shortened(text));
    seconds.filter(|seconds| (1..=LONGEST).contains(seconds)).ok_or_else(wrong)
}

fn history(request: &Map<String, Value>) -> Result<Wanted, String> {
    check_keys(request, &["history", "domain", "station"])?;
    let right = "\"10 min\" or \"24 h\"";
    let range = match text("history", &request["history"], right)? {
        "10 min" => Range::TenMinutes,
        "24 h" => Range::Day,
        other => return Err(format!("history: {:?}; right would be: {right}", shortened(other))),
    };
    let whose = match (request.get("domain"), request.get("station")) {
        (None, None) => Whose::Box,
        (Some(domain), None) => Whose::Domain(text("domain", domain, "the name of a contention domain")?.into()),
        (None, Some(_)) if range == Range::Day => {
            return Err("history: of a station there are \"10 min\"".into());
        }
        (None, Some(station)) => Whose::Station(mac("station", station)?),
        (Some(_), Some(_)) => return Err("domain and station: one of them".into()),
    };
    Ok(Wanted::History(whose, range))
}

fn mac(key: &str, value: &Value) -> Result<String, String> {
    let right = "a MAC address such as \"02:00:00:00:00:01\"";
    let text = text(key, value, right)?;
    let address: Result<MacAddr, _> = text.parse();
    let wrong = |_| format!("{key}: {:?}; right would be: {right}", shortened(text));
    address.map(|address| address.to_string()).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        parse(line.as_bytes()).expect_err(line)
    }

    #[test]
    fn the_documented_requests_are_read() {
        let all = r#"{"watch":["health","totals","domains","access_points","stations","classes","calls","events","histograms"],"every":"5 s"}"#;
        let Ok(Wanted::Lines(parts, 5)) = parse(all.as_bytes()) else { panic!("lines") };
        assert!(Part::ALL.iter().all(|part| parts.has(*part)));
        let Ok(Wanted::Lines(parts, 1)) = parse(br#"{"watch":["calls"]}"#) else { panic!("lines") };
        assert_eq!(Part::ALL.into_iter().filter(|part| parts.has(*part)).collect::<Vec<_>>(), [Part::Calls]);
        assert_eq!(parse(br#"{"history":"10 min"}"#), Ok(Wanted::History(Whose::Box, Range::TenMinutes)));
        let hall = Wanted::History(Whose::Domain("hall".into()), Range::Day);
        assert_eq!(parse(br#"{"history":"24 h","domain":"hall"}"#), Ok(hall));
        let flows = Wanted::FlowsOf("02:00:00:00:00:0a".into());
        assert_eq!(parse(br#"{"flows_of":"02:00:00:00:00:0A"}"#), Ok(flows));
    }

    #[test]
    fn errors_name_the_valid_values() {
        let parts = "parts are: health, totals, domains, access_points, stations, classes, calls, events, histograms";
        assert_eq!(error(r#"{"watch":["helth"]}"#), format!("no part \"helth\" (did you mean health?); {parts}"));
        assert_eq!(error(r#"{"watch":["x"]}"#), format!("no part \"x\"; {parts}"));
        for (line, said) in [
            ("", "not a request: "),
            ("[1]", "requests are: watch, history, flows_of"),
            (r#"{"wach":["totals"]}"#, "no request \"wach\" (did you mean watch?)"),
            (r#"{"watch":["totals"],"evry":"1 s"}"#, "no key \"evry\" (did you mean every?)"),
            (r#"{"watch":["totals"],"history":"10 min"}"#, "watch and history in one request"),
            (r#"{"watch":[]}"#, "a list of parts"),
            (r#"{"watch":"totals"}"#, "a list of parts"),
            (r#"{"watch":[7]}"#, "watch: 7 is no text"),
            (r#"{"watch":["totals"],"every":"0 s"}"#, "\"1 s\" to \"60 s\""),
            (r#"{"watch":["totals"],"every":"61 s"}"#, "\"1 s\" to \"60 s\""),
            (r#"{"watch":["totals"],"every":"0.5 s"}"#, "\"1 s\" to \"60 s\""),
            (r#"{"watch":["totals"],"every":1}"#, "every: 1 is no text"),
            (r#"{"history":"1 h"}"#, "\"10 min\" or \"24 h\""),
            (r#"{"history":"24 h","station":"02:00:00:00:00:01"}"#, "of a station there are \"10 min\""),
            (r#"{"history":"10 min","station":"anne"}"#, "a MAC address such as"),
            (r#"{"flows_of":"anne"}"#, "a MAC address such as"),
        ] {
            assert!(error(line).contains(said), "{line}: {}", error(line));
        }
        let long = format!(r#"{{"watch":["{}"]}}"#, "x".repeat(60_000));
        assert!(error(&long).len() < 300);
    }

    proptest::proptest! {
        #[test]
        fn changed_requests_are_read_or_refused_in_few_words(at in 0..90_usize, bytes in proptest::collection::vec(0..=255_u8, 0..4)) {
            for line in [
                &br#"{"watch":["health","totals","domains","access_points","stations","classes","calls","events"],"every":"5 s"}"#[..],
                br#"{"history":"10 min","station":"02:00:00:00:00:01"}"#,
                br#"{"flows_of":"02:00:00:00:00:01"}"#,
            ] {
                let mut line = line.to_vec();
                let at = at % line.len();
                line.splice(at..(at + 1), bytes.clone());
                if let Err(why) = parse(&line) {
                    proptest::prop_assert!(!why.is_empty() && why.len() < 600, "{}", why);
                }
            }
        }
    }
}
