//! `evenair-web setup`: a link that makes an account.

use anyhow::{Context, Result, bail};

use crate::account::Accounts;
use crate::clock::Clock;
use crate::config::WebConfig;
use crate::link::Link;

/// Makes a link, in place of an earlier one, and returns it. A browser makes an account of role admin with it, once and within 15
/// minutes, or gives one that is there a new password.
///
/// # Errors
/// The state directory cannot be read or written, the accounts in it are damaged, or the page could not be served.
pub fn setup_link(config: &WebConfig, clock: &Clock) -> Result<String> {
    config.check_exposure()?;
    let accounts = Accounts::load(&config.state)?;
    if !config.listen.ip().is_loopback() && accounts.is_empty() {
        bail!(
            "other machines could reach {}, so evenair-web does not start without an account: set `listen` to 127.0.0.1:{} for the \
             first one, restart evenair-web, and run this command again",
            config.listen,
            config.listen.port()
        );
    }
    let cannot =
        || format!("cannot write to {}: run it with sudo, or as the user of evenair-web", config.state.display());
    let token = Link::of(&config.state).make(clock).with_context(cannot)?;
    Ok(format!("{}setup?token={token}", config.url()))
}
