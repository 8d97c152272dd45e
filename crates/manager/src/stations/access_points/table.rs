//! Lookup of access points.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;

use evenair_packet::{MacAddr, Vlan};

use super::learned::Learned;
use super::{AccessPoint, AccessPointError, Place, masked};
use crate::Label;
use crate::ids::DomainId;

/// The access points of a configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Names of the domains, without the default one.
    domains: Vec<Label>,
    /// Names and domains of the access points.
    access_points: Vec<(Label, DomainId)>,
    by_name: BTreeMap<Label, usize>,
    by_vlan: BTreeMap<(u16, Option<u16>), usize>,
    /// By the number of bits, the longest last, and by the bits.
    by_radio: BTreeMap<u8, BTreeMap<u64, usize>>,
    /// Learned domains, beside the configured ones.
    pub(crate) learned: Learned,
}

impl Table {
    /// # Errors
    /// Two access points share a name, VLAN or radio.
    pub(super) fn new(access_points: &[AccessPoint]) -> Result<Self, AccessPointError> {
        let mut this = Self::default();
        let mut domains = BTreeMap::new();
        for (at, point) in access_points.iter().enumerate() {
            let next = this.domains.len() + 1;
            let is_default = point.domain.as_bytes() == AccessPoint::DEFAULT_DOMAIN.as_bytes();
            let number = if is_default { 0 } else { *domains.entry(point.domain).or_insert(next) };
            if number == next {
                this.domains.push(point.domain);
            }
            this.access_points.push((point.name, DomainId::at(number)));
            for &name in core::iter::once(&point.name).chain(&point.aliases) {
                unique(this.by_name.insert(name, at), AccessPointError::Name(name))?;
            }
            for &vlan in &point.vlans {
                unique(this.by_vlan.insert((vlan.id, vlan.inner), at), AccessPointError::Vlan(vlan))?;
            }
            for &radio in &point.radios {
                let of_length = this.by_radio.entry(radio.bits).or_default();
                let fits = (1..=48).contains(&radio.bits);
                unique(of_length.insert(radio.value(), at).or((!fits).then_some(at)), AccessPointError::Radio(radio))?;
            }
        }
        Ok(this)
    }

    /// A table of a checked configuration.
    pub(crate) fn of(access_points: &[AccessPoint]) -> Self {
        Self::new(access_points).expect("a checked configuration")
    }

    /// A table of another checked configuration, which keeps what was learned.
    pub(crate) fn renewed(&self, access_points: &[AccessPoint]) -> Self {
        Self { learned: self.learned.clone(), ..Self::of(access_points) }
    }

    /// Names of the domains: the default one first, learned ones last.
    pub(crate) fn domains(&self) -> impl Iterator<Item = Label> {
        let default = AccessPoint::DEFAULT_DOMAIN.parse().expect("a short name");
        core::iter::once(default).chain(self.domains.iter().copied()).chain(self.learned.names())
    }

    /// Domains of the configured access points, in their order.
    pub(crate) fn configured(&self) -> impl Iterator<Item = DomainId> {
        self.access_points.iter().map(|&(_, domain)| domain)
    }

    /// Index of the first learned domain.
    fn first_learned(&self) -> usize {
        1 + self.domains.len()
    }

    /// Index of a domain among the learned ones.
    pub(crate) fn place_learned(&self, domain: DomainId) -> Option<usize> {
        domain.index().checked_sub(self.first_learned())
    }

    /// The learned domain at this index.
    pub(crate) fn learned_at(&self, place: usize) -> DomainId {
        DomainId::at(self.first_learned() + place)
    }

    /// Whether a radio is configured.
    pub(crate) fn knows(&self, radio: MacAddr) -> bool {
        self.by_radio.iter().any(|(&bits, of)| of.contains_key(&masked(radio, bits)))
    }

    /// The access point at a reported place.
    pub(crate) fn find(&self, place: Place) -> Option<(Label, DomainId)> {
        let at = match place {
            Place::Named(name) => self.by_name.get(&name),
            Place::Radio(mac) | Place::Tuned { radio: mac, .. } => {
                self.by_radio.iter().rev().find_map(|(&bits, of)| of.get(&masked(mac, bits)))
            }
        };
        let learned = || {
            let (Place::Tuned { radio, .. } | Place::Radio(radio)) = place else { return None };
            let name = radio.to_string().parse().ok()?;
            Some((name, self.learned_at(self.learned.of_radio(radio)?)))
        };
        at.map(|&at| self.access_points[at]).or_else(learned)
    }

    /// Whether any VLAN identifies an access point.
    pub(crate) fn reads_vlans(&self) -> bool {
        !self.by_vlan.is_empty()
    }

    /// The access point whose frames come in this VLAN.
    pub(crate) fn of_vlan(&self, vlan: Vlan) -> Option<(Label, DomainId)> {
        let at = self.by_vlan.get(&(vlan.id, vlan.inner)).or_else(|| self.by_vlan.get(&(vlan.id, None)));
        at.map(|&at| self.access_points[at])
    }

    /// The access point of a frame in this VLAN, if that is known.
    pub(crate) fn of_frame(&self, vlan: Option<Vlan>) -> Option<(Label, DomainId)> {
        vlan.filter(|_| self.reads_vlans()).and_then(|vlan| self.of_vlan(vlan))
    }

    /// Names of the access points of a domain.
    pub(crate) fn in_domain(&self, domain: DomainId) -> impl Iterator<Item = Label> {
        self.access_points.iter().filter(move |(_, of)| *of == domain).map(|(name, _)| *name)
    }
}

fn unique(before: Option<usize>, error: AccessPointError) -> Result<(), AccessPointError> {
    before.map_or(Ok(()), |_| Err(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MacPrefix;

    fn label(text: &str) -> Label {
        text.parse().expect("a short name")
    }

    fn radio(text: &str, bits: u8) -> MacPrefix {
        MacPrefix { mac: text.parse().expect("an address"), bits }
    }

    fn points() -> Vec<AccessPoint> {
        let mut points: Vec<AccessPoint> = ["hall", "yard", "roof"].map(|name| AccessPoint::new(label(name))).into();
        points[0].vlans = [Vlan::from(11), Vlan { id: 7, inner: Some(1) }].into();
        points[1].vlans = [Vlan::from(7)].into();
        points[0].radios = [radio("02:00:00:00:00:10", 44)].into();
        points[1].radios = [radio("02:00:00:00:00:1f", 48)].into();
        points[1].aliases = [label("ap-2")].into();
        points[2].domain = label("hall");
        points
    }

    #[test]
    fn an_access_point_is_found_by_each_name_vlan_and_radio() {
        let table = Table::of(&points());
        let found = |place| table.find(place).map(|(name, domain)| (name.to_string(), domain.index()));
        let (hall, yard) = (Some(("hall".into(), 1)), Some(("yard".into(), 2)));
        assert_eq!(found(Place::Named(label("hall"))), hall);
        assert_eq!(found(Place::Named(label("ap-2"))), yard);
        assert_eq!(found(Place::Named(label("ap-3"))), None);
        let of_radio = |text: &str| found(Place::Radio(text.parse().expect("an address")));
        assert_eq!(of_radio("02:00:00:00:00:1e"), hall);
        assert_eq!(of_radio("02:00:00:00:00:1f"), yard, "the longer prefix");
        assert_eq!(of_radio("02:00:00:00:00:20"), None);
        let of_vlan = |id, inner| table.of_vlan(Vlan { id, inner }).map(|(name, _)| name.to_string());
        assert_eq!(of_vlan(11, Some(3)).as_deref(), Some("hall"), "all that is inside it");
        assert_eq!(of_vlan(7, Some(1)).as_deref(), Some("hall"), "both tags");
        assert_eq!((of_vlan(7, Some(2)).as_deref(), of_vlan(8, None)), (Some("yard"), None));
        assert_eq!(table.find(Place::Named(label("roof"))), Some((label("roof"), DomainId::at(1))), "hears the hall");
        assert_eq!(table.domains().map(|name| name.to_string()).collect::<Vec<_>>(), ["default", "hall", "yard"]);
        assert_eq!(table.in_domain(DomainId::at(1)).count(), 2);
    }

    #[test]
    fn marks_of_two_access_points_are_refused() {
        let with = |change: fn(&mut Vec<AccessPoint>)| {
            let mut points = points();
            change(&mut points);
            super::super::check(&points)
        };
        assert_eq!(with(|_| {}), Ok(()));
        assert_eq!(with(|p| p[2].name = label("ap-2")), Err(AccessPointError::Name(label("ap-2"))));
        assert_eq!(with(|p| p[2].vlans = [11.into()].into()), Err(AccessPointError::Vlan(11.into())));
        let same = radio("02:00:00:00:00:1a", 44);
        assert_eq!(with(|p| p[2].radios = [radio("02:00:00:00:00:1a", 44)].into()), Err(AccessPointError::Radio(same)));
        let long = radio("02:00:00:00:00:1a", 49);
        assert_eq!(with(|p| p[2].radios = [radio("02:00:00:00:00:1a", 49)].into()), Err(AccessPointError::Radio(long)));
        let many = |p: &mut Vec<AccessPoint>| p[0].aliases = (0..20_000).map(|n| label(&n.to_string())).collect();
        assert_eq!(with(many), Err(AccessPointError::TooMany));
        assert!(AccessPointError::Radio(long).to_string().contains("/49"));
    }
}
