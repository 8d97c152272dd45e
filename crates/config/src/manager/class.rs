//! The configuration of classes, and of kinds of traffic within a station.
//!
//! In the plain form a class has a name and a weight, and stations name it. If any class has another key, the classes are a
//! tree with rules; see `evenair_manager::ClassTree`.

use evenair_manager::{Amount, Application, Class, ClassId, ClassTree, Level, Rule, Takes};
use evenair_packet::{MacAddr, Subnet, Vlan};
use evenair_reader::{Allowed, CodePoint, FromWritten, List, OrDefault, Permille, Problems, Scalar, Written};
use evenair_units::BitRate;
use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

use super::words::{Parts, ServiceRates, Weights};
use crate::DirectionWord;

/// A class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassSpec {
    /// Its name in stations and reports.
    pub name: Written<String>,
    /// Its share relative to the other classes of the same parent. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Written<u32, Weights>>,
    /// Its parent class. Default: none, a top-level class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Written<String>>,
    /// Its guaranteed share while it has packets to send: a part of the medium time, or an IP-level bit rate over the WLAN,
    /// data and ACKs together. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Written<Share, Shares>>,
    /// Its largest share, even if the others leave more. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Written<Share, Shares>>,
    /// Traffic in it, beside that of the stations that name it. Default: the traffic of its child classes.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub rule: Option<MatchSpec>,
    /// More traffic in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub or: Vec<MatchSpec>,
    /// All traffic of the parent that is in no other class is in this one. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Written<bool>>,
}

/// A kind of traffic within each station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplicationSpec {
    /// Its name.
    pub name: Written<String>,
    /// Its share relative to the other kinds of the same station. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Written<u32, Weights>>,
    /// Traffic of this kind.
    #[serde(rename = "match")]
    pub rule: MatchSpec,
    /// More traffic of this kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub or: Vec<MatchSpec>,
}

/// Conditions that must all hold; for a list, one of its items.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MatchSpec {
    /// MAC addresses of stations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<List<String>>,
    /// Networks of stations' addresses, such as "10.1.0.0/16".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<List<String>>,
    /// Networks of the peers' addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<List<String>>,
    /// VLANs by their outermost tag, or by two tags from the outside in, as "100.20".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<List<VlanName>>,
    /// Code points of packets in the direction of the data, by name or number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<List<CodePoint>>,
    /// "tcp", "udp", "icmp", "icmpv6", "esp", "gre", "sctp", or the number of an IP protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<List<ProtocolName>>,
    /// Ports of either end, each alone or as "8000-8100".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<List<Ports>>,
    /// Direction of the data: "up", from the station, or "down".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Written<DirectionWord>>,
    /// SSIDs of stations, reported on the control socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssid: Option<List<String>>,
    /// Groups of stations, reported on the control socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<List<String>>,
}

/// A minimum share or a ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(pub Amount);

/// A VLAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanName(pub Vlan);

/// An IP protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolName(pub u8);

/// Ports, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports(pub u16, pub u16);

/// Protocols that have names here, by IANA's "Assigned Internet Protocol Numbers".
const PROTOCOLS: [(&str, u8); 7] =
    [("icmp", 1), ("tcp", 6), ("udp", 17), ("gre", 47), ("esp", 50), ("icmpv6", 58), ("sctp", 132)];

/// Shares: [`Parts`] of the airtime, or [`ServiceRates`].
#[derive(Clone, Copy, Debug)]
pub enum Shares {}

impl Allowed<Share> for Shares {
    fn words() -> Option<String> {
        Some(format!("{}, or {}", Parts::words()?, ServiceRates::words()?))
    }

    fn admits(share: &Share) -> bool {
        match share.0 {
            Amount::Part(part) => Parts::admits(&Permille(part)),
            Amount::Rate(rate) => ServiceRates::admits(&rate),
        }
    }
}

impl FromWritten for Share {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match scalar {
            Scalar::Text(text) if text.trim_end().ends_with('%') => {
                Permille::from_written(scalar).map(|part| Self(Amount::Part(part.0)))
            }
            _ => BitRate::from_written(scalar).map(|rate| Self(Amount::Rate(rate))),
        }
    }

    fn allowed() -> String {
        "a part of the medium such as \"20 %\", or a bit rate such as \"5 Mb/s\"".into()
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "examples": ["20 %", "5 Mb/s"] })
    }
}

impl FromWritten for VlanName {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        let text = scalar.to_string();
        let id = |text: &str| text.parse().ok().filter(|id| (1..=4094).contains(id));
        let (outer, inner) =
            text.trim_matches('"').split_once('.').map_or((text.trim_matches('"'), None), |(o, i)| (o, Some(i)));
        let vlan = match (id(outer), inner.map(id)) {
            (Some(id), None) => Some(Vlan { id, inner: None }),
            (Some(id), Some(inner @ Some(_))) if matches!(scalar, Scalar::Text(_)) => Some(Vlan { id, inner }),
            _ => None,
        };
        vlan.map(Self).ok_or_else(|| format!("{scalar} is no VLAN"))
    }

    fn allowed() -> String {
        "1 to 4094, or two tags as \"100.20\"".into()
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["integer", "string"], "examples": [20, "100.20"] })
    }
}

impl FromWritten for ProtocolName {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        let number = match scalar {
            Scalar::Text(text) => PROTOCOLS.iter().find(|(name, _)| name == text).map(|(_, number)| *number),
            Scalar::Integer(number) => u8::try_from(*number).ok(),
            _ => None,
        };
        number.map(Self).ok_or_else(|| format!("{scalar} is no IP protocol known here"))
    }

    fn allowed() -> String {
        let names: Vec<_> = PROTOCOLS.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        format!("{}, or 0 to 255", names.join(", "))
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["integer", "string"], "examples": ["udp", 6] })
    }
}

impl FromWritten for Ports {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        let range = match scalar {
            Scalar::Text(text) => text.split_once('-').and_then(|(first, last)| {
                Some((first.trim().parse().ok()?, last.trim().parse().ok()?)).filter(|(first, last)| first <= last)
            }),
            Scalar::Integer(port) => u16::try_from(*port).ok().map(|port| (port, port)),
            _ => None,
        };
        range
            .map(|(first, last)| Self(first, last))
            .ok_or_else(|| format!("{scalar} is no port, and no range of ports"))
    }

    fn allowed() -> String {
        "0 to 65535, or a range such as \"8000-8100\"".into()
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["integer", "string"], "examples": [443, "8000-8100"] })
    }
}

impl ClassSpec {
    /// Whether it has more keys than a name and a weight.
    pub(crate) fn is_of_a_tree(&self) -> bool {
        let bounds = self.minimum.is_some() || self.ceiling.is_some();
        bounds || self.parent.is_some() || self.rule.is_some() || !self.or.is_empty() || self.default.is_some()
    }

    fn check(&self, all: &[Self], problems: &mut Problems) -> Option<Class> {
        let weight = self.weight.get_or(1, problems);
        let minimum = amount(&self.minimum, problems);
        let ceiling = amount(&self.ceiling, problems);
        let parent = self.parent(all, problems);
        let rules = rules(self.rule.iter().chain(&self.or), &self.name, problems);
        let default = self.default.get_or(false, problems)?;
        let rules = rules?;
        if default && !rules.is_empty() {
            problems.add(self.default.place(), "a default class takes what is left", "without match and or");
            return None;
        }
        let class = Class {
            parent: parent?,
            weight: weight?,
            minimum: minimum?,
            ceiling: ceiling?,
            takes: match () {
                () if default => Takes::Rest,
                () if rules.is_empty() => Takes::Named,
                () => Takes::Rules(rules),
            },
        };
        let crossed = match (class.minimum, class.ceiling) {
            (Some(Amount::Part(low)), Some(Amount::Part(high))) => low > high,
            (Some(Amount::Rate(low)), Some(Amount::Rate(high))) => low > high,
            _ => false,
        };
        if crossed {
            problems.add(self.minimum.place(), "the minimum is above the ceiling", "up to the ceiling");
            return None;
        }
        Some(class)
    }

    fn parent(&self, all: &[Self], problems: &mut Problems) -> Option<Option<ClassId>> {
        let Some(written) = &self.parent else { return Some(None) };
        let name = written.get(problems)?;
        let at = all.iter().position(|class| class.name == Written::new(name.as_str()));
        let id = at.and_then(|at| u8::try_from(at).ok()).map(ClassId);
        if id.is_none() {
            problems.add(
                written.span(),
                format!("there is no class {written}"),
                "the name of one of [[manager.class]]",
            );
            return None;
        }
        Some(id)
    }
}

impl ApplicationSpec {
    fn check(&self, problems: &mut Problems) -> Option<Application> {
        self.name.get(problems)?;
        let weight = self.weight.get_or(1, problems);
        let rules = rules(std::iter::once(&self.rule).chain(&self.or), &self.name, problems);
        Some(Application { weight: weight?, rules: rules? })
    }
}

/// The class tree, with distinct names.
pub(crate) fn tree(specs: &[ClassSpec], other: u32, problems: &mut Problems) -> Option<Level> {
    let classes: Vec<_> = specs.iter().map(|spec| spec.check(specs, problems)).collect();
    let classes: Vec<Class> = classes.into_iter().collect::<Option<_>>()?;
    for (at, (spec, class)) in specs.iter().zip(&classes).enumerate() {
        let up = std::iter::successors(Some(class), |class| class.parent.map(|parent| &classes[usize::from(parent.0)]));
        if up.take(ClassTree::DEEPEST + 1).count() > ClassTree::DEEPEST {
            let what = "its parents do not lead to the top";
            problems.add(spec.parent.place(), what, format!("{} classes on the way at most", ClassTree::DEEPEST));
            return None;
        }
        let rest = |other: &Class| other.parent == class.parent && other.takes == Takes::Rest;
        if class.takes == Takes::Rest && classes[..at].iter().any(rest) {
            problems.add(spec.default.place(), "another class of the same parent is the default", "one of them");
            return None;
        }
        check_minima(specs, &classes, at, problems)?;
    }
    few_enough(classes.iter().map(|class| if let Takes::Rules(rules) = &class.takes { &rules[..] } else { &[] }))
        .or_else(|| too_many(specs.last().map(|spec| &spec.name), problems))?;
    Some(Level::Tree(ClassTree { classes, other }))
}

/// Checks that the minimum shares of a class and its preceding siblings do not exceed the total.
fn check_minima(specs: &[ClassSpec], classes: &[Class], at: usize, problems: &mut Problems) -> Option<()> {
    let class = &classes[at];
    let most = match class.parent.and_then(|parent| classes[usize::from(parent.0)].ceiling) {
        Some(Amount::Part(part)) => part,
        _ => 1000,
    };
    let siblings = classes[..=at].iter().filter(|other| other.parent == class.parent);
    let sum: u32 = siblings.map(|class| if let Some(Amount::Part(part)) = class.minimum { part } else { 0 }).sum();
    if sum > most && class.minimum.is_some() {
        let what = "the minimum parts of the classes in one parent come to more than there is";
        problems.add(specs[at].minimum.place(), what, format!("{} % in all", f64::from(most) / 10.0));
        return None;
    }
    Some(())
}

/// The level of these kinds of traffic.
pub(crate) fn applications(specs: &[ApplicationSpec], other: u32, problems: &mut Problems) -> Option<Level> {
    let applications: Vec<_> = specs.iter().map(|spec| spec.check(problems)).collect();
    let applications: Vec<Application> = applications.into_iter().collect::<Option<_>>()?;
    let fits = few_enough(applications.iter().map(|application| &application.rules[..]));
    fits.filter(|()| specs.len() <= ClassTree::MOST)
        .or_else(|| too_many(specs.last().map(|spec| &spec.name), problems))?;
    Some(Level::Application { applications, other })
}

fn few_enough<'a>(rules: impl Iterator<Item = &'a [Rule]>) -> Option<()> {
    let rules: Vec<&Rule> = rules.flatten().collect();
    let items: usize = rules.iter().map(|rule| rule.items()).sum();
    (rules.len() <= ClassTree::MOST_RULES && items <= ClassTree::MOST_ITEMS).then_some(())
}

fn too_many(last: Option<&Written<String>>, problems: &mut Problems) -> Option<()> {
    let allowed = format!(
        "up to {} classes with {} rules and {} items in their lists",
        ClassTree::MOST,
        ClassTree::MOST_RULES,
        ClassTree::MOST_ITEMS
    );
    problems.add(last.map(Written::span).unwrap_or_default(), "there are too many rules", allowed);
    None
}

fn amount(written: &Option<Written<Share, Shares>>, problems: &mut Problems) -> Option<Option<Amount>> {
    Some(written.get_optional(problems)?.map(|share| share.0))
}

fn rules<'a>(
    specs: impl Iterator<Item = &'a MatchSpec>,
    of: &Written<String>,
    problems: &mut Problems,
) -> Option<Vec<Rule>> {
    let mut rule = |spec: &MatchSpec| {
        if *spec == MatchSpec::default() {
            let what = format!("a match of {of} has no condition, and is met by everything");
            problems.add(of.span(), what, "a condition, or default = true in a class");
            return None;
        }
        spec.check(problems)
    };
    let rules: Vec<_> = specs.map(&mut rule).collect();
    rules.into_iter().collect()
}

impl MatchSpec {
    fn check(&self, problems: &mut Problems) -> Option<Rule> {
        let mac = |text: &String| text.parse::<MacAddr>().ok().filter(|mac| !mac.is_multicast());
        let subnet = |text: &String| text.parse::<Subnet>().ok();
        let label = |text: &String| text.parse().ok();
        let macs = parsed(self.mac.as_ref(), mac, "a station's MAC address such as \"02:00:00:00:00:01\"", problems);
        let networks = "a network such as \"10.0.0.0/8\" or \"fd00::/8\"";
        let addresses = parsed(self.address.as_ref(), subnet, networks, problems);
        let peers = parsed(self.peer.as_ref(), subnet, networks, problems);
        let vlans = listed(self.vlan.as_ref(), problems);
        let dscps = listed(self.dscp.as_ref(), problems);
        let protocols = listed(self.protocol.as_ref(), problems);
        let ports = listed(self.port.as_ref(), problems);
        let direction = match &self.direction {
            Some(written) => Some(written.get(problems)?.0),
            None => None,
        };
        let ssids = parsed(self.ssid.as_ref(), label, "a name of 1 to 32 bytes", problems);
        let groups = parsed(self.group.as_ref(), label, "a name of 1 to 32 bytes", problems);
        Some(Rule {
            macs: macs?,
            addresses: addresses?,
            peers: peers?,
            vlans: vlans?.into_iter().map(|name: VlanName| name.0).collect(),
            dscps: dscps?.into_iter().map(|point| point.0).collect(),
            protocols: protocols?.into_iter().map(|name: ProtocolName| name.0).collect(),
            ports: ports?.into_iter().map(|Ports(first, last)| (first, last)).collect(),
            direction,
            ssids: ssids?,
            groups: groups?,
        })
    }
}

fn listed<T: FromWritten>(list: Option<&List<T>>, problems: &mut Problems) -> Option<Vec<T>> {
    list.map_or_else(|| Some(Vec::new()), |list| list.get(problems))
}

/// The items of a list, each parsed by `read`.
fn parsed<W: FromWritten, T>(
    list: Option<&List<W>>,
    read: impl Fn(&W) -> Option<T>,
    allowed: &str,
    problems: &mut Problems,
) -> Option<Vec<T>> {
    let Some(list) = list else { return Some(Vec::new()) };
    list.get(problems)?;
    let mut item = |item: &Written<W>| {
        let read = read(&item.get(problems)?);
        if read.is_none() {
            problems.add(item.span(), format!("{item} does not fit"), allowed);
        }
        read
    };
    let items: Vec<_> = list.items().iter().map(&mut item).collect();
    items.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use evenair_manager::Config;
    use evenair_reader::{self as reader, ConfigError};
    use evenair_wifi::{Phy, Standard};

    use super::*;
    use crate::ManagerSpec;

    fn check(text: &str) -> Result<Config, ConfigError> {
        let (spec, document, mut problems) = reader::read::<ManagerSpec>(text, "box.toml", &[])?;
        let config = spec.check(&Phy::default_for(Standard::Dot11g), None, &mut problems);
        document.verdict(problems)?;
        Ok(config.expect("no problems, so a configuration"))
    }

    const SCHOOL: &str = r#"
[[class]]
name = "staff"
weight = 4
minimum = "30 %"
match = { vlan = [10, "7.10"] }
[[class]]
name = "pupils"
match = { vlan = [20], direction = "down" }
or = [{ group = ["pupils"], port = [443, "8000-8100"], protocol = ["tcp", 17] }, { dscp = [8] }]
[[class]]
name = "guests"
ceiling = "5 Mb/s"
default = true
[[class]]
name = "phones"
parent = "staff"
match = { mac = ["02:00:00:00:00:01"], address = ["10.0.0.0/8"], peer = ["fd00::/8"], ssid = ["Staff"] }
"#;

    #[test]
    fn a_tree_with_rules() {
        let policy = check(SCHOOL).unwrap().policy;
        assert_eq!(policy.names, ["staff", "pupils", "guests", "phones"]);
        let [Level::Tree(tree), Level::Station { time_fair: true }, Level::Direction { .. }, Level::Flow] =
            &policy.levels[..]
        else {
            panic!("{:?}", policy.levels)
        };
        let [staff, pupils, guests, phones] = &tree.classes[..] else { panic!("four classes") };
        assert_eq!((staff.weight, staff.minimum, staff.parent), (4, Some(Amount::Part(300)), None));
        assert_eq!((guests.ceiling, &guests.takes), (Some(Amount::Rate(BitRate::from_mbps(5))), &Takes::Rest));
        assert_eq!(phones.parent, Some(ClassId(0)));
        let Takes::Rules(rules) = &pupils.takes else { panic!("rules") };
        assert_eq!(
            (rules.len(), &rules[1].ports, &rules[1].protocols),
            (3, &vec![(443, 443), (8_000, 8_100)], &vec![6, 17])
        );
        let Takes::Rules(rules) = &staff.takes else { panic!("rules") };
        assert_eq!(rules[0].vlans, [Vlan::from(10), Vlan { id: 7, inner: Some(10) }]);
        let written = toml::to_string(&reader::read::<ManagerSpec>(SCHOOL, "box.toml", &[]).unwrap().0).unwrap();
        assert_eq!(check(&written).unwrap().policy, policy, "{written}");
    }

    #[test]
    fn the_examples_of_the_reference_are_right() {
        let reference = include_str!("../../../../docs/scenario-guide.md");
        let blocks = reference.split("```toml\n").filter_map(|rest| rest.split("```").next());
        let examples: Vec<_> = blocks.filter(|block| block.starts_with("[[manager.class]]")).collect();
        assert_eq!(examples.len(), 2);
        for example in examples {
            let policy = check(&example.replace("[manager.", "[")).unwrap_or_else(|error| panic!("{error}")).policy;
            assert!(matches!(policy.levels[0], Level::Tree(_)), "{example}");
        }
    }

    #[test]
    fn kinds_of_traffic() {
        let text = "[[application]]\nname = \"voice\"\nweight = 5\nmatch = { protocol = [\"udp\"], dscp = [46] }\n";
        let levels = check(text).unwrap().policy.levels;
        assert!(matches!(
            levels[..],
            [Level::Station { .. }, Level::Direction { .. }, Level::Application { .. }, Level::Flow]
        ));
        let error = check(&format!("levels = [\"flow\"]\n{text}")).unwrap_err().to_string();
        assert!(error.contains("levels has no \"application\""), "{error}");
    }

    #[test]
    fn impossible_values_are_reported_with_position_and_alternatives() {
        let wrong = |from: &str, to: &str| {
            assert!(SCHOOL.contains(from), "{from}");
            check(&SCHOOL.replace(from, to)).map(|config| config.policy).unwrap_err().to_string()
        };
        for (from, to, place, right) in [
            ("parent = \"staff\"", "parent = \"teachers\"", "class.phones.parent", "there is no class"),
            (
                "name = \"staff\"\n",
                "name = \"staff\"\nparent = \"phones\"\n",
                "class.staff.parent",
                "8 classes on the way",
            ),
            ("\"30 %\"", "\"130 %\"", "class.staff.minimum", "0.1 % to 100 %"),
            ("\"30 %\"", "\"30\"", "class.staff.minimum", "such as \"20 %\""),
            ("ceiling = \"5 Mb/s\"", "minimum = \"80 %\"", "class.guests.minimum", "100 % in all"),
            (
                "ceiling = \"5 Mb/s\"",
                "minimum = \"6 Mb/s\"\nceiling = \"5 Mb/s\"",
                "class.guests.minimum",
                "up to the ceiling",
            ),
            ("default = true", "default = true\nmatch = { dscp = [1] }", "class.guests.default", "takes what is left"),
            ("[20]", "[5000]", "class.pupils.match.vlan", "1 to 4094"),
            ("[8]", "[64]", "", "0 to 63"),
            ("8000-8100", "8100-8000", "", "a range such as"),
            ("\"tcp\"", "\"quic\"", "", "0 to 255"),
            ("02:00:00:00:00:01", "03:00:00:00:00:01", "", "a station's MAC address"),
            ("\"Staff\"", "\"\"", "", "1 to 32 bytes"),
            ("10.0.0.0/8", "10.0.0/8", "", "a network such as"),
        ] {
            let error = wrong(from, to);
            assert!(error.contains(place) && error.contains(right), "{to}: {error}");
        }
        let late = format!("levels = [\"station\", \"class\", \"flow\"]\n{SCHOOL}");
        assert!(check(&late).unwrap_err().to_string().contains("the first of the levels"));
        let empty = check(&SCHOOL.replace("{ vlan = [20], direction = \"down\" }", "{}")).unwrap_err().to_string();
        assert!(empty.contains("default = true"), "{empty}");
    }
}
