//! The configuration of access points: `[[manager.access_point]]`.

use evenair_manager::{AccessPoint, AccessPointError, Config, Label, MacPrefix};
use evenair_packet::MacAddr;
use evenair_reader::{FromWritten, List, Problems, Scalar, Written};
use evenair_wifi::{Phy, Standard};
use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

use crate::manager::class::VlanName;

/// An access point, where several are on several channels. Each is on a medium of its own unless it names the domain of
/// another one, which it hears.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessPointSpec {
    /// Its name in reports, in telemetry and on the control socket.
    pub name: Written<String>,
    /// The contention domain: the same for access points that hear each other on one channel. "default" is the domain of
    /// stations at an unknown access point. Default: the access point's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<Written<String>>,
    /// VLANs of its stations' frames: the outermost tag, or two tags as "100.20". Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<List<VlanName>>,
    /// Addresses of its radios (BSSIDs) in telemetry reports; a prefix such as "02:00:00:00:00:10/44" means several. Default:
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bssid: Option<List<RadioName>>,
    /// Other names of the access point in telemetry and on the control socket. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aliases: Option<List<String>>,
    /// Standard of its radios, with a long preamble and the common basic rates. All access points of a contention domain have
    /// the same, since a domain has one slot time and one set of rates; those of the domain "default" have that of `[radio]`.
    /// Default: that of `[radio]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard: Option<Written<Standard>>,
}

/// The address of a radio, or a prefix of several radios' addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioName(pub MacPrefix);

impl FromWritten for RadioName {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        let text = scalar.to_string();
        let text = text.trim_matches('"');
        let (mac, bits) = text.split_once('/').map_or((text, Ok(48)), |(mac, bits)| (mac, bits.parse()));
        let prefix = match (mac.parse::<MacAddr>(), bits) {
            (Ok(mac), Ok(bits @ 1..=48)) if !mac.is_multicast() => Some(MacPrefix { mac, bits }),
            _ => None,
        };
        prefix.map(Self).ok_or_else(|| format!("{scalar} is no radio's address"))
    }

    fn allowed() -> String {
        "a MAC address such as \"02:00:00:00:00:10\", with the number of bits that count where not all do, as \
         \"02:00:00:00:00:10/44\""
            .into()
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "examples": ["02:00:00:00:00:10", "02:00:00:00:00:10/44"] })
    }
}

impl AccessPointSpec {
    fn check(&self, problems: &mut Problems) -> Option<AccessPoint> {
        let name = label(&self.name, problems);
        let domain = self.domain.as_ref().map(|domain| label(domain, problems));
        let vlans = self.vlan.as_ref().map_or_else(|| Some(Vec::new()), |list| list.get(problems));
        let radios = self.bssid.as_ref().map_or_else(|| Some(Vec::new()), |list| list.get(problems));
        let aliases = match &self.aliases {
            Some(list) => list.items().iter().map(|name| label(name, problems)).collect(),
            None => Some(Vec::new()),
        };
        let standard = match &self.standard {
            Some(written) => written.get(problems).map(Some),
            None => Some(None),
        };
        let name = name?;
        Some(AccessPoint {
            name,
            domain: match domain {
                Some(domain) => domain?,
                None => name,
            },
            vlans: vlans?.into_iter().map(|VlanName(vlan)| vlan).collect(),
            radios: radios?.into_iter().map(|RadioName(radio)| radio).collect(),
            aliases: aliases?,
            standard: standard?,
        })
    }
}

fn label(written: &Written<String>, problems: &mut Problems) -> Option<Label> {
    let text = written.get(problems)?;
    let label = text.parse().ok();
    if label.is_none() {
        problems.add(written.span(), format!("{written} is no name of an access point"), "1 to 32 bytes");
    }
    label
}

/// All access points, where the default standard is that of `phy`.
pub(crate) fn check(specs: &[AccessPointSpec], phy: &Phy, problems: &mut Problems) -> Option<Vec<AccessPoint>> {
    let checked: Vec<_> = specs.iter().map(|spec| spec.check(problems)).collect();
    let mut config = Config::new(phy.clone());
    config.access_points = checked.into_iter().collect::<Option<_>>()?;
    let Err(error) = config.check_access_points() else { return Some(config.access_points) };
    // The position of the error is the first access point that makes the configuration invalid.
    let wrong = |count: &usize| {
        let few = Config { access_points: config.access_points[..*count].to_vec(), ..config.clone() };
        few.check_access_points().is_err()
    };
    let spec = (1..=specs.len()).find(wrong).and_then(|count| specs.get(count - 1));
    let allowed = match error {
        AccessPointError::TooMany => "fewer".to_owned(),
        AccessPointError::Name(_) | AccessPointError::Vlan(_) | AccessPointError::Radio(_) => {
            "one access point each".to_owned()
        }
        AccessPointError::Standard { common, .. } => format!("standard = \"{common}\", or another domain"),
    };
    let standard = spec.and_then(|spec| spec.standard.as_ref());
    let standard = standard.filter(|_| matches!(error, AccessPointError::Standard { .. })).map(Written::span);
    let place = standard.or_else(|| Some(spec?.name.span()));
    problems.add(place.unwrap_or_default(), error.to_string(), allowed);
    None
}

#[cfg(test)]
mod tests {
    use evenair_reader as reader;

    use super::*;
    use crate::ManagerSpec;

    fn points(text: &str) -> Result<Vec<AccessPoint>, String> {
        let read = reader::read::<ManagerSpec>(text, "box.toml", &[]);
        let (spec, document, mut problems) = read.map_err(|error| error.to_string())?;
        let config = spec.check(&Phy::default_for(Standard::Dot11g), None, &mut problems);
        document.verdict(problems).map_err(|error| error.to_string())?;
        Ok(config.expect("no problems, so a configuration").access_points)
    }

    const TWO: &str = r#"
[[access_point]]
name = "hall"
vlan = [11, "7.12"]
bssid = ["02:00:00:00:00:10/44", "02:00:00:00:01:00"]
aliases = ["ap-1"]
[[access_point]]
name = "yard"
domain = "hall"
"#;

    #[test]
    fn access_points_are_read() {
        assert_eq!(points(""), Ok(Vec::new()));
        let points = points(TWO).unwrap();
        let [hall, yard] = &points[..] else { panic!("two") };
        assert_eq!((hall.vlans.len(), hall.radios.len(), hall.aliases.len()), (2, 2, 1));
        assert_eq!((hall.radios[0].bits, hall.radios[1].bits), (44, 48));
        assert_eq!((hall.domain, yard.domain), (hall.name, hall.name));
    }

    #[test]
    fn problems_are_reported_with_their_positions() {
        let refused = |text: &str| points(&format!("{TWO}{text}")).unwrap_err();
        let error = refused("aliases = [\"ap-1\"]\n");
        assert!(error.contains("name or alias ap-1") && error.contains(":8:8"), "{error}");
        assert!(refused("vlan = [11]\n").contains("the VLAN 11 is of two"));
        assert!(refused("bssid = [\"02:00:00:00:00:10/50\"]\n").contains("no radio's address"));
        assert!(refused("vlan = [5000]\n").contains("1 to 4094"));
        assert!(refused("channel = 6\n").contains("channel"));
        let long = "x".repeat(33);
        assert!(refused(&format!("aliases = [\"{long}\"]\n")).contains("1 to 32 bytes"));
        let mixed = refused("standard = \"802.11b\"\n");
        assert!(mixed.contains(":10:12") && mixed.contains("standard = \"802.11g\", or another domain"), "{mixed}");
        let wrong = refused("standard = \"802.11\"\n");
        assert!(wrong.contains(":10:12") && wrong.contains("\"802.11b\", \"802.11a\""), "{wrong}");
        let both = points(&format!("aqm = \"red\"\n{TWO}vlan = [11]\n")).unwrap_err();
        assert!(
            both.contains(":1:7: aqm: \"red\"") && both.contains(":9:8: access_point.yard.name: the VLAN 11 is of two"),
            "{both}"
        );
        assert!(points(&format!("uplink_limit = {{}}\n{TWO}")).is_ok(), "each medium has a limit of its own");
    }
}
