//! URLs of webhooks.

use std::net::IpAddr;
use std::path::PathBuf;

use evenair_reader::{Problems, Written};
use ureq::http::Uri;

/// Where the URL of a webhook is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UrlPlace {
    Here(String),
    File(PathBuf),
}

/// Description of valid URLs.
const ALLOWED: &str = "a URL such as \"https://hooks.example.org/evenair\"; http:// at an address of loopback alone";

/// The URL in `web.toml`, or its problem.
pub(super) fn here(written: &Written<String>, problems: &mut Problems) -> Option<UrlPlace> {
    let text = written.get(problems)?;
    match check_url(&text) {
        Ok(()) => Some(UrlPlace::Here(text)),
        Err(why) => {
            problems.add(written.span(), why, ALLOWED);
            None
        }
    }
}

/// Whether alerts can be posted to a URL. The error does not contain it, since it may be a secret.
///
/// # Errors
/// The reason why not.
pub(crate) fn check_url(text: &str) -> Result<(), String> {
    let Ok(uri) = text.parse::<Uri>() else { return Err("this is no URL".into()) };
    let host = uri.host().unwrap_or_default();
    if host.is_empty() || uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("the URL has no host, or a user name in it".into());
    }
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if is_loopback(host) => Ok(()),
        Some("http") => Err("everybody on the way could read and change alerts over http".into()),
        _ => Err("the URL is not of https".into()),
    }
}

/// The host of a URL, for logs.
pub(crate) fn host_of(url: &str) -> String {
    let uri = url.parse::<Uri>().ok();
    uri.as_ref().and_then(Uri::host).unwrap_or("the webhook").to_owned()
}

/// Whether a host is an address of loopback. Names are not: a resolver may map them to other addresses.
pub(super) fn is_loopback(host: &str) -> bool {
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    plain.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
