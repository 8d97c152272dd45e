//! Events of the history with their values, and as text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::string_enum;
use crate::{Codec, Mode, ModeCommand, SpeechStatus};

string_enum! {
    /// A step of the guard against harm.
    pub enum GuardStep {
        /// Nothing is held for a moment, to see whether more is carried.
        #[default]
        Opened = "opened",
        /// No more was carried when nothing was held: packets are held again.
        Restored = "restored",
        /// Nothing is held for two seconds, to measure what is carried without the box.
        Measuring = "measuring",
        /// Much more was carried without holding: the box has bypassed itself.
        Bypassed = "bypassed",
        /// The box is inserted again, to see whether it may help now.
        Trying = "trying",
        /// No harm for ten minutes: the box stays inserted.
        Proven = "proven",
    }
}

/// Who caused a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Author {
    /// A user, on the control socket.
    User {
        /// The user's number.
        uid: u32,
        /// The user's name in /etc/passwd.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The guard against harm.
    Guard,
    /// A signal, as when the service is stopped.
    Signal,
    /// The start of the box.
    Start,
}

impl Author {
    /// The end of a text that names the author.
    fn words(&self) -> String {
        match self {
            Self::User { uid, name: Some(name) } => format!(" by {name} (uid {uid})"),
            Self::User { uid, name: None } => format!(" by uid {uid}"),
            Self::Guard => " by the guard".into(),
            Self::Signal => " by a signal".into(),
            Self::Start => " at the start".into(),
        }
    }
}

/// Something that has happened. Stations are named by their MAC addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The box has started.
    Start {
        /// The mode that it starts in.
        mode: Mode,
        /// The last command about the mode before; absent: none since the mode of the configuration was changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_command: Option<ModeCommand>,
        /// The process before ended in order, or there was none.
        clean: bool,
    },
    /// The box is now in this mode.
    Mode {
        /// The mode.
        mode: Mode,
        /// Who caused it; absent: unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Author>,
    },
    /// A new configuration was taken.
    Reload {
        /// Who asked for it; absent: unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Author>,
    },
    /// A new configuration was not taken.
    Refused {
        /// Why it was not taken.
        error: String,
    },
    /// A station was seen for the first time that neither the configuration nor a report has named.
    Station {
        /// The station.
        station: String,
    },
    /// A station that cannot be held back takes more than its share of the medium, or no longer does.
    OverShare {
        /// The station.
        station: String,
        /// It does.
        over: bool,
    },
    /// The guard against harm has taken a step.
    Guard {
        /// The contention domain.
        domain: String,
        /// What it did.
        step: GuardStep,
        /// IP-level megabits per second that were carried before.
        before_mbps: f64,
        /// The same while packets wait.
        held_mbps: f64,
    },
    /// Stations are in other contention domains, by the reported channels of access points.
    Domains {
        /// Channels that are a domain each; 0: all stations are in one domain.
        channels: usize,
    },
    /// Frames to groups exceeded their share of the medium, and some were dropped: at first, and then once a minute.
    GroupLimited {
        /// The contention domain.
        domain: String,
        /// MAC address of the group.
        group: String,
        /// Who sent them.
        station: String,
    },
    /// The observed traffic contradicts the reported rate of a station: the rate is not used for a while.
    ReportContradicted {
        /// The station.
        station: String,
        /// The reported PHY rate, in megabits per second, if it is known.
        rate_mbps: Option<f64>,
    },
    /// A claim of an address that another, present one uses. It is not accepted.
    AddressContested {
        /// Who claims it.
        station: String,
        /// The IP address.
        address: String,
        /// MAC address of whose it is.
        holder: String,
    },
    /// A call was found and admitted: it has strict priority.
    CallAdmitted {
        /// The station.
        station: String,
        /// IP address of the other end.
        peer: String,
        /// The codec, as far as its packets show.
        codec: Codec,
    },
    /// A call was found and refused: it exceeds a limit, and gets no priority.
    CallRefused {
        /// The station.
        station: String,
        /// IP address of the other end.
        peer: String,
        /// The codec, as far as its packets show.
        codec: Codec,
        /// Why, in words.
        why: String,
    },
    /// A call has moved to another contention domain with its station, and keeps its priority there.
    CallRoamed {
        /// The station.
        station: String,
        /// IP address of the other end.
        peer: String,
        /// The codec, as far as its packets show.
        codec: Codec,
        /// The contention domain that it is in now.
        domain: String,
        /// Why it would have been refused had it begun there, in words.
        over: Option<String>,
    },
    /// A call has been silent for long, or turned out to be something else.
    CallEnded {
        /// The station.
        station: String,
        /// IP address of the other end.
        peer: String,
        /// The codec, as far as its packets show.
        codec: Codec,
        /// It had strict priority.
        admitted: bool,
        /// Seconds since it was found.
        lasted_s: f64,
        /// How it was heard at the station.
        down: Box<SpeechStatus>,
        /// How the station was heard.
        up: Box<SpeechStatus>,
    },
    /// The bridge cannot carry the traffic any more, or can again.
    FailOpen {
        /// It can.
        available: bool,
        /// Why it cannot.
        why: Vec<String>,
    },
    /// The ports are no longer what the box can work with.
    Ports {
        /// What is wrong, in words.
        text: String,
    },
    /// An event of a box that had no fields for it.
    #[serde(untagged)]
    InWords {
        /// What, in one word.
        name: String,
        /// The station that it is about.
        station: Option<String>,
        /// The rest, in words.
        text: String,
    },
}

impl Event {
    /// Its tag in JSON.
    pub fn name(&self) -> &str {
        match self {
            Self::Start { .. } => "start",
            Self::Mode { .. } => "mode",
            Self::Reload { .. } => "reload",
            Self::Refused { .. } => "refused",
            Self::Station { .. } => "station",
            Self::OverShare { .. } => "over-share",
            Self::Guard { .. } => "guard",
            Self::Domains { .. } => "domains",
            Self::GroupLimited { .. } => "group-limited",
            Self::ReportContradicted { .. } => "report-contradicted",
            Self::AddressContested { .. } => "address-contested",
            Self::CallAdmitted { .. } => "call-admitted",
            Self::CallRefused { .. } => "call-refused",
            Self::CallRoamed { .. } => "call-roamed",
            Self::CallEnded { .. } => "call-ended",
            Self::FailOpen { .. } => "fail-open",
            Self::Ports { .. } => "ports",
            Self::InWords { name, .. } => name,
        }
    }

    /// MAC address of its station, if it is about one.
    pub fn station(&self) -> Option<&str> {
        match self {
            Self::Start { .. }
            | Self::Mode { .. }
            | Self::Reload { .. }
            | Self::Refused { .. }
            | Self::Guard { .. }
            | Self::Domains { .. }
            | Self::FailOpen { .. }
            | Self::Ports { .. } => None,
            Self::Station { station }
            | Self::OverShare { station, .. }
            | Self::GroupLimited { station, .. }
            | Self::ReportContradicted { station, .. }
            | Self::AddressContested { station, .. }
            | Self::CallAdmitted { station, .. }
            | Self::CallRefused { station, .. }
            | Self::CallRoamed { station, .. }
            | Self::CallEnded { station, .. } => Some(station),
            Self::InWords { station, .. } => station.as_deref(),
        }
    }

    /// Its text, without name and station.
    pub fn text(&self) -> String {
        match self {
            Self::Start { mode, last_command, clean } => start_text(*mode, *last_command, *clean),
            Self::Mode { mode, by } => with_author(mode.word(), by.as_ref()),
            Self::Reload { by } => with_author("reload", by.as_ref()),
            Self::Refused { error: text } | Self::Ports { text } | Self::InWords { text, .. } => text.clone(),
            Self::Station { .. } => "seen for the first time".into(),
            Self::OverShare { over: true, .. } => "takes more than its share".into(),
            Self::OverShare { over: false, .. } => "takes no more than its share again".into(),
            Self::Guard { step, before_mbps, held_mbps, .. } => guard_text(*step, *before_mbps, *held_mbps),
            Self::Domains { channels: 0 } => "by reported channels, all stations are in one contention domain".into(),
            Self::Domains { channels } => {
                format!("by reported channels of access points, stations are in {channels} contention domains")
            }
            Self::GroupLimited { group, .. } => {
                format!("frames to {group} exceed the share of groups, and some are dropped")
            }
            Self::ReportContradicted { rate_mbps, .. } => {
                format!("{} was reported, and is set aside", rate_text(*rate_mbps))
            }
            Self::AddressContested { address, holder, .. } => format!("claims {address}, which {holder} uses"),
            Self::FailOpen { available: true, .. } => "fail-open is back: the bridge can carry the traffic".into(),
            Self::FailOpen { why, .. } => format!("fail-open is lost: {}", why.join("; and ")),
            Self::CallAdmitted { .. } | Self::CallRefused { .. } | Self::CallRoamed { .. } | Self::CallEnded { .. } => {
                self.call_text()
            }
        }
    }

    /// The text of an event about a call.
    fn call_text(&self) -> String {
        match self {
            Self::CallAdmitted { peer, codec, .. } => format!("with {peer}, {codec}"),
            Self::CallRefused { peer, codec, why, .. } => format!("with {peer}, {codec}: {why}"),
            Self::CallRoamed { peer, codec, domain, over, .. } => {
                let over = over.as_ref().map_or_else(String::new, |why| format!(", one too many there: {why}"));
                format!("with {peer}, {codec}: to {domain}{over}")
            }
            Self::CallEnded { peer, codec, lasted_s, down, up, .. } => {
                let [down, up] = [down, up].map(|speech| speech.in_short());
                format!("with {peer}, {codec}, {lasted_s:.1} s; down: {down}; up: {up}")
            }
            _ => String::new(),
        }
    }
}

fn with_author(word: &str, by: Option<&Author>) -> String {
    format!("{word}{}", by.map_or_else(String::new, Author::words))
}

/// The text of a start of the box.
fn start_text(mode: Mode, last_command: Option<ModeCommand>, clean: bool) -> String {
    let end = if clean { "after a stop or a reboot" } else { "after an unclean end: a crash, a kill or a power cut" };
    match last_command {
        Some(command) if command.mode() != mode => format!("{mode}, although the last command was {command}, {end}"),
        _ if clean => mode.to_string(),
        _ => format!("{mode}, {end}"),
    }
}

/// A rate as text, to a tenth of a megabit per second.
fn rate_text(rate_mbps: Option<f64>) -> String {
    rate_mbps.map_or_else(|| "a rate".into(), |mbps| format!("{} Mb/s", (mbps * 10.0).round() / 10.0))
}

/// The text of a step of the guard against harm.
fn guard_text(step: GuardStep, before_mbps: f64, held_mbps: f64) -> String {
    let carried = format!("{held_mbps:.1} Mb/s are carried while packets wait, {before_mbps:.1} before");
    match step {
        GuardStep::Opened => format!("{carried}: nothing is held for a second or two, to see whether more is carried"),
        GuardStep::Restored => format!("{carried}, and no more when nothing was held: the box is not the cause"),
        GuardStep::Measuring => "nothing is held for two seconds, to measure what is carried without the box".into(),
        GuardStep::Bypassed => {
            format!(
                "{carried}, and much more without holding: the box bypasses itself; it tries again later, or after evenair insert"
            )
        }
        GuardStep::Trying => "inserted again by the guard, to see whether the box may help now".into(),
        GuardStep::Proven => "no harm for ten minutes: the box stays inserted".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{EventRecord, Record};

    fn station() -> String {
        "02:00:00:00:00:01".into()
    }

    /// An event of each kind, with its name and whether it is about a station.
    fn each() -> Vec<(Event, &'static str, bool)> {
        let (peer, codec, domain) = ("192.0.2.7", Codec::G711, "hall");
        let [peer, domain] = [peer, domain].map(str::to_owned);
        let step = GuardStep::Proven;
        let speech = Box::<SpeechStatus>::default;
        vec![
            (
                Event::Start { mode: Mode::Bypassed, last_command: Some(ModeCommand::Insert), clean: false },
                "start",
                false,
            ),
            (Event::Mode { mode: Mode::Inserted, by: Some(Author::Guard) }, "mode", false),
            (Event::Reload { by: Some(Author::User { uid: 1000, name: Some("anne".into()) }) }, "reload", false),
            (Event::Refused { error: "no".into() }, "refused", false),
            (Event::Station { station: station() }, "station", true),
            (Event::OverShare { station: station(), over: true }, "over-share", true),
            (Event::Guard { domain: domain.clone(), step, before_mbps: 20.0, held_mbps: 18.0 }, "guard", false),
            (Event::Domains { channels: 3 }, "domains", false),
            (
                Event::GroupLimited { domain: domain.clone(), group: "01:00:5e:00:00:fb".into(), station: station() },
                "group-limited",
                true,
            ),
            (Event::ReportContradicted { station: station(), rate_mbps: None }, "report-contradicted", true),
            (
                Event::AddressContested {
                    station: station(),
                    address: peer.clone(),
                    holder: "02:00:00:00:00:02".into(),
                },
                "address-contested",
                true,
            ),
            (Event::CallAdmitted { station: station(), peer: peer.clone(), codec }, "call-admitted", true),
            (
                Event::CallRefused { station: station(), peer: peer.clone(), codec, why: "too many".into() },
                "call-refused",
                true,
            ),
            (
                Event::CallRoamed { station: station(), peer: peer.clone(), codec, domain, over: None },
                "call-roamed",
                true,
            ),
            (
                Event::CallEnded {
                    station: station(),
                    peer,
                    codec,
                    admitted: true,
                    lasted_s: 2.0,
                    down: speech(),
                    up: speech(),
                },
                "call-ended",
                true,
            ),
            (Event::FailOpen { available: false, why: vec!["a".into(), "b".into()] }, "fail-open", false),
            (Event::Ports { text: "gone".into() }, "ports", false),
        ]
    }

    #[test]
    fn each_event_is_written_with_its_name_and_read_back() {
        for (event, name, is_of_a_station) in each() {
            assert_eq!((event.name(), event.station().is_some()), (name, is_of_a_station), "{event:?}");
            assert!(!event.text().is_empty() && !event.text().contains("02:00:00:00:00:01"), "{event:?}");
            let record = Record::Event(EventRecord { at_s: 7.5, event });
            let json = serde_json::to_value(&record).expect("serialises");
            assert_eq!((&json["kind"], &json["event"]), (&"event".into(), &name.into()), "{json}");
            assert_eq!(serde_json::from_value::<Record>(json).expect("reads"), record);
        }
    }

    #[test]
    fn texts_have_the_values() {
        let text = |name: &str| each().into_iter().find(|(_, other, _)| *other == name).expect("an event").0.text();
        assert_eq!(text("call-refused"), "with 192.0.2.7, g711: too many");
        assert_eq!(text("call-roamed"), "with 192.0.2.7, g711: to hall");
        assert!(text("call-ended").starts_with("with 192.0.2.7, g711, 2.0 s; down: R - MOS"), "{}", text("call-ended"));
        assert_eq!(
            text("start"),
            "bypassed, although the last command was insert, after an unclean end: a crash, a kill or a power cut"
        );
        assert_eq!(start_text(Mode::Bypassed, Some(ModeCommand::Bypass), true), "bypassed");
        assert_eq!(
            (text("mode"), text("reload")),
            ("inserted by the guard".into(), "reload by anne (uid 1000)".into())
        );
        assert_eq!(text("fail-open"), "fail-open is lost: a; and b");
        let guard =
            Event::Guard { domain: String::new(), step: GuardStep::Restored, before_mbps: 20.0, held_mbps: 18.0 };
        assert!(guard.text().starts_with("18.0 Mb/s are carried while packets wait, 20.0 before, and no more"));
        let rate = |rate_mbps| Event::ReportContradicted { station: station(), rate_mbps }.text();
        assert_eq!(rate(Some(143.444)), "143.4 Mb/s was reported, and is set aside");
        assert_eq!(rate(Some(54.0)), "54 Mb/s was reported, and is set aside");
        assert_eq!(rate(None), "a rate was reported, and is set aside");
    }
}
