//! Senders of messages, by the names of the receivers.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};

use super::body::Envelope;
use super::mailer::Mailer;
use super::notice::Notice;
use super::webhook::Webhook;
use crate::config::WebConfig;
use crate::receiver::TargetConfig;

/// The sender for a receiver.
pub(crate) enum Sender {
    /// A webhook.
    Webhook(Webhook),
    /// Mail.
    Mail(Box<Mailer>),
}

impl Sender {
    /// Sends a message.
    ///
    /// # Errors
    /// The reason of the failure, without secrets.
    pub(crate) fn send(&self, notice: &Notice, envelope: &Envelope<'_>, now_s: u64) -> Result<(), String> {
        match self {
            Self::Webhook(webhook) => webhook.send(notice, envelope, now_s),
            Self::Mail(mailer) => mailer.send(notice, envelope),
        }
    }
}

/// The senders for all receivers.
///
/// # Errors
/// A file of secrets or a certificate cannot be used.
pub(crate) fn load(config: &WebConfig) -> Result<BTreeMap<String, Sender>> {
    let load = |target: &TargetConfig| match target {
        TargetConfig::Webhook(webhook) => Webhook::load(webhook).map(Sender::Webhook),
        TargetConfig::Mail(to) => {
            let server = config.mail.as_ref().ok_or_else(|| anyhow!("there is no [mail]"))?;
            Mailer::load(server, to).map(|mailer| Sender::Mail(Box::new(mailer)))
        }
    };
    let mut senders = BTreeMap::new();
    for receiver in &config.alerts {
        let sender = load(&receiver.target).with_context(|| format!("the alert \"{}\"", receiver.name))?;
        senders.insert(receiver.name.clone(), sender);
    }
    Ok(senders)
}

/// The name of the box in messages: the first configured name of the page, or the host name.
pub(crate) fn site(config: &WebConfig) -> String {
    let machine = || std::fs::read_to_string("/etc/hostname").ok().map(|name| name.trim().to_owned());
    let name = config.names.first().cloned().or_else(machine).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| "evenair".into()).chars().filter(|c| !c.is_control()).take(64).collect()
}
