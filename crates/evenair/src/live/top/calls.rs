//! Calls, one line each, those with the lowest quality first.

use evenair_api::watch::Line;
use evenair_api::{CallStatus, SpeechStatus};

use super::text::{UNKNOWN, shortened};

/// Width of a line without the two endpoints of the call, in characters.
const NUMBERS: usize = 54;

/// The calls of a line of the feed.
pub fn lines(line: &Line, width: usize) -> Vec<String> {
    let ratings = |call: &CallStatus| [call.down.r_factor, call.up.r_factor];
    let worst = |call: &CallStatus| ratings(call).into_iter().flatten().fold(f64::INFINITY, f64::min);
    let mut calls: Vec<_> = line.calls.iter().flatten().collect();
    calls.sort_by(|a, b| worst(a).total_cmp(&worst(b)));
    let name = |mac: &str| {
        let station = line.stations.iter().flatten().find(|station| station.mac == mac);
        station.and_then(|station| station.name.clone()).unwrap_or_else(|| mac.to_owned())
    };
    let end = width.saturating_sub(NUMBERS) / 2;
    let text = |call: &CallStatus| {
        let state = if call.refused.is_some() { "REFUSED" } else { "call" };
        let ends = [shortened(&name(&call.station), end), shortened(&call.peer, end)].join(" - ");
        shortened(&format!("{state} {ends}  down {}  up {}", way(&call.down), way(&call.up)), width)
    };
    calls.into_iter().map(text).collect()
}

fn way(speech: &SpeechStatus) -> String {
    let rating = speech.r_factor.map_or_else(|| UNKNOWN.into(), |r| format!("{r:.0}"));
    format!("R {rating} loss {:.1} %", speech.loss_percent)
}

#[cfg(test)]
mod tests {
    use evenair_api::watch::Station;

    use super::*;

    #[test]
    fn the_call_that_is_heard_worst_comes_first() {
        let call = |peer: &str, r_factor| CallStatus {
            station: "02:00:00:00:00:01".into(),
            peer: peer.into(),
            down: SpeechStatus { r_factor: Some(90.0), ..SpeechStatus::default() },
            up: SpeechStatus { r_factor, loss_percent: 100.0, ..SpeechStatus::default() },
            ..CallStatus::default()
        };
        let refused = CallStatus { refused: Some("too many".into()), ..call("2001:db8:1:2:3:4:5:6", Some(61.25)) };
        let station = Station { mac: "02:00:00:00:00:01".into(), name: Some("anne".into()), ..Station::default() };
        let calls = Some(vec![call("10.0.0.1", None), refused]);
        let lines = lines(&Line { calls, stations: Some(vec![station]), ..Line::default() }, 80);
        assert_eq!(
            lines,
            [
                "REFUSED anne - 2001:d\u{2026}:4:5:6  down R 90 loss 0.0 %  up R 61 loss 100.0 %",
                "call anne - 10.0.0.1  down R 90 loss 0.0 %  up R - loss 100.0 %"
            ]
        );
    }
}
