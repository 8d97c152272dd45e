//! `evenair-web setup`: makes a setup link.

use anyhow::{Context, Result, bail};

use crate::account::{Accounts, NAMES, Role, is_name};
use crate::audit::{command, of_shell};
use crate::clock::Clock;
use crate::config::WebConfig;
use crate::link::{Grant, Link};

/// Makes a link, which replaces an earlier one, and returns it. Once and within 15 minutes, a browser can make an account with it, or
/// give an existing one a new password and this role: the named account, or with an admin link any.
///
/// # Errors
/// The state directory cannot be read or written, the accounts in it are damaged, or the page could not be served; the name is
/// invalid; the first account would not be an admin.
pub fn setup_link(config: &WebConfig, clock: &Clock, grant: Grant) -> Result<String> {
    config.check_exposure()?;
    if let Some(name) = grant.name.as_deref().filter(|name| !is_name(name)) {
        bail!("{name:?} is no name: {NAMES}");
    }
    let accounts = Accounts::load(&config.state)?;
    if accounts.is_empty() && grant.role != Role::Admin {
        bail!("the first account is of role admin: run this command without --role first");
    }
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
    let audit = of_shell(config, clock)?;
    let entry = command("evenair-web setup").with("role", grant.role.name()).with("name", grant.name.as_deref());
    let token = Link::of(&config.state).make(clock, grant).with_context(cannot)?;
    audit.write(entry)?;
    Ok(format!("{}setup?token={token}", config.url()))
}
