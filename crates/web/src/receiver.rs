//! Receivers of alerts as `web.toml` has them: `[[alert]]`, and the mail server in `[mail]`.
//!
//! All problems of the text are found here; secret files are read when the alerts start.

mod file;
mod mail;
mod url;

use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;

use evenair_api::health::Code;
use evenair_reader::{FromWritten, List, OrDefault, Problems, Scalar, Written, name, words};
use evenair_units::Span;
use lettre::Address;
use schemars::{JsonSchema, Schema, json_schema};
use serde::Deserialize;

use self::file::path;
pub use self::mail::MailServer;
pub(crate) use self::mail::{Encryption, MailFile};
pub(crate) use self::url::{UrlPlace, check_url, host_of};
use crate::account::Role;

/// Maximum number of receivers: their state is in one file of at most a megabyte.
const MOST: usize = 8;
/// Maximum number of addresses of a receiver.
const MOST_ADDRESSES: usize = 20;
/// Bounds of `repeat`, in seconds: a minute to 30 days.
const REPEATS_S: (u64, u64) = (60, 30 * 24 * 60 * 60);

/// A receiver as it is written.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AlertFile {
    /// Its name, in logs and in `evenair web alert`. Required.
    name: Option<Written<String>>,
    /// A URL to post to; https, or http at an address of loopback.
    webhook: Option<Written<String>>,
    /// A file with that URL, where the URL itself is a secret.
    webhook_file: Option<Written<String>>,
    /// What is posted. Default: "generic".
    body: Option<Written<BodyForm>>,
    /// A file with the secret that posts are signed with. Default: none, not signed.
    secret_file: Option<Written<String>>,
    /// The certificate that the server presents, or that of the authority that signed it, in PEM. Default: public authorities.
    certificate: Option<Written<String>>,
    /// Addresses to send mail to, by the server of `[mail]`.
    mail: Option<List<String>>,
    /// What it hears of. Default: "operate".
    role: Option<Written<RoleWord>>,
    /// The least level that it hears of. Default: "bad".
    level: Option<Written<LeastLevel>>,
    /// Until it hears of the same again while that lasts; "never". Default: "4 h".
    repeat: Option<Written<Repeat>>,
    /// Whether it hears that something is over. Default: true.
    recovery: Option<Written<bool>>,
    /// Codes that it does not hear of.
    mute: Option<List<CodeWord>>,
    /// A summary each Monday, by mail. Default: false.
    weekly: Option<Written<bool>>,
}

/// Format of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyForm {
    /// JSON for programs.
    Generic,
    /// An incoming webhook of Slack, or a compatible one (Mattermost).
    Slack,
    /// A workflow of Microsoft Teams that takes an adaptive card.
    Teams,
    /// A topic of ntfy.
    Ntfy,
}

words!(BodyForm {
    "generic" => Self::Generic,
    "slack" => Self::Slack,
    "teams" => Self::Teams,
    "ntfy" => Self::Ntfy,
});

words!(RoleWord(Role) { "view" => Role::View, "operate" => Role::Operate, "admin" => Role::Admin });

/// Minimum level of reasons that a receiver gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeastLevel {
    Bad,
    Watch,
}

words!(LeastLevel { "bad" => Self::Bad, "watch" => Self::Watch });

/// Interval after which a lasting reason is repeated, in seconds; `None`: never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Repeat(Option<u64>);

impl FromWritten for Repeat {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        if *scalar == Scalar::from("never") {
            return Ok(Self(None));
        }
        let seconds = Span::from_written(scalar)?.as_nanos() / 1_000_000_000;
        if (REPEATS_S.0..=REPEATS_S.1).contains(&seconds) {
            Ok(Self(Some(seconds)))
        } else {
            Err(format!("{scalar} is out of range"))
        }
    }

    fn allowed() -> String {
        "\"1 min\" to \"720 h\", or \"never\"".into()
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "examples": ["4 h", "never"] })
    }
}

/// A code of a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CodeWord(Code);

impl FromWritten for CodeWord {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        let text = String::from_written(scalar)?;
        code(&text).map(Self)
    }

    fn allowed() -> String {
        let words: Vec<_> = codes().map(|code| format!("\"{code}\"")).collect();
        words.join(", ")
    }

    fn schema() -> Schema {
        let words: Vec<_> = codes().map(Code::word).collect();
        json_schema!({ "enum": words })
    }
}

fn codes() -> impl Iterator<Item = Code> {
    Code::ALL.iter().copied().filter(|code| *code != Code::Other)
}

/// The code with this name.
///
/// # Errors
/// Unknown; the nearest one.
pub(crate) fn code(word: &str) -> Result<Code, String> {
    let near = evenair_reader::closest(word, codes().map(Code::word));
    let no_code = || format!("{word:?} is no code of a reason{}", evenair_reader::did_you_mean(near));
    codes().find(|code| code.word() == word).ok_or_else(no_code)
}

/// A receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    pub(crate) name: String,
    pub(crate) target: TargetConfig,
    pub(crate) rule: Rule,
    /// Whether it gets the weekly summary.
    pub(crate) weekly: bool,
}

/// Which reasons a receiver gets, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) role: Role,
    /// Whether it also gets reasons of the level "watch".
    pub(crate) watch: bool,
    /// Interval after which a lasting reason is repeated, in seconds; `None`: never.
    pub(crate) repeat_s: Option<u64>,
    pub(crate) recovery: bool,
    pub(crate) mute: Vec<Code>,
}

/// Destination of alerts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TargetConfig {
    Webhook(WebhookConfig),
    /// Mail addresses.
    Mail(Vec<Address>),
}

/// A webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebhookConfig {
    pub(crate) url: UrlPlace,
    pub(crate) body: BodyForm,
    pub(crate) secret_file: Option<PathBuf>,
    pub(crate) certificate: Option<PathBuf>,
}

/// All receivers, or their problems. `mail` is whether a mail server is configured, `places` the position of each table.
pub(crate) fn check_all(
    files: &[AlertFile],
    has_mail: bool,
    place: &Range<usize>,
    problems: &mut Problems,
) -> Option<Vec<ReceiverConfig>> {
    if files.len() > MOST {
        problems.add(
            place.clone(),
            format!("there are {} receivers of alerts", files.len()),
            format!("at most {MOST}"),
        );
        return None;
    }
    let mut names = HashSet::new();
    let checked: Vec<_> = files.iter().map(|file| file.check(has_mail, place, &mut names, problems)).collect();
    checked.into_iter().collect()
}

impl ReceiverConfig {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its destination and rule as text, without secrets.
    pub fn in_words(&self) -> String {
        let target = match &self.target {
            TargetConfig::Webhook(WebhookConfig { url: UrlPlace::Here(url), .. }) => {
                format!("webhook at {}", host_of(url))
            }
            TargetConfig::Webhook(_) => "webhook".to_owned(),
            TargetConfig::Mail(addresses) => {
                let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
                format!("mail to {}", addresses.join(", "))
            }
        };
        let level = if self.rule.watch { "watch" } else { "bad" };
        format!("{target}, {}, {level}", self.rule.role.name())
    }
}

impl AlertFile {
    fn check(
        &self,
        has_mail: bool,
        place: &Range<usize>,
        names: &mut HashSet<String>,
        problems: &mut Problems,
    ) -> Option<ReceiverConfig> {
        let own_name = self.own_name(place, names, problems);
        let target = self.target(has_mail, place, problems);
        let rule = self.rule(problems);
        let weekly = self.weekly.get_or(false, problems);
        if weekly == Some(true) && self.mail.is_none() {
            problems.add(self.weekly.place(), "a webhook gets no weekly summary", "`weekly` with `mail` alone");
            return None;
        }
        Some(ReceiverConfig { name: own_name?, target: target?, rule: rule?, weekly: weekly? })
    }

    fn own_name(&self, place: &Range<usize>, names: &mut HashSet<String>, problems: &mut Problems) -> Option<String> {
        let Some(written) = &self.name else {
            problems.add(place.clone(), "an [[alert]] has no `name`", "a name such as \"ops\"");
            return None;
        };
        let own = name(written, problems)?;
        if !names.insert(own.clone()) {
            problems.add(written.span(), format!("two receivers are called \"{own}\""), "a name of its own for each");
            return None;
        }
        Some(own)
    }

    fn rule(&self, problems: &mut Problems) -> Option<Rule> {
        let role = self.role.get_or(RoleWord(Role::Operate), problems);
        let level = self.level.get_or(LeastLevel::Bad, problems);
        let repeat = self.repeat.get_or(Repeat(Some(4 * 60 * 60)), problems);
        let recovery = self.recovery.get_or(true, problems);
        let mute = self.mute.as_ref().map_or_else(|| Some(vec![]), |codes| codes.get(problems));
        let mute = mute?.into_iter().map(|CodeWord(code)| code).collect();
        let (RoleWord(role), watch) = (role?, level? == LeastLevel::Watch);
        Some(Rule { role, watch, repeat_s: repeat?.0, recovery: recovery?, mute })
    }

    fn target(&self, has_mail: bool, place: &Range<usize>, problems: &mut Problems) -> Option<TargetConfig> {
        const ALLOWED: &str = "one of `webhook`, `webhook_file` and `mail`";
        let of_table = self.name.as_ref().map_or_else(|| place.clone(), Written::span);
        match (&self.webhook, &self.webhook_file, &self.mail) {
            (Some(url), None, None) => {
                let url = url::here(url, problems);
                self.webhook(url, problems)
            }
            (None, Some(_), None) => {
                let file = path(&self.webhook_file, problems).map(|file| file.map(UrlPlace::File));
                self.webhook(file.flatten(), problems)
            }
            (None, None, Some(list)) => self.mail(list, has_mail, problems),
            (None, None, None) => {
                problems.add(of_table, "the alert goes nowhere", ALLOWED);
                None
            }
            _ => {
                problems.add(
                    of_table,
                    "the alert goes to several places",
                    format!("{ALLOWED}; another [[alert]] for the others"),
                );
                None
            }
        }
    }

    fn webhook(&self, url: Option<UrlPlace>, problems: &mut Problems) -> Option<TargetConfig> {
        let body = self.body.get_or(BodyForm::Generic, problems);
        let (secret_file, certificate) = (path(&self.secret_file, problems), path(&self.certificate, problems));
        let (secret_file, certificate) = (secret_file?, certificate?);
        Some(TargetConfig::Webhook(WebhookConfig { url: url?, body: body?, secret_file, certificate }))
    }

    fn mail(&self, list: &List<String>, has_mail: bool, problems: &mut Problems) -> Option<TargetConfig> {
        let before = problems.count();
        let of_webhooks = [("body", self.body.place()), ("secret_file", self.secret_file.place())];
        for (key, place) in of_webhooks.into_iter().chain([("certificate", self.certificate.place())]) {
            if !place.is_empty() {
                problems.add(
                    place,
                    format!("`{key}` is of webhooks"),
                    "without it, or with `webhook` in place of `mail`",
                );
            }
        }
        if !has_mail {
            problems.add(list.span(), "there is no mail server", "[mail] with `server` and `from`");
        }
        if list.items().len() > MOST_ADDRESSES {
            problems.add(list.span(), "there are too many addresses", format!("at most {MOST_ADDRESSES}"));
        }
        for item in list.items() {
            let is_address = |text: &String| text.parse::<Address>().is_ok();
            item.get_if(problems, is_address, "an address such as \"ops@example.org\"");
        }
        let addresses = list.get(problems)?;
        (problems.count() == before)
            .then(|| TargetConfig::Mail(addresses.iter().filter_map(|address| address.parse().ok()).collect()))
    }
}

#[cfg(test)]
mod tests;
