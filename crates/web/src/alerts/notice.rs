//! A message to a receiver, independent of the target's format.

use evenair_api::health::Level;
use serde::{Deserialize, Serialize};

use super::due::{Event, Item};

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Notice {
    /// Reasons that are new, last, or have ended.
    Alert(Vec<Item>),
    /// The weekly summary, as text.
    Weekly(String),
    /// A test.
    Test,
}

/// A message as text.
#[derive(Debug, PartialEq)]
pub(crate) struct Words {
    /// Title in one line.
    pub(crate) title: String,
    /// Further lines; empty if the title is sufficient.
    pub(crate) text: String,
}

impl Notice {
    /// The worst level of its reasons; good if one has ended.
    pub(crate) fn level(&self) -> Level {
        match self {
            Self::Alert(items) => items.iter().map(|item| item.level).max().unwrap_or_default(),
            Self::Weekly(_) | Self::Test => Level::Good,
        }
    }

    /// The message as text; `site` is the name of the box.
    pub(crate) fn words(&self, site: &str) -> Words {
        match self {
            Self::Test => Words {
                title: format!("{site}: test of the alerts"),
                text: "This is a test. Alerts of this box come here.".into(),
            },
            Self::Weekly(text) => Words { title: format!("{site}: the last week"), text: text.clone() },
            Self::Alert(items) => {
                let first = items.iter().max_by_key(|item| item.level).map(line).unwrap_or_default();
                let others = match items.len() {
                    0 | 1 => String::new(),
                    count => format!(" (and {} more)", count - 1),
                };
                let texts: Vec<_> = items.iter().map(paragraph).collect();
                Words { title: format!("{site}: {first}{others}"), text: texts.join("\n\n") }
            }
        }
    }
}

fn line(item: &Item) -> String {
    match item.event {
        Event::Raised => format!("{}: {}", item.level, item.sentence),
        Event::Repeated => format!("still {}: {}", item.level, item.sentence),
        Event::Recovered => item.sentence.clone(),
    }
}

fn paragraph(item: &Item) -> String {
    let since = match item.since_s {
        0 => String::new(),
        since_s => format!(" (since {} UTC)", date(since_s)),
    };
    let remedy = if item.remedy.is_empty() { String::new() } else { format!("\n-> {}", item.remedy) };
    format!("{}{since}{remedy}", line(item))
}

/// A time in seconds since 1970: "2026-11-29 06:50".
pub(crate) fn date(unix_s: u64) -> String {
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(unix_s);
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.get(..16).unwrap_or_default().replace('T', " ")
}
