//! The control socket of a running box: one JSON object per line, one reply per line.
//!
//! ```text
//! {"command":"insert"}                                                  {"ok":true}
//! {"command":"set-rate","mac":"02:00:00:00:00:01","rate_mbps":5.5}      {"ok":true}
//! {"command":"set-rate","mac":"02:00:00:00:00:01","mode":"HT MCS 7"}    {"ok":true}
//! {"command":"losses","access_point":"02:00:00:00:00:09","total":12} {"ok":true}
//! {"command":"status"}                                                  {"ok":true,"status":{...}}
//! {"command":"set-rate","mac":"02:00:00:00:00:01","rate_mbps":5}        {"ok":false,"error":"..."}
//! ```
//!
//! The server disconnects a client without a request for ten seconds, and sooner if others need its slot (`slots`). Errors in a
//! file that a request names are reported with line, column and key, but without the text of the line: the box may be able to
//! read files that its client may not.
//!
//! Separate threads serve the socket, so that neither a slow reader nor the formatting of JSON delays a packet: they request
//! only raw numbers from the loop.

mod door;
mod hangup;
mod packets;
mod requests;
mod server;
mod slots;
mod status;
mod telemetry;

pub(crate) use door::{Door, End, Purpose, Timed};
pub(crate) use hangup::Hangup;
pub(crate) use packets::log_balance;
pub(crate) use requests::RawLine;
pub use requests::{Line, MAX_LINE, Requests};
pub(crate) use server::{Parts, Server};
pub(crate) use status::status_of;

#[cfg(test)]
mod tests {
    use evenair_api::{Json, Request};

    #[test]
    fn requests_are_what_the_documentation_shows() {
        let parse = |text: &str| Request::from_json(text.as_bytes());
        assert_eq!(parse(r#"{"command":"insert"}"#).expect("right"), Request::Insert);
        assert_eq!(parse(r#"{"command":"observe"}"#).expect("right"), Request::Observe { force: false });
        assert!(
            parse(r#"{"command":"observe","mac":"02:00:00:00:00:01","rate_mbps":5.5}"#).is_err(),
            "its old meaning"
        );
        let rate = parse(r#"{"command":"set-rate","mac":"02:00:00:00:00:01","rate_mbps":5.5}"#).expect("right");
        assert_eq!(rate, Request::SetRate { mac: "02:00:00:00:00:01".into(), rate_mbps: Some(5.5), mode: None });
        assert!(parse(r#"{"command":"set-rate","mac":"02:00:00:00:00:01","rate":5.5}"#).is_err());
        let losses = parse(r#"{"command":"losses","access_point":"02:00:00:00:00:09","total":12}"#).expect("right");
        assert_eq!(losses, Request::Losses { access_point: "02:00:00:00:00:09".into(), total: 12 });
        let group = parse(r#"{"command":"group","mac":"02:00:00:00:00:01","group":"staff"}"#).expect("right");
        assert_eq!(group, Request::Group { mac: "02:00:00:00:00:01".into(), group: Some("staff".into()) });
        let at = parse(r#"{"command":"at","mac":"02:00:00:00:00:01","access_point":"hall"}"#).expect("right");
        assert_eq!(at, Request::At { mac: "02:00:00:00:00:01".into(), access_point: Some("hall".into()) });
        assert_eq!(parse(r#"{"command":"bypass","force":true}"#).expect("right"), Request::Bypass { force: true });
        assert!(parse(r#"{"command":"explode"}"#).is_err());
        assert_eq!(Request::Bypass { force: false }.to_json(), r#"{"command":"bypass"}"#);
    }
}
