//! Check whether the network of the box survives a reboot.

use evenair_boxfile::BoxConfig;

use super::Finding;
use crate::setup;

pub(super) fn examine(config: &BoxConfig) -> Option<Finding> {
    // A missing interface has already been reported.
    let interface = config.router.as_ref().map(|router| &router.gateway).or(config.bridge.as_ref())?;
    evenair_sys::iface::find(interface).ok()?;
    Some(judge(interface, setup::kept_by(interface)))
}

fn judge(interface: &str, kept_by: Option<&str>) -> Finding {
    const SUBJECT: &str = "next start";
    match kept_by {
        Some(keeper) => Finding::fine(SUBJECT, format!("{keeper} makes {interface} when this machine starts")),
        None => Finding::unknown(SUBJECT, format!("nobody that is known makes {interface} when this machine starts")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn interfaces_that_no_service_restores_are_reported() {
        assert_eq!(judge("br0", Some("ifupdown")).verdict, Verdict::Fine);
        let finding = judge("br0", None);
        assert_eq!(finding.verdict, Verdict::Unknown);
        assert!(finding.found.contains("nobody that is known makes br0"), "{finding:?}");
    }
}
