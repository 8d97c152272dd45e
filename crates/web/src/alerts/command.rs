//! `evenair-web alert`: tests of receivers, and mutes.

use anyhow::{Context, Result, bail};
use evenair_api::health::Code;
use evenair_reader::{closest, did_you_mean};

use super::body::Envelope;
use super::mute::{Mute, Mutes};
use super::notice::Notice;
use super::sender::{load, site};
use crate::audit::{command, of_shell};
use crate::clock::Clock;
use crate::config::WebConfig;
use crate::receiver::code;
use crate::secret::{hex, random};

/// Checks the secrets and certificates of all receivers.
///
/// # Errors
/// The first that cannot be used, with the reason.
pub fn check_alerts(config: &WebConfig) -> Result<()> {
    load(config).map(drop)
}

/// Sends a test to the receiver of this name, or to all. Returns the name and the result of each.
///
/// # Errors
/// There is no such receiver, or none is configured; a secret or a certificate cannot be used.
pub fn test_alerts(config: &WebConfig, name: Option<&str>) -> Result<Vec<(String, Result<(), String>)>> {
    let names = config.alerts.iter().map(|receiver| &*receiver.name);
    if let Some(name) = name.filter(|name| !names.clone().any(|other| other == *name)) {
        let near = did_you_mean(closest(name, names.clone()));
        let all: Vec<_> = names.collect();
        bail!(
            "there is no alert {name:?}{near}; web.toml has {}",
            if all.is_empty() { "none".into() } else { all.join(", ") }
        );
    }
    if config.alerts.is_empty() {
        bail!("web.toml has no [[alert]]");
    }
    let (now_s, site) = (Clock::new().unix(), site(config));
    let mut results = Vec::new();
    for (own, sender) in load(config).context("run it with sudo, or correct web.toml")? {
        if name.is_none_or(|name| name == own) {
            let id = hex(&random::<8>());
            let sent = sender.send(&Notice::Test, &Envelope { id: &id, site: &site, made_s: now_s }, now_s);
            results.push((own, sent));
        }
    }
    Ok(results)
}

/// A mute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MuteRequest {
    /// Its code.
    pub code: String,
    /// Name, MAC address or id of its subject; `None`: any.
    pub subject: Option<String>,
}

impl MuteRequest {
    fn code(&self) -> Result<Code> {
        code(&self.code).map_err(anyhow::Error::msg)
    }
}

/// Mutes a code for `for_s` seconds, replacing an earlier mute of the same.
///
/// # Errors
/// There is no such code, or the state directory cannot be written.
pub fn mute(config: &WebConfig, request: &MuteRequest, for_s: u64) -> Result<Mute> {
    let code = request.code()?;
    let clock = Clock::new();
    let audit = of_shell(config, &clock)?;
    let file = Mutes::of(&config.state);
    let mute = Mute { code, subject: request.subject.clone(), until_s: clock.unix().saturating_add(for_s) };
    let mut mutes = current(&file, &clock)?;
    mutes.retain(|other| (other.code, &other.subject) != (mute.code, &mute.subject));
    mutes.push(mute.clone());
    file.write(&mutes).with_context(|| cannot("write to", config))?;
    let entry = command("evenair-web alert mute").with("code", code.word()).with("seconds", for_s);
    audit.write(entry.with("subject", request.subject.clone()))?;
    Ok(mute)
}

/// Ends a mute.
///
/// # Errors
/// There is no such mute, or the state directory cannot be written.
pub fn unmute(config: &WebConfig, request: &MuteRequest) -> Result<()> {
    let code = request.code()?;
    let clock = Clock::new();
    let audit = of_shell(config, &clock)?;
    let file = Mutes::of(&config.state);
    let mutes = current(&file, &clock)?;
    let is_it = |mute: &Mute| (mute.code, &mute.subject) == (code, &request.subject);
    let left: Vec<_> = mutes.iter().filter(|mute| !is_it(mute)).cloned().collect();
    if left.len() == mutes.len() {
        bail!("{code} is not muted for this subject; `evenair web alert list` lists all mutes");
    }
    file.write(&left).with_context(|| cannot("write to", config))?;
    let entry = command("evenair-web alert unmute").with("code", code.word());
    audit.write(entry.with("subject", request.subject.clone()))
}

/// All active mutes.
///
/// # Errors
/// The state directory cannot be read.
pub fn list_mutes(config: &WebConfig) -> Result<Vec<Mute>> {
    current(&Mutes::of(&config.state), &Clock::new()).with_context(|| cannot("read", config))
}

fn current(file: &Mutes, clock: &Clock) -> Result<Vec<Mute>> {
    let mut mutes = file.read()?;
    mutes.retain(|mute| clock.unix() < mute.until_s);
    Ok(mutes)
}

fn cannot(what: &str, config: &WebConfig) -> String {
    format!("cannot {what} {}: run it with sudo, or as the user of evenair-web", config.state.display())
}
