//! The kind of object that a measure describes, and the full name: `phase.all.flow.up.ip_mbps` is the measure `ip_mbps` of the
//! kind `flow`, for the flow `up`, in the phase `all`.
//!
//! Full names are older than kinds. [`BRANCHES`] maps parts of full names to kinds.

use std::borrow::Cow;

use super::{Declaration, measure_named};

/// Kind of object that a measure describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The whole network.
    Run,
    /// The medium.
    Medium,
    /// A station.
    Station,
    /// A flow, by its application.
    Flow,
    /// A sender on the medium: a station or the access point.
    Sender,
    /// An access point; without a name, the unnamed access point or all together.
    AccessPoint,
    /// A contention domain.
    Domain,
    /// The flows of a class of stations.
    Class,
    /// The flows, or the attempts, of a PHY rate.
    Rate,
    /// The uploads or the downloads.
    Direction,
    /// Frames lost at a site for a reason; the name has both.
    Loss,
    /// A wired port or the box, as a site of losses.
    Place,
    /// A direction of a call; without a name, all calls.
    Call,
    /// Web pages.
    Page,
    /// Transfers of a direction and a size class; the name has both.
    Transfer,
    /// The echoes of an application.
    Echo,
    /// An entry of the scenario, which may have several flows.
    Application,
}

impl Kind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 17] = [
        Self::Run,
        Self::Medium,
        Self::Station,
        Self::Flow,
        Self::Sender,
        Self::AccessPoint,
        Self::Domain,
        Self::Class,
        Self::Rate,
        Self::Direction,
        Self::Loss,
        Self::Place,
        Self::Call,
        Self::Page,
        Self::Transfer,
        Self::Echo,
        Self::Application,
    ];

    /// The kind as a word, such as `access_point`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Medium => "medium",
            Self::Station => "station",
            Self::Flow => "flow",
            Self::Sender => "sender",
            Self::AccessPoint => "access_point",
            Self::Domain => "domain",
            Self::Class => "class",
            Self::Rate => "rate",
            Self::Direction => "direction",
            Self::Loss => "loss",
            Self::Place => "place",
            Self::Call => "call",
            Self::Page => "page",
            Self::Transfer => "transfer",
            Self::Echo => "echo",
            Self::Application => "application",
        }
    }
}

/// Where the measures of a kind are in full names.
struct Branch {
    /// Behind `phase.PHASE.`, else behind `run.`.
    in_phase: bool,
    /// The words behind that prefix; may be empty.
    path: &'static str,
    /// Number of parts behind the path that form the name.
    names: usize,
    kind: Kind,
    /// Beginning of the measure that is in front of the name in the full name.
    prefix: &'static str,
}

const fn phase(path: &'static str, names: usize, kind: Kind, prefix: &'static str) -> Branch {
    Branch { in_phase: true, path, names, kind, prefix }
}

const fn run(path: &'static str, names: usize, kind: Kind, prefix: &'static str) -> Branch {
    Branch { in_phase: false, path, names, kind, prefix }
}

/// The first matching branch counts.
const BRANCHES: &[Branch] = &[
    phase("measured_airtime.station", 1, Kind::Station, "measured_airtime."),
    phase("charged_airtime.station", 1, Kind::Station, "charged_airtime."),
    phase("measured_airtime", 0, Kind::Medium, "measured_airtime."),
    phase("medium", 0, Kind::Medium, ""),
    phase("rate_used", 1, Kind::Rate, "rate_used."),
    phase("rate", 1, Kind::Rate, ""),
    phase("flow", 1, Kind::Flow, ""),
    phase("station", 1, Kind::Station, ""),
    phase("ap", 0, Kind::AccessPoint, ""),
    phase("access_point", 1, Kind::AccessPoint, ""),
    phase("domain", 1, Kind::Domain, ""),
    phase("direction", 1, Kind::Direction, ""),
    phase("class", 1, Kind::Class, ""),
    phase("place", 1, Kind::Place, ""),
    phase("application", 1, Kind::Application, ""),
    phase("transfer", 2, Kind::Transfer, ""),
    phase("page", 0, Kind::Page, ""),
    phase("call", 1, Kind::Call, ""),
    phase("calls", 0, Kind::Call, ""),
    phase("", 0, Kind::Run, ""),
    run("medium.measured_airtime.station", 1, Kind::Station, "measured_airtime."),
    run("medium.charged_airtime.station", 1, Kind::Station, "charged_airtime."),
    run("medium.airtime", 1, Kind::Sender, "airtime."),
    run("medium", 0, Kind::Medium, ""),
    run("loss", 2, Kind::Loss, ""),
    run("echo", 1, Kind::Echo, ""),
    run("", 0, Kind::Run, ""),
];

impl Branch {
    /// Splits the rest of a full name into name and measure; `None` if it is not of this branch.
    fn split<'a>(&self, rest: &'a str) -> Option<(Option<&'a str>, Cow<'a, str>)> {
        let below = if self.path.is_empty() { rest } else { rest.strip_prefix(self.path)?.strip_prefix('.')? };
        let (name, measure) = match self.names {
            0 => (None, below),
            names => {
                let (end, _) = below.match_indices('.').nth(names - 1)?;
                (Some(&below[..end]), &below[end + 1..])
            }
        };
        let prefixed = || Cow::Owned(format!("{}{measure}", self.prefix));
        Some((name, if self.prefix.is_empty() { Cow::Borrowed(measure) } else { prefixed() }))
    }
}

/// Identifies a measure of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key<'a> {
    /// The phase; absent if the measure is of the whole run.
    pub phase: Option<&'a str>,
    /// Kind of object.
    pub kind: Kind,
    /// Name of the object; absent if there is only one, or for all together.
    pub name: Option<&'a str>,
    /// The measure, such as `ip_mbps` or `lost.retry_limit.frames`.
    pub measure: Cow<'a, str>,
}

impl<'a> Key<'a> {
    /// The key of a full name, and its declaration; `None` if there is none.
    pub fn parse(full_name: &'a str) -> Option<(Self, &'static Declaration)> {
        let declaration = measure_named(full_name)?;
        let (scope, rest) = full_name.split_once('.')?;
        let (phase, rest) =
            if scope == "run" { (None, rest) } else { rest.split_once('.').map(|(p, r)| (Some(p), r))? };
        let mut branches = BRANCHES.iter().filter(|branch| branch.in_phase == phase.is_some());
        let (kind, (name, measure)) = branches.find_map(|branch| Some((branch.kind, branch.split(rest)?)))?;
        Some((Self { phase, kind, name, measure }, declaration))
    }

    /// The full name; for an undeclared key, a name that no measure has.
    pub fn full_name(&self) -> String {
        let is_named = |branch: &&Branch| (branch.names > 0) == self.name.is_some();
        let is_it = |branch: &&Branch| branch.in_phase == self.phase.is_some() && branch.kind == self.kind;
        let fitting = BRANCHES.iter().filter(is_it).filter(is_named);
        let (path, measure) = fitting
            .filter_map(|branch| Some((branch.path, self.measure.strip_prefix(branch.prefix)?)))
            .next()
            .unwrap_or((self.kind.word(), &self.measure));
        let scope = if self.phase.is_some() { "phase" } else { "run" };
        let parts = [Some(scope), self.phase, Some(path), self.name, Some(measure)];
        parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::measures;
    use super::*;

    fn key<'a>(phase: Option<&'a str>, kind: Kind, name: Option<&'a str>, measure: &'a str) -> Key<'a> {
        Key { phase, kind, name, measure: measure.into() }
    }

    #[test]
    fn full_names_have_keys() {
        let all = Some("all");
        let cases = [
            ("phase.all.flow.up.ip_mbps", key(all, Kind::Flow, Some("up"), "ip_mbps")),
            ("phase.all.ap.lost.retry_limit.frames", key(all, Kind::AccessPoint, None, "lost.retry_limit.frames")),
            ("phase.all.measured_airtime.jain", key(all, Kind::Medium, None, "measured_airtime.jain")),
            ("run.medium.measured_airtime.jain", key(None, Kind::Medium, None, "measured_airtime.jain")),
            (
                "phase.all.measured_airtime.station.a.up_share",
                key(all, Kind::Station, Some("a"), "measured_airtime.up_share"),
            ),
            ("run.medium.airtime.ap.share", key(None, Kind::Sender, Some("ap"), "airtime.share")),
            ("run.loss.ap.buffer_full.frames", key(None, Kind::Loss, Some("ap.buffer_full"), "frames")),
            ("phase.all.transfer.down.to_1_kB.p50_s", key(all, Kind::Transfer, Some("down.to_1_kB"), "p50_s")),
            ("phase.all.calls.mos_min", key(all, Kind::Call, None, "mos_min")),
            ("phase.all.rate_used.5_5.share", key(all, Kind::Rate, Some("5_5"), "rate_used.share")),
            ("phase.all.rate.5_5.share", key(all, Kind::Rate, Some("5_5"), "share")),
            ("phase.all.total_ip_mbps", key(all, Kind::Run, None, "total_ip_mbps")),
        ];
        for (full_name, expected) in cases {
            assert_eq!(Key::parse(full_name).map(|(key, _)| key), Some(expected.clone()));
            assert_eq!(expected.full_name(), full_name);
        }
        assert_eq!(Key::parse("phase.all.flow.up.nothing"), None);
    }

    /// No two declarations have the same key, and each pattern is restored from its key.
    #[test]
    fn every_declaration_has_a_unique_key() {
        let mut seen = HashSet::new();
        for declaration in measures() {
            let (key, found) = Key::parse(declaration.pattern).expect("a pattern is a name of itself");
            assert_eq!((found, key.full_name().as_str()), (declaration, declaration.pattern));
            assert!(seen.insert(key.clone()), "{key:?} is of two declarations");
        }
    }
}
