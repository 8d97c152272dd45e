//! The tree of classes to bytes and back, see [`crate::config_codec`].

use alloc::vec::Vec;

use evenair_packet::Subnet;
use evenair_packet::codec::{self, CodecError, Reader, Write};
use evenair_units::BitRate;

use super::{Amount, Application, Class, ClassTree, Rule, Takes};
use crate::config_codec::values::{put_label, put_list, put_subnet, read_label, read_list, read_subnet};
use crate::ids::{ClassId, Direction};

pub(crate) fn put_tree(out: &mut Vec<u8>, tree: &ClassTree) {
    put_list(out, &tree.classes, |out, class| {
        out.put_option(class.parent, |out, parent| out.put_u8(parent.0));
        out.put_u32(class.weight);
        out.put_option(class.minimum, put_amount);
        out.put_option(class.ceiling, put_amount);
        match &class.takes {
            Takes::Named => out.put_u8(0),
            Takes::Rules(rules) => {
                out.put_u8(1);
                put_list(out, rules, put_rule);
            }
            Takes::Rest => out.put_u8(2),
        }
    });
    out.put_u32(tree.other);
}

pub(crate) fn read_tree(reader: &mut Reader<'_>) -> Result<ClassTree, CodecError> {
    let class = |r: &mut Reader<'_>| {
        Ok(Class {
            parent: r.option(|r| r.u8().map(ClassId))?,
            weight: r.u32()?,
            minimum: r.option(read_amount)?,
            ceiling: r.option(read_amount)?,
            takes: match r.u8()? {
                0 => Takes::Named,
                1 => Takes::Rules(read_list(r, read_rule)?),
                2 => Takes::Rest,
                tag => return Err(CodecError::Tag(tag)),
            },
        })
    };
    Ok(ClassTree { classes: read_list(reader, class)?, other: reader.u32()? })
}

pub(crate) fn put_application(out: &mut Vec<u8>, application: &Application) {
    out.put_u32(application.weight);
    put_list(out, &application.rules, put_rule);
}

pub(crate) fn read_application(reader: &mut Reader<'_>) -> Result<Application, CodecError> {
    Ok(Application { weight: reader.u32()?, rules: read_list(reader, read_rule)? })
}

fn put_amount(out: &mut Vec<u8>, amount: Amount) {
    match amount {
        Amount::Part(permille) => {
            out.put_u8(0);
            out.put_u32(permille);
        }
        Amount::Rate(rate) => {
            out.put_u8(1);
            out.put_u64(rate.as_bps());
        }
    }
}

fn read_amount(reader: &mut Reader<'_>) -> Result<Amount, CodecError> {
    match reader.u8()? {
        0 => reader.u32().map(Amount::Part),
        1 => reader.u64().map(BitRate::from_bps).map(Amount::Rate),
        tag => Err(CodecError::Tag(tag)),
    }
}

fn put_rule(out: &mut Vec<u8>, rule: &Rule) {
    put_list(out, &rule.macs, |out, mac| out.put(&mac.0));
    put_list(out, &rule.addresses, put_subnet);
    put_list(out, &rule.peers, put_subnet);
    put_list(out, &rule.vlans, |out, &vlan| codec::put_vlan(out, vlan));
    put_list(out, &rule.dscps, |out, &dscp| out.put_u8(dscp));
    put_list(out, &rule.protocols, |out, &protocol| out.put_u8(protocol));
    put_list(out, &rule.ports, |out, &(first, last)| {
        out.put_u16(first);
        out.put_u16(last);
    });
    out.put_option(rule.direction, |out, direction| out.put_u8((direction == Direction::Up).into()));
    put_list(out, &rule.ssids, |out, &label| put_label(out, label));
    put_list(out, &rule.groups, |out, &label| put_label(out, label));
}

fn read_rule(reader: &mut Reader<'_>) -> Result<Rule, CodecError> {
    Ok(Rule {
        macs: read_list(reader, |r| r.mac())?,
        addresses: read_subnets(reader)?,
        peers: read_subnets(reader)?,
        vlans: read_list(reader, codec::read_vlan)?,
        dscps: read_list(reader, |r| r.u8())?,
        protocols: read_list(reader, |r| r.u8())?,
        ports: read_list(reader, |r| Ok((r.u16()?, r.u16()?)))?,
        direction: reader.option(|r| Ok(if r.bool()? { Direction::Up } else { Direction::Down }))?,
        ssids: read_list(reader, read_label)?,
        groups: read_list(reader, read_label)?,
    })
}

fn read_subnets(reader: &mut Reader<'_>) -> Result<Vec<Subnet>, CodecError> {
    read_list(reader, read_subnet)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::classes::Label;
    use evenair_packet::{MacAddr, Vlan};

    /// A tree and kinds of traffic with every kind of condition in them.
    pub(crate) fn examples() -> (ClassTree, Vec<Application>) {
        let label = |text: &str| text.parse::<Label>().unwrap();
        let rule = Rule {
            macs: [MacAddr([2, 0, 0, 0, 0, 9])].into(),
            addresses: ["10.1.0.0/16".parse().unwrap(), "fd00::/8".parse().unwrap()].into(),
            peers: ["192.0.2.7".parse().unwrap()].into(),
            vlans: [Vlan::from(20), Vlan { id: 7, inner: Some(20) }].into(),
            dscps: [0, 46].into(),
            protocols: [6, 17].into(),
            ports: [(443, 443), (8_000, 8_100)].into(),
            direction: Some(Direction::Up),
            ssids: [label("Guests")].into(),
            groups: [label("staff"), label("x")].into(),
        };
        let class = |parent: Option<u8>, minimum, ceiling, takes| Class {
            parent: parent.map(ClassId),
            weight: 5,
            minimum,
            ceiling,
            takes,
        };
        let rate = Some(Amount::Rate(BitRate::from_kbps(300)));
        let classes = [
            class(None, Some(Amount::Part(200)), None, Takes::Named),
            class(Some(0), rate, Some(Amount::Part(900)), Takes::Rules([rule.clone(), Rule::default()].into())),
            class(Some(0), None, rate, Takes::Rest),
        ];
        let direction = Rule { direction: Some(Direction::Down), ..Rule::default() };
        let applications = [Application { weight: 3, rules: [rule, direction].into() }];
        (ClassTree { classes: classes.into(), other: 2 }, applications.into())
    }
}
