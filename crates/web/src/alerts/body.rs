//! Posts to webhooks: body, content type, and headers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenair_api::health::Level;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::notice::{Notice, Words, date};
use crate::receiver::BodyForm;
use crate::secret::hex;

/// Longest message of ntfy, in bytes; it takes longer ones as files.
const NTFY_LONGEST: usize = 4000;
/// Version of the generic format.
const VERSION: u32 = 1;

/// Header with the time of the signature, in seconds since 1970.
pub(crate) const TIMESTAMP: &str = "X-Evenair-Timestamp";
/// Header with the signature of time and body.
pub(crate) const SIGNATURE: &str = "X-Evenair-Signature";
/// Header with the id of the message, for deduplication.
pub(crate) const DELIVERY: &str = "X-Evenair-Delivery";

/// Metadata of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope<'a> {
    /// The id of the message.
    pub(crate) id: &'a str,
    /// The name of the box.
    pub(crate) site: &'a str,
    /// When it was created, in seconds since 1970.
    pub(crate) made_s: u64,
}

/// A post.
#[derive(Debug, PartialEq)]
pub(crate) struct Post {
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

/// A message in the webhook's format.
pub(crate) fn post(form: BodyForm, notice: &Notice, envelope: &Envelope<'_>) -> Post {
    let words = notice.words(envelope.site);
    let body = match form {
        BodyForm::Generic => generic(notice, &words, envelope),
        BodyForm::Slack => slack(notice, &words),
        BodyForm::Teams => teams(notice, &words),
        BodyForm::Ntfy => return ntfy(notice, words),
    };
    Post { content_type: "application/json", headers: vec![], body: body.to_string() }
}

/// The generic format, for programs.
fn generic(notice: &Notice, words: &Words, envelope: &Envelope<'_>) -> Value {
    let (kind, alerts) = match notice {
        Notice::Alert(items) => ("alert", json!(items)),
        Notice::Weekly(_) => ("weekly", json!([])),
        Notice::Test => ("test", json!([])),
    };
    json!({
        "v": VERSION,
        "kind": kind,
        "id": envelope.id,
        "site": envelope.site,
        "at": envelope.made_s,
        "level": notice.level(),
        "title": words.title,
        "text": words.text,
        "alerts": alerts,
    })
}

/// <https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks/>
fn slack(notice: &Notice, words: &Words) -> Value {
    // Slack's markup requires only these three characters to be escaped.
    let plain = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mark = match notice.level() {
        Level::Bad => ":red_circle: ",
        Level::Watch => ":large_yellow_circle: ",
        Level::Good => ":large_green_circle: ",
    };
    json!({ "text": format!("{mark}{}\n{}", plain(&words.title), plain(&words.text)).trim_end() })
}

/// An adaptive card, as workflows of Teams take it:
/// <https://learn.microsoft.com/en-us/connectors/teams/#microsoft-teams-webhook>
fn teams(notice: &Notice, words: &Words) -> Value {
    let colour = match notice.level() {
        Level::Bad => "attention",
        Level::Watch => "warning",
        Level::Good => "good",
    };
    let title = json!({ "type": "TextBlock", "text": words.title, "wrap": true, "weight": "bolder", "color": colour });
    // Single newlines are ignored there.
    let text = json!({ "type": "TextBlock", "text": words.text.replace('\n', "\n\n"), "wrap": true });
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": [title, text],
            },
        }],
    })
}

/// <https://docs.ntfy.sh/publish/>
fn ntfy(notice: &Notice, words: Words) -> Post {
    let (priority, tag) = match notice.level() {
        Level::Bad => ("high", "red_circle"),
        Level::Watch => ("default", "yellow_circle"),
        Level::Good => ("default", "green_circle"),
    };
    let headers = vec![("Title", header(&words.title)), ("Priority", priority.into()), ("Tags", tag.into())];
    let mut body = words.text;
    let end = (0..=NTFY_LONGEST.min(body.len())).rev().find(|&at| body.is_char_boundary(at)).unwrap_or(0);
    body.truncate(end);
    Post { content_type: "text/plain; charset=utf-8", headers, body }
}

/// A header value: as it is, or in base64 if it is not ASCII (RFC 2047).
fn header(text: &str) -> String {
    let plain = |c: char| c.is_ascii_graphic() || c == ' ';
    if text.chars().all(plain) { text.to_owned() } else { format!("=?UTF-8?B?{}?=", STANDARD.encode(text)) }
}

/// The signature of a post: HMAC-SHA256 of the time, a dot and the body, so that an old post cannot be replayed as a new one.
pub(crate) fn signature(secret: &[u8], at_s: u64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("any length is a key");
    mac.update(format!("{at_s}.").as_bytes());
    mac.update(body.as_bytes());
    format!("sha256={}", hex(&mac.finalize().into_bytes()))
}

/// The footer of a mail: the message's id and creation time.
pub(crate) fn footer(envelope: &Envelope<'_>) -> String {
    format!("{}, {} UTC, message {}", envelope.site, date(envelope.made_s), envelope.id)
}

#[cfg(test)]
mod tests {
    use evenair_api::health::SubjectKind;

    use super::super::due::{Event, Item};
    use super::*;

    const ENVELOPE: Envelope<'static> = Envelope { id: "0a1b", site: "hall", made_s: 1_764_230_000 };

    fn item(event: Event, level: Level, sentence: &str) -> Item {
        Item {
            event,
            code: "starving".into(),
            level,
            kind: SubjectKind::Station,
            id: "02:00:00:00:00:01".into(),
            name: "Änne".into(),
            since_s: 1_764_229_000,
            sentence: sentence.into(),
            value: 0.4,
            limit: 5.1,
            unit: "Mb/s".into(),
            remedy: "see <top>".into(),
        }
    }

    fn sample() -> Notice {
        Notice::Alert(vec![
            item(Event::Recovered, Level::Good, "slow-link is over: Bo"),
            item(Event::Raised, Level::Bad, "Änne & Bo starve"),
        ])
    }

    #[test]
    fn the_generic_body_has_all_values() {
        let body: Value = serde_json::from_str(&post(BodyForm::Generic, &sample(), &ENVELOPE).body).expect("JSON");
        assert_eq!((&body["kind"], &body["level"], &body["id"]), (&json!("alert"), &json!("bad"), &json!("0a1b")));
        assert_eq!(body["title"], "hall: bad: Änne & Bo starve (and 1 more)");
        assert_eq!(body["alerts"][0]["event"], "recovered");
        let raised = &body["alerts"][1];
        assert_eq!(
            (&raised["code"], &raised["value"], &raised["kind"]),
            (&json!("starving"), &json!(0.4), &json!("station"))
        );
        let test: Value = serde_json::from_str(&post(BodyForm::Generic, &Notice::Test, &ENVELOPE).body).expect("JSON");
        assert_eq!((&test["kind"], &test["alerts"]), (&json!("test"), &json!([])));
    }

    #[test]
    fn chats_get_text() {
        let slack: Value = serde_json::from_str(&post(BodyForm::Slack, &sample(), &ENVELOPE).body).expect("JSON");
        let text = slack["text"].as_str().expect("text");
        assert!(text.starts_with(":red_circle: hall: bad: Änne &amp; Bo starve"), "{text}");
        assert!(text.contains("-> see &lt;top&gt;") || text.contains("-&gt; see &lt;top&gt;"), "{text}");
        let teams: Value = serde_json::from_str(&post(BodyForm::Teams, &sample(), &ENVELOPE).body).expect("JSON");
        let card = &teams["attachments"][0]["content"];
        assert_eq!((&card["type"], &card["body"][0]["color"]), (&json!("AdaptiveCard"), &json!("attention")));
        let ntfy = post(BodyForm::Ntfy, &sample(), &ENVELOPE);
        assert!(ntfy.headers[0].1.starts_with("=?UTF-8?B?") && ntfy.headers[1].1 == "high", "{ntfy:?}");
        assert!(ntfy.body.contains("Änne & Bo starve (since 2025-11-27 07:36 UTC)\n-> see <top>"), "{}", ntfy.body);
    }

    #[test]
    fn headers_cannot_be_added_by_a_name() {
        let evil = Notice::Alert(vec![item(Event::Raised, Level::Bad, "a\r\nX-Evil: 1")]);
        let title = &post(BodyForm::Ntfy, &evil, &ENVELOPE).headers[0].1;
        assert!(!title.contains(['\r', '\n']), "{title}");
    }

    /// The value comes from `printf '1764230000.{}' | openssl dgst -sha256 -hmac secret`.
    #[test]
    fn the_signature_is_that_of_other_programs() {
        let expected = "sha256=12fb22c4c095d824edbd0ba9198262805e7a4f6993244447ad28c22fdc2ed216";
        assert_eq!(signature(b"secret", 1_764_230_000, "{}"), expected);
        assert_ne!(signature(b"secret", 1_764_230_001, "{}"), expected);
    }
}
