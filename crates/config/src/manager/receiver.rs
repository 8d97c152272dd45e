//! The configuration of control at the receiver: `[manager.receiver]`.

use evenair_manager::{DelayLaw, ReceiverConfig, WindowLaw};
use evenair_reader::{OrDefault, Problems, Written, ranges};
use evenair_units::{Bytes, Limit, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

ranges! {
    /// Windows, up to `ReceiverConfig::MAX_WINDOW` or `MAX_SEGMENTS` of the manager.
    pub Windows: Limit = "1 packet or 1460 bytes up to 1 GiB" if is_window;
    /// Waiting times and delays, up to `ReceiverConfig::MAX_DELAY` of the manager.
    pub ReceiverTimes: Span = "above 0 and up to 10 s";
}

/// Control at the receiver: the box changes windows and ACK delays in transit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReceiverSpec {
    /// Largest window that a receiver may advertise, in packets (segments) or bytes. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Written<Limit, Windows>>,
    /// The access point's buffer, in packets or bytes: a receiver may advertise an equal part of it for each TCP flow, so that
    /// the access point loses no packet. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ap_buffer: Option<Written<Limit, Windows>>,
    /// Waiting time in the access point to which windows are adapted. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_target: Option<Written<Span, ReceiverTimes>>,
    /// Also limit the windows of uploads, whose receivers are on the wired side. Default: true with ap_buffer, else false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uploads: Option<Written<bool>>,
    /// How long ACKs of downloads are held. Default: not held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Written<Span, ReceiverTimes>>,
    /// Waiting time in the access point to which the delay of download ACKs is adapted. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_target: Option<Written<Span, ReceiverTimes>>,
}

impl ReceiverSpec {
    pub(crate) fn check(&self, problems: &mut Problems) -> Option<ReceiverConfig> {
        let (window, ap_buffer) = (self.window.get_optional(problems), self.ap_buffer.get_optional(problems));
        let window_target = self.window_target.get_optional(problems);
        let (delay, delay_target) = (self.delay.get_optional(problems), self.delay_target.get_optional(problems));
        let uploads = self.uploads.get_or(self.ap_buffer.is_some(), problems);
        let together = self.check_together(problems);
        let windows =
            [window?.map(WindowLaw::Fixed), ap_buffer?.map(WindowLaw::ShareOf), window_target?.map(WindowLaw::Target)];
        let window = windows.into_iter().flatten().next();
        let delay = delay?.map(DelayLaw::Fixed).or(delay_target?.map(DelayLaw::Target));
        let uploads = uploads?;
        together.then_some(ReceiverConfig { window, delay, uploads })
    }

    /// Whether its keys are compatible.
    fn check_together(&self, problems: &mut Problems) -> bool {
        let windows = [
            self.window.as_ref().map(Written::span),
            self.ap_buffer.as_ref().map(Written::span),
            self.window_target.as_ref().map(Written::span),
        ];
        let delays = [self.delay.as_ref().map(Written::span), self.delay_target.as_ref().map(Written::span)];
        let [windows, delays] = [&windows[..], &delays[..]].map(|keys| keys.iter().flatten().collect::<Vec<_>>());
        let mut right = true;
        let mut refuse = |span, what: &str, allowed: &str| {
            problems.add(span, what, allowed);
            right = false;
        };
        if let Some(&second) = windows.get(1) {
            refuse(second.clone(), "windows follow one law", "one of window, ap_buffer and window_target");
        }
        if let Some(&second) = delays.get(1) {
            refuse(second.clone(), "ACKs are held by one law", "one of delay and delay_target");
        }
        if self.window_target.is_some() && self.delay_target.is_some() {
            let what = "windows and ACKs would both be steered by one queue";
            refuse(self.delay_target.place(), what, "window_target or delay_target");
        }
        match (windows.is_empty(), delays.is_empty()) {
            (true, true) => {
                let what = "control at the receiver is to change neither windows nor ACKs";
                refuse(self.uploads.place(), what, "window = \"10 packets\" in [manager.receiver], for instance");
            }
            (true, false) if self.uploads.is_some() => {
                refuse(self.uploads.place(), "no windows are limited", "only with window, ap_buffer or window_target");
            }
            _ => {}
        }
        right
    }
}

fn is_window(limit: &Limit) -> bool {
    match *limit {
        Limit::Packets(packets) => (1..=ReceiverConfig::MAX_SEGMENTS).contains(&packets),
        Limit::Bytes(bytes) => (Bytes(1460)..=ReceiverConfig::MAX_WINDOW).contains(&bytes),
        Limit::Unlimited => false,
    }
}

#[cfg(test)]
mod tests {
    use evenair_reader::{self as reader, ConfigError};
    use evenair_wifi::{Phy, Standard};

    use super::*;
    use crate::ManagerSpec;

    fn check(lines: &str) -> Result<ReceiverConfig, ConfigError> {
        let text = format!("[receiver]\n{lines}");
        let (spec, document, mut problems) = reader::read::<ManagerSpec>(&text, "box.toml", &[])?;
        let config = spec.check(&Phy::default_for(Standard::Dot11b), None, &mut problems);
        document.verdict(problems)?;
        let written = toml::to_string(&spec).expect("it can be written");
        assert_eq!(reader::read::<ManagerSpec>(&written, "again.toml", &[])?.0, spec);
        Ok(config.expect("no problems, so a configuration").receiver.expect("there is one"))
    }

    #[test]
    fn each_law_is_read() {
        let none = ReceiverConfig { window: None, delay: None, uploads: false };
        let (window, time) = (|law| Some(law), Span::from_millis(50));
        for (lines, config) in [
            ("window = \"5 packets\"", ReceiverConfig { window: window(WindowLaw::Fixed(Limit::Packets(5))), ..none }),
            (
                "window = \"30 kB\"\nuploads = true\ndelay = \"50 ms\"",
                ReceiverConfig {
                    window: window(WindowLaw::Fixed(Limit::Bytes(Bytes(30_000)))),
                    delay: Some(DelayLaw::Fixed(time)),
                    uploads: true,
                },
            ),
            (
                "ap_buffer = \"100 packets\"",
                ReceiverConfig { window: window(WindowLaw::ShareOf(Limit::Packets(100))), uploads: true, ..none },
            ),
            ("window_target = \"50 ms\"", ReceiverConfig { window: window(WindowLaw::Target(time)), ..none }),
            ("delay_target = \"50 ms\"", ReceiverConfig { delay: Some(DelayLaw::Target(time)), ..none }),
        ] {
            assert_eq!(check(lines).unwrap(), config, "{lines}");
        }
    }

    #[test]
    fn impossible_values_are_refused_with_their_positions() {
        for (lines, part) in [
            ("", "neither windows nor ACKs"),
            ("uploads = true", "neither windows nor ACKs"),
            ("uploads = true\ndelay = \"1 ms\"", "box.toml:2:11: receiver.uploads: no windows are limited"),
            ("window = \"0 packets\"", "1 packet or 1460 bytes"),
            ("window = \"1 kB\"", "1 packet or 1460 bytes"),
            ("window = \"unlimited\"", "1 packet or 1460 bytes"),
            ("ap_buffer = \"2 GB\"", "up to 1 GiB"),
            ("window = \"5 packets\"\nap_buffer = \"100 packets\"", "receiver.ap_buffer: windows follow one law"),
            ("delay = \"1 ms\"\ndelay_target = \"1 ms\"", "ACKs are held by one law"),
            ("window_target = \"1 ms\"\ndelay_target = \"1 ms\"", "steered by one queue"),
            ("delay = \"0 ms\"", "above 0 and up to 10 s"),
            ("delay = \"11 s\"", "above 0 and up to 10 s"),
            ("windows = 3", "windows"),
        ] {
            let error = check(lines).expect_err(lines).to_string();
            assert!(error.contains(part), "{lines}: {error}");
        }
    }
}
